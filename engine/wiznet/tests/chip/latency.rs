//! Response time of the chip's TCP, and the unit of RTR, on boards that configure them.

use wiznet::Config;

use crate::support::*;

fn slow() -> Config {
    sim::with!(Config::default(), tcp_answer: 130 * US, retry_unit: 102 * US)
}

/// Returns a listening socket on a chip that has just received a SYN.
fn called() -> Board {
    let mut board = Board::up_with(slow());
    board.open(0, 0x01, BOARD_PORT);
    board.command(0, LISTEN);
    let peer = PeerEnd { port: PEER_PORT, board_port: BOARD_PORT, seq: PEER_ISS, ack: 0, window: 1000 };
    board.arrive(&peer.segment(SYN, &[]).frame());
    board
}

#[test]
fn an_answer_is_sent_after_the_chips_processing_time() {
    let mut board = called();
    assert_eq!(board.chip.next_event(), Some(board.now + 130 * US));
    board.run(130 * US - 1);
    board.no_frame();
    board.run(1);
    assert_eq!(board.segment().flags, SYN | ACK);
}

#[test]
fn later_frames_wait_for_the_answer() {
    let mut board = called();
    board.open(1, 0x02, 7);
    board.write(socket(1), DIPR, &PEER);
    board.put16(socket(1), DPORT, 7);
    board.run(100 * US);
    // A datagram needs ARP first, which is independent of the chip's TCP.
    board.send(1, b"late");
    board.no_frame();
    board.run(30 * US);
    let frames = board.frames();
    assert_eq!(frames.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [board.now; 2]);
    assert_eq!(Segment::parse(&frames[0].1).flags, SYN | ACK);
}

#[test]
fn unsolicited_frames_are_sent_at_once() {
    let mut board = Board::up_with(slow());
    board.open(0, 0x01, BOARD_PORT);
    board.write(socket(0), DIPR, &PEER);
    board.put16(socket(0), DPORT, PEER_PORT);
    board.command(0, CONNECT);
    board.answer_arp(PEER);
    assert_eq!(board.segment().flags, SYN);
}

#[test]
fn retransmission_uses_the_configured_unit() {
    let mut board = called();
    board.run(130 * US);
    board.frames();
    board.run(2000 * 102 * US - 130 * US - 1);
    board.no_frame();
    board.run(1);
    assert_eq!(board.segment().flags, SYN | ACK);
}
