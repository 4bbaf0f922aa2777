//! Probes of each executed instruction: off by default, and without effect on simulated time.
//!
//! A probed core runs one instruction at a time. Its actions and their times stay the same, since a core may leave its
//! loop after any instruction.

pub mod profile;

use crate::PROBED;
use crate::debug::{Debug, Place};
use crate::mcu::Contents;
use crate::xip_cache::{Evictions, XipCache};

use profile::{Profile, Sampler};

/// What the probes see of a core between two instructions.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The place in its program.
    pub place: Place,
    /// It executes instructions.
    pub running: bool,
    /// Cycle of clk_sys at which its next instruction starts.
    pub cycles: u64,
    /// Its stack pointer.
    pub sp: u32,
}

/// What an instruction does to the path of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It stays in its function.
    Within,
    /// It calls a function, which returns behind these bytes of the instruction.
    Call(u32),
    /// It jumps, perhaps to another function.
    Jump,
    /// It jumps as one that returns from functions does.
    Return,
}

/// A core of any kind, with its memories and bus.
pub trait Probed {
    /// Returns the state of the core.
    fn seen(&self) -> Seen;

    /// Takes a pending exception or interrupt, before the core runs.
    fn take_pending(&mut self);

    /// Runs the core up to cycle `limit`.
    fn run(&mut self, limit: u64);

    /// Returns whether the chip has to look at something before its cores run on.
    fn attention(&self) -> bool;

    /// Returns what the instruction at `pc` does, once it was executed.
    fn flow(&self, pc: u32) -> Flow;

    /// Returns the number of the exception that the core has entered since it handled exception `before`.
    fn entered(&self, before: u32) -> Option<u32>;

    /// Returns the flash cache.
    fn xip(&self) -> &XipCache;

    /// Returns SRAM.
    fn sram(&self) -> Contents<'_>;
}

/// The result of a profile.
#[derive(Default)]
pub struct Profiled {
    /// Each instruction and call; `None`: it was sampled.
    pub exact: Option<Box<Profile>>,
    /// Core, address, and how often it was there.
    pub samples: Vec<(usize, u32, u64)>,
    /// Lines of flash that replaced others in the cache.
    pub evictions: Box<Evictions>,
}

/// All probes.
#[derive(Default)]
pub struct Probes {
    /// Breakpoints, watchpoints, single steps.
    pub debug: Debug,
    profile: Option<Box<Profile>>,
    sampler: Sampler,
}

impl Probes {
    /// Returns whether cores must run instruction by instruction.
    #[inline]
    pub fn look(&self) -> bool {
        PROBED && (self.profile.is_some() || self.debug.looks())
    }

    /// Starts a profile: `sampled`, or of each instruction and call. `starts`: addresses at which functions begin.
    pub fn start_profile(&mut self, xip: &mut XipCache, cores: [Seen; 2], sampled: bool, starts: Vec<u32>) {
        xip.evictions = Some(Box::default());
        if sampled {
            self.sampler.start();
        } else {
            self.profile = Some(Box::new(Profile::new(cores, starts)));
        }
    }

    /// Ends the profile and takes it.
    pub fn take_profile(&mut self, xip: &mut XipCache) -> Profiled {
        let samples = self.sampler.stop().into_iter().map(|((core, pc), n)| (core, pc, n)).collect();
        Profiled { exact: self.profile.take(), samples, evictions: xip.evictions.take().unwrap_or_default() }
    }

    /// Counts where the cores are, if samples are taken.
    pub fn count_sample(&mut self, cores: [Seen; 2]) {
        cores.iter().filter(|core| core.running).for_each(|core| self.sampler.count(core.place));
    }

    /// Runs `core` up to cycle `limit`. Returns true if the debugger stops the chip.
    pub fn run(&mut self, core: &mut impl Probed, limit: u64) -> bool {
        let before = core.seen();
        if let Some(profile) = &mut self.profile {
            profile.catch_up(&before);
        }
        core.take_pending();
        if let Some(profile) = &mut self.profile
            && let Some(exception) = core.entered(before.place.exception)
        {
            profile.interrupted(&before, &core.seen(), exception);
        }
        loop {
            let before = core.seen();
            if !before.running || before.cycles >= limit || core.attention() {
                return false;
            }
            if self.debug.stops_at(before.place) {
                return true;
            }
            let counts = (core.xip().misses, core.xip().stalled);
            core.run(before.cycles + 1);
            if let Some(profile) = &mut self.profile {
                profile.executed(&before, counts, core);
            }
            if self.debug.executed(before.place.core, before.place.exception, core.sram()) {
                return true;
            }
        }
    }
}
