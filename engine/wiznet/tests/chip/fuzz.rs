//! Hostile guests and hostile frames: no panic, no endless loop, and the same calls give the same results.

use super::support::*;
use proptest::prelude::*;
use sim::Ps;
use wiznet::{Config, W5500};

#[derive(Clone, Debug)]
enum Action {
    Select(bool),
    Bytes(Vec<u8>),
    /// A well-formed write, so that the fuzzing gets past the frame decoder.
    Write(u8, u16, Vec<u8>),
    Command(u8, u8),
    Frame(Vec<u8>),
    /// A valid frame with some damaged bytes.
    Damaged(usize, Vec<(usize, u8)>),
    Segment(u8, u32, u32, u8, u16, Vec<u8>),
    Reset(bool),
    Cable(bool),
    Wait(Ps),
}

fn action() -> impl Strategy<Value = Action> {
    let interesting = prop_oneof![
        Just(0x01u8),
        Just(0x02),
        Just(0x04),
        Just(0x08),
        Just(0x10),
        Just(0x20),
        Just(0x21),
        Just(0x22),
        Just(0x40),
        any::<u8>()
    ];
    prop_oneof![
        1 => any::<bool>().prop_map(Action::Select),
        1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(Action::Bytes),
        1 => (0u8..32, 0u16..0x30, prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(b, a, d)| Action::Write(b, a, d)),
        4 => (0u8..8, interesting).prop_map(|(n, c)| Action::Command(n, c)),
        1 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Action::Frame),
        2 => (0usize..7, prop::collection::vec((0usize..80, any::<u8>()), 0..4)).prop_map(|(k, d)| Action::Damaged(k, d)),
        4 => (0u8..8, -2000i32..2000, -2000i32..2000, 0u8..32, any::<u16>(), prop::collection::vec(any::<u8>(), 0..30))
            .prop_map(|(n, s, a, f, w, d)| Action::Segment(n, s as u32, a as u32, f, w, d)),
        1 => any::<bool>().prop_map(Action::Reset),
        1 => any::<bool>().prop_map(Action::Cable),
        1 => (0..40 * SECOND).prop_map(Action::Wait),
    ]
}

fn template(kind: usize) -> Vec<u8> {
    use smoltcp::wire::ArpOperation;
    match kind {
        0 => arp_frame(ArpOperation::Reply, PEER_MAC, PEER, MAC, IP),
        1 => arp_frame(ArpOperation::Request, PEER_MAC, PEER, [0; 6], IP),
        2 => udp_frame(9, 40_000, b"hello"),
        3 => ip_frame(MAC, PEER, IP, 1, &[8, 0, 0xF7, 0xFE, 0, 1, 0, 0]),
        4 => ethernet(MAC, PEER_MAC, 0x8864, &[0x11, 0, 0, 1, 0, 10, 0xC0, 0x21, 9, 1, 0, 8, 1, 2, 3, 4]),
        5 => PeerEnd { port: PEER_PORT, board_port: BOARD_PORT, seq: 1, ack: 0, window: 9 }.segment(SYN, &[]).frame(),
        _ => ip_frame([1, 0, 0x5E, 0, 0, 1], PEER, [224, 0, 0, 1], 2, &[0x11, 0, 0xEE, 0xFF, 0, 0, 0, 0]),
    }
}

/// The state visible outside the chip.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    miso: Vec<u8>,
    frames: Vec<(Ps, Vec<u8>)>,
    intn: Vec<bool>,
    next: Vec<Option<Ps>>,
}

fn play(actions: &[Action]) -> Seen {
    let mut board = Board::up();
    let peers: Vec<PeerEnd> = (0..3).map(|n| connected(&mut board, n, 0x01 | n << 5 & 0x20, 3000, None)).collect();
    board.open(3, 0x02, 40_000);
    board.open(4, 0x01, BOARD_PORT + 4);
    board.command(4, LISTEN);
    let mut seen = Seen::default();
    for action in actions {
        match action {
            Action::Select(low) => board.select(*low),
            Action::Bytes(bytes) => seen.miso.extend(bytes.iter().map(|&byte| board.byte(byte))),
            Action::Write(block, address, data) => board.write(*block, *address, data),
            Action::Command(n, command) => board.write(socket(*n), CR, &[*command]),
            Action::Frame(frame) => board.arrive(frame),
            Action::Damaged(kind, damage) => {
                let mut frame = template(*kind);
                for &(at, value) in damage {
                    if let Some(byte) = frame.get_mut(at) {
                        *byte = value;
                    }
                }
                board.arrive(&frame);
            }
            Action::Segment(n, seq, ack, flags, window, data) => {
                let mut peer = peers[usize::from(*n) % 3].clone();
                peer.seq = peer.seq.wrapping_add(*seq);
                peer.ack = peer.ack.wrapping_add(*ack);
                peer.window = *window;
                board.arrive(&peer.segment(*flags, data).frame());
            }
            Action::Reset(low) => board.chip.set_reset(board.now, *low),
            Action::Cable(plugged) => board.chip.set_cable(board.now, *plugged),
            Action::Wait(time) => board.run(*time),
        }
        seen.frames.extend(board.frames());
        seen.intn.push(board.chip.interrupt_low());
        seen.next.push(board.chip.next_event());
        if let Some(next) = board.chip.next_event() {
            assert!(next > board.now, "an event is left in the past");
        }
    }
    for (_, frame) in &seen.frames {
        assert!((14..=1514).contains(&frame.len()));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_guest_and_any_peer(actions in prop::collection::vec(action(), 0..120)) {
        prop_assert_eq!(play(&actions), play(&actions));
    }

    #[test]
    fn any_spi_stream(stream in prop::collection::vec((any::<u8>(), 0u8..40), 0..2000)) {
        let mut board = Board::up();
        board.chip.set_log(true);
        for (byte, toggle) in stream {
            if toggle < 2 {
                board.select(toggle == 0);
            }
            board.now += 100_000;
            board.byte(byte);
        }
        board.run(SECOND);
        board.frames();
        let _ = board.chip.take_log();
    }

    #[test]
    fn any_frame(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1600), 0..20)) {
        let mut board = Board::up();
        board.open(0, 0x04, 0);
        for frame in frames {
            board.arrive(&frame);
        }
    }
}

#[test]
fn the_end_of_time_is_reached() {
    let mut chip = W5500::new(Config::default());
    chip.advance(u64::MAX);
    let mut board = Board::up();
    board.now = u64::MAX - 3 * SECOND;
    let mut peer = connected(&mut board, 0, 0x01, 100, None);
    board.write(socket(0), KPALVTR, &[255]);
    board.put16(COMMON, 0x24, 1);
    board.write(COMMON, 0, &[0x08]);
    peer.say(&mut board, ACK, b"x");
    board.send(0, b"y");
    board.chip.advance(u64::MAX);
    board.chip.set_reset(u64::MAX, true);
    board.chip.set_reset(u64::MAX, false);
    assert!(!board.frames().is_empty());
}
