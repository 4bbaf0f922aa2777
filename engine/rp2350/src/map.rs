//! The table of RP2350's register blocks.

use crate::bus::Blocks;
use crate::peripherals::resets::bit;
use crate::wires::event;

pub(crate) const IO_BANK0: u32 = 0x4002_8000;
pub(crate) const TIMER0: u32 = 0x400b_0000;
pub(crate) const SHA256: u32 = 0x400f_8000;
/// USB's memory, beside its registers.
pub(crate) const USB_DPRAM: u32 = 0x5010_0000;
/// Registers are repeated for the atomic aliases; a block's place in the map is twice that.
pub(crate) const BLOCK: u32 = 0xffff_8000;

parts::register_map! {
    BLOCK;
    0x4000_0000 sysinfo, SYSINFO, [];
    0x4000_8000 syscfg, SYSCFG, [];
    0x4001_0000 clocks, NONE, [CLOCKS];
    0x4001_8000 psm, NONE, [];
    0x4002_0000 resets, NONE, [];
    IO_BANK0 io_bank0, IO_BANK0, [];
    0x4003_0000 io_qspi, IO_QSPI, [];
    0x4003_8000 pads_bank0, PADS_BANK0, [];
    0x4004_0000 pads_qspi, PADS_QSPI, [];
    0x4004_8000 xosc, NONE, [XOSC];
    0x4005_0000 pll[0], PLL_SYS, [];
    0x4005_8000 pll[1], PLL_USB, [];
    0x4006_0000 accessctrl, NONE, [];
    0x4006_8000 busctrl, BUSCTRL, [];
    0x4007_0000 uart[0], UART0, [UART0, world];
    0x4007_8000 uart[1], UART1, [UART1, world];
    0x4008_0000 spi[0], SPI0, [SPI0, world];
    0x4008_8000 spi[1], SPI1, [SPI1, world];
    0x4009_0000 i2c[0], I2C0, [I2C0, world];
    0x4009_8000 i2c[1], I2C1, [I2C1, world];
    0x400a_0000 adc, ADC, [ADC];
    0x400a_8000 pwm, PWM, [PWM];
    TIMER0 timer[0], TIMER0, [TIMER0];
    0x400b_8000 timer[1], TIMER1, [TIMER1];
    0x400d_8000 watchdog, NONE, [WATCHDOG];
    0x400e_0000 bootram, NONE, [];
    0x400e_8000 rosc, NONE, [];
    0x400f_0000 trng, TRNG, [TRNG];
    SHA256 sha256, SHA256, [SHA256];
    0x4010_0000 powman, NONE, [POWMAN];
    0x4010_8000 ticks, NONE, [];
    0x4012_0000 otp, NONE, [];
    0x4015_8000 glitch_detector, NONE, [];
    0x4016_0000 tbman, TBMAN, [];
    0x5000_0000 dma, DMA, [DMA, bus];
    0x5011_0000 usb, USBCTRL, [USB];
    0x5020_0000 pio[0], PIO0, [PIO0];
    0x5030_0000 pio[1], PIO1, [PIO1];
    0x5040_0000 pio[2], PIO2, [PIO2];
}
