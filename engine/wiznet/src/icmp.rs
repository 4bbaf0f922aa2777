//! ICMP: answers to ping (unless MR's PB blocks them), and the destination unreachable message in both directions.

use crate::Wiznet;
use crate::chip::Model;
use crate::common::{IR_UNREACH, MR_PB};
use crate::map::common::{UIPR, UPORTR};
use crate::wire::*;

const ECHO_REPLY: u8 = 0;
const DESTINATION_UNREACHABLE: u8 = 3;
pub(crate) const ECHO_REQUEST: u8 = 8;
const PORT_UNREACHABLE: u8 = 3;

impl<M: Model> Wiznet<M> {
    /// Returns true if the chip has handled the packet itself.
    pub(crate) fn icmp_arrived(&mut self, source: Mac, packet: &Packet) -> bool {
        let message = packet.payload;
        if message.len() < 8 || checksum(&[message]) != 0 {
            return false;
        }
        match (message[0], message[1]) {
            (ECHO_REQUEST, 0) if self.common.mr() & MR_PB == 0 => {
                let mut reply = message.to_vec();
                reply[0] = ECHO_REPLY;
                self.send_icmp(source, packet.src, reply);
                true
            }
            (ECHO_REPLY, 0) => M::echo_reply(self, packet.src, message),
            (DESTINATION_UNREACHABLE, PORT_UNREACHABLE) => self.unreachable_arrived(&message[8..]),
            _ => false,
        }
    }

    /// Handles a destination unreachable message. `original`: the IPv4 header and 8 bytes of the undeliverable
    /// datagram. UIPR and UPORTR show its destination (datasheet 4.1 "UIPR").
    fn unreachable_arrived(&mut self, original: &[u8]) -> bool {
        if original.len() < 20 {
            return false;
        }
        let header_length = usize::from(original[0] & 0x0F) * 4;
        if header_length < 20 || original.len() < header_length + 4 || original[9] != PROTO_UDP {
            return false;
        }
        if original[12..16] != self.common.sipr().octets() {
            return false;
        }
        self.common.set(UIPR, &original[16..20]);
        self.common.set(UPORTR, &original[header_length + 2..header_length + 4]);
        self.common.raise(IR_UNREACH);
        true
    }

    /// Tells the sender of a UDP datagram that no socket uses its port.
    pub(crate) fn send_port_unreachable(&mut self, source: Mac, packet: &Packet) {
        if !M::sends_unreachable(self) {
            return;
        }
        let mut message = vec![DESTINATION_UNREACHABLE, PORT_UNREACHABLE, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(packet.header);
        message.extend_from_slice(&packet.payload[..packet.payload.len().min(8)]);
        self.send_icmp(source, packet.src, message);
    }

    pub(crate) fn send_icmp(&mut self, to: Mac, dst: IpAddr, mut message: Vec<u8>) {
        message[2..4].fill(0);
        let sum = checksum(&[&message]);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        self.send_ip(to, dst, PROTO_ICMP, IpFields::default(), &message);
    }
}
