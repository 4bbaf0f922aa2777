//! The instructions, with their flags and cycles.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::Map;
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use jit::flags::{ALL, Apply, C, Host, NZ, Operand, Source, V};
use jit::mistakes::Mistake;
use jit::routines::{ECX, GUEST};
use jit::{Access, Check, Flow, Offset, Shift};

use super::LAYOUT;
use super::block::Translation;
use crate::decode::{Kind, Op};

const CARRY: i32 = LAYOUT.c;

impl<M: Map> Translation<'_, '_, M> {
    /// Translates the current instruction.
    #[allow(clippy::too_many_lines)]
    pub(super) fn instruction(&mut self, op: Op) -> Flow {
        let pc = self.here.pc;
        match op.kind {
            Kind::MovsReg => {
                self.copy(op.a, op.c);
                self.value_of(op, None);
            }
            Kind::MovImm => {
                self.write_constant(op.a, op.imm);
                self.value_of(op, None);
            }
            Kind::LslImm | Kind::LsrImm | Kind::AsrImm => {
                let shift = match op.kind {
                    Kind::LslImm => Shift::Lsl,
                    Kind::LsrImm => Shift::Lsr,
                    _ => Shift::Asr,
                };
                self.shift(shift, [op.a, op.c], op.imm as u8, true);
                self.here.cycles += 1;
            }
            Kind::LslReg | Kind::LsrReg | Kind::AsrReg | Kind::RorReg => self.shift_by_register(op),
            Kind::AddReg | Kind::AddImm | Kind::Cmn => self.sum_of(op, false),
            Kind::SubReg | Kind::SubImm | Kind::Rsb | Kind::CmpImm | Kind::CmpReg => self.sum_of(op, true),
            Kind::Adc | Kind::Sbc => self.sum_with_carry(op),
            Kind::And | Kind::Eor | Kind::Orr | Kind::Mul | Kind::Bic | Kind::Mvn | Kind::Tst => self.logic(op),
            Kind::AddHi => {
                self.read(0, op.b);
                Operand::Register(op.c).apply(Apply::Add, 0, &mut self.ops, LAYOUT);
                self.move_to(op.a);
            }
            Kind::AddFromPc => {
                self.read(0, op.b);
                dynasm!(self.ops ; .arch x64 ; add eax, DWORD pc.wrapping_add(4) as i32);
                self.move_to(op.a);
            }
            Kind::MovHi if op.a < 8 => {
                self.copy(op.a, op.c);
                self.here.cycles += 1;
            }
            Kind::MovHi => {
                self.read(0, op.c);
                self.move_to(op.a);
            }
            Kind::MovFromPc => {
                dynasm!(self.ops ; .arch x64 ; mov eax, DWORD pc.wrapping_add(4) as i32);
                self.move_to(op.a);
            }
            Kind::Adr => {
                let aligned = if self.makes(Mistake::AdrUnaligned) { !0 } else { !3 };
                self.write_constant(op.a, (pc.wrapping_add(4) & aligned).wrapping_add(op.imm));
                self.here.cycles += 1;
            }
            Kind::AddSpImm => {
                self.read(0, 13);
                dynasm!(self.ops ; .arch x64 ; add eax, op.imm as i32);
                self.write(op.a, 0);
                self.here.cycles += 1;
            }
            Kind::AddSp => {
                dynasm!(self.ops ; .arch x64 ; add DWORD [rbx + LAYOUT.register(13)], op.imm as i32);
                self.here.cycles += 1;
            }
            Kind::SubSp => {
                dynasm!(self.ops ; .arch x64 ; sub DWORD [rbx + LAYOUT.register(13)], op.imm as i32);
                self.here.cycles += 1;
            }
            Kind::Sxth | Kind::Sxtb | Kind::Uxth | Kind::Uxtb | Kind::Rev | Kind::Rev16 | Kind::Revsh => {
                self.extend(op)
            }
            Kind::Nop => self.here.cycles += 1,
            Kind::LdrLit => self.load_literal(op.a, (pc.wrapping_add(4) & !3).wrapping_add(op.imm)),
            Kind::LdrReg => self.load(access(op, 2), index(op)),
            Kind::LdrhReg => self.load(access(op, 1), index(op)),
            Kind::LdrbReg => self.load(access(op, 0), index(op)),
            Kind::LdrshReg => self.load(Access { signed: true, ..access(op, 1) }, index(op)),
            Kind::LdrsbReg => self.load(Access { signed: true, ..access(op, 0) }, index(op)),
            Kind::LdrImm => self.load(access(op, 2), Offset::Constant(op.imm)),
            Kind::LdrhImm => self.load(access(op, 1), Offset::Constant(op.imm)),
            Kind::LdrbImm => self.load(access(op, 0), Offset::Constant(op.imm)),
            Kind::StrReg => self.store(access(op, 2), index(op)),
            Kind::StrhReg => self.store(access(op, 1), index(op)),
            Kind::StrbReg => self.store(access(op, 0), index(op)),
            Kind::StrImm => self.store(access(op, 2), Offset::Constant(op.imm)),
            Kind::StrhImm => self.store(access(op, 1), Offset::Constant(op.imm)),
            Kind::StrbImm => self.store(access(op, 0), Offset::Constant(op.imm)),
            Kind::Push => {
                let words = op.imm.count_ones();
                self.read(0, 13);
                dynasm!(self.ops ; .arch x64 ; sub eax, 4 * words as i32);
                self.begin_multiple(words, Check::NoCode);
                self.put_words(op.imm);
                self.write_aligned(13, 0);
                self.here.cycles += words + 1;
            }
            Kind::Pop | Kind::PopPc => {
                let pops_pc = op.kind == Kind::PopPc;
                let words = op.imm.count_ones() + u32::from(pops_pc);
                self.read(0, 13);
                self.begin_multiple(words, if pops_pc { Check::Target } else { Check::None });
                dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
                self.write_aligned(13, 0);
                self.take_words(op.imm);
                if pops_pc {
                    dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
                    self.branch_to_eax(words + 3);
                    return Flow::Ended;
                }
                self.here.cycles += words + 1;
            }
            Kind::Stm | Kind::Ldm => {
                let (words, stores) = (op.imm.count_ones(), op.kind == Kind::Stm);
                self.read(0, op.b);
                self.begin_multiple(words, if stores { Check::NoCode } else { Check::None });
                if stores {
                    self.put_words(op.imm);
                } else {
                    self.take_words(op.imm);
                }
                if stores || op.imm & 1 << op.b == 0 || self.makes(Mistake::LdmWritesBack) {
                    dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
                    self.write(op.b, 0);
                }
                self.here.cycles += words + 1;
            }
            Kind::B => {
                self.branch(pc.wrapping_add(4).wrapping_add(op.imm), 2);
                return Flow::Ended;
            }
            Kind::Bl => {
                // As in the interpreter.
                if self.in_flash() && pc & 2 == 0 && !self.makes(Mistake::BlFetchesOnce) {
                    self.look_up(&[pc.wrapping_add(4)], true);
                }
                self.write_constant(14, pc.wrapping_add(4) | 1);
                self.branch(pc.wrapping_add(4).wrapping_add(op.imm), 3);
                return Flow::Ended;
            }
            Kind::Bx | Kind::Blx => {
                let bail = self.bail_here();
                self.read(2, op.c);
                if op.kind == Kind::Blx {
                    self.check_thumb(bail);
                    let thumb = u32::from(!self.makes(Mistake::BlxLinksToArm));
                    self.write_constant(14, pc.wrapping_add(2) | thumb);
                } else {
                    self.check_target(bail);
                }
                dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
                self.branch_to_eax(2);
                return Flow::Ended;
            }
            Kind::MovPc | Kind::AddPc => {
                if op.c == 15 {
                    dynasm!(self.ops ; .arch x64 ; mov eax, DWORD pc.wrapping_add(4) as i32);
                } else {
                    self.read(0, op.c);
                }
                if op.kind == Kind::AddPc {
                    dynasm!(self.ops ; .arch x64 ; add eax, DWORD pc.wrapping_add(4) as i32);
                }
                dynasm!(self.ops ; .arch x64 ; and eax, BYTE -2);
                self.branch_to_eax(2);
                return Flow::Ended;
            }
            _ => {
                let not = self.ops.new_dynamic_label();
                self.unless(op.kind as u8 - Kind::Beq as u8, not);
                self.branch(pc.wrapping_add(4).wrapping_add(op.imm), 2);
                dynasm!(self.ops ; .arch x64 ; =>not);
                self.here.cycles += if self.makes(Mistake::UntakenBranchTakesTwo) { 2 } else { 1 };
            }
        }
        Flow::On
    }

    /// Moves EAX to a register, without flags.
    fn move_to(&mut self, register: u8) {
        self.write(register, 0);
        self.here.cycles += 1;
    }

    /// Copies one of R0 to R7.
    fn copy(&mut self, to: u8, from: u8) {
        if to != from {
            self.read(GUEST[usize::from(to & 7)], from);
        }
    }

    /// Ends an instruction of one cycle that has the result in a register of R0 to R7: sets N and Z.
    fn value_of(&mut self, op: Op, host: Option<Host>) {
        self.value(op.a, host);
        self.here.cycles += 1;
    }

    /// Adds, subtracts or compares.
    fn sum_of(&mut self, op: Op, subtracts: bool) {
        let operands = match op.kind {
            Kind::Rsb => [Operand::Constant(0), Operand::Register(op.c)],
            Kind::AddImm | Kind::SubImm | Kind::CmpImm => [Operand::Register(op.b), Operand::Constant(op.imm)],
            _ => [Operand::Register(op.b), Operand::Register(op.c)],
        };
        let to = (!matches!(op.kind, Kind::Cmn | Kind::CmpImm | Kind::CmpReg)).then_some(op.a & 7);
        self.sum(subtracts, operands, to, ALL);
        self.here.cycles += 1;
    }

    /// Adds or subtracts, with the carry, which is in the core.
    fn sum_with_carry(&mut self, op: Op) {
        let [a, c] = [op.a, op.c].map(|register| GUEST[usize::from(register & 7)]);
        let subtracts = op.kind == Kind::Sbc;
        match op.kind {
            Kind::Adc => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + CARRY], 1 ; cmc ; adc Rd(a), Rd(c)),
            _ if self.makes(Mistake::SbcWithoutBorrow) => dynasm!(self.ops ; .arch x64 ; sub Rd(a), Rd(c)),
            _ => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + CARRY], 1 ; sbb Rd(a), Rd(c)),
        }
        self.set_flags(C | V, subtracts, a);
        self.flags_are(C | V, 0, Source::Core);
        self.value_of(op, Some(if subtracts { Host::Difference } else { Host::Sum }));
    }

    fn logic(&mut self, op: Op) {
        let [a, c] = [op.a, op.c].map(|register| GUEST[usize::from(register & 7)]);
        match op.kind {
            Kind::And => dynasm!(self.ops ; .arch x64 ; and Rd(a), Rd(c)),
            Kind::Eor => dynasm!(self.ops ; .arch x64 ; xor Rd(a), Rd(c)),
            Kind::Orr => dynasm!(self.ops ; .arch x64 ; or Rd(a), Rd(c)),
            Kind::Bic => dynasm!(self.ops ; .arch x64 ; mov ecx, Rd(c) ; not ecx ; and Rd(a), ecx),
            Kind::Mul => dynasm!(self.ops ; .arch x64 ; imul Rd(a), Rd(c)),
            Kind::Mvn => {
                self.copy(op.a, op.c);
                dynasm!(self.ops ; .arch x64 ; not Rd(a));
            }
            _ => {
                let source = Source::And(op.b, Operand::Register(op.c));
                let left_out = self.left_out(NZ, source);
                if left_out == 0 {
                    dynasm!(self.ops ; .arch x64 ; mov ecx, Rd(a) ; and ecx, Rd(c));
                    self.set_flags(NZ, false, ECX);
                }
                self.flags_are(NZ, left_out, source);
                self.here.cycles += 1;
                return;
            }
        }
        let logic = !matches!(op.kind, Kind::Mul | Kind::Mvn);
        self.value_of(op, logic.then_some(Host::Logic));
    }

    /// Shifts by a register. The carry is the last bit shifted out; a shift by 0 keeps it.
    fn shift_by_register(&mut self, op: Op) {
        self.read(0, op.b);
        self.read(1, op.c);
        dynasm!(self.ops ; .arch x64 ; and ecx, 0xff);
        if !self.makes(Mistake::CarryOfShiftByZero) {
            dynasm!(self.ops ; .arch x64 ; jz >done);
        }
        let most = if self.makes(Mistake::ShiftByWidth) { 31 } else { 32 };
        match op.kind {
            Kind::LslReg => dynasm!(self.ops
                ; .arch x64
                ; cmp ecx, most
                ; ja >all
                ; shl rax, cl
                ; bt rax, 32
                ; setc BYTE [rbx + CARRY]
                ; mov eax, eax
                ; jmp >done
            ),
            Kind::LsrReg => dynasm!(self.ops
                ; .arch x64
                ; cmp ecx, 32
                ; ja >all
                ; dec ecx
                ; shr rax, cl
                ; mov edx, eax
                ; and edx, 1
                ; mov [rbx + CARRY], dl
                ; shr rax, 1
                ; jmp >done
            ),
            Kind::AsrReg => dynasm!(self.ops
                ; .arch x64
                ; mov edx, 32
                ; cmp ecx, edx
                ; cmova ecx, edx
                ; dec ecx
                ; movsxd rax, eax
                ; sar rax, cl
                ; mov edx, eax
                ; and edx, 1
                ; mov [rbx + CARRY], dl
                ; sar rax, 1
                ; jmp >done
            ),
            _ => dynasm!(self.ops
                ; .arch x64
                ; ror eax, cl
                ; mov edx, eax
                ; shr edx, 31
                ; mov [rbx + CARRY], dl
                ; jmp >done
            ),
        }
        dynasm!(self.ops
            ; .arch x64
            ; all:
            ; xor eax, eax
            ; mov [rbx + CARRY], al
            ; done:
            ; mov Rd(GUEST[usize::from(op.a & 7)]), eax
        );
        self.value_of(op, None);
    }

    fn extend(&mut self, op: Op) {
        let [to, from] = [op.a, op.c].map(|register| GUEST[usize::from(register & 7)]);
        match op.kind {
            Kind::Sxth => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), Rw(from)),
            Kind::Sxtb => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), Rb(from)),
            Kind::Uxth => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), Rw(from)),
            Kind::Uxtb => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), Rb(from)),
            _ => {
                self.copy(op.a, op.c);
                match op.kind {
                    Kind::Rev => dynasm!(self.ops ; .arch x64 ; bswap Rd(to)),
                    Kind::Rev16 => dynasm!(self.ops ; .arch x64 ; bswap Rd(to) ; ror Rd(to), 16),
                    _ => dynasm!(self.ops ; .arch x64 ; ror Rw(to), 8 ; movsx Rd(to), Rw(to)),
                }
            }
        }
        self.here.cycles += 1;
    }
}

/// Returns the access of one value that an instruction makes.
fn access(op: Op, size: u32) -> Access {
    Access { size, signed: false, register: op.a, base: op.b, moved: 0 }
}

fn index(op: Op) -> Offset {
    Offset::Register(op.c, 0)
}
