#include "console.h"

#include <avr/io.h>

#define BAUD 115200UL

void console_start(void) {
    UCSR0A = 1 << U2X0;
    UBRR0 = (F_CPU + 4 * BAUD) / (8 * BAUD) - 1;
    UCSR0C = 1 << UCSZ01 | 1 << UCSZ00;
    UCSR0B = 1 << TXEN0;
}

void console_print(const char *text) {
    while (*text) {
        while (!(UCSR0A & 1 << UDRE0)) {
        }
        UDR0 = *text++;
    }
}
