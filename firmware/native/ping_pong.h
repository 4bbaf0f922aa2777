#ifndef PING_PONG_H
#define PING_PONG_H

#include <stdint.h>

#include "config.h"
#include "tcp.h"

struct ping_pong {
    uint32_t completed; /* messages answered */
    uint32_t total_us;
    uint32_t round_trip_us[CONFIG_MESSAGES_MAX]; /* of the completed ones */
};

/* Sends 1, 3, 5, ... and takes 2, 4, 6, ... for answers, `config->messages` of each (docs/architecture.md, "The
   protocol"). Returns what went wrong, or NULL. */
const char *ping_pong(const struct config *config, struct tcp *tcp, struct ping_pong *result);

#endif
