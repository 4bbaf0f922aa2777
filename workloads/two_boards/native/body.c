#include "body.h"

#include "answers.h"
#include "settings.h"

static const char *take_report(struct stream *stream, uint32_t wait_us, char *report) {
    uint32_t used = 0;
    while (used == 0 || report[used - 1] != '\n') {
        uint32_t length;
        if (used == REPORT_BYTES) {
            return "the other board's report is too long";
        }
        const char *error = stream_take(stream, report + used, REPORT_BYTES - used, wait_us, &length);
        if (error) {
            return error;
        }
        used += length;
        watchdog_feed();
    }
    report[used] = 0;
    return 0;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    struct settings settings = {.count = 1, .values = {0}};
    struct stream stream;
    settings_load(&settings);
    figures->report[0] = 0;
    const char *error = answers_give(config, tcp, &stream, figures, "the other board does not connect",
                                     "the other board said something else than a number");
    if (!error && settings.values[0]) {
        error = take_report(&stream, config->message_timeout_ms * 1000u, figures->report);
    }
    if (error) {
        return error;
    }
    w5500_command(ANSWERS_SOCKET, Sn_CR_DISCON);
    return 0;
}
