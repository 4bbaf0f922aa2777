#include "announce.h"

#include "json.h"
#include "w5500.h"

static bool write_tcp(void *context, const char *data, uint32_t length) { return tcp_send(context, data, length); }

bool announce(struct tcp *tcp, uint32_t port) {
    static const char prefix[] = "PORTBENCH-LISTENING ";
    uint8_t address[4];
    struct json json;
    w5500_read(BLOCK_COMMON, SIPR, address, sizeof address);
    if (!tcp_send(tcp, prefix, sizeof prefix - 1)) {
        return false;
    }
    json_begin(&json, write_tcp, tcp);
    json_ipv4(&json, "address", address);
    json_number(&json, "port", port);
    return json_end(&json);
}
