//! What a chip asks of its cores, of whatever architecture they are.

use chip::debug::Place;
use chip::mcu::{Contents, Facts};
use chip::probe::{self, Flow, Probed};
use chip::xip_cache::XipCache;
use chip::{Event, Sys};
use cpu::{Architecture, State};
use sim::Snapshot;

use crate::bus::{Bus, Fabric, Memory};

/// What the chip sees of a core of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its place in the chip, 0 or 1.
    pub index: usize,
    /// What it does.
    pub state: State,
    /// Address of the next instruction.
    pub pc: u32,
    /// Cycle of clk_sys at which its next instruction starts.
    pub cycles: u64,
    /// Number of the exception being handled, or how many traps are; 0: none.
    pub exception: u32,
    /// Stack pointer.
    pub sp: u32,
    /// Instructions: all, those from flash through the cache, those from ROM.
    pub instructions: [u64; 3],
}

impl Seen {
    /// Returns the same for the probes.
    pub(crate) fn probed(&self) -> probe::Seen {
        let Self { index: core, pc, exception, instructions: [instructions, ..], cycles, sp, .. } = *self;
        let running = self.state == State::Running;
        probe::Seen { place: Place { core, pc, exception, instructions }, running, cycles, sp }
    }
}

/// A kind of core in a chip with the fabric `F`.
pub trait Kind<F: Fabric>: Architecture<Core: Snapshot + Send, Op: Send, Translated: Send> + Sized {
    /// Returns what all chips of the kind have in common while such cores run.
    fn facts(bus: &Bus<F>) -> &'static Facts;

    /// Returns core `index`, held in reset.
    fn new(index: usize) -> Self::Core;

    /// Starts a core as after any reset, at `cycle` or later.
    fn start(core: &mut Self::Core, mem: &Memory<F, Self>, irq_level: u64, cycle: u64);

    /// Puts a core into reset.
    fn hold(core: &mut Self::Core);

    /// Returns what the chip sees of a core.
    fn seen(core: &Self::Core) -> Seen;

    /// Returns how many arithmetic instructions its FPU has executed since the last reset.
    fn float_instructions(_: &Self::Core) -> u64 {
        0
    }

    /// Takes a pending exception or interrupt, before the core runs.
    fn take_pending(core: &mut Self::Core, mem: &mut Memory<F, Self>, bus: &mut Bus<F>);

    /// Runs a core up to cycle `limit`.
    fn run(core: &mut Self::Core, mem: &mut Memory<F, Self>, bus: &mut Bus<F>, limit: u64);

    /// Runs both cores to before cycle `end`, `index` ahead, as long as neither can tell. Returns up to which cycle they
    /// should then take turns.
    fn run_ahead(_: &mut [Self::Core; 2], _: &mut Memory<F, Self>, _: &mut Bus<F>, _index: usize, _end: u64) -> u64 {
        u64::MAX
    }

    /// Tells a core about lines that rose and about an event.
    fn observe(core: &mut Self::Core, sys: &Sys, rose: u64, event: bool, cycle: u64);

    /// Tells the core that clocks changed.
    fn clocks_changed(_: &mut Self::Core, _: &mut Sys, _cycle: u64) {}

    /// Handles an event of one of the core's timers. False: `id` is none.
    fn event(_: &mut Self::Core, _: &mut Sys, _id: Event, _cycle: u64) -> bool {
        false
    }

    /// Returns what the instruction at `pc` does to the path of calls, once it was executed.
    fn flow(mem: &Memory<F, Self>, pc: u32) -> Flow;

    /// Returns the number of the exception that the core has entered since [`Seen::exception`] was `before`.
    fn entered(core: &Self::Core, before: u32) -> Option<u32>;

    /// Returns the registers as gdb sees them.
    fn registers(core: &Self::Core) -> Vec<u32>;

    /// Sets the registers that a program can set.
    fn set_registers(core: &mut Self::Core, all: &[u32]);
}

/// A core with the chip's memories and bus, as the probes run it.
pub(crate) struct Lent<'a, F: Fabric, K: Kind<F>> {
    pub(crate) core: &'a mut K::Core,
    pub(crate) mem: &'a mut Memory<F, K>,
    pub(crate) bus: &'a mut Bus<F>,
}

impl<F: Fabric, K: Kind<F>> Probed for Lent<'_, F, K> {
    fn seen(&self) -> probe::Seen {
        K::seen(self.core).probed()
    }

    fn take_pending(&mut self) {
        K::take_pending(self.core, self.mem, self.bus);
    }

    fn run(&mut self, limit: u64) {
        K::run(self.core, self.mem, self.bus, limit);
    }

    fn attention(&self) -> bool {
        self.bus.sys.attention
    }

    fn flow(&self, pc: u32) -> Flow {
        K::flow(self.mem, pc)
    }

    fn entered(&self, before: u32) -> Option<u32> {
        K::entered(self.core, before)
    }

    fn xip(&self) -> &XipCache {
        &self.mem.xip
    }

    fn sram(&self) -> Contents<'_> {
        self.mem.sram()
    }
}
