//! Names of a device's functions, including those without a driver on the PC.

use crate::descriptors::{Configuration, Interface};

const AUDIO: u8 = 0x01;
const COMMUNICATIONS: u8 = 0x02;
const HID: u8 = 0x03;
const MASS_STORAGE: u8 = 0x08;
const CDC_DATA: u8 = 0x0a;
const VENDOR: u8 = 0xff;

/// One function of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Display name: `CDC-ACM`, `HID keyboard`.
    pub name: &'static str,
    /// Its first interface.
    pub interface: u8,
    /// bInterfaceClass, bInterfaceSubClass and bInterfaceProtocol.
    pub class: (u8, u8, u8),
    /// Whether the PC has a driver for it.
    pub used: bool,
}

impl Configuration {
    /// Returns all functions, in order of their interfaces. An interface that only carries another one's data belongs
    /// to that function.
    pub fn functions(&self) -> Vec<Function> {
        let serial_ports = self.serial_ports().into_iter().map(|acm| acm.control_interface);
        let used: Vec<u8> = serial_ports.chain(self.storage().map(|storage| storage.interface)).collect();
        let named = self.interfaces.iter().filter_map(|interface| Some((interface, name(interface)?)));
        named
            .map(|(interface, name)| Function {
                name,
                interface: interface.number,
                class: (interface.class, interface.subclass, interface.protocol),
                used: used.contains(&interface.number),
            })
            .collect()
    }
}

/// Returns `None` for an interface that belongs to the previous one's function.
fn name(interface: &Interface) -> Option<&'static str> {
    let name = match (interface.class, interface.subclass, interface.protocol) {
        (CDC_DATA, ..) | (AUDIO, 1, _) => return None,
        (AUDIO, 3, _) => "MIDI",
        (AUDIO, ..) => "audio",
        (COMMUNICATIONS, 2, _) => "CDC-ACM",
        (COMMUNICATIONS, 6, _) => "CDC-ECM",
        (COMMUNICATIONS, 0x0d, _) => "CDC-NCM",
        (HID, 1, 1) => "HID keyboard",
        (HID, 1, 2) => "HID mouse",
        (HID, ..) => "HID",
        (MASS_STORAGE, ..) => "mass storage",
        (VENDOR, 0, 1) => "picotool reset",
        (VENDOR, ..) => "vendor-specific",
        _ => "unknown",
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::{Endpoint, EndpointKind};

    fn interface(number: u8, class: u8, subclass: u8, protocol: u8, data: &[u8]) -> Interface {
        let bulk = |address| Endpoint { address, kind: EndpointKind::Bulk, max_packet: 64, interval: 0 };
        let endpoints = if class == CDC_DATA || class == MASS_STORAGE {
            vec![bulk(0x80 | number), bulk(number)]
        } else {
            Vec::new()
        };
        Interface { number, class, subclass, protocol, union_data: data.to_vec(), endpoints }
    }

    #[test]
    fn circuitpython_with_two_serial_channels_has_its_functions_named() {
        let configuration = Configuration {
            value: 1,
            interfaces: vec![
                interface(0, 2, 2, 1, &[1]),
                interface(1, 10, 0, 0, &[]),
                interface(2, 2, 2, 1, &[3]),
                interface(3, 10, 0, 0, &[]),
                interface(4, 8, 6, 0x50, &[]),
                interface(5, 3, 0, 0, &[]),
                interface(6, 1, 1, 0, &[]),
                interface(7, 1, 3, 0, &[]),
                interface(8, 0xef, 4, 1, &[]),
            ],
        };
        let found: Vec<(&str, u8, bool)> =
            configuration.functions().into_iter().map(|f| (f.name, f.interface, f.used)).collect();
        let expected = [
            ("CDC-ACM", 0, true),
            ("CDC-ACM", 2, true),
            ("mass storage", 4, true),
            ("HID", 5, false),
            ("MIDI", 7, false),
            ("unknown", 8, false),
        ];
        assert_eq!(found, expected);
        assert_eq!(configuration.functions()[5].class, (0xef, 4, 1));
    }

    #[test]
    fn classes_have_their_names() {
        let named = |class, subclass, protocol| name(&interface(0, class, subclass, protocol, &[]));
        let audio = [named(1, 1, 0), named(1, 2, 0), named(1, 3, 0)];
        assert_eq!(audio, [None, Some("audio"), Some("MIDI")]);
        let cdc = [2, 6, 0x0d, 9].map(|subclass| named(2, subclass, 0).unwrap());
        assert_eq!(cdc, ["CDC-ACM", "CDC-ECM", "CDC-NCM", "unknown"]);
        let hid = [(1, 1), (1, 2), (1, 0), (0, 1)].map(|(subclass, protocol)| named(3, subclass, protocol).unwrap());
        assert_eq!(hid, ["HID keyboard", "HID mouse", "HID", "HID"]);
        let vendor = [(0, 1), (0, 0), (1, 1)].map(|(subclass, protocol)| named(0xff, subclass, protocol).unwrap());
        assert_eq!(vendor, ["picotool reset", "vendor-specific", "vendor-specific"]);
    }
}
