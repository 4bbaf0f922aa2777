//! Tests of the frame log and the capture file.

use crate::common;

use std::io::{self, Write};
use std::net::Ipv4Addr;

use common::*;
use lan::{Fate, Faults, Lan, LanConfig};
use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps};

const SHORT: Ps = 5_760_000;

/// Reads a nanosecond pcap: (nanoseconds, frame).
fn read_pcap(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(4), word(16), word(20)), (0xa1b2_3c4d, 0x0004_0002, 65_535, 1));
    let mut at = 24;
    let mut records = Vec::new();
    while at < file.len() {
        let len = word(at + 8) as usize;
        assert_eq!(word(at + 12) as usize, len);
        let nanoseconds = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        records.push((nanoseconds, file[at + 16..at + 16 + len].to_vec()));
        at += 16 + len;
    }
    records
}

#[test]
fn the_capture_has_the_times_of_a_capture_on_the_pc() {
    let file = Shared::default();
    let mut lan = Lan::new(LanConfig::default());
    lan.capture_into(Box::new(file.clone())).unwrap();
    let start = 3 * PS_PER_S + 123_789;
    lan.from_board(start, &arp(1, BOARD, PC));
    lan.advance(4 * PS_PER_S);
    lan.finish_capture().unwrap();
    let records = read_pcap(&file.0.lock().unwrap());
    let received = (start + SHORT) / 1000;
    assert_eq!(records.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [received, received]);
    assert_eq!(records[0].1.len(), 60);
    assert_eq!(records[1].1[..6], BOARD_MAC);
}

#[test]
fn the_log_has_the_fate_of_each_frame_and_is_bounded() {
    let mut lan = Lan::new(LanConfig::default());
    lan.from_board(0, &arp(1, BOARD, PC));
    lan.advance(PS_PER_MS);
    let (reader, other) = (lan.log_frames(3), lan.log_frames(100));
    assert_eq!(lan.take_log(&reader), [], "off by default");
    let faults = Faults { down: vec![(2 * PS_PER_MS, 3 * PS_PER_MS)], ..Faults::default() };
    lan.set_faults(faults).unwrap();
    for (us, len) in [(1000, 1515), (1999, 60), (4000, 42), (5000, 42)] {
        let mut frame = arp(1, BOARD, Ipv4Addr::new(192, 168, 50, 2));
        frame.resize(len, 0);
        lan.from_board(us * PS_PER_US, &frame);
    }
    lan.advance(PS_PER_S);
    let log = lan.take_log(&reader);
    let seen: Vec<_> = log.iter().map(|record| (record.queued, record.arrival, record.fate, record.to_board)).collect();
    let at = |us: u64| us * PS_PER_US;
    assert_eq!(
        seen,
        [
            (at(1999), at(1999) + SHORT, Fate::LinkDown, false),
            (at(4000), at(4000) + SHORT, Fate::Delivered, false),
            (at(5000), at(5000) + SHORT, Fate::Delivered, false),
        ]
    );
    assert_eq!(lan.take_log(&reader), []);
    let whole = lan.take_log(&other);
    assert_eq!(whole[whole.len() - 3..], log, "readers are independent");
    assert_eq!(whole[0].fate, Fate::Oversize);
    assert_eq!((lan.stats().lost, lan.stats().dropped), (1, 1));
}

#[test]
fn a_failed_capture_is_reported_and_does_no_harm() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0 += 1; // the file's head, then a frame's: later ones would find room again
            if self.0 == 2 { Err(io::Error::other("disk full")) } else { Ok(data.len()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut lan = Lan::new(LanConfig::default());
    lan.capture_into(Box::new(Full(0))).unwrap();
    lan.from_board(0, &arp(1, BOARD, PC));
    lan.advance(PS_PER_MS);
    assert!(lan.to_board(PS_PER_MS).is_some());
    assert_eq!(lan.finish_capture().unwrap_err().to_string(), "disk full");
    assert!(lan.capture_to(std::path::Path::new("/nonexistent/file.pcap")).is_err());
}

#[test]
fn a_lan_can_move_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Lan>();
}
