#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "body.h"
#include "config.h"
#include "network.h"
#include "tcp.h"

/* What the report says besides the body's own figures; keys as in docs/architecture.md, "The client's result line". */
struct run {
    uint32_t number; /* 1 to config->repeat */
    uint32_t link_us;
    uint32_t ready_us; /* start-up (the first run) or the start of this run, to connected */
    uint32_t connect_attempts;
    uint32_t spi_hz_actual;
};

/* Sends the report line over the connection. `error` is NULL for a run that completed, otherwise what ended it, in
   which stage. False: it could not be sent. */
bool report_send(struct tcp *tcp, const struct config *config, const struct network *network, const struct run *run,
                 const struct figures *figures, const char *error, const char *stage);

#endif
