//! The format of each instruction (instruction set tables of the datasheet).

use sim::Snapshot;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Data {
    /// The instruction ends here and is executed when chip select rises.
    None,
    Output,
    Input,
}

/// The phases after an instruction's 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Plan {
    /// Lines that carry the 24 address bits; 0: no address.
    pub(crate) address_lines: u8,
    /// 8 mode bits after the address, on the same lines.
    pub(crate) mode: bool,
    pub(crate) dummy_clocks: u32,
    pub(crate) data: Data,
    pub(crate) data_lines: u8,
}

pub(crate) const fn plan(address_lines: u8, dummy_clocks: u32, data: Data, data_lines: u8) -> Plan {
    Plan { address_lines, mode: false, dummy_clocks, data, data_lines }
}

/// Returns the instruction's format, or `None` if the chip ignores the opcode or the model does not cover it.
pub(crate) fn plan_of(opcode: u8) -> Option<Plan> {
    use Data::{Input, None as Nothing, Output};
    Some(match opcode {
        0x04 | 0x06 | 0x50 | 0x60 | 0x66 | 0x99 | 0xb9 | 0xc7 => plan(0, 0, Nothing, 1),
        0x05 | 0x15 | 0x35 | 0x9f => plan(0, 0, Output, 1),
        0x01 | 0x11 | 0x31 => plan(0, 0, Input, 1),
        0x02 | 0x42 => plan(1, 0, Input, 1),
        0x32 => plan(1, 0, Input, 4),
        0x03 | 0x90 => plan(1, 0, Output, 1),
        0x0b | 0x48 | 0x5a => plan(1, 8, Output, 1),
        0x3b => plan(1, 8, Output, 2),
        0x6b => plan(1, 8, Output, 4),
        0xbb => Plan { mode: true, ..plan(2, 0, Output, 2) },
        0xeb => Plan { mode: true, ..plan(4, 4, Output, 4) },
        0x20 | 0x44 | 0x52 | 0xd8 => plan(1, 0, Nothing, 1),
        0x4b => plan(0, 32, Output, 1),
        0xab => plan(0, 24, Output, 1),
        0x77 => plan(0, 6, Input, 4),
        _ => return None,
    })
}
