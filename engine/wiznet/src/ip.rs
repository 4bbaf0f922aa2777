//! Distribution of received frames, and transmission of IPv4 packets.

use crate::Wiznet;
use crate::chip::Model;
use crate::common::MR_PPPOE;
use crate::pppoe::{ETHERTYPE_PPPOE_DISCOVERY, ETHERTYPE_PPPOE_SESSION};
use crate::socket::Status;
use crate::wire::*;

/// Largest IPv4 payloads per frame (datasheet 4.2 "Sn_MSSR").
const TCP_MSS: u16 = 1460;
const UDP_MTU: u16 = 1472;
const IPRAW_MTU: u16 = 1480;
/// Size of the PPPoE header.
const PPPOE_HEADER: u16 = 8;

impl<M: Model> Wiznet<M> {
    /// Handles a frame of legal length. Frames not handled by the chip's stack go to the MACRAW socket.
    pub(crate) fn frame_arrived(&mut self, frame: &[u8]) {
        let destination: Mac = std::array::from_fn(|i| frame[i]);
        let source: Mac = std::array::from_fn(|i| frame[6 + i]);
        let for_us = destination == self.common.shar() || destination[0] & 1 != 0;
        let payload = &frame[ETHERNET_HEADER..];
        let consumed = for_us
            && match be16(frame, 12) {
                ETHERTYPE_ARP => self.arp_arrived(payload),
                ETHERTYPE_IPV4 => self.ip_arrived(source, payload),
                ethertype @ (ETHERTYPE_PPPOE_DISCOVERY | ETHERTYPE_PPPOE_SESSION) => {
                    self.pppoe_arrived(ethertype, source, payload)
                }
                _ => false,
            };
        if !consumed {
            self.macraw_arrived(frame);
        }
    }

    /// Returns true if the chip has handled the packet itself.
    pub(crate) fn ip_arrived(&mut self, source: Mac, bytes: &[u8]) -> bool {
        let Some(packet) = Packet::parse(bytes) else {
            return false;
        };
        let own = self.common.sipr();
        let unicast = packet.dst == own && !own.is_unspecified();
        if own.is_unspecified() && packet.protocol == PROTO_UDP && packet.dst < Ipv4Addr::new(0xE0, 0, 0, 0) {
            // Without an address, UDP accepts packets to the chip's MAC address: adafruit_wiznet5k leaves DHCP's
            // broadcast flag clear, so servers send their offer to the offered address.
            return self.udp_arrived(source, &packet, true);
        }
        if !unicast && !self.common.is_broadcast(packet.dst) && !packet.dst.is_multicast() {
            return false;
        }
        match packet.protocol {
            PROTO_TCP => unicast && self.answering_late(|chip| chip.tcp_arrived(source, &packet)),
            PROTO_UDP => self.udp_arrived(source, &packet, unicast),
            PROTO_IGMP => self.ipraw_arrived(&packet) || self.igmp_arrived(&packet),
            PROTO_ICMP => self.ipraw_arrived(&packet) || (unicast && self.icmp_arrived(source, &packet)),
            _ => self.ipraw_arrived(&packet),
        }
    }

    /// Returns whether socket 0 is open in MACRAW mode, so that it receives frames for no other socket.
    pub(crate) fn macraw_open(&self) -> bool {
        self.sockets[0].status == Status::MacRaw
    }

    fn payload_limit(&self, limit: u16) -> u16 {
        if self.common.mr() & MR_PPPOE != 0 { limit - PPPOE_HEADER } else { limit }
    }

    pub(crate) fn tcp_mss_limit(&self) -> u16 {
        self.payload_limit(TCP_MSS)
    }
    pub(crate) fn udp_limit(&self) -> u16 {
        self.payload_limit(UDP_MTU)
    }
    pub(crate) fn ipraw_limit(&self) -> u16 {
        self.payload_limit(IPRAW_MTU)
    }

    pub(crate) fn send_ip(&mut self, to: Mac, dst: IpAddr, protocol: u8, fields: IpFields, payload: &[u8]) {
        self.send_ip_with_options(to, dst, protocol, fields, &[], payload);
    }

    pub(crate) fn send_ip_with_options(
        &mut self,
        to: Mac,
        dst: IpAddr,
        protocol: u8,
        fields: IpFields,
        options: &[u8],
        payload: &[u8],
    ) {
        let IpAddr::V4(dst) = dst else { return self.leave_out("sends IPv6") };
        self.ip_id = self.ip_id.wrapping_add(1);
        let header = ipv4_header(fields, self.ip_id, protocol, self.common.sipr(), dst, options, payload.len());
        if self.common.mr() & MR_PPPOE != 0 {
            self.pppoe_send_ip(&header, payload);
        } else {
            self.emit(ethernet(to, self.common.shar(), ETHERTYPE_IPV4, &[&header, payload]));
        }
    }
}
