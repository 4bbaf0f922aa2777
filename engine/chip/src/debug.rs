//! The debugger's requests: breakpoints, watchpoints, single steps.

use std::collections::BTreeSet;

use sim::snapshot::Refused;

use crate::mcu::{Contents, Halt};

/// The place of a core in its program, for any instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Index of the core.
    pub core: usize,
    /// Address of its next instruction.
    pub pc: u32,
    /// Number of the exception being handled.
    pub exception: u32,
    /// Instructions executed since power-on.
    pub instructions: u64,
}

/// A watched range of SRAM.
#[derive(Clone, PartialEq, Eq)]
struct Watch {
    address: u32,
    value: Vec<u8>,
}

/// The debugger's requests for both cores of a chip.
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
    /// Returns whether cores must run instruction by instruction.
    pub fn looks(&self) -> bool {
        !self.breakpoints.is_empty() || !self.watches.is_empty() || self.step.is_some()
    }

    /// Refuses a snapshot of the chip while the debugger watches it.
    pub fn refuses_snapshot(&self) -> Result<(), Refused> {
        if self.looks() { Err(Refused("breakpoints of a debugger".into())) } else { Ok(()) }
    }

    /// Sets a breakpoint for both cores; returns false if there is one already.
    pub fn add_breakpoint(&mut self, address: u32) -> bool {
        self.breakpoints.insert(address & !1)
    }

    /// Removes a breakpoint; returns false if there is none.
    pub fn remove_breakpoint(&mut self, address: u32) -> bool {
        self.breakpoints.remove(&(address & !1))
    }

    pub(crate) fn watch(&mut self, address: u32, value: Vec<u8>) {
        self.watches.push(Watch { address, value });
    }

    /// Removes a watchpoint of these `len` bytes; returns false if there is none.
    pub fn remove_watchpoint(&mut self, address: u32, len: u32) -> bool {
        let found = self.watches.iter().position(|w| w.address == address && w.value.len() == len as usize);
        found.map(|index| self.watches.remove(index)).is_some()
    }

    /// Removes all breakpoints and watchpoints, as when the debugger disconnects.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Withdraws a step that has not ended the run.
    pub fn forget_step(&mut self) {
        self.step = None;
    }

    pub(crate) fn step(&mut self, place: Place) {
        self.step = Some((place.core, place.exception));
    }

    pub(crate) fn leave(&mut self, cores: [Place; 2]) {
        self.left = cores.map(|place| Some(place.instructions));
        self.halt = None;
    }

    /// Takes the reason of the last stop.
    pub fn take_halt(&mut self) -> Option<Halt> {
        self.halt.take()
    }

    /// Returns whether the chip stops before the instruction at `place`.
    pub fn stops_at(&mut self, place: Place) -> bool {
        if self.left[place.core] != Some(place.instructions) && self.breakpoints.contains(&place.pc) {
            self.halt = Some(Halt::Breakpoint { core: place.core });
        }
        self.halt.is_some()
    }

    /// Checks after an instruction that `core` executed while it handled exception `level`.
    pub fn executed(&mut self, core: usize, level: u32, sram: Contents<'_>) -> bool {
        if self.step == Some((core, level)) {
            self.step = None;
            self.halt = Some(Halt::Step { core });
        }
        for watch in &mut self.watches {
            if let Some(value) = sram.get(watch.address, watch.value.len())
                && value != watch.value
            {
                watch.value = value.to_vec();
                self.halt = Some(Halt::Watchpoint { core, address: watch.address });
            }
        }
        self.halt.is_some()
    }
}
