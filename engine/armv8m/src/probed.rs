//! A core as the probes see it.

use chip::probe::Flow;

use crate::core::Core;
use crate::decode::Kind;
use crate::{Map, Memory};

/// Returns what the instruction at `pc` does, once it was executed.
pub fn flow<M: Map>(mem: &Memory<M>, pc: u32) -> Flow {
    let op = mem.op(mem.slot(pc));
    match op.kind {
        Kind::Bl | Kind::Blx => Flow::Call(op.bytes()),
        Kind::Beq | Kind::Bne | Kind::Bcs | Kind::Bcc | Kind::Bmi | Kind::Bpl | Kind::Bvs | Kind::Bvc => Flow::Within,
        Kind::Bhi | Kind::Bls | Kind::Bge | Kind::Blt | Kind::Bgt | Kind::Ble | Kind::Cbz | Kind::Cbnz => Flow::Within,
        Kind::Bx | Kind::LdmPc | Kind::LdrPc => Flow::Return,
        _ => Flow::Jump,
    }
}

impl Core {
    /// Returns the number of the exception that the core has entered since it handled exception `before`.
    pub fn entered(&self, before: u32) -> Option<u32> {
        // EXC_RETURN is in LR until the handler moves it.
        (self.ipsr != before && self.regs[14] >= 0xffff_ff00).then_some(self.ipsr)
    }
}
