//! Loads and stores: of single values, of two, and of lists.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::memory::CODE_GRANULE_BITS;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::ahead::{LOAD, STORE};
use jit::routines::{DENIED, FLASH, GRANULES, STACK_LIMIT};

use super::block::{After, Load, Place, Stub, Translation, guest, memory};
use super::mistakes::{Mistake, makes};
use crate::decode::{Kind, Op};
use crate::{Map, time};

impl<M: Map> Translation<'_, M> {
    /// Returns how the block goes on after the current instruction, which then has taken `cycles` more.
    fn after(&mut self, op: Op, cycles: u32) -> After {
        let pending = self.here.pending + cycles;
        let place = Place { pc: self.at.pc.wrapping_add(op.bytes()), pending, ..self.here };
        let line = self.line.filter(|_| self.in_flash());
        After { leave: self.leave(place), pending, segment: self.segment, line }
    }

    /// Returns the current instruction as the engine needs it: with its cycles so far, and the state of its IT block.
    fn in_engine(&self, cycles: u32) -> Place {
        let pending = self.here.pending + cycles;
        Place { pc: self.at.pc, it: self.at.it, pending, spent: pending - self.at.pending, ..self.here }
    }

    /// Sets EAX to the address given by `op`'s register and offset or index.
    fn address(&mut self, op: Op, indexed: bool) {
        let offset = op.imm as i32;
        match (guest(op.b), guest(op.c)) {
            (Some(base), Some(index)) if indexed => match op.d {
                0 => dynasm!(self.ops ; .arch x64 ; lea eax, [Rq(base) + Rq(index)]),
                1 => dynasm!(self.ops ; .arch x64 ; lea eax, [Rq(base) + Rq(index) * 2]),
                2 => dynasm!(self.ops ; .arch x64 ; lea eax, [Rq(base) + Rq(index) * 4]),
                _ => dynasm!(self.ops ; .arch x64 ; lea eax, [Rq(base) + Rq(index) * 8]),
            },
            _ if indexed => {
                self.read(0, op.c);
                if op.d > 0 {
                    dynasm!(self.ops ; .arch x64 ; shl eax, op.d as i8);
                }
                match guest(op.b) {
                    Some(base) => dynasm!(self.ops ; .arch x64 ; add eax, Rd(base)),
                    None => dynasm!(self.ops ; .arch x64 ; add eax, [rbx + memory(op.b)]),
                }
            }
            (Some(base), _) => dynasm!(self.ops ; .arch x64 ; lea eax, [Rq(base) + offset]),
            (None, _) => {
                self.read(0, op.b);
                if offset != 0 {
                    dynasm!(self.ops ; .arch x64 ; add eax, offset);
                }
            }
        }
    }

    /// Sets ECX to the offset in RAM of the address in EAX, in units of its size; jumps to `not` if the address is
    /// outside the first `end` bytes of RAM or unaligned.
    fn ram_offset(&mut self, size: u32, end: u32, not: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; lea ecx, [rax + (M::SRAM.base as i32).wrapping_neg()]);
        if size > 0 {
            dynasm!(self.ops ; .arch x64 ; ror ecx, size as i8);
        }
        let end = (end >> size) + u32::from(makes(Mistake::EndInside));
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD end as i32 ; jae =>not);
    }

    /// Reads RAM at ECX units of its size into the register, and moves the base.
    fn take_from_ram(&mut self, load: Load) {
        let to = guest(load.to).unwrap_or(0);
        match (load.size, load.signed) {
            (0, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), BYTE [r13 + rcx]),
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), BYTE [r13 + rcx]),
            (1, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), WORD [r13 + rcx * 2]),
            (1, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), WORD [r13 + rcx * 2]),
            _ => dynasm!(self.ops ; .arch x64 ; mov Rd(to), [r13 + rcx * 4]),
        }
        if guest(load.to).is_none() {
            dynasm!(self.ops ; .arch x64 ; mov [rbx + memory(load.to)], eax);
        }
        self.move_base(load.base, load.moved);
    }

    /// Adds to the base register of an access that has been made.
    pub(super) fn move_base(&mut self, base: u8, moved: i32) {
        match guest(base) {
            _ if moved == 0 => {}
            Some(host) => dynasm!(self.ops ; .arch x64 ; add Rd(host), moved),
            None => dynasm!(self.ops ; .arch x64 ; add DWORD [rbx + memory(base)], moved),
        }
    }

    pub(super) fn load(&mut self, op: Op, size: u32, signed: bool, indexed: bool) {
        self.load_and_move(op, Load { size, signed, to: op.a, base: op.b, moved: 0 }, indexed);
    }

    fn load_and_move(&mut self, op: Op, load: Load, indexed: bool) {
        let (place, after) = (self.in_engine(1), self.after(op, 1));
        let (at, done) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
        self.address(op, indexed);
        let again = self.again();
        self.ram_offset(load.size, M::SRAM.bytes, at);
        self.permitted(LOAD, load.size, 0, again);
        self.take_from_ram(load);
        dynasm!(self.ops ; .arch x64 ; =>done);
        if self.ahead {
            let stuck = self.bail_here();
            self.stubs.push(Stub::LoadAhead { at, load, done, stuck });
        } else {
            self.stubs.push(Stub::Load { at, load, place, after, done });
        }
        self.here.pending += 1;
    }

    pub(super) fn load_literal(&mut self, op: Op) {
        let address = (self.at.pc.wrapping_add(4) & !3).wrapping_add(op.imm);
        let in_ram = address.wrapping_sub(M::SRAM.base);
        let in_flash = address.wrapping_sub(M::FLASH.base);
        if self.in_flash() && in_flash < self.part.size && address & 3 == 0 {
            let (at, back) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
            self.here.fetched += 1;
            if self.ahead {
                let stuck = self.bail_here();
                self.jump_unless_cached(address >> 3, stuck);
            } else if self.line != Some(address >> 3) && !makes(Mistake::LiteralNotFetched) {
                let after = self.after(op, 1);
                self.jump_unless_cached(address >> 3, at);
                self.stubs.push(Stub::Literal { at, back, offset: in_flash, to: op.a, after });
            }
            dynasm!(self.ops ; .arch x64 ; =>back);
            self.take_literal(in_flash, op.a);
            self.here.pending += 1;
        } else if !self.in_flash() && in_ram < M::SRAM.bytes && address & 3 == 0 && makes(Mistake::StaleLiteral) {
            let [low, high] = [0, 2].map(|at| self.mem.ram_u16(in_ram as usize + at));
            self.write_constant(op.a, u32::from(high) << 16 | u32::from(low));
            self.here.pending += 1;
        } else if !self.in_flash() && in_ram < M::SRAM.bytes && address & 3 == 0 {
            let to = guest(op.a).unwrap_or(0);
            if self.ahead {
                let again = self.again();
                dynasm!(self.ops ; .arch x64 ; mov ecx, (in_ram >> 2) as i32);
                self.permitted(LOAD, 2, 0, again);
            }
            dynasm!(self.ops ; .arch x64 ; mov Rd(to), [r13 + in_ram as i32]);
            if guest(op.a).is_none() {
                dynasm!(self.ops ; .arch x64 ; mov [rbx + memory(op.a)], eax);
            }
            self.here.pending += 1;
        } else {
            let load = Load { size: 2, signed: false, to: op.a, base: op.b, moved: 0 };
            let (place, after) = (self.in_engine(1), self.after(op, 1));
            let (at, done) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
            dynasm!(self.ops ; .arch x64 ; mov eax, DWORD address as i32 ; jmp =>at ; =>done);
            if self.ahead {
                let stuck = self.bail_here();
                self.stubs.push(Stub::LoadAhead { at, load, done, stuck });
            } else {
                self.stubs.push(Stub::Load { at, load, place, after, done });
            }
            self.here.pending += 1;
        }
    }

    /// Reads the word at an offset of flash into a register.
    pub(super) fn take_literal(&mut self, offset: u32, register: u8) {
        let to = guest(register).unwrap_or(0);
        dynasm!(self.ops ; .arch x64 ; mov rax, [r15 + FLASH] ; mov Rd(to), [rax + offset as i32]);
        if guest(register).is_none() {
            dynasm!(self.ops ; .arch x64 ; mov [rbx + memory(register)], eax);
        }
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

    /// Asks for `words` words, one of each granule.
    fn permitted_words(&mut self, access: u32, words: u32, again: DynamicLabel) {
        for word in granules(words) {
            self.permitted(access, 2, word, again);
        }
    }

    /// Jumps to `marked` if the granule of RAM at ECX units of `size` contains code, or `words` further. A window has
    /// permitted the store, which is no code then.
    fn no_code(&mut self, size: u32, words: u32, marked: DynamicLabel) {
        if self.ahead || makes(Mistake::StoreIntoCode) || words > 1 && makes(Mistake::LastWordIntoCode) {
            return;
        }
        dynasm!(self.ops
            ; .arch x64
            ; lea edx, [rcx + words as i32]
            ; shr edx, (CODE_GRANULE_BITS as u32 - size) as i8
            ; add rdx, [r15 + GRANULES]
            ; cmp BYTE [rdx], 0
            ; jne =>marked
        );
    }

    pub(super) fn store(&mut self, op: Op, size: u32, indexed: bool) {
        self.store_and_move(op, size, indexed, 0);
    }

    fn store_and_move(&mut self, op: Op, size: u32, indexed: bool, moved: i32) {
        let (place, after) = (self.in_engine(1), self.after(op, 1));
        let (at, done) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
        self.address(op, indexed);
        let again = self.again();
        self.ram_offset(size, M::SRAM.bytes, at);
        self.permitted(STORE, size, 0, again);
        self.no_code(size, 0, at);
        let value = guest(op.a).unwrap_or(2);
        if guest(op.a).is_none() {
            self.read(2, op.a);
        }
        match size {
            0 => dynasm!(self.ops ; .arch x64 ; mov BYTE [r13 + rcx], Rb(value)),
            1 => dynasm!(self.ops ; .arch x64 ; mov WORD [r13 + rcx * 2], Rw(value)),
            _ => dynasm!(self.ops ; .arch x64 ; mov DWORD [r13 + rcx * 4], Rd(value)),
        }
        self.move_base(op.b, moved);
        dynasm!(self.ops ; .arch x64 ; =>done);
        if self.ahead {
            let place = self.at;
            self.stubs.push(Stub::Bail { at, place });
        } else {
            self.stubs.push(Stub::Store { at, size, value: op.a, base: op.b, moved, place, after, done });
        }
        self.here.pending += 1;
    }

    /// Accesses of one register that write the base back; the engine makes the others with such an encoding.
    pub(super) fn indexed(&mut self, op: Op) {
        let Some((moved, before)) = moves_base(op) else { return self.execute(op) };
        let (size, signed, load) = (op.imm >> 21 & 3, op.imm & 1 << 24 != 0, op.imm & 1 << 20 != 0);
        let op = Op { imm: if before { moved as u32 } else { 0 }, ..op };
        if load {
            self.load_and_move(op, Load { size, signed, to: op.a, base: op.b, moved }, false);
        } else {
            self.store_and_move(op, size, false, moved);
        }
    }

    /// LDRD and STRD.
    pub(super) fn double(&mut self, op: Op) {
        if [op.a, op.c].contains(&13) || [op.a, op.b, op.c].contains(&15) {
            return self.execute(op);
        }
        let (place, after) = (self.in_engine(0), self.after(op, 2));
        let (at, done) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
        let (indexed, back) = (op.d & 1 != 0, op.d & 2 != 0);
        self.read(0, op.b);
        if indexed {
            dynasm!(self.ops ; .arch x64 ; add eax, op.imm as i32);
        }
        let again = self.again();
        self.ram_offset(2, M::SRAM.bytes - 4, at);
        self.permitted_words(if op.kind == Kind::Ldrd { LOAD } else { STORE }, 2, again);
        if back && op.b == 13 {
            let moved = if indexed { 0 } else { op.imm as i32 };
            dynasm!(self.ops ; .arch x64 ; lea edx, [rax + moved] ; cmp edx, [r15 + STACK_LIMIT] ; jb =>at);
        }
        if op.kind == Kind::Ldrd {
            // The base may be one of them.
            if back {
                let moved = if indexed { 0 } else { op.imm as i32 };
                dynasm!(self.ops ; .arch x64 ; add eax, moved ; mov edx, [r13 + rcx * 4] ; mov ecx, [r13 + rcx * 4 + 4]);
                self.write(op.a, 2);
                self.write(op.c, 1);
                self.write(op.b, 0);
            } else {
                dynasm!(self.ops ; .arch x64 ; mov edx, [r13 + rcx * 4] ; mov ecx, [r13 + rcx * 4 + 4]);
                self.write(op.a, 2);
                self.write(op.c, 1);
            }
        } else {
            self.no_code(2, 0, at);
            self.no_code(2, 1, at);
            self.put_word(op.a, 0);
            self.put_word(op.c, 4);
            if back {
                let moved = if indexed { 0 } else { op.imm as i32 };
                dynasm!(self.ops ; .arch x64 ; add eax, moved);
                self.write(op.b, 0);
            }
        }
        dynasm!(self.ops ; .arch x64 ; =>done);
        self.leave_to_engine(at, place, after, done);
        self.here.pending += 2;
    }

    /// Writes a register to RAM at ECX words and `offset` bytes.
    fn put_word(&mut self, register: u8, offset: i32) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; mov [r13 + rcx * 4 + offset], Rd(host)),
            None => dynasm!(self.ops
                ; .arch x64
                ; mov edx, [rbx + memory(register)]
                ; mov [r13 + rcx * 4 + offset], edx
            ),
        }
    }

    /// Starts a load/store of a list: EAX is what the base becomes, ECX the offset of its words in RAM, in words.
    /// Leaves it to the interpreter where they are not all plain.
    fn begin_multiple(&mut self, op: Op) -> DynamicLabel {
        let bail = self.bail_here();
        let words = op.imm.count_ones();
        self.read(0, op.b);
        if op.d != 0 {
            dynasm!(self.ops ; .arch x64 ; sub eax, 4 * words as i32);
        }
        let again = self.again();
        self.ram_offset(2, M::SRAM.bytes - 4 * (words - 1), bail);
        self.permitted_words(if op.kind == Kind::Stm { STORE } else { LOAD }, words, again);
        if op.d == 0 {
            dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
        }
        bail
    }

    /// Loads the registers of `list` from RAM at ECX words, and writes the base back before that.
    fn take_words(&mut self, op: Op) {
        if op.c != 0 {
            self.write(op.b, 0);
        }
        for (at, register) in (0..15).filter(|register| op.imm & 1 << register != 0).enumerate() {
            let at = 4 * at as i32;
            match guest(register) {
                Some(host) => dynasm!(self.ops ; .arch x64 ; mov Rd(host), [r13 + rcx * 4 + at]),
                None => dynasm!(self.ops
                    ; .arch x64
                    ; mov edx, [r13 + rcx * 4 + at]
                    ; mov [rbx + memory(register)], edx
                ),
            }
        }
    }

    pub(super) fn load_multiple(&mut self, op: Op) {
        self.begin_multiple(op);
        self.take_words(op);
        self.here.pending += op.imm.count_ones();
    }

    pub(super) fn load_multiple_and_pc(&mut self, op: Op) {
        let words = op.imm.count_ones();
        let bail = self.begin_multiple(op);
        dynasm!(self.ops
            ; .arch x64
            ; mov edx, [r13 + rcx * 4 + 4 * (words - 1) as i32]
            ; test dl, 1
            ; jz =>bail
            ; cmp edx, DWORD 0xf000_0000_u32 as i32
            ; jae =>bail
            ; push rdx
        );
        self.take_words(op);
        dynasm!(self.ops ; .arch x64 ; pop rax ; dec eax);
        self.branch_to_eax(words + time::LOAD_PC as u32);
    }

    pub(super) fn store_multiple(&mut self, op: Op) {
        let words = op.imm.count_ones();
        let bail = self.begin_multiple(op);
        if op.b == 13 && op.d != 0 && op.c != 0 && !makes(Mistake::LimitIgnored) {
            dynasm!(self.ops ; .arch x64 ; cmp eax, [r15 + STACK_LIMIT] ; jb =>bail);
        }
        for word in granules(words) {
            self.no_code(2, word, bail);
        }
        for (at, register) in (0..16).filter(|register| op.imm & 1 << register != 0).enumerate() {
            self.put_word(register, 4 * at as i32);
        }
        if op.c != 0 {
            self.write(op.b, 0);
        }
        self.here.pending += words;
    }

    /// Leaves the instruction to the interpreter, within the block.
    pub(super) fn execute(&mut self, op: Op) {
        let (place, after) = (self.in_engine(0), self.after(op, 0));
        let (at, done) = (self.ops.new_dynamic_label(), self.ops.new_dynamic_label());
        dynasm!(self.ops ; .arch x64 ; jmp =>at ; =>done);
        self.leave_to_engine(at, place, after, done);
    }

    fn leave_to_engine(&mut self, at: DynamicLabel, place: Place, after: After, done: DynamicLabel) {
        if self.ahead {
            let place = self.at;
            self.stubs.push(Stub::Bail { at, place });
        } else {
            self.stubs.push(Stub::Execute { at, place, after, done });
        }
    }

    /// TBB and TBH with a table behind them.
    pub(super) fn table_branch(&mut self, op: Op) {
        let bail = self.bail_here();
        let size = op.imm as usize & 1;
        let table = self.at.pc.wrapping_add(4);
        self.read(0, op.c);
        if size == 1 {
            dynasm!(self.ops ; .arch x64 ; add eax, eax);
        }
        dynasm!(self.ops ; .arch x64 ; add eax, DWORD table as i32);
        if self.in_flash() {
            let flash = self.routines.flash[size];
            dynasm!(self.ops
                ; .arch x64
                ; mov ecx, eax
                ; shr ecx, M::FLASH.bytes.ilog2() as i8
                ; cmp ecx, (M::FLASH.base >> M::FLASH.bytes.ilog2()) as i32
                ; jne =>bail
                ; call extern flash
                ; jc =>bail
            );
        } else {
            let again = self.again();
            self.ram_offset(size as u32, M::SRAM.bytes, bail);
            self.permitted(LOAD, size as u32, 0, again);
            if size == 0 {
                dynasm!(self.ops ; .arch x64 ; movzx eax, BYTE [r13 + rcx]);
            } else {
                dynasm!(self.ops ; .arch x64 ; movzx eax, WORD [r13 + rcx * 2]);
            }
        }
        dynasm!(self.ops ; .arch x64 ; lea eax, [rax * 2 + table as i32]);
        self.branch_to_eax(time::TABLE_BRANCH as u32);
    }
}

/// Returns one of `words` words for each granule that they can be in.
fn granules(words: u32) -> impl Iterator<Item = u32> {
    (0..words - 1).step_by(1 << (CODE_GRANULE_BITS - 2)).chain([words - 1])
}

/// Returns what an instruction of [`Kind::Indexed`] adds to its base, and whether it does so before the access. `None`: it
/// needs the engine.
pub(super) fn moves_base(op: Op) -> Option<(i32, bool)> {
    let (mode, offset) = (op.imm >> 8 & 15, (op.imm & 0xff) as i32);
    // SP has a limit and no low bits. That one register is both is unpredictable.
    let plain = mode & 9 == 9 && !matches!(op.b, 13 | 15) && ![13, op.b].contains(&op.a);
    plain.then_some((if mode & 2 != 0 { offset } else { -offset }, mode & 4 != 0))
}
