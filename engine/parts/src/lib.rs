//! The peripherals that several microcontrollers share, one file each, and how they are connected within a chip.

#![warn(missing_docs, unreachable_pub)]

pub mod adc;
pub mod batch;
pub mod clocks;
pub mod constants;
pub mod dma;
pub mod i2c;
pub mod interpolator;
pub mod io_bank0;
pub mod io_qspi;
pub mod pads_bank0;
pub mod pads_qspi;
pub mod passing;
pub mod pio;
pub mod pll;
pub mod psm;
pub mod pwm;
pub mod resets;
pub mod rosc;
pub mod spi;
#[cfg(test)]
mod testing;
pub mod timer;
pub mod uart;
pub mod usb;
mod usb_port;
#[cfg(test)]
mod walk;
pub mod watchdog;
pub mod wires;
pub mod xip_stream;
pub mod xosc;

pub use usb_port::UsbPort;
