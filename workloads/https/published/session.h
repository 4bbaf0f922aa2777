// Lets pico-examples' TLS client resume a session.
#include "lwip/altcp_tls.h"

extern struct altcp_tls_session session;

#define altcp_connect(pcb, ...) (altcp_tls_set_session(pcb, &session), altcp_connect(pcb, __VA_ARGS__))
