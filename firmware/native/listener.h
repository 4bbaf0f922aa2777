/* Sockets that listen, beside TCP_SOCKET, which has the connection to the server. */
#ifndef LISTENER_H
#define LISTENER_H

#include <stdbool.h>
#include <stdint.h>

/* Gives sockets FIRST to the last one a KiB of the chip's memory for each direction, once no DHCP is under way. */
#define LISTENER_FIRST 1u
void listener_divide(void);

/* Has the socket listen, with interrupts for what happens to a connection. Returns what went wrong, or NULL. */
const char *listener_open(uint32_t socket, uint32_t port);

/* Sockets that something has happened to, a bit for each. Waits for that at most `wait_us`. */
uint32_t listener_await(bool poll, uint32_t wait_us);

/* What has happened to the socket, in bits of Sn_IR; it is forgotten. */
uint32_t listener_take(uint32_t socket);

#endif
