//! Tests of TCP, DHCP and ping between the PC and a second stack as the board.

use crate::common;

use std::net::{Ipv4Addr, SocketAddrV4};

use common::*;
use lan::{ConnectionState, Fate, Faults, FrameRecord, Lan, LanConfig, wire_time_ps};
use sim::{AppReply, PS_PER_MS, PS_PER_S, PS_PER_US, Ps};
use smoltcp::socket::{dhcpv4, tcp};

/// A frame of at most 60 bytes.
const SHORT: Ps = 5_760_000;
/// SYN with its options (segment size, window scale, selective ACK): 66 bytes.
const SYN_FRAME: Ps = 6_240_000;
const ROUND_TRIP: Ps = 2 * SHORT + 200 * PS_PER_US;

fn board() -> Board {
    Board::with_address(Lan::new(sim::with!(LanConfig::default(), tcp_echo_port: Some(7))))
}

/// Sends `messages` numbers and checks every answer; returns the time of each round trip.
fn play(board: &mut Board, handle: smoltcp::iface::SocketHandle, messages: u64, deadline: Ps) -> Vec<Ps> {
    let mut times = Vec::new();
    for message in 0..messages {
        let start = board.now;
        let number = 2 * message + 1;
        board.tcp(handle).send_slice(number.to_string().as_bytes()).unwrap();
        let expected = (number + 1).to_string();
        let mut answer = Vec::new();
        board.run_until(deadline, "the answer", |board| {
            answer.extend(board.received(handle));
            answer.len() >= expected.len()
        });
        assert_eq!(answer, expected.as_bytes());
        times.push(board.now - start);
    }
    times
}

#[test]
fn a_thousand_messages_take_exact_times() {
    let mut board = board();
    let (record, app) = recorder(ping_pong);
    board.lan.listen(5000, app).unwrap();
    let handle = board.connect(40_000, 5000);
    let connected = board.run_until(PS_PER_S, "connect", |board| board.tcp(handle).may_send());
    // ARP request, ARP reply, SYN, SYN-ACK.
    assert_eq!(connected, 2 * SHORT + 2 * SYN_FRAME);
    // The ACK of the handshake occupies the board's side of the wire, followed by its gap.
    board.run_to(PS_PER_MS);
    let times = play(&mut board, handle, 1000, PS_PER_S);
    assert_eq!(board.now, PS_PER_MS + 1000 * ROUND_TRIP);
    assert!(times.iter().all(|&time| time == ROUND_TRIP));

    board.tcp(handle).close();
    board.run_to(2 * PS_PER_S);
    assert_eq!(board.tcp(handle).state(), tcp::State::TimeWait);
    assert_eq!(board.lan.connections(), []);
    let told = record.lock().unwrap();
    assert_eq!(told.len(), 1002);
    assert_eq!(told[0], Told::Accept(1, SocketAddrV4::new(BOARD, 40_000), 3 * SHORT + 2 * SYN_FRAME));
    assert!(matches!(told[1001], Told::Closed(1, _, at) if at == PS_PER_MS + 1000 * ROUND_TRIP + SHORT));
}

#[test]
fn turnaround_is_configurable_down_to_zero() {
    for us in [0, 1, 585, 100_000] {
        let config = sim::with!(LanConfig::default(), turnaround_ps: us * PS_PER_US);
        let mut board = Board::with_address(Lan::new(config));
        board.lan.listen(5000, recorder(ping_pong).1).unwrap();
        let handle = board.connect(40_000, 5000);
        board.run_to(PS_PER_MS);
        let times = play(&mut board, handle, 10, 10 * PS_PER_S);
        // Bare ACKs are sent long before the answer, but that of the first message may still be on the wire when it
        // starts.
        assert!(times[0] <= 3 * SHORT + us * PS_PER_US + 960_000, "{us} us: {times:?}");
        assert!(times[1..].iter().all(|&time| time == 2 * SHORT + us * PS_PER_US), "{us} us: {times:?}");
    }
}

#[test]
fn many_connections_at_once_and_no_more_than_allowed() {
    let config = sim::with!(LanConfig::default(), max_connections: 40);
    let mut board = Board::with_address(Lan::new(config));
    let (record, app) = recorder(ping_pong);
    board.lan.listen(5000, app).unwrap();
    let handles: Vec<_> = (0..50).map(|i| board.connect(40_000 + i, 5000)).collect();
    board.run_to(100 * PS_PER_MS);
    let open = handles.iter().filter(|&&handle| board.tcp(handle).may_send()).count();
    assert_eq!((open, board.lan.connections().len()), (40, 40));
    for (index, &handle) in handles[..40].iter().enumerate() {
        board.tcp(handle).send_slice((2 * index + 1).to_string().as_bytes()).unwrap();
    }
    board.run_to(200 * PS_PER_MS);
    for (index, &handle) in handles[..40].iter().enumerate() {
        assert_eq!(board.received(handle), (2 * index + 2).to_string().as_bytes());
    }
    // Closing makes room: the ten that were dropped connect with their repeated SYN.
    for &handle in &handles[..40] {
        board.tcp(handle).close();
    }
    board.run_to(5 * PS_PER_S);
    assert!(handles[40..].iter().all(|&handle| board.sockets.get::<tcp::Socket>(handle).may_send()));
    let accepted = record.lock().unwrap().iter().filter(|told| matches!(told, Told::Accept(..))).count();
    assert_eq!(accepted, 50);
}

#[test]
fn a_closed_port_refuses_and_an_app_may_reset() {
    let mut board = board();
    board.lan.listen(5000, recorder(|_| AppReply { reset: true, ..AppReply::default() }).1).unwrap();
    let refused = board.connect(40_000, 81);
    let reset = board.connect(40_001, 5000);
    board.run_to(PS_PER_MS);
    assert_eq!(board.tcp(refused).state(), tcp::State::Closed);
    assert_eq!(board.tcp(reset).state(), tcp::State::Established);
    board.tcp(reset).send_slice(b"x").unwrap();
    let at = board.run_until(PS_PER_S, "the reset", |board| board.tcp(reset).state() == tcp::State::Closed);
    assert_eq!(at, PS_PER_MS + ROUND_TRIP);
    assert_eq!(board.lan.connections(), []);
}

#[test]
fn the_app_closes_after_its_answer() {
    let mut board = board();
    let (record, app) = recorder(|_| AppReply { data: b"bye".to_vec(), close: true, ..AppReply::default() });
    board.lan.listen(5000, app).unwrap();
    let handle = board.connect(40_000, 5000);
    board.run_to(PS_PER_MS);
    board.tcp(handle).send_slice(b"x").unwrap();
    board.run_until(PS_PER_S, "FIN", |board| board.tcp(handle).state() == tcp::State::CloseWait);
    assert_eq!(board.received(handle), b"bye");
    // Data after the application has closed is discarded.
    board.tcp(handle).send_slice(b"late").unwrap();
    board.run_to(500 * PS_PER_MS);
    board.tcp(handle).close();
    board.run_to(PS_PER_S);
    assert_eq!(board.tcp(handle).state(), tcp::State::Closed);
    assert_eq!(board.lan.connections()[0].state, ConnectionState::TimeWait);
    // The same port again: a SYN ends TIME-WAIT.
    let again = board.connect(40_000, 5000);
    board.run_to(PS_PER_S + PS_PER_MS);
    assert!(board.tcp(again).may_send());
    board.run_to(20 * PS_PER_S);
    assert_eq!(board.lan.connections().len(), 1);
    let told = record.lock().unwrap().clone();
    let kinds: Vec<u64> =
        told.iter().filter_map(|told| if let Told::Closed(conn, ..) = told { Some(*conn) } else { None }).collect();
    assert_eq!(kinds, [1]);
}

#[test]
fn a_client_that_resets_or_vanishes_is_forgotten() {
    let mut board = board();
    let (record, app) = recorder(|_| AppReply { data: b"bye".to_vec(), close: true, ..AppReply::default() });
    board.lan.listen(5000, app).unwrap();
    let resets = board.connect(40_000, 5000);
    let vanishes = board.connect(40_001, 5000);
    board.run_to(PS_PER_MS);
    board.tcp(resets).abort();
    board.tcp(vanishes).send_slice(b"x").unwrap();
    board.run_to(PS_PER_MS + 100 * PS_PER_US);
    assert!(record.lock().unwrap().contains(&Told::Closed(1, true, PS_PER_MS + SHORT)));
    // The second board is absent: FIN and "bye" are never acknowledged, and after 60 s the PC forgets the connection.
    frames_until(&mut board.lan, 50 * PS_PER_S);
    assert_eq!(board.lan.connections().len(), 1);
    frames_until(&mut board.lan, 62 * PS_PER_S);
    assert_eq!(board.lan.connections(), []);
    assert!(matches!(record.lock().unwrap()[..], [.., Told::Closed(2, true, at)] if at > 60 * PS_PER_S));
    assert_eq!(board.lan.next_event(), None);
}

#[test]
fn an_idle_connection_lives_for_ever_and_costs_no_events() {
    let mut board = board();
    let handle = board.connect(40_000, 7);
    board.run_to(PS_PER_S);
    assert_eq!(board.lan.next_event(), None);
    board.run_to(5000 * PS_PER_S);
    board.tcp(handle).send_slice(b"still there?").unwrap();
    board.run_to(5001 * PS_PER_S);
    assert_eq!(board.received(handle), b"still there?");
}

/// Echoes `len` bytes through a 16 KB board; returns when the last byte was received.
fn echo(board: &mut Board, len: usize, deadline: Ps) -> Ps {
    let handle = board.connect(40_000, 7);
    let data: Vec<u8> = (0..len).map(|i| (i * 7 / 3) as u8).collect();
    let (mut sent, mut back) = (0, Vec::new());
    let at = board.run_until(deadline, "the echo", |board| {
        let socket = board.tcp(handle);
        if socket.may_send() {
            sent += socket.send_slice(&data[sent..]).unwrap();
        }
        back.extend(board.received(handle));
        back.len() >= len
    });
    assert!(back == data, "the echo differs");
    at
}

#[test]
fn bulk_data_is_cut_into_full_segments_and_fills_the_wire() {
    let mut board = board();
    let log = board.lan.log_frames(100_000);
    let len = 1_000_000;
    let took = echo(&mut board, len, PS_PER_S);
    let log = board.lan.take_log(&log);
    let sizes = |to_board: bool| {
        log.iter().filter(|record| record.to_board == to_board).map(|record| record.frame.len()).max().unwrap()
    };
    assert_eq!((sizes(false), sizes(true)), (1514, 1514));
    // 100 Mbit/s carry 1460 of 1538 byte times, so 1 MB takes 84.3 ms one way; the board's 16 KB window is the limit.
    assert!(took > 84 * PS_PER_MS && took < 400 * PS_PER_MS, "{} us", took / PS_PER_US);
    let mut free_at = [0, 0];
    for record in &log {
        let side = usize::from(record.to_board);
        assert!(record.start >= free_at[side] && record.fate == Fate::Delivered);
        assert_eq!(record.arrival, record.start + wire_time_ps(record.frame.len()));
        free_at[side] = record.arrival + 12 * 80_000;
    }
}

#[test]
fn lost_frames_are_retransmitted_until_all_data_arrived() {
    let run = |seed| {
        let mut board = board();
        let faults = Faults { seed, loss_from_board_per_mille: 50, loss_to_board_per_mille: 50, ..Faults::default() };
        board.lan.set_faults(faults).unwrap();
        let took = echo(&mut board, 200_000, 600 * PS_PER_S);
        (took, board.lan.stats())
    };
    let (took, stats) = run(5);
    assert!(stats.lost > 10, "{stats:?}");
    assert!(took > PS_PER_S / 10, "a lost frame costs a retransmission timeout");
    assert_eq!(run(5), (took, stats));
    assert_ne!(run(6).0, took);
}

#[test]
fn one_cut_costs_one_retransmission_timeout() {
    let mut board = board();
    board.lan.listen(5000, recorder(ping_pong).1).unwrap();
    let handle = board.connect(40_000, 5000);
    board.run_to(PS_PER_MS);
    let cut = (PS_PER_MS + 100 * PS_PER_US, PS_PER_MS + 400 * PS_PER_US);
    board.lan.set_faults(Faults { down: vec![cut], ..Faults::default() }).unwrap();
    assert!(board.lan.cable_up(board.now));
    assert_eq!(board.lan.next_cable_change(board.now), Some(cut.0));
    assert!(!board.lan.cable_up(cut.0) && board.lan.cable_up(cut.1));
    // The answer falls into the cut; the side whose timer expires first repeats after 1 s (RFC 6298).
    let times = play(&mut board, handle, 2, 10 * PS_PER_S);
    assert_eq!(board.lan.stats().lost, 1);
    assert!(times[0] > PS_PER_S && times[0] < PS_PER_S + PS_PER_MS, "{times:?}");
    assert_eq!(times[1], ROUND_TRIP);
}

#[test]
fn dhcp_gives_an_address_in_four_messages_and_renews_it() {
    let mut board = Board::new(Lan::new(LanConfig::default()));
    let log = board.lan.log_frames(100);
    let handle = board.sockets.add(dhcpv4::Socket::new());
    let mut offered = None;
    let at = board.run_until(PS_PER_S, "the lease", |board| {
        // An offer is no address yet.
        assert_eq!(board.lan.board_address().is_some(), board.lan.leases().iter().any(|lease| lease.bound));
        if let Some(dhcpv4::Event::Configured(config)) = board.sockets.get_mut::<dhcpv4::Socket>(handle).poll() {
            assert_eq!(config.router, Some(PC));
            assert_eq!(config.dns_servers.as_slice(), [PC]);
            offered = Some(config.address);
        }
        offered.is_some()
    });
    let address = offered.unwrap().address();
    assert_eq!((address, offered.unwrap().prefix_len()), (Ipv4Addr::new(192, 168, 50, 100), 24));
    // DISCOVER, turnaround, OFFER, REQUEST, turnaround, ACK.
    let log = board.lan.take_log(&log);
    let wire: Ps = log.iter().map(|record| wire_time_ps(record.frame.len())).sum();
    assert_eq!((log.len(), at), (4, wire + 400 * PS_PER_US));
    // BOOTP's fixed 300 bytes after UDP, IP and Ethernet headers.
    assert_eq!(log[3].frame.len(), 300 + 42);
    assert_eq!(log[3].frame[..6], BOARD_MAC);

    board.set_address(address);
    board.run_to(2 * 3600 * PS_PER_S);
    let leases = board.lan.leases();
    assert_eq!((leases.len(), leases[0].mac, leases[0].address, leases[0].bound), (1, BOARD_MAC, address, true));
    assert!(leases[0].expires > 2 * 3600 * PS_PER_S, "renewed every half lease");
}

#[test]
fn the_pc_connects_to_a_server_on_the_board() {
    let mut board = board();
    let handle = board.tcp_socket();
    board.tcp(handle).listen(8080).unwrap();
    let (record, app) = recorder(|_| AppReply::default());
    let peer = SocketAddrV4::new(BOARD, 8080);
    let conn = board.lan.connect(0, 0, peer, app).unwrap();
    let (refused, refused_app) = recorder(|_| AppReply::default());
    board.lan.connect(0, 0, SocketAddrV4::new(BOARD, 8081), refused_app).unwrap();
    // The first connect resolves the board's address; the second one's ARP request is limited to one per second.
    board.run_to(2 * PS_PER_S);
    assert!(
        matches!(record.lock().unwrap()[..], [Told::Accept(1, told, at)] if told == peer && at == 2 * SHORT + 2 * SYN_FRAME)
    );
    assert!(matches!(refused.lock().unwrap()[..], [Told::Closed(2, true, _)]));
    assert!(board.lan.send(board.now, conn, b"GET"));
    let at = board.run_until(3 * PS_PER_S, "the request", |board| board.tcp(handle).can_recv());
    assert_eq!((at, board.received(handle)), (2 * PS_PER_S + SHORT, b"GET".to_vec()));
    assert!(board.lan.send_at(board.now, at + PS_PER_MS, conn, b"more"));
    let later = board.run_until(3 * PS_PER_S, "the rest", |board| board.tcp(handle).can_recv());
    assert_eq!((later, board.received(handle)), (at + PS_PER_MS + SHORT, b"more".to_vec()));
    board.tcp(handle).send_slice(b"200").unwrap();
    board.run_to(3 * PS_PER_S);
    assert!(matches!(&record.lock().unwrap()[..], [.., Told::Receive(1, data, _)] if data == b"200"));
    assert!(board.lan.close(board.now, conn));
    assert!(!board.lan.send(board.now, conn, b"more"));
    board.run_to(4 * PS_PER_S);
    assert_eq!(board.tcp(handle).state(), tcp::State::CloseWait);
    assert!(board.lan.reset(board.now, conn));
    board.run_to(5 * PS_PER_S);
    assert_eq!(board.tcp(handle).state(), tcp::State::Closed);
    assert!(!board.lan.reset(board.now, conn));
    assert_eq!(board.lan.connections(), []);
}

/// A program on the PC that sends `hello`, closes at the first answer and opens another connection, `left` times.
struct Caller {
    record: Record,
    left: u32,
    accepted: bool,
}

const HELLO: &[u8] = b"hello";
const AGAIN: Ps = 300 * PS_PER_US;

impl Caller {
    fn again(&mut self) -> Option<Ps> {
        self.left = self.left.checked_sub(1)?;
        self.accepted = false;
        Some(AGAIN)
    }
}

impl sim::TcpApp for Caller {
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) -> AppReply {
        self.accepted = true;
        self.record.lock().unwrap().push(Told::Accept(conn, peer, now));
        AppReply::send(HELLO)
    }

    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply {
        self.record.lock().unwrap().push(Told::Receive(conn, data.to_vec(), now));
        AppReply { close: true, again: self.again(), ..AppReply::default() }
    }

    fn closed(&mut self, conn: u64, reset: bool, now: Ps) -> AppReply {
        self.record.lock().unwrap().push(Told::Closed(conn, reset, now));
        let again = if self.accepted { None } else { self.again() };
        AppReply { again, ..AppReply::default() }
    }
}

#[test]
fn a_caller_speaks_first_and_opens_the_next_connection_on_time() {
    let mut board = board();
    let (record, start, turnaround) = (Record::default(), PS_PER_S, 200 * PS_PER_US);
    let peer = SocketAddrV4::new(BOARD, 8080);
    let caller = Box::new(Caller { record: record.clone(), left: 2, accepted: false });
    assert_eq!(board.lan.connect(0, start, peer, caller).unwrap(), 1);
    assert_eq!(board.lan.next_event(), Some(start));
    let mut opened = start;
    for conn in 1..=3 {
        let handle = board.tcp_socket();
        board.tcp(handle).listen(8080).unwrap();
        let asked = board.run_until(opened + PS_PER_S, "the question", |board| board.tcp(handle).can_recv());
        assert_eq!(board.received(handle), HELLO);
        let arp = if conn == 1 { 2 * SHORT } else { 0 };
        let accepted = opened + arp + 2 * SYN_FRAME;
        // The handshake's ACK is sent before its data.
        assert_eq!(asked, accepted + turnaround + SHORT);
        board.tcp(handle).send_slice(b"x").unwrap();
        let closed = board.run_until(opened + PS_PER_S, "FIN", |board| !board.tcp(handle).may_recv());
        let answered = asked + SHORT;
        assert_eq!(closed, answered + turnaround + SHORT);
        let told = record.lock().unwrap().clone();
        assert_eq!(
            told[told.len() - 2..],
            [Told::Accept(conn, peer, accepted), Told::Receive(conn, b"x".to_vec(), answered),]
        );
        opened = answered + turnaround + AGAIN;
        board.tcp(handle).close();
    }
    board.run_to(opened + PS_PER_S);
    // Only the last connection's end is reported: before the other ends, the application moved on to the next one.
    assert!(matches!(record.lock().unwrap()[6..], [Told::Closed(3, false, _)]));
}

#[test]
fn a_refused_caller_may_try_again() {
    let mut board = board();
    let record = Record::default();
    let peer = SocketAddrV4::new(BOARD, 8080);
    let caller = Box::new(Caller { record: record.clone(), left: 3, accepted: false });
    board.lan.connect(0, 0, peer, caller).unwrap();
    board.run_to(PS_PER_MS);
    let handle = board.tcp_socket();
    board.tcp(handle).listen(8080).unwrap();
    board.run_to(20 * PS_PER_MS);
    assert_eq!(board.received(handle), HELLO);
    let told = record.lock().unwrap().clone();
    let refused: Vec<Ps> =
        told.iter().filter_map(|told| if let Told::Closed(_, true, at) = told { Some(*at) } else { None }).collect();
    assert_eq!(refused.len(), 2);
    assert_eq!(refused[1] - refused[0], 200 * PS_PER_US + AGAIN + SYN_FRAME + SHORT);
    assert!(matches!(told[2..], [Told::Accept(3, ..)]));
}

#[test]
fn a_caller_without_room_is_closed_and_an_invalid_peer_is_refused() {
    let config = sim::with!(LanConfig::default(), max_connections: 1);
    let mut board = Board::with_address(Lan::new(config));
    let peer = SocketAddrV4::new(BOARD, 8080);
    board.lan.connect(0, 0, peer, recorder(|_| AppReply::default()).1).unwrap();
    let (record, app) = recorder(|_| AppReply::default());
    board.lan.connect(0, PS_PER_MS, peer, app).unwrap();
    frames_until(&mut board.lan, 2 * PS_PER_MS);
    assert_eq!(*record.lock().unwrap(), [Told::Closed(2, true, PS_PER_MS)]);
    for invalid in [SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 80), SocketAddrV4::new(BOARD, 0)] {
        let error = board.lan.connect(0, 0, invalid, recorder(|_| AppReply::default()).1).unwrap_err();
        assert_eq!(error.to_string(), format!("invalid peer {invalid}: use ADDRESS:PORT"));
    }
}

#[test]
fn the_pc_pings_the_board() {
    let mut board = board();
    assert!(board.lan.ping(0, 0, BOARD, 3, b"abc"));
    board.run_to(PS_PER_S);
    let replies = board.lan.take_ping_replies();
    assert_eq!(replies.len(), 1);
    let reply = &replies[0];
    assert_eq!((reply.from, reply.sequence, &reply.data[..]), (BOARD, 3, &b"abc"[..]));
    // ARP request and reply, echo request and reply.
    assert_eq!((reply.sent, reply.received), (0, 4 * SHORT));
    assert!(!board.lan.ping(PS_PER_S, PS_PER_S, BOARD, 4, &[0; 1473]));
}

#[test]
fn ports_are_checked() {
    let mut board = board();
    let error = |result: Result<(), sim::SettingError>| result.unwrap_err().to_string();
    assert!(error(board.lan.listen(7, recorder(ping_pong).1)).contains("TCP port 7 of the simulated PC is in use"));
    assert!(error(board.lan.listen(0, recorder(ping_pong).1)).contains("port 0"));
    assert!(error(board.lan.udp_listen(67, Box::new(lan::UdpEcho))).contains("UDP port 67"));
    assert!(error(board.lan.udp_listen(53, Box::new(lan::UdpEcho))).contains("UDP port 53"));
    assert!(error(board.lan.udp_listen(0, Box::new(lan::UdpEcho))).contains("port 0"));
}

/// A snapshot repeats the frames of the board. It names whatever else a LAN's past depends on.
#[test]
fn a_past_that_cannot_be_repeated_is_refused_with_its_reason() {
    const PROGRAM: &str = "exchanged data with a program on the PC";
    let silent = || recorder(|_| AppReply::default()).1;
    type Act<'a> = &'a dyn Fn(&mut Board);
    let connect = |board: &mut Board, port| {
        board.lan.listen(5000, silent()).unwrap();
        board.connect(40_000, port);
        board.run_to(PS_PER_MS);
    };
    let acts: [(Option<&str>, Act); 11] = [
        (None, &|board| connect(board, 7)),
        (None, &|board| assert!(!board.lan.unlisten(81))),
        (Some("a bridge to this machine's sockets"), &|board| {
            let bridge = Some(lan::BridgeConfig::new(Vec::new()));
            board.lan = Lan::new(sim::with!(LanConfig::default(), bridge));
        }),
        (Some(PROGRAM), &|board| connect(board, 5000)),
        (Some(PROGRAM), &|board| board.lan.udp_listen(4000, Box::new(lan::UdpEcho)).unwrap()),
        (Some(PROGRAM), &|board| assert!(board.lan.connect(0, 0, SocketAddrV4::new(BOARD, 80), silent()).is_ok())),
        (Some(PROGRAM), &|board| assert!(!board.lan.send(0, 1, b""))),
        (Some(PROGRAM), &|board| assert!(!board.lan.udp_send(0, 4000, SocketAddrV4::new(BOARD, 80), b""))),
        (Some("been pinged"), &|board| assert!(board.lan.ping(0, 0, BOARD, 1, b""))),
        (Some("closed the PC's own port"), &|board| assert!(board.lan.unlisten(7))),
        (Some("a capture of its frames"), &|board| board.lan.capture_into(Box::new(Shared::default())).unwrap()),
    ];
    for (index, (reason, act)) in acts.into_iter().enumerate() {
        let mut board = board();
        act(&mut board);
        let refused = board.lan.save(&mut Vec::new()).err().map(|refused| refused.0);
        assert_eq!(refused.as_deref(), reason, "act {index}");
    }
}

/// Returns every frame that reached the board: when it was queued, sent and received, and its bytes.
fn to_board(log: Vec<FrameRecord>) -> Vec<FrameRecord> {
    log.into_iter().filter(|record| record.to_board).collect()
}

#[test]
fn the_size_of_time_steps_does_not_matter() {
    let lan = || {
        let mut lan = Lan::new(sim::with!(LanConfig::default(), tcp_echo_port: Some(7)));
        lan.listen(5000, recorder(ping_pong).1).unwrap();
        let log = lan.log_frames(1_000_000);
        (lan, log)
    };
    let (lan_of_board, log) = lan();
    let mut board = Board::with_address(lan_of_board);
    let handle = board.connect(40_001, 5000);
    board.run_until(PS_PER_S, "connect", |board| board.tcp(handle).may_send());
    play(&mut board, handle, 20, PS_PER_S);
    board.tcp(handle).close();
    echo(&mut board, 50_000, PS_PER_S);
    let end = board.now + 50 * PS_PER_MS;
    board.run_to(end);
    let log = board.lan.take_log(&log);
    let inputs: Vec<FrameRecord> = log.iter().filter(|record| !record.to_board).cloned().collect();
    let expected = to_board(log);
    assert!(inputs.len() > 60 && expected.len() > 60);

    for step in [PS_PER_US / 3, 7 * PS_PER_US, PS_PER_S] {
        let (mut lan, log) = lan();
        let mut now = 0;
        for input in &inputs {
            while now + step < input.queued {
                now += step;
                lan.advance(now);
            }
            lan.from_board(input.queued, &input.frame);
        }
        lan.advance(end);
        assert_eq!(to_board(lan.take_log(&log)), expected, "in steps of {step} ps");
    }
}
