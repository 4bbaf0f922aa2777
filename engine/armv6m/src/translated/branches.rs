//! Branches, and continuation after them.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::Part;
use jit::flags::{ALL, unless};
use jit::mistakes::Mistake;
use jit::routines::jump_to_slot;

use super::OFFSETS;
use super::block::{Place, Translation};
use crate::decode::{Kind, Op};

impl<M: Map> Translation<'_, M> {
    /// Continues at `target` after a branch of `cycles`.
    pub(super) fn branch(&mut self, target: u32, cycles: u32) {
        let place = Place { pc: target, word: NO_WORD, cycles: self.here.cycles + cycles, ..self.here };
        if !self.part.contains(target) {
            self.end(place, self.routines.leave);
            return;
        }
        place.flags.write(ALL, &mut self.ops, OFFSETS);
        // The next block looks at the time.
        dynasm!(self.ops ; .arch x64 ; sub r14, place.cycles as i32);
        self.count(place);
        self.pass(target);
        let link = self.links + size_of::<usize>() * self.exits.len();
        self.exits.push(self.part.slot(target));
        dynasm!(self.ops ; .arch x64 ; mov ecx, DWORD target as i32 ; jmp QWORD [extern link]);
    }

    /// Continues at EAX.
    pub(super) fn branch_to_eax(&mut self, cycles: u32) {
        self.write_flags(ALL);
        dynasm!(self.ops ; .arch x64 ; sub r14, (self.here.cycles + cycles) as i32);
        self.count(self.here);
        let cross_region_jump = self.routines.cross_region_jump;
        let Part { start, size, slots, .. } = self.part;
        let before = (start as i32).wrapping_neg();
        dynasm!(self.ops
            ; .arch x64
            ; mov ecx, eax
            ; lea edx, [rax + before]
            ; cmp edx, DWORD size as i32
            ; jae extern cross_region_jump
        );
        jump_to_slot(&mut self.ops, slots);
    }

    pub(super) fn branch_if(&mut self, op: Op) {
        let not = self.ops.new_dynamic_label();
        let condition = match op.kind {
            Kind::Bhi if self.makes(Mistake::HigherOrSame) => Kind::Bcs,
            Kind::Bge if self.makes(Mistake::GreaterWithoutEqual) => Kind::Bgt,
            kind => kind,
        } as u8
            - Kind::Beq as u8;
        let host = self.condition_in_host(condition);
        unless(&mut self.ops, condition, host, not, OFFSETS);
        self.branch(self.here.pc.wrapping_add(4).wrapping_add(op.imm), 2);
        dynasm!(self.ops ; .arch x64 ; =>not);
        let cycles = if self.makes(Mistake::UntakenBranchTakesTwo) { 2 } else { 1 };
        self.here.cycles += cycles;
    }

    /// Checks a branch to the address in EDX; exits to the interpreter if it would fault or return from an exception.
    pub(super) fn check_target(&mut self, bail: DynamicLabel) {
        if self.makes(Mistake::PopToArm) {
            dynasm!(self.ops ; .arch x64 ; or edx, 1);
        }
        dynasm!(self.ops ; .arch x64 ; test dl, 1 ; jz =>bail);
        if !self.makes(Mistake::ExceptionReturn) {
            dynasm!(self.ops ; .arch x64 ; cmp edx, DWORD 0xf000_0000_u32 as i32 ; jae =>bail);
        }
    }
}
