/* portbench-native: a workload's body on the bare board, without any runtime. One run per power-up: clocks,
   configuration, W5500, link, address, connect, body, report; then the USB boot loader. */
#include "board.h"
#include "body.h"
#include "bootrom.h"
#include "clocks.h"
#include "config.h"
#include "crc32.h"
#include "gpio.h"
#include "mem.h"
#include "network.h"
#include "report.h"
#include "stage.h"
#include "tcp.h"
#include "timer.h"
#include "w5500.h"
#include "watchdog.h"

static struct config config;
static struct network network;
static struct run run;
static struct figures figures;
static struct tcp tcp;
static enum stage stage;

static void enter(enum stage next) {
    stage = next;
    watchdog_enter_stage(next);
}

void hard_fault(void);
void hard_fault(void) { watchdog_restart_after_fault(); }

static _Noreturn void to_boot_loader(void) {
    watchdog_disarm();
    bootrom_reset_usb_boot(PIN_LED);
}

static void choose_mac(void) {
    static const uint8_t none[6];
    if (memcmp(config.mac, none, sizeof none) != 0) {
        memcpy(network.mac, config.mac, sizeof network.mac);
        return;
    }
    uint8_t id[8];
    bootrom_unique_id(id);
    const uint32_t hash = crc32(id, sizeof id);
    const uint8_t mac[6] = {0x02, 'P', 'B', (uint8_t)(hash >> 16), (uint8_t)(hash >> 8), (uint8_t)hash};
    memcpy(network.mac, mac, sizeof mac); /* 02: locally administered */
}

static const char *bring_up(uint32_t deadline_us) {
    const char *error;
    enter(STAGE_W5500);
    if ((error = network_reset(&network))) {
        return error;
    }
    enter(STAGE_LINK);
    if ((error = network_wait_link(deadline_us))) {
        return error;
    }
    run.link_us = time_us();
    enter(STAGE_ADDRESS);
    return network_get_address(&config, &network, deadline_us);
}

static const char *connect(uint32_t deadline_us) {
    enter(STAGE_CONNECT);
    return tcp_connect(&tcp, network.server, config.port, deadline_us, &run.connect_attempts);
}

/* Tells the server what went wrong: on the open connection, else on a new one. (A report that was not taken may have
   been sent in part.) A server takes a report after an answer only, so a new connection begins with one message. */
static void report_failure(const char *error, enum stage failed) {
    bool open = failed == STAGE_EXCHANGE && tcp_can_send();
    if (!open && failed != STAGE_CONNECT) {
        tcp_close();
        open = !connect(time_us() + config.ready_timeout_ms * 1000u) && tcp_send(&tcp, "1", 1) &&
               tcp_await_answer(time_us() + config.message_timeout_ms * 1000u);
    }
    if (open) {
        enter(STAGE_REPORT);
        report_send(&tcp, &config, &network, &run, &figures, error, stage_name(failed));
        tcp_close();
    }
    stage = failed;
}

static const char *measure(uint32_t start_us) {
    const char *error = connect(start_us + config.ready_timeout_ms * 1000u);
    if (error) {
        return error;
    }
    run.ready_us = time_us() - start_us;
    enter(STAGE_EXCHANGE);
    if ((error = body_run(&config, &tcp, &figures))) {
        return error;
    }
    enter(STAGE_REPORT);
    if (!report_send(&tcp, &config, &network, &run, &figures, 0, 0)) {
        return "the report was not taken";
    }
    tcp_close();
    return 0;
}

static const char *run_all(struct crash_record crash) {
    const char *error = bring_up(time_us() + config.ready_timeout_ms * 1000u);
    if (error) {
        return error;
    }
    if (crash.crash != CRASH_NONE) {
        error = crash.crash == CRASH_WATCHDOG ? "the watchdog restarted the board" : "hard fault";
        report_failure(error, crash.stage);
        return error;
    }
    uint32_t start_us = 0; /* of the timer: start-up */
    for (run.number = 1; run.number <= config.repeat; run.number++) {
        if ((error = measure(start_us))) {
            report_failure(error, stage);
            return error;
        }
        start_us = time_us();
    }
    return 0;
}

int main(void) {
    clocks_init();
    interrupts_enable();
    const struct crash_record crash = watchdog_take_crash();
    if (crash.count > 1) {
        to_boot_loader(); /* the run that was to report the first crash crashed, too */
    }
    enter(STAGE_BOOT);
    gpio_init();
    led(true);
    config_load((const void *)CONFIG_ADDRESS, &config);
    choose_mac();
    run.spi_hz_actual = w5500_spi_init(config.spi_hz);

    const char *error = run_all(crash);
    led(false);
    if (error) {
        led_blink_code(stage, config.failure_wait_ms);
    } else {
        const uint32_t until_us = time_us() + config.success_wait_ms * 1000u;
        while (!time_reached(until_us)) {
            sleep_us(100000u);
        }
    }
    to_boot_loader();
}
