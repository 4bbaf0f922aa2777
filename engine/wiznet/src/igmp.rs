//! IGMP for UDP sockets with MULTI: join at OPEN, leave at CLOSE, answers to queries (datasheet 4.2 "Sn_MR", MC).

use crate::Wiznet;
use crate::chip::Model;
use crate::socket::MR_ND_MC_MMB;
use crate::wire::*;

const QUERY: u8 = 0x11;
const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// The router alert option required by IGMP version 2 (RFC 2236).
const ROUTER_ALERT: [u8; 4] = [0x94, 0x04, 0, 0];

impl<M: Model> Wiznet<M> {
    pub(crate) fn igmp_join(&mut self, n: usize) {
        let group = self.sockets[n].dipr();
        if group.is_multicast() {
            self.sockets[n].group = Some(group);
            self.igmp_report(n, group);
        }
    }

    pub(crate) fn igmp_leave(&mut self, n: usize) {
        if let Some(group) = self.sockets[n].group.take()
            && !self.igmp_version_1(n)
        {
            self.send_igmp(ALL_ROUTERS, LEAVE, group);
        }
    }

    fn igmp_version_1(&self, n: usize) -> bool {
        self.sockets[n].mr() & MR_ND_MC_MMB != 0
    }

    fn igmp_report(&mut self, n: usize, group: Ipv4Addr) {
        let kind = if self.igmp_version_1(n) { REPORT_V1 } else { REPORT_V2 };
        self.send_igmp(group, kind, group);
    }

    fn send_igmp(&mut self, dst: Ipv4Addr, kind: u8, group: Ipv4Addr) {
        let [a, b, c, d] = group.octets();
        let mut message = [kind, 0, 0, 0, a, b, c, d];
        let sum = checksum(&[&message]);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let fields = IpFields { ttl: 1, ..IpFields::default() };
        let dst = dst.into();
        self.send_ip_with_options(multicast_mac(dst), dst, PROTO_IGMP, fields, &ROUTER_ALERT, &message);
    }

    /// Handles a query for one group or, with group 0, for all. The random delay of RFC 2236 is left out.
    pub(crate) fn igmp_arrived(&mut self, packet: &Packet) -> bool {
        let message = packet.payload;
        if message.len() < 8 || message[0] != QUERY || checksum(&[message]) != 0 {
            return false;
        }
        let mut answered = false;
        for n in 0..M::SOCKETS {
            if let Some(group) = self.sockets[n].group
                && (message[4..8] == group.octets() || message[4..8] == [0; 4])
            {
                self.igmp_report(n, group);
                answered = true;
            }
        }
        answered
    }
}
