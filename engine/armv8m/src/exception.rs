//! Exceptions: entry, return, faults, and the lazy stacking of the floating-point registers (Armv8-M ARM, B3).

use parts::trace::{Record, kind};

use crate::bus::Bus;
use crate::core::{Core, NO_WORD, State, control};
use crate::fault::{Cause, Report};
use crate::fpu::FPSCR_CONTEXT;
use crate::mpu::Access;
use crate::ppb::{aircr, exception, fpccr, scr};
use crate::{Memory, time};

/// Bits of EXC_RETURN.
mod exc_return {
    pub(super) const PREFIX: u32 = 0xffff_ff80;
    /// The stack is Secure.
    pub(super) const S: u32 = 1 << 6;
    /// R4 to R11 are not on the stack.
    pub(super) const DCRS: u32 = 1 << 5;
    /// No floating-point registers are on the stack.
    pub(super) const FTYPE: u32 = 1 << 4;
    pub(super) const THREAD: u32 = 1 << 3;
    pub(super) const SPSEL: u32 = 1 << 2;
    /// The exception was Secure.
    pub(super) const ES: u32 = 1 << 0;
}

/// What an exception that leaves the Secure state pushes below R4; bit 0 is FTYPE.
const SIGNATURE: u32 = 0xfefa_125a;
/// Where BLXNS and a Non-secure call of Secure code return to.
pub(crate) const FNC_RETURN: u32 = 0xfeff_ffff;
/// Bytes of a frame, of its floating-point part, and of R4 to R11 with the signature.
const FRAME: u32 = 0x20;
const FLOAT_FRAME: u32 = 0x48;
const CALLEE_FRAME: u32 = 0x28;

mod hfsr {
    pub(super) const VECTTBL: u32 = 1 << 1;
    pub(super) const FORCED: u32 = 1 << 30;
    pub(super) const DEBUGEVT: u32 = 1 << 31;
}

/// The exception by which a fault is reported, and what it leaves in CFSR (SFSR for a SecureFault).
fn syndrome(cause: Cause) -> (u32, u32) {
    match cause {
        Cause::Fetch { .. } => (exception::BUS_FAULT, 1 << 8),
        Cause::Read { .. } | Cause::Write { .. } | Cause::Unprivileged { .. } => {
            (exception::BUS_FAULT, 1 << 9 | 1 << 15)
        }
        Cause::Protected { .. } => (exception::MEM_MANAGE, 1 << 1 | 1 << 7),
        Cause::ProtectedFetch { .. } => (exception::MEM_MANAGE, 1 << 0),
        Cause::Unaligned { .. } => (exception::USAGE_FAULT, 1 << 24),
        Cause::UndefinedInstruction => (exception::USAGE_FAULT, 1 << 16),
        Cause::InvalidState { .. } => (exception::USAGE_FAULT, 1 << 17),
        Cause::InvalidReturn { .. } => (exception::USAGE_FAULT, 1 << 18),
        Cause::NoCoprocessor { .. } => (exception::USAGE_FAULT, 1 << 19),
        Cause::StackLimit { .. } => (exception::USAGE_FAULT, 1 << 20),
        Cause::DivideByZero => (exception::USAGE_FAULT, 1 << 25),
        Cause::Insecure { .. } => (exception::SECURE_FAULT, 1 << 3 | 1 << 6),
        Cause::InsecureEntry { .. } => (exception::SECURE_FAULT, 1 << 0),
        // Of these, only the last is no exception of this core.
        Cause::Breakpoint | Cause::SupervisorCall | Cause::Vector { .. } | Cause::Trap { .. } => {
            (exception::HARD_FAULT, 0)
        }
    }
}

/// CFSR's bits for a fault while a frame is pushed (MSTKERR, STKERR) or popped (MUNSTKERR, UNSTKERR).
fn stacking(cause: Cause, popping: bool) -> u32 {
    match (syndrome(cause).0, popping) {
        (exception::MEM_MANAGE, false) => 1 << 4,
        (exception::MEM_MANAGE, true) => 1 << 3,
        (exception::BUS_FAULT, false) => 1 << 12,
        (exception::BUS_FAULT, true) => 1 << 11,
        _ => syndrome(cause).1,
    }
}

impl Core {
    /// Takes the most urgent exception, if one may be taken now.
    pub fn take_pending_exception<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) {
        if !self.ppb.anything_pending() || self.state != State::Running {
            return;
        }
        let Some((number, bank, priority)) = self.ppb.most_urgent() else { return };
        if priority < self.execution_priority() {
            self.enter_exception(mem, bus, (number, bank), self.pc);
        }
    }

    /// Handles a fault of the instruction at `pc`.
    pub(crate) fn fault<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause) {
        self.raise(mem, bus, cause, syndrome(cause).1, self.pc);
    }

    fn raise<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause, bits: u32, return_to: u32) {
        let (number, bank) = self.record(cause, bits);
        let priority = self.ppb.group(self.ppb.priority(number, bank), bank);
        let enabled = number == exception::HARD_FAULT || {
            let bit = if number == exception::SECURE_FAULT { 19 } else { number + 12 };
            self.ppb.banks[bank].faults_enabled >> bit & 1 != 0
        };
        if enabled && number != exception::HARD_FAULT && priority < self.execution_priority() {
            self.enter_exception(mem, bus, (number, bank), return_to);
            return;
        }
        self.hard_fault(mem, bus, cause, return_to);
    }

    /// Sets the fault status registers; returns the exception and its state.
    fn record(&mut self, cause: Cause, bits: u32) -> (u32, usize) {
        let number = syndrome(cause).0;
        let bank = match number {
            exception::MEM_MANAGE | exception::USAGE_FAULT => self.bank(),
            _ => self.ppb.target(number),
        };
        match (number, cause) {
            (exception::SECURE_FAULT, Cause::Insecure { address }) => {
                self.ppb.sau.status |= bits;
                self.ppb.sau.fault_address = address;
            }
            (exception::SECURE_FAULT, _) => self.ppb.sau.status |= bits,
            (exception::BUS_FAULT, _) => {
                self.ppb.banks[0].cfsr |= bits;
                if let Cause::Read { address } | Cause::Write { address } | Cause::Unprivileged { address } = cause {
                    self.ppb.bfar = address;
                }
            }
            (exception::HARD_FAULT, Cause::Breakpoint) => self.ppb.hfsr |= hfsr::DEBUGEVT,
            (exception::HARD_FAULT, Cause::Vector { .. }) => self.ppb.hfsr |= hfsr::VECTTBL,
            _ => {
                self.ppb.banks[bank].cfsr |= bits;
                if let Cause::Protected { address } = cause {
                    self.ppb.banks[bank].mmfar = address;
                }
            }
        }
        (number, bank)
    }

    fn hard_fault<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause, return_to: u32) {
        let bank = usize::from(!self.secure && self.ppb.aircr & aircr::BFHFNMINS != 0);
        let locked_up = self.execution_priority() <= self.ppb.priority(exception::HARD_FAULT, bank);
        self.report(bus, locked_up, cause);
        if !matches!(cause, Cause::Breakpoint | Cause::Vector { .. }) {
            self.ppb.hfsr |= hfsr::FORCED;
        }
        if locked_up {
            self.state = State::LockedUp;
            return;
        }
        self.enter_exception(mem, bus, (exception::HARD_FAULT, bank), return_to);
    }

    fn report<B: Bus>(&self, bus: &mut B, locked_up: bool, cause: Cause) {
        let at = bus.sys().clock.ps_at(self.cycles);
        let (pc, lr, exception) = (self.pc, self.regs[14], self.ipsr);
        bus.sys_mut().faults.push(Report { at, core: self.index, locked_up, pc, lr, exception, cause });
    }

    /// Executes SVC: SVCall is taken at once or, if masked, escalates to HardFault.
    pub(crate) fn supervisor_call<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, return_to: u32) {
        let bank = self.bank();
        let priority = self.ppb.group(self.ppb.priority(exception::SV_CALL, bank), bank);
        if priority < self.execution_priority() {
            self.enter_exception(mem, bus, (exception::SV_CALL, bank), return_to);
        } else {
            self.hard_fault(mem, bus, Cause::SupervisorCall, return_to);
        }
    }

    fn enter_exception<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        (number, bank): (u32, usize),
        return_to: u32,
    ) {
        // One that follows a return at once skips the frame's way to the registers and back.
        let start = self.cycles;
        let chained = self.returned == Some((start, self.instructions));
        let stack = self.active_stack();
        let (thread, privileged) = (self.ipsr == 0, self.privileged());
        let float = self.control[0] & control::FPCA != 0;
        let sp = self.regs[13];
        let size = if float { FRAME + FLOAT_FRAME } else { FRAME };
        let frame = sp.wrapping_sub(size) & !7;
        let xpsr = self.xpsr() & !(1 << 9) | (sp >> 2 & 1) << 9;
        let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|i| self.regs[i]);
        let words = [r0, r1, r2, r3, self.regs[12], self.regs[14], return_to, xpsr];
        let leaves = self.secure && bank == 1;
        let bottom = if leaves { frame.wrapping_sub(CALLEE_FRAME) } else { frame };
        let mut fault = self.exceeds(stack, bottom).then_some(Cause::StackLimit { sp: bottom });
        let mut push = |core: &mut Self, at: u32, word: u32| {
            if fault.is_none() {
                fault = core.store(mem, bus, at, word, 4).err();
            }
        };
        for (i, word) in (0..).zip(words) {
            push(self, frame.wrapping_add(4 * i), word);
        }
        if float && self.ppb.fpccr[0] & fpccr::LSPEN == 0 {
            for i in 0..17 {
                let word = if i < 16 { self.fpu.s[i as usize] } else { self.fpu.fpscr };
                push(self, frame.wrapping_add(FRAME + 4 * i), word);
            }
        }
        if leaves {
            let signature = SIGNATURE | u32::from(!float);
            let rest: [u32; 8] = std::array::from_fn(|i| self.regs[4 + i]);
            for (i, word) in (0..).zip([signature, 0].into_iter().chain(rest)) {
                push(self, bottom.wrapping_add(4 * i), word);
            }
        }
        if let Some(cause) = fault {
            let (derived, to) = self.record(cause, stacking(cause, false));
            self.pend_derived(derived, to);
            bus.sys_mut().attention = true;
        }
        let mut link = exc_return::PREFIX;
        for (bit, set) in [
            (exc_return::S, self.secure),
            (exc_return::DCRS, !leaves),
            (exc_return::FTYPE, !float),
            (exc_return::THREAD, thread),
            (exc_return::SPSEL, stack.1 != 0),
            (exc_return::ES, bank == 0),
        ] {
            link |= if set { bit } else { 0 };
        }
        if float && self.ppb.fpccr[0] & fpccr::LSPEN != 0 {
            let at = self.bank();
            self.ppb.banks[at].fpcar = frame.wrapping_add(FRAME);
            let mut state = self.ppb.fpccr[0] & !(fpccr::USER | fpccr::THREAD | fpccr::SECURE) | fpccr::LSPACT;
            for (bit, set) in [(fpccr::USER, !privileged), (fpccr::THREAD, thread), (fpccr::SECURE, self.secure)] {
                state |= if set { bit } else { 0 };
            }
            self.ppb.fpccr[0] = state;
        }
        self.regs[13] = bottom;
        self.switch(|core| {
            core.ipsr = number;
            core.secure = bank == 0;
            core.control[0] &= !(control::FPCA | control::SFPA);
        });
        if leaves {
            // Non-secure code sees nothing of the Secure registers.
            self.regs[..13].fill(0);
            self.set_apsr(0);
        }
        self.fpu.ready = false;
        self.it = 0;
        self.late = 0;
        self.fetch_word = NO_WORD;
        self.regs[14] = link;
        self.exclusive = false;
        self.event_register = true;
        self.ppb.activate(number, bank);
        let vector = self.ppb.banks[bank].vtor.wrapping_add(4 * number);
        let loaded = self.load_slow(mem, bus, vector, 4);
        self.cycles = match self.returned.take() {
            Some(_) if chained => self.return_started + time::TAIL_CHAIN,
            _ => start + time::ENTRY,
        };
        if bus.sys().trace.wants(kind::IRQ) {
            let at = bus.sys().clock.ps_at(start);
            let record = Record::Exception { core: self.index as u8, number: number as u8, entry: true };
            bus.sys_mut().trace.push(at, record);
        }
        if self.index == 0 && bus.sys().records() {
            let at = bus.sys().clock.ps_at(start);
            bus.sys_mut().recorder().into_iter().for_each(|recorder| recorder.exception_taken(at, number as u8));
        }
        match loaded {
            Ok(vector) => {
                self.pc = vector & !1;
                if vector & 1 == 0 {
                    self.fault(mem, bus, Cause::InvalidState { target: vector });
                }
            }
            Err(_) => self.fault(mem, bus, Cause::Vector { number, value: 0 }),
        }
    }

    /// Makes the fault pending that pushing a frame has caused, or HardFault in its place.
    fn pend_derived(&mut self, number: u32, bank: usize) {
        let bit = if number == exception::SECURE_FAULT { 19 } else { number + 12 };
        if number == exception::HARD_FAULT || self.ppb.banks[bank].faults_enabled >> bit & 1 == 0 {
            self.ppb.hfsr |= hfsr::FORCED;
            self.ppb.banks[0].pending |= 1 << exception::HARD_FAULT;
        } else {
            self.ppb.banks[bank].pending |= 1 << number;
        }
    }

    /// Branches to an EXC_RETURN value in handler mode, or to FNC_RETURN. `Err`: the cause of a fault.
    pub(crate) fn return_by<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, value: u32) -> Result<(), Cause> {
        if value | 1 == FNC_RETURN { self.function_return(mem, bus) } else { self.exception_return(mem, bus, value) }
    }

    /// Returns from Non-secure code that BLXNS has called.
    fn function_return<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) -> Result<(), Cause> {
        self.switch(|core| core.secure = true);
        let sp = self.regs[13];
        let (pc, psr) = (self.load(mem, bus, sp, 4)?, self.load(mem, bus, sp.wrapping_add(4), 4)?);
        self.switch(|core| core.ipsr = psr & 0x1ff);
        self.regs[13] = sp.wrapping_add(8);
        self.control[0] = self.control[0] & !control::SFPA | (psr >> 20 & 1) << 3;
        self.fpu.ready = false;
        self.pc = pc & !1;
        self.fetch_word = NO_WORD;
        self.cycles += time::TAKEN;
        if pc & 1 == 0 { Err(Cause::InvalidState { target: pc }) } else { Ok(()) }
    }

    fn exception_return<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, value: u32) -> Result<(), Cause> {
        let has = |bit: u32| value & bit != 0;
        let invalid = Err(Cause::InvalidReturn { exc_return: value });
        let (number, bank) = (self.ipsr, usize::from(!(self.secure && has(exc_return::ES))));
        let thread = has(exc_return::THREAD);
        let wrong_state =
            !self.secure && has(exc_return::ES) || value & 2 != 0 || value >> 7 != exc_return::PREFIX >> 7;
        if wrong_state || !self.ppb.is_active(number, bank) {
            return invalid;
        }
        // A return to the wrong mode would make the nesting inconsistent.
        if thread != (self.ppb.nesting() == 1) {
            return invalid;
        }
        if self.ppb.priority(number, bank) >= -1 && number != exception::NMI {
            self.faultmask[bank] = false;
        }
        self.ppb.deactivate(number, bank);
        // A level-sensitive line that is still high pends again.
        if number >= exception::IRQ0 {
            self.ppb.pending |= bus.sys().irq_level_for_core(self.index) & 1 << (number - exception::IRQ0);
        }
        if bus.sys().trace.wants(kind::IRQ) {
            let at = bus.sys().clock.ps_at(self.cycles);
            let record = Record::Exception { core: self.index as u8, number: number as u8, entry: false };
            bus.sys_mut().trace.push(at, record);
        }
        if self.index == 0
            && let Some(recorder) = bus.sys_mut().recorder()
        {
            recorder.exception_left();
        }
        let start = self.cycles;
        let secure = has(exc_return::S);
        // The frame's stack becomes the active one before the mode does.
        let stack = (usize::from(!secure), usize::from(thread && has(exc_return::SPSEL)));
        let mut frame = self.stack(stack.0, stack.1);
        let privileged = !thread || self.control[stack.0] & control::NPRIV == 0;
        let mut pop = |core: &mut Self, at: u32| -> Result<u32, Cause> {
            if core.guards_data() {
                core.permit(bus, Access::Read, at, privileged)?;
            }
            core.load_slow(mem, bus, at, 4)
        };
        let result = (|| {
            if secure && !has(exc_return::DCRS) {
                let signature = pop(self, frame)?;
                if signature & !1 != SIGNATURE {
                    return Err(Cause::InsecureEntry { address: frame });
                }
                for i in 0..8 {
                    self.regs[4 + i as usize] = pop(self, frame.wrapping_add(8 + 4 * i))?;
                }
                frame = frame.wrapping_add(CALLEE_FRAME);
            }
            let mut words = [0; 8];
            for (i, word) in (0..).zip(&mut words) {
                *word = pop(self, frame.wrapping_add(4 * i))?;
            }
            let mut size = FRAME;
            if !has(exc_return::FTYPE) {
                size += FLOAT_FRAME;
                if self.ppb.fpccr[0] & fpccr::LSPACT != 0 {
                    self.ppb.fpccr[0] &= !fpccr::LSPACT;
                } else {
                    for i in 0..16 {
                        self.fpu.s[i as usize] = pop(self, frame.wrapping_add(FRAME + 4 * i))?;
                    }
                    self.fpu.fpscr = pop(self, frame.wrapping_add(FRAME + 64))?;
                }
            } else if self.ppb.fpccr[0] & (fpccr::CLRONRET | fpccr::LSPACT) == fpccr::CLRONRET {
                self.fpu.s[..16].fill(0);
                self.fpu.fpscr = 0;
            }
            Ok((words, size))
        })();
        let ([r0, r1, r2, r3, r12, lr, pc, xpsr], size) = match result {
            Ok(popped) => popped,
            Err(cause) => {
                // The registers stay, and the fault is taken as if it came where the return leads.
                self.cycles = start + time::RETURN;
                let bits = stacking(cause, true);
                self.raise(mem, bus, cause, bits, self.pc);
                return Ok(());
            }
        };
        let sp = frame.wrapping_add(size) | (xpsr >> 9 & 1) << 2;
        let spsel = if has(exc_return::SPSEL) { control::SPSEL } else { 0 };
        self.switch(|core| {
            core.secure = secure;
            core.ipsr = if thread { 0 } else { xpsr & 0x1ff };
            if thread {
                core.control[stack.0] = core.control[stack.0] & !control::SPSEL | spsel;
            }
            core.control[0] = core.control[0] & !control::FPCA | if has(exc_return::FTYPE) { 0 } else { control::FPCA };
        });
        self.regs[13] = sp;
        self.regs[..4].copy_from_slice(&[r0, r1, r2, r3]);
        (self.regs[12], self.regs[14]) = (r12, lr);
        self.set_apsr(xpsr);
        self.it = ((xpsr >> 25 & 3) | (xpsr >> 10 & 0x3f) << 2) as u8;
        if self.it & 15 == 0 {
            self.it = 0;
        }
        self.pc = pc & !1;
        self.fpu.ready = false;
        self.fetch_word = NO_WORD;
        self.late = 0;
        self.exclusive = false;
        self.event_register = true;
        self.cycles = start + time::RETURN;
        (self.return_started, self.returned) = (start, Some((self.cycles, self.instructions + 1)));
        let sleep = (self.ppb.banks[0].scr | self.ppb.banks[1].scr) & scr::SLEEPONEXIT != 0;
        if sleep && thread && !self.ppb.anything_pending() {
            self.state = State::Wfi;
        }
        bus.sys_mut().attention = true;
        // A frame's contents can leave neither Thumb state nor handler mode.
        if xpsr & 1 << 24 == 0 {
            return Err(Cause::InvalidState { target: pc });
        }
        if thread == (self.ipsr == 0) { Ok(()) } else { invalid }
    }

    /// Prepares the FPU for an instruction: checks access, saves the interrupted program's registers, starts a context.
    #[cold]
    #[inline(never)]
    pub(crate) fn prepare_fpu<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) -> Result<(), Cause> {
        let bank = self.bank();
        let access = self.ppb.banks[bank].cpacr >> 20 & 3;
        let allowed = access == 3 || access == 1 && self.privileged();
        if !allowed || bank == 1 && self.ppb.nsacr & 1 << 10 == 0 {
            return Err(Cause::NoCoprocessor { number: 10 });
        }
        if self.ppb.fpccr[0] & fpccr::LSPACT != 0 {
            let at = self.ppb.banks[usize::from(self.ppb.fpccr[0] & fpccr::SECURE == 0)].fpcar;
            for i in 0..17 {
                let word = if i < 16 { self.fpu.s[i as usize] } else { self.fpu.fpscr };
                self.store(mem, bus, at.wrapping_add(4 * i), word, 4)?;
            }
            self.ppb.fpccr[0] &= !fpccr::LSPACT;
        }
        if self.ppb.fpccr[0] & fpccr::ASPEN != 0 {
            let active = control::FPCA | if self.secure { control::SFPA } else { 0 };
            if self.control[0] & active != active {
                if self.control[0] & control::FPCA == 0 {
                    self.fpu.fpscr = self.ppb.banks[bank].fpdscr & FPSCR_CONTEXT;
                }
                self.control[0] |= active;
            }
        }
        self.fpu.ready = true;
        Ok(())
    }
}
