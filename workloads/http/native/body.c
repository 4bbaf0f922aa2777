#include "body.h"

#include "adc.h"
#include "announce.h"
#include "listener.h"
#include "pages.h"
#include "stream.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define LOOK_US 100000u

enum state { LISTENS, SERVES, LAST_ANSWER, CLOSES };

static struct visitor {
    enum state state;
    uint32_t length;
    struct stream stream;
    char request[REQUEST_MAX];
} visitors[SOCKETS];

static struct answer answer;
static uint32_t dynamic;

/* Takes what has come; returns whether that was a request to end. */
static bool serve(struct visitor *visitor, struct figures *figures) {
    const uint32_t waiting = stream_waiting(&visitor->stream);
    const uint32_t room = REQUEST_MAX - visitor->length;
    const uint32_t length = waiting < room ? waiting : room;
    if (length == 0 || stream_read(&visitor->stream, visitor->request + visitor->length, length)) {
        return false;
    }
    visitor->length += length;
    if (!request_is_whole(visitor->request, visitor->length)) {
        if (visitor->length == REQUEST_MAX) {
            figures->faults++;
            visitor->state = LAST_ANSWER;
        }
        return false;
    }
    pages_answer(visitor->request, visitor->length, &dynamic, adc_read, &answer);
    visitor->length = 0;
    figures->asked++;
    if (stream_write(&visitor->stream, answer.text, answer.length) || stream_push(&visitor->stream)) {
        figures->faults++;
        visitor->state = LAST_ANSWER;
    } else if (!answer.keep) {
        visitor->state = LAST_ANSWER;
    }
    return answer.end;
}

/* What has happened to a connection, and what follows from that; returns whether the PC asked for the end. */
static bool look(uint32_t socket, uint32_t events, const struct config *config, struct figures *figures) {
    struct visitor *const visitor = &visitors[socket];
    bool over = false;
    if (events & Sn_IR_CON) {
        stream_accepted(&visitor->stream, socket, config->flags & CONFIG_FLAG_POLL);
        visitor->length = 0;
        visitor->state = SERVES;
    }
    if (events & Sn_IR_TIMEOUT) {
        figures->faults++;
    }
    if (visitor->state == SERVES && events & Sn_IR_RECV) {
        over = serve(visitor, figures);
    }
    const uint32_t status = w5500_read8(BLOCK_SOCKET(socket), Sn_SR);
    if (visitor->state == SERVES && status == SOCK_CLOSE_WAIT) {
        visitor->state = LAST_ANSWER;
    }
    if (visitor->state == LAST_ANSWER && (status == SOCK_CLOSE_WAIT || stream_sent(&visitor->stream))) {
        w5500_command(socket, Sn_CR_DISCON);
        visitor->state = CLOSES;
    }
    if (status == SOCK_CLOSED) {
        visitor->state = LISTENS;
        figures->faults += listener_open(socket, config->port) != 0;
    }
    return over;
}

static bool any_ends(void) {
    for (uint32_t socket = LISTENER_FIRST; socket < SOCKETS; socket++) {
        if (visitors[socket].state >= LAST_ANSWER) {
            return true;
        }
    }
    return false;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    const char *error;
    figures->asked = figures->faults = dynamic = 0;
    adc_init();
    listener_divide();
    for (uint32_t socket = LISTENER_FIRST; socket < SOCKETS; socket++) {
        visitors[socket].state = LISTENS;
        if ((error = listener_open(socket, config->port))) {
            return error;
        }
    }
    if (!announce(tcp, config->port)) {
        return "the server does not take the announcement";
    }
    bool over = false;
    uint32_t look_us = time_us() + LOOK_US;
    while (!over || any_ends()) {
        watchdog_feed();
        /* The chip says nothing of an acknowledgement, nor of a connection that has ended after its FIN. */
        const bool at_once = config->flags & CONFIG_FLAG_POLL || any_ends();
        const uint32_t happened = listener_await(at_once, LOOK_US);
        for (uint32_t socket = LISTENER_FIRST; socket < SOCKETS; socket++) {
            if (happened & BIT(socket) || visitors[socket].state >= LAST_ANSWER) {
                over |= look(socket, happened & BIT(socket) ? listener_take(socket) : 0, config, figures);
            }
        }
        if (time_reached(look_us)) {
            if (!tcp_can_send()) {
                return "the server closed the connection";
            }
            look_us = time_us() + LOOK_US;
        }
    }
    return 0;
}
