//! Tests of forwarded ports with real sockets on 127.0.0.1. Simulated time runs at full speed; the host's clock is the
//! deadline.

use crate::common;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::*;
use lan::{ForwardTarget, HostSocket, Lan, LanConfig, UdpEcho};
use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps, SplitMix64};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::{tcp, udp};
use socket2::SockRef;

const HOST_DEADLINE: Duration = Duration::from_secs(60);

fn to(port: u16) -> ForwardTarget {
    ForwardTarget { address: Some(BOARD), port }
}

fn own(port: u16) -> ForwardTarget {
    ForwardTarget { address: None, port }
}

fn forward_tcp(board: &mut Board, target: ForwardTarget) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    board.lan.forward(board.now, HostSocket::Tcp(listener), target).unwrap();
    address
}

fn new_board() -> Board {
    Board::with_address(Lan::new(LanConfig::default()))
}

fn listen(board: &mut Board, port: u16) -> SocketHandle {
    let handle = board.tcp_socket();
    board.tcp(handle).listen(port).unwrap();
    handle
}

/// Returns the processor time that this thread has had, or `None` where the system does not tell (Linux does).
fn processor_time() -> Option<Duration> {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(told.split(' ').next()?.parse().ok()?))
}

/// Waits like `run_until`. The deadline is the host's: it has passed once this thread has had that much time.
fn wait(board: &mut Board, what: &str, mut done: impl FnMut(&mut Board) -> bool) {
    let (began, had) = (Instant::now(), processor_time());
    board.run_until(Ps::MAX, what, |board| {
        let over = began.elapsed() > HOST_DEADLINE
            && had.zip(processor_time()).is_none_or(|(had, has)| has - had > HOST_DEADLINE);
        assert!(!over, "{what} did not happen within {HOST_DEADLINE:?}");
        thread::yield_now();
        done(board)
    });
}

fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HOST_DEADLINE)).unwrap();
    stream.set_write_timeout(Some(HOST_DEADLINE)).unwrap();
    stream
}

/// Returns a connection through a forwarded port and its two ends.
fn open() -> (Board, SocketHandle, TcpStream) {
    let mut board = new_board();
    let handle = listen(&mut board, 80);
    let address = forward_tcp(&mut board, to(80));
    let stream = dial(address);
    wait(&mut board, "the connection", |board| board.tcp(handle).may_send());
    (board, handle, stream)
}

/// Waits until the host's end sees the end of the connection, and returns it.
fn host_end(board: &mut Board, stream: &mut TcpStream) -> std::io::Result<usize> {
    stream.set_nonblocking(true).unwrap();
    let mut end = None;
    wait(board, "the host's end", |_| {
        end = match stream.read(&mut [0; 64]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            other => Some(other),
        };
        end.is_some()
    });
    end.unwrap()
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 / 7) as u8).collect()
}

#[test]
fn without_a_rule_nothing_is_polled_and_with_one_the_board_is_undisturbed() {
    let run = |rule: bool| {
        let mut board = new_board();
        if rule {
            forward_tcp(&mut board, to(80));
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            board.lan.forward(0, HostSocket::Udp(socket), to(80)).unwrap();
            assert_eq!(board.lan.next_event(), Some(PS_PER_US));
        } else {
            assert_eq!(board.lan.next_event(), None);
        }
        board.lan.listen(5000, recorder(ping_pong).1).unwrap();
        let log = board.lan.log_frames(1000);
        let handle = board.connect(40_000, 5000);
        board.run_until(PS_PER_S, "the connection", |board| board.tcp(handle).may_send());
        board.tcp(handle).send_slice(b"1").unwrap();
        board.run_to(PS_PER_S);
        assert_eq!(board.received(handle), b"2");
        assert!(!board.lan.serves_host(board.now));
        board.lan.take_log(&log)
    };
    let socket = HostSocket::Udp(UdpSocket::bind("127.0.0.1:0").unwrap());
    let error = new_board().lan.forward(0, socket, own(0)).unwrap_err().to_string();
    assert_eq!(error, "cannot forward to port 0 of the board: use 1 to 65535");
    assert_eq!(run(true), run(false));
}

#[test]
fn the_first_connection_makes_polls_frequent() {
    let mut lan = Lan::new(LanConfig::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _stream = dial(listener.local_addr().unwrap());
    lan.forward(0, HostSocket::Tcp(listener), to(80)).unwrap();
    let poll = lan.next_event().unwrap();
    let frames = frames_until(&mut lan, poll + 50 * PS_PER_US);
    assert_eq!((frames.len(), lan.connections().len()), (1, 1), "it asks for the board's hardware address");
    assert_eq!(lan.next_event(), Some(poll + 100 * PS_PER_US));
}

#[test]
fn nothing_but_a_poll_reads_the_programs() {
    let (mut board, _, mut stream) = open();
    let (poll, lan) = (board.lan.next_event().unwrap(), &mut board.lan);
    lan.advance(poll);
    assert_eq!(lan.next_event(), Some(poll + 100 * PS_PER_US));
    stream.write_all(b"early").unwrap();
    let discover = ipv4(17, Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST, &[0, 68, 0, 67, 0, 8, 0, 0]);
    let call = Segment { port: 40_001, peer_port: 81, seq: 7, ack: 0, flags: SYN, window: 2048 };
    for frame in [arp(1, BOARD, PC), ethernet([0xff; 6], 0x0800, &discover), call.frame(&[])] {
        lan.from_board(poll, &frame);
    }
    let now = poll + 99 * PS_PER_US;
    assert!(lan.ping(now, now, BOARD, 1, b"x") && !lan.send(now, 99, b"x") && !lan.end_forward(now, 99));
    assert!(!lan.udp_send(now, 4000, SocketAddrV4::new(BOARD, 9), b"x"));
    lan.connect(now, now, SocketAddrV4::new(BOARD, 81), recorder(ping_pong).1).unwrap();
    assert_eq!(lan.connections()[0].unacknowledged, 0);
    lan.advance(poll + 100 * PS_PER_US);
    assert_eq!(lan.connections()[0].unacknowledged, 5);
    let rule = lan.forward(now, HostSocket::Udp(UdpSocket::bind("127.0.0.1:0").unwrap()), own(9)).unwrap();
    assert!(lan.forward_stats(rule).is_some() && lan.end_forward(now, rule) && lan.forward_stats(rule).is_none());
}

#[test]
fn bytes_pass_both_ways_and_each_ends_its_half() {
    let (mut board, handle, mut stream) = open();
    let data = pattern(300_000);
    let expected = data.clone();
    let client = thread::spawn(move || {
        let mut back = Vec::new();
        let mut reader = stream.try_clone().unwrap();
        let reads = thread::spawn(move || reader.read_to_end(&mut back).map(|_| back));
        stream.write_all(&data).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        reads.join().unwrap().unwrap()
    });
    let mut received = Vec::new();
    let mut sent = 0;
    wait(&mut board, "the echo", |board| {
        received.extend(board.received(handle));
        let socket = board.tcp(handle);
        // The board answers only after the host's half has ended.
        if !socket.may_recv() && socket.may_send() {
            sent += socket.send_slice(&received[sent..]).unwrap();
            if sent == received.len() {
                socket.close();
            }
        }
        socket.state() == tcp::State::Closed
    });
    assert!(received == expected);
    assert!(client.join().unwrap() == expected);
    wait(&mut board, "the end", |board| board.lan.connections().iter().all(|c| c.state == tcp::State::TimeWait));
    assert!(board.lan.serves_host(board.now) || board.lan.connections().is_empty());
}

#[test]
fn a_program_that_ends_before_the_board_has_answered_is_still_connected() {
    for said in [&b"hello"[..], b""] {
        let mut board = new_board();
        let handle = listen(&mut board, 80);
        let address = forward_tcp(&mut board, own(80));
        let mut stream = dial(address);
        stream.write_all(said).unwrap();
        drop(stream);
        // The board's first frame contains its address.
        board.lan.from_board(0, &arp(1, BOARD, PC));
        wait(&mut board, "both", |board| {
            board.tcp(handle).recv_queue() == said.len() && board.tcp(handle).state() == tcp::State::CloseWait
        });
    }
}

#[test]
fn a_refusal_and_a_timeout_are_resets() {
    let mut board = new_board();
    let address = forward_tcp(&mut board, to(81));
    let mut stream = dial(address);
    assert_eq!(host_end(&mut board, &mut stream).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(board.now < PS_PER_S, "refused at once, not by a timeout");

    // No device has this address.
    let elsewhere = ForwardTarget { address: Some(Ipv4Addr::new(192, 168, 50, 77)), port: 80 };
    let address = forward_tcp(&mut board, elsewhere);
    let mut stream = dial(address);
    // Each poll of `wait` lets other threads run: 30 000 of them are slow on a loaded machine.
    board.run_to(3 * PS_PER_S);
    assert_eq!(board.lan.connections().len(), 1);
    assert_eq!(host_end(&mut board, &mut stream).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!((3 * PS_PER_S..4 * PS_PER_S).contains(&board.now), "{}", board.now);
    assert_eq!(board.lan.connections(), []);
}

#[test]
fn a_board_without_an_address_has_three_seconds_to_get_one() {
    let mut board = Board::new(Lan::new(LanConfig::default()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let rule = board.lan.forward(0, HostSocket::Tcp(listener), own(80)).unwrap();
    let mut stream = dial(address);
    // Each poll of `wait` lets other threads run: 30 000 of them are slow on a loaded machine.
    board.run_to(3 * PS_PER_S);
    assert_eq!(board.lan.forward_stats(rule).unwrap().unreachable, 0);
    assert_eq!(host_end(&mut board, &mut stream).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!((3 * PS_PER_S..4 * PS_PER_S).contains(&board.now), "{}", board.now);
    let stats = board.lan.forward_stats(rule).unwrap();
    assert_eq!((stats.connections, stats.unreachable), (1, 1));

    let handle = listen(&mut board, 80);
    let _stream = dial(address);
    let taken = 2;
    wait(&mut board, "the connection", |board| board.lan.forward_stats(rule).unwrap().connections == taken);
    board.set_address(BOARD);
    board.lan.from_board(board.now, &arp(1, BOARD, PC));
    wait(&mut board, "the connection", |board| board.tcp(handle).may_send());
    assert_eq!(board.lan.board_address(), Some(BOARD));
}

#[test]
fn resets_pass_both_ways() {
    let (mut board, handle, stream) = open();
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    wait(&mut board, "the reset", |board| board.tcp(handle).state() == tcp::State::Closed);

    let (mut board, handle, mut stream) = open();
    board.tcp(handle).abort();
    assert_eq!(host_end(&mut board, &mut stream).unwrap_err().kind(), ErrorKind::ConnectionReset);

    // Cut the power.
    let (board, _, mut stream) = open();
    drop(board);
    assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_reset_is_seen_although_the_board_does_not_read() {
    let (mut board, handle, stream) = open();
    let data = pattern(1 << 20);
    stream.set_nonblocking(true).unwrap();
    let mut sent = 0;
    wait(&mut board, "a full pipe", |board| {
        sent += (&stream).write(&data[sent..]).unwrap_or(0);
        board.lan.connections()[0].unacknowledged > 64 * 1024
            && board.tcp(handle).recv_queue() == board.tcp(handle).recv_capacity()
    });
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    wait(&mut board, "the reset", |board| board.tcp(handle).state() == tcp::State::Closed);
}

#[test]
fn neither_side_can_be_flooded() {
    const MUCH: usize = 16 << 20;
    let (mut board, handle, mut stream) = open();
    let data = pattern(MUCH);
    let mut sent = 0;
    let (mut stalled_at, mut since) = (0, 0);
    wait(&mut board, "the board to stall", |board| {
        sent += board.tcp(handle).send_slice(&data[sent..]).unwrap();
        if sent > stalled_at {
            (stalled_at, since) = (sent, board.now);
        }
        board.now > since + 2 * PS_PER_S
    });
    assert!(sent < MUCH, "{sent} bytes went to a program that does not read");
    let reader = thread::spawn(move || {
        let mut received = vec![0; MUCH];
        stream.read_exact(&mut received).unwrap();
        (stream, received)
    });
    wait(&mut board, "the rest", |board| {
        sent += board.tcp(handle).send_slice(&data[sent..]).unwrap();
        reader.is_finished()
    });
    let (mut stream, received) = reader.join().unwrap();
    assert!(received == data);

    let expected = data.clone();
    let writer = thread::spawn(move || stream.write_all(&data).unwrap());
    let mut since = None;
    wait(&mut board, "the host to stall", |board| {
        if board.tcp(handle).recv_queue() == board.tcp(handle).recv_capacity() {
            since.get_or_insert(board.now);
        }
        since.is_some_and(|since| board.now > since + 2 * PS_PER_S)
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

#[test]
fn many_connections_at_once_and_more_than_fit() {
    const CLIENTS: usize = 100;
    let mut board = Board::with_address(Lan::new(sim::with!(LanConfig::default(), max_connections: 20)));
    let mut servers: Vec<SocketHandle> = (0..CLIENTS).map(|_| listen(&mut board, 80)).collect();
    let addresses = [forward_tcp(&mut board, to(80)), forward_tcp(&mut board, to(80))];
    let clients: Vec<_> = (0..CLIENTS)
        .map(|index| {
            thread::spawn(move || {
                let mut stream = dial(addresses[index % 2]);
                stream.write_all(&[index as u8]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut back = Vec::new();
                stream.read_to_end(&mut back).unwrap();
                back
            })
        })
        .collect();
    wait(&mut board, "all clients", |board| {
        assert!(board.lan.connections().len() <= 20);
        for server in &mut servers {
            let data = board.received(*server);
            let socket = board.tcp(*server);
            if !data.is_empty() {
                socket.send_slice(&data).unwrap();
            }
            if socket.state() == tcp::State::CloseWait {
                socket.close();
            }
            if !socket.is_open() {
                board.sockets.remove(*server);
                *server = listen(board, 80);
            }
        }
        clients.iter().all(thread::JoinHandle::is_finished)
    });
    for (index, client) in clients.into_iter().enumerate() {
        assert_eq!(client.join().unwrap(), [index as u8]);
    }
}

#[test]
fn a_rule_ends_and_its_connections_go_on() {
    let (mut board, handle, mut stream) = open();
    assert!(board.lan.end_forward(board.now, 1));
    assert!(!board.lan.end_forward(board.now, 1));
    assert_eq!(board.lan.forward_stats(1), None);
    let address = stream.peer_addr().unwrap();
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    board.tcp(handle).send_slice(b"still").unwrap();
    let later = board.now + PS_PER_MS;
    board.run_to(later);
    let mut data = [0; 5];
    stream.read_exact(&mut data).unwrap();
    assert_eq!(&data, b"still");
}

fn udp_socket(board: &mut Board, port: u16) -> SocketHandle {
    let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 64], vec![0; 64 * 1024]);
    let mut socket = udp::Socket::new(buffer(), buffer());
    socket.bind(port).unwrap();
    board.sockets.add(socket)
}

fn udp_open() -> (Board, SocketHandle, u64, SocketAddr) {
    let mut board = new_board();
    let handle = udp_socket(&mut board, 53);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let rule = board.lan.forward(0, HostSocket::Udp(socket), to(53)).unwrap();
    (board, handle, rule, address)
}

fn program(address: SocketAddr) -> UdpSocket {
    let program = UdpSocket::bind("127.0.0.1:0").unwrap();
    program.connect(address).unwrap();
    program.set_read_timeout(Some(HOST_DEADLINE)).unwrap();
    program
}

/// Echoes from the board until it has received `count` datagrams; returns where they came from.
fn echo(board: &mut Board, handle: SocketHandle, count: usize) -> Vec<udp::UdpMetadata> {
    let mut seen = Vec::new();
    wait(board, "the datagrams", |board| {
        let socket = board.sockets.get_mut::<udp::Socket>(handle);
        while let Ok((data, metadata)) = socket.recv() {
            let data = data.to_vec();
            socket.send_slice(&data, metadata).unwrap();
            seen.push(metadata);
        }
        seen.len() >= count
    });
    let later = board.now + PS_PER_MS;
    board.run_to(later);
    seen
}

#[test]
fn datagrams_pass_both_ways_and_programs_are_distinguished() {
    let (mut board, handle, rule, address) = udp_open();
    let programs = [program(address), program(address), program(address)];
    for (index, program) in programs.iter().enumerate() {
        program.send(&vec![index as u8; 1472 - index]).unwrap();
    }
    echo(&mut board, handle, 3);
    let mut data = [0; 2000];
    for (index, program) in programs.iter().enumerate() {
        let len = program.recv(&mut data).unwrap();
        assert!(data[..len] == vec![index as u8; 1472 - index]);
    }
    programs[0].send(&[]).unwrap();
    echo(&mut board, handle, 1);
    assert_eq!(programs[0].recv(&mut data).unwrap(), 0);
    programs[0].send(&[0; 1473]).unwrap();
    wait(&mut board, "the drop", |board| board.lan.forward_stats(rule).unwrap().datagrams_dropped == 1);
    let stats = board.lan.forward_stats(rule).unwrap();
    assert_eq!((stats.datagrams_to_board, stats.datagrams_from_board), (4, 4));
    // Without its rule a pair's port of the PC is closed, and nothing is polled.
    programs[0].send(b"x").unwrap();
    let port = echo(&mut board, handle, 1)[0];
    assert!(board.lan.end_forward(board.now, rule) && !board.lan.end_forward(board.now, rule));
    assert_eq!(board.lan.next_event(), None);
    let log = board.lan.log_frames(9);
    board.sockets.get_mut::<udp::Socket>(handle).send_slice(b"y", port).unwrap();
    let later = board.now + PS_PER_MS;
    board.run_to(later);
    assert!(board.lan.take_log(&log).iter().any(|seen| seen.to_board && seen.frame[23] == 1), "no ICMP");
}

#[test]
fn udp_programs_are_bounded_and_forgotten() {
    let (mut board, handle, _, address) = udp_open();
    let programs: Vec<UdpSocket> = (0..80).map(|_| program(address)).collect();
    let mut ports = Vec::new();
    for program in &programs {
        program.send(b"x").unwrap();
        ports.extend(echo(&mut board, handle, 1));
    }
    let mut data = [0; 2];
    for program in &programs {
        assert_eq!(program.recv(&mut data).unwrap(), 1);
        program.set_nonblocking(true).unwrap();
    }
    // The programs that have been silent for longest are gone.
    let mut reached = Vec::new();
    for (program, port) in programs.iter().zip(ports) {
        board.sockets.get_mut::<udp::Socket>(handle).send_slice(b"y", port).unwrap();
        let later = board.now + PS_PER_MS;
        board.run_to(later);
        reached.push(program.recv(&mut data).is_ok());
    }
    assert!(reached.iter().enumerate().all(|(index, &reached)| reached == (index >= 16)), "{reached:?}");
}

/// Sends from the board's port to a pair's port of the PC; returns whether it reached the program at once.
fn reaches(board: &mut Board, handle: SocketHandle, pair: udp::UdpMetadata, program: &UdpSocket) -> bool {
    board.sockets.get_mut::<udp::Socket>(handle).send_slice(b"y", pair).unwrap();
    let later = board.now + 3 * PS_PER_MS;
    board.run_to(later);
    program.recv(&mut [0; 2]).is_ok()
}

#[test]
fn a_pair_lives_two_minutes_after_its_last_datagram_of_either_direction() {
    let (mut board, handle, rule, address) = udp_open();
    let other = udp_socket(&mut board, 54);
    let program = program(address);
    program.send(b"x").unwrap();
    let pair = echo(&mut board, handle, 1)[0];
    program.recv(&mut [0; 2]).unwrap();
    program.set_nonblocking(true).unwrap();
    let port = pair.endpoint.port;
    assert_eq!(port, 32_768 + address.port() % 16_384, "each rule begins at a port of its own");
    let taken = board.lan.udp_listen(port, Box::new(UdpEcho)).unwrap_err().to_string();
    assert_eq!(taken, format!("UDP port {port} of the simulated PC is in use: choose another one"));
    for from in [handle, other, handle] {
        let late = board.now + 119_990 * PS_PER_MS;
        board.run_to(late);
        assert!(reaches(&mut board, from, pair, &program), "also from another port of the board, as TFTP's");
    }
    // Another device sends as the board does.
    let header = [&[0, 53][..], &port.to_be_bytes(), &[0, 9, 0, 0], b"z"].concat();
    let foreign = ipv4(17, Ipv4Addr::new(192, 168, 50, 77), PC, &header);
    board.lan.from_board(board.now, &ethernet(PC_MAC, 0x0800, &foreign));
    let late = board.now + 120_003 * PS_PER_MS;
    board.run_to(late);
    assert!(!reaches(&mut board, handle, pair, &program));
    let stats = board.lan.forward_stats(rule).unwrap();
    assert_eq!((stats.datagrams_to_board, stats.datagrams_from_board), (1, 4));
    // The program gets another pair, and a board that has moved gets the datagram.
    let moved = Ipv4Addr::new(192, 168, 50, 8);
    board.lan.end_forward(board.now, rule);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    program.connect(socket.local_addr().unwrap()).unwrap();
    board.lan.forward(board.now, HostSocket::Udp(socket), own(53)).unwrap();
    for place in [BOARD, moved] {
        board.set_address(place);
        board.lan.from_board(board.now, &arp(1, place, PC));
        program.send(b"x").unwrap();
        echo(&mut board, handle, 1);
        assert_eq!(program.recv(&mut [0; 2]).unwrap(), 1, "{place}");
    }
}

#[test]
fn datagrams_make_polls_frequent_for_100_ms_and_32_pass_at_each() {
    let (mut board, handle, rule, address) = udp_open();
    let program = program(address);
    let idle = |board: &mut Board| {
        assert!(!board.lan.serves_host(board.now));
        let before = board.lan.next_event().unwrap();
        board.run_to(before);
        assert_eq!(board.lan.next_event(), Some(before + PS_PER_MS));
    };
    let second = board.now + PS_PER_S;
    board.run_to(second);
    idle(&mut board);
    program.send(b"x").unwrap();
    let passed = |board: &Board| board.lan.forward_stats(rule).unwrap().datagrams_to_board;
    wait(&mut board, "the datagram", |board| passed(board) == 1);
    let polled = board.now;
    board.run_to(polled + 99_999 * PS_PER_US);
    assert!(board.lan.serves_host(board.now));
    assert_eq!(board.lan.next_event(), Some(polled + 100 * PS_PER_MS));
    board.run_to(polled + 100 * PS_PER_MS);
    idle(&mut board);
    let pair = board.sockets.get_mut::<udp::Socket>(handle).recv().unwrap().1;
    assert!(reaches(&mut board, handle, pair, &program));
    assert!(board.lan.serves_host(board.now), "the board's datagrams count, too");
    assert!(board.lan.next_event().unwrap() <= board.now + 100 * PS_PER_US);
    for _ in 0..70 {
        program.send(b"x").unwrap();
    }
    let mut before = passed(&board);
    wait(&mut board, "all", |board| {
        let more = passed(board) - before;
        before += more;
        assert!(more <= 32, "{more} at one poll");
        before == 71
    });
}

#[test]
fn programs_wait_for_a_board_in_a_queue_of_64() {
    let mut board = Board::new(Lan::new(sim::with!(LanConfig::default(), max_connections: 100)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let rule = board.lan.forward(0, HostSocket::Tcp(listener), own(80)).unwrap();
    let programs: Vec<_> = (0..70).map(|_| dial(address)).collect();
    let (mut taken, mut most) = (0, 0);
    board.run_until(PS_PER_S, "64", |board| {
        let now = board.lan.forward_stats(rule).unwrap().connections;
        most = most.max(now - taken);
        taken = now;
        taken == 64
    });
    assert!(most <= 16, "{most} at one poll");
    let later = board.now + PS_PER_S;
    board.run_to(later);
    assert_eq!(board.lan.forward_stats(rule).unwrap().connections, 64);
    board.run_to(4 * PS_PER_S);
    let stats = board.lan.forward_stats(rule).unwrap();
    assert_eq!((stats.connections, stats.unreachable), (70, 64));
    drop(programs);
}

/// Linux's limits, without polls of the host's sockets: the rule has ended.
#[test]
fn a_board_that_does_not_answer_has_63_s_and_one_that_does_not_close_600_s() {
    let mut lan = Lan::new(LanConfig::default());
    lan.from_board(0, &arp(1, BOARD, PC));
    lan.advance(PS_PER_MS);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _stream = dial(listener.local_addr().unwrap());
    let rule = lan.forward(PS_PER_MS, HostSocket::Tcp(listener), to(80)).unwrap();
    let mut called = 0;
    while lan.connections().is_empty() {
        called = lan.next_event().unwrap();
        lan.advance(called);
    }
    lan.end_forward(called, rule);
    for (after_s, open) in [(62, 1), (64, 0)] {
        lan.advance(called + after_s * PS_PER_S);
        assert_eq!(lan.connections().len(), open);
        assert_eq!(lan.serves_host(called + after_s * PS_PER_S), open == 1);
    }

    let (mut board, handle, mut stream) = open();
    stream.shutdown(Shutdown::Write).unwrap();
    wait(&mut board, "FIN", |board| board.tcp(handle).state() == tcp::State::CloseWait);
    let closed = board.now;
    board.lan.end_forward(closed, 1);
    for (after_s, open) in [(599, 1), (601, 0)] {
        board.run_to(closed + after_s * PS_PER_S);
        assert_eq!(board.lan.connections().len(), open);
    }
    assert_eq!(host_end(&mut board, &mut stream).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

/// One connection of the fuzz test, with the data that each side has sent and received.
#[derive(Default)]
struct Pair {
    server: Option<SocketHandle>,
    stream: Option<TcpStream>,
    down: (usize, usize),
    up: (usize, usize),
    broken: bool,
}

/// Random sends, reads, closes and resets on either side: received data is a prefix of the sent data, complete if both
/// sides ended in order, and no connection is left over at the end.
#[test]
fn random_segments_closes_and_resets_leave_nothing_behind() {
    for seed in 0..8 {
        let mut random = SplitMix64::new(seed);
        let mut board = new_board();
        let address = forward_tcp(&mut board, to(80));
        let sockets_before = board.sockets.iter().count();
        let data = pattern(1 << 20);
        let mut pairs: Vec<Pair> = Vec::new();
        let deadline = Instant::now() + HOST_DEADLINE;
        for _ in 0..400 {
            assert!(Instant::now() < deadline, "seed {seed} takes too long");
            let end = board.now + random.below(2 * PS_PER_MS);
            board.run_to(end);
            assert!(board.lan.connections().iter().all(|c| c.unacknowledged <= 64_240 + 80 * 1024));
            if pairs.len() < 8 && random.below(4) == 0 {
                let server = (random.below(8) > 0).then(|| listen(&mut board, 80));
                let stream = dial(address);
                let connected = board.now + 3 * PS_PER_MS;
                board.run_to(connected);
                stream.set_nonblocking(true).unwrap();
                let broken = server.is_none();
                pairs.push(Pair { server, stream: Some(stream), broken, ..Pair::default() });
            }
            if pairs.is_empty() {
                continue;
            }
            let index = random.below(pairs.len() as u64) as usize;
            let pair = &mut pairs[index];
            let size = 1 + random.below(20_000) as usize;
            match random.below(16) {
                0..=3 => {
                    if let Some(stream) = &mut pair.stream
                        && let Ok(sent) = stream.write(&data[pair.down.0..(pair.down.0 + size).min(data.len())])
                    {
                        pair.down.0 += sent;
                    }
                }
                4..=6 => {
                    if let Some(stream) = &mut pair.stream {
                        let mut buffer = vec![0; size];
                        if let Ok(read) = stream.read(&mut buffer) {
                            assert!(buffer[..read] == data[pair.up.1..pair.up.1 + read], "seed {seed}");
                            pair.up.1 += read;
                        }
                    }
                }
                7..=9 => {
                    if let Some(server) = pair.server {
                        let socket = board.tcp(server);
                        if socket.may_send() {
                            pair.up.0 +=
                                socket.send_slice(&data[pair.up.0..(pair.up.0 + size).min(data.len())]).unwrap();
                        }
                    }
                }
                10..=12 => {
                    if let Some(server) = pair.server {
                        let got = board.received(server);
                        assert!(got == data[pair.down.1..pair.down.1 + got.len()], "seed {seed}");
                        pair.down.1 += got.len();
                    }
                }
                13 => {
                    if let Some(stream) = &pair.stream {
                        let _ = stream.shutdown(Shutdown::Write);
                    }
                }
                14 => {
                    if let Some(server) = pair.server {
                        board.tcp(server).close();
                    }
                }
                _ => {
                    pair.broken = true;
                    if random.below(2) == 0 {
                        if let Some(stream) = pair.stream.take() {
                            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
                        }
                    } else if let Some(server) = pair.server {
                        board.tcp(server).abort();
                    }
                }
            }
        }
        // Each side reads the remaining data and closes.
        for pair in &mut pairs {
            if let Some(stream) = &pair.stream {
                let _ = stream.shutdown(Shutdown::Write);
            }
            if let Some(server) = pair.server {
                board.tcp(server).close();
            }
        }
        wait(&mut board, "all ends", |board| {
            let mut over = true;
            for pair in &mut pairs {
                if let Some(server) = pair.server {
                    let got = board.received(server);
                    assert!(got == data[pair.down.1..pair.down.1 + got.len()], "seed {seed}");
                    pair.down.1 += got.len();
                    over &= matches!(board.tcp(server).state(), tcp::State::Closed | tcp::State::TimeWait);
                }
                if let Some(stream) = &mut pair.stream {
                    let mut buffer = [0; 4096];
                    match stream.read(&mut buffer) {
                        Ok(0) => pair.stream = None,
                        Ok(read) => {
                            assert!(buffer[..read] == data[pair.up.1..pair.up.1 + read], "seed {seed}");
                            pair.up.1 += read;
                            over = false;
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => over = false,
                        Err(_) => (pair.broken, pair.stream) = (true, None),
                    }
                }
            }
            over
        });
        for pair in pairs.iter().filter(|pair| !pair.broken) {
            assert_eq!((pair.down.0, pair.up.0), (pair.down.1, pair.up.1), "seed {seed}");
        }
        let later = board.now + 15 * PS_PER_S;
        board.run_to(later);
        assert_eq!(board.lan.connections(), [], "seed {seed}");
        assert!(!board.lan.serves_host(board.now), "seed {seed}");
        assert_eq!(board.sockets.iter().count(), sockets_before + pairs.iter().filter(|p| p.server.is_some()).count());
    }
}

/// Random datagrams from both sides, of all sizes, to and from a board that is sometimes absent.
#[test]
fn random_datagrams_are_whole_or_lost() {
    let (mut board, handle, rule, address) = udp_open();
    let mut random = SplitMix64::new(7);
    let mut programs: Vec<UdpSocket> = Vec::new();
    let (mut asked, mut answered) = (0u64, 0u64);
    for _ in 0..1000 {
        if programs.len() < 100 && random.below(4) == 0 {
            let program = program(address);
            program.set_nonblocking(true).unwrap();
            programs.push(program);
        } else if !programs.is_empty() {
            let index = random.below(programs.len() as u64) as usize;
            asked += 1;
            programs[index].send(&vec![index as u8; random.below(1600) as usize]).unwrap();
            let mut data = [0; 1600];
            while let Ok(len) = programs[index].recv(&mut data) {
                assert!(data[..len].iter().all(|&byte| byte == index as u8));
                answered += 1;
            }
        }
        let end = board.now + random.below(PS_PER_MS);
        board.run_to(end);
        let socket = board.sockets.get_mut::<udp::Socket>(handle);
        while let Ok((data, metadata)) = socket.recv() {
            let data = data.to_vec();
            let _ = socket.send_slice(&data, metadata);
        }
    }
    let later = board.now + PS_PER_S;
    board.run_to(later);
    let stats = board.lan.forward_stats(rule).unwrap();
    assert_eq!(stats.datagrams_to_board + stats.datagrams_dropped, asked);
    assert!(answered > 0 && answered <= stats.datagrams_from_board);
    assert!(stats.datagrams_dropped > 0 && stats.datagrams_from_board > 0);
}
