//! Frames on the cable as far as they say who waits for whom.

use sim::Ps;

/// What a frame asks of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A TCP segment that only acknowledges.
    Acknowledgement,
    /// The first segment of a TCP connection.
    Open,
    /// Everything else: data, ARP, DHCP, the end of a connection.
    Message,
}

/// A frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// First bit of the preamble.
    pub start: Ps,
    /// Last bit at the receiver.
    pub arrival: Ps,
    pub to_board: bool,
    pub class: Class,
}

/// Of an Ethernet frame without FCS.
pub fn classify(frame: &[u8]) -> Class {
    tcp_class(frame).unwrap_or(Class::Message)
}

fn tcp_class(frame: &[u8]) -> Option<Class> {
    const IPV4: [u8; 2] = [8, 0];
    const TCP: u8 = 6;
    if frame.get(12..14)? != IPV4 {
        return None;
    }
    let ip = frame.get(14..)?;
    let header = usize::from(ip.first()? & 15) * 4;
    let total = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
    if *ip.get(9)? != TCP {
        return None;
    }
    let tcp = ip.get(header..total)?;
    let flags = *tcp.get(13)?;
    let payload = tcp.len().checked_sub(usize::from(tcp.get(12)? >> 4) * 4)?;
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const ACK: u8 = 16;
    Some(match flags & (FIN | SYN | RST | ACK) {
        SYN => Class::Open,
        ACK if payload == 0 => Class::Acknowledgement,
        _ => Class::Message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(flags: u8, payload: usize) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, 0, (40 + payload) as u8, 0, 0, 0, 0, 64, 6]);
        frame.resize(14 + 20, 0);
        frame.extend([0; 12]);
        frame.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
        frame.resize(frame.len() + payload, b'1');
        frame.resize(frame.len().max(60), 0); // padding is no payload
        frame
    }

    #[test]
    fn tcp_by_flags_and_payload() {
        assert_eq!(classify(&tcp(0x10, 0)), Class::Acknowledgement);
        assert_eq!(classify(&tcp(0x18, 1)), Class::Message);
        assert_eq!(classify(&tcp(0x02, 0)), Class::Open);
        assert_eq!(classify(&tcp(0x12, 0)), Class::Message);
        assert_eq!(classify(&tcp(0x11, 0)), Class::Message);
        assert_eq!(classify(&tcp(0x14, 0)), Class::Message);
    }

    #[test]
    fn whatever_is_too_short_is_a_message() {
        let whole = tcp(0x10, 0);
        for length in 0..54 {
            assert_eq!(classify(&whole[..length]), Class::Message, "{length}");
        }
    }
}
