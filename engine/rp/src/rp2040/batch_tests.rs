//! PIO's batches compared with one event per edge, on this chip.

use crate::rp2040::bus::{Bus, Master};
use crate::rp2040::memory::Memory;
use crate::rp2040::wires;
use parts::batch::fuzz::Registers;

parts::batch_tests!(Registers {
    io_bank0: 0x4001_4000,
    pads_bank0: 0x4001_c000,
    intr0: 0xf0,
    proc0_inte0: 0x100,
    intr: 0x128,
    gpio: [0x10, 0x14, 0x18, 0x20, 0x24],
    timer0: 0x420,
    chan_abort: 0x444,
    incr_write: 5,
    ring_size: 6,
    ring_sel: 10,
    chain_to: 11,
    treq_sel: 15,
});
