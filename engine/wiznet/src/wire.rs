//! Ethernet, ARP, IPv4, UDP and TCP headers: bounds-checked parsing and building with checksums.

pub(crate) use std::net::{IpAddr, Ipv4Addr};

pub(crate) type Mac = [u8; 6];

pub(crate) const BROADCAST_MAC: Mac = [0xFF; 6];
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_ARP: u16 = 0x0806;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86DD;
pub(crate) const ETHERNET_HEADER: usize = 14;
/// Smallest and largest frame without FCS (IEEE 802.3).
pub(crate) const MIN_FRAME: usize = 60;
pub(crate) const MAX_FRAME: usize = 1514;

pub(crate) const PROTO_ICMP: u8 = 1;
pub(crate) const PROTO_IGMP: u8 = 2;
pub(crate) const PROTO_TCP: u8 = 6;
pub(crate) const PROTO_UDP: u8 = 17;

pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// Returns the Internet checksum (RFC 1071) over the parts, of which only the last may have odd length.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u64::from(low));
        }
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// Returns an address's 4 or 16 bytes.
pub(crate) fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// Returns the pseudo-header of a checksum. IPv6's has more zeros (RFC 8200, 8.1), which do not change the sum.
fn pseudo_header(src: IpAddr, dst: IpAddr, protocol: u8, length: usize) -> Vec<u8> {
    // The payload of a frame never exceeds 16 bits.
    [&octets(src)[..], &octets(dst), &[0, protocol], &(length as u16).to_be_bytes()].concat()
}

/// Builds an Ethernet II frame.
pub(crate) fn ethernet(dst: Mac, src: Mac, ethertype: u16, payload: &[&[u8]]) -> Vec<u8> {
    let length: usize = payload.iter().map(|part| part.len()).sum();
    let mut frame = Vec::with_capacity(ETHERNET_HEADER + length);
    frame.extend_from_slice(&dst);
    frame.extend_from_slice(&src);
    frame.extend_from_slice(&ethertype.to_be_bytes());
    for part in payload {
        frame.extend_from_slice(part);
    }
    frame
}

/// Returns a group's multicast MAC address (RFC 1112, RFC 2464).
pub(crate) fn multicast_mac(group: IpAddr) -> Mac {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [0x01, 0x00, 0x5E, b & 0x7F, c, d]
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }
}

/// An ARP packet for IPv4 over Ethernet (RFC 826).
pub(crate) struct Arp {
    pub(crate) operation: u16,
    pub(crate) sender_mac: Mac,
    pub(crate) sender_ip: Ipv4Addr,
    pub(crate) target_mac: Mac,
    pub(crate) target_ip: Ipv4Addr,
}

pub(crate) const ARP_REQUEST: u16 = 1;
pub(crate) const ARP_REPLY: u16 = 2;

impl Arp {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < 28 || bytes[0..6] != [0, 1, 8, 0, 6, 4] {
            return None;
        }
        Some(Self {
            operation: be16(bytes, 6),
            sender_mac: array(bytes, 8),
            sender_ip: array(bytes, 14).into(),
            target_mac: array(bytes, 18),
            target_ip: array(bytes, 24).into(),
        })
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut bytes = vec![0, 1, 8, 0, 6, 4];
        bytes.extend_from_slice(&self.operation.to_be_bytes());
        bytes.extend_from_slice(&self.sender_mac);
        bytes.extend_from_slice(&self.sender_ip.octets());
        bytes.extend_from_slice(&self.target_mac);
        bytes.extend_from_slice(&self.target_ip.octets());
        bytes
    }
}

/// A received packet that is not a fragment (the W5500 has no reassembly, datasheet "Features").
pub(crate) struct Packet<'a> {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) header: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Returns an IPv4 packet with a correct header checksum.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() < 20 || bytes[0] >> 4 != 4 {
            return None;
        }
        let header_length = usize::from(bytes[0] & 0x0F) * 4;
        let total = usize::from(be16(bytes, 2));
        if header_length < 20 || total < header_length || total > bytes.len() {
            return None;
        }
        let (header, payload) = bytes[..total].split_at(header_length);
        if checksum(&[header]) != 0 || be16(header, 6) & 0x3FFF != 0 {
            return None;
        }
        let address = |at| IpAddr::from(array::<4>(header, at));
        Some(Self { src: address(12), dst: address(16), protocol: header[9], header, payload })
    }

    fn transport_checksum_is_right(&self) -> bool {
        let pseudo = pseudo_header(self.src, self.dst, self.protocol, self.payload.len());
        checksum(&[&pseudo, self.payload]) == 0
    }

    pub(crate) fn udp(&self) -> Option<Udp<'a>> {
        let bytes = self.payload;
        if bytes.len() < 8 {
            return None;
        }
        let length = usize::from(be16(bytes, 4));
        if length < 8 || length > bytes.len() {
            return None;
        }
        if be16(bytes, 6) != 0 {
            let pseudo = pseudo_header(self.src, self.dst, self.protocol, length);
            if checksum(&[&pseudo, &bytes[..length]]) != 0 {
                return None;
            }
        }
        Some(Udp { src_port: be16(bytes, 0), dst_port: be16(bytes, 2), data: &bytes[8..length] })
    }

    pub(crate) fn tcp(&self) -> Option<Segment<'a>> {
        let bytes = self.payload;
        if bytes.len() < 20 || !self.transport_checksum_is_right() {
            return None;
        }
        let offset = usize::from(bytes[12] >> 4) * 4;
        if offset < 20 || offset > bytes.len() {
            return None;
        }
        Some(Segment {
            src_port: be16(bytes, 0),
            dst_port: be16(bytes, 2),
            seq: be32(bytes, 4),
            ack: be32(bytes, 8),
            flags: bytes[13],
            window: be16(bytes, 14),
            mss: mss_option(&bytes[20..offset]),
            data: &bytes[offset..],
        })
    }
}

pub(crate) struct Udp<'a> {
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) data: &'a [u8],
}

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

/// A TCP segment.
pub(crate) struct Segment<'a> {
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) mss: Option<u16>,
    pub(crate) data: &'a [u8],
}

impl Segment<'_> {
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the sequence numbers that the segment occupies.
    pub(crate) fn sequence_length(&self) -> u32 {
        // An IPv4 payload is shorter than 64 KB.
        self.data.len() as u32 + u32::from(self.has(SYN)) + u32::from(self.has(FIN))
    }

    /// Returns the segment's bytes with its checksum.
    pub(crate) fn build(&self, src: IpAddr, dst: IpAddr) -> Vec<u8> {
        let header_length = if self.mss.is_some() { 24 } else { 20 };
        let mut bytes = Vec::with_capacity(header_length + self.data.len());
        bytes.extend_from_slice(&self.src_port.to_be_bytes());
        bytes.extend_from_slice(&self.dst_port.to_be_bytes());
        bytes.extend_from_slice(&self.seq.to_be_bytes());
        bytes.extend_from_slice(&self.ack.to_be_bytes());
        bytes.extend_from_slice(&[(header_length as u8 / 4) << 4, self.flags]);
        bytes.extend_from_slice(&self.window.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        if let Some(mss) = self.mss {
            bytes.extend_from_slice(&[2, 4]);
            bytes.extend_from_slice(&mss.to_be_bytes());
        }
        bytes.extend_from_slice(self.data);
        let sum = checksum(&[&pseudo_header(src, dst, PROTO_TCP, bytes.len()), &bytes]);
        bytes[16..18].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// Returns the value of the maximum segment size option, if there is one.
fn mss_option(mut options: &[u8]) -> Option<u16> {
    while let [kind, rest @ ..] = options {
        match kind {
            0 => return None,
            1 => options = rest,
            _ => {
                let length = usize::from(*rest.first()?);
                if length < 2 || length > options.len() {
                    return None;
                }
                if *kind == 2 && length == 4 {
                    return Some(be16(options, 2));
                }
                options = &options[length..];
            }
        }
    }
    None
}

/// The fields of an IPv4 header set by a socket's registers.
#[derive(Clone, Copy)]
pub(crate) struct IpFields {
    pub(crate) tos: u8,
    pub(crate) ttl: u8,
    /// Flags and fragment offset as in Sn_FRAG.
    pub(crate) frag: u16,
}

impl Default for IpFields {
    /// Returns the values of a socket's registers after reset.
    fn default() -> Self {
        Self { tos: 0, ttl: 0x80, frag: 0x4000 }
    }
}

/// Builds an IPv4 header with `options` (a multiple of 4 bytes) for `payload_length` bytes.
pub(crate) fn ipv4_header(
    fields: IpFields,
    id: u16,
    protocol: u8,
    src: Ipv4Addr,
    dst: Ipv4Addr,
    options: &[u8],
    payload_length: usize,
) -> Vec<u8> {
    let header_length = 20 + options.len();
    let mut header = vec![0x40 | (header_length / 4) as u8, fields.tos];
    header.extend_from_slice(&((header_length + payload_length) as u16).to_be_bytes());
    header.extend_from_slice(&id.to_be_bytes());
    header.extend_from_slice(&fields.frag.to_be_bytes());
    header.extend_from_slice(&[fields.ttl, protocol, 0, 0]);
    header.extend_from_slice(&src.octets());
    header.extend_from_slice(&dst.octets());
    header.extend_from_slice(options);
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Builds a UDP header and its data with the checksum.
pub(crate) fn udp(src: (IpAddr, u16), dst: (IpAddr, u16), data: &[u8]) -> Vec<u8> {
    let length = 8 + data.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&src.1.to_be_bytes());
    bytes.extend_from_slice(&dst.1.to_be_bytes());
    bytes.extend_from_slice(&(length as u16).to_be_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(data);
    let sum = match checksum(&[&pseudo_header(src.0, dst.0, PROTO_UDP, length), &bytes]) {
        // 0 would mean "no checksum" (RFC 768).
        0 => 0xFFFF,
        sum => sum,
    };
    bytes[6..8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_covers_addresses_of_either_version() {
        let group = IpAddr::from([0xff02, 0, 0, 0, 0, 0, 0, 0xfb]);
        let datagram = udp((IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, 1]), 5353), (group, 5353), b"abc");
        // Calculated by hand from RFC 8200, 8.1.
        assert_eq!(be16(&datagram, 6), 0x1324);
        assert_eq!(multicast_mac(group), [0x33, 0x33, 0, 0, 0, 0xfb]);
    }
}
