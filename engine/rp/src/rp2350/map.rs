//! The table of RP2350's register blocks.

use crate::rp2350::bus::Blocks;
use crate::rp2350::peripherals::resets::bit;
use crate::rp2350::wires::event;

pub(crate) const IO_BANK0: u32 = 0x4002_8000;
pub(crate) const TIMER0: u32 = 0x400b_0000;
pub(crate) const SHA256: u32 = 0x400f_8000;
pub(crate) const SPI0: u32 = 0x4008_0000;
pub(crate) const SPI1: u32 = 0x4008_8000;
pub(crate) const DMA: u32 = 0x5000_0000;
pub(crate) const PIO0: u32 = 0x5020_0000;
/// USB's memory, beside its registers.
pub(crate) const USB_DPRAM: u32 = 0x5010_0000;
/// Registers are repeated for the atomic aliases; a block's place in the map is twice that.
pub(crate) const BLOCK: u32 = 0xffff_8000;

parts::register_map! {
    BLOCK;
    0x4000_0000 sysinfo, SYSINFO, [], Any;
    0x4000_8000 syscfg, SYSCFG, [], Any;
    0x4001_0000 clocks, NONE, [CLOCKS], Any;
    0x4001_8000 psm, NONE, [], Any;
    0x4002_0000 resets, NONE, [], Any;
    IO_BANK0 io_bank0, IO_BANK0, [], Any;
    0x4003_0000 io_qspi, IO_QSPI, [], Any;
    0x4003_8000 pads_bank0, PADS_BANK0, [], Any;
    0x4004_0000 pads_qspi, PADS_QSPI, [], Any;
    0x4004_8000 xosc, NONE, [XOSC], Any;
    0x4005_0000 pll[0], PLL_SYS, [], Any;
    0x4005_8000 pll[1], PLL_USB, [], Any;
    0x4006_0000 accessctrl, NONE, [], Any;
    0x4006_8000 busctrl, BUSCTRL, [], Any;
    0x4007_0000 uart[0], UART0, [UART0, world], Any;
    0x4007_8000 uart[1], UART1, [UART1, world], Any;
    SPI0 spi[0], SPI0, [SPI0, world], Any;
    SPI1 spi[1], SPI1, [SPI1, world], Any;
    0x4009_0000 i2c[0], I2C0, [I2C0, world], Any;
    0x4009_8000 i2c[1], I2C1, [I2C1, world], Any;
    0x400a_0000 adc, ADC, [ADC], Written;
    0x400a_8000 pwm, PWM, [PWM], Any;
    TIMER0 timer[0], TIMER0, [TIMER0], None;
    0x400b_8000 timer[1], TIMER1, [TIMER1], None;
    0x400c_0000 hstx, HSTX, [], None;
    0x400d_8000 watchdog, NONE, [WATCHDOG], Any;
    0x400e_0000 bootram, NONE, [], Any;
    0x400e_8000 rosc, NONE, [], Any;
    0x400f_0000 trng, TRNG, [TRNG], None;
    SHA256 sha256, SHA256, [SHA256], None;
    0x4010_0000 powman, NONE, [POWMAN], Any;
    0x4010_8000 ticks, NONE, [], Any;
    0x4012_0000 otp, NONE, [], Any;
    0x4015_8000 glitch_detector, NONE, [], Any;
    0x4016_0000 tbman, TBMAN, [], Any;
    DMA dma, DMA, [DMA, bus], None;
    0x5011_0000 usb, USBCTRL, [USB], None;
    PIO0 pio[0], PIO0, [PIO0], Pio;
    0x5030_0000 pio[1], PIO1, [PIO1], Pio;
    0x5040_0000 pio[2], PIO2, [PIO2], Pio;
}
