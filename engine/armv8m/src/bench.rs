//! A core with SRAM and nothing else, for tests.

use chip::Event;
use cpu::bench::Empty;

use crate::bus::Attribution;
use crate::core::{Core, State};
use crate::{Kind, Map, Memory, Region};

/// SRAM at its usual address.
pub struct Addresses;

impl Map for Addresses {
    const REGIONS: &'static [Region] = &[
        Region::new(Kind::Rom, 0, 1024),
        Region::new(Kind::CachedFlash, 0x1000_0000, 16 << 20),
        Region::new(Kind::Sram, 0x2000_0000, 256 * 1024),
    ];
    const MOST_COUNTED: u32 = 0;
}

/// Addresses from 0x2002_0000 on can be Non-secure, and those from 0x2003_0000 on callable.
impl crate::Bus for Empty<Addresses> {
    fn attribution(&self, address: u32) -> Attribution {
        match address {
            0x2003_0000.. => Attribution::Callable,
            0x2002_0000.. => Attribution::NonSecure,
            _ => Attribution::Secure,
        }
    }

    fn access_as(&mut self, _: bool, _: bool) {}
}

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
        Self::with_rom(&[])
    }
}

impl Bench {
    /// Returns a bench with this content of the ROM.
    pub fn with_rom(rom: &[u8]) -> Self {
        let mut core = Core::new(0, [Event(0), Event(1)], 0);
        core.state = State::Running;
        Self { core, mem: Memory::new(rom, 1 << 16), bus: Empty::new(3) }
    }

    /// Starts a program in privileged thread mode, with the FPU on. `registers`: R0 to R12, SP, LR, PC; then `apsr`,
    /// `fpscr` and S0 to S31.
    pub fn start(&mut self, registers: [u32; 16], apsr: u32, fpscr: u32, singles: [u32; 32], vtor: u32) {
        let cycles = self.core.cycles;
        self.bus.sys.attention = false;
        self.core = Core::new(0, [Event(0), Event(1)], 0);
        let core = &mut self.core;
        (core.regs, core.pc, core.cycles, core.state) = (registers, registers[15] & !1, cycles, State::Running);
        core.set_apsr(apsr);
        (core.fpu.s, core.fpu.fpscr) = (singles, fpscr);
        core.control[0] = crate::core::control::FPCA | crate::core::control::SFPA;
        core.ppb.banks[0].vtor = vtor;
        core.ppb.banks[0].cpacr = 0xf0_0000;
    }

    /// Runs until `cycles` more have passed (whole instructions) or the core stops; returns the instructions executed.
    pub fn run(&mut self, cycles: u64) -> u64 {
        let (limit, before) = (self.core.cycles + cycles, self.core.instructions);
        while self.core.state == State::Running && self.core.cycles < limit {
            self.bus.sys.attention = false;
            self.core.take_pending_exception(&mut self.mem, &mut self.bus);
            self.core.run(&mut self.mem, &mut self.bus, limit);
        }
        self.core.instructions - before
    }
}
