//! Puts instructions and IT blocks with their times into a block ([`jit::Block`]).
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use std::ops::{Deref, DerefMut, RangeInclusive};

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use jit::flags::{ALL, C, NZ, needs};
use jit::{Block, Effects, Flow, Part, Place, Touches, source};

use super::accesses::moves_base;
use super::mistakes::mistaken;
use super::{Mistake, Pipeline, flags_of};
use crate::decode::{CONDITIONS, FLAGS_SHIFT, Kind, Op, SECOND_HALF, decode, flag};
use crate::{Map, Memory, V8m, time};

/// A block in the making.
pub(super) struct Translation<'t, 'a, M>(pub(super) &'t mut Block<'a, V8m, M>);

impl<'a, M> Deref for Translation<'_, 'a, M> {
    type Target = Block<'a, V8m, M>;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl<M> DerefMut for Translation<'_, '_, M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0
    }
}

/// Returns the state of an IT block after one of its instructions.
fn next_it(it: u8) -> u8 {
    if it & 7 == 0 { 0 } else { it & 0xe0 | it << 1 & 0x1f }
}

impl<M: Map> Translation<'_, '_, M> {
    /// Translates the next instruction, or the rest of an IT block.
    pub(super) fn next(&mut self) -> Flow {
        // Ahead or not: both kinds of blocks start at the same places.
        if self.here.executed == 0 && op_of(self.mem, self.part, self.here.pc).is_none() {
            return Flow::Interpreted;
        }
        if self.here.pipeline.it != 0 {
            return self.it_block();
        }
        match self.op_at(self.here.pc) {
            Some(op) => self.step(op, false),
            None => Flow::Interpreted,
        }
    }

    /// Returns the instruction at `pc`, unless it cannot be translated, or the engine must execute it and the true order
    /// is needed for that.
    fn op_at(&self, pc: u32) -> Option<Op> {
        let by_engine = |op: &Op| match op.kind {
            Kind::Indexed => moves_base(*op).is_none(),
            kind => is_for_engine(kind),
        };
        op_of(self.mem, self.part, pc).filter(|op| !(self.ahead && by_engine(op)))
    }

    /// Translates one instruction. `skip`: the condition of its IT block does not hold.
    fn step(&mut self, op: Op, skip: bool) -> Flow {
        self.held = false;
        let before = flags_of(self.here.pipeline.late);
        if before & flag::IDLE != 0 && accesses(op.kind) {
            // What the engine's access leaves would not be paired.
            self.end_here();
            return Flow::Ended;
        }
        // The paths of an IT block have to meet.
        self.leaves_out = self.here.pipeline.it == 0;
        let fetches = self.begin(op.bytes(), touches(op.kind), is_conditional(op.kind) || op.kind == Kind::It);
        let waits = self.here.pipeline.late & u32::from(op.reads);
        self.here.cycles += match waits {
            0 => 0,
            SECOND_HALF if self.in_flash() => time::SECOND_HALF_IN_FLASH as u32,
            SECOND_HALF => time::SECOND_HALF as u32,
            _ => 1,
        };
        self.here.pipeline.late = u32::from(op.late) | u32::from(op.flags) << FLAGS_SHIFT;
        let mut kind = op.kind;
        if self.here.pipeline.it != 0 {
            self.here.pipeline.it = next_it(self.here.pipeline.it);
            if skip {
                self.here.cycles += 1;
                self.here.pipeline.late = 0;
                self.here.pc = self.next;
                return Flow::On;
            }
            if op.flags & flag::OUTSIDE_IT != 0 {
                kind = kind.unflagged();
            }
        }
        let flow = self.instruction(Op { kind, ..op }, before);
        let straight = self.at.pc == self.here.pc;
        self.here.pc = self.next;
        if flow == Flow::On {
            if straight && before & flag::IDLE != 0 && op.flags & flag::FIRST != 0 {
                // The NOP before took the cycle.
                self.here.cycles -= 1;
                self.here.pipeline.late &= 0xffff;
            }
            if self.here.cycles == self.at.cycles {
                self.take_no_time(fetches);
            }
        }
        flow
    }

    /// Translates the rest of an IT block as two paths, each up to where both know the same.
    fn it_block(&mut self) -> Flow {
        let it = self.here.pipeline.it;
        let mut ops = Vec::new();
        let (mut pc, mut state) = (self.here.pc, it);
        while state != 0 {
            let last = next_it(state) == 0;
            match self.op_at(pc) {
                Some(op) if op.kind != Kind::It && (last || !(sets_flags(op) || ends(op))) => {
                    ops.push((op, state >> 4))
                }
                _ => {
                    self.end_here();
                    return Flow::Ended;
                }
            }
            pc = pc.wrapping_add(ops[ops.len() - 1].0.bytes());
            state = next_it(state);
        }
        let always = it >> 5 == 7;
        let base = it >> 4 & 0xe;
        if always {
            for (op, _) in ops {
                if self.step(op, false) == Flow::Ended {
                    return Flow::Ended;
                }
            }
            return Flow::On;
        }
        let (otherwise, joined) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
        self.unless(CONDITIONS[usize::from(base)] as u8 - Kind::Beq as u8, otherwise);
        let start = (self.here, self.line);
        let path = |this: &mut Self, holds: bool| {
            (this.here, this.line) = start;
            for &(op, condition) in &ops {
                if this.step(op, (condition & 1 == 0) != holds) == Flow::Ended {
                    return None;
                }
            }
            // What the next instruction takes depends on the last.
            let op = this.op_at(this.here.pc).filter(|_| !this.is_full());
            let Some(op) = op else {
                this.end_here();
                return None;
            };
            // Which may begin the next IT block.
            (this.step(op, false) == Flow::On).then_some((this.here, this.line))
        };
        let first = path(self, true);
        let to_join = first.map(|_| self.ops.new_dynamic_label());
        if let Some(label) = to_join {
            dynasm!(self.ops ; .arch x64 ; jmp =>label);
        }
        dynasm!(self.ops ; .arch x64 ; =>otherwise);
        let ended = self.here;
        let second = path(self, false);
        let known = |place: Place<Pipeline>| Place { cycles: 0, ..place };
        match (first, second) {
            (None, None) => {
                self.here.pc = self.here.pc.max(ended.pc);
                Flow::Ended
            }
            (None, Some(_)) => Flow::On,
            (Some((place, line)), None) => {
                if let Some(label) = to_join {
                    dynasm!(self.ops ; .arch x64 ; =>label);
                }
                (self.here, self.line) = (place, line);
                Flow::On
            }
            (Some((one, one_line)), Some((two, two_line))) => {
                let same = known(one) == known(two);
                let cycles = if same { one.cycles.max(two.cycles) } else { one.cycles };
                if same {
                    let more = if self.makes(Mistake::SkippedFree) { cycles } else { cycles - two.cycles } as i32;
                    dynasm!(self.ops ; .arch x64 ; add r14, more ; jmp =>joined);
                } else {
                    self.end_here();
                }
                if let Some(label) = to_join {
                    dynasm!(self.ops ; .arch x64 ; =>label);
                }
                let more = (cycles - one.cycles) as i32;
                dynasm!(self.ops ; .arch x64 ; add r14, more ; =>joined);
                self.here = Place { cycles, ..one };
                self.line = if one_line == two_line { one_line } else { None };
                self.host = None;
                Flow::On
            }
        }
    }
}

/// Returns the instruction at `pc`, if it can be translated.
fn op_of<M: Map>(mem: &Memory<M>, part: Part, pc: u32) -> Option<Op> {
    let (half, next) = part.halfwords(mem, pc);
    let op = mistaken(decode(half, next), mem);
    let last = pc + op.bytes() - 1;
    let inside = part.contains(pc) && part.contains(last);
    let barred = part.source != source::FLASH && (mem.is_barred(pc) || mem.is_barred(last));
    (inside && !barred && translatable(op)).then_some(op)
}

/// Returns what the instruction at `pc` does with flags and registers, if a block goes on after it, outside IT blocks.
pub(super) fn effects<M: Map>(mem: &Memory<M>, part: Part, pc: u32) -> Option<Effects> {
    use Kind::*;
    let op = op_of(mem, part, pc)?;
    let result = 1 << op.a;
    let (reads, sets, writes) = match op.kind {
        kind if is_conditional(kind) => (0, 0, 0),
        Cbz | Cbnz | Nop => (0, 0, 0),
        StrImm | StrbImm | StrhImm | StrReg | StrbReg | StrhReg => (0, 0, 0),
        TstImm | TstReg | TeqImm | TeqReg => (0, NZ, 0),
        CmpImm | CmpReg | CmnImm | CmnReg => (0, ALL, 0),
        AddImmS | AddRegS | SubImmS | SubRegS | RsbImmS | RsbRegS => (0, ALL, result),
        AdcImmS | AdcRegS | SbcImmS | SbcRegS => (C, ALL, result),
        AdcImm | AdcReg | SbcImm | SbcReg => (C, 0, result),
        LslImmS | LsrImmS | AsrImmS | RorImmS if op.imm != 0 => (0, NZ | C, result),
        LslRegS | LsrRegS | AsrRegS | RorRegS => (C, NZ, result),
        // All other kinds with flags: logic, moves and MULS.
        kind if kind.unflagged() != kind => (0, NZ, result),
        Umull | Smull | Umlal | Smlal | Umaal => (0, 0, result | 1 << op.d),
        Shifted => (C, 0, result),
        SubSpImm => (0, 0, 1 << 13),
        MovPc | AddPc => return None,
        Stm => (0, 0, 1 << op.b),
        Ldm => (0, 0, 1 << op.b | op.imm as u16),
        kind if matches!(touches(kind), Touches::Loads) || is_within(kind, AndImm..=LdrLit) => (0, 0, result),
        _ => return None,
    };
    let tests = if is_conditional(op.kind) { needs(op.kind as u8 - Beq as u8) } else { 0 };
    // These read registers only when they start.
    let plain = is_within(op.kind, AndImm..=CmnReg) || is_within(op.kind, LdrImm..=LdrshImm);
    let uses = match op.kind {
        Cbz | Cbnz => result,
        Nop => 0,
        kind if is_conditional(kind) => 0,
        _ if plain => op.reads & !(SECOND_HALF as u16),
        _ => u16::MAX,
    };
    Some(Effects { bytes: op.bytes(), reads, tests, sets, writes, uses })
}

/// Returns whether a kind is declared between two others.
fn is_within(kind: Kind, kinds: RangeInclusive<Kind>) -> bool {
    (*kinds.start() as u8..=*kinds.end() as u8).contains(&(kind as u8))
}

/// Returns what an instruction does with memory.
fn touches(kind: Kind) -> Touches {
    use Kind::*;
    match kind {
        MovPc | AddPc => Touches::More,
        Nop | It | LdrLit | B | Cbz | Cbnz => Touches::Nothing,
        _ if is_within(kind, AndImm..=Udiv) || is_conditional(kind) => Touches::Nothing,
        _ if is_within(kind, LdrImm..=LdrshImm) || is_within(kind, LdrReg..=LdrshReg) => Touches::Loads,
        _ => Touches::More,
    }
}

/// Returns whether an instruction is a branch with a condition.
fn is_conditional(kind: Kind) -> bool {
    CONDITIONS.contains(&kind)
}

/// Returns whether the engine may have to make accesses for an instruction, or executes one of 16 bits.
fn accesses(kind: Kind) -> bool {
    use Kind::*;
    is_within(kind, LdrLit..=Indexed) || is_within(kind, Ldm..=TableBranch) || kind == Cps
}

/// Returns whether the engine executes an instruction within the block.
pub(super) fn is_for_engine(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, Dsp | Float | FloatLoad | Coprocessor | Exclusive | Clrex | Mrs | Msr | Cps)
}

/// Returns whether an instruction never continues with the next.
fn ends(op: Op) -> bool {
    use Kind::*;
    matches!(op.kind, B | Bl | Bx | Blx | MovPc | AddPc | LdmPc | TableBranch | LdrPc)
}

/// Returns whether an instruction in an IT block may change the flags, or the state of the block.
fn sets_flags(op: Op) -> bool {
    use Kind::*;
    let kind = if op.flags & flag::OUTSIDE_IT != 0 { op.kind.unflagged() } else { op.kind };
    let compares = matches!(kind, TstImm | TstReg | TeqImm | TeqReg | CmpImm | CmpReg | CmnImm | CmnReg);
    let other = matches!(kind, Cbz | Cbnz | It | Float | Coprocessor);
    let shifted = kind == Shifted && op.imm & 1 << 20 != 0;
    compares || is_conditional(kind) || other || shifted || kind.unflagged() != kind
}

/// Returns whether a block may contain `op`; other instructions are interpreted.
fn translatable(op: Op) -> bool {
    use Kind::*;
    match op.kind {
        Undecoded | Undefined | Wfe | Wfi | Sev | Svc | Bkpt | Sg | Tt => false,
        // PRIMASK, BASEPRI, BASEPRI_MAX and FAULTMASK.
        Msr => (16..=19).contains(&op.imm),
        LdrPc => op.b == 15,
        Bx => op.imm == 0,
        Blx => op.imm == 0 && op.c != 15,
        Umull | Smull | Umlal | Smlal | Umaal => op.d != 13,
        Ldm | LdmPc | Stm => op.imm != 0 && op.imm & 1 << 13 == 0,
        // The low bits of SP are 0.
        LdrLit | LdrImm | LdrbImm | LdrhImm | LdrsbImm | LdrshImm | LdrReg | LdrbReg | LdrhReg | LdrsbReg
        | LdrshReg => op.a != 13,
        TableBranch => op.b == 15,
        _ => true,
    }
}
