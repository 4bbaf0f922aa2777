/* Plays the ping-pong: C (pico-sdk, WIZnet's ioLibrary) on a W5500-EVB-Pico, with the W5500's own TCP. */
#include <stdio.h>
#include <string.h>
#include "hardware/spi.h"
#include "pico/stdlib.h"
#include "socket.h"
#include "wizchip_conf.h"

enum { MISO = 16, CS = 17, SCK = 18, MOSI = 19, RESET = 20, SPI_HZ = 33000000, PORT = 5000 };
static uint8_t SERVER[4] = {192, 168, 50, 1};
static wiz_NetInfo OWN = {
    .mac = {2, 0, 0, 0, 0, 1}, .ip = {192, 168, 50, 10}, .sn = {255, 255, 255, 0}, .gw = {192, 168, 50, 1},
    .dhcp = NETINFO_STATIC};

static void select_chip(void) { gpio_put(CS, 0); }
static void deselect_chip(void) { gpio_put(CS, 1); }
static void write_burst(uint8_t *data, uint16_t size) { spi_write_blocking(spi0, data, size); }
static void read_burst(uint8_t *data, uint16_t size) { spi_read_blocking(spi0, 0, data, size); }
static void write_byte(uint8_t byte) { write_burst(&byte, 1); }
static uint8_t read_byte(void) {
    uint8_t byte;
    read_burst(&byte, 1);
    return byte;
}

static void start_chip(void) {
    spi_init(spi0, SPI_HZ);
    for (unsigned pin = MISO; pin <= MOSI; pin++) gpio_set_function(pin, pin == CS ? GPIO_FUNC_SIO : GPIO_FUNC_SPI);
    gpio_init_mask(1u << CS | 1u << RESET);
    gpio_put(CS, 1);
    gpio_set_dir_out_masked(1u << CS | 1u << RESET); /* RESET is low */
    sleep_ms(1);
    gpio_put(RESET, 1);
    sleep_ms(50);
    reg_wizchip_cs_cbfunc(select_chip, deselect_chip);
    reg_wizchip_spi_cbfunc(read_byte, write_byte);
    reg_wizchip_spiburst_cbfunc(read_burst, write_burst);
    wizchip_init(NULL, NULL);
    ctlnetwork(CN_SET_NETINFO, &OWN);
    while (wizphy_getphylink() != PHY_LINK_ON) sleep_ms(10);
}

static void play(void) { /* Until the PC closes, or says something wrong. */
    char message[12], wanted[12], answer[12];
    for (unsigned number = 1;; number += 2) {
        int size = sprintf(message, "%u", number), length = sprintf(wanted, "%u", number + 1);
        if (send(0, (uint8_t *)message, size) != size) return;
        for (int got = 0, more; got < length; got += more)
            if ((more = recv(0, (uint8_t *)answer + got, length - got)) <= 0) return;
        if (memcmp(answer, wanted, length)) return;
    }
}

int main(void) {
    for (start_chip();; close(0), sleep_ms(100)) {
        uint16_t own_port = 49152 + time_us_32() % 16384; /* another each time */
        if (socket(0, Sn_MR_TCP, own_port, SF_TCP_NODELAY) == 0 && connect(0, SERVER, PORT) == SOCK_OK) play();
    }
}
