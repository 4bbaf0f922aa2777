#include "config.h"

#include "body.h"
#include "crc32.h"
#include "mem.h"

#define CONFIG_VERSION 1u
#define CONFIG_LENGTH (sizeof(struct config) - sizeof(uint32_t))
#define WAIT_MAX_MS 1800000u /* 30 min: below the unambiguous range of the 32-bit microsecond timer */
#define SPI_HZ_MIN 300000u
#define SPI_HZ_MAX 66500000u

const struct config config_defaults = {
    .magic = {'P', 'B', 'C', 'F'},
    .version = CONFIG_VERSION,
    .length = CONFIG_LENGTH,
    .port = 5000,
    .count = 1000,
    .repeat = 1,
    .ready_timeout_ms = 30000,
    .message_timeout_ms = 5000,
    .spi_hz = 33300000,
};

static bool valid(const struct config *c) {
    return memcmp(c->magic, config_defaults.magic, sizeof c->magic) == 0 && c->version == CONFIG_VERSION &&
           c->length == CONFIG_LENGTH && c->crc32 == crc32(c, CONFIG_LENGTH) && c->port != 0 &&
           (c->flags & ~CONFIG_FLAGS_KNOWN) == 0 && c->count >= 1 && c->count <= BODY_COUNT_MAX &&
           c->repeat >= 1 && c->ready_timeout_ms >= 1 && c->ready_timeout_ms <= WAIT_MAX_MS &&
           c->message_timeout_ms >= 1 && c->message_timeout_ms <= WAIT_MAX_MS && c->spi_hz >= SPI_HZ_MIN &&
           c->spi_hz <= SPI_HZ_MAX && c->success_wait_ms <= WAIT_MAX_MS && c->failure_wait_ms <= WAIT_MAX_MS;
}

bool config_load(const void *stored, struct config *out) {
    memcpy(out, stored, sizeof *out);
    if (valid(out)) {
        return true;
    }
    *out = config_defaults;
    return false;
}
