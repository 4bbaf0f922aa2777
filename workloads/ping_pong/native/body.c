/* The measured loop. Between an answer's arrival and the next SEND lie three short frames and the answer itself: Sn_RX_RSR,
   the received bytes, Sn_TX_WR, Sn_CR. Everything else (freeing the receive buffer, clearing Sn_IR, writing the next
   message behind the last one in the transmit buffer) is done while the message is on its way. The next message can be
   written early because the one correct answer is known; it is sent only after that answer has come. */
#include "body.h"

#include "decimal.h"
#include "gpio.h"
#include "network.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define REGISTERS BLOCK_SOCKET(TCP_SOCKET)
#define FIFO_PAYLOAD (SSP_FIFO_DEPTH - 3u)
#define SLICE_US 10000u /* between looks at the deadline and the connection */

static void read_received(uint32_t address, char *data, uint32_t length) {
    if (length > FIFO_PAYLOAD) {
        w5500_read(BLOCK_RX(TCP_SOCKET), address & 0xffffu, data, length);
        return;
    }
    w5500_header(BLOCK_RX(TCP_SOCKET) << 3, address);
    for (uint32_t i = 0; i < length; i++) {
        SPI0_SSPDR = 0;
    }
    for (uint32_t i = 0; i < 3; i++) {
        w5500_collect();
    }
    for (uint32_t i = 0; i < length; i++) {
        data[i] = (char)w5500_collect();
    }
    w5500_release();
}

/* Waits until at least `length` bytes have come; *waiting says how many. RECV in Sn_IR must have been cleared before:
   Sn_RX_RSR is read after every clearing, so an arrival just before it cannot be missed. */
static const char *await_bytes(uint32_t length, bool poll, uint32_t deadline_us, uint32_t *waiting) {
    for (;;) {
        const uint32_t slice_us = time_us() + SLICE_US;
        *waiting = w5500_read16(REGISTERS, Sn_RX_RSR);
        while (*waiting < length && !time_reached(slice_us)) {
            if (!poll) {
                while (!intn_low() && !time_reached(slice_us)) {
                }
            }
            *waiting = w5500_read16(REGISTERS, Sn_RX_RSR);
            if (!poll) {
                break;
            }
        }
        if (*waiting >= length) {
            return 0;
        }
        const uint32_t flags = w5500_read8(REGISTERS, Sn_IR);
        w5500_write8(REGISTERS, Sn_IR, Sn_IR_RECV | Sn_IR_SENDOK);
        if (flags & (Sn_IR_DISCON | Sn_IR_TIMEOUT) || !tcp_can_send()) {
            *waiting = w5500_read16(REGISTERS, Sn_RX_RSR); /* what came together with the end */
            if (*waiting >= length) {
                return 0;
            }
            return flags & Sn_IR_TIMEOUT ? "the server does not acknowledge" : "the server closed the connection";
        }
        if (time_reached(deadline_us)) {
            return "no answer within message_timeout_ms";
        }
        watchdog_feed();
    }
}

static uint32_t stage_message(const struct tcp *tcp, uint32_t number) {
    char digits[DECIMAL_MAX];
    const uint32_t length = decimal_format(number, digits);
    w5500_write(BLOCK_TX(TCP_SOCKET), tcp->tx_wr & 0xffffu, digits, length);
    return length;
}

/* Tells the chip that the bytes before tcp->rx_rd are taken. */
static const char *free_received(const struct tcp *tcp) {
    w5500_write16(REGISTERS, Sn_RX_RD, tcp->rx_rd);
    return w5500_command(TCP_SOCKET, Sn_CR_RECV) ? 0 : "the W5500 does not accept RECV";
}

const char *body_run(const struct config *config, struct tcp *tcp, struct figures *result) {
    const bool poll = config->flags & CONFIG_FLAG_POLL;
    const char *error = 0;
    uint32_t first_us = 0;
    uint32_t number = 1;

    result->completed = 0;
    result->total_us = 0;
    w5500_write8(REGISTERS, Sn_IR, Sn_IR_ALL);
    w5500_write8(REGISTERS, Sn_IMR, Sn_IR_RECV | Sn_IR_DISCON | Sn_IR_TIMEOUT);
    w5500_write8(BLOCK_COMMON, SIMR, BIT(TCP_SOCKET));
    uint32_t length = stage_message(tcp, number);

    for (uint32_t message = 0; message < config->count; message++) {
        const uint32_t sent_us = time_us();
        tcp->tx_wr += length;
        w5500_write16(REGISTERS, Sn_TX_WR, tcp->tx_wr);
        w5500_write8(REGISTERS, Sn_CR, Sn_CR_SEND);

        if (message == 0) {
            first_us = sent_us;
        } else {
            w5500_write8(REGISTERS, Sn_IR, Sn_IR_RECV | Sn_IR_SENDOK);
        }
        if (!w5500_command_accepted(TCP_SOCKET)) {
            return "the W5500 does not accept SEND";
        }
        if (message != 0 && (error = free_received(tcp))) {
            return error;
        }
        char expected[DECIMAL_MAX];
        const uint32_t expected_length = decimal_format(number + 1, expected);
        number += 2;
        if (message + 1 < config->count) {
            length = stage_message(tcp, number);
        }
        watchdog_feed();

        uint32_t waiting;
        error = await_bytes(expected_length, poll, sent_us + config->message_timeout_ms * 1000u, &waiting);
        if (error) {
            return error;
        }
        char answer[DECIMAL_MAX];
        read_received(tcp->rx_rd, answer, expected_length);
        tcp->rx_rd += expected_length;
        bool right = waiting == expected_length;
        for (uint32_t i = 0; i < expected_length; i++) {
            right &= answer[i] == expected[i];
        }
        if (!right) {
            return "the answer is not the number sent plus one";
        }
        const uint32_t received_us = time_us();
        result->round_trip_us[message] = received_us - sent_us;
        result->total_us = received_us - first_us;
        result->completed = message + 1;
    }
    return free_received(tcp);
}
