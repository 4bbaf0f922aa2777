//! One file per peripheral that only the RP2350 has, named as in its datasheet, beside the shared ones of [`parts`].

pub mod accessctrl;
pub mod bootram;
pub mod busctrl;
pub mod glitch_detector;
pub mod otp;
pub mod powman;
pub mod psm;
pub mod qmi;
pub mod resets;
pub mod sha256;
pub mod sio;
pub mod syscfg;
pub mod sysinfo;
pub mod tbman;
pub mod ticks;
pub mod trng;
pub mod xip_ctrl;

pub use parts::{
    Alias, Peripheral, Write, adc, clocks, dma, i2c, io_bank0, io_qspi, pads_bank0, pads_qspi, pio, pll, pwm, rosc,
    spi, timer, uart, unmodelled, usb, watchdog, xosc,
};
