//! The chip's cores.

use armv6m::core::Core;
use armv6m::{V6m, debugger, probed};
use chip::mcu::Facts;
use chip::probe::Flow;
use chip::{Event, Sys};
use cpu::State;

use crate::cores::{Kind, Seen};
use crate::rp2040::bus::{Bus, Own};
use crate::rp2040::mcu::FACTS;
use crate::rp2040::memory::Memory;
use crate::rp2040::wires::event;

impl Kind<Own> for V6m {
    fn facts(_bus: &Bus) -> &'static Facts {
        &FACTS
    }

    fn new(index: usize) -> Core {
        Core::new(index, [event::SYSTICK0, event::SYSTICK1][index])
    }

    fn start(core: &mut Core, mem: &Memory, irq_level: u64, cycle: u64) {
        core.reset(mem, irq_level);
        core.cycles = core.cycles.max(cycle);
    }

    fn hold(core: &mut Core) {
        core.state = State::Held;
    }

    #[inline]
    fn seen(core: &Core) -> Seen {
        let instructions = [core.instructions, core.flash_instructions, core.rom_instructions];
        let (state, exception, sp) = (core.state, core.ipsr, core.regs[13]);
        Seen { index: core.index, state, pc: core.pc, cycles: core.cycles, exception, sp, instructions }
    }

    #[inline]
    fn take_pending(core: &mut Core, mem: &mut Memory, bus: &mut Bus) {
        core.take_pending_exception(mem, bus);
    }

    #[inline]
    fn run(core: &mut Core, mem: &mut Memory, bus: &mut Bus, limit: u64) {
        core.run(mem, bus, limit);
    }

    fn run_ahead(cores: &mut [Core; 2], mem: &mut Memory, bus: &mut Bus, index: usize, end: u64) -> u64 {
        jit::run_ahead(cores, mem, bus, index, end)
    }

    #[inline]
    fn observe(core: &mut Core, _: &Sys, rose: u64, event: bool, cycle: u64) {
        core.observe(rose, event, cycle);
    }

    fn clocks_changed(core: &mut Core, sys: &mut Sys, cycle: u64) {
        core.ppb.systick_due(sys, cycle);
    }

    fn event(core: &mut Core, sys: &mut Sys, id: Event, cycle: u64) -> bool {
        let own = id == [event::SYSTICK0, event::SYSTICK1][core.index];
        if own {
            core.ppb.systick_due(sys, cycle);
        }
        own
    }

    fn flow(mem: &Memory, pc: u32) -> Flow {
        probed::flow(mem, pc)
    }

    fn entered(core: &Core, before: u32) -> Option<u32> {
        core.entered(before)
    }

    fn registers(core: &Core) -> Vec<u32> {
        debugger::registers(core).to_vec()
    }

    fn set_registers(core: &mut Core, all: &[u32]) {
        if let Ok(all) = all.try_into() {
            debugger::set_registers(core, all);
        }
    }
}
