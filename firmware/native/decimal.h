#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdint.h>

#define DECIMAL_MAX 10u /* digits of 2^32 - 1 */

/* Writes `value` in decimal ASCII without terminator; returns the number of digits, 1 to DECIMAL_MAX.
   The RP2040 has no divide instruction; subtracting powers of ten is quicker than a software division. */
uint32_t decimal_format(uint32_t value, char out[DECIMAL_MAX]);

#endif
