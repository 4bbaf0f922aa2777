#ifndef GPIO_H
#define GPIO_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "chip.h"

/* Pads and functions of every pin the board uses: W5500 on SPI0 with CSn released and RSTn asserted, LED off. */
void gpio_init(void);

static inline void led(bool on) {
    if (on) {
        SIO_GPIO_OUT_SET = BIT(PIN_LED);
    } else {
        SIO_GPIO_OUT_CLR = BIT(PIN_LED);
    }
}

static inline bool intn_low(void) { return !(SIO_GPIO_IN & BIT(PIN_INTN)); }

/* Shows `code` as that many short flashes and a pause, repeated until `duration_ms` is over. */
void led_blink_code(uint32_t code, uint32_t duration_ms);

#endif
