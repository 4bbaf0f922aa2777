#include "body.h"

#include "settings.h"
#include "stream.h"
#include "timer.h"
#include "transfer.h"

#define SIZE_MAX_BYTES 16384u

static struct settings settings = {.count = 6, .values = {65536, 1, 16, 256, 1024, 4096}};
static uint8_t block[SIZE_MAX_BYTES];
static uint8_t taken[SIZE_MAX_BYTES];
static uint32_t wait_us;

static const char wrong[] = "the last byte is wrong";

/* Takes `count` bytes, at most `most` at a time, and looks at the last of them. */
static const char *take(struct stream *stream, uint32_t count, uint32_t most, uint8_t last) {
    uint32_t length = 0;
    while (count != 0) {
        const char *error = stream_take(stream, taken, count < most ? count : most, wait_us, &length);
        if (error) {
            return error;
        }
        count -= length;
    }
    return taken[length - 1] == last ? 0 : wrong;
}

static const char *up(struct stream *stream, uint32_t size, uint32_t total) {
    for (uint32_t left = total; left != 0; left -= size) {
        const char *error = stream_write(stream, block, size);
        if (error) {
            return error;
        }
    }
    return transfer_done(stream, wait_us);
}

static const char *down(struct stream *stream, uint32_t size, uint32_t total) {
    const char *error = stream_push(stream);
    return error ? error : take(stream, total, size, block[size - 1]);
}

static const char *echo(struct stream *stream, uint32_t size, uint32_t total) {
    for (uint32_t left = total; left != 0; left -= size) {
        const char *error = stream_write(stream, block, size);
        if (error || (error = stream_push(stream)) || (error = take(stream, size, size, block[size - 1]))) {
            return error;
        }
    }
    return 0;
}

static const char *measure(struct stream *stream, const char *way,
                           const char *(*transfer)(struct stream *, uint32_t, uint32_t), uint32_t size,
                           struct figures *figures) {
    const uint32_t total = transfer_total(settings.values[0], size);
    const uint32_t started_us = time_us();
    const char *error = transfer_announce(stream, way, size, total);
    if (error || (error = transfer(stream, size, total))) {
        return error;
    }
    figures->transfers[figures->count++] = (struct made){way, size, total, time_us() - started_us};
    return 0;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    const char *error;
    struct stream stream;
    settings_load(&settings);
    figures->count = 0;
    wait_us = config->message_timeout_ms * 1000u;
    stream_enter(&stream, tcp, config->flags & CONFIG_FLAG_POLL);
    for (uint32_t i = 1; i < settings.count && i <= BODY_COUNT_MAX; i++) {
        const uint32_t size = settings.values[i];
        if (size == 0 || size > SIZE_MAX_BYTES) {
            return "a write has no bytes, or more than 16384";
        }
        transfer_block(block, size);
        if ((error = measure(&stream, "up", up, size, figures)) ||
            (error = measure(&stream, "down", down, size, figures)) ||
            (error = measure(&stream, "echo", echo, size, figures))) {
            return error;
        }
    }
    return stream_leave(&stream, tcp);
}
