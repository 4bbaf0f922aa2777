//! Tests of the bridge with real sockets on 127.0.0.1. Simulated time runs at full speed; the host's clock is the
//! deadline.

use crate::common;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use common::*;
use lan::{BridgeConfig, BridgeRule, Lan, LanConfig};
use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp;
use smoltcp::wire::IpAddress;
use socket2::SockRef;

const HOST_DEADLINE: Duration = Duration::from_secs(300);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 77);

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn board(rules: &[(SocketAddrV4, SocketAddr)]) -> Board {
    let rules = rules.iter().map(|&(guest, host)| BridgeRule { guest, host }).collect();
    Board::with_address(Lan::new(sim::with!(LanConfig::default(), bridge: Some(BridgeConfig::new(rules)))))
}

fn pc(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(PC, port)
}

/// Waits like `run_until`, with the host's clock as the deadline.
fn wait(board: &mut Board, what: &str, mut done: impl FnMut(&mut Board) -> bool) {
    let deadline = Instant::now() + HOST_DEADLINE;
    board.run_until(Ps::MAX, what, |board| {
        assert!(Instant::now() < deadline, "{what} did not happen within {HOST_DEADLINE:?}");
        done(board)
    });
}

/// Returns a connection through the bridge and the host's end of it.
fn open(port: u16) -> (Board, SocketHandle, TcpStream) {
    let (listener, address) = listener();
    let mut board = board(&[(pc(port), address)]);
    let handle = board.connect(40_000, port);
    wait(&mut board, "the connection", |board| board.tcp(handle).may_send());
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(HOST_DEADLINE)).unwrap();
    stream.set_write_timeout(Some(HOST_DEADLINE)).unwrap();
    (board, handle, stream)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 / 7) as u8).collect()
}

#[test]
fn polls_every_millisecond_and_every_100_us_while_open() {
    let (listener, address) = listener();
    let mut board = board(&[(pc(5000), address)]);
    for ms in 1..=3 {
        assert_eq!(board.lan.next_event(), Some(ms * PS_PER_MS));
        board.lan.advance(ms * PS_PER_MS);
        board.now = ms * PS_PER_MS;
    }
    let handle = board.connect(40_000, 5000);
    wait(&mut board, "the connection", |board| board.tcp(handle).may_send());
    let (_stream, _) = listener.accept().unwrap();
    let settled = board.now + PS_PER_MS;
    board.run_to(settled);
    let start = board.now;
    let next = board.lan.next_event().unwrap();
    assert!(next > start && next <= start + 100 * PS_PER_US);
    board.lan.advance(next);
    assert_eq!(board.lan.next_event(), Some(next + 100 * PS_PER_US));
}

#[test]
fn bytes_and_ends_pass_both_ways() {
    let (listener, address) = listener();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(HOST_DEADLINE)).unwrap();
        let mut received: Vec<u8> = Vec::new();
        let mut buffer = [0; 3000];
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return received,
                read => {
                    received.extend_from_slice(&buffer[..read]);
                    stream.write_all(&buffer[..read]).unwrap();
                }
            }
        }
    });
    let mut board = board(&[(pc(5000), address)]);
    let handle = board.connect(40_000, 5000);
    let data = pattern(300_000);
    let (mut sent, mut back) = (0, Vec::new());
    wait(&mut board, "the echo", |board| {
        let socket = board.tcp(handle);
        if socket.may_send() {
            sent += socket.send_slice(&data[sent..]).unwrap();
            if sent == data.len() {
                socket.close();
            }
        }
        back.extend(board.received(handle));
        back.len() >= data.len() && !board.tcp(handle).may_recv()
    });
    assert!(back == data);
    // The board closed first, so it is in TIME-WAIT; the PC's side is gone.
    wait(&mut board, "the end", |board| board.lan.connections().is_empty());
    assert_eq!(board.tcp(handle).state(), tcp::State::TimeWait);
    assert!(server.join().unwrap() == data);
}

#[test]
fn the_hosts_end_reaches_the_board() {
    let (mut board, handle, mut stream) = open(5000);
    stream.write_all(b"bye").unwrap();
    drop(stream);
    wait(&mut board, "FIN", |board| board.tcp(handle).state() == tcp::State::CloseWait);
    assert_eq!(board.received(handle), b"bye");
    board.tcp(handle).close();
    wait(&mut board, "the end", |board| board.tcp(handle).state() == tcp::State::Closed);
}

#[test]
fn a_half_closed_connection_still_carries_the_answer() {
    let (mut board, handle, mut stream) = open(5000);
    board.tcp(handle).send_slice(b"question").unwrap();
    board.tcp(handle).close();
    let server = thread::spawn(move || {
        let mut question = Vec::new();
        stream.read_to_end(&mut question).unwrap();
        stream.write_all(b"answer").unwrap();
        question
    });
    let mut answer = Vec::new();
    wait(&mut board, "the answer", |board| {
        answer.extend(board.received(handle));
        answer.len() == 6
    });
    assert_eq!((server.join().unwrap(), answer), (b"question".to_vec(), b"answer".to_vec()));
}

#[test]
fn a_refused_connect_is_a_reset_and_so_is_a_port_without_a_rule() {
    let (listener, address) = listener();
    drop(listener);
    let mut board = board(&[(pc(5000), address)]);
    for port in [5000, 5001] {
        let handle = board.connect(40_000 + port, port);
        wait(&mut board, "the refusal", |board| board.tcp(handle).state() == tcp::State::Closed);
    }
    assert!(board.now < PS_PER_S, "refused at once, not by a timeout");
    assert_eq!(board.lan.connections(), []);
}

#[test]
fn resets_pass_both_ways() {
    let (mut board, handle, stream) = open(5000);
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    wait(&mut board, "the reset", |board| board.tcp(handle).state() == tcp::State::Closed);

    let (mut board, handle, mut stream) = open(5000);
    board.tcp(handle).abort();
    wait(&mut board, "the end", |board| board.lan.connections().is_empty());
    assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn an_address_besides_the_pcs_answers_arp_and_is_relayed() {
    let (listener, address) = listener();
    let mut board = board(&[(SocketAddrV4::new(ELSEWHERE, 80), address)]);
    let handle = board.tcp_socket();
    let socket = board.sockets.get_mut::<tcp::Socket>(handle);
    socket.connect(board.interface.context(), (IpAddress::Ipv4(ELSEWHERE), 80), 40_000).unwrap();
    wait(&mut board, "the connection", |board| board.tcp(handle).may_send());
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"hello").unwrap();
    wait(&mut board, "hello", |board| board.tcp(handle).recv_queue() == 5);
}

const MUCH: usize = 32 << 20;

#[test]
fn a_host_that_does_not_read_stops_the_board() {
    let (mut board, handle, mut stream) = open(5000);
    let data = pattern(MUCH);
    let mut sent = 0;
    let (mut stalled_at, mut since) = (0, 0);
    wait(&mut board, "the stall", |board| {
        sent += board.tcp(handle).send_slice(&data[sent..]).unwrap();
        if sent > stalled_at {
            (stalled_at, since) = (sent, board.now);
        }
        board.now > since + 3 * PS_PER_S
    });
    assert!(sent < MUCH, "{sent} bytes went to a host that does not read");
    let reader = thread::spawn(move || {
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        received
    });
    wait(&mut board, "the rest", |board| {
        if board.tcp(handle).may_send() {
            sent += board.tcp(handle).send_slice(&data[sent..]).unwrap();
            if sent == MUCH {
                board.tcp(handle).close();
            }
        }
        reader.is_finished()
    });
    assert!(reader.join().unwrap() == data);
}

#[test]
fn a_board_that_does_not_read_stops_the_host() {
    let (mut board, handle, mut stream) = open(5000);
    let data = pattern(MUCH);
    let expected = data.clone();
    let writer = thread::spawn(move || stream.write_all(&data).unwrap());
    let mut since = None;
    wait(&mut board, "the stall", |board| {
        if board.tcp(handle).recv_queue() == board.tcp(handle).recv_capacity() {
            since.get_or_insert(board.now);
        }
        since.is_some_and(|since| board.now > since + 3 * PS_PER_S)
    });
    assert!(!writer.is_finished(), "the host wrote everything although nothing was read");
    assert!(board.lan.connections()[0].unacknowledged <= 64_240 + 64 * 1024 + 16 * 1024);
    let mut received = Vec::new();
    wait(&mut board, "the rest", |board| {
        received.extend(board.received(handle));
        received.len() >= MUCH
    });
    assert!(received == expected);
    writer.join().unwrap();
}
