//! One socket's registers and state (datasheet 4.2), and the parts of its commands that need only them.

use crate::arp::ArpWait;
use crate::map::socket::*;
use crate::tcp::Tcp;
use crate::wire::{IpAddr, IpFields, Ipv4Addr, Mac};
use sim::Snapshot;

pub(crate) const MR_MULTI: u8 = 0x80;
pub(crate) const MR_BCASTB: u8 = 0x40;
/// No delayed ACK (TCP), IGMP version 1 (UDP multicasting), multicast blocking (MACRAW).
pub(crate) const MR_ND_MC_MMB: u8 = 0x20;
/// Unicast blocking (UDP multicasting), IPv6 blocking (MACRAW).
pub(crate) const MR_UCASTB_MIP6B: u8 = 0x10;

pub(crate) const CR_OPEN: u8 = 0x01;
pub(crate) const CR_LISTEN: u8 = 0x02;
pub(crate) const CR_CONNECT: u8 = 0x04;
pub(crate) const CR_DISCON: u8 = 0x08;
pub(crate) const CR_CLOSE: u8 = 0x10;
pub(crate) const CR_SEND: u8 = 0x20;
pub(crate) const CR_SEND_MAC: u8 = 0x21;
pub(crate) const CR_SEND_KEEP: u8 = 0x22;
pub(crate) const CR_RECV: u8 = 0x40;

pub(crate) const IR_SEND_OK: u8 = 0x10;
pub(crate) const IR_TIMEOUT: u8 = 0x08;
pub(crate) const IR_RECV: u8 = 0x04;
pub(crate) const IR_DISCON: u8 = 0x02;
pub(crate) const IR_CON: u8 = 0x01;

/// Sn_SR. IPRAW is not in the W5500 datasheet, but in WIZnet's `w5500.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub(crate) enum Status {
    #[default]
    Closed = 0x00,
    Init = 0x13,
    Listen = 0x14,
    SynSent = 0x15,
    SynRecv = 0x16,
    Established = 0x17,
    FinWait = 0x18,
    Closing = 0x1A,
    TimeWait = 0x1B,
    CloseWait = 0x1C,
    LastAck = 0x1D,
    Udp = 0x22,
    IpRaw = 0x32,
    MacRaw = 0x42,
}

impl Status {
    /// Returns whether a TCP connection exists or is being opened or closed.
    pub(crate) fn connected(self) -> bool {
        matches!(
            self,
            Self::SynSent
                | Self::SynRecv
                | Self::Established
                | Self::FinWait
                | Self::Closing
                | Self::TimeWait
                | Self::CloseWait
                | Self::LastAck
        )
    }
}

/// Protocol P[3:0] of Sn_MR.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Closed,
    Tcp,
    Udp,
    IpRaw,
    MacRaw,
}

const BYTES: usize = 0x30;

#[derive(Snapshot)]
pub(crate) struct Socket {
    /// The registers without side effects, at their offsets.
    bytes: [u8; BYTES],
    pub(crate) status: Status,
    pub(crate) ir: u8,
    /// Sn_TX_WR in use: SEND copies the host's write.
    pub(crate) tx_wr: u16,
    /// Sn_TX_WR as written by the host.
    tx_wr_written: u16,
    pub(crate) tx_rd: u16,
    /// Sn_RX_RD in use: RECV copies the host's write.
    pub(crate) rx_rd: u16,
    rx_rd_written: u16,
    pub(crate) rx_wr: u16,
    /// Sn_MSSR while a connection uses a smaller segment size than the written one.
    pub(crate) negotiated_mss: Option<u16>,
    pub(crate) arp: Option<ArpWait>,
    /// The address whose hardware address, learned by ARP, is in Sn_DHAR.
    pub(crate) resolved: Option<IpAddr>,
    /// The multicast group joined by OPEN.
    pub(crate) group: Option<Ipv4Addr>,
    pub(crate) tcp: Tcp,
}

impl Default for Socket {
    /// Returns the reset values (datasheet 3.2).
    fn default() -> Self {
        let mut socket = Self {
            bytes: [0; BYTES],
            status: Status::Closed,
            ir: 0,
            tx_wr: 0,
            tx_wr_written: 0,
            tx_rd: 0,
            rx_rd: 0,
            rx_rd_written: 0,
            rx_wr: 0,
            negotiated_mss: None,
            arp: None,
            resolved: None,
            group: None,
            tcp: Tcp::default(),
        };
        socket.set(DHAR, &[0xFF; 6]);
        socket.set(TTL, &[0x80]);
        socket.set(RXBUF_SIZE, &[2]);
        socket.set(TXBUF_SIZE, &[2]);
        socket.set(IMR, &[0xFF]);
        socket.set(FRAG, &[0x40, 0x00]);
        socket
    }
}

impl Socket {
    fn array<const N: usize>(&self, address: u16) -> [u8; N] {
        let at = usize::from(address);
        std::array::from_fn(|i| self.bytes[at + i])
    }

    pub(crate) fn set(&mut self, address: u16, value: &[u8]) {
        let at = usize::from(address);
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    fn byte(&self, address: u16) -> u8 {
        self.bytes[usize::from(address)]
    }

    /// Returns a byte of the block. `tx_size`, `rx_size`: the socket's buffer sizes in bytes.
    pub(crate) fn read(&self, address: u16, tx_size: u16, rx_size: u16) -> u8 {
        let half = |value: u16, first: u16| value.to_be_bytes()[usize::from(address - first)];
        match address {
            // A command is accepted at once, so Sn_CR always reads as cleared.
            CR => 0,
            IR => self.ir,
            SR => self.status as u8,
            MSSR..PROTO => half(self.negotiated_mss.unwrap_or(u16::from_be_bytes(self.array(MSSR))), MSSR),
            TX_FSR..TX_RD => half(self.tx_free(tx_size), TX_FSR),
            TX_RD..TX_WR => half(self.tx_rd, TX_RD),
            // The old value reads back until SEND: Arduino's Ethernet and Ethernet2 build one datagram with several
            // writes at Sn_TX_WR + offset, each of which also writes Sn_TX_WR.
            TX_WR..RX_RSR => half(self.tx_wr, TX_WR),
            RX_RSR..RX_RD => half(self.rx_received().min(rx_size), RX_RSR),
            RX_RD..RX_WR => half(self.rx_rd_written, RX_RD),
            RX_WR..IMR => half(self.rx_wr, RX_WR),
            _ => self.bytes.get(usize::from(address)).copied().unwrap_or(0),
        }
    }

    /// Writes a byte without effects beyond the socket's registers. Read-only and reserved bytes ignore it.
    pub(crate) fn write(&mut self, address: u16, value: u8) {
        let put = |word: &mut u16, first: u16| {
            let mut bytes = word.to_be_bytes();
            bytes[usize::from(address - first)] = value;
            *word = u16::from_be_bytes(bytes);
        };
        match address {
            // A host clears a bit by writing 1 to it.
            IR => self.ir &= !value,
            TX_WR..RX_RSR => put(&mut self.tx_wr_written, TX_WR),
            RX_RD..RX_WR => put(&mut self.rx_rd_written, RX_RD),
            DHAR..DIPR => {
                self.bytes[usize::from(address)] = value;
                // The address learned by ARP is lost.
                self.resolved = None;
            }
            MR | PORT..=TTL | RXBUF_SIZE | TXBUF_SIZE | IMR..BLOCK_END => self.bytes[usize::from(address)] = value,
            _ => {}
        }
    }

    pub(crate) fn mr(&self) -> u8 {
        self.byte(MR)
    }
    pub(crate) fn port(&self) -> u16 {
        u16::from_be_bytes(self.array(PORT))
    }
    pub(crate) fn dhar(&self) -> Mac {
        self.array(DHAR)
    }
    pub(crate) fn dipr(&self) -> Ipv4Addr {
        self.array(DIPR).into()
    }
    pub(crate) fn destination(&self) -> IpAddr {
        self.dipr().into()
    }
    pub(crate) fn set_destination(&mut self, ip: IpAddr) {
        if let IpAddr::V4(ip) = ip {
            self.set(DIPR, &ip.octets());
        }
    }
    pub(crate) fn dport(&self) -> u16 {
        u16::from_be_bytes(self.array(DPORT))
    }
    pub(crate) fn proto(&self) -> u8 {
        self.byte(PROTO)
    }
    pub(crate) fn imr(&self) -> u8 {
        self.byte(IMR)
    }
    pub(crate) fn kpalvtr(&self) -> u8 {
        self.byte(KPALVTR)
    }
    pub(crate) fn rx_kilobytes(&self) -> u8 {
        self.byte(RXBUF_SIZE)
    }
    pub(crate) fn tx_kilobytes(&self) -> u8 {
        self.byte(TXBUF_SIZE)
    }

    pub(crate) fn protocol(&self) -> Protocol {
        match self.mr() & 0x0F {
            1 => Protocol::Tcp,
            2 => Protocol::Udp,
            3 => Protocol::IpRaw,
            4 => Protocol::MacRaw,
            _ => Protocol::Closed,
        }
    }

    /// Returns Sn_TOS, Sn_TTL and Sn_FRAG.
    pub(crate) fn ip_fields(&self) -> IpFields {
        IpFields { tos: self.byte(TOS), ttl: self.byte(TTL), frag: u16::from_be_bytes(self.array(FRAG)) }
    }

    /// Returns the written Sn_MSSR if it is in 1..=`max`, otherwise `max` (datasheet 4.2 "Sn_MSSR").
    pub(crate) fn segment_limit(&self, max: u16) -> u16 {
        match u16::from_be_bytes(self.array(MSSR)) {
            mss if (1..=max).contains(&mss) => mss,
            _ => max,
        }
    }

    /// Returns the bytes between the chip's RX pointers.
    pub(crate) fn rx_received(&self) -> u16 {
        self.rx_wr.wrapping_sub(self.rx_rd)
    }

    pub(crate) fn rx_free(&self, rx_size: u16) -> u16 {
        rx_size.saturating_sub(self.rx_received())
    }

    /// Returns Sn_TX_FSR: in TCP mode unacknowledged bytes are not free (datasheet 4.2 "Sn_TX_FSR").
    fn tx_free(&self, tx_size: u16) -> u16 {
        let oldest = if self.status.connected() { self.tcp.tx_acknowledged } else { self.tx_rd };
        tx_size.saturating_sub(self.tx_wr.wrapping_sub(oldest))
    }

    /// Copies the host's Sn_TX_WR at SEND.
    pub(crate) fn commit_tx(&mut self) {
        self.tx_wr = self.tx_wr_written;
    }

    /// Copies the host's Sn_RX_RD at RECV.
    pub(crate) fn commit_rx(&mut self) {
        self.rx_rd = self.rx_rd_written;
    }

    /// Sets both TX pointers, at OPEN and at the start of a connection.
    pub(crate) fn set_tx_pointers(&mut self, pointer: u16) {
        (self.tx_rd, self.tx_wr, self.tx_wr_written) = (pointer, pointer, pointer);
        self.tcp.tx_acknowledged = pointer;
    }

    pub(crate) fn clear_rx_pointers(&mut self) {
        (self.rx_rd, self.rx_rd_written, self.rx_wr) = (0, 0, 0);
    }

    /// Releases the socket; received data stays readable until the next OPEN.
    pub(crate) fn release(&mut self) {
        self.status = Status::Closed;
        self.negotiated_mss = None;
        self.arp = None;
        self.resolved = None;
        self.tx_rd = self.tx_wr;
        self.tcp = Tcp::default();
        self.tcp.tx_acknowledged = self.tx_wr;
    }
}

const BLOCK_END: u16 = BYTES as u16;
