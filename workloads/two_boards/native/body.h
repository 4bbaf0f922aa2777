/* The board that serves another one, without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 8000u /* messages */
#define REPORT_BYTES 8192u

struct figures {
    uint32_t answered;
    char report[REPORT_BYTES + 1]; /* of a client without a console; with its end of line */
};

/* Answers `config->count` numbers of one connection, and takes its report if the settings' first number is 1. Returns what
   went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_number(json, "answered", figures->answered);
    if (figures->report[0]) {
        json_string(json, "report", figures->report);
    }
}

#endif
