//! The W5100S's address space, and the registers that differ from the family's.

use sim::{Ps, Snapshot};

use super::W5100S;
use super::socketless::{self, SocketLess};
use crate::common::{IR_MP, MR_FARP, MR_PB, MR_PPPOE, MR_RST, MR_WOL};
use crate::map::{Block, common, socket};
use crate::socket::{MR_BCASTB, MR_MULTI, MR_ND_MC_MMB, MR_UCASTB_MIP6B, Status};
use crate::time::RTR_UNIT;

/// Addresses of the common registers that the W5500 has elsewhere, or not at all.
pub(crate) const INTPTMR: u16 = 0x13;
pub(crate) const IR: u16 = 0x15;
pub(crate) const IMR: u16 = 0x16;
pub(crate) const RTR: u16 = 0x17;
pub(crate) const RCR: u16 = 0x19;
pub(crate) const RMSR: u16 = 0x1A;
pub(crate) const TMSR: u16 = 0x1B;
pub(crate) const IR2: u16 = 0x20;
pub(crate) const IMR2: u16 = 0x21;
pub(crate) const PTIMER: u16 = 0x28;
pub(crate) const PMAGIC: u16 = 0x29;
pub(crate) const UIPR: u16 = 0x2A;
pub(crate) const UPORTR: u16 = 0x2E;
pub(crate) const MR2: u16 = 0x30;
pub(crate) const PHAR: u16 = 0x32;
pub(crate) const PSIDR: u16 = 0x38;
pub(crate) const PMRUR: u16 = 0x3A;
pub(crate) const PHYSR0: u16 = 0x3C;
pub(crate) const PHYCR1: u16 = 0x47;
pub(crate) const CHPLCKR: u16 = 0x70;
pub(crate) const NETLCKR: u16 = 0x71;
pub(crate) const PHYLCKR: u16 = 0x72;
pub(crate) const VERR: u16 = 0x80;
pub(crate) const TCNTR: u16 = 0x82;
pub(crate) const TCNTCLR: u16 = 0x88;

/// Offsets of the socket registers that the W5500 has elsewhere, or not at all.
pub(crate) const SN_MR2: u16 = 0x2F;
pub(crate) const SN_KPALVTR: u16 = 0x30;
pub(crate) const SN_RTR: u16 = 0x32;
pub(crate) const SN_RCR: u16 = 0x34;

const VERSION: u8 = 0x51;
/// MR's AI and IND, which are always set.
const MR_ALWAYS: u8 = 0x03;

pub(crate) const MR2_CLKSEL: u8 = 0x80;
pub(crate) const MR2_IEN: u8 = 0x40;
pub(crate) const MR2_NOTCPRST: u8 = 0x20;
pub(crate) const MR2_UDPURB: u8 = 0x10;
const MR2_WOL: u8 = 0x08;
const MR2_FARP: u8 = 0x02;
/// Bits that the family's MR does not have.
const MR2_OWN: u8 = MR2_CLKSEL | MR2_IEN | MR2_NOTCPRST | MR2_UDPURB;

/// IR's and IMR's bits for the sockets, and the others.
const SOCKET_BITS: u8 = 0x0F;
const COMMON_BITS: u8 = 0xE0;
const IR2_WOL: u8 = 0x01;

const CHIP_UNLOCK: u8 = 0xCE;
/// The value in CycloneTCP and Zephyr, and in ioLibrary for the W6100; ioLibrary's header for the W5100S swaps the two.
const NETWORK_UNLOCK: u8 = 0x3A;
const NETWORK_LOCK: u8 = 0xC5;

const SN_MR_TCP: u8 = 1;
const SN_MR_UDP: u8 = 2;
const SN_MR_MACRAW: u8 = 4;
const SN_MR_PPPOE: u8 = 5;
pub(crate) const SN_MR_MF: u8 = 0x40;
const SN_MR2_MBBLK: u8 = 0x40;
const SN_MR2_MMBLK: u8 = 0x20;
const SN_MR2_IPV6BLK: u8 = 0x10;
/// Broadcast blocking (UDP), PSH in every segment (TCP).
const SN_MR2_UBBLK_FPSH: u8 = 0x02;
const SN_MR2_UUBLK: u8 = 0x01;

pub(crate) const CR_IGMP_JOIN: u8 = 0x23;
pub(crate) const CR_IGMP_LEAVE: u8 = 0x24;

/// State that the W5500 does not have.
#[derive(Snapshot)]
pub struct Own {
    pub(crate) mr2: u8,
    chip_unlocked: bool,
    network_locked: bool,
    pub(crate) sockets: [OwnSocket; 4],
    pub(crate) socketless: SocketLess,
    /// Time when TCNTR was 0.
    pub(crate) counted_from: Ps,
}

#[derive(Default, Snapshot)]
pub(crate) struct OwnSocket {
    mr: u8,
    mr2: u8,
    /// Sn_RTR and Sn_RCR in use since OPEN.
    pub(crate) rtr: u16,
    pub(crate) rcr: u8,
    /// The values written: OPEN applies them, or RTR or RCR instead of 0.
    rtr_written: u16,
    rcr_written: u8,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            mr2: MR2_IEN,
            chip_unlocked: false,
            network_locked: false,
            sockets: Default::default(),
            socketless: SocketLess::default(),
            counted_from: 0,
        }
    }
}

/// The target of an address, whose highest of 16 bits is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Common(u16),
    Socket(usize, u16),
    Tx(u16),
    Rx(u16),
}

/// Decodes an address. Registers are mirrored throughout the reserved space below the memories, the common ones in
/// every 256 bytes.
pub(crate) fn place(address: u16) -> Place {
    let (bank, offset) = ((address >> 8) & 0x7F, address & 0xFF);
    match bank {
        0x40..0x60 => Place::Tx(address & 0x1FFF),
        0x60.. => Place::Rx(address & 0x1FFF),
        _ if bank & 4 == 0 => Place::Common(offset),
        _ => Place::Socket(usize::from(bank & 3), offset),
    }
}

/// Returns the family's common register that corresponds to the W5100S's `address`.
fn shared_common(address: u16) -> Option<u16> {
    let (own, shared) = match address {
        // GAR to SIPR and INTPTMR.
        0x01..IR => (0, 0),
        RTR..=RCR => (RTR, common::RTR),
        PTIMER..=PMAGIC => (PTIMER, common::PTIMER),
        UIPR..MR2 => (UIPR, common::UIPR),
        PHAR..PHYSR0 => (PHAR, common::PHAR),
        _ => return None,
    };
    Some(address - own + shared)
}

/// Returns the family's socket register that corresponds to the W5100S's `offset`.
fn shared_socket(offset: u16) -> Option<u16> {
    match offset {
        // Up to the second byte of Sn_FRAGR.
        socket::CR..=0x2E => Some(offset),
        SN_KPALVTR => Some(socket::KPALVTR),
        _ => None,
    }
}

/// Returns Sn_MR with the W5500's bits for Sn_MR and Sn_MR2.
fn shared_mode(mr: u8, mr2: u8) -> u8 {
    let bit = |set: u8, to: u8| if set != 0 { to } else { 0 };
    let protocol = mr & 0x0F;
    protocol
        | match protocol {
            SN_MR_TCP => mr & MR_ND_MC_MMB,
            SN_MR_UDP => {
                mr & (MR_MULTI | MR_ND_MC_MMB)
                    | bit(mr2 & SN_MR2_UBBLK_FPSH, MR_BCASTB)
                    | bit(mr2 & SN_MR2_UUBLK, MR_UCASTB_MIP6B)
            }
            SN_MR_MACRAW => {
                bit(mr & SN_MR_MF, MR_MULTI)
                    | bit(mr2 & SN_MR2_MBBLK, MR_BCASTB)
                    | bit(mr2 & SN_MR2_MMBLK, MR_ND_MC_MMB)
                    | bit(mr2 & SN_MR2_IPV6BLK, MR_UCASTB_MIP6B)
            }
            _ => 0,
        }
}

/// Returns a byte of a 16-bit register: at an even address the high one.
fn half(value: u16, address: u16) -> u8 {
    value.to_be_bytes()[usize::from(address & 1)]
}

fn set_half(value: &mut u16, address: u16, byte: u8) {
    let mut bytes = value.to_be_bytes();
    bytes[usize::from(address & 1)] = byte;
    *value = u16::from_be_bytes(bytes);
}

impl W5100S {
    pub(super) fn read_address(&self, address: u16) -> u8 {
        match place(address) {
            Place::Common(offset) => self.read_byte(Block::Common, offset),
            Place::Socket(n, offset) => self.read_socket_register(n, offset),
            Place::Tx(offset) => self.tx.byte_at(offset),
            Place::Rx(offset) => self.rx.byte_at(offset),
        }
    }

    pub(super) fn write_address(&mut self, address: u16, value: u8) {
        match place(address) {
            Place::Common(offset) => self.write_byte(Block::Common, offset, value),
            Place::Socket(n, offset) => self.write_socket_register(n, offset, value),
            Place::Tx(offset) => self.tx.set_byte_at(offset, value),
            Place::Rx(offset) => self.rx.set_byte_at(offset, value),
        }
    }

    pub(super) fn read_register(&self, address: u16) -> u8 {
        if let Some(shared) = shared_common(address) {
            return self.common.read(shared);
        }
        match address {
            common::MR => self.common.mr() & (MR_PB | MR_PPPOE) | MR_ALWAYS,
            IR => self.common.ir() & COMMON_BITS | self.sir() & SOCKET_BITS,
            IMR => self.common.imr() & COMMON_BITS | self.common.simr() & SOCKET_BITS,
            RMSR => self.memory_sizes(socket::RXBUF_SIZE),
            TMSR => self.memory_sizes(socket::TXBUF_SIZE),
            IR2 => u8::from(self.common.ir() & IR_MP != 0),
            IMR2 => u8::from(self.common.imr() & IR_MP != 0),
            MR2 => {
                let shared = self.common.mr();
                let wol = if shared & MR_WOL != 0 { MR2_WOL } else { 0 };
                let farp = if shared & MR_FARP != 0 { MR2_FARP } else { 0 };
                self.own.mr2 | wol | farp
            }
            PHYSR0..=PHYCR1 => self.phy.read(self.now, address),
            socketless::FIRST..=socketless::LAST => self.own.socketless.read(address),
            VERR => VERSION,
            TCNTR | 0x83 => half(((self.now - self.own.counted_from) / RTR_UNIT) as u16, address),
            _ => 0,
        }
    }

    pub(super) fn write_register(&mut self, address: u16, value: u8) {
        if let Some(shared) = shared_common(address) {
            // GAR to SIPR.
            if !(self.own.network_locked && (common::GAR..INTPTMR).contains(&address)) {
                self.common.write(shared, value);
            }
            return;
        }
        match address {
            common::MR => {
                let kept = self.common.mr() & (MR_WOL | MR_FARP);
                self.write_mode(value & (MR_RST | MR_PB | MR_PPPOE) | kept);
            }
            IR => self.acknowledge(value & COMMON_BITS),
            IMR => {
                let kept = self.common.imr() & IR_MP;
                self.common.write(common::IMR, value & COMMON_BITS | kept);
                self.common.write(common::SIMR, value & SOCKET_BITS);
            }
            RMSR => self.set_memory_sizes(socket::RXBUF_SIZE, value),
            TMSR => self.set_memory_sizes(socket::TXBUF_SIZE, value),
            IR2 if value & IR2_WOL != 0 => self.acknowledge(IR_MP),
            IMR2 => {
                let mask = if value & IR2_WOL != 0 { IR_MP } else { 0 };
                self.common.write(common::IMR, self.common.imr() & COMMON_BITS | mask);
            }
            MR2 => self.write_mode_2(value),
            PHYSR0..=PHYCR1 | PHYLCKR => {
                if let Some(what) = self.phy.write(self.now, address, value) {
                    self.leave_out(&what);
                }
            }
            socketless::FIRST..=socketless::LAST => self.write_socketless(address, value),
            CHPLCKR => self.own.chip_unlocked = value == CHIP_UNLOCK,
            NETLCKR if value == NETWORK_LOCK => self.own.network_locked = true,
            NETLCKR if value == NETWORK_UNLOCK => self.own.network_locked = false,
            TCNTCLR => self.own.counted_from = self.now,
            _ => {}
        }
    }

    fn write_mode_2(&mut self, value: u8) {
        let writable = if self.own.chip_unlocked { MR2_OWN } else { MR2_OWN & !MR2_CLKSEL };
        self.own.mr2 = self.own.mr2 & !writable | value & writable;
        let wol = if value & MR2_WOL != 0 { MR_WOL } else { 0 };
        let farp = if value & MR2_FARP != 0 { MR_FARP } else { 0 };
        self.write_mode(self.common.mr() & (MR_PB | MR_PPPOE) | wol | farp);
    }

    fn read_socket_register(&self, n: usize, offset: u16) -> u8 {
        let own = &self.own.sockets[n];
        match offset {
            socket::MR => own.mr,
            SN_MR2 => own.mr2,
            SN_RTR | 0x33 => half(own.rtr, offset),
            SN_RCR => own.rcr,
            _ => shared_socket(offset).map_or(0, |shared| self.read_byte(Block::Socket(n), shared)),
        }
    }

    fn write_socket_register(&mut self, n: usize, offset: u16, value: u8) {
        let own = &mut self.own.sockets[n];
        match offset {
            socket::MR | SN_MR2 => {
                if offset == socket::MR {
                    own.mr = value;
                } else {
                    own.mr2 = value;
                }
                let mode = shared_mode(own.mr, own.mr2);
                self.write_byte(Block::Socket(n), socket::MR, mode);
            }
            SN_RTR | 0x33 => set_half(&mut own.rtr_written, offset, value),
            SN_RCR => own.rcr_written = value,
            _ => {
                if let Some(shared) = shared_socket(offset) {
                    self.write_byte(Block::Socket(n), shared, value);
                }
            }
        }
    }

    pub(super) fn opening_socket(&mut self, n: usize) {
        let (rtr, rcr) = (self.common.rtr(), self.common.rcr());
        let own = &mut self.own.sockets[n];
        own.rtr = if own.rtr_written == 0 { rtr } else { own.rtr_written };
        own.rcr = if own.rcr_written == 0 { rcr } else { own.rcr_written };
        match own.mr & 0x0F {
            SN_MR_PPPOE => self.leave_out(&format!("S{n}_MR PPPoE")),
            SN_MR_TCP if own.mr2 & SN_MR2_UBBLK_FPSH != 0 => self.leave_out(&format!("S{n}_MR2.FPSH")),
            _ => {}
        }
    }

    pub(super) fn igmp_command(&mut self, n: usize, join: bool) {
        if self.sockets[n].status == Status::Udp && self.sockets[n].mr() & MR_MULTI != 0 {
            if join { self.igmp_join(n) } else { self.igmp_leave(n) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_leads_somewhere() {
        assert_eq!(place(0x0015), Place::Common(0x15));
        assert_eq!(place(0x0315), Place::Common(0x15));
        assert_eq!(place(0x3B15), Place::Common(0x15));
        assert_eq!(place(0x0724), Place::Socket(3, 0x24));
        assert_eq!(place(0x0D24), Place::Socket(1, 0x24));
        assert_eq!(place(0x4000), Place::Tx(0));
        assert_eq!(place(0x5FFF), Place::Tx(0x1FFF));
        assert_eq!(place(0x6000), Place::Rx(0));
        assert_eq!(place(0x7FFF), Place::Rx(0x1FFF));
        assert_eq!(place(0x8015), Place::Common(0x15));
    }

    #[test]
    fn modes_of_the_family() {
        assert_eq!(shared_mode(0x21, 0xFF), 0x21);
        assert_eq!(shared_mode(0xA2, 0x00), 0xA2);
        assert_eq!(shared_mode(0x82, 0x03), 0xD2);
        assert_eq!(shared_mode(0x44, 0x00), 0x84);
        assert_eq!(shared_mode(0x84, 0x70), 0x74);
        assert_eq!(shared_mode(0xF3, 0xFF), 0x03);
    }
}
