//! OTP, one-time programmable memory (datasheet chapter 13): blank, except for the chip's number.
//!
//! Programming is not modelled. Rows are read through four windows: with error correction (two rows a word) or raw (a
//! row a word), each also guarded, which never fails here.

use super::bootdis::BootDis;
use super::{Peripheral, Write, unmodelled};
use chip::Sys;
use sim::Snapshot;

const ROWS: usize = 4096;
/// Rows of the chip's number, 16 bits each, lowest first.
const CHIPID: std::ops::Range<usize> = 0..4;

#[derive(Debug, Snapshot)]
pub struct Otp {
    /// Data of each row, without its error correction code.
    rows: Vec<u16>,
    sw_lock: [u32; 64],
    usr: u32,
    crt_key: [u32; 4],
    debugen: u32,
    debugen_lock: u32,
    archsel: u32,
    archsel_status: u32,
    bootdis: BootDis,
    inte: u32,
    intf: u32,
}

impl Default for Otp {
    fn default() -> Self {
        Self {
            rows: vec![0; ROWS],
            sw_lock: [0; 64],
            usr: 1,
            crt_key: [0; 4],
            debugen: 0,
            debugen_lock: 0,
            archsel: 0,
            archsel_status: 0,
            bootdis: BootDis::default(),
            inte: 0,
            intf: 0,
        }
    }
}

impl Otp {
    /// Sets the number of the chip, which firmware shows in this order of bytes.
    pub fn set_chip_id(&mut self, id: [u8; 8]) {
        let number = u64::from_be_bytes(id);
        for (index, row) in self.rows[CHIPID].iter_mut().enumerate() {
            *row = (number >> (16 * index)) as u16;
        }
    }

    /// Returns ARCHSEL, a bit for each core: 1 is RISC-V.
    pub fn archsel(&self) -> u32 {
        self.archsel
    }

    /// Takes ARCHSEL over, as a reset of both cores does.
    pub fn sample_archsel(&mut self, sys: &mut Sys) {
        self.archsel_status = self.archsel;
        if matches!(self.archsel, 1 | 2) {
            sys.unmodelled(format!("OTP.ARCHSEL 0x{:x}: an Arm and a RISC-V core at the same time", self.archsel));
        }
    }

    /// Reads the memory at `offset` from OTP_DATA_BASE.
    pub fn read_data(&self, offset: u32) -> u32 {
        let word = (offset & 0x3fff) as usize / 4;
        match offset >> 14 & 1 {
            // Addresses beyond the rows wrap.
            0 => {
                let row = |row: usize| u32::from(self.rows[row % ROWS]);
                row(2 * word) | row(2 * word + 1) << 16
            }
            _ => raw(self.rows[word % ROWS]),
        }
    }
}

/// Returns a row of 24 bits: the data with its error correction code (datasheet 13.6.2).
fn raw(data: u16) -> u32 {
    const PARITY: [u32; 6] = [0x00_ad5b, 0x00_366d, 0x00_c78e, 0x00_07f0, 0x00_f800, 0x1f_ffff];
    PARITY
        .iter()
        .enumerate()
        .fold(u32::from(data), |row, (index, mask)| row | ((row & mask).count_ones() & 1) << (16 + index))
}

impl Peripheral for Otp {
    fn name(&self) -> &'static str {
        "OTP"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x000..=0x0fc => self.sw_lock[(offset / 4) as usize],
            0x128 => self.usr,
            0x138..=0x144 => self.crt_key[((offset - 0x138) / 4) as usize],
            0x150 => self.debugen,
            0x154 => self.debugen_lock,
            0x158 => self.archsel,
            0x15c => self.archsel_status,
            0x160 => self.bootdis.read(),
            0x168 => self.inte,
            0x16c => self.intf,
            0x170 => self.intf,
            // CRITICAL and KEY_VALID: nothing is programmed.
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            // Locks advance only.
            0x000..=0x0fc => self.sw_lock[(offset / 4) as usize] |= write.apply(0) & 0xf,
            0x128 => self.usr = write.apply_masked(self.usr, 0x11),
            0x138..=0x144 => {
                let key = &mut self.crt_key[((offset - 0x138) / 4) as usize];
                *key = write.apply(*key);
            }
            0x150 => self.debugen = write.apply_masked(self.debugen, 0x10f) & !self.debugen_lock,
            0x154 => self.debugen_lock |= write.apply(0) & 0x10f,
            0x158 => self.archsel = write.apply_masked(self.archsel, 3),
            0x160 => self.bootdis.write(write),
            0x168 => self.inte = write.apply_masked(self.inte, 0x1f),
            0x16c => self.intf = write.apply_masked(self.intf, 0x1f),
            0x100 if write.apply(0) != 0 => unmodelled(sys, "OTP.SBPI_INSTR", offset, Some(write.bits)),
            _ => {}
        }
    }

    /// Resets the registers; the memory stays. ARCHSEL is reset at power-on only.
    fn reset(&mut self, _sys: &mut Sys) {
        let rows = std::mem::take(&mut self.rows);
        let (archsel, archsel_status) = (self.archsel, self.archsel_status);
        let mut bootdis = self.bootdis;
        bootdis.reset();
        *self = Self { rows, archsel, archsel_status, bootdis, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chips_number_is_in_four_rows() {
        let mut otp = Otp::default();
        assert_eq!((otp.read_data(0), otp.read_data(0x4000)), (0, 0));
        otp.set_chip_id([0xe6, 0x60, 0x58, 0x38, 0x83, 0x3a, 0x55, 0x2c]);
        assert_eq!((otp.read_data(0), otp.read_data(4)), (0x833a_552c, 0xe660_5838));
        assert_eq!((otp.read_data(0x8000), otp.read_data(0xc004) & 0xffff), (0x833a_552c, 0x833a));
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        otp.reset(&mut sys);
        assert_eq!(otp.read_data(0), 0x833a_552c);
    }

    #[test]
    fn locks_only_advance() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut otp = Otp::default();
        for bits in [1, 2] {
            otp.write(&mut sys, 0x10, Write::normal(bits));
        }
        assert_eq!(otp.read(&mut sys, 0x10), 3);
    }

    #[test]
    fn scratch_registers_are_ignored_once_after_a_reset() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut otp = Otp::default();
        let bootdis = |otp: &mut Otp, sys: &mut Sys| otp.read(sys, 0x160);
        for bits in [1, 2, 0] {
            otp.write(&mut sys, 0x160, Write::normal(bits));
        }
        assert_eq!(bootdis(&mut otp, &mut sys), 2, "NOW is cleared by a one, NEXT is not");
        otp.reset(&mut sys);
        assert_eq!(bootdis(&mut otp, &mut sys), 1);
        otp.write(&mut sys, 0x160, Write::normal(1));
        otp.reset(&mut sys);
        assert_eq!(bootdis(&mut otp, &mut sys), 0);
    }

    #[test]
    fn both_cores_take_archsel_over_at_a_reset() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut otp = Otp::default();
        otp.write(&mut sys, 0x158, Write::normal(7));
        otp.reset(&mut sys);
        assert_eq!((otp.read(&mut sys, 0x158), otp.read(&mut sys, 0x15c)), (3, 0));
        otp.sample_archsel(&mut sys);
        assert_eq!((otp.read(&mut sys, 0x15c), sys.unmodelled.is_some()), (3, false));
        otp.write(&mut sys, 0x158, Write::normal(1));
        otp.sample_archsel(&mut sys);
        assert!(sys.unmodelled.is_some());
    }
}
