/* RP2040 registers used by this firmware. Names, addresses and bits: RP2040 datasheet; section numbers at each block. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define BIT(n) (1u << (n))

/* Atomic register aliases, 2.1.2 (not available on SIO) */
#define REG_SET(reg) REG32((uintptr_t) & (reg) + 0x2000u)
#define REG_CLR(reg) REG32((uintptr_t) & (reg) + 0x3000u)

/* SIO, 2.3.1.7 */
#define SIO_GPIO_IN REG32(0xd0000004u)
#define SIO_GPIO_OUT_SET REG32(0xd0000014u)
#define SIO_GPIO_OUT_CLR REG32(0xd0000018u)
#define SIO_GPIO_OE_SET REG32(0xd0000024u)

/* Cortex-M0+ private peripherals, 2.4.8 */
#define NVIC_ISER REG32(0xe000e100u)
#define NVIC_ICER REG32(0xe000e180u)
#define NVIC_ICPR REG32(0xe000e280u)
#define TIMER_IRQ_0 0u

/* PSM, 2.13.5 */
#define PSM_WDSEL REG32(0x40010008u)
#define PSM_ALL 0x1ffffu
#define PSM_ROSC BIT(0)
#define PSM_XOSC BIT(1)

/* Resets, 2.14.3 */
#define RESETS_RESET REG32(0x4000c000u)
#define RESETS_RESET_DONE REG32(0x4000c008u)
#define RESETS_ALL 0x01ffffffu
#define RESETS_ADC BIT(0)
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

/* Clocks, 2.15.7 */
#define CLK_REF_CTRL REG32(0x40008030u)
#define CLK_REF_DIV REG32(0x40008034u)
#define CLK_REF_SELECTED REG32(0x40008038u)
#define CLK_REF_SRC_ROSC 0u
#define CLK_REF_SRC_XOSC 2u
#define CLK_SYS_CTRL REG32(0x4000803cu)
#define CLK_SYS_DIV REG32(0x40008040u)
#define CLK_SYS_SELECTED REG32(0x40008044u)
#define CLK_SYS_SRC_CLK_REF 0u
#define CLK_SYS_SRC_AUX 1u
#define CLK_SYS_AUXSRC_PLL_SYS (0u << 5)
#define CLK_PERI_CTRL REG32(0x40008048u)
#define CLK_PERI_ENABLE BIT(11)
#define CLK_PERI_AUXSRC_CLK_SYS (0u << 5)
#define CLK_ADC_CTRL REG32(0x40008060u)
#define CLK_ADC_ENABLE BIT(11)
#define CLK_ADC_AUXSRC_PLL_USB (0u << 5)
#define CLK_SYS_RESUS_CTRL REG32(0x40008078u)
#define CLK_DIV_1 (1u << 8)

/* XOSC, 2.16.7 */
#define XOSC_CTRL REG32(0x40024000u)
#define XOSC_CTRL_ENABLE_1_15MHZ ((0xfabu << 12) | 0xaa0u)
#define XOSC_CTRL_FREQ_RANGE_1_15MHZ 0xaa0u
#define XOSC_STATUS REG32(0x40024004u)
#define XOSC_STATUS_STABLE BIT(31)
#define XOSC_STARTUP REG32(0x4002400cu)

/* PLL_SYS, 2.18.4 */
#define PLL_SYS_CS REG32(0x40028000u)
#define PLL_CS_LOCK BIT(31)
#define PLL_SYS_PWR REG32(0x40028004u)
#define PLL_PWR_PD BIT(0)
#define PLL_PWR_POSTDIVPD BIT(3)
#define PLL_PWR_VCOPD BIT(5)
#define PLL_SYS_FBDIV_INT REG32(0x40028008u)
#define PLL_SYS_PRIM REG32(0x4002800cu)

/* PLL_USB, the same registers */
#define PLL_USB_CS REG32(0x4002c000u)
#define PLL_USB_PWR REG32(0x4002c004u)
#define PLL_USB_FBDIV_INT REG32(0x4002c008u)
#define PLL_USB_PRIM REG32(0x4002c00cu)

/* IO_BANK0, 2.19.6.1 and IO_QSPI, 2.19.6.2 */
#define IO_BANK0_GPIO_CTRL(pin) REG32(0x40014004u + 8u * (pin))
#define FUNCSEL_SPI 1u
#define FUNCSEL_SIO 5u
#define IO_QSPI_SS_CTRL REG32(0x4001800cu)
#define IO_QSPI_OUTOVER_LOW (2u << 8)
#define IO_QSPI_OUTOVER_MASK (3u << 8)

/* PADS_BANK0, 2.19.6.3 */
#define PADS_BANK0_GPIO(pin) REG32(0x4001c004u + 4u * (pin))
#define PAD_SLEWFAST BIT(0)
#define PAD_SCHMITT BIT(1)
#define PAD_PUE BIT(3)
#define PAD_DRIVE_4MA (1u << 4)
#define PAD_DRIVE_8MA (2u << 4)
#define PAD_IE BIT(6)

/* SPI0 (PL022), 4.4.4 */
#define SPI0_SSPCR0 REG32(0x4003c000u)
#define SSPCR0_DSS_8 7u
#define SSPCR0_SPO BIT(6)
#define SSPCR0_SPH BIT(7)
#define SSPCR0_SCR_LSB 8u
#define SPI0_SSPCR1 REG32(0x4003c004u)
#define SSPCR1_SSE BIT(1)
#define SPI0_SSPDR REG32(0x4003c008u)
#define SPI0_SSPSR REG32(0x4003c00cu)
#define SSPSR_RNE BIT(2)
#define SPI0_SSPCPSR REG32(0x4003c010u)
#define SSP_FIFO_DEPTH 8u
#define SPI1_SSPCR0 REG32(0x40040000u)
#define SPI1_SSPCR1 REG32(0x40040004u)
#define SPI1_SSPDR REG32(0x40040008u)
#define SPI1_SSPSR REG32(0x4004000cu)
#define SPI1_SSPCPSR REG32(0x40040010u)

/* ADC, 4.9.6 */
#define ADC_CS REG32(0x4004c000u)
#define ADC_CS_EN BIT(0)
#define ADC_CS_START_ONCE BIT(2)
#define ADC_CS_READY BIT(8)
#define ADC_RESULT REG32(0x4004c004u)

/* Timer, 4.6.5 */
#define TIMER_ALARM0 REG32(0x40054010u)
#define TIMER_ARMED REG32(0x40054020u)
#define TIMER_TIMERAWL REG32(0x40054028u)
#define TIMER_INTR REG32(0x40054034u)
#define TIMER_INTE REG32(0x40054038u)

/* Watchdog, 4.7.6 */
#define WATCHDOG_CTRL REG32(0x40058000u)
#define WATCHDOG_CTRL_ENABLE BIT(30)
#define WATCHDOG_CTRL_TRIGGER BIT(31)
#define WATCHDOG_LOAD REG32(0x40058004u)
#define WATCHDOG_LOAD_8S 0xffffffu /* the most; a tick takes two (erratum E1) */
#define WATCHDOG_REASON REG32(0x40058008u)
#define WATCHDOG_SCRATCH(n) REG32(0x4005800cu + 4u * (n))
#define WATCHDOG_TICK REG32(0x4005802cu)
#define WATCHDOG_TICK_ENABLE BIT(9)

/* `cycles` of clk_ref per tick of the watchdog and the timer */
static inline void ticks_start(uint32_t cycles) { WATCHDOG_TICK = WATCHDOG_TICK_ENABLE | cycles; }

/* SSI, 4.10.13 */
#define SSI_SR REG32(0x18000028u)
#define SSI_SR_TFNF BIT(1)
#define SSI_SR_RFNE BIT(3)
#define SSI_DR0 REG32(0x18000060u)

static inline void interrupts_enable(void) { __asm volatile("cpsie i" ::: "memory"); }
static inline void wait_for_event(void) { __asm volatile("wfe" ::: "memory"); }
static inline void wait_4_cycles(void) { __asm volatile("nop\n\tnop\n\tnop\n\tnop"); }

#endif
