/* RP2350 registers used by this firmware, by the names that the RP2040's have. Names, addresses and bits: RP2350
   datasheet; section numbers at each block. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define BIT(n) (1u << (n))

/* Atomic register aliases, 2.1.3 (not available on SIO) */
#define REG_SET(reg) REG32((uintptr_t) & (reg) + 0x2000u)
#define REG_CLR(reg) REG32((uintptr_t) & (reg) + 0x3000u)

/* SIO, 3.1.11 */
#define SIO_GPIO_IN REG32(0xd0000004u)
#define SIO_GPIO_OUT_SET REG32(0xd0000018u)
#define SIO_GPIO_OUT_CLR REG32(0xd0000020u)
#define SIO_GPIO_OE_SET REG32(0xd0000038u)

/* Cortex-M33 private peripherals, 3.7.5 */
#define NVIC_ISER REG32(0xe000e100u)
#define NVIC_ICER REG32(0xe000e180u)
#define NVIC_ICPR REG32(0xe000e280u)
#define TIMER_IRQ_0 0u

/* PSM, 7.4.4 */
#define PSM_WDSEL REG32(0x40018008u)
#define PSM_ALL 0x1ffffffu
#define PSM_ROSC BIT(2)
#define PSM_XOSC BIT(3)

/* Resets, 7.5.3 */
#define RESETS_RESET REG32(0x40020000u)
#define RESETS_RESET_DONE REG32(0x40020008u)
#define RESETS_ALL 0x1fffffffu
#define RESETS_ADC BIT(0)
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

/* Clocks, 8.1.7 */
#define CLK_REF_CTRL REG32(0x40010030u)
#define CLK_REF_DIV REG32(0x40010034u)
#define CLK_REF_SELECTED REG32(0x40010038u)
#define CLK_REF_SRC_ROSC 0u
#define CLK_REF_SRC_XOSC 2u
#define CLK_SYS_CTRL REG32(0x4001003cu)
#define CLK_SYS_DIV REG32(0x40010040u)
#define CLK_SYS_SELECTED REG32(0x40010044u)
#define CLK_SYS_SRC_CLK_REF 0u
#define CLK_SYS_SRC_AUX 1u
#define CLK_SYS_AUXSRC_PLL_SYS (0u << 5)
#define CLK_PERI_CTRL REG32(0x40010048u)
#define CLK_PERI_ENABLE BIT(11)
#define CLK_PERI_AUXSRC_CLK_SYS (0u << 5)
#define CLK_ADC_CTRL REG32(0x4001006cu)
#define CLK_ADC_ENABLE BIT(11)
#define CLK_ADC_AUXSRC_PLL_USB (0u << 5)
#define CLK_SYS_RESUS_CTRL REG32(0x40010084u)
#define CLK_DIV_1 (1u << 16)

/* XOSC, 8.2.8 */
#define XOSC_CTRL REG32(0x40048000u)
#define XOSC_CTRL_ENABLE_1_15MHZ ((0xfabu << 12) | 0xaa0u)
#define XOSC_CTRL_FREQ_RANGE_1_15MHZ 0xaa0u
#define XOSC_STATUS REG32(0x40048004u)
#define XOSC_STATUS_STABLE BIT(31)
#define XOSC_STARTUP REG32(0x4004800cu)

/* PLL_SYS, 8.6.5 */
#define PLL_SYS_CS REG32(0x40050000u)
#define PLL_CS_LOCK BIT(31)
#define PLL_SYS_PWR REG32(0x40050004u)
#define PLL_PWR_PD BIT(0)
#define PLL_PWR_POSTDIVPD BIT(3)
#define PLL_PWR_VCOPD BIT(5)
#define PLL_SYS_FBDIV_INT REG32(0x40050008u)
#define PLL_SYS_PRIM REG32(0x4005000cu)

/* PLL_USB, the same registers */
#define PLL_USB_CS REG32(0x40058000u)
#define PLL_USB_PWR REG32(0x40058004u)
#define PLL_USB_FBDIV_INT REG32(0x40058008u)
#define PLL_USB_PRIM REG32(0x4005800cu)

/* IO_BANK0, 9.11.1 */
#define IO_BANK0_GPIO_CTRL(pin) REG32(0x40028004u + 8u * (pin))
#define FUNCSEL_SPI 1u
#define FUNCSEL_SIO 5u

/* PADS_BANK0, 9.11.3: a write without ISO, bit 8, connects the pad */
#define PADS_BANK0_GPIO(pin) REG32(0x40038004u + 4u * (pin))
#define PAD_SLEWFAST BIT(0)
#define PAD_SCHMITT BIT(1)
#define PAD_PUE BIT(3)
#define PAD_DRIVE_4MA (1u << 4)
#define PAD_DRIVE_8MA (2u << 4)
#define PAD_IE BIT(6)

/* SPI0 (PL022), 12.3.5 */
#define SPI0_SSPCR0 REG32(0x40080000u)
#define SSPCR0_DSS_8 7u
#define SSPCR0_SPO BIT(6)
#define SSPCR0_SPH BIT(7)
#define SSPCR0_SCR_LSB 8u
#define SPI0_SSPCR1 REG32(0x40080004u)
#define SSPCR1_SSE BIT(1)
#define SPI0_SSPDR REG32(0x40080008u)
#define SPI0_SSPSR REG32(0x4008000cu)
#define SSPSR_RNE BIT(2)
#define SPI0_SSPCPSR REG32(0x40080010u)
#define SSP_FIFO_DEPTH 8u
#define SPI1_SSPCR0 REG32(0x40088000u)
#define SPI1_SSPCR1 REG32(0x40088004u)
#define SPI1_SSPDR REG32(0x40088008u)
#define SPI1_SSPSR REG32(0x4008800cu)
#define SPI1_SSPCPSR REG32(0x40088010u)

/* ADC, 12.4.7 */
#define ADC_CS REG32(0x400a0000u)
#define ADC_CS_EN BIT(0)
#define ADC_CS_START_ONCE BIT(2)
#define ADC_CS_READY BIT(8)
#define ADC_RESULT REG32(0x400a0004u)

/* TIMER0, 12.8.5 */
#define TIMER_ALARM0 REG32(0x400b0010u)
#define TIMER_ARMED REG32(0x400b0020u)
#define TIMER_TIMERAWL REG32(0x400b0028u)
#define TIMER_INTR REG32(0x400b003cu)
#define TIMER_INTE REG32(0x400b0040u)

/* Watchdog, 12.9.7 */
#define WATCHDOG_CTRL REG32(0x400d8000u)
#define WATCHDOG_CTRL_ENABLE BIT(30)
#define WATCHDOG_CTRL_TRIGGER BIT(31)
#define WATCHDOG_LOAD REG32(0x400d8004u)
#define WATCHDOG_LOAD_8S 8388607u /* a tick takes one, an RP2040's two (its erratum E1) */
#define WATCHDOG_REASON REG32(0x400d8008u)
#define WATCHDOG_SCRATCH(n) REG32(0x400d800cu + 4u * (n))

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

static inline void interrupts_enable(void) { __asm volatile("cpsie i" ::: "memory"); }
static inline void wait_for_event(void) { __asm volatile("wfe" ::: "memory"); }
static inline void wait_4_cycles(void) { __asm volatile("nop.w\n\tnop.w\n\tnop.w\n\tnop.w"); } /* two narrow ones take one */

#endif
