//! Shared foundations of the emulated board: simulated time, and the traits that connect a microcontroller, the devices
//! on its buses, the Ethernet cable and the USB port.
//!
//! Nothing here depends on a particular chip. No crate of the engine reads the host's clock, random numbers or hash-map
//! order: equal calls at equal times give equal results.
//!
//! A thermometer on I2C that answers each read with 21 degrees:
//!
//! ```
//! use sim::{Device, I2cDevice, PS_PER_US, Ps};
//!
//! struct Thermometer;
//!
//! impl Device for Thermometer {
//!     fn name(&self) -> &'static str {
//!         "TC74"
//!     }
//! }
//!
//! impl I2cDevice for Thermometer {
//!     fn start(&mut self, _now: Ps, address: u16, read: bool) -> bool {
//!         address == 0x4d && read
//!     }
//!     fn write(&mut self, _now: Ps, _byte: u8) -> bool {
//!         false
//!     }
//!     fn read(&mut self, _now: Ps) -> u8 {
//!         21
//!     }
//! }
//!
//! let mut device = Thermometer;
//! assert!(!device.start(90 * PS_PER_US, 0x50, true));
//! assert!(device.start(180 * PS_PER_US, 0x4d, true));
//! assert_eq!(device.read(270 * PS_PER_US), 21);
//! ```

#![warn(missing_docs, unreachable_pub)]

// Derived snapshots name the crate so.
extern crate self as sim;

mod clock;
mod device;
mod ethernet;
mod i2c;
mod log;
mod pins;
mod random;
mod settings;
pub mod snapshot;
mod spi;
mod tcp;
mod time;
mod uart;
mod usb;
mod wifi;

pub use clock::Clock;
pub use device::Device;
pub use ethernet::{EthernetChip, EthernetStats};
pub use i2c::I2cDevice;
pub use log::{Log, LogReader};
pub use pins::PinDevice;
pub use random::{SplitMix64, asked};
pub use settings::SettingError;
pub use snapshot::Snapshot;
pub use spi::{Lanes, SpiDevice, SpiFrame};
pub use tcp::{AppReply, TcpApp};
pub use time::{NEVER, PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US, Ps, ps, us};
pub use uart::UartDevice;
pub use usb::{Handshake, InResult, UsbBus};
pub use wifi::{Bss, Join, Mac, Radio, RadioReport, RadioRequest, Security};
