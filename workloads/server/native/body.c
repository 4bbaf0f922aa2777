#include "body.h"

#include "announce.h"
#include "decimal.h"
#include "listener.h"
#include "stream.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define SOCKET LISTENER_FIRST
#define CALL_WAIT_US 30000000u
#define LOOK_US 100000u
#define MESSAGE_BYTES 16u

static const char *await_call(bool poll) {
    const uint32_t deadline_us = time_us() + CALL_WAIT_US;
    while (!(listener_await(poll, LOOK_US) & BIT(SOCKET) && listener_take(SOCKET) & Sn_IR_CON)) {
        if (time_reached(deadline_us)) {
            return "the PC does not connect";
        }
        if (!tcp_can_send()) {
            return "the server closed the connection";
        }
        watchdog_feed();
    }
    return 0;
}

static bool parse(const uint8_t *digits, uint32_t length, uint32_t *number) {
    *number = 0;
    for (uint32_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9') {
            return false;
        }
        *number = *number * 10 + digits[i] - '0';
    }
    return true;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    const bool poll = config->flags & CONFIG_FLAG_POLL;
    struct stream stream;
    figures->answered = 0;
    const char *error = listener_open(SOCKET, config->port);
    if (error) {
        return error;
    }
    if (!announce(tcp, config->port)) {
        return "the server does not take the announcement";
    }
    if ((error = await_call(poll))) {
        return error;
    }
    stream_accepted(&stream, SOCKET, poll);
    while (figures->answered < config->count) {
        uint8_t said[MESSAGE_BYTES];
        char answer[DECIMAL_MAX];
        uint32_t length, number;
        if ((error = stream_take(&stream, said, sizeof said, config->message_timeout_ms * 1000u, &length))) {
            return error;
        }
        if (!parse(said, length, &number)) {
            return "the PC said something else than a number";
        }
        if ((error = stream_write(&stream, answer, decimal_format(number + 1, answer))) ||
            (error = stream_push(&stream))) {
            return error;
        }
        figures->answered++;
    }
    w5500_command(SOCKET, Sn_CR_DISCON);
    return 0;
}
