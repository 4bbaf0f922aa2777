/* The W5500, socket 0 alone: hardware TCP. */
#pragma once

#include <stdint.h>

enum { COMMON = 0, SOCKET = 1, TX = 2, RX = 3 };

enum { SN_MR = 0, SN_CR = 1, SN_IR = 2, SN_SR = 3, SN_PORT = 4, SN_DIPR = 0x0c, SN_DPORT = 0x10, SN_TX_FSR = 0x20,
       SN_TX_WR = 0x24, SN_RX_RSR = 0x26, SN_RX_RD = 0x28 };

enum { OPEN = 0x01, LISTEN = 0x02, CONNECT = 0x04, DISCON = 0x08, CLOSE = 0x10, SEND = 0x20, RECV = 0x40 };

enum { SOCK_CLOSED = 0x00, SOCK_INIT = 0x13, SOCK_ESTABLISHED = 0x17, SOCK_CLOSE_WAIT = 0x1c };

enum { IR_SEND_OK = 0x10 };

uint8_t get(uint8_t block, uint16_t address);
uint16_t get16(uint8_t block, uint16_t address);
void put(uint8_t block, uint16_t address, uint8_t value);
void put16(uint8_t block, uint16_t address, uint16_t value);
void put_bytes(uint8_t block, uint16_t address, const uint8_t *data, uint16_t length);

/* Starts the chip with the address 192.168.50.100. */
void w5500_start(void);
/* Gives socket 0 a command, and waits until the chip has taken it. */
void command(uint8_t value);
/* Sends `length` bytes; waits for room before, and for the end of the transmission after it. */
void send_bytes(const uint8_t *data, uint16_t length);
/* Takes at most `most` received bytes; returns their number. */
uint16_t receive_bytes(uint8_t *data, uint16_t most);
