#include "body.h"

#include "decimal.h"
#include "settings.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define SOCKET 1u /* DHCP has done with it */
#define REGISTERS BLOCK_SOCKET(SOCKET)
#define BUFFERS_8_KIB 0x0808u
#define OWN_PORT 50000u
#define HEADER 8u /* the peer's address and port, and the datagram's length */
#define DATAGRAM_MAX 1472u
#define ANSWER_BYTES 5u
#define SEND_WAIT_US 1000000u
#define ANSWER_WAIT_US 20000000u
#define REST_WAIT_US 3000000u /* longer than the longest gap */

static struct settings settings = {.count = 10, .values = {3, 64, 512, 1472, 250, 500, 1000, 2000, 4000, 8000}};
static uint8_t datagram[DATAGRAM_MAX];
static uint32_t tx_wr, rx_rd;

static const char *open_udp(uint32_t number) {
    uint8_t peer[6];
    w5500_read(BLOCK_SOCKET(0), Sn_DIPR, peer, sizeof peer); /* the server's, on the port of its TCP */
    w5500_command(SOCKET, Sn_CR_CLOSE);
    w5500_write16(REGISTERS, Sn_RXBUF_SIZE, BUFFERS_8_KIB);
    w5500_write8(REGISTERS, Sn_MR, Sn_MR_UDP);
    w5500_write16(REGISTERS, Sn_PORT, OWN_PORT + number);
    if (!w5500_open(SOCKET, SOCK_UDP)) {
        return "the W5500 does not open a UDP socket";
    }
    w5500_write(REGISTERS, Sn_DIPR, peer, sizeof peer);
    w5500_write8(REGISTERS, Sn_IR, Sn_IR_ALL);
    tx_wr = w5500_read16(REGISTERS, Sn_TX_WR);
    rx_rd = w5500_read16(REGISTERS, Sn_RX_RD);
    return 0;
}

/* False: it did not go. */
static bool send(uint32_t length) {
    const uint32_t deadline_us = time_us() + SEND_WAIT_US;
    w5500_write(BLOCK_TX(SOCKET), tx_wr & 0xffffu, datagram, length);
    tx_wr += length;
    w5500_write16(REGISTERS, Sn_TX_WR, tx_wr);
    w5500_write8(REGISTERS, Sn_IR, Sn_IR_SENDOK | Sn_IR_TIMEOUT);
    if (!w5500_command(SOCKET, Sn_CR_SEND)) {
        return false;
    }
    while (!time_reached(deadline_us)) {
        const uint32_t flags = w5500_read8(REGISTERS, Sn_IR);
        if (flags & (Sn_IR_SENDOK | Sn_IR_TIMEOUT)) {
            return flags & Sn_IR_SENDOK;
        }
    }
    return false;
}

/* The next datagram, as far as `datagram` holds it; 0 where none comes within `wait_us`. */
static uint32_t take(uint32_t wait_us) {
    const uint32_t deadline_us = time_us() + wait_us;
    uint8_t header[HEADER];
    while (w5500_read16(REGISTERS, Sn_RX_RSR) < HEADER) {
        if (time_reached(deadline_us)) {
            return 0;
        }
        watchdog_feed();
    }
    w5500_read(BLOCK_RX(SOCKET), rx_rd & 0xffffu, header, HEADER);
    const uint32_t length = (uint32_t)header[6] << 8 | header[7];
    w5500_read(BLOCK_RX(SOCKET), (rx_rd + HEADER) & 0xffffu, datagram, length < DATAGRAM_MAX ? length : DATAGRAM_MAX);
    rx_rd += HEADER + length;
    w5500_write16(REGISTERS, Sn_RX_RD, rx_rd);
    w5500_command(SOCKET, Sn_CR_RECV);
    return length;
}

static bool is(uint8_t kind, uint32_t number) { return datagram[0] == kind && datagram[1] == number; }

static const char *measure_up(uint32_t number, uint32_t count, struct up *up) {
    datagram[0] = 'u';
    datagram[1] = (uint8_t)number;
    const uint32_t started_us = time_us();
    for (up->taken = 0; up->taken < count; up->taken++) {
        if (!send(up->size)) {
            return "a datagram does not go";
        }
        watchdog_feed();
    }
    up->took_us = time_us() - started_us;
    datagram[0] = 'q';
    if (!send(2)) {
        return "a datagram does not go";
    }
    const uint32_t deadline_us = time_us() + ANSWER_WAIT_US;
    while (take(ANSWER_WAIT_US) != ANSWER_BYTES || !is('a', number)) {
        if (time_reached(deadline_us)) {
            return "the PC does not say how many came";
        }
    }
    up->came = (datagram[2] - '0') * 100u + (datagram[3] - '0') * 10u + (datagram[4] - '0');
    return 0;
}

static uint32_t put(uint32_t at, uint32_t value) {
    datagram[at] = ' ';
    return at + 1 + decimal_format(value, (char *)datagram + at + 1);
}

static const char *measure_down(uint32_t number, uint32_t size, uint32_t count, struct down *down) {
    uint32_t gap_us = 0;
    for (uint32_t left = size * 8000u; left >= down->rate; left -= down->rate) { /* no divide instruction */
        gap_us++;
    }
    datagram[0] = 'd';
    datagram[1] = (uint8_t)number;
    if (!send(put(put(put(2, size), count), gap_us))) {
        return "a datagram does not go";
    }
    uint32_t first_us = 0;
    down->came = down->took_us = 0;
    uint32_t length;
    while ((length = take(REST_WAIT_US)) != 0 && !is('e', number)) { /* the end may be lost as others were */
        if (is('D', number) && length == size) {
            const uint32_t now_us = time_us();
            first_us = down->came++ == 0 ? now_us : first_us;
            down->took_us = now_us - first_us;
        }
    }
    return 0;
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *figures) {
    const char *error;
    uint32_t number = 0;
    uint32_t largest = 0;
    settings_load(&settings);
    const uint32_t sizes = settings.values[0];
    if (sizes > EACH_MAX || settings.count < 1 + sizes || settings.count - 1 - sizes > EACH_MAX) {
        return "more than 10 sizes or rates are not kept";
    }
    figures->sizes = figures->rates = 0;
    for (uint32_t i = 1; i < settings.count; i++, number++) {
        const uint32_t value = settings.values[i];
        if (value == 0 || (i <= sizes && value > DATAGRAM_MAX)) {
            return "a size is more than 1472 bytes, or a rate nothing";
        }
        if ((error = open_udp(number))) {
            return error;
        }
        if (i <= sizes) {
            struct up *const up = &figures->up[figures->sizes++];
            up->size = value;
            largest = value > largest ? value : largest;
            error = measure_up(number, config->count, up);
        } else {
            struct down *const down = &figures->down[figures->rates++];
            down->rate = value;
            error = measure_down(number, largest, config->count, down);
        }
        if (error) {
            return error;
        }
    }
    w5500_command(SOCKET, Sn_CR_CLOSE);
    return tcp_send(tcp, "over\n", 5) ? 0 : "the server does not take the end";
}
