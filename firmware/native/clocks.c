#include "clocks.h"

#include "board.h"
#include "chip.h"
#include "watchdog.h"

/* XOSC start-up delay in units of 256 crystal cycles (2.16.3): 6 ms, as some boards' crystals need more than 1 ms */
#define XOSC_STARTUP_DELAY (XOSC_HZ / 1000u * 6u / 256u)

void resets_release(unsigned blocks) {
    REG_CLR(RESETS_RESET) = blocks;
    while ((RESETS_RESET_DONE & blocks) != blocks) {
    }
}

static void xosc_start(void) {
    XOSC_CTRL = XOSC_CTRL_FREQ_RANGE_1_15MHZ;
    XOSC_STARTUP = XOSC_STARTUP_DELAY;
    XOSC_CTRL = XOSC_CTRL_ENABLE_1_15MHZ;
    while (!(XOSC_STATUS & XOSC_STATUS_STABLE)) {
    }
}

/* 2.18.3: feedback divider first, then VCO on, lock, and the post dividers last */
static void pll_sys_start(void) {
    REG_SET(RESETS_RESET) = RESETS_PLL_SYS;
    resets_release(RESETS_PLL_SYS);
    PLL_SYS_CS = 1; /* REFDIV */
    PLL_SYS_FBDIV_INT = PLL_SYS_FBDIV;
    REG_CLR(PLL_SYS_PWR) = PLL_PWR_PD | PLL_PWR_VCOPD;
    while (!(PLL_SYS_CS & PLL_CS_LOCK)) {
    }
    PLL_SYS_PRIM = PLL_SYS_POSTDIV1 << 16 | PLL_SYS_POSTDIV2 << 12;
    REG_CLR(PLL_SYS_PWR) = PLL_PWR_POSTDIVPD;
}

static void clk_ref_select(uint32_t source) {
    CLK_REF_CTRL = source;
    while (!(CLK_REF_SELECTED & BIT(source))) {
    }
}

static void clk_sys_select(uint32_t source) {
    CLK_SYS_CTRL = CLK_SYS_AUXSRC_PLL_SYS | source;
    while (!(CLK_SYS_SELECTED & BIT(source))) {
    }
}

void clocks_init(void) {
    /* The watchdog counts ticks of clk_ref, which is the ring oscillator until XOSC runs. */
    watchdog_tick_start(XOSC_HZ / 1000000u);
    watchdog_start();

    /* A warm start may find clk_sys on the PLL: park the glitchless muxes on the ring oscillator before touching it. */
    CLK_SYS_RESUS_CTRL = 0;
    REG_CLR(CLK_SYS_CTRL) = BIT(0); /* SRC only: the aux mux must not move while it is in use (2.15.3.2) */
    while (!(CLK_SYS_SELECTED & BIT(CLK_SYS_SRC_CLK_REF))) {
    }
    clk_ref_select(CLK_REF_SRC_ROSC);

    /* The flash pads and the blocks that may still feed a clock stay out of reset. */
    REG_SET(RESETS_RESET) = RESETS_ALL & ~(RESETS_IO_QSPI | RESETS_PADS_QSPI | RESETS_PLL_SYS | RESETS_PLL_USB |
                                           RESETS_SYSCFG | RESETS_USBCTRL);

    xosc_start();
    CLK_REF_DIV = CLK_DIV_1;
    clk_ref_select(CLK_REF_SRC_XOSC);

    pll_sys_start();
    CLK_SYS_DIV = CLK_DIV_1;
    clk_sys_select(CLK_SYS_SRC_CLK_REF); /* sets AUXSRC while the aux mux is not in use */
    clk_sys_select(CLK_SYS_SRC_AUX);
    CLK_PERI_CTRL = 0;
    CLK_PERI_CTRL = CLK_PERI_AUXSRC_CLK_SYS | CLK_PERI_ENABLE;

    resets_release(RESETS_TIMER);
}
