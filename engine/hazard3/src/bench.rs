//! A core with SRAM and nothing else, for tests.

use parts::wires::Layout;
use parts::{BusFault, Sys};

use crate::core::{Core, State, Wires};
use crate::{Hazard3, Kind, Map, Master, Memory, Region};

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

/// Answers nowhere.
pub struct Empty {
    pub sys: Sys,
}

impl armv6m::Bus<Hazard3> for Empty {
    type Map = Addresses;

    fn sys(&self) -> &Sys {
        &self.sys
    }

    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.sys
    }

    fn read(&mut self, _: &mut Memory<Addresses>, _: Master, _: u32, _: u32) -> Result<u32, BusFault> {
        Err(BusFault)
    }

    fn fetch(&mut self, _: &mut Memory<Addresses>, _: Master, _: u32, _: u32) -> Result<u32, BusFault> {
        Err(BusFault)
    }

    fn write(&mut self, _: &mut Memory<Addresses>, _: Master, _: u32, _: u32, _: u32) -> Result<(), BusFault> {
        Err(BusFault)
    }

    fn waits(&self) -> u32 {
        0
    }

    fn counted(&self) -> u16 {
        0
    }

    fn count(&mut self, _: u32) {}

    fn bank_counter(&mut self) -> Option<&mut u32> {
        None
    }

    fn note_read(&mut self, _: &mut Memory<Addresses>, _: &Core, _: u32, _: u32) {}

    fn note_waits(&mut self, _: &Core, _: u32) {}
}

impl crate::Bus for Empty {
    fn access_as_user(&mut self, _: u32) {}
}

/// Wires of the timer and the software interrupt, as in the RP2350.
pub const WIRES: Wires = Wires { timer: 29, software: 52, reset_vector: 0x8000_0000, trap_vector: 0x8000_0000 };

pub struct Bench {
    pub core: Core,
    pub mem: Memory<Addresses>,
    pub bus: Empty,
}

impl Default for Bench {
    fn default() -> Self {
        let layout = Layout { events: 1, without_clk_sys: 0, pins: 0, pulsed_dreqs: 0 };
        let mut core = Core::new(0, WIRES);
        core.state = State::Running;
        Self { core, mem: Memory::new(&[], 1 << 16), bus: Empty { sys: Sys::new(150_000_000, &layout) } }
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
