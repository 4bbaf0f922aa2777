//! The instructions, with their flags and cycles.

#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use jit::flags::{ALL, Apply, C, Host, NZ, Operand, Source};
use jit::routines::{EAX, ECX, EDX, GUEST, STACK_LIMIT};
use jit::{Access, Check, Flow, Offset, Shift, guest};

use super::block::{Translation, is_for_engine};
use super::{LAYOUT, Mistake, memory};
use crate::decode::{Kind, Op, flag};
use crate::{Map, time};

impl<M: Map> Translation<'_, '_, M> {
    /// Translates the current instruction. `before`: the flags of the one before ([`flag`]). It sets the PC only where
    /// the next instruction is not paired with a NOP before this one.
    #[allow(clippy::too_many_lines)]
    pub(super) fn instruction(&mut self, op: Op, before: u8) -> Flow {
        use Kind::*;
        let pc = self.at.pc;
        let (b, c, imm) = (Operand::Register(op.b), Operand::Register(op.c), Operand::Constant(op.imm));
        // These read the PC as the address of the instruction and 4.
        let reads_pc = matches!(op.kind, MovReg | AddReg | MovPc | AddPc | Bx | Blx);
        let [b, c] = [b, c].map(|operand| match operand {
            Operand::Register(15) if reads_pc => Operand::Constant(pc.wrapping_add(4)),
            operand => operand,
        });
        match op.kind {
            AndImm | AndImmS => self.logic(op, Apply::And, imm, op.kind == AndImmS, true),
            AndReg | AndRegS => self.logic(op, Apply::And, c, op.kind == AndRegS, true),
            BicImm | BicImmS => self.logic(op, Apply::And, Operand::Constant(!op.imm), op.kind == BicImmS, true),
            BicReg | BicRegS => self.logic_not(op, Apply::And, c, op.kind == BicRegS),
            OrrImm | OrrImmS => self.logic(op, Apply::Or, imm, op.kind == OrrImmS, true),
            OrrReg | OrrRegS => self.logic(op, Apply::Or, c, op.kind == OrrRegS, true),
            OrnImm | OrnImmS => self.logic(op, Apply::Or, Operand::Constant(!op.imm), op.kind == OrnImmS, true),
            OrnReg | OrnRegS => self.logic_not(op, Apply::Or, c, op.kind == OrnRegS),
            EorImm | EorImmS => self.logic(op, Apply::Xor, imm, op.kind == EorImmS, true),
            EorReg | EorRegS => self.logic(op, Apply::Xor, c, op.kind == EorRegS, true),
            TstImm => self.logic(op, Apply::And, imm, true, false),
            TstReg => self.logic(op, Apply::And, c, true, false),
            TeqImm => self.logic(op, Apply::Xor, imm, true, false),
            TeqReg => self.logic(op, Apply::Xor, c, true, false),
            MovImm | MovImmS | MvnImm | MvnImmS => {
                let flags = matches!(op.kind, MovImmS | MvnImmS);
                if flags {
                    self.carry_of_constant(op);
                }
                let value = if matches!(op.kind, MvnImm | MvnImmS) { !op.imm } else { op.imm };
                if flags && op.a >= 8 {
                    Operand::Constant(value).read(EAX, &mut self.ops, LAYOUT);
                    self.result(op.a, true, None);
                } else {
                    self.write_constant(op.a, value);
                    self.ends(op.a, flags, None);
                }
            }
            MovReg | MovRegS if op.c != 15 && op.a < 8 => {
                self.read(GUEST[usize::from(op.a)], op.c);
                self.ends(op.a, op.kind == MovRegS, None);
            }
            MovReg | MovRegS => {
                c.read(EAX, &mut self.ops, LAYOUT);
                self.result(op.a, op.kind == MovRegS, None);
            }
            MvnReg | MvnRegS => {
                self.read(0, op.c);
                dynasm!(self.ops ; .arch x64 ; not eax);
                self.result(op.a, op.kind == MvnRegS, None);
            }
            SubImm if op.a == 13 && op.b == 13 => self.lower_stack(op),
            SubSpImm => self.lower_stack(op),
            AddSpImm => self.sum_of(op, Apply::Add, [Operand::Register(13), imm], false, true),
            AddImm | AddImmS => self.sum_of(op, Apply::Add, [b, imm], op.kind == AddImmS, true),
            AddReg | AddRegS => self.sum_of(op, Apply::Add, [b, c], op.kind == AddRegS, true),
            CmnImm => self.sum_of(op, Apply::Add, [b, imm], true, false),
            CmnReg => self.sum_of(op, Apply::Add, [b, c], true, false),
            AdcImm | AdcImmS => self.sum_of(op, Apply::Adc, [b, imm], op.kind == AdcImmS, true),
            AdcReg | AdcRegS => self.sum_of(op, Apply::Adc, [b, c], op.kind == AdcRegS, true),
            SbcImm | SbcImmS => self.sum_of(op, Apply::Sbb, [b, imm], op.kind == SbcImmS, true),
            SbcReg | SbcRegS => self.sum_of(op, Apply::Sbb, [b, c], op.kind == SbcRegS, true),
            SubImm | SubImmS => self.sum_of(op, Apply::Sub, [b, imm], op.kind == SubImmS, true),
            SubReg | SubRegS => self.sum_of(op, Apply::Sub, [b, c], op.kind == SubRegS, true),
            CmpImm => self.sum_of(op, Apply::Sub, [b, imm], true, false),
            CmpReg => self.sum_of(op, Apply::Sub, [b, c], true, false),
            RsbImm | RsbImmS => self.sum_of(op, Apply::Sub, [imm, b], op.kind == RsbImmS, true),
            RsbReg | RsbRegS => self.sum_of(op, Apply::Sub, [c, b], op.kind == RsbRegS, true),
            LslImm | LslImmS => self.shift_by_constant(op, Shift::Lsl, op.kind == LslImmS),
            LsrImm | LsrImmS => self.shift_by_constant(op, Shift::Lsr, op.kind == LsrImmS),
            AsrImm | AsrImmS => self.shift_by_constant(op, Shift::Asr, op.kind == AsrImmS),
            RorImm | RorImmS => self.shift_by_constant(op, Shift::Ror, op.kind == RorImmS),
            LslReg | LslRegS => self.shift_register(op, Shift::Lsl, op.kind == LslRegS),
            LsrReg | LsrRegS => self.shift_register(op, Shift::Lsr, op.kind == LsrRegS),
            AsrReg | AsrRegS => self.shift_register(op, Shift::Asr, op.kind == AsrRegS),
            RorReg | RorRegS => self.shift_register(op, Shift::Ror, op.kind == RorRegS),
            Mul | MulS => {
                self.read(0, op.b);
                match guest(op.c) {
                    Some(host) => dynasm!(self.ops ; .arch x64 ; imul eax, Rd(host)),
                    None => dynasm!(self.ops ; .arch x64 ; imul eax, [rbx + memory(op.c)]),
                }
                self.result(op.a, op.kind == MulS, None);
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
                self.result(op.a, false, None);
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
                self.result(op.a, false, None);
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
                self.result(op.a, false, None);
            }
            Ubfx => {
                self.read(0, op.b);
                dynasm!(self.ops
                    ; .arch x64
                    ; shr eax, op.c as i8
                    ; and eax, DWORD (u32::MAX >> (31 - op.imm)) as i32
                );
                self.result(op.a, false, None);
            }
            Sbfx => {
                self.read(0, op.b);
                dynasm!(self.ops
                    ; .arch x64
                    ; shl eax, (31 - op.imm - u32::from(op.c)) as i8
                    ; sar eax, (31 - op.imm) as i8
                );
                self.result(op.a, false, None);
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
                self.result(op.a, false, None);
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
            FloatLoad | Exclusive => self.execute(true),
            kind if is_for_engine(kind) => self.execute(false),
            Barrier => self.here.cycles += time::SYSTEM as u32,
            LdrPc => {
                self.branch_by_literal(op);
                return Flow::Ended;
            }
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
                c.read(EDX, &mut self.ops, LAYOUT);
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
                c.read(EAX, &mut self.ops, LAYOUT);
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

    /// Writes EAX to a register, with or without N and Z, in one cycle. `host`: what x86's flags hold.
    fn result(&mut self, to: u8, flags: bool, host: Option<Host>) {
        if to < 8 {
            self.write(to, EAX);
            self.ends(to, flags, host);
            return;
        }
        if flags {
            self.flags_at_once(NZ, false);
        }
        self.write(to, EAX);
        self.host = host.filter(|_| flags && to != 13).map(|host| (host, self.ops.offset()));
        self.here.cycles += 1;
    }

    /// Ends an instruction of one cycle whose result is in a register, with flags in one of R0 to R7.
    fn ends(&mut self, to: u8, flags: bool, host: Option<Host>) {
        if flags {
            self.value(to, host);
        }
        self.here.cycles += 1;
    }

    /// Sets flags of a set from x86's, and N and Z from EAX.
    fn flags_at_once(&mut self, set: u8, subtracts: bool) {
        self.set_flags(set, subtracts, EAX);
        self.flags_are(set, 0, Source::Core);
    }

    /// Sets the carry of a shifted constant, which takes a cycle.
    fn carry_of_constant(&mut self, op: Op) {
        if op.c != 0 {
            dynasm!(self.ops ; .arch x64 ; mov BYTE [rbx + LAYOUT.c], (op.c & 1) as i8);
            self.flags_are(C, 0, Source::Core);
            self.here.cycles += 1;
        }
    }

    fn lower_stack(&mut self, op: Op) {
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

    /// Combines b with an operand. `stores`: into the register.
    fn logic(&mut self, op: Op, how: Apply, operand: Operand, flags: bool, stores: bool) {
        if flags && matches!(operand, Operand::Constant(_)) {
            self.carry_of_constant(op);
        }
        let source = Source::And(op.b, operand);
        if !stores && how == Apply::And && operand != Operand::InEcx && self.left_out(NZ, source) != 0 {
            self.flags_are(NZ, NZ, source);
            self.here.cycles += 1;
            return;
        }
        let in_place = stores && (op.a == op.b || operand != Operand::Register(op.a));
        let host = guest(op.a).filter(|_| in_place).unwrap_or(EAX);
        if guest(op.b) != Some(host) {
            self.read(host, op.b);
        }
        operand.apply(how, host, &mut self.ops, LAYOUT);
        if !stores {
            self.flags_at_once(NZ, false);
            self.host = Some((Host::Logic, self.ops.offset()));
            self.here.cycles += 1;
        } else if host == EAX {
            self.result(op.a, flags, Some(Host::Logic));
        } else {
            self.ends(op.a, flags, Some(Host::Logic));
        }
    }

    /// Combines b with the complement of an operand.
    fn logic_not(&mut self, op: Op, how: Apply, operand: Operand, flags: bool) {
        operand.read(ECX, &mut self.ops, LAYOUT);
        dynasm!(self.ops ; .arch x64 ; not ecx);
        self.logic(op, how, Operand::InEcx, flags, true);
    }

    /// Adds or subtracts, with the carry or without. `stores`: into the register.
    fn sum_of(&mut self, op: Op, how: Apply, operands: [Operand; 2], flags: bool, stores: bool) {
        let set = if flags { ALL } else { 0 };
        let subtracts = matches!(how, Apply::Sub | Apply::Sbb);
        let with_carry = matches!(how, Apply::Adc | Apply::Sbb);
        if !with_carry && !operands.contains(&Operand::InEcx) && (!stores || op.a < 8) {
            self.sum(subtracts, operands, stores.then_some(op.a), set);
            self.here.cycles += 1;
            return;
        }
        let [first, second] = operands;
        first.read(EAX, &mut self.ops, LAYOUT);
        if with_carry {
            dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + LAYOUT.c], 1);
            if !subtracts {
                dynasm!(self.ops ; .arch x64 ; cmc);
            }
        }
        second.apply(how, EAX, &mut self.ops, LAYOUT);
        let host = Some(if subtracts { Host::Difference } else { Host::Sum });
        self.flags_at_once(set & !NZ, subtracts);
        if stores {
            self.result(op.a, flags, host);
        } else {
            self.flags_at_once(NZ, subtracts);
            self.host = host.map(|host| (host, self.ops.offset()));
            self.here.cycles += 1;
        }
    }

    /// Shifts c by a constant.
    fn shift_by_constant(&mut self, op: Op, shift: Shift, flags: bool) {
        if op.a < 8 && op.c < 8 && op.imm != 0 {
            self.shift(shift, [op.a, op.c], op.imm as u8, flags);
            self.here.cycles += 1;
            return;
        }
        self.read(EAX, op.c);
        self.shift_constant(EAX, shift, op.imm, flags);
        self.result(op.a, flags, None);
    }

    /// Shifts a register of the PC by a constant. `carry`: sets it. EDX may change.
    fn shift_constant(&mut self, x: u8, shift: Shift, n: u32, carry: bool) {
        if carry && n != 0 {
            self.flags_are(C, 0, Source::Core);
        }
        match (shift, n) {
            (_, 0) => return,
            (Shift::Lsl, n) => dynasm!(self.ops ; .arch x64 ; shl Rd(x), n as i8),
            (Shift::Lsr, 32) => {
                dynasm!(self.ops ; .arch x64 ; shr Rd(x), 31);
                if carry {
                    dynasm!(self.ops ; .arch x64 ; mov [rbx + LAYOUT.c], Rb(x));
                }
                dynasm!(self.ops ; .arch x64 ; xor Rd(x), Rd(x));
                return;
            }
            (Shift::Lsr, n) => dynasm!(self.ops ; .arch x64 ; shr Rd(x), n as i8),
            (Shift::Asr, 32) => {
                dynasm!(self.ops ; .arch x64 ; sar Rd(x), 31);
                if carry {
                    dynasm!(self.ops ; .arch x64 ; mov edx, Rd(x) ; and edx, 1 ; mov [rbx + LAYOUT.c], dl);
                }
                return;
            }
            (Shift::Asr, n) => dynasm!(self.ops ; .arch x64 ; sar Rd(x), n as i8),
            // The carry is the result's sign, which is the last bit that moved.
            (_, n) => dynasm!(self.ops ; .arch x64 ; ror Rd(x), n as i8),
        }
        if carry {
            dynasm!(self.ops ; .arch x64 ; setc BYTE [rbx + LAYOUT.c]);
        }
    }

    /// Shifts b by the low byte of c. The carry is the last bit shifted out; a shift by 0 keeps it.
    fn shift_register(&mut self, op: Op, shift: Shift, flags: bool) {
        self.read(0, op.b);
        self.read(1, op.c);
        dynasm!(self.ops ; .arch x64 ; and ecx, 0xff ; jz >done);
        match shift {
            Shift::Lsl => {
                dynasm!(self.ops ; .arch x64 ; cmp ecx, 32 ; ja >all ; shl rax, cl);
                if flags {
                    dynasm!(self.ops ; .arch x64 ; bt rax, 32 ; setc BYTE [rbx + LAYOUT.c]);
                }
                dynasm!(self.ops ; .arch x64 ; mov eax, eax ; jmp >done);
            }
            Shift::Lsr => {
                dynasm!(self.ops ; .arch x64 ; cmp ecx, 32 ; ja >all ; dec ecx ; shr rax, cl);
                if flags {
                    dynasm!(self.ops ; .arch x64 ; mov edx, eax ; and edx, 1 ; mov [rbx + LAYOUT.c], dl);
                }
                dynasm!(self.ops ; .arch x64 ; shr rax, 1 ; jmp >done);
            }
            Shift::Asr => {
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
                    dynasm!(self.ops ; .arch x64 ; mov edx, eax ; and edx, 1 ; mov [rbx + LAYOUT.c], dl);
                }
                dynasm!(self.ops ; .arch x64 ; sar rax, 1 ; jmp >done);
            }
            Shift::Ror => {
                dynasm!(self.ops ; .arch x64 ; ror eax, cl);
                if flags {
                    dynasm!(self.ops ; .arch x64 ; mov edx, eax ; shr edx, 31 ; mov [rbx + LAYOUT.c], dl);
                }
                dynasm!(self.ops ; .arch x64 ; jmp >done);
            }
        }
        dynasm!(self.ops ; .arch x64 ; all: ; xor eax, eax);
        if flags {
            dynasm!(self.ops ; .arch x64 ; mov [rbx + LAYOUT.c], al);
        }
        dynasm!(self.ops ; .arch x64 ; done:);
        self.result(op.a, flags, None);
    }

    /// Data processing with a shifted register, as the interpreter does it.
    fn shifted(&mut self, op: Op) {
        let (opcode, flags) = (op.imm >> 21 & 15, op.imm & 1 << 20 != 0);
        let (kind, amount) = (u32::from(op.d >> 5), u32::from(op.d & 31));
        let logical = opcode < 5;
        let stores = !(flags && op.a == 15);
        let names_pc = op.b == 15 && !(matches!(opcode, 2 | 3) && stores) || op.c == 15;
        if op.a == 13 || names_pc || flags && logical && kind == 3 && amount == 0 {
            return self.execute(false);
        }
        self.read(ECX, op.c);
        let carry = flags && logical;
        let shift = [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror][kind as usize];
        match (shift, amount) {
            // RRX.
            (Shift::Ror, 0) => {
                dynasm!(self.ops ; .arch x64 ; cmp BYTE [rbx + LAYOUT.c], 1 ; cmc ; rcr ecx, 1);
            }
            (Shift::Lsr | Shift::Asr, 0) => self.shift_constant(ECX, shift, 32, carry),
            _ => self.shift_constant(ECX, shift, amount, carry),
        }
        if matches!(opcode, 1 | 3) {
            dynasm!(self.ops ; .arch x64 ; not ecx);
        }
        let (b, shifted) = (Operand::Register(op.b), Operand::InEcx);
        match opcode {
            0 | 1 => self.logic(op, Apply::And, shifted, flags, stores),
            2 | 3 if op.b == 15 => {
                dynasm!(self.ops ; .arch x64 ; mov eax, ecx);
                self.result(op.a, flags, None);
            }
            2 | 3 => self.logic(op, Apply::Or, shifted, flags, stores),
            4 => self.logic(op, Apply::Xor, shifted, flags, stores),
            8 => self.sum_of(op, Apply::Add, [b, shifted], flags, stores),
            10 => self.sum_of(op, Apply::Adc, [b, shifted], flags, stores),
            11 => self.sum_of(op, Apply::Sbb, [b, shifted], flags, stores),
            13 => self.sum_of(op, Apply::Sub, [b, shifted], flags, stores),
            _ => self.sum_of(op, Apply::Sub, [shifted, b], flags, stores),
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
}

/// Returns the access of one value that an instruction makes.
fn access(op: Op, size: u32) -> Access {
    Access { size, signed: false, register: op.a, base: op.b, moved: 0 }
}

fn index(op: Op) -> Offset {
    Offset::Register(op.c, op.d)
}
