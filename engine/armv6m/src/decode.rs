//! Predecoding of ARMv6-M Thumb instructions (ARMv6-M Architecture Reference Manual, chapter A5).

use bytemuck::Zeroable;

/// Instruction kinds, with operands in [`Op`]: `a` is usually Rd/Rt, `b` Rn, `c` Rm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Not predecoded yet, or beyond the end of a region.
    Undecoded,
    MovsReg,
    LslImm,
    LsrImm,
    AsrImm,
    AddReg,
    SubReg,
    AddImm,
    SubImm,
    MovImm,
    CmpImm,
    And,
    Eor,
    LslReg,
    LsrReg,
    AsrReg,
    Adc,
    Sbc,
    RorReg,
    Tst,
    Rsb,
    CmpReg,
    Cmn,
    Orr,
    Mul,
    Bic,
    Mvn,
    AddHi,
    AddPc,
    MovHi,
    MovPc,
    MovFromPc,
    AddFromPc,
    Bx,
    Blx,
    LdrLit,
    StrReg,
    StrhReg,
    StrbReg,
    LdrsbReg,
    LdrReg,
    LdrhReg,
    LdrbReg,
    LdrshReg,
    StrImm,
    LdrImm,
    StrbImm,
    LdrbImm,
    StrhImm,
    LdrhImm,
    Adr,
    AddSpImm,
    AddSp,
    SubSp,
    Sxth,
    Sxtb,
    Uxth,
    Uxtb,
    Push,
    Pop,
    PopPc,
    Cps,
    Rev,
    Rev16,
    Revsh,
    Bkpt,
    Nop,
    Wfe,
    Wfi,
    Sev,
    Stm,
    Ldm,
    Beq,
    Bne,
    Bcs,
    Bcc,
    Bmi,
    Bpl,
    Bvs,
    Bvc,
    Bhi,
    Bls,
    Bge,
    Blt,
    Bgt,
    Ble,
    Svc,
    Undefined,
    B,
    Bl,
    Msr,
    Mrs,
    Barrier,
}

/// For each conditional branch, from [`Kind::Beq`] on, the flags with which it is taken: bit NZCV is set.
const TAKEN: [u16; 14] = {
    let mut taken = [0; 14];
    let mut flags = 0;
    while flags < 16 {
        let (n, z, c, v) = (flags >> 3 & 1 != 0, flags >> 2 & 1 != 0, flags >> 1 & 1 != 0, flags & 1 != 0);
        let pairs = [z, c, n, v, c && !z, n == v, !z && n == v];
        let mut condition = 0;
        while condition < taken.len() {
            // The second of a pair is the opposite of the first.
            let holds = pairs[condition / 2] == (condition % 2 == 0);
            taken[condition] |= (holds as u16) << flags;
            condition += 1;
        }
        flags += 1;
    }
    taken
};

impl Kind {
    /// Returns, for a conditional branch, the flags with which it is taken: bit NZCV is set.
    #[inline(always)]
    pub(crate) fn taken(self) -> Option<u16> {
        TAKEN.get(usize::from((self as u8).wrapping_sub(Kind::Beq as u8))).copied()
    }
}

/// One predecoded instruction. Nothing in it depends on its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
pub struct Op {
    pub(crate) kind: Kind,
    pub(crate) a: u8,
    pub(crate) b: u8,
    pub(crate) c: u8,
    /// Immediate (already scaled and sign-extended), or register list.
    pub(crate) imm: u32,
}

impl Op {
    fn new(kind: Kind, a: u16, b: u16, c: u16, imm: u32) -> Self {
        Self { kind, a: a as u8, b: b as u8, c: c as u8, imm }
    }

    /// Length of the instruction in bytes.
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")),
        allow(dead_code, reason = "for blocks")
    )]
    pub(crate) fn bytes(self) -> u32 {
        match self.kind {
            Kind::Bl | Kind::Msr | Kind::Mrs | Kind::Barrier => 4,
            Kind::Undefined => self.imm,
            _ => 2,
        }
    }
}

fn sign_extend(value: u32, bits: u32) -> u32 {
    ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
}

/// Decodes the instruction whose first halfword is `hw`; `next` is the halfword after it.
pub(crate) fn decode(hw: u16, next: u16) -> Op {
    use Kind::*;
    let lo = |shift: u16| (hw >> shift) & 7;
    let imm5 = u32::from((hw >> 6) & 31);
    let imm8 = u32::from(hw & 0xff);
    let rd8 = (hw >> 8) & 7;
    match hw >> 11 {
        0b00000 if imm5 == 0 => Op::new(MovsReg, lo(0), 0, lo(3), 0),
        0b00000 => Op::new(LslImm, lo(0), 0, lo(3), imm5),
        // A shift of 0 encodes 32.
        0b00001 => Op::new(LsrImm, lo(0), 0, lo(3), if imm5 == 0 { 32 } else { imm5 }),
        0b00010 => Op::new(AsrImm, lo(0), 0, lo(3), if imm5 == 0 { 32 } else { imm5 }),
        0b00011 => {
            let imm3 = u32::from(lo(6));
            match (hw >> 9) & 3 {
                0 => Op::new(AddReg, lo(0), lo(3), lo(6), 0),
                1 => Op::new(SubReg, lo(0), lo(3), lo(6), 0),
                2 => Op::new(AddImm, lo(0), lo(3), 0, imm3),
                _ => Op::new(SubImm, lo(0), lo(3), 0, imm3),
            }
        }
        0b00100 => Op::new(MovImm, rd8, 0, 0, imm8),
        0b00101 => Op::new(CmpImm, rd8, rd8, 0, imm8),
        0b00110 => Op::new(AddImm, rd8, rd8, 0, imm8),
        0b00111 => Op::new(SubImm, rd8, rd8, 0, imm8),
        0b01000 if hw & 0x0400 == 0 => {
            let kind = [And, Eor, LslReg, LsrReg, AsrReg, Adc, Sbc, RorReg, Tst, Rsb, CmpReg, Cmn, Orr, Mul, Bic, Mvn]
                [usize::from((hw >> 6) & 15)];
            Op::new(kind, lo(0), lo(0), lo(3), 0)
        }
        0b01000 => {
            let rm = (hw >> 3) & 15;
            let rd = (hw & 7) | ((hw >> 4) & 8);
            match (hw >> 8) & 3 {
                0 if rd == 15 => Op::new(AddPc, rd, rd, rm, 0),
                0 if rm == 15 => Op::new(AddFromPc, rd, rd, rm, 0),
                0 => Op::new(AddHi, rd, rd, rm, 0),
                1 if rd == 15 || rm == 15 => Op::new(Undefined, 0, 0, 0, 2),
                1 => Op::new(CmpReg, rd, rd, rm, 0),
                2 if rd == 15 => Op::new(MovPc, rd, 0, rm, 0),
                2 if rm == 15 => Op::new(MovFromPc, rd, 0, rm, 0),
                2 => Op::new(MovHi, rd, 0, rm, 0),
                _ if rm == 15 => Op::new(Undefined, 0, 0, 0, 2),
                _ if hw & 0x80 == 0 => Op::new(Bx, 0, 0, rm, 0),
                _ => Op::new(Blx, 0, 0, rm, 0),
            }
        }
        0b01001 => Op::new(LdrLit, rd8, 0, 0, imm8 * 4),
        0b01010 | 0b01011 => {
            let kind =
                [StrReg, StrhReg, StrbReg, LdrsbReg, LdrReg, LdrhReg, LdrbReg, LdrshReg][usize::from((hw >> 9) & 7)];
            Op::new(kind, lo(0), lo(3), lo(6), 0)
        }
        0b01100 => Op::new(StrImm, lo(0), lo(3), 0, imm5 * 4),
        0b01101 => Op::new(LdrImm, lo(0), lo(3), 0, imm5 * 4),
        0b01110 => Op::new(StrbImm, lo(0), lo(3), 0, imm5),
        0b01111 => Op::new(LdrbImm, lo(0), lo(3), 0, imm5),
        0b10000 => Op::new(StrhImm, lo(0), lo(3), 0, imm5 * 2),
        0b10001 => Op::new(LdrhImm, lo(0), lo(3), 0, imm5 * 2),
        0b10010 => Op::new(StrImm, rd8, 13, 0, imm8 * 4),
        0b10011 => Op::new(LdrImm, rd8, 13, 0, imm8 * 4),
        0b10100 => Op::new(Adr, rd8, 0, 0, imm8 * 4),
        0b10101 => Op::new(AddSpImm, rd8, 13, 0, imm8 * 4),
        0b10110 | 0b10111 => decode_misc(hw),
        0b11000 => Op::new(Stm, 0, rd8, 0, imm8),
        0b11001 => Op::new(Ldm, 0, rd8, 0, imm8),
        0b11010 | 0b11011 => {
            let offset = sign_extend(imm8 << 1, 9);
            match (hw >> 8) & 15 {
                14 => Op::new(Undefined, 0, 0, 0, 2),
                15 => Op::new(Svc, 0, 0, 0, imm8),
                condition => {
                    let kind =
                        [Beq, Bne, Bcs, Bcc, Bmi, Bpl, Bvs, Bvc, Bhi, Bls, Bge, Blt, Bgt, Ble][usize::from(condition)];
                    Op::new(kind, 0, 0, 0, offset)
                }
            }
        }
        0b11100 => Op::new(B, 0, 0, 0, sign_extend(u32::from(hw & 0x7ff) << 1, 12)),
        0b11110 => decode_32(hw, next),
        _ => Op::new(Undefined, 0, 0, 0, 4),
    }
}

fn decode_misc(hw: u16) -> Op {
    use Kind::*;
    let (rd, rm) = (hw & 7, (hw >> 3) & 7);
    let imm7 = u32::from(hw & 0x7f) * 4;
    match (hw >> 5) & 0x7f {
        0b0000000..=0b0000011 => Op::new(AddSp, 13, 13, 0, imm7),
        0b0000100..=0b0000111 => Op::new(SubSp, 13, 13, 0, imm7),
        0b0010000 | 0b0010001 => Op::new(if hw & 0x40 == 0 { Sxth } else { Sxtb }, rd, 0, rm, 0),
        0b0010010 | 0b0010011 => Op::new(if hw & 0x40 == 0 { Sxth } else { Sxtb }, rd, 0, rm, 0),
        0b0010100 | 0b0010101 => Op::new(if hw & 0x40 == 0 { Uxth } else { Uxtb }, rd, 0, rm, 0),
        0b0010110 | 0b0010111 => Op::new(if hw & 0x40 == 0 { Uxth } else { Uxtb }, rd, 0, rm, 0),
        // Bit 8 of the register list is LR.
        0b0100000..=0b0101111 => {
            let list = u32::from(hw & 0xff) | (u32::from(hw & 0x100) << 6);
            Op::new(Push, 0, 13, 0, list)
        }
        // CPSIE i / CPSID i.
        0b0110011 if hw & 0xffef == 0xb662 => Op::new(Cps, 0, 0, 0, u32::from((hw >> 4) & 1)),
        0b1010000 | 0b1010001 => Op::new(Rev, rd, 0, rm, 0),
        0b1010010 | 0b1010011 => Op::new(Rev16, rd, 0, rm, 0),
        0b1010110 | 0b1010111 => Op::new(Revsh, rd, 0, rm, 0),
        // Bit 8 of the register list is PC.
        0b1100000..=0b1101111 => {
            let list = u32::from(hw & 0xff);
            Op::new(if hw & 0x100 == 0 { Pop } else { PopPc }, 0, 13, 0, list)
        }
        0b1110000..=0b1110111 => Op::new(Bkpt, 0, 0, 0, u32::from(hw & 0xff)),
        0b1111000..=0b1111111 if hw & 15 == 0 => match (hw >> 4) & 15 {
            2 => Op::new(Wfe, 0, 0, 0, 0),
            3 => Op::new(Wfi, 0, 0, 0, 0),
            4 => Op::new(Sev, 0, 0, 0, 0),
            _ => Op::new(Nop, 0, 0, 0, 0),
        },
        _ => Op::new(Undefined, 0, 0, 0, 2),
    }
}

fn decode_32(hw: u16, next: u16) -> Op {
    use Kind::*;
    if next & 0xd000 == 0xd000 {
        let s = u32::from((hw >> 10) & 1);
        let j1 = u32::from((next >> 13) & 1);
        let j2 = u32::from((next >> 11) & 1);
        let i1 = !(j1 ^ s) & 1;
        let i2 = !(j2 ^ s) & 1;
        let offset =
            (s << 24) | (i1 << 23) | (i2 << 22) | (u32::from(hw & 0x3ff) << 12) | (u32::from(next & 0x7ff) << 1);
        return Op::new(Bl, 0, 0, 0, sign_extend(offset, 25));
    }
    let sysm = u32::from(next & 0xff);
    match (hw, next) {
        (0xf380..=0xf38f, _) if next & 0xff00 == 0x8800 => Op::new(Msr, 0, hw & 15, 0, sysm),
        (0xf3ef, _) if next & 0xf000 == 0x8000 => Op::new(Mrs, (next >> 8) & 15, 0, 0, sysm),
        (0xf3bf, 0x8f40..=0x8f6f) => Op::new(Barrier, 0, 0, 0, 0),
        _ => Op::new(Undefined, 0, 0, 0, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_the_sign_extensions() {
        for (hw, kind) in [(0xb200, Kind::Sxth), (0xb240, Kind::Sxtb), (0xb280, Kind::Uxth), (0xb2c0, Kind::Uxtb)] {
            assert_eq!(decode(hw, 0).kind, kind);
        }
    }

    #[test]
    fn decodes_branches_with_their_offsets() {
        assert_eq!(decode(0xe7fe, 0).imm, (-4i32) as u32);
        assert_eq!(decode(0xd0fe, 0).imm, (-4i32) as u32);
        let bl = decode(0xf7ff, 0xfffe);
        assert_eq!((bl.kind, bl.imm), (Kind::Bl, (-4i32) as u32));
    }

    #[test]
    fn every_encoding_decodes_to_something() {
        for hw in 0..=u16::MAX {
            for next in [0, 0x8f4f, 0xd000, 0xffff, 0x8808, 0x8110] {
                let op = decode(hw, next);
                assert_ne!(op.kind, Kind::Undecoded);
                assert!(op.bytes() == 2 || op.bytes() == 4);
            }
        }
    }
}
