//! The W5500: 8 sockets, 16 + 16 KB, SPI frames of address, control and data phase (datasheet 2.2 to 2.4), registers in
//! blocks (3.1 and 3.2).

pub(crate) mod phy;

use sim::{Lanes, PS_PER_MS, PS_PER_US, Ps, Snapshot};

use crate::Wiznet;
use crate::chip::Model;
use crate::map::{Block, common, socket};
use crate::names::{self, Register, register, register_at};

use phy::W5500Phy;

/// VERSIONR (datasheet 4.1 "VERSIONR").
const VERSION: u8 = 0x04;
/// Address and control phase.
const HEADER_BYTES: usize = 3;

pub struct W5500Model;

/// WIZnet's W5500: eight sockets, 32 KiB of memory.
pub type W5500 = Wiznet<W5500Model>;

impl Model for W5500Model {
    const NAME: &'static str = "W5500";
    const SOCKETS: usize = 8;
    const MEMORY_BYTES: usize = 16 << 10;
    /// Datasheet 5.5.1 "Reset Timing", T_RC.
    const RESET_CYCLE: Ps = 500 * PS_PER_US;
    /// Datasheet 5.5.1, T_PL, maximum.
    const PLL_LOCK: Ps = PS_PER_MS;
    type Phy = W5500Phy;
    type Decoder = Decoder;
    type Own = ();

    fn begin_frame(chip: &mut W5500) {
        chip.spi.phase = Phase::AddressHigh;
        chip.spi.miso = 1;
        chip.log.begin(chip.now);
    }

    fn end_frame(chip: &mut W5500) {
        let Decoder { phase: Phase::Data, bsb, first_address, write, .. } = chip.spi else { return };
        chip.log.end(chip.now, HEADER_BYTES, write, first_address, |data| {
            (register_name(bsb, first_address), meaning(bsb, first_address, data))
        });
    }

    fn exchange(chip: &mut W5500, mosi: u8) -> u8 {
        let miso = chip.spi.miso;
        match chip.spi.phase {
            Phase::Idle => return 0,
            Phase::AddressHigh => {
                chip.spi.address = u16::from(mosi) << 8;
                chip.spi.phase = Phase::AddressLow;
                chip.spi.miso = 2;
            }
            Phase::AddressLow => {
                chip.spi.address |= u16::from(mosi);
                chip.spi.phase = Phase::Control;
                chip.spi.miso = 3;
            }
            Phase::Control => chip.control_byte(mosi),
            Phase::Data => chip.data_byte(mosi, miso),
        }
        miso
    }

    fn lanes(chip: &W5500) -> Lanes {
        Lanes { out: Some(chip.spi.miso), ..Lanes::SINGLE }
    }

    fn read_common(chip: &W5500, address: u16) -> u8 {
        match address {
            common::SIR => chip.sir(),
            common::PHYCFGR => chip.phy.read(chip.now),
            common::VERSIONR => VERSION,
            _ => chip.common.read(address),
        }
    }

    fn write_common(chip: &mut W5500, address: u16, value: u8) {
        match address {
            common::MR => chip.write_mode(value),
            common::IR => chip.acknowledge(value),
            common::PHYCFGR => chip.phy.write(chip.now, value),
            _ => chip.common.write(address, value),
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Snapshot)]
enum Phase {
    /// Not selected, or the chip could not listen since it was.
    #[default]
    Idle,
    AddressHigh,
    AddressLow,
    Control,
    Data,
}

#[derive(Default, Snapshot)]
pub struct Decoder {
    phase: Phase,
    /// The next byte on MISO. During the address and control phases the chip outputs 1, 2, 3: undocumented, but seen on
    /// real chips (WIZnet forum, topics 3721 and 8405).
    miso: u8,
    address: u16,
    bsb: u8,
    write: bool,
    /// Data bytes left in fixed length mode.
    left: Option<u8>,
    first_address: u16,
}

impl W5500 {
    fn control_byte(&mut self, control: u8) {
        self.spi.bsb = control >> 3;
        self.spi.write = control & 4 != 0;
        self.spi.left = match control & 3 {
            0 => None,
            1 => Some(1),
            2 => Some(2),
            _ => Some(4),
        };
        self.spi.first_address = self.spi.address;
        self.spi.phase = Phase::Data;
        self.prefetch();
    }

    fn data_byte(&mut self, mosi: u8, miso: u8) {
        let (bsb, address, write) = (self.spi.bsb, self.spi.address, self.spi.write);
        if write {
            self.write_byte(block(bsb), address, mosi);
        }
        self.log.data(if write { mosi } else { miso });
        self.spi.address = address.wrapping_add(1);
        match &mut self.spi.left {
            Some(1) => {
                W5500Model::end_frame(self);
                W5500Model::begin_frame(self);
            }
            left => {
                if let Some(left) = left {
                    *left -= 1;
                }
                self.prefetch();
            }
        }
    }

    /// Loads the next output byte: MISO's first bit must be valid before the byte's first clock edge.
    fn prefetch(&mut self) {
        if !self.spi.write {
            self.spi.miso = self.read_byte(block(self.spi.bsb), self.spi.address);
        }
    }
}

/// Decodes the block select bits BSB[4:0] of the control phase (datasheet 2.2.2).
fn block(bsb: u8) -> Block {
    let n = usize::from((bsb >> 2) & 7);
    match bsb & 3 {
        1 => Block::Socket(n),
        2 => Block::Tx(n),
        3 => Block::Rx(n),
        _ if n == 0 => Block::Common,
        _ => Block::Reserved,
    }
}

/// The common registers beside those of all chips.
const COMMON_REGISTERS: &[Register] = &[
    register("INTLEVEL", common::INTLEVEL, 2),
    register("SIR", common::SIR, 1),
    register("SIMR", common::SIMR, 1),
    register("RTR", common::RTR, 2),
    register("RCR", common::RCR, 1),
    register("PTIMER", common::PTIMER, 1),
    register("PMAGIC", common::PMAGIC, 1),
    register("PHAR", common::PHAR, 6),
    register("PSID", common::PSID, 2),
    register("PMRU", common::PMRU, 2),
    register("UIPR", common::UIPR, 4),
    register("UPORTR", common::UPORTR, 2),
    register("PHYCFGR", common::PHYCFGR, 1),
    register("VERSIONR", common::VERSIONR, 1),
];

/// The registers of a socket beside those of all chips.
const SOCKET_REGISTERS: &[Register] = &[
    register("PORT", socket::PORT, 2),
    register("DPORT", socket::DPORT, 2),
    register("PROTO", socket::PROTO, 1),
    register("RXBUF_SIZE", socket::RXBUF_SIZE, 1),
    register("TXBUF_SIZE", socket::TXBUF_SIZE, 1),
    register("FRAG", socket::FRAG, 2),
    register("KPALVTR", socket::KPALVTR, 1),
];

/// Returns the name of `address` in the block that `bsb` (BSB[4:0], so 0..=31) selects: `PHYCFGR`, `S0_TX_WR`,
/// `S0_TX_WR+1` for a later byte of a wider register, `S0 TX buffer`, `reserved 0x0030`.
fn register_name(bsb: u8, address: u16) -> String {
    match block(bsb & 0x1F) {
        Block::Common => register_at(&[COMMON_REGISTERS, names::COMMON_REGISTERS], "", address),
        Block::Socket(n) => register_at(&[SOCKET_REGISTERS, names::SOCKET_REGISTERS], &format!("S{n}_"), address),
        Block::Tx(n) => format!("S{n} TX buffer"),
        Block::Rx(n) => format!("S{n} RX buffer"),
        Block::Reserved => format!("reserved block {bsb}"),
    }
}

/// Describes the data at an address: a command, a socket's state, bits by name, text in a buffer, or a number of at
/// most two bytes; otherwise empty.
fn meaning(bsb: u8, address: u16, data: &[u8]) -> String {
    match (block(bsb & 0x1F), data) {
        (Block::Socket(_), &[value]) if address == socket::CR => names::command(value),
        (Block::Socket(_), &[value]) if address == socket::SR => names::state(value),
        (Block::Socket(_), &[value]) if address == socket::MR => names::socket_mode(value),
        (Block::Socket(_), &[value]) if matches!(address, socket::IR | socket::IMR) => {
            names::bits(names::SOCKET_INTERRUPTS, value)
        }
        (Block::Common, &[value]) => match address {
            common::MR => names::bits(names::MODE, value),
            common::IR | common::IMR => names::bits(names::INTERRUPTS, value),
            common::SIR | common::SIMR => names::bits(names::SOCKETS, value),
            common::PHYCFGR => phy::meaning(value),
            _ => names::number(data),
        },
        (Block::Tx(_) | Block::Rx(_), _) => names::text(data),
        _ => names::number(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(register_name(0, 0x2E), "PHYCFGR");
        assert_eq!(register_name(1, 0x24), "S0_TX_WR");
        assert_eq!(register_name(1, 0x25), "S0_TX_WR+1");
        assert_eq!(register_name(29, 0x00), "S7_MR");
        assert_eq!(register_name(2, 0x1234), "S0 TX buffer");
        assert_eq!(register_name(31, 0), "S7 RX buffer");
        assert_eq!(register_name(4, 0), "reserved block 4");
        assert_eq!(register_name(0, 0x30), "reserved 0x0030");
        assert_eq!(register_name(5, 0x17), "S1_reserved 0x0017");
    }

    #[test]
    fn meanings() {
        assert_eq!(meaning(1, socket::CR, &[0x20]), "SEND");
        assert_eq!(meaning(29, socket::CR, &[0x40]), "RECV");
        assert_eq!(meaning(1, socket::CR, &[0x00]), "done");
        assert_eq!(meaning(1, socket::CR, &[0x77]), "");
        assert_eq!(meaning(1, socket::SR, &[0x17]), "SOCK_ESTABLISHED");
        assert_eq!(meaning(1, socket::SR, &[0x99]), "");
        assert_eq!(meaning(1, socket::IR, &[0x05]), "RECV CON");
        assert_eq!(meaning(1, socket::IMR, &[0xff]), "SENDOK TIMEOUT RECV DISCON CON 0xe0");
        assert_eq!(meaning(1, socket::IR, &[0]), "0");
        assert_eq!(meaning(1, socket::MR, &[0x84]), "MACRAW MFEN");
        assert_eq!(meaning(1, socket::MR, &[0x81]), "TCP 0x80");
        assert_eq!(meaning(1, socket::MR, &[0x0e]), "0x0e");
        assert_eq!(meaning(0, common::MR, &[0x80]), "RST");
        assert_eq!(meaning(0, common::SIMR, &[0x81]), "S7 S0");
        assert_eq!(meaning(0, common::IR, &[0x40]), "UNREACH");
        assert_eq!(meaning(0, common::PHYCFGR, &[0xbf]), "link, 100 Mbit/s full duplex");
        assert_eq!(meaning(0, common::PHYCFGR, &[0xb8]), "no link");
        assert_eq!(meaning(0, common::PHYCFGR, &[0x38]), "in reset");
        assert_eq!(meaning(0, common::RCR, &[8]), "8");
        assert_eq!(meaning(1, socket::RX_RSR, &[1, 2]), "258");
        assert_eq!(meaning(1, socket::TX_WR + 1, &[0x39]), "57");
        assert_eq!(meaning(0, common::SIPR, &[192, 168, 50, 100]), "");
        assert_eq!(meaning(2, 0, b"1999"), "'1999'");
        assert_eq!(meaning(3, 0, &[0x02, 0x50]), "");
        assert_eq!(meaning(3, 0, &[0xFF]), "");
    }

    #[test]
    fn registers_are_in_order_and_do_not_overlap() {
        for table in [COMMON_REGISTERS, SOCKET_REGISTERS] {
            for pair in table.windows(2) {
                assert!(pair[0].address + pair[0].width <= pair[1].address, "{}", pair[1].name);
            }
        }
    }

    #[test]
    fn every_address_has_a_name() {
        for bsb in 0..=255 {
            for address in (0..=u16::MAX).step_by(7) {
                assert!(!register_name(bsb, address).is_empty());
            }
        }
    }
}
