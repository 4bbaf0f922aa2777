/* The ping-pong without any runtime; the protocol is in ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json.h"
#include "tcp.h"

#define BODY_COUNT_MAX 50000u /* messages: a round trip of each is kept */

struct figures {
    uint32_t completed; /* messages answered */
    uint32_t total_us;
    uint32_t round_trip_us[BODY_COUNT_MAX]; /* of the completed ones */
};

/* Sends 1, 3, 5, ... and takes 2, 4, 6, ... for answers, `config->count` of each. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_number(json, "messages", figures->completed);
    json_number(json, "total_us", figures->total_us);
}

static inline void body_report_samples(struct json *json, const struct figures *figures) {
    json_numbers(json, "round_trip_us", figures->round_trip_us, figures->completed);
}

#endif
