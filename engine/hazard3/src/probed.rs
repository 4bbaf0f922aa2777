//! A core as the probes see it.

use chip::probe::Flow;

use crate::core::Core;
use crate::decode::{Kind, NOWHERE};
use crate::{Map, Memory};

/// Beginning of the numbers of traps, which are none of an Arm core's exceptions.
const TRAP: u32 = 0x100;
/// The link register, and the other that the calling convention allows (RISC-V unprivileged manual, 2.5.1).
const LINKS: [usize; 2] = [1, 5];

/// Returns what the instruction at `pc` does, once it was executed.
pub fn flow<M: Map>(mem: &Memory<M>, pc: u32) -> Flow {
    let op = mem.op(mem.slot(pc));
    match op.kind {
        Kind::Jal | Kind::Jalr if LINKS.contains(&op.rd()) => Flow::Call(op.bytes()),
        Kind::Jalr if op.rd() == usize::from(NOWHERE) && LINKS.contains(&op.rs1.into()) => Flow::Return,
        Kind::Beq | Kind::Bne | Kind::Blt | Kind::Bge | Kind::Bltu | Kind::Bgeu => Flow::Within,
        Kind::CmPopret | Kind::CmPopretz | Kind::Mret => Flow::Return,
        _ => Flow::Jump,
    }
}

impl Core {
    /// Returns the number of the trap that the core has entered since it was in `before` of them: its code in MCAUSE
    /// and 256.
    pub fn entered(&self, before: u32) -> Option<u32> {
        (self.depth > before).then_some(TRAP + (self.csrs.mcause & 0xff))
    }
}
