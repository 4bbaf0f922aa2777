//! Makes a block of code from the instructions from one address on, in a straight line.
//!
//! It acts on the simulated chip as the interpreter does, cycle by cycle. It exits before the first instruction that starts
//! at or after the limit, and leaves rare cases to the interpreter. Out-of-line stubs follow the straight line.
//!
//! Its cycles are added up while it is made, and subtracted from those that are left where it exits. The code asks once
//! in a segment of instructions whether all of them start before the limit. Only what takes a time that is not known
//! then, a miss of the cache or an access by the engine, asks again.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, Memory};
use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::flags::{Flags, Host};
use super::mistakes::Mistake;
use super::part::{Made, Room};
use super::routines::{Assembler, EXECUTED, GUEST, PASS, Routines, WORDS};
use super::stubs::Stub;
use super::{BRANCHED, Part, Translate, counts, source};

/// Most instructions of one block.
const LONGEST: u32 = 96;
/// Cycles after which a new segment starts.
const SEGMENT: u32 = 24;

/// A position in the block, the counts of the instructions executed before it, and their cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<P> {
    /// The address of the next instruction.
    pub pc: u32,
    /// The last word fetched, as its address / 4.
    pub word: u32,
    /// Instructions.
    pub executed: u32,
    /// Words fetched.
    pub fetched: u32,
    /// Cycles.
    pub cycles: u32,
    /// The places of the flags.
    pub flags: Flags,
    /// What else the next instruction depends on.
    pub pipeline: P,
}

/// How a block continues after what the engine does in it.
#[derive(Clone, Copy)]
pub(super) struct After {
    /// Exits after the instruction.
    pub(super) leave: DynamicLabel,
    /// Cycles of the block that the engine has added, or has been told of.
    pub(super) back: u32,
    /// Those from the instruction's start to its access, but for the wait of a fetch that missed.
    pub(super) spent: u32,
    pub(super) segment: usize,
    /// A line of flash that must be in the cache still, as its address / 8.
    pub(super) line: Option<u32>,
}

/// How a block goes on after the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// With the one that follows.
    On,
    /// It has ended.
    Ended,
    /// The interpreter must execute that instruction.
    Interpreted,
}

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Nothing, but that it may read a literal.
    Nothing,
    /// It loads one value.
    Loads,
    /// It may do more.
    More,
}

/// What the instructions so far have done with memory.
#[derive(Clone, Copy)]
enum Waits {
    Nothing,
    /// The load at this address.
    Loads(u32),
    More,
}

/// A block in the making.
pub struct Block<'a, A: Translate, M> {
    /// Its code.
    pub ops: Assembler,
    /// The address of the block's first link, and the slots that its links lead to.
    pub(super) links: usize,
    pub(super) exits: Vec<usize>,
    /// The memories with its instructions.
    pub mem: &'a Memory<M, A>,
    /// The code that blocks share.
    pub routines: &'a Routines,
    /// The region with its instructions.
    pub part: Part,
    pub(super) counting: bool,
    /// For a core that runs ahead of the other ([`super::ahead`]): exits before what needs the true order.
    pub ahead: bool,
    /// The position after the instructions so far.
    pub here: Place<A::Pipeline>,
    /// The current instruction after its fetches, or ahead before them.
    pub at: Place<A::Pipeline>,
    /// The address of the next.
    pub next: u32,
    /// A line of flash that is in the cache with both words, as its address / 8. A cache that fills lines by words, and
    /// often has one without the other, is asked for each.
    pub line: Option<u32>,
    /// RAX has the address of the words that the cache holds.
    pub held: bool,
    pub(super) stubs: Vec<Stub<A::Pipeline>>,
    pub(super) segment: usize,
    /// The cycle at which it starts.
    started: u32,
    /// For each segment, the start of its latest instruction, in cycles of the block.
    bounds: Vec<u32>,
    /// Comparisons with the bound of a segment: the offset behind its constant.
    bounded: Vec<(usize, usize)>,
    /// The current instruction may leave out flags.
    pub leaves_out: bool,
    /// What x86's flags hold, as the result of the code that ends at an offset.
    pub host: Option<(Host, AssemblyOffset)>,
    /// The address at which the block starts.
    pub(super) start: u32,
    /// The block's only load so far, if no instruction so far changes memory.
    waits: Waits,
    /// The load with which the block, a loop, polls, and the branch that closes the loop.
    pub(super) polls: Option<(u32, u32)>,
}

/// Returns the number of the PC's register that holds a register of the guest; `None`: that is in the core.
pub fn guest(register: u8) -> Option<u8> {
    GUEST.get(usize::from(register)).copied()
}

impl<'a, A: Translate, M: Map> Block<'a, A, M> {
    /// Starts the block at `pc` in `part`, to be put into `room`, for cores whose [`super::Guest::start`] is `start`.
    pub(super) fn new(
        mem: &'a Memory<M, A>,
        routines: &'a Routines,
        part: Part,
        counting: bool,
        ahead: bool,
        (pc, start): (u32, u32),
        room: Room,
    ) -> Self {
        let (word, pipeline) = A::started(pc, start);
        let here = Place { pc, word, executed: 0, fetched: 0, cycles: 0, flags: Flags::IN_CORE, pipeline };
        Self {
            ops: Assembler::new(room.code),
            links: room.links,
            exits: Vec::new(),
            mem,
            routines,
            part,
            counting,
            ahead,
            here,
            at: here,
            next: pc,
            line: None,
            held: false,
            stubs: Vec::new(),
            segment: 0,
            started: 0,
            bounds: Vec::new(),
            bounded: Vec::new(),
            leaves_out: true,
            host: None,
            waits: if start == BRANCHED { Waits::Nothing } else { Waits::More },
            start: pc,
            polls: None,
        }
    }

    /// Makes all of it. `None`: its first instruction must be interpreted.
    pub(super) fn make(mut self) -> Option<Made> {
        loop {
            // The second core has to stop where the first has.
            self.begin_segment_after(if self.ahead { 0 } else { SEGMENT });
            match if self.is_full() { Flow::Interpreted } else { A::step(&mut self) } {
                Flow::On => {}
                Flow::Ended => break,
                Flow::Interpreted if self.here.executed == 0 => return None,
                Flow::Interpreted => {
                    self.end_here();
                    break;
                }
            }
        }
        while let Some(stub) = self.stubs.pop() {
            self.stub(stub);
        }
        let Self { here, bounds, bounded, exits, ops, .. } = self;
        let mut code = ops.finalize().ok()?;
        for (end, segment) in bounded {
            code[end - 4..end].copy_from_slice(&bounds[segment].to_le_bytes());
        }
        Some(Made { code, exits, end: here.pc })
    }

    /// Returns whether it has as many instructions as it may have.
    pub fn is_full(&self) -> bool {
        self.here.executed >= LONGEST
    }

    /// Ends the block before the current instruction.
    pub fn end_here(&mut self) {
        self.note_start();
        self.end(self.here, self.routines.bail);
    }

    /// Returns whether to make this mistake.
    pub fn makes(&self, mistake: Mistake) -> bool {
        self.mem.translated.makes(mistake)
    }

    /// Returns true for code in flash, whose words pass the cache.
    pub fn in_flash(&self) -> bool {
        self.part.source == source::FLASH
    }

    // -- places

    /// Returns a label that exits at `place`.
    pub(super) fn leave(&mut self, place: Place<A::Pipeline>) -> DynamicLabel {
        let at = self.ops.new_dynamic_label();
        self.stubs.push(Stub::Leave { at, place });
        at
    }

    /// Returns a label that exits to the interpreter, which executes the instruction at `place` even without time.
    pub(super) fn bail(&mut self, place: Place<A::Pipeline>) -> DynamicLabel {
        let at = self.ops.new_dynamic_label();
        self.stubs.push(Stub::Bail { at, place });
        at
    }

    /// Returns a label that exits to the interpreter to execute the current instruction, whose words are already
    /// fetched.
    pub fn bail_here(&mut self) -> DynamicLabel {
        self.bail(self.at)
    }

    /// Returns the current instruction as the engine needs it, and how the block goes on after it. The block subtracts
    /// `cycles` for it. The engine is told that `told` are over, and then adds all that the instruction takes but `kept`.
    pub(super) fn in_engine(&mut self, told: u32, cycles: u32, kept: u32) -> (Place<A::Pipeline>, After) {
        let Place { cycles: before, .. } = self.here;
        let pipeline = A::in_engine(self.at.pipeline, self.here.pipeline);
        let place = Place { pc: self.at.pc, cycles: before + told, pipeline, ..self.here };
        let leave = self.leave(Place { pc: self.next, cycles: before + cycles, ..self.here });
        let (back, spent) = (before + told + cycles - kept, before + told - self.at.cycles);
        (place, After { leave, back, spent, segment: self.segment, line: self.line.filter(|_| self.in_flash()) })
    }

    pub(super) fn count(&mut self, place: Place<A::Pipeline>) {
        let counter = EXECUTED + 8 * self.part.source as i32;
        dynasm!(self.ops ; .arch x64 ; add QWORD [r15 + counter], counts(place.executed, place.fetched));
    }

    pub(super) fn uncount(&mut self, place: Place<A::Pipeline>) {
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
            self.polls = Some((pc, self.at.pc));
            dynasm!(self.ops
                ; .arch x64
                ; mov DWORD [r15 + PASS], target as i32
                ; mov DWORD [r15 + PASS + 4], self.here.executed as i32
            );
        }
    }

    /// Returns what a pass of the loop, from the load at `pc` through the branch at `closing` back to it, takes from before
    /// it, and what it sets in any case: both as in [`State::is_alike`].
    pub(super) fn passes(&self, mut pc: u32, closing: u32) -> [u32; 2] {
        let (load, mut takes, mut sets) = (pc, 0, 0);
        loop {
            match A::effects(self.mem, self.part, pc) {
                Some(effects) => {
                    takes |= (u32::from(effects.uses) | u32::from(effects.reads | effects.tests) << 16) & !sets;
                    sets |= u32::from(effects.writes) | u32::from(effects.sets) << 16;
                    pc = if pc == closing { self.start } else { pc.wrapping_add(effects.bytes) };
                }
                // A branch without a condition takes nothing.
                None if pc == closing => pc = self.start,
                None => return [u32::MAX, 0],
            }
            if pc == load {
                return [takes, sets];
            }
        }
    }

    // -- time

    /// Starts a segment if the present one has more cycles than `cycles`: it exits if its last instruction would start
    /// at or after the limit.
    fn begin_segment_after(&mut self, cycles: u32) {
        let first = self.bounds.is_empty();
        if !first && self.here.cycles - self.started <= cycles {
            return;
        }
        self.started = self.here.cycles;
        self.segment = self.bounds.len();
        self.bounds.push(0);
        let exit = if first {
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

    // -- fetches

    /// Starts an instruction of `bytes`: fetches the words that the core fetches before it executes it
    /// (docs/evidence/cache.md). `keeps_flags`: it may use what x86's flags hold. Returns the first of its stubs.
    pub fn begin(&mut self, bytes: u32, touches: Touches, keeps_flags: bool) -> usize {
        self.note_start();
        let first = self.stubs.len();
        self.at = self.here;
        let Place { pc, word, .. } = self.here;
        self.next = pc.wrapping_add(bytes);
        let ahead = pc.wrapping_add(2) >> 2;
        if self.in_flash() && ahead != word {
            let both = pc & 2 != 0 && word != pc >> 2 && !self.makes(Mistake::OddHalfwordNotFetched);
            self.here.word = ahead;
            self.look_up(&[pc & !3, ahead << 2][usize::from(!both)..], false);
        }
        if !self.ahead {
            self.at = self.here;
        }
        self.here.executed += 1;
        self.waits = match (touches, self.waits) {
            (Touches::Nothing, waits) => waits,
            (Touches::Loads, Waits::Nothing) => Waits::Loads(pc),
            _ => Waits::More,
        };
        if !keeps_flags {
            self.host = None;
        }
        first
    }

    /// Fetches words of flash at these addresses: looks them up in the cache, and adds their wait states. `ends`: the
    /// block ends then, and the next one looks at the time.
    pub fn look_up(&mut self, words: &[u32], ends: bool) {
        self.here.fetched += words.len() as u32 * if self.makes(Mistake::FetchCountedTwice) { 2 } else { 1 };
        if self.makes(Mistake::EveryFetchHits) {
            return;
        }
        let back = self.ops.new_dynamic_label();
        let mut bail = None;
        for (number, word) in words.iter().enumerate() {
            if self.line == Some(word >> 3) {
                continue;
            }
            self.line = Some(word >> 3).filter(|_| self.whole_lines());
            if bail.is_none() && (self.ahead || !ends) {
                bail = Some(self.bail(if self.ahead { self.at } else { self.here }));
            }
            let at = self.ops.new_dynamic_label();
            self.jump_unless_cached(*word, at);
            let offsets = words[number..].iter().map(|word| word & (M::FLASH.bytes - 1)).collect();
            self.stubs.push(Stub::Miss { at, back, offsets, segment: self.segment, bail, free: false });
        }
        dynasm!(self.ops ; .arch x64 ; =>back);
    }

    /// Returns whether the cache fills whole lines.
    pub(super) fn whole_lines(&self) -> bool {
        self.mem.xip.whole_lines
    }

    /// Says that the current instruction, whose stubs begin with `first`, takes no time. If its fetch has used up the time
    /// that was left, the block executes it still, since the interpreter stops by the time, and exits then.
    pub fn take_no_time(&mut self, first: usize) {
        let mut fetches = false;
        for stub in &mut self.stubs[first..] {
            if let Stub::Miss { free, .. } = stub {
                (*free, fetches) = (true, true);
            }
        }
        if fetches && !self.ahead {
            self.look_at_time();
        }
    }

    /// Exits before the next instruction if the current one may have left too little time for the rest of the segment.
    pub fn look_at_time(&mut self) {
        let leave = self.leave(Place { pc: self.next, ..self.here });
        self.compare_bound(self.segment);
        dynasm!(self.ops ; .arch x64 ; jle =>leave);
    }

    /// Jumps to `at` unless the cache holds the word at an address of flash. RAX: the words that it holds.
    pub(super) fn jump_unless_cached(&mut self, word: u32, at: DynamicLabel) {
        if !self.held {
            dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + WORDS]);
            self.held = true;
        }
        let word = (word & (M::FLASH.bytes - 1)) >> 2;
        dynasm!(self.ops ; .arch x64 ; cmp BYTE [rax + word as i32], 0 ; je =>at);
    }

    // -- operands and results

    /// Reads `register` into EAX, ECX, EDX or a register of the guest.
    pub fn read(&mut self, into: u8, register: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(into), Rd(host)),
            None => dynasm!(self.ops ; .arch x64 ; mov Rd(into), [rbx + A::LAYOUT.register(register)]),
        }
    }

    /// Writes a register of the PC to `register`. The lowest bits of the stack pointer are 0, in the former, too.
    pub fn write(&mut self, register: u8, from: u8) {
        if register == 13 && !self.makes(Mistake::SpUnaligned) {
            dynasm!(self.ops ; .arch x64 ; and Rd(from), BYTE -4);
        }
        self.write_aligned(register, from);
    }

    /// Writes a register of the PC, whose lowest bits are 0 if `register` is the stack pointer.
    pub fn write_aligned(&mut self, register: u8, from: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), Rd(from)),
            None => dynasm!(self.ops ; .arch x64 ; mov [rbx + A::LAYOUT.register(register)], Rd(from)),
        }
    }

    /// Writes a constant to `register`.
    pub fn write_constant(&mut self, register: u8, value: u32) {
        let value = if register == 13 { value & !3 } else { value };
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), DWORD value as i32),
            None => dynasm!(self.ops ; .arch x64 ; mov DWORD [rbx + A::LAYOUT.register(register)], value as i32),
        }
    }
}
