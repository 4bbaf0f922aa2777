/* From reset to a usable address: W5500, PHY link, DHCP or static address. Every wait is a poll with a deadline. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

#include "config.h"

#define TCP_SOCKET 0u
#define DHCP_SOCKET 1u

struct network {
    uint8_t mac[6];
    uint8_t address[4];
    uint8_t mask[4];
    uint8_t gateway[4];
    uint8_t server[4]; /* whom to connect to */
};

/* Each returns what went wrong, or NULL. */
const char *network_reset(const struct network *network);
const char *network_wait_link(uint32_t deadline_us);
const char *network_get_address(const struct config *config, struct network *network, uint32_t deadline_us);

#endif
