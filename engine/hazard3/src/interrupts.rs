//! Interrupts: the standard three, and Xh3irq's array of external ones behind one of them (datasheet 3.8.6.1).

use sim::Snapshot;

use crate::core::Core;

/// External interrupts.
const COUNT: u32 = 52;
const EXTERNAL: u64 = (1 << COUNT) - 1;
/// Above every priority: nothing preempts.
const NO_PREEMPTION: u8 = 16;

/// Bits of MIE and MIP, and codes of MCAUSE.
pub(crate) mod code {
    pub(crate) const SOFTWARE: u32 = 3;
    pub(crate) const TIMER: u32 = 7;
    pub(crate) const EXTERNAL: u32 = 11;
    pub(crate) const ALL: u32 = 1 << SOFTWARE | 1 << TIMER | 1 << EXTERNAL;
}

/// Xh3irq.
#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Interrupts {
    /// MEIEA.
    enabled: u64,
    /// MEIFA.
    forced: u64,
    /// MEIPRA.
    priority: [u8; 64],
    /// MEICONTEXT's PREEMPT, PPREEMPT, PPPREEMPT.
    preempt: [u8; 3],
    /// MEICONTEXT's NOIRQ and IRQ.
    none: bool,
    number: u32,
    /// MEICONTEXT.MRETEIRQ.
    restores: bool,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self { enabled: 0, forced: 0, priority: [0; 64], preempt: [0; 3], none: true, number: 0, restores: false }
    }
}

/// Reads the window of 16 bits that `index` selects.
fn window(bits: u64, index: u32) -> u32 {
    if index < 4 { ((bits >> (16 * index)) as u32) << 16 } else { 0 }
}

fn set_window(bits: &mut u64, index: u32, value: u32) {
    if index < 4 {
        *bits = (*bits & !(0xffff << (16 * index)) | u64::from(value >> 16) << (16 * index)) & EXTERNAL;
    }
}

impl Interrupts {
    fn pending(&self, level: u64) -> u64 {
        (level | self.forced) & EXTERNAL
    }

    /// Returns whether an interrupt is pending, enabled, and may preempt.
    fn external(&self, level: u64) -> bool {
        let mut active = self.pending(level) & self.enabled;
        while active != 0 {
            if self.priority[active.trailing_zeros() as usize] >= self.preempt[0] {
                return true;
            }
            active &= active - 1;
        }
        false
    }

    /// Returns the interrupt that MEINEXT shows: the most urgent, and of those the one with the lowest number.
    fn next(&self, level: u64) -> Option<u32> {
        let mut active = self.pending(level) & self.enabled;
        let mut found: Option<u32> = None;
        while active != 0 {
            let number = active.trailing_zeros();
            let priority = self.priority[number as usize];
            if priority >= self.preempt[1] && found.is_none_or(|best| priority > self.priority[best as usize]) {
                found = Some(number);
            }
            active &= active - 1;
        }
        found
    }

    fn level_after(&self, next: Option<u32>) -> u8 {
        next.map_or(NO_PREEMPTION, |number| self.priority[number as usize] + 1)
    }

    /// A trap begins.
    pub(crate) fn enter(&mut self, level: u64, external: bool) {
        self.restores = external;
        if external {
            self.preempt = [self.level_after(self.next(level)), self.preempt[0] & 15, self.preempt[1]];
        }
    }

    /// MRET.
    pub(crate) fn leave(&mut self) {
        if std::mem::take(&mut self.restores) {
            self.preempt = [self.preempt[1], self.preempt[2], 0];
        }
    }

    /// Reads an array; `raw`: what the instruction writes, whose low bits select the window.
    pub(crate) fn read(&self, csr: u32, raw: u32, level: u64) -> u32 {
        let index = raw & 0x1f;
        match csr {
            0xbe0 => window(self.enabled, index),
            0xbe1 => window(self.pending(level), index),
            0xbe2 => window(self.forced, index),
            _ => {
                let first = (raw & 0x7f) as usize * 4;
                (0..4).fold(0, |word, at| {
                    word | u32::from(self.priority.get(first + at).copied().unwrap_or(0)) << (16 + 4 * at)
                })
            }
        }
    }

    pub(crate) fn write(&mut self, csr: u32, raw: u32, value: u32) {
        let index = raw & 0x1f;
        match csr {
            0xbe0 => set_window(&mut self.enabled, index, value),
            0xbe1 => {}
            0xbe2 => set_window(&mut self.forced, index, value),
            _ => {
                let first = (raw & 0x7f) as usize * 4;
                for at in (0..4).filter(|at| first + at < COUNT as usize) {
                    self.priority[first + at] = (value >> (16 + 4 * at) & 15) as u8;
                }
            }
        }
    }

    /// Reads MEINEXT, which takes back the force of the interrupt that it shows. `update`: writes UPDATE.
    pub(crate) fn read_next(&mut self, level: u64, update: bool) -> u32 {
        let next = self.next(level);
        if update {
            self.preempt[0] = self.level_after(next);
            (self.none, self.number) = (next.is_none(), next.unwrap_or(0));
        }
        match next {
            Some(number) => {
                self.forced &= !(1 << number);
                number << 2
            }
            None => 1 << 31,
        }
    }

    /// Reads MEICONTEXT without MTIESAVE and MSIESAVE.
    pub(crate) fn context(&self) -> u32 {
        u32::from(self.preempt[2]) << 28
            | u32::from(self.preempt[1]) << 24
            | u32::from(self.preempt[0]) << 16
            | u32::from(self.none) << 15
            | self.number << 4
            | u32::from(self.restores)
    }

    pub(crate) fn set_context(&mut self, value: u32) {
        self.preempt = [(value >> 16 & 31) as u8, (value >> 24 & 15) as u8, (value >> 28) as u8];
        self.none = value >> 15 & 1 != 0;
        self.number = value >> 4 & 0x1ff;
        self.restores = value & 1 != 0;
    }
}

impl Core {
    /// Returns MIP.
    pub(crate) fn mip(&self, level: u64) -> u32 {
        let line = |number: u32| (level >> number & 1) as u32;
        line(self.wires.timer) << code::TIMER
            | line(self.wires.software) << code::SOFTWARE
            | u32::from(self.interrupts.external(level)) << code::EXTERNAL
    }

    /// Returns the interrupts that are pending and enabled, whether or not MSTATUS.MIE is set.
    #[inline]
    pub(crate) fn pending(&self, level: u64) -> u32 {
        if self.csrs.mie == 0 { 0 } else { self.mip(level) & self.csrs.mie }
    }
}
