//! Ports of this machine forwarded to the board: TCP connections and UDP datagrams of the host's programs.
//!
//! The caller passes bound sockets, so that they survive a power cycle. A connection is accepted on the host at once;
//! if the board refuses it or is absent, it is reset.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};

use serde::Serialize;
use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps, SettingError};
use smoltcp::iface::SocketSet;

use crate::forward_udp::UdpForward;
use crate::host_stream::HostStream;

/// Time between two polls of the host's sockets while one is in use, and otherwise.
const BUSY_POLL_PS: Ps = 100 * PS_PER_US;
const IDLE_POLL_PS: Ps = PS_PER_MS;
/// Polls stay frequent for this long after the last one with data: a program that sent a request often sends another.
const BUSY_FOR_PS: Ps = 100 * PS_PER_MS;
/// Time to wait for a board without an address; Linux also waits this long for an ARP answer.
const NO_ADDRESS_PS: Ps = 3 * PS_PER_S;
/// Most connections that wait for the board's address; further ones wait in the host's queue.
const MAX_WAITING: usize = 64;
/// Most connections accepted from one port per poll, so that each port gets its turn.
const MAX_ACCEPTED: usize = 16;

/// A bound socket of the host.
pub enum HostSocket {
    /// Accepts TCP connections.
    Tcp(TcpListener),
    /// Receives datagrams.
    Udp(UdpSocket),
}

/// The destination of a rule; without an address: the board's, as known to the PC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardTarget {
    /// The board's address; `None`: as the PC has learnt it.
    pub address: Option<Ipv4Addr>,
    /// The board's port.
    pub port: u16,
}

/// The counters of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ForwardStats {
    /// TCP connections accepted from the host.
    pub connections: u64,
    /// Those of them reset because the board had no address within 3 s.
    pub unreachable: u64,
    /// Datagrams passed on to the board.
    pub datagrams_to_board: u64,
    /// Datagrams passed on to the host.
    pub datagrams_from_board: u64,
    /// Datagrams dropped: longer than 1472 bytes, for a board without an address, or faster than the wire.
    pub datagrams_dropped: u64,
}

enum Port {
    Tcp { listener: TcpListener, waiting: Vec<(Ps, HostStream)> },
    Udp(UdpForward),
}

struct Rule {
    target: ForwardTarget,
    port: Port,
    stats: ForwardStats,
}

#[derive(Default)]
pub(crate) struct Forwards {
    rules: BTreeMap<u64, Rule>,
    next_rule: u64,
    next_poll: Ps,
    busy_until: Ps,
}

impl Forwards {
    pub(crate) fn add(&mut self, now: Ps, socket: HostSocket, target: ForwardTarget) -> Result<u64, SettingError> {
        if target.port == 0 {
            return Err(SettingError::new("cannot forward to port 0 of the board", "", "use 1 to 65535"));
        }
        let failed = |error: io::Error| SettingError::new("the host's socket", "", error.to_string());
        let port = match socket {
            HostSocket::Tcp(listener) => {
                listener.set_nonblocking(true).map_err(failed)?;
                Port::Tcp { listener, waiting: Vec::new() }
            }
            HostSocket::Udp(socket) => {
                socket.set_nonblocking(true).map_err(failed)?;
                Port::Udp(UdpForward::new(socket))
            }
        };
        self.next_rule += 1;
        self.rules.insert(self.next_rule, Rule { target, port, stats: ForwardStats::default() });
        self.next_poll = now + PS_PER_US;
        Ok(self.next_rule)
    }

    /// Removes a rule; its open connections continue. Returns false if the rule does not exist.
    pub(crate) fn remove(&mut self, sockets: &mut SocketSet<'static>, rule: u64) -> bool {
        let Some(rule) = self.rules.remove(&rule) else { return false };
        if let Port::Udp(mut udp) = rule.port {
            udp.close(sockets);
        }
        true
    }

    pub(crate) fn stats(&self, rule: u64) -> Option<ForwardStats> {
        self.rules.get(&rule).map(|rule| rule.stats)
    }

    pub(crate) fn next_poll(&self) -> Option<Ps> {
        (!self.rules.is_empty()).then_some(self.next_poll)
    }

    /// Returns whether a program on the host is being served, or was a moment ago.
    pub(crate) fn is_busy(&self, now: Ps) -> bool {
        now < self.busy_until
    }

    pub(crate) fn is_udp_port_used(&self, port: u16) -> bool {
        self.rules.values().any(|rule| matches!(&rule.port, Port::Udp(udp) if udp.has_port(port)))
    }

    /// Polls the host's sockets if that is due. Returns the connections to open, or `None` if no poll is due.
    ///
    /// `board`: its address, if known. `room`: how many connections may start. `open`: some are open.
    pub(crate) fn poll(
        &mut self,
        sockets: &mut SocketSet<'static>,
        now: Ps,
        board: Option<Ipv4Addr>,
        mut room: usize,
        open: bool,
    ) -> Option<Vec<(SocketAddrV4, HostStream)>> {
        if self.rules.is_empty() || now < self.next_poll {
            return None;
        }
        let mut dials = Vec::new();
        let mut used = open;
        for Rule { target, port, stats } in self.rules.values_mut() {
            let address = target.address.or(board);
            match port {
                Port::Tcp { listener, waiting } => {
                    accept(listener, waiting, now, room, stats);
                    used |= !waiting.is_empty();
                    if let Some(address) = address {
                        room -= waiting.len().min(room);
                        let to = SocketAddrV4::new(address, target.port);
                        dials.extend(waiting.drain(..).map(|(_, host)| (to, host)));
                    }
                    let before = waiting.len();
                    waiting.retain(|&(until, _)| until > now);
                    stats.unreachable += (before - waiting.len()) as u64;
                }
                Port::Udp(udp) => {
                    let to = address.map(|address| SocketAddrV4::new(address, target.port));
                    used |= udp.read(sockets, now, to, stats);
                }
            }
        }
        if used {
            self.busy_until = now + BUSY_FOR_PS;
        }
        self.next_poll = now + if self.is_busy(now) { BUSY_POLL_PS } else { IDLE_POLL_PS };
        Some(dials)
    }

    /// Sends the board's UDP data to the host. Returns true if there was any.
    pub(crate) fn service(&mut self, sockets: &mut SocketSet<'static>, now: Ps) -> bool {
        let mut changed = false;
        for Rule { port, stats, .. } in self.rules.values_mut() {
            if let Port::Udp(udp) = port {
                changed |= udp.write(sockets, now, stats);
            }
        }
        if changed {
            self.busy_until = now + BUSY_FOR_PS;
            self.next_poll = self.next_poll.min(now + BUSY_POLL_PS);
        }
        changed
    }
}

fn accept(listener: &TcpListener, waiting: &mut Vec<(Ps, HostStream)>, now: Ps, room: usize, stats: &mut ForwardStats) {
    let most = MAX_WAITING.min(room).saturating_sub(waiting.len()).min(MAX_ACCEPTED);
    for _ in 0..most {
        match listener.accept() {
            Ok((stream, _)) => {
                stats.connections += 1;
                waiting.extend(HostStream::new(stream).ok().map(|host| (now + NO_ADDRESS_PS, host)));
            }
            // Its program closed this connection, or a signal arrived: the next one may be valid.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            // No connection waits, or this process has no file descriptor left: they wait.
            Err(_) => return,
        }
    }
}
