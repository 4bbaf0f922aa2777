//! Tests of two LANs joined as the halves of one switch, with hand-made frames and exact times.

use crate::common;

use common::*;
use lan::{Faults, Lan, LanConfig, wire_time_ps};
use sim::{PS_PER_MS, PS_PER_US, Ps, SplitMix64};
use std::net::Ipv4Addr;

/// A frame of at most 60 bytes: (8 + 60 + 4) byte times of 80 ns.
const SHORT: Ps = 5_760_000;
const OTHER_MAC: [u8; 6] = [0x00, 0x08, 0xdc, 9, 9, 9];

fn halves(far: LanConfig) -> (Lan, Lan) {
    let (mut near, mut far) = (Lan::new(LanConfig::default()), Lan::new(far));
    near.join_switch(true);
    far.join_switch(false);
    (near, far)
}

/// Carries frames between the halves up to `end`; returns the frames that reached each board, with their times.
fn run(near: &mut Lan, far: &mut Lan, end: Ps) -> [Vec<(Ps, Vec<u8>)>; 2] {
    let mut came = [Vec::new(), Vec::new()];
    loop {
        while let Some((at, frame)) = far.take_for_trunk() {
            near.from_trunk(at, frame);
        }
        while let Some((at, frame)) = near.take_for_trunk() {
            far.from_trunk(at, frame);
        }
        let next = [near.next_event(), far.next_event()].into_iter().flatten().min();
        let Some(at) = next.filter(|&at| at <= end) else { return came };
        for (lan, came) in [&mut *near, &mut *far].into_iter().zip(&mut came) {
            lan.advance(at);
            while let Some(frame) = lan.to_board(at) {
                came.push((at, frame));
            }
        }
    }
}

fn frame(to: [u8; 6], from: [u8; 6], len: usize) -> Vec<u8> {
    let mut frame = [&to[..], &from, &[0x88, 0xb5]].concat();
    frame.resize(len, 7);
    frame
}

#[test]
fn a_frame_between_boards_takes_two_wire_times() {
    for len in [60, 61, 590, 1514] {
        let (mut near, mut far) = halves(LanConfig::default());
        let sent = frame(BOARD_MAC, OTHER_MAC, len);
        far.from_board(123, &sent);
        let back = frame(OTHER_MAC, BOARD_MAC, len);
        near.from_board(PS_PER_MS, &back);
        let wire = wire_time_ps(len);
        let [to_near, to_far] = run(&mut near, &mut far, 2 * PS_PER_MS);
        assert_eq!(to_near, [(123 + 2 * wire, sent)]);
        assert_eq!(to_far, [(PS_PER_MS + 2 * wire, back)]);
    }
}

#[test]
fn the_pc_is_equally_near_to_both_boards() {
    let (mut near, mut far) = halves(LanConfig::default());
    far.from_board(1_000, &arp(1, BOARD, PC));
    let [to_near, to_far] = run(&mut near, &mut far, PS_PER_MS);
    assert_eq!((to_far.len(), to_far[0].0), (1, 1_000 + 2 * SHORT), "as with a cable");
    assert_eq!((to_near.len(), to_near[0].0), (1, 1_000 + 2 * SHORT), "a broadcast reaches all");
    let (mut near, mut far) = halves(LanConfig::default());
    near.from_board(1_000, &arp(1, BOARD, PC));
    let [to_near, _] = run(&mut near, &mut far, PS_PER_MS);
    assert_eq!((to_near.len(), to_near[0].0), (1, 1_000 + 2 * SHORT));
}

#[test]
fn frames_of_two_senders_queue_in_order_of_arrival() {
    let (mut near, mut far) = halves(LanConfig::default());
    // The PC's ARP answer and a board's frame, both for the near board, reach the switch 1 us apart.
    near.from_board(0, &arp(1, BOARD, PC));
    far.from_board(PS_PER_US, &frame(BOARD_MAC, OTHER_MAC, 60));
    let [to_near, _] = run(&mut near, &mut far, PS_PER_MS);
    let gap = 12 * 80_000;
    assert_eq!(to_near.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2 * SHORT, 3 * SHORT + gap]);
    assert_eq!([&to_near[0].1[6..12], &to_near[1].1[6..12]], [&PC_MAC, &OTHER_MAC]);
}

#[test]
fn frames_to_a_learned_board_reach_only_that_board() {
    let (mut near, mut far) = halves(LanConfig::default());
    near.from_board(0, &frame([0xff; 6], BOARD_MAC, 60));
    far.from_board(PS_PER_MS, &frame(BOARD_MAC, OTHER_MAC, 60));
    run(&mut near, &mut far, 2 * PS_PER_MS);
    // A frame for the PC: neither board sees it.
    near.from_board(3 * PS_PER_MS, &frame(PC_MAC, BOARD_MAC, 60));
    assert_eq!(run(&mut near, &mut far, 4 * PS_PER_MS), [vec![], vec![]]);
}

#[test]
fn each_board_has_a_separate_cable() {
    let cut = Faults { down: vec![(0, PS_PER_MS)], ..Faults::default() };
    let (mut near, mut far) = halves(sim::with!(LanConfig::default(), faults: cut));
    near.from_board(0, &arp(1, BOARD, PC));
    let [to_near, to_far] = run(&mut near, &mut far, PS_PER_MS);
    assert_eq!((to_near.len(), to_far.len()), (1, 0), "the far board's cable is out");
    assert!(near.cable_up(0) && !far.cable_up(0));
}

#[test]
fn the_pcs_delay_does_not_delay_frames_between_boards() {
    let slow = sim::with!(LanConfig::default(), stack_delay_ps: 300 * PS_PER_US);
    let (mut near, mut far) = (Lan::new(slow.clone()), Lan::new(slow));
    near.join_switch(true);
    far.join_switch(false);
    far.from_board(0, &frame([0xff; 6], OTHER_MAC, 60));
    far.from_board(PS_PER_MS, &arp(1, BOARD, PC));
    let [to_near, to_far] = run(&mut near, &mut far, 2 * PS_PER_MS);
    assert_eq!(to_near.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2 * SHORT, PS_PER_MS + 2 * SHORT]);
    assert_eq!(to_far[0].0, PS_PER_MS + 2 * SHORT + 300 * PS_PER_US);
}

/// Any change of a frame or a time changes the checksum. If a change is wanted, show it in another test, and then take
/// the checksum from this one's failure.
#[test]
fn random_frames_take_the_recorded_ways() {
    let (mut random, mut now, mut sum) = (SplitMix64::new(5), 0, 0u64);
    let slow = sim::with!(LanConfig::default(), stack_delay_ps: 30 * PS_PER_US, udp_echo_port: Some(7));
    let (mut near, mut far) = (Lan::new(slow.clone()), Lan::new(slow));
    near.join_switch(true);
    far.join_switch(false);
    assert!(near.is_switched() && !Lan::new(LanConfig::default()).is_switched());
    for _ in 0..3_000 {
        now += random.below(20) * PS_PER_US;
        let [to, from] = [0, 1].map(|_| [PC_MAC, BOARD_MAC, OTHER_MAC, [0xff; 6]][random.below(4) as usize]);
        let sent = match random.below(3) {
            0 => arp(1, BOARD, PC),
            1 => arp(1, Ipv4Addr::new(192, 168, 50, 9 + random.below(2) as u8), PC),
            _ => frame(to, from, 14 + random.below(1501) as usize),
        };
        if random.below(2) == 0 {
            near.from_board(now, &sent)
        } else {
            far.from_board(now, &sent)
        }
        let came = run(&mut near, &mut far, now);
        let seen = (&came, near.stats(), far.stats(), near.next_event(), far.next_event(), near.address_conflict());
        let fold = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
        sum = format!("{seen:?}").bytes().fold(sum, fold);
    }
    assert_eq!(sum, 0x6bd54143413332d6);
}

#[test]
fn a_capture_contains_each_frame_once_when_it_is_in_the_switch() {
    let files = [Shared::default(), Shared::default()];
    let (mut near, mut far) = halves(LanConfig::default());
    near.capture_into(Box::new(files[0].clone())).unwrap();
    far.capture_into(Box::new(files[1].clone())).unwrap();
    far.from_board(0, &arp(1, BOARD, PC)); // flooded and answered
    near.from_board(PS_PER_MS, &frame([0xff; 6], OTHER_MAC, 60));
    run(&mut near, &mut far, 2 * PS_PER_MS);
    far.from_trunk(3 * PS_PER_MS, frame([0xff; 6], OTHER_MAC, 60)); // which begins before
    let expected = [SHORT, SHORT, PS_PER_MS + SHORT, 3 * PS_PER_MS];
    for ((lan, file), count) in [near, far].iter_mut().zip(files).zip([3, 4]) {
        lan.finish_capture().unwrap();
        let file = file.0.lock().unwrap();
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let (mut at, mut times) = (24, Vec::new());
        while at < file.len() {
            times.push(Ps::from(word(at + 4)) * 1000);
            at += 16 + word(at + 8) as usize;
        }
        assert_eq!(times, expected[..count]);
    }
}
