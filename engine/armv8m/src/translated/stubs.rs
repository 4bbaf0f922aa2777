//! Out-of-line stubs of blocks.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::ahead::PEEK;
use jit::routines::{SPENT, STATUS, VALUE};
use jit::status;

use super::block::{After, Load, Place, Stub, Translation, guest, memory};
use super::mistakes::{Mistake, makes, told};
use super::{IT, LATE};
use crate::Map;

impl<M: Map> Translation<'_, M> {
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
                dynasm!(self.ops ; .arch x64 ; =>at ; mov ecx, eax);
                self.count(place);
                let no_block = self.routines.no_block;
                dynasm!(self.ops ; .arch x64 ; jmp extern no_block);
            }
            Stub::Miss { at, back, offsets, segment, bail, free } => {
                let miss = self.routines.miss;
                let last = offsets[offsets.len() - 1] >> 3;
                dynasm!(self.ops ; .arch x64 ; =>at);
                for offset in offsets {
                    dynasm!(self.ops ; .arch x64 ; mov ecx, DWORD offset as i32 ; call extern miss);
                }
                let late = if free { back } else { bail };
                if !makes(Mistake::MissOverruns) {
                    self.compare_bound(segment);
                    dynasm!(self.ops ; .arch x64 ; jle =>late);
                }
                // A cache that is off keeps nothing.
                self.jump_unless_cached(last, bail);
                dynasm!(self.ops ; .arch x64 ; jmp =>back);
            }
            Stub::Literal { at, back, offset, to, after } => {
                let miss = self.routines.miss;
                let out = self.ops.new_dynamic_label();
                dynasm!(self.ops ; .arch x64 ; =>at ; mov ecx, DWORD offset as i32 ; call extern miss);
                if let Some(line) = after.line {
                    self.jump_unless_cached(line, out);
                }
                self.compare_bound(after.segment);
                dynasm!(self.ops ; .arch x64 ; jg =>back ; =>out);
                self.take_literal(offset, to);
                dynasm!(self.ops ; .arch x64 ; jmp =>after.leave);
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
            Stub::LoadAhead { at, load, done, stuck } => {
                let (flash, touch) = (self.routines.flash[load.size as usize], self.routines.touch);
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
                dynasm!(self.ops ; .arch x64 ; jmp =>done ; other:);
                if load.size != 2 {
                    dynasm!(self.ops ; .arch x64 ; jmp =>stuck);
                    return;
                }
                dynasm!(self.ops
                    ; .arch x64
                    ; mov edx, eax
                    ; mov ecx, DWORD PEEK as i32
                    ; call extern touch
                    ; jz =>stuck
                    ; mov eax, [r15 + VALUE]
                );
                self.loaded(load);
                dynasm!(self.ops ; .arch x64 ; jmp =>done);
            }
            Stub::Load { at, load, place, after, done } => {
                let size = load.size as usize;
                let (flash, slow) = (self.routines.flash[size], self.routines.load[size]);
                dynasm!(self.ops
                    ; .arch x64
                    ; =>at
                    ; mov ecx, eax
                    ; shr ecx, M::FLASH.bytes.ilog2() as i8
                    ; cmp ecx, (M::FLASH.base >> M::FLASH.bytes.ilog2()) as i32
                    ; jne >slow
                    ; call extern flash
                    ; jc >slow
                );
                self.loaded(load);
                dynasm!(self.ops ; .arch x64 ; jmp =>done ; slow:);
                self.call(place, slow);
                self.loaded(load);
                self.goes_on(place, after, done);
            }
            Stub::Store { at, size, value, base, moved, place, after, done } => {
                let slow = self.routines.store[size as usize];
                dynasm!(self.ops ; .arch x64 ; =>at);
                let host = guest(value).unwrap_or(2);
                if guest(value).is_none() {
                    self.read(2, value);
                }
                dynasm!(self.ops ; .arch x64 ; mov [r15 + VALUE], Rd(host));
                self.call(place, slow);
                self.move_base(base, moved);
                self.goes_on(place, after, done);
            }
            Stub::Execute { at, place, after, done } => {
                let execute = self.routines.execute;
                dynasm!(self.ops ; .arch x64 ; =>at);
                self.call(place, execute);
                self.goes_on(place, after, done);
            }
        }
    }

    /// Exits at `place`.
    fn end(&mut self, place: Place, routine: usize) {
        self.tell(place);
        dynasm!(self.ops ; .arch x64 ; jmp extern routine);
    }

    /// Calls the engine for the instruction at `place`.
    fn call(&mut self, place: Place, routine: usize) {
        self.tell(place);
        dynasm!(self.ops ; .arch x64 ; mov DWORD [r15 + SPENT], place.spent as i32 ; call extern routine);
    }

    /// Passes `place` to the engine, with the instructions and cycles until then. Keeps EAX.
    fn tell(&mut self, place: Place) {
        let place = told(place);
        self.count(place);
        if place.pending > 0 {
            dynasm!(self.ops ; .arch x64 ; sub r14, place.pending as i32);
        }
        dynasm!(self.ops
            ; .arch x64
            ; mov DWORD [rbx + LATE], place.late as i32
            ; mov ecx, DWORD place.pc as i32
            ; mov edx, DWORD place.word as i32
        );
        if place.it != 0 {
            dynasm!(self.ops ; .arch x64 ; mov BYTE [rbx + IT], place.it as i8);
        }
    }

    /// Returns to the block at `done`, or leaves it.
    fn goes_on(&mut self, place: Place, after: After, done: DynamicLabel) {
        if place.it != 0 {
            dynasm!(self.ops ; .arch x64 ; mov BYTE [rbx + IT], 0);
        }
        self.uncount(place);
        let After { leave, pending, segment, line } = after;
        dynasm!(self.ops
            ; .arch x64
            ; add r14, pending as i32
            ; cmp DWORD [r15 + STATUS], status::CONTINUE as i32
        );
        if !makes(Mistake::EventOverlooked) {
            dynasm!(self.ops ; .arch x64 ; jne =>leave);
        }
        if let Some(line) = line {
            self.jump_unless_cached(line, leave);
        }
        self.compare_bound(segment);
        dynasm!(self.ops ; .arch x64 ; jg =>done ; jmp =>leave);
    }

    /// Moves EAX, the result of a load, into the register, and moves the base.
    fn loaded(&mut self, load: Load) {
        let to = guest(load.to).unwrap_or(0);
        match (load.size, load.signed) {
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), al),
            (1, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), ax),
            _ if to != 0 => dynasm!(self.ops ; .arch x64 ; mov Rd(to), eax),
            _ => {}
        }
        if guest(load.to).is_none() {
            dynasm!(self.ops ; .arch x64 ; mov [rbx + memory(load.to)], eax);
        }
        self.move_base(load.base, load.moved);
    }
}
