//! The PC's side of a full-speed USB port in simulated time.
//!
//! [`UsbHost`] drives a device controller through [`sim::UsbBus`]: attach, reset, enumeration, CDC-ACM serial ports of which
//! the first is the console, and SCSI bulk-only mass storage. [`Volume`] is a FAT volume on any [`BlockDevice`].

#![warn(missing_docs, unreachable_pub)]

mod bot;
mod cdc;
mod config;
mod control;
mod descriptors;
mod enumeration;
mod functions;
mod host;
mod layout;
mod msc;
mod pipe;
mod scsi;
mod sectors;
pub mod timing;
mod transaction;
mod volume;

pub use bot::BotError;
pub use cdc::{LineCoding, SerialPort};
pub use config::{ConsoleConfig, HostConfig, PollConfig, ReadPolicy, StorageConfig};
pub use descriptors::{Configuration, DeviceDescriptor, Interface};
pub use enumeration::Device;
pub use functions::Function;
pub use host::{Event, HostState, Port, TimedEvent, UsbHost};
pub use msc::{DriveInfo, RequestId, StorageError};
pub use scsi::{Inquiry, Sense};
pub use transaction::TransferError;
pub use volume::{BlockDevice, Entry, Stage, Volume, VolumeError};

/// Adds results to the checksum of a recorded walk.
#[cfg(test)]
fn note(sum: &mut u64, seen: impl std::fmt::Debug) {
    *sum = format!("{seen:?}").bytes().fold(*sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
}
