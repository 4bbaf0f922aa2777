//! Loads and stores of Armv8-M: those that move the base, of two values, and of lists.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::ahead::{LOAD, STORE};
use jit::routines::{EAX, EDX, STACK_LIMIT};
use jit::{Access, Check, Offset};

use super::Mistake;
use super::block::Translation;
use crate::decode::{Kind, Op};
use crate::{Map, time};

impl<M: Map> Translation<'_, '_, M> {
    /// Accesses of one register that write the base back; the engine makes the others with such an encoding.
    pub(super) fn indexed(&mut self, op: Op) {
        let Some((moved, before)) = moves_base(op) else { return self.execute(true) };
        let (size, signed, load) = (op.imm >> 21 & 3, op.imm & 1 << 24 != 0, op.imm & 1 << 20 != 0);
        let offset = Offset::Constant(if before { moved as u32 } else { 0 });
        let access = Access { size, signed, register: op.a, base: op.b, moved };
        if load { self.load(access, offset) } else { self.store(access, offset) }
    }

    /// LDRD and STRD.
    pub(super) fn double(&mut self, op: Op) {
        if [op.a, op.c].contains(&13) || [op.a, op.b, op.c].contains(&15) {
            return self.execute(true);
        }
        let [at, done] = [0; 2].map(|_| self.ops.new_dynamic_label());
        let (indexed, back) = (op.d & 1 != 0, op.d & 2 != 0);
        self.read(0, op.b);
        if indexed {
            dynasm!(self.ops ; .arch x64 ; add eax, op.imm as i32);
        }
        let loads = op.kind == Kind::Ldrd;
        self.in_ram_at(2, M::SRAM.bytes - 4, if loads { LOAD } else { STORE }, 2, at);
        let moved = if indexed { 0 } else { op.imm as i32 };
        if back && op.b == 13 {
            dynasm!(self.ops ; .arch x64 ; lea edx, [rax + moved] ; cmp edx, [r15 + STACK_LIMIT] ; jb =>at);
        }
        if loads {
            // The base may be one of them.
            dynasm!(self.ops ; .arch x64 ; mov edx, [r13 + rcx * 4] ; mov ecx, [r13 + rcx * 4 + 4]);
            self.write(op.a, 2);
            self.write(op.c, 1);
        } else {
            self.check_multiple(2, Check::NoCode, at);
            self.put_into_ram(2, op.a, 0);
            self.put_into_ram(2, op.c, 4);
        }
        if back {
            dynasm!(self.ops ; .arch x64 ; add eax, moved);
            self.write(op.b, 0);
        }
        dynasm!(self.ops ; .arch x64 ; =>done);
        self.execute_at(at, done, 2, true);
    }

    /// Loads and stores of a list.
    pub(super) fn multiple(&mut self, op: Op, check: Check) {
        let (words, lowers) = (op.imm.count_ones(), op.d != 0);
        self.read(0, op.b);
        if lowers {
            dynasm!(self.ops ; .arch x64 ; sub eax, 4 * words as i32);
        }
        let bail = self.begin_multiple(words, check);
        if op.kind == Kind::Stm && op.b == 13 && lowers && op.c != 0 && !self.makes(Mistake::LimitIgnored) {
            dynasm!(self.ops ; .arch x64 ; cmp eax, [r15 + STACK_LIMIT] ; jb =>bail);
        }
        if op.kind == Kind::Stm {
            self.put_words(op.imm);
        }
        if op.c != 0 {
            if !lowers {
                dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
            }
            self.write_aligned(op.b, 0);
        }
        if op.kind != Kind::Stm {
            self.take_words(op.imm);
        }
        if check == Check::Target {
            dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
            self.branch_to_eax(words + time::LOAD_PC as u32);
        } else {
            self.here.cycles += words;
        }
    }

    /// Reads the value at EAX, in the region of the code, into a register of the PC.
    fn read_near(&mut self, size: u32, to: u8, bail: DynamicLabel) {
        if self.in_flash() {
            self.read_flash(size, false, to, bail, bail);
            return;
        }
        self.in_ram_at(size, M::SRAM.bytes, LOAD, 1, bail);
        match size {
            0 => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), BYTE [r13 + rcx]),
            1 => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), WORD [r13 + rcx * 2]),
            _ => dynasm!(self.ops ; .arch x64 ; mov Rd(to), [r13 + rcx * 4]),
        }
    }

    /// LDR of the PC from a literal, as linkers make for a far call.
    pub(super) fn branch_by_literal(&mut self, op: Op) {
        let (bail, bad) = (self.bail_here(), self.ops.new_dynamic_label());
        let (offset, base) = (op.imm & 0xfff, self.at.pc.wrapping_add(4) & !3);
        let address = if op.imm & 1 << 23 != 0 { base.wrapping_add(offset) } else { base.wrapping_sub(offset) };
        dynasm!(self.ops ; .arch x64 ; mov eax, DWORD address as i32);
        self.read_near(2, EDX, bail);
        self.check_target(bad);
        dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
        self.branch_to_eax(1 + time::LOAD_PC as u32);
        dynasm!(self.ops ; .arch x64 ; =>bad);
        if self.in_flash() {
            self.unread_flash();
        }
        dynasm!(self.ops ; .arch x64 ; jmp =>bail);
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
        self.read_near(size as u32, EAX, bail);
        dynasm!(self.ops ; .arch x64 ; lea eax, [rax * 2 + table as i32]);
        self.branch_to_eax(time::TABLE_BRANCH as u32);
    }
}

/// Returns what an instruction of [`Kind::Indexed`] adds to its base, and whether it does so before the access. `None`: it
/// needs the engine.
pub(super) fn moves_base(op: Op) -> Option<(i32, bool)> {
    let (mode, offset) = (op.imm >> 8 & 15, (op.imm & 0xff) as i32);
    // SP has a limit and no low bits. That one register is both is unpredictable.
    let plain = mode & 9 == 9 && !matches!(op.b, 13 | 15) && ![13, op.b].contains(&op.a);
    plain.then_some((if mode & 2 != 0 { offset } else { -offset }, mode & 4 != 0))
}
