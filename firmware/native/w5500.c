#include "w5500.h"

#include "clocks.h"
#include "timer.h"

#define RESET_HOLD_US 500u  /* datasheet 5.5.1: TRC */
#define PLL_LOCK_US 1000u   /* TPL */
#define VERSION_WAIT_US 50000u
#define COMMAND_WAIT_US 10000u
#define STABLE_READS 16u
#define POLL_US 100u

uint32_t w5500_spi_init(uint32_t spi_hz) {
    /* SSPCLK / (CPSDVSR * (1 + SCR)) with CPSDVSR = 2 (4.4.3.4) */
    uint32_t divider = 2;
    while (divider < 512u && CLK_PERI_HZ > spi_hz * divider) {
        divider += 2;
    }
    resets_release(RESETS_SPI0);
    SPI0_SSPCR1 = 0;
    SPI0_SSPCPSR = 2;
    SPI0_SSPCR0 = (divider / 2 - 1) << SSPCR0_SCR_LSB | SSPCR0_SPH | SSPCR0_SPO | SSPCR0_DSS_8;
    SPI0_SSPCR1 = SSPCR1_SSE;
    return CLK_PERI_HZ / divider;
}

/* One frame of any length. Never more bytes under way than the receive FIFO holds, so none can be lost. */
static void frame(uint32_t control, uint32_t address, const uint8_t *out, uint8_t *in, uint32_t length) {
    const uint32_t total = length + 3;
    uint32_t sent = 3;
    uint32_t received = 0;
    w5500_header(control, address);
    while (received < total) {
        if (sent < total && sent - received < SSP_FIFO_DEPTH) {
            SPI0_SSPDR = out ? out[sent - 3] : 0u;
            sent++;
        }
        if (SPI0_SSPSR & SSPSR_RNE) {
            const uint8_t byte = (uint8_t)SPI0_SSPDR;
            if (in && received >= 3) {
                in[received - 3] = byte;
            }
            received++;
        }
    }
    w5500_release();
}

void w5500_read(uint32_t block, uint32_t address, void *data, uint32_t length) {
    frame(block << 3, address, 0, data, length);
}

void w5500_write(uint32_t block, uint32_t address, const void *data, uint32_t length) {
    frame(block << 3 | W5500_CONTROL_WRITE, address, data, 0, length);
}

bool w5500_reset(void) {
    SIO_GPIO_OUT_CLR = BIT(PIN_RSTN);
    sleep_us(RESET_HOLD_US);
    SIO_GPIO_OUT_SET = BIT(PIN_RSTN);
    sleep_us(PLL_LOCK_US);
    const uint32_t deadline = time_us() + VERSION_WAIT_US;
    while (w5500_read8(BLOCK_COMMON, VERSIONR) != VERSIONR_W5500) {
        if (time_reached(deadline)) {
            return false;
        }
        sleep_us(POLL_US);
    }
    return true;
}

bool w5500_read16_stable(uint32_t block, uint32_t address, uint32_t *value) {
    uint32_t previous = w5500_read16(block, address);
    for (uint32_t i = 0; i < STABLE_READS; i++) {
        *value = w5500_read16(block, address);
        if (*value == previous) {
            return true;
        }
        previous = *value;
    }
    return false;
}

bool w5500_command_accepted(uint32_t socket) {
    const uint32_t deadline = time_us() + COMMAND_WAIT_US;
    while (w5500_read8(BLOCK_SOCKET(socket), Sn_CR) != 0) {
        if (time_reached(deadline)) {
            return false;
        }
    }
    return true;
}

bool w5500_command(uint32_t socket, uint32_t command) {
    w5500_write8(BLOCK_SOCKET(socket), Sn_CR, command);
    return w5500_command_accepted(socket);
}

bool w5500_open(uint32_t socket, uint32_t status) {
    const uint32_t deadline = time_us() + COMMAND_WAIT_US;
    if (!w5500_command(socket, Sn_CR_OPEN)) {
        return false;
    }
    while (w5500_read8(BLOCK_SOCKET(socket), Sn_SR) != status) {
        if (time_reached(deadline)) {
            return false;
        }
    }
    return true;
}
