//! Inspection of received frames for facts that the PC needs before its TCP/IP stack, or instead of it.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::ack::Segment;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpAddress,
    IpProtocol, Ipv4Packet, Ipv4Repr, TcpOption, TcpPacket, UdpPacket, UdpRepr,
};

const DHCP_SERVER_PORT: u16 = 67;
const DHCP_CLIENT_PORT: u16 = 68;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Peek<'a> {
    /// A TCP connection request, which the stack still checks.
    Syn {
        from: SocketAddrV4,
        to: SocketAddrV4,
    },
    /// Any other TCP segment.
    Tcp {
        from: SocketAddrV4,
        to: SocketAddrV4,
        segment: Segment,
    },
    /// A message to a DHCP server, with verified checksums.
    Dhcp {
        to: Ipv4Addr,
        payload: &'a [u8],
    },
    /// An ARP probe (RFC 5227) for one of our addresses, which `smoltcp` ignores for its empty sender address.
    Probe {
        mac: EthernetAddress,
        address: Ipv4Addr,
    },
    Other,
}

pub(crate) fn peek(frame: &[u8], our_mac: EthernetAddress) -> Peek<'_> {
    look(frame, our_mac).unwrap_or(Peek::Other)
}

fn look(frame: &[u8], our_mac: EthernetAddress) -> Option<Peek<'_>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.dst_addr() != our_mac && !ethernet.dst_addr().is_broadcast() {
        return None;
    }
    match ethernet.ethertype() {
        EthernetProtocol::Arp => look_arp(EthernetFrame::new_checked(frame).ok()?.payload()),
        EthernetProtocol::Ipv4 => look_ipv4(&frame[EthernetFrame::<&[u8]>::header_len()..]),
        _ => None,
    }
}

fn look_arp(payload: &[u8]) -> Option<Peek<'static>> {
    let ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: mac,
        source_protocol_addr,
        target_protocol_addr: address,
        ..
    } = ArpRepr::parse(&ArpPacket::new_checked(payload).ok()?).ok()?
    else {
        return None;
    };
    let probe = operation == ArpOperation::Request && source_protocol_addr.is_unspecified() && mac.is_unicast();
    probe.then_some(Peek::Probe { mac, address })
}

fn look_ipv4(payload: &[u8]) -> Option<Peek<'_>> {
    let checks = ChecksumCapabilities::default();
    let packet = Ipv4Packet::new_checked(payload).ok()?;
    let ip = Ipv4Repr::parse(&packet, &checks).ok()?;
    let body = &payload[usize::from(packet.header_len())..usize::from(packet.total_len())];
    match ip.next_header {
        IpProtocol::Tcp => {
            let tcp = TcpPacket::new_checked(body).ok()?;
            let from = SocketAddrV4::new(ip.src_addr, tcp.src_port());
            let to = SocketAddrV4::new(ip.dst_addr, tcp.dst_port());
            if tcp.syn() && !tcp.ack() && !tcp.rst() && !tcp.fin() {
                return Some(Peek::Syn { from, to });
            }
            (tcp.ack() && !tcp.syn() && !tcp.rst()).then(|| Peek::Tcp { from, to, segment: segment(&tcp) })
        }
        IpProtocol::Udp => {
            let udp = UdpPacket::new_checked(body).ok()?;
            let (src, dst) = (IpAddress::Ipv4(ip.src_addr), IpAddress::Ipv4(ip.dst_addr));
            let repr = UdpRepr::parse(&udp, &src, &dst, &checks).ok()?;
            let len = usize::from(udp.len());
            (repr.dst_port == DHCP_SERVER_PORT).then_some(Peek::Dhcp { to: ip.dst_addr, payload: body.get(8..len)? })
        }
        _ => None,
    }
}

fn segment(tcp: &TcpPacket<&[u8]>) -> Segment {
    Segment { bytes: tcp.payload().len(), push: tcp.psh(), end: tcp.fin(), ack: tcp.ack_number().0 as u32 }
}

/// Inspects a frame that the PC sends over IPv4.
pub(crate) fn peek_sent(frame: &[u8]) -> Peek<'_> {
    let look = || {
        let ethernet = EthernetFrame::new_checked(frame).ok()?;
        let is_ipv4 = ethernet.ethertype() == EthernetProtocol::Ipv4;
        is_ipv4.then(|| look_ipv4(&frame[EthernetFrame::<&[u8]>::header_len()..])).flatten()
    };
    look().unwrap_or(Peek::Other)
}

/// Changes the maximum segment size that a SYN announces. Other frames, and a SYN that announces none, stay as they are.
pub(crate) fn set_mss(frame: &mut [u8], mss: u16) {
    let start = EthernetFrame::<&[u8]>::header_len();
    let Ok(ethernet) = EthernetFrame::new_checked(&frame[..]) else { return };
    if ethernet.ethertype() != EthernetProtocol::Ipv4 {
        return;
    }
    let Ok(ip) = Ipv4Packet::new_checked(&frame[start..]) else { return };
    if ip.next_header() != IpProtocol::Tcp {
        return;
    }
    let (src, dst) = (IpAddress::Ipv4(ip.src_addr()), IpAddress::Ipv4(ip.dst_addr()));
    let body = start + usize::from(ip.header_len())..start + usize::from(ip.total_len());
    let Ok(mut tcp) = TcpPacket::new_checked(&mut frame[body]) else { return };
    if !tcp.syn() || !tcp.verify_checksum(&src, &dst) {
        return;
    }
    let options = tcp.options_mut();
    let mut at = 0;
    while let Ok((rest, option)) = TcpOption::parse(&options[at..]) {
        let next = options.len() - rest.len();
        match option {
            TcpOption::EndOfList => return,
            TcpOption::MaxSegmentSize(_) => {
                options[at + 2..next].copy_from_slice(&mss.to_be_bytes());
                return tcp.fill_checksum(&src, &dst);
            }
            _ => at = next,
        }
    }
}

/// Returns the sender address in the frame.
pub(crate) fn sender(frame: &[u8]) -> Option<Ipv4Addr> {
    let at = match EthernetFrame::new_checked(frame).ok()?.ethertype() {
        EthernetProtocol::Arp => 28,
        EthernetProtocol::Ipv4 => 26,
        _ => return None,
    };
    let bytes: [u8; 4] = frame.get(at..at + 4)?.try_into().ok()?;
    Some(bytes.into())
}

/// Builds the ARP reply to a [`Peek::Probe`].
pub(crate) fn probe_reply(our_mac: EthernetAddress, address: Ipv4Addr, mac: EthernetAddress) -> Vec<u8> {
    let arp = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: our_mac,
        source_protocol_addr: address,
        target_hardware_addr: mac,
        target_protocol_addr: Ipv4Addr::UNSPECIFIED,
    };
    let mut frame = ethernet(our_mac, mac, EthernetProtocol::Arp, arp.buffer_len());
    arp.emit(&mut ArpPacket::new_unchecked(&mut frame[EthernetFrame::<&[u8]>::header_len()..]));
    frame
}

/// Builds a DHCP message to a client whose address may not answer ARP yet.
pub(crate) fn dhcp_reply(
    our_mac: EthernetAddress,
    our_ip: Ipv4Addr,
    mac: EthernetAddress,
    address: Ipv4Addr,
    payload: &[u8],
) -> Vec<u8> {
    let checks = ChecksumCapabilities::default();
    let udp = UdpRepr { src_port: DHCP_SERVER_PORT, dst_port: DHCP_CLIENT_PORT };
    let ip = Ipv4Repr {
        src_addr: our_ip,
        dst_addr: address,
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + payload.len(),
        hop_limit: 64,
    };
    let mut frame = ethernet(our_mac, mac, EthernetProtocol::Ipv4, ip.buffer_len() + ip.payload_len);
    let packet = &mut frame[EthernetFrame::<&[u8]>::header_len()..];
    ip.emit(&mut Ipv4Packet::new_unchecked(&mut *packet), &checks);
    udp.emit(
        &mut UdpPacket::new_unchecked(&mut packet[ip.buffer_len()..]),
        &IpAddress::Ipv4(our_ip),
        &IpAddress::Ipv4(address),
        payload.len(),
        |body| body.copy_from_slice(payload),
        &checks,
    );
    frame
}

fn ethernet(src: EthernetAddress, dst: EthernetAddress, ethertype: EthernetProtocol, payload_len: usize) -> Vec<u8> {
    let repr = EthernetRepr { src_addr: src, dst_addr: dst, ethertype };
    let mut frame = vec![0; EthernetFrame::<&[u8]>::buffer_len(payload_len)];
    repr.emit(&mut EthernetFrame::new_unchecked(&mut frame));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use smoltcp::wire::{TcpControl, TcpRepr, TcpSeqNumber};

    fn segment(control: TcpControl, mss: Option<u16>) -> Vec<u8> {
        let (src, dst) = (Ipv4Addr::new(192, 168, 50, 100), Ipv4Addr::new(192, 168, 50, 1));
        let tcp = TcpRepr {
            src_port: 4000,
            dst_port: 5000,
            control,
            seq_number: TcpSeqNumber(7),
            ack_number: None,
            window_len: 6400,
            window_scale: Some(2),
            max_seg_size: mss,
            sack_permitted: true,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        let ip = Ipv4Repr {
            src_addr: src,
            dst_addr: dst,
            next_header: IpProtocol::Tcp,
            payload_len: tcp.buffer_len(),
            hop_limit: 64,
        };
        let (one, other) = (EthernetAddress([2; 6]), EthernetAddress([4; 6]));
        let mut frame = ethernet(one, other, EthernetProtocol::Ipv4, ip.buffer_len() + ip.payload_len);
        let checks = ChecksumCapabilities::default();
        let mut packet = Ipv4Packet::new_unchecked(&mut frame[14..]);
        ip.emit(&mut packet, &checks);
        tcp.emit(&mut TcpPacket::new_unchecked(packet.payload_mut()), &src.into(), &dst.into(), &checks);
        frame
    }

    fn read(frame: &[u8]) -> Option<u16> {
        let ip = Ipv4Packet::new_checked(&frame[14..]).unwrap();
        let (src, dst) = (IpAddress::Ipv4(ip.src_addr()), IpAddress::Ipv4(ip.dst_addr()));
        let tcp = TcpPacket::new_checked(ip.payload()).unwrap();
        TcpRepr::parse(&tcp, &src, &dst, &ChecksumCapabilities::default()).unwrap().max_seg_size
    }

    #[test]
    fn a_syn_gets_another_segment_size_and_its_checksum() {
        let mut frame = segment(TcpControl::Syn, Some(800));
        set_mss(&mut frame, 1460);
        assert_eq!(read(&frame), Some(1460));
        set_mss(&mut frame, 800);
        assert_eq!(frame, segment(TcpControl::Syn, Some(800)));
    }

    #[test]
    fn other_frames_keep_their_bytes() {
        let mut torn = segment(TcpControl::Syn, Some(800));
        *torn.last_mut().unwrap() ^= 1;
        for frame in [segment(TcpControl::Syn, None), segment(TcpControl::Fin, None), torn, vec![1; 9], vec![]] {
            let mut changed = frame.clone();
            set_mss(&mut changed, 1460);
            assert_eq!(changed, frame);
        }
    }

    #[test]
    fn a_datagram_ends_where_its_header_says() {
        let (mac, other) = (EthernetAddress([2; 6]), EthernetAddress([4; 6]));
        let (src, dst) = (Ipv4Addr::new(192, 168, 50, 100), Ipv4Addr::new(192, 168, 50, 1));
        let checks = ChecksumCapabilities::default();
        for (port, behind, is_dhcp) in [(67, 0, true), (67, 5, true), (68, 0, false)] {
            let udp = UdpRepr { src_port: 68, dst_port: port };
            let payload_len = udp.header_len() + 3 + behind;
            let ip =
                Ipv4Repr { src_addr: src, dst_addr: dst, next_header: IpProtocol::Udp, payload_len, hop_limit: 64 };
            let mut frame = ethernet(other, mac, EthernetProtocol::Ipv4, ip.buffer_len() + payload_len);
            let mut packet = Ipv4Packet::new_unchecked(&mut frame[14..]);
            ip.emit(&mut packet, &checks);
            let datagram = &mut packet.payload_mut()[..udp.header_len() + 3];
            let fill = |body: &mut [u8]| body.copy_from_slice(b"abc");
            udp.emit(&mut UdpPacket::new_unchecked(datagram), &src.into(), &dst.into(), 3, fill, &checks);
            let wanted = if is_dhcp { Peek::Dhcp { to: dst, payload: b"abc" } } else { Peek::Other };
            assert_eq!((peek(&frame, mac), peek(&frame, other)), (wanted, Peek::Other));
        }
    }
}
