/* The other side of the ping-pong: a socket that listens, the one connection to it, and an answer to each of its numbers. */
#ifndef ANSWERS_H
#define ANSWERS_H

#include "announce.h"
#include "body.h"
#include "config.h"
#include "decimal.h"
#include "listener.h"
#include "stream.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define ANSWERS_SOCKET LISTENER_FIRST
#define CALL_WAIT_US 30000000u
#define LOOK_US 100000u
#define MESSAGE_BYTES 16u

static const char *await_call(bool poll, const char *nobody) {
    const uint32_t deadline_us = time_us() + CALL_WAIT_US;
    while (!(listener_await(poll, LOOK_US) & BIT(ANSWERS_SOCKET) && listener_take(ANSWERS_SOCKET) & Sn_IR_CON)) {
        if (time_reached(deadline_us)) {
            return nobody;
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

/* Counts them in the body's `answered`. Returns what went wrong, or NULL: `nobody` where no connection comes,
   `no_number` where something else is said. */
static inline const char *answers_give(const struct config *config, struct tcp *tcp, struct stream *stream,
                                       struct figures *figures, const char *nobody, const char *no_number) {
    const bool poll = config->flags & CONFIG_FLAG_POLL;
    figures->answered = 0;
    const char *error = listener_open(ANSWERS_SOCKET, config->port);
    if (error) {
        return error;
    }
    if (!announce(tcp, config->port)) {
        return "the server does not take the announcement";
    }
    if ((error = await_call(poll, nobody))) {
        return error;
    }
    stream_accepted(stream, ANSWERS_SOCKET, poll);
    while (figures->answered < config->count) {
        uint8_t said[MESSAGE_BYTES];
        char answer[DECIMAL_MAX];
        uint32_t length, number;
        if ((error = stream_take(stream, said, sizeof said, config->message_timeout_ms * 1000u, &length))) {
            return error;
        }
        if (!parse(said, length, &number)) {
            return no_number;
        }
        if ((error = stream_write(stream, answer, decimal_format(number + 1, answer))) ||
            (error = stream_push(stream))) {
            return error;
        }
        figures->answered++;
    }
    return 0;
}

#endif
