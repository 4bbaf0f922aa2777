//! The instructions, with their flags and cycles.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::Map;
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use jit::mistakes::Mistake;
use jit::routines::GUEST;
use jit::source;

use super::block::{Check, Late, Translation, guest, imm, memory};
use super::{C, NZ};
use crate::decode::{Kind, Op};

impl<M: Map> Translation<'_, M> {
    /// Returns false if the block ends here.
    #[allow(clippy::too_many_lines)]
    pub(super) fn instruction(&mut self, op: Op) -> bool {
        let pc = self.here.pc;
        match op.kind {
            Kind::MovsReg => {
                self.read(0, op.c);
                self.result(op);
            }
            Kind::MovImm => {
                self.write_constant(op.a, op.imm);
                dynasm!(self.ops ; .arch x64 ; mov QWORD [rbx + NZ], imm(op));
                self.here.cycles += 1;
            }
            Kind::LslImm | Kind::LsrImm | Kind::AsrImm => self.shift_by_constant(op),
            Kind::LslReg | Kind::LsrReg | Kind::AsrReg | Kind::RorReg => self.shift_by_register(op),
            Kind::AddReg | Kind::SubReg | Kind::Adc | Kind::Sbc | Kind::Cmn | Kind::Rsb => {
                self.add(op);
                match op.kind {
                    Kind::AddReg | Kind::Adc | Kind::Cmn => self.carry_and_overflow(),
                    _ => self.borrow_and_overflow(),
                }
                if op.kind == Kind::Cmn {
                    self.flags_nz();
                    self.here.cycles += 1;
                } else {
                    self.result(op);
                }
            }
            Kind::AddImm => {
                self.read(0, op.b);
                dynasm!(self.ops ; .arch x64 ; add eax, imm(op));
                if self.makes(Mistake::OverflowOfAdd) {
                    dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + C]);
                } else {
                    self.carry_and_overflow();
                }
                self.result(op);
            }
            Kind::SubImm => {
                self.read(0, op.b);
                dynasm!(self.ops ; .arch x64 ; sub eax, imm(op));
                self.borrow_and_overflow();
                self.result(op);
            }
            Kind::CmpImm | Kind::CmpReg => {
                self.read(0, op.b);
                if op.kind == Kind::CmpImm {
                    dynasm!(self.ops ; .arch x64 ; sub eax, imm(op));
                } else {
                    self.subtract(op.c);
                }
                if !self.makes(Mistake::FlagsOfCompare) {
                    self.borrow_and_overflow();
                    self.flags_nz();
                }
                self.here.cycles += 1;
            }
            Kind::And | Kind::Eor | Kind::Orr | Kind::Mul | Kind::Bic | Kind::Mvn | Kind::Tst => self.logic(op),
            Kind::AddHi => {
                self.read(0, op.b);
                match guest(op.c) {
                    Some(host) => dynasm!(self.ops ; .arch x64 ; add eax, Rd(host)),
                    None => dynasm!(self.ops ; .arch x64 ; add eax, [rbx + memory(op.c)]),
                }
                self.move_to(op.a);
            }
            Kind::AddFromPc => {
                self.read(0, op.b);
                dynasm!(self.ops ; .arch x64 ; add eax, DWORD pc.wrapping_add(4) as i32);
                self.move_to(op.a);
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
                dynasm!(self.ops ; .arch x64 ; add eax, imm(op));
                self.write(op.a, 0);
                self.here.cycles += 1;
            }
            Kind::AddSp => {
                dynasm!(self.ops ; .arch x64 ; add DWORD [rbx + memory(13)], imm(op));
                self.here.cycles += 1;
            }
            Kind::SubSp => {
                dynasm!(self.ops ; .arch x64 ; sub DWORD [rbx + memory(13)], imm(op));
                self.here.cycles += 1;
            }
            Kind::Sxth | Kind::Sxtb | Kind::Uxth | Kind::Uxtb | Kind::Rev | Kind::Rev16 | Kind::Revsh => {
                self.extend(op)
            }
            Kind::Nop => self.here.cycles += 1,
            Kind::LdrLit => self.load_literal(op),
            Kind::LdrReg => self.load(op, 2, false, true),
            Kind::LdrhReg => self.load(op, 1, false, true),
            Kind::LdrbReg => self.load(op, 0, false, true),
            Kind::LdrshReg => self.load(op, 1, true, true),
            Kind::LdrsbReg => self.load(op, 0, true, true),
            Kind::LdrImm => self.load(op, 2, false, false),
            Kind::LdrhImm => self.load(op, 1, false, false),
            Kind::LdrbImm => self.load(op, 0, false, false),
            Kind::StrReg => self.store(op, 2, true),
            Kind::StrhReg => self.store(op, 1, true),
            Kind::StrbReg => self.store(op, 0, true),
            Kind::StrImm => self.store(op, 2, false),
            Kind::StrhImm => self.store(op, 1, false),
            Kind::StrbImm => self.store(op, 0, false),
            Kind::Push => {
                let words = op.imm.count_ones();
                self.read(0, 13);
                dynasm!(self.ops ; .arch x64 ; sub eax, 4 * words as i32);
                self.begin_multiple(words, Check::NoCode);
                self.store_multiple(op.imm);
                self.write(13, 0);
                self.here.cycles += words + 1;
            }
            Kind::Pop => {
                let words = op.imm.count_ones();
                self.read(0, 13);
                self.begin_multiple(words, Check::None);
                self.load_multiple(op.imm);
                dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
                self.write(13, 0);
                self.here.cycles += words + 1;
            }
            Kind::PopPc => {
                let words = op.imm.count_ones() + 1;
                self.read(0, 13);
                self.begin_multiple(words, Check::Target);
                self.load_multiple(op.imm);
                dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
                self.write(13, 0);
                dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
                self.branch_to_eax(words + 3);
                return false;
            }
            Kind::Stm => {
                let words = op.imm.count_ones();
                self.read(0, op.b);
                self.begin_multiple(words, Check::NoCode);
                self.store_multiple(op.imm);
                dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
                self.write(op.b, 0);
                self.here.cycles += words + 1;
            }
            Kind::Ldm => {
                let words = op.imm.count_ones();
                self.read(0, op.b);
                self.begin_multiple(words, Check::None);
                self.load_multiple(op.imm);
                if op.imm & 1 << op.b == 0 || self.makes(Mistake::LdmWritesBack) {
                    dynasm!(self.ops ; .arch x64 ; add eax, 4 * words as i32);
                    self.write(op.b, 0);
                }
                self.here.cycles += words + 1;
            }
            Kind::B => {
                self.branch(pc.wrapping_add(4).wrapping_add(op.imm), 2);
                return false;
            }
            Kind::Bl => {
                // As in the interpreter.
                if self.part.source == source::FLASH && pc & 2 == 0 && !self.makes(Mistake::BlFetchesOnce) {
                    let late = if self.ahead { Late::Stuck(self.bail(self.before)) } else { Late::Ends };
                    self.here.fetched += 1;
                    self.look_up(&[pc.wrapping_add(4)], late);
                }
                self.write_constant(14, pc.wrapping_add(4) | 1);
                self.branch(pc.wrapping_add(4).wrapping_add(op.imm), 3);
                return false;
            }
            Kind::Bx | Kind::Blx => {
                let bail = self.bail_here();
                self.read(2, op.c);
                if self.makes(Mistake::BxToArm) {
                    dynasm!(self.ops ; .arch x64 ; or edx, 1);
                }
                dynasm!(self.ops ; .arch x64 ; test dl, 1 ; jz =>bail);
                if op.kind == Kind::Blx {
                    let thumb = u32::from(!self.makes(Mistake::BlxLinksToArm));
                    self.write_constant(14, pc.wrapping_add(2) | thumb);
                } else {
                    self.check_target(bail);
                }
                dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
                self.branch_to_eax(2);
                return false;
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
                return false;
            }
            _ => self.branch_if(op),
        }
        true
    }

    /// Moves EAX to a register, without flags. The stack pointer's lowest bits are 0.
    pub(super) fn move_to(&mut self, register: u8) {
        if register == 13 && !self.makes(Mistake::SpUnaligned) {
            dynasm!(self.ops ; .arch x64 ; and eax, BYTE -4);
        }
        self.write(register, 0);
        self.here.cycles += 1;
    }

    pub(super) fn subtract(&mut self, register: u8) {
        match guest(register) {
            Some(host) => dynasm!(self.ops ; .arch x64 ; sub eax, Rd(host)),
            None => dynasm!(self.ops ; .arch x64 ; sub eax, [rbx + memory(register)]),
        }
    }

    /// Adds or subtracts low registers into EAX, with x86's carry and overflow.
    pub(super) fn add(&mut self, op: Op) {
        let c = GUEST[usize::from(op.c & 7)];
        if op.kind == Kind::Rsb {
            dynasm!(self.ops ; .arch x64 ; xor eax, eax ; sub eax, Rd(c));
            return;
        }
        self.read(0, op.b);
        match op.kind {
            Kind::Adc => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 1 ; cmc ; adc eax, Rd(c)),
            Kind::Sbc if self.makes(Mistake::SbcWithoutBorrow) => dynasm!(self.ops ; .arch x64 ; sub eax, Rd(c)),
            Kind::Sbc => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 1 ; sbb eax, Rd(c)),
            Kind::SubReg => dynasm!(self.ops ; .arch x64 ; sub eax, Rd(c)),
            _ => dynasm!(self.ops ; .arch x64 ; add eax, Rd(c)),
        }
    }

    pub(super) fn logic(&mut self, op: Op) {
        let c = GUEST[usize::from(op.c & 7)];
        if matches!(op.kind, Kind::Bic | Kind::Mvn) {
            dynasm!(self.ops ; .arch x64 ; mov eax, Rd(c) ; not eax);
            if op.kind == Kind::Bic {
                dynasm!(self.ops ; .arch x64 ; and eax, Rd(GUEST[usize::from(op.b & 7)]));
            }
        } else {
            self.read(0, op.b);
            match op.kind {
                Kind::Eor => dynasm!(self.ops ; .arch x64 ; xor eax, Rd(c)),
                Kind::Orr => dynasm!(self.ops ; .arch x64 ; or eax, Rd(c)),
                Kind::Mul => dynasm!(self.ops ; .arch x64 ; imul eax, Rd(c)),
                _ => dynasm!(self.ops ; .arch x64 ; and eax, Rd(c)),
            }
        }
        if op.kind == Kind::Tst {
            self.flags_nz();
            self.here.cycles += 1;
        } else {
            self.result(op);
        }
    }

    pub(super) fn shift_by_constant(&mut self, op: Op) {
        self.read(0, op.c);
        match (op.kind, op.imm) {
            (Kind::LslImm, n) => dynasm!(self.ops ; .arch x64 ; shl eax, n as i8 ; setc BYTE [rbx + C]),
            (Kind::LsrImm, 32) => dynasm!(self.ops
                ; .arch x64
                ; shr eax, 31
                ; mov [rbx + C], al
                ; xor eax, eax
            ),
            (Kind::LsrImm, n) if self.makes(Mistake::CarryOfShift) => dynasm!(self.ops ; .arch x64 ; shr eax, n as i8),
            (Kind::LsrImm, n) => dynasm!(self.ops ; .arch x64 ; shr eax, n as i8 ; setc BYTE [rbx + C]),
            (_, 32) => dynasm!(self.ops
                ; .arch x64
                ; sar eax, 31
                ; mov ecx, eax
                ; and ecx, 1
                ; mov [rbx + C], cl
            ),
            (_, n) => dynasm!(self.ops ; .arch x64 ; sar eax, n as i8 ; setc BYTE [rbx + C]),
        }
        self.result(op);
    }

    /// Shifts by a register. The carry is the last bit shifted out; a shift by 0 keeps it.
    pub(super) fn shift_by_register(&mut self, op: Op) {
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
                ; setc BYTE [rbx + C]
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
                ; mov [rbx + C], dl
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
                ; mov [rbx + C], dl
                ; sar rax, 1
                ; jmp >done
            ),
            _ => dynasm!(self.ops
                ; .arch x64
                ; ror eax, cl
                ; mov edx, eax
                ; shr edx, 31
                ; mov [rbx + C], dl
                ; jmp >done
            ),
        }
        dynasm!(self.ops
            ; .arch x64
            ; all:
            ; xor eax, eax
            ; mov [rbx + C], al
            ; done:
        );
        self.result(op);
    }

    pub(super) fn extend(&mut self, op: Op) {
        self.read(0, op.c);
        match op.kind {
            Kind::Sxth => dynasm!(self.ops ; .arch x64 ; movsx eax, ax),
            Kind::Sxtb => dynasm!(self.ops ; .arch x64 ; movsx eax, al),
            Kind::Uxth => dynasm!(self.ops ; .arch x64 ; movzx eax, ax),
            Kind::Uxtb => dynasm!(self.ops ; .arch x64 ; movzx eax, al),
            Kind::Rev => dynasm!(self.ops ; .arch x64 ; bswap eax),
            Kind::Rev16 => dynasm!(self.ops ; .arch x64 ; bswap eax ; ror eax, 16),
            _ => dynasm!(self.ops ; .arch x64 ; ror ax, 8 ; movsx eax, ax),
        }
        self.write(op.a, 0);
        self.here.cycles += 1;
    }
}
