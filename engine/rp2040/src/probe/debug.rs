//! What a debugger wants of the cores: breakpoints, watchpoints, single steps.

use std::collections::BTreeSet;

use crate::cpu::core::Core;
use crate::memory::{Memory, RAM_BASE};

/// Why the chip stopped for the debugger, and which core it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    Breakpoint {
        core: usize,
    },
    Step {
        core: usize,
    },
    /// SRAM at `address` has another value.
    Watchpoint {
        core: usize,
        address: u32,
    },
}

/// A range of SRAM whose bytes are not to change unnoticed.
#[derive(Clone, PartialEq, Eq)]
struct Watch {
    address: u32,
    value: Vec<u8>,
}

#[derive(Default)]
pub struct Debug {
    breakpoints: BTreeSet<u32>,
    watches: Vec<Watch>,
    /// The core to step, and the exception that it handled when the step began.
    step: Option<(usize, u32)>,
    /// Where each core was (by its count of instructions) when it was last told to run on: its breakpoint is behind it.
    left: [Option<u64>; 2],
    halt: Option<Halt>,
}

impl Debug {
    pub(super) fn looks(&self) -> bool {
        !self.breakpoints.is_empty() || !self.watches.is_empty() || self.step.is_some()
    }

    pub fn add_breakpoint(&mut self, address: u32) -> bool {
        self.breakpoints.insert(address & !1)
    }

    pub fn remove_breakpoint(&mut self, address: u32) -> bool {
        self.breakpoints.remove(&(address & !1))
    }

    /// Watches `len` bytes of SRAM for another value; false where it is not SRAM.
    pub fn add_watchpoint(&mut self, mem: &Memory, address: u32, len: u32) -> bool {
        let Some(value) = sram(mem, address, len as usize) else { return false };
        self.watches.push(Watch { address, value: value.to_vec() });
        true
    }

    pub fn remove_watchpoint(&mut self, address: u32, len: u32) -> bool {
        let found = self.watches.iter().position(|w| w.address == address && w.value.len() == len as usize);
        found.map(|index| self.watches.remove(index)).is_some()
    }

    /// Forgets everything, as when the debugger has gone.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn forget_step(&mut self) {
        self.step = None;
    }

    /// The next instruction of `core` ends the run. Interrupts that come first are handled without a stop.
    pub fn step(&mut self, core: &Core) {
        self.step = Some((core.index, core.ipsr));
    }

    /// The cores run on from where they are: a breakpoint there has been seen.
    pub fn leave(&mut self, cores: &[Core; 2]) {
        self.left = [Some(cores[0].instructions), Some(cores[1].instructions)];
        self.halt = None;
    }

    pub fn take_halt(&mut self) -> Option<Halt> {
        self.halt.take()
    }

    pub(super) fn stops_at(&mut self, core: &Core) -> bool {
        if self.left[core.index] != Some(core.instructions) && self.breakpoints.contains(&core.pc) {
            self.halt = Some(Halt::Breakpoint { core: core.index });
        }
        self.halt.is_some()
    }

    /// `core` has executed an instruction while it handled exception `level`.
    pub(super) fn executed(&mut self, core: &Core, level: u32, mem: &Memory) -> bool {
        if self.step == Some((core.index, level)) {
            self.step = None;
            self.halt = Some(Halt::Step { core: core.index });
        }
        for watch in &mut self.watches {
            if let Some(value) = sram(mem, watch.address, watch.value.len())
                && value != watch.value
            {
                watch.value = value.to_vec();
                self.halt = Some(Halt::Watchpoint { core: core.index, address: watch.address });
            }
        }
        self.halt.is_some()
    }
}

fn sram(mem: &Memory, address: u32, len: usize) -> Option<&[u8]> {
    let start = address.wrapping_sub(RAM_BASE) as usize;
    mem.ram().get(start..start.checked_add(len)?)
}
