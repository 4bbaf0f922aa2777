/* SPI as master at half the clock or a quarter of it, and chip select on PB4: pin 10 of the Arduino layout on both boards. */
#pragma once

#include <avr/io.h>
#include <stdint.h>

#define CHIP_SELECT (1 << 4)

#if defined(__AVR_ATmega2560__)
#define SPI_OUTPUTS (1 << 0 | 1 << 1 | 1 << 2 | CHIP_SELECT) /* SS, SCK, MOSI */
#else
#define SPI_OUTPUTS (1 << 7 | 1 << 5 | CHIP_SELECT) /* SCK, MOSI; chip select is SS */
#endif

static inline void spi_start(uint8_t doubled) {
    PORTB |= CHIP_SELECT;
    DDRB |= SPI_OUTPUTS;
    SPSR = doubled ? 1 << SPI2X : 0;
    SPCR = 1 << SPE | 1 << MSTR;
}

static inline void select_chip(void) {
    PORTB &= (uint8_t)~CHIP_SELECT;
}

static inline void deselect_chip(void) {
    PORTB |= CHIP_SELECT;
}

/* Exchanges a byte. The NOP saves a turn of the loop at half the clock. */
static inline __attribute__((always_inline)) uint8_t spi(uint8_t byte) {
    SPDR = byte;
    __asm__ volatile("nop");
    while (!(SPSR & 1 << SPIF)) {
    }
    return SPDR;
}
