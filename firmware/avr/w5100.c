/* One byte a frame, at a quarter of the clock: 5.53 MHz at 22.1184 MHz, beyond the 4 MHz of the datasheet. */
#include <util/delay.h>

#include "older.h"
#include "spi.h"

const uint16_t SOCKET_BASE = 0x0400, TX_BASE = 0x4000, RX_BASE = 0x6000, RING_BYTES = 8192;

void read_bytes(uint16_t address, uint8_t *data, uint16_t length) {
    while (length--) {
        select_chip();
        spi(0x0f);
        spi(address >> 8);
        spi(address);
        *data++ = spi(0);
        deselect_chip();
        address++;
    }
}

void write_bytes(uint16_t address, const uint8_t *data, uint16_t length) {
    while (length--) {
        select_chip();
        spi(0xf0);
        spi(address >> 8);
        spi(address);
        spi(*data++);
        deselect_chip();
        address++;
    }
}

void chip_start(void) {
    static const uint8_t reset = 0x80, all_to_socket_0 = 0x03;
    spi_start(0);
    _delay_ms(20);
    write_bytes(0x0000, &reset, 1);
    write_bytes(0x001a, &all_to_socket_0, 1);
    write_bytes(0x001b, &all_to_socket_0, 1);
}
