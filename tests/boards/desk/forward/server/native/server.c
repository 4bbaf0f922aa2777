/* A server for tests of forwarded ports, in the W5500's hardware sockets: HTTP on 80 (four connections at once), echo on 7
   (TCP and UDP), discard on 9, and an endless stream on 19. It ends only with the power. */
#include "board.h"
#include "bootrom.h"
#include "clocks.h"
#include "config.h"
#include "crc32.h"
#include "gpio.h"
#include "mem.h"
#include "network.h"
#include "stage.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

#define Sn_CR_LISTEN 0x02u
#define SOCK_LISTEN 0x14u
#define BUFFER_BYTES 2048u
#define ADDRESS_US 30000000u
#define UDP_HEADER 8u /* the peer's address and port, and the datagram's length */

enum service { HTTP, ECHO, DISCARD, CHARGEN, UDP_ECHO };

struct socket {
    enum service service;
    uint32_t port;
    bool sending; /* a SEND has not been answered by SEND_OK */
    bool ending;  /* DISCON goes out after it */
    uint32_t matched; /* of the empty line that ends a request */
    uint32_t kept;    /* of the word that asks to keep the connection */
};

static struct socket sockets[SOCKETS] = {
    {.service = HTTP, .port = 80},   {.service = HTTP, .port = 80},    {.service = HTTP, .port = 80},
    {.service = HTTP, .port = 80},   {.service = ECHO, .port = 7},     {.service = DISCARD, .port = 9},
    {.service = CHARGEN, .port = 19}, {.service = UDP_ECHO, .port = 7},
};
static struct config config;
static struct network network;
static uint8_t buffer[BUFFER_BYTES];

/* 137 bytes, as a page that others have measured. */
static const char page[] = "<html><head><title>Board</title></head><body><h1>portbench</h1>"
                           "<p>One hundred and thirty-seven bytes of page, for ab.</p></body></html>\r\n";
#define PAGE_BYTES 137u
_Static_assert(sizeof page - 1 == PAGE_BYTES, "Content-Length says so");
static const char head_close[] = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 137\r\nConnection: close\r\n\r\n";
static const char head_keep[] =
    "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: 137\r\nConnection: keep-alive\r\n\r\n";

void hard_fault(void);
void hard_fault(void) { watchdog_restart_after_fault(); }

static _Noreturn void fail(enum stage stage) {
    led_blink_code(stage, 1000u);
    watchdog_disarm();
    bootrom_reset_usb_boot(PIN_LED);
}

static void bring_up(void) {
    uint8_t id[8];
    bootrom_unique_id(id);
    const uint32_t hash = crc32(id, sizeof id);
    const uint8_t mac[6] = {0x02, 'P', 'B', (uint8_t)(hash >> 16), (uint8_t)(hash >> 8), (uint8_t)hash};
    memcpy(network.mac, mac, sizeof mac);
    w5500_spi_init(config.spi_hz);
    const uint32_t deadline_us = time_us() + ADDRESS_US;
    if (network_reset(&network)) {
        fail(STAGE_W5500);
    }
    if (network_wait_link(deadline_us)) {
        fail(STAGE_LINK);
    }
    if (network_get_address(&config, &network, deadline_us)) {
        fail(STAGE_ADDRESS);
    }
    for (uint32_t socket = 0; socket < SOCKETS; socket++) {
        w5500_command(socket, Sn_CR_CLOSE);
        w5500_write16(BLOCK_SOCKET(socket), Sn_RXBUF_SIZE, 0x0202u);
    }
}

static void listen(uint32_t socket) {
    struct socket *const own = &sockets[socket];
    own->sending = own->ending = false;
    own->matched = own->kept = 0;
    w5500_write8(BLOCK_SOCKET(socket), Sn_MR, own->service == UDP_ECHO ? Sn_MR_UDP : Sn_MR_TCP);
    w5500_write16(BLOCK_SOCKET(socket), Sn_PORT, own->port);
    w5500_write8(BLOCK_SOCKET(socket), Sn_IR, Sn_IR_ALL);
    if (own->service == UDP_ECHO) {
        w5500_open(socket, SOCK_UDP);
    } else if (w5500_open(socket, SOCK_INIT)) {
        w5500_command(socket, Sn_CR_LISTEN);
    }
}

/* Takes at most `most` bytes that have come into `buffer`; returns how many. */
static uint32_t receive(uint32_t socket, uint32_t most) {
    uint32_t waiting;
    if (!w5500_read16_stable(BLOCK_SOCKET(socket), Sn_RX_RSR, &waiting) || waiting == 0) {
        return 0;
    }
    const uint32_t length = waiting < most ? waiting : most;
    const uint32_t from = w5500_read16(BLOCK_SOCKET(socket), Sn_RX_RD);
    w5500_read(BLOCK_RX(socket), from, buffer, length);
    w5500_write16(BLOCK_SOCKET(socket), Sn_RX_RD, from + length);
    w5500_command(socket, Sn_CR_RECV);
    return length;
}

/* Sends what is in `buffer`. Sn_TX_WR moves with SEND only, so that there is one write to each. */
static void send(uint32_t socket, uint32_t length) {
    const uint32_t to = w5500_read16(BLOCK_SOCKET(socket), Sn_TX_WR);
    w5500_write(BLOCK_TX(socket), to, buffer, length);
    w5500_write16(BLOCK_SOCKET(socket), Sn_TX_WR, to + length);
    w5500_write8(BLOCK_SOCKET(socket), Sn_IR, Sn_IR_SENDOK);
    sockets[socket].sending = w5500_command(socket, Sn_CR_SEND);
}

static uint32_t room(uint32_t socket) {
    uint32_t free;
    return w5500_read16_stable(BLOCK_SOCKET(socket), Sn_TX_FSR, &free) ? free : 0;
}

/* Whether a request has come to its end. One that says "Keep-Alive" is told from one that does not. */
static bool request_ends(struct socket *own, uint32_t length) {
    static const char end[] = "\r\n\r\n";
    static const char keep[] = "eep-";
    for (uint32_t i = 0; i < length; i++) {
        own->matched = buffer[i] == (uint8_t)end[own->matched] ? own->matched + 1 : buffer[i] == '\r';
        if (own->kept < sizeof keep - 1) {
            own->kept = buffer[i] == (uint8_t)keep[own->kept] ? own->kept + 1 : 0;
        }
        if (own->matched == sizeof end - 1) {
            return true; /* nobody sends the next request before the answer */
        }
    }
    return false;
}

static void serve_http(uint32_t socket) {
    struct socket *const own = &sockets[socket];
    if (!request_ends(own, receive(socket, BUFFER_BYTES))) {
        return;
    }
    own->ending = own->kept != 4;
    own->matched = own->kept = 0;
    const uint32_t length = own->ending ? sizeof head_close - 1 : sizeof head_keep - 1;
    memcpy(buffer, own->ending ? head_close : head_keep, length);
    memcpy(buffer + length, page, PAGE_BYTES);
    send(socket, length + PAGE_BYTES);
}

static void serve_chargen(uint32_t socket) {
    const uint32_t length = room(socket) < 1024u ? 0 : 1024u;
    receive(socket, BUFFER_BYTES);
    for (uint32_t i = 0; i < length; i++) {
        buffer[i] = (uint8_t)(' ' + i % 64u);
    }
    if (length != 0) {
        send(socket, length);
    }
}

static void serve_udp(uint32_t socket) {
    if (receive(socket, UDP_HEADER) != UDP_HEADER) {
        return;
    }
    uint8_t peer[6];
    memcpy(peer, buffer, sizeof peer);
    const uint32_t length = receive(socket, (uint32_t)buffer[6] << 8 | buffer[7]);
    w5500_write(BLOCK_SOCKET(socket), Sn_DIPR, peer, sizeof peer);
    send(socket, length);
}

static void serve(uint32_t socket) {
    struct socket *const own = &sockets[socket];
    const uint32_t status = w5500_read8(BLOCK_SOCKET(socket), Sn_SR);
    if (status == SOCK_CLOSED) {
        listen(socket);
        return;
    }
    if (own->sending) {
        own->sending = !(w5500_read8(BLOCK_SOCKET(socket), Sn_IR) & (Sn_IR_SENDOK | Sn_IR_TIMEOUT));
        return;
    }
    if (status == SOCK_UDP) {
        serve_udp(socket);
        return;
    }
    if (status != SOCK_ESTABLISHED && status != SOCK_CLOSE_WAIT) {
        return;
    }
    if (own->ending) {
        own->ending = false;
        own->service == HTTP ? (void)w5500_command(socket, Sn_CR_DISCON) : (void)0;
        return;
    }
    uint32_t length = 0;
    switch (own->service) {
    case HTTP:
        serve_http(socket);
        break;
    case ECHO:
        length = receive(socket, room(socket));
        if (length != 0) {
            send(socket, length);
        }
        break;
    case DISCARD:
        length = receive(socket, BUFFER_BYTES);
        break;
    default:
        serve_chargen(socket);
        break;
    }
    if (status == SOCK_CLOSE_WAIT && length == 0 && !own->sending && !own->ending &&
        w5500_read16(BLOCK_SOCKET(socket), Sn_RX_RSR) == 0) {
        w5500_command(socket, Sn_CR_DISCON);
    }
}

int main(void) {
    clocks_init();
    interrupts_enable();
    (void)watchdog_take_crash();
    gpio_init();
    led(true);
    config_load((const void *)CONFIG_ADDRESS, &config);
    bring_up();
    for (;;) {
        for (uint32_t socket = 0; socket < SOCKETS; socket++) {
            serve(socket);
        }
        watchdog_feed();
    }
}
