/* One hardware TCP connection on TCP_SOCKET. */
#ifndef TCP_H
#define TCP_H

#include <stdbool.h>
#include <stdint.h>

struct tcp {
    uint32_t tx_wr; /* our copies of Sn_TX_WR and Sn_RX_RD: only this firmware moves them once connected */
    uint32_t rx_rd;
};

/* Connects, retrying with growing pauses until `deadline_us`; *attempts counts them. Returns what went wrong, or NULL. */
const char *tcp_connect(struct tcp *tcp, const uint8_t server[4], uint32_t port, uint32_t deadline_us,
                        uint32_t *attempts);

/* True while data can be sent: established, or half closed by the server. */
bool tcp_can_send(void);

/* Sends all of it; false if the connection fails or does not take it within 10 s. */
bool tcp_send(struct tcp *tcp, const void *data, uint32_t length);

/* Waits for anything from the server and leaves it in the receive buffer; false: nothing came. */
bool tcp_await_answer(uint32_t deadline_us);

/* Ends the connection with FIN, waits at most 2 s for the server's, and frees the socket. */
void tcp_close(void);

#endif
