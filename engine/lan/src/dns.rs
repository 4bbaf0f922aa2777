//! A name server that answers every name with one address, or with an error (RFC 1035).

use std::net::{Ipv4Addr, SocketAddrV4};

use sim::Ps;
use smoltcp::wire::{DnsFlags, DnsOpcode, DnsPacket, DnsQueryType, DnsQuestion};

use crate::app::UdpApp;

pub(crate) const PORT: u16 = 53;
const HEADER_BYTES: usize = 12;
const TTL_S: u32 = 60;
/// RCODE 3, in the low bits of the header's fourth byte.
const NO_SUCH_NAME: u8 = 3;

pub(crate) struct NameServer {
    /// `None`: no name exists.
    pub(crate) answer: Option<Ipv4Addr>,
}

impl UdpApp for NameServer {
    fn receive(&mut self, _from: SocketAddrV4, data: &[u8], _now: Ps) -> Option<Vec<u8>> {
        answer(data, self.answer)
    }
}

fn answer(query: &[u8], address: Option<Ipv4Addr>) -> Option<Vec<u8>> {
    let packet = DnsPacket::new_checked(query).ok()?;
    let flags = packet.flags();
    if flags.contains(DnsFlags::RESPONSE) || packet.opcode() != DnsOpcode::Query || packet.question_count() != 1 {
        return None;
    }
    let known = address.is_some();
    let (rest, question) = DnsQuestion::parse(packet.payload()).ok()?;
    let question_end = query.len() - rest.len();
    let address = address.filter(|_| question.type_ == DnsQueryType::A);

    let mut reply = query[..question_end].to_vec();
    let mut header = DnsPacket::new_unchecked(&mut reply);
    header.set_flags(DnsFlags::RESPONSE | DnsFlags::RECURSION_AVAILABLE | (flags & DnsFlags::RECURSION_DESIRED));
    header.set_answer_record_count(u16::from(address.is_some()));
    header.set_authority_record_count(0);
    header.set_additional_record_count(0);
    if let Some(address) = address {
        // A pointer to the question's name, then type, class, time to live, length and the address.
        reply.extend([0xc0, HEADER_BYTES as u8, 0, 1, 0, 1]);
        reply.extend(TTL_S.to_be_bytes());
        reply.extend([0, 4]);
        reply.extend(address.octets());
    }
    if !known {
        reply[3] |= NO_SUCH_NAME;
    }
    Some(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::SplitMix64;

    fn query(kind: u8) -> Vec<u8> {
        let mut query = vec![0xab, 0xcd, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend(b"\x06server\x03lan\x00");
        query.extend([0, kind, 0, 1]);
        query
    }

    #[test]
    fn an_a_query_gets_the_address_and_aaaa_gets_none() {
        let reply = answer(&query(1), Some(Ipv4Addr::new(192, 168, 50, 1))).unwrap();
        assert_eq!(reply[..12], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(reply[12..28], query(1)[12..]);
        assert_eq!(reply[28..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 168, 50, 1]);
        let reply = answer(&query(28), Some(Ipv4Addr::new(192, 168, 50, 1))).unwrap();
        assert_eq!((reply.len(), reply[7]), (28, 0));
    }

    #[test]
    fn the_reply_to_edns_has_no_record_of_it() {
        let mut edns = query(1);
        edns[11] = 1;
        edns.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        assert_eq!(answer(&edns, Some(Ipv4Addr::LOCALHOST)), answer(&query(1), Some(Ipv4Addr::LOCALHOST)));
    }

    #[test]
    fn without_an_address_no_name_exists() {
        let reply = answer(&query(1), None).unwrap();
        assert_eq!(reply[..12], [0xab, 0xcd, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(reply[12..], query(1)[12..]);
    }

    #[test]
    fn garbage_never_panics_a_reply_is_not_answered_and_all_is_as_recorded() {
        let (mut random, mut sum) = (SplitMix64::new(3), 0u64);
        for _ in 0..20_000 {
            let mut data = query(1);
            for _ in 0..=random.below(4) {
                let at = random.below(data.len() as u64) as usize;
                data[at] = random.draw() as u8;
            }
            data.truncate(random.below(data.len() as u64 + 1) as usize);
            if let Some(reply) = answer(&data, Some(Ipv4Addr::LOCALHOST)) {
                assert!(answer(&reply, Some(Ipv4Addr::LOCALHOST)).is_none());
                sum = reply.iter().fold(sum, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            }
        }
        assert_eq!(sum, 0x873c30e03e8e1f20);
    }
}
