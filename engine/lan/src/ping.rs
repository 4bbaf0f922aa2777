//! `ping` from the PC.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::icmp;
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, IpAddress};

use sim::Ps;

const IDENT: u16 = 0x5042;
const MAX_OUTSTANDING: usize = 1024;
/// Most requests that are not due yet, and most answers not taken.
const MAX_DUE: usize = 65_536;
const MAX_REPLIES: usize = 65_536;
const BUFFER_BYTES: usize = 16 * 1024;

/// An echo reply received by the PC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingReply {
    /// The sender of the reply.
    pub from: Ipv4Addr,
    /// Sequence number of the request.
    pub sequence: u16,
    /// Data of the reply.
    pub data: Vec<u8>,
    /// When the PC sent the request.
    pub sent: Ps,
    /// When the last bit of the reply arrived.
    pub received: Ps,
}

struct Request {
    to: Ipv4Addr,
    sequence: u16,
    data: Vec<u8>,
}

pub(crate) struct Pinger {
    handle: SocketHandle,
    /// Requests by time and order.
    due: BTreeMap<(Ps, u64), Request>,
    scheduled: u64,
    sent: BTreeMap<u16, Ps>,
    replies: Vec<PingReply>,
}

impl Pinger {
    pub(crate) fn new(sockets: &mut SocketSet<'static>) -> Self {
        let buffer = || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; 16], vec![0; BUFFER_BYTES]);
        let mut socket = icmp::Socket::new(buffer(), buffer());
        socket.bind(icmp::Endpoint::Ident(IDENT)).expect("a new socket with an identifier can be bound");
        Self {
            handle: sockets.add(socket),
            due: BTreeMap::new(),
            scheduled: 0,
            sent: BTreeMap::new(),
            replies: Vec::new(),
        }
    }

    /// Sends a request at `at`. Returns false if too many wait for their time.
    pub(crate) fn send_at(&mut self, at: Ps, to: Ipv4Addr, sequence: u16, data: &[u8]) -> bool {
        let room = self.due.len() < MAX_DUE;
        if room {
            self.scheduled += 1;
            self.due.insert((at, self.scheduled), Request { to, sequence, data: data.to_vec() });
        }
        room
    }

    pub(crate) fn next_due(&self) -> Option<Ps> {
        self.due.keys().next().map(|&(at, _)| at)
    }

    /// Sends a request. If the socket's queue is full it is lost, as when a PC's ping says "No buffer space available".
    fn send(&mut self, sockets: &mut SocketSet<'static>, request: &Request, now: Ps) {
        let socket = sockets.get_mut::<icmp::Socket>(self.handle);
        let repr = Icmpv4Repr::EchoRequest { ident: IDENT, seq_no: request.sequence, data: &request.data };
        let Ok(buffer) = socket.send(repr.buffer_len(), IpAddress::Ipv4(request.to)) else { return };
        repr.emit(&mut Icmpv4Packet::new_unchecked(buffer), &ChecksumCapabilities::default());
        if self.sent.len() == MAX_OUTSTANDING {
            self.sent.pop_first();
        }
        self.sent.insert(request.sequence, now);
    }

    /// Returns true if something arrived or was due.
    pub(crate) fn service(&mut self, sockets: &mut SocketSet<'static>, now: Ps) -> bool {
        let mut changed = false;
        while let Some(due) = self.due.first_entry().filter(|due| due.key().0 <= now) {
            changed = true;
            let request = due.remove();
            self.send(sockets, &request, now);
        }
        let socket = sockets.get_mut::<icmp::Socket>(self.handle);
        while let Ok((packet, from)) = socket.recv() {
            changed = true;
            let IpAddress::Ipv4(from) = from;
            let Ok(packet) = Icmpv4Packet::new_checked(packet) else { continue };
            if let Ok(Icmpv4Repr::EchoReply { ident: IDENT, seq_no, data }) =
                Icmpv4Repr::parse(&packet, &ChecksumCapabilities::default())
                && let Some(sent) = self.sent.remove(&seq_no)
                && self.replies.len() < MAX_REPLIES
            {
                self.replies.push(PingReply { from, sequence: seq_no, data: data.to_vec(), sent, received: now });
            }
        }
        changed
    }

    pub(crate) fn take_replies(&mut self) -> Vec<PingReply> {
        std::mem::take(&mut self.replies)
    }
}
