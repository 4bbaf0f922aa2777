//! Predecoding of Thumb instructions (Armv8-M Architecture Reference Manual, chapter C2).

use bytemuck::Zeroable;

macro_rules! kinds {
    ($($alu:ident $flagged:ident),* ; $($other:ident),* $(,)?) => {
        /// Instruction kinds, with operands in [`Op`]: `a` is usually Rd/Rt, `b` Rn, `c` Rm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
        #[repr(u8)]
        pub enum Kind {
            /// Not predecoded yet, or beyond the end of a region.
            Undecoded,
            $($alu, $flagged,)*
            $($other,)*
        }

        impl Kind {
            /// Returns the kind without flags, for a 16-bit instruction in an IT block.
            pub(crate) fn unflagged(self) -> Self {
                match self {
                    $(Self::$flagged => Self::$alu,)*
                    kind => kind,
                }
            }
        }
    };
}

kinds! {
    AndImm AndImmS, AndReg AndRegS, BicImm BicImmS, BicReg BicRegS, OrrImm OrrImmS, OrrReg OrrRegS,
    OrnImm OrnImmS, OrnReg OrnRegS, EorImm EorImmS, EorReg EorRegS, MovImm MovImmS, MovReg MovRegS,
    MvnImm MvnImmS, MvnReg MvnRegS, AddImm AddImmS, AddReg AddRegS, AdcImm AdcImmS, AdcReg AdcRegS,
    SbcImm SbcImmS, SbcReg SbcRegS, SubImm SubImmS, SubReg SubRegS, RsbImm RsbImmS, RsbReg RsbRegS,
    LslImm LslImmS, LsrImm LsrImmS, AsrImm AsrImmS, RorImm RorImmS,
    LslReg LslRegS, LsrReg LsrRegS, AsrReg AsrRegS, RorReg RorRegS, Mul MulS;
    TstImm, TstReg, TeqImm, TeqReg, CmpImm, CmpReg, CmnImm, CmnReg,
    // `imm`: the operation, whether it sets flags, the shift's type and amount.
    Shifted,
    MovPc, AddPc, Adr, AddSpImm, SubSpImm, Movt, Bfi, Ubfx, Sbfx,
    Sxtb, Sxth, Uxtb, Uxth, Rev, Rev16, Revsh, Clz, Rbit, Mla, Mls, Umull, Smull, Umlal, Smlal, Umaal, Sdiv, Udiv,
    LdrLit, LdrImm, LdrbImm, LdrhImm, LdrsbImm, LdrshImm, StrImm, StrbImm, StrhImm,
    LdrReg, LdrbReg, LdrhReg, LdrsbReg, LdrshReg, StrReg, StrbReg, StrhReg,
    // Other loads and stores of one register; `imm`: the word.
    Indexed, LdrPc, Ldrd, Strd, Exclusive, Ldm, Stm, LdmPc, TableBranch,
    Beq, Bne, Bcs, Bcc, Bmi, Bpl, Bvs, Bvc, Bhi, Bls, Bge, Blt, Bgt, Ble, B, Bl, Bx, Blx, Cbz, Cbnz,
    It, Nop, Wfe, Wfi, Sev, Cps, Svc, Bkpt, Msr, Mrs, Barrier, Sg, Tt, Clrex,
    // `imm`: the word.
    Dsp, Coprocessor, Float, FloatLoad,
    Undefined,
}

/// Bits of [`Op::flags`].
pub(crate) mod flag {
    /// 32 bits long.
    pub(crate) const WIDE: u8 = 1;
    /// Sets the flags outside of IT blocks only.
    pub(crate) const OUTSIDE_IT: u8 = 2;
    /// A 16-bit instruction that a branch may be paired with, so that a taken one costs one cycle less: it sets no
    /// flags.
    pub(crate) const QUIET: u8 = 4;
    /// A 16-bit instruction, which a branch not taken and IT can be paired with.
    pub(crate) const FIRST: u8 = 8;
    /// NOP: any 16-bit instruction after it can be paired with it.
    pub(crate) const IDLE: u8 = 16;
    /// The destination is R13, whose low bits stay 0.
    pub(crate) const TO_SP: u8 = 32;
}

/// Stands in [`Op::late`] and [`Op::reads`] where the PC would, which needs no such bit: a branch to the upper half of a
/// word has only half of a wide instruction there, and waits a cycle for the rest.
pub(crate) const SECOND_HALF: u32 = 1 << 15;

/// Position of the previous instruction's flags in [`Core::late`](crate::core::Core).
pub(crate) const FLAGS_SHIFT: u32 = 16;

/// One predecoded instruction. Nothing in it depends on its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
pub struct Op {
    pub kind: Kind,
    /// [`flag`].
    pub flags: u8,
    pub a: u8,
    pub b: u8,
    pub c: u8,
    pub d: u8,
    /// Registers whose values are needed when the instruction starts.
    pub reads: u16,
    /// Registers whose new values are ready one cycle later than the next instruction starts.
    pub late: u16,
    /// Immediate (already scaled and sign-extended), register list, or the word.
    pub imm: u32,
}

impl Op {
    /// Length of the instruction in bytes.
    #[inline]
    pub fn bytes(self) -> u32 {
        if self.flags & flag::WIDE != 0 { 4 } else { 2 }
    }

    fn new(kind: Kind, a: u32, b: u32, c: u32, imm: u32) -> Self {
        Self { kind, a: a as u8, b: b as u8, c: c as u8, imm, ..Self::zeroed() }
    }

    /// Sets the registers that are read, and those that come late.
    fn timed(self, reads: u32, late: u32) -> Self {
        Self { reads: reads as u16, late: late as u16, ..self }
    }

    fn with(self, d: u32) -> Self {
        Self { d: d as u8, ..self }
    }

    fn sets(self) -> Self {
        Self { flags: self.flags | flag::OUTSIDE_IT, ..self }
    }
}

fn sign_extend(value: u32, bits: u32) -> u32 {
    ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
}

const fn bit(register: u32) -> u32 {
    1 << register
}

/// ThumbExpandImm: the constant, and what it makes of the carry (0: nothing, 2: clears it, 3: sets it).
fn expand(imm12: u32) -> (u32, u32) {
    let byte = imm12 & 0xff;
    match imm12 >> 8 {
        0 => (byte, 0),
        1 => (byte << 16 | byte, 0),
        2 => (byte << 24 | byte << 8, 0),
        3 => (byte * 0x0101_0101, 0),
        _ => {
            let value = (0x80 | imm12 & 0x7f).rotate_right(imm12 >> 7);
            (value, 2 | value >> 31)
        }
    }
}

/// Decodes the instruction whose first halfword is `hw`; `next` is the halfword after it.
pub(crate) fn decode(hw: u16, next: u16) -> Op {
    if hw >> 11 >= 0b11101 {
        let mut op = wide(u32::from(hw), u32::from(next));
        op.flags = flag::WIDE | if op.a == 13 { flag::TO_SP } else { 0 };
        op.reads |= SECOND_HALF as u16;
        return op;
    }
    let mut op = narrow(u32::from(hw));
    op.reads &= !SECOND_HALF as u16;
    op.flags |= match op.kind {
        Kind::Nop => flag::FIRST | flag::QUIET | flag::IDLE,
        // A compare sets flags wherever it stands.
        Kind::CmpImm | Kind::CmpReg | Kind::CmnReg | Kind::TstReg => flag::FIRST,
        _ if op.flags & flag::OUTSIDE_IT != 0 => flag::FIRST,
        _ => flag::FIRST | flag::QUIET,
    };
    if op.a == 13 {
        op.flags |= flag::TO_SP;
    }
    op
}

pub(crate) const CONDITIONS: [Kind; 14] = {
    use Kind::*;
    [Beq, Bne, Bcs, Bcc, Bmi, Bpl, Bvs, Bvc, Bhi, Bls, Bge, Blt, Bgt, Ble]
};

fn narrow(hw: u32) -> Op {
    use Kind::*;
    let lo = |shift: u32| (hw >> shift) & 7;
    let (imm5, imm8, rd8) = ((hw >> 6) & 31, hw & 0xff, (hw >> 8) & 7);
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    let load =
        |kind, b, c, imm| Op::new(kind, lo(0), b, c, imm).timed(bit(b) | if c != 0 { bit(c) } else { 0 }, bit(lo(0)));
    let store = |kind, imm| Op::new(kind, lo(0), lo(3), 0, imm).timed(bit(lo(3)), 0);
    match hw >> 11 {
        0b00000 if imm5 == 0 => Op::new(MovRegS, lo(0), 0, lo(3), 0).timed(bit(lo(3)), 0).sets(),
        0b00000 => Op::new(LslImmS, lo(0), 0, lo(3), imm5).timed(bit(lo(3)), 0).sets(),
        // A shift of 0 encodes 32.
        0b00001 | 0b00010 => {
            let kind = if hw >> 11 == 1 { LsrImmS } else { AsrImmS };
            Op::new(kind, lo(0), 0, lo(3), if imm5 == 0 { 32 } else { imm5 }).timed(bit(lo(3)), 0).sets()
        }
        0b00011 => {
            let kind = [AddRegS, SubRegS, AddImmS, SubImmS][(hw >> 9 & 3) as usize];
            let reads = bit(lo(3)) | if hw & 0x400 == 0 { bit(lo(6)) } else { 0 };
            Op::new(kind, lo(0), lo(3), lo(6), lo(6)).timed(reads, 0).sets()
        }
        0b00100 => Op::new(MovImmS, rd8, 0, 0, imm8).sets(),
        0b00101 => Op::new(CmpImm, rd8, rd8, 0, imm8).timed(bit(rd8), 0),
        0b00110 => Op::new(AddImmS, rd8, rd8, 0, imm8).timed(bit(rd8), 0).sets(),
        0b00111 => Op::new(SubImmS, rd8, rd8, 0, imm8).timed(bit(rd8), 0).sets(),
        0b01000 if hw & 0x0400 == 0 => {
            let reads = bit(lo(0)) | bit(lo(3));
            let op = |kind| Op::new(kind, lo(0), lo(0), lo(3), 0).timed(reads, 0);
            match hw >> 6 & 15 {
                8 => op(TstReg),
                10 => op(CmpReg),
                11 => op(CmnReg),
                9 => Op::new(RsbImmS, lo(0), lo(3), 0, 0).timed(bit(lo(3)), 0).sets(),
                13 => op(MulS).timed(reads, bit(lo(0))).sets(),
                15 => Op::new(MvnRegS, lo(0), 0, lo(3), 0).timed(bit(lo(3)), 0).sets(),
                n => op([
                    AndRegS, EorRegS, LslRegS, LsrRegS, AsrRegS, AdcRegS, SbcRegS, RorRegS, Nop, Nop, Nop, Nop,
                    OrrRegS, Nop, BicRegS,
                ][n as usize])
                .sets(),
            }
        }
        0b01000 => {
            let (rm, rd) = ((hw >> 3) & 15, (hw & 7) | ((hw >> 4) & 8));
            match hw >> 8 & 3 {
                0 if rd == 15 => Op::new(AddPc, rd, rd, rm, 0).timed(bit(rm), 0),
                0 => Op::new(AddReg, rd, rd, rm, 0).timed(bit(rd) | bit(rm), 0),
                1 => Op::new(CmpReg, rd, rd, rm, 0).timed(bit(rd) | bit(rm), 0),
                2 if rd == 15 => Op::new(MovPc, rd, 0, rm, 0).timed(bit(rm), 0),
                2 => Op::new(MovReg, rd, 0, rm, 0).timed(bit(rm), 0),
                // Bit 2: BXNS and BLXNS.
                _ => Op::new(if hw & 0x80 == 0 { Bx } else { Blx }, 0, 0, rm, hw >> 2 & 1).timed(bit(rm), 0),
            }
        }
        0b01001 => Op::new(LdrLit, rd8, 0, 0, imm8 * 4).timed(0, bit(rd8)),
        0b01010 | 0b01011 => {
            let reads = bit(lo(3)) | bit(lo(6));
            let op = |kind, late| Op::new(kind, lo(0), lo(3), lo(6), 0).timed(reads, late);
            match hw >> 9 & 7 {
                0 => op(StrReg, 0),
                1 => op(StrhReg, 0),
                2 => op(StrbReg, 0),
                3 => op(LdrsbReg, bit(lo(0))),
                4 => op(LdrReg, bit(lo(0))),
                5 => op(LdrhReg, bit(lo(0))),
                6 => op(LdrbReg, bit(lo(0))),
                _ => op(LdrshReg, bit(lo(0))),
            }
        }
        0b01100 => store(StrImm, imm5 * 4),
        0b01101 => load(LdrImm, lo(3), 0, imm5 * 4),
        0b01110 => store(StrbImm, imm5),
        0b01111 => load(LdrbImm, lo(3), 0, imm5),
        0b10000 => store(StrhImm, imm5 * 2),
        0b10001 => load(LdrhImm, lo(3), 0, imm5 * 2),
        0b10010 => Op::new(StrImm, rd8, 13, 0, imm8 * 4).timed(bit(13), 0),
        0b10011 => Op::new(LdrImm, rd8, 13, 0, imm8 * 4).timed(bit(13), bit(rd8)),
        0b10100 => Op::new(Adr, rd8, 0, 0, imm8 * 4),
        0b10101 => Op::new(AddImm, rd8, 13, 0, imm8 * 4).timed(bit(13), 0),
        0b10110 | 0b10111 => miscellaneous(hw),
        0b11000 => Op::new(Stm, 0, rd8, 1, imm8).timed(bit(rd8), 0),
        0b11001 => {
            let last = 31_u32.saturating_sub(imm8.leading_zeros());
            Op::new(Ldm, 0, rd8, u32::from(imm8 & bit(rd8) == 0), imm8).timed(bit(rd8), bit(last))
        }
        0b11010 | 0b11011 => match hw >> 8 & 15 {
            14 => undefined,
            15 => Op::new(Svc, 0, 0, 0, imm8),
            condition => Op::new(CONDITIONS[condition as usize], 0, 0, 0, sign_extend(imm8 << 1, 9)),
        },
        _ => Op::new(B, 0, 0, 0, sign_extend((hw & 0x7ff) << 1, 12)),
    }
}

fn miscellaneous(hw: u32) -> Op {
    use Kind::*;
    let lo = |shift: u32| (hw >> shift) & 7;
    let extend = |kind| Op::new(kind, lo(0), 0, lo(3), 0).timed(bit(lo(3)), 0);
    match hw >> 8 & 15 {
        0 if hw & 0x80 == 0 => Op::new(AddSpImm, 13, 13, 0, (hw & 0x7f) * 4).timed(bit(13), 0),
        0 => Op::new(SubSpImm, 13, 13, 0, (hw & 0x7f) * 4).timed(bit(13), 0),
        1 | 3 | 9 | 11 => {
            let offset = (hw >> 3 & 31) << 1 | (hw >> 9 & 1) << 6;
            Op::new(if hw & 0x800 == 0 { Cbz } else { Cbnz }, lo(0), 0, 0, offset).timed(bit(lo(0)), 0)
        }
        2 => extend([Sxth, Sxtb, Uxth, Uxtb][(hw >> 6 & 3) as usize]),
        4 | 5 => Op::new(Stm, 0, 13, 1, hw & 0xff | (hw & 0x100) << 6).with(1).timed(bit(13), 0),
        6 if hw & 0xe0 == 0x60 => Op::new(Cps, 0, 0, 0, hw & 0x13),
        10 => match hw >> 6 & 3 {
            0 => extend(Rev),
            1 => extend(Rev16),
            3 => extend(Revsh),
            _ => Op::new(Undefined, 0, 0, 0, 0),
        },
        12 | 13 => {
            let list = hw & 0xff;
            let late = if list == 0 { 0 } else { bit(31 - list.leading_zeros()) };
            if hw & 0x100 == 0 {
                Op::new(Ldm, 0, 13, 1, list).timed(bit(13), late)
            } else {
                Op::new(LdmPc, 0, 13, 1, list | 1 << 15).timed(bit(13), 0)
            }
        }
        14 => Op::new(Bkpt, 0, 0, 0, hw & 0xff),
        15 if hw & 15 != 0 => Op::new(It, 0, 0, 0, hw & 0xff),
        15 => match hw >> 4 & 15 {
            2 => Op::new(Wfe, 0, 0, 0, 0),
            3 => Op::new(Wfi, 0, 0, 0, 0),
            4 => Op::new(Sev, 0, 0, 0, 0),
            _ => Op::new(Nop, 0, 0, 0, 0),
        },
        _ => Op::new(Undefined, 0, 0, 0, 0),
    }
}

/// Data processing by the four bits of its opcode: with a constant, with a register; `None`: only compares.
fn alu(opcode: u32, s: bool, rn: u32, rd: u32) -> Option<(Kind, Kind)> {
    use Kind::*;
    let pick = |plain: (Kind, Kind), flagged: (Kind, Kind)| Some(if s { flagged } else { plain });
    match opcode {
        0 if rd == 15 && s => Some((TstImm, TstReg)),
        4 if rd == 15 && s => Some((TeqImm, TeqReg)),
        8 if rd == 15 && s => Some((CmnImm, CmnReg)),
        13 if rd == 15 && s => Some((CmpImm, CmpReg)),
        0 => pick((AndImm, AndReg), (AndImmS, AndRegS)),
        1 => pick((BicImm, BicReg), (BicImmS, BicRegS)),
        2 if rn == 15 => pick((MovImm, MovReg), (MovImmS, MovRegS)),
        2 => pick((OrrImm, OrrReg), (OrrImmS, OrrRegS)),
        3 if rn == 15 => pick((MvnImm, MvnReg), (MvnImmS, MvnRegS)),
        3 => pick((OrnImm, OrnReg), (OrnImmS, OrnRegS)),
        4 => pick((EorImm, EorReg), (EorImmS, EorRegS)),
        8 => pick((AddImm, AddReg), (AddImmS, AddRegS)),
        10 => pick((AdcImm, AdcReg), (AdcImmS, AdcRegS)),
        11 => pick((SbcImm, SbcReg), (SbcImmS, SbcRegS)),
        13 => pick((SubImm, SubReg), (SubImmS, SubRegS)),
        14 => pick((RsbImm, RsbReg), (RsbImmS, RsbRegS)),
        _ => None,
    }
}

fn wide(hw: u32, next: u32) -> Op {
    use Kind::*;
    let word = hw << 16 | next;
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    let (rn, rt, rd, rm) = (hw & 15, next >> 12, next >> 8 & 15, next & 15);
    match (hw >> 11 & 3, hw >> 4 & 0x7f) {
        (1, op2) if op2 & 0x64 == 0 => {
            let list = next;
            let load = hw & 0x10 != 0;
            let (before, after) = (hw & 0x180 == 0x100, hw & 0x180 == 0x080);
            if !(before || after) || list == 0 || !load && list & 0x8000 != 0 || rn == 15 {
                return undefined;
            }
            let written_back = u32::from(hw & 0x20 != 0);
            let kind = if !load {
                Stm
            } else if list & 0x8000 != 0 {
                LdmPc
            } else {
                Ldm
            };
            let late = if kind == Ldm { bit(31 - list.leading_zeros()) } else { 0 };
            Op::new(kind, 0, rn, written_back, list).with(u32::from(before)).timed(bit(rn), late)
        }
        (1, op2) if op2 & 0x64 == 4 => double_or_exclusive(hw, next, word),
        (1, op2) if op2 & 0x60 == 0x20 => {
            let (kind, amount) = (next >> 4 & 3, next >> 10 & 0x1c | next >> 6 & 3);
            let s = hw & 0x10 != 0;
            if hw >> 5 & 15 == 6 {
                // PKHBT and PKHTB.
                return Op::new(Dsp, rd, rn, rm, word).timed(bit(rn) | bit(rm), bit(rd));
            }
            let Some((_, plain)) = alu(hw >> 5 & 15, s, rn, rd) else { return undefined };
            let reads = bit(rm) | if matches!(plain, MovReg | MovRegS | MvnReg | MvnRegS) { 0 } else { bit(rn) };
            match (plain, kind, amount) {
                (_, 0, 0) => Op::new(plain, rd, rn, rm, 0).timed(reads, 0),
                // A shift by itself takes one stage of the pipeline, as its 16-bit forms do.
                (MovReg, 0, n) => Op::new(LslImm, rd, 0, rm, n).timed(reads, 0),
                (MovRegS, 0, n) => Op::new(LslImmS, rd, 0, rm, n).timed(reads, 0),
                (MovReg, 1, n) => Op::new(LsrImm, rd, 0, rm, if n == 0 { 32 } else { n }).timed(reads, 0),
                (MovRegS, 1, n) => Op::new(LsrImmS, rd, 0, rm, if n == 0 { 32 } else { n }).timed(reads, 0),
                (MovReg, 2, n) => Op::new(AsrImm, rd, 0, rm, if n == 0 { 32 } else { n }).timed(reads, 0),
                (MovRegS, 2, n) => Op::new(AsrImmS, rd, 0, rm, if n == 0 { 32 } else { n }).timed(reads, 0),
                (MovReg, 3, n) if n != 0 => Op::new(RorImm, rd, 0, rm, n).timed(reads, 0),
                (MovRegS, 3, n) if n != 0 => Op::new(RorImmS, rd, 0, rm, n).timed(reads, 0),
                // The operation without a shift, the shift's type and its amount.
                _ => {
                    let late = if rd == 15 { 0 } else { bit(rd) };
                    Op::new(Shifted, rd, rn, rm, word).with(amount | kind << 5).timed(reads, late)
                }
            }
        }
        (1 | 3, op2) if op2 & 0x40 != 0 => coprocessor(hw, next, word),
        (2, _) if next & 0x8000 == 0 => constant(hw, next),
        (2, _) => control(hw, next),
        (3, op2) if op2 & 0x60 == 0 => single(hw, next, word),
        (3, op2) if op2 & 0x70 == 0x20 => register(hw, next, word),
        (3, op2) if op2 & 0x78 == 0x30 => {
            let ra = rt;
            let op = |kind, reads: u32| Op::new(kind, rd, rn, rm, word).with(ra).timed(reads, bit(rd));
            match (hw >> 4 & 7, next >> 4 & 15) {
                (0, 0) if ra == 15 => op(Mul, bit(rn) | bit(rm)),
                // The sum is taken in the second stage.
                (0, 0) => op(Mla, bit(rn) | bit(rm)),
                (0, 1) => op(Mls, bit(rn) | bit(rm)),
                (1..=6, sub) if sub < 4 => op(Dsp, bit(rn) | bit(rm)),
                (7, 0) => op(Dsp, bit(rn) | bit(rm)),
                _ => undefined,
            }
        }
        (3, op2) if op2 & 0x78 == 0x38 => {
            let op = |kind| Op::new(kind, rt, rn, rm, word).with(rd).timed(bit(rn) | bit(rm), bit(rt) | bit(rd));
            match (hw >> 4 & 7, next >> 4 & 15) {
                (0, 0) => op(Smull),
                (1, 15) => Op::new(Sdiv, rd, rn, rm, 0).timed(bit(rn) | bit(rm), 0),
                (2, 0) => op(Umull),
                (3, 15) => Op::new(Udiv, rd, rn, rm, 0).timed(bit(rn) | bit(rm), 0),
                (4, 0) => op(Smlal),
                (4, 8..=13) | (5, 12..=13) => op(Dsp),
                (6, 0) => op(Umlal),
                (6, 6) => op(Umaal),
                _ => undefined,
            }
        }
        _ => undefined,
    }
}

fn double_or_exclusive(hw: u32, next: u32, word: u32) -> Op {
    use Kind::*;
    let (rn, rt, rt2, rm) = (hw & 15, next >> 12, next >> 8 & 15, next & 15);
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    let load = hw & 0x10 != 0;
    if hw & 0x120 != 0 {
        if hw == 0xe97f && next == 0xe97f {
            return Op::new(Sg, 0, 0, 0, 0);
        }
        let offset = (next & 0xff) * 4;
        let offset = if hw & 0x80 != 0 { offset } else { offset.wrapping_neg() };
        // Bit 0: P, bit 1: W.
        let mode = hw >> 8 & 1 | hw >> 4 & 2;
        let kind = if load { Ldrd } else { Strd };
        let late = if load { bit(rt2) } else { 0 };
        return Op::new(kind, rt, rn, rt2, offset).with(mode).timed(if rn == 15 { 0 } else { bit(rn) }, late);
    }
    match (hw >> 4 & 0xf, next >> 4 & 15) {
        (4, _) if rt == 15 && next & 0x3f == 0 => Op::new(Tt, rt2, rn, next >> 6 & 3, 0).timed(bit(rn), 0),
        (4, _) if rt == 15 => undefined,
        (4 | 5, _) => Op::new(Exclusive, rt, rn, rt2, word).timed(bit(rn), if load { bit(rt) } else { 0 }),
        (13, 0 | 1) => {
            Op::new(TableBranch, 0, rn, rm, next >> 4 & 1).timed(if rn == 15 { bit(rm) } else { bit(rn) | bit(rm) }, 0)
        }
        // LDREXB, LDREXH, LDAB, LDA, LDAEX and their stores.
        (12 | 13, 4 | 5 | 8..=10 | 12..=14) => {
            Op::new(Exclusive, rt, rn, rm, word).timed(bit(rn), if load { bit(rt) } else { 0 })
        }
        _ => undefined,
    }
}

/// Data processing with a constant.
fn constant(hw: u32, next: u32) -> Op {
    use Kind::*;
    let (rn, rd) = (hw & 15, next >> 8 & 15);
    let imm12 = (hw >> 10 & 1) << 11 | (next >> 12 & 7) << 8 | next & 0xff;
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    if hw & 0x200 == 0 {
        let (value, carry) = expand(imm12);
        let Some((kind, _)) = alu(hw >> 5 & 15, hw & 0x10 != 0, rn, rd) else { return undefined };
        // A shifted constant comes late.
        let late =
            if carry != 0 && rd != 15 && !matches!(kind, MovImm | MovImmS | MvnImm | MvnImmS) { bit(rd) } else { 0 };
        let reads = if matches!(kind, MovImm | MovImmS | MvnImm | MvnImmS) { 0 } else { bit(rn) };
        return Op::new(kind, rd, rn, carry, value).timed(reads, late);
    }
    let (lsb, width) = (next >> 10 & 0x1c | next >> 6 & 3, next & 31);
    match hw >> 4 & 31 {
        0 if rn == 15 => Op::new(Adr, rd, 0, 0, imm12),
        0 => Op::new(AddImm, rd, rn, 0, imm12).timed(bit(rn), 0),
        4 => Op::new(MovImm, rd, 0, 0, rn << 12 | imm12),
        10 if rn == 15 => Op::new(Adr, rd, 0, 0, imm12.wrapping_neg()),
        10 => Op::new(SubImm, rd, rn, 0, imm12).timed(bit(rn), 0),
        12 => Op::new(Movt, rd, rd, 0, (rn << 12 | imm12) << 16).timed(bit(rd), 0),
        // SSAT, SSAT16, USAT, USAT16.
        16 | 18 | 24 | 26 => Op::new(Dsp, rd, rn, 0, hw << 16 | next).timed(bit(rn), bit(rd)),
        20 if lsb + width < 32 => Op::new(Sbfx, rd, rn, lsb, width).timed(bit(rn), 0),
        28 if lsb + width < 32 => Op::new(Ubfx, rd, rn, lsb, width).timed(bit(rn), 0),
        // `c` is 1 for BFC.
        22 if width >= lsb => {
            let mask = u32::MAX >> (31 - (width - lsb)) << lsb;
            Op::new(Bfi, rd, rn, u32::from(rn == 15), mask)
                .with(lsb)
                .timed(if rn == 15 { bit(rd) } else { bit(rd) | bit(rn) }, 0)
        }
        _ => undefined,
    }
}

/// Branches and system instructions.
fn control(hw: u32, next: u32) -> Op {
    use Kind::*;
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    let (s, j1, j2) = (hw >> 10 & 1, next >> 13 & 1, next >> 11 & 1);
    let long = {
        let (i1, i2) = (!(j1 ^ s) & 1, !(j2 ^ s) & 1);
        sign_extend(s << 24 | i1 << 23 | i2 << 22 | (hw & 0x3ff) << 12 | (next & 0x7ff) << 1, 25)
    };
    match (next >> 12 & 7, hw >> 4 & 0x7f) {
        (5 | 7, _) => Op::new(Bl, 0, 0, 0, long),
        (1 | 3, _) => Op::new(B, 0, 0, 0, long),
        (0 | 2, _) if hw >> 6 & 15 < 14 => {
            let offset = s << 20 | j2 << 19 | j1 << 18 | (hw & 0x3f) << 12 | (next & 0x7ff) << 1;
            Op::new(CONDITIONS[(hw >> 6 & 15) as usize], 0, 0, 0, sign_extend(offset, 21))
        }
        (0, 0x38 | 0x39) => Op::new(Msr, 0, hw & 15, next >> 10 & 3, next & 0xff).timed(bit(hw & 15), 0),
        (0, 0x3a) => match next & 0xff {
            2 => Op::new(Wfe, 0, 0, 0, 0),
            3 => Op::new(Wfi, 0, 0, 0, 0),
            4 => Op::new(Sev, 0, 0, 0, 0),
            _ => Op::new(Nop, 0, 0, 0, 0),
        },
        (0, 0x3b) => match next >> 4 & 15 {
            2 => Op::new(Clrex, 0, 0, 0, 0),
            4..=6 => Op::new(Barrier, 0, 0, 0, 0),
            _ => undefined,
        },
        (0, 0x3e | 0x3f) => Op::new(Mrs, next >> 8 & 15, 0, 0, next & 0xff),
        _ => undefined,
    }
}

/// Loads and stores of one register.
fn single(hw: u32, next: u32, word: u32) -> Op {
    use Kind::*;
    let (rn, rt, rm) = (hw & 15, next >> 12, next & 15);
    let (size, signed, load) = (hw >> 5 & 3, hw & 0x100 != 0, hw & 0x10 != 0);
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    if size == 3 || signed && (size == 2 || !load) || !load && (rn == 15 || rt == 15) {
        return undefined;
    }
    let late = if load && rt != 15 { bit(rt) } else { 0 };
    // PLD, PLI and the like.
    if load && rt == 15 && size != 2 {
        return Op::new(Nop, 0, 0, 0, 0);
    }
    let (by_constant, by_register) = match (load, signed, size) {
        (true, false, 0) => (LdrbImm, LdrbReg),
        (true, false, 1) => (LdrhImm, LdrhReg),
        (true, true, 0) => (LdrsbImm, LdrsbReg),
        (true, true, 1) => (LdrshImm, LdrshReg),
        (true, ..) => (LdrImm, LdrReg),
        (false, _, 0) => (StrbImm, StrbReg),
        (false, _, 1) => (StrhImm, StrhReg),
        _ => (StrImm, StrReg),
    };
    let pc = load && rt == 15;
    if rn == 15 {
        let offset = if hw & 0x80 != 0 { next & 0xfff } else { (next & 0xfff).wrapping_neg() };
        let kind = if pc {
            LdrPc
        } else if by_constant == LdrImm {
            LdrLit
        } else {
            Indexed
        };
        return Op::new(kind, rt, 15, 0, if kind == LdrLit { offset } else { word }).timed(0, late);
    }
    if pc || hw & 0x80 == 0 && next & 0x800 != 0 && next & 0xf00 != 0xc00 {
        return Op::new(if pc { LdrPc } else { Indexed }, rt, rn, 0, word).timed(bit(rn), late);
    }
    if hw & 0x80 != 0 {
        return Op::new(by_constant, rt, rn, 0, next & 0xfff).timed(bit(rn), late);
    }
    if next & 0xf00 == 0xc00 {
        return Op::new(by_constant, rt, rn, 0, (next & 0xff).wrapping_neg()).timed(bit(rn), late);
    }
    if next & 0xfc0 != 0 {
        return undefined;
    }
    Op::new(by_register, rt, rn, rm, 0).with(next >> 4 & 3).timed(bit(rn) | bit(rm), late)
}

/// Data processing with registers: shifts, extensions, parallel sums, miscellaneous.
fn register(hw: u32, next: u32, word: u32) -> Op {
    use Kind::*;
    let (rn, rd, rm) = (hw & 15, next >> 8 & 15, next & 15);
    let undefined = Op::new(Undefined, 0, 0, 0, 0);
    if next & 0xf000 != 0xf000 {
        return undefined;
    }
    let both = bit(rn) | bit(rm);
    match (hw >> 4 & 15, next >> 4 & 15) {
        (op, 0) if op < 8 => {
            let kind = [LslReg, LslRegS, LsrReg, LsrRegS, AsrReg, AsrRegS, RorReg, RorRegS][op as usize];
            Op::new(kind, rd, rn, rm, 0).timed(both, 0)
        }
        (op, rotation) if op < 6 && rotation & 8 != 0 => {
            let plain = rn == 15 && rotation & 3 == 0;
            match op {
                0 if plain => Op::new(Sxth, rd, 0, rm, 0).timed(bit(rm), 0),
                1 if plain => Op::new(Uxth, rd, 0, rm, 0).timed(bit(rm), 0),
                4 if plain => Op::new(Sxtb, rd, 0, rm, 0).timed(bit(rm), 0),
                5 if plain => Op::new(Uxtb, rd, 0, rm, 0).timed(bit(rm), 0),
                _ => Op::new(Dsp, rd, rn, rm, word).timed(bit(rm), bit(rd)),
            }
        }
        (8..=10 | 12..=14, 0..=2 | 4..=6) => Op::new(Dsp, rd, rn, rm, word).timed(both, bit(rd)),
        (8, 8..=11) | (10, 8) => Op::new(Dsp, rd, rn, rm, word).timed(both, bit(rd)),
        (9, 8) => Op::new(Rev, rd, 0, rm, 0).timed(bit(rm), 0),
        (9, 9) => Op::new(Rev16, rd, 0, rm, 0).timed(bit(rm), 0),
        (9, 10) => Op::new(Rbit, rd, 0, rm, 0).timed(bit(rm), 0),
        (9, 11) => Op::new(Revsh, rd, 0, rm, 0).timed(bit(rm), 0),
        (11, 8) => Op::new(Clz, rd, 0, rm, 0).timed(bit(rm), 0),
        _ => undefined,
    }
}

fn coprocessor(hw: u32, next: u32, word: u32) -> Op {
    use Kind::*;
    let (rn, rt, number) = (hw & 15, next >> 12, next >> 8 & 15);
    if number & 0xe != 10 {
        if hw & 0xff00 == 0xef00 || hw & 0xff00 == 0xff00 {
            return Op::new(Undefined, 0, 0, 0, 0);
        }
        // Transfers of one or two registers and CDP; LDC and STC are left to the coprocessor's absence.
        let late = match (hw & 0x0ff0, next & 0x10 != 0) {
            (0x0c50, _) => bit(rt) | bit(rn),
            (transfer, true) if transfer & 0x0f10 == 0x0e10 && rt != 15 => bit(rt),
            _ => 0,
        };
        return Op::new(Coprocessor, rt, rn, number, word).timed(0, late);
    }
    // Loads and stores, but not the transfers of two registers.
    let memory = hw & 0xfe00 == 0xec00 && hw & 0x1e0 != 0x40;
    if memory {
        return Op::new(FloatLoad, rt, rn, 0, word).timed(if rn == 15 { 0 } else { bit(rn) }, 0);
    }
    // From a core register: it is read at the start; to one: it comes late.
    let one = hw & 0xff00 == 0xee00 && next & 0x10 != 0;
    let (reads, late) = match (one, hw & 0x10 != 0) {
        (true, true) if rt != 15 => (0, bit(rt)),
        (true, false) => (bit(rt), 0),
        _ => (0, 0),
    };
    Op::new(Float, rt, rn, 0, word).timed(reads, late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_branches_with_their_offsets() {
        assert_eq!(decode(0xe7fe, 0).imm, (-4i32) as u32);
        let bl = decode(0xf7ff, 0xfffe);
        assert_eq!((bl.kind, bl.imm, bl.bytes()), (Kind::Bl, (-4i32) as u32, 4));
        let bne = decode(0xf47f, 0xaffe);
        assert_eq!((bne.kind, bne.imm, bne.bytes()), (Kind::Bne, (-4i32) as u32, 4));
    }

    #[test]
    fn expands_constants() {
        assert_eq!([0x0ab, 0x1ab, 0x2ab, 0x3ab].map(|imm| expand(imm).0), [0xab, 0xab_00ab, 0xab00_ab00, 0xabab_abab]);
        assert_eq!((expand(0x4ff), expand(0xfff)), ((0x7f80_0000, 2), (0x1fe, 2)));
    }

    #[test]
    fn every_encoding_decodes_to_something() {
        for hw in 0..=u16::MAX {
            for next in [0, 0x8f4f, 0xd000, 0xffff, 0x8808, 0x8110, 0xf080] {
                let op = decode(hw, next);
                assert_ne!(op.kind, Kind::Undecoded);
                assert_eq!(op.bytes(), if hw >= 0xe800 { 4 } else { 2 });
            }
        }
    }
}
