//! Function 1: the SDIO core's registers, and a window of 32 KiB onto the backplane: RAM, ChipCommon, and the wrappers
//! with the resets of the processor and of RAM.

use sim::{Ps, Snapshot};

use crate::firmware::{self, Firmware};
use crate::time::{ALP, F2_READY, HT, HT_AFTER_BOOT};

pub(crate) const RAM_BYTES: usize = 512 << 10;
const WINDOW: u32 = 0x7fff;

mod function1 {
    pub(crate) const BEGIN: u32 = 0x1_0000;
    pub(crate) const WINDOW_LOW: usize = 0x0a;
    pub(crate) const WINDOW_MID: usize = 0x0b;
    pub(crate) const WINDOW_HIGH: usize = 0x0c;
    pub(crate) const FRAME_CONTROL: usize = 0x0d;
    pub(crate) const CLOCK: usize = 0x0e;
    pub(crate) const SLEEP: usize = 0x1f;
    pub(crate) const COUNT: usize = 0x20;
}

/// CHIP_CLOCK_CSR.
mod clock {
    pub(crate) const FORCE_ALP: u8 = 0x01;
    pub(crate) const FORCE_HT: u8 = 0x02;
    pub(crate) const ALP_REQUEST: u8 = 0x08;
    pub(crate) const HT_REQUEST: u8 = 0x10;
    pub(crate) const ALP_AVAILABLE: u8 = 0x40;
    pub(crate) const HT_AVAILABLE: u8 = 0x80;
}

mod address {
    pub(crate) const CHIPCOMMON: u32 = 0x1800_0000;
    /// Save and restore of state in sleep: not supported.
    pub(crate) const SR_CONTROL1: u32 = 0x1800_0508;
    /// The Bluetooth core's side of the shared bus: the address of its buffers, and the control words of host and core.
    pub(crate) const BT_BUFFERS: u32 = 0x1800_0d68;
    pub(crate) const BT_HOST: u32 = 0x1800_0d6c;
    pub(crate) const BT_CORE: u32 = 0x1800_0c7c;
    pub(crate) const SDIO_INT_STATUS: u32 = 0x1800_2020;
    pub(crate) const SDIO_INT_HOST_MASK: u32 = 0x1800_2024;
    pub(crate) const SDIO_FUNCTION_INT_MASK: u32 = 0x1800_2034;
    pub(crate) const SDIO_TO_CHIP_MAILBOX: u32 = 0x1800_2040;
    pub(crate) const SDIO_TO_CHIP_DATA: u32 = 0x1800_2048;
    pub(crate) const SDIO_TO_HOST_DATA: u32 = 0x1800_204c;
    pub(crate) const RAM_BANK_INDEX: u32 = 0x1800_4010;
    pub(crate) const RAM_BANK_PDA: u32 = 0x1800_4044;
    pub(crate) const ARM_WRAPPER: u32 = 0x1810_3000;
    pub(crate) const RAM_WRAPPER: u32 = 0x1810_4000;
    pub(crate) const BT_MEMORY: u32 = 0x1900_0000;
    pub(crate) const BT_MEMORY_END: u32 = 0x1908_0000;
}

/// Chip id 43439. Revision and number of cores are those that others read from a part; no driver checks them.
const CHIP_ID: u32 = 0x1542_a9af;

/// A core's wrapper.
#[derive(Clone, Copy, Debug, Snapshot)]
struct Wrapper {
    io: u32,
    in_reset: bool,
}

impl Wrapper {
    const IO: u32 = 0x408;
    const RESET: u32 = 0x800;
    const RESET_STATUS: u32 = 0x804;
    const IO_STATUS: u32 = 0x40c;
    const CLOCK_ENABLED: u32 = 1;
    const HALTED: u32 = 0x20;

    fn read(self, offset: u32) -> Option<u32> {
        match offset {
            Self::IO => Some(self.io),
            Self::RESET => Some(u32::from(self.in_reset)),
            Self::IO_STATUS | Self::RESET_STATUS => Some(0),
            _ => None,
        }
    }

    fn write(&mut self, offset: u32, value: u32) -> bool {
        match offset {
            Self::IO => self.io = value,
            Self::RESET => self.in_reset = value & 1 != 0,
            _ => return false,
        }
        true
    }

    fn runs(self) -> bool {
        !self.in_reset && self.io & Self::CLOCK_ENABLED != 0 && self.io & Self::HALTED == 0
    }
}

#[derive(Snapshot)]
pub(crate) struct Backplane {
    registers: [u8; function1::COUNT],
    pub(crate) ram: Box<[u8]>,
    /// End of the contiguous RAM that the host has written from address 0 on.
    loaded: usize,
    arm: Wrapper,
    socram: Wrapper,
    /// Registers without effect, which return the value written.
    kept: [(u32, u32); 9],
    /// The time when the processor left reset with valid firmware, and that firmware.
    booted: Option<(Ps, Firmware)>,
    /// Why the firmware did not start.
    pub(crate) refused: Option<String>,
    clock_asked: Ps,
    /// The host aborts the frame that it is reading.
    pub(crate) abort: bool,
    pub(crate) unmodelled: Option<String>,
}

impl Backplane {
    pub(crate) fn new() -> Self {
        let reset = Wrapper { io: 0, in_reset: true };
        use address::*;
        let kept = [
            BT_BUFFERS,
            BT_HOST,
            SDIO_INT_HOST_MASK,
            SDIO_FUNCTION_INT_MASK,
            SDIO_TO_CHIP_MAILBOX,
            SDIO_TO_CHIP_DATA,
            SDIO_TO_HOST_DATA,
            RAM_BANK_INDEX,
            RAM_BANK_PDA,
        ];
        Self {
            registers: [0; function1::COUNT],
            ram: vec![0; RAM_BYTES].into_boxed_slice(),
            loaded: 0,
            arm: reset,
            socram: reset,
            kept: kept.map(|address| (address, 0)),
            booted: None,
            refused: None,
            clock_asked: 0,
            abort: false,
            unmodelled: None,
        }
    }

    pub(crate) fn firmware(&self) -> Option<&Firmware> {
        self.booted.as_ref().map(|(_, firmware)| firmware)
    }

    /// Returns when F2 is ready for frames.
    pub(crate) fn ready_at(&self) -> Option<Ps> {
        self.booted.as_ref().map(|(at, _)| at + HT_AFTER_BOOT + F2_READY)
    }

    fn clock(&self, now: Ps) -> u8 {
        let asked = self.registers[function1::CLOCK] & 0x3f;
        let since = now.saturating_sub(self.clock_asked);
        let alp = asked & (clock::ALP_REQUEST | clock::FORCE_ALP | clock::HT_REQUEST | clock::FORCE_HT) != 0;
        let booting = self.booted.as_ref().map(|(at, _)| now >= at + HT_AFTER_BOOT);
        // The firmware requests the high clock by itself during start-up.
        let ht = booting == Some(true) && (since >= HT || asked & (clock::HT_REQUEST | clock::FORCE_HT) == 0);
        let ht_flag = if ht { clock::HT_AVAILABLE } else { 0 };
        let alp_flag = if ht || (alp && since >= ALP) { clock::ALP_AVAILABLE } else { 0 };
        asked | ht_flag | alp_flag
    }

    fn window(&self) -> u32 {
        let byte = |index: usize| u32::from(self.registers[index]);
        byte(function1::WINDOW_HIGH) << 24
            | byte(function1::WINDOW_MID) << 16
            | (byte(function1::WINDOW_LOW) & 0x80) << 8
    }

    /// Returns the backplane address of function 1's `address`, or `None` for a register of function 1 itself.
    fn target(&self, address: u32) -> Option<u32> {
        (address < function1::BEGIN).then(|| self.window() | (address & WINDOW))
    }

    pub(crate) fn read(&mut self, now: Ps, address: u32, length: usize) -> Vec<u8> {
        let Some(target) = self.target(address) else {
            return (0..length).map(|offset| self.read_register(now, address as usize + offset)).collect();
        };
        if let Some(bytes) = self.ram_range(target, length) {
            return bytes.to_vec();
        }
        let mut bytes = Vec::with_capacity(length);
        for word in (0..length).step_by(4) {
            // Older drivers request four bytes more than they need, and discard them.
            bytes.extend(self.read_word((target & !3) + word as u32, word == 0).to_le_bytes());
        }
        let skip = (target & 3) as usize;
        bytes.extend([0; 4]);
        bytes.drain(..skip);
        bytes.truncate(length);
        bytes
    }

    pub(crate) fn write(&mut self, now: Ps, address: u32, data: &[u8]) {
        let Some(target) = self.target(address) else {
            for (offset, &byte) in data.iter().enumerate() {
                self.write_register(now, address as usize + offset, byte);
            }
            return;
        };
        if self.ram_range(target, data.len()).is_some() {
            let start = target as usize;
            self.ram[start..start + data.len()].copy_from_slice(data);
            if start <= self.loaded {
                self.loaded = self.loaded.max(start + data.len());
            }
            return;
        }
        if (address::BT_MEMORY..address::BT_MEMORY_END).contains(&target) {
            return; // The Bluetooth core is absent: its download is ignored.
        }
        for (index, chunk) in data.chunks(4).enumerate() {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_word(now, (target & !3) + index as u32 * 4, u32::from_le_bytes(word) << (8 * (target & 3)));
        }
    }

    /// RAM answers only while its core is out of reset.
    fn ram_range(&self, target: u32, length: usize) -> Option<&[u8]> {
        let start = target as usize;
        if !self.socram.runs() {
            return None;
        }
        self.ram.get(start..start.checked_add(length)?)
    }

    fn read_register(&self, now: Ps, address: usize) -> u8 {
        match address & 0xffff {
            function1::CLOCK => self.clock(now),
            // The device is on as soon as the host sets keep-on.
            function1::SLEEP => self.registers[function1::SLEEP] & 1 | (self.registers[function1::SLEEP] & 1) << 1,
            register => self.registers.get(register).copied().unwrap_or(0),
        }
    }

    fn write_register(&mut self, now: Ps, address: usize, value: u8) {
        let register = address & 0xffff;
        match register {
            function1::CLOCK => self.clock_asked = now,
            function1::FRAME_CONTROL => {
                self.abort |= value & 1 != 0;
                return;
            }
            _ => {}
        }
        match self.registers.get_mut(register) {
            Some(byte) => *byte = value,
            None => self.name(format!("function 1 register 0x{address:05x} write 0x{value:02x}")),
        }
    }

    fn read_word(&mut self, target: u32, wanted: bool) -> u32 {
        if let Some(value) = self.wrapper(target).and_then(|(wrapper, offset)| wrapper.read(offset)) {
            return value;
        }
        if let Some((_, value)) = self.kept.iter().find(|(address, _)| *address == target) {
            return *value;
        }
        match target {
            address::CHIPCOMMON => CHIP_ID,
            // No state is saved in sleep, no interrupt is pending, and the Bluetooth core never reports that it is
            // ready.
            address::SR_CONTROL1 | address::SDIO_INT_STATUS | address::BT_CORE => 0,
            address::BT_MEMORY..address::BT_MEMORY_END => 0,
            0..0x8_0000 => 0, // RAM in reset
            _ => {
                if wanted {
                    self.name(format!("backplane read 0x{target:08x}"));
                }
                0
            }
        }
    }

    fn write_word(&mut self, now: Ps, target: u32, value: u32) {
        if let Some((_, kept)) = self.kept.iter_mut().find(|(address, _)| *address == target) {
            *kept = value;
            return;
        }
        match target {
            address::SDIO_INT_STATUS | address::BT_CORE | 0..0x8_0000 => return,
            _ => {}
        }
        let known = match target & !0xfff {
            address::ARM_WRAPPER => {
                let ran = self.arm.runs();
                let known = self.arm.write(target & 0xfff, value);
                if !ran && self.arm.runs() {
                    self.boot(now);
                } else if ran && !self.arm.runs() {
                    self.booted = None;
                }
                known
            }
            address::RAM_WRAPPER => self.socram.write(target & 0xfff, value),
            _ => false,
        };
        if !known {
            self.name(format!("backplane write 0x{target:08x} 0x{value:08x}"));
        }
    }

    fn wrapper(&self, target: u32) -> Option<(Wrapper, u32)> {
        match target & !0xfff {
            address::ARM_WRAPPER => Some((self.arm, target & 0xfff)),
            address::RAM_WRAPPER => Some((self.socram, target & 0xfff)),
            _ => None,
        }
    }

    fn boot(&mut self, now: Ps) {
        self.refused = None;
        match firmware::check(&self.ram, self.loaded.min(RAM_BYTES)) {
            Ok(firmware) => self.booted = Some((now, firmware)),
            Err(reason) => self.refused = Some(reason),
        }
    }

    fn name(&mut self, what: String) {
        self.unmodelled.get_or_insert(format!("CYW43439 {what}"));
    }
}
