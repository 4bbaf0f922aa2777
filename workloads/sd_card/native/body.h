/* The card without any runtime and without a file system: blocks one after the other; ../README.md has the figures. */
#ifndef BODY_H
#define BODY_H

#include <stdint.h>

#include "config.h"
#include "json.h"
#include "no_samples.h"
#include "tcp.h"

#define BODY_COUNT_MAX 16384u /* blocks */

struct way {
    uint32_t total_us;
    uint32_t min_us, max_us, sum_us; /* of all calls but the first */
};

struct figures {
    struct way write, read;
    uint32_t spi_hz;
};

/* Writes `config->count` blocks and reads them back. Returns what went wrong, or NULL. */
const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures);

static inline void body_report_figures(struct json *json, const struct figures *figures) {
    json_number(json, "write_total_us", figures->write.total_us);
    json_number(json, "write_min_us", figures->write.min_us);
    json_number(json, "write_max_us", figures->write.max_us);
    json_number(json, "write_sum_us", figures->write.sum_us);
    json_number(json, "read_total_us", figures->read.total_us);
    json_number(json, "read_min_us", figures->read.min_us);
    json_number(json, "read_max_us", figures->read.max_us);
    json_number(json, "read_sum_us", figures->read.sum_us);
    json_number(json, "card_spi_hz", figures->spi_hz);
}

#endif
