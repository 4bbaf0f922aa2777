//! The decoder: halfwords to predecoded instructions. A 16-bit instruction becomes its 32-bit equivalent.

use bytemuck::Zeroable;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
#[repr(u8)]
#[rustfmt::skip]
pub enum Kind {
    /// Not decoded yet.
    Undecoded,
    Illegal,
    Lui, Auipc, Jal, Jalr,
    Beq, Bne, Blt, Bge, Bltu, Bgeu,
    Lb, Lh, Lw, Lbu, Lhu, Sb, Sh, Sw,
    Addi, Slti, Sltiu, Xori, Ori, Andi, Slli, Srli, Srai,
    Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And,
    Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu,
    Sh1add, Sh2add, Sh3add,
    Andn, Orn, Xnor, Clz, Ctz, Cpop, Max, Maxu, Min, Minu, SextB, SextH, Rol, Ror, Rori, OrcB, Rev8,
    Bclr, Bclri, Bext, Bexti, Binv, Binvi, Bset, Bseti,
    Pack, Packh, Brev8, Zip, Unzip,
    Bextm, Bextmi,
    Fence, FenceI,
    LrW, ScW, Amo,
    Csr, CsrImmediate,
    Ecall, Ebreak, Mret, Wfi, Block, Unblock,
    CmPush, CmPop, CmPopret, CmPopretz, CmMva01s, CmMvsa01,
}

/// A predecoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroable)]
pub struct Op {
    pub kind: Kind,
    /// The destination, [`NOWHERE`] for x0. Of a store, the register with the data. [`WIDE`]: 32 bits.
    rd: u8,
    /// Sources, x0 where the instruction has none.
    pub rs1: u8,
    pub rs2: u8,
    /// The immediate. Of CSR and AMO instructions, see [`decode`].
    pub imm: u32,
}

/// Index of a register that nothing reads, the destination in place of x0.
pub(crate) const NOWHERE: u8 = 32;
const WIDE: u8 = 0x80;

impl Op {
    #[inline]
    pub fn rd(self) -> usize {
        usize::from(self.rd & 63)
    }

    #[inline]
    pub fn is_wide(self) -> bool {
        self.rd & WIDE != 0
    }

    #[inline]
    pub fn bytes(self) -> u32 {
        2 + 2 * u32::from(self.rd >> 7)
    }

    fn new(kind: Kind, rd: u32, rs1: u32, rs2: u32, imm: u32) -> Self {
        let rd = if rd == 0 { NOWHERE } else { rd as u8 };
        Self { kind, rd, rs1: rs1 as u8, rs2: rs2 as u8, imm }
    }

    /// A store has its data's register in place of the destination, which may be x0.
    fn store(kind: Kind, rs1: u32, data: u32, imm: u32) -> Self {
        Self { kind, rd: data as u8, rs1: rs1 as u8, rs2: 0, imm }
    }

    const ILLEGAL: Self = Self { kind: Kind::Illegal, rd: NOWHERE, rs1: 0, rs2: 0, imm: 0 };
}

/// Bits `low` to `low + count - 1` of `word`.
const fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

const fn signed(value: u32, bits: u32) -> u32 {
    ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
}

/// Decodes the instruction that begins with `first`; `next` is the halfword after it.
///
/// The immediate of a CSR instruction has the register's address, from bit 12 on the operation (1 write, 2 set, 3
/// clear), from bit 16 on a constant; that of an AMO its funct5; those of shifts the distance.
#[must_use]
pub(crate) fn decode(first: u16, next: u16) -> Op {
    if first & 3 == 3 {
        let mut op = wide(u32::from(first) | u32::from(next) << 16);
        op.rd |= WIDE;
        op
    } else {
        narrow(u32::from(first))
    }
}

fn wide(word: u32) -> Op {
    use Kind::*;
    let (rd, rs1, rs2) = (bits(word, 7, 5), bits(word, 15, 5), bits(word, 20, 5));
    let (funct3, funct7) = (bits(word, 12, 3), word >> 25);
    let i = signed(word >> 20, 12);
    let s = signed((word >> 25) << 5 | rd, 12);
    match word & 0x7f {
        0x37 => Op::new(Lui, rd, 0, 0, word & 0xffff_f000),
        0x17 => Op::new(Auipc, rd, 0, 0, word & 0xffff_f000),
        0x6f => {
            let imm =
                bits(word, 31, 1) << 20 | bits(word, 12, 8) << 12 | bits(word, 20, 1) << 11 | bits(word, 21, 10) << 1;
            Op::new(Jal, rd, 0, 0, signed(imm, 21))
        }
        0x67 if funct3 == 0 => Op::new(Jalr, rd, rs1, 0, i),
        0x63 => {
            let imm = bits(word, 31, 1) << 12 | bits(word, 7, 1) << 11 | bits(word, 25, 6) << 5 | bits(word, 8, 4) << 1;
            let kind = match funct3 {
                0 => Beq,
                1 => Bne,
                4 => Blt,
                5 => Bge,
                6 => Bltu,
                7 => Bgeu,
                _ => return Op::ILLEGAL,
            };
            Op::new(kind, 0, rs1, rs2, signed(imm, 13))
        }
        0x03 => {
            let kind = match funct3 {
                0 => Lb,
                1 => Lh,
                2 => Lw,
                4 => Lbu,
                5 => Lhu,
                _ => return Op::ILLEGAL,
            };
            Op::new(kind, rd, rs1, 0, i)
        }
        0x23 => {
            let kind = match funct3 {
                0 => Sb,
                1 => Sh,
                2 => Sw,
                _ => return Op::ILLEGAL,
            };
            Op::store(kind, rs1, rs2, s)
        }
        0x13 => {
            let (kind, imm) = match (funct3, funct7, rs2) {
                (0, ..) => (Addi, i),
                (2, ..) => (Slti, i),
                (3, ..) => (Sltiu, i),
                (4, ..) => (Xori, i),
                (6, ..) => (Ori, i),
                (7, ..) => (Andi, i),
                (1, 0x00, _) => (Slli, rs2),
                (1, 0x14, _) => (Bseti, rs2),
                (1, 0x24, _) => (Bclri, rs2),
                (1, 0x34, _) => (Binvi, rs2),
                (1, 0x30, 0) => (Clz, 0),
                (1, 0x30, 1) => (Ctz, 0),
                (1, 0x30, 2) => (Cpop, 0),
                (1, 0x30, 4) => (SextB, 0),
                (1, 0x30, 5) => (SextH, 0),
                (1, 0x04, 15) => (Zip, 0),
                (5, 0x00, _) => (Srli, rs2),
                (5, 0x20, _) => (Srai, rs2),
                (5, 0x30, _) => (Rori, rs2),
                (5, 0x24, _) => (Bexti, rs2),
                (5, 0x14, 7) => (OrcB, 0),
                (5, 0x34, 24) => (Rev8, 0),
                (5, 0x34, 7) => (Brev8, 0),
                (5, 0x04, 15) => (Unzip, 0),
                _ => return Op::ILLEGAL,
            };
            Op::new(kind, rd, rs1, 0, imm)
        }
        0x33 => {
            let kind = match (funct7, funct3) {
                (0x00, 2) if rd == 0 && rs1 == 0 && rs2 == 0 => Block,
                (0x00, 2) if rd == 0 && rs1 == 0 && rs2 == 1 => Unblock,
                (0x00, _) => [Add, Sll, Slt, Sltu, Xor, Srl, Or, And][funct3 as usize],
                (0x01, _) => [Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu][funct3 as usize],
                (0x20, 0) => Sub,
                (0x20, 5) => Sra,
                (0x20, 7) => Andn,
                (0x20, 6) => Orn,
                (0x20, 4) => Xnor,
                (0x10, 2) => Sh1add,
                (0x10, 4) => Sh2add,
                (0x10, 6) => Sh3add,
                (0x05, 4) => Min,
                (0x05, 5) => Minu,
                (0x05, 6) => Max,
                (0x05, 7) => Maxu,
                (0x30, 1) => Rol,
                (0x30, 5) => Ror,
                // With x0, ZEXT.H.
                (0x04, 4) => Pack,
                (0x04, 7) => Packh,
                (0x24, 1) => Bclr,
                (0x24, 5) => Bext,
                (0x34, 1) => Binv,
                (0x14, 1) => Bset,
                _ => return Op::ILLEGAL,
            };
            Op::new(kind, rd, rs1, rs2, 0)
        }
        0x0b if word >> 29 == 0 && funct7 & 1 == 0 => {
            let mask = (2u32 << bits(word, 26, 3)) - 1;
            match funct3 {
                0 => Op::new(Bextm, rd, rs1, rs2, mask),
                4 => Op::new(Bextmi, rd, rs1, 0, rs2 | mask << 8),
                _ => Op::ILLEGAL,
            }
        }
        0x0f if funct3 == 0 && rd == 0 && rs1 == 0 => Op::new(Fence, 0, 0, 0, 0),
        0x0f if word == 0x0000_100f => Op::new(FenceI, 0, 0, 0, 0),
        0x2f if funct3 == 2 => match word >> 27 {
            2 if rs2 == 0 => Op::new(LrW, rd, rs1, 0, 0),
            3 => Op::new(ScW, rd, rs1, rs2, 0),
            funct5 if funct5 == 1 || funct5 & 3 == 0 => Op::new(Amo, rd, rs1, rs2, funct5),
            _ => Op::ILLEGAL,
        },
        0x73 => match (funct3, word) {
            (0, 0x0000_0073) => Op::new(Ecall, 0, 0, 0, 0),
            (0, 0x0010_0073) => Op::new(Ebreak, 0, 0, 0, 0),
            (0, 0x3020_0073) => Op::new(Mret, 0, 0, 0, 0),
            (0, 0x1050_0073) => Op::new(Wfi, 0, 0, 0, 0),
            (0 | 4, _) => Op::ILLEGAL,
            (1..=3, _) => Op::new(Csr, rd, rs1, 0, word >> 20 | funct3 << 12),
            _ => Op::new(CsrImmediate, rd, 0, 0, word >> 20 | (funct3 & 3) << 12 | rs1 << 16),
        },
        _ => Op::ILLEGAL,
    }
}

/// Bytes that CM.PUSH and CM.POP reserve for the registers of `rlist`.
fn stack_bytes(rlist: u32) -> u32 {
    match rlist {
        4..=7 => 16,
        8..=11 => 32,
        12..=14 => 48,
        _ => 64,
    }
}

/// Saved register `number` (s0 to s11) as a register.
const fn saved(number: u32) -> u32 {
    if number < 2 { 8 + number } else { 16 + number }
}

fn narrow(half: u32) -> Op {
    use Kind::*;
    let (rd, rs2) = (bits(half, 7, 5), bits(half, 2, 5));
    // Those of three bits: x8 to x15.
    let (low, high) = (8 + bits(half, 2, 3), 8 + bits(half, 7, 3));
    let imm6 = signed(bits(half, 12, 1) << 5 | rs2, 6);
    let shift = bits(half, 12, 1) << 5 | rs2;
    match (half & 3, half >> 13) {
        (0, 0) => {
            let imm = bits(half, 11, 2) << 4 | bits(half, 7, 4) << 6 | bits(half, 6, 1) << 2 | bits(half, 5, 1) << 3;
            if imm == 0 { Op::ILLEGAL } else { Op::new(Addi, low, 2, 0, imm) }
        }
        (0, 2 | 6) => {
            let imm = bits(half, 10, 3) << 3 | bits(half, 6, 1) << 2 | bits(half, 5, 1) << 6;
            if half >> 13 == 2 { Op::new(Lw, low, high, 0, imm) } else { Op::store(Sw, high, low, imm) }
        }
        // Zcb.
        (0, 4) => {
            let (byte, halfword) = (bits(half, 6, 1) | bits(half, 5, 1) << 1, bits(half, 5, 1) << 1);
            match (bits(half, 10, 3), bits(half, 6, 1)) {
                (0, _) => Op::new(Lbu, low, high, 0, byte),
                (1, 0) => Op::new(Lhu, low, high, 0, halfword),
                (1, _) => Op::new(Lh, low, high, 0, halfword),
                (2, _) => Op::store(Sb, high, low, byte),
                (3, 0) => Op::store(Sh, high, low, halfword),
                _ => Op::ILLEGAL,
            }
        }
        (1, 0) => Op::new(Addi, rd, rd, 0, imm6),
        (1, 1 | 5) => {
            let imm = bits(half, 12, 1) << 11
                | bits(half, 11, 1) << 4
                | bits(half, 9, 2) << 8
                | bits(half, 8, 1) << 10
                | bits(half, 7, 1) << 6
                | bits(half, 6, 1) << 7
                | bits(half, 3, 3) << 1
                | bits(half, 2, 1) << 5;
            Op::new(Jal, u32::from(half >> 13 == 1), 0, 0, signed(imm, 12))
        }
        (1, 2) => Op::new(Addi, rd, 0, 0, imm6),
        (1, 3) if imm6 == 0 => Op::ILLEGAL,
        (1, 3) if rd == 2 => {
            let imm = bits(half, 12, 1) << 9
                | bits(half, 6, 1) << 4
                | bits(half, 5, 1) << 6
                | bits(half, 3, 2) << 7
                | bits(half, 2, 1) << 5;
            Op::new(Addi, 2, 2, 0, signed(imm, 10))
        }
        (1, 3) => Op::new(Lui, rd, 0, 0, imm6 << 12),
        (1, 4) => match (bits(half, 10, 2), bits(half, 12, 1), bits(half, 5, 2)) {
            (0, 0, _) => Op::new(Srli, high, high, 0, shift),
            (1, 0, _) => Op::new(Srai, high, high, 0, shift),
            (2, ..) => Op::new(Andi, high, high, 0, imm6),
            (3, 0, 0) => Op::new(Sub, high, high, low, 0),
            (3, 0, 1) => Op::new(Xor, high, high, low, 0),
            (3, 0, 2) => Op::new(Or, high, high, low, 0),
            (3, 0, _) => Op::new(And, high, high, low, 0),
            (3, 1, 2) => Op::new(Mul, high, high, low, 0),
            (3, 1, 3) => match low - 8 {
                0 => Op::new(Andi, high, high, 0, 0xff),
                1 => Op::new(SextB, high, high, 0, 0),
                2 => Op::new(Pack, high, high, 0, 0),
                3 => Op::new(SextH, high, high, 0, 0),
                5 => Op::new(Xori, high, high, 0, u32::MAX),
                _ => Op::ILLEGAL,
            },
            _ => Op::ILLEGAL,
        },
        (1, 6 | 7) => {
            let imm = bits(half, 12, 1) << 8
                | bits(half, 10, 2) << 3
                | bits(half, 5, 2) << 6
                | bits(half, 3, 2) << 1
                | bits(half, 2, 1) << 5;
            Op::new(if half >> 13 == 6 { Beq } else { Bne }, 0, high, 0, signed(imm, 9))
        }
        (2, 0) if shift < 32 => Op::new(Slli, rd, rd, 0, shift),
        (2, 2) if rd != 0 => {
            Op::new(Lw, rd, 2, 0, bits(half, 12, 1) << 5 | bits(half, 4, 3) << 2 | bits(half, 2, 2) << 6)
        }
        (2, 4) => match (bits(half, 12, 1), rd, rs2) {
            (0, 0, 0) => Op::ILLEGAL,
            (0, _, 0) => Op::new(Jalr, 0, rd, 0, 0),
            (0, ..) => Op::new(Add, rd, 0, rs2, 0),
            (_, 0, 0) => Op::new(Ebreak, 0, 0, 0, 0),
            (_, _, 0) => Op::new(Jalr, 1, rd, 0, 0),
            _ => Op::new(Add, rd, rd, rs2, 0),
        },
        (2, 5) => zcmp(half),
        (2, 6) => Op::store(Sw, 2, rs2, bits(half, 9, 4) << 2 | bits(half, 7, 2) << 6),
        _ => Op::ILLEGAL,
    }
}

/// Zcmp. CM.PUSH and CM.POP have the number of registers in `rs2`'s place, which the load before them cannot concern,
/// and the bytes in `imm`.
fn zcmp(half: u32) -> Op {
    use Kind::*;
    let kind = match bits(half, 8, 5) {
        0x18 => CmPush,
        0x1a => CmPop,
        0x1c => CmPopretz,
        0x1e => CmPopret,
        _ if bits(half, 10, 3) == 3 => {
            let (first, second) = (saved(bits(half, 7, 3)), saved(bits(half, 2, 3)));
            return match bits(half, 5, 2) {
                1 => Op::new(CmMvsa01, 0, 10, 11, first | second << 8),
                3 => Op::new(CmMva01s, 0, first, second, 0),
                _ => Op::ILLEGAL,
            };
        }
        _ => return Op::ILLEGAL,
    };
    let rlist = bits(half, 4, 4);
    if rlist < 4 {
        return Op::ILLEGAL;
    }
    let count = if rlist == 15 { 13 } else { rlist - 3 };
    let bytes = stack_bytes(rlist) + 16 * bits(half, 2, 2);
    Op::new(kind, 0, 2, 0, bytes | count << 16)
}

/// The register that CM.PUSH stores at place `index`, from the lowest address: ra, s0, s1, ...
#[must_use]
pub(crate) fn pushed(index: u32) -> usize {
    if index == 0 { 1 } else { saved(index - 1) as usize }
}
