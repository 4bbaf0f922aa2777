#include "w5500.h"

#include <util/delay.h>

#include "spi.h"

#define WRITE 4

/* As Arduino's SPI library had it up to 2014: no NOP, and at -Os a function. */
static __attribute__((noinline)) uint8_t transfer(uint8_t byte) {
    SPDR = byte;
    while (!(SPSR & 1 << SPIF)) {
    }
    return SPDR;
}

static void begin(uint8_t block, uint16_t address, uint8_t write) {
    select_chip();
    transfer(address >> 8);
    transfer(address);
    transfer(block << 3 | write);
}

uint8_t get(uint8_t block, uint16_t address) {
    begin(block, address, 0);
    uint8_t value = transfer(0);
    deselect_chip();
    return value;
}

uint16_t get16(uint8_t block, uint16_t address) {
    begin(block, address, 0);
    uint16_t value = transfer(0) << 8;
    value |= transfer(0);
    deselect_chip();
    return value;
}

void put(uint8_t block, uint16_t address, uint8_t value) {
    put_bytes(block, address, &value, 1);
}

void put16(uint8_t block, uint16_t address, uint16_t value) {
    uint8_t bytes[] = {value >> 8, value};
    put_bytes(block, address, bytes, 2);
}

void put_bytes(uint8_t block, uint16_t address, const uint8_t *data, uint16_t length) {
    begin(block, address, WRITE);
    for (uint16_t i = 0; i < length; i++) {
        transfer(data[i]);
    }
    deselect_chip();
}

void w5500_start(void) {
    static const uint8_t addresses[] = {
        192, 168, 50, 1, 255, 255, 255, 0, 0x02, 0x08, 0xdc, 0x25, 0x60, 0x55, 192, 168, 50, 100,
    };
    spi_start(1);
    _delay_ms(10);
    put_bytes(COMMON, 0x0001, addresses, sizeof addresses);
}

void command(uint8_t value) {
    put(SOCKET, SN_CR, value);
    while (get(SOCKET, SN_CR)) {
    }
}

void send_bytes(const uint8_t *data, uint16_t length) {
    while (get16(SOCKET, SN_TX_FSR) < length) {
        if (get(SOCKET, SN_SR) != SOCK_ESTABLISHED) {
            return;
        }
    }
    uint16_t at = get16(SOCKET, SN_TX_WR);
    put_bytes(TX, at, data, length);
    put16(SOCKET, SN_TX_WR, at + length);
    command(SEND);
}

uint16_t receive_bytes(uint8_t *data, uint16_t most) {
    uint16_t length = get16(SOCKET, SN_RX_RSR);
    if (length > most) {
        length = most;
    }
    if (length) {
        uint16_t at = get16(SOCKET, SN_RX_RD);
        begin(RX, at, 0);
        for (uint16_t i = 0; i < length; i++) {
            data[i] = transfer(0);
        }
        deselect_chip();
        put16(SOCKET, SN_RX_RD, at + length);
        command(RECV);
    }
    return length;
}
