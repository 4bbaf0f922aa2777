/* From start to connection without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 1u

struct figures {
    uint32_t answered_us; /* of the timer, which begins with the firmware */
};

/* Says ready and waits for the server's word. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_number(json, "booted_us", 0);
    json_number(json, "answered_us", figures->answered_us);
}

#endif
