//! The chip against smoltcp's TCP over a wire with delay and loss: an independent implementation of the protocol must
//! exchange every byte with it.

use super::support::*;
use smoltcp::iface::{Config as IfaceConfig, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use std::collections::VecDeque;

#[derive(Default)]
struct Wire {
    to_peer: VecDeque<(u64, Vec<u8>)>,
    to_board: VecDeque<(u64, Vec<u8>)>,
    now: u64,
}

struct Rx(Vec<u8>);
struct Tx<'a>(&'a mut Wire);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.to_board.push_back((self.0.now + 50 * US, frame));
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;
    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        let due = self.to_peer.front().is_some_and(|(at, _)| *at <= self.now);
        due.then(|| (Rx(self.to_peer.pop_front().unwrap().1), Tx(self)))
    }
    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(self))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

struct Bench {
    board: Board,
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    /// One in this many frames is lost, 0 for none; a fixed generator decides which.
    loss: u32,
    random: u32,
}

impl Bench {
    fn new(loss: u32) -> Self {
        let mut wire = Wire::default();
        let config = IfaceConfig::new(EthernetAddress(PEER_MAC).into());
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addrs| addrs.push(IpCidr::new(IpAddress::Ipv4(PEER.into()), 24)).unwrap());
        let buffer = || tcp::SocketBuffer::new(vec![0; 16384]);
        let mut sockets = SocketSet::new(vec![]);
        let handle = sockets.add(tcp::Socket::new(buffer(), buffer()));
        Self { board: Board::up(), wire, interface, sockets, handle, loss, random: 12345 }
    }

    fn lose(&mut self) -> bool {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.loss != 0 && (self.random >> 8).is_multiple_of(self.loss)
    }

    fn peer(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Advances by 100 us.
    fn step(&mut self) {
        self.board.run(100 * US);
        self.wire.now = self.board.now;
        for (at, frame) in self.board.frames() {
            if !self.lose() {
                self.wire.to_peer.push_back((at + 50 * US, frame));
            }
        }
        let now = Instant::from_micros((self.board.now / US) as i64);
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
        while self.wire.to_board.front().is_some_and(|(at, _)| *at <= self.board.now) {
            let (_, frame) = self.wire.to_board.pop_front().unwrap();
            if !self.lose() {
                self.board.arrive(&frame);
            }
        }
    }

    fn run_until(&mut self, what: &str, seconds: u64, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = self.board.now + seconds * SECOND;
        while !done(self) {
            assert!(self.board.now < deadline, "not within {seconds} s: {what}");
            self.step();
        }
    }
}

/// Connects, sends `total` bytes each way at once, compares them, and closes from the board's side.
fn exchange(mode: u8, loss: u32, total: usize) {
    let mut bench = Bench::new(loss);
    bench.peer().listen(PEER_PORT).unwrap();
    bench.board.open(0, mode, BOARD_PORT);
    bench.board.write(socket(0), DIPR, &PEER);
    bench.board.put16(socket(0), DPORT, PEER_PORT);
    bench.board.command(0, CONNECT);
    bench.run_until("connected", 10, |b| b.board.status(0) == ESTABLISHED);
    let pattern = |i: usize, salt: usize| (i * 31 + i / 251 + salt) as u8;
    let (mut sent_up, mut sent_down) = (0, 0);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    bench.board.write(socket(0), IR, &[0xFF]);
    let mut sending = false;
    bench.run_until("all bytes both ways", 300, |b| {
        if sending && b.board.ir(0) & IR_SEND_OK != 0 {
            b.board.clear_ir(0);
            sending = false;
        }
        if !sending && sent_up < total {
            let length = (total - sent_up).min(usize::from(b.board.get16(socket(0), TX_FSR))).min(1700);
            let data: Vec<u8> = (sent_up..sent_up + length).map(|i| pattern(i, 1)).collect();
            b.board.send(0, &data);
            sent_up += length;
            sending = true;
        }
        down.extend(b.board.recv(0, 1000));
        let peer = b.peer();
        while sent_down < total && peer.can_send() {
            let data: Vec<u8> = (sent_down..total.min(sent_down + 500)).map(|i| pattern(i, 2)).collect();
            sent_down += peer.send_slice(&data).unwrap();
        }
        while peer.can_recv() {
            peer.recv(|data| (data.len(), up.extend_from_slice(data))).unwrap();
        }
        up.len() == total && down.len() == total && !sending
    });
    assert!(up.iter().enumerate().all(|(i, &byte)| byte == pattern(i, 1)));
    assert!(down.iter().enumerate().all(|(i, &byte)| byte == pattern(i, 2)));
    bench.board.command(0, DISCON);
    bench.run_until("FIN at the peer", 60, |b| !b.peer().may_recv());
    bench.peer().close();
    bench.run_until("closed", 60, |b| b.board.status(0) == CLOSED);
    assert_eq!(bench.board.ir(0) & IR_TIMEOUT, 0);
}

#[test]
fn perfect_wire_without_delayed_ack() {
    exchange(0x21, 0, 200_000);
}

#[test]
fn perfect_wire_with_delayed_ack() {
    exchange(0x01, 0, 200_000);
}

#[test]
fn one_frame_in_twenty_lost() {
    exchange(0x21, 20, 60_000);
    exchange(0x01, 20, 60_000);
}

#[test]
fn smoltcp_connects_to_a_listening_socket_and_closes() {
    let mut bench = Bench::new(0);
    bench.board.open(0, 0x21, 80);
    bench.board.command(0, LISTEN);
    bench.step();
    let handle = bench.handle;
    bench
        .sockets
        .get_mut::<tcp::Socket>(handle)
        .connect(bench.interface.context(), (IpAddress::Ipv4(IP.into()), 80), 50_000)
        .unwrap();
    bench.run_until("accepted", 5, |b| b.board.status(0) == ESTABLISHED);
    bench.peer().send_slice(b"hello").unwrap();
    bench.run_until("received", 5, |b| b.board.get16(socket(0), RX_RSR) == 5);
    assert_eq!(bench.board.recv(0, 5), b"hello");
    bench.peer().close();
    bench.run_until("FIN seen", 5, |b| b.board.status(0) == CLOSE_WAIT);
    bench.board.command(0, DISCON);
    bench.run_until("closed", 5, |b| b.board.status(0) == CLOSED);
}
