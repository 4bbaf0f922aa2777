//! ARP: answers for SIPR, conflict detection, and the requests needed by CONNECT and SEND (datasheet 4.1 "RCR", 4.2
//! "Sn_CR").

use sim::{Ps, Snapshot};

use crate::Wiznet;
use crate::chip::Model;
use crate::common::{IR_CONFLICT, MR_FARP};
use crate::map::socket::DHAR;
use crate::socket::{IR_TIMEOUT, Status};
use crate::time::retry_period;
use crate::wire::*;

/// A request waiting for its answer.
#[derive(Snapshot)]
pub(crate) struct ArpWait {
    pub(crate) ip: IpAddr,
    pub(crate) deadline: Ps,
    retries: u8,
}

impl<M: Model> Wiznet<M> {
    /// Makes sure that Sn_DHAR holds the hardware address of `destination`. Returns true if it already does; otherwise
    /// sends a request, and `arp_resolved` or a timeout follows. The W5200 datasheet (Sn_SR, SOCK_ARP) says that UDP
    /// repeats the ARP process only if the address differs from the previous one.
    pub(crate) fn arp_ready(&mut self, n: usize, destination: IpAddr) -> bool {
        let ip = self.common.next_hop(destination);
        if self.sockets[n].resolved == Some(ip) && self.common.mr() & MR_FARP == 0 {
            return true;
        }
        self.sockets[n].resolved = None;
        let deadline = self.now.saturating_add(retry_period(M::retry(self, n).0, self.config.retry_unit));
        self.sockets[n].arp = Some(ArpWait { ip, deadline, retries: 0 });
        self.arp_request(ip);
        false
    }

    pub(crate) fn arp_request(&mut self, target: IpAddr) {
        let IpAddr::V4(target_ip) = target else { return self.leave_out("looks for an IPv6 neighbour") };
        let mac = self.common.shar();
        let request = Arp {
            operation: ARP_REQUEST,
            sender_mac: mac,
            sender_ip: self.common.sipr(),
            target_mac: [0; 6],
            target_ip,
        };
        self.emit(ethernet(BROADCAST_MAC, mac, ETHERTYPE_ARP, &[&request.build()]));
    }

    /// Repeats an unanswered request every RTR, RCR times; then it times out.
    pub(crate) fn arp_timer(&mut self, n: usize) {
        let (rtr, limit) = M::retry(self, n);
        let period = retry_period(rtr, self.config.retry_unit);
        let Some(wait) = self.sockets[n].arp.as_mut().filter(|wait| wait.deadline <= self.now) else {
            return;
        };
        if wait.retries < limit {
            wait.retries += 1;
            wait.deadline = self.now.saturating_add(period);
            let ip = wait.ip;
            self.arp_request(ip);
            return;
        }
        self.sockets[n].arp = None;
        self.raise(n, IR_TIMEOUT);
        if self.sockets[n].status == Status::SynSent {
            self.sockets[n].release();
        } else {
            // The datagram is lost, and the socket stays open.
            self.sockets[n].tx_rd = self.sockets[n].tx_wr;
        }
    }

    /// Returns true if the chip has handled the packet itself.
    pub(crate) fn arp_arrived(&mut self, bytes: &[u8]) -> bool {
        let Some(arp) = Arp::parse(bytes) else {
            return false;
        };
        let own_ip = self.common.sipr();
        let own_mac = self.common.shar();
        if !own_ip.is_unspecified() && arp.sender_ip == own_ip && arp.sender_mac != own_mac {
            self.common.raise(IR_CONFLICT);
        }
        match arp.operation {
            ARP_REQUEST if !own_ip.is_unspecified() && arp.target_ip == own_ip => {
                let reply = Arp {
                    operation: ARP_REPLY,
                    sender_mac: own_mac,
                    sender_ip: own_ip,
                    target_mac: arp.sender_mac,
                    target_ip: arp.sender_ip,
                };
                self.emit(ethernet(arp.sender_mac, own_mac, ETHERTYPE_ARP, &[&reply.build()]));
                true
            }
            ARP_REPLY => {
                let waiting: Vec<usize> = (0..M::SOCKETS)
                    .filter(|&n| self.sockets[n].arp.as_ref().is_some_and(|wait| wait.ip == arp.sender_ip))
                    .collect();
                for &n in &waiting {
                    self.arp_resolved(n, arp.sender_ip, arp.sender_mac);
                }
                M::arp_reply(self, arp.sender_ip.into(), arp.sender_mac) || !waiting.is_empty()
            }
            _ => false,
        }
    }

    fn arp_resolved(&mut self, n: usize, ip: Ipv4Addr, mac: Mac) {
        let s = &mut self.sockets[n];
        s.arp = None;
        s.resolved = Some(ip.into());
        s.set(DHAR, &mac);
        match s.status {
            Status::SynSent => self.tcp_start_handshake(n),
            Status::Udp | Status::IpRaw => self.datagram_transmit(n, mac),
            _ => {}
        }
    }
}
