//! A core as the probes run it.

use cpu::Bus;
use parts::mcu::Contents;
use parts::probe::{Flow, Probed, Seen};
use parts::xip_cache::XipCache;

use crate::core::{Core, State};
use crate::decode::Kind;
use crate::{Memory, V6m};

/// A core with its memories and bus.
pub struct Lent<'a, B: Bus<V6m>> {
    /// The core.
    pub core: &'a mut Core,
    /// Its memories.
    pub mem: &'a mut Memory<B::Map>,
    /// Its bus.
    pub bus: &'a mut B,
}

/// Returns what the probes see of a core.
pub fn seen(core: &Core) -> Seen {
    let running = core.state == State::Running;
    Seen { place: core.place(), running, cycles: core.cycles, sp: core.regs[13] }
}

impl<B: Bus<V6m>> Probed for Lent<'_, B> {
    fn seen(&self) -> Seen {
        seen(self.core)
    }

    fn take_pending(&mut self) {
        self.core.take_pending_exception(self.mem, self.bus);
    }

    fn run(&mut self, limit: u64) {
        self.core.run(self.mem, self.bus, limit);
    }

    fn attention(&self) -> bool {
        self.bus.sys().attention
    }

    fn flow(&self, pc: u32) -> Flow {
        match self.mem.op(self.mem.slot(pc)).kind {
            Kind::Bl => Flow::Call(4),
            Kind::Blx => Flow::Call(2),
            Kind::Beq | Kind::Bne | Kind::Bcs | Kind::Bcc | Kind::Bmi | Kind::Bpl | Kind::Bvs | Kind::Bvc => {
                Flow::Within
            }
            Kind::Bhi | Kind::Bls | Kind::Bge | Kind::Blt | Kind::Bgt | Kind::Ble => Flow::Within,
            Kind::Bx | Kind::PopPc => Flow::Return,
            _ => Flow::Jump,
        }
    }

    fn entered(&self, before: u32) -> Option<u32> {
        let core = &self.core;
        // EXC_RETURN is in LR until the handler moves it.
        (core.ipsr != before && core.regs[14] >= 0xffff_fff0).then_some(core.ipsr)
    }

    fn xip(&self) -> &XipCache {
        &self.mem.xip
    }

    fn sram(&self) -> Contents<'_> {
        self.mem.sram()
    }
}
