//! Out-of-line stubs of blocks.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::ahead::PEEK;
use jit::flags::ALL;
use jit::mistakes::Mistake;
use jit::routines::{COUNTER, LINES, POLLING, STATUS, VALUE};
use jit::{counted, status};

use super::OFFSETS;
use super::block::{After, Late, Load, Place, Stub, Translation};

impl<M: Map> Translation<'_, M> {
    #[allow(clippy::too_many_lines)]
    pub(super) fn stub(&mut self, stub: Stub) {
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
            Stub::Miss { at, found, back, offsets, held, late } => self.miss(at, found, back, &offsets, held, late),
            Stub::Touch { at, access, size, more, again, stuck } => {
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
                    ; jnz =>again
                    ; jmp =>stuck
                );
            }
            Stub::LoadAhead { at, load, done, stuck } => {
                let flash = self.routines.flash[load.size as usize];
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.address(load.size);
                dynasm!(self.ops
                    ; .arch x64
                    ; mov ecx, eax
                    ; shr ecx, M::FLASH.bytes.ilog2() as i8
                    ; cmp ecx, (M::FLASH.base >> M::FLASH.bytes.ilog2()) as i32
                    ; jne >other
                    ; call extern flash
                    ; jc =>stuck
                );
                self.loaded(load);
                dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + LINES] ; jmp =>done ; other:);
                if load.size != 2 {
                    dynasm!(self.ops ; .arch x64 ; jmp =>stuck);
                    return;
                }
                let touch = self.routines.touch;
                dynasm!(self.ops
                    ; .arch x64
                    ; mov edx, eax
                    ; mov ecx, DWORD PEEK as i32
                    ; call extern touch
                    ; jz =>stuck
                    ; mov eax, [r15 + VALUE]
                );
                self.loaded(load);
                // It takes one cycle, of the two that the block subtracts.
                dynasm!(self.ops ; .arch x64 ; inc r14 ; mov rax, [r15 + LINES] ; jmp =>done);
            }
            Stub::Load { at, load, place, after, done, take } => {
                let size = load.size as usize;
                let polls = self.polls == Some(place.pc);
                let flash = self.routines.flash[size];
                let slow = if polls { self.routines.poll[size] } else { self.routines.load[size] };
                dynasm!(self.ops ; .arch x64 ; =>at);
                if self.counting {
                    self.counted_word(load.size, take);
                }
                self.address(load.size);
                dynasm!(self.ops
                    ; .arch x64
                    ; mov ecx, eax
                    ; shr ecx, M::FLASH.bytes.ilog2() as i8
                );
                if self.makes(Mistake::UncachedAliasCached) {
                    dynasm!(self.ops ; .arch x64 ; and ecx, BYTE -4);
                }
                dynasm!(self.ops
                    ; .arch x64
                    ; cmp ecx, (M::FLASH.base >> M::FLASH.bytes.ilog2()) as i32
                    ; jne >slow
                    ; call extern flash
                    ; jc >slow
                );
                self.loaded(load);
                dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + LINES] ; jmp =>done ; slow:);
                self.tell(place);
                if polls {
                    dynasm!(self.ops ; .arch x64 ; mov DWORD [r15 + POLLING], self.start as i32);
                }
                dynasm!(self.ops ; .arch x64 ; call extern slow);
                self.loaded(load);
                self.slow_path_return(place, after, done);
            }
            Stub::Store { at, marked, size, value, place, after, done } => {
                let slow = self.routines.store[size as usize];
                dynasm!(self.ops ; .arch x64 ; =>at);
                if self.counting {
                    self.counted_store(size, value, marked, done);
                }
                dynasm!(self.ops ; .arch x64 ; =>marked);
                self.address(size);
                self.tell(place);
                dynasm!(self.ops ; .arch x64 ; mov [r15 + VALUE], Rd(value) ; call extern slow);
                self.slow_path_return(place, after, done);
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

    /// Fetches words of flash, the first of which is in no whole line of the cache (RAX: the cache's tags).
    fn miss(
        &mut self,
        at: DynamicLabel,
        found: DynamicLabel,
        back: DynamicLabel,
        offsets: &[u32],
        held: u32,
        late: Late,
    ) {
        let set = 8 * ((offsets[0] >> 3) & 0x3ff) as i32;
        let alone = (held & !3 | 1 << (offsets[0] >> 2 & 1)) as i32;
        dynasm!(self.ops
            ; .arch x64
            ; =>at
            ; cmp DWORD [rax + set], alone
            ; je =>found
            ; cmp DWORD [rax + set + 4], alone
            ; je =>found
        );
        if let Late::Stuck(stuck) = late
            && !self.makes(Mistake::MissAhead)
        {
            dynasm!(self.ops ; .arch x64 ; jmp =>stuck);
            return;
        }
        let miss = self.routines.miss;
        for &offset in offsets {
            dynasm!(self.ops ; .arch x64 ; mov ecx, DWORD offset as i32 ; call extern miss);
            if self.makes(Mistake::MissTakesNoTime) {
                dynasm!(self.ops ; .arch x64 ; add r14, rax);
            }
        }
        dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + LINES]);
        match late {
            Late::Ends | Late::Stuck(_) => dynasm!(self.ops ; .arch x64 ; jmp =>back),
            Late::Bails { segment, bail } => {
                self.compare_bound(segment);
                dynasm!(self.ops ; .arch x64 ; jg =>back ; jmp =>bail);
            }
            Late::Leaves { after: After { leave, segment }, to } => {
                self.compare_bound(segment);
                dynasm!(self.ops ; .arch x64 ; jg =>back);
                self.take_literal(offsets[0], to);
                dynasm!(self.ops ; .arch x64 ; jmp =>leave);
            }
        }
    }

    pub(super) fn end(&mut self, place: Place, routine: usize) {
        self.tell(place);
        dynasm!(self.ops ; .arch x64 ; jmp extern routine);
    }

    /// Passes `place` to the shared code, with the instructions, cycles and flags until then. Keeps EAX.
    fn tell(&mut self, place: Place) {
        let word = if self.makes(Mistake::WordFetchedAgain) { NO_WORD } else { place.word };
        if !self.makes(Mistake::FlagsForgotten) {
            place.flags.write(ALL, &mut self.ops, OFFSETS);
        }
        self.count(place);
        if place.cycles > 0 {
            dynasm!(self.ops ; .arch x64 ; sub r14, place.cycles as i32);
        }
        dynasm!(self.ops
            ; .arch x64
            ; mov ecx, DWORD place.pc as i32
            ; mov edx, DWORD word as i32
        );
    }

    /// Moves the slow path's result in EAX into the register.
    pub(super) fn loaded(&mut self, load: Load) {
        match (load.size, load.signed) {
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(load.to), al),
            (1, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(load.to), ax),
            _ => dynasm!(self.ops ; .arch x64 ; mov Rd(load.to), eax),
        }
    }

    /// Returns from the slow path, which has added all cycles of the access but one.
    fn slow_path_return(&mut self, place: Place, after: After, done: DynamicLabel) {
        self.uncount(place);
        let After { leave, segment } = after;
        // The block subtracts two for the access, and the cycles before it again.
        dynasm!(self.ops ; .arch x64 ; add r14, place.cycles as i32 + 1);
        if !self.makes(Mistake::EventOverlooked) {
            dynasm!(self.ops ; .arch x64 ; cmp DWORD [r15 + STATUS], status::CONTINUE as i32 ; jne =>leave);
        }
        self.compare_bound(segment);
        dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + LINES] ; jg =>done ; jmp =>leave);
    }

    /// Counts an access to the counted bank at ECX units of `size` and jumps to `then`; continues if it lies outside SRAM.
    pub(super) fn counted_word(&mut self, size: u32, then: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (M::SRAM.bytes >> size) as i32 ; jae >other);
        self.count_access();
        dynasm!(self.ops ; .arch x64 ; jmp =>then ; other:);
    }

    pub(super) fn counted_store(&mut self, size: u32, value: u8, marked: DynamicLabel, done: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (M::SRAM.bytes >> size) as i32 ; jae =>marked);
        self.no_code(size, 0, marked);
        self.count_access();
        self.put_into_ram(size, value);
        dynasm!(self.ops ; .arch x64 ; jmp =>done);
    }

    pub(super) fn count_access(&mut self) {
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
