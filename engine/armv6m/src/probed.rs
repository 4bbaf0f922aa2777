//! A core as the probes see it.

use chip::probe::Flow;
use cpu::Map;

use crate::Memory;
use crate::core::Core;
use crate::decode::Kind;

/// Returns what the instruction at `pc` does, once it was executed.
pub fn flow<M: Map>(mem: &Memory<M>, pc: u32) -> Flow {
    match mem.op(mem.slot(pc)).kind {
        Kind::Bl => Flow::Call(4),
        Kind::Blx => Flow::Call(2),
        Kind::Beq | Kind::Bne | Kind::Bcs | Kind::Bcc | Kind::Bmi | Kind::Bpl | Kind::Bvs | Kind::Bvc => Flow::Within,
        Kind::Bhi | Kind::Bls | Kind::Bge | Kind::Blt | Kind::Bgt | Kind::Ble => Flow::Within,
        Kind::Bx | Kind::PopPc => Flow::Return,
        _ => Flow::Jump,
    }
}

impl Core {
    /// Returns the number of the exception that the core has entered since it handled exception `before`.
    pub fn entered(&self, before: u32) -> Option<u32> {
        // EXC_RETURN is in LR until the handler moves it.
        (self.ipsr != before && self.regs[14] >= 0xffff_fff0).then_some(self.ipsr)
    }
}
