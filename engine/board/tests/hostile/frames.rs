//! Frames between the board and its PC, valid and invalid.

use std::net::Ipv4Addr;

use crate::random::Random;

pub(crate) const BOARD: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 100);
pub(crate) const BOARD_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PC: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 1);
const PC_MAC: [u8; 6] = [0x02, 0x50, 0x42, 0x00, 0x00, 0x01];

fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum: u32 = 0;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sender and receiver of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    from: (Ipv4Addr, [u8; 6]),
    to: (Ipv4Addr, [u8; 6]),
}

pub(crate) const TO_PC: Way = Way { from: (BOARD, BOARD_MAC), to: (PC, PC_MAC) };
pub(crate) const TO_BOARD: Way = Way { from: (PC, PC_MAC), to: (BOARD, BOARD_MAC) };

impl Way {
    fn ethernet(self, r: &mut Random, kind: u16, payload: &[u8]) -> Vec<u8> {
        let to = if r.one_in(8) { [0xff; 6] } else { self.to.1 };
        [&to[..], &self.from.1, &kind.to_be_bytes(), payload].concat()
    }

    fn ipv4(self, r: &mut Random, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let from = if r.one_in(16) { Ipv4Addr::from(r.next()) } else { self.from.0 };
        let to =
            r.pick(&[self.to.0, self.to.0, self.to.0, self.to.0, Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 1)]);
        let fragment = if r.one_in(16) { r.next() as u16 } else { 0x4000 };
        let mut header = [&[0x45, 0][..], &(20 + payload.len() as u16).to_be_bytes(), &[0, 1]].concat();
        header.extend(fragment.to_be_bytes());
        header.extend([64, protocol, 0, 0]);
        header.extend(from.octets());
        header.extend(to.octets());
        let sum = sum(&[&header]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header.extend(payload);
        self.ethernet(r, 0x0800, &header)
    }

    fn pseudo(self, protocol: u8, len: usize) -> Vec<u8> {
        [&self.from.0.octets()[..], &self.to.0.octets(), &[0, protocol], &(len as u16).to_be_bytes()].concat()
    }

    fn arp(self, r: &mut Random) -> Vec<u8> {
        let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1 + r.below(3) as u8];
        arp.extend(self.from.1);
        arp.extend(self.from.0.octets());
        arp.extend(self.to.1);
        arp.extend(self.to.0.octets());
        self.ethernet(r, 0x0806, &arp)
    }

    fn icmp(self, r: &mut Random) -> Vec<u8> {
        let len = r.below(1400);
        let mut icmp = [&[r.pick(&[8, 8, 0, 3, 5, 11]), 0, 0, 0][..], &r.bytes(len)].concat();
        let sum = sum(&[&icmp]);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        self.ipv4(r, 1, &icmp)
    }

    fn udp(self, r: &mut Random) -> Vec<u8> {
        let port: u16 = r.pick(&[7, 53, 67, 68, 123, 5001, r.0 as u16]);
        let len = r.below(1400);
        let body = match port {
            67 if !r.one_in(4) => dhcp(r),
            53 if !r.one_in(4) => b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x04name\0\0\x01\0\x01".to_vec(),
            123 if !r.one_in(4) => [&[0x1b][..], &[0; 47]].concat(),
            _ => r.bytes(len),
        };
        let source: u16 = if port == 67 { 68 } else { 1024 + r.below(8) as u16 };
        let header = [source, port, 8 + body.len() as u16, 0].map(u16::to_be_bytes).concat();
        self.ipv4(r, 17, &[&header[..], &body].concat())
    }

    /// Returns a segment for one of `ports`: from the start of a connection, or any.
    fn tcp(self, r: &mut Random, ports: &[u16]) -> Vec<u8> {
        let (source, port) = (r.pick(&[40_000, 40_001, 40_002, 49_152]), r.pick(ports));
        let flags: u8 = r.pick(&[2, 2, 2, 0x10, 0x18, 0x11, 4, 0x14, 0x12, r.0 as u8 & 0x3f]);
        let (number, len) = (r.next(), if r.one_in(2) { 0 } else { r.below(1400) });
        let mut tcp = [source, port].map(u16::to_be_bytes).concat();
        tcp.extend(if flags == 2 { 1000 } else { 1001 + (number >> r.below(32)) }.to_be_bytes());
        tcp.extend((r.next() >> r.below(32)).to_be_bytes());
        tcp.extend([5 << 4, flags]);
        tcp.extend(r.pick(&[0, 1, 512, 2048, 0xffff, r.0 as u16]).to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(r.bytes(len));
        let sum = sum(&[&self.pseudo(6, tcp.len()), &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        self.ipv4(r, 6, &tcp)
    }

    pub(crate) fn any(self, r: &mut Random, ports: &[u16]) -> Vec<u8> {
        let frame = match r.below(8) {
            0 => self.arp(r),
            1 => self.icmp(r),
            2 | 3 => self.udp(r),
            4..7 => self.tcp(r, ports),
            _ => {
                let (kind, len) = (r.pick(&[0x0800, 0x0806, 0x86dd, 0x8100, 0x8864]), r.below(1500));
                let payload = r.bytes(len);
                self.ethernet(r, kind, &payload)
            }
        };
        r.damage(frame)
    }
}

fn dhcp(r: &mut Random) -> Vec<u8> {
    let mut message = vec![0; 240];
    message[..4].copy_from_slice(&[1, 1, 6, 0]);
    message[28..34].copy_from_slice(&BOARD_MAC);
    message[33] = r.next() as u8;
    message[236..].copy_from_slice(&[0x63, 0x82, 0x53, 0x63]);
    message.extend([53, 1, r.below(10) as u8, 50, 4, 192, 168, 50, 98 + r.below(10) as u8, 255]);
    message
}
