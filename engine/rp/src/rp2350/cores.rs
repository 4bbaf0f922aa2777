//! The kinds of core that the chip has in each of its two sockets, of which OTP.ARCHSEL chooses one (datasheet 3.9).

use armv8m::V8m;
use hazard3::Hazard3;
use hazard3::core::Wires;
use parts::debug::Place;
use parts::mcu::Contents;
use parts::probe::{self, Flow, Probed};
use parts::wires::Event;
use sim::Snapshot;

use crate::rp2350::bus::Bus;
use crate::rp2350::cpu::core::State;
use crate::rp2350::debugger;
use crate::rp2350::memory::{Architecture, Memory};
use crate::rp2350::sys::Sys;
use crate::rp2350::wires::{event, irq, tick};
use crate::rp2350::xip_cache::XipCache;

/// What the chip sees of a core of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub index: usize,
    pub state: State,
    pub pc: u32,
    pub cycles: u64,
    /// Number of the exception being handled, or how many traps are; 0: none.
    pub exception: u32,
    /// Stack pointer.
    pub sp: u32,
    /// Instructions: all, those from flash through the cache, those from ROM.
    pub instructions: [u64; 3],
}

impl Seen {
    /// Returns where the core is, for the debugger.
    pub(crate) fn place(&self) -> Place {
        Place { core: self.index, pc: self.pc, exception: self.exception, instructions: self.instructions[0] }
    }

    /// Returns the same for the probes.
    pub(crate) fn probed(&self) -> probe::Seen {
        let running = self.state == State::Running;
        probe::Seen { place: self.place(), running, cycles: self.cycles, sp: self.sp }
    }
}

/// A kind of core.
pub trait Kind: Architecture<Core: Snapshot> + Sized {
    /// The bits of ARCHSEL that choose it for both cores.
    const ARCHSEL: u32;
    /// Its registers in gdb's XML format.
    const DESCRIPTION: &'static str;
    /// Index of the program counter among them.
    const PC: usize;

    /// Returns core `index`, held in reset.
    fn new(index: usize) -> Self::Core;

    /// Starts a core as after any reset, at `cycle` or later.
    fn start(core: &mut Self::Core, mem: &Memory<Self>, irq_level: u64, cycle: u64);

    /// Puts a core into reset.
    fn hold(core: &mut Self::Core);

    fn seen(core: &Self::Core) -> Seen;

    /// Returns how many arithmetic instructions its FPU has executed since the last reset.
    fn float_instructions(_: &Self::Core) -> u64 {
        0
    }

    /// Sets the counts of cycles and of instructions, as [`Seen`] has them.
    fn count_from(core: &mut Self::Core, seen: &Seen);

    /// Takes a pending exception or interrupt, before the core runs.
    fn take_pending(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus);

    /// Runs a core up to cycle `limit`.
    fn run(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus, limit: u64);

    /// Runs both cores to before cycle `end`, `index` ahead where neither can tell. False: nothing was run.
    fn run_ahead(_: &mut [Self::Core; 2], _: &mut Memory<Self>, _: &mut Bus, _index: usize, _end: u64) -> bool {
        false
    }

    /// Tells a core about lines that rose and about an event.
    fn observe(core: &mut Self::Core, sys: &Sys, rose: u64, event: bool, cycle: u64);

    /// Tells the core that clocks changed.
    fn clocks_changed(core: &mut Self::Core, sys: &mut Sys, cycle: u64);

    /// Handles an event of one of the timers of core `index`. False: `id` is none.
    fn event(core: &mut Self::Core, sys: &mut Sys, id: Event, cycle: u64) -> bool;

    /// Returns what the instruction at `pc` does to the path of calls, once it was executed.
    fn flow(mem: &Memory<Self>, pc: u32) -> Flow;

    /// Returns the number of the exception that the core has entered since [`Seen::exception`] was `before`.
    fn entered(core: &Self::Core, before: u32) -> Option<u32>;

    /// Returns the registers as gdb sees them.
    fn registers(core: &Self::Core) -> Vec<u32>;

    /// Sets the registers that a program can set.
    fn set_registers(core: &mut Self::Core, all: &[u32]);
}

/// A core with the chip's memories and bus, as the probes run it.
pub(crate) struct Lent<'a, K: Kind> {
    pub(crate) core: &'a mut K::Core,
    pub(crate) mem: &'a mut Memory<K>,
    pub(crate) bus: &'a mut Bus,
}

impl<K: Kind> Probed for Lent<'_, K> {
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

/// The lines of the NVIC.
const INTERRUPTS: u64 = (1 << irq::COUNT) - 1;

impl Kind for V8m {
    const ARCHSEL: u32 = 0;
    const DESCRIPTION: &'static str = debugger::arm::DESCRIPTION;
    const PC: usize = debugger::arm::PC;

    fn new(index: usize) -> Self::Core {
        let timers = [(event::SYSTICK0, tick::PROC0), (event::SYSTICK1, tick::PROC1)];
        Self::Core::new(index, timers[index].0, timers[index].1)
    }

    fn start(core: &mut Self::Core, mem: &Memory<Self>, irq_level: u64, cycle: u64) {
        core.reset(mem, irq_level & INTERRUPTS);
        core.cycles = core.cycles.max(cycle);
    }

    fn hold(core: &mut Self::Core) {
        core.state = State::Held;
    }

    #[inline]
    fn seen(core: &Self::Core) -> Seen {
        let instructions = [core.instructions, core.flash_instructions, core.rom_instructions];
        let (state, exception, sp) = (core.state, core.ipsr, core.regs[13]);
        Seen { index: core.index, state, pc: core.pc, cycles: core.cycles, exception, sp, instructions }
    }

    fn float_instructions(core: &Self::Core) -> u64 {
        core.fpu.executed
    }

    fn count_from(core: &mut Self::Core, seen: &Seen) {
        core.cycles = seen.cycles;
        [core.instructions, core.flash_instructions, core.rom_instructions] = seen.instructions;
    }

    #[inline]
    fn take_pending(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus) {
        core.take_pending_exception(mem, bus);
    }

    #[inline]
    fn run(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus, limit: u64) {
        core.run(mem, bus, limit);
    }

    fn run_ahead(cores: &mut [Self::Core; 2], mem: &mut Memory<Self>, bus: &mut Bus, index: usize, end: u64) -> bool {
        armv8m::run_ahead(cores, mem, bus, index, end)
    }

    #[inline]
    fn observe(core: &mut Self::Core, _: &Sys, rose: u64, event: bool, cycle: u64) {
        core.observe(rose & INTERRUPTS, event, cycle);
    }

    fn clocks_changed(core: &mut Self::Core, sys: &mut Sys, cycle: u64) {
        core.ppb.systick_due(sys, cycle);
    }

    fn event(core: &mut Self::Core, sys: &mut Sys, id: Event, cycle: u64) -> bool {
        let timers = [event::SYSTICK0, event::SYSTICK1];
        let own = timers[core.index].contains(&id);
        if own {
            core.ppb.systick_due(sys, cycle);
        }
        own
    }

    fn flow(mem: &Memory<Self>, pc: u32) -> Flow {
        armv8m::probed::flow(mem, pc)
    }

    fn entered(core: &Self::Core, before: u32) -> Option<u32> {
        core.entered(before)
    }

    fn registers(core: &Self::Core) -> Vec<u32> {
        debugger::arm::registers(core)
    }

    fn set_registers(core: &mut Self::Core, all: &[u32]) {
        debugger::arm::set_registers(core, all);
    }
}

/// Where a Hazard3 core starts: the last word of its part of the boot ROM.
const RESET_VECTOR: u32 = 0x7dfc;
/// MTVEC after a reset (datasheet 3.8.9).
const TRAP_VECTOR: u32 = 0x7ffc;

impl Kind for Hazard3 {
    const ARCHSEL: u32 = 3;
    const DESCRIPTION: &'static str = debugger::riscv::DESCRIPTION;
    const PC: usize = debugger::riscv::PC;

    fn new(index: usize) -> Self::Core {
        let wires = Wires {
            timer: irq::SIO_MTIMECMP,
            software: irq::RISCV_SOFTIRQ,
            reset_vector: RESET_VECTOR,
            trap_vector: TRAP_VECTOR,
        };
        Self::Core::new(index, wires)
    }

    fn start(core: &mut Self::Core, _: &Memory<Self>, _: u64, cycle: u64) {
        core.reset();
        core.cycles = core.cycles.max(cycle);
    }

    fn hold(core: &mut Self::Core) {
        core.state = State::Held;
    }

    #[inline]
    fn seen(core: &Self::Core) -> Seen {
        let instructions = [core.instructions, core.flash_instructions, core.rom_instructions];
        let (state, exception, sp) = (core.state, core.depth, core.regs[2]);
        Seen { index: core.index, state, pc: core.pc, cycles: core.cycles, exception, sp, instructions }
    }

    fn count_from(core: &mut Self::Core, seen: &Seen) {
        core.cycles = seen.cycles;
        [core.instructions, core.flash_instructions, core.rom_instructions] = seen.instructions;
    }

    #[inline]
    fn take_pending(core: &mut Self::Core, _: &mut Memory<Self>, bus: &mut Bus) {
        core.take_interrupt(bus);
    }

    #[inline]
    fn run(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus, limit: u64) {
        core.run(mem, bus, limit);
    }

    #[inline]
    fn observe(core: &mut Self::Core, sys: &Sys, _: u64, event: bool, cycle: u64) {
        core.observe(sys.irq_level_for_core(core.index), event, cycle);
    }

    fn clocks_changed(_: &mut Self::Core, _: &mut Sys, _: u64) {}

    fn event(_: &mut Self::Core, _: &mut Sys, _: Event, _: u64) -> bool {
        false
    }

    fn flow(mem: &Memory<Self>, pc: u32) -> Flow {
        hazard3::probed::flow(mem, pc)
    }

    fn entered(core: &Self::Core, before: u32) -> Option<u32> {
        core.entered(before)
    }

    fn registers(core: &Self::Core) -> Vec<u32> {
        debugger::riscv::registers(core)
    }

    fn set_registers(core: &mut Self::Core, all: &[u32]) {
        debugger::riscv::set_registers(core, all);
    }
}

impl hazard3::Bus for Bus {
    /// User mode is Non-secure to SIO, whose bank for that is not modelled (datasheet 10.6.2).
    fn access_as_user(&mut self, address: u32) {
        if address >> 28 == 0xd {
            self.sys.unmodelled(format!("SIO's Non-secure bank: access by User mode at 0x{address:08x}"));
        }
    }
}
