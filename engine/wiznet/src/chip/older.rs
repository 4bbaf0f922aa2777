//! What W5100 and W5200 have in common: rings in the address space, Sn_MR without the W5500's filters, and IR and MR
//! without the newer bits; and RMSR and TMSR, which the W5100S has, too.
//!
//! Sources: the register headers of WIZnet's ioLibrary (`W5100/w5100.h`, `W5200/w5200.h` and the drivers beside them), and
//! Arduino's Ethernet library (`utility/w5100.cpp`).

use sim::Snapshot;

use crate::Wiznet;
use crate::chip::Model;
use crate::common::{MR_PB, MR_PPPOE, MR_RST};
use crate::map::{Block, common, socket};
use crate::names::{self, Bits, Register, register, register_at};
use crate::socket::{MR_MULTI, MR_ND_MC_MMB};

/// MR's AI and IND.
const MR_BUS: u8 = 0x03;
/// MACRAW's filter for the own address, which the W5500 has at MULTI's place.
const SN_MR_MF: u8 = 0x40;
const PROTOCOL: u8 = 0x0f;
const TCP: u8 = 1;
const UDP: u8 = 2;
const MACRAW: u8 = 4;
const PPPOE: u8 = 5;

pub(super) const IR: u16 = 0x15;
pub(super) const IMR: u16 = 0x16;
/// IR's bits other than sockets.
pub(super) const CONFLICT_AND_MORE: u8 = 0xe0;

/// What the family's registers do not keep.
#[derive(Default, Snapshot)]
pub struct Own {
    bus: u8,
    modes: [u8; 8],
}

/// The target of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Common(u16),
    Socket(usize, u16),
    Tx(u16),
    Rx(u16),
    Reserved,
}

/// A chip whose registers and memories are in one address space.
pub(super) trait Older: Model<Own = Own> {
    /// The common registers that the others do not have.
    const COMMON_REGISTERS: &'static [Register];
    /// Decodes an address.
    fn place(address: u16) -> Place;

    /// Returns the name of the register or memory at `address`.
    fn register_name(address: u16) -> String {
        match Self::place(address) {
            Place::Common(offset) => {
                register_at(&[Self::COMMON_REGISTERS, COMMON_REGISTERS, names::COMMON_REGISTERS], "", offset)
            }
            Place::Socket(n, offset) => {
                register_at(&[SOCKET_REGISTERS, names::SOCKET_REGISTERS], &format!("S{n}_"), offset)
            }
            Place::Tx(_) => "TX buffer".into(),
            Place::Rx(_) => "RX buffer".into(),
            Place::Reserved => format!("reserved 0x{address:04X}"),
        }
    }

    fn read_address(chip: &Wiznet<Self>, address: u16) -> u8 {
        match Self::place(address) {
            Place::Common(offset) => chip.read_byte(Block::Common, offset),
            Place::Socket(n, socket::MR) => chip.own.modes[n],
            Place::Socket(n, offset @ socket::CR..=0x2e) => chip.read_byte(Block::Socket(n), offset),
            Place::Tx(offset) => chip.tx.byte_at(offset),
            Place::Rx(offset) => chip.rx.byte_at(offset),
            Place::Socket(..) | Place::Reserved => 0,
        }
    }

    fn write_address(chip: &mut Wiznet<Self>, address: u16, value: u8) {
        match Self::place(address) {
            Place::Common(offset) => chip.write_byte(Block::Common, offset, value),
            Place::Socket(n, socket::MR) => {
                chip.own.modes[n] = value;
                chip.write_byte(Block::Socket(n), socket::MR, shared_mode(value));
            }
            Place::Socket(n, offset @ socket::CR..=0x2e) => chip.write_byte(Block::Socket(n), offset, value),
            Place::Tx(offset) => chip.tx.set_byte_at(offset, value),
            Place::Rx(offset) => chip.rx.set_byte_at(offset, value),
            Place::Socket(..) | Place::Reserved => {}
        }
    }

    /// Reads a common register that all these chips have.
    fn read_shared_common(chip: &Wiznet<Self>, address: u16) -> u8 {
        match address {
            common::MR => chip.common.mr() | chip.own.bus,
            _ => shared_common(address).map_or(0, |shared| chip.common.read(shared)),
        }
    }

    /// Writes a common register that all these chips have.
    fn write_shared_common(chip: &mut Wiznet<Self>, address: u16, value: u8) {
        match address {
            common::MR => {
                chip.write_mode(value & (MR_RST | MR_PB | MR_PPPOE));
                // AI and IND concern other buses than SPI.
                chip.own.bus = value & MR_BUS;
            }
            IR => chip.acknowledge(value & CONFLICT_AND_MORE),
            _ => {
                if let Some(shared) = shared_common(address) {
                    chip.common.write(shared, value);
                }
            }
        }
    }

    /// Ends the run at OPEN of a mode without a model.
    fn refuse_mode(chip: &mut Wiznet<Self>, n: usize) {
        if chip.own.modes[n] & PROTOCOL == PPPOE {
            chip.leave_out(&format!("S{n}_MR PPPoE"));
        }
    }
}

/// The further common registers of all these chips.
const COMMON_REGISTERS: &[Register] = &[
    register("RTR", 0x17, 2),
    register("RCR", 0x19, 1),
    register("PATR", 0x1c, 2),
    register("PTIMER", 0x28, 1),
    register("PMAGIC", 0x29, 1),
];

/// The registers of a socket beside those of all chips.
const SOCKET_REGISTERS: &[Register] = &[
    register("PORT", socket::PORT, 2),
    register("DPORT", socket::DPORT, 2),
    register("PROTO", socket::PROTO, 1),
    register("RXMEM_SIZE", socket::RXBUF_SIZE, 1),
    register("TXMEM_SIZE", socket::TXBUF_SIZE, 1),
    register("FRAG", socket::FRAG, 2),
];

/// Describes a byte of a socket's register.
pub(super) fn meaning(offset: u16, value: u8) -> String {
    match offset {
        socket::CR => names::command(value),
        socket::SR => names::state(value),
        socket::MR => socket_mode(value),
        socket::IR | socket::IMR => names::bits(names::SOCKET_INTERRUPTS, value),
        _ => names::number(&[value]),
    }
}

/// Sn_MR: `MACRAW MF`.
fn socket_mode(value: u8) -> String {
    let flags: &Bits = match value & PROTOCOL {
        TCP => &[(MR_ND_MC_MMB, "ND")],
        UDP => &[(MR_MULTI, "MULTI"), (MR_ND_MC_MMB, "MC")],
        MACRAW => &[(SN_MR_MF, "MF")],
        _ => &[],
    };
    let protocol = names::socket_mode(value & PROTOCOL);
    if value & !PROTOCOL == 0 { protocol } else { format!("{protocol} {}", names::bits(flags, value & !PROTOCOL)) }
}

/// Returns Sn_MR with the W5500's bits.
fn shared_mode(mr: u8) -> u8 {
    let protocol = mr & PROTOCOL;
    protocol
        | match protocol {
            TCP => mr & MR_ND_MC_MMB,
            UDP => mr & (MR_MULTI | MR_ND_MC_MMB),
            MACRAW if mr & SN_MR_MF != 0 => MR_MULTI,
            _ => 0,
        }
}

impl<M: Model> Wiznet<M> {
    /// Returns RMSR or TMSR: two bits per socket, 1 KB shifted left by them. A part of 0 KB, which only Sn_RXBUF_SIZE
    /// and Sn_TXBUF_SIZE can set, reads as 1 KB.
    pub(super) fn memory_sizes(&self, size: u16) -> u8 {
        (0..4).fold(0, |sizes, n| {
            let kilobytes = self.read_byte(Block::Socket(n), size);
            sizes | (kilobytes.max(1).ilog2().min(3) as u8) << (2 * n)
        })
    }

    pub(super) fn set_memory_sizes(&mut self, size: u16, sizes: u8) {
        for n in 0..4 {
            self.write_byte(Block::Socket(n), size, 1 << ((sizes >> (2 * n)) & 3));
        }
    }
}

/// Returns the family's common register that corresponds to GAR to SIPR, RTR and RCR, PTIMER and PMAGIC.
fn shared_common(address: u16) -> Option<u16> {
    match address {
        common::GAR..=0x12 => Some(address),
        0x17..=0x19 => Some(address - 0x17 + common::RTR),
        0x28..=0x29 => Some(address - 0x28 + common::PTIMER),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_the_familys() {
        assert_eq!([0x21, 0xa2, 0x44, 0x04, 0xf3].map(shared_mode), [0x21, 0xa2, 0x84, 0x04, 0x03]);
        assert_eq!(socket_mode(0x44), "MACRAW MF");
        assert_eq!(socket_mode(0x01), "TCP");
    }
}
