#include "body.h"

#include <stdbool.h>

#include "card.h"
#include "timer.h"
#include "watchdog.h"

#define SPI_HZ 31250000u
#define LOOK_BLOCKS 256u /* between looks at whether somebody is there to report to */
#define FIRST_BLOCK 65536u /* far behind what formats a card: a volume that is on it stays one */

#define WORDS (CARD_BLOCK / sizeof(uint32_t))

/* In words, to compare them in no time. */
static uint32_t pattern_words[WORDS];
static uint32_t buffer_words[WORDS];
#define pattern ((uint8_t *)pattern_words)
#define buffer ((uint8_t *)buffer_words)

static void number_pattern(uint32_t number) {
    pattern[0] = (uint8_t)number;
    pattern[1] = (uint8_t)(number >> 8);
}

static bool same(void) {
    for (uint32_t i = 0; i < WORDS; i++) {
        if (buffer_words[i] != pattern_words[i]) {
            return false;
        }
    }
    return true;
}

static const char *measure(bool write, uint32_t blocks, struct way *way) {
    way->min_us = UINT32_MAX;
    way->max_us = 0;
    way->sum_us = 0;
    const uint32_t started_us = time_us();
    for (uint32_t number = 0; number < blocks; number++) {
        number_pattern(number);
        const uint32_t before_us = time_us();
        const char *error =
            write ? card_write(FIRST_BLOCK + number, pattern) : card_read(FIRST_BLOCK + number, buffer);
        const uint32_t took_us = time_us() - before_us;
        if (error) {
            return error;
        }
        if (!write && !same()) {
            return "a block is not what was written";
        }
        if (number != 0) {
            way->sum_us += took_us;
            way->min_us = took_us < way->min_us ? took_us : way->min_us;
            way->max_us = took_us > way->max_us ? took_us : way->max_us;
        }
        watchdog_feed();
        if (number % LOOK_BLOCKS == 0 && !tcp_can_send()) {
            return "the server closed the connection";
        }
    }
    way->total_us = time_us() - started_us;
    return 0;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    (void)tcp;
    for (uint32_t i = 0; i < CARD_BLOCK; i++) {
        pattern[i] = (uint8_t)(i * 7u);
    }
    const char *error = card_start(SPI_HZ, &figures->spi_hz);
    if (error || (error = measure(true, config->count, &figures->write))) {
        return error;
    }
    return measure(false, config->count, &figures->read);
}
