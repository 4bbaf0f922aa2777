//! `ping` from the PC.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::icmp;
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, IpAddress};

use sim::Ps;

const IDENT: u16 = 0x5042;
const MAX_OUTSTANDING: usize = 64;
const BUFFER_BYTES: usize = 16 * 1024;

/// An echo reply that came back to the PC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingReply {
    pub from: Ipv4Addr,
    pub sequence: u16,
    pub data: Vec<u8>,
    pub sent: Ps,
    pub received: Ps,
}

pub(crate) struct Pinger {
    handle: SocketHandle,
    sent: BTreeMap<u16, Ps>,
    replies: Vec<PingReply>,
}

impl Pinger {
    pub(crate) fn new(sockets: &mut SocketSet<'static>) -> Self {
        let buffer = || icmp::PacketBuffer::new(vec![icmp::PacketMetadata::EMPTY; 16], vec![0; BUFFER_BYTES]);
        let mut socket = icmp::Socket::new(buffer(), buffer());
        socket.bind(icmp::Endpoint::Ident(IDENT)).expect("a new socket with an identifier can be bound");
        Self { handle: sockets.add(socket), sent: BTreeMap::new(), replies: Vec::new() }
    }

    /// False if too many requests wait for the wire.
    pub(crate) fn send(
        &mut self,
        sockets: &mut SocketSet<'static>,
        to: Ipv4Addr,
        sequence: u16,
        data: &[u8],
        now: Ps,
    ) -> bool {
        let socket = sockets.get_mut::<icmp::Socket>(self.handle);
        let repr = Icmpv4Repr::EchoRequest { ident: IDENT, seq_no: sequence, data };
        let Ok(buffer) = socket.send(repr.buffer_len(), IpAddress::Ipv4(to)) else { return false };
        repr.emit(&mut Icmpv4Packet::new_unchecked(buffer), &ChecksumCapabilities::default());
        if self.sent.len() == MAX_OUTSTANDING {
            self.sent.pop_first();
        }
        self.sent.insert(sequence, now);
        true
    }

    /// True if something arrived.
    pub(crate) fn service(&mut self, sockets: &mut SocketSet<'static>, now: Ps) -> bool {
        let socket = sockets.get_mut::<icmp::Socket>(self.handle);
        let mut changed = false;
        while let Ok((packet, from)) = socket.recv() {
            changed = true;
            let IpAddress::Ipv4(from) = from;
            let Ok(packet) = Icmpv4Packet::new_checked(packet) else { continue };
            if let Ok(Icmpv4Repr::EchoReply { ident: IDENT, seq_no, data }) =
                Icmpv4Repr::parse(&packet, &ChecksumCapabilities::default())
                && let Some(sent) = self.sent.remove(&seq_no)
                && self.replies.len() < MAX_OUTSTANDING
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
