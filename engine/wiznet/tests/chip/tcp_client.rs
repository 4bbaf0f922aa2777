//! CONNECT, its results, and the ways a connection ends.

use super::support::*;
use wiznet::Config;

fn connect(board: &mut Board) -> Segment {
    board.open(0, 0x01, BOARD_PORT);
    assert_eq!(board.status(0), INIT);
    board.write(socket(0), DIPR, &PEER);
    board.put16(socket(0), DPORT, PEER_PORT);
    board.command(0, CONNECT);
    assert_eq!(board.status(0), SYNSENT);
    board.answer_arp(PEER);
    assert_eq!(board.status(0), SYNSENT);
    board.segment()
}

fn peer_of(syn: &Segment) -> PeerEnd {
    PeerEnd { port: PEER_PORT, board_port: BOARD_PORT, seq: 100, ack: syn.seq.wrapping_add(1), window: 8192 }
}

#[test]
fn handshake() {
    let mut board = Board::up();
    let syn = connect(&mut board);
    assert_eq!((syn.flags, syn.src_port, syn.dst_port), (SYN, BOARD_PORT, PEER_PORT));
    assert_eq!((syn.window, syn.mss), (2048, Some(1460)));
    peer_of(&syn).say(&mut board, SYN | ACK, &[]);
    assert_eq!(board.status(0), ESTABLISHED);
    assert_eq!(board.ir(0), IR_CON);
    let ack = board.segment();
    assert_eq!((ack.flags, ack.seq, ack.ack), (ACK, syn.seq.wrapping_add(1), 101));
    assert_eq!(board.chip.next_event(), None, "no timer runs in an idle connection");
}

#[test]
fn the_tx_pointers_follow_the_sequence_number() {
    let mut board = Board::up();
    let syn = connect(&mut board);
    peer_of(&syn).say(&mut board, SYN | ACK, &[]);
    let pointer = board.get16(socket(0), TX_WR);
    assert_eq!(pointer, syn.seq.wrapping_add(1) as u16);
    assert_eq!(board.get16(socket(0), TX_RD), pointer);
    assert_eq!(board.get16(socket(0), TX_FSR), 2048);
}

#[test]
fn mss_is_the_smaller_of_both() {
    for (own, theirs, used) in [(0u16, Some(1460), 1460), (0, None, 536), (1000, Some(1460), 1000), (0, Some(100), 100)]
    {
        let mut board = Board::up();
        board.put16(socket(0), MSSR, own);
        let syn = connect(&mut board);
        assert_eq!(syn.mss, Some(if own == 0 { 1460 } else { own }));
        let mut answer = peer_of(&syn).segment(SYN | ACK, &[]);
        answer.mss = theirs;
        board.arrive(&answer.frame());
        board.frames();
        assert_eq!(board.get16(socket(0), MSSR), used);
        board.send(0, &[1; 1500]);
        assert_eq!(board.segments()[0].data.len(), usize::from(used));
        board.command(0, CLOSE);
        assert_eq!(board.get16(socket(0), MSSR), own, "the written value is restored");
    }
}

#[test]
fn syn_is_repeated_with_doubled_waits_and_times_out_after_31_8_s() {
    let mut board = Board::up();
    connect(&mut board);
    let start = board.now;
    let mut waits = Vec::new();
    let mut last = start;
    while let Some(at) = board.chip.next_event() {
        board.now = at;
        board.chip.advance(at);
        waits.push((at - last) / MS);
        last = at;
        for (time, frame) in board.frames() {
            assert_eq!((time, Segment::parse(&frame).flags), (at, SYN));
        }
    }
    assert_eq!(waits, [200, 400, 800, 1600, 3200, 6400, 6400, 6400, 6400]);
    assert_eq!(board.now - start, 31_800 * MS);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT));
}

#[test]
fn tcp_timeout_follows_the_formula_to_the_microsecond() {
    for (rtr, rcr) in [(2000u16, 8u8), (1, 0), (333, 4), (40_000, 3)] {
        let mut board = Board::up();
        board.put16(COMMON, 0x19, rtr);
        board.write(COMMON, 0x1B, &[rcr]);
        connect(&mut board);
        // M: the smallest value for which RTR x 2^(M+1) > 65535, at most RCR.
        let m = (0..=u32::from(rcr)).find(|m| u64::from(rtr) << (m + 1) > 65_535).unwrap_or(u32::from(rcr));
        let sum: u64 = (0..=m).map(|n| u64::from(rtr) << n).sum();
        let units = sum + u64::from(u32::from(rcr) - m) * (u64::from(rtr) << m);
        board.run(units * 100 * US - US);
        assert_eq!((board.status(0), board.ir(0)), (SYNSENT, 0), "RTR {rtr} RCR {rcr}");
        board.run(US);
        assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT), "RTR {rtr} RCR {rcr}");
    }
}

#[test]
fn a_refused_connection_is_closed_without_timeout() {
    let mut board = Board::up();
    let syn = connect(&mut board);
    let mut peer = peer_of(&syn);
    peer.ack = peer.ack.wrapping_add(5);
    peer.say(&mut board, RST | ACK, &[]);
    assert_eq!(board.status(0), SYNSENT, "RST that acknowledges something else");
    board.frames();
    peer.ack = peer.ack.wrapping_sub(5);
    peer.say(&mut board, RST | ACK, &[]);
    assert_eq!((board.status(0), board.ir(0) & IR_TIMEOUT), (CLOSED, 0));
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn a_wrong_acknowledgement_of_syn_is_reset() {
    let mut board = Board::up();
    let syn = connect(&mut board);
    let mut peer = peer_of(&syn);
    peer.ack = 7;
    peer.say(&mut board, SYN | ACK, &[]);
    let reset = board.segment();
    assert_eq!((reset.flags, reset.seq), (RST, 7));
    assert_eq!(board.status(0), SYNSENT);
}

#[test]
fn both_sides_open_at_once() {
    let mut board = Board::up();
    let syn = connect(&mut board);
    let mut peer = peer_of(&syn);
    peer.say(&mut board, SYN, &[]);
    assert_eq!(board.status(0), SYNRECV);
    let answer = board.segment();
    assert_eq!((answer.flags, answer.seq, answer.ack), (SYN | ACK, syn.seq, 101));
    peer.say(&mut board, ACK, &[]);
    assert_eq!(board.status(0), ESTABLISHED);
}

#[test]
fn commands_in_the_wrong_state_are_ignored() {
    let mut board = Board::up();
    for command in [LISTEN, CONNECT, SEND, SEND_MAC, SEND_KEEP, DISCON, RECV, 0x03, 0xFF] {
        board.command(0, command);
        assert_eq!((board.status(0), board.ir(0)), (CLOSED, 0));
    }
    board.open(0, 0x01, 1);
    for command in [SEND, SEND_MAC, SEND_KEEP, RECV] {
        board.command(0, command);
        assert_eq!((board.status(0), board.ir(0)), (INIT, 0));
    }
    board.no_frame();
}

#[test]
fn active_close() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    board.command(0, DISCON);
    assert_eq!(board.status(0), FIN_WAIT);
    let fin = board.segment();
    assert_eq!(fin.flags, FIN | ACK);
    peer.confirm(&mut board, &fin);
    assert_eq!(board.status(0), FIN_WAIT);
    assert_eq!(board.chip.next_event(), None);
    // Data is still received.
    peer.say(&mut board, ACK | PSH, b"late");
    assert_eq!(board.recv(0, 10), b"late");
    peer.say(&mut board, FIN | ACK, &[]);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_DISCON | IR_RECV));
    let ack = board.segment();
    assert_eq!((ack.flags, ack.ack), (ACK, peer.seq));
}

#[test]
fn fin_and_its_acknowledgement_together() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    board.command(0, DISCON);
    let fin = board.segment();
    peer.ack = fin.seq.wrapping_add(1);
    peer.say(&mut board, FIN | ACK, &[]);
    assert_eq!(board.status(0), CLOSED);
    assert_eq!(board.segment().ack, peer.seq);
}

#[test]
fn time_wait_answers_a_repeated_fin() {
    let mut board = Board::up_with(sim::with!(Config::default(), time_wait: 50 * MS));
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    board.command(0, DISCON);
    let fin = board.segment();
    peer.ack = fin.seq.wrapping_add(1);
    let last = peer.segment(FIN | ACK, &[]);
    board.arrive(&last.frame());
    assert_eq!(board.status(0), TIME_WAIT);
    assert_eq!(board.segment().ack, peer.seq.wrapping_add(1));
    board.arrive(&last.frame());
    assert_eq!(board.segment().ack, peer.seq.wrapping_add(1));
    board.run(50 * MS - 1);
    assert_eq!(board.status(0), TIME_WAIT);
    board.run(1);
    assert_eq!(board.status(0), CLOSED);
}

#[test]
fn both_sides_close_at_once() {
    for time_wait in [0, MS] {
        let mut board = Board::up_with(sim::with!(Config::default(), time_wait));
        let mut peer = connected(&mut board, 0, 0x01, 1000, None);
        board.command(0, DISCON);
        let fin = board.segment();
        peer.say(&mut board, FIN | ACK, &[]);
        assert_eq!(board.status(0), CLOSING);
        assert_eq!(board.segment().ack, peer.seq);
        peer.confirm(&mut board, &fin);
        assert_eq!(board.status(0), if time_wait == 0 { CLOSED } else { TIME_WAIT });
        board.run(MS);
        assert_eq!(board.status(0), CLOSED);
    }
}

#[test]
fn passive_close() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    peer.say(&mut board, FIN | ACK, &[]);
    assert_eq!((board.status(0), board.ir(0)), (CLOSE_WAIT, IR_DISCON));
    assert_eq!(board.segment().ack, peer.seq);
    // Data is still sent.
    board.send(0, b"still here");
    let data = board.segment();
    assert_eq!(data.data, b"still here");
    peer.confirm(&mut board, &data);
    assert_eq!(board.ir(0), IR_DISCON | IR_SEND_OK);
    board.command(0, DISCON);
    assert_eq!(board.status(0), LAST_ACK);
    let fin = board.segment();
    assert_eq!(fin.flags, FIN | ACK);
    peer.confirm(&mut board, &fin);
    assert_eq!(board.status(0), CLOSED);
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn fin_behind_data_counts_when_the_data_is_there() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    let first = peer.segment(ACK, b"abc");
    peer.seq = peer.seq.wrapping_add(3);
    let second = peer.segment(FIN | ACK | PSH, b"def");
    board.arrive(&second.frame());
    assert_eq!(board.status(0), ESTABLISHED);
    assert_eq!(board.segment().ack, first.seq);
    board.arrive(&first.frame());
    board.arrive(&second.frame());
    assert_eq!(board.status(0), CLOSE_WAIT);
    assert_eq!(board.recv(0, 100), b"abcdef");
    assert_eq!(board.segments().last().unwrap().ack, second.seq.wrapping_add(4));
}

#[test]
fn fin_is_repeated_and_times_out() {
    let mut board = Board::up();
    connected(&mut board, 0, 0x01, 1000, None);
    board.command(0, DISCON);
    board.run(31_800 * MS - 1);
    assert_eq!(board.status(0), FIN_WAIT);
    assert_eq!(board.segments().iter().filter(|s| s.flags == FIN | ACK).count(), 9);
    board.run(1);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT));
}

#[test]
fn reset_closes_at_once() {
    for (command, state) in [(None, ESTABLISHED), (Some(DISCON), FIN_WAIT)] {
        let mut board = Board::up();
        let mut peer = connected(&mut board, 0, 0x01, 1000, None);
        if let Some(command) = command {
            board.command(0, command);
        }
        board.frames();
        let mut stray = peer.clone();
        stray.seq = stray.seq.wrapping_sub(10);
        stray.say(&mut board, RST, &[]);
        assert_eq!(board.status(0), state, "RST outside the window");
        peer.say(&mut board, RST, &[]);
        assert_eq!((board.status(0), board.ir(0) & IR_TIMEOUT), (CLOSED, 0));
        assert_eq!(board.chip.next_event(), None);
        board.no_frame();
    }
}

#[test]
fn close_sends_nothing_and_later_segments_are_reset() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    board.command(0, CLOSE);
    assert_eq!(board.status(0), CLOSED);
    board.no_frame();
    peer.say(&mut board, ACK | PSH, b"hello?");
    let reset = board.segment();
    assert_eq!((reset.flags, reset.seq), (RST, peer.ack));
}

#[test]
fn received_data_stays_readable_after_the_end() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    peer.say(&mut board, ACK | PSH, b"last words");
    peer.say(&mut board, RST, &[]);
    assert_eq!(board.status(0), CLOSED);
    assert_eq!(board.recv(0, 100), b"last words");
    board.open(0, 0x01, 1);
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
}

#[test]
fn eight_connections_at_once() {
    let mut board = Board::up();
    let mut peers: Vec<PeerEnd> = (0..8).map(|n| connected(&mut board, n, 0x21, 1000, None)).collect();
    for (n, peer) in peers.iter_mut().enumerate() {
        peer.say(&mut board, ACK | PSH, format!("for {n}").as_bytes());
        board.frames();
    }
    for n in 0..8 {
        assert_eq!(board.recv(n, 100), format!("for {n}").as_bytes());
        board.send(n, format!("from {n}").as_bytes());
        let segment = board.segment();
        assert_eq!((segment.src_port, &segment.data[..]), (BOARD_PORT + u16::from(n), format!("from {n}").as_bytes()));
    }
}
