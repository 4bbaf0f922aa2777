/* Bytes both ways on one of the W5500's TCP sockets. Writes are put behind one another while the chip still sends the
   ones before. As long as others follow they go in pairs of whole segments, which a peer acknowledges at once: the chip
   takes no SEND before the last one's bytes have been acknowledged. */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "tcp.h"

struct stream {
    uint32_t socket;
    uint32_t tx_wr; /* where the next byte goes; Sn_TX_WR lies `unsent` before it */
    uint32_t rx_rd;
    uint32_t unsent; /* written behind the last SEND */
    bool sending;    /* that SEND's SEND_OK has not been seen */
    bool poll;       /* over SPI instead of watching INTn */
};

/* The connection that `tcp` has made, until `stream_leave` gives it back. */
void stream_enter(struct stream *stream, const struct tcp *tcp, bool poll);

/* Waits until all is acknowledged. Returns what went wrong, or NULL. */
const char *stream_leave(struct stream *stream, struct tcp *tcp);

/* A socket that has a connection by itself, as one that listened; whose interrupts are watched is the caller's. */
void stream_accepted(struct stream *stream, uint32_t socket, bool poll);

/* Puts all of it into the chip's buffer, and sends what was written before; `stream_push` is to follow the last one. */
const char *stream_write(struct stream *stream, const void *data, uint32_t length);

/* Sends what has been written, as soon as the chip has sent what was before it; does not wait for its acknowledgement. */
const char *stream_push(struct stream *stream);

/* Whether the chip has sent what it was told to: all of it has been acknowledged. */
bool stream_sent(struct stream *stream);

/* Bytes that wait to be read. */
uint32_t stream_waiting(const struct stream *stream);

/* Waits for `least` bytes. */
const char *stream_await(const struct stream *stream, uint32_t least, uint32_t wait_us);

/* Takes `length` bytes that wait. */
const char *stream_read(struct stream *stream, void *data, uint32_t length);

/* Waits for what comes and takes at most `most` bytes of it; `*length` says how many. */
const char *stream_take(struct stream *stream, void *data, uint32_t most, uint32_t wait_us, uint32_t *length);

/* Waits for `word` and takes it; `error` where something else came. */
const char *stream_expect(struct stream *stream, const char *word, uint32_t length, uint32_t wait_us,
                          const char *error);

#endif
