#include "body.h"

#include "mem.h"
#include "network.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define REGISTERS BLOCK_SOCKET(TCP_SOCKET)
#define HEARD_BYTES 2u
#define SLICE_US 100000u

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    static const char ready[] = "ready\n";
    static const char heard[HEARD_BYTES] = {'o', 'k'};
    char said[HEARD_BYTES];

    figures->answered_us = 0;
    if (!tcp_send(tcp, ready, sizeof ready - 1)) {
        return "the server does not take the message";
    }
    const uint32_t deadline_us = time_us() + config->message_timeout_ms * 1000u;
    while (w5500_read16(REGISTERS, Sn_RX_RSR) < HEARD_BYTES) {
        if (time_reached(deadline_us)) {
            return "no answer within message_timeout_ms";
        }
        if (!tcp_can_send()) {
            return "the server closed the connection";
        }
        tcp_await_answer(time_us() + SLICE_US);
        watchdog_feed();
    }
    w5500_read(BLOCK_RX(TCP_SOCKET), tcp->rx_rd & 0xffffu, said, HEARD_BYTES);
    figures->answered_us = time_us();
    tcp->rx_rd += HEARD_BYTES;
    w5500_write16(REGISTERS, Sn_RX_RD, tcp->rx_rd);
    if (!w5500_command(TCP_SOCKET, Sn_CR_RECV)) {
        return "the W5500 does not accept RECV";
    }
    return memcmp(said, heard, HEARD_BYTES) == 0 ? 0 : "the server said something else than ok";
}
