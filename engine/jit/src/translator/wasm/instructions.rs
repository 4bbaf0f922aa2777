//! Instructions, one by one.

use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register};
use wasm_encoder::{BlockType, ValType};

use super::super::mistakes::Mistake;
use super::super::x86::{CF, bytes, immediate};
use super::flags::{Carry, Source};
use super::operands::{Place, number};
use super::{Called, Frame, Kind, Lowering, R13, R15, RAX, RDI, RDX, RSI, STACK, WIDE};

impl Lowering<'_> {
    /// Lowers an instruction. `adjacent`: what it jumps to follows.
    #[allow(clippy::too_many_lines)]
    pub(super) fn instruction(&mut self, i: &Instruction, adjacent: bool) -> Option<()> {
        if i.condition_code() != ConditionCode::None {
            return self.conditional(i);
        }
        let size = bytes(i);
        let wide = size == 8;
        let to = || number(i.op0_register());
        match i.mnemonic() {
            Mnemonic::Add | Mnemonic::Sub if i.op0_register() == Register::RSP => {
                let values = immediate(i) as usize / 8;
                self.state.depth = match i.mnemonic() {
                    Mnemonic::Add => self.state.depth.checked_sub(values)?,
                    _ => self.state.depth + values,
                };
            }
            Mnemonic::Mov => self.mov(i)?,
            Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => self.extend(i)?,
            Mnemonic::Lea => {
                self.address(i, i.memory_displacement64() as i32, wide);
                self.set(to(), wide)?;
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Cmp | Mnemonic::Adc | Mnemonic::Sbb => self.sum(i)?,
            Mnemonic::And | Mnemonic::Test | Mnemonic::Or | Mnemonic::Xor => self.logic(i)?,
            Mnemonic::Inc | Mnemonic::Dec => {
                (self.live & CF == 0).then_some(())?;
                self.sum_of(i, i.mnemonic() == Mnemonic::Dec, |this| {
                    this.constant(1, wide);
                    Some(())
                })?;
            }
            Mnemonic::Neg => {
                self.constant(0, wide);
                self.keep(self.first, wide, false);
                self.get(to(), wide);
                self.keep(self.second, wide, false);
                self.operands(wide);
                self.subtract(wide);
                self.set(to(), wide)?;
                self.follow(Source::Difference(wide));
            }
            Mnemonic::Not => {
                self.get(to(), wide);
                self.constant(u64::MAX, wide);
                sized!(self, wide, i32_xor, i64_xor);
                self.set(to(), wide)?;
            }
            Mnemonic::Bswap => {
                (!wide).then_some(())?;
                for (by, mask) in [(8, 0x00ff_00ff), (24, 0xff00_ff00_u32 as i32)] {
                    self.get(to(), false);
                    self.op().i32_const(by).i32_rotl().i32_const(mask).i32_and();
                }
                self.op().i32_or();
                self.set(to(), false)?;
            }
            Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar | Mnemonic::Ror | Mnemonic::Rol => self.shift(i)?,
            // With the carry, by one.
            Mnemonic::Rcr if !wide && i.op1_kind() == OpKind::Immediate8 && i.immediate8() == 1 => {
                (self.live & !CF == 0).then_some(())?;
                self.push_carry();
                self.op().i32_const(31).i32_shl();
                self.get(to(), false);
                self.op().i32_const(1).i32_shr_u().i32_or();
                self.bit(to(), false, 0);
                self.set(to(), false)?;
            }
            Mnemonic::Bt if i.op1_kind() == OpKind::Immediate8 => {
                self.bit(to(), wide, u32::from(i.immediate8()) & (size * 8 - 1));
            }
            Mnemonic::Bsr => {
                (self.live == 0).then_some(())?;
                self.constant(u64::from(size * 8 - 1), wide);
                self.get(number(i.op1_register()), wide);
                if wide {
                    self.op().i64_clz().i64_sub();
                } else {
                    self.op().i32_clz().i32_sub();
                }
                self.set(to(), wide)?;
            }
            Mnemonic::Imul if i.op_count() == 2 => {
                (self.live == 0).then_some(())?;
                self.get(to(), wide);
                self.second(i)?;
                sized!(self, wide, i32_mul, i64_mul);
                self.set(to(), wide)?;
            }
            Mnemonic::Cqo => {
                self.get(RAX, true);
                self.op().i64_const(63).i64_shr_s();
                self.set(RDX, true)?;
            }
            // After CQO.
            Mnemonic::Idiv if wide => self.divide(to(), true)?,
            Mnemonic::Div if !wide => self.divide(to(), false)?,
            Mnemonic::Cmc if self.makes(Mistake::CmcForgotten) => {}
            Mnemonic::Cmc => {
                if self.state.carry == Carry::Follows {
                    self.carry_to_local();
                }
                self.state.carry = if self.state.carry == Carry::Local { Carry::Inverted } else { Carry::Local };
            }
            Mnemonic::Push => {
                let local = self.on_stack(self.state.depth)?;
                self.get(to(), true);
                self.op().local_set(local);
                self.state.depth += 1;
            }
            Mnemonic::Pop => {
                self.state.depth = self.state.depth.checked_sub(1)?;
                let local = self.on_stack(self.state.depth)?;
                self.op().local_get(local);
                if !WIDE.contains(&to()) {
                    self.op().i32_wrap_i64();
                }
                self.set(to(), WIDE.contains(&to()))?;
            }
            // A function of the engine.
            Mnemonic::Call if i.op0_kind() == OpKind::Memory => {
                let offset = i.memory_displacement64() as i32;
                let called = Called::at(offset);
                for (register, parameter) in [RDI, RSI, RDX].into_iter().zip(called.parameters()) {
                    self.get(register, parameter == ValType::I64);
                }
                self.load(Place(self.registers[R15], offset as u64), 4, false, false)?;
                let type_index = self.shared.called + Called::ALL.iter().position(|&other| other == called)? as u32;
                self.op().call_indirect(0, type_index);
                self.set(RAX, false)?;
            }
            Mnemonic::Call => self.call(i.near_branch64())?,
            Mnemonic::Ret => self.ret(false)?,
            Mnemonic::Jmp => match i.op0_kind() {
                OpKind::Register => {
                    self.get(to(), false);
                    self.dispatch();
                }
                OpKind::Memory => {
                    let place = self.place(i);
                    self.load(place, 4, false, false)?;
                    self.dispatch();
                }
                _ if adjacent => {}
                _ => self.jump(i.near_branch64())?,
            },
            _ => return None,
        }
        Some(())
    }

    /// Jumps to the block whose number is popped.
    fn dispatch(&mut self) {
        let next = self.next;
        self.op().local_set(next);
        if let Some(depth) = self.depth(Frame::Dispatch) {
            self.op().br(depth);
        }
    }

    /// Jumps to an address.
    pub(super) fn jump(&mut self, to: u64) -> Option<()> {
        match self.depth(Frame::Until(to)) {
            Some(depth) => _ = self.op().br(depth),
            None => {
                (to == self.shared.abandon).then_some(())?;
                self.ret(true)?;
            }
        }
        Some(())
    }

    /// Returns from the function; `abandoned`: the run has ended.
    fn ret(&mut self, abandoned: bool) -> Option<()> {
        match self.kind {
            Kind::Blocks => self.get(RAX, false),
            Kind::Engine => _ = self.op().i32_const(abandoned.into()),
            Kind::Keeping => (!abandoned).then_some(())?,
        }
        for register in self.kind.returns() {
            self.get(register, WIDE.contains(&register));
        }
        self.op().return_();
        Some(())
    }

    /// Calls a routine, which may return ZF by EAX.
    fn call(&mut self, to: u64) -> Option<()> {
        let &(function, kind) = self.shared.routines.get(&to)?;
        for register in kind.takes() {
            self.get(register, WIDE.contains(&register));
        }
        self.op().call(function);
        for register in kind.returns().into_iter().rev() {
            self.set(register, WIDE.contains(&register))?;
        }
        if kind == Kind::Engine {
            let depth = self.depth(Frame::Until(self.shared.abandon))?;
            self.op().br_if(depth);
        }
        self.get(RAX, false);
        self.keep(self.result, false, false);
        self.follow(Source::Logic(false));
        Some(())
    }

    /// Returns the local of a value on the stack.
    fn on_stack(&self, depth: usize) -> Option<u32> {
        (depth < STACK).then(|| self.stack + depth as u32)
    }

    fn mov(&mut self, i: &Instruction) -> Option<()> {
        let size = bytes(i);
        if let Some(place) = self.begin(i) {
            match i.op1_kind() {
                OpKind::Register => self.get(number(i.op1_register()), size == 8),
                _ => self.constant(immediate(i), size == 8),
            }
            return self.store(place, size);
        }
        let to = number(i.op0_register());
        // An address of 64 bits, for a register that holds 32.
        let wide = size == 8 && WIDE.contains(&to);
        (size >= 4).then_some(())?;
        match i.op1_kind() {
            OpKind::Register => {
                self.get(number(i.op1_register()), wide);
                self.set(to, wide)
            }
            OpKind::Memory => {
                (size == 4 || wide || to == R13).then_some(())?;
                let place = self.place(i);
                let into = WIDE.contains(&to);
                self.load(place, if into { size } else { 4 }, false, into)?;
                self.set(to, into)
            }
            _ => {
                let lost = if self.makes(Mistake::ConstantHalved) { 0xffff_0000 } else { 0 };
                self.constant(immediate(i) & !lost, wide);
                self.set(to, wide)
            }
        }
    }

    fn extend(&mut self, i: &Instruction) -> Option<()> {
        let (to, signed) = (number(i.op0_register()), i.mnemonic() != Mnemonic::Movzx);
        let wide = bytes(i) == 8;
        (wide == (i.mnemonic() == Mnemonic::Movsxd)).then_some(())?;
        if i.op1_kind() == OpKind::Memory {
            let place = self.place(i);
            self.load(place, i.memory_size().size() as u32, signed, wide)?;
            return self.set(to, wide);
        }
        let from = number(i.op1_register());
        self.get(from, false);
        match (i.op1_register().size(), signed) {
            (1, false) => _ = self.op().i32_const(0xff).i32_and(),
            (2, false) => _ = self.op().i32_const(0xffff).i32_and(),
            (1, true) => _ = self.op().i32_extend8_s(),
            (2, true) => _ = self.op().i32_extend16_s(),
            (4, true) => _ = self.op().i64_extend_i32_s(),
            _ => return None,
        }
        self.set(to, wide)
    }

    // -- arithmetic

    fn sum(&mut self, i: &Instruction) -> Option<()> {
        match i.mnemonic() {
            Mnemonic::Adc | Mnemonic::Sbb => self.sum_with_carry(i),
            mnemonic => self.sum_of(i, mnemonic != Mnemonic::Add, |this| this.second(i)),
        }
    }

    /// Adds what `second` pushes to the first operand, or subtracts it.
    fn sum_of(&mut self, i: &Instruction, subtracts: bool, second: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let (size, compares) = (bytes(i), i.mnemonic() == Mnemonic::Cmp);
        let wide = size == 8;
        (size >= 4 || compares).then_some(())?;
        let place = if compares && i.op0_kind() == OpKind::Memory { Some(self.place(i)) } else { self.begin(i) };
        self.first(i, place)?;
        let flags = self.live != 0;
        if compares {
            self.keep(self.first, wide, false);
            second(self)?;
            self.keep(self.second, wide, false);
            self.follow(Source::Difference(wide));
            return Some(());
        }
        if flags {
            self.keep(self.first, wide, true);
        }
        second(self)?;
        if flags {
            self.keep(self.second, wide, true);
        }
        if subtracts {
            self.subtract(wide);
        } else {
            self.add(wide);
            if flags {
                self.keep(self.result, wide, true);
            }
        }
        self.put(i, place)?;
        self.follow(if subtracts { Source::Difference(wide) } else { Source::Sum(wide) });
        Some(())
    }

    fn sum_with_carry(&mut self, i: &Instruction) -> Option<()> {
        (bytes(i) == 4).then_some(())?;
        self.carry_to_local();
        let inverted = self.state.carry == Carry::Inverted;
        let place = self.begin(i);
        self.first(i, place)?;
        self.keep(self.first, false, true);
        self.second(i)?;
        self.keep(self.second, false, true);
        let (carry, adds) = (self.carry, i.mnemonic() == Mnemonic::Adc);
        if adds {
            self.add(false);
        } else {
            self.subtract(false);
        }
        self.op().local_get(carry);
        if inverted {
            self.op().i32_const(1).i32_xor();
        }
        if adds {
            self.add(false);
        } else {
            self.subtract(false);
        }
        self.keep(self.result, false, true);
        self.put(i, place)?;
        self.follow(if adds { Source::SumWithCarry } else { Source::DifferenceWithBorrow });
        Some(())
    }

    fn logic(&mut self, i: &Instruction) -> Option<()> {
        let (size, tests) = (bytes(i), i.mnemonic() == Mnemonic::Test);
        let wide = size == 8;
        (size >= 4 || tests).then_some(())?;
        let place = if tests { None } else { self.begin(i) };
        let same = i.op0_kind() == OpKind::Register
            && i.op1_kind() == OpKind::Register
            && i.op0_register() == i.op1_register();
        if same && i.mnemonic() == Mnemonic::Xor {
            self.constant(0, wide);
        } else {
            self.first(i, place)?;
            if !same {
                self.second(i)?;
                match (i.mnemonic(), wide) {
                    (Mnemonic::Or, false) => _ = self.op().i32_or(),
                    (Mnemonic::Or, true) => _ = self.op().i64_or(),
                    (Mnemonic::Xor, false) => _ = self.op().i32_xor(),
                    (Mnemonic::Xor, true) => _ = self.op().i64_xor(),
                    (_, false) => _ = self.op().i32_and(),
                    (_, true) => _ = self.op().i64_and(),
                }
            }
        }
        if self.live != 0 || tests {
            self.keep(self.result, wide, !tests);
        }
        if i.mnemonic() != Mnemonic::Xor || !self.makes(Mistake::XorFlagless) {
            self.follow(Source::Logic(wide));
        }
        if tests { Some(()) } else { self.put(i, place) }
    }

    /// Takes a bit of a register as the carry.
    fn bit(&mut self, register: usize, wide: bool, bit: u32) {
        self.get(register, wide);
        self.constant(bit.into(), wide);
        if wide {
            self.op().i64_shr_u().i32_wrap_i64();
        } else {
            self.op().i32_shr_u();
        }
        let carry = self.carry;
        self.op().i32_const(1).i32_and().local_set(carry);
        self.state.carry = Carry::Local;
    }

    fn shift(&mut self, i: &Instruction) -> Option<()> {
        let (to, size) = (number(i.op0_register()), bytes(i));
        let (wide, bits) = (size == 8, size * 8);
        let by_register = i.op1_kind() == OpKind::Register;
        let by = if by_register { 0 } else { u32::from(i.immediate8()) & if wide { 63 } else { 31 } };
        if size == 2 {
            // The upper half stays.
            (i.mnemonic() == Mnemonic::Ror && by == 8 && self.live == 0).then_some(())?;
            for (shift, mask) in [(0, 0xffff_0000_u32 as i32), (8, 0xff00), (24, 0xff)] {
                self.get(to, false);
                self.op().i32_const(shift).i32_rotl().i32_const(mask).i32_and();
            }
            self.op().i32_or().i32_or();
            return self.set(to, false);
        }
        (size >= 4).then_some(())?;
        if by_register {
            // A shift by 0 keeps the flags.
            (self.live == 0).then_some(())?;
        } else if by == 0 {
            return Some(());
        }
        if self.live & CF != 0 {
            // A rotation's carry is an end of its result, which is this bit before it.
            let left = matches!(i.mnemonic(), Mnemonic::Shl | Mnemonic::Rol);
            let bit = if left { bits - by } else { by - 1 };
            self.bit(to, wide, bit ^ u32::from(self.makes(Mistake::CarryBesideIt)));
        }
        self.get(to, wide);
        if by_register {
            self.get(number(i.op1_register()), wide);
        } else {
            self.constant(by.into(), wide);
        }
        let mut op = self.op();
        match (i.mnemonic(), wide) {
            (Mnemonic::Shl, false) => op.i32_shl(),
            (Mnemonic::Shl, true) => op.i64_shl(),
            (Mnemonic::Shr, false) => op.i32_shr_u(),
            (Mnemonic::Shr, true) => op.i64_shr_u(),
            (Mnemonic::Sar, false) => op.i32_shr_s(),
            (Mnemonic::Sar, true) => op.i64_shr_s(),
            (Mnemonic::Ror, false) => op.i32_rotr(),
            (Mnemonic::Ror, true) => op.i64_rotr(),
            (_, false) => op.i32_rotl(),
            (_, true) => op.i64_rotl(),
        };
        // A rotation keeps the other flags.
        if !matches!(i.mnemonic(), Mnemonic::Ror | Mnemonic::Rol) && self.live & !CF != 0 {
            self.keep(self.result, wide, true);
            self.state.source = Source::Logic(wide);
        }
        self.set(to, wide)
    }

    /// Divides RAX, with RDX, by a register: quotient and remainder.
    fn divide(&mut self, by: usize, signed: bool) -> Option<()> {
        (self.live == 0).then_some(())?;
        if !signed {
            self.get(RDX, true);
            self.op().i64_const(32).i64_shl();
            self.get(RAX, false);
            self.op().i64_extend_i32_u().i64_or();
            self.set(RAX, true)?;
        }
        self.get(by, signed);
        if self.makes(Mistake::DivSigned) && !signed {
            self.op().i64_extend_i32_s();
        } else if !signed {
            self.op().i64_extend_i32_u();
        }
        self.keep(self.second, true, false);
        for rest in [true, false] {
            self.get(RAX, true);
            self.kept(self.second, true);
            match (rest, signed) {
                (true, true) => _ = self.op().i64_rem_s(),
                (true, false) => _ = self.op().i64_rem_u(),
                (false, true) => _ = self.op().i64_div_s(),
                (false, false) => _ = self.op().i64_div_u(),
            }
            if !signed {
                self.op().i64_const(0xffff_ffff).i64_and();
            }
            self.set(if rest { RDX } else { RAX }, true)?;
        }
        Some(())
    }

    /// Lowers a jump, a move or the writing of a byte, on a condition.
    fn conditional(&mut self, i: &Instruction) -> Option<()> {
        let code = i.condition_code();
        let (holds, inverted) = match code {
            ConditionCode::ne => (ConditionCode::e, true),
            ConditionCode::ae => (ConditionCode::b, true),
            ConditionCode::ns => (ConditionCode::s, true),
            ConditionCode::no => (ConditionCode::o, true),
            ConditionCode::a => (ConditionCode::be, true),
            ConditionCode::ge => (ConditionCode::l, true),
            ConditionCode::g => (ConditionCode::le, true),
            code => (code, false),
        };
        let push = |this: &mut Self| {
            this.push_condition(holds)?;
            if inverted {
                this.op().i32_eqz();
            }
            Some(())
        };
        if i.flow_control() == FlowControl::ConditionalBranch {
            push(self)?;
            let to = i.near_branch64();
            match self.depth(Frame::Until(to)) {
                Some(depth) => _ = self.op().br_if(depth),
                None => {
                    self.op().if_(BlockType::Empty);
                    self.frames.push(Frame::Other);
                    self.jump(to)?;
                    self.close();
                }
            }
            return Some(());
        }
        if i.op0_kind() == OpKind::Register && i.op_count() == 2 {
            // CMOV.
            let (to, wide) = (number(i.op0_register()), bytes(i) == 8);
            self.second(i)?;
            self.get(to, wide);
            push(self)?;
            self.op().select();
            return self.set(to, wide);
        }
        let place = self.begin(i)?;
        push(self)?;
        self.store(place, 1)
    }
}
