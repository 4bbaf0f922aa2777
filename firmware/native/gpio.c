#include "gpio.h"

#include "clocks.h"
#include "timer.h"

#define FLASH_ON_US 150000u
#define FLASH_OFF_US 250000u
#define PAUSE_US 900000u

static void pin_init(uint32_t pin, uint32_t pad, uint32_t function) {
    PADS_BANK0_GPIO(pin) = pad;
    IO_BANK0_GPIO_CTRL(pin) = function;
}

void gpio_init(void) {
    resets_release(RESETS_IO_BANK0 | RESETS_PADS_BANK0);
    SIO_GPIO_OUT_SET = BIT(PIN_CSN);
    SIO_GPIO_OUT_CLR = BIT(PIN_RSTN) | BIT(PIN_LED);
    SIO_GPIO_OE_SET = BIT(PIN_CSN) | BIT(PIN_RSTN) | BIT(PIN_LED);

    /* The fast edges of 33 MHz need the stronger, fast-slewing driver. */
    const uint32_t fast_output = PAD_IE | PAD_DRIVE_8MA | PAD_SLEWFAST;
    const uint32_t slow_output = PAD_IE | PAD_DRIVE_4MA;
    pin_init(PIN_CSN, fast_output, FUNCSEL_SIO);
    pin_init(PIN_SCK, fast_output, FUNCSEL_SPI);
    pin_init(PIN_MOSI, fast_output, FUNCSEL_SPI);
    pin_init(PIN_MISO, PAD_IE | PAD_DRIVE_4MA, FUNCSEL_SPI);
    pin_init(PIN_RSTN, slow_output, FUNCSEL_SIO);
    pin_init(PIN_INTN, PAD_IE | PAD_SCHMITT | PAD_PUE | PAD_DRIVE_4MA, FUNCSEL_SIO);
    pin_init(PIN_LED, slow_output, FUNCSEL_SIO);
}

void led_blink_code(uint32_t code, uint32_t duration_ms) {
    const uint32_t deadline = time_us() + duration_ms * 1000u;
    while (!time_reached(deadline)) {
        for (uint32_t flash = 0; flash < code && !time_reached(deadline); flash++) {
            led(true);
            sleep_us(FLASH_ON_US);
            led(false);
            sleep_us(FLASH_OFF_US);
        }
        sleep_us(PAUSE_US);
    }
}
