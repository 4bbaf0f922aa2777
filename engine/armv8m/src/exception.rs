//! Exceptions: entry, return, faults, and the lazy stacking of the floating-point registers (Armv8-M ARM, B3).

use chip::trace::{Record, kind};
use sim::Snapshot;

use crate::bus::Bus;
use crate::core::{Accessor, Core, NO_WORD, State, control};
use crate::fault::{Cause, Report};
use crate::fpu::{FPSCR_CONTEXT, FPSCR_WRITABLE};
use crate::mpu::Access;
use crate::ppb::{aircr, exception, fpccr, scr};
use crate::{Memory, time};

/// Bits of EXC_RETURN.
mod exc_return {
    pub(super) const PREFIX: u32 = 0xffff_ff80;
    /// The stack is Secure.
    pub(super) const S: u32 = 1 << 6;
    /// R4 to R11 are on the stack only if the exception was Non-secure. Clear: they are, by an exception before.
    pub(super) const DCRS: u32 = 1 << 5;
    /// No floating-point registers are on the stack.
    pub(super) const FTYPE: u32 = 1 << 4;
    pub(super) const THREAD: u32 = 1 << 3;
    /// CONTROL.SPSEL of the exception's state.
    pub(super) const SPSEL: u32 = 1 << 2;
    /// Must be 0.
    pub(super) const RES0: u32 = 1 << 1;
    /// The exception was Secure.
    pub(super) const ES: u32 = 1 << 0;
}

/// Returns what an exception that leaves the Secure state pushes below R4.
fn signature(link: u32) -> u32 {
    0xfefa_125a | u32::from(link & exc_return::FTYPE != 0)
}

/// Where BLXNS and a Non-secure call of Secure code return to.
pub(crate) const FNC_RETURN: u32 = 0xfeff_ffff;
/// Bytes of a frame, of its floating-point part, and of R4 to R11 with the signature.
const FRAME: u32 = 0x20;
const FLOAT_FRAME: u32 = 0x48;
const CALLEE_FRAME: u32 = 0x28;

/// SFSR: an exception return that Non-secure code may not make.
const SFSR_INVER: u32 = 1 << 2;
/// SFSR: a frame of Secure code without its signature.
const SFSR_INVIS: u32 = 1 << 1;
/// SFSR: SFAR has the address of the fault.
const SFARVALID: u32 = 1 << 6;
/// Bits of RETPSR beside those of xPSR.
mod retpsr {
    /// A word of padding lies above the frame.
    pub(super) const SPREALIGN: u32 = 1 << 9;
    /// How far CONTROL.SFPA is moved up.
    pub(super) const SFPA_SHIFT: u32 = 17;
}

mod hfsr {
    pub(super) const VECTTBL: u32 = 1 << 1;
    pub(super) const FORCED: u32 = 1 << 30;
    pub(super) const DEBUGEVT: u32 = 1 << 31;
}

/// CFSR: MMFAR and BFAR have the address of the fault.
const MMARVALID: u32 = 1 << 7;
const BFARVALID: u32 = 1 << 15;

/// The exception by which a fault is reported, and what it leaves in CFSR (SFSR for a SecureFault).
fn syndrome(cause: Cause) -> (u32, u32) {
    match cause {
        Cause::Fetch { .. } => (exception::BUS_FAULT, 1 << 8),
        Cause::Read { .. } | Cause::Write { .. } | Cause::Unprivileged { .. } => {
            (exception::BUS_FAULT, 1 << 9 | BFARVALID)
        }
        Cause::Protected { .. } => (exception::MEM_MANAGE, 1 << 1 | MMARVALID),
        Cause::ProtectedFetch { .. } => (exception::MEM_MANAGE, 1 << 0),
        Cause::Unaligned { .. } => (exception::USAGE_FAULT, 1 << 24),
        Cause::UndefinedInstruction => (exception::USAGE_FAULT, 1 << 16),
        Cause::InvalidState { .. } => (exception::USAGE_FAULT, 1 << 17),
        Cause::InvalidReturn { .. } => (exception::USAGE_FAULT, 1 << 18),
        Cause::NoCoprocessor { .. } => (exception::USAGE_FAULT, 1 << 19),
        Cause::StackLimit { .. } => (exception::USAGE_FAULT, 1 << 20),
        Cause::LazyState => (exception::SECURE_FAULT, 1 << 7),
        Cause::DivideByZero => (exception::USAGE_FAULT, 1 << 25),
        Cause::Insecure { .. } => (exception::SECURE_FAULT, 1 << 3 | SFARVALID),
        Cause::InsecureEntry { .. } => (exception::SECURE_FAULT, 1 << 0),
        // Of these, only the last is no exception of this core.
        Cause::Breakpoint | Cause::SupervisorCall | Cause::Vector { .. } | Cause::Trap { .. } => {
            (exception::HARD_FAULT, 0)
        }
    }
}

/// The uses of a frame: the bits of MMFSR and BFSR for their faults.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stacking {
    /// MUNSTKERR, UNSTKERR.
    Pop = 3,
    /// MSTKERR, STKERR.
    Push = 4,
    /// MLSPERR, LSPERR, which SFSR has too: deferred registers are saved.
    Save = 5,
}

/// CFSR's bits for a fault while something is done with a frame (SFSR's for a SecureFault).
fn stacking(cause: Cause, doing: Stacking) -> u32 {
    let bit = 1 << doing as u32;
    match (cause, syndrome(cause).0) {
        (_, exception::MEM_MANAGE) => bit,
        (_, exception::BUS_FAULT) => bit << 8,
        (Cause::Insecure { .. }, _) if doing == Stacking::Save => bit | SFARVALID,
        _ => syndrome(cause).1,
    }
}

/// How an exception has ended, until another is taken.
#[derive(Clone, Copy, Snapshot)]
pub(crate) struct Returned {
    /// The cycle and the instruction at which it had.
    at: (u64, u64),
    /// EXC_RETURN.
    link: u32,
    /// The frame's address.
    sp: u32,
    /// FPCCR, and S0 to S15 with FPSCR, before the frame was popped.
    fpccr: [u32; 2],
    float: [u32; 17],
}

impl Core {
    /// Takes the most urgent exception, if one may be taken now.
    pub fn take_pending_exception<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) {
        if self.state != State::Running {
            return;
        }
        let Some(exception) = self.takeable() else { return };
        let now = (self.cycles, self.instructions);
        match self.returned.take().filter(|returned| returned.at == now) {
            // It follows a return at once: the frame has stayed where it was, and nothing was popped.
            Some(Returned { link, sp, fpccr, float, .. }) => {
                (self.regs[13], self.ppb.fpccr) = (sp, fpccr);
                self.set_float(float);
                self.take_exception(mem, bus, exception, (now.0, now.0 + time::ENTRY), link, false);
            }
            None => self.enter_exception(mem, bus, exception, self.pc),
        }
    }

    /// Returns the most urgent exception, if it may be taken now.
    pub(crate) fn takeable(&self) -> Option<(u32, usize)> {
        if !self.ppb.anything_pending() {
            return None;
        }
        let (number, bank, priority) = self.ppb.most_urgent()?;
        (priority < self.execution_priority()).then_some((number, bank))
    }

    /// Returns S0 to S15 and FPSCR.
    fn float(&self) -> [u32; 17] {
        std::array::from_fn(|i| if i < 16 { self.fpu.s[i] } else { self.fpu.fpscr })
    }

    fn set_float(&mut self, float: [u32; 17]) {
        self.fpu.s[..16].copy_from_slice(&float[..16]);
        self.fpu.fpscr = float[16];
    }

    /// Handles a fault of the instruction at `pc`.
    pub(crate) fn fault<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause) {
        self.thumb = !matches!(cause, Cause::InvalidState { .. });
        let exception = if std::mem::take(&mut self.saving_failed) {
            let pending = self.ppb.most_urgent().filter(|_| self.state != State::LockedUp);
            pending.map(|(number, bank, _)| (number, bank))
        } else {
            self.escalate(bus, cause, syndrome(cause).1)
        };
        if let Some(exception) = exception {
            self.enter_exception(mem, bus, exception, self.pc);
        }
    }

    /// Records a fault; returns the exception by which it is taken: its own, or HardFault. `None`: lock-up.
    fn escalate<B: Bus>(&mut self, bus: &mut B, cause: Cause, bits: u32) -> Option<(u32, usize)> {
        let (number, bank) = self.record(cause, bits, self.bank());
        if number != exception::HARD_FAULT && self.is_ready(number, bank) {
            return Some((number, bank));
        }
        self.hard_fault(bus, cause)
    }

    /// Returns whether a fault is enabled and more urgent than the execution priority.
    fn is_ready(&self, number: u32, bank: usize) -> bool {
        let bit = if number == exception::SECURE_FAULT { 19 } else { number + 12 };
        let enabled = self.ppb.banks[bank].faults_enabled >> bit & 1 != 0;
        enabled && self.ppb.group(self.ppb.priority(number, bank), bank) < self.execution_priority()
    }

    /// Sets the fault status registers for a fault of state `own`; returns the exception and its state.
    fn record(&mut self, cause: Cause, bits: u32, own: usize) -> (u32, usize) {
        let number = syndrome(cause).0;
        let bank = match number {
            exception::MEM_MANAGE | exception::USAGE_FAULT => own,
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
                if let Cause::Read { address } | Cause::Write { address } | Cause::Unprivileged { address } = cause
                    && bits & BFARVALID != 0
                {
                    self.ppb.bfar = address;
                }
            }
            (exception::HARD_FAULT, Cause::Breakpoint) => self.ppb.hfsr |= hfsr::DEBUGEVT,
            (exception::HARD_FAULT, Cause::Vector { .. }) => self.ppb.hfsr |= hfsr::VECTTBL,
            _ => {
                self.ppb.banks[bank].cfsr |= bits;
                if let Cause::Protected { address } = cause
                    && bits & MMARVALID != 0
                {
                    self.ppb.banks[bank].mmfar = address;
                }
            }
        }
        (number, bank)
    }

    /// Returns HardFault, by which `cause` is taken. `None`: lock-up.
    fn hard_fault<B: Bus>(&mut self, bus: &mut B, cause: Cause) -> Option<(u32, usize)> {
        let bank = usize::from(!self.secure && self.ppb.aircr & aircr::BFHFNMINS != 0);
        let locked_up = self.execution_priority() <= self.ppb.priority(exception::HARD_FAULT, bank);
        self.report(bus, locked_up, cause);
        if !matches!(cause, Cause::Breakpoint | Cause::Vector { .. }) {
            self.ppb.hfsr |= hfsr::FORCED;
        }
        if locked_up {
            self.state = State::LockedUp;
            return None;
        }
        Some((exception::HARD_FAULT, bank))
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
        let exception = if priority < self.execution_priority() {
            Some((exception::SV_CALL, bank))
        } else {
            self.hard_fault(bus, Cause::SupervisorCall)
        };
        if let Some(exception) = exception {
            self.enter_exception(mem, bus, exception, return_to);
        }
    }

    /// Pushes a frame and takes `exception`, or what pushing has caused, if that is more urgent.
    fn enter_exception<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        exception: (u32, usize),
        return_to: u32,
    ) {
        let start = self.cycles;
        let end = start + time::ENTRY;
        let (link, faults) = self.push_frame(mem, bus, return_to);
        if faults == [None; 2] {
            self.take_exception(mem, bus, exception, (start, end), link, false);
        } else {
            self.derive(mem, bus, exception, faults, (start, end), link);
        }
    }

    /// Takes the most urgent one of `exception` and of the faults by which its entry has failed; the others are pending.
    fn derive<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        exception: (u32, usize),
        causes: [Option<Cause>; 2],
        times: (u64, u64),
        link: u32,
    ) {
        for cause in causes.into_iter().flatten() {
            let Some(derived) = self.escalate(bus, cause, stacking(cause, Stacking::Push)) else { return };
            self.ppb.pend(derived);
        }
        self.chain(mem, bus, exception, times, link);
    }

    /// Makes `exception` pending and takes the most urgent one, on the frame that is there.
    fn chain<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        exception: (u32, usize),
        times: (u64, u64),
        link: u32,
    ) {
        self.ppb.pend(exception);
        let (number, bank) = self.ppb.most_urgent().map_or(exception, |(number, bank, _)| (number, bank));
        self.take_exception(mem, bus, (number, bank), times, link, true);
    }

    /// PushStack: the frame of an exception. Returns EXC_RETURN, to which [`Self::take_exception`] adds, and the causes
    /// of faults.
    fn push_frame<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        return_to: u32,
    ) -> (u32, [Option<Cause>; 2]) {
        let stack = self.active_stack();
        let float = self.control[0] & control::FPCA != 0 && (self.secure || self.ppb.nsacr & 1 << 10 != 0);
        let sp = self.regs[13];
        let size = if float { FRAME + FLOAT_FRAME } else { FRAME };
        let frame = sp.wrapping_sub(size) & !7;
        let mut psr = self.xpsr() | if sp & 4 != 0 { retpsr::SPREALIGN } else { 0 };
        if self.secure {
            psr |= (self.control[0] & control::SFPA) << retpsr::SFPA_SHIFT;
        }
        let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|i| self.regs[i]);
        let words = [r0, r1, r2, r3, self.regs[12], self.regs[14], return_to, psr];
        let exceeds = self.exceeds(stack, frame);
        let mut fault = exceeds.then_some(Cause::StackLimit { sp: frame });
        let lazy = self.ppb.fpccr[0] & fpccr::LSPEN != 0;
        // Registers that wait for another frame can be saved neither there nor here.
        let stale = self.control[0] & control::FPCA != 0 && self.must_save();
        let denied = float && !lazy && !stale && !self.reaches_fpu(self.bank(), self.privileged());
        let saved = if float && !lazy && !denied && !stale { 17 } else { 0 };
        let rest = self.float().into_iter().take(saved);
        for (i, word) in (0..).zip(words.into_iter().chain(rest)) {
            if fault.is_none() {
                fault = self.store(mem, bus, frame.wrapping_add(4 * i), word, 4).err();
            }
        }
        if denied {
            fault = fault.or(Some(Cause::NoCoprocessor { number: 10 }));
        }
        if float && lazy && !stale {
            self.defer_float(frame.wrapping_add(FRAME), stack);
        }
        // Nothing is written below the limit.
        self.regs[13] = if exceeds { self.limits[stack.0][stack.1] } else { frame };
        // R4 to R11 are not on the stack: DCRS and ES.
        let mut link = exc_return::PREFIX | exc_return::DCRS | exc_return::ES;
        for (bit, set) in
            [(exc_return::S, self.secure), (exc_return::FTYPE, !float), (exc_return::THREAD, self.ipsr == 0)]
        {
            link |= if set { bit } else { 0 };
        }
        (link, [fault, stale.then_some(Cause::LazyState)])
    }

    /// UpdateFPCCR: notes where and how the floating-point registers will be saved when an instruction needs them.
    fn defer_float(&mut self, at: u32, stack: (usize, usize)) {
        let bank = self.bank();
        self.ppb.banks[bank].fpcar = at;
        let hard = self.execution_priority() > -1;
        let monitor = self.ppb.monitors() && self.ppb.priority(exception::DEBUG_MONITOR, 0) < self.execution_priority();
        for (bank, bit, set) in [
            (bank, fpccr::LSPACT, true),
            (bank, fpccr::USER, !self.privileged()),
            (bank, fpccr::THREAD, self.ipsr == 0),
            (bank, fpccr::MMRDY, self.is_ready(exception::MEM_MANAGE, bank)),
            (bank, fpccr::SPLIMVIOL, self.exceeds(stack, at)),
            (0, fpccr::UFRDY, self.is_ready(exception::USAGE_FAULT, 0)),
            (1, fpccr::UFRDY, self.is_ready(exception::USAGE_FAULT, 1)),
            (0, fpccr::SECURE, self.secure),
            (0, fpccr::HFRDY, hard),
            (0, fpccr::BFRDY, self.is_ready(exception::BUS_FAULT, self.ppb.target(exception::BUS_FAULT))),
            (0, fpccr::SFRDY, self.is_ready(exception::SECURE_FAULT, 0)),
            (0, fpccr::MONRDY, monitor),
        ] {
            let state = self.ppb.fpccr[bank] & !bit;
            self.ppb.fpccr[bank] = if set { state | bit } else { state };
        }
    }

    /// ExceptionTaken: enters an exception whose frame is there. `times`: when it began and when its handler starts;
    /// `link`: EXC_RETURN so far; `chained`: another exception has failed to start or to end, and this one must start.
    fn take_exception<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        (number, bank): (u32, usize),
        times: (u64, u64),
        link: u32,
        chained: bool,
    ) {
        let (start, end) = times;
        let mut link = link;
        let leaves = link & exc_return::S != 0 && bank == 1;
        // R4 to R11 are on the stack since an exception went to the Non-secure state.
        let pushed = link & exc_return::DCRS == 0 || link & exc_return::ES == 0;
        if leaves {
            if !pushed
                && let Err(cause) = self.push_callee(mem, bus, link)
                && !chained
            {
                self.derive(mem, bus, (number, bank), [Some(cause), None], times, link);
                return;
            }
            link |= exc_return::DCRS;
        } else if link & exc_return::S != 0 && pushed {
            link &= !exc_return::DCRS;
        }
        let spsel = self.control[bank] & control::SPSEL;
        link &= !(exc_return::ES | exc_return::SPSEL);
        link |= if bank == 0 { exc_return::ES } else { 0 } | if spsel != 0 { exc_return::SPSEL } else { 0 };
        self.switch(|core| {
            core.ipsr = number;
            core.secure = bank == 0;
            core.control[bank] &= !control::SPSEL;
            core.control[0] &= !(control::FPCA | control::SFPA);
        });
        if leaves {
            // Non-secure code sees nothing of the Secure registers.
            self.regs[..13].fill(0);
            self.set_apsr(0);
        }
        self.fpu.ready = false;
        self.it = 0;
        self.thumb = true;
        self.late = 0;
        self.fetch_word = NO_WORD;
        self.regs[14] = link;
        self.exclusive = false;
        self.event_register = true;
        self.ppb.activate(number, bank);
        let vector = self.ppb.banks[bank].vtor.wrapping_add(4 * number);
        let loaded = self.load_slow(mem, bus, vector, 4);
        self.cycles = end;
        if bus.sys().trace.wants(kind::IRQ) {
            let at = bus.sys().clock.ps_at(start);
            let record = Record::Exception { core: self.index as u8, number: number as u8, entry: true };
            bus.sys_mut().trace.push(at, record);
        }
        if self.index == 0 && bus.sys().records() {
            let at = bus.sys().clock.ps_at(start);
            bus.sys_mut().recorder().into_iter().for_each(|recorder| recorder.exception_taken(at, number as u8));
        }
        bus.sys_mut().attention |= chained;
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

    /// PushCalleeStack: R4 to R11 below a frame of Secure code.
    fn push_callee<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, link: u32) -> Result<(), Cause> {
        let process = link & exc_return::THREAD != 0 && self.control[0] & control::SPSEL != 0;
        let stack = (0, usize::from(process));
        let bottom = self.stack(stack.0, stack.1).wrapping_sub(CALLEE_FRAME);
        if self.exceeds(stack, bottom) {
            self.set_stack(stack.0, stack.1, self.limits[stack.0][stack.1]);
            return Err(Cause::StackLimit { sp: bottom });
        }
        self.set_stack(stack.0, stack.1, bottom);
        let rest: [u32; 8] = std::array::from_fn(|i| self.regs[4 + i]);
        for (i, word) in (0..).zip([signature(link), 0].into_iter().chain(rest)) {
            self.store(mem, bus, bottom.wrapping_add(4 * i), word, 4)?;
        }
        Ok(())
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
        let mut value = value;
        let start = self.cycles;
        // A fault is taken on the frame that could not be popped.
        let times = (start, start + time::TAIL_CHAIN);
        let refused = !self.secure && (value & exc_return::ES != 0 || value & exc_return::DCRS == 0);
        if refused {
            value &= !exc_return::ES;
        }
        let has = |bit: u32| value & bit != 0;
        let fpccr = self.ppb.fpccr;
        let (number, bank) = (self.ipsr, usize::from(!has(exc_return::ES)));
        let was_active = self.deactivate(number, bank);
        // A level-sensitive line that is still high pends again.
        if number >= exception::IRQ0 {
            self.ppb.pending |=
                bus.sys().irq_level_for_core(self.index) & 1_u64.checked_shl(number - exception::IRQ0).unwrap_or(0);
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
        // Handler mode keeps the main stack.
        let spsel = if has(exc_return::SPSEL) { control::SPSEL } else { 0 };
        self.control[bank] = self.control[bank] & !control::SPSEL | spsel;
        let clears = fpccr[0] & fpccr::CLRONRET != 0 && self.control[0] & control::FPCA != 0;
        let stale = clears && fpccr[0] & fpccr::LSPACT != 0;
        if clears && !stale {
            self.set_float([0; 17]);
        }
        let waits = self.takeable();
        let float = self.float();
        let mut sp = 0;
        let invalid = Cause::InvalidReturn { exc_return: value };
        let failed = if stale {
            Some((Cause::LazyState, syndrome(Cause::LazyState).1))
        } else if refused {
            Some((Cause::InsecureEntry { address: value }, SFSR_INVER))
        } else if !was_active || has(exc_return::RES0) || value >> 7 != exc_return::PREFIX >> 7 {
            Some((invalid, syndrome(invalid).1))
        } else {
            match (self.pop_frame(mem, bus, value), waits) {
                (Ok(frame), _) => {
                    sp = frame;
                    None
                }
                (Err(_), Some(exception)) => {
                    // The chip has not looked at the frame.
                    self.set_float(float);
                    let start = start + time::RETURN;
                    self.take_exception(mem, bus, exception, (start, start + time::ENTRY), value, true);
                    return Ok(());
                }
                (Err(fault), None) => Some(fault),
            }
        };
        if let Some((cause, bits)) = failed {
            if let Some(exception) = self.escalate(bus, cause, bits) {
                self.chain(mem, bus, exception, times, value);
            }
            return Ok(());
        }
        self.fpu.ready = false;
        self.fetch_word = NO_WORD;
        self.late = 0;
        self.exclusive = false;
        self.event_register = true;
        self.cycles = start + time::RETURN;
        self.returned = Some(Returned { at: (self.cycles, self.instructions), link: value, sp, fpccr, float });
        let sleep = (self.ppb.banks[0].scr | self.ppb.banks[1].scr) & scr::SLEEPONEXIT != 0;
        if sleep && has(exc_return::THREAD) && !self.ppb.anything_pending() {
            self.state = State::Wfi;
        }
        bus.sys_mut().attention = true;
        if self.thumb || waits.is_some() { Ok(()) } else { Err(Cause::InvalidState { target: self.pc }) }
    }

    /// DeActivate: ends the handling of an exception; returns whether it was active. A negative priority always ends,
    /// whatever IPSR says.
    fn deactivate(&mut self, number: u32, bank: usize) -> bool {
        let was_active = self.ppb.is_active(number, bank);
        let raw = self.ppb.active_priority();
        if raw >= 0 {
            self.faultmask[bank] = false;
        }
        match raw {
            -2 => self.ppb.deactivate(exception::NMI, self.ppb.target(exception::NMI)),
            -1 => self.ppb.deactivate(exception::HARD_FAULT, usize::from(self.ppb.aircr & aircr::BFHFNMINS != 0)),
            ..0 => self.ppb.deactivate(exception::HARD_FAULT, 0),
            _ if was_active => self.ppb.deactivate(number, bank),
            _ => {}
        }
        was_active
    }

    /// PopStack: ends an exception by its frame, and returns the frame's address. `Err`: the cause of a fault and its
    /// bits; only the security state and the FPU's registers have changed.
    fn pop_frame<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, value: u32) -> Result<u32, (Cause, u32)> {
        let has = |bit: u32| value & bit != 0;
        let (secure, thread, float) = (has(exc_return::S), has(exc_return::THREAD), !has(exc_return::FTYPE));
        self.switch(|core| core.secure = secure);
        let bank = self.bank();
        let stack = (bank, usize::from(thread && self.control[bank] & control::SPSEL != 0));
        let privileged = !thread || self.control[bank] & control::NPRIV == 0;
        let mut frame = self.stack(stack.0, stack.1);
        let lowest = frame;
        let mut pop = |core: &mut Self, at: u32| -> Result<u32, (Cause, u32)> {
            let mut read = || {
                if core.guards_data() {
                    core.permit(bus, Access::Read, at, privileged)?;
                }
                core.load_slow(mem, bus, at, 4)
            };
            read().map_err(|cause| (cause, stacking(cause, Stacking::Pop)))
        };
        if secure && !(has(exc_return::ES) && has(exc_return::DCRS)) {
            if pop(self, frame)? != signature(value) {
                let cause = Cause::InsecureEntry { address: frame };
                return Err((cause, SFSR_INVIS));
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
        let [r0, r1, r2, r3, r12, lr, pc, psr] = words;
        if thread != (psr & 0x1ff == 0) {
            let cause = Cause::InvalidReturn { exc_return: value };
            return Err((cause, syndrome(cause).1));
        }
        let mut size = FRAME;
        if float {
            size += FLOAT_FRAME;
            if !secure && self.ppb.fpccr[0] & fpccr::LSPACT != 0 {
                return Err((Cause::LazyState, syndrome(Cause::LazyState).1));
            }
            if self.ppb.fpccr[bank] & fpccr::LSPACT != 0 {
                self.ppb.fpccr[bank] &= !fpccr::LSPACT;
            } else if !self.reaches_fpu(bank, privileged) {
                let cause = Cause::NoCoprocessor { number: 10 };
                return Err((cause, syndrome(cause).1));
            } else {
                for i in 0..17 {
                    match pop(self, frame.wrapping_add(FRAME + 4 * i)) {
                        Ok(word) if i == 16 => self.fpu.fpscr = word & FPSCR_WRITABLE,
                        Ok(word) => self.fpu.s[i as usize] = word,
                        Err(fault) => {
                            self.set_float([0; 17]);
                            return Err(fault);
                        }
                    }
                }
            }
        }
        let sp = frame.wrapping_add(size) | if psr & retpsr::SPREALIGN != 0 { 4 } else { 0 };
        self.set_stack(stack.0, stack.1, sp);
        self.switch(|core| core.ipsr = psr & 0x1ff);
        self.control[0] = self.control[0] & !control::FPCA | if float { control::FPCA } else { 0 };
        if secure {
            self.control[0] = self.control[0] & !control::SFPA | psr >> retpsr::SFPA_SHIFT & control::SFPA;
        }
        self.regs[..4].copy_from_slice(&[r0, r1, r2, r3]);
        (self.regs[12], self.regs[14]) = (r12, lr);
        self.set_apsr(psr);
        self.thumb = psr & 1 << 24 != 0;
        self.it = ((psr >> 25 & 3) | (psr >> 10 & 0x3f) << 2) as u8;
        if self.it & 15 == 0 {
            self.it = 0;
        }
        self.pc = pc & !1;
        Ok(lowest)
    }

    /// Returns the state of which floating-point registers are, or were deferred.
    fn float_owner(&self) -> usize {
        usize::from(self.ppb.fpccr[0] & fpccr::SECURE == 0)
    }

    /// Returns whether the registers are to be saved in an earlier frame.
    fn must_save(&self) -> bool {
        self.ppb.fpccr[self.float_owner()] & fpccr::LSPACT != 0
    }

    /// PreserveFPState: saves the registers for which a frame has place, as the frame's program. `Err`: a fault that
    /// is taken now; [`Self::fault`] finds it pending.
    fn save_float<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) -> Result<(), Cause> {
        let owner = self.float_owner();
        let (noted, at) = (self.ppb.fpccr[owner], self.ppb.banks[owner].fpcar);
        let by = Accessor { secure: owner == 0, privileged: noted & fpccr::USER == 0 };
        let negative = self.ppb.fpccr[0] & fpccr::HFRDY == 0;
        let mut save = |core: &mut Self, at: u32, word: u32| -> Result<(), Cause> {
            core.permit_as(bus, Access::Write, at, by, negative)?;
            core.cycles += 1;
            core.store_as(mem, bus, at, word, 4, by)
        };
        let saved = if !self.reaches_fpu(owner, by.privileged) {
            Err(Cause::NoCoprocessor { number: 10 })
        } else if noted & fpccr::SPLIMVIOL != 0 {
            // Nothing is written below the limit of the stack.
            Ok(())
        } else {
            (0..).zip(self.float()).try_for_each(|(i, word)| save(self, at.wrapping_add(4 * i), word))
        };
        if let Err(cause) = saved
            && self.fails_saving(bus, cause, owner)
        {
            return Err(cause);
        }
        self.ppb.fpccr[owner] &= !fpccr::LSPACT;
        Ok(())
    }

    /// TakePreserveFPException: makes a fault of [`Self::save_float`] pending, or HardFault if the frame's program could
    /// not have been interrupted by it; returns whether it is taken now, or the core is locked up.
    fn fails_saving<B: Bus>(&mut self, bus: &mut B, cause: Cause, owner: usize) -> bool {
        let (number, bank) = self.record(cause, stacking(cause, Stacking::Save), owner);
        let [shared, banked] = [0, bank].map(|bank| self.ppb.fpccr[bank]);
        let ready = match number {
            exception::MEM_MANAGE => banked & fpccr::MMRDY,
            exception::USAGE_FAULT => banked & fpccr::UFRDY,
            exception::BUS_FAULT => shared & fpccr::BFRDY,
            _ => shared & fpccr::SFRDY,
        } != 0;
        let hard = usize::from(bank != 0 && self.ppb.aircr & aircr::BFHFNMINS != 0);
        let taken = if ready {
            self.is_ready(number, bank)
        } else {
            self.ppb.priority(exception::HARD_FAULT, hard) < self.execution_priority()
        };
        let locked_up = !taken && shared & fpccr::HFRDY == 0;
        if locked_up || !ready {
            self.report(bus, locked_up, cause);
        }
        if locked_up {
            self.state = State::LockedUp;
        } else if ready {
            self.ppb.pend((number, bank));
        } else {
            self.ppb.hfsr |= hfsr::FORCED;
            self.ppb.pend((exception::HARD_FAULT, hard));
        }
        self.saving_failed = taken || locked_up;
        self.saving_failed
    }

    /// Returns whether CPACR and NSACR let code of a state use the FPU.
    fn reaches_fpu(&self, bank: usize, privileged: bool) -> bool {
        let access = self.ppb.banks[bank].cpacr >> 20 & 3;
        (access == 3 || access == 1 && privileged) && (bank == 0 || self.ppb.nsacr & 1 << 10 != 0)
    }

    /// Prepares the FPU for an instruction: checks access, saves the interrupted program's registers, starts a context.
    #[cold]
    #[inline(never)]
    pub(crate) fn prepare_fpu<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) -> Result<(), Cause> {
        let bank = self.bank();
        if !self.reaches_fpu(bank, self.privileged()) {
            return Err(Cause::NoCoprocessor { number: 10 });
        }
        if self.must_save() {
            self.save_float(mem, bus)?;
        }
        let active = control::FPCA | if self.secure { control::SFPA } else { 0 };
        if self.ppb.fpccr[0] & fpccr::ASPEN != 0 && self.control[0] & active != active {
            self.fpu.fpscr = self.ppb.banks[bank].fpdscr & FPSCR_CONTEXT;
            self.control[0] |= active;
        }
        // The registers are this state's now.
        let owner = if self.secure { fpccr::SECURE } else { 0 };
        self.ppb.fpccr[0] = self.ppb.fpccr[0] & !fpccr::SECURE | owner;
        // LSPACT may be that of the other state, until now.
        self.fpu.ready = !self.must_save();
        Ok(())
    }
}
