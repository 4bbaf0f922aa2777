/* Tells the PC where this board listens, as others print it on their consoles: on the connection to the server, over which
   the report goes at the end. */
#ifndef ANNOUNCE_H
#define ANNOUNCE_H

#include <stdbool.h>
#include <stdint.h>

#include "tcp.h"

/* False: the server does not take it. */
bool announce(struct tcp *tcp, uint32_t port);

#endif
