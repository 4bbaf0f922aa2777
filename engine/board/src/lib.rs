//! One emulated board: a microcontroller, the devices on its pins, the Ethernet cable or the air, and the USB port,
//! composed from the other crates and run in simulated time.

mod agenda;
mod attachment;
mod attributed;
mod bit_spi;
mod card_socket;
mod chip;
mod config;
mod disk;
mod gdb;
mod i2c_port;
mod machine;
pub mod mcu;
mod network;
mod pair;
mod spi_port;
mod surroundings;
mod uart_cable;
mod uart_port;
mod wifi_port;
mod wires;
mod wiring;

pub use air::{AccessPoint, Delay};
pub use attachment::Attachment;
pub use attributed::Recorded;
pub use card_socket::CardSocket;
pub use chip::{Chip, EthernetPart, MCUS, RADIOS};
pub use config::{BoardConfig, CardSocketConfig, EthernetConfig, WifiConfig};
pub use disk::Disk;
pub use gdb::GdbSession;
pub use i2c_port::I2cWires;
pub use machine::{Machine, Stop, Unmodelled};
pub use network::Network;
pub use pair::{Pair, Side, join};
pub use spi_port::SpiWires;
pub use surroundings::{PINS, Surroundings};
pub use uart_cable::UartCable;
pub use uart_port::UartWires;
pub use wifi_port::WifiWires;
pub use wires::SidePins;
pub use wiring::Wiring;
