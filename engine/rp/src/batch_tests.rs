//! PIO's batches compared with one event per edge, on each chip.

use armv6m::V6m;
use armv8m::V8m;
use chip::{Event, Sys};
use cpu::{Architecture, Master};
use parts::batch::fuzz::{self, Coreless, Peer, Registers};

use crate::bus::{Bus, Fabric, Memory};

/// A chip for the comparison.
trait Compared: Fabric {
    type Cores: Architecture;
    const REGISTERS: Registers;
}

impl Compared for crate::rp2040::bus::Own {
    type Cores = V6m;
    const REGISTERS: Registers = Registers {
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
    };
}

impl Compared for crate::rp2350::bus::Own {
    type Cores = V8m;
    const REGISTERS: Registers = Registers {
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
    };
}

struct Chip<F: Compared> {
    bus: Bus<F>,
    mem: Memory<F, F::Cores>,
}

impl<F: Compared> Coreless for Chip<F> {
    type Bus = Bus<F>;
    const REGISTERS: Registers = F::REGISTERS;

    fn new(peer: Peer) -> Self {
        let mut bus = Bus::new(Sys::new(125_000_000, &F::WIRES.layout), peer);
        bus.sys.freq.clk_sys_hz = 125_000_000;
        bus.sys.clock_sources_dirty = false;
        Self { bus, mem: Memory::<F, F::Cores>::new(&[0; 16384], 1 << 20) }
    }

    fn bus(&mut self) -> &mut Bus<F> {
        &mut self.bus
    }

    fn read(&mut self, address: u32) -> u32 {
        self.bus.read(&mut self.mem, Master::Core(0), address, 4).unwrap()
    }

    fn write(&mut self, address: u32, value: u32) {
        self.bus.write(&mut self.mem, Master::Core(0), address, value, 4).unwrap();
    }

    fn handle(&mut self, id: Event) {
        self.bus.event(&mut self.mem, id);
    }

    fn settle(&mut self) {
        self.bus.settle(&mut self.mem);
    }
}

macro_rules! tests {
    ($chip:ident, $events:literal) => {
        mod $chip {
            use super::{Chip, fuzz};
            use crate::$chip::bus::Own;

            #[test]
            fn deferred_batches_equal_single_events() {
                fuzz::batches_equal_single_events::<Chip<Own>>($events);
            }

            #[test]
            fn a_word_moves_in_the_last_pass() {
                fuzz::a_word_moves_in_the_last_pass::<Chip<Own>>();
            }

            #[test]
            fn a_word_costs_three_events() {
                fuzz::a_word_costs_three_events::<Chip<Own>>();
            }
        }
    };
}

tests!(rp2040, 85_784);
tests!(rp2350, 89_851);
