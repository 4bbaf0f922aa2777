//! The registers of a Cortex-M0+ for gdb.

use gdbstub::arch::{Arch, Registers};
use rp2040::cpu::core::Core;

/// R0 to R15, xPSR, MSP, PSP, PRIMASK, CONTROL: in the order of the target description.
const COUNT: usize = 21;
const PC: usize = 15;
const XPSR: usize = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CortexMRegisters([u32; COUNT]);

impl CortexMRegisters {
    pub fn of(core: &Core) -> Self {
        let mut all = [0; COUNT];
        all[..PC].copy_from_slice(&core.regs[..PC]);
        let xpsr = core.apsr() | 1 << 24 | core.ipsr;
        all[PC..].copy_from_slice(&[core.pc, xpsr, core.msp(), core.psp(), u32::from(core.primask), core.control]);
        Self(all)
    }

    /// Sets the registers that a program can set. Neither the current exception nor the active stack can be changed.
    pub fn put_into(&self, core: &mut Core) {
        core.regs[..PC].copy_from_slice(&self.0[..PC]);
        core.regs[13] &= !3;
        core.pc = self.0[PC] & !1;
        core.set_apsr(self.0[XPSR]);
        core.primask = self.0[XPSR + 3] & 1 != 0;
    }
}

impl Registers for CortexMRegisters {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        self.0[PC]
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for byte in self.0.iter().flat_map(|word| word.to_le_bytes()) {
            write_byte(Some(byte));
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        if bytes.len() < 4 * COUNT {
            return Err(());
        }
        for (register, word) in self.0.iter_mut().zip(bytes.chunks_exact(4)) {
            *register = u32::from_le_bytes(word.try_into().map_err(|_| ())?);
        }
        Ok(())
    }
}

/// ARMv6-M.
pub struct CortexM;

impl Arch for CortexM {
    type Usize = u32;
    type Registers = CortexMRegisters;
    type BreakpointKind = usize;
    type RegId = ();
}
