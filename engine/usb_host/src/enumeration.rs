//! The enumeration sequence after a bus reset (USB 2.0 section 9.1.2), with the repetitions of Linux 6
//! (drivers/usb/core/hub.c, hub_port_init, and usb_get_descriptor in message.c).

use sim::{PS_PER_MS, Ps, Snapshot};

use crate::control::{CONFIGURATION_DESCRIPTOR, DEVICE_DESCRIPTOR, Request, STRING_DESCRIPTOR};
use crate::descriptors::{self, Configuration, DeviceDescriptor};
use crate::transaction::TransferError;

/// Largest configuration descriptor that is read whole; the rest of a longer one is ignored.
const MAX_CONFIGURATION: u16 = 4096;

/// Requests for a descriptor before the host gives it up (GET_MAXPACKET0_TRIES, and usb_get_descriptor's own loop).
const DESCRIPTOR_TRIES: u8 = 3;
/// SET_ADDRESS is sent this often, with a pause (SET_ADDRESS_TRIES).
const ADDRESS_TRIES: u8 = 2;
const ADDRESS_PAUSE: Ps = 200 * PS_PER_MS;
/// The first descriptor is asked for in this many rounds, with a pause (GET_DESCRIPTOR_TRIES).
pub(crate) const ROUNDS: u8 = 2;
pub(crate) const ROUND_PAUSE: Ps = 100 * PS_PER_MS;

/// A device's properties, learned by enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Device {
    /// The address that SET_ADDRESS gave it.
    pub address: u8,
    /// The device descriptor.
    pub descriptor: DeviceDescriptor,
    /// The manufacturer's string; `None`: the device has none.
    pub manufacturer: Option<String>,
    /// The product's string; `None`: the device has none.
    pub product: Option<String>,
    /// The serial number's string; `None`: the device has none.
    pub serial: Option<String>,
    /// The configuration in use.
    pub configuration: Configuration,
}

/// The request that comes first. Linux begins with the descriptor, and later tries the other (use_new_scheme). It also
/// resets the port between the first descriptor and SET_ADDRESS, as Windows does, which no device here has needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Scheme {
    Descriptor,
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
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

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Step::DeviceStart => "first bytes of the device descriptor",
            Step::SetAddress => "SET_ADDRESS",
            Step::Device => "device descriptor",
            Step::ConfigurationStart => "first bytes of the configuration descriptor",
            Step::Configuration(_) => "configuration descriptor",
            Step::Languages => "languages of the strings",
            Step::Manufacturer => "manufacturer's name",
            Step::Product => "product's name",
            Step::Serial => "serial number",
            Step::SetConfiguration => "SET_CONFIGURATION",
        })
    }
}

/// The effect of a finished control transfer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// bMaxPacketSize0 is known.
    MaxPacket(u8),
    /// The device has accepted its address.
    Addressed,
    More,
    Configured(Box<Device>),
    /// No answer to the first request for a descriptor: the reason, in one line.
    NoDescriptor(String),
    /// Reason, in one line.
    Failed(String),
}

#[derive(Debug, Snapshot)]
pub(crate) struct Enumeration {
    scheme: Scheme,
    step: Step,
    /// How often the step has failed.
    failures: u8,
    ready_at: Ps,
    address_recovery: Ps,
    request_gap: Ps,
    language: u16,
    device: Device,
}

impl Enumeration {
    /// Creates a sequence that starts at `ready_at` (after reset recovery) and gives the device `address`.
    pub(crate) fn new(scheme: Scheme, address: u8, ready_at: Ps, address_recovery: Ps, request_gap: Ps) -> Enumeration {
        Enumeration {
            scheme,
            step: if scheme == Scheme::Descriptor { Step::DeviceStart } else { Step::SetAddress },
            failures: 0,
            ready_at,
            address_recovery,
            request_gap,
            language: 0,
            device: Device { address, ..Device::default() },
        }
    }

    /// Returns the earliest start of the next request.
    pub(crate) fn ready_at(&self) -> Ps {
        self.ready_at
    }

    pub(crate) fn request(&self) -> Request {
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
    pub(crate) fn finished(&mut self, end: Ps, result: Result<Vec<u8>, TransferError>) -> Progress {
        self.ready_at = end + self.request_gap;
        let step = self.step;
        let timed_out = result == Err(TransferError::Deadline);
        match self.take(end, result) {
            Ok(progress) => {
                self.failures = 0;
                progress
            }
            Err(reason) => match self.pause_after_failure(timed_out) {
                Some(pause) => {
                    self.ready_at += pause;
                    Progress::More
                }
                None if step == Step::DeviceStart && self.scheme == Scheme::Descriptor => {
                    Progress::NoDescriptor(format!("{step}: {reason}"))
                }
                None => Progress::Failed(format!("{step}: {reason}")),
            },
        }
    }

    /// Counts a failure of the step; returns the pause before it is repeated, `None` if it is not.
    fn pause_after_failure(&mut self, timed_out: bool) -> Option<Ps> {
        self.failures += 1;
        match (self.step, self.scheme) {
            (Step::SetAddress, _) => (self.failures < ADDRESS_TRIES).then_some(ADDRESS_PAUSE),
            (Step::DeviceStart, Scheme::Descriptor) => (self.failures < DESCRIPTOR_TRIES).then_some(0),
            (step, _) => {
                if timed_out {
                    // usb_get_descriptor does not repeat a request that took its 5 s.
                    self.failures = self.failures.next_multiple_of(DESCRIPTOR_TRIES);
                }
                let rounds = if step == Step::DeviceStart { ROUNDS } else { 1 };
                let pause = if self.failures.is_multiple_of(DESCRIPTOR_TRIES) { ROUND_PAUSE } else { 0 };
                (self.failures < rounds * DESCRIPTOR_TRIES).then_some(pause)
            }
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
                self.step = if self.scheme == Scheme::Descriptor { Step::SetAddress } else { Step::Device };
                return Ok(Progress::MaxPacket(size));
            }
            Step::SetAddress => {
                self.ready_at = end + self.address_recovery;
                self.step = if self.scheme == Scheme::Descriptor { Step::Device } else { Step::DeviceStart };
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
