#include "listener.h"

#include "network.h"
#include "timer.h"
#include "w5500.h"

#define EVENTS (Sn_IR_CON | Sn_IR_RECV | Sn_IR_DISCON | Sn_IR_TIMEOUT)

void listener_divide(void) {
    for (uint32_t socket = LISTENER_FIRST; socket < SOCKETS; socket++) {
        w5500_write16(BLOCK_SOCKET(socket), Sn_RXBUF_SIZE, 0x0101u);
    }
}

const char *listener_open(uint32_t socket, uint32_t port) {
    w5500_write8(BLOCK_SOCKET(socket), Sn_MR, Sn_MR_TCP);
    w5500_write16(BLOCK_SOCKET(socket), Sn_PORT, port);
    w5500_write8(BLOCK_SOCKET(socket), Sn_IR, Sn_IR_ALL);
    w5500_write8(BLOCK_SOCKET(socket), Sn_IMR, EVENTS);
    if (!w5500_open(socket, SOCK_INIT) || !w5500_command(socket, Sn_CR_LISTEN)) {
        return "the W5500 does not listen";
    }
    const uint32_t watched = w5500_read8(BLOCK_COMMON, SIMR) & ~BIT(TCP_SOCKET);
    w5500_write8(BLOCK_COMMON, SIMR, watched | BIT(socket));
    return 0;
}

uint32_t listener_await(bool poll, uint32_t wait_us) {
    const uint32_t until_us = time_us() + wait_us;
    while (!poll && SIO_GPIO_IN & BIT(PIN_INTN) && !time_reached(until_us)) {
    }
    return w5500_read8(BLOCK_COMMON, SIR);
}

uint32_t listener_take(uint32_t socket) {
    const uint32_t flags = w5500_read8(BLOCK_SOCKET(socket), Sn_IR) & EVENTS;
    w5500_write8(BLOCK_SOCKET(socket), Sn_IR, flags);
    return flags;
}
