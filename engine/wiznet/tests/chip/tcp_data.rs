//! Data on a connection: SEND_OK, segmentation, windows, retransmission, delayed ACK, keep alive.

use super::support::*;

#[test]
fn send_ok_when_everything_is_acknowledged() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, Some(100));
    board.send(0, &[1; 250]);
    let segments = board.segments();
    assert_eq!(segments.iter().map(|s| s.data.len()).collect::<Vec<_>>(), [100, 100, 50]);
    assert_eq!(segments.iter().map(|s| s.flags).collect::<Vec<_>>(), [ACK, ACK, ACK | PSH]);
    assert_eq!(board.get16(socket(0), TX_FSR), 2048 - 250);
    assert_eq!(board.get16(socket(0), TX_RD), board.get16(socket(0), TX_WR), "all transmitted");
    peer.confirm(&mut board, &segments[0]);
    assert_eq!(board.ir(0), 0);
    assert_eq!(board.get16(socket(0), TX_FSR), 2048 - 150, "only acknowledged bytes are free");
    peer.confirm(&mut board, &segments[2]);
    assert_eq!(board.ir(0), IR_SEND_OK);
    assert_eq!(board.get16(socket(0), TX_FSR), 2048);
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn an_empty_send_is_done_at_once() {
    let mut board = Board::up();
    connected(&mut board, 0, 0x01, 8192, None);
    board.command(0, SEND);
    assert_eq!(board.ir(0), IR_SEND_OK);
    board.no_frame();
}

#[test]
fn the_peers_window_limits_what_is_sent() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 150, Some(100));
    board.send(0, &(0..=255).collect::<Vec<u8>>());
    let segments = board.segments();
    assert_eq!(segments.iter().map(|s| s.data.len()).collect::<Vec<_>>(), [100, 50]);
    peer.confirm(&mut board, &segments[1]);
    let rest = board.segments();
    assert_eq!(rest.iter().map(|s| s.data.len()).collect::<Vec<_>>(), [100, 6]);
    assert_eq!(rest[1].data, [250, 251, 252, 253, 254, 255]);
    peer.confirm(&mut board, &rest[1]);
    assert_eq!(board.ir(0), IR_SEND_OK);
}

#[test]
fn a_closed_window_is_probed_and_used_as_soon_as_it_opens() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 0, Some(100));
    board.send(0, b"abcdef");
    board.no_frame();
    // The peer answers every probe with its closed window: this never times out.
    for _ in 0..30 {
        let at = board.chip.next_event().unwrap();
        board.now = at;
        board.chip.advance(at);
        assert_eq!(board.segment().data, b"a");
        peer.say(&mut board, ACK, &[]);
        board.no_frame();
    }
    assert_eq!(board.status(0), ESTABLISHED);
    peer.window = 1000;
    peer.say(&mut board, ACK, &[]);
    let data = board.segment();
    assert_eq!(data.data, b"abcdef");
    peer.confirm(&mut board, &data);
    assert_eq!(board.ir(0), IR_SEND_OK);
}

#[test]
fn probes_without_an_answer_time_out() {
    let mut board = Board::up();
    connected(&mut board, 0, 0x01, 0, None);
    board.send(0, b"abc");
    board.run(31_800 * MS - 1);
    assert_eq!(board.status(0), ESTABLISHED);
    board.run(1);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT));
}

#[test]
fn lost_data_is_repeated_from_the_first_unacknowledged_byte() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, Some(100));
    board.send(0, &[7; 250]);
    let sent = board.segments();
    board.run(200 * MS - 1);
    board.no_frame();
    board.run(1);
    assert_eq!(board.segments(), sent);
    peer.confirm(&mut board, &sent[0]);
    board.no_frame();
    // The acknowledgement restarts the count and the doubling.
    board.run(200 * MS);
    let again = board.segments();
    assert_eq!(again.len(), 2);
    assert_eq!(again[0].seq, sent[1].seq);
    board.run(400 * MS);
    assert_eq!(board.segments().len(), 2);
    peer.confirm(&mut board, &sent[2]);
    assert_eq!(board.ir(0), IR_SEND_OK);
}

#[test]
fn unacknowledged_data_times_out() {
    let mut board = Board::up();
    connected(&mut board, 0, 0x01, 8192, None);
    board.send(0, b"anyone?");
    board.run(31_800 * MS - 1);
    assert_eq!(board.segments().len(), 9);
    assert_eq!((board.status(0), board.ir(0)), (ESTABLISHED, 0));
    board.run(1);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT));
}

#[test]
fn tx_buffer_wraps() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 1, 0x01, 8192, Some(1460));
    let mut expected = 0u32;
    for round in 0..80 {
        let data: Vec<u8> = (0..1500u32).map(|i| (i * 7 + round) as u8).collect();
        board.send(1, &data);
        let segments = board.segments();
        assert_eq!(segments.iter().flat_map(|s| s.data.clone()).collect::<Vec<_>>(), data);
        peer.confirm(&mut board, segments.last().unwrap());
        assert_eq!(board.ir(1), IR_SEND_OK);
        board.clear_ir(1);
        expected += 1500;
    }
    assert!(expected > 65_536);
}

#[test]
fn with_nd_data_is_acknowledged_at_once() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x21, 8192, None);
    peer.say(&mut board, ACK | PSH, b"hello");
    let ack = board.segment();
    assert_eq!((ack.flags, ack.ack, ack.window), (ACK, peer.seq, 2048 - 5));
    assert_eq!((board.ir(0), board.get16(socket(0), RX_RSR)), (IR_RECV, 5));
}

#[test]
fn without_nd_the_ack_waits_for_rtr() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, None);
    peer.say(&mut board, ACK | PSH, b"hello");
    board.run(100 * MS);
    peer.say(&mut board, ACK | PSH, b"again");
    board.run(100 * MS - 1);
    board.no_frame();
    board.run(1);
    assert_eq!(board.segment().ack, peer.seq);
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn without_nd_data_carries_the_ack() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, None);
    peer.say(&mut board, ACK | PSH, b"1");
    assert_eq!(board.recv(0, 10), b"1");
    board.no_frame();
    board.send(0, b"2");
    let answer = board.segment();
    assert_eq!((answer.ack, answer.data.as_slice()), (peer.seq, &b"2"[..]));
    peer.confirm(&mut board, &answer);
    assert_eq!(board.chip.next_event(), None, "no further ACK is due");
}

#[test]
fn a_full_rx_buffer_closes_the_window_and_recv_opens_it() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x21, 8192, None);
    peer.say(&mut board, ACK, &[1; 1460]);
    assert_eq!(board.segment().window, 588);
    peer.say(&mut board, ACK, &[2; 588]);
    assert_eq!(board.segment().window, 0);
    // A probe into the closed window is answered and not stored.
    let probe = peer.segment(ACK, b"p");
    board.arrive(&probe.frame());
    let answer = board.segment();
    assert_eq!((answer.ack, answer.window), (peer.seq, 0));
    assert_eq!(board.get16(socket(0), RX_RSR), 2048);
    assert_eq!(board.recv(0, 500), [1; 500]);
    let update = board.segment();
    assert_eq!((update.flags, update.ack, update.window), (ACK, peer.seq, 500));
    peer.say(&mut board, ACK, &[3; 500]);
    board.frames();
    assert_eq!(board.recv(0, 4096), [vec![1; 960], vec![2; 588], vec![3; 500]].concat());
}

/// The peer may go on by itself while half of the buffer is free, less than a segment.
#[test]
fn recv_updates_a_window_of_less_than_half_the_buffer() {
    for (length, updates) in [(1024, 0), (1025, 1)] {
        let mut board = Board::up();
        let mut peer = connected(&mut board, 0, 0x21, 8192, None);
        peer.say(&mut board, ACK, &vec![1; length]);
        assert_eq!(usize::from(board.segment().window), 2048 - length);
        board.recv(0, length);
        assert_eq!(board.segments().len(), updates, "{length} bytes");
    }
}

#[test]
fn recv_updates_a_blocking_window_despite_a_delayed_ack() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, None);
    peer.say(&mut board, ACK, &[1; 1460]);
    board.no_frame();
    board.recv(0, 1460);
    let update = board.segment();
    assert_eq!((update.ack, update.window), (peer.seq, 2048));
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn only_data_within_the_window_is_stored() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x21, 8192, None);
    board.arrive(&peer.segment(ACK, &[1; 1400]).frame());
    peer.seq = peer.seq.wrapping_add(1400);
    board.frames();
    board.arrive(&peer.segment(ACK | FIN, &[2; 1000]).frame());
    let last = board.segments().pop().unwrap();
    assert_eq!((last.ack, last.window), (peer.seq.wrapping_add(648), 0));
    assert_eq!(board.status(0), ESTABLISHED, "the FIN lies outside");
}

#[test]
fn overlapping_and_repeated_segments_are_trimmed() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x21, 8192, None);
    let first = peer.segment(ACK, b"abcd");
    board.arrive(&first.frame());
    board.arrive(&first.frame());
    assert_eq!(board.segments().iter().map(|s| s.ack).collect::<Vec<_>>(), [first.seq.wrapping_add(4); 2]);
    board.arrive(&peer.segment(ACK, b"abcdef").frame());
    assert_eq!(board.segment().ack, first.seq.wrapping_add(6));
    assert_eq!(board.recv(0, 100), b"abcdef");
    // Data after a gap is acknowledged at once and not stored.
    peer.seq = peer.seq.wrapping_add(10);
    board.arrive(&peer.segment(ACK, b"gap").frame());
    assert_eq!(board.segment().ack, first.seq.wrapping_add(6));
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
}

#[test]
fn acknowledgements_of_the_future_are_refused() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, None);
    board.send(0, b"abc");
    let sent = board.segment();
    let right = peer.ack;
    peer.ack = right.wrapping_add(100);
    peer.say(&mut board, ACK, b"x");
    assert_eq!(board.segment().flags, ACK);
    assert_eq!((board.ir(0), board.get16(socket(0), RX_RSR)), (0, 0));
    peer.seq = peer.seq.wrapping_sub(1);
    peer.confirm(&mut board, &sent);
    assert_eq!(board.ir(0), IR_SEND_OK);
}

#[test]
fn disconnect_sends_the_rest_first() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 4, None);
    board.send(0, b"abcdefgh");
    board.command(0, DISCON);
    let first = board.segment();
    assert_eq!(first.data, b"abcd");
    peer.confirm(&mut board, &first);
    let rest = board.segments();
    assert_eq!((rest[0].data.as_slice(), rest[1].flags), (&b"efgh"[..], FIN | ACK));
    peer.confirm(&mut board, &rest[1]);
    assert_eq!((board.status(0), board.ir(0)), (FIN_WAIT, IR_SEND_OK));
}

#[test]
fn automatic_keep_alive() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x21, 8192, None);
    board.write(socket(0), KPALVTR, &[2]);
    assert_eq!(board.chip.next_event(), None, "only after data was exchanged");
    peer.say(&mut board, ACK | PSH, b"x");
    board.frame();
    board.run(10 * SECOND - 1);
    board.no_frame();
    board.run(1);
    let probe = board.segment();
    assert_eq!((probe.flags, probe.seq, probe.data.len()), (ACK, peer.ack.wrapping_sub(1), 1));
    peer.say(&mut board, ACK, &[]);
    board.no_frame();
    board.command(0, SEND_KEEP);
    board.no_frame();
    board.run(10 * SECOND);
    assert_eq!(board.segment().seq, probe.seq);
    // No answer: retransmitted like data, then the end.
    board.run(31_800 * MS - 1);
    assert_eq!((board.status(0), board.segments().len()), (ESTABLISHED, 8));
    board.run(1);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_RECV | IR_TIMEOUT));
}

#[test]
fn manual_keep_alive() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 8192, None);
    board.command(0, SEND_KEEP);
    board.no_frame();
    board.send(0, b"z");
    let data = board.segment();
    peer.confirm(&mut board, &data);
    board.command(0, SEND_KEEP);
    let probe = board.segment();
    assert_eq!((probe.seq, probe.data.as_slice()), (data.seq, &b"z"[..]));
    peer.say(&mut board, ACK, &[]);
    assert_eq!(board.chip.next_event(), None);
    // Data sent while a probe waits replaces it.
    board.command(0, SEND_KEEP);
    board.send(0, b"more");
    board.frames();
    board.run(200 * MS);
    assert_eq!(board.segment().data, b"more");
}
