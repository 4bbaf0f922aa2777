//! Device, configuration and string descriptors (USB 2.0 section 9.6; CDC 1.20 section 5.2.3; BOT 1.0 chapter 4).

use sim::Snapshot;

/// The 18-byte device descriptor's fields that a host uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct DeviceDescriptor {
    /// bcdUSB.
    pub usb_bcd: u16,
    /// bDeviceClass.
    pub class: u8,
    /// bMaxPacketSize0, in bytes.
    pub max_packet0: u8,
    /// idVendor.
    pub vid: u16,
    /// idProduct.
    pub pid: u16,
    /// bcdDevice.
    pub device_bcd: u16,
    /// iManufacturer; 0: no string.
    pub manufacturer_index: u8,
    /// iProduct; 0: no string.
    pub product_index: u8,
    /// iSerialNumber; 0: no string.
    pub serial_index: u8,
    /// bNumConfigurations.
    pub configurations: u8,
}

/// A configuration descriptor with its interfaces (USB 2.0 section 9.6.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Configuration {
    /// bConfigurationValue, the argument of SET_CONFIGURATION.
    pub value: u8,
    /// Alternate setting 0 of each interface, in the descriptor's order.
    pub interfaces: Vec<Interface>,
}

/// An interface with its endpoints (USB 2.0 section 9.6.5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Interface {
    pub(crate) number: u8,
    pub(crate) class: u8,
    pub(crate) subclass: u8,
    pub(crate) protocol: u8,
    /// Data interfaces named by a CDC union descriptor.
    pub(crate) union_data: Vec<u8>,
    pub(crate) endpoints: Vec<Endpoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Endpoint {
    /// bEndpointAddress: bit 7 set for IN.
    pub(crate) address: u8,
    pub(crate) kind: EndpointKind,
    /// Bytes; 1 to 64 (isochronous: up to 1023).
    pub(crate) max_packet: u16,
    /// bInterval; in ms for interrupt endpoints.
    pub(crate) interval: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum EndpointKind {
    Control,
    Isochronous,
    Bulk,
    Interrupt,
}

/// A CDC-ACM function: a communications interface and its data interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct CdcAcm {
    pub(crate) control_interface: u8,
    pub(crate) data_interface: u8,
    pub(crate) notify: Option<Endpoint>,
    pub(crate) bulk_in: Endpoint,
    pub(crate) bulk_out: Endpoint,
}

/// A SCSI bulk-only mass-storage interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct MassStorage {
    pub(crate) interface: u8,
    pub(crate) bulk_in: Endpoint,
    pub(crate) bulk_out: Endpoint,
}

const CLASS_COMMUNICATIONS: u8 = 0x02;
const SUBCLASS_ACM: u8 = 0x02;
const CLASS_CDC_DATA: u8 = 0x0a;
const CLASS_MASS_STORAGE: u8 = 0x08;
const SUBCLASS_SCSI: u8 = 0x06;
const PROTOCOL_BULK_ONLY: u8 = 0x50;

const TYPE_DEVICE: u8 = 1;
const TYPE_CONFIGURATION: u8 = 2;
const TYPE_STRING: u8 = 3;
const TYPE_INTERFACE: u8 = 4;
const TYPE_ENDPOINT: u8 = 5;
const TYPE_CS_INTERFACE: u8 = 0x24;
const CDC_UNION: u8 = 0x06;

/// Parses bMaxPacketSize0 from the first eight bytes of a device descriptor.
///
/// Errors: one line that names the wrong bytes.
pub(crate) fn parse_max_packet0(bytes: &[u8]) -> Result<u8, String> {
    match *bytes {
        [_, TYPE_DEVICE, _, _, _, _, _, size @ (8 | 16 | 32 | 64), ..] => Ok(size),
        [_, TYPE_DEVICE, _, _, _, _, _, size, ..] => {
            Err(format!("device descriptor: bMaxPacketSize0 is {size}, a full-speed device has 8, 16, 32 or 64"))
        }
        _ => Err(format!("device descriptor: the first {} bytes are invalid", bytes.len())),
    }
}

/// Parses a device descriptor of 18 bytes.
pub(crate) fn parse_device(bytes: &[u8]) -> Result<DeviceDescriptor, String> {
    let max_packet0 = parse_max_packet0(bytes)?;
    if bytes.len() < 18 || bytes[0] != 18 {
        return Err(format!("device descriptor: {} bytes received and bLength is {}, not 18", bytes.len(), bytes[0]));
    }
    let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    Ok(DeviceDescriptor {
        usb_bcd: word(2),
        class: bytes[4],
        max_packet0,
        vid: word(8),
        pid: word(10),
        device_bcd: word(12),
        manufacturer_index: bytes[14],
        product_index: bytes[15],
        serial_index: bytes[16],
        configurations: bytes[17],
    })
}

/// Reads wTotalLength from the nine-byte configuration descriptor.
pub(crate) fn parse_total_length(bytes: &[u8]) -> Result<u16, String> {
    match *bytes {
        [9, TYPE_CONFIGURATION, low, high, _, _, _, _, _, ..] => {
            let total = u16::from_le_bytes([low, high]);
            if total < 9 {
                return Err(format!("configuration descriptor: wTotalLength is {total}, less than 9"));
            }
            Ok(total)
        }
        _ => Err("configuration descriptor: the first bytes are invalid".to_string()),
    }
}

/// Parses a whole configuration descriptor.
///
/// Invalid interfaces and endpoints are left out, descriptors of unknown types are skipped, and a descriptor with an
/// impossible bLength ends the parse; the earlier ones are kept.
pub(crate) fn parse_configuration(bytes: &[u8]) -> Result<Configuration, String> {
    let total = usize::from(parse_total_length(bytes)?);
    let bytes = &bytes[..bytes.len().min(total)];
    let mut configuration = Configuration { value: bytes[5], interfaces: Vec::new() };
    let mut skipped = true;
    let mut rest = &bytes[9..];
    while let [length, kind, ..] = *rest {
        let length = usize::from(length);
        if length < 2 || length > rest.len() {
            break;
        }
        let (body, tail) = rest.split_at(length);
        rest = tail;
        match (kind, body) {
            (TYPE_INTERFACE, &[_, _, number, alternate, _, class, subclass, protocol, ..]) => {
                skipped = alternate != 0 || configuration.interfaces.iter().any(|i| i.number == number);
                if !skipped {
                    configuration.interfaces.push(Interface {
                        number,
                        class,
                        subclass,
                        protocol,
                        ..Interface::default()
                    });
                }
            }
            (TYPE_ENDPOINT, _) if !skipped => {
                if let (Some(interface), Some(endpoint)) = (configuration.interfaces.last_mut(), parse_endpoint(body)) {
                    interface.endpoints.push(endpoint);
                }
            }
            (TYPE_CS_INTERFACE, &[_, _, CDC_UNION, _, ref data @ ..]) if !skipped => {
                if let Some(interface) = configuration.interfaces.last_mut() {
                    interface.union_data = data.to_vec();
                }
            }
            _ => {}
        }
    }
    Ok(configuration)
}

fn parse_endpoint(body: &[u8]) -> Option<Endpoint> {
    let &[_, _, address, attributes, low, high, interval, ..] = body else {
        return None;
    };
    let kind = match attributes & 3 {
        0 => EndpointKind::Control,
        1 => EndpointKind::Isochronous,
        2 => EndpointKind::Bulk,
        _ => EndpointKind::Interrupt,
    };
    let max_packet = u16::from_le_bytes([low, high]) & 0x07ff;
    // USB 2.0 sections 5.7.3 and 5.8.3.
    let allowed = match kind {
        EndpointKind::Bulk => matches!(max_packet, 8 | 16 | 32 | 64),
        EndpointKind::Interrupt => (1..=64).contains(&max_packet),
        EndpointKind::Control | EndpointKind::Isochronous => true,
    };
    (address & 0x0f != 0 && allowed).then_some(Endpoint { address, kind, max_packet, interval })
}

impl Interface {
    fn endpoint(&self, kind: EndpointKind, input: bool) -> Option<Endpoint> {
        self.endpoints.iter().copied().find(|e| e.kind == kind && (e.address & 0x80 != 0) == input)
    }
}

impl Configuration {
    /// Returns all CDC-ACM functions with two separate bulk endpoints, in the descriptor's order. The first is the
    /// console.
    ///
    /// A function's data interface is the one named by the union descriptor, otherwise the first data interface after
    /// it.
    pub(crate) fn serial_ports(&self) -> Vec<CdcAcm> {
        let mut found: Vec<CdcAcm> = Vec::new();
        let candidates = self.interfaces.iter().enumerate().filter_map(|(at, control)| {
            if control.class != CLASS_COMMUNICATIONS || control.subclass != SUBCLASS_ACM {
                return None;
            }
            let is_data = |i: &&Interface| i.class == CLASS_CDC_DATA;
            let data = self
                .interfaces
                .iter()
                .filter(is_data)
                .find(|i| control.union_data.contains(&i.number))
                .or_else(|| self.interfaces[at..].iter().find(is_data))?;
            Some(CdcAcm {
                control_interface: control.number,
                data_interface: data.number,
                notify: control.endpoint(EndpointKind::Interrupt, true),
                bulk_in: data.endpoint(EndpointKind::Bulk, true)?,
                bulk_out: data.endpoint(EndpointKind::Bulk, false)?,
            })
        });
        for acm in candidates {
            // Bits 4 to 6 of an address are reserved: addresses that differ only there are one endpoint.
            let is_taken = |f: &CdcAcm| {
                f.control_interface == acm.control_interface
                    || (f.bulk_in.address ^ acm.bulk_in.address) & 0x0f == 0
                    || (f.bulk_out.address ^ acm.bulk_out.address) & 0x0f == 0
            };
            if !found.iter().any(is_taken) {
                found.push(acm);
            }
        }
        found
    }

    /// Returns the first SCSI bulk-only interface with both bulk endpoints.
    pub(crate) fn storage(&self) -> Option<MassStorage> {
        self.interfaces.iter().find_map(|i| {
            if (i.class, i.subclass, i.protocol) != (CLASS_MASS_STORAGE, SUBCLASS_SCSI, PROTOCOL_BULK_ONLY) {
                return None;
            }
            Some(MassStorage {
                interface: i.number,
                bulk_in: i.endpoint(EndpointKind::Bulk, true)?,
                bulk_out: i.endpoint(EndpointKind::Bulk, false)?,
            })
        })
    }
}

/// Parses string descriptor zero: the first language identifier.
pub(crate) fn parse_language(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [length, TYPE_STRING, low, high, ..] if length >= 4 => Some(u16::from_le_bytes([low, high])),
        _ => None,
    }
}

/// Parses a string descriptor (UTF-16LE; impossible characters become U+FFFD).
pub(crate) fn parse_string(bytes: &[u8]) -> Option<String> {
    let &[length, TYPE_STRING, ..] = bytes else { return None };
    let body = bytes.get(2..bytes.len().min(usize::from(length)))?;
    let units: Vec<u16> = body.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests;
