//! Flags that a block leaves out: most are set again before anything reads them. Where the block exits, or an
//! instruction reads them in the core, they are computed from the operands of the instruction that has set them.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::Layout;
use super::routines::{Assembler, ECX, GUEST};

/// An operand of an instruction that has set flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(u8),
    /// A constant.
    Constant(u32),
    /// What the register with the result held before.
    Overwritten,
    /// What ECX holds in the current instruction.
    InEcx,
}

/// The place of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the core.
    Core,
    /// N and Z of a register.
    Value(u8),
    /// N and Z of a register and an operand, combined by AND.
    And(u8, Operand),
    /// C: a bit of a register.
    Bit(u8, u8),
    /// All flags of a sum or a difference.
    Sum(Sum),
}

/// A sum or a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// It is a difference.
    pub subtracts: bool,
    /// The first operand.
    pub first: Operand,
    /// The second, which is not overwritten.
    pub second: Operand,
    /// The register with the result, if any has it.
    pub to: Option<u8>,
}

impl Source {
    /// Returns whether it changes with one of `registers`, a set of bits.
    pub(super) fn changes(self, registers: u16) -> bool {
        let within = |register: u8| registers >> register & 1 != 0;
        let operand = |operand| matches!(operand, Operand::Register(register) if within(register));
        match self {
            Self::Core => false,
            Self::Value(register) | Self::Bit(register, _) => within(register),
            Self::And(register, other) => within(register) || operand(other),
            Self::Sum(Sum { first, second, to, .. }) => operand(first) || operand(second) || to.is_some_and(within),
        }
    }

    /// Computes the result in ECX, and x86's flags, but of a bit only the carry. Arm's carry of a difference is x86's
    /// inverted.
    fn compute(self, ops: &mut Assembler, at: Layout) {
        match self {
            Self::Core => {}
            Self::Value(register) => {
                Operand::Register(register).read(ECX, ops, at);
                dynasm!(ops ; .arch x64 ; test ecx, ecx);
            }
            Self::And(register, other) => {
                Operand::Register(register).read(ECX, ops, at);
                other.apply(Apply::And, ECX, ops, at);
            }
            Self::Bit(register, bit) => {
                dynasm!(ops ; .arch x64 ; bt Rd(GUEST[usize::from(register)]), bit as i8);
            }
            Self::Sum(Sum { subtracts, first, second, to }) => {
                let (there, back) = if subtracts { (Apply::Sub, Apply::Add) } else { (Apply::Add, Apply::Sub) };
                match to {
                    Some(to) if first == Operand::Overwritten => {
                        Operand::Register(to).read(ECX, ops, at);
                        second.apply(back, ECX, ops, at);
                    }
                    _ => first.read(ECX, ops, at),
                }
                second.apply(there, ECX, ops, at);
            }
        }
    }

    /// Brings the same into x86's flags, by a comparison where one does it.
    pub(super) fn test(self, ops: &mut Assembler, at: Layout) {
        match self {
            Self::Value(register) => {
                let host = GUEST[usize::from(register)];
                dynasm!(ops ; .arch x64 ; test Rd(host), Rd(host));
            }
            Self::Sum(Sum { subtracts: true, first: Operand::Register(register), second, .. }) if register < 8 => {
                second.apply(Apply::Cmp, GUEST[usize::from(register)], ops, at);
            }
            _ => self.compute(ops, at),
        }
    }
}

/// What an operand does to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apply {
    /// It is added.
    Add,
    /// It is subtracted.
    Sub,
    /// It is compared: the register stays.
    Cmp,
    /// They are combined by AND.
    And,
    /// By OR.
    Or,
    /// By exclusive OR.
    Xor,
    /// It is added with x86's carry.
    Adc,
    /// It is subtracted with x86's carry as the borrow.
    Sbb,
}

impl Operand {
    /// Reads it into a register of the PC.
    pub fn read(self, host: u8, ops: &mut Assembler, at: Layout) {
        match self {
            Self::Constant(value) => dynasm!(ops ; .arch x64 ; mov Rd(host), DWORD value as i32),
            Self::Register(register) => match GUEST.get(usize::from(register)) {
                Some(&guest) => dynasm!(ops ; .arch x64 ; mov Rd(host), Rd(guest)),
                None => dynasm!(ops ; .arch x64 ; mov Rd(host), [rbx + at.register(register)]),
            },
            Self::InEcx => dynasm!(ops ; .arch x64 ; mov Rd(host), ecx),
            Self::Overwritten => {}
        }
    }

    /// Applies it to a register of the PC.
    pub fn apply(self, how: Apply, host: u8, ops: &mut Assembler, at: Layout) {
        macro_rules! with {
            ($name:ident) => {
                match self {
                    Self::Constant(value) => dynasm!(ops ; .arch x64 ; $name Rd(host), value as i32),
                    Self::Register(register) => match GUEST.get(usize::from(register)) {
                        Some(&guest) => dynasm!(ops ; .arch x64 ; $name Rd(host), Rd(guest)),
                        None => dynasm!(ops ; .arch x64 ; $name Rd(host), [rbx + at.register(register)]),
                    },
                    Self::InEcx => dynasm!(ops ; .arch x64 ; $name Rd(host), ecx),
                    Self::Overwritten => {}
                }
            };
        }
        match how {
            Apply::Add => with!(add),
            Apply::Sub => with!(sub),
            Apply::Cmp => with!(cmp),
            Apply::And => with!(and),
            Apply::Or => with!(or),
            Apply::Xor => with!(xor),
            Apply::Adc => with!(adc),
            Apply::Sbb => with!(sbb),
        }
    }
}

/// N and Z, in a set of flags.
pub const NZ: u8 = 1;
/// C.
pub const C: u8 = 2;
/// V.
pub const V: u8 = 4;
/// All flags.
pub const ALL: u8 = NZ | C | V;

/// The places of N and Z, of C, and of V.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags([Source; 3]);

impl Flags {
    /// All of them in the core.
    pub(super) const IN_CORE: Self = Self([Source::Core; 3]);

    /// Says where the flags of a set are from now on.
    pub(super) fn put(&mut self, set: u8, source: Source) {
        for (bit, flag) in self.0.iter_mut().enumerate() {
            if set >> bit & 1 != 0 {
                *flag = source;
            }
        }
    }

    /// Returns those of a set that have one of such sources.
    fn those(self, set: u8, such: impl Fn(Source) -> bool) -> u8 {
        (0..3).filter(|&bit| set >> bit & 1 != 0 && such(self.0[bit])).fold(0, |those, bit| those | 1 << bit)
    }

    /// Returns the source outside the core that all flags of a set have.
    pub(super) fn common(self, set: u8) -> Option<Source> {
        let source = self.0[set.trailing_zeros() as usize];
        (source != Source::Core && self.those(set, |other| other == source) == set).then_some(source)
    }

    /// Writes the flags of a set to the core. ECX and x86's flags change.
    pub(super) fn write(self, set: u8, ops: &mut Assembler, at: Layout) {
        let mut left = self.those(set, |source| source != Source::Core);
        while left != 0 {
            let source = self.0[left.trailing_zeros() as usize];
            let same = self.those(left, |other| other == source);
            left &= !same;
            if same == NZ
                && let Source::Value(register) | Source::Sum(Sum { to: Some(register), .. }) = source
            {
                dynasm!(ops ; .arch x64 ; movsxd rcx, Rd(GUEST[usize::from(register)]) ; mov [rbx + at.nz], rcx);
                continue;
            }
            source.compute(ops, at);
            if same & C != 0 {
                if matches!(source, Source::Sum(Sum { subtracts: true, .. })) {
                    dynasm!(ops ; .arch x64 ; setnc BYTE [rbx + at.c]);
                } else {
                    dynasm!(ops ; .arch x64 ; setc BYTE [rbx + at.c]);
                }
            }
            if same & V != 0 {
                dynasm!(ops ; .arch x64 ; seto BYTE [rbx + at.v]);
            }
            if same & NZ != 0 {
                dynasm!(ops ; .arch x64 ; movsxd rcx, ecx ; mov [rbx + at.nz], rcx);
            }
        }
    }
}

/// What x86's flags hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Arm's carry is x86's inverted.
    Difference,
    /// All flags of a sum.
    Sum,
    /// Only N and Z.
    Logic,
}

impl Host {
    /// Returns whether they decide a condition, by its number in an instruction.
    pub(super) fn decides(self, condition: u8) -> bool {
        match self {
            Self::Difference => true,
            Self::Sum => condition >> 1 != 4,
            Self::Logic => needs(condition) == NZ,
        }
    }
}

/// Returns the flags that a condition needs.
pub fn needs(condition: u8) -> u8 {
    [NZ, C, NZ, V, NZ | C, NZ | V, NZ | V][usize::from(condition >> 1)]
}

/// Jumps to `not` unless a condition holds: by x86's flags, if they decide it, else by the core's. ECX may change.
pub(super) fn unless(ops: &mut Assembler, condition: u8, host: Option<Host>, not: DynamicLabel, at: Layout) {
    let Layout { nz, c, v, .. } = at;
    let n_and_v = |ops: &mut Assembler| {
        dynasm!(ops ; .arch x64 ; mov ecx, [rbx + nz + 4] ; shr ecx, 31 ; cmp cl, [rbx + v]);
    };
    match (host, condition) {
        (Some(_), 0) => dynasm!(ops ; .arch x64 ; jne =>not),
        (Some(_), 1) => dynasm!(ops ; .arch x64 ; je =>not),
        (Some(Host::Difference), 2) | (Some(Host::Sum), 3) => dynasm!(ops ; .arch x64 ; jb =>not),
        (Some(_), 2 | 3) => dynasm!(ops ; .arch x64 ; jae =>not),
        (Some(_), 4) => dynasm!(ops ; .arch x64 ; jns =>not),
        (Some(_), 5) => dynasm!(ops ; .arch x64 ; js =>not),
        (Some(_), 6) => dynasm!(ops ; .arch x64 ; jno =>not),
        (Some(_), 7) => dynasm!(ops ; .arch x64 ; jo =>not),
        (Some(_), 8) => dynasm!(ops ; .arch x64 ; jbe =>not),
        (Some(_), 9) => dynasm!(ops ; .arch x64 ; ja =>not),
        (Some(_), 10) => dynasm!(ops ; .arch x64 ; jl =>not),
        (Some(_), 11) => dynasm!(ops ; .arch x64 ; jge =>not),
        (Some(_), 12) => dynasm!(ops ; .arch x64 ; jle =>not),
        (Some(_), _) => dynasm!(ops ; .arch x64 ; jg =>not),
        (None, 0) => dynasm!(ops ; .arch x64 ; cmp DWORD [rbx + nz], 0 ; jne =>not),
        (None, 1) => dynasm!(ops ; .arch x64 ; cmp DWORD [rbx + nz], 0 ; je =>not),
        (None, 2) => dynasm!(ops ; .arch x64 ; cmp BYTE [rbx + c], 0 ; je =>not),
        (None, 3) => dynasm!(ops ; .arch x64 ; cmp BYTE [rbx + c], 0 ; jne =>not),
        (None, 4) => dynasm!(ops ; .arch x64 ; cmp DWORD [rbx + nz + 4], 0 ; jge =>not),
        (None, 5) => dynasm!(ops ; .arch x64 ; cmp DWORD [rbx + nz + 4], 0 ; jl =>not),
        (None, 6) => dynasm!(ops ; .arch x64 ; cmp BYTE [rbx + v], 0 ; je =>not),
        (None, 7) => dynasm!(ops ; .arch x64 ; cmp BYTE [rbx + v], 0 ; jne =>not),
        (None, 8) => {
            dynasm!(ops ; .arch x64 ; cmp BYTE [rbx + c], 0 ; je =>not ; cmp DWORD [rbx + nz], 0 ; je =>not);
        }
        (None, 9) => dynasm!(ops
            ; .arch x64
            ; cmp BYTE [rbx + c], 0
            ; je >holds
            ; cmp DWORD [rbx + nz], 0
            ; jne =>not
            ; holds:
        ),
        (None, 10) => {
            n_and_v(ops);
            dynasm!(ops ; .arch x64 ; jne =>not);
        }
        (None, 11) => {
            n_and_v(ops);
            dynasm!(ops ; .arch x64 ; je =>not);
        }
        (None, 12) => {
            dynasm!(ops ; .arch x64 ; cmp DWORD [rbx + nz], 0 ; je =>not);
            n_and_v(ops);
            dynasm!(ops ; .arch x64 ; jne =>not);
        }
        (None, _) => {
            dynasm!(ops ; .arch x64 ; cmp DWORD [rbx + nz], 0 ; je >holds);
            n_and_v(ops);
            dynasm!(ops ; .arch x64 ; je =>not ; holds:);
        }
    }
}
