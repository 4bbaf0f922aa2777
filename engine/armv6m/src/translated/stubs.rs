//! Out-of-line stubs of blocks.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::ahead::PEEK;
use jit::mistakes::Mistake;
use jit::routines::{COUNTER, POLLING, STATUS, VALUE};
use jit::{counted, status};

use super::block::{Load, Place, Stub, Translation};

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
            Stub::LeaveAt { at, place } => {
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.count(place);
                let no_block = self.routines.no_block;
                dynasm!(self.ops ; .arch x64 ; mov ecx, eax ; jmp extern no_block);
            }
            Stub::Miss { at, back, offset, held } => {
                let miss = self.routines.miss;
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.find_line(offset, held, back);
                dynasm!(self.ops
                    ; .arch x64
                    ; mov ecx, DWORD offset as i32
                    ; call extern miss
                );
                if self.makes(Mistake::MissTakesNoTime) {
                    dynasm!(self.ops ; .arch x64 ; add r14, rax);
                }
                dynasm!(self.ops ; .arch x64 ; jmp =>back);
            }
            Stub::MissAhead { at, back, offset, held, stuck } => {
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.find_line(offset, held, back);
                dynasm!(self.ops ; .arch x64 ; jmp =>stuck);
            }
            Stub::Touch { at, access, size, more, again, stuck } => {
                let touch = self.routines.touch;
                dynasm!(self.ops
                    ; .arch x64
                    ; =>at
                    ; push rax
                    ; sub rsp, 8
                    ; lea edx, [rcx + more as i32]
                    ; shl edx, size as i8
                    ; mov ecx, DWORD access as i32
                    ; call extern touch
                    ; lea rsp, [rsp + 8]
                    ; pop rax
                    ; jnz =>again
                    ; jmp =>stuck
                );
            }
            Stub::LoadAhead { at, load, leave, done, stuck } => {
                let flash = self.routines.flash[load.size as usize];
                dynasm!(self.ops
                    ; .arch x64
                    ; =>at
                    ; mov ecx, eax
                    ; shr ecx, M::FLASH.bytes.ilog2() as i8
                    ; cmp ecx, (M::FLASH.base >> M::FLASH.bytes.ilog2()) as i32
                    ; jne >other
                    ; call extern flash
                    ; jc =>stuck
                );
                self.loaded(load);
                dynasm!(self.ops ; .arch x64 ; sub r14, 2 ; jle =>leave ; jmp =>done ; other:);
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
                dynasm!(self.ops ; .arch x64 ; dec r14 ; jle =>leave ; jmp =>done);
            }
            Stub::Load { at, load, place, leave, done, take } => {
                let size = load.size as usize;
                let polls = self.polls == Some(place.pc);
                let flash = self.routines.flash[size];
                let slow = if polls { self.routines.poll[size] } else { self.routines.load[size] };
                dynasm!(self.ops ; .arch x64 ; =>at);
                if self.counting {
                    self.counted_word(load.size, take);
                }
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
                dynasm!(self.ops ; .arch x64 ; sub r14, 2 ; jle =>leave ; jmp =>done ; slow:);
                self.tell(place);
                if polls {
                    dynasm!(self.ops ; .arch x64 ; mov DWORD [r15 + POLLING], self.start as i32);
                }
                dynasm!(self.ops ; .arch x64 ; call extern slow);
                self.loaded(load);
                self.uncount(place);
                self.slow_path_return(leave, done);
            }
            Stub::Store { at, marked, size, value, place, leave, done } => {
                let slow = self.routines.store[size as usize];
                dynasm!(self.ops ; .arch x64 ; =>at);
                if self.counting {
                    self.counted_store(size, value, marked, leave, done);
                }
                dynasm!(self.ops ; .arch x64 ; =>marked);
                self.tell(place);
                dynasm!(self.ops ; .arch x64 ; mov [r15 + VALUE], Rd(value) ; call extern slow);
                self.uncount(place);
                self.slow_path_return(leave, done);
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

    /// Jumps to `back` if the cache holds the word at `offset`, but not as a whole line in the first way. RAX: the tags.
    fn find_line(&mut self, offset: u32, held: u32, back: DynamicLabel) {
        let set = 8 * ((offset >> 3) & 0x3ff) as i32;
        let alone = (held & !3 | 1 << (offset >> 2 & 1)) as i32;
        dynasm!(self.ops
            ; .arch x64
            ; cmp DWORD [rax + set + 4], held as i32
            ; je =>back
            ; cmp DWORD [rax + set], alone
            ; je =>back
            ; cmp DWORD [rax + set + 4], alone
            ; je =>back
        );
    }

    pub(super) fn end(&mut self, place: Place, routine: usize) {
        self.tell(place);
        dynasm!(self.ops ; .arch x64 ; jmp extern routine);
    }

    /// Passes `place` to the shared code, with the instructions executed until then.
    fn tell(&mut self, place: Place) {
        let word = if self.makes(Mistake::WordFetchedAgain) { NO_WORD } else { place.word };
        self.count(place);
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
    pub(super) fn slow_path_return(&mut self, leave: DynamicLabel, done: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; dec r14);
        if !self.makes(Mistake::EventOverlooked) {
            dynasm!(self.ops ; .arch x64 ; cmp DWORD [r15 + STATUS], status::CONTINUE as i32 ; jne =>leave);
        }
        dynasm!(self.ops
            ; .arch x64
            ; test r14, r14
            ; jle =>leave
            ; jmp =>done
        );
    }

    /// Counts an access to the counted bank at ECX units of `size` and jumps to `then`; continues if it lies outside SRAM.
    pub(super) fn counted_word(&mut self, size: u32, then: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (M::SRAM.bytes >> size) as i32 ; jae >other);
        self.count_access();
        dynasm!(self.ops ; .arch x64 ; jmp =>then ; other:);
    }

    pub(super) fn counted_store(
        &mut self,
        size: u32,
        value: u8,
        marked: DynamicLabel,
        leave: DynamicLabel,
        done: DynamicLabel,
    ) {
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (M::SRAM.bytes >> size) as i32 ; jae =>marked);
        self.no_code(size, 0, marked);
        self.count_access();
        self.put_into_ram(size, value);
        dynasm!(self.ops ; .arch x64 ; sub r14, 2 ; jle =>leave ; jmp =>done);
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
