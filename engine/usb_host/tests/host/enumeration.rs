//! Attach, reset, enumeration and their times.

use crate::fake;

use fake::{Device, MS, run_to, run_until};
use usb_host::timing::{bits, out_received, sof};
use usb_host::{Event, HostConfig, Port, UsbHost};

fn configured(host: &mut UsbHost, device: &mut Device, deadline: u64) {
    run_until(host, device, deadline, "configuration", |h, _| h.port() == Port::Configured);
}

#[test]
fn times_are_those_of_usb_2() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    configured(&mut host, &mut device, 200 * MS);
    // Attached at 0: debounce 100 ms, reset 50 ms, recovery 10 ms; the first SETUP follows that frame's SOF.
    assert_eq!(device.resets, [100 * MS]);
    assert_eq!(device.sofs[0], (150 * MS, 0));
    assert_eq!(device.sofs[7], (157 * MS, 7));
    let first = 160 * MS + sof() + out_received(8);
    assert_eq!(device.setups[0], (first, 0, [0x80, 6, 0, 1, 0, 0, 8, 0]));
    let requests: Vec<(u8, u8, u8, u8)> = device.setups.iter().map(|s| (s.1, s.2[1], s.2[3], s.2[6])).collect();
    let total = fake::configuration().len() as u8;
    let expected = [
        (0, 6, 1, 8),
        (0, 5, 0, 0),
        (1, 6, 1, 18),
        (1, 6, 2, 9),
        (1, 6, 2, total),
        (1, 6, 3, 255),
        (1, 6, 3, 255),
        (1, 6, 3, 255),
        (1, 6, 3, 255),
        (1, 9, 0, 0),
    ];
    assert_eq!(requests, expected);
    // SET_ADDRESS directly follows: data IN of 8 bytes, status OUT.
    let device8 =
        bits(35 + 4 + 35 + 64 + 4 + 19 + 4) + bits(35 + 4 + 35 + 64 + 4 + 19 + 4) + bits(35 + 4 + 35 + 4 + 19 + 4);
    assert!(device.setups[1].0.abs_diff(first + device8) < 10, "{} {}", device.setups[1].0, first + device8);
    // 10 ms after SET_ADDRESS's status stage.
    let set_address = bits(35 + 4 + 35 + 64 + 4 + 19 + 4) + bits(35 + 4 + 35 + 4 + 19 + 4) + 10 * MS;
    assert!(device.setups[2].0.abs_diff(device.setups[1].0 + set_address) < 10);
    let state = host.state();
    let info = state.device.unwrap();
    assert_eq!((info.descriptor.vid, info.descriptor.pid, info.address), (0x2e8a, 0x1029, 1));
    assert_eq!(info.manufacturer.as_deref(), Some("Fake"));
    assert_eq!(info.product.as_deref(), Some("Composite \u{e9}"));
    assert_eq!(info.serial.as_deref(), Some("E66118604B"));
    assert_eq!(info.configuration.value, 1);
    assert_eq!(info.configuration.interfaces.len(), 3);
    assert_eq!(state.generation, 1);
    assert!(device.configured);
}

/// Arduino's mbed core handles a SETUP before the end of the previous transfer, if both are pending.
#[test]
fn a_slower_driver_leaves_a_gap_after_each_request() {
    const GAP_US: u64 = 300;
    let config = sim::with!(HostConfig::default(), request_gap_us: GAP_US);
    let (mut host, mut device) = (UsbHost::new(config), Device::new(8));
    configured(&mut host, &mut device, 200 * MS);
    let device8 =
        bits(35 + 4 + 35 + 64 + 4 + 19 + 4) + bits(35 + 4 + 35 + 64 + 4 + 19 + 4) + bits(35 + 4 + 35 + 4 + 19 + 4);
    let second = 160 * MS + sof() + out_received(8) + device8 + GAP_US * MS / 1000;
    assert!(device.setups[1].0.abs_diff(second) < 10, "{} {second}", device.setups[1].0);
    assert_eq!(device.setups.len(), 10);
    assert!(device.setups.windows(2).all(|pair| pair[1].0 - pair[0].0 > GAP_US * MS / 1000));
}

#[test]
fn frames_are_a_millisecond_apart_and_numbered_modulo_2048() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    run_to(&mut host, &mut device, 3000 * MS);
    for pair in device.sofs.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, MS);
        assert_eq!(pair[1].1, (pair[0].1 + 1) % 2048);
    }
    assert_eq!(device.sofs.len(), 2851);
    // No token may reach into the next SOF.
    for &(at, _) in &device.tokens {
        assert!(at % MS > sof() && at % MS < MS - bits(19));
    }
}

#[test]
fn a_bouncing_connection_starts_the_debounce_again() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    run_to(&mut host, &mut device, 60 * MS);
    device.pulled_up = false;
    run_to(&mut host, &mut device, 70 * MS);
    device.pulled_up = true;
    configured(&mut host, &mut device, 300 * MS);
    assert_eq!(device.resets, [170 * MS + MS / 10]);
}

#[test]
fn a_restart_that_briefly_releases_the_pull_up_is_noticed() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    configured(&mut host, &mut device, 200 * MS);
    run_to(&mut host, &mut device, 500 * MS + MS / 4);
    device.pulled_up = false;
    run_to(&mut host, &mut device, 500 * MS + MS / 4 + MS / 10);
    device.pulled_up = true;
    device.address = 0;
    configured(&mut host, &mut device, 700 * MS);
    assert_eq!(host.generation(), 2);
    assert!(host.take_events().iter().any(|e| e.event == Event::Detached));
}

#[test]
fn reattaching_makes_a_new_generation_and_detaching_forgets_the_device() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    configured(&mut host, &mut device, 200 * MS);
    device.pulled_up = false;
    run_to(&mut host, &mut device, 210 * MS);
    let state = host.state();
    assert!(!state.attached && !state.configured && state.device.is_none() && !state.console_present);
    assert_eq!(state.generation, 1);
    device.pulled_up = true;
    configured(&mut host, &mut device, 400 * MS);
    assert_eq!(host.generation(), 2);
    assert_eq!(host.state().device.unwrap().address, 2);
    let events: Vec<Event> = host.take_events().into_iter().map(|e| e.event).collect();
    assert_eq!(events.iter().filter(|e| **e == Event::Attached).count(), 2);
    assert_eq!(events.iter().filter(|e| **e == Event::Detached).count(), 1);
}

#[test]
fn a_device_without_strings_is_used_without_them() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    device.faults.no_strings = true;
    configured(&mut host, &mut device, 200 * MS);
    assert_eq!(host.state().device.unwrap().serial, None);
}

/// Index 0 is that of the list of languages.
#[test]
fn a_string_that_the_device_does_not_have_is_not_asked_for() {
    for missing in 14..17 {
        let mut descriptor = fake::DEVICE.to_vec();
        let index = std::mem::take(&mut descriptor[missing]);
        let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::with_device_descriptor(descriptor));
        configured(&mut host, &mut device, 200 * MS);
        let strings: Vec<u8> = device.setups.iter().filter(|s| s.2[3] == 3).map(|s| s.2[2]).collect();
        let expected: Vec<u8> = (0..4).filter(|&other| other != index).collect();
        assert_eq!(strings, expected);
        assert_eq!(host.state().device.unwrap().serial.is_none(), missing == 16);
    }
}

#[test]
fn at_most_4096_bytes_of_a_configuration_are_asked_for() {
    for (total, asked) in [(4096u16, 4096), (4097, 4096), (u16::MAX, 4096)] {
        let mut bytes = fake::configuration();
        bytes[2..4].copy_from_slice(&total.to_le_bytes());
        let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::with_configuration(bytes));
        run_to(&mut host, &mut device, 200 * MS);
        let lengths: Vec<u16> =
            device.setups.iter().filter(|s| s.2[3] == 2).map(|s| u16::from_le_bytes([s.2[6], s.2[7]])).collect();
        assert_eq!(lengths[..2], [9, asked], "{total}");
    }
}

#[test]
fn lost_packets_and_naks_are_retried() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    device.faults.timeouts = 2;
    device.faults.nak_every = 2;
    configured(&mut host, &mut device, 300 * MS);
    assert_eq!(device.resets.len(), 1);
    assert!(host.state().device.unwrap().serial.is_some());
}

/// Returns the events of one kind as their reasons.
fn reasons(host: &mut UsbHost, of: impl Fn(&Event) -> Option<&String>) -> Vec<String> {
    host.take_events().iter().filter_map(|e| of(&e.event).cloned()).collect()
}

#[test]
fn an_invalid_first_descriptor_is_tried_as_often_as_linux_does() {
    let mut broken = vec![18, 1, 0, 2, 0, 0, 0, 13];
    broken.resize(18, 0);
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::with_device_descriptor(broken));
    run_to(&mut host, &mut device, 5000 * MS);
    assert_eq!(host.port(), Port::Failed);
    // Two attempts of two resets, each with three requests; the port is off; two of one reset, with six requests.
    let requests: Vec<usize> = (0..6)
        .map(|i| {
            let until = device.resets.get(i + 1).copied().unwrap_or(u64::MAX);
            device.setups.iter().filter(|s| s.2[1] == 6 && (device.resets[i]..until).contains(&s.0)).count()
        })
        .collect();
    assert_eq!((device.resets.len(), requests), (6, vec![3, 3, 3, 3, 6, 6]));
    let resets: Vec<u64> = device.resets.windows(2).map(|pair| (pair[1] - pair[0]) / MS).collect();
    // Reset and recovery take 60 ms, a round pauses 100 ms, a power cycle 300 ms, and SET_ADDRESS 10 ms.
    assert_eq!(resets, [60, 160, 60, 460, 170]);
    let failed = host.take_events();
    let failed: Vec<&String> = failed
        .iter()
        .filter_map(|e| match &e.event {
            Event::PowerCycled { reason } | Event::EnumerationFailed { reason } => Some(reason),
            _ => None,
        })
        .collect();
    assert_eq!(failed.len(), 2);
    assert!(failed[0] == failed[1] && failed[0].contains("bMaxPacketSize0 is 13"), "{failed:?}");
    assert_eq!(host.state().trouble.as_ref(), Some(failed[0]));
    device.pulled_up = false;
    run_to(&mut host, &mut device, 5010 * MS);
    device = Device::new(8);
    configured(&mut host, &mut device, 5300 * MS);
    assert_eq!(host.state().trouble, None);
}

/// CircuitPython 8.2 compiles libraries for seconds before its program begins.
#[test]
fn a_device_that_is_busy_for_seconds_is_enumerated_afterwards() {
    for (every_ms, busy_ms) in [(150, 1800), (640, 4400), (1100, 7000)] {
        let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
        device.faults.busy = Some((every_ms * MS, busy_ms * MS));
        configured(&mut host, &mut device, (busy_ms + 2000) * MS);
        assert!(device.resets.len() > 1, "{every_ms}");
    }
}

#[test]
fn a_device_that_refuses_its_address_is_asked_twice() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    device.faults.no_address = true;
    run_to(&mut host, &mut device, 3000 * MS);
    let asked: Vec<u64> = device.setups.iter().filter(|s| s.2[1] == 5).map(|s| s.0 / MS).collect();
    assert_eq!(device.resets.len(), 4);
    assert_eq!(asked.len(), 8);
    assert!(asked.chunks(2).all(|pair| pair[1] - pair[0] == 200), "{asked:?}");
    let failed = reasons(&mut host, |e| if let Event::EnumerationFailed { reason } = e { Some(reason) } else { None });
    assert_eq!(failed, ["SET_ADDRESS: the device answered STALL"]);
}

#[test]
fn a_device_that_naks_for_ever_meets_the_control_deadline() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    device.faults.nak_every = 1;
    run_until(&mut host, &mut device, 100_000 * MS, "the last attempt", |h, _| h.port() == Port::Failed);
    // Three requests of 5 s after each of four resets; then SET_ADDRESS twice after each of two.
    let lasted: Vec<u64> = device.resets.windows(2).map(|pair| (pair[1] - pair[0]) / MS).collect();
    assert_eq!(lasted, [15_060, 15_160, 15_060, 15_460, 10_260]);
    let failed = reasons(&mut host, |e| if let Event::EnumerationFailed { reason } = e { Some(reason) } else { None });
    assert_eq!(failed, ["SET_ADDRESS: the device answered NAK until the deadline"]);
}

#[test]
fn a_device_that_stops_answering_is_reset_and_enumerated_again() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    run_until(&mut host, &mut device, 400 * MS, "the console", |h, _| h.state().console_open);
    device.address = 99;
    run_until(&mut host, &mut device, 1000 * MS, "a second generation", |h, _| h.generation() == 2);
    let events = host.take_events();
    assert!(
        events.iter().any(|e| matches!(&e.event, Event::PortReset { reason } if reason.contains("did not answer")))
    );
}

#[test]
fn the_fourth_loss_is_the_last_unless_ten_seconds_are_between() {
    for pauses_s in [[11, 0, 0, 0], [11; 4]] {
        let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
        for pause_s in pauses_s {
            run_until(&mut host, &mut device, 99_000 * MS, "the console", |h, _| h.state().console_open);
            let end = device.now + pause_s * 1000 * MS;
            run_to(&mut host, &mut device, end);
            device.address = 99;
            run_until(&mut host, &mut device, 99_000 * MS, "the loss", |h, _| h.port() != Port::Configured);
        }
        assert_eq!(host.port() == Port::Failed, pauses_s[3] == 0);
    }
}

#[test]
fn a_configuration_without_known_functions_is_harmless() {
    let bytes = vec![
        9, 2, 32, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 2, 0xff, 0, 0, 0, 7, 5, 1, 2, 64, 0, 0, 7, 5, 0x81, 2, 64, 0, 0,
    ];
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::with_configuration(bytes));
    run_to(&mut host, &mut device, 1000 * MS);
    let state = host.state();
    assert!(state.configured && !state.console_present && !state.storage_present);
    assert_eq!(host.console_write(b"x"), 0);
    assert!(host.request_read(0, 0, 1).is_err());
    assert!(device.tokens.is_empty());
}

#[test]
fn advancing_in_one_leap_gives_the_same_result() {
    let (mut host, mut device) = (UsbHost::new(HostConfig::default()), Device::new(8));
    host.advance(2000 * MS, &mut device);
    assert!(host.next_event().unwrap() > 2000 * MS);
    let (mut stepped, mut other) = (UsbHost::new(HostConfig::default()), Device::new(8));
    run_to(&mut stepped, &mut other, 2000 * MS);
    assert_eq!(host.take_events(), stepped.take_events());
    assert_eq!(device.transactions, other.transactions);
}
