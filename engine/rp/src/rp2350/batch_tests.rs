//! PIO's batches compared with one event per edge, on this chip.

use crate::rp2350::bus::{Bus, Master};
use crate::rp2350::memory::Memory;
use crate::rp2350::wires;
use parts::batch::fuzz::Registers;

parts::batch_tests!(Registers {
    io_bank0: 0x4002_8000,
    pads_bank0: 0x4003_8000,
    intr0: 0x230,
    proc0_inte0: 0x248,
    intr: 0x16c,
    gpio: [0x10, 0x18, 0x20, 0x30, 0x38],
    timer0: 0x440,
    chan_abort: 0x464,
    incr_write: 6,
    ring_size: 8,
    ring_sel: 12,
    chain_to: 13,
    treq_sel: 17,
});
