#include "report.h"

#include "board.h"
#include "board.h"
#include "json.h"
#include "version.h"

static bool write_tcp(void *context, const char *data, uint32_t length) { return tcp_send(context, data, length); }

bool report_send(struct tcp *tcp, const struct config *config, const struct network *network, const struct run *run,
                 const struct figures *figures, const char *error, const char *stage) {
    struct json json;
    json_begin(&json, write_tcp, tcp);
    if (error) {
        json_string(&json, "error", error);
        json_string(&json, "stage", stage);
    }
    body_report_figures(&json, figures);
    json_number(&json, "ready_us", run->ready_us);
    json_number(&json, "link_us", run->link_us);
    json_number(&json, "connect_attempts", run->connect_attempts);
    json_number(&json, "spi_hz_asked", config->spi_hz);
    json_number(&json, "spi_hz_actual", run->spi_hz_actual);
    json_bool(&json, "intn", !(config->flags & CONFIG_FLAG_POLL));
    json_ipv4(&json, "address", network->address);
    json_string(&json, "address_mode", config->flags & CONFIG_FLAG_STATIC ? "static" : "dhcp");
    json_string(&json, "runtime", "portbench-native");
    json_string(&json, "version", VERSION);
    json_string(&json, "machine", MACHINE);
    json_number(&json, "clk_sys_hz", CLK_SYS_HZ);
    json_number(&json, "run", run->number);
    body_report_samples(&json, figures);
    return json_end(&json);
}
