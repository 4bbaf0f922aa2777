//! Branches, and continuation after them.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use jit::Part;
use jit::flags::ALL;
use jit::mistakes::Mistake;
use jit::routines::{Assembler, jump_to_slot};

use super::block::{Host, Place, Translation};
use super::{C, NZ, OFFSETS, V};
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
        match self.condition_in_host(op.kind) {
            Some(Host::Difference) => match op.kind {
                Kind::Bcs => dynasm!(self.ops ; .arch x64 ; jb =>not),
                Kind::Bcc => dynasm!(self.ops ; .arch x64 ; jae =>not),
                Kind::Bhi => dynasm!(self.ops ; .arch x64 ; jbe =>not),
                Kind::Bls => dynasm!(self.ops ; .arch x64 ; ja =>not),
                kind => self.unless(kind, not),
            },
            Some(_) => match op.kind {
                Kind::Bcs => dynasm!(self.ops ; .arch x64 ; jae =>not),
                Kind::Bcc => dynasm!(self.ops ; .arch x64 ; jb =>not),
                kind => self.unless(kind, not),
            },
            None => self.branch_by_flags(op.kind, not),
        }
        self.branch(self.here.pc.wrapping_add(4).wrapping_add(op.imm), 2);
        dynasm!(self.ops ; .arch x64 ; =>not);
        let cycles = if self.makes(Mistake::UntakenBranchTakesTwo) { 2 } else { 1 };
        self.here.cycles += cycles;
    }

    /// Jumps to `not` unless x86's flags fulfil a condition without the carry.
    fn unless(&mut self, kind: Kind, not: DynamicLabel) {
        match kind {
            Kind::Beq => dynasm!(self.ops ; .arch x64 ; jne =>not),
            Kind::Bne => dynasm!(self.ops ; .arch x64 ; je =>not),
            Kind::Bmi => dynasm!(self.ops ; .arch x64 ; jns =>not),
            Kind::Bpl => dynasm!(self.ops ; .arch x64 ; js =>not),
            Kind::Bvs => dynasm!(self.ops ; .arch x64 ; jno =>not),
            Kind::Bvc => dynasm!(self.ops ; .arch x64 ; jo =>not),
            Kind::Bge => dynasm!(self.ops ; .arch x64 ; jl =>not),
            Kind::Blt => dynasm!(self.ops ; .arch x64 ; jge =>not),
            Kind::Bgt => dynasm!(self.ops ; .arch x64 ; jle =>not),
            _ => dynasm!(self.ops ; .arch x64 ; jg =>not),
        }
    }

    /// Jumps to `not` unless the core's flags fulfil a condition.
    fn branch_by_flags(&mut self, kind: Kind, not: DynamicLabel) {
        let sign = NZ + 4;
        // x86's Z: N == V.
        let n_and_v = |ops: &mut Assembler| {
            dynasm!(ops
                ; .arch x64
                ; mov ecx, [rbx + sign]
                ; shr ecx, 31
                ; cmp cl, [rbx + V]
            );
        };
        match kind {
            Kind::Beq => dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + NZ], 0 ; jne =>not),
            Kind::Bne => dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + NZ], 0 ; je =>not),
            Kind::Bcs => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 0 ; je =>not),
            Kind::Bcc => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 0 ; jne =>not),
            Kind::Bmi => dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + sign], 0 ; jge =>not),
            Kind::Bpl => dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + sign], 0 ; jl =>not),
            Kind::Bvs => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + V], 0 ; je =>not),
            Kind::Bvc => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + V], 0 ; jne =>not),
            Kind::Bhi if self.makes(Mistake::HigherOrSame) => {
                dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 0 ; je =>not);
            }
            Kind::Bhi => dynasm!(self.ops
                ; .arch x64
                ; cmp BYTE [rbx + C], 0
                ; je =>not
                ; cmp DWORD [rbx + NZ], 0
                ; je =>not
            ),
            Kind::Bls => dynasm!(self.ops
                ; .arch x64
                ; cmp BYTE [rbx + C], 0
                ; je >holds
                ; cmp DWORD [rbx + NZ], 0
                ; jne =>not
                ; holds:
            ),
            Kind::Bge => {
                n_and_v(&mut self.ops);
                if self.makes(Mistake::GreaterWithoutEqual) {
                    dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + NZ], 0 ; je =>not);
                    n_and_v(&mut self.ops);
                }
                dynasm!(self.ops ; .arch x64 ; jne =>not);
            }
            Kind::Blt => {
                n_and_v(&mut self.ops);
                dynasm!(self.ops ; .arch x64 ; je =>not);
            }
            Kind::Bgt => {
                dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + NZ], 0 ; je =>not);
                n_and_v(&mut self.ops);
                dynasm!(self.ops ; .arch x64 ; jne =>not);
            }
            _ => {
                dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + NZ], 0 ; je >holds);
                n_and_v(&mut self.ops);
                dynasm!(self.ops ; .arch x64 ; je =>not ; holds:);
            }
        }
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
