//! Frames on the cable, as far as they show which side waits for the other.

use sim::Ps;

use crate::Interval;
use crate::cause::Cause;

/// The class of a frame by the reaction it requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A TCP segment with only an acknowledgement.
    Acknowledgement,
    /// The first segment of a TCP connection.
    Open,
    /// Everything else: data, ARP, DHCP, the end of a connection.
    Message,
}

/// A frame that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// First bit of the preamble.
    pub start: Ps,
    /// Last bit at the receiver.
    pub arrival: Ps,
    /// The frame is from the PC to the board.
    pub to_board: bool,
    /// The frame's purpose.
    pub class: Class,
    /// The frame's connection.
    pub flow: Flow,
    /// With a radio: the frame's other places with their causes, in order. On its way to the PC they lie before
    /// `start`, on its way to the board after `arrival`.
    pub beside: Vec<(Interval, Cause)>,
}

impl Frame {
    /// Returns when the sender was finished with the frame: for a frame to the PC, the board.
    pub(crate) fn given(&self) -> Ps {
        self.whereabouts().first().map_or(self.start, |first| first.0.0)
    }

    /// Returns when its receiver can read it.
    pub(crate) fn taken(&self) -> Ps {
        self.whereabouts().last().map_or(self.arrival, |last| last.0.1)
    }

    /// Returns its complete way, in order.
    pub(crate) fn whereabouts(&self) -> Vec<(Interval, Cause)> {
        let wire = if self.to_board { Cause::WireToBoard } else { Cause::WireToPc };
        let mut all = self.beside.clone();
        all.insert(if self.to_board { 0 } else { all.len() }, ((self.start, self.arrival), wire));
        all
    }
}

/// Key of related frames: protocol and ports, the lower one first; for ARP, the sender and the requested address. A
/// request and its answer have the same flow.
pub(crate) type Flow = (u16, u16, u16);

const ARP: u16 = 0x806;

/// Returns the flow of an Ethernet frame.
pub fn flow(frame: &[u8], to_board: bool) -> Flow {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let arp = || {
        let request = word(20)? == 1;
        let address = if request { 38 } else { 28 }; // the requested address, or the answering one
        Some((ARP + u16::from(request == to_board), word(address)?, word(address + 2)?))
    };
    if word(12) == Some(ARP) {
        return arp().unwrap_or((ARP, 0, 0));
    }
    let ports = || {
        let ip = frame.get(14..).filter(|_| word(12) == Some(0x800))?;
        let (protocol, header) = (*ip.get(9)?, usize::from(*ip.first()? & 15) * 4);
        if !matches!(protocol, 6 | 17) {
            return Some((u16::from(protocol), 0, 0));
        }
        let (one, other) = (word(14 + header)?, word(16 + header)?);
        Some((u16::from(protocol), one.min(other), one.max(other)))
    };
    ports().unwrap_or((word(12).unwrap_or(0), 0, 0))
}

/// Classifies an Ethernet frame without FCS.
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
        frame.resize(frame.len().max(60), 0); // padding is not payload
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
    fn a_request_and_its_answer_have_one_flow() {
        let ports = |from: u16, to: u16| {
            let mut frame = tcp(0x18, 1);
            frame[34..36].copy_from_slice(&from.to_be_bytes());
            frame[36..38].copy_from_slice(&to.to_be_bytes());
            frame
        };
        assert_eq!(flow(&ports(5000, 49152), false), flow(&ports(49152, 5000), true));
        assert_ne!(flow(&ports(5000, 49152), false), flow(&ports(5000, 49153), true));
        let mut udp = ports(68, 67);
        udp[23] = 17;
        assert_eq!(flow(&udp, true), (17, 67, 68));
        let arp = |request: bool, from: u8, to: u8| {
            let mut frame = [vec![0; 12], vec![8, 6, 0, 1, 8, 0, 6, 4, 0, if request { 1 } else { 2 }]].concat();
            frame.resize(60, 0);
            (frame[31], frame[41]) = (from, to);
            frame
        };
        assert_eq!(flow(&arp(true, 100, 1), false), flow(&arp(false, 1, 100), true));
        // The PC's request does not answer a request of the board, nor an announcement of the board.
        assert_ne!(flow(&arp(true, 100, 100), false), flow(&arp(true, 1, 100), true));
        assert_eq!(flow(&arp(true, 1, 100), true), flow(&arp(false, 100, 1), false));
        (0..42).for_each(|length| _ = flow(&arp(true, 1, 2)[..length], true));
    }

    #[test]
    fn a_short_frame_is_a_message() {
        let whole = tcp(0x10, 0);
        for length in 0..54 {
            assert_eq!(classify(&whole[..length]), Class::Message, "{length}");
        }
    }
}
