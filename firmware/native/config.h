/* The configuration block at CONFIG_ADDRESS; its layout is documented in README.md and written by
   firmware/native_config.py. */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_FLAG_STATIC 0x0001u /* use address, mask, gateway instead of DHCP */
#define CONFIG_FLAG_POLL 0x0002u   /* poll Sn_RX_RSR over SPI instead of watching INTn */
#define CONFIG_FLAGS_KNOWN (CONFIG_FLAG_STATIC | CONFIG_FLAG_POLL)

struct config {
    uint8_t magic[4]; /* "PBCF" */
    uint16_t version;
    uint16_t length; /* bytes before crc32 */
    uint8_t server[4]; /* 0.0.0.0: the DHCP server, or the gateway of a static address */
    uint16_t port;
    uint16_t flags;
    uint32_t count; /* of what the body counts, at most its BODY_COUNT_MAX */
    uint8_t address[4];
    uint8_t mask[4];
    uint8_t gateway[4];
    uint8_t mac[6]; /* all zero: made from the flash chip's unique id */
    uint16_t repeat;
    uint32_t ready_timeout_ms;
    uint32_t message_timeout_ms;
    uint32_t spi_hz;
    uint32_t success_wait_ms;
    uint32_t failure_wait_ms;
    uint32_t crc32;
};

_Static_assert(sizeof(struct config) == 64, "the layout is a contract with native_config.py");

extern const struct config config_defaults;

/* Copies the block at `stored` (little-endian, readable for sizeof(struct config) bytes) to `out` if it is valid;
   otherwise copies the defaults and returns false. */
bool config_load(const void *stored, struct config *out);

#endif
