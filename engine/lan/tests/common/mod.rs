//! A test board: a second `smoltcp` stack without delays, at the other end of the cable.
#![allow(dead_code)] // each test file uses its own part

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex};

use lan::Lan;
use sim::{AppReply, PS_PER_US, Ps, TcpApp};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

pub(crate) const PC_MAC: [u8; 6] = [0x02, 0x50, 0x42, 0, 0, 1];
pub(crate) const BOARD_MAC: [u8; 6] = [0x00, 0x08, 0xdc, 1, 2, 3];
pub(crate) const PC: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 1);
pub(crate) const BOARD: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 9);

#[derive(Default)]
pub(crate) struct Wire {
    rx: VecDeque<Vec<u8>>,
    tx: VecDeque<Vec<u8>>,
}

pub(crate) struct Rx(Vec<u8>);
pub(crate) struct Tx<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        Some((Rx(self.rx.pop_front()?), Tx(&mut self.tx)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        Some(Tx(&mut self.tx))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

pub(crate) struct Board {
    pub lan: Lan,
    pub now: Ps,
    pub interface: Interface,
    pub sockets: SocketSet<'static>,
    wire: Wire,
}

fn instant(now: Ps) -> Instant {
    Instant::from_micros((now / PS_PER_US) as i64)
}

impl Board {
    /// Creates a board without an address: see [`Board::set_address`] or a DHCP socket.
    pub(crate) fn new(lan: Lan) -> Self {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(BOARD_MAC)));
        config.random_seed = 99;
        let interface = Interface::new(config, &mut wire, instant(0));
        Self { lan, now: 0, interface, sockets: SocketSet::new(Vec::new()), wire }
    }

    pub(crate) fn with_address(lan: Lan) -> Self {
        let mut board = Self::new(lan);
        board.set_address(BOARD);
        board
    }

    pub(crate) fn set_address(&mut self, address: Ipv4Addr) {
        self.interface.update_ip_addrs(|table| {
            table.clear();
            table.push(IpCidr::new(IpAddress::Ipv4(address), 24)).unwrap();
        });
    }

    pub(crate) fn tcp_socket(&mut self) -> SocketHandle {
        let buffer = || tcp::SocketBuffer::new(vec![0; 16 * 1024]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(Some(Duration::from_millis(10)));
        self.sockets.add(socket)
    }

    pub(crate) fn connect(&mut self, local_port: u16, port: u16) -> SocketHandle {
        let handle = self.tcp_socket();
        let socket = self.sockets.get_mut::<tcp::Socket>(handle);
        socket.connect(self.interface.context(), (IpAddress::Ipv4(PC), port), local_port).unwrap();
        handle
    }

    pub(crate) fn tcp(&mut self, handle: SocketHandle) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(handle)
    }

    /// Sends what the board's stack has to send, at the present time.
    pub(crate) fn flush(&mut self) {
        let time = instant(self.now);
        while self.interface.poll(time, &mut self.wire, &mut self.sockets) == PollResult::SocketStateChanged {}
        while let Some(frame) = self.wire.tx.pop_front() {
            self.lan.from_board(self.now, &frame);
        }
    }

    /// Advances to the next event of either side, but not beyond `end`. Returns false if `end` was reached.
    pub(crate) fn step(&mut self, end: Ps) -> bool {
        self.flush();
        let time = instant(self.now);
        let own = self.interface.poll_at(time, &self.sockets);
        let own = own.map(|at| (at.total_micros() as u64 * PS_PER_US).max(self.now + PS_PER_US));
        let next = [own, self.lan.next_event()].into_iter().flatten().min().unwrap_or(Ps::MAX);
        assert!(next > self.now, "an event at {next} is not after {}", self.now);
        self.now = next.min(end);
        self.lan.advance(self.now);
        while let Some(frame) = self.lan.to_board(self.now) {
            self.wire.rx.push_back(frame);
        }
        self.flush();
        next <= end
    }

    /// Runs until `done`; panics at `deadline`.
    pub(crate) fn run_until(&mut self, deadline: Ps, what: &str, mut done: impl FnMut(&mut Self) -> bool) -> Ps {
        loop {
            if done(self) {
                return self.now;
            }
            assert!(self.step(deadline), "{what} did not happen before {} us", deadline / PS_PER_US);
        }
    }

    pub(crate) fn run_to(&mut self, end: Ps) {
        while self.step(end) {}
    }

    /// Returns the data that the socket has received so far.
    pub(crate) fn received(&mut self, handle: SocketHandle) -> Vec<u8> {
        let socket = self.tcp(handle);
        let mut data = Vec::new();
        while socket.can_recv() {
            socket
                .recv(|part| {
                    data.extend_from_slice(part);
                    (part.len(), ())
                })
                .unwrap();
        }
        data
    }
}

/// The calls that an application received, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Accept(u64, SocketAddrV4, Ps),
    Receive(u64, Vec<u8>, Ps),
    /// Connection, whether it was reset, and when.
    Closed(u64, bool, Ps),
}

pub(crate) type Record = Arc<Mutex<Vec<Told>>>;

/// An application that answers with `answer` and records its calls.
pub(crate) struct Recorder<F> {
    pub record: Record,
    pub answer: F,
}

pub(crate) fn recorder<F: FnMut(&[u8]) -> AppReply>(answer: F) -> (Record, Box<Recorder<F>>) {
    let record = Record::default();
    (record.clone(), Box::new(Recorder { record, answer }))
}

impl<F: FnMut(&[u8]) -> AppReply + Send> TcpApp for Recorder<F> {
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) -> AppReply {
        self.record.lock().unwrap().push(Told::Accept(conn, peer, now));
        AppReply::default()
    }

    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply {
        self.record.lock().unwrap().push(Told::Receive(conn, data.to_vec(), now));
        (self.answer)(data)
    }

    fn closed(&mut self, conn: u64, reset: bool, now: Ps) -> AppReply {
        self.record.lock().unwrap().push(Told::Closed(conn, reset, now));
        AppReply::default()
    }
}

/// Answers each number with the next one: the ping-pong of docs/architecture.md.
pub(crate) fn ping_pong(data: &[u8]) -> AppReply {
    let number: u64 = std::str::from_utf8(data).unwrap().parse().unwrap();
    AppReply::send((number + 1).to_string())
}

/// A file in memory.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Computes the one's complement sum of RFC 1071.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

pub(crate) fn ethernet(dst: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&dst[..], &BOARD_MAC, &ethertype.to_be_bytes(), payload].concat()
}

pub(crate) fn arp(operation: u8, sender: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let payload = [&[0, 1, 8, 0, 6, 4, 0, operation][..], &BOARD_MAC, &sender.octets(), &[0; 6], &target.octets()];
    ethernet([0xff; 6], 0x0806, &payload.concat())
}

pub(crate) fn ipv4(protocol: u8, src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend((20 + payload.len() as u16).to_be_bytes());
    header.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
    header.extend(src.octets());
    header.extend(dst.octets());
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [header, payload.to_vec()].concat()
}

/// A TCP segment without options from the board to the PC.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub port: u16,
    pub peer_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;

impl Segment {
    pub(crate) fn frame(self, data: &[u8]) -> Vec<u8> {
        let mut tcp = Vec::new();
        tcp.extend(self.port.to_be_bytes());
        tcp.extend(self.peer_port.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([0x50, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(data);
        let pseudo = [&BOARD.octets()[..], &PC.octets(), &[0, 6], &(tcp.len() as u16).to_be_bytes()].concat();
        let sum = checksum(&[&pseudo, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        ethernet(PC_MAC, 0x0800, &ipv4(6, BOARD, PC, &tcp))
    }
}

/// A TCP segment as it arrives at the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub data: Vec<u8>,
}

pub(crate) fn parse_tcp(frame: &[u8]) -> Option<Seen> {
    if frame[12..14] != [8, 0] || frame[23] != 6 {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let tcp = &frame[34..14 + total];
    let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
    Some(Seen {
        seq: word(4),
        ack: word(8),
        flags: tcp[13] & 0x1f,
        window: u16::from_be_bytes([tcp[14], tcp[15]]),
        data: tcp[usize::from(tcp[12] >> 4) * 4..].to_vec(),
    })
}

/// Returns every frame that reaches the board up to `end`, with the picosecond at which it can first be taken.
pub(crate) fn frames_until(lan: &mut Lan, end: Ps) -> Vec<(Ps, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some(at) = lan.next_event().filter(|&at| at <= end) {
        lan.advance(at);
        while let Some(frame) = lan.to_board(at) {
            frames.push((at, frame));
        }
        assert!(lan.next_event().is_none_or(|next| next > at));
    }
    lan.advance(end);
    frames
}
