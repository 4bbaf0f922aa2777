//! Loads and stores: of single values, and load/store multiple.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::Map;
use cpu::memory::CODE_GRANULE_BITS;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::ahead::{LOAD, STORE};
use jit::mistakes::Mistake;
use jit::routines::{DENIED, FLASH, GRANULES, GUEST};
use jit::{counted, source};

use super::block::{Check, Late, Load, Stub, Translation, guest, imm, memory};
use crate::decode::Op;

impl<M: Map> Translation<'_, M> {
    /// Returns the first byte of RAM that needs special handling.
    pub(super) fn ram_end(&self) -> u32 {
        if self.counting { counted::<M>() } else { M::SRAM.bytes }
    }

    /// Sets ECX to the offset in RAM of the address given by `op`'s register and offset or index.
    fn offset(&mut self, op: Op, indexed: bool) {
        let before = (M::SRAM.base as i32).wrapping_neg();
        match (guest(op.b), guest(op.c)) {
            (Some(base), Some(index)) if indexed => {
                dynasm!(self.ops ; .arch x64 ; lea ecx, [Rq(base) + Rq(index) + before]);
            }
            (Some(base), _) => dynasm!(self.ops ; .arch x64 ; lea ecx, [Rq(base) + before.wrapping_add(imm(op))]),
            (None, _) => {
                self.read(1, op.b);
                dynasm!(self.ops ; .arch x64 ; add ecx, before.wrapping_add(imm(op)));
            }
        }
    }

    /// Brings the offset in ECX into units of the access's size; jumps to `not` if it is outside RAM or unaligned.
    fn in_ram(&mut self, size: u32, end: u32, not: DynamicLabel) {
        if size > 0 {
            if self.makes(Mistake::UnalignedAccess) {
                dynasm!(self.ops ; .arch x64 ; and ecx, -1 << size);
            }
            dynasm!(self.ops ; .arch x64 ; ror ecx, size as i8);
        }
        if self.makes(Mistake::EndInside) {
            // It is taken as the first word, so that no foreign memory is read.
            dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (end >> size) as i32 ; jne >inside ; xor ecx, ecx ; inside:);
        }
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (end >> size) as i32 ; jae =>not);
    }

    /// Sets EAX to the address whose offset in RAM is in ECX, in units of its size.
    pub(super) fn address(&mut self, size: u32) {
        if size > 0 {
            dynasm!(self.ops ; .arch x64 ; rol ecx, size as i8);
        }
        dynasm!(self.ops ; .arch x64 ; lea eax, [rcx + M::SRAM.base as i32]);
    }

    /// Reads RAM at ECX units of its size into `load.to`.
    pub(super) fn take_from_ram(&mut self, load: Load) {
        let to = load.to;
        match (load.size, load.signed) {
            (0, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), BYTE [r13 + rcx]),
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), BYTE [r13 + rcx]),
            (1, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), WORD [r13 + rcx * 2]),
            (1, true) if self.makes(Mistake::SignLost) => {
                dynasm!(self.ops ; .arch x64 ; movzx Rd(to), WORD [r13 + rcx * 2]);
            }
            (1, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), WORD [r13 + rcx * 2]),
            _ => dynasm!(self.ops ; .arch x64 ; mov Rd(to), [r13 + rcx * 4]),
        }
    }

    pub(super) fn load(&mut self, op: Op, size: u32, signed: bool, indexed: bool) {
        let load = Load { size, signed, to: GUEST[usize::from(op.a & 7)] };
        let (place, after) = (self.here, self.after());
        let at = self.ops.new_dynamic_label();
        let take = self.ops.new_dynamic_label();
        let done = self.ops.new_dynamic_label();
        self.offset(op, indexed);
        self.in_ram(size, self.ram_end(), at);
        let again = self.again();
        self.permitted(LOAD, size, 0, again);
        dynasm!(self.ops ; .arch x64 ; =>take);
        self.take_from_ram(load);
        dynasm!(self.ops ; .arch x64 ; =>done);
        if self.ahead {
            let stuck = self.bail_here();
            self.stubs.push(Stub::LoadAhead { at, load, done, stuck });
        } else {
            self.stubs.push(Stub::Load { at, load, place, after, done, take });
        }
        self.here.cycles += if self.makes(Mistake::LoadTakesOneCycle) { 1 } else { 2 };
    }

    pub(super) fn load_literal(&mut self, op: Op) {
        let address = (self.here.pc.wrapping_add(4) & !3).wrapping_add(op.imm);
        let to = GUEST[usize::from(op.a & 7)];
        let in_ram = address.wrapping_sub(M::SRAM.base);
        let in_flash = address.wrapping_sub(M::FLASH.base);
        if self.part.source == source::FLASH && in_flash < self.part.size {
            if !self.makes(Mistake::LiteralNotFetched) {
                self.here.fetched += 1;
                let late = if self.ahead {
                    Late::Stuck(self.bail(self.before))
                } else {
                    Late::Leaves { after: self.after(), to }
                };
                self.look_up(&[address], late);
            }
            self.take_literal(in_flash, to);
        } else if self.part.source == source::RAM && in_ram < self.ram_end() {
            if self.makes(Mistake::StaleLiteral) {
                let value = self.mem.ram_u32(in_ram as usize);
                dynasm!(self.ops ; .arch x64 ; mov Rd(to), DWORD value as i32);
                self.here.cycles += 2;
                return;
            }
            let again = self.again();
            dynasm!(self.ops ; .arch x64 ; mov ecx, (in_ram >> 2) as i32);
            if !self.makes(Mistake::LiteralNotWatched) {
                self.permitted(LOAD, 2, 0, again);
            }
            dynasm!(self.ops ; .arch x64 ; mov Rd(to), [r13 + in_ram as i32]);
        } else if self.part.source == source::ROM && M::ROM.contains(address) {
            let value = self.mem.rom_u32((address - M::ROM.base) as usize);
            dynasm!(self.ops ; .arch x64 ; mov Rd(to), DWORD value as i32);
        } else {
            let bail = self.bail_here();
            dynasm!(self.ops ; .arch x64 ; jmp =>bail);
        }
        self.here.cycles += 2;
    }

    /// Reads the word at an offset of flash.
    pub(super) fn take_literal(&mut self, offset: u32, to: u8) {
        dynasm!(self.ops ; .arch x64 ; mov rcx, [r15 + FLASH] ; mov Rd(to), [rcx + offset as i32]);
    }

    /// Jumps to `marked` if the granule of RAM at ECX units of `size` contains code.
    pub(super) fn no_code(&mut self, size: u32, ahead: u32, marked: DynamicLabel) {
        if self.makes(Mistake::StoreIntoCode) || ahead > 0 && self.makes(Mistake::LastWordIntoCode) {
            return;
        }
        dynasm!(self.ops
            ; .arch x64
            ; lea edx, [rcx + ahead as i32]
            ; shr edx, (CODE_GRANULE_BITS as u32 - size) as i8
            ; add rdx, [r15 + GRANULES]
            ; cmp BYTE [rdx], 0
            ; jne =>marked
        );
    }

    /// Returns a label here, to try an access again after it was permitted.
    fn again(&mut self) -> DynamicLabel {
        let again = self.ops.new_dynamic_label();
        dynasm!(self.ops ; .arch x64 ; =>again);
        again
    }

    /// In a window, asks once for the granule at ECX units of `size`, and `more` of them.
    fn permitted(&mut self, access: u32, size: u32, more: u32, again: DynamicLabel) {
        if !self.ahead {
            return;
        }
        let (at, stuck) = (self.ops.new_dynamic_label(), self.bail_here());
        dynasm!(self.ops
            ; .arch x64
            ; lea edx, [rcx + more as i32]
            ; shr edx, (CODE_GRANULE_BITS as u32 - size) as i8
            ; add rdx, [r15 + DENIED + 8 * access as i32]
            ; cmp BYTE [rdx], 0
            ; jne =>at
        );
        self.stubs.push(Stub::Touch { at, access, size, more, again, stuck });
    }

    pub(super) fn put_into_ram(&mut self, size: u32, value: u8) {
        match size {
            0 => dynasm!(self.ops ; .arch x64 ; mov BYTE [r13 + rcx], Rb(value)),
            1 => dynasm!(self.ops ; .arch x64 ; mov WORD [r13 + rcx * 2], Rw(value)),
            _ => dynasm!(self.ops ; .arch x64 ; mov DWORD [r13 + rcx * 4], Rd(value)),
        }
    }

    pub(super) fn store(&mut self, op: Op, size: u32, indexed: bool) {
        let value = GUEST[usize::from(op.a & 7)];
        let at = self.ops.new_dynamic_label();
        let marked = self.ops.new_dynamic_label();
        let done = self.ops.new_dynamic_label();
        self.offset(op, indexed);
        if self.ahead {
            let stuck = self.bail_here();
            self.in_ram(size, self.ram_end(), stuck);
            let again = self.again();
            self.permitted(STORE, size, 0, again);
            self.put_into_ram(size, value);
            self.here.cycles += 2;
            return;
        }
        let (place, after) = (self.here, self.after());
        self.in_ram(size, self.ram_end(), at);
        self.no_code(size, 0, marked);
        self.put_into_ram(size, value);
        dynasm!(self.ops ; .arch x64 ; =>done);
        self.stubs.push(Stub::Store { at, marked, size, value, place, after, done });
        self.here.cycles += 2;
    }

    /// Starts a load/store multiple of `words` at EAX; ECX: their offset in RAM, in words.
    pub(super) fn begin_multiple(&mut self, words: u32, check: Check) {
        let bail = self.bail_here();
        let moves = self.ops.new_dynamic_label();
        let at = self.ops.new_dynamic_label();
        let end = self.ram_end() - 4 * (words - 1);
        dynasm!(self.ops ; .arch x64 ; lea ecx, [rax + (M::SRAM.base as i32).wrapping_neg()]);
        self.in_ram(2, end, if self.counting { at } else { bail });
        let again = self.again();
        let access = if matches!(check, Check::NoCode) { STORE } else { LOAD };
        self.permitted(access, 2, 0, again);
        self.permitted(access, 2, words - 1, again);
        if !self.ahead || !matches!(check, Check::NoCode) {
            self.check_multiple(words, check, bail);
        }
        dynasm!(self.ops ; .arch x64 ; =>moves);
        if self.counting {
            self.stubs.push(Stub::Counted { at, words, check, bail, moves });
        } else {
            dynasm!(self.ops ; .arch x64 ; =>at);
        }
    }

    pub(super) fn check_multiple(&mut self, words: u32, check: Check, bail: DynamicLabel) {
        match check {
            Check::None => {}
            Check::NoCode => {
                self.no_code(2, 0, bail);
                if words > 1 {
                    self.no_code(2, words - 1, bail);
                }
            }
            Check::Target => {
                dynasm!(self.ops ; .arch x64 ; mov edx, [r13 + rcx * 4 + 4 * (words - 1) as i32]);
                self.check_target(bail);
            }
        }
    }

    pub(super) fn store_multiple(&mut self, list: u32) {
        for (i, register) in (0..16).filter(|register| list & 1 << register != 0).enumerate() {
            let at = 4 * i as i32;
            match guest(register) {
                Some(host) => dynasm!(self.ops ; .arch x64 ; mov [r13 + rcx * 4 + at], Rd(host)),
                None => dynasm!(self.ops
                    ; .arch x64
                    ; mov edx, [rbx + memory(register)]
                    ; mov [r13 + rcx * 4 + at], edx
                ),
            }
        }
    }

    /// Loads registers of R0 to R7.
    pub(super) fn load_multiple(&mut self, list: u32) {
        for (i, register) in (0..8).filter(|register| list & 1 << register != 0).enumerate() {
            dynasm!(self.ops ; .arch x64 ; mov Rd(GUEST[register]), [r13 + rcx * 4 + 4 * i as i32]);
        }
    }
}
