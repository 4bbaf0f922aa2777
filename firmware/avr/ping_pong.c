/* Ping-pong's client: sends 1 to port 5000 of the PC, and after each number the next one, up to 1000. */
#include <stdlib.h>
#include <util/delay.h>

#include "console.h"
#include "w5500.h"

#define MESSAGES 1000

int main(void) {
    console_start();
    w5500_start();
    static const uint8_t pc[] = {192, 168, 50, 1};
    while (!(get(COMMON, 0x002e) & 1)) {
    }
    console_print("link\r\n");
    put(SOCKET, SN_MR, 0x01);
    put16(SOCKET, SN_PORT, 49152);
    put_bytes(SOCKET, SN_DIPR, pc, sizeof pc);
    put16(SOCKET, SN_DPORT, 5000);
    command(OPEN);
    command(CONNECT);
    while (get(SOCKET, SN_SR) != SOCK_ESTABLISHED) {
    }
    int number = 1;
    for (;;) {
        char text[16];
        itoa(number, text, 10);
        uint8_t length = 0;
        while (text[length]) {
            length++;
        }
        send_bytes((const uint8_t *)text, length);
        if (number >= MESSAGES) {
            break;
        }
        while (!(length = receive_bytes((uint8_t *)text, sizeof text - 1))) {
        }
        text[length] = 0;
        number = atoi(text) + 1;
    }
    command(DISCON);
    console_print("done\r\n");
    for (;;) {
    }
}
