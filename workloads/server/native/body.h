/* The board as server without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 50000u /* messages */

struct figures {
    uint32_t answered;
};

/* Answers `config->count` numbers of one connection. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_number(json, "answered", figures->answered);
}

#endif
