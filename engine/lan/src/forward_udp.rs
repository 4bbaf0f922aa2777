//! A UDP port of this machine forwarded to the board: each program that sends to it gets a port of the simulated PC.

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};

use sim::{PS_PER_S, Ps};
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::udp;
use smoltcp::wire::{IpAddress, IpEndpoint};

use crate::forward::ForwardStats;
use crate::udp::MAX_PAYLOAD_BYTES;

/// Most programs at a time; the one that has been idle for longest is dropped first.
const MAX_PEERS: usize = 64;
/// Idle time after which a NAT forgets a pair (Linux: `nf_conntrack_udp_timeout_stream`).
const SILENT_PS: Ps = 120 * PS_PER_S;
const BUFFER_BYTES: usize = 32 * 1024;
const BUFFER_PACKETS: usize = 32;
/// Most datagrams read per poll.
const MAX_DATAGRAMS: usize = 32;
const FIRST_PORT: u16 = 32_768;
const LAST_PORT: u16 = 49_151;

struct Peer {
    handle: SocketHandle,
    port: u16,
    /// The board's address, once something was sent to it.
    board: SocketAddrV4,
    last: Ps,
}

pub(crate) struct UdpForward {
    socket: UdpSocket,
    peers: BTreeMap<SocketAddr, Peer>,
    next_port: u16,
}

impl UdpForward {
    pub(crate) fn new(socket: UdpSocket) -> Self {
        // Start each rule at a different port, so that a free one is usually found at once.
        let own = socket.local_addr().map_or(0, |address| address.port());
        Self { socket, peers: BTreeMap::new(), next_port: FIRST_PORT + own % (LAST_PORT - FIRST_PORT + 1) }
    }

    pub(crate) fn has_port(&self, port: u16) -> bool {
        self.peers.values().any(|peer| peer.port == port)
    }

    pub(crate) fn close(&mut self, sockets: &mut SocketSet<'static>) {
        for peer in std::mem::take(&mut self.peers).into_values() {
            sockets.remove(peer.handle);
        }
    }

    /// Reads datagrams from the host. Returns true if there were any.
    pub(crate) fn read(
        &mut self,
        sockets: &mut SocketSet<'static>,
        now: Ps,
        board: Option<SocketAddrV4>,
        stats: &mut ForwardStats,
    ) -> bool {
        let mut buffer = [0; MAX_PAYLOAD_BYTES + 1];
        let mut any = false;
        self.forget(sockets, |peer| peer.last + SILENT_PS <= now);
        for _ in 0..MAX_DATAGRAMS {
            // An error is an ICMP message for one program, or nothing to read.
            let Ok((len, from)) = self.socket.recv_from(&mut buffer) else { break };
            any = true;
            let sent = len <= MAX_PAYLOAD_BYTES
                && board.is_some_and(|board| {
                    let peer = self.peer(sockets, from, board, now);
                    let to = IpEndpoint::new(IpAddress::Ipv4(*board.ip()), board.port());
                    sockets.get_mut::<udp::Socket>(peer).send_slice(&buffer[..len], to).is_ok()
                });
            *if sent { &mut stats.datagrams_to_board } else { &mut stats.datagrams_dropped } += 1;
        }
        any
    }

    /// Sends the board's data to the host. Returns true if there was any.
    pub(crate) fn write(&mut self, sockets: &mut SocketSet<'static>, now: Ps, stats: &mut ForwardStats) -> bool {
        let mut any = false;
        for (to, peer) in &mut self.peers {
            let socket = sockets.get_mut::<udp::Socket>(peer.handle);
            while let Ok((data, metadata)) = socket.recv() {
                any = true;
                // A server may answer from another port, as TFTP does, but not from another address.
                if metadata.endpoint.addr == IpAddress::Ipv4(*peer.board.ip()) {
                    peer.last = now;
                    // A program that does not read loses datagrams, as UDP may.
                    if self.socket.send_to(data, to).is_ok() {
                        stats.datagrams_from_board += 1;
                    }
                }
            }
        }
        any
    }

    fn peer(
        &mut self,
        sockets: &mut SocketSet<'static>,
        from: SocketAddr,
        board: SocketAddrV4,
        now: Ps,
    ) -> SocketHandle {
        if let Some(peer) = self.peers.get_mut(&from) {
            (peer.last, peer.board) = (now, board);
            return peer.handle;
        }
        if self.peers.len() >= MAX_PEERS {
            let oldest = self.peers.values().map(|peer| peer.last).min();
            self.forget(sockets, |peer| Some(peer.last) == oldest);
        }
        let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; BUFFER_PACKETS], vec![0; BUFFER_BYTES]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        let port = self.free_port(sockets);
        socket.bind(port).expect("a new socket can be bound to a port that is not 0");
        let handle = sockets.add(socket);
        self.peers.insert(from, Peer { handle, port, board, last: now });
        handle
    }

    /// Returns the next port that no UDP socket of the PC uses.
    fn free_port(&mut self, sockets: &SocketSet<'static>) -> u16 {
        loop {
            let port = self.next_port;
            self.next_port = if port == LAST_PORT { FIRST_PORT } else { port + 1 };
            let used = sockets.iter().any(
                |(_, socket)| matches!(socket, smoltcp::socket::Socket::Udp(socket) if socket.endpoint().port == port),
            );
            if !used {
                return port;
            }
        }
    }

    fn forget(&mut self, sockets: &mut SocketSet<'static>, which: impl Fn(&Peer) -> bool) {
        self.peers.retain(|_, peer| {
            let gone = which(peer);
            if gone {
                sockets.remove(peer.handle);
            }
            !gone
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_go_round_and_leave_out_those_in_use() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut forward = UdpForward::new(socket);
        forward.next_port = LAST_PORT - 1;
        let mut sockets = SocketSet::new(Vec::new());
        let (board, mut stats) = (SocketAddrV4::new([192, 168, 50, 9].into(), 53), ForwardStats::default());
        for program in 1..=4 {
            forward.peer(&mut sockets, SocketAddrV4::new([127, 0, 0, 1].into(), program).into(), board, 0);
            if program == 2 {
                let buffer = || udp::PacketBuffer::new(vec![], vec![]);
                let mut other = udp::Socket::new(buffer(), buffer());
                other.bind(FIRST_PORT + 1).unwrap();
                sockets.add(other);
            }
        }
        let ports: Vec<_> = forward.peers.values().map(|peer| peer.port).collect();
        assert_eq!(ports, [49_150, 49_151, 32_768, 32_770]);
        assert!(ports.iter().all(|&port| forward.has_port(port)) && !forward.has_port(32_769));
        assert!(!forward.read(&mut sockets, SILENT_PS - 1, Some(board), &mut stats) && forward.peers.len() == 4);
        forward.read(&mut sockets, SILENT_PS, Some(board), &mut stats);
        assert_eq!((forward.peers.len(), sockets.iter().count()), (0, 1));
    }
}
