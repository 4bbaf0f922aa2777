//! The simulated PC: one `smoltcp` interface with its services.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use sim::{AppReply, PS_PER_MS, Ps, SettingError, TcpApp};
use smoltcp::iface::{Config, Interface, PollResult, SocketSet};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

use crate::app::{TcpEcho, UdpApp, UdpEcho};
use crate::bridge::Bridge;
use crate::config::{LanConfig, is_host_address};
use crate::dhcp::{DhcpServer, Lease};
use crate::dns::{self, NameServer};
use crate::forward::{ForwardStats, ForwardTarget, Forwards, HostSocket};
use crate::nic::Nic;
use crate::ntp::{self, TimeServer};
use crate::peek::{self, Peek};
use crate::ping::{PingReply, Pinger};
use crate::tcp::{ConnectionInfo, Owner, TcpConfig, TcpConnections};
use crate::udp::UdpServices;
use crate::{instant, ps};

/// Time until the stack is polled again when it cannot send (a full queue).
const RETRY_PS: Ps = PS_PER_MS;
/// Most rounds of moving data at one instant. Each needs a frame or bytes to move, so the limit is far above any real
/// case.
const MAX_ROUNDS: usize = 100_000;
/// Most pending DHCP answers.
const MAX_DHCP_PENDING: usize = 256;

pub(crate) struct Pc {
    pub(crate) nic: Nic,
    mac: EthernetAddress,
    ip: Ipv4Addr,
    addresses: Vec<Ipv4Addr>,
    mask: Ipv4Addr,
    broadcast: Ipv4Addr,
    turnaround: Ps,
    dhcp_delay: Ps,
    peer_mss: Option<u16>,
    interface: Interface,
    sockets: SocketSet<'static>,
    tcp: TcpConnections,
    udp: UdpServices,
    pinger: Pinger,
    dhcp: Option<DhcpServer>,
    dhcp_out: VecDeque<(Ps, Vec<u8>)>,
    bridge: Option<Bridge>,
    forwards: Forwards,
    /// Source address of the board's last frame.
    board: Option<Ipv4Addr>,
    next_event: Option<Ps>,
    /// The TCP port that the PC itself serves.
    own_port: Option<u16>,
    /// A SYN has reached the port of a program.
    met_a_program: bool,
}

impl Pc {
    /// Creates the PC. `config` must be valid.
    pub(crate) fn new(config: &LanConfig) -> Self {
        let mac = EthernetAddress(config.pc_mac);
        let mut addresses = config.extra_addresses();
        addresses.insert(0, config.pc_ip);

        let mut nic = Nic::new();
        let mut stack = Config::new(HardwareAddress::Ethernet(mac));
        stack.random_seed = config.seed;
        let mut interface = Interface::new(stack, &mut nic, instant(0));
        interface.update_ip_addrs(|table| {
            for &address in &addresses {
                let cidr = IpCidr::new(IpAddress::Ipv4(address), config.prefix_len);
                table.push(cidr).expect("the configuration was checked to fit the table");
            }
        });

        let mut sockets = SocketSet::new(Vec::new());
        let mut tcp = TcpConnections::new(TcpConfig {
            max_connections: config.max_connections,
            buffer_bytes: config.tcp_buffer_bytes,
            delayed_ack_ps: config.delayed_ack_ps,
            quick_ack: config.quick_ack,
            turnaround_ps: config.turnaround_ps,
            turnarounds_ps: config.turnarounds_ps.clone(),
            seed: config.seed,
        });
        if let Some(port) = config.tcp_echo_port {
            tcp.listen(port, Box::new(TcpEcho));
        }
        let mut udp = UdpServices::new(addresses.clone());
        if let Some(port) = config.udp_echo_port {
            udp.listen(&mut sockets, port, Box::new(UdpEcho));
        }
        // DHCP announces the PC as name server, so it must answer even if it knows no name.
        udp.listen(&mut sockets, dns::PORT, Box::new(NameServer { answer: config.dns_answer }));
        if let Some(start_s) = config.ntp_start_s {
            let server = TimeServer { start_s, turnaround: config.turnaround_ps };
            udp.listen(&mut sockets, ntp::PORT, Box::new(server));
        }
        let pinger = Pinger::new(&mut sockets);
        let bridge = config.bridge.clone().map(Bridge::new);
        Self {
            nic,
            mac,
            ip: config.pc_ip,
            mask: config.mask(),
            broadcast: config.pc_ip | !config.mask(),
            addresses,
            turnaround: config.turnaround_ps,
            dhcp_delay: config.dhcp_delay_ps,
            peer_mss: config.peer_mss,
            interface,
            sockets,
            tcp,
            udp,
            pinger,
            dhcp: config.dhcp.clone().map(|dhcp| DhcpServer::new(dhcp, config.pc_ip, config.mask())),
            dhcp_out: VecDeque::new(),
            next_event: bridge.as_ref().map(Bridge::next_poll),
            bridge,
            forwards: Forwards::default(),
            board: None,
            own_port: config.tcp_echo_port,
            met_a_program: false,
        }
    }

    /// Returns the next time at which [`Pc::run`] has work; after `receive` or `run` at `now` it is later than `now`.
    pub(crate) fn next_event(&self) -> Option<Ps> {
        self.next_event
    }

    /// Passes a frame to the stack.
    pub(crate) fn receive(&mut self, now: Ps, mut frame: Vec<u8>) {
        if let Some(mss) = self.peer_mss {
            peek::set_mss(&mut frame, mss);
        }
        if let Some(sender) = peek::sender(&frame).filter(|&sender| self.is_neighbour(sender)) {
            self.board = Some(sender);
        }
        match peek::peek(&frame, self.mac) {
            Peek::Syn { from, to } => {
                self.receive_syn(now, from, to, frame);
                return self.settle(now, false);
            }
            Peek::Dhcp { to, payload } if self.dhcp.is_some() => {
                if to == self.ip || to == self.broadcast || to.is_broadcast() {
                    self.receive_dhcp(now, payload.to_vec());
                }
                return self.settle(now, false);
            }
            Peek::Tcp { from, to, segment } => self.tcp.arrives(&mut self.sockets, (to, from), segment, now),
            Peek::Probe { mac, address } if self.addresses.contains(&address) => {
                self.nic.send(peek::probe_reply(self.mac, address, mac));
            }
            _ => {}
        }
        self.give(now, frame);
        self.settle(now, false);
    }

    /// Does everything due at `now`.
    pub(crate) fn run(&mut self, now: Ps) {
        let open = self.tcp.has_host();
        let dialled = self.bridge.as_mut().and_then(|bridge| bridge.poll(now, open));
        let (board, room) = (self.board_address(), self.tcp.room(&self.sockets));
        let forwarded = self.forwards.poll(&mut self.sockets, now, board, room, open);
        let poll_host = dialled.is_some() || forwarded.is_some();
        for (to, host) in forwarded.into_iter().flatten() {
            self.tcp.dial_for_host(now, to, host, self.board == Some(*to.ip()));
        }
        for dialled in dialled.into_iter().flatten() {
            if let Some(stream) = dialled.stream {
                self.accept(now, dialled.from, dialled.to, dialled.syn, Owner::Host(stream));
            } else {
                // No socket listens for it, so the stack answers RST.
                self.give(now, dialled.syn);
            }
        }
        self.settle(now, poll_host);
    }

    fn receive_syn(&mut self, now: Ps, from: SocketAddrV4, to: SocketAddrV4, frame: Vec<u8>) {
        self.tcp.forget_time_wait(&mut self.sockets, to, from, now);
        // A SYN that crosses ours is a simultaneous open; before our SYN is sent, the stack does not know its window.
        if self.tcp.is_yet_to_call(&self.sockets, to, from) {
            return;
        }
        let ours = self.addresses.contains(to.ip());
        if !ours || self.tcp.is_known(to, from) {
            return self.give(now, frame);
        }
        if let Some(bridge) = &mut self.bridge
            && let Some(host) = bridge.target(to)
        {
            return bridge.dial(from, to, host, &frame, now);
        }
        if self.tcp.has_listener(to.port()) && *to.ip() == self.ip {
            self.met_a_program |= !self.is_own_port(to.port());
            return self.accept(now, from, to, frame, Owner::Port(to.port()));
        }
        self.give(now, frame);
    }

    /// Makes the stack accept one SYN. Without room it is dropped, as by a full backlog.
    fn accept(&mut self, now: Ps, from: SocketAddrV4, to: SocketAddrV4, syn: Vec<u8>, owner: Owner) {
        if self.tcp.make_room(&mut self.sockets, now) {
            self.tcp.expect(&mut self.sockets, to, from, owner, now);
            self.give(now, syn);
            // A socket that still listens (its SYN was malformed) is removed before another SYN can reach it.
            self.tcp.service(&mut self.sockets, now, false);
        }
    }

    fn receive_dhcp(&mut self, now: Ps, payload: Vec<u8>) {
        let reply = self.dhcp.as_mut().and_then(|dhcp| dhcp.receive(&payload, now));
        if let Some(reply) = reply
            && self.dhcp_out.len() < MAX_DHCP_PENDING
        {
            let frame = peek::dhcp_reply(self.mac, self.ip, reply.mac, reply.address, &reply.payload);
            self.dhcp_out.push_back((now + self.turnaround + self.dhcp_delay, frame));
        }
    }

    fn give(&mut self, now: Ps, frame: Vec<u8>) {
        self.nic.rx = Some(frame);
        self.interface.poll_ingress_single(instant(now), &mut self.nic, &mut self.sockets);
        self.nic.rx = None;
    }

    /// Moves data until no more moves at `now`.
    fn settle(&mut self, now: Ps, mut poll_host: bool) {
        let time = instant(now);
        for _ in 0..MAX_ROUNDS {
            let mut changed = self.tcp.open_due(&mut self.sockets, self.interface.context(), self.ip, now);
            changed |= self.tcp.service(&mut self.sockets, now, poll_host);
            poll_host = false;
            changed |= self.udp.service(&mut self.sockets, now, self.turnaround);
            changed |= self.forwards.service(&mut self.sockets, now);
            changed |= self.pinger.service(&mut self.sockets, now);
            while self.dhcp_out.front().is_some_and(|&(due, _)| due <= now) {
                let (_, frame) = self.dhcp_out.pop_front().expect("the front was just seen");
                self.nic.send(frame);
            }
            let sent = self.interface.poll_egress(time, &mut self.nic, &mut self.sockets);
            self.note_sent(now);
            changed |= sent == PollResult::SocketStateChanged;
            if !changed {
                break;
            }
        }
        let stack =
            self.interface.poll_at(time, &self.sockets).map(|at| if at > time { ps(at) } else { now + RETRY_PS });
        let times = [
            stack,
            self.tcp.next_due(&self.sockets),
            self.udp.next_due(),
            self.dhcp_out.front().map(|&(due, _)| due),
            self.bridge.as_ref().map(Bridge::next_poll),
            self.forwards.next_poll(),
            self.pinger.next_due(),
        ];
        // Everything due at `now` is done, so a time that is not later can only mean a retry.
        self.next_event = times.into_iter().flatten().min().map(|at| if at > now { at } else { now + RETRY_PS });
    }

    /// Tells the connections which of their segments were sent since the last call.
    fn note_sent(&mut self, now: Ps) {
        for frame in self.nic.new_frames() {
            match peek::peek_sent(frame) {
                Peek::Syn { from, to } => self.tcp.calls((from, to)),
                Peek::Tcp { from, to, segment } => self.tcp.leaves((from, to), segment, now),
                _ => {}
            }
        }
    }

    /// Returns whether the PC itself serves this TCP port.
    pub(crate) fn is_own_port(&self, port: u16) -> bool {
        self.own_port == Some(port)
    }

    /// Returns whether a SYN has reached the port of a program.
    pub(crate) fn has_met_a_program(&self) -> bool {
        self.met_a_program
    }

    pub(crate) fn is_tcp_port_used(&self, port: u16) -> bool {
        self.tcp.has_listener(port)
            || (self.bridge.as_ref()).is_some_and(|bridge| bridge.target(SocketAddrV4::new(self.ip, port)).is_some())
    }

    pub(crate) fn is_udp_port_used(&self, port: u16) -> bool {
        self.udp.is_used(port) || (port == 67 && self.dhcp.is_some()) || self.forwards.is_udp_port_used(port)
    }

    pub(crate) fn forward(&mut self, now: Ps, socket: HostSocket, target: ForwardTarget) -> Result<u64, SettingError> {
        let rule = self.forwards.add(now, socket, target)?;
        self.settle(now, false);
        Ok(rule)
    }

    pub(crate) fn end_forward(&mut self, now: Ps, rule: u64) -> bool {
        let known = self.forwards.remove(&mut self.sockets, rule);
        self.settle(now, false);
        known
    }

    pub(crate) fn forward_stats(&self, rule: u64) -> Option<ForwardStats> {
        self.forwards.stats(rule)
    }

    pub(crate) fn serves_host(&self, now: Ps) -> bool {
        self.forwards.is_busy(now) || self.tcp.has_host()
    }

    /// Returns the board's address: from its last frame, or from its lease.
    pub(crate) fn board_address(&self) -> Option<Ipv4Addr> {
        let leased = || {
            let bound = self.dhcp.iter().flat_map(DhcpServer::leases).filter(|lease| lease.bound);
            bound.max_by_key(|lease| lease.expires).map(|lease| lease.address)
        };
        self.board.or_else(leased)
    }

    /// Returns when the last acknowledgement of an address leaves the DHCP server.
    pub(crate) fn leased_at(&self) -> Option<Ps> {
        self.dhcp.as_ref()?.granted().map(|at| at + self.turnaround + self.dhcp_delay)
    }

    fn is_neighbour(&self, address: Ipv4Addr) -> bool {
        let host = !self.mask.to_bits();
        (address.to_bits() ^ self.ip.to_bits()) & !host == 0
            && is_host_address(address, host)
            && !self.addresses.contains(&address)
    }

    pub(crate) fn listen(&mut self, port: u16, app: Box<dyn TcpApp>) {
        self.tcp.listen(port, app);
    }

    pub(crate) fn unlisten(&mut self, port: u16) -> bool {
        self.tcp.unlisten(port)
    }

    pub(crate) fn udp_listen(&mut self, port: u16, app: Box<dyn UdpApp>) {
        self.udp.listen(&mut self.sockets, port, app);
    }

    pub(crate) fn connect(&mut self, now: Ps, at: Ps, peer: SocketAddrV4, app: Box<dyn TcpApp>) -> u64 {
        let conn = self.tcp.dial(at, peer, Owner::Client(Some(app)));
        self.settle(now, false);
        conn
    }

    pub(crate) fn push(&mut self, now: Ps, at: Ps, conn: u64, reply: AppReply) -> bool {
        let known = self.tcp.push(conn, reply, at.max(now));
        self.settle(now, false);
        known
    }

    pub(crate) fn udp_send(&mut self, now: Ps, port: u16, to: SocketAddrV4, data: &[u8]) -> bool {
        let sent = self.udp.send(&mut self.sockets, port, to, data);
        self.settle(now, false);
        sent
    }

    pub(crate) fn ping(&mut self, now: Ps, at: Ps, to: Ipv4Addr, sequence: u16, data: &[u8]) -> bool {
        let taken = self.pinger.send_at(at, to, sequence, data);
        self.settle(now, false);
        taken
    }

    pub(crate) fn take_ping_replies(&mut self) -> Vec<PingReply> {
        self.pinger.take_replies()
    }

    pub(crate) fn connections(&self) -> Vec<ConnectionInfo> {
        self.tcp.info(&self.sockets)
    }

    pub(crate) fn leases(&self) -> Vec<Lease> {
        self.dhcp.iter().flat_map(DhcpServer::leases).collect()
    }
}
