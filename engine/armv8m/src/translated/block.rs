//! Translates the instructions from one address on, in a straight line, into a block of code.
//!
//! It exits before the first instruction that starts at or after the limit, and leaves rare cases to the interpreter.
//! Out-of-line stubs follow the straight line.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::flags::Host;
use jit::routines::{Assembler, EXECUTED, GUEST, LINES, Routines};
use jit::{Block, Part, Room, counts, source};

use super::accesses::moves_base;
use super::mistakes::{Mistake, makes, mistaken};
use super::{C, NZ, REGS, V, flags_of, late_after_branch};
use crate::core::NO_WORD;
use crate::decode::{CONDITIONS, FLAGS_SHIFT, Kind, Op, SECOND_HALF, decode, flag};
use crate::{Map, Memory, time};

/// Most instructions of one block.
const LONGEST: u32 = 96;
/// Cycles after which a new segment starts.
const SEGMENT: u32 = 24;

/// An out-of-line stub.
pub(super) enum Stub {
    Leave {
        at: DynamicLabel,
        place: Place,
    },
    Bail {
        at: DynamicLabel,
        place: Place,
    },
    /// Exits after a branch to EAX.
    LeaveAt {
        at: DynamicLabel,
        place: Place,
    },
    /// Fetches from `offsets` of flash, of which the first missed.
    Miss {
        at: DynamicLabel,
        back: DynamicLabel,
        offsets: Vec<u32>,
        segment: usize,
        bail: DynamicLabel,
        /// The instruction takes no time, and is followed by a look at the time.
        free: bool,
    },
    /// A literal at `offset` of flash that missed.
    Literal {
        at: DynamicLabel,
        back: DynamicLabel,
        offset: u32,
        to: u8,
        after: After,
    },
    /// The first access to a granule in a window: at ECX units of `size`, and `more` of them. Keeps EAX.
    Touch {
        at: DynamicLabel,
        access: u32,
        size: u32,
        more: u32,
        again: DynamicLabel,
        stuck: DynamicLabel,
    },
    /// A load outside RAM in a window.
    LoadAhead {
        at: DynamicLabel,
        load: Load,
        done: DynamicLabel,
        stuck: DynamicLabel,
    },
    Load {
        at: DynamicLabel,
        load: Load,
        place: Place,
        after: After,
        done: DynamicLabel,
    },
    Store {
        at: DynamicLabel,
        size: u32,
        value: u8,
        base: u8,
        moved: i32,
        place: Place,
        after: After,
        done: DynamicLabel,
    },
    /// The interpreter executes the instruction at `place`.
    Execute {
        at: DynamicLabel,
        place: Place,
        after: After,
        done: DynamicLabel,
    },
}

#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Logarithm of the number of bytes.
    pub(super) size: u32,
    pub(super) signed: bool,
    /// The guest's register.
    pub(super) to: u8,
    /// The register that the address is relative to, and the number that is added to it after the access.
    pub(super) base: u8,
    pub(super) moved: i32,
}

/// How a block continues after an access by the engine.
#[derive(Clone, Copy)]
pub(super) struct After {
    /// Exits after the instruction.
    pub(super) leave: DynamicLabel,
    /// Cycles of the segment until then.
    pub(super) pending: u32,
    pub(super) segment: usize,
    /// A line of flash that must be in the cache still.
    pub(super) line: Option<u32>,
}

/// A position in the block, with the state of the pipeline there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pc: u32,
    pub(super) word: u32,
    /// [`crate::core::Core::late`].
    pub(super) late: u32,
    /// The state of the IT block.
    pub(super) it: u8,
    /// Instructions and words fetched so far.
    pub(super) executed: u32,
    pub(super) fetched: u32,
    /// Cycles that are not yet subtracted.
    pub(super) pending: u32,
    /// Those of them that an access came after the fetch of its instruction.
    pub(super) spent: u32,
}

/// Whether the block goes on after an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Ended,
}

pub(super) struct Translation<'a, M> {
    pub(super) ops: Assembler,
    /// The address of the block's first link, and the slots that its links lead to.
    pub(super) links: usize,
    pub(super) exits: Vec<usize>,
    pub(super) mem: &'a Memory<M>,
    pub(super) routines: &'a Routines,
    pub(super) part: Part,
    /// For a core that runs ahead of the other ([`jit::ahead`]): exits before what needs the true order.
    pub(super) ahead: bool,
    pub(super) here: Place,
    /// The current instruction after its fetches, or ahead before them.
    pub(super) at: Place,
    /// A line of flash that is in the cache.
    pub(super) line: Option<u32>,
    pub(super) stubs: Vec<Stub>,
    pub(super) segment: usize,
    /// For each segment, the latest start of an instruction, in cycles.
    bounds: Vec<u32>,
    /// Comparisons with the bound of a segment: the offset behind its constant.
    compared: Vec<(usize, usize)>,
    pub(super) host: Option<(Host, AssemblyOffset)>,
}

/// Translates the block that starts at `pc` in `part`, to be put into `room`. `None`: its first
/// instruction must be interpreted.
pub(super) fn translate<M: Map>(
    mem: &Memory<M>,
    routines: &Routines,
    part: Part,
    ahead: bool,
    pc: u32,
    room: Room,
) -> Option<Block> {
    let late = late_after_branch(pc);
    let here = Place { pc, word: NO_WORD, late, it: 0, executed: 0, fetched: 0, pending: 0, spent: 0 };
    let mut translation = Translation {
        ops: Assembler::new(room.code),
        links: room.links,
        exits: Vec::new(),
        mem,
        routines,
        part,
        ahead,
        here,
        at: here,
        line: None,
        stubs: Vec::new(),
        segment: 0,
        bounds: Vec::new(),
        compared: Vec::new(),
        host: None,
    };
    translation.run()?;
    let Translation { here, bounds, compared, exits, ops, .. } = translation;
    let mut code = ops.finalize().ok()?;
    for (end, segment) in compared {
        code[end - 4..end].copy_from_slice(&bounds[segment].to_le_bytes());
    }
    Some(Block { code, exits, end: here.pc })
}

pub(super) fn guest(register: u8) -> Option<u8> {
    GUEST.get(usize::from(register)).copied()
}

pub(super) fn memory(register: u8) -> i32 {
    REGS + 4 * i32::from(register & 15)
}

/// Returns the state of an IT block after one of its instructions.
fn next_it(it: u8) -> u8 {
    if it & 7 == 0 { 0 } else { it & 0xe0 | it << 1 & 0x1f }
}

impl<M: Map> Translation<'_, M> {
    fn run(&mut self) -> Option<()> {
        // Ahead or not: both kinds of blocks start at the same places.
        self.next(self.here.pc)?;
        self.begin_segment();
        loop {
            if self.here.it != 0 {
                if self.it_block() == Flow::Ended {
                    break;
                }
                continue;
            }
            // The second core has to stop where the first has.
            if self.here.pending > if self.ahead { 0 } else { SEGMENT } {
                self.begin_segment();
            }
            let op = self.next_here(self.here.pc).filter(|_| self.here.executed < LONGEST);
            let Some(op) = op else {
                self.end_here();
                break;
            };
            if self.step(op, false) == Flow::Ended {
                break;
            }
        }
        while let Some(stub) = self.stubs.pop() {
            self.stub(stub);
        }
        Some(())
    }

    /// Returns the instruction at `pc`, if it can be translated.
    fn next(&self, pc: u32) -> Option<Op> {
        let (half, next) = self.part.halfwords(self.mem, pc);
        let op = mistaken(decode(half, next));
        let inside = self.part.contains(pc) && self.part.contains(pc + op.bytes() - 1);
        (inside && translatable(op)).then_some(op)
    }

    /// Returns the same, unless the engine must execute it and the true order is needed for that.
    fn next_here(&self, pc: u32) -> Option<Op> {
        let by_engine = |op: &Op| match op.kind {
            Kind::Indexed => moves_base(*op).is_none(),
            kind => matches!(kind, Kind::Dsp | Kind::Float | Kind::FloatLoad),
        };
        self.next(pc).filter(|op| !(self.ahead && by_engine(op)))
    }

    /// Ends the block before the current instruction.
    fn end_here(&mut self) {
        self.note_start();
        let bail = self.bail(self.here);
        dynasm!(self.ops ; .arch x64 ; jmp =>bail);
    }

    /// Translates one instruction. `skip`: the condition of its IT block does not hold.
    fn step(&mut self, op: Op, skip: bool) -> Flow {
        let before = flags_of(self.here.late);
        if before & flag::IDLE != 0 && accesses(op.kind) {
            // What the engine's access leaves would not be paired.
            self.end_here();
            return Flow::Ended;
        }
        self.note_start();
        let fetches = self.stubs.len();
        let place = self.here;
        self.fetch();
        let fetches = fetches..self.stubs.len();
        self.at = if self.ahead { place } else { self.here };
        self.here.executed += 1;
        let waits = self.here.late & u32::from(op.reads);
        self.here.pending += match waits {
            0 => 0,
            SECOND_HALF if self.in_flash() => time::SECOND_HALF_IN_FLASH as u32,
            SECOND_HALF => time::SECOND_HALF as u32,
            _ => 1,
        };
        self.here.late = u32::from(op.late) | u32::from(op.flags) << FLAGS_SHIFT;
        let mut kind = op.kind;
        if self.here.it != 0 {
            self.here.it = next_it(self.here.it);
            if skip {
                self.here.pending += 1;
                self.here.late = 0;
                self.here.pc = self.here.pc.wrapping_add(op.bytes());
                return Flow::On;
            }
            if op.flags & flag::OUTSIDE_IT != 0 {
                kind = kind.unflagged();
            }
        }
        let flow = self.instruction(Op { kind, ..op }, before);
        if flow == Flow::On {
            let straight = self.at.pc == self.here.pc;
            if straight {
                if before & flag::IDLE != 0 && op.flags & flag::FIRST != 0 {
                    // The NOP before took the cycle.
                    self.here.pending -= 1;
                    self.here.late &= 0xffff;
                }
                self.here.pc = self.here.pc.wrapping_add(op.bytes());
            }
            if self.here.pending == self.at.pending && !self.ahead && !fetches.is_empty() {
                // The interpreter, which stops by the time, cannot execute it alone where none is left.
                for stub in &mut self.stubs[fetches] {
                    if let Stub::Miss { free, .. } = stub {
                        *free = true;
                    }
                }
                let leave = self.leave(self.here);
                self.compare_bound(self.segment);
                dynasm!(self.ops ; .arch x64 ; jle =>leave);
            }
        } else {
            self.here.pc = self.here.pc.wrapping_add(op.bytes());
        }
        flow
    }

    /// Translates the rest of an IT block as two paths, each up to where both know the same.
    fn it_block(&mut self) -> Flow {
        let it = self.here.it;
        let mut ops = Vec::new();
        let (mut pc, mut state) = (self.here.pc, it);
        while state != 0 {
            let last = next_it(state) == 0;
            match self.next_here(pc) {
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
        if self.here.pending > SEGMENT {
            self.begin_segment();
        }
        let start = (self.here, self.line);
        let (otherwise, joined) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
        self.unless(CONDITIONS[usize::from(base)], otherwise);
        let path = |this: &mut Self, holds: bool| {
            (this.here, this.line) = start;
            for &(op, condition) in &ops {
                if this.step(op, (condition & 1 == 0) != holds) == Flow::Ended {
                    return None;
                }
            }
            // What the next instruction takes depends on the last.
            let op = this.next_here(this.here.pc).filter(|_| this.here.executed < LONGEST);
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
        let known = |place: Place| Place { pending: 0, ..place };
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
                let pending = if same { one.pending.max(two.pending) } else { one.pending };
                if same {
                    let more = if makes(Mistake::SkippedFree) { pending } else { pending - two.pending } as i32;
                    dynasm!(self.ops ; .arch x64 ; add r14, more ; jmp =>joined);
                } else {
                    self.end_here();
                }
                if let Some(label) = to_join {
                    dynasm!(self.ops ; .arch x64 ; =>label);
                }
                let more = (pending - one.pending) as i32;
                dynasm!(self.ops ; .arch x64 ; add r14, more ; =>joined);
                self.here = Place { pending, ..one };
                self.line = if one_line == two_line { one_line } else { None };
                self.host = None;
                Flow::On
            }
        }
    }

    // -- places

    pub(super) fn leave(&mut self, place: Place) -> DynamicLabel {
        let at = self.ops.new_dynamic_label();
        self.stubs.push(Stub::Leave { at, place });
        at
    }

    /// Returns a label that exits to the interpreter, which executes the instruction at `place` even without time.
    pub(super) fn bail(&mut self, place: Place) -> DynamicLabel {
        let at = self.ops.new_dynamic_label();
        self.stubs.push(Stub::Bail { at, place });
        at
    }

    /// Returns a label that exits to the interpreter to execute the current instruction, whose words are already
    /// fetched.
    pub(super) fn bail_here(&mut self) -> DynamicLabel {
        self.bail(self.at)
    }

    pub(super) fn count(&mut self, place: Place) {
        let counter = EXECUTED + 8 * self.part.source as i32;
        dynasm!(self.ops ; .arch x64 ; add QWORD [r15 + counter], counts(place.executed, place.fetched));
    }

    pub(super) fn uncount(&mut self, place: Place) {
        let counter = EXECUTED + 8 * self.part.source as i32;
        dynasm!(self.ops ; .arch x64 ; sub QWORD [r15 + counter], counts(place.executed, place.fetched));
    }

    // -- time

    /// Starts a segment: exits if its last instruction would start at or after the limit.
    fn begin_segment(&mut self) {
        if self.here.pending > 0 {
            dynasm!(self.ops ; .arch x64 ; sub r14, self.here.pending as i32);
            self.here.pending = 0;
        }
        self.segment = self.bounds.len();
        self.bounds.push(0);
        // A block that cannot start must not be tried again.
        let exit = if self.segment == 0 { self.bail(self.here) } else { self.leave(self.here) };
        self.compare_bound(self.segment);
        dynasm!(self.ops ; .arch x64 ; jle =>exit);
    }

    /// Compares the cycles left with the latest start of an instruction of a segment.
    pub(super) fn compare_bound(&mut self, segment: usize) {
        dynasm!(self.ops ; .arch x64 ; cmp r14, DWORD i32::MAX);
        self.compared.push((self.ops.offset().0, segment));
    }

    fn note_start(&mut self) {
        if makes(Mistake::SegmentOverruns) {
            return;
        }
        let bound = &mut self.bounds[self.segment];
        *bound = (*bound).max(self.here.pending);
    }

    // -- fetches

    /// Fetches the words that the core fetches before it executes the current instruction.
    fn fetch(&mut self) {
        let Place { pc, word, .. } = self.here;
        let ahead = pc.wrapping_add(2) >> 2;
        if self.part.source != source::FLASH || ahead == word {
            return;
        }
        let both = pc & 2 != 0 && word != pc >> 2;
        let (first, last) = (pc & !3, ahead << 2);
        self.here.word = ahead;
        self.here.fetched += 1 + u32::from(both);
        self.here.fetched += u32::from(makes(Mistake::FetchCountedTwice));
        let lines = if both { vec![first >> 3, last >> 3] } else { vec![last >> 3] };
        let back = self.ops.new_dynamic_label();
        let stuck = self
            .ahead
            .then(|| self.bail(Place { word, fetched: self.here.fetched - 1 - u32::from(both), ..self.here }));
        let mut bail = None;
        for (number, &line) in lines.iter().enumerate() {
            if self.line == Some(line) || makes(Mistake::EveryFetchHits) {
                continue;
            }
            self.line = Some(line);
            if let Some(stuck) = stuck {
                self.jump_unless_cached(line, stuck);
                continue;
            }
            let at = self.ops.new_dynamic_label();
            let place = self.here;
            let bail = *bail.get_or_insert_with(|| self.bail(place));
            self.jump_unless_cached(line, at);
            let words = if both { &[first, last][number..] } else { &[last][..] };
            let offsets = words.iter().map(|word| word & (M::FLASH.bytes - 1)).collect();
            self.stubs.push(Stub::Miss { at, back, offsets, segment: self.segment, bail, free: false });
        }
        dynasm!(self.ops ; .arch x64 ; =>back);
    }

    /// Jumps to `at` unless the cache holds a line of flash.
    pub(super) fn jump_unless_cached(&mut self, line: u32, at: DynamicLabel) {
        let offset = line << 3 & (M::FLASH.bytes - 1);
        let set = 8 * ((offset >> 3) & 0x3ff) as i32;
        let held = ((offset >> 13) << 2) | 3;
        dynasm!(self.ops
            ; .arch x64
            ; mov rax, [r15 + LINES]
            ; cmp DWORD [rax + set], held as i32
            ; je >there
            ; cmp DWORD [rax + set + 4], held as i32
            ; jne =>at
            ; there:
        );
    }

    // -- operands and results

    /// Reads `register` into EAX, ECX or EDX.
    pub(super) fn read(&mut self, into: u8, register: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(into), Rd(host)),
            None => dynasm!(self.ops ; .arch x64 ; mov Rd(into), [rbx + memory(register)]),
        }
    }

    /// Reads a register, or where the PC is named, the address of the instruction and 4.
    pub(super) fn read_or_pc(&mut self, into: u8, register: u8) {
        if register == 15 {
            dynasm!(self.ops ; .arch x64 ; mov Rd(into), DWORD self.at.pc.wrapping_add(4) as i32);
        } else {
            self.read(into, register);
        }
    }

    pub(super) fn write(&mut self, register: u8, from: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), Rd(from)),
            None if register == 13 => {
                dynasm!(self.ops ; .arch x64 ; and Rd(from), BYTE -4 ; mov [rbx + memory(register)], Rd(from));
            }
            None => dynasm!(self.ops ; .arch x64 ; mov [rbx + memory(register)], Rd(from)),
        }
    }

    pub(super) fn write_constant(&mut self, register: u8, value: u32) {
        let value = if register == 13 { value & !3 } else { value };
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), DWORD value as i32),
            None => dynasm!(self.ops ; .arch x64 ; mov DWORD [rbx + memory(register)], value as i32),
        }
    }

    /// Sets N and Z from EAX.
    pub(super) fn flags_nz(&mut self) {
        dynasm!(self.ops ; .arch x64 ; movsxd rax, eax ; mov [rbx + NZ], rax);
    }

    pub(super) fn carry_and_overflow(&mut self) {
        dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + C] ; seto BYTE [rbx + V]);
    }

    /// Sets C and V after a subtraction; Arm's carry is x86's inverted.
    pub(super) fn borrow_and_overflow(&mut self) {
        dynasm!(self.ops ; .arch x64 ; setnc BYTE [rbx + C] ; seto BYTE [rbx + V]);
    }
}

/// Returns whether the engine may have to make accesses for an instruction.
fn accesses(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        LdrLit
            | LdrImm
            | LdrbImm
            | LdrhImm
            | LdrsbImm
            | LdrshImm
            | StrImm
            | StrbImm
            | StrhImm
            | LdrReg
            | LdrbReg
            | LdrhReg
            | LdrsbReg
            | LdrshReg
            | StrReg
            | StrbReg
            | StrhReg
            | Indexed
            | Ldm
            | Stm
            | LdmPc
            | TableBranch
    )
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
    let branches = kind as u8 >= Beq as u8 && kind as u8 <= Ble as u8;
    let other = matches!(kind, Cbz | Cbnz | It | Float | Coprocessor);
    let shifted = kind == Shifted && op.imm & 1 << 20 != 0;
    compares || branches || other || shifted || kind.unflagged() != kind
}

/// Returns whether a block may contain `op`; other instructions are interpreted.
fn translatable(op: Op) -> bool {
    use Kind::*;
    match op.kind {
        Undecoded | Undefined | LdrPc | Wfe | Wfi | Sev | Cps | Svc | Bkpt | Msr | Mrs | Barrier | Sg | Tt | Clrex
        | Exclusive | Coprocessor => false,
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
