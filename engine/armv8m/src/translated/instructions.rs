//! The instructions, with their flags and cycles.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use jit::flags::Host;
use jit::{Access, Check, Flow, Offset, guest};

use super::block::Translation;
use super::{C, Mistake, NZ, V, memory};
use crate::decode::{Kind, Op, flag};
use crate::{Map, time};

/// The second operand of an instruction.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Register(u8),
    Constant(u32),
    /// In ECX.
    Shifted,
}

impl<M: Map> Translation<'_, '_, M> {
    /// Translates the current instruction. `before`: the flags of the one before ([`flag`]). It sets the PC only where
    /// the next instruction is not paired with a NOP before this one.
    #[allow(clippy::too_many_lines)]
    pub(super) fn instruction(&mut self, op: Op, before: u8) -> Flow {
        use Kind::*;
        let pc = self.at.pc;
        let (c, imm) = (Operand::Register(op.c), Operand::Constant(op.imm));
        match op.kind {
            AndImm | AndImmS => self.logic(op, Logic::And, imm, op.kind == AndImmS, true),
            AndReg | AndRegS => self.logic(op, Logic::And, c, op.kind == AndRegS, true),
            BicImm | BicImmS => {
                self.logic(op, Logic::And, Operand::Constant(!op.imm), op.kind == BicImmS, true);
            }
            BicReg | BicRegS => self.logic(op, Logic::Bic, c, op.kind == BicRegS, true),
            OrrImm | OrrImmS => self.logic(op, Logic::Orr, imm, op.kind == OrrImmS, true),
            OrrReg | OrrRegS => self.logic(op, Logic::Orr, c, op.kind == OrrRegS, true),
            OrnImm | OrnImmS => {
                self.logic(op, Logic::Orr, Operand::Constant(!op.imm), op.kind == OrnImmS, true);
            }
            OrnReg | OrnRegS => self.logic(op, Logic::Orn, c, op.kind == OrnRegS, true),
            EorImm | EorImmS => self.logic(op, Logic::Eor, imm, op.kind == EorImmS, true),
            EorReg | EorRegS => self.logic(op, Logic::Eor, c, op.kind == EorRegS, true),
            TstImm => self.logic(op, Logic::And, imm, true, false),
            TstReg => self.logic(op, Logic::And, c, true, false),
            TeqImm => self.logic(op, Logic::Eor, imm, true, false),
            TeqReg => self.logic(op, Logic::Eor, c, true, false),
            MovImm | MovImmS | MvnImm | MvnImmS => {
                let value = if matches!(op.kind, MvnImm | MvnImmS) { !op.imm } else { op.imm };
                self.write_constant(op.a, value);
                if matches!(op.kind, MovImmS | MvnImmS) {
                    dynasm!(self.ops ; .arch x64 ; mov QWORD [rbx + NZ], value as i32);
                    self.carry_of_constant(op);
                }
                self.here.cycles += 1;
            }
            MovReg if op.c != 15 && guest(op.a).is_some() => {
                self.read(guest(op.a).unwrap_or_default(), op.c);
                self.here.cycles += 1;
            }
            MovReg => {
                self.read_or_pc(0, op.c);
                self.write(op.a, 0);
                self.here.cycles += 1;
            }
            MovRegS => {
                self.read(0, op.c);
                self.result(op.a, true);
            }
            MvnReg | MvnRegS => {
                self.read(0, op.c);
                dynasm!(self.ops ; .arch x64 ; not eax);
                self.result(op.a, op.kind == MvnRegS);
            }
            AddImm | AddSpImm => {
                let base = if op.kind == AddSpImm { 13 } else { op.b };
                match (guest(base), guest(op.a)) {
                    (Some(base), Some(to)) => {
                        dynasm!(self.ops ; .arch x64 ; lea Rd(to), [Rq(base) + op.imm as i32]);
                    }
                    _ => {
                        self.read(0, base);
                        dynasm!(self.ops ; .arch x64 ; add eax, op.imm as i32);
                        self.write(op.a, 0);
                    }
                }
                self.here.cycles += 1;
            }
            SubImm if op.a == 13 && op.b == 13 => self.lower_stack(op),
            SubSpImm => self.lower_stack(op),
            AddReg => {
                match (guest(op.b), guest(op.c), guest(op.a)) {
                    (Some(x), Some(y), Some(to)) => dynasm!(self.ops ; .arch x64 ; lea Rd(to), [Rq(x) + Rq(y)]),
                    _ => {
                        self.read_or_pc(0, op.b);
                        self.read_or_pc(1, op.c);
                        dynasm!(self.ops ; .arch x64 ; add eax, ecx);
                        self.write(op.a, 0);
                    }
                }
                self.here.cycles += 1;
            }
            AddImmS => self.sum(op, Sum::Add, imm, true, true),
            AddRegS => self.sum(op, Sum::Add, c, true, true),
            CmnImm => self.sum(op, Sum::Add, imm, true, false),
            CmnReg => self.sum(op, Sum::Add, c, true, false),
            AdcImm | AdcImmS => self.sum(op, Sum::Adc, imm, op.kind == AdcImmS, true),
            AdcReg | AdcRegS => self.sum(op, Sum::Adc, c, op.kind == AdcRegS, true),
            SbcImm | SbcImmS => self.sum(op, Sum::Sbc, imm, op.kind == SbcImmS, true),
            SbcReg | SbcRegS => self.sum(op, Sum::Sbc, c, op.kind == SbcRegS, true),
            SubImm | SubImmS => self.sum(op, Sum::Sub, imm, op.kind == SubImmS, true),
            SubReg | SubRegS => self.sum(op, Sum::Sub, c, op.kind == SubRegS, true),
            CmpImm => self.sum(op, Sum::Sub, imm, true, false),
            CmpReg => self.sum(op, Sum::Sub, c, true, false),
            RsbImm | RsbImmS => self.sum(op, Sum::Rsb, imm, op.kind == RsbImmS, true),
            RsbReg | RsbRegS => self.sum(op, Sum::Rsb, c, op.kind == RsbRegS, true),
            LslImm | LslImmS | LsrImm | LsrImmS | AsrImm | AsrImmS | RorImm | RorImmS => {
                let (kind, flags) = match op.kind {
                    LslImm => (0, false),
                    LslImmS => (0, true),
                    LsrImm => (1, false),
                    LsrImmS => (1, true),
                    AsrImm => (2, false),
                    AsrImmS => (2, true),
                    RorImm => (3, false),
                    _ => (3, true),
                };
                self.read(0, op.c);
                self.shift_constant(0, kind, op.imm, flags);
                self.result(op.a, flags);
            }
            LslReg | LslRegS | LsrReg | LsrRegS | AsrReg | AsrRegS | RorReg | RorRegS => {
                let (kind, flags) = match op.kind {
                    LslReg => (0, false),
                    LslRegS => (0, true),
                    LsrReg => (1, false),
                    LsrRegS => (1, true),
                    AsrReg => (2, false),
                    AsrRegS => (2, true),
                    RorReg => (3, false),
                    _ => (3, true),
                };
                self.shift_register(op, kind, flags);
                self.result(op.a, flags);
            }
            Mul | MulS => {
                self.read(0, op.b);
                match guest(op.c) {
                    Some(host) => dynasm!(self.ops ; .arch x64 ; imul eax, Rd(host)),
                    None => dynasm!(self.ops ; .arch x64 ; imul eax, [rbx + memory(op.c)]),
                }
                self.result(op.a, op.kind == MulS);
                self.host = None;
                self.here.cycles += u32::from(op.kind == MulS);
            }
            Mla | Mls => {
                self.read(1, op.b);
                match guest(op.c) {
                    Some(host) => dynasm!(self.ops ; .arch x64 ; imul ecx, Rd(host)),
                    None => dynasm!(self.ops ; .arch x64 ; imul ecx, [rbx + memory(op.c)]),
                }
                self.read(0, op.d);
                if op.kind == Mla {
                    dynasm!(self.ops ; .arch x64 ; add eax, ecx);
                } else {
                    dynasm!(self.ops ; .arch x64 ; sub eax, ecx);
                }
                self.result(op.a, false);
            }
            Umull | Smull | Umlal | Smlal | Umaal => self.multiply_long(op),
            Sdiv | Udiv => self.divide(op),
            Adr => {
                let unaligned = if self.makes(Mistake::AdrUnaligned) { 0 } else { 3 };
                self.write_constant(op.a, (pc.wrapping_add(4) & !unaligned).wrapping_add(op.imm));
                self.here.cycles += 1;
            }
            Movt => {
                self.read(0, op.a);
                dynasm!(self.ops ; .arch x64 ; movzx eax, ax ; or eax, op.imm as i32);
                self.result(op.a, false);
            }
            Bfi => {
                self.read(0, op.a);
                dynasm!(self.ops ; .arch x64 ; and eax, !op.imm as i32);
                if op.c == 0 {
                    self.read(1, op.b);
                    dynasm!(self.ops
                        ; .arch x64
                        ; shl ecx, op.d as i8
                        ; and ecx, DWORD op.imm as i32
                        ; or eax, ecx
                    );
                }
                self.result(op.a, false);
            }
            Ubfx => {
                self.read(0, op.b);
                dynasm!(self.ops
                    ; .arch x64
                    ; shr eax, op.c as i8
                    ; and eax, DWORD (u32::MAX >> (31 - op.imm)) as i32
                );
                self.result(op.a, false);
            }
            Sbfx => {
                self.read(0, op.b);
                dynasm!(self.ops
                    ; .arch x64
                    ; shl eax, (31 - op.imm - u32::from(op.c)) as i8
                    ; sar eax, (31 - op.imm) as i8
                );
                self.result(op.a, false);
            }
            Sxth | Sxtb | Uxth | Uxtb | Rev | Rev16 | Revsh | Clz | Rbit => {
                self.read(0, op.c);
                match op.kind {
                    Sxth => dynasm!(self.ops ; .arch x64 ; movsx eax, ax),
                    Sxtb => dynasm!(self.ops ; .arch x64 ; movsx eax, al),
                    Uxth => dynasm!(self.ops ; .arch x64 ; movzx eax, ax),
                    Uxtb => dynasm!(self.ops ; .arch x64 ; movzx eax, al),
                    Rev => dynasm!(self.ops ; .arch x64 ; bswap eax),
                    Rev16 => dynasm!(self.ops ; .arch x64 ; bswap eax ; ror eax, 16),
                    Revsh => dynasm!(self.ops ; .arch x64 ; ror ax, 8 ; movsx eax, ax),
                    // The number of the highest bit, or -1 of none.
                    Clz => dynasm!(self.ops
                        ; .arch x64
                        ; lea rcx, [rax + rax + 1]
                        ; bsr rcx, rcx
                        ; mov eax, 32
                        ; sub eax, ecx
                    ),
                    _ => {
                        dynasm!(self.ops ; .arch x64 ; bswap eax);
                        for (mask, shift) in [(0x0f0f_0f0f_u32, 4_i8), (0x3333_3333, 2), (0x5555_5555, 1)] {
                            dynasm!(self.ops
                                ; .arch x64
                                ; mov ecx, eax
                                ; shr ecx, shift
                                ; and ecx, DWORD mask as i32
                                ; and eax, DWORD mask as i32
                                ; shl eax, shift
                                ; or eax, ecx
                            );
                        }
                    }
                }
                self.result(op.a, false);
            }
            Shifted => self.shifted(op),
            Nop => self.here.cycles += 1,
            LdrLit => self.load_literal(op.a, (pc.wrapping_add(4) & !3).wrapping_add(op.imm)),
            LdrImm => self.load(access(op, 2), Offset::Constant(op.imm)),
            LdrhImm => self.load(access(op, 1), Offset::Constant(op.imm)),
            LdrbImm => self.load(access(op, 0), Offset::Constant(op.imm)),
            LdrshImm => self.load(Access { signed: true, ..access(op, 1) }, Offset::Constant(op.imm)),
            LdrsbImm => self.load(Access { signed: true, ..access(op, 0) }, Offset::Constant(op.imm)),
            LdrReg => self.load(access(op, 2), index(op)),
            LdrhReg => self.load(access(op, 1), index(op)),
            LdrbReg => self.load(access(op, 0), index(op)),
            LdrshReg => self.load(Access { signed: true, ..access(op, 1) }, index(op)),
            LdrsbReg => self.load(Access { signed: true, ..access(op, 0) }, index(op)),
            StrImm => self.store(access(op, 2), Offset::Constant(op.imm)),
            StrhImm => self.store(access(op, 1), Offset::Constant(op.imm)),
            StrbImm => self.store(access(op, 0), Offset::Constant(op.imm)),
            StrReg => self.store(access(op, 2), index(op)),
            StrhReg => self.store(access(op, 1), index(op)),
            StrbReg => self.store(access(op, 0), index(op)),
            Ldrd | Strd => self.double(op),
            Ldm => self.multiple(op, Check::None),
            Stm => self.multiple(op, Check::NoCode),
            LdmPc => {
                self.multiple(op, Check::Target);
                return Flow::Ended;
            }
            Indexed => self.indexed(op),
            Dsp | Float | FloatLoad => self.execute(),
            TableBranch => {
                self.table_branch(op);
                return Flow::Ended;
            }
            B => {
                self.branch_from(op, before);
                return Flow::Ended;
            }
            Bl => {
                let thumb = u32::from(!self.makes(Mistake::LinksToArm));
                self.write_constant(14, pc.wrapping_add(4) | thumb);
                self.branch(pc.wrapping_add(4).wrapping_add(op.imm), time::TAKEN as u32);
                return Flow::Ended;
            }
            Bx | Blx => {
                let bail = self.bail_here();
                self.read_or_pc(2, op.c);
                if op.kind == Blx {
                    self.check_thumb(bail);
                    self.write_constant(14, pc.wrapping_add(2) | 1);
                } else {
                    self.check_target(bail);
                }
                dynasm!(self.ops ; .arch x64 ; lea eax, [rdx - 1]);
                let paired = before & flag::FIRST != 0;
                self.branch_to_eax(if paired { time::TAKEN_PAIRED } else { time::TAKEN } as u32);
                return Flow::Ended;
            }
            MovPc | AddPc => {
                self.read_or_pc(0, op.c);
                if op.kind == AddPc {
                    dynasm!(self.ops ; .arch x64 ; add eax, DWORD pc.wrapping_add(4) as i32);
                }
                dynasm!(self.ops ; .arch x64 ; and eax, BYTE -2);
                self.branch_to_eax(time::TAKEN as u32);
                return Flow::Ended;
            }
            It => {
                self.here.pipeline.it = op.imm as u8;
                self.here.cycles += u32::from(before & flag::FIRST == 0);
                self.here.pipeline.late = 0;
                self.here.pc = self.next;
            }
            _ => {
                self.branch_if(op, before);
                self.here.pipeline.late = 0;
                self.here.cycles += u32::from(op.flags & flag::WIDE != 0 || before & flag::FIRST == 0);
                self.here.pc = self.next;
            }
        }
        Flow::On
    }

    /// Writes EAX to a register, with or without N and Z, in one cycle.
    fn result(&mut self, to: u8, flags: bool) {
        if flags {
            self.flags_nz();
        }
        self.write(to, 0);
        self.here.cycles += 1;
    }

    /// Sets the carry of a shifted constant, which takes a cycle.
    fn carry_of_constant(&mut self, op: Op) {
        if op.c != 0 {
            dynasm!(self.ops ; .arch x64 ; mov BYTE [rbx + C], (op.c & 1) as i8);
            self.here.cycles += 1;
        }
    }

    fn lower_stack(&mut self, op: Op) {
        use jit::routines::STACK_LIMIT;
        let bail = self.bail_here();
        self.read(0, 13);
        dynasm!(self.ops
            ; .arch x64
            ; sub eax, op.imm as i32
            ; and eax, BYTE -4
            ; cmp eax, [r15 + STACK_LIMIT]
            ; jb =>bail
        );
        self.write(13, 0);
        self.here.cycles += 1;
    }

    /// Sets EAX to b and what `logic` makes of it. `stores`: into the register.
    fn logic(&mut self, op: Op, logic: Logic, operand: Operand, flags: bool, stores: bool) {
        if matches!(logic, Logic::Bic | Logic::Orn)
            && let Operand::Register(register) = operand
        {
            self.read(1, register);
            dynasm!(self.ops ; .arch x64 ; not ecx);
            let logic = if matches!(logic, Logic::Bic) { Logic::And } else { Logic::Orr };
            return self.logic(op, logic, Operand::Shifted, flags, stores);
        }
        self.read(0, op.b);
        macro_rules! with {
            ($name:ident) => {
                match operand {
                    Operand::Constant(value) => dynasm!(self.ops ; .arch x64 ; $name eax, DWORD value as i32),
                    Operand::Shifted => dynasm!(self.ops ; .arch x64 ; $name eax, ecx),
                    Operand::Register(register) => match guest(register) {
                        Some(host) => dynasm!(self.ops ; .arch x64 ; $name eax, Rd(host)),
                        None => dynasm!(self.ops ; .arch x64 ; $name eax, [rbx + memory(register)]),
                    },
                }
            };
        }
        match logic {
            Logic::Eor => with!(xor),
            Logic::Orr | Logic::Orn => with!(or),
            Logic::And | Logic::Bic => with!(and),
        }
        if stores {
            if flags && op.a != 13 {
                self.write(op.a, 0);
                self.flags_nz();
            } else {
                if flags {
                    self.flags_nz();
                }
                self.write(op.a, 0);
            }
        } else {
            self.flags_nz();
        }
        self.here.cycles += 1;
        if flags && matches!(operand, Operand::Constant(_)) {
            self.carry_of_constant(op);
        }
        self.host = (flags && op.a != 13 || !stores).then(|| (Host::Logic, self.ops.offset()));
    }

    /// Sets EAX to b and `sum` of it and the operand. `stores`: into the register.
    fn sum(&mut self, op: Op, sum: Sum, operand: Operand, flags: bool, stores: bool) {
        macro_rules! with {
            ($name:ident) => {
                match operand {
                    Operand::Constant(value) => dynasm!(self.ops ; .arch x64 ; $name eax, DWORD value as i32),
                    Operand::Shifted => dynasm!(self.ops ; .arch x64 ; $name eax, ecx),
                    Operand::Register(register) => match guest(register) {
                        Some(host) => dynasm!(self.ops ; .arch x64 ; $name eax, Rd(host)),
                        None => dynasm!(self.ops ; .arch x64 ; $name eax, [rbx + memory(register)]),
                    },
                }
            };
        }
        if matches!(sum, Sum::Rsb) {
            match operand {
                Operand::Constant(value) => dynasm!(self.ops ; .arch x64 ; mov eax, DWORD value as i32),
                Operand::Shifted => dynasm!(self.ops ; .arch x64 ; mov eax, ecx),
                Operand::Register(register) => self.read(0, register),
            }
            match guest(op.b) {
                Some(host) => dynasm!(self.ops ; .arch x64 ; sub eax, Rd(host)),
                None => dynasm!(self.ops ; .arch x64 ; sub eax, [rbx + memory(op.b)]),
            }
        } else {
            self.read(0, op.b);
            match sum {
                Sum::Add => with!(add),
                Sum::Sub | Sum::Rsb => with!(sub),
                Sum::Adc => {
                    dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 1 ; cmc);
                    with!(adc);
                }
                Sum::Sbc => {
                    dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 1);
                    with!(sbb);
                }
            }
        }
        let adds = matches!(sum, Sum::Add | Sum::Adc);
        if flags {
            if adds { self.carry_and_overflow() } else { self.borrow_and_overflow() }
        }
        if stores && op.a != 13 {
            self.write(op.a, 0);
        }
        if flags {
            self.flags_nz();
            self.host = Some((if adds { Host::Sum } else { Host::Difference }, self.ops.offset()));
        }
        if stores && op.a == 13 {
            self.write(op.a, 0);
        }
        self.here.cycles += 1;
    }

    /// Shifts a register by a constant. `kind`: LSL, LSR, ASR, ROR. `carry`: sets it. EDX may change.
    fn shift_constant(&mut self, x: u8, kind: u32, n: u32, carry: bool) {
        match (kind, n) {
            (_, 0) => return,
            (0, n) => dynasm!(self.ops ; .arch x64 ; shl Rd(x), n as i8),
            (1, 32) => {
                dynasm!(self.ops ; .arch x64 ; shr Rd(x), 31);
                if carry {
                    dynasm!(self.ops ; .arch x64 ; mov [rbx + C], Rb(x));
                }
                dynasm!(self.ops ; .arch x64 ; xor Rd(x), Rd(x));
                return;
            }
            (1, n) => dynasm!(self.ops ; .arch x64 ; shr Rd(x), n as i8),
            (2, 32) => {
                dynasm!(self.ops ; .arch x64 ; sar Rd(x), 31);
                if carry {
                    dynasm!(self.ops ; .arch x64 ; mov edx, Rd(x) ; and edx, 1 ; mov [rbx + C], dl);
                }
                return;
            }
            (2, n) => dynasm!(self.ops ; .arch x64 ; sar Rd(x), n as i8),
            // The carry is the result's sign, which is the last bit that moved.
            (_, n) => dynasm!(self.ops ; .arch x64 ; ror Rd(x), n as i8),
        }
        if carry {
            dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + C]);
        }
    }

    /// Shifts b by the low byte of c into EAX. The carry is the last bit shifted out; a shift by 0 keeps it.
    fn shift_register(&mut self, op: Op, kind: u32, flags: bool) {
        self.read(0, op.b);
        self.read(1, op.c);
        dynasm!(self.ops ; .arch x64 ; and ecx, 0xff ; jz >done);
        match kind {
            0 => {
                dynasm!(self.ops ; .arch x64 ; cmp ecx, 32 ; ja >all ; shl rax, cl);
                if flags {
                    dynasm!(self.ops ; .arch x64 ; bt rax, 32 ; setc BYTE [rbx + C]);
                }
                dynasm!(self.ops ; .arch x64 ; mov eax, eax ; jmp >done);
            }
            1 => {
                dynasm!(self.ops ; .arch x64 ; cmp ecx, 32 ; ja >all ; dec ecx ; shr rax, cl);
                if flags {
                    dynasm!(self.ops ; .arch x64 ; mov edx, eax ; and edx, 1 ; mov [rbx + C], dl);
                }
                dynasm!(self.ops ; .arch x64 ; shr rax, 1 ; jmp >done);
            }
            2 => {
                dynasm!(self.ops
                    ; .arch x64
                    ; mov edx, 32
                    ; cmp ecx, edx
                    ; cmova ecx, edx
                    ; dec ecx
                    ; movsxd rax, eax
                    ; sar rax, cl
                );
                if flags {
                    dynasm!(self.ops ; .arch x64 ; mov edx, eax ; and edx, 1 ; mov [rbx + C], dl);
                }
                dynasm!(self.ops ; .arch x64 ; sar rax, 1 ; jmp >done);
            }
            _ => {
                dynasm!(self.ops ; .arch x64 ; ror eax, cl);
                if flags {
                    dynasm!(self.ops ; .arch x64 ; mov edx, eax ; shr edx, 31 ; mov [rbx + C], dl);
                }
                dynasm!(self.ops ; .arch x64 ; jmp >done);
            }
        }
        dynasm!(self.ops ; .arch x64 ; all: ; xor eax, eax);
        if flags {
            dynasm!(self.ops ; .arch x64 ; mov [rbx + C], al);
        }
        dynasm!(self.ops ; .arch x64 ; done:);
    }

    /// Data processing with a shifted register, as the interpreter does it.
    fn shifted(&mut self, op: Op) {
        let (opcode, flags) = (op.imm >> 21 & 15, op.imm & 1 << 20 != 0);
        let (kind, amount) = (u32::from(op.d >> 5), u32::from(op.d & 31));
        let logical = opcode < 5;
        let stores = !(flags && op.a == 15);
        let names_pc = op.b == 15 && !(matches!(opcode, 2 | 3) && stores) || op.c == 15;
        if op.a == 13 || names_pc || flags && logical && kind == 3 && amount == 0 {
            return self.execute();
        }
        self.read(1, op.c);
        let carry = flags && logical;
        match (kind, amount) {
            // RRX.
            (3, 0) => dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + C], 1 ; cmc ; rcr ecx, 1),
            (1 | 2, 0) => self.shift_constant(1, kind, 32, carry),
            _ => self.shift_constant(1, kind, amount, carry),
        }
        let operand = Operand::Shifted;
        // Nothing of a constant's carry.
        let op = Op { c: 0, ..op };
        match opcode {
            0 => self.logic(op, Logic::And, operand, flags, stores),
            1 => {
                dynasm!(self.ops ; .arch x64 ; not ecx);
                self.logic(op, Logic::And, operand, flags, stores);
            }
            2 if op.b == 15 => {
                dynasm!(self.ops ; .arch x64 ; mov eax, ecx);
                self.result(op.a, flags);
            }
            2 => self.logic(op, Logic::Orr, operand, flags, stores),
            3 => {
                dynasm!(self.ops ; .arch x64 ; not ecx);
                if op.b == 15 {
                    dynasm!(self.ops ; .arch x64 ; mov eax, ecx);
                    self.result(op.a, flags);
                } else {
                    self.logic(op, Logic::Orr, operand, flags, stores);
                }
            }
            4 => self.logic(op, Logic::Eor, operand, flags, stores),
            8 => self.sum(op, Sum::Add, operand, flags, stores),
            10 => self.sum(op, Sum::Adc, operand, flags, stores),
            11 => self.sum(op, Sum::Sbc, operand, flags, stores),
            13 => self.sum(op, Sum::Sub, operand, flags, stores),
            _ => self.sum(op, Sum::Rsb, operand, flags, stores),
        }
    }

    fn multiply_long(&mut self, op: Op) {
        use Kind::*;
        let signed = matches!(op.kind, Smull | Smlal);
        self.read(0, op.b);
        self.read(1, op.c);
        if signed {
            dynasm!(self.ops ; .arch x64 ; movsxd rax, eax ; movsxd rcx, ecx);
        } else {
            // Registers in memory and moves between registers clear the upper half.
            dynasm!(self.ops ; .arch x64 ; mov eax, eax ; mov ecx, ecx);
        }
        dynasm!(self.ops ; .arch x64 ; imul rax, rcx);
        match op.kind {
            Umlal | Smlal => {
                self.read(1, op.d);
                self.read(2, op.a);
                dynasm!(self.ops ; .arch x64 ; mov ecx, ecx ; mov edx, edx ; shl rcx, 32 ; or rcx, rdx ; add rax, rcx);
            }
            Umaal => {
                self.read(1, op.d);
                self.read(2, op.a);
                dynasm!(self.ops ; .arch x64 ; mov ecx, ecx ; mov edx, edx ; add rax, rcx ; add rax, rdx);
            }
            _ => {}
        }
        dynasm!(self.ops ; .arch x64 ; mov rcx, rax ; shr rcx, 32);
        self.write(op.a, 0);
        self.write(op.d, 1);
        self.here.cycles += time::MULTIPLY_LONG as u32;
    }

    /// Divides, in a time that depends on the values. A division by 0 is left to the interpreter.
    fn divide(&mut self, op: Op) {
        let bail = self.bail_here();
        let signed = op.kind == Kind::Sdiv;
        self.read(0, op.b);
        self.read(1, op.c);
        dynasm!(self.ops ; .arch x64 ; test ecx, ecx ; jz =>bail ; push rax ; push rcx);
        if signed {
            // -2^31 / -1 needs 64 bits.
            dynasm!(self.ops ; .arch x64 ; movsxd rax, eax ; movsxd rcx, ecx ; cqo ; idiv rcx);
        } else {
            dynasm!(self.ops ; .arch x64 ; xor edx, edx ; div ecx);
        }
        dynasm!(self.ops ; .arch x64 ; pop rcx ; pop rdx);
        if signed {
            // The magnitudes.
            dynasm!(self.ops
                ; .arch x64
                ; test ecx, ecx
                ; jns >positive
                ; neg ecx
                ; positive:
                ; test edx, edx
                ; jns >positive
                ; neg edx
                ; positive:
            );
        }
        self.write(op.a, 0);
        // Beyond the least time: a cycle, and one for each four bits of the quotient, as in `time::divide`.
        dynasm!(self.ops
            ; .arch x64
            ; cmp ecx, edx
            ; ja >short
            ; bsr eax, edx
            ; bsr ecx, ecx
            ; sub eax, ecx
            ; add eax, 4
            ; shr eax, 2
            ; inc eax
        );
        if !self.makes(Mistake::DividesAtOnce) {
            dynasm!(self.ops ; .arch x64 ; sub r14, rax);
        }
        dynasm!(self.ops ; .arch x64 ; short:);
        self.here.cycles += 2;
        // The next instruction may start too late.
        self.look_at_time();
    }

    /// Takes a branch to an offset, after an instruction with the flags `before`.
    fn branch_from(&mut self, op: Op, before: u8) {
        let paired = op.flags & flag::WIDE == 0 && before & flag::QUIET != 0;
        let cycles = if paired { time::TAKEN_PAIRED } else { time::TAKEN };
        let target = self.at.pc.wrapping_add(4).wrapping_add(op.imm);
        self.branch(target, cycles as u32);
    }

    /// Takes a branch if its condition holds.
    fn branch_if(&mut self, op: Op, before: u8) {
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
            self.unless(op.kind as u8 - Kind::Beq as u8, not);
        }
        self.branch_from(op, before);
        dynasm!(self.ops ; .arch x64 ; =>not);
    }

    /// Reads a register, or where the PC is named, the address of the instruction and 4.
    fn read_or_pc(&mut self, into: u8, register: u8) {
        if register == 15 {
            let pc = self.at.pc.wrapping_add(4);
            dynasm!(self.ops ; .arch x64 ; mov Rd(into), DWORD pc as i32);
        } else {
            self.read(into, register);
        }
    }

    /// Sets N and Z from EAX.
    fn flags_nz(&mut self) {
        dynasm!(self.ops ; .arch x64 ; movsxd rax, eax ; mov [rbx + NZ], rax);
    }

    fn carry_and_overflow(&mut self) {
        dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + C] ; seto BYTE [rbx + V]);
    }

    /// Sets C and V after a subtraction; Arm's carry is x86's inverted.
    fn borrow_and_overflow(&mut self) {
        dynasm!(self.ops ; .arch x64 ; setnc BYTE [rbx + C] ; seto BYTE [rbx + V]);
    }
}

/// Returns the access of one value that an instruction makes.
fn access(op: Op, size: u32) -> Access {
    Access { size, signed: false, register: op.a, base: op.b, moved: 0 }
}

fn index(op: Op) -> Offset {
    Offset::Register(op.c, op.d)
}

#[derive(Clone, Copy)]
enum Logic {
    And,
    Bic,
    Orr,
    Orn,
    Eor,
}

#[derive(Clone, Copy)]
enum Sum {
    Add,
    Adc,
    Sub,
    Sbc,
    Rsb,
}
