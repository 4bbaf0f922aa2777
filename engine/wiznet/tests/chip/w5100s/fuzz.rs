//! Hostile hosts and frames: no panic, no endless loop, and the same calls give the same results.

use proptest::prelude::*;
use sim::Ps;

use super::host::{Host, sn};
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

fn action() -> impl Strategy<Value = Action> {
    let bytes = |length| prop::collection::vec(any::<u8>(), 0..length);
    let command = prop_oneof![
        prop::sample::select(vec![0x01u8, 0x02, 0x04, 0x08, 0x10, 0x20, 0x21, 0x22, 0x23, 0x24, 0x40]),
        any::<u8>()
    ];
    let register = prop_oneof![0u16..0x90, (0u16..4, 0u16..0x38).prop_map(|(n, o)| sn(n, o)), any::<u16>()];
    prop_oneof![
        1 => (any::<bool>(), bytes(12)).prop_map(|(low, bytes)| Action::Bytes(low, bytes)),
        4 => (register.clone(), bytes(6)).prop_map(|(address, data)| Action::Write(address, data)),
        1 => (register, 0usize..40).prop_map(|(address, length)| Action::Read(address, length)),
        4 => (0u16..4, command).prop_map(|(n, command)| Action::Command(n, command)),
        3 => (-2000i32..2000, -2000i32..2000, 0u8..32, any::<u16>(), bytes(30))
            .prop_map(|(s, a, f, w, d)| Action::Segment(s as u32, a as u32, f, w, d)),
        1 => bytes(80).prop_map(Action::Frame),
        1 => Just(Action::ArpReply),
        1 => any::<bool>().prop_map(Action::Reset),
        1 => any::<bool>().prop_map(Action::Cable),
        1 => (0..40 * SECOND).prop_map(Action::Wait),
    ]
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_host_and_any_peer(actions in prop::collection::vec(action(), 0..120)) {
        prop_assert_eq!(play(&actions), play(&actions));
    }
}
