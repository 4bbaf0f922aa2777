//! Out-of-line stubs of blocks.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::accesses::{Access, Check};
use super::block::{After, Block, Place, guest};
use super::flags::ALL;
use super::mistakes::Mistake;
use super::routines::{
    COUNTER, EAX, FETCHED, FLASH, NUMBER, NUMBER_AT, POLLING, SETS, SPENT, STATUS, TAKES, VALUE, WORDS,
};
use super::{Translate, counted, status};

/// An out-of-line stub.
pub(super) enum Stub<P> {
    Leave {
        at: DynamicLabel,
        place: Place<P>,
    },
    Bail {
        at: DynamicLabel,
        place: Place<P>,
    },
    /// No time for the block's first segment, at whose start it is. If any is left, the interpreter takes a step, since
    /// the block would only be tried again.
    Start {
        at: DynamicLabel,
        place: Place<P>,
    },
    /// Fetches from `offsets` of flash, the first of which the cache does not hold.
    Miss {
        at: DynamicLabel,
        back: DynamicLabel,
        offsets: Vec<u32>,
        segment: usize,
        /// `None`: the block's end, where the next one looks at the time.
        bail: Option<DynamicLabel>,
        /// The instruction takes no time, and is followed by a look at the time.
        free: bool,
    },
    /// A literal at `offset` of flash that the cache does not hold.
    Literal {
        at: DynamicLabel,
        back: DynamicLabel,
        offset: u32,
        to: u8,
        after: After,
    },
    /// The first access to a granule in a window: at ECX units of `size`, and `more` of them. Keeps EAX and ECX.
    Touch {
        at: DynamicLabel,
        access: u32,
        size: u32,
        more: u32,
        back: DynamicLabel,
        stuck: DynamicLabel,
    },
    /// A load outside RAM in a window.
    LoadAhead {
        at: DynamicLabel,
        load: Access,
        /// Those of the block to the access.
        cycles: u32,
        done: DynamicLabel,
        stuck: DynamicLabel,
    },
    Load {
        at: DynamicLabel,
        load: Access,
        place: Place<P>,
        after: After,
        done: DynamicLabel,
        take: DynamicLabel,
    },
    Store {
        at: DynamicLabel,
        marked: DynamicLabel,
        store: Access,
        place: Place<P>,
        after: After,
        done: DynamicLabel,
    },
    /// The interpreter executes the instruction at `place`, which may access memory or not.
    Execute {
        at: DynamicLabel,
        place: Place<P>,
        after: After,
        done: DynamicLabel,
        accesses: bool,
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

impl<A: Translate, M: Map> Block<'_, A, M> {
    #[allow(clippy::too_many_lines)]
    pub(super) fn stub(&mut self, stub: Stub<A::Pipeline>) {
        self.held = false;
        match stub {
            Stub::Leave { at, place } => {
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.end(place, self.routines.leave);
            }
            Stub::Bail { at, place } => {
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.end(place, self.routines.bail);
            }
            Stub::Start { at, place } => {
                let [leave, bail] = [self.routines.leave, self.routines.bail];
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.tell(place);
                dynasm!(self.ops ; .arch x64 ; test r14, r14);
                if self.makes(Mistake::LimitAfterBlock) {
                    dynasm!(self.ops ; .arch x64 ; jl extern leave);
                } else {
                    dynasm!(self.ops ; .arch x64 ; jle extern leave);
                }
                dynasm!(self.ops ; .arch x64 ; jmp extern bail);
            }
            Stub::Miss { at, back, offsets, segment, bail, free } => {
                dynasm!(self.ops ; .arch x64 ; =>at);
                if let Some(stuck) = bail.filter(|_| self.ahead && !self.makes(Mistake::MissAhead)) {
                    dynasm!(self.ops ; .arch x64 ; jmp =>stuck);
                    return;
                }
                offsets.iter().for_each(|&offset| self.miss(offset));
                dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + WORDS]);
                self.held = true;
                if let Some(bail) = bail {
                    let late = if free { back } else { bail };
                    if !self.makes(Mistake::MissOverruns) {
                        self.compare_bound(segment);
                        dynasm!(self.ops ; .arch x64 ; jle =>late);
                    }
                    // A cache that is off keeps nothing.
                    if self.whole_lines() {
                        self.jump_unless_cached(offsets[offsets.len() - 1], bail);
                    }
                }
                dynasm!(self.ops ; .arch x64 ; jmp =>back);
            }
            Stub::Literal { at, back, offset, to, after } => {
                let out = self.ops.new_dynamic_label();
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.miss(offset);
                self.jump_unless_kept(after, out);
                self.compare_bound(after.segment);
                dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + WORDS] ; jg =>back ; =>out);
                self.take_literal(to, offset);
                dynasm!(self.ops ; .arch x64 ; jmp =>after.leave);
            }
            Stub::Touch { at, access, size, more, back, stuck } => {
                let touch = self.routines.touch;
                dynasm!(self.ops
                    ; .arch x64
                    ; =>at
                    ; push rax
                    ; push rcx
                    ; lea edx, [rcx + more as i32]
                    ; shl edx, size as i8
                    ; mov ecx, DWORD access as i32
                    ; call extern touch
                    ; pop rcx
                    ; pop rax
                    ; jnz =>back
                    ; jmp =>stuck
                );
            }
            Stub::LoadAhead { at, load, cycles, done, stuck } => {
                let other = self.ops.new_dynamic_label();
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.load_from_flash(load, done, other, stuck);
                dynasm!(self.ops ; .arch x64 ; =>other);
                if load.size != 2 {
                    dynasm!(self.ops ; .arch x64 ; jmp =>stuck);
                    return;
                }
                let [.., peek] = self.routines.port;
                let cycles = if self.makes(Mistake::PortAtStart) { 0 } else { cycles };
                // The block subtracts those of an access to SRAM.
                let subtracted = A::ACCESS - u32::from(self.makes(Mistake::PortTakesTwo));
                dynasm!(self.ops
                    ; .arch x64
                    ; mov ecx, cycles as i32
                    ; call extern peek
                    ; jz =>stuck
                    ; mov eax, eax
                    ; sub r14, rax
                    ; add r14, subtracted as i32
                    ; mov eax, [r15 + VALUE]
                );
                self.loaded(load);
                self.go_back(done);
            }
            Stub::Load { at, load, place, after, done, take } => {
                let polls = self.polls.filter(|&(pc, _)| pc == place.pc);
                let slow = if polls.is_some() { self.routines.poll } else { self.routines.load }[load.size as usize];
                let other = self.ops.new_dynamic_label();
                dynasm!(self.ops ; .arch x64 ; =>at);
                if self.counting {
                    self.counted_word(load.size, take);
                }
                self.load_from_flash(load, done, other, other);
                dynasm!(self.ops ; .arch x64 ; =>other);
                if let Some((pc, closing)) = polls {
                    let [takes, sets] = self.passes(pc, closing);
                    dynasm!(self.ops
                        ; .arch x64
                        ; mov DWORD [r15 + POLLING], self.start as i32
                        ; mov DWORD [r15 + TAKES], takes as i32
                        ; mov DWORD [r15 + SETS], sets as i32
                    );
                } else if load.size == 2 {
                    dynasm!(self.ops
                        ; .arch x64
                        ; cmp rax, [r15 + NUMBER_AT]
                        ; jne >other
                        ; mov eax, [r15 + NUMBER]
                    );
                    self.loaded(load);
                    self.ported(done);
                    dynasm!(self.ops ; .arch x64 ; other:);
                    let pass = self.port(0, place);
                    dynasm!(self.ops ; .arch x64 ; mov eax, [r15 + VALUE]);
                    self.loaded(load);
                    self.ported(done);
                    dynasm!(self.ops ; .arch x64 ; =>pass);
                }
                self.call(place, after, slow);
                self.loaded(load);
                self.goes_on(place, after, done);
            }
            Stub::Store { at, marked, store, place, after, done } => {
                let slow = self.routines.store[store.size as usize];
                dynasm!(self.ops ; .arch x64 ; =>at);
                if self.counting {
                    self.counted_store(store, marked, done);
                }
                dynasm!(self.ops ; .arch x64 ; =>marked);
                let host = guest(store.register).unwrap_or(2);
                if host == 2 {
                    self.read(2, store.register);
                }
                dynasm!(self.ops ; .arch x64 ; mov [r15 + VALUE], Rd(host));
                self.address(store.size);
                if store.size == 2 {
                    let pass = self.port(1, place);
                    self.move_base(store);
                    self.ported(done);
                    dynasm!(self.ops ; .arch x64 ; =>pass);
                }
                self.call(place, after, slow);
                self.move_base(store);
                self.goes_on(place, after, done);
            }
            Stub::Execute { at, place, after, done, accesses } => {
                dynasm!(self.ops ; .arch x64 ; =>at ; mov eax, i32::from(accesses));
                self.call(place, after, self.routines.execute);
                self.goes_on(place, after, done);
            }
            Stub::Counted { at, words, check, bail, moves } => {
                let end = (M::SRAM.bytes - 4 * (words - 1)) >> 2;
                dynasm!(self.ops
                    ; .arch x64
                    ; =>at
                    ; cmp ecx, DWORD (counted::<M>() >> 2) as i32
                    ; jb =>bail
                    ; cmp ecx, DWORD end as i32
                    ; jae =>bail
                );
                self.check_multiple(words, check, bail);
                // EDX may hold a target.
                dynasm!(self.ops
                    ; .arch x64
                    ; push rax
                    ; mov rax, [r15 + COUNTER]
                    ; add DWORD [rax], words as i32
                    ; cmp DWORD [rax], DWORD M::MOST_COUNTED as i32
                    ; jbe >within
                    ; mov DWORD [rax], M::MOST_COUNTED as i32
                    ; within:
                    ; pop rax
                    ; jmp =>moves
                );
            }
        }
    }

    /// Fetches the word at an offset of flash that may miss.
    fn miss(&mut self, offset: u32) {
        let miss = self.routines.miss;
        self.held = false;
        dynasm!(self.ops ; .arch x64 ; mov edx, DWORD offset as i32 ; call extern miss);
        if self.makes(Mistake::MissTakesNoTime) {
            dynasm!(self.ops ; .arch x64 ; add r14, rax);
        }
    }

    /// Jumps to `out` if the cache has lost a line after this that must be there.
    fn jump_unless_kept(&mut self, after: After, out: DynamicLabel) {
        if let Some(line) = after.line {
            self.jump_unless_cached(line << 3, out);
        }
    }

    /// Loads from cached flash; jumps to `other` for another address, to `missed` if the cache does not hold its word.
    fn load_from_flash(&mut self, load: Access, done: DynamicLabel, other: DynamicLabel, missed: DynamicLabel) {
        self.address(load.size);
        self.read_flash(load.size, load.signed, guest(load.register).unwrap_or(EAX), other, missed);
        self.keep_in_core(load.register);
        self.move_base(load);
        self.go_back(done);
    }

    /// Reads the value at EAX from cached flash into a register of the PC; jumps to `other` for another or an unaligned
    /// address, to `missed` if the cache does not hold its word, with EAX as before. ECX and EDX change.
    pub fn read_flash(&mut self, size: u32, signed: bool, to: u8, other: DynamicLabel, missed: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; lea edx, [rax + (M::FLASH.base as i32).wrapping_neg()]);
        if self.makes(Mistake::UncachedAliasCached) {
            dynasm!(self.ops ; .arch x64 ; and edx, DWORD !(3 * M::FLASH.bytes) as i32);
        }
        dynasm!(self.ops ; .arch x64 ; cmp edx, DWORD M::FLASH.bytes as i32 ; jae =>other);
        if size > 0 {
            dynasm!(self.ops ; .arch x64 ; test al, (1 << size) - 1 ; jnz =>other);
        }
        dynasm!(self.ops
            ; .arch x64
            ; mov ecx, edx
            ; shr ecx, 2
            ; add rcx, [r15 + WORDS]
            ; cmp BYTE [rcx], 0
            ; je =>missed
            ; inc QWORD [r15 + FETCHED]
            ; and edx, DWORD self.mem.flash_size() as i32 - 1
            ; add rdx, [r15 + FLASH]
        );
        match (size, signed) {
            (0, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), BYTE [rdx]),
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), BYTE [rdx]),
            (1, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), WORD [rdx]),
            (1, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), WORD [rdx]),
            _ => dynasm!(self.ops ; .arch x64 ; mov Rd(to), [rdx]),
        }
    }

    /// Does not count the last read of flash, which the interpreter makes again.
    pub fn unread_flash(&mut self) {
        dynasm!(self.ops ; .arch x64 ; dec QWORD [r15 + FETCHED]);
    }

    /// Jumps to a label of the straight line, where RAX may be expected to have the address of the words in the cache.
    fn go_back(&mut self, to: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + WORDS] ; jmp =>to);
    }

    /// Exits at `place`.
    pub(super) fn end(&mut self, place: Place<A::Pipeline>, routine: usize) {
        self.tell(place);
        dynasm!(self.ops ; .arch x64 ; jmp extern routine);
    }

    /// Calls the engine for the instruction at `place`.
    fn call(&mut self, place: Place<A::Pipeline>, after: After, routine: usize) {
        self.tell(place);
        dynasm!(self.ops ; .arch x64 ; mov DWORD [r15 + SPENT], after.spent as i32 ; call extern routine);
    }

    /// Passes `place` to the shared code, with the instructions, cycles and flags until then. Keeps EAX.
    fn tell(&mut self, place: Place<A::Pipeline>) {
        let word = if self.makes(Mistake::WordFetchedAgain) { NO_WORD } else { place.word };
        if !self.makes(Mistake::FlagsForgotten) {
            place.flags.write(ALL, &mut self.ops, A::LAYOUT);
        }
        self.count(place);
        if place.cycles > 0 {
            dynasm!(self.ops ; .arch x64 ; sub r14, place.cycles as i32);
        }
        A::tell(self, place.pipeline);
        dynasm!(self.ops
            ; .arch x64
            ; mov ecx, DWORD place.pc as i32
            ; mov edx, DWORD word as i32
        );
    }

    /// Returns to the block at `done`, or leaves it.
    fn goes_on(&mut self, place: Place<A::Pipeline>, after: After, done: DynamicLabel) {
        A::resume(self, place.pipeline);
        self.uncount(place);
        let After { leave, back, segment, .. } = after;
        dynasm!(self.ops ; .arch x64 ; add r14, back as i32);
        if !self.makes(Mistake::EventOverlooked) {
            dynasm!(self.ops ; .arch x64 ; cmp DWORD [r15 + STATUS], status::CONTINUE as i32 ; jne =>leave);
        }
        self.jump_unless_kept(after, leave);
        self.compare_bound(segment);
        dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + WORDS] ; jg =>done ; jmp =>leave);
    }

    /// Accesses the word at EAX by the core's IO port. Returns the label of what must pass the bus, with EAX as before.
    fn port(&mut self, write: usize, place: Place<A::Pipeline>) -> DynamicLabel {
        let (pass, port) = (self.ops.new_dynamic_label(), self.routines.port[write]);
        let cycles = if self.makes(Mistake::PortAtStart) { 0 } else { place.cycles };
        dynasm!(self.ops
            ; .arch x64
            ; lea edx, [rax + (M::IO_PORT.base as i32).wrapping_neg()]
            ; cmp edx, DWORD M::IO_PORT.bytes as i32
            ; jae =>pass
            ; mov ecx, cycles as i32
            ; call extern port
            ; jnz >there
            ; mov eax, edx
            ; jmp =>pass
            ; there:
        );
        pass
    }

    /// Goes on after such an access.
    fn ported(&mut self, done: DynamicLabel) {
        if A::ACCESS > 1 && !self.makes(Mistake::PortTakesTwo) {
            // It takes one cycle, of those that the block subtracts.
            dynasm!(self.ops ; .arch x64 ; add r14, A::ACCESS as i32 - 1);
        }
        self.go_back(done);
    }

    /// Moves EAX, the result of a load, into the register, and moves the base.
    fn loaded(&mut self, load: Access) {
        let to = guest(load.register).unwrap_or(0);
        match (load.size, load.signed) {
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), al),
            (1, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), ax),
            _ if to != 0 => dynasm!(self.ops ; .arch x64 ; mov Rd(to), eax),
            _ => {}
        }
        self.keep_in_core(load.register);
        self.move_base(load);
    }

    /// Counts an access to the counted bank at ECX units of `size` and jumps to `then`; continues if it lies outside SRAM.
    fn counted_word(&mut self, size: u32, then: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (M::SRAM.bytes >> size) as i32 ; jae >other);
        self.count_access();
        dynasm!(self.ops ; .arch x64 ; jmp =>then ; other:);
    }

    fn counted_store(&mut self, store: Access, marked: DynamicLabel, done: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (M::SRAM.bytes >> store.size) as i32 ; jae =>marked);
        self.no_code(store.size, 0, marked);
        self.count_access();
        self.put_into_ram(store.size, store.register, 0);
        self.move_base(store);
        dynasm!(self.ops ; .arch x64 ; jmp =>done);
    }

    fn count_access(&mut self) {
        if self.makes(Mistake::Sram5NotCounted) {
            return;
        }
        dynasm!(self.ops
            ; .arch x64
            ; mov rdx, [r15 + COUNTER]
            ; cmp DWORD [rdx], DWORD M::MOST_COUNTED as i32
            ; adc DWORD [rdx], 0
        );
    }
}
