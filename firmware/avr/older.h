/* W5100 and W5200 with socket 0 in MACRAW mode. */
#pragma once

#include <stdint.h>

/* First addresses of socket 0's registers, of its parts of the memories, and the parts' size. */
extern const uint16_t SOCKET_BASE, TX_BASE, RX_BASE, RING_BYTES;

enum { SN_MR = 0, SN_CR = 1, SN_IR = 2, SN_SR = 3, SN_TX_FSR = 0x20, SN_TX_WR = 0x24, SN_RX_RSR = 0x26, SN_RX_RD = 0x28 };

enum { OPEN = 0x01, SEND = 0x20, RECV = 0x40, MACRAW = 0x44, IR_SEND_OK = 0x10 };

/* Resets the chip and gives socket 0 all of the memories. */
void chip_start(void);
void read_bytes(uint16_t address, uint8_t *data, uint16_t length);
void write_bytes(uint16_t address, const uint8_t *data, uint16_t length);
