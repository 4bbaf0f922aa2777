#include "decimal.h"

static const uint32_t powers_of_ten[] = {1000000000u, 100000000u, 10000000u, 1000000u, 100000u,
                                         10000u,      1000u,      100u,      10u};

uint32_t decimal_format(uint32_t value, char out[DECIMAL_MAX]) {
    uint32_t length = 0;
    for (uint32_t i = 0; i < sizeof powers_of_ten / sizeof powers_of_ten[0]; i++) {
        char digit = '0';
        while (value >= powers_of_ten[i]) {
            value -= powers_of_ten[i];
            digit++;
        }
        if (length != 0 || digit != '0') {
            out[length++] = digit;
        }
    }
    out[length++] = (char)('0' + value);
    return length;
}
