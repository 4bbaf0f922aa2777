//! The whole chip: core, memories and peripherals, and what a reset restarts.

use chip::debug::{Debug, Place};
use chip::mcu::{ChipConfig, Contents, RunEnd};
use chip::run::{CoreState, Runner, Runs};
use chip::sys::ResetRequest;
use chip::trace::{Record, kind};
use chip::{Event, PROBED, Sys, World};
use sim::{PS_PER_S, Ps};

use crate::bus::Bus;
use crate::core::Core;
use crate::debugger;
use crate::device::Device;
use crate::fuses::Fuses;
use crate::memory::Memory;

/// An ATmega and the world on its pins.
pub struct Chip {
    /// Its core.
    pub core: Core,
    /// Its memories.
    pub mem: Memory,
    /// Everything else.
    pub bus: Bus,
    pub(crate) runner: Runner,
    pub(crate) debug: Debug,
    stalled: u64,
}

impl Chip {
    /// Returns a chip at power-on, with `world` on its pins.
    pub fn new(device: &'static Device, config: &ChipConfig, world: impl World) -> Self {
        let [low, high, extended] = config.fuses;
        let fuses = Fuses { low, high, extended };
        let mem = Memory::new(config.flash, device.flash_bytes, device.sram_start, device.sram_bytes.into());
        let bus = Bus::new(device, fuses, config.crystal_hz, world);
        let core = Core::new(device.flash_bytes, device.ram_end());
        let mut chip = Self { core, mem, bus, runner: Runner::default(), debug: Debug::default(), stalled: 0 };
        chip.start(0);
        chip
    }

    /// Restarts the core after a reset at `cycle`, when its oscillator is stable.
    fn start(&mut self, cycle: u64) {
        let (clocks, delay) = self.bus.fuses.start_up();
        let cycle = cycle + clocks + delay * self.bus.sys.clock.hz() / PS_PER_S;
        self.core.reset(self.bus.device.ram_end(), cycle);
        self.core.pc = self.bus.fuses.reset_address(self.bus.device.flash_bytes);
    }

    pub(crate) fn with_runner<T>(&mut self, use_runner: impl FnOnce(&mut Runner, &mut Self) -> T) -> T {
        let mut runner = self.runner;
        let result = use_runner(&mut runner, self);
        self.runner = runner;
        result
    }

    /// Returns SRAM as the debugger sees it.
    pub(crate) fn sram(&self) -> Contents<'_> {
        let start = debugger::DATA + u32::from(self.mem.sram_start());
        Contents { start, bytes: self.mem.sram(), writable: true }
    }

    pub(crate) fn here(&self) -> Place {
        let core = &self.core;
        Place { core: 0, pc: core.pc * 2, exception: core.level, instructions: core.instructions }
    }

    fn step_debugged(&mut self, limit: u64) -> bool {
        while self.core.cycles < limit && !self.core.asleep && !self.bus.sys.attention {
            let place = self.here();
            if self.debug.stops_at(place) {
                return true;
            }
            let next = self.core.cycles + 1;
            self.core.run(&mut self.mem, &mut self.bus, next);
            let start = debugger::DATA + u32::from(self.mem.sram_start());
            let sram = Contents { start, bytes: self.mem.sram(), writable: true };
            if self.core.instructions != place.instructions && self.debug.executed(0, place.exception, sram) {
                return true;
            }
        }
        false
    }

    fn wake_if_pending(&mut self, cycle: u64) {
        if self.core.asleep && self.bus.wakes() {
            let start_up = self.bus.wake(cycle.max(self.core.cycles));
            self.core.wake(cycle, start_up);
            self.bus.settle();
        }
    }
}

impl Runs for Chip {
    #[inline]
    fn sys(&self) -> &Sys {
        &self.bus.sys
    }

    #[inline]
    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.bus.sys
    }

    #[inline]
    fn core(&self, index: usize) -> CoreState {
        let core = &self.core;
        CoreState { running: index == 0 && !core.asleep, cycles: core.cycles, pc: core.pc * 2 }
    }

    #[inline]
    fn run_core(&mut self, _index: usize, limit: u64) -> bool {
        if PROBED && self.debug.looks() {
            return self.step_debugged(limit);
        }
        self.core.run(&mut self.mem, &mut self.bus, limit);
        self.wake_if_pending(self.core.cycles);
        false
    }

    fn observe(&mut self, index: usize, _rose: u64, _event: bool, cycle: u64) {
        if index == 0 {
            self.wake_if_pending(cycle);
        }
    }

    fn clocks_changed(&mut self, _cycle: u64) {}

    fn event(&mut self, id: Event, cycle: u64) {
        self.bus.sys.cycle = self.bus.sys.cycle.max(cycle);
        self.bus.event(id);
    }

    fn carry_out(&mut self, _request: ResetRequest, now: Ps) -> Option<RunEnd> {
        let cause = "WATCHDOG timer";
        self.bus.reset(true);
        self.start(self.bus.sys.cycle);
        if self.bus.sys.trace.wants(kind::RESET) {
            self.bus.sys.trace.push(now, Record::Reset { cause });
        }
        Some(RunEnd::Reset { cause })
    }

    fn may_wake(&self) -> bool {
        true
    }

    fn attribute(&mut self) {}

    fn stalled(&mut self) -> &mut u64 {
        &mut self.stalled
    }

    fn count_sample(&mut self) {}
}
