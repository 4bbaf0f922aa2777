//! UDP services of the PC.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use sim::Ps;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::udp;
use smoltcp::wire::{IpAddress, IpEndpoint};

use crate::app::UdpApp;

/// Largest datagram sent without fragmentation.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 1472;
const BUFFER_BYTES: usize = 64 * 1024;
const BUFFER_PACKETS: usize = 64;
/// Most answers that an application works on; further ones are dropped, as by a full socket buffer.
const MAX_PENDING: usize = 1024;

struct Service {
    handle: SocketHandle,
    app: Box<dyn UdpApp>,
    pending: VecDeque<(Ps, udp::UdpMetadata, Vec<u8>)>,
}

pub(crate) struct UdpServices {
    services: BTreeMap<u16, Service>,
    /// The PC's addresses: an answer to a broadcast must not have the broadcast address as its source.
    addresses: Vec<Ipv4Addr>,
}

impl UdpServices {
    pub(crate) fn new(addresses: Vec<Ipv4Addr>) -> Self {
        Self { services: BTreeMap::new(), addresses }
    }

    pub(crate) fn is_used(&self, port: u16) -> bool {
        self.services.contains_key(&port)
    }

    pub(crate) fn listen(&mut self, sockets: &mut SocketSet<'static>, port: u16, app: Box<dyn UdpApp>) {
        let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; BUFFER_PACKETS], vec![0; BUFFER_BYTES]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(port).expect("a new socket can be bound to a port that is not 0");
        let handle = sockets.add(socket);
        self.services.insert(port, Service { handle, app, pending: VecDeque::new() });
    }

    /// Returns false if no service has `port` or its queue is full.
    pub(crate) fn send(&mut self, sockets: &mut SocketSet<'static>, port: u16, to: SocketAddrV4, data: &[u8]) -> bool {
        let Some(service) = self.services.get(&port) else { return false };
        let to = IpEndpoint::new(IpAddress::Ipv4(*to.ip()), to.port());
        data.len() <= MAX_PAYLOAD_BYTES && sockets.get_mut::<udp::Socket>(service.handle).send_slice(data, to).is_ok()
    }

    /// Returns true if a datagram was moved.
    pub(crate) fn service(&mut self, sockets: &mut SocketSet<'static>, now: Ps, turnaround: Ps) -> bool {
        let mut changed = false;
        for service in self.services.values_mut() {
            let socket = sockets.get_mut::<udp::Socket>(service.handle);
            while let Ok((data, metadata)) = socket.recv() {
                changed = true;
                let IpAddress::Ipv4(ip) = metadata.endpoint.addr;
                let from = SocketAddrV4::new(ip, metadata.endpoint.port);
                let asked = |address: &IpAddress| self.addresses.iter().any(|&ours| *address == IpAddress::Ipv4(ours));
                let to = udp::UdpMetadata { local_address: metadata.local_address.filter(asked), ..metadata };
                for (after, answer) in service.app.answers(from, data, now) {
                    if answer.len() <= MAX_PAYLOAD_BYTES && service.pending.len() < MAX_PENDING {
                        let due = now + turnaround + after;
                        let at = service.pending.partition_point(|&(other, ..)| other <= due);
                        service.pending.insert(at, (due, to, answer));
                    }
                }
            }
            while service.pending.front().is_some_and(|&(due, ..)| due <= now) {
                changed = true;
                let (_, to, answer) = service.pending.pop_front().expect("the front was just seen");
                // A full send buffer drops the datagram, as UDP may.
                let _ = socket.send_slice(&answer, to);
            }
        }
        changed
    }

    pub(crate) fn next_due(&self) -> Option<Ps> {
        self.services.values().filter_map(|service| Some(service.pending.front()?.0)).min()
    }
}
