/* The W5500 over SPI0: one variable-length frame (datasheet 2.3) per call, CSn low around it. Registers are big-endian.

   The one-word forms are inline and unrolled: a frame of at most 8 bytes fits the PL022's FIFOs, so nothing has to be
   checked while it is pushed, and the last byte's arrival in the receive FIFO is the end of the transfer. */
#ifndef W5500_H
#define W5500_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "chip.h"
#include "w5500_regs.h"

#define W5500_CONTROL_WRITE 0x04u

/* Sets SPI0 up, at most `spi_hz` fast; returns the rate it really has. SPI mode 3: in mode 0 the PL022 puts a pause
   between bytes (4.4.3.9 to 4.4.3.12), in mode 3 they follow one another. The W5500 takes both (datasheet 2.1). */
uint32_t w5500_spi_init(uint32_t spi_hz);

/* Hardware reset, then waits for VERSIONR. False: no W5500 answered within 50 ms. */
bool w5500_reset(void);

void w5500_read(uint32_t block, uint32_t address, void *data, uint32_t length);
void w5500_write(uint32_t block, uint32_t address, const void *data, uint32_t length);

static inline void w5500_header(uint32_t control, uint32_t address) {
    SIO_GPIO_OUT_CLR = BIT(PIN_CSN);
    SPI0_SSPDR = address >> 8; /* SSPDR takes the 8 low bits only: no masks */
    SPI0_SSPDR = address;
    SPI0_SSPDR = control;
}

/* Ends the frame. CSn must stay high for 30 ns (datasheet 5.5.4, TCS): 4 cycles of 7.5 ns, and one for the next edge. */
static inline void w5500_release(void) {
    SIO_GPIO_OUT_SET = BIT(PIN_CSN);
    wait_4_cycles();
}

static inline uint32_t w5500_collect(void) {
    while (!(SPI0_SSPSR & SSPSR_RNE)) {
    }
    return SPI0_SSPDR;
}

static inline void w5500_write8(uint32_t block, uint32_t address, uint32_t value) {
    w5500_header(block << 3 | W5500_CONTROL_WRITE, address);
    SPI0_SSPDR = value;
    for (uint32_t i = 0; i < 4; i++) {
        w5500_collect();
    }
    w5500_release();
}

static inline void w5500_write16(uint32_t block, uint32_t address, uint32_t value) {
    w5500_header(block << 3 | W5500_CONTROL_WRITE, address);
    SPI0_SSPDR = value >> 8;
    SPI0_SSPDR = value;
    for (uint32_t i = 0; i < 5; i++) {
        w5500_collect();
    }
    w5500_release();
}

static inline uint32_t w5500_read8(uint32_t block, uint32_t address) {
    w5500_header(block << 3, address);
    SPI0_SSPDR = 0;
    for (uint32_t i = 0; i < 3; i++) {
        w5500_collect();
    }
    const uint32_t value = w5500_collect();
    w5500_release();
    return value;
}

static inline uint32_t w5500_read16(uint32_t block, uint32_t address) {
    w5500_header(block << 3, address);
    SPI0_SSPDR = 0;
    SPI0_SSPDR = 0;
    for (uint32_t i = 0; i < 3; i++) {
        w5500_collect();
    }
    uint32_t value = w5500_collect() << 8;
    value |= w5500_collect();
    w5500_release();
    return value;
}

/* Reads a 16-bit counter that the chip may be changing, until two reads agree (datasheet 4.2, Sn_TX_FSR, Sn_RX_RSR).
   False: it did not settle. */
bool w5500_read16_stable(uint32_t block, uint32_t address, uint32_t *value);

/* The chip clears Sn_CR when it has accepted the command (4.2, Sn_CR). False: not within 10 ms. */
bool w5500_command_accepted(uint32_t socket);
bool w5500_command(uint32_t socket, uint32_t command);

/* OPEN, then waits for Sn_SR to become `status`, which may lag behind. False: not within 10 ms. */
bool w5500_open(uint32_t socket, uint32_t status);

#endif
