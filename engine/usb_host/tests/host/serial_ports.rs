//! A device with two CDC-ACM functions: two serial ports that do not disturb each other.

use crate::fake;

use fake::{CONSOLE_IN, DATA_IN, Device, MS, pattern, run_to, run_until};
use usb_host::{Event, HostConfig, LineCoding, ReadPolicy, UsbHost};

fn packets(data: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    data.chunks(64).map(<[u8]>::to_vec)
}

fn both_open() -> (UsbHost, Device) {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::composite(8));
    run_until(&mut host, &mut device, 600 * MS, "both ports", |h, _| {
        h.state().console_open && h.serial(1).is_some_and(|port| port.is_open())
    });
    (host, device)
}

/// Class requests `request` with their interfaces.
fn interfaces(device: &Device, request: u8) -> Vec<u8> {
    device.setups.iter().filter(|s| s.2[..2] == [0x21, request]).map(|s| s.2[4]).collect()
}

#[test]
fn each_function_gets_its_own_line_requests() {
    let (mut host, device) = both_open();
    assert_eq!(host.state().serial_ports, 2);
    assert_eq!(interfaces(&device, 0x20), [0, 3]);
    assert_eq!(interfaces(&device, 0x22), [0, 3]);
    let events: Vec<Event> = host.take_events().into_iter().map(|e| e.event).collect();
    let at = |wanted: &Event| events.iter().position(|e| e == wanted).unwrap();
    assert!(at(&Event::ConsoleOpened) < at(&Event::SerialOpened(1)));
    assert!(host.serial(2).is_none());
}

#[test]
fn four_streams_and_the_drive_run_at_once_and_share_the_bus() {
    let (mut host, mut device) = both_open();
    let sent: Vec<Vec<u8>> = (1..5).map(|seed| pattern(50_000, seed)).collect();
    device.blocks = pattern(8 * 512, 9);
    device.to_console.extend(packets(&sent[0]));
    device.to_data.extend(packets(&sent[1]));
    assert_eq!(host.console_write(&sent[2]), 50_000);
    assert_eq!(host.serial(1).unwrap().write(&sent[3]), 50_000);
    let blocks = host.request_read(0, 0, 8).unwrap();
    let (start, mut console, mut data) = (device.now, Vec::new(), Vec::new());
    run_until(&mut host, &mut device, start + 1000 * MS, "all streams", |h, d| {
        console.extend(h.console_read());
        data.extend(h.serial(1).unwrap().read());
        [console.len(), data.len(), d.from_console.len(), d.from_data.len()] == [50_000; 4]
    });
    assert!(console == sent[0] && data == sent[1] && device.from_console == sent[2] && device.from_data == sent[3]);
    assert_eq!(host.take_completion(blocks), Some(Ok(device.blocks.clone())));
    // 200 kB at 19 packets per frame take 165 ms, and turns are fair: neither port was done long before the other.
    assert!((160 * MS..200 * MS).contains(&(device.now - start)), "{} ms", (device.now - start) / MS);
    let last = |ep| device.tokens.iter().rfind(|t| t.1 == ep).unwrap().0;
    assert!(last(CONSOLE_IN).abs_diff(last(DATA_IN)) < 20 * MS);
}

#[test]
fn a_port_that_is_closed_or_not_read_does_not_hold_up_the_other() {
    let mut config = HostConfig::default();
    config.console.read_limit = 1000;
    let (mut host, mut device) = (UsbHost::new(config), Device::composite(8));
    run_until(&mut host, &mut device, 600 * MS, "both ports", |h, _| h.serial(1).is_some_and(|port| port.is_open()));
    device.to_console.extend(packets(&pattern(5000, 1)));
    device.to_data.extend(packets(&pattern(5000, 2)));
    let mut data = Vec::new();
    let deadline = device.now + 200 * MS;
    run_until(&mut host, &mut device, deadline, "the second port's stream", |h, _| {
        data.extend(h.serial(1).unwrap().read());
        data.len() == 5000
    });
    assert_eq!(data, pattern(5000, 2));
    assert!((1000..1064).contains(&host.console_unread()));

    assert!(host.serial(1).unwrap().set_line_coding(LineCoding::baud(1200)) && host.serial(1).unwrap().close());
    run_until(&mut host, &mut device, deadline, "the second port's end", |h, _| !h.serial(1).unwrap().is_open());
    assert_eq!(interfaces(&device, 0x22), [0, 3, 3]);
    assert!(host.state().console_open);
}

#[test]
fn a_device_that_comes_back_with_one_port_has_one() {
    let (mut host, mut device) = both_open();
    device.to_data.push_back(b"last words".to_vec());
    let end = device.now + 5 * MS;
    run_to(&mut host, &mut device, end);
    device.pulled_up = false;
    run_to(&mut host, &mut device, end + 5 * MS);
    assert_eq!(host.state().serial_ports, 0);
    let mut other = Device::new(8);
    other.now = device.now;
    run_until(&mut host, &mut other, end + 600 * MS, "the console", |h, _| h.state().console_open);
    assert_eq!(host.state().serial_ports, 1);
    let port = host.serial(1).unwrap();
    assert_eq!((port.is_open(), port.write(b"unread"), port.read()), (false, 0, b"last words".to_vec()));
    other.to_console.push_back(b"here".to_vec());
    run_to(&mut host, &mut other, end + 650 * MS);
    assert_eq!(host.console_read(), b"here");
}

#[test]
fn functions_without_a_driver_are_named() {
    let (host, _) = both_open();
    let functions = host.state().device.unwrap().configuration.functions();
    let named: Vec<(&str, u8, bool)> = functions.iter().map(|f| (f.name, f.interface, f.used)).collect();
    assert_eq!(
        named,
        [("CDC-ACM", 0, true), ("mass storage", 2, true), ("CDC-ACM", 3, true), ("HID keyboard", 5, false)]
    );
}

#[test]
fn bytes_that_the_second_port_loses_are_not_the_consoles() {
    let mut config = HostConfig::default();
    (config.console.read_policy, config.console.read_limit) = (ReadPolicy::Ring, 1000);
    let (mut host, mut device) = (UsbHost::new(config), Device::composite(8));
    device.to_data.extend(packets(&pattern(5000, 2)));
    run_to(&mut host, &mut device, 700 * MS);
    assert_eq!((host.serial(1).unwrap().unread(), host.state().console_dropped), (1000, 0));
}
