/* The chip answers the pings by itself; all that is left to do is to ask for them and to wait. */
#include "body.h"

#include "decimal.h"
#include "mem.h"
#include "network.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define REGISTERS BLOCK_SOCKET(TCP_SOCKET)
#define INTERVAL_MS 103u /* workload.py has the same */
#define SIZES 3u
#define SPARE_US 10000000u /* beyond what the pings take */
#define SLICE_US 100000u
#define DONE_BYTES 4u

static const char *ask(struct tcp *tcp, uint32_t count) {
    static const char sizes[] = "ping 56,512,1300 ";
    static const char interval[] = " 103\n";
    char line[sizeof sizes + DECIMAL_MAX + sizeof interval];
    uint32_t length = sizeof sizes - 1;
    memcpy(line, sizes, length);
    length += decimal_format(count, line + length);
    memcpy(line + length, interval, sizeof interval - 1);
    length += sizeof interval - 1;
    return tcp_send(tcp, line, length) ? 0 : "the server does not take the question";
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    static const char done[DONE_BYTES] = {'d', 'o', 'n', 'e'};
    char said[DONE_BYTES];

    figures->pinged = false;
    const char *error = ask(tcp, config->count);
    if (error) {
        return error;
    }
    const uint32_t deadline_us = time_us() + config->count * SIZES * INTERVAL_MS * 1000u + SPARE_US;
    while (w5500_read16(REGISTERS, Sn_RX_RSR) < DONE_BYTES) {
        const uint32_t slice_us = time_us() + SLICE_US;
        tcp_await_answer(slice_us);
        if (time_reached(deadline_us)) {
            return "the server does not say that it has pinged";
        }
        if (!tcp_can_send()) {
            return "the server closed the connection";
        }
        watchdog_feed();
    }
    w5500_read(BLOCK_RX(TCP_SOCKET), tcp->rx_rd & 0xffffu, said, DONE_BYTES);
    tcp->rx_rd += DONE_BYTES;
    w5500_write16(REGISTERS, Sn_RX_RD, tcp->rx_rd);
    if (!w5500_command(TCP_SOCKET, Sn_CR_RECV)) {
        return "the W5500 does not accept RECV";
    }
    for (uint32_t i = 0; i < DONE_BYTES; i++) {
        if (said[i] != done[i]) {
            return "the server said something else than done";
        }
    }
    figures->pinged = true;
    return 0;
}
