//! A host that drives the chip over SPI, and builders and parsers for the peer's frames.

pub(crate) use sim::{Device, EthernetChip, SpiDevice};
use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::*;
use wiznet::{Config, W5500};

pub(crate) const US: Ps = PS_PER_US;
pub(crate) const MS: Ps = PS_PER_MS;
pub(crate) const SECOND: Ps = PS_PER_S;

pub(crate) const MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x55, 0x00];
pub(crate) const IP: [u8; 4] = [192, 168, 1, 50];
pub(crate) const MASK: [u8; 4] = [255, 255, 255, 0];
pub(crate) const GATEWAY: [u8; 4] = [192, 168, 1, 1];
pub(crate) const PEER_MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x00, 0x0C];
pub(crate) const PEER: [u8; 4] = [192, 168, 1, 10];

pub(crate) const COMMON: u8 = 0;
pub(crate) fn socket(n: u8) -> u8 {
    1 + 4 * n
}
pub(crate) fn tx(n: u8) -> u8 {
    2 + 4 * n
}
pub(crate) fn rx(n: u8) -> u8 {
    3 + 4 * n
}

pub(crate) const MR: u16 = 0x00;
pub(crate) const CR: u16 = 0x01;
pub(crate) const IR: u16 = 0x02;
pub(crate) const SR: u16 = 0x03;
pub(crate) const PORT: u16 = 0x04;
pub(crate) const DHAR: u16 = 0x06;
pub(crate) const DIPR: u16 = 0x0C;
pub(crate) const DPORT: u16 = 0x10;
pub(crate) const MSSR: u16 = 0x12;
pub(crate) const RXBUF_SIZE: u16 = 0x1E;
pub(crate) const TXBUF_SIZE: u16 = 0x1F;
pub(crate) const TX_FSR: u16 = 0x20;
pub(crate) const TX_RD: u16 = 0x22;
pub(crate) const TX_WR: u16 = 0x24;
pub(crate) const RX_RSR: u16 = 0x26;
pub(crate) const RX_RD: u16 = 0x28;
pub(crate) const IMR: u16 = 0x2C;
pub(crate) const KPALVTR: u16 = 0x2F;

pub(crate) const OPEN: u8 = 0x01;
pub(crate) const LISTEN: u8 = 0x02;
pub(crate) const CONNECT: u8 = 0x04;
pub(crate) const DISCON: u8 = 0x08;
pub(crate) const CLOSE: u8 = 0x10;
pub(crate) const SEND: u8 = 0x20;
pub(crate) const SEND_MAC: u8 = 0x21;
pub(crate) const SEND_KEEP: u8 = 0x22;
pub(crate) const RECV: u8 = 0x40;

pub(crate) const IR_SEND_OK: u8 = 0x10;
pub(crate) const IR_TIMEOUT: u8 = 0x08;
pub(crate) const IR_RECV: u8 = 0x04;
pub(crate) const IR_DISCON: u8 = 0x02;
pub(crate) const IR_CON: u8 = 0x01;

pub(crate) const CLOSED: u8 = 0x00;
pub(crate) const INIT: u8 = 0x13;
pub(crate) const LISTENING: u8 = 0x14;
pub(crate) const SYNSENT: u8 = 0x15;
pub(crate) const SYNRECV: u8 = 0x16;
pub(crate) const ESTABLISHED: u8 = 0x17;
pub(crate) const FIN_WAIT: u8 = 0x18;
pub(crate) const CLOSING: u8 = 0x1A;
pub(crate) const TIME_WAIT: u8 = 0x1B;
pub(crate) const CLOSE_WAIT: u8 = 0x1C;
pub(crate) const LAST_ACK: u8 = 0x1D;
pub(crate) const UDP: u8 = 0x22;
pub(crate) const MACRAW: u8 = 0x42;

/// The chip and the host's clock. SPI takes no time unless `byte_time` is set, so that timers can be checked exactly.
pub(crate) struct Board {
    pub chip: W5500,
    pub now: Ps,
    pub byte_time: Ps,
}

impl Board {
    pub(crate) fn new(config: Config) -> Self {
        Self { chip: W5500::new(config), now: 2 * MS, byte_time: 0 }
    }

    /// Returns a board with link up and addresses set.
    pub(crate) fn up() -> Self {
        Self::up_with(Config::default())
    }

    pub(crate) fn up_with(config: Config) -> Self {
        let mut board = Self::new(sim::with!(config, phy_link_delay: 0));
        board.write(COMMON, 0x01, &GATEWAY);
        board.write(COMMON, 0x05, &MASK);
        board.write(COMMON, 0x09, &MAC);
        board.write(COMMON, 0x0F, &IP);
        board
    }

    pub(crate) fn byte(&mut self, mosi: u8) -> u8 {
        self.now += self.byte_time;
        self.touched_if_changed(|chip, now| chip.exchange(now, mosi))
    }

    pub(crate) fn select(&mut self, low: bool) {
        self.touched_if_changed(|chip, now| chip.select(now, low));
    }

    fn touched_if_changed<T>(&mut self, act: impl FnOnce(&mut W5500, Ps) -> T) -> T {
        let told = |chip: &W5500| (chip.next_event(), chip.interrupt_low(), chip.stats().frames_out);
        self.chip.take_touched();
        let before = told(&self.chip);
        let result = act(&mut self.chip, self.now);
        assert!(self.chip.take_touched() || told(&self.chip) == before, "a change at {} is hidden", self.now);
        result
    }

    fn header(&mut self, block: u8, address: u16, write: bool) {
        self.byte((address >> 8) as u8);
        self.byte(address as u8);
        self.byte(block << 3 | if write { 4 } else { 0 });
    }

    pub(crate) fn write(&mut self, block: u8, address: u16, data: &[u8]) {
        self.select(true);
        self.header(block, address, true);
        for &byte in data {
            self.byte(byte);
        }
        self.select(false);
    }

    pub(crate) fn read(&mut self, block: u8, address: u16, length: usize) -> Vec<u8> {
        self.select(true);
        self.header(block, address, false);
        let data = (0..length).map(|_| self.byte(0)).collect();
        self.select(false);
        data
    }

    /// Returns the register's name in the chip's log.
    pub(crate) fn name_at(&mut self, block: u8, address: u16) -> String {
        self.chip.set_log(true);
        self.read(block, address, 1);
        self.chip.take_log().remove(0).name
    }

    pub(crate) fn get(&mut self, block: u8, address: u16) -> u8 {
        self.read(block, address, 1)[0]
    }

    pub(crate) fn get16(&mut self, block: u8, address: u16) -> u16 {
        let bytes = self.read(block, address, 2);
        u16::from_be_bytes([bytes[0], bytes[1]])
    }

    pub(crate) fn put16(&mut self, block: u8, address: u16, value: u16) {
        self.write(block, address, &value.to_be_bytes());
    }

    pub(crate) fn run(&mut self, time: Ps) {
        self.now += time;
        self.chip.advance(self.now);
    }

    pub(crate) fn command(&mut self, n: u8, command: u8) {
        self.write(socket(n), CR, &[command]);
        assert_eq!(self.get(socket(n), CR), 0);
    }

    pub(crate) fn status(&mut self, n: u8) -> u8 {
        self.get(socket(n), SR)
    }

    pub(crate) fn ir(&mut self, n: u8) -> u8 {
        self.get(socket(n), IR)
    }

    pub(crate) fn clear_ir(&mut self, n: u8) {
        self.write(socket(n), IR, &[0xFF]);
    }

    pub(crate) fn open(&mut self, n: u8, mode: u8, port: u16) {
        self.write(socket(n), MR, &[mode]);
        self.put16(socket(n), PORT, port);
        self.command(n, OPEN);
    }

    /// Writes data to the TX buffer at Sn_TX_WR, as in the datasheet.
    pub(crate) fn fill(&mut self, n: u8, data: &[u8]) {
        let pointer = self.get16(socket(n), TX_WR);
        self.write(tx(n), pointer, data);
        self.put16(socket(n), TX_WR, pointer.wrapping_add(data.len() as u16));
    }

    pub(crate) fn send(&mut self, n: u8, data: &[u8]) {
        self.fill(n, data);
        self.command(n, SEND);
    }

    /// Reads up to `length` received bytes, as in the datasheet.
    pub(crate) fn recv(&mut self, n: u8, length: usize) -> Vec<u8> {
        let length = length.min(usize::from(self.get16(socket(n), RX_RSR)));
        let pointer = self.get16(socket(n), RX_RD);
        let data = self.read(rx(n), pointer, length);
        self.put16(socket(n), RX_RD, pointer.wrapping_add(length as u16));
        self.command(n, RECV);
        data
    }

    pub(crate) fn arrive(&mut self, frame: &[u8]) {
        self.chip.receive_frame(self.now, frame);
    }

    pub(crate) fn frames(&mut self) -> Vec<(Ps, Vec<u8>)> {
        std::iter::from_fn(|| self.chip.take_frame()).collect()
    }

    /// Takes the only waiting frame.
    pub(crate) fn frame(&mut self) -> Vec<u8> {
        let mut frames = self.frames();
        assert_eq!(frames.len(), 1, "one frame expected");
        frames.remove(0).1
    }

    pub(crate) fn no_frame(&mut self) {
        assert_eq!(self.frames(), []);
    }

    /// Takes the only waiting TCP segment.
    pub(crate) fn segment(&mut self) -> Segment {
        Segment::parse(&self.frame())
    }

    /// Takes all waiting TCP segments.
    pub(crate) fn segments(&mut self) -> Vec<Segment> {
        self.frames().iter().map(|(_, frame)| Segment::parse(frame)).collect()
    }

    /// Answers the waiting ARP request.
    pub(crate) fn answer_arp(&mut self, ip: [u8; 4]) {
        let request = arp_of(&self.frame());
        let ArpRepr::EthernetIpv4 { operation, target_protocol_addr, .. } = request else { panic!("no ARP") };
        assert_eq!(operation, ArpOperation::Request);
        assert_eq!(target_protocol_addr.octets(), ip);
        self.arrive(&arp_frame(ArpOperation::Reply, PEER_MAC, ip, MAC, IP));
    }
}

pub(crate) fn ethernet(dst: [u8; 6], src: [u8; 6], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = dst.to_vec();
    frame.extend_from_slice(&src);
    frame.extend_from_slice(&ethertype.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

pub(crate) fn arp_frame(
    operation: ArpOperation,
    src_mac: [u8; 6],
    src_ip: [u8; 4],
    dst_mac: [u8; 6],
    dst_ip: [u8; 4],
) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(src_mac),
        source_protocol_addr: src_ip.into(),
        target_hardware_addr: EthernetAddress(dst_mac),
        target_protocol_addr: dst_ip.into(),
    };
    let mut bytes = vec![0; repr.buffer_len()];
    repr.emit(&mut ArpPacket::new_unchecked(&mut bytes));
    let to = if operation == ArpOperation::Request { [0xFF; 6] } else { dst_mac };
    ethernet(to, src_mac, 0x0806, &bytes)
}

pub(crate) fn arp_of(frame: &[u8]) -> ArpRepr {
    assert_eq!(frame[12..14], [8, 6]);
    ArpRepr::parse(&ArpPacket::new_checked(&frame[14..]).unwrap()).unwrap()
}

/// Returns an IPv4 packet in a frame from the peer to the board.
pub(crate) fn ip_frame(to: [u8; 6], src: [u8; 4], dst: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let repr = Ipv4Repr {
        src_addr: src.into(),
        dst_addr: dst.into(),
        next_header: protocol.into(),
        payload_len: payload.len(),
        hop_limit: 64,
    };
    let mut bytes = vec![0; 20];
    repr.emit(&mut Ipv4Packet::new_unchecked(&mut bytes), &ChecksumCapabilities::default());
    bytes.extend_from_slice(payload);
    ethernet(to, PEER_MAC, 0x0800, &bytes)
}

/// Returns the IPv4 packet of a frame from the board, with verified header checksum.
pub(crate) fn ip_of(frame: &[u8]) -> Ipv4Packet<&[u8]> {
    assert_eq!(frame[12..14], [8, 0], "no IPv4: {frame:02x?}");
    assert_eq!(frame[6..12], MAC);
    let packet = Ipv4Packet::new_checked(&frame[14..]).unwrap();
    assert!(packet.verify_checksum());
    assert_eq!(usize::from(packet.total_len()), frame.len() - 14);
    packet
}

pub(crate) fn udp_frame_from(src: ([u8; 4], u16), to: [u8; 6], dst: ([u8; 4], u16), data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 8 + data.len()];
    let mut packet = UdpPacket::new_unchecked(&mut bytes);
    packet.set_src_port(src.1);
    packet.set_dst_port(dst.1);
    packet.set_len(8 + data.len() as u16);
    packet.payload_mut().copy_from_slice(data);
    packet.fill_checksum(&Ipv4Address::from(src.0).into(), &Ipv4Address::from(dst.0).into());
    ip_frame(to, src.0, dst.0, 17, &bytes)
}

pub(crate) fn udp_frame(src_port: u16, dst_port: u16, data: &[u8]) -> Vec<u8> {
    udp_frame_from((PEER, src_port), MAC, (IP, dst_port), data)
}

pub(crate) struct Datagram {
    pub to: [u8; 6],
    pub dst: [u8; 4],
    pub src_port: u16,
    pub dst_port: u16,
    pub data: Vec<u8>,
}

impl Datagram {
    pub(crate) fn parse(frame: &[u8]) -> Self {
        let ip = ip_of(frame);
        assert_eq!(ip.next_header(), IpProtocol::Udp);
        let packet = UdpPacket::new_checked(ip.payload()).unwrap();
        assert!(packet.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into()));
        Self {
            to: frame[..6].try_into().unwrap(),
            dst: ip.dst_addr().octets(),
            src_port: packet.src_port(),
            dst_port: packet.dst_port(),
            data: packet.payload().to_vec(),
        }
    }
}

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub mss: Option<u16>,
    pub data: Vec<u8>,
}

impl Segment {
    pub(crate) fn parse(frame: &[u8]) -> Self {
        let ip = ip_of(frame);
        assert_eq!(ip.next_header(), IpProtocol::Tcp);
        let packet = TcpPacket::new_checked(ip.payload()).unwrap();
        assert!(packet.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into()));
        let mut mss = None;
        let mut options = packet.options();
        while !options.is_empty() {
            let (rest, option) = TcpOption::parse(options).unwrap();
            if let TcpOption::MaxSegmentSize(value) = option {
                mss = Some(value);
            }
            options = rest;
        }
        Self {
            src_port: packet.src_port(),
            dst_port: packet.dst_port(),
            seq: packet.seq_number().0 as u32,
            ack: packet.ack_number().0 as u32,
            flags: ip.payload()[13],
            window: packet.window_len(),
            mss,
            data: packet.payload().to_vec(),
        }
    }

    /// Returns the segment in a frame from the peer.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let header = if self.mss.is_some() { 24 } else { 20 };
        let mut bytes = vec![0; header + self.data.len()];
        let mut packet = TcpPacket::new_unchecked(&mut bytes);
        packet.set_src_port(self.src_port);
        packet.set_dst_port(self.dst_port);
        packet.set_seq_number(TcpSeqNumber(self.seq as i32));
        packet.set_ack_number(TcpSeqNumber(self.ack as i32));
        packet.set_header_len(header as u8);
        packet.set_fin(self.flags & FIN != 0);
        packet.set_syn(self.flags & SYN != 0);
        packet.set_rst(self.flags & RST != 0);
        packet.set_psh(self.flags & PSH != 0);
        packet.set_ack(self.flags & ACK != 0);
        packet.set_window_len(self.window);
        if let Some(mss) = self.mss {
            TcpOption::MaxSegmentSize(mss).emit(packet.options_mut());
        }
        packet.payload_mut().copy_from_slice(&self.data);
        packet.fill_checksum(&Ipv4Address::from(PEER).into(), &Ipv4Address::from(IP).into());
        ip_frame(MAC, PEER, IP, 6, &bytes)
    }
}

/// The peer's end of one connection.
#[derive(Clone, Debug)]
pub(crate) struct PeerEnd {
    pub port: u16,
    pub board_port: u16,
    /// Our next sequence number.
    pub seq: u32,
    /// The next sequence number that we expect.
    pub ack: u32,
    pub window: u16,
}

impl PeerEnd {
    pub(crate) fn segment(&self, flags: u8, data: &[u8]) -> Segment {
        Segment {
            src_port: self.port,
            dst_port: self.board_port,
            seq: self.seq,
            ack: self.ack,
            flags,
            window: self.window,
            mss: None,
            data: data.to_vec(),
        }
    }

    /// Sends a segment to the board and counts its sequence numbers.
    pub(crate) fn say(&mut self, board: &mut Board, flags: u8, data: &[u8]) {
        board.arrive(&self.segment(flags, data).frame());
        let taken = data.len() as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        self.seq = self.seq.wrapping_add(taken);
    }

    /// Acknowledges everything of `segment`.
    pub(crate) fn confirm(&mut self, board: &mut Board, segment: &Segment) {
        let taken =
            segment.data.len() as u32 + u32::from(segment.flags & SYN != 0) + u32::from(segment.flags & FIN != 0);
        self.ack = segment.seq.wrapping_add(taken);
        self.say(board, ACK, &[]);
    }
}

pub(crate) const BOARD_PORT: u16 = 40_000;
pub(crate) const PEER_PORT: u16 = 5_000;
pub(crate) const PEER_ISS: u32 = 0xFFFF_FFF0;

/// Connects socket `n` to the peer by CONNECT, with all interrupts cleared and no frame waiting.
pub(crate) fn connected(board: &mut Board, n: u8, mode: u8, window: u16, mss: Option<u16>) -> PeerEnd {
    board.open(n, mode, BOARD_PORT + u16::from(n));
    assert_eq!(board.status(n), INIT);
    board.write(socket(n), DIPR, &PEER);
    board.put16(socket(n), DPORT, PEER_PORT);
    board.command(n, CONNECT);
    board.answer_arp(PEER);
    let syn = board.segment();
    let mut peer = PeerEnd {
        port: PEER_PORT,
        board_port: BOARD_PORT + u16::from(n),
        seq: PEER_ISS,
        ack: syn.seq.wrapping_add(1),
        window,
    };
    let mut answer = peer.segment(SYN | ACK, &[]);
    answer.mss = mss;
    board.arrive(&answer.frame());
    peer.seq = peer.seq.wrapping_add(1);
    assert_eq!(board.status(n), ESTABLISHED);
    assert_eq!(board.segment().flags, ACK);
    board.clear_ir(n);
    peer
}
