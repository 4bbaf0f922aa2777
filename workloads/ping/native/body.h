/* Pinged without any runtime: the W5500 answers, and this waits; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "json.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 1000u /* pings of each size */

struct figures {
    bool pinged;
};

/* Asks for `config->count` pings of each size and waits for their end. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_bool(json, "pinged", figures->pinged);
}

#endif
