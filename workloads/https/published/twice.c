// A connection that asks for nothing and stays, then pico-examples' TLS client, which resumes its session.
#include "lwip/altcp_tcp.h"
#include "lwip/altcp_tls.h"
#include "lwip/dns.h"

#define main once
#include "picow_tls_client.c"
#undef main

struct altcp_tls_session session;
static struct altcp_pcb *first;
static volatile bool shaken;

static err_t connected(void *arg, struct altcp_pcb *pcb, err_t err) {
    shaken = err == ERR_OK;
    return ERR_OK;
}

static void found(const char *name, const ip_addr_t *address, void *arg) {
    if (address) altcp_connect(first, address, 443, connected);
}

int main(void) {
    stdio_init_all();
    if (cyw43_arch_init()) return 1;
    cyw43_arch_enable_sta_mode();
    if (cyw43_arch_wifi_connect_timeout_ms(WIFI_SSID, WIFI_PASSWORD, CYW43_AUTH_WPA2_AES_PSK, 30000)) return 1;
    altcp_tls_init_session(&session);
    cyw43_arch_lwip_begin();
    ip_addr_t address;
    first = altcp_tls_new(altcp_tls_create_config_client(NULL, 0), IPADDR_TYPE_ANY);
    mbedtls_ssl_set_hostname(altcp_tls_context(first), TLS_CLIENT_SERVER);
    dns_gethostbyname(TLS_CLIENT_SERVER, &address, found, NULL);
    cyw43_arch_lwip_end();
    while (!shaken) sleep_ms(10);
    cyw43_arch_lwip_begin();
    altcp_tls_get_session(first, &session);
    cyw43_arch_lwip_end();
    run_tls_client_test(NULL, 0, TLS_CLIENT_SERVER, TLS_CLIENT_HTTP_REQUEST, TLS_CLIENT_TIMEOUT_SECS);
    for (;;) sleep_ms(1000);
}
