/* Duplex TCP without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json_nested.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 10u /* sizes of writes; the settings have the bytes of a transfer, and the sizes */

struct made {
    uint32_t size, total, took_us;
};

struct figures {
    uint32_t count;
    struct made transfers[BODY_COUNT_MAX];
};

/* Both ways at once for each size. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_open_list(json, "transfers");
    for (const struct made *made = figures->transfers; made < figures->transfers + figures->count; made++) {
        json_open_list(json, 0);
        json_item_number(json, made->size);
        json_item_number(json, made->total);
        json_item_number(json, made->took_us);
        json_close_list(json);
    }
    json_close_list(json);
}

#endif
