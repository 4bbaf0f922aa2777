#include "adc.h"

#include "clocks.h"
#include "chip.h"

#define PIN_ADC0 26u
#define PAD_OD BIT(7)
#define FUNCSEL_NONE 31u

/* 12 MHz * 100 = 1200 MHz VCO, / 5 / 5 = 48 MHz, which the ADC is made for (2.18.2.1, 4.9.2). */
static void pll_usb_start(void) {
    REG_SET(RESETS_RESET) = RESETS_PLL_USB;
    resets_release(RESETS_PLL_USB);
    PLL_USB_CS = 1; /* REFDIV */
    PLL_USB_FBDIV_INT = 100u;
    REG_CLR(PLL_USB_PWR) = PLL_PWR_PD | PLL_PWR_VCOPD;
    while (!(PLL_USB_CS & PLL_CS_LOCK)) {
    }
    PLL_USB_PRIM = 5u << 16 | 5u << 12;
    REG_CLR(PLL_USB_PWR) = PLL_PWR_POSTDIVPD;
}

void adc_init(void) {
    pll_usb_start();
    CLK_ADC_CTRL = 0;
    CLK_ADC_CTRL = CLK_ADC_AUXSRC_PLL_USB | CLK_ADC_ENABLE;
    resets_release(RESETS_ADC);
    PADS_BANK0_GPIO(PIN_ADC0) = PAD_OD; /* neither driven nor read as a digital pin */
    IO_BANK0_GPIO_CTRL(PIN_ADC0) = FUNCSEL_NONE;
    ADC_CS = ADC_CS_EN;
    while (!(ADC_CS & ADC_CS_READY)) {
    }
}

uint32_t adc_read(void) {
    ADC_CS = ADC_CS_EN | ADC_CS_START_ONCE;
    while (!(ADC_CS & ADC_CS_READY)) {
    }
    const uint32_t value = ADC_RESULT;
    return value << 4 | value >> 8;
}
