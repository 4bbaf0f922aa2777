/* Buffers filled and sent without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "board.h"
#include "config.h"
#include "json_nested.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 50u /* buffers of a transfer; the setting is how often each is filled at most */
#define FILLS_MAX 20u

struct figures {
    uint32_t fills;
    uint32_t times_us[3][FILLS_MAX + 1];
};

extern const char *const body_kinds[3];

/* Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_open_object(json, "times_us");
    for (uint32_t kind = 0; kind < 3; kind++) {
        json_numbers(json, body_kinds[kind], figures->times_us[kind], figures->fills + 1);
    }
    json_close_object(json);
    json_number(json, "cpu_hz", CLK_SYS_HZ);
}

#endif
