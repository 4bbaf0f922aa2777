//! The table of RP2040's register blocks.

use crate::rp2040::bus::Blocks;
use crate::rp2040::peripherals::resets::bit;
use crate::rp2040::wires::event;

pub(crate) const IO_BANK0: u32 = 0x4001_4000;
pub(crate) const SPI0: u32 = 0x4003_c000;
pub(crate) const SPI1: u32 = 0x4004_0000;
pub(crate) const TIMER: u32 = 0x4005_4000;
pub(crate) const DMA: u32 = 0x5000_0000;
pub(crate) const PIO0: u32 = 0x5020_0000;
/// USB's memory, beside its registers.
pub(crate) const USB_DPRAM: u32 = 0x5010_0000;

parts::register_map! {
    0xffff_c000;
    0x4000_0000 sysinfo, SYSINFO, [], Any;
    0x4000_4000 syscfg, SYSCFG, [], Any;
    0x4000_8000 clocks, NONE, [CLOCKS], Any;
    0x4000_c000 resets, NONE, [], Any;
    0x4001_0000 psm, NONE, [], Any;
    IO_BANK0 io_bank0, IO_BANK0, [], Any;
    0x4001_8000 io_qspi, IO_QSPI, [], Any;
    0x4001_c000 pads_bank0, PADS_BANK0, [], Any;
    0x4002_0000 pads_qspi, PADS_QSPI, [], Any;
    0x4002_4000 xosc, NONE, [XOSC], Any;
    0x4002_8000 pll[0], PLL_SYS, [], Any;
    0x4002_c000 pll[1], PLL_USB, [], Any;
    0x4003_0000 busctrl, BUSCTRL, [], Any;
    0x4003_4000 uart[0], UART0, [UART0, world], Any;
    0x4003_8000 uart[1], UART1, [UART1, world], Any;
    SPI0 spi[0], SPI0, [SPI0, world], Any;
    SPI1 spi[1], SPI1, [SPI1, world], Any;
    0x4004_4000 i2c[0], I2C0, [I2C0, world], Any;
    0x4004_8000 i2c[1], I2C1, [I2C1, world], Any;
    0x4004_c000 adc, ADC, [ADC], Written;
    0x4005_0000 pwm, PWM, [PWM], Any;
    TIMER timer, TIMER, [TIMER], None;
    0x4005_8000 watchdog, NONE, [WATCHDOG], Any;
    0x4005_c000 rtc, RTC, [RTC], Any;
    0x4006_0000 rosc, NONE, [], Any;
    0x4006_4000 vreg_and_chip_reset, NONE, [], Any;
    0x4006_c000 tbman, TBMAN, [], Any;
    DMA dma, DMA, [DMA, bus], None;
    0x5011_0000 usb, USBCTRL, [USB], None;
    PIO0 pio[0], PIO0, [PIO0], Pio;
    0x5030_0000 pio[1], PIO1, [PIO1], Pio;
}
