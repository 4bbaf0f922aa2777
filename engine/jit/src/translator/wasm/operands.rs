//! Registers and memory.

use iced_x86::{Instruction, OpKind, Register};
use wasm_encoder::{MemArg, MemArgTarget};

use super::super::mistakes::Mistake;
use super::super::x86::{bytes, immediate};
use super::{Lowering, WIDE};

/// A place in memory: a local with an address, and an offset from there.
#[derive(Clone, Copy)]
pub(super) struct Place(pub(super) u32, pub(super) u64);

impl Lowering<'_> {
    /// Pushes a register's 32 bits, or all of its 64.
    pub(super) fn get(&mut self, register: usize, wide: bool) {
        let (local, is_wide) = (self.registers[register], WIDE.contains(&register));
        self.op().local_get(local);
        match (wide, is_wide) {
            (true, false) => _ = self.op().i64_extend_i32_u(),
            (false, true) => _ = self.op().i32_wrap_i64(),
            _ => {}
        }
    }

    /// Pops a register's 32 bits, or all of its 64. `None`: it has no place for so many.
    pub(super) fn set(&mut self, register: usize, wide: bool) -> Option<()> {
        let (local, is_wide) = (self.registers[register], WIDE.contains(&register));
        match (wide, is_wide) {
            (false, true) => _ = self.op().i64_extend_i32_u(),
            (true, false) => return None,
            _ => {}
        }
        self.op().local_set(local);
        Some(())
    }

    /// Pushes a constant.
    pub(super) fn constant(&mut self, value: u64, wide: bool) {
        if wide {
            self.op().i64_const(value as i64);
        } else {
            self.op().i32_const(value as i32);
        }
    }

    /// Pushes the sum of the memory operand's registers and `offset`.
    pub(super) fn address(&mut self, i: &Instruction, offset: i32, wide: bool) {
        let (base, index) = (i.memory_base(), i.memory_index());
        let mut sum = false;
        if base != Register::None && !i.is_ip_rel_memory_operand() {
            self.get(number(base), wide);
            sum = true;
        }
        if index != Register::None {
            self.get(number(index), wide);
            let scale = i.memory_index_scale().ilog2();
            if scale > 0 {
                self.constant(scale.into(), wide);
                sized!(self, wide, i32_shl, i64_shl);
            }
            if sum {
                self.add(wide);
            }
            sum = true;
        }
        if offset != 0 || !sum {
            self.constant(i64::from(offset) as u64, wide);
            if sum {
                self.add(wide);
            }
        }
    }

    /// Returns the memory operand.
    pub(super) fn place(&mut self, i: &Instruction) -> Place {
        let forgotten = i.memory_index() != Register::None && self.makes(Mistake::OffsetForgotten);
        let offset = if forgotten { 0 } else { i.memory_displacement64() as i32 };
        let base = i.memory_base();
        let relative = i.is_ip_rel_memory_operand() || base == Register::None && i.memory_index() == Register::None;
        let folds = offset >= 0 && !relative;
        if folds && i.memory_index() == Register::None && !WIDE.contains(&number(base)) {
            return Place(self.registers[number(base)], offset as u64);
        }
        self.address(i, if folds { 0 } else { offset }, false);
        let address = self.address;
        self.op().local_set(address);
        Place(address, if folds { offset as u64 } else { 0 })
    }

    /// Pushes `size` bytes from memory, extended by zeros, or by the sign.
    pub(super) fn load(&mut self, Place(at, offset): Place, size: u32, signed: bool, wide: bool) -> Option<()> {
        let from = memory(offset);
        let mut op = self.op();
        op.local_get(at);
        match (size, signed, wide) {
            (1, false, false) => op.i32_load8_u(from),
            (1, true, false) => op.i32_load8_s(from),
            (2, false, false) => op.i32_load16_u(from),
            (2, true, false) => op.i32_load16_s(from),
            (4, _, false) => op.i32_load(from),
            (4, false, true) => op.i64_load32_u(from),
            (4, true, true) => op.i64_load32_s(from),
            (8, _, true) => op.i64_load(from),
            _ => return None,
        };
        Some(())
    }

    /// Pops a value, and writes `size` bytes of it behind the address that was pushed before it.
    pub(super) fn store(&mut self, Place(_, offset): Place, size: u32) -> Option<()> {
        let to = memory(offset);
        let mut op = self.op();
        match size {
            1 => op.i32_store8(to),
            2 => op.i32_store16(to),
            4 => op.i32_store(to),
            8 => op.i64_store(to),
            _ => return None,
        };
        Some(())
    }

    /// Pushes the first operand, from its `place` if that is memory.
    pub(super) fn first(&mut self, i: &Instruction, place: Option<Place>) -> Option<()> {
        let size = bytes(i);
        match place {
            Some(place) => self.load(place, size, size == 1, size == 8),
            None => {
                self.get(number(i.op0_register()), size == 8);
                self.cut(size)
            }
        }
    }

    /// Pushes the second.
    pub(super) fn second(&mut self, i: &Instruction) -> Option<()> {
        let size = bytes(i);
        match i.op1_kind() {
            OpKind::Register => {
                self.get(number(i.op1_register()), size == 8);
                self.cut(size)
            }
            OpKind::Memory => {
                let place = self.place(i);
                self.load(place, size, size == 1, size == 8)
            }
            _ if size == 1 => {
                self.constant(i64::from(immediate(i) as i8) as u64, false);
                Some(())
            }
            _ => {
                self.constant(immediate(i), size == 8);
                Some(())
            }
        }
    }

    /// Extends a byte by its sign, which keeps the order of unsigned bytes, too.
    fn cut(&mut self, size: u32) -> Option<()> {
        match size {
            1 => _ = self.op().i32_extend8_s(),
            4 | 8 => {}
            _ => return None,
        }
        Some(())
    }

    /// Begins to write the first operand, before its value is pushed. Returns its place if that is memory.
    pub(super) fn begin(&mut self, i: &Instruction) -> Option<Place> {
        (i.op0_kind() == OpKind::Memory).then(|| {
            let place = self.place(i);
            self.op().local_get(place.0);
            place
        })
    }

    /// Pops the value of the first operand.
    pub(super) fn put(&mut self, i: &Instruction, place: Option<Place>) -> Option<()> {
        match place {
            Some(place) => self.store(place, bytes(i)),
            None => self.set(number(i.op0_register()), bytes(i) == 8),
        }
    }
}

pub(super) fn memory(offset: u64) -> MemArg {
    MemArg { offset, align: 0, target: MemArgTarget::Memory(0), ordering: None }
}

/// Returns a register's number.
pub(super) fn number(register: Register) -> usize {
    register.full_register().number()
}
