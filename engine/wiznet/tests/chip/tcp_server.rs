//! LISTEN, and segments without a socket.

use super::support::*;

fn listening(board: &mut Board, n: u8, port: u16) {
    board.open(n, 0x01, port);
    board.command(n, LISTEN);
    assert_eq!(board.status(n), LISTENING);
}

fn client(port: u16) -> PeerEnd {
    PeerEnd { port, board_port: 80, seq: 1000, ack: 0, window: 4096 }
}

#[test]
fn accepts_a_connection() {
    let mut board = Board::up();
    listening(&mut board, 3, 80);
    let mut peer = client(0xC001);
    peer.say(&mut board, SYN, &[]);
    assert_eq!((board.status(3), board.ir(3)), (SYNRECV, 0));
    let answer = board.segment();
    assert_eq!((answer.flags, answer.ack, answer.mss), (SYN | ACK, 1001, Some(1460)));
    assert_eq!(board.read(socket(3), DIPR, 4), PEER);
    assert_eq!(board.read(socket(3), DHAR, 6), PEER_MAC);
    assert_eq!(board.get16(socket(3), DPORT), 0xC001);
    peer.confirm(&mut board, &answer);
    assert_eq!((board.status(3), board.ir(3)), (ESTABLISHED, IR_CON));
    board.no_frame();
    peer.say(&mut board, ACK | PSH, b"GET /");
    assert_eq!(board.recv(3, 100), b"GET /");
    board.send(3, b"200");
    let data = board.segment();
    assert_eq!((data.data.as_slice(), data.ack), (&b"200"[..], 1006));
}

#[test]
fn data_with_the_last_handshake_segment_counts() {
    let mut board = Board::up();
    listening(&mut board, 0, 80);
    let mut peer = client(1);
    peer.say(&mut board, SYN, &[]);
    peer.ack = board.segment().seq.wrapping_add(1);
    peer.say(&mut board, ACK | PSH, b"early");
    assert_eq!((board.status(0), board.ir(0)), (ESTABLISHED, IR_CON | IR_RECV));
    assert_eq!(board.recv(0, 100), b"early");
}

#[test]
fn two_sockets_listen_on_one_port() {
    let mut board = Board::up();
    listening(&mut board, 2, 80);
    listening(&mut board, 5, 80);
    client(1).say(&mut board, SYN, &[]);
    client(2).say(&mut board, SYN, &[]);
    assert_eq!((board.status(2), board.status(5)), (SYNRECV, SYNRECV));
    assert_eq!((board.get16(socket(2), DPORT), board.get16(socket(5), DPORT)), (1, 2));
    board.frames();
    client(3).say(&mut board, SYN, &[]);
    assert_eq!(board.segment().flags, RST | ACK, "none is left");
}

#[test]
fn syn_ack_is_repeated_and_times_out() {
    let mut board = Board::up();
    listening(&mut board, 0, 80);
    client(1).say(&mut board, SYN, &[]);
    board.run(31_800 * MS - 1);
    let answers = board.segments();
    assert_eq!(answers.len(), 9);
    assert!(answers.iter().all(|answer| answer.flags == SYN | ACK && answer.seq == answers[0].seq));
    assert_eq!(board.status(0), SYNRECV);
    board.run(1);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT));
}

#[test]
fn a_repeated_syn_gets_the_same_answer() {
    let mut board = Board::up();
    listening(&mut board, 0, 80);
    client(1).say(&mut board, SYN, &[]);
    let first = board.segment();
    board.run(100 * MS);
    client(1).say(&mut board, SYN, &[]);
    assert_eq!(board.segment(), first);
}

#[test]
fn segments_without_a_socket_are_reset() {
    let mut board = Board::up();
    let mut peer = client(7);
    peer.say(&mut board, SYN, &[]);
    let reset = board.segment();
    assert_eq!((reset.flags, reset.seq, reset.ack), (RST | ACK, 0, 1001));
    assert_eq!((reset.src_port, reset.dst_port), (80, 7));
    peer.ack = 555;
    peer.say(&mut board, ACK, b"abc");
    let reset = board.segment();
    assert_eq!((reset.flags, reset.seq), (RST, 555));
    peer.say(&mut board, RST, &[]);
    board.no_frame();
    listening(&mut board, 0, 80);
    peer.say(&mut board, ACK, &[]);
    assert_eq!((board.segment().flags, board.status(0)), (RST, LISTENING));
    peer.say(&mut board, SYN | ACK, &[]);
    assert_eq!((board.segment().flags, board.status(0)), (RST, LISTENING));
    peer.say(&mut board, RST, &[]);
    board.no_frame();
}

#[test]
fn segments_for_another_address_or_damaged_ones_are_ignored() {
    let mut board = Board::up();
    listening(&mut board, 0, 80);
    let good = client(1).segment(SYN, &[]).frame();
    for at in 14..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x08;
        board.arrive(&bad);
    }
    let mut other = good.clone();
    other[0] = 0x04;
    board.arrive(&other);
    assert_eq!(board.status(0), LISTENING);
    board.no_frame();
}

#[test]
fn discon_and_close_end_listening() {
    for command in [DISCON, CLOSE] {
        let mut board = Board::up();
        listening(&mut board, 0, 80);
        board.command(0, command);
        assert_eq!(board.status(0), CLOSED);
    }
}
