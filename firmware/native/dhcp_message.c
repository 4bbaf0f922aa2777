#include "dhcp_message.h"

#include "mem.h"

/* Fixed part, RFC 2131 figure 1 */
#define OP 0u
#define OP_REQUEST 1u
#define OP_REPLY 2u
#define HTYPE 1u
#define HTYPE_ETHERNET 1u
#define HLEN 2u
#define XID 4u
#define FLAGS 10u
#define FLAGS_BROADCAST 0x80u
#define YIADDR 16u
#define CHADDR 28u
#define COOKIE 236u
#define OPTIONS 240u

/* RFC 2132 */
#define OPTION_PAD 0u
#define OPTION_MASK 1u
#define OPTION_ROUTER 3u
#define OPTION_HOST_NAME 12u
#define OPTION_REQUESTED_ADDRESS 50u
#define OPTION_MESSAGE_TYPE 53u
#define OPTION_SERVER 54u
#define OPTION_PARAMETERS 55u
#define OPTION_CLIENT_ID 61u
#define OPTION_END 255u

static const uint8_t cookie[4] = {99, 130, 83, 99};

static void put32(uint8_t *out, uint32_t value) {
    for (uint32_t i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static uint8_t *option(uint8_t *out, uint8_t code, const void *value, uint8_t length) {
    out[0] = code;
    out[1] = length;
    memcpy(out + 2, value, length);
    return out + 2 + length;
}

void dhcp_build(uint8_t out[DHCP_REQUEST_LENGTH], enum dhcp_type type, uint32_t xid, const uint8_t mac[6],
                const struct dhcp_reply *offer) {
    static const char host_name[] = "portbench-native";
    static const uint8_t parameters[] = {OPTION_MASK, OPTION_ROUTER};
    const uint8_t type_byte = (uint8_t)type;
    uint8_t client_id[7] = {HTYPE_ETHERNET};
    memcpy(client_id + 1, mac, 6);

    memset(out, 0, DHCP_REQUEST_LENGTH);
    out[OP] = OP_REQUEST;
    out[HTYPE] = HTYPE_ETHERNET;
    out[HLEN] = 6;
    put32(out + XID, xid);
    out[FLAGS] = FLAGS_BROADCAST;
    memcpy(out + CHADDR, mac, 6);
    memcpy(out + COOKIE, cookie, sizeof cookie);
    uint8_t *next = option(out + OPTIONS, OPTION_MESSAGE_TYPE, &type_byte, 1);
    next = option(next, OPTION_CLIENT_ID, client_id, sizeof client_id);
    if (type == DHCP_REQUEST) {
        next = option(next, OPTION_REQUESTED_ADDRESS, offer->address, 4);
        next = option(next, OPTION_SERVER, offer->server, 4);
    }
    next = option(next, OPTION_HOST_NAME, host_name, sizeof host_name - 1);
    next = option(next, OPTION_PARAMETERS, parameters, sizeof parameters);
    *next = OPTION_END;
}

static bool is_zero(const uint8_t address[4]) { return !(address[0] | address[1] | address[2] | address[3]); }

static void class_mask(const uint8_t address[4], uint8_t mask[4]) {
    mask[0] = 255;
    mask[1] = address[0] >= 128 ? 255 : 0;
    mask[2] = address[0] >= 192 ? 255 : 0;
    mask[3] = 0;
}

bool dhcp_parse(const uint8_t *data, uint32_t length, uint32_t xid, const uint8_t mac[6], struct dhcp_reply *reply) {
    uint8_t expected_xid[4];
    put32(expected_xid, xid);
    if (length < OPTIONS || data[OP] != OP_REPLY || data[HTYPE] != HTYPE_ETHERNET || data[HLEN] != 6 ||
        memcmp(data + XID, expected_xid, 4) != 0 || memcmp(data + CHADDR, mac, 6) != 0 ||
        memcmp(data + COOKIE, cookie, 4) != 0) {
        return false;
    }
    memset(reply, 0, sizeof *reply);
    memcpy(reply->address, data + YIADDR, 4);

    uint32_t at = OPTIONS;
    while (at < length && data[at] != OPTION_END) {
        const uint8_t code = data[at++];
        if (code == OPTION_PAD) {
            continue;
        }
        if (at >= length || data[at] > length - at - 1) {
            return false; /* the option runs past the end */
        }
        const uint32_t size = data[at++];
        const uint8_t *value = data + at;
        at += size;
        if (code == OPTION_MESSAGE_TYPE && size == 1) {
            reply->type = value[0];
        } else if (code == OPTION_MASK && size == 4) {
            memcpy(reply->mask, value, 4);
        } else if (code == OPTION_ROUTER && size >= 4) {
            memcpy(reply->router, value, 4); /* the first is the preferred one */
        } else if (code == OPTION_SERVER && size == 4) {
            memcpy(reply->server, value, 4);
        }
    }

    if (reply->type == DHCP_NAK) {
        return true;
    }
    if ((reply->type != DHCP_OFFER && reply->type != DHCP_ACK) || is_zero(reply->address) || is_zero(reply->server)) {
        return false;
    }
    if (is_zero(reply->mask)) {
        class_mask(reply->address, reply->mask);
    }
    return true;
}
