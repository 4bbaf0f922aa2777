/* Registers and bits that an RP2040 and an RP2350 have in common. The chip's chip.h, which includes this, has the bases
   of their blocks, and what differs. Names, offsets and bits: the datasheets of both; section numbers there. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))
#define BIT(n) (1u << (n))

/* Atomic register aliases (not available on SIO) */
#define REG_SET(reg) REG32((uintptr_t) & (reg) + 0x2000u)
#define REG_CLR(reg) REG32((uintptr_t) & (reg) + 0x3000u)

#define SIO_GPIO_IN REG32(SIO_BASE + 0x04u)

/* Private peripherals of the core */
#define NVIC_ISER REG32(0xe000e100u)
#define NVIC_ICER REG32(0xe000e180u)
#define NVIC_ICPR REG32(0xe000e280u)
#define TIMER_IRQ_0 0u

#define PSM_WDSEL REG32(PSM_BASE + 0x08u)

#define RESETS_RESET REG32(RESETS_BASE)
#define RESETS_RESET_DONE REG32(RESETS_BASE + 0x08u)
#define RESETS_ADC BIT(0)

/* Clocks */
#define CLK_REF_CTRL REG32(CLOCKS_BASE + 0x30u)
#define CLK_REF_DIV REG32(CLOCKS_BASE + 0x34u)
#define CLK_REF_SELECTED REG32(CLOCKS_BASE + 0x38u)
#define CLK_REF_SRC_ROSC 0u
#define CLK_REF_SRC_XOSC 2u
#define CLK_SYS_CTRL REG32(CLOCKS_BASE + 0x3cu)
#define CLK_SYS_DIV REG32(CLOCKS_BASE + 0x40u)
#define CLK_SYS_SELECTED REG32(CLOCKS_BASE + 0x44u)
#define CLK_SYS_SRC_CLK_REF 0u
#define CLK_SYS_SRC_AUX 1u
#define CLK_SYS_AUXSRC_PLL_SYS (0u << 5)
#define CLK_PERI_CTRL REG32(CLOCKS_BASE + 0x48u)
#define CLK_PERI_ENABLE BIT(11)
#define CLK_PERI_AUXSRC_CLK_SYS (0u << 5)
#define CLK_ADC_ENABLE BIT(11)
#define CLK_ADC_AUXSRC_PLL_USB (0u << 5)

#define XOSC_CTRL REG32(XOSC_BASE)
#define XOSC_CTRL_ENABLE_1_15MHZ ((0xfabu << 12) | 0xaa0u)
#define XOSC_CTRL_FREQ_RANGE_1_15MHZ 0xaa0u
#define XOSC_STATUS REG32(XOSC_BASE + 0x04u)
#define XOSC_STATUS_STABLE BIT(31)
#define XOSC_STARTUP REG32(XOSC_BASE + 0x0cu)

#define PLL_SYS_CS REG32(PLL_SYS_BASE)
#define PLL_SYS_PWR REG32(PLL_SYS_BASE + 0x04u)
#define PLL_SYS_FBDIV_INT REG32(PLL_SYS_BASE + 0x08u)
#define PLL_SYS_PRIM REG32(PLL_SYS_BASE + 0x0cu)
#define PLL_USB_CS REG32(PLL_USB_BASE)
#define PLL_USB_PWR REG32(PLL_USB_BASE + 0x04u)
#define PLL_USB_FBDIV_INT REG32(PLL_USB_BASE + 0x08u)
#define PLL_USB_PRIM REG32(PLL_USB_BASE + 0x0cu)
#define PLL_CS_LOCK BIT(31)
#define PLL_PWR_PD BIT(0)
#define PLL_PWR_POSTDIVPD BIT(3)
#define PLL_PWR_VCOPD BIT(5)

#define IO_BANK0_GPIO_CTRL(pin) REG32(IO_BANK0_BASE + 0x04u + 8u * (pin))
#define FUNCSEL_SPI 1u
#define FUNCSEL_SIO 5u

#define PADS_BANK0_GPIO(pin) REG32(PADS_BANK0_BASE + 0x04u + 4u * (pin))
#define PAD_SLEWFAST BIT(0)
#define PAD_SCHMITT BIT(1)
#define PAD_PUE BIT(3)
#define PAD_DRIVE_4MA (1u << 4)
#define PAD_DRIVE_8MA (2u << 4)
#define PAD_IE BIT(6)

/* SPI (PL022) */
#define SPI0_SSPCR0 REG32(SPI0_BASE)
#define SPI0_SSPCR1 REG32(SPI0_BASE + 0x04u)
#define SPI0_SSPDR REG32(SPI0_BASE + 0x08u)
#define SPI0_SSPSR REG32(SPI0_BASE + 0x0cu)
#define SPI0_SSPCPSR REG32(SPI0_BASE + 0x10u)
#define SPI1_SSPCR0 REG32(SPI1_BASE)
#define SPI1_SSPCR1 REG32(SPI1_BASE + 0x04u)
#define SPI1_SSPDR REG32(SPI1_BASE + 0x08u)
#define SPI1_SSPSR REG32(SPI1_BASE + 0x0cu)
#define SPI1_SSPCPSR REG32(SPI1_BASE + 0x10u)
#define SSPCR0_DSS_8 7u
#define SSPCR0_SPO BIT(6)
#define SSPCR0_SPH BIT(7)
#define SSPCR0_SCR_LSB 8u
#define SSPCR1_SSE BIT(1)
#define SSPSR_RNE BIT(2)
#define SSP_FIFO_DEPTH 8u

#define ADC_CS REG32(ADC_BASE)
#define ADC_CS_EN BIT(0)
#define ADC_CS_START_ONCE BIT(2)
#define ADC_CS_READY BIT(8)
#define ADC_RESULT REG32(ADC_BASE + 0x04u)

#define TIMER_ALARM0 REG32(TIMER_BASE + 0x10u)
#define TIMER_ARMED REG32(TIMER_BASE + 0x20u)
#define TIMER_TIMERAWL REG32(TIMER_BASE + 0x28u)

#define WATCHDOG_CTRL REG32(WATCHDOG_BASE)
#define WATCHDOG_CTRL_ENABLE BIT(30)
#define WATCHDOG_CTRL_TRIGGER BIT(31)
#define WATCHDOG_LOAD REG32(WATCHDOG_BASE + 0x04u)
#define WATCHDOG_REASON REG32(WATCHDOG_BASE + 0x08u)
#define WATCHDOG_SCRATCH(n) REG32(WATCHDOG_BASE + 0x0cu + 4u * (n))

static inline void interrupts_enable(void) { __asm volatile("cpsie i" ::: "memory"); }
static inline void wait_for_event(void) { __asm volatile("wfe" ::: "memory"); }

#endif
