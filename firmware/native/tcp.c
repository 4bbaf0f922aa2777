#include "tcp.h"

#include "network.h"
#include "timer.h"
#include "w5500.h"

#define REGISTERS BLOCK_SOCKET(TCP_SOCKET)

#define BACKOFF_FIRST_US 50000u
#define BACKOFF_MAX_US 1000000u
#define POLL_US 20u
#define SEND_WAIT_US 10000000u
#define CLOSE_WAIT_US 2000000u

#define EPHEMERAL_PORTS 0xc000u /* RFC 6335: 49152 to 65535 */

/* RTR in 100 us; RCR retransmissions, each twice as long as the one before for TCP (datasheet 4.1). Few while
   connecting, where a new attempt does better; the chip's default afterwards. */
#define RTR_200_MS 2000u
#define RCR_CONNECT 3u
#define RCR_CONNECTED 8u

static const char *attempt(const uint8_t server[4], uint32_t port, uint32_t local_port, uint32_t deadline_us) {
    const uint8_t destination[6] = {server[0], server[1], server[2], server[3], (uint8_t)(port >> 8), (uint8_t)port};
    w5500_write8(REGISTERS, Sn_MR, Sn_MR_TCP);
    w5500_write16(REGISTERS, Sn_PORT, local_port);
    if (!w5500_open(TCP_SOCKET, SOCK_INIT)) {
        return "the W5500 does not open a TCP socket";
    }
    w5500_write(REGISTERS, Sn_DIPR, destination, sizeof destination);
    w5500_write8(REGISTERS, Sn_IR, Sn_IR_ALL);
    if (!w5500_command(TCP_SOCKET, Sn_CR_CONNECT)) {
        return "the W5500 does not accept CONNECT";
    }
    for (;;) {
        const uint32_t status = w5500_read8(REGISTERS, Sn_SR);
        if (status == SOCK_ESTABLISHED) {
            return 0;
        }
        if (status == SOCK_CLOSED) {
            return w5500_read8(REGISTERS, Sn_IR) & Sn_IR_TIMEOUT ? "connect: the server does not answer"
                                                                 : "connect: the server refused";
        }
        if (time_reached(deadline_us)) {
            return "connect: not established within ready_timeout_ms";
        }
        sleep_us(POLL_US);
    }
}

const char *tcp_connect(struct tcp *tcp, const uint8_t server[4], uint32_t port, uint32_t deadline_us,
                        uint32_t *attempts) {
    /* The time of the first attempt differs from boot to boot on a real board, so a server that still remembers the
       last connection is not met with its port again. */
    const uint32_t first_port = time_us();
    uint32_t backoff_us = BACKOFF_FIRST_US;
    w5500_write16(BLOCK_COMMON, RTR, RTR_200_MS);
    w5500_write8(BLOCK_COMMON, RCR, RCR_CONNECT);
    for (*attempts = 1;; ++*attempts) {
        const char *error = attempt(server, port, EPHEMERAL_PORTS | (first_port + *attempts), deadline_us);
        if (!error) {
            break;
        }
        w5500_command(TCP_SOCKET, Sn_CR_CLOSE);
        const uint32_t retry_us = time_us() + backoff_us;
        if ((int32_t)(deadline_us - retry_us) <= 0) {
            return error;
        }
        sleep_until(retry_us);
        backoff_us = backoff_us < BACKOFF_MAX_US / 2 ? backoff_us * 2 : BACKOFF_MAX_US;
    }
    w5500_write8(BLOCK_COMMON, RCR, RCR_CONNECTED);
    tcp->tx_wr = w5500_read16(REGISTERS, Sn_TX_WR);
    tcp->rx_rd = w5500_read16(REGISTERS, Sn_RX_RD);
    return 0;
}

bool tcp_can_send(void) {
    const uint32_t status = w5500_read8(REGISTERS, Sn_SR);
    return status == SOCK_ESTABLISHED || status == SOCK_CLOSE_WAIT;
}

static bool await_free(uint32_t *free, uint32_t deadline_us) {
    while (!w5500_read16_stable(REGISTERS, Sn_TX_FSR, free) || *free == 0) {
        if (time_reached(deadline_us) || !tcp_can_send()) {
            return false;
        }
        sleep_us(POLL_US);
    }
    return true;
}

static bool await_sent(uint32_t deadline_us) {
    for (;;) {
        const uint32_t flags = w5500_read8(REGISTERS, Sn_IR);
        if (flags & Sn_IR_SENDOK) {
            return true;
        }
        if (flags & Sn_IR_TIMEOUT || time_reached(deadline_us) || !tcp_can_send()) {
            return false;
        }
        sleep_us(POLL_US);
    }
}

bool tcp_send(struct tcp *tcp, const void *data, uint32_t length) {
    const uint8_t *next = data;
    const uint32_t deadline_us = time_us() + SEND_WAIT_US;
    while (length != 0) {
        uint32_t free;
        if (!await_free(&free, deadline_us)) {
            return false;
        }
        const uint32_t part = length < free ? length : free;
        w5500_write(BLOCK_TX(TCP_SOCKET), tcp->tx_wr & 0xffffu, next, part);
        tcp->tx_wr += part;
        w5500_write16(REGISTERS, Sn_TX_WR, tcp->tx_wr);
        w5500_write8(REGISTERS, Sn_IR, Sn_IR_SENDOK);
        if (!w5500_command(TCP_SOCKET, Sn_CR_SEND) || !await_sent(deadline_us)) {
            return false;
        }
        next += part;
        length -= part;
    }
    return true;
}

bool tcp_await_answer(uint32_t deadline_us) {
    while (w5500_read16(REGISTERS, Sn_RX_RSR) == 0) {
        if (time_reached(deadline_us) || !tcp_can_send()) {
            return false;
        }
        sleep_us(POLL_US);
    }
    return true;
}

void tcp_close(void) {
    const uint32_t deadline_us = time_us() + CLOSE_WAIT_US;
    if (tcp_can_send()) {
        w5500_command(TCP_SOCKET, Sn_CR_DISCON);
    }
    while (w5500_read8(REGISTERS, Sn_SR) != SOCK_CLOSED) {
        if (time_reached(deadline_us)) {
            break;
        }
        sleep_us(POLL_US);
    }
    w5500_command(TCP_SOCKET, Sn_CR_CLOSE);
}
