//! The debugger's requests: breakpoints, watchpoints, single steps.

use std::collections::BTreeSet;

pub use parts::mcu::Halt;

use crate::core::Core;
use crate::map::Map;
use crate::memory::Memory;

/// A watched range of SRAM.
#[derive(Clone, PartialEq, Eq)]
struct Watch {
    address: u32,
    value: Vec<u8>,
}

#[derive(Default)]
pub struct Debug {
    breakpoints: BTreeSet<u32>,
    watches: Vec<Watch>,
    /// The core to step, and the exception that it was handling when the step started.
    step: Option<(usize, u32)>,
    /// Each core's count of instructions when it last continued: a breakpoint there was already reported.
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

    /// Watches `len` bytes of SRAM for changes; returns false if they are not SRAM.
    pub fn add_watchpoint<M: Map>(&mut self, mem: &Memory<M>, address: u32, len: u32) -> bool {
        let Some(value) = sram(mem, address, len as usize) else { return false };
        self.watches.push(Watch { address, value: value.to_vec() });
        true
    }

    pub fn remove_watchpoint(&mut self, address: u32, len: u32) -> bool {
        let found = self.watches.iter().position(|w| w.address == address && w.value.len() == len as usize);
        found.map(|index| self.watches.remove(index)).is_some()
    }

    /// Removes all breakpoints and watchpoints, as when the debugger disconnects.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn forget_step(&mut self) {
        self.step = None;
    }

    /// Ends the run after the next instruction of `core`. Interrupts before it are handled without a stop.
    pub fn step(&mut self, core: &Core) {
        self.step = Some((core.index, core.ipsr));
    }

    /// Continues both cores; breakpoints at their present addresses were already reported.
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

    /// Checks after an instruction that `core` executed while it handled exception `level`.
    pub(super) fn executed<M: Map>(&mut self, core: &Core, level: u32, mem: &Memory<M>) -> bool {
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

fn sram<M: Map>(mem: &Memory<M>, address: u32, len: usize) -> Option<&[u8]> {
    let start = address.wrapping_sub(M::SRAM.base) as usize;
    mem.ram().get(start..start.checked_add(len)?)
}
