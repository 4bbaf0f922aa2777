//! Causes of HardFaults, traps and lock-ups, which the emulator reports. A program cannot read them on ARMv6-M, which has no
//! fault status registers.

use sim::{Ps, Snapshot};
use std::fmt;

/// Most reports kept until they are taken: a program may fault endlessly, and its first faults are the most useful.
const LIMIT: usize = 64;

/// The cause of a HardFault or lock-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum Cause {
    /// IBUS: the address cannot be fetched, or never executes (ARMv6-M ARM B3.1).
    Fetch {
        /// The address of the access.
        address: u32,
    },
    /// DBUS: no device answers at the address.
    Read {
        /// The address of the access.
        address: u32,
    },
    /// DBUS: no device takes a write at the address.
    Write {
        /// The address of the access.
        address: u32,
    },
    /// The address is not a multiple of the access's size.
    Unaligned {
        /// The address of the access.
        address: u32,
    },
    /// The private peripheral bus, from unprivileged code.
    Unprivileged {
        /// The address of the access.
        address: u32,
    },
    /// The MPU refuses the access.
    Protected {
        /// The address of the access.
        address: u32,
    },
    /// The MPU refuses the fetch of an instruction.
    ProtectedFetch {
        /// The address of the access.
        address: u32,
    },
    /// The stack pointer would lie below its limit.
    StackLimit {
        /// The value that the stack pointer would have.
        sp: u32,
    },
    /// A coprocessor (10: the FPU) is off or does not exist.
    NoCoprocessor {
        /// Its number.
        number: u32,
    },
    /// Floating-point registers of an earlier frame are still to be saved, where that cannot be.
    LazyState,
    /// A division by zero, where CCR.DIV_0_TRP traps it.
    DivideByZero,
    /// Secure memory, from Non-secure code.
    Insecure {
        /// The address of the access.
        address: u32,
    },
    /// A branch into the other security state that does not lead to SG, or comes by no BXNS.
    InsecureEntry {
        /// The address of the access.
        address: u32,
    },
    /// UDF, or an encoding without a meaning.
    UndefinedInstruction,
    /// BKPT without a debugger.
    Breakpoint,
    /// A branch that would leave Thumb state.
    InvalidState {
        /// The branch's target, with bit 0.
        target: u32,
    },
    /// An exception return that is not allowed in this state or by this frame.
    InvalidReturn {
        /// The value that was written to the program counter.
        exc_return: u32,
    },
    /// SVC where SVCall cannot be taken.
    SupervisorCall,
    /// The vector of exception `number` lacks the Thumb bit.
    Vector {
        /// Number of the exception.
        number: u32,
        /// The vector.
        value: u32,
    },
    /// An exception of a RISC-V core, other than a call.
    Trap {
        /// MCAUSE.
        code: u32,
        /// The address of the access; 0 if there is none.
        address: u32,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fetch { address } => write!(f, "IBUS: no instruction can be fetched at 0x{address:08x}"),
            Self::Read { address } => write!(f, "DBUS: nothing to read at 0x{address:08x}"),
            Self::Write { address } => write!(f, "DBUS: nothing to write at 0x{address:08x}"),
            Self::Unaligned { address } => write!(f, "unaligned access at 0x{address:08x}"),
            Self::Unprivileged { address } => write!(f, "unprivileged access at 0x{address:08x}"),
            Self::Protected { address } => write!(f, "MPU: the access to 0x{address:08x} is not permitted"),
            Self::ProtectedFetch { address } => write!(f, "MPU: no instruction may be fetched at 0x{address:08x}"),
            Self::StackLimit { sp } => write!(f, "stack pointer 0x{sp:08x} below its limit"),
            Self::NoCoprocessor { number } => write!(f, "coprocessor {number} is off or does not exist"),
            Self::LazyState => f.write_str("floating-point registers of an earlier frame are not saved"),
            Self::DivideByZero => f.write_str("division by zero"),
            Self::Insecure { address } => write!(f, "Non-secure access to Secure 0x{address:08x}"),
            Self::InsecureEntry { address } => {
                write!(f, "invalid entry into the other security state at 0x{address:08x}")
            }
            Self::UndefinedInstruction => f.write_str("UDF: undefined instruction"),
            Self::Breakpoint => f.write_str("BKPT without a debugger"),
            Self::InvalidState { target } => write!(f, "invalid state: branch to 0x{target:08x} without the Thumb bit"),
            Self::InvalidReturn { exc_return } => write!(f, "invalid exception return by 0x{exc_return:08x}"),
            Self::SupervisorCall => f.write_str("SVC where SVCall is masked"),
            Self::Vector { number, value } => {
                write!(f, "invalid state: vector {number} is 0x{value:08x}, without the Thumb bit")
            }
            Self::Trap { code, address } => match code {
                1 => write!(f, "no instruction may be fetched at 0x{address:08x}"),
                2 => f.write_str("illegal instruction"),
                3 => f.write_str("EBREAK without a debugger"),
                4 | 6 => write!(f, "unaligned access at 0x{address:08x}"),
                5 => write!(f, "nothing may be read at 0x{address:08x}"),
                _ => write!(f, "nothing may be written at 0x{address:08x}"),
            },
        }
    }
}

/// A HardFault, or the lock-up after a fault inside HardFault or NMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub struct Report {
    /// Simulated time of the fault.
    pub at: Ps,
    /// The core that faulted.
    pub core: usize,
    /// The core is locked up until a reset.
    pub locked_up: bool,
    /// The instruction that faulted; with [`Cause::Fetch`] and [`Cause::InvalidState`] the one that could not be
    /// reached.
    pub pc: u32,
    /// The link register at the fault.
    pub lr: u32,
    /// Number of the exception being handled, 0 in thread mode.
    pub exception: u32,
    /// Why the core faulted.
    pub cause: Cause,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, pc, lr, exception, cause, .. } = self;
        let what = match cause {
            _ if self.locked_up => "locked up",
            Cause::Trap { .. } => "trap",
            _ => "HardFault",
        };
        write!(f, "core {core} {what} at pc 0x{pc:08x}, lr 0x{lr:08x}, exception {exception}: {cause}")
    }
}

/// The faults of a chip that have not been reported yet.
#[derive(Debug, Default, Snapshot)]
pub struct Faults {
    reports: Vec<Report>,
    dropped: u64,
    new_lock_up: bool,
}

impl Faults {
    /// Keeps a report until it is taken. Beyond 64 only the last one of a lock-up is kept; the others are counted.
    pub fn push(&mut self, report: Report) {
        self.new_lock_up |= report.locked_up;
        if self.reports.len() < LIMIT {
            self.reports.push(report);
            return;
        }
        self.dropped += 1;
        // The final report of a core is never dropped.
        if report.locked_up
            && let Some(last) = self.reports.last_mut()
        {
            *last = report;
        }
    }

    /// Takes the reports, and the number of those dropped.
    pub fn take(&mut self) -> (Vec<Report>, u64) {
        (std::mem::take(&mut self.reports), std::mem::take(&mut self.dropped))
    }

    /// Returns whether a core locked up since the last call.
    pub fn take_new_lock_up(&mut self) -> bool {
        std::mem::take(&mut self.new_lock_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(pc: u32, locked_up: bool) -> Report {
        Report { at: 0, core: 1, locked_up, pc, lr: 0x1000_0201, exception: 3, cause: Cause::Breakpoint }
    }

    #[test]
    fn a_report_is_one_line() {
        assert_eq!(
            report(0x1000_0310, true).to_string(),
            "core 1 locked up at pc 0x10000310, lr 0x10000201, exception 3: BKPT without a debugger"
        );
    }

    #[test]
    fn the_first_reports_and_a_lock_up_are_kept() {
        let mut faults = Faults::default();
        for pc in 0..100 {
            faults.push(report(pc, false));
        }
        assert!(!faults.take_new_lock_up());
        faults.push(report(1000, true));
        assert_eq!((faults.take_new_lock_up(), faults.take_new_lock_up()), (true, false));
        let (reports, dropped) = faults.take();
        let kept: Vec<u32> = reports.iter().map(|report| report.pc).collect();
        assert_eq!((kept, dropped), ((0..63).chain([1000]).collect(), 37));
        assert_eq!(faults.take(), (Vec::new(), 0));
    }
}
