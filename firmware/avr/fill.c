/* A web server whose body is buffers of 2048 bytes, each filled a number of times before it is sent.
 *
 * GET /KIND/FILLS/BUFFERS: KIND is i (16-bit integers), b (bytes) or p (readings of a port). */
#include <avr/io.h>
#include <stdlib.h>

#include "console.h"
#include "w5500.h"

#define BYTES 2048

static uint8_t buffer[BYTES];

/* The three loops that the published figures are of. */
static __attribute__((noinline)) void fill_int16(void) {
    int16_t *integers = (int16_t *)buffer;
    for (int16_t i = 0; i < BYTES / 2; i++) {
        integers[i] = i;
    }
}

static __attribute__((noinline)) void fill_bytes(void) {
    for (int16_t i = 0; i < BYTES; i++) {
        buffer[i] = i;
    }
}

/* The published pass of 7 cycles is IN, ST, CP, CPC and BRNE. At -Os GCC loads the end's upper byte in each pass. */
static __attribute__((noinline, optimize("O1"))) void fill_port(void) {
    for (int16_t i = 0; i < BYTES; i++) {
        buffer[i] = PINA;
    }
}

static void serve(char kind, int fills, int buffers) {
    static const char head[] = "HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";
    send_bytes((const uint8_t *)head, sizeof head - 1);
    for (int n = 0; n < buffers; n++) {
        for (int fill = 0; fill < fills; fill++) {
            if (kind == 'i') {
                fill_int16();
            } else if (kind == 'b') {
                fill_bytes();
            } else {
                fill_port();
            }
        }
        send_bytes(buffer, BYTES);
    }
}

int main(void) {
    console_start();
    w5500_start();
    console_print("ready\r\n");
    for (;;) {
        uint8_t state = get(SOCKET, SN_SR);
        if (state == SOCK_CLOSED) {
            put(SOCKET, SN_MR, 0x01);
            put16(SOCKET, SN_PORT, 80);
            command(OPEN);
            command(LISTEN);
        } else if (state == SOCK_ESTABLISHED) {
            char request[64];
            uint16_t length = receive_bytes((uint8_t *)request, sizeof request - 1);
            if (length > 7) {
                request[length] = 0;
                char *end;
                int fills = strtol(request + 7, &end, 10);
                serve(request[5], fills, strtol(end + 1, NULL, 10));
                command(DISCON);
            }
        } else if (state == SOCK_CLOSE_WAIT) {
            command(DISCON);
        }
    }
}
