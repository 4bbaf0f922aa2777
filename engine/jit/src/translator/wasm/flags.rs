//! Flags, computed from the operands of the instruction that has set them.

use iced_x86::ConditionCode;

use super::Lowering;

/// What the flags follow from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    #[default]
    Nothing,
    /// First and second operand; of 64 bits if true.
    Difference(bool),
    /// Operands and result.
    Sum(bool),
    /// The result.
    Logic(bool),
    /// Operands and result, with a carry; of 32 bits.
    SumWithCarry,
    DifferenceWithBorrow,
}

/// The place of CF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Carry {
    /// It follows as the other flags do.
    #[default]
    Follows,
    /// A local has it.
    Local,
    /// A local has its inverse.
    Inverted,
}

impl Lowering<'_> {
    /// Pops a value into one of the locals that flags follow from; with `on`, it stays pushed.
    pub(super) fn keep(&mut self, locals: [u32; 2], wide: bool, on: bool) {
        let local = locals[usize::from(wide)];
        if on {
            self.op().local_tee(local);
        } else {
            self.op().local_set(local);
        }
    }

    /// Pushes such a local.
    pub(super) fn kept(&mut self, locals: [u32; 2], wide: bool) {
        self.op().local_get(locals[usize::from(wide)]);
    }

    /// Pushes both operands.
    pub(super) fn operands(&mut self, wide: bool) {
        self.kept(self.first, wide);
        self.kept(self.second, wide);
    }

    pub(super) fn add(&mut self, wide: bool) {
        sized!(self, wide, i32_add, i64_add);
    }

    pub(super) fn subtract(&mut self, wide: bool) {
        sized!(self, wide, i32_sub, i64_sub);
    }

    /// Says what the flags follow from.
    pub(super) fn follow(&mut self, source: Source) {
        (self.state.source, self.state.carry) = (source, Carry::Follows);
    }

    pub(super) fn carry_to_local(&mut self) {
        if self.state.carry == Carry::Follows {
            self.push_carry();
            let carry = self.carry;
            self.op().local_set(carry);
            self.state.carry = Carry::Local;
        }
    }

    /// Pushes 1 if the number that is popped has its sign bit, else 0.
    fn sign(&mut self, wide: bool) {
        self.constant(0, wide);
        sized!(self, wide, i32_lt_s, i64_lt_s);
    }

    /// Pushes CF, 0 or 1.
    pub(super) fn push_carry(&mut self) {
        let carry = self.carry;
        match (self.state.carry, self.state.source) {
            (Carry::Local, _) => _ = self.op().local_get(carry),
            (Carry::Inverted, _) => _ = self.op().local_get(carry).i32_const(1).i32_xor(),
            (_, Source::Difference(wide)) => {
                self.operands(wide);
                sized!(self, wide, i32_lt_u, i64_lt_u);
            }
            (_, Source::Sum(wide)) => {
                self.kept(self.result, wide);
                self.kept(self.first, wide);
                sized!(self, wide, i32_lt_u, i64_lt_u);
            }
            (_, Source::Logic(_) | Source::Nothing) => _ = self.op().i32_const(0),
            (_, source) => {
                // Out of the highest bit: of a sum if both operands have it, or one and not the result; of a difference
                // if so with the first operand inverted, and the result.
                let borrows = source == Source::DifferenceWithBorrow;
                let first = |this: &mut Self| {
                    this.kept(this.first, false);
                    if borrows {
                        this.op().i32_const(-1).i32_xor();
                    }
                };
                first(self);
                self.kept(self.second, false);
                self.op().i32_and();
                first(self);
                self.kept(self.second, false);
                self.op().i32_or();
                self.kept(self.result, false);
                if !borrows {
                    self.op().i32_const(-1).i32_xor();
                }
                self.op().i32_and().i32_or().i32_const(31).i32_shr_u();
            }
        }
    }

    /// Pushes the result that ZF and SF follow from.
    fn push_result(&mut self) -> bool {
        match self.state.source {
            Source::Difference(wide) => {
                self.operands(wide);
                self.subtract(wide);
                wide
            }
            Source::Sum(wide) | Source::Logic(wide) => {
                self.kept(self.result, wide);
                wide
            }
            _ => {
                self.kept(self.result, false);
                false
            }
        }
    }

    /// Pushes ZF.
    fn push_zero(&mut self) {
        match self.state.source {
            Source::Difference(wide) => {
                self.operands(wide);
                sized!(self, wide, i32_eq, i64_eq);
            }
            _ => {
                if self.push_result() {
                    self.op().i64_eqz();
                } else {
                    self.op().i32_eqz();
                }
            }
        }
    }

    /// Pushes OF.
    fn push_overflow(&mut self) {
        let (wide, subtracts) = match self.state.source {
            Source::Nothing | Source::Logic(_) => {
                self.op().i32_const(0);
                return;
            }
            Source::Difference(wide) => (wide, true),
            Source::Sum(wide) => (wide, false),
            Source::SumWithCarry => (false, false),
            Source::DifferenceWithBorrow => (false, true),
        };
        let xor = |this: &mut Self| {
            sized!(this, wide, i32_xor, i64_xor);
        };
        self.kept(self.first, wide);
        self.push_result();
        xor(self);
        self.kept(self.second, wide);
        if subtracts {
            self.kept(self.first, wide);
        } else {
            self.push_result();
        }
        xor(self);
        sized!(self, wide, i32_and, i64_and);
        self.sign(wide);
    }

    /// Pushes whether a condition holds, which is not another's inverse.
    pub(super) fn push_condition(&mut self, code: ConditionCode) -> Option<()> {
        let difference = match self.state.source {
            Source::Difference(wide) => Some(wide),
            _ => None,
        };
        match (code, difference) {
            (ConditionCode::e, _) => self.push_zero(),
            (ConditionCode::b, _) => self.push_carry(),
            (ConditionCode::s, _) => {
                let wide = self.push_result();
                self.sign(wide);
            }
            (ConditionCode::o, _) => self.push_overflow(),
            (ConditionCode::be, Some(wide)) if self.state.carry == Carry::Follows => {
                self.operands(wide);
                sized!(self, wide, i32_le_u, i64_le_u);
            }
            (ConditionCode::be, _) => {
                self.push_carry();
                self.push_zero();
                self.op().i32_or();
            }
            (ConditionCode::l, Some(wide)) => {
                self.operands(wide);
                sized!(self, wide, i32_lt_s, i64_lt_s);
            }
            (ConditionCode::le, Some(wide)) => {
                self.operands(wide);
                sized!(self, wide, i32_le_s, i64_le_s);
            }
            (ConditionCode::l | ConditionCode::le, _) => {
                let wide = self.push_result();
                self.sign(wide);
                self.push_overflow();
                self.op().i32_ne();
                if code == ConditionCode::le {
                    self.push_zero();
                    self.op().i32_or();
                }
            }
            _ => return None,
        }
        Some(())
    }
}
