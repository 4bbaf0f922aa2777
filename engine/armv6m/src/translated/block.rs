//! Translates the instructions from one address on, in a straight line, into a block of code.
//!
//! A block acts on the simulated chip as [`crate::exec`] does, cycle by cycle. It exits before the first
//! instruction that starts at or after the limit, and leaves rare cases to the interpreter. Out-of-line stubs follow
//! the straight line.
//!
//! Its cycles are added up while it is made, and subtracted from those that are left where it exits. The code asks once
//! in a segment of instructions whether all of them start before the limit. Only what takes a time that is not known
//! then, a miss of the cache or an access by the engine, asks again.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::flags::{Flags, Host};
use jit::mistakes::Mistake;
use jit::routines::{Assembler, EXECUTED, GUEST, LINES, PASS, Routines};
use jit::{Block, Part, Room, counts, source};

use super::REGS;
use crate::Memory;
use crate::decode::{Kind, Op, decode};

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
    /// No time for the block's first segment, at whose start it is. If any is left, the interpreter takes a step, since
    /// the block would only be tried again.
    Start {
        at: DynamicLabel,
        place: Place,
    },
    /// Words of flash, the first of which is in no whole line of the cache. It may be `found` in one without the other word.
    Miss {
        at: DynamicLabel,
        found: DynamicLabel,
        back: DynamicLabel,
        offsets: Vec<u32>,
        held: u32,
        late: Late,
    },
    /// A load outside RAM in a window.
    LoadAhead {
        at: DynamicLabel,
        load: Load,
        done: DynamicLabel,
        stuck: DynamicLabel,
    },
    /// The first access to a granule in a window: at ECX units of `size`, and `more` of them. Keeps EAX and ECX.
    Touch {
        at: DynamicLabel,
        access: u32,
        size: u32,
        more: u32,
        again: DynamicLabel,
        stuck: DynamicLabel,
    },
    Load {
        at: DynamicLabel,
        load: Load,
        place: Place,
        after: After,
        done: DynamicLabel,
        take: DynamicLabel,
    },
    Store {
        at: DynamicLabel,
        marked: DynamicLabel,
        size: u32,
        value: u8,
        place: Place,
        after: After,
        done: DynamicLabel,
    },
    /// Counts a load/store multiple in the counted bank.
    Counted {
        at: DynamicLabel,
        words: u32,
        check: Check,
        bail: DynamicLabel,
        moves: DynamicLabel,
    },
}

/// The check before a load/store multiple.
#[derive(Clone, Copy)]
pub(super) enum Check {
    None,
    /// The words contain no code.
    NoCode,
    /// The last word is an address in Thumb state, and not an exception return.
    Target,
}

#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Logarithm of the number of bytes.
    pub(super) size: u32,
    pub(super) signed: bool,
    pub(super) to: u8,
}

/// What follows a miss of the cache, which may leave too little time for the rest of the segment.
#[derive(Clone, Copy)]
pub(super) enum Late {
    /// The block's end, where the next one looks at the time.
    Ends,
    /// In a window: no miss may happen there, and the block exits before the instruction.
    Stuck(DynamicLabel),
    /// The interpreter executes the instruction, whose words are fetched.
    Bails { segment: usize, bail: DynamicLabel },
    /// The block reads the literal into this register, and exits after the instruction.
    Leaves { after: After, to: u8 },
}

/// How a block continues after an access by the engine.
#[derive(Clone, Copy)]
pub(super) struct After {
    /// Exits after the instruction.
    pub(super) leave: DynamicLabel,
    pub(super) segment: usize,
}

/// A position in the block, the counts of the instructions executed before it, and their cycles.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) pc: u32,
    pub(super) word: u32,
    pub(super) executed: u32,
    pub(super) fetched: u32,
    pub(super) cycles: u32,
    pub(super) flags: Flags,
}

pub(super) struct Translation<'a, M> {
    pub(super) ops: Assembler,
    /// The address of the block's first link, and the slots that its links lead to.
    pub(super) links: usize,
    pub(super) exits: Vec<usize>,
    pub(super) mem: &'a Memory<M>,
    pub(super) routines: &'a Routines,
    pub(super) part: Part,
    pub(super) counting: bool,
    /// For a core that runs ahead of the other ([`super::ahead`]): exits before what needs the true order.
    pub(super) ahead: bool,
    pub(super) here: Place,
    /// Before the current instruction and its fetches.
    pub(super) before: Place,
    pub(super) stubs: Vec<Stub>,
    pub(super) segment: usize,
    /// For each segment, the start of its latest instruction, in cycles of the block.
    bounds: Vec<u32>,
    /// Comparisons with the bound of a segment: the offset behind its constant.
    bounded: Vec<(usize, usize)>,
    /// RAX has the address of the cache's tags.
    tags: bool,
    /// What x86's flags hold, as the result of the code that ends at an offset.
    pub(super) host: Option<(Host, AssemblyOffset)>,
    /// The address at which the block starts.
    pub(super) start: u32,
    /// The block's only load so far, if no instruction so far changes memory.
    waits: Waits,
    /// The load with which the block, a loop, polls.
    pub(super) polls: Option<u32>,
}

/// What the instructions so far have done with memory.
#[derive(Clone, Copy)]
enum Waits {
    Nothing,
    /// The load at this address.
    Loads(u32),
    More,
}

/// Translates the block that starts at `pc` in `part`, to be put into `room`. `None`: its first
/// instruction must be interpreted.
pub(super) fn translate<M: Map>(
    mem: &Memory<M>,
    routines: &Routines,
    part: Part,
    counting: bool,
    ahead: bool,
    pc: u32,
    room: Room,
) -> Option<Block> {
    let here = Place { pc, word: NO_WORD, executed: 0, fetched: 0, cycles: 0, flags: Flags::IN_CORE };
    let mut translation = Translation {
        ops: Assembler::new(room.code),
        links: room.links,
        exits: Vec::new(),
        mem,
        routines,
        part,
        counting,
        ahead,
        here,
        before: here,
        stubs: Vec::new(),
        segment: 0,
        bounds: Vec::new(),
        bounded: Vec::new(),
        tags: false,
        host: None,
        start: pc,
        waits: Waits::Nothing,
        polls: None,
    };
    translation.run()?;
    let Translation { here, bounds, bounded, exits, ops, .. } = translation;
    let mut code = ops.finalize().ok()?;
    for (end, segment) in bounded {
        code[end - 4..end].copy_from_slice(&bounds[segment].to_le_bytes());
    }
    Some(Block { code, exits, end: here.pc })
}

pub(super) fn guest(register: u8) -> Option<u8> {
    GUEST.get(usize::from(register)).copied()
}

pub(super) fn memory(register: u8) -> i32 {
    REGS + 4 * i32::from(register)
}

pub(super) fn imm(op: Op) -> i32 {
    op.imm as i32
}

impl<M: Map> Translation<'_, M> {
    pub(super) fn run(&mut self) -> Option<()> {
        // The cycle at which the segment starts.
        let mut started = 0;
        loop {
            let (half, next) = self.part.halfwords(self.mem, self.here.pc);
            let op = decode(half, next);
            let inside = self.part.contains(self.here.pc + op.bytes() - 1)
                || self.makes(Mistake::PastEnd) && self.part.contains(self.here.pc.wrapping_sub(2));
            let ends = !inside || self.here.executed == LONGEST || !translatable(op);
            if ends && self.here.executed == 0 {
                return None;
            }
            // The second core has to stop where the first has.
            if self.bounds.is_empty() || self.here.cycles - started > if self.ahead { 0 } else { SEGMENT } {
                self.begin_segment();
                started = self.here.cycles;
            }
            self.note_start();
            if ends {
                self.end(self.here, self.routines.bail);
                break;
            }
            self.before = self.here;
            self.fetch();
            self.here.executed += 1;
            self.waits = match (op.kind, self.waits) {
                (kind, waits) if leaves_memory_alone(kind) => waits,
                (kind, Waits::Nothing) if is_load(kind) => Waits::Loads(self.here.pc),
                _ => Waits::More,
            };
            if op.kind.taken().is_none() {
                self.host = None;
            }
            let goes_on = self.instruction(op);
            self.tags &= keeps_tags(op);
            self.here.pc += op.bytes();
            if !goes_on {
                break;
            }
        }
        while let Some(stub) = self.stubs.pop() {
            self.stub(stub);
        }
        Some(())
    }

    /// Returns whether to make this mistake.
    pub(super) fn makes(&self, mistake: Mistake) -> bool {
        self.mem.translated.makes(mistake)
    }

    // -- places

    /// Returns how the block goes on after the current instruction, an access of two cycles.
    pub(super) fn after(&mut self) -> After {
        let place = Place { pc: self.here.pc + 2, cycles: self.here.cycles + 2, ..self.here };
        After { leave: self.leave(place), segment: self.segment }
    }

    pub(super) fn leave(&mut self, place: Place) -> DynamicLabel {
        let at = self.ops.new_dynamic_label();
        self.stubs.push(Stub::Leave { at, place });
        at
    }

    /// Returns a label that exits to the interpreter before the instruction at `place`.
    pub(super) fn bail(&mut self, place: Place) -> DynamicLabel {
        let at = self.ops.new_dynamic_label();
        self.stubs.push(Stub::Bail { at, place });
        at
    }

    /// Returns a label that exits to the interpreter to execute the current instruction, whose words are already
    /// fetched.
    pub(super) fn bail_here(&mut self) -> DynamicLabel {
        if self.ahead {
            return self.bail(self.before);
        }
        self.bail(Place { executed: self.here.executed - 1, ..self.here })
    }

    pub(super) fn count(&mut self, place: Place) {
        let counter = EXECUTED + 8 * self.part.source as i32;
        dynasm!(self.ops ; .arch x64 ; add QWORD [r15 + counter], counts(place.executed, place.fetched));
    }

    pub(super) fn uncount(&mut self, place: Place) {
        if self.makes(Mistake::CountedTwice) {
            return;
        }
        let counter = EXECUTED + 8 * self.part.source as i32;
        dynasm!(self.ops ; .arch x64 ; sub QWORD [r15 + counter], counts(place.executed, place.fetched));
    }

    // -- loops

    /// Records the end of a pass, if the block is a loop that leads to `target` and changes no memory.
    pub(super) fn pass(&mut self, target: u32) {
        if let Waits::Loads(pc) = self.waits
            && target == self.start
            && !self.ahead
        {
            self.polls = Some(pc);
            dynasm!(self.ops
                ; .arch x64
                ; mov DWORD [r15 + PASS], target as i32
                ; mov DWORD [r15 + PASS + 4], self.here.executed as i32
            );
        }
    }

    // -- time

    /// Starts a segment: exits if its last instruction would start at or after the limit.
    fn begin_segment(&mut self) {
        self.segment = self.bounds.len();
        self.bounds.push(0);
        let exit = if self.segment == 0 {
            let at = self.ops.new_dynamic_label();
            self.stubs.push(Stub::Start { at, place: self.here });
            at
        } else {
            self.leave(self.here)
        };
        self.compare_bound(self.segment);
        dynasm!(self.ops ; .arch x64 ; jle =>exit);
    }

    /// Compares the cycles left at the block's start with the latest start of an instruction of a segment.
    pub(super) fn compare_bound(&mut self, segment: usize) {
        dynasm!(self.ops ; .arch x64 ; cmp r14, DWORD i32::MAX);
        self.bounded.push((self.ops.offset().0, segment));
    }

    /// Notes that an instruction starts here.
    fn note_start(&mut self) {
        let early = u32::from(self.makes(Mistake::LimitAfterInstruction));
        let bound = &mut self.bounds[self.segment];
        *bound = (*bound).max(self.here.cycles.saturating_sub(early));
    }

    /// Fetches the words that the core fetches before it executes the current instruction (docs/evidence/cache.md).
    pub(super) fn fetch(&mut self) {
        let Place { pc, word, .. } = self.here;
        let ahead = pc.wrapping_add(2) >> 2;
        if self.part.source != source::FLASH || ahead == word {
            return;
        }
        let first = pc & 2 != 0 && word != pc >> 2 && !self.makes(Mistake::OddHalfwordNotFetched);
        self.here.word = ahead;
        let words = [pc & !3, ahead << 2];
        let words = &words[usize::from(!first)..];
        self.here.fetched += words.len() as u32;
        let late = if self.ahead {
            Late::Stuck(self.bail(self.before))
        } else {
            Late::Bails { segment: self.segment, bail: self.bail(self.here) }
        };
        self.look_up(words, late);
    }

    /// Looks words of flash, whose accesses are counted, up in the cache, and adds their wait states.
    pub(super) fn look_up(&mut self, words: &[u32], late: Late) {
        if self.makes(Mistake::FetchCountedTwice) {
            self.here.fetched += words.len() as u32;
        }
        if self.makes(Mistake::EveryFetchHits) {
            return;
        }
        let back = self.ops.new_dynamic_label();
        for number in 0..words.len() {
            let offsets: Vec<u32> = words[number..].iter().map(|word| word & (M::FLASH.bytes - 1)).collect();
            let set = 8 * ((offsets[0] >> 3) & 0x3ff) as i32;
            let held = ((offsets[0] >> 13) << 2) | 3;
            let (at, found) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
            if !self.tags {
                dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + LINES]);
                self.tags = true;
            }
            dynasm!(self.ops
                ; .arch x64
                ; cmp DWORD [rax + set], held as i32
                ; je =>found
                ; cmp DWORD [rax + set + 4], held as i32
                ; jne =>at
                ; =>found
            );
            self.stubs.push(Stub::Miss { at, found, back, offsets, held, late });
        }
        dynasm!(self.ops ; .arch x64 ; =>back);
    }

    // -- operands and results

    /// Reads `register` into EAX, ECX or EDX.
    pub(super) fn read(&mut self, into: u8, register: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(into), Rd(host)),
            None => dynasm!(self.ops ; .arch x64 ; mov Rd(into), [rbx + memory(register)]),
        }
    }

    pub(super) fn write(&mut self, register: u8, from: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), Rd(from)),
            None => dynasm!(self.ops ; .arch x64 ; mov [rbx + memory(register)], Rd(from)),
        }
    }

    pub(super) fn write_constant(&mut self, register: u8, value: u32) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), DWORD value as i32),
            None => dynasm!(self.ops ; .arch x64 ; mov DWORD [rbx + memory(register)], value as i32),
        }
    }
}

/// Returns whether an instruction reads constants, registers and flags, and changes these alone, or branches.
fn leaves_memory_alone(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::MovsReg
            | Kind::LslImm
            | Kind::LsrImm
            | Kind::AsrImm
            | Kind::AddReg
            | Kind::SubReg
            | Kind::AddImm
            | Kind::SubImm
            | Kind::MovImm
            | Kind::CmpImm
            | Kind::And
            | Kind::Tst
            | Kind::CmpReg
            | Kind::Orr
            | Kind::Bic
            | Kind::MovHi
            | Kind::LdrLit
            | Kind::Uxth
            | Kind::Uxtb
            | Kind::Nop
            | Kind::Beq
            | Kind::Bne
            | Kind::Bcs
            | Kind::Bcc
            | Kind::Bmi
            | Kind::Bpl
            | Kind::Bhi
            | Kind::Bls
            | Kind::Bge
            | Kind::Blt
            | Kind::Bgt
            | Kind::Ble
            | Kind::B
    )
}

/// Returns whether RAX is the same after an instruction as before.
fn keeps_tags(op: Op) -> bool {
    match op.kind {
        Kind::MovHi => op.a < 8,
        Kind::LslReg | Kind::LsrReg | Kind::AsrReg | Kind::RorReg => false,
        Kind::Push | Kind::Pop | Kind::Stm | Kind::Ldm | Kind::AddSpImm => false,
        Kind::AddHi | Kind::AddFromPc | Kind::MovFromPc => false,
        _ => true,
    }
}

fn is_load(kind: Kind) -> bool {
    matches!(kind, Kind::LdrReg | Kind::LdrImm | Kind::LdrhImm | Kind::LdrbImm)
}

/// Returns whether a block may contain `op`; other instructions are interpreted.
pub(super) fn translatable(op: Op) -> bool {
    match op.kind {
        Kind::Undecoded
        | Kind::Cps
        | Kind::Bkpt
        | Kind::Wfe
        | Kind::Wfi
        | Kind::Sev
        | Kind::Svc
        | Kind::Undefined
        | Kind::Msr
        | Kind::Mrs
        | Kind::Barrier => false,
        Kind::Push | Kind::Pop | Kind::Stm | Kind::Ldm => op.imm != 0,
        _ => true,
    }
}
