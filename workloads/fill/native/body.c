#include "body.h"

#include "chip.h"
#include "settings.h"
#include "stream.h"
#include "timer.h"
#include "transfer.h"

#define BUFFER_BYTES 2048u

const char *const body_kinds[3] = {"int16", "bytes", "port"};

static struct settings settings = {.count = 1, .values = {10}};
static uint16_t buffer[BUFFER_BYTES / 2];

/* Volatile, as all are to be stored, one by one. */
static void fill_int16(void) {
    volatile uint16_t *const words = buffer;
    for (uint32_t i = 0; i < BUFFER_BYTES / 2; i++) {
        words[i] = (uint16_t)i;
    }
}

static void fill_bytes(void) {
    volatile uint8_t *const bytes = (uint8_t *)buffer;
    for (uint32_t i = 0; i < BUFFER_BYTES; i++) {
        bytes[i] = 85;
    }
}

static void fill_port(void) {
    volatile uint8_t *const bytes = (uint8_t *)buffer;
    for (uint32_t i = 0; i < BUFFER_BYTES; i++) {
        bytes[i] = (uint8_t)SIO_GPIO_IN;
    }
}

static void (*const fill_once[3])(void) = {fill_int16, fill_bytes, fill_port};

static const char *transfer(struct stream *stream, uint32_t kind, uint32_t buffers, uint32_t fills, uint32_t wait_us,
                            uint32_t *took_us) {
    const char *error = transfer_announce(stream, "up", 0, buffers * BUFFER_BYTES);
    if (error) {
        return error;
    }
    const uint32_t started_us = time_us();
    for (uint32_t i = 0; i < buffers; i++) {
        for (uint32_t pass = 0; pass < fills; pass++) {
            fill_once[kind]();
        }
        if ((error = stream_write(stream, buffer, BUFFER_BYTES))) {
            return error;
        }
    }
    error = transfer_done(stream, wait_us);
    *took_us = time_us() - started_us;
    return error;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    struct stream stream;
    settings_load(&settings);
    figures->fills = settings.values[0];
    if (figures->fills > FILLS_MAX) {
        return "more than 20 fills are not kept";
    }
    stream_enter(&stream, tcp, config->flags & CONFIG_FLAG_POLL);
    for (uint32_t kind = 0; kind < 3; kind++) {
        for (uint32_t fills = 0; fills <= figures->fills; fills++) {
            const char *error = transfer(&stream, kind, config->count, fills, config->message_timeout_ms * 1000u,
                                         &figures->times_us[kind][fills]);
            if (error) {
                return error;
            }
        }
    }
    return stream_leave(&stream, tcp);
}
