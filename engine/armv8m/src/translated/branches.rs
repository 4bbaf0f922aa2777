//! Branches, and continuation after them.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use jit::Part;
use jit::routines::jump_to_slot;

use super::block::{Place, Stub, Translation, guest, memory};
use super::late_after_branch;
use crate::core::NO_WORD;
use crate::decode::{Kind, Op, flag};
use crate::{Map, time};

impl<M: Map> Translation<'_, M> {
    /// Takes a branch to an offset, after an instruction with the flags `before`.
    pub(super) fn branch(&mut self, op: Op, before: u8) {
        let paired = op.flags & flag::WIDE == 0 && before & flag::QUIET != 0;
        let cycles = if paired { time::TAKEN_PAIRED } else { time::TAKEN };
        self.branch_to(self.at.pc.wrapping_add(4).wrapping_add(op.imm), cycles as u32);
    }

    /// Continues at `target` after a branch of `cycles`.
    pub(super) fn branch_to(&mut self, target: u32, cycles: u32) {
        let taken = (self.here.pending + cycles) as i32;
        let place =
            Place { pc: target, word: NO_WORD, late: late_after_branch(target), it: 0, pending: 0, ..self.here };
        let leave = self.leave(place);
        dynasm!(self.ops ; .arch x64 ; sub r14, taken ; jle =>leave);
        if !self.part.contains(target) {
            dynasm!(self.ops ; .arch x64 ; jmp =>leave);
            return;
        }
        self.count(place);
        let link = self.links + size_of::<usize>() * self.exits.len();
        self.exits.push(self.part.slot(target));
        dynasm!(self.ops ; .arch x64 ; mov ecx, DWORD target as i32 ; jmp QWORD [extern link]);
    }

    /// Continues at EAX.
    pub(super) fn branch_to_eax(&mut self, cycles: u32) {
        let taken = (self.here.pending + cycles) as i32;
        let at = self.ops.new_dynamic_label();
        let place = Place { pending: 0, ..self.here };
        self.stubs.push(Stub::LeaveAt { at, place });
        dynasm!(self.ops ; .arch x64 ; sub r14, taken ; jle =>at);
        self.count(place);
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

    /// Takes a branch if its condition holds.
    pub(super) fn branch_if(&mut self, op: Op, before: u8) {
        let not = self.ops.new_dynamic_label();
        if matches!(op.kind, Kind::Cbz | Kind::Cbnz) {
            match guest(op.a) {
                Some(host) => dynasm!(self.ops ; .arch x64 ; test Rd(host), Rd(host)),
                None => dynasm!(self.ops ; .arch x64 ; cmp DWORD [rbx + memory(op.a)], 0),
            }
            if op.kind == Kind::Cbz {
                dynasm!(self.ops ; .arch x64 ; jne =>not);
            } else {
                dynasm!(self.ops ; .arch x64 ; je =>not);
            }
        } else {
            self.unless(op.kind, not);
        }
        self.branch(op, before);
        dynasm!(self.ops ; .arch x64 ; =>not);
    }
}
