#include "stream.h"

#include "mem.h"
#include "network.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define REGISTERS BLOCK_SOCKET(stream->socket)
#define SEND_WAIT_US 10000000u
#define LOOK_US 100000u /* between looks at the connection while nothing comes */
#define WORD_MAX 8u
#define PAIR_BYTES 2920u /* of segments of 1460 bytes, which an Ethernet frame holds */

static const char not_taken[] = "the peer does not take what is sent";
static const char not_accepted[] = "the W5500 does not accept SEND";

static void watch(const struct stream *stream) {
    w5500_write8(REGISTERS, Sn_IR, Sn_IR_ALL);
    w5500_write8(REGISTERS, Sn_IMR, Sn_IR_RECV | Sn_IR_DISCON | Sn_IR_TIMEOUT);
    w5500_write8(BLOCK_COMMON, SIMR, BIT(stream->socket));
}

void stream_enter(struct stream *stream, const struct tcp *tcp, bool poll) {
    *stream = (struct stream){.socket = TCP_SOCKET, .tx_wr = tcp->tx_wr, .rx_rd = tcp->rx_rd, .poll = poll};
    watch(stream);
}

void stream_accepted(struct stream *stream, uint32_t socket, bool poll) {
    *stream = (struct stream){.socket = socket, .poll = poll};
    stream->tx_wr = w5500_read16(REGISTERS, Sn_TX_WR);
    stream->rx_rd = w5500_read16(REGISTERS, Sn_RX_RD);
}

static uint32_t status(const struct stream *stream) { return w5500_read8(REGISTERS, Sn_SR); }

bool stream_sent(struct stream *stream) {
    if (stream->sending && w5500_read8(REGISTERS, Sn_IR) & Sn_IR_SENDOK) {
        stream->sending = false;
    }
    return !stream->sending;
}

static const char *send(struct stream *stream, uint32_t keep) {
    w5500_write8(REGISTERS, Sn_IR, Sn_IR_SENDOK);
    w5500_write16(REGISTERS, Sn_TX_WR, stream->tx_wr - keep);
    if (!w5500_command(stream->socket, Sn_CR_SEND)) {
        return not_accepted;
    }
    stream->unsent = keep;
    stream->sending = true;
    return 0;
}

/* What makes pairs, if the chip takes it now. */
static const char *send_pairs(struct stream *stream) {
    uint32_t rest = stream->unsent;
    if (rest < PAIR_BYTES || !stream_sent(stream)) {
        return 0;
    }
    while (rest >= PAIR_BYTES) { /* no divide instruction */
        rest -= PAIR_BYTES;
    }
    return send(stream, rest);
}

/* A buffer that is full of what has not been sent, and holds no pair, would stay so. */
static const char *make_room(struct stream *stream) {
    return stream->unsent < PAIR_BYTES && stream->unsent != 0 && stream_sent(stream) ? send(stream, 0)
                                                                                    : send_pairs(stream);
}

static bool can_send(const struct stream *stream) {
    const uint32_t now = status(stream);
    return now == SOCK_ESTABLISHED || now == SOCK_CLOSE_WAIT;
}

static const char *await_sent(struct stream *stream, uint32_t deadline_us) {
    while (!stream_sent(stream)) {
        if (time_reached(deadline_us) || !can_send(stream)) {
            return not_taken;
        }
    }
    return 0;
}

const char *stream_write(struct stream *stream, const void *data, uint32_t length) {
    const uint8_t *next = data;
    const uint32_t deadline_us = time_us() + SEND_WAIT_US;
    const char *error = send_pairs(stream);
    watchdog_feed();
    while (length != 0 && !error) {
        uint32_t free;
        if (!w5500_read16_stable(REGISTERS, Sn_TX_FSR, &free) || free <= stream->unsent) {
            if (time_reached(deadline_us) || !can_send(stream)) {
                return not_taken;
            }
            error = make_room(stream);
        } else {
            free -= stream->unsent;
            const uint32_t part = length < free ? length : free;
            w5500_write(BLOCK_TX(stream->socket), stream->tx_wr & 0xffffu, next, part);
            stream->tx_wr += part;
            stream->unsent += part;
            next += part;
            length -= part;
        }
    }
    return error;
}

const char *stream_push(struct stream *stream) {
    if (stream->unsent == 0) {
        return 0;
    }
    const char *error = await_sent(stream, time_us() + SEND_WAIT_US);
    return error ? error : send(stream, 0);
}

const char *stream_leave(struct stream *stream, struct tcp *tcp) {
    const char *error = stream_push(stream);
    if (error || (error = await_sent(stream, time_us() + SEND_WAIT_US))) {
        return error;
    }
    tcp->tx_wr = stream->tx_wr;
    tcp->rx_rd = stream->rx_rd;
    return 0;
}

uint32_t stream_waiting(const struct stream *stream) { return w5500_read16(REGISTERS, Sn_RX_RSR); }

const char *stream_await(const struct stream *stream, uint32_t least, uint32_t wait_us) {
    const uint32_t deadline_us = time_us() + wait_us;
    while (stream_waiting(stream) < least) {
        w5500_write8(REGISTERS, Sn_IR, Sn_IR_RECV);
        if (stream_waiting(stream) >= least) { /* it came before the flag was cleared */
            break;
        }
        if (status(stream) != SOCK_ESTABLISHED) {
            return stream_waiting(stream) >= least ? 0 : "the peer closed the connection";
        }
        if (time_reached(deadline_us)) {
            return "nothing came within message_timeout_ms";
        }
        watchdog_feed();
        const uint32_t look_us = time_us() + LOOK_US;
        while (!stream->poll && SIO_GPIO_IN & BIT(PIN_INTN) && !time_reached(look_us)) {
        }
    }
    return 0;
}

const char *stream_read(struct stream *stream, void *data, uint32_t length) {
    w5500_read(BLOCK_RX(stream->socket), stream->rx_rd & 0xffffu, data, length);
    stream->rx_rd += length;
    w5500_write16(REGISTERS, Sn_RX_RD, stream->rx_rd);
    return w5500_command(stream->socket, Sn_CR_RECV) ? 0 : "the W5500 does not accept RECV";
}

const char *stream_take(struct stream *stream, void *data, uint32_t most, uint32_t wait_us, uint32_t *length) {
    const char *error = stream_await(stream, 1, wait_us);
    if (error) {
        return error;
    }
    const uint32_t waiting = stream_waiting(stream);
    *length = waiting < most ? waiting : most;
    return stream_read(stream, data, *length);
}

const char *stream_expect(struct stream *stream, const char *word, uint32_t length, uint32_t wait_us,
                          const char *error) {
    char said[WORD_MAX];
    const char *failed = stream_await(stream, length, wait_us);
    if (failed || (failed = stream_read(stream, said, length))) {
        return failed;
    }
    return memcmp(said, word, length) == 0 ? 0 : error;
}
