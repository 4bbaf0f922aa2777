//! A core with SRAM and nothing else, for tests.

use parts::wires::{Event, Layout};
use parts::{BusFault, Sys};

use crate::bus::{Attribution, Refused, Transfer};
use crate::core::{Core, State};
use crate::{Kind, Map, Master, Memory, Region, V8m};

pub struct Addresses;

impl Map for Addresses {
    const REGIONS: &'static [Region] = &[
        Region::new(Kind::Rom, 0, 1024),
        Region::new(Kind::CachedFlash, 0x1000_0000, 16 << 20),
        Region::new(Kind::Sram, 0x2000_0000, 256 * 1024),
    ];
    const MOST_COUNTED: u32 = 0;
}

/// Answers nowhere. Addresses from 0x2002_0000 on can be Non-secure, and those from 0x2003_0000 on callable.
pub struct Empty {
    pub sys: Sys,
}

impl armv6m::Bus<V8m> for Empty {
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
    fn attribution(&self, address: u32) -> Attribution {
        match address {
            0x2003_0000.. => Attribution::Callable,
            0x2002_0000.. => Attribution::NonSecure,
            _ => Attribution::Secure,
        }
    }

    fn access_as(&mut self, _: bool, _: bool) {}

    fn cdp(&mut self, _: Transfer) -> Result<(), Refused> {
        Err(Refused)
    }

    fn mcr(&mut self, _: Transfer, _: u32) -> Result<(), Refused> {
        Err(Refused)
    }

    fn mrc(&mut self, _: Transfer) -> Result<u32, Refused> {
        Err(Refused)
    }

    fn mcrr(&mut self, _: Transfer, _: u32, _: u32) -> Result<(), Refused> {
        Err(Refused)
    }

    fn mrrc(&mut self, _: Transfer) -> Result<(u32, u32), Refused> {
        Err(Refused)
    }
}

pub struct Bench {
    pub core: Core,
    pub mem: Memory<Addresses>,
    pub bus: Empty,
}

impl Default for Bench {
    fn default() -> Self {
        let layout = Layout { events: 3, without_clk_sys: 0, pins: 0, pulsed_dreqs: 0 };
        let mut core = Core::new(0, [Event(0), Event(1)], 0);
        core.state = State::Running;
        Self { core, mem: Memory::new(&[], 1 << 16), bus: Empty { sys: Sys::new(150_000_000, &layout) } }
    }
}

impl Bench {
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
