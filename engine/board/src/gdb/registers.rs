//! The registers of a core for gdb.

use crate::mcu::debugger::{PC, REGISTERS};
use gdbstub::arch::{Arch, Registers};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreRegisters(pub [u32; REGISTERS]);

impl Registers for CoreRegisters {
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
        if bytes.len() < 4 * REGISTERS {
            return Err(());
        }
        for (register, word) in self.0.iter_mut().zip(bytes.chunks_exact(4)) {
            *register = u32::from_le_bytes(word.try_into().map_err(|_| ())?);
        }
        Ok(())
    }
}

/// Words of 32 bits, like every microcontroller here.
pub struct CoreArch;

impl Arch for CoreArch {
    type Usize = u32;
    type Registers = CoreRegisters;
    type BreakpointKind = usize;
    type RegId = ();
}
