//! Branches, and continuation after them.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::{Map, NO_WORD};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::block::{Block, Place};
use super::flags::{self, ALL};
use super::mistakes::Mistake;
use super::routines::jump_to_slot;
use super::{BRANCHED, Part, Translate};

impl<A: Translate, M: Map> Block<'_, A, M> {
    /// Continues at `target` after a branch of `cycles`.
    pub fn branch(&mut self, target: u32, cycles: u32) {
        let (cycles, pipeline) = (self.here.cycles + cycles, A::started(target, BRANCHED).1);
        let place = Place { pc: target, word: NO_WORD, cycles, pipeline, ..self.here };
        if !self.part.contains(target) {
            self.end(place, self.routines.leave);
            return;
        }
        place.flags.write(ALL, &mut self.ops, A::LAYOUT);
        // The next block looks at the time.
        dynasm!(self.ops ; .arch x64 ; sub r14, cycles as i32);
        self.count(place);
        self.pass(target);
        let link = self.links + size_of::<usize>() * self.exits.len();
        self.exits.push(self.part.slot(target));
        dynasm!(self.ops ; .arch x64 ; mov ecx, DWORD target as i32 ; jmp QWORD [extern link]);
    }

    /// Continues at EAX.
    pub fn branch_to_eax(&mut self, cycles: u32) {
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

    /// Jumps to `not` unless a condition holds.
    pub fn unless(&mut self, condition: u8, not: DynamicLabel) {
        let condition = match condition {
            8 if self.makes(Mistake::HigherOrSame) => 2,
            9 if self.makes(Mistake::LowerWithoutSame) => 3,
            10 if self.makes(Mistake::GreaterWithoutEqual) => 12,
            condition => condition,
        };
        let host = self.condition_in_host(condition);
        flags::unless(&mut self.ops, condition, host, not, A::LAYOUT);
    }

    /// Exits to the interpreter if bit 0 of EDX, the target of a branch, is clear: that leaves Thumb state.
    pub fn check_thumb(&mut self, bail: DynamicLabel) {
        if self.makes(Mistake::BranchToArm) {
            dynasm!(self.ops ; .arch x64 ; or edx, 1);
        }
        dynasm!(self.ops ; .arch x64 ; test dl, 1 ; jz =>bail);
    }

    /// Does the same, and if a branch there returns from an exception.
    pub fn check_target(&mut self, bail: DynamicLabel) {
        self.check_thumb(bail);
        if !self.makes(Mistake::ExceptionReturn) {
            dynasm!(self.ops ; .arch x64 ; cmp edx, DWORD 0xf000_0000_u32 as i32 ; jae =>bail);
        }
    }
}
