//! Hostile hosts and frames: no panic, no endless loop, and the same calls give the same results.

use sim::{Ps, SplitMix64};

use super::host::{Host, sn};
use crate::fuzz::{cases, near};
use crate::support::*;

#[derive(Clone, Debug)]
enum Action {
    Bytes(bool, Vec<u8>),
    Write(u16, Vec<u8>),
    Read(u16, usize),
    Command(u16, u8),
    Segment(u32, u32, u8, u16, Vec<u8>),
    Frame(Vec<u8>),
    ArpReply,
    Reset(bool),
    Cable(bool),
    Wait(Ps),
}

fn action(random: &mut SplitMix64) -> Action {
    match random.below(18) {
        0 => Action::Bytes(random.below(2) == 0, random.bytes(12)),
        1..5 => Action::Write(register(random), random.bytes(6)),
        5 => Action::Read(register(random), random.below(40) as usize),
        6..10 => {
            let commands = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x21, 0x22, 0x23, 0x24, 0x40];
            let known = commands[random.below(11) as usize];
            Action::Command(random.below(4) as u16, if random.below(2) == 0 { known } else { random.draw() as u8 })
        }
        10..13 => {
            let (seq, ack, flags) = (near(random), near(random), random.below(32) as u8);
            Action::Segment(seq, ack, flags, random.draw() as u16, random.bytes(30))
        }
        13 => Action::Frame(random.bytes(80)),
        14 => Action::ArpReply,
        15 => Action::Reset(random.below(2) == 0),
        16 => Action::Cable(random.below(2) == 0),
        _ => Action::Wait(random.below(40 * SECOND)),
    }
}

fn register(random: &mut SplitMix64) -> u16 {
    match random.below(3) {
        0 => random.below(0x90) as u16,
        1 => sn(random.below(4) as u16, random.below(0x38) as u16),
        _ => random.draw() as u16,
    }
}

/// The state visible outside the chip.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    miso: Vec<u8>,
    frames: Vec<Vec<u8>>,
    intn: Vec<bool>,
    next: Vec<Option<Ps>>,
}

fn play(actions: &[Action]) -> Seen {
    use smoltcp::wire::ArpOperation;
    let mut host = Host::up();
    host.chip.set_log(true);
    host.open(0, 0x01, BOARD_PORT);
    host.command(0, LISTEN);
    host.open(1, 0x02, 9);
    let peer = PeerEnd { port: PEER_PORT, board_port: BOARD_PORT, seq: PEER_ISS, ack: 0, window: 900 };
    let mut seen = Seen::default();
    for action in actions {
        match action {
            Action::Bytes(low, bytes) => {
                host.select(*low);
                seen.miso.extend(host.bytes(bytes));
            }
            Action::Write(address, data) => host.write(*address, data),
            Action::Read(address, length) => seen.miso.extend(host.read(*address, *length)),
            Action::Command(n, command) => host.write(sn(*n, 0x01), &[*command]),
            Action::Segment(seq, ack, flags, window, data) => {
                let mut peer = peer.clone();
                (peer.seq, peer.ack, peer.window) = (peer.seq.wrapping_add(*seq), *ack, *window);
                host.arrive(&peer.segment(*flags, data).frame());
            }
            Action::Frame(frame) => host.arrive(frame),
            Action::ArpReply => host.arrive(&arp_frame(ArpOperation::Reply, PEER_MAC, PEER, MAC, IP)),
            Action::Reset(low) => host.chip.set_reset(host.now, *low),
            Action::Cable(plugged) => host.chip.set_cable(host.now, *plugged),
            Action::Wait(time) => host.run(*time),
        }
        seen.frames.extend(host.frames());
        seen.intn.push(host.chip.interrupt_low());
        seen.next.push(host.chip.next_event());
        if let Some(next) = host.chip.next_event() {
            assert!(next > host.now, "an event is left in the past");
        }
    }
    for frame in &seen.frames {
        assert!((14..=1514).contains(&frame.len()));
    }
    for frame in host.chip.take_log() {
        assert!(!frame.name.is_empty());
    }
    let _ = host.chip.take_unmodelled();
    seen
}

#[test]
fn any_host_and_any_peer() {
    cases(1000, |random| {
        let actions: Vec<Action> = (0..random.below(120)).map(|_| action(random)).collect();
        assert!(play(&actions) == play(&actions), "{actions:?}");
    });
}
