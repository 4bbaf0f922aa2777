//! The bus and the coprocessors as the core sees them.

use crate::V8m;

/// Security that the chip gives to an address (its implementation-defined attribution unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribution {
    /// Only Secure code reaches it.
    Secure,
    /// All code reaches it.
    NonSecure,
    /// Secure, and Non-secure code may enter it by SG.
    Callable,
    /// Takes the state of the core: nothing is checked.
    Exempt,
}

/// The fields of a coprocessor instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// The core that executes it.
    pub core: usize,
    /// Number of the coprocessor.
    pub coprocessor: u32,
    /// Opcode 1.
    pub opc1: u32,
    /// Opcode 2.
    pub opc2: u32,
    /// CRn.
    pub crn: u32,
    /// CRm.
    pub crm: u32,
    /// Of CDP.
    pub crd: u32,
    /// It is of the form with a 2 (MCR2, ...).
    pub second: bool,
    /// Of the core.
    pub secure: bool,
}

/// There is no such coprocessor or instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// [`cpu::Bus`] with what only these cores ask for; as it is here, there is no coprocessor. [`chip::Sys::cycle`] is the cycle of the instruction.
pub trait Bus: cpu::Bus<V8m> {
    /// Returns the security that the chip gives to `address`.
    fn attribution(&self, address: u32) -> Attribution;

    /// Tells the state in which the core makes the accesses that follow.
    fn access_as(&mut self, secure: bool, privileged: bool);

    /// Executes CDP.
    fn cdp(&mut self, _: Transfer) -> Result<(), Refused> {
        Err(Refused)
    }

    /// Executes MCR.
    fn mcr(&mut self, _: Transfer, _value: u32) -> Result<(), Refused> {
        Err(Refused)
    }

    /// Executes MRC.
    fn mrc(&mut self, _: Transfer) -> Result<u32, Refused> {
        Err(Refused)
    }

    /// Executes MCRR.
    fn mcrr(&mut self, _: Transfer, _low: u32, _high: u32) -> Result<(), Refused> {
        Err(Refused)
    }

    /// Executes MRRC: the low and the high word.
    fn mrrc(&mut self, _: Transfer) -> Result<(u32, u32), Refused> {
        Err(Refused)
    }
}
