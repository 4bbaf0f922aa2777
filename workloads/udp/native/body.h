/* Datagrams without any runtime; see ../README.md. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json_nested.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 900u /* datagrams; the settings are how many sizes there are, the sizes, and the rates */
#define EACH_MAX 10u

struct up {
    uint32_t size, taken, took_us, came;
};

struct down {
    uint32_t rate, came, took_us;
};

struct figures {
    uint32_t sizes, rates;
    struct up up[EACH_MAX];
    struct down down[EACH_MAX];
};

/* Up in each size, down at each rate. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_open_list(json, "up");
    for (const struct up *up = figures->up; up < figures->up + figures->sizes; up++) {
        json_open_list(json, 0);
        json_item_number(json, up->size);
        json_item_number(json, up->taken);
        json_item_number(json, 0); /* none is refused: the chip takes the next one once the last has gone */
        json_item_number(json, up->took_us);
        json_item_number(json, up->came);
        json_close_list(json);
    }
    json_close_list(json);
    json_open_list(json, "down");
    for (const struct down *down = figures->down; down < figures->down + figures->rates; down++) {
        json_open_list(json, 0);
        json_item_number(json, down->rate);
        json_item_number(json, down->came);
        json_item_number(json, down->took_us);
        json_close_list(json);
    }
    json_close_list(json);
}

#endif
