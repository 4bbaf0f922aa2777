//! What W5100 and W5200 have in common: Sn_MR without the W5500's filters, and IR and MR without the newer bits; and RMSR
//! and TMSR, which the W5100S has, too.
//!
//! Sources: the register headers of WIZnet's ioLibrary (`W5100/w5100.h`, `W5200/w5200.h` and the drivers beside them), and
//! Arduino's Ethernet library (`utility/w5100.cpp`).

use crate::Wiznet;
use crate::chip::Model;
use crate::common::{MR_PB, MR_PPPOE, MR_RST};
use crate::map::{Block, common, socket};
use crate::names::{self, Bits, Register, register};
use crate::socket::{MR_MULTI, MR_ND_MC_MMB};

/// MACRAW's filter for the own address, which the W5500 has at MULTI's place.
const SN_MR_MF: u8 = 0x40;
const PROTOCOL: u8 = 0x0f;
const TCP: u8 = 1;
const UDP: u8 = 2;
const MACRAW: u8 = 4;
const PPPOE: u8 = 5;

/// IR's bits other than sockets.
pub(super) const CONFLICT_AND_MORE: u8 = 0xe0;

/// The registers of a socket in address order, without the prefix `Sn_`.
pub(super) const SOCKET_REGISTERS: &[Register] = &[
    register("MR", socket::MR, 1),
    register("CR", socket::CR, 1),
    register("IR", socket::IR, 1),
    register("SR", socket::SR, 1),
    register("PORT", socket::PORT, 2),
    register("DHAR", socket::DHAR, 6),
    register("DIPR", socket::DIPR, 4),
    register("DPORT", socket::DPORT, 2),
    register("MSSR", socket::MSSR, 2),
    register("PROTO", socket::PROTO, 1),
    register("TOS", socket::TOS, 1),
    register("TTL", socket::TTL, 1),
    register("RXMEM_SIZE", socket::RXBUF_SIZE, 1),
    register("TXMEM_SIZE", socket::TXBUF_SIZE, 1),
    register("TX_FSR", socket::TX_FSR, 2),
    register("TX_RD", socket::TX_RD, 2),
    register("TX_WR", socket::TX_WR, 2),
    register("RX_RSR", socket::RX_RSR, 2),
    register("RX_RD", socket::RX_RD, 2),
    register("RX_WR", socket::RX_WR, 2),
    register("IMR", socket::IMR, 1),
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
    /// Writes MR, of which AI and IND concern other buses than SPI.
    pub(super) fn write_older_mode(&mut self, value: u8) {
        self.write_mode(value & (MR_RST | MR_PB | MR_PPPOE));
    }

    /// Reads a socket's register. `mr`: Sn_MR as it was written.
    pub(super) fn read_older_socket(&self, n: usize, offset: u16, mr: u8) -> u8 {
        match offset {
            socket::MR => mr,
            socket::CR..=0x2e => self.read_byte(Block::Socket(n), offset),
            _ => 0,
        }
    }

    pub(super) fn write_older_socket(&mut self, n: usize, offset: u16, value: u8) {
        match offset {
            socket::MR => self.write_byte(Block::Socket(n), offset, shared_mode(value)),
            socket::CR..=0x2e => self.write_byte(Block::Socket(n), offset, value),
            _ => {}
        }
    }

    /// Ends the run at OPEN of a mode without a model. `mr`: Sn_MR as it was written.
    pub(super) fn refuse_older_mode(&mut self, n: usize, mr: u8) {
        if mr & PROTOCOL == PPPOE {
            self.leave_out(&format!("S{n}_MR PPPoE"));
        }
    }

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

    /// Clears bits of IR other than the sockets'.
    pub(super) fn acknowledge_older(&mut self, value: u8) {
        self.acknowledge(value & CONFLICT_AND_MORE);
    }
}

/// Returns the family's common register that corresponds to GAR to SIPR, RTR and RCR, PTIMER and PMAGIC.
pub(super) fn shared_common(address: u16) -> Option<u16> {
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
