/* Pages without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 1u /* the PC says when it is over */

struct figures {
    uint32_t asked;
    uint32_t faults;
};

/* Serves until the PC asks for /end. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_number(json, "asked", figures->asked);
    json_number(json, "faults", figures->faults);
}

#endif
