#include "network.h"

#include "dhcp.h"
#include "mem.h"
#include "timer.h"
#include "w5500.h"

#define LINK_POLL_US 250u

/* GAR, SUBR, SHAR and SIPR are adjacent: one frame. */
static void write_addresses(const struct network *network) {
    uint8_t registers[18];
    memcpy(registers, network->gateway, 4);
    memcpy(registers + 4, network->mask, 4);
    memcpy(registers + 8, network->mac, 6);
    memcpy(registers + 14, network->address, 4);
    w5500_write(BLOCK_COMMON, GAR, registers, sizeof registers);
}

/* KiB of each socket's transmit and receive buffer; 16 in all for each direction. Only changed while closed. */
static void write_buffer_sizes(void) {
    static const uint8_t kib[SOCKETS] = {[TCP_SOCKET] = 8, [DHCP_SOCKET] = 4};
    for (uint32_t socket = 0; socket < SOCKETS; socket++) {
        w5500_write16(BLOCK_SOCKET(socket), Sn_RXBUF_SIZE, (uint32_t)kib[socket] << 8 | kib[socket]);
    }
}

const char *network_reset(const struct network *network) {
    if (!w5500_reset()) {
        return "no W5500 answers on SPI0 (VERSIONR is not 0x04)";
    }
    write_buffer_sizes();
    write_addresses(network);
    return 0;
}

const char *network_wait_link(uint32_t deadline_us) {
    while (!(w5500_read8(BLOCK_COMMON, PHYCFGR) & PHYCFGR_LNK)) {
        if (time_reached(deadline_us)) {
            return "no Ethernet link (PHYCFGR.LNK) within ready_timeout_ms";
        }
        sleep_us(LINK_POLL_US);
    }
    return 0;
}

static bool is_zero(const uint8_t address[4]) { return !(address[0] | address[1] | address[2] | address[3]); }

const char *network_get_address(const struct config *config, struct network *network, uint32_t deadline_us) {
    uint8_t default_server[4];
    if (config->flags & CONFIG_FLAG_STATIC) {
        memcpy(network->address, config->address, 4);
        memcpy(network->mask, config->mask, 4);
        memcpy(network->gateway, config->gateway, 4);
        memcpy(default_server, config->gateway, 4);
    } else {
        struct dhcp_reply lease;
        const char *error = dhcp_acquire(network->mac, deadline_us, &lease);
        if (error) {
            return error;
        }
        memcpy(network->address, lease.address, 4);
        memcpy(network->mask, lease.mask, 4);
        memcpy(network->gateway, lease.router, 4);
        memcpy(default_server, lease.server, 4);
    }
    memcpy(network->server, is_zero(config->server) ? default_server : config->server, 4);
    write_addresses(network);
    return is_zero(network->server) ? "no server: none configured, and no gateway to take for it" : 0;
}
