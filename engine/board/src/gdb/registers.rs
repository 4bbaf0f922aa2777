//! The registers of a core for gdb.

use gdbstub::arch::{Arch, Registers};

/// The registers of a core, and the index of its program counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreRegisters {
    pub(crate) all: Vec<u32>,
    pub(crate) pc: usize,
}

impl Registers for CoreRegisters {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        self.all[self.pc]
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for byte in self.all.iter().flat_map(|word| word.to_le_bytes()) {
            write_byte(Some(byte));
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let words = bytes.chunks_exact(4).map(|word| word.try_into().map(u32::from_le_bytes).map_err(|_| ()));
        self.all = words.collect::<Result<_, ()>>()?;
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
