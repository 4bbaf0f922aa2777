#include "card.h"

#include <stdbool.h>

#include "board.h"
#include "clocks.h"
#include "chip.h"
#include "timer.h"
#include "watchdog.h"

#define START_HZ 400000u /* at most, until the card is up (4.2.1) */
#define START_US 1000000u
#define READ_US 200000u
#define WRITE_US 500000u
#define TRIES 16u
#define RESPONSE_BYTES 9u

#define R1_IDLE 0x01u
#define R1_NONE 0xffu
#define TOKEN_START 0xfeu
#define RESPONSE_MASK 0x1fu
#define RESPONSE_ACCEPTED 0x05u
#define HCS 0x40000000u

static bool addresses_blocks;

static uint32_t set_clock(uint32_t hz) {
    uint32_t divider = 2;
    while (divider < 512u && CLK_PERI_HZ > hz * divider) {
        divider += 2;
    }
    SPI1_SSPCR1 = 0;
    SPI1_SSPCPSR = 2;
    SPI1_SSPCR0 = (divider / 2 - 1) << SSPCR0_SCR_LSB | SSPCR0_DSS_8; /* mode 0 */
    SPI1_SSPCR1 = SSPCR1_SSE;
    return CLK_PERI_HZ / divider;
}

static void select(bool on) {
    if (on) {
        SIO_GPIO_OUT_CLR = BIT(PIN_SD_CSN);
    } else {
        SIO_GPIO_OUT_SET = BIT(PIN_SD_CSN);
    }
}

static uint8_t exchange(uint8_t out) {
    SPI1_SSPDR = out;
    while (!(SPI1_SSPSR & SSPSR_RNE)) {
    }
    return (uint8_t)SPI1_SSPDR;
}

/* Many bytes back to back: never more under way than the receive FIFO holds. */
static void transfer(const uint8_t *out, uint8_t *in, uint32_t length) {
    uint32_t sent = 0;
    uint32_t received = 0;
    while (received < length) {
        if (sent < length && sent - received < SSP_FIFO_DEPTH) {
            SPI1_SSPDR = out ? out[sent] : 0xffu;
            sent++;
        }
        if (SPI1_SSPSR & SSPSR_RNE) {
            const uint8_t byte = (uint8_t)SPI1_SSPDR;
            if (in) {
                in[received] = byte;
            }
            received++;
        }
    }
}

/* Until the card puts out something else than `byte`, which *other gets. False: it did not in time. */
static bool await_other(uint8_t byte, uint32_t wait_us, uint8_t *other) {
    const uint32_t deadline_us = time_us() + wait_us;
    do {
        *other = exchange(0xff);
        if (*other != byte) {
            return true;
        }
    } while (!time_reached(deadline_us));
    return false;
}

static uint8_t crc7(const uint8_t *bytes, uint32_t length) {
    uint8_t crc = 0;
    for (uint32_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = (uint8_t)(crc << 1 ^ (crc & 0x80u ? 0x12u : 0u));
        }
    }
    return crc | 1u;
}

/* R1, or R1_NONE. The card stays selected. */
static uint8_t command(uint32_t index, uint32_t argument) {
    const uint8_t head[5] = {(uint8_t)(0x40u | index), (uint8_t)(argument >> 24), (uint8_t)(argument >> 16),
                             (uint8_t)(argument >> 8), (uint8_t)argument};
    select(true);
    exchange(0xff);
    transfer(head, 0, sizeof head);
    exchange(crc7(head, sizeof head));
    for (uint32_t i = 0; i < RESPONSE_BYTES; i++) {
        const uint8_t response = exchange(0xff);
        if (!(response & 0x80u)) {
            return response;
        }
    }
    return R1_NONE;
}

static void release(void) {
    select(false);
    exchange(0xff); /* the card lets go of MISO with the next clocks */
}

static void pins_init(void) {
    SIO_GPIO_OUT_SET = BIT(PIN_SD_CSN);
    SIO_GPIO_OE_SET = BIT(PIN_SD_CSN);
    PADS_BANK0_GPIO(PIN_SD_CSN) = PAD_IE | PAD_DRIVE_8MA | PAD_SLEWFAST;
    IO_BANK0_GPIO_CTRL(PIN_SD_CSN) = FUNCSEL_SIO;
    PADS_BANK0_GPIO(PIN_SD_SCK) = PAD_IE | PAD_DRIVE_8MA | PAD_SLEWFAST;
    IO_BANK0_GPIO_CTRL(PIN_SD_SCK) = FUNCSEL_SPI;
    PADS_BANK0_GPIO(PIN_SD_MOSI) = PAD_IE | PAD_DRIVE_8MA | PAD_SLEWFAST;
    IO_BANK0_GPIO_CTRL(PIN_SD_MOSI) = FUNCSEL_SPI;
    PADS_BANK0_GPIO(PIN_SD_MISO) = PAD_IE | PAD_PUE | PAD_DRIVE_4MA;
    IO_BANK0_GPIO_CTRL(PIN_SD_MISO) = FUNCSEL_SPI;
}

const char *card_start(uint32_t spi_hz, uint32_t *actual_hz) {
    pins_init();
    resets_release(RESETS_SPI1);
    set_clock(START_HZ);
    for (uint32_t i = 0; i < 10; i++) {
        exchange(0xff); /* at least 74 clocks */
    }
    uint8_t response = R1_NONE;
    for (uint32_t i = 0; i < TRIES && response != R1_IDLE; i++) {
        response = command(0, 0);
    }
    if (response != R1_IDLE) {
        release();
        return "no SD card answers";
    }
    uint8_t answer[4];
    const bool second = command(8, 0x1aa) == R1_IDLE;
    if (second) {
        transfer(0, answer, sizeof answer);
        if (answer[3] != 0xaa) {
            release();
            return "the card's answer to CMD8 is wrong";
        }
    }
    const uint32_t deadline_us = time_us() + START_US;
    do {
        command(55, 0);
        response = command(41, second ? HCS : 0);
        watchdog_feed();
    } while (response == R1_IDLE && !time_reached(deadline_us));
    if (response != 0) {
        release();
        return "the card does not start";
    }
    if (command(58, 0) != 0) {
        release();
        return "the card does not tell its OCR";
    }
    transfer(0, answer, sizeof answer);
    addresses_blocks = answer[0] & 0x40u;
    response = command(16, CARD_BLOCK);
    release();
    if (response != 0) {
        return "the card takes no blocks of 512 bytes";
    }
    *actual_hz = set_clock(spi_hz);
    return 0;
}

static uint32_t address(uint32_t block) { return addresses_blocks ? block : block * CARD_BLOCK; }

static const char *write_block(uint32_t block, const uint8_t *data) {
    if (command(24, address(block)) != 0) {
        return "the card refuses CMD24";
    }
    exchange(0xff);
    exchange(TOKEN_START);
    transfer(data, 0, CARD_BLOCK);
    transfer(0, 0, 2); /* a checksum that nobody asked for */
    if ((exchange(0xff) & RESPONSE_MASK) != RESPONSE_ACCEPTED) {
        return "the card does not take a block: it is write-protected or worn";
    }
    uint8_t ready;
    return await_other(0x00, WRITE_US, &ready) ? 0 : "the card is busy for ever";
}

const char *card_write(uint32_t block, const uint8_t data[CARD_BLOCK]) {
    const char *error = write_block(block, data);
    release();
    return error;
}

static const char *read_block(uint32_t block, uint8_t *data) {
    if (command(17, address(block)) != 0) {
        return "the card refuses CMD17";
    }
    uint8_t token;
    if (!await_other(0xff, READ_US, &token) || token != TOKEN_START) {
        return "the card has no data";
    }
    transfer(0, data, CARD_BLOCK);
    transfer(0, 0, 2);
    return 0;
}

const char *card_read(uint32_t block, uint8_t data[CARD_BLOCK]) {
    const char *error = read_block(block, data);
    release();
    return error;
}
