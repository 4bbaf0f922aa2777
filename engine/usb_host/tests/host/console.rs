//! The CDC-ACM console: line requests, both streams, back-pressure.

use crate::fake;

use fake::{CONSOLE_IN, Device, MS, pattern, run_to, run_until};
use usb_host::{Event, HostConfig, LineCoding, ReadPolicy, UsbHost};

fn open(config: HostConfig) -> (UsbHost, Device) {
    let (mut host, mut device) = (UsbHost::new(config), Device::new(8));
    run_until(&mut host, &mut device, 600 * MS, "the console", |h, _| h.state().console_open);
    (host, device)
}

fn packets(data: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    data.chunks(64).map(<[u8]>::to_vec)
}

#[test]
fn dtr_rises_at_its_time_and_nothing_is_read_before() {
    let mut config = HostConfig::default();
    config.console.open_after_us = Some(250_000);
    let (mut host, mut device) = open(config);
    let events = host.take_events();
    let end = device.now + 20 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!(device.line_states.len(), 1, "once");
    let at = |wanted: fn(&Event) -> bool| events.iter().find(|e| wanted(&e.event)).unwrap().at;
    let configured = at(|e| matches!(e, Event::Configured { .. }));
    let opened = at(|e| *e == Event::ConsoleOpened);
    assert!((opened - configured).abs_diff(250 * MS) < MS, "{}", opened - configured);
    assert_eq!(device.line_codings[0].1, [0, 0xc2, 1, 0, 0, 0, 8]);
    assert_eq!(device.line_states[0].1, 3);
    assert!(device.tokens.iter().all(|&(t, ep)| ep != CONSOLE_IN || t > device.line_states[0].0));
}

#[test]
fn a_users_request_replaces_the_automatic_opening() {
    let mut config = HostConfig::default();
    config.console.open_after_us = Some(400_000);
    let (mut host, mut device) = (UsbHost::new(config), Device::new(8));
    run_until(&mut host, &mut device, 350 * MS, "the line coding", |_, d| !d.line_codings.is_empty());
    assert!(host.console_close());
    run_to(&mut host, &mut device, 900 * MS);
    assert_eq!(device.line_states.iter().map(|state| state.1).collect::<Vec<_>>(), [0]);
}

#[test]
fn the_last_byte_has_its_time_whenever_it_is_read() {
    let (mut host, mut device) = open(HostConfig::default());
    assert_eq!(host.console_received_at(), 0);
    let start = device.now;
    device.to_console.extend(packets(&pattern(100, 5)));
    run_until(&mut host, &mut device, start + 10 * MS, "both packets", |h, _| h.state().console_unread == 100);
    let came = device.now;
    run_to(&mut host, &mut device, start + 50 * MS);
    assert_eq!(host.console_read().len(), 100);
    // The transaction that brought it started at `came`, and a packet takes less than 100 us.
    assert!((came..came + MS / 10).contains(&host.console_received_at()), "{}", host.console_received_at());
}

#[test]
fn an_idle_console_costs_a_few_polls_per_frame() {
    let (mut host, mut device) = open(HostConfig::default());
    run_to(&mut host, &mut device, 500 * MS);
    device.tokens.clear();
    run_to(&mut host, &mut device, 600 * MS);
    let polls = device.tokens.iter().filter(|t| t.1 == CONSOLE_IN).count();
    assert!((300..=410).contains(&polls), "{polls} polls in 100 frames");
    let notify = device.tokens.iter().filter(|t| t.1 == 0x81).count();
    assert!((6..=7).contains(&notify), "{notify} interrupt polls at 16 ms");
}

#[test]
fn a_hundred_kilobytes_go_both_ways_at_once() {
    let (mut host, mut device) = open(HostConfig::default());
    let (out, input) = (pattern(100_000, 1), pattern(100_000, 2));
    assert_eq!(host.console_write(&out), out.len());
    device.to_console.extend(packets(&input));
    let mut read = Vec::new();
    let start = device.now;
    run_until(&mut host, &mut device, start + 1000 * MS, "both streams", |h, d| {
        read.extend(h.console_read());
        read.len() == 100_000 && d.from_console.len() == 100_000
    });
    assert_eq!(read, input);
    assert_eq!(device.from_console, out);
    // 200 kB at 19 packets per frame take 165 ms.
    assert!((160 * MS..200 * MS).contains(&(device.now - start)), "{} ms", (device.now - start) / MS);
}

#[test]
fn naks_lost_packets_and_repeated_packets_change_nothing() {
    let (mut host, mut device) = open(HostConfig::default());
    let (out, input) = (pattern(10_000, 3), pattern(10_000, 4));
    device.faults.nak_every = 3;
    device.faults.lost_acks = 50;
    host.console_write(&out);
    device.to_console.extend(packets(&input));
    let mut read = Vec::new();
    let deadline = device.now + 2000 * MS;
    let mut steps = 0;
    run_until(&mut host, &mut device, deadline, "both streams", |h, d| {
        steps += 1;
        d.faults.timeouts = u32::from(steps % 10 == 0);
        read.extend(h.console_read());
        read.len() == 10_000 && d.from_console.len() == 10_000
    });
    assert_eq!((read, device.from_console), (input, out));
}

#[test]
fn zero_length_and_short_packets_end_nothing() {
    let (mut host, mut device) = open(HostConfig::default());
    device.to_console.extend([vec![], b"a".to_vec(), vec![], vec![b'b'; 64], vec![], b"c".to_vec()]);
    let end = device.now + 20 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!(host.console_read().len(), 66);
}

#[test]
fn an_unread_console_stops_the_device() {
    let mut config = HostConfig::default();
    config.console.read_limit = 1000;
    let (mut host, mut device) = open(config);
    device.to_console.extend(packets(&pattern(10_000, 5)));
    let end = device.now + 100 * MS;
    run_to(&mut host, &mut device, end);
    assert!((1000..1064).contains(&host.state().console_unread));
    let waiting = device.to_console.len();
    device.tokens.clear();
    run_to(&mut host, &mut device, end + 50 * MS);
    assert!(device.tokens.iter().all(|t| t.1 != CONSOLE_IN));
    let mut read = host.console_read();
    run_to(&mut host, &mut device, end + 60 * MS);
    assert!(device.to_console.len() < waiting);
    while !device.to_console.is_empty() || host.state().console_unread > 0 {
        read.extend(host.console_read());
        let next = device.now + 2 * MS;
        run_to(&mut host, &mut device, next);
    }
    assert_eq!(read, pattern(10_000, 5));
}

#[test]
fn a_ring_keeps_the_last_bytes_and_counts_the_lost_ones() {
    let mut config = HostConfig::default();
    config.console.read_policy = ReadPolicy::Ring;
    config.console.read_limit = 1000;
    let (mut host, mut device) = open(config);
    let data = pattern(10_000, 6);
    device.to_console.extend(packets(&data));
    let end = device.now + 100 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!(host.state().console_dropped, 9000);
    assert_eq!(host.console_read(), data[9000..]);
}

#[test]
fn a_full_device_keeps_the_rest_in_a_bounded_queue() {
    let mut config = HostConfig::default();
    config.console.write_limit = 500;
    let (mut host, mut device) = open(config);
    device.console_room = 128;
    assert_eq!(host.console_write(&[7; 800]), 500);
    let end = device.now + 50 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!(device.from_console.len(), 128);
    assert_eq!(host.state().console_unsent, 372);
    device.console_room = usize::MAX;
    run_to(&mut host, &mut device, end + 10 * MS);
    assert_eq!(device.from_console.len(), 500);
}

#[test]
fn unsent_data_is_gone_when_the_console_is_closed() {
    let (mut host, mut device) = open(HostConfig::default());
    device.console_room = 0;
    assert_eq!(host.console_write(b"late"), 4);
    assert!(host.console_close());
    run_until(&mut host, &mut device, 500 * MS, "DTR low", |h, _| !h.state().console_open);
    assert_eq!(host.state().console_unsent, 0);
    device.console_room = usize::MAX;
    assert!(host.console_open());
    let end = device.now + 50 * MS;
    run_to(&mut host, &mut device, end);
    assert_eq!((host.state().console_open, device.from_console.len()), (true, 0));
}

#[test]
fn a_1200_baud_touch_is_line_coding_then_dtr_low() {
    let (mut host, mut device) = open(HostConfig::default());
    assert!(host.set_line_coding(LineCoding::baud(1200)) && host.console_close());
    run_until(&mut host, &mut device, 500 * MS, "DTR low", |_, d| d.line_states.len() == 2);
    assert_eq!(device.line_codings[1].1, [0xb0, 4, 0, 0, 0, 0, 8]);
    assert!(device.line_codings[1].0 < device.line_states[1].0);
    assert_eq!(device.line_states[1].1, 0);
    assert!(!host.state().console_open);
    let taken = (0..70).take_while(|_| host.set_line_coding(LineCoding::baud(1200))).count();
    assert_eq!(taken, 64);
}

#[test]
fn received_data_survives_the_device_and_unsent_data_does_not() {
    let (mut host, mut device) = open(HostConfig::default());
    device.to_console.push_back(b"last words".to_vec());
    let end = device.now + 5 * MS;
    run_to(&mut host, &mut device, end);
    device.console_room = 0;
    host.console_write(b"late");
    device.pulled_up = false;
    run_to(&mut host, &mut device, end + 5 * MS);
    assert_eq!(host.console_write(b"later"), 0);
    device.pulled_up = true;
    device.console_room = usize::MAX;
    run_until(&mut host, &mut device, 800 * MS, "the console again", |h, _| h.state().console_open);
    run_to(&mut host, &mut device, 900 * MS);
    assert_eq!(host.console_read(), b"last words");
    assert!(device.from_console.is_empty());
}

#[test]
fn without_a_device_no_line_request_is_taken() {
    let mut host = UsbHost::new(HostConfig::default());
    assert!(!host.console_open() && !host.console_close() && host.console_write(b"x") == 0);
}
