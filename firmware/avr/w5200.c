/* Bursts, at half the clock: 11.06 MHz at 22.1184 MHz. The next byte is made ready while one is shifted. */
#include <util/delay.h>

#include "older.h"
#include "spi.h"

const uint16_t SOCKET_BASE = 0x4000, TX_BASE = 0x8000, RX_BASE = 0xc000, RING_BYTES = 16384;

static inline __attribute__((always_inline)) void wait(void) {
    while (!(SPSR & 1 << SPIF)) {
    }
}

static void begin(uint16_t address, uint16_t length, uint8_t write) {
    select_chip();
    spi(address >> 8);
    spi(address);
    spi(write | length >> 8);
    spi(length);
}

void read_bytes(uint16_t address, uint8_t *data, uint16_t length) {
    begin(address, length, 0);
    SPDR = 0;
    while (--length) {
        wait();
        uint8_t byte = SPDR;
        SPDR = 0;
        *data++ = byte;
    }
    wait();
    *data = SPDR;
    deselect_chip();
}

void write_bytes(uint16_t address, const uint8_t *data, uint16_t length) {
    begin(address, length, 0x80);
    SPDR = *data++;
    while (--length) {
        uint8_t next = *data++;
        wait();
        SPDR = next;
    }
    wait();
    deselect_chip();
}

void chip_start(void) {
    static const uint8_t reset = 0x80, sixteen = 16, none = 0;
    spi_start(1);
    _delay_ms(200);
    write_bytes(0x0000, &reset, 1);
    for (uint16_t socket = 0; socket < 8; socket++) {
        write_bytes(0x401e + (socket << 8), socket ? &none : &sixteen, 1);
        write_bytes(0x401f + (socket << 8), socket ? &none : &sixteen, 1);
    }
}
