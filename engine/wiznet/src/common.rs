//! The common registers (datasheet 4.1). Writes with side effects beyond their bytes are handled in `registers.rs`.

use crate::map::common::*;
use crate::wire::{IpAddr, Ipv4Addr};
use sim::Snapshot;

pub(crate) const MR_RST: u8 = 0x80;
pub(crate) const MR_WOL: u8 = 0x20;
pub(crate) const MR_PB: u8 = 0x10;
pub(crate) const MR_PPPOE: u8 = 0x08;
pub(crate) const MR_FARP: u8 = 0x02;
/// The writable bits of MR; the others are reserved.
const MR_BITS: u8 = MR_WOL | MR_PB | MR_PPPOE | MR_FARP;

pub(crate) const IR_CONFLICT: u8 = 0x80;
pub(crate) const IR_UNREACH: u8 = 0x40;
pub(crate) const IR_PPPOE: u8 = 0x20;
pub(crate) const IR_MP: u8 = 0x10;
const IR_BITS: u8 = IR_CONFLICT | IR_UNREACH | IR_PPPOE | IR_MP;

const BYTES: usize = 0x2E;

/// The block's bytes from MR to UPORTR as stored in the chip, big endian.
#[derive(Snapshot)]
pub(crate) struct Common {
    bytes: [u8; BYTES],
}

impl Default for Common {
    /// Returns the reset values (datasheet 3.1).
    fn default() -> Self {
        let mut common = Self { bytes: [0; BYTES] };
        common.set(RTR, &2000u16.to_be_bytes());
        common.set(RCR, &[8]);
        common.set(PTIMER, &[0x28]);
        common.set(PMRU, &[0xFF, 0xFF]);
        common
    }
}

impl Common {
    fn array<const N: usize>(&self, address: u16) -> [u8; N] {
        let at = usize::from(address);
        std::array::from_fn(|i| self.bytes[at + i])
    }

    pub(crate) fn set(&mut self, address: u16, value: &[u8]) {
        let at = usize::from(address);
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    /// Returns a stored byte, or 0 if none is stored there.
    pub(crate) fn read(&self, address: u16) -> u8 {
        self.bytes.get(usize::from(address)).copied().unwrap_or(0)
    }

    /// Writes a byte without side effects. Read-only and reserved bytes keep their value.
    pub(crate) fn write(&mut self, address: u16, value: u8) {
        let masked = match address {
            MR => value & MR_BITS,
            // A host clears a bit by writing 1 to it.
            IR => self.read(IR) & !value,
            IMR => value & IR_BITS,
            SIR | UIPR..PHYCFGR => return,
            _ => value,
        };
        if let Some(byte) = self.bytes.get_mut(usize::from(address)) {
            *byte = masked;
        }
    }

    pub(crate) fn raise(&mut self, ir_bit: u8) {
        self.bytes[usize::from(IR)] |= ir_bit;
    }

    pub(crate) fn mr(&self) -> u8 {
        self.read(MR)
    }
    pub(crate) fn gar(&self) -> Ipv4Addr {
        self.array(GAR).into()
    }
    pub(crate) fn subr(&self) -> Ipv4Addr {
        self.array(SUBR).into()
    }
    pub(crate) fn shar(&self) -> [u8; 6] {
        self.array(SHAR)
    }
    pub(crate) fn sipr(&self) -> Ipv4Addr {
        self.array(SIPR).into()
    }
    pub(crate) fn intlevel(&self) -> u16 {
        u16::from_be_bytes(self.array(INTLEVEL))
    }
    pub(crate) fn ir(&self) -> u8 {
        self.read(IR)
    }
    pub(crate) fn imr(&self) -> u8 {
        self.read(IMR)
    }
    pub(crate) fn simr(&self) -> u8 {
        self.read(SIMR)
    }
    pub(crate) fn rtr(&self) -> u16 {
        u16::from_be_bytes(self.array(RTR))
    }
    pub(crate) fn rcr(&self) -> u8 {
        self.read(RCR)
    }
    pub(crate) fn ptimer(&self) -> u8 {
        self.read(PTIMER)
    }
    pub(crate) fn pmagic(&self) -> u8 {
        self.read(PMAGIC)
    }
    pub(crate) fn phar(&self) -> [u8; 6] {
        self.array(PHAR)
    }
    pub(crate) fn psid(&self) -> u16 {
        u16::from_be_bytes(self.array(PSID))
    }

    /// Returns whether `ip` is in our subnet.
    fn is_local(&self, ip: Ipv4Addr) -> bool {
        ip & self.subr() == self.sipr() & self.subr()
    }

    /// Returns whether `ip` is 255.255.255.255 or our subnet's broadcast address.
    pub(crate) fn is_broadcast(&self, ip: IpAddr) -> bool {
        let (mask, all) = (self.subr(), Ipv4Addr::BROADCAST);
        ip == all || (mask != all && ip == self.sipr() | !mask)
    }

    /// Returns the address to resolve for a packet to `ip`: the peer's or the gateway's.
    pub(crate) fn next_hop(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) if !self.is_local(ip) => self.gar().into(),
            _ => ip,
        }
    }
}
