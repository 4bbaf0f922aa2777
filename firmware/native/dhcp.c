#include "dhcp.h"

#include "crc32.h"
#include "network.h"
#include "timer.h"
#include "w5500.h"

/* RFC 2131, 4.1 asks for 4 s at first; a bench on its own wire need not wait that long for a lost frame. */
#define RETRANSMIT_FIRST_US 1000000u
#define RETRANSMIT_MAX_US 8000000u
#define POLL_US 50u
#define UDP_HEADER 8u /* the W5500 puts address, port and length of the sender before each datagram (4.2, Sn_RX_RD) */

#define REGISTERS BLOCK_SOCKET(DHCP_SOCKET)

static bool open_socket(void) {
    w5500_write8(REGISTERS, Sn_MR, Sn_MR_UDP);
    w5500_write16(REGISTERS, Sn_PORT, DHCP_CLIENT_PORT);
    return w5500_open(DHCP_SOCKET, SOCK_UDP);
}

static bool broadcast(enum dhcp_type type, uint32_t xid, const uint8_t mac[6], const struct dhcp_reply *offer) {
    static const uint8_t destination[6] = {255, 255, 255, 255, 0, DHCP_SERVER_PORT}; /* Sn_DIPR, Sn_DPORT */
    uint8_t message[DHCP_REQUEST_LENGTH];
    dhcp_build(message, type, xid, mac, offer);
    w5500_write(REGISTERS, Sn_DIPR, destination, sizeof destination);
    const uint32_t start = w5500_read16(REGISTERS, Sn_TX_WR);
    w5500_write(BLOCK_TX(DHCP_SOCKET), start, message, sizeof message);
    w5500_write16(REGISTERS, Sn_TX_WR, start + sizeof message);
    return w5500_command(DHCP_SOCKET, Sn_CR_SEND);
}

/* Takes one datagram out of the receive buffer; `data` gets at most DHCP_MESSAGE_MAX bytes of it, *length says how many.
   True: one was there. */
static bool receive(uint8_t data[DHCP_MESSAGE_MAX], uint32_t *length) {
    uint32_t waiting;
    if (!w5500_read16_stable(REGISTERS, Sn_RX_RSR, &waiting) || waiting < UDP_HEADER) {
        return false;
    }
    uint8_t header[UDP_HEADER];
    const uint32_t start = w5500_read16(REGISTERS, Sn_RX_RD);
    w5500_read(BLOCK_RX(DHCP_SOCKET), start, header, UDP_HEADER);
    const uint32_t size = (uint32_t)header[6] << 8 | header[7];
    const bool from_server = header[4] == 0 && header[5] == DHCP_SERVER_PORT;
    *length = !from_server ? 0 : size < DHCP_MESSAGE_MAX ? size : DHCP_MESSAGE_MAX;
    w5500_read(BLOCK_RX(DHCP_SOCKET), start + UDP_HEADER, data, *length);
    w5500_write16(REGISTERS, Sn_RX_RD, start + UDP_HEADER + size);
    return w5500_command(DHCP_SOCKET, Sn_CR_RECV);
}

/* The next valid reply until `until_us`. False: none came. */
static bool await_reply(uint32_t xid, const uint8_t mac[6], uint32_t until_us, struct dhcp_reply *reply) {
    uint8_t data[DHCP_MESSAGE_MAX];
    uint32_t length;
    while (!time_reached(until_us)) {
        if (receive(data, &length)) {
            if (dhcp_parse(data, length, xid, mac, reply)) {
                return true;
            }
        } else {
            sleep_us(POLL_US);
        }
    }
    return false;
}

static uint32_t earlier(uint32_t a_us, uint32_t b_us) { return (int32_t)(a_us - b_us) < 0 ? a_us : b_us; }

static const char *negotiate(const uint8_t mac[6], uint32_t deadline_us, struct dhcp_reply *lease) {
    const uint32_t xid = crc32(mac, 6) ^ time_us();
    struct dhcp_reply offer;
    bool offered = false;
    uint32_t retransmit_us = RETRANSMIT_FIRST_US;
    while (!time_reached(deadline_us)) {
        if (!broadcast(offered ? DHCP_REQUEST : DHCP_DISCOVER, xid, mac, &offer)) {
            return "the W5500 does not accept SEND on the DHCP socket";
        }
        const uint32_t until_us = earlier(time_us() + retransmit_us, deadline_us);
        struct dhcp_reply reply;
        bool answered = false;
        while (!answered && await_reply(xid, mac, until_us, &reply)) {
            if (offered && reply.type == DHCP_ACK) {
                *lease = reply;
                return 0;
            }
            if (offered && reply.type == DHCP_NAK) {
                offered = false;
                answered = true;
            } else if (!offered && reply.type == DHCP_OFFER) {
                offer = reply;
                offered = true;
                answered = true;
            }
        }
        if (answered) {
            retransmit_us = RETRANSMIT_FIRST_US;
        } else {
            /* A server that offers but never acknowledges may be gone: discover again. */
            offered = offered && retransmit_us < RETRANSMIT_MAX_US;
            retransmit_us = retransmit_us < RETRANSMIT_MAX_US ? retransmit_us * 2 : RETRANSMIT_MAX_US;
        }
    }
    return offered ? "no DHCP acknowledgement within ready_timeout_ms" : "no DHCP offer within ready_timeout_ms";
}

const char *dhcp_acquire(const uint8_t mac[6], uint32_t deadline_us, struct dhcp_reply *lease) {
    if (!open_socket()) {
        return "the W5500 does not open a UDP socket for DHCP";
    }
    const char *error = negotiate(mac, deadline_us, lease);
    w5500_command(DHCP_SOCKET, Sn_CR_CLOSE);
    return error;
}
