//! The enumeration sequence after a bus reset (USB 2.0 section 9.1.2).

use sim::Ps;

use crate::control::{CONFIGURATION_DESCRIPTOR, DEVICE_DESCRIPTOR, Request, STRING_DESCRIPTOR};
use crate::descriptors::{self, Configuration, DeviceDescriptor};
use crate::transaction::TransferError;

/// Largest configuration descriptor that is read whole; the rest of a longer one is ignored.
const MAX_CONFIGURATION: u16 = 4096;

/// A device's properties, learned by enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    pub address: u8,
    pub descriptor: DeviceDescriptor,
    pub manufacturer: Option<String>,
    pub product: Option<String>,
    pub serial: Option<String>,
    pub configuration: Configuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    DeviceStart,
    SetAddress,
    Device,
    ConfigurationStart,
    Configuration(u16),
    Languages,
    Manufacturer,
    Product,
    Serial,
    SetConfiguration,
}

/// The effect of a finished control transfer.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// bMaxPacketSize0 is known.
    MaxPacket(u8),
    /// The device has accepted its address.
    Addressed,
    More,
    Configured(Box<Device>),
    /// Reason, in one line.
    Failed(String),
}

#[derive(Debug)]
pub struct Enumeration {
    step: Step,
    ready_at: Ps,
    address_recovery: Ps,
    request_gap: Ps,
    language: u16,
    device: Device,
}

impl Enumeration {
    /// Creates a sequence that starts at `ready_at` (after reset recovery) and gives the device `address`.
    pub fn new(address: u8, ready_at: Ps, address_recovery: Ps, request_gap: Ps) -> Enumeration {
        Enumeration {
            step: Step::DeviceStart,
            ready_at,
            address_recovery,
            request_gap,
            language: 0,
            device: Device { address, ..Device::default() },
        }
    }

    /// Returns the earliest start of the next request.
    pub fn ready_at(&self) -> Ps {
        self.ready_at
    }

    pub fn request(&self) -> Request {
        let string = |index| Request::get_descriptor(STRING_DESCRIPTOR, index, self.language, 255);
        let descriptor = &self.device.descriptor;
        match self.step {
            Step::DeviceStart => Request::get_descriptor(DEVICE_DESCRIPTOR, 0, 0, 8),
            Step::SetAddress => Request::set_address(self.device.address),
            Step::Device => Request::get_descriptor(DEVICE_DESCRIPTOR, 0, 0, 18),
            Step::ConfigurationStart => Request::get_descriptor(CONFIGURATION_DESCRIPTOR, 0, 0, 9),
            Step::Configuration(total) => Request::get_descriptor(CONFIGURATION_DESCRIPTOR, 0, 0, total),
            Step::Languages => Request::get_descriptor(STRING_DESCRIPTOR, 0, 0, 255),
            Step::Manufacturer => string(descriptor.manufacturer_index),
            Step::Product => string(descriptor.product_index),
            Step::Serial => string(descriptor.serial_index),
            Step::SetConfiguration => Request::set_configuration(self.device.configuration.value),
        }
    }

    /// Handles the result of the request, which ended at `end`.
    pub fn finished(&mut self, end: Ps, result: Result<Vec<u8>, TransferError>) -> Progress {
        self.ready_at = end + self.request_gap;
        match self.take(end, result) {
            Ok(progress) => progress,
            Err(reason) => Progress::Failed(format!("{:?}: {reason}", self.step)),
        }
    }

    fn take(&mut self, end: Ps, result: Result<Vec<u8>, TransferError>) -> Result<Progress, String> {
        // Strings are optional: a device that stalls a string request is used without that string.
        let optional = matches!(self.step, Step::Languages | Step::Manufacturer | Step::Product | Step::Serial);
        let bytes = match result {
            Err(TransferError::Stall) if optional => Vec::new(),
            other => other.map_err(|e| e.to_string())?,
        };
        match self.step {
            Step::DeviceStart => {
                let size = descriptors::parse_max_packet0(&bytes)?;
                self.step = Step::SetAddress;
                return Ok(Progress::MaxPacket(size));
            }
            Step::SetAddress => {
                self.ready_at = end + self.address_recovery;
                self.step = Step::Device;
                return Ok(Progress::Addressed);
            }
            Step::Device => {
                self.device.descriptor = descriptors::parse_device(&bytes)?;
                self.step = Step::ConfigurationStart;
            }
            Step::ConfigurationStart => {
                let total = descriptors::parse_total_length(&bytes)?;
                self.step = Step::Configuration(total.min(MAX_CONFIGURATION));
            }
            Step::Configuration(_) => {
                self.device.configuration = descriptors::parse_configuration(&bytes)?;
                let d = &self.device.descriptor;
                let has_strings = d.manufacturer_index != 0 || d.product_index != 0 || d.serial_index != 0;
                self.step = if has_strings { Step::Languages } else { Step::SetConfiguration };
            }
            Step::Languages => match descriptors::parse_language(&bytes) {
                Some(language) => {
                    self.language = language;
                    self.step = self.next_string(Step::Manufacturer);
                }
                None => self.step = Step::SetConfiguration,
            },
            Step::Manufacturer => {
                self.device.manufacturer = descriptors::parse_string(&bytes);
                self.step = self.next_string(Step::Product);
            }
            Step::Product => {
                self.device.product = descriptors::parse_string(&bytes);
                self.step = self.next_string(Step::Serial);
            }
            Step::Serial => {
                self.device.serial = descriptors::parse_string(&bytes);
                self.step = Step::SetConfiguration;
            }
            Step::SetConfiguration => return Ok(Progress::Configured(Box::new(std::mem::take(&mut self.device)))),
        }
        Ok(Progress::More)
    }

    /// Returns `step`, or the first later string that the device has.
    fn next_string(&self, step: Step) -> Step {
        let d = &self.device.descriptor;
        match step {
            Step::Manufacturer if d.manufacturer_index == 0 => self.next_string(Step::Product),
            Step::Product if d.product_index == 0 => self.next_string(Step::Serial),
            Step::Serial if d.serial_index == 0 => Step::SetConfiguration,
            other => other,
        }
    }
}
