/* The RP2040's analogue input on GP26. */
#ifndef ADC_H
#define ADC_H

#include <stdint.h>

void adc_init(void);

/* A reading as 16 bits. */
uint32_t adc_read(void);

#endif
