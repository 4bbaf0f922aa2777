//! Traps: exceptions, and the entry of interrupts (datasheet 3.8.4).

use chip::fault::{self, Report};
use cpu::State;

use crate::core::{Core, NO_WORD, late};
use crate::interrupts::code;
use crate::pmp::Access;
use crate::{Bus, time};

/// Why an instruction traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Fetch { address: u32 },
    Illegal,
    Breakpoint,
    LoadUnaligned { address: u32 },
    Load { address: u32 },
    StoreUnaligned { address: u32 },
    Store { address: u32 },
    Call,
}

impl Cause {
    pub(crate) fn fault(access: Access, address: u32) -> Self {
        match access {
            Access::Read => Self::Load { address },
            Access::Write => Self::Store { address },
            Access::Fetch => Self::Fetch { address },
        }
    }

    /// Returns MCAUSE, and the address of the access.
    fn code(self, machine: bool) -> (u32, u32) {
        match self {
            Self::Fetch { address } => (1, address),
            Self::Illegal => (2, 0),
            Self::Breakpoint => (3, 0),
            Self::LoadUnaligned { address } => (4, address),
            Self::Load { address } => (5, address),
            Self::StoreUnaligned { address } => (6, address),
            Self::Store { address } => (7, address),
            Self::Call => (if machine { 11 } else { 8 }, 0),
        }
    }
}

impl Core {
    fn enter(&mut self, level: u64, cause: u32, external: bool, target: u32) {
        let csrs = &mut self.csrs;
        csrs.mepc = self.pc;
        csrs.mcause = cause;
        csrs.mpp = self.machine;
        csrs.mpie = csrs.interrupts_on;
        csrs.interrupts_on = false;
        self.machine = true;
        self.pc = target;
        self.interrupts.enter(level, external);
        self.reserved = false;
        self.predicted = NO_WORD;
        self.fetch_word = NO_WORD;
        self.late = if target & 2 == 0 { late::NOTHING } else { late::UPPER_HALF };
        self.depth += 1;
    }

    /// Handles an exception of the instruction at `pc`, which has cost nothing so far.
    #[cold]
    pub(crate) fn exception<B: Bus>(&mut self, bus: &mut B, cause: Cause) {
        let (number, address) = cause.code(self.machine);
        // The handler's first instruction cannot be executed: it traps for ever.
        let here = (self.pc, self.instructions);
        let endless = self.trapped_to == Some(here) && self.machine && matches!(number, 1..=3);
        if cause != Cause::Call && (self.machine || endless) {
            let sys = bus.sys_mut();
            let at = sys.clock.ps_at(self.cycles);
            let cause = fault::Cause::Trap { code: number, address };
            let (pc, lr, exception) = (self.pc, self.regs[1], self.csrs.mcause & 15);
            sys.faults.push(Report { at, core: self.index, locked_up: endless, pc, lr, exception, cause });
        }
        if endless {
            self.state = State::LockedUp;
        }
        let level = bus.sys().irq_level_for_core(self.index);
        let target = self.csrs.mtvec & !3;
        self.enter(level, number, false, target);
        self.trapped_to = Some((target, self.instructions));
        self.cycles += time::EXCEPTION;
    }

    /// Takes the most urgent interrupt that is pending, if interrupts are on. Erratum RP2350-E7: MSTATUS.MIE counts in
    /// User mode, too.
    #[inline]
    pub fn take_interrupt<B: Bus>(&mut self, bus: &mut B) {
        if self.csrs.interrupts_on && self.csrs.mie != 0 && self.state == State::Running {
            let level = bus.sys().irq_level_for_core(self.index);
            let pending = self.pending(level);
            if pending != 0 {
                self.interrupt(level, pending);
            }
        }
    }

    #[cold]
    fn interrupt(&mut self, level: u64, pending: u32) {
        let urgent = [code::EXTERNAL, code::SOFTWARE, code::TIMER];
        let Some(number) = urgent.into_iter().find(|number| pending >> number & 1 != 0) else { return };
        let vectored = self.csrs.mtvec & 1 != 0;
        let target = self.csrs.mtvec & !3 | if vectored { number << 2 } else { 0 };
        self.enter(level, 1 << 31 | number, number == code::EXTERNAL, target);
        self.trapped_to = None;
        self.cycles += time::INTERRUPT;
    }

    /// MRET, except for its time.
    pub(crate) fn leave_trap(&mut self) {
        let csrs = &mut self.csrs;
        self.machine = csrs.mpp;
        csrs.mprv &= csrs.mpp;
        csrs.mpp = false;
        csrs.interrupts_on = csrs.mpie;
        csrs.mpie = true;
        self.pc = csrs.mepc;
        self.interrupts.leave();
        self.reserved = false;
        self.depth = self.depth.saturating_sub(1);
    }
}
