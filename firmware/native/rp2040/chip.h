/* RP2040 registers used by this firmware, beside those of registers.h. Names, addresses and bits: RP2040 datasheet;
   section numbers at each block. */
#ifndef CHIP_H
#define CHIP_H

#define SIO_BASE 0xd0000000u        /* 2.3.1.7 */
#define CLOCKS_BASE 0x40008000u     /* 2.15.7 */
#define RESETS_BASE 0x4000c000u     /* 2.14.3 */
#define PSM_BASE 0x40010000u        /* 2.13.5 */
#define IO_BANK0_BASE 0x40014000u   /* 2.19.6.1 */
#define PADS_BANK0_BASE 0x4001c000u /* 2.19.6.3 */
#define XOSC_BASE 0x40024000u       /* 2.16.7 */
#define PLL_SYS_BASE 0x40028000u    /* 2.18.4 */
#define PLL_USB_BASE 0x4002c000u
#define SPI0_BASE 0x4003c000u       /* 4.4.4 */
#define SPI1_BASE 0x40040000u
#define ADC_BASE 0x4004c000u        /* 4.9.6 */
#define TIMER_BASE 0x40054000u      /* 4.6.5 */
#define WATCHDOG_BASE 0x40058000u   /* 4.7.6 */

#include "registers.h"

#define SIO_GPIO_OUT_SET REG32(SIO_BASE + 0x14u)
#define SIO_GPIO_OUT_CLR REG32(SIO_BASE + 0x18u)
#define SIO_GPIO_OE_SET REG32(SIO_BASE + 0x24u)

#define PSM_ALL 0x1ffffu
#define PSM_ROSC BIT(0)
#define PSM_XOSC BIT(1)

#define RESETS_ALL 0x01ffffffu
#define RESETS_IO_BANK0 BIT(5)
#define RESETS_IO_QSPI BIT(6)
#define RESETS_PADS_BANK0 BIT(8)
#define RESETS_PADS_QSPI BIT(9)
#define RESETS_PLL_SYS BIT(12)
#define RESETS_PLL_USB BIT(13)
#define RESETS_SPI0 BIT(16)
#define RESETS_SPI1 BIT(17)
#define RESETS_SYSCFG BIT(18)
#define RESETS_TIMER BIT(21)
#define RESETS_USBCTRL BIT(24)

#define CLK_ADC_CTRL REG32(CLOCKS_BASE + 0x60u)
#define CLK_SYS_RESUS_CTRL REG32(CLOCKS_BASE + 0x78u)
#define CLK_DIV_1 (1u << 8)

/* IO_QSPI, 2.19.6.2 */
#define IO_QSPI_SS_CTRL REG32(0x4001800cu)
#define IO_QSPI_OUTOVER_LOW (2u << 8)
#define IO_QSPI_OUTOVER_MASK (3u << 8)

#define TIMER_INTR REG32(TIMER_BASE + 0x34u)
#define TIMER_INTE REG32(TIMER_BASE + 0x38u)

#define WATCHDOG_LOAD_8S 0xffffffu /* the most; a tick takes two (erratum E1) */
#define WATCHDOG_TICK REG32(WATCHDOG_BASE + 0x2cu)
#define WATCHDOG_TICK_ENABLE BIT(9)

/* `cycles` of clk_ref per tick of the watchdog and the timer */
static inline void ticks_start(uint32_t cycles) { WATCHDOG_TICK = WATCHDOG_TICK_ENABLE | cycles; }

/* SSI, 4.10.13 */
#define SSI_SR REG32(0x18000028u)
#define SSI_SR_TFNF BIT(1)
#define SSI_SR_RFNE BIT(3)
#define SSI_DR0 REG32(0x18000060u)

static inline void wait_4_cycles(void) { __asm volatile("nop\n\tnop\n\tnop\n\tnop"); }

#endif
