/* Ping-pong's client: sends 1 to port 5000 of the PC, and after each number the next one, until the PC closes. */
#include <stdlib.h>
#include <string.h>
#include <util/delay.h>

#include "console.h"
#include "w5500.h"

/* Until the PC closes, or says something wrong. */
static void play(void) {
    char text[8], answer[8];
    for (uint16_t number = 1;; number += 2) {
        utoa(number, text, 10);
        send_bytes((const uint8_t *)text, strlen(text));
        utoa(number + 1, text, 10);
        uint8_t wanted = strlen(text);
        for (uint8_t got = 0; got < wanted;) {
            uint8_t length = receive_bytes((uint8_t *)answer + got, wanted - got);
            if (!length && get(SOCKET, SN_SR) != SOCK_ESTABLISHED) {
                return;
            }
            got += length;
        }
        if (memcmp(text, answer, wanted)) {
            return;
        }
    }
}

int main(void) {
    console_start();
    w5500_start();
    static const uint8_t pc[] = {192, 168, 50, 1};
    while (!(get(COMMON, 0x002e) & 1)) {
    }
    console_print("link\r\n");
    for (uint16_t port = 49152;; port++) {
        put(SOCKET, SN_MR, 0x01);
        put16(SOCKET, SN_PORT, port);
        put_bytes(SOCKET, SN_DIPR, pc, sizeof pc);
        put16(SOCKET, SN_DPORT, 5000);
        command(OPEN);
        command(CONNECT);
        uint8_t state;
        while ((state = get(SOCKET, SN_SR)) != SOCK_ESTABLISHED && state != SOCK_CLOSED) {
        }
        if (state == SOCK_ESTABLISHED) {
            play();
            command(DISCON);
            while (get(SOCKET, SN_SR) != SOCK_CLOSED) {
            }
        }
        _delay_ms(100);
    }
}
