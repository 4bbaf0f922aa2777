/* RP2350 registers used by this firmware, beside those of registers.h, by the names that the RP2040's have. Names,
   addresses and bits: RP2350 datasheet; section numbers at each block. */
#ifndef CHIP_H
#define CHIP_H

#define SIO_BASE 0xd0000000u        /* 3.1.11 */
#define CLOCKS_BASE 0x40010000u     /* 8.1.7 */
#define PSM_BASE 0x40018000u        /* 7.4.4 */
#define RESETS_BASE 0x40020000u     /* 7.5.3 */
#define IO_BANK0_BASE 0x40028000u   /* 9.11.1 */
#define PADS_BANK0_BASE 0x40038000u /* 9.11.3: a write without ISO, bit 8, connects the pad */
#define XOSC_BASE 0x40048000u       /* 8.2.8 */
#define PLL_SYS_BASE 0x40050000u    /* 8.6.5 */
#define PLL_USB_BASE 0x40058000u
#define SPI0_BASE 0x40080000u       /* 12.3.5 */
#define SPI1_BASE 0x40088000u
#define ADC_BASE 0x400a0000u        /* 12.4.7 */
#define TIMER_BASE 0x400b0000u      /* TIMER0, 12.8.5 */
#define WATCHDOG_BASE 0x400d8000u   /* 12.9.7 */

#include "registers.h"

#define SIO_GPIO_OUT_SET REG32(SIO_BASE + 0x18u)
#define SIO_GPIO_OUT_CLR REG32(SIO_BASE + 0x20u)
#define SIO_GPIO_OE_SET REG32(SIO_BASE + 0x38u)

#define PSM_ALL 0x1ffffffu
#define PSM_ROSC BIT(2)
#define PSM_XOSC BIT(3)

#define RESETS_ALL 0x1fffffffu
#define RESETS_IO_BANK0 BIT(6)
#define RESETS_IO_QSPI BIT(7)
#define RESETS_PADS_BANK0 BIT(9)
#define RESETS_PADS_QSPI BIT(10)
#define RESETS_PLL_SYS BIT(14)
#define RESETS_PLL_USB BIT(15)
#define RESETS_SPI0 BIT(18)
#define RESETS_SPI1 BIT(19)
#define RESETS_SYSCFG BIT(20)
#define RESETS_TIMER BIT(23) /* TIMER0 */
#define RESETS_USBCTRL BIT(28)

#define CLK_ADC_CTRL REG32(CLOCKS_BASE + 0x6cu)
#define CLK_SYS_RESUS_CTRL REG32(CLOCKS_BASE + 0x84u)
#define CLK_DIV_1 (1u << 16)

#define TIMER_INTR REG32(TIMER_BASE + 0x3cu)
#define TIMER_INTE REG32(TIMER_BASE + 0x40u)

#define WATCHDOG_LOAD_8S 8388607u /* a tick takes one, an RP2040's two (its erratum E1) */

/* Tick generators, 8.5.2 */
#define TICKS_TIMER0_CTRL REG32(0x40108018u)
#define TICKS_TIMER0_CYCLES REG32(0x4010801cu)
#define TICKS_WATCHDOG_CTRL REG32(0x40108030u)
#define TICKS_WATCHDOG_CYCLES REG32(0x40108034u)
#define TICKS_ENABLE BIT(0)

/* `cycles` of clk_ref per tick of the watchdog and the timer */
static inline void ticks_start(uint32_t cycles) {
    TICKS_TIMER0_CYCLES = cycles;
    TICKS_WATCHDOG_CYCLES = cycles;
    TICKS_TIMER0_CTRL = TICKS_ENABLE;
    TICKS_WATCHDOG_CTRL = TICKS_ENABLE;
}

static inline void wait_4_cycles(void) { __asm volatile("nop.w\n\tnop.w\n\tnop.w\n\tnop.w"); } /* two narrow ones take one */

#endif
