//! One emulated board: a microcontroller, the devices on its pins, the Ethernet cable or the air, and the USB port,
//! composed from the other crates and run in simulated time. Equal inputs give equal runs, to the picosecond.
//!
//! Boot MicroPython and type at its prompt:
//!
//! ```no_run
//! use portbench_engine::{BoardConfig, Machine, bootrom, flash_of_uf2, mcu::RP2040, sim::PS_PER_S};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let flash = flash_of_uf2(&RP2040, &std::fs::read("micropython.uf2")?)?;
//! let mut board = Machine::new(BoardConfig::pico(bootrom(&RP2040)?), &flash, false)?;
//! board.expect(">>> ", 10 * PS_PER_S)?;
//! board.type_in("6 * 7\r");
//! assert!(board.expect("42\r\n>>> ", PS_PER_S)?.starts_with("6 * 7"));
//! # Ok(())
//! # }
//! ```
//!
//! Attach a device of your own, here a thermometer on I2C at address 0x48, which always reads 21 degrees:
//!
//! ```
//! use portbench_engine::sim::{Device, I2cDevice, Ps};
//! use portbench_engine::{Attachment, BoardConfig, I2cWires, SidePins};
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
//!     fn start(&mut self, _now: Ps, address: u16, _read: bool) -> bool {
//!         address == 0x48
//!     }
//!     fn write(&mut self, _now: Ps, _byte: u8) -> bool {
//!         true
//!     }
//!     fn read(&mut self, _now: Ps) -> u8 {
//!         21
//!     }
//! }
//!
//! let wires = I2cWires { i2c: 0, sda: 4, scl: 5, side: SidePins::default() };
//! let config = BoardConfig::pico(vec![0; 16384]).with(Attachment::i2c(wires, || Thermometer));
//! assert!(config.check().is_ok());
//! ```
//!
//! Change a setting, and read the error of a wrong one:
//!
//! ```
//! use portbench_engine::{BoardConfig, sim};
//!
//! let config = sim::with!(BoardConfig::w5500_evb_pico(vec![0; 16384]), spi_speed: 40);
//! let error = config.check().unwrap_err();
//! assert_eq!((error.setting.as_str(), error.mend.as_str()), ("spi_speed", "use 1 to 16"));
//! assert_eq!(error.to_string(), "spi_speed = 40: use 1 to 16");
//! ```
//!
//! The crates of its parts are here as modules: [`sim`] has the traits of devices, [`lan`] the simulated PC and its
//! settings, [`wiznet`] the Ethernet chips, [`usb_host`] the PC's USB, [`trace`] the records of pins and frames. They
//! are published for this crate, and only [`sim`] and [`wiznet`] for use without it.

#![warn(missing_docs, unreachable_pub)]

/// Makes an error of a type that has its text, in one line.
macro_rules! one_line {
    ($error:ident) => {
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::error::Error for $error {}
    };
}

mod agenda;
mod attachment;
mod attributed;
mod bit_spi;
mod bootrom;
mod card_socket;
mod chip;
mod config;
mod console;
mod disk;
mod gdb;
mod i2c_port;
mod image;
mod machine;
pub mod mcu;
mod network;
mod pair;
mod passages;
mod pin_port;
mod session;
mod settings;
mod snapshot;
mod spi_port;
mod surroundings;
mod uart_cable;
mod uart_port;
mod uf2;
mod wifi_port;
mod wires;
mod wiring;

pub use ::{lan, sim, usb_host, wiznet};
pub use ::chip::trace;
pub use air::{AccessPoint, Delay};
pub use attachment::Attachment;
pub use bootrom::{bootrom, bootrom_path};
pub use card_socket::CardSocket;
pub use chip::{Chip, EthernetPart, RADIOS};
pub use config::{BoardConfig, CardSocketConfig, EthernetConfig, WifiConfig, check_pin};
pub use console::ConsoleError;
pub use disk::Disk;
pub use gdb::GdbSession;
pub use i2c_port::I2cWires;
pub use image::{ImageError, flash_of_image};
pub use machine::{Machine, Stop, Unmodelled};
pub use network::Network;
pub use pair::{Pair, Side, join};
pub use session::{FrameTold, ReplyTold, SpiTold};
pub use settings::{lan_faults, millivolts, network_of};
pub use snapshot::SnapshotError;
pub use spi_port::SpiWires;
pub use surroundings::Surroundings;
pub use uart_cable::UartCable;
pub use uart_port::UartWires;
pub use uf2::{Uf2Error, flash_of_uf2};
pub use wifi_port::WifiWires;
pub use wires::SidePins;
pub use wiring::{MOST_SPI_FRAMES, Wiring};
