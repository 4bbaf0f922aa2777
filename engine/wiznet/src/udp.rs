//! UDP and IPRAW sockets: transmission of datagrams, and reception into the RX buffer after a header.

use crate::Wiznet;
use crate::chip::Model;
use crate::common::{IR_MP, MR_WOL};
use crate::socket::*;
use crate::wire::*;

impl<M: Model> Wiznet<M> {
    /// Executes SEND, or SEND_MAC, which takes the hardware address from Sn_DHAR as written by the host.
    pub(crate) fn datagram_send(&mut self, n: usize, with_mac: bool) {
        self.sockets[n].commit_tx();
        if self.sockets[n].arp.is_some() {
            // Data added while ARP is in progress is sent with the rest.
            return;
        }
        let (destination, dhar, multi) = {
            let s = &self.sockets[n];
            (s.destination(), s.dhar(), s.status == Status::Udp && s.mr() & MR_MULTI != 0)
        };
        let mac = if with_mac {
            dhar
        } else if self.common.is_broadcast(destination) {
            BROADCAST_MAC
        } else if multi && destination.is_multicast() {
            multicast_mac(destination)
        } else if self.arp_ready(n, destination) {
            dhar
        } else {
            return;
        };
        self.datagram_transmit(n, mac);
    }

    /// Sends the bytes between Sn_TX_RD and Sn_TX_WR, divided into units of the MTU (datasheet 4.2 "Sn_MSSR").
    pub(crate) fn datagram_transmit(&mut self, n: usize, mac: Mac) {
        let s = &self.sockets[n];
        let is_udp = s.status == Status::Udp;
        let limit = if is_udp { s.segment_limit(self.udp_limit()) } else { self.ipraw_limit() };
        let pending = self.tx.copy_out(n, s.tx_rd, usize::from(s.tx_wr.wrapping_sub(s.tx_rd)));
        let (destination, dport, port, fields) = (s.destination(), s.dport(), s.port(), s.ip_fields());
        let protocol = if is_udp { PROTO_UDP } else { s.proto() };
        let mut rest = &pending[..];
        loop {
            let (part, after) = rest.split_at(rest.len().min(usize::from(limit)));
            if is_udp {
                let datagram = udp((self.common.sipr().into(), port), (destination, dport), part);
                self.send_ip(mac, destination, protocol, fields, &datagram);
            } else {
                self.send_ip(mac, destination, protocol, fields, part);
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        let s = &mut self.sockets[n];
        s.tx_rd = s.tx_wr;
        self.raise(n, IR_SEND_OK);
    }

    /// Returns true if the chip has handled the datagram itself.
    pub(crate) fn udp_arrived(&mut self, source: Mac, packet: &Packet, unicast: bool) -> bool {
        let Some(datagram) = packet.udp() else {
            return false;
        };
        self.wake_on_lan(datagram.data);
        let mut header = octets(packet.src);
        header.extend_from_slice(&datagram.src_port.to_be_bytes());
        // Shorter than 64 KB, because the whole frame is.
        header.extend_from_slice(&(datagram.data.len() as u16).to_be_bytes());
        let mut taken = false;
        for n in 0..M::SOCKETS {
            if self.udp_accepts(n, packet.dst, datagram.dst_port, unicast) {
                self.store(n, &[&header, datagram.data]);
                taken = true;
                if unicast {
                    break;
                }
            }
        }
        if !taken && unicast && !self.common.sipr().is_unspecified() && !self.macraw_open() {
            self.send_port_unreachable(source, packet);
            taken = true;
        }
        taken
    }

    fn udp_accepts(&self, n: usize, dst: IpAddr, port: u16, unicast: bool) -> bool {
        let s = &self.sockets[n];
        if s.status != Status::Udp || s.port() != port {
            return false;
        }
        let multi = s.mr() & MR_MULTI != 0;
        if unicast {
            !(multi && s.mr() & MR_UCASTB_MIP6B != 0)
        } else if dst.is_multicast() {
            multi && s.group.is_some_and(|group| dst == group)
        } else {
            s.mr() & MR_BCASTB == 0
        }
    }

    /// Handles a magic packet over UDP (datasheet 4.1 "MR", WOL): 6 bytes FF and 16 times our MAC address, anywhere in
    /// the payload, while any UDP socket is open.
    fn wake_on_lan(&mut self, data: &[u8]) {
        if self.common.mr() & MR_WOL == 0 || !self.sockets.iter().any(|s| s.status == Status::Udp) {
            return;
        }
        let mut magic = vec![0xFF; 6];
        for _ in 0..16 {
            magic.extend_from_slice(&self.common.shar());
        }
        if data.windows(magic.len()).any(|window| window == magic) {
            self.common.raise(IR_MP);
        }
    }

    /// Returns true if an IPRAW socket has received the packet.
    pub(crate) fn ipraw_arrived(&mut self, packet: &Packet) -> bool {
        let found = (0..M::SOCKETS).find(|&n| {
            let s = &self.sockets[n];
            s.status == Status::IpRaw && s.proto() == packet.protocol
        });
        let Some(n) = found else { return false };
        let mut header = octets(packet.src);
        header.extend_from_slice(&(packet.payload.len() as u16).to_be_bytes());
        self.store(n, &[&header, packet.payload]);
        true
    }

    /// Stores the parts in the RX buffer and raises RECV, or drops them all if they do not fit.
    pub(crate) fn store(&mut self, n: usize, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > usize::from(self.sockets[n].rx_free(self.rx.size(n))) {
            return;
        }
        for part in parts {
            let pointer = self.sockets[n].rx_wr;
            self.rx.copy_in(n, pointer, part);
            self.sockets[n].rx_wr = pointer.wrapping_add(part.len() as u16);
        }
        self.raise(n, IR_RECV);
    }
}
