//! Probes of each executed instruction: off by default, and without effect on simulated time.
//!
//! A probed core runs one instruction at a time. Its actions and their times stay the same, since a core may leave its
//! loop after any instruction.

pub mod profile;

use parts::PROBED;
use parts::debug::Debug;

use crate::bus::Bus;
use crate::core::{Core, State};
use crate::memory::Memory;

use profile::{Instruction, Profile, Sampler};

/// All probes.
#[derive(Default)]
pub struct Probes {
    /// Breakpoints, watchpoints, single steps.
    pub debug: Debug,
    /// The exact profile, while one is requested.
    pub profile: Option<Box<Profile>>,
    /// Samples of the program counter.
    pub sampler: Sampler,
}

impl Probes {
    /// Returns whether cores must run instruction by instruction.
    #[inline]
    pub fn look(&self) -> bool {
        PROBED && (self.profile.is_some() || self.debug.looks())
    }

    /// Runs `core` as [`Core::run`] does. Returns true if the debugger stops the chip.
    pub fn run<B: Bus>(&mut self, core: &mut Core, mem: &mut Memory<B::Map>, bus: &mut B, limit: u64) -> bool {
        if let Some(profile) = &mut self.profile {
            profile.catch_up(core);
        }
        let (level, from, sp) = (core.ipsr, core.pc, core.regs[13]);
        core.take_pending_exception(mem, bus);
        if let Some(profile) = &mut self.profile
            && core.ipsr != level
        {
            profile.interrupted(core, from, sp);
        }
        while core.state == State::Running && core.cycles < limit && !bus.sys().attention {
            if self.debug.stops_at(core.place()) {
                return true;
            }
            let before = Instruction::at(core, mem);
            let next = core.cycles + 1;
            core.run(mem, bus, next);
            if let Some(profile) = &mut self.profile {
                profile.executed(&before, core, mem);
            }
            if self.debug.executed(core.index, before.exception, mem.sram()) {
                return true;
            }
        }
        false
    }
}
