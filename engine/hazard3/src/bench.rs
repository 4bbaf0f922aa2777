//! A core with SRAM and nothing else, for tests.

use cpu::bench::Empty;

use crate::core::{Core, State, Wires};
use crate::{Kind, Map, Memory, Region};

/// SRAM is where QEMU's board `virt` has its own.
pub struct Addresses;

impl Map for Addresses {
    const REGIONS: &'static [Region] = &[
        Region::new(Kind::Rom, 0, 1024),
        Region::new(Kind::CachedFlash, 0x1000_0000, 16 << 20),
        Region::new(Kind::Sram, 0x8000_0000, 512 * 1024),
    ];
    const MOST_COUNTED: u32 = 0;
}

impl crate::Bus for Empty<Addresses> {
    fn access_as_user(&mut self, _: u32) {}
}

/// Wires of the timer and the software interrupt, as in the RP2350.
pub const WIRES: Wires = Wires { timer: 29, software: 52, reset_vector: 0x8000_0000, trap_vector: 0x8000_0000 };

/// A core that tests drive.
pub struct Bench {
    /// The core.
    pub core: Core,
    /// Its memories.
    pub mem: Memory<Addresses>,
    /// Its bus.
    pub bus: Empty<Addresses>,
}

impl Default for Bench {
    fn default() -> Self {
        let mut core = Core::new(0, WIRES);
        core.state = State::Running;
        Self { core, mem: Memory::new(&[], 1 << 16), bus: Empty::new(1) }
    }
}

impl Bench {
    /// Resets the core, to start at `pc`.
    pub fn start(&mut self, pc: u32) {
        self.bus.sys.attention = false;
        self.core.reset();
        self.core.pc = pc & !1;
    }

    /// Runs until `cycles` more have passed (whole instructions) or the core stops; returns the instructions executed.
    pub fn run(&mut self, cycles: u64) -> u64 {
        let (limit, before) = (self.core.cycles + cycles, self.core.instructions);
        while self.core.state == State::Running && self.core.cycles < limit && self.bus.sys.unmodelled.is_none() {
            self.bus.sys.attention = false;
            self.core.take_interrupt(&mut self.bus);
            self.core.run(&mut self.mem, &mut self.bus, limit);
        }
        self.core.instructions - before
    }
}
