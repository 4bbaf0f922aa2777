#ifndef DHCP_H
#define DHCP_H

#include <stdint.h>

#include "dhcp_message.h"

/* Gets a lease over UDP on DHCP_SOCKET; SIPR must be 0.0.0.0. Returns what went wrong, or NULL. The lease is not
   renewed: a run is far shorter than any usual lease. */
const char *dhcp_acquire(const uint8_t mac[6], uint32_t deadline_us, struct dhcp_reply *lease);

#endif
