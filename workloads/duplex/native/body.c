#include "body.h"

#include "settings.h"
#include "stream.h"
#include "timer.h"
#include "transfer.h"

#define SIZE_MAX_BYTES 16384u

static struct settings settings = {.count = 5, .values = {32768, 16, 256, 1024, 4096}};
static uint8_t block[SIZE_MAX_BYTES];
static uint8_t taken[SIZE_MAX_BYTES];

/* The PC sends all its bytes from the start: until they are here, there is something to wait for. */
static const char *both(struct stream *stream, uint32_t size, uint32_t total, uint32_t wait_us) {
    uint32_t to_send = total;
    uint32_t to_take = total;
    const char *error = stream_push(stream);
    if (error) {
        return error;
    }
    while (to_send != 0 || to_take != 0) {
        if (to_send != 0) {
            if ((error = stream_write(stream, block, size))) {
                return error;
            }
            to_send -= size;
        }
        if (to_send == 0 && (error = stream_push(stream))) {
            return error;
        }
        if (to_take != 0) {
            uint32_t length;
            if ((error = stream_take(stream, taken, to_take < size ? to_take : size, wait_us, &length))) {
                return error;
            }
            to_take -= length;
            if (to_take == 0 && taken[length - 1] != block[size - 1]) {
                return "the last byte is wrong";
            }
        }
    }
    return transfer_done(stream, wait_us);
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    const char *error;
    struct stream stream;
    settings_load(&settings);
    figures->count = 0;
    stream_enter(&stream, tcp, config->flags & CONFIG_FLAG_POLL);
    for (uint32_t i = 1; i < settings.count && i <= BODY_COUNT_MAX; i++) {
        const uint32_t size = settings.values[i];
        if (size == 0 || size > SIZE_MAX_BYTES) {
            return "a write has no bytes, or more than 16384";
        }
        transfer_block(block, size);
        const uint32_t total = transfer_total(settings.values[0], size);
        const uint32_t started_us = time_us();
        if ((error = transfer_announce(&stream, "both", size, total)) ||
            (error = both(&stream, size, total, config->message_timeout_ms * 1000u))) {
            return error;
        }
        figures->transfers[figures->count++] = (struct made){size, total, time_us() - started_us};
    }
    return stream_leave(&stream, tcp);
}
