/* DHCP messages (RFC 2131, RFC 2132): built and parsed here, sent and received in dhcp.c. */
#ifndef DHCP_MESSAGE_H
#define DHCP_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define DHCP_CLIENT_PORT 68u
#define DHCP_SERVER_PORT 67u
#define DHCP_MESSAGE_MAX 576u /* what every client must take (RFC 2131, 2) */
#define DHCP_REQUEST_LENGTH 300u /* the least that every server and relay takes (RFC 1542, 2.1) */

enum dhcp_type { DHCP_DISCOVER = 1, DHCP_OFFER = 2, DHCP_REQUEST = 3, DHCP_ACK = 5, DHCP_NAK = 6 };

struct dhcp_reply {
    uint8_t type; /* enum dhcp_type */
    uint8_t address[4]; /* yiaddr */
    uint8_t mask[4];
    uint8_t router[4]; /* 0.0.0.0 if the server gives none */
    uint8_t server[4]; /* server identifier */
};

/* DISCOVER, or REQUEST of `offer`. Asks for broadcast replies: the W5500 has no address yet that they could go to. */
void dhcp_build(uint8_t out[DHCP_REQUEST_LENGTH], enum dhcp_type type, uint32_t xid, const uint8_t mac[6],
                const struct dhcp_reply *offer);

/* True: `data` is a well-formed OFFER, ACK or NAK for transaction `xid` and `mac`, and `reply` holds it. An OFFER or ACK
   must carry an address and a server identifier; a missing mask becomes that of the address's class. */
bool dhcp_parse(const uint8_t *data, uint32_t length, uint32_t xid, const uint8_t mac[6], struct dhcp_reply *reply);

#endif
