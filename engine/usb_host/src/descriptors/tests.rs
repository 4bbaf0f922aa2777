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
fn a_function_whose_endpoint_is_anothers_is_no_port() {
    let mut bytes = composite();
    for (own, others) in [(0x84u8, [0x82u8, 0x92]), (0x04, [0x02, 0x12])] {
        let at = bytes.windows(3).position(|w| w == [7, 5, own]).unwrap() + 2;
        for other in others {
            bytes[at] = other;
            let ports = parse_configuration(&bytes).unwrap().serial_ports();
            assert_eq!(ports.iter().map(|port| port.control_interface).collect::<Vec<_>>(), [0], "{other:#x}");
        }
        bytes[at] = own;
    }
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
    let taken = (0..=255).filter(|&size| parse_max_packet0(&[18, 1, 0, 2, 0, 0, 0, size]) == Ok(size));
    assert_eq!(taken.collect::<Vec<u8>>(), [8, 16, 32, 64]);
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
fn fuzzed_descriptors_neither_panic_nor_invent_endpoints_and_are_as_recorded() {
    let (mut random, mut sum) = (sim::SplitMix64::new(1), 0);
    for _ in 0..20_000 {
        let mut bytes = composite();
        for _ in 0..=random.below(8) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.draw() as u8;
        }
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        crate::note(&mut sum, (parse_device(&bytes), parse_language(&bytes)));
        let string = bytes.get(random.below(20) as usize..).unwrap_or_default();
        crate::note(&mut sum, (parse_string(string), parse_language(string)));
        let parsed = parse_configuration(&bytes);
        crate::note(&mut sum, &parsed);
        if let Ok(configuration) = parsed {
            let functions = configuration.functions();
            crate::note(&mut sum, (configuration.serial_ports(), configuration.storage(), functions));
            let endpoints = configuration.interfaces.iter().map(|i| i.endpoints.len()).sum::<usize>();
            assert!(endpoints * 7 + configuration.interfaces.len() * 8 <= bytes.len());
            for console in configuration.serial_ports() {
                assert!((8..=64).contains(&console.bulk_in.max_packet));
                assert_ne!(console.bulk_in.address & 0x0f, 0);
            }
        }
    }
    assert_eq!(sum, 0x81722ee7af6b75de);
}
