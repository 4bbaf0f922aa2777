//! Device, configuration and string descriptors (USB 2.0 section 9.6; CDC 1.20 section 5.2.3; BOT 1.0 chapter 4).

/// The 18-byte device descriptor's fields that a host uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceDescriptor {
    pub usb_bcd: u16,
    pub class: u8,
    pub max_packet0: u8,
    pub vid: u16,
    pub pid: u16,
    pub device_bcd: u16,
    pub manufacturer_index: u8,
    pub product_index: u8,
    pub serial_index: u8,
    pub configurations: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// bConfigurationValue, the argument of SET_CONFIGURATION.
    pub value: u8,
    /// Alternate setting 0 of each interface, in the descriptor's order.
    pub interfaces: Vec<Interface>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub number: u8,
    pub class: u8,
    pub subclass: u8,
    pub protocol: u8,
    /// Data interfaces named by a CDC union descriptor.
    pub union_data: Vec<u8>,
    pub endpoints: Vec<Endpoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// bEndpointAddress: bit 7 set for IN.
    pub address: u8,
    pub kind: EndpointKind,
    /// Bytes; 1 to 64 (isochronous: up to 1023).
    pub max_packet: u16,
    /// bInterval; in ms for interrupt endpoints.
    pub interval: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointKind {
    Control,
    Isochronous,
    Bulk,
    Interrupt,
}

/// A CDC-ACM function: a communications interface and its data interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CdcAcm {
    pub control_interface: u8,
    pub data_interface: u8,
    pub notify: Option<Endpoint>,
    pub bulk_in: Endpoint,
    pub bulk_out: Endpoint,
}

/// A SCSI bulk-only mass-storage interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MassStorage {
    pub interface: u8,
    pub bulk_in: Endpoint,
    pub bulk_out: Endpoint,
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
pub fn parse_max_packet0(bytes: &[u8]) -> Result<u8, String> {
    match *bytes {
        [_, TYPE_DEVICE, _, _, _, _, _, size @ (8 | 16 | 32 | 64), ..] => Ok(size),
        [_, TYPE_DEVICE, _, _, _, _, _, size, ..] => {
            Err(format!("device descriptor: bMaxPacketSize0 is {size}, a full-speed device has 8, 16, 32 or 64"))
        }
        _ => Err(format!("device descriptor: the first {} bytes are invalid", bytes.len())),
    }
}

/// Parses a device descriptor of 18 bytes.
pub fn parse_device(bytes: &[u8]) -> Result<DeviceDescriptor, String> {
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
pub fn parse_total_length(bytes: &[u8]) -> Result<u16, String> {
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
pub fn parse_configuration(bytes: &[u8]) -> Result<Configuration, String> {
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
    pub fn serial_ports(&self) -> Vec<CdcAcm> {
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
    pub fn storage(&self) -> Option<MassStorage> {
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
pub fn parse_language(bytes: &[u8]) -> Option<u16> {
    match *bytes {
        [length, TYPE_STRING, low, high, ..] if length >= 4 => Some(u16::from_le_bytes([low, high])),
        _ => None,
    }
}

/// Parses a string descriptor (UTF-16LE; impossible characters become U+FFFD).
pub fn parse_string(bytes: &[u8]) -> Option<String> {
    let &[length, TYPE_STRING, ..] = bytes else { return None };
    let body = bytes.get(2..bytes.len().min(usize::from(length)))?;
    let units: Vec<u16> = body.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(total: u16) -> Vec<u8> {
        let t = total.to_le_bytes();
        vec![9, 2, t[0], t[1], 5, 1, 0, 0x80, 125]
    }

    /// Returns IAD, CDC console, IAD, CDC data, MSC, HID, MIDI streaming and a vendor interface, in CircuitPython's
    /// order.
    fn composite() -> Vec<u8> {
        let mut body = Vec::new();
        for (first, notify, out, input) in [(0u8, 0x81u8, 0x02u8, 0x82u8), (2, 0x83, 0x04, 0x84)] {
            body.extend([8, 11, first, 2, 2, 2, 0, 0]);
            body.extend([9, 4, first, 0, 1, 2, 2, 0, 4]);
            body.extend([5, 0x24, 0, 0x20, 1]);
            body.extend([5, 0x24, 1, 0, first + 1]);
            body.extend([4, 0x24, 2, 2]);
            body.extend([5, 0x24, 6, first, first + 1]);
            body.extend([7, 5, notify, 3, 8, 0, 16]);
            body.extend([9, 4, first + 1, 0, 2, 10, 0, 0, 5]);
            body.extend([7, 5, out, 2, 64, 0, 0]);
            body.extend([7, 5, input, 2, 64, 0, 0]);
        }
        body.extend([9, 4, 4, 0, 2, 8, 6, 0x50, 6, 7, 5, 0x05, 2, 64, 0, 0, 7, 5, 0x85, 2, 64, 0, 0]);
        body.extend([9, 4, 5, 0, 1, 3, 0, 0, 7, 9, 0x21, 0x11, 1, 0, 1, 0x22, 50, 0, 7, 5, 0x86, 3, 64, 0, 8]);
        body.extend([9, 4, 6, 0, 2, 1, 3, 0, 8, 9, 5, 0x07, 2, 64, 0, 0, 0, 0, 9, 5, 0x87, 2, 64, 0, 0, 0, 0]);
        body.extend([9, 4, 7, 0, 2, 0xff, 0, 0, 0, 7, 5, 0x08, 2, 64, 0, 0, 7, 5, 0x88, 2, 64, 0, 0]);
        let mut bytes = header(9 + body.len() as u16);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn the_first_cdc_function_is_the_console_and_other_classes_do_no_harm() {
        let configuration = parse_configuration(&composite()).unwrap();
        assert_eq!(configuration.interfaces.len(), 8);
        let ports = configuration.serial_ports();
        assert_eq!(ports.len(), 2);
        let (console, data) = (ports[0], ports[1]);
        assert_eq!((console.control_interface, console.data_interface), (0, 1));
        assert_eq!((data.control_interface, data.data_interface), (2, 3));
        assert_eq!((data.bulk_in.address, data.bulk_out.address), (0x84, 0x04));
        assert_eq!((console.bulk_in.address, console.bulk_out.address), (0x82, 0x02));
        assert_eq!(console.notify.map(|e| (e.address, e.interval)), Some((0x81, 16)));
        let storage = configuration.storage().unwrap();
        assert_eq!((storage.interface, storage.bulk_in.address, storage.bulk_out.address), (4, 0x85, 0x05));
    }

    #[test]
    fn alternate_settings_are_not_taken_for_interfaces() {
        let mut bytes = header(9 + 9 + 9 + 7);
        bytes.extend([9, 4, 0, 0, 0, 8, 6, 0x50, 0]);
        bytes.extend([9, 4, 0, 1, 1, 8, 6, 0x50, 0, 7, 5, 0x81, 2, 64, 0, 0]);
        let configuration = parse_configuration(&bytes).unwrap();
        assert_eq!(configuration.interfaces.len(), 1);
        assert!(configuration.interfaces[0].endpoints.is_empty());
        assert_eq!(configuration.storage(), None);
    }

    #[test]
    fn an_impossible_length_ends_the_parse_and_keeps_what_came_before() {
        for length in [0u8, 1, 200] {
            let mut bytes = composite();
            let msc = bytes.windows(4).position(|w| w == [9, 4, 4, 0]).unwrap();
            bytes[msc] = length;
            let configuration = parse_configuration(&bytes).unwrap();
            assert_eq!(configuration.serial_ports().len(), 2);
            assert_eq!(configuration.storage(), None);
        }
    }

    #[test]
    fn invalid_descriptors_are_refused_in_one_line() {
        assert!(parse_device(&[18, 1, 0, 2, 0, 0, 0, 7]).unwrap_err().contains("bMaxPacketSize0 is 7"));
        assert!(parse_device(&[18, 1, 0, 2, 0, 0, 0, 64]).unwrap_err().contains("not 18"));
        assert!(parse_device(&[]).is_err());
        assert!(parse_configuration(&[9, 2, 8, 0, 1, 1, 0, 0, 0]).unwrap_err().contains("wTotalLength is 8"));
        assert!(parse_configuration(&[9, 2, 9]).is_err());
    }

    #[test]
    fn strings_are_utf16() {
        assert_eq!(parse_string(&[6, 3, b'a', 0, 0xe9, 0]).as_deref(), Some("a\u{e9}"));
        assert_eq!(parse_string(&[255, 3, b'a', 0, b'b']).as_deref(), Some("a"));
        assert_eq!(parse_string(&[1, 3, b'a', 0]), None);
        assert_eq!(parse_string(&[2]), None);
        assert_eq!(parse_language(&[4, 3, 9, 4]), Some(0x0409));
        assert_eq!(parse_language(&[2, 3]), None);
    }

    #[test]
    fn fuzzed_descriptors_neither_panic_nor_invent_endpoints() {
        let mut random = crate::testing::Random::new(1);
        for _ in 0..20_000 {
            let mut bytes = composite();
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next_u64() as u8;
            }
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            let _ = parse_device(&bytes);
            let _ = parse_string(&bytes);
            let _ = parse_language(&bytes);
            if let Ok(configuration) = parse_configuration(&bytes) {
                let endpoints = configuration.interfaces.iter().map(|i| i.endpoints.len()).sum::<usize>();
                assert!(endpoints * 7 + configuration.interfaces.len() * 8 <= bytes.len());
                for console in configuration.serial_ports() {
                    assert!((8..=64).contains(&console.bulk_in.max_packet));
                    assert_ne!(console.bulk_in.address & 0x0f, 0);
                }
            }
        }
    }
}
