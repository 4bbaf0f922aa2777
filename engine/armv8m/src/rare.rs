//! Instructions that are too rare for the loop of [`crate::exec`].

use crate::bus::{Attribution, Bus, Transfer};
use crate::core::{Core, control};
use crate::decode::{Kind, Op};
use crate::exception::FNC_RETURN;
use crate::exec::shift;
use crate::fault::Cause;
use crate::mpu::Access;
use crate::{Memory, time};

/// How execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// With the next instruction.
    Next,
    /// The same, but the caller must check the core's state again.
    Leave,
    /// By a branch that may end an exception.
    Interwork(u32),
    /// At [`Core::pc`], which has been set.
    Gone,
}

/// Bits of a PSR that MRS and MSR name: flags, exception.
fn named(sysm: u32) -> (bool, bool) {
    (sysm & 4 == 0, sysm & 1 != 0)
}

impl Core {
    fn value(&self, register: u8) -> u32 {
        if register == 15 { self.pc.wrapping_add(4) } else { self.regs[usize::from(register & 15)] }
    }

    fn set(&mut self, register: u8, value: u32) {
        self.regs[usize::from(register & 15)] = if register == 13 { value & !3 } else { value };
    }

    /// Executes `op` at [`Core::pc`], with its cycles.
    #[inline(never)]
    pub(crate) fn execute_rare<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        op: Op,
    ) -> Result<Then, Cause> {
        match op.kind {
            Kind::Shifted => self.shifted(op),
            Kind::Dsp => {
                self.execute_dsp(op.imm)?;
                self.cycles += 1;
            }
            Kind::Float => return self.execute_float(mem, bus, op),
            Kind::FloatLoad => return self.execute_float_load(mem, bus, op),
            Kind::Indexed | Kind::LdrPc => return self.indexed(mem, bus, op),
            Kind::Ldrd | Kind::Strd => self.double(mem, bus, op)?,
            Kind::Exclusive => self.exclusive(mem, bus, op)?,
            Kind::Clrex => {
                self.exclusive = false;
                self.cycles += 1;
            }
            Kind::Barrier => self.cycles += time::SYSTEM,
            Kind::Cps => {
                if self.privileged() {
                    let (bank, set) = (self.bank(), op.imm & 16 != 0);
                    if op.imm & 2 != 0 {
                        self.primask[bank] = set;
                    }
                    if op.imm & 1 != 0 && (!set || self.execution_priority() > -1) {
                        self.faultmask[bank] = set;
                    }
                }
                self.cycles += 1;
                return Ok(self.masks_changed(bus));
            }
            Kind::Msr => {
                let value = self.value(op.b);
                self.cycles += time::SYSTEM;
                self.msr(op.imm, u32::from(op.c), value);
                return Ok(self.masks_changed(bus));
            }
            Kind::Mrs => {
                let value = self.mrs(op.imm);
                self.cycles += time::SYSTEM;
                self.set(op.a, value);
            }
            Kind::Sev => {
                bus.sys_mut().event_signal = true;
                bus.sys_mut().attention = true;
                self.cycles += 1;
            }
            Kind::Sg => self.cycles += 1,
            Kind::Tt => {
                let value = self.test_target(bus, self.value(op.b), u32::from(op.c))?;
                self.set(op.a, value);
                self.cycles += 1;
            }
            Kind::Bx | Kind::Blx => return self.branch_across(mem, bus, op),
            Kind::Coprocessor => return self.transfer(bus, op),
            _ => return Err(Cause::UndefinedInstruction),
        }
        Ok(Then::Next)
    }

    fn masks_changed<B: Bus>(&mut self, bus: &mut B) -> Then {
        self.fpu.ready = false;
        if self.ppb.anything_pending() {
            bus.sys_mut().attention = true;
        }
        Then::Leave
    }

    /// Data processing with a shifted register.
    fn shifted(&mut self, op: Op) {
        let (opcode, flags) = (op.imm >> 21 & 15, op.imm & 1 << 20 != 0);
        let (kind, amount) = (u32::from(op.d >> 5), u32::from(op.d & 31));
        let (n, m) = (self.value(op.b), self.value(op.c));
        let (m, carry) = match (kind, amount) {
            (3, 0) => (m >> 1 | u32::from(self.c) << 31, m & 1 != 0),
            (1 | 2, 0) => shift(kind, m, 32, self.c),
            _ => shift(kind, m, amount, self.c),
        };
        let sum = |x: u32, y: u32, c: bool| {
            let (partial, c1) = x.overflowing_add(y);
            let (sum, c2) = partial.overflowing_add(u32::from(c));
            (sum, c1 | c2, ((x ^ sum) & (y ^ sum)) >> 31 != 0)
        };
        let logical = |value| (value, carry, self.v);
        let (value, c, v) = match opcode {
            0 => logical(n & m),
            1 => logical(n & !m),
            2 if op.b == 15 => logical(m),
            2 => logical(n | m),
            3 if op.b == 15 => logical(!m),
            3 => logical(n | !m),
            4 => logical(n ^ m),
            8 => sum(n, m, false),
            10 => sum(n, m, self.c),
            11 => sum(n, !m, self.c),
            13 => sum(n, !m, true),
            _ => sum(!n, m, true),
        };
        if flags {
            (self.nz, self.c, self.v) = (i64::from(value as i32), c, v);
        }
        // Tests and compares name R15.
        if !(flags && op.a == 15) {
            self.set(op.a, value);
        }
        self.cycles += 1;
    }

    /// Loads and stores of one register with other ways to name the address, and loads of the PC.
    fn indexed<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, op: Op) -> Result<Then, Cause> {
        let word = op.imm;
        let (size, signed, load) = (1 << (word >> 21 & 3), word & 1 << 24 != 0, word & 1 << 20 != 0);
        let offset = word & 0xff;
        let base = if op.b == 15 { self.value(15) & !3 } else { self.value(op.b) };
        let by = |up: bool, offset: u32| base.wrapping_add(if up { offset } else { offset.wrapping_neg() });
        // Address, and what the base becomes.
        let (address, back, unprivileged) = match (op.b, word >> 23 & 1, word >> 8 & 15) {
            (15, up, _) => (by(up != 0, word & 0xfff), None, false),
            (_, 1, _) => (by(true, word & 0xfff), None, false),
            (_, _, 0b1110) => (by(true, offset), None, true),
            (_, _, mode) if mode & 8 != 0 => {
                let moved = by(mode & 2 != 0, offset);
                let address = if mode & 4 != 0 { moved } else { base };
                (address, (mode & 1 != 0).then_some(moved), false)
            }
            _ => (base.wrapping_add(self.value((word & 15) as u8) << (word >> 4 & 3)), None, false),
        };
        if let Some(back) = back
            && op.b == 13
            && back < base
            && self.exceeds(self.active_stack(), back)
        {
            return Err(Cause::StackLimit { sp: back });
        }
        if unprivileged && self.privileged() && self.guards_data() {
            let access = if load { Access::Read } else { Access::Write };
            self.permit(bus, access, address, false)?;
        }
        if load {
            let value = self.load(mem, bus, address, size)?;
            let value = match (size, signed) {
                (1, true) => value as u8 as i8 as u32,
                (2, true) => value as u16 as i16 as u32,
                _ => value,
            };
            if let Some(back) = back {
                self.set(op.b, back);
            }
            if op.kind == Kind::LdrPc {
                if address & 3 != 0 {
                    return Err(Cause::Unaligned { address });
                }
                self.cycles += time::LOAD_PC;
                return Ok(Then::Interwork(value));
            }
            self.set(op.a, value);
        } else {
            self.store(mem, bus, address, self.value(op.a), size)?;
            if let Some(back) = back {
                self.set(op.b, back);
            }
        }
        Ok(Then::Next)
    }

    /// LDRD and STRD.
    fn double<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, op: Op) -> Result<(), Cause> {
        let base = if op.b == 15 { self.value(15) & !3 } else { self.value(op.b) };
        let moved = base.wrapping_add(op.imm);
        let address = if op.d & 1 != 0 { moved } else { base };
        if address & 3 != 0 {
            return Err(Cause::Unaligned { address });
        }
        if op.d & 2 != 0 && op.b == 13 && moved < base && self.exceeds(self.active_stack(), moved) {
            return Err(Cause::StackLimit { sp: moved });
        }
        if op.kind == Kind::Ldrd {
            let low = self.load(mem, bus, address, 4)?;
            let high = self.load(mem, bus, address.wrapping_add(4), 4)?;
            self.set(op.a, low);
            self.set(op.c, high);
        } else {
            self.store(mem, bus, address, self.value(op.a), 4)?;
            self.store(mem, bus, address.wrapping_add(4), self.value(op.c), 4)?;
        }
        if op.d & 2 != 0 {
            self.set(op.b, moved);
        }
        Ok(())
    }

    /// LDREX, STREX, LDA, STL and their relatives.
    fn exclusive<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, op: Op) -> Result<(), Cause> {
        let word = op.imm;
        let load = word & 1 << 20 != 0;
        let words = word >> 20 & 0xfe == 0x84;
        let (size, ordered, exclusive) = match (words, word >> 4 & 15) {
            (true, _) => (4, false, true),
            (_, mode) => (1 << (mode & 3), mode & 8 != 0, mode & 4 != 0),
        };
        let offset = if words { (word & 0xff) * 4 } else { 0 };
        let address = self.value(op.b).wrapping_add(offset);
        if address & (size - 1) != 0 {
            return Err(Cause::Unaligned { address });
        }
        if load {
            let value = self.load(mem, bus, address, size)?;
            self.set(op.a, value);
            if exclusive {
                self.exclusive = true;
                mem.reserve(self.index, address);
            }
        } else if !exclusive {
            self.store(mem, bus, address, self.value(op.a), size)?;
        } else {
            let status = if words { op.c } else { (word & 15) as u8 };
            let granted = mem.take_reservation(self.index, address) && self.exclusive;
            self.exclusive = false;
            if granted {
                self.store(mem, bus, address, self.value(op.a), size)?;
            } else {
                self.cycles += 1;
            }
            self.set(status, u32::from(!granted));
        }
        self.cycles += u64::from(ordered);
        Ok(())
    }

    fn mrs(&self, sysm: u32) -> u32 {
        let (own, privileged) = (self.bank(), self.privileged());
        // The Non-secure copies, which only Secure code sees.
        let (bank, sysm) = if sysm & 0x80 != 0 { (1, sysm & 0x7f) } else { (own, sysm) };
        match sysm {
            0..=7 => {
                let (flags, exception) = named(sysm);
                (if flags { self.apsr() } else { 0 }) | if exception { self.ipsr } else { 0 }
            }
            20 => self.control[bank] & 3 | self.control[0] & if self.secure { 12 } else { 4 },
            _ if !privileged || bank != own && !self.secure => 0,
            8 => self.stack(bank, 0),
            9 => self.stack(bank, 1),
            10 => self.limits[bank][0],
            11 => self.limits[bank][1],
            16 => u32::from(self.primask[bank]),
            17 | 18 => u32::from(self.basepri[bank]),
            19 => u32::from(self.faultmask[bank]),
            // SP_NS.
            24 => self.stack(1, usize::from(self.control[1] & control::SPSEL != 0 && self.ipsr == 0)),
            _ => 0,
        }
    }

    fn msr(&mut self, sysm: u32, mask: u32, value: u32) {
        let (own, privileged) = (self.bank(), self.privileged());
        if sysm < 8 {
            if named(sysm).0 {
                if mask & 2 != 0 {
                    self.set_nzcv(value);
                    self.q = value & 1 << 27 != 0;
                }
                if mask & 1 != 0 {
                    self.ge = (value >> 16 & 15) as u8;
                }
            }
            return;
        }
        let (bank, sysm) = if sysm & 0x80 != 0 { (1, sysm & 0x7f) } else { (own, sysm) };
        if bank != own && !self.secure {
            return;
        }
        if !privileged {
            // CONTROL.SFPA is the only bit for unprivileged code.
            if sysm == 20 && self.secure {
                self.control[0] = self.control[0] & !control::SFPA | value & control::SFPA;
            }
            return;
        }
        match sysm {
            8 => self.set_stack(bank, 0, value),
            9 => self.set_stack(bank, 1, value),
            10 => self.limits[bank][0] = value & !7,
            11 => self.limits[bank][1] = value & !7,
            16 => self.primask[bank] = value & 1 != 0,
            17 => self.basepri[bank] = value as u8 & 0xf0,
            18 => {
                let (old, new) = (self.basepri[bank], value as u8 & 0xf0);
                if new != 0 && (old == 0 || new < old) {
                    self.basepri[bank] = new;
                }
            }
            19 if value & 1 == 0 || self.execution_priority() > -1 => self.faultmask[bank] = value & 1 != 0,
            20 => self.switch(|core| {
                // Handler mode always uses the main stack: SPSEL changes and selects nothing.
                core.control[bank] = core.control[bank] & !3 | value & 3;
                let shared = match (core.secure, core.ppb.nsacr & 1 << 10 != 0) {
                    (true, _) => control::FPCA | control::SFPA,
                    (false, true) => control::FPCA,
                    (false, false) => 0,
                };
                core.control[0] = core.control[0] & !shared | value & shared;
            }),
            24 => self.set_stack(1, usize::from(self.control[1] & control::SPSEL != 0 && self.ipsr == 0), value),
            _ => {}
        }
    }

    /// TT, TTT (bit 0 of `variant`), TTA and TTAT (bit 1).
    fn test_target<B: Bus>(&self, bus: &B, address: u32, variant: u32) -> Result<u32, Cause> {
        let (unprivileged, other) = (variant & 1 != 0, variant & 2 != 0);
        if other && !self.secure {
            return Err(Cause::UndefinedInstruction);
        }
        let bank = if other { 1 } else { self.bank() };
        let privileged = !unprivileged && (self.ipsr != 0 || self.control[bank] & control::NPRIV == 0);
        let mpu = &self.ppb.banks[bank].mpu;
        let mut result = 0;
        let (read, write) = (
            mpu.allows(Access::Read, address, privileged, false),
            mpu.allows(Access::Write, address, privileged, false),
        );
        let region = mpu.region(address);
        if let (true, Ok(Some(number))) = (mpu.enabled(), region) {
            result |= number | 1 << 16;
        }
        if privileged || unprivileged {
            result |= u32::from(read) << 18 | u32::from(write) << 19;
        }
        if self.secure {
            let attribution = self.attribution(bus, address);
            if let Ok(Some(number)) = self.ppb.sau.region(address) {
                result |= number << 8 | 1 << 17;
            }
            // An exempt address has the state of the core.
            let secure = attribution != Attribution::NonSecure;
            result |= u32::from(secure) << 22 | if secure { 0 } else { u32::from(read) << 20 | u32::from(write) << 21 };
        }
        Ok(result)
    }

    /// BXNS and BLXNS.
    fn branch_across<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, op: Op) -> Result<Then, Cause> {
        if !self.secure {
            return Err(Cause::UndefinedInstruction);
        }
        let target = self.value(op.c);
        self.cycles += time::TAKEN;
        if op.kind == Kind::Bx && (target >= 0xff00_0000 || target | 1 == FNC_RETURN) {
            return Ok(Then::Interwork(target));
        }
        let stays = target & 1 != 0;
        if op.kind == Kind::Blx {
            let next = self.pc.wrapping_add(2) | 1;
            if stays {
                self.regs[14] = next;
            } else {
                let sp = self.regs[13].wrapping_sub(8);
                self.store(mem, bus, sp, next, 4)?;
                let psr = self.ipsr | (self.control[0] & control::SFPA) >> 3 << 20;
                self.store(mem, bus, sp.wrapping_add(4), psr, 4)?;
                self.lower_stack(sp)?;
                self.regs[14] = FNC_RETURN;
                if self.ipsr != 0 {
                    self.ipsr = 1;
                }
            }
        }
        if !stays {
            self.switch(|core| core.secure = false);
            self.control[0] &= !control::SFPA;
            self.fpu.ready = false;
        }
        self.pc = target & !1;
        self.fetch_word = crate::core::NO_WORD;
        Ok(Then::Gone)
    }

    /// Executes SG at [`Core::pc`], which Non-secure code has reached: true if there is one.
    pub(crate) fn enter_secure<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) -> bool {
        if self.secure || self.attribution(bus, self.pc) != Attribution::Callable {
            return false;
        }
        if self.load_slow(mem, bus, self.pc, 4) != Ok(0xe97f_e97f) {
            return false;
        }
        self.regs[14] &= !1;
        self.switch(|core| core.secure = true);
        self.control[0] &= !control::SFPA;
        self.fpu.ready = false;
        self.it = 0;
        self.pc = self.pc.wrapping_add(4);
        self.cycles += 1;
        true
    }

    /// MCR, MRC, MCRR, MRRC, CDP.
    fn transfer<B: Bus>(&mut self, bus: &mut B, op: Op) -> Result<Then, Cause> {
        let word = op.imm;
        let number = u32::from(op.c);
        let bank = self.bank();
        let refused = Cause::NoCoprocessor { number };
        let access = if number < 8 { self.ppb.banks[bank].cpacr >> (2 * number) & 3 } else { 0 };
        let allowed = access == 3 || access == 1 && self.privileged();
        if !allowed || bank == 1 && self.ppb.nsacr >> number & 1 == 0 {
            return Err(refused);
        }
        bus.sys_mut().cycle = self.cycles;
        bus.access_as(self.secure, self.privileged());
        let second = word & 1 << 28 != 0;
        let transfer = Transfer {
            core: self.index,
            coprocessor: number,
            opc1: word >> 21 & 7,
            opc2: word >> 5 & 7,
            crn: word >> 16 & 15,
            crm: word & 15,
            crd: word >> 12 & 15,
            second,
            secure: self.secure,
        };
        let read = word & 1 << 20 != 0;
        let undefined = |_| Cause::UndefinedInstruction;
        if word >> 21 & 0x7f == 0x62 {
            let transfer = Transfer { opc1: word >> 4 & 15, opc2: 0, crn: 0, ..transfer };
            let high = (word >> 16 & 15) as u8;
            if read {
                let (first, second) = bus.mrrc(transfer).map_err(undefined)?;
                self.set(op.a, first);
                self.set(high, second);
            } else {
                bus.mcrr(transfer, self.value(op.a), self.value(high)).map_err(undefined)?;
            }
        } else if word >> 24 & 15 != 14 {
            // LDC and STC.
            return Err(Cause::UndefinedInstruction);
        } else if word & 16 == 0 {
            bus.cdp(Transfer { opc1: word >> 20 & 15, ..transfer }).map_err(undefined)?;
        } else if read {
            let value = bus.mrc(transfer).map_err(undefined)?;
            if op.a == 15 { self.set_nzcv(value) } else { self.set(op.a, value) }
        } else {
            bus.mcr(transfer, self.value(op.a)).map_err(undefined)?;
        }
        self.cycles += 1 + u64::from(bus.waits());
        Ok(Then::Next)
    }
}
