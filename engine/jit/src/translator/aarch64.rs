//! Lowers code for x86-64, which every block is assembled to, to code for AArch64.
//!
//! Each instruction becomes one to five. NZCV takes the place of x86's flags, but only where one is read later: ZF is Z,
//! SF is N and OF is V. CF is C after a sum, the inverse of C after a difference, and a register after a shift.
//!
//! Tests on x86-64 lower each block too, so that an instruction that cannot be is seen there.
//!
//! x86's stack has its own place in the frame of [`Lowered::add_entry`], since AArch64 aligns its stack pointer to 16
//! bytes. Rdi, rsi, rdx, rcx, r8 and r9 are where both systems pass arguments.
#![allow(
    clippy::useless_conversion,
    clippy::absurd_extreme_comparisons,
    clippy::eq_op,
    reason = "the assembler's macro converts numbers of registers, and checks constants"
)]

use dynasmrt::aarch64::{Aarch64Relocation, encode_logical_immediate_32bit, encode_logical_immediate_64bit};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};
use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::mistakes::{Mistake, Mistakes};
use super::x86::{CF, Code, SIGNED, bytes, immediate};

/// Where each of x86's registers is, by its number.
const REGISTERS: [u8; 16] = [RAX, 3, 2, 19, STACK, 20, 1, 0, 4, 5, 9, 10, 21, 22, 23, 24];
const RAX: u8 = 8;
const RDX: u8 = 2;
const STACK: u8 = 28;
/// CF after a shift, 0 or 1.
const CARRY: u8 = 15;
/// An address, or a value on the way to it.
const ADDRESS: u8 = 16;
/// The first operand, if no register has it.
const FIRST: u8 = 17;
/// The second.
const SECOND: u8 = 11;
const ZERO: u8 = 31;
/// Bytes of x86's stack. Its deepest use is less than 200.
const STACK_BYTES: u32 = 512;

/// Conditions of AArch64, by number; the lowest bit inverts one.
mod condition {
    pub(super) const EQ: u32 = 0;
    pub(super) const CS: u32 = 2;
    pub(super) const MI: u32 = 4;
    pub(super) const VS: u32 = 6;
    pub(super) const HI: u32 = 8;
    pub(super) const GE: u32 = 10;
    pub(super) const GT: u32 = 12;
}

/// The place of CF.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carry {
    /// In C.
    Plain,
    /// In C, inverted.
    Inverted,
    /// In [`CARRY`].
    Register,
}

/// A place in memory.
#[derive(Clone, Copy)]
enum Place {
    /// A register and an offset.
    At(u8, u32),
    /// A register and another one, in units of the access.
    Indexed(u8, u8),
}

/// Code for AArch64.
pub(super) struct Lowered {
    base: usize,
    /// The code.
    pub(super) bytes: Vec<u8>,
    /// The offsets of the instructions in x86's code, and where they are now.
    offsets: Vec<(usize, usize)>,
}

impl Lowered {
    /// Returns where the instruction is that was at an address of x86's code.
    pub(super) fn place(&self, address: usize) -> usize {
        let index = self.offsets.partition_point(|&(from, _)| from < address - self.base);
        self.base + self.offsets[index].1
    }

    /// Adds `extern "C" fn(rdi, rsi, rdx) -> rax` for a function of x86's code, and returns its address.
    pub(super) fn add_entry(&mut self, function: usize) -> Option<usize> {
        let entry = self.base + self.bytes.len();
        let mut ops = VecAssembler::<Aarch64Relocation>::new(entry);
        dynasm!(ops
            ; .arch aarch64
            ; stp x29, x30, [sp, -96]!
            ; stp x19, x20, [sp, 16]
            ; stp x21, x22, [sp, 32]
            ; stp x23, x24, [sp, 48]
            ; str x28, [sp, 64]
            ; sub sp, sp, STACK_BYTES
            ; adr X(ADDRESS), >back
            ; add XSP(STACK), sp, STACK_BYTES - 8
            ; str X(ADDRESS), [X(STACK)]
            ; b extern function
            ; back:
            ; mov w0, W(RAX)
            ; add sp, sp, STACK_BYTES
            ; ldr x28, [sp, 64]
            ; ldp x23, x24, [sp, 48]
            ; ldp x21, x22, [sp, 32]
            ; ldp x19, x20, [sp, 16]
            ; ldp x29, x30, [sp], 96
            ; ret
        );
        self.bytes.extend(ops.finalize().ok()?);
        Some(entry)
    }
}

/// Lowers `code` at `base`, which both codes share. `None`: it has an instruction that no block has.
pub(super) fn lower(code: &[u8], base: usize, mistakes: &Mistakes) -> Option<Lowered> {
    let Code { instructions: code, targets, live } = Code::read(code, base);
    let mut ops = VecAssembler::new(base);
    let mut labels = vec![None; code.len()];
    for &target in targets.iter().flatten() {
        labels[target] = Some(ops.new_dynamic_label());
    }
    let mut lowering = Lowering { ops, mistakes, carry: Carry::Plain, flags: 0, target: None };
    let mut offsets = Vec::with_capacity(code.len());
    for (index, instruction) in code.iter().enumerate() {
        if let Some(label) = labels[index] {
            // A jump may have left CF elsewhere.
            if live[index].0 & CF != 0 {
                return None;
            }
            dynasm!(lowering.ops ; .arch aarch64 ; =>label);
        }
        offsets.push(((instruction.ip() as usize) - base, lowering.ops.offset().0));
        lowering.flags = live[index].1;
        lowering.target = targets[index].and_then(|target| labels[target]);
        lowering.instruction(instruction)?;
    }
    Some(Lowered { base, bytes: lowering.ops.finalize().ok()?, offsets })
}

/// Assembles `$name` for registers of 64 bits if `$wide`, or of 32.
macro_rules! sized {
    ($self:ident, $wide:expr, $name:ident, $to:expr, $from:expr) => {
        if $wide {
            dynasm!($self.ops ; .arch aarch64 ; $name X($to), X($from))
        } else {
            dynasm!($self.ops ; .arch aarch64 ; $name W($to), W($from))
        }
    };
    ($self:ident, $wide:expr, $name:ident, $to:expr, $first:expr, $second:expr) => {
        if $wide {
            dynasm!($self.ops ; .arch aarch64 ; $name X($to), X($first), X($second))
        } else {
            dynasm!($self.ops ; .arch aarch64 ; $name W($to), W($first), W($second))
        }
    };
}

/// The same with a constant.
macro_rules! with_constant {
    ($self:ident, $wide:expr, $name:ident, $to:expr, $from:expr, $constant:expr) => {
        if $wide {
            dynasm!($self.ops ; .arch aarch64 ; $name X($to), X($from), $constant)
        } else {
            dynasm!($self.ops ; .arch aarch64 ; $name W($to), W($from), $constant)
        }
    };
    (sums $self:ident, $wide:expr, $name:ident, $to:expr, $from:expr, $constant:expr) => {
        if $wide {
            dynasm!($self.ops ; .arch aarch64 ; $name XSP($to), XSP($from), $constant)
        } else {
            dynasm!($self.ops ; .arch aarch64 ; $name WSP($to), WSP($from), $constant)
        }
    };
    (flags $self:ident, $wide:expr, $name:ident, $to:expr, $from:expr, $constant:expr) => {
        if $wide {
            dynasm!($self.ops ; .arch aarch64 ; $name X($to), XSP($from), $constant)
        } else {
            dynasm!($self.ops ; .arch aarch64 ; $name W($to), WSP($from), $constant)
        }
    };
}

struct Lowering<'a> {
    ops: VecAssembler<Aarch64Relocation>,
    mistakes: &'a Mistakes,
    carry: Carry,
    /// The flags that are read after the current instruction.
    flags: u32,
    /// The label that it jumps to, inside this code.
    target: Option<DynamicLabel>,
}

impl Lowering<'_> {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistakes.makes(mistake)
    }

    #[allow(clippy::too_many_lines)]
    fn instruction(&mut self, i: &Instruction) -> Option<()> {
        if i.condition_code() != ConditionCode::None {
            return self.conditional(i);
        }
        let wide = bytes(i) == 8;
        match i.mnemonic() {
            Mnemonic::Mov => self.mov(i)?,
            Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => self.extend(i)?,
            Mnemonic::Lea => {
                let to = register(i.op0_register());
                match self.place(i, 0) {
                    Place::At(from, 0) => sized!(self, wide, mov, to, from),
                    Place::At(from, offset) => self.add(wide, to, from, offset),
                    Place::Indexed(from, index) => sized!(self, wide, add, to, from, index),
                }
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Cmp | Mnemonic::Adc | Mnemonic::Sbb => self.sum(i)?,
            Mnemonic::And | Mnemonic::Test | Mnemonic::Or | Mnemonic::Xor => self.logic(i)?,
            Mnemonic::Inc | Mnemonic::Dec => {
                (self.flags & CF == 0).then_some(())?;
                let (place, value) = self.first(i)?;
                let to = if place.is_some() { FIRST } else { value };
                if i.mnemonic() == Mnemonic::Inc {
                    with_constant!(flags self, wide, adds, to, value, 1);
                } else {
                    with_constant!(flags self, wide, subs, to, value, 1);
                }
                self.put(place, to, bytes(i))?;
            }
            Mnemonic::Neg => {
                let to = register(i.op0_register());
                sized!(self, wide, negs, to, to);
                self.carry = Carry::Inverted;
            }
            Mnemonic::Not => {
                let to = register(i.op0_register());
                sized!(self, wide, mvn, to, to);
            }
            Mnemonic::Bswap => {
                let to = register(i.op0_register());
                sized!(self, wide, rev, to, to);
            }
            Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar | Mnemonic::Ror | Mnemonic::Rol => self.shift(i)?,
            // With the carry, by one.
            Mnemonic::Rcr if !wide && i.op1_kind() == OpKind::Immediate8 && i.immediate8() == 1 => {
                self.carry_to_register();
                (self.flags & !CF == 0).then_some(())?;
                let to = register(i.op0_register());
                dynasm!(self.ops
                    ; .arch aarch64
                    ; and WSP(FIRST), W(to), 1
                    ; extr W(to), W(CARRY), W(to), 1
                    ; mov W(CARRY), W(FIRST)
                );
            }
            Mnemonic::Bt => {
                let from = register(i.op0_register());
                (i.op1_kind() == OpKind::Immediate8).then_some(())?;
                let bit = u32::from(i.immediate8()) & (bytes(i) * 8 - 1);
                dynasm!(self.ops ; .arch aarch64 ; ubfx X(CARRY), X(from), bit, 1);
                self.carry = Carry::Register;
            }
            Mnemonic::Bsr => {
                (self.flags == 0).then_some(())?;
                let [to, from] = [i.op0_register(), i.op1_register()].map(register);
                sized!(self, wide, clz, FIRST, from);
                dynasm!(self.ops ; .arch aarch64 ; mov W(SECOND), bytes(i) * 8 - 1);
                sized!(self, wide, sub, to, SECOND, FIRST);
            }
            Mnemonic::Imul if i.op_count() == 2 => {
                (self.flags == 0).then_some(())?;
                let to = register(i.op0_register());
                let from = self.second(i)?;
                sized!(self, wide, mul, to, to, from);
            }
            Mnemonic::Cqo => dynasm!(self.ops ; .arch aarch64 ; asr X(RDX), X(RAX), 63),
            // After CQO.
            Mnemonic::Idiv if wide => {
                (self.flags == 0).then_some(())?;
                let by = register(i.op0_register());
                dynasm!(self.ops
                    ; .arch aarch64
                    ; sdiv X(FIRST), X(RAX), X(by)
                    ; msub X(RDX), X(FIRST), X(by), X(RAX)
                    ; mov X(RAX), X(FIRST)
                );
            }
            Mnemonic::Div if !wide => {
                (self.flags == 0).then_some(())?;
                let by = register(i.op0_register());
                dynasm!(self.ops
                    ; .arch aarch64
                    ; bfi X(RAX), X(RDX), 32, 32
                    ; mov W(SECOND), W(by)
                );
                if self.makes(Mistake::DivSigned) {
                    dynasm!(self.ops ; .arch aarch64 ; sdiv W(FIRST), W(RAX), W(SECOND));
                } else {
                    dynasm!(self.ops ; .arch aarch64 ; udiv X(FIRST), X(RAX), X(SECOND));
                }
                dynasm!(self.ops
                    ; .arch aarch64
                    ; msub W(RDX), W(FIRST), W(SECOND), W(RAX)
                    ; mov W(RAX), W(FIRST)
                );
            }
            Mnemonic::Cmc if self.makes(Mistake::CmcForgotten) => {}
            Mnemonic::Cmc => {
                self.carry = match self.carry {
                    Carry::Plain => Carry::Inverted,
                    Carry::Inverted => Carry::Plain,
                    Carry::Register => {
                        dynasm!(self.ops ; .arch aarch64 ; eor WSP(CARRY), W(CARRY), 1);
                        Carry::Register
                    }
                }
            }
            Mnemonic::Push => {
                let from = register(i.op0_register());
                dynasm!(self.ops ; .arch aarch64 ; str X(from), [X(STACK), -8]!);
            }
            Mnemonic::Pop => {
                let to = register(i.op0_register());
                dynasm!(self.ops ; .arch aarch64 ; ldr X(to), [X(STACK)], 8);
            }
            // A function of the engine: it returns a number of 32 bits.
            Mnemonic::Call if i.op0_kind() == OpKind::Memory => {
                let place = self.place(i, 8);
                self.get(place, ADDRESS, 8)?;
                dynasm!(self.ops ; .arch aarch64 ; blr X(ADDRESS) ; mov W(RAX), w0);
            }
            Mnemonic::Call => {
                dynasm!(self.ops
                    ; .arch aarch64
                    ; adr X(ADDRESS), >back
                    ; str X(ADDRESS), [X(STACK), -8]!
                );
                match self.target {
                    Some(label) => dynasm!(self.ops ; .arch aarch64 ; bl =>label),
                    None => dynasm!(self.ops ; .arch aarch64 ; bl extern external(i)),
                }
                dynasm!(self.ops ; .arch aarch64 ; back:);
            }
            // `ret` of the same register as `bl` is predicted.
            Mnemonic::Ret => dynasm!(self.ops ; .arch aarch64 ; ldr x30, [X(STACK)], 8 ; ret),
            Mnemonic::Jmp => match (i.op0_kind(), self.target) {
                (OpKind::Register, _) => dynasm!(self.ops ; .arch aarch64 ; br X(register(i.op0_register()))),
                (OpKind::Memory, _) => {
                    let place = self.place(i, 8);
                    self.get(place, ADDRESS, 8)?;
                    dynasm!(self.ops ; .arch aarch64 ; br X(ADDRESS));
                }
                (_, Some(label)) => dynasm!(self.ops ; .arch aarch64 ; b =>label),
                (_, None) => dynasm!(self.ops ; .arch aarch64 ; b extern external(i)),
            },
            _ => return None,
        }
        Some(())
    }

    // -- operands

    /// Sets a register to a constant.
    fn constant(&mut self, to: u8, value: u64) {
        let parts = [0, 16, 32, 48].map(|shift| (shift, (value >> shift) as u32 & 0xffff));
        let with = |part| parts.iter().filter(|&&(_, other)| other == part).count();
        let inverted = with(0xffff) > with(0);
        let rest = if inverted { 0xffff } else { 0 };
        let mut others = parts.into_iter().filter(|&(_, part)| part != rest);
        let (shift, part) = others.next().unwrap_or((0, rest));
        if inverted {
            dynasm!(self.ops ; .arch aarch64 ; movn X(to), part ^ rest, lsl shift);
        } else {
            dynasm!(self.ops ; .arch aarch64 ; movz X(to), part, lsl shift);
        }
        for (shift, part) in others {
            dynasm!(self.ops ; .arch aarch64 ; movk X(to), part, lsl shift);
        }
    }

    /// Adds a constant to a register.
    fn add(&mut self, wide: bool, to: u8, from: u8, offset: u32) {
        let magnitude = (offset as i32).unsigned_abs();
        match (magnitude < 4096, (offset as i32) < 0) {
            (true, false) => with_constant!(sums self, wide, add, to, from, magnitude),
            (true, true) => with_constant!(sums self, wide, sub, to, from, magnitude),
            (false, _) => {
                self.constant(SECOND, i64::from(offset as i32) as u64);
                sized!(self, wide, add, to, from, SECOND);
            }
        }
    }

    /// Returns the memory operand as a place that an access of `size` bytes can name; 0: as an address, whose offset may
    /// be any.
    fn place(&mut self, i: &Instruction, size: u32) -> Place {
        let offset = i.memory_displacement64();
        if i.is_ip_rel_memory_operand() || i.memory_base() == Register::None && i.memory_index() == Register::None {
            self.constant(ADDRESS, offset);
            return Place::At(ADDRESS, 0);
        }
        let mut base = (i.memory_base() != Register::None).then(|| register(i.memory_base()));
        if i.memory_index() != Register::None {
            let (index, scale) = (register(i.memory_index()), i.memory_index_scale());
            match base {
                Some(base) if offset == 0 && (scale == size || size == 0 && scale == 1) => {
                    return Place::Indexed(base, index);
                }
                Some(base) => {
                    dynasm!(self.ops ; .arch aarch64 ; add X(ADDRESS), X(base), X(index), lsl scale.ilog2());
                }
                None => dynasm!(self.ops ; .arch aarch64 ; lsl X(ADDRESS), X(index), scale.ilog2()),
            }
            base = Some(ADDRESS);
        }
        let forgotten = base == Some(ADDRESS) && self.makes(Mistake::OffsetForgotten);
        let (base, offset) = (base.unwrap_or(ADDRESS), if forgotten { 0 } else { offset as u32 });
        if size == 0 || offset % size == 0 && offset / size < 4096 {
            return Place::At(base, offset);
        }
        self.add(true, ADDRESS, base, offset);
        Place::At(ADDRESS, 0)
    }

    /// Reads `size` bytes into a register, extended by zeros.
    fn get(&mut self, place: Place, to: u8, size: u32) -> Option<()> {
        match (place, size) {
            (Place::At(at, offset), 1) => dynasm!(self.ops ; .arch aarch64 ; ldrb W(to), [X(at), offset]),
            (Place::At(at, offset), 2) => dynasm!(self.ops ; .arch aarch64 ; ldrh W(to), [X(at), offset]),
            (Place::At(at, offset), 4) => dynasm!(self.ops ; .arch aarch64 ; ldr W(to), [X(at), offset]),
            (Place::At(at, offset), 8) => dynasm!(self.ops ; .arch aarch64 ; ldr X(to), [X(at), offset]),
            (Place::Indexed(at, index), 1) => dynasm!(self.ops ; .arch aarch64 ; ldrb W(to), [X(at), X(index)]),
            (Place::Indexed(at, index), 2) => dynasm!(self.ops ; .arch aarch64 ; ldrh W(to), [X(at), X(index), lsl 1]),
            (Place::Indexed(at, index), 4) => dynasm!(self.ops ; .arch aarch64 ; ldr W(to), [X(at), X(index), lsl 2]),
            (Place::Indexed(at, index), 8) => dynasm!(self.ops ; .arch aarch64 ; ldr X(to), [X(at), X(index), lsl 3]),
            _ => return None,
        }
        Some(())
    }

    /// Writes `size` bytes of a register to a place, if there is one.
    fn put(&mut self, place: Option<Place>, from: u8, size: u32) -> Option<()> {
        match (place, size) {
            (None, _) => {}
            (Some(Place::At(at, offset)), 1) => dynasm!(self.ops ; .arch aarch64 ; strb W(from), [X(at), offset]),
            (Some(Place::At(at, offset)), 2) => dynasm!(self.ops ; .arch aarch64 ; strh W(from), [X(at), offset]),
            (Some(Place::At(at, offset)), 4) => dynasm!(self.ops ; .arch aarch64 ; str W(from), [X(at), offset]),
            (Some(Place::At(at, offset)), 8) => dynasm!(self.ops ; .arch aarch64 ; str X(from), [X(at), offset]),
            (Some(Place::Indexed(at, index)), 1) => {
                dynasm!(self.ops ; .arch aarch64 ; strb W(from), [X(at), X(index)]);
            }
            (Some(Place::Indexed(at, index)), 2) => {
                dynasm!(self.ops ; .arch aarch64 ; strh W(from), [X(at), X(index), lsl 1]);
            }
            (Some(Place::Indexed(at, index)), 4) => {
                dynasm!(self.ops ; .arch aarch64 ; str W(from), [X(at), X(index), lsl 2]);
            }
            (Some(Place::Indexed(at, index)), 8) => {
                dynasm!(self.ops ; .arch aarch64 ; str X(from), [X(at), X(index), lsl 3]);
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the first operand's place, if it is in memory, and its value's register.
    fn first(&mut self, i: &Instruction) -> Option<(Option<Place>, u8)> {
        if i.op0_kind() != OpKind::Memory {
            return Some((None, register(i.op0_register())));
        }
        let place = self.place(i, bytes(i));
        self.get(place, FIRST, bytes(i))?;
        Some((Some(place), FIRST))
    }

    /// Returns the register of the second operand.
    fn second(&mut self, i: &Instruction) -> Option<u8> {
        Some(match i.op1_kind() {
            OpKind::Register => register(i.op1_register()),
            OpKind::Memory => {
                let place = self.place(i, bytes(i));
                self.get(place, SECOND, bytes(i))?;
                SECOND
            }
            _ => {
                self.constant(SECOND, immediate(i));
                SECOND
            }
        })
    }

    // -- moves

    fn mov(&mut self, i: &Instruction) -> Option<()> {
        let size = bytes(i);
        if i.op0_kind() == OpKind::Memory {
            let place = self.place(i, size);
            let from = match i.op1_kind() {
                OpKind::Register => register(i.op1_register()),
                _ if immediate(i) == 0 => ZERO,
                _ => {
                    self.constant(SECOND, immediate(i));
                    SECOND
                }
            };
            return self.put(Some(place), from, size);
        }
        let to = register(i.op0_register());
        match i.op1_kind() {
            OpKind::Register if size >= 4 => sized!(self, size == 8, mov, to, register(i.op1_register())),
            OpKind::Memory if size >= 4 => {
                let place = self.place(i, size);
                self.get(place, to, size)?;
            }
            OpKind::Register | OpKind::Memory => return None,
            _ => {
                let lost = if self.makes(Mistake::ConstantHalved) { 0xffff_0000 } else { 0 };
                self.constant(to, immediate(i) & !lost);
            }
        }
        Some(())
    }

    fn extend(&mut self, i: &Instruction) -> Option<()> {
        let to = register(i.op0_register());
        let (from, size) = match i.op1_kind() {
            OpKind::Memory => {
                let size = i.memory_size().size() as u32;
                let place = self.place(i, size);
                self.get(place, to, size)?;
                (to, size)
            }
            _ => (register(i.op1_register()), i.op1_register().size() as u32),
        };
        let wide = bytes(i) == 8;
        match (i.mnemonic(), size) {
            (Mnemonic::Movzx, 1 | 2) if i.op1_kind() == OpKind::Memory => {}
            (Mnemonic::Movzx, 1) => dynasm!(self.ops ; .arch aarch64 ; uxtb W(to), W(from)),
            (Mnemonic::Movzx, 2) => dynasm!(self.ops ; .arch aarch64 ; uxth W(to), W(from)),
            (Mnemonic::Movsx, 1) if !wide => dynasm!(self.ops ; .arch aarch64 ; sxtb W(to), W(from)),
            (Mnemonic::Movsx, 2) if !wide => dynasm!(self.ops ; .arch aarch64 ; sxth W(to), W(from)),
            (Mnemonic::Movsxd, 4) if wide => dynasm!(self.ops ; .arch aarch64 ; sxtw X(to), W(from)),
            _ => return None,
        }
        Some(())
    }

    // -- arithmetic

    /// Brings a value of one byte to the upper end of a register if its sign is asked for.
    fn byte(&mut self, to: u8, from: u8) {
        if self.flags & SIGNED != 0 {
            dynasm!(self.ops ; .arch aarch64 ; lsl W(to), W(from), 24);
        } else {
            dynasm!(self.ops ; .arch aarch64 ; uxtb W(to), W(from));
        }
    }

    fn sum(&mut self, i: &Instruction) -> Option<()> {
        let size = bytes(i);
        let wide = size == 8;
        let (place, mut first) = self.first(i)?;
        let compares = i.mnemonic() == Mnemonic::Cmp;
        let to = match (compares, place) {
            (true, _) => ZERO,
            (false, Some(_)) => FIRST,
            (false, None) => first,
        };
        let constant = match i.op1_kind() {
            OpKind::Register | OpKind::Memory => None,
            _ if wide => Some(immediate(i) as i64),
            _ => Some(i64::from(immediate(i) as i32)),
        };
        if size < 4 {
            (size == 1 && compares).then_some(())?;
            if place.is_none() || self.flags & SIGNED != 0 {
                self.byte(FIRST, first);
                first = FIRST;
            }
            match constant.filter(|_| self.flags & SIGNED == 0) {
                Some(value) => with_constant!(flags self, false, subs, ZERO, first, value as u32),
                None => {
                    let second = self.second(i)?;
                    self.byte(SECOND, second);
                    sized!(self, false, subs, ZERO, first, SECOND);
                }
            }
            self.carry = Carry::Inverted;
            return Some(());
        }
        let subtracts = matches!(i.mnemonic(), Mnemonic::Sub | Mnemonic::Cmp | Mnemonic::Sbb);
        match (i.mnemonic(), constant) {
            (Mnemonic::Adc, _) => {
                self.carry_to(Carry::Plain);
                let second = self.second(i)?;
                sized!(self, wide, adcs, to, first, second);
            }
            (Mnemonic::Sbb, _) => {
                self.carry_to(Carry::Inverted);
                let second = self.second(i)?;
                sized!(self, wide, sbcs, to, first, second);
            }
            // A constant below 0 has a positive inverse, whose sum or difference has the same flags.
            (_, Some(value)) if value.unsigned_abs() < 4096 => {
                let magnitude = value.unsigned_abs() as u32;
                match (subtracts != (value < 0), self.flags != 0) {
                    (false, true) => with_constant!(flags self, wide, adds, to, first, magnitude),
                    (true, true) => with_constant!(flags self, wide, subs, to, first, magnitude),
                    (false, false) => with_constant!(sums self, wide, add, to, first, magnitude),
                    (true, false) => with_constant!(sums self, wide, sub, to, first, magnitude),
                }
            }
            _ => {
                let second = self.second(i)?;
                match (subtracts, self.flags != 0) {
                    (false, true) => sized!(self, wide, adds, to, first, second),
                    (true, true) => sized!(self, wide, subs, to, first, second),
                    (false, false) => sized!(self, wide, add, to, first, second),
                    (true, false) => sized!(self, wide, sub, to, first, second),
                }
            }
        }
        self.carry = if subtracts { Carry::Inverted } else { Carry::Plain };
        if compares { Some(()) } else { self.put(place, to, size) }
    }

    fn logic(&mut self, i: &Instruction) -> Option<()> {
        let size = bytes(i);
        let wide = size == 8;
        let (place, first) = self.first(i)?;
        let tests = i.mnemonic() == Mnemonic::Test;
        let to = match (tests, place) {
            (true, _) => ZERO,
            (false, Some(_)) => FIRST,
            (false, None) => first,
        };
        self.carry = Carry::Plain;
        if size < 4 {
            (size == 1 && tests).then_some(())?;
            self.byte(FIRST, first);
            let second = self.second(i)?;
            self.byte(SECOND, second);
            dynasm!(self.ops ; .arch aarch64 ; tst W(FIRST), W(SECOND));
            return Some(());
        }
        let encodable = |value: u64| {
            if wide { encode_logical_immediate_64bit(value) } else { encode_logical_immediate_32bit(value as u32) }
        };
        let constant = !matches!(i.op1_kind(), OpKind::Register | OpKind::Memory) && encodable(immediate(i)).is_some();
        let (value, flags) = (immediate(i), self.flags != 0);
        match (i.mnemonic(), constant) {
            (Mnemonic::And | Mnemonic::Test, true) if wide => {
                dynasm!(self.ops ; .arch aarch64 ; ands X(to), X(first), value);
            }
            (Mnemonic::And | Mnemonic::Test, true) => {
                dynasm!(self.ops ; .arch aarch64 ; ands W(to), W(first), value as u32);
            }
            (Mnemonic::And | Mnemonic::Test, false) => {
                let second = self.second(i)?;
                sized!(self, wide, ands, to, first, second);
            }
            (Mnemonic::Or, _) => {
                let second = self.second(i)?;
                sized!(self, wide, orr, to, first, second);
            }
            _ => {
                let second = self.second(i)?;
                sized!(self, wide, eor, to, first, second);
            }
        }
        if flags && matches!(i.mnemonic(), Mnemonic::Or | Mnemonic::Xor) && !self.makes(Mistake::XorFlagless) {
            sized!(self, wide, tst, to, to);
        }
        if tests { Some(()) } else { self.put(place, to, size) }
    }

    fn shift(&mut self, i: &Instruction) -> Option<()> {
        let (to, size) = (register(i.op0_register()), bytes(i));
        let (wide, bits) = (size == 8, size * 8);
        if i.op1_kind() == OpKind::Register {
            // A shift by 0 keeps the flags.
            (self.flags == 0 && size >= 4).then_some(())?;
            let by = register(i.op1_register());
            match i.mnemonic() {
                Mnemonic::Shl => sized!(self, wide, lsl, to, to, by),
                Mnemonic::Shr => sized!(self, wide, lsr, to, to, by),
                Mnemonic::Sar => sized!(self, wide, asr, to, to, by),
                Mnemonic::Ror => sized!(self, wide, ror, to, to, by),
                _ => return None,
            }
            return Some(());
        }
        let by = u32::from(i.immediate8()) & (if wide { 63 } else { 31 });
        if size == 2 {
            // The upper half stays.
            (i.mnemonic() == Mnemonic::Ror && by == 8 && self.flags == 0).then_some(())?;
            dynasm!(self.ops ; .arch aarch64 ; rev16 W(FIRST), W(to) ; bfi W(to), W(FIRST), 0, 16);
            return Some(());
        }
        if by == 0 {
            return Some(());
        }
        (size >= 4).then_some(())?;
        let rotates = matches!(i.mnemonic(), Mnemonic::Ror | Mnemonic::Rol);
        if self.flags & CF != 0 {
            // A rotation's carry is an end of its result, which is this bit before it.
            let bit = if matches!(i.mnemonic(), Mnemonic::Shl | Mnemonic::Rol) { bits - by } else { by - 1 };
            let bit = bit ^ u32::from(self.makes(Mistake::CarryBesideIt));
            dynasm!(self.ops ; .arch aarch64 ; ubfx X(CARRY), X(to), bit, 1);
        }
        match i.mnemonic() {
            Mnemonic::Shl => with_constant!(self, wide, lsl, to, to, by),
            Mnemonic::Shr => with_constant!(self, wide, lsr, to, to, by),
            Mnemonic::Sar => with_constant!(self, wide, asr, to, to, by),
            Mnemonic::Ror => with_constant!(self, wide, ror, to, to, by),
            _ => with_constant!(self, wide, ror, to, to, bits - by),
        }
        // A rotation keeps the other flags.
        if !rotates && self.flags & !CF != 0 {
            sized!(self, wide, tst, to, to);
        }
        if self.flags & CF != 0 {
            self.carry = Carry::Register;
        }
        Some(())
    }

    // -- conditions

    /// Brings CF to C, or its inverse. N, Z and V change with it.
    fn carry_to(&mut self, carry: Carry) {
        if self.carry == carry {
            return;
        }
        self.carry_to_register();
        if carry == Carry::Plain {
            dynasm!(self.ops ; .arch aarch64 ; subs wzr, WSP(CARRY), 1);
        } else {
            dynasm!(self.ops ; .arch aarch64 ; negs wzr, W(CARRY));
        }
        self.carry = carry;
    }

    fn carry_to_register(&mut self) {
        match self.carry {
            Carry::Plain => dynasm!(self.ops ; .arch aarch64 ; cset W(CARRY), cs),
            Carry::Inverted => dynasm!(self.ops ; .arch aarch64 ; cset W(CARRY), cc),
            Carry::Register => {}
        }
        self.carry = Carry::Register;
    }

    /// Returns AArch64's number of a condition. `None`: NZCV cannot tell.
    fn condition(&self, code: ConditionCode) -> Option<u32> {
        use condition::*;
        let (plain, inverted) = (self.carry == Carry::Plain, self.carry == Carry::Inverted);
        Some(match code {
            ConditionCode::e => EQ,
            ConditionCode::ne => EQ ^ 1,
            ConditionCode::s => MI,
            ConditionCode::ns => MI ^ 1,
            ConditionCode::o => VS,
            ConditionCode::no => VS ^ 1,
            ConditionCode::ge => GE,
            ConditionCode::l => GE ^ 1,
            ConditionCode::g => GT,
            ConditionCode::le => GT ^ 1,
            ConditionCode::b if plain => CS,
            ConditionCode::ae if plain => CS ^ 1,
            ConditionCode::b if inverted => CS ^ 1,
            ConditionCode::ae if inverted => CS,
            ConditionCode::a if inverted => HI,
            ConditionCode::be if inverted => HI ^ 1,
            _ => return None,
        })
    }

    fn conditional(&mut self, i: &Instruction) -> Option<()> {
        let code = i.condition_code();
        let in_register = self.carry == Carry::Register && matches!(code, ConditionCode::b | ConditionCode::ae);
        match i.flow_control() {
            FlowControl::ConditionalBranch if in_register => {
                // Around a jump to where it does not hold.
                if code == ConditionCode::b {
                    dynasm!(self.ops ; .arch aarch64 ; cbz W(CARRY), >not);
                } else {
                    dynasm!(self.ops ; .arch aarch64 ; cbnz W(CARRY), >not);
                }
            }
            FlowControl::ConditionalBranch => {
                let condition = self.condition(code)?;
                match self.target {
                    Some(label) => {
                        self.branch(condition, label);
                        return Some(());
                    }
                    None => {
                        let not = self.ops.new_dynamic_label();
                        self.branch(condition ^ 1, not);
                        dynasm!(self.ops ; .arch aarch64 ; b extern external(i) ; =>not);
                        return Some(());
                    }
                }
            }
            _ if i.op0_kind() == OpKind::Register && i.op_count() == 2 => {
                let [to, from] = [i.op0_register(), i.op1_register()].map(register);
                let sf = u32::from(bytes(i) == 8) << 31;
                let condition = self.condition(code)?;
                let [to, from] = [to, from].map(u32::from);
                self.ops.push_u32(sf | 0x1a80_0000 | to << 16 | condition << 12 | from << 5 | to);
                return Some(());
            }
            _ => {
                let place = self.place(i, 1);
                if !in_register {
                    let condition = self.condition(code)?;
                    self.ops.push_u32(0x1a9f_07e0 | (condition ^ 1) << 12 | u32::from(FIRST));
                } else if code == ConditionCode::b {
                    return self.put(Some(place), CARRY, 1);
                } else {
                    dynasm!(self.ops ; .arch aarch64 ; eor WSP(FIRST), W(CARRY), 1);
                }
                return self.put(Some(place), FIRST, 1);
            }
        }
        match self.target {
            Some(label) => dynasm!(self.ops ; .arch aarch64 ; b =>label),
            None => dynasm!(self.ops ; .arch aarch64 ; b extern external(i)),
        }
        dynasm!(self.ops ; .arch aarch64 ; not:);
        Some(())
    }

    /// Jumps to a label on a condition.
    fn branch(&mut self, condition: u32, to: DynamicLabel) {
        macro_rules! of {
            ($($name:ident)*) => {
                [$(|ops: &mut VecAssembler<Aarch64Relocation>, to: DynamicLabel| {
                    dynasm!(ops ; .arch aarch64 ; b.$name =>to);
                }),*]
            };
        }
        let branches = of!(eq ne cs cc mi pl vs vc hi ls ge lt gt le);
        branches[condition as usize](&mut self.ops, to);
    }
}

/// Returns the address outside this code that an instruction jumps to. In a test on x86-64 it may be unaligned.
fn external(i: &Instruction) -> usize {
    i.near_branch64() as usize & !3
}

fn register(register: Register) -> u8 {
    REGISTERS[register.full_register().number()]
}
