//! The kinds of core that the chip has in each of its two sockets, of which OTP.ARCHSEL chooses one (datasheet 3.9).

use armv8m::V8m;
use chip::mcu::Facts;
use chip::probe::Flow;
use chip::{Event, Sys};
use cpu::State;
use hazard3::Hazard3;
use hazard3::core::Wires;

use crate::cores::{Kind, Seen};
use crate::rp2350::bus::{Bus, Own};
use crate::rp2350::debugger;
use crate::rp2350::mcu::KINDS;
use crate::rp2350::memory::Memory;
use crate::rp2350::wires::{event, irq, tick};

/// A kind that ARCHSEL can choose.
pub(crate) trait Selected: Kind<Own> {
    /// The bits that choose it for both cores.
    const ARCHSEL: u32;

    /// Sets the counts of cycles and of instructions, as [`Seen`] has them.
    fn count_from(core: &mut Self::Core, seen: &Seen);
}

/// The lines of the NVIC.
const INTERRUPTS: u64 = (1 << irq::COUNT) - 1;

impl Selected for V8m {
    const ARCHSEL: u32 = 0;

    fn count_from(core: &mut Self::Core, seen: &Seen) {
        core.cycles = seen.cycles;
        [core.instructions, core.flash_instructions, core.rom_instructions] = seen.instructions;
    }
}

impl Kind<Own> for V8m {
    fn facts(bus: &Bus) -> &'static Facts {
        KINDS[*bus.own.kind].0
    }

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

    #[inline]
    fn take_pending(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus) {
        core.take_pending_exception(mem, bus);
    }

    #[inline]
    fn run(core: &mut Self::Core, mem: &mut Memory<Self>, bus: &mut Bus, limit: u64) {
        core.run(mem, bus, limit);
    }

    fn run_ahead(cores: &mut [Self::Core; 2], mem: &mut Memory<Self>, bus: &mut Bus, index: usize, end: u64) -> u64 {
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

impl Selected for Hazard3 {
    const ARCHSEL: u32 = 3;

    fn count_from(core: &mut Self::Core, seen: &Seen) {
        core.cycles = seen.cycles;
        [core.instructions, core.flash_instructions, core.rom_instructions] = seen.instructions;
    }
}

impl Kind<Own> for Hazard3 {
    fn facts(bus: &Bus) -> &'static Facts {
        &KINDS[*bus.own.kind].1
    }

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
