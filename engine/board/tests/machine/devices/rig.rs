//! An RP2040's bus at 125 MHz with its wiring, without a running core.

use std::sync::{Arc, Mutex};

use chip::{Event, World};
use parts::batch::Batches;
use portbench_engine::{BoardConfig, Surroundings, WifiConfig, Wiring};
use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::memory::Memory;
use sim::Ps;

pub(crate) const CYCLE_PS: Ps = 8_000;
const SIO: u32 = 0xd000_0000;

/// Records of the devices, shared with the test.
pub(crate) type Log<T> = Arc<Mutex<Vec<T>>>;

pub(crate) fn taken<T>(log: &Log<T>) -> Vec<T> {
    std::mem::take(&mut *log.lock().expect("no test panicked while holding the log"))
}

pub(crate) struct Rig {
    pub bus: Bus,
    mem: Memory,
    around: Surroundings,
}

fn wiring<'a>(world: &'a mut (dyn World + 'static)) -> &'a mut Wiring {
    world.of().expect("the rig's wiring")
}

impl Rig {
    pub(crate) fn new(attach: impl FnOnce(&mut Wiring)) -> Self {
        Self::with(attach, None)
    }

    /// Creates a rig with a radio chip.
    pub(crate) fn with(attach: impl FnOnce(&mut Wiring), wifi: Option<WifiConfig>) -> Self {
        let config = sim::with!(BoardConfig::default(), flash_size: 1 << 20, wifi);
        let mut around = Wiring::new(&config).expect("no network to misconfigure");
        attach(&mut around);
        let mut bus = Bus::new(rp::rp2040::wires::sys(125_000_000), around);
        // The clocks stay as set here, regardless of CLOCKS' reset state.
        bus.sys.clock_sources_dirty = false;
        bus.sys.freq.clk_peri_hz = 125_000_000;
        wiring(&mut *bus.world).start(&mut bus.sys);
        Self { bus, mem: Memory::new(&[], 1 << 20), around: Surroundings::default() }
    }

    pub(crate) fn wiring(&mut self) -> &mut Wiring {
        wiring(&mut *self.bus.world)
    }

    /// Changes the external controls at the pins.
    pub(crate) fn surround(&mut self, change: impl FnOnce(&mut Surroundings)) {
        change(&mut self.around);
        self.bus.run_batch();
        self.around.apply(&mut self.bus.sys);
        self.bus.settle(&mut self.mem);
    }

    pub(crate) fn send_to_uart(&mut self, uart: usize, data: &[u8]) -> usize {
        wiring(&mut *self.bus.world).send_to_uart(&mut self.bus.sys, &self.bus.blocks, uart, data)
    }

    pub(crate) fn now(&self) -> Ps {
        self.bus.sys.now()
    }

    pub(crate) fn write(&mut self, address: u32, value: u32) {
        self.bus.write(&mut self.mem, Master::Core(0), address, value, 4).expect("a register");
    }

    pub(crate) fn read(&mut self, address: u32) -> u32 {
        self.bus.read(&mut self.mem, Master::Core(0), address, 4).expect("a register")
    }

    /// Sets FUNCSEL of a pin.
    pub(crate) fn function(&mut self, pin: u32, function: usize) {
        self.write(0x4001_4004 + 8 * pin, function as u32);
    }

    /// Drives a pin as the program would.
    pub(crate) fn output(&mut self, pin: u32, high: bool) {
        self.function(pin, chip::pins::function::SIO);
        self.write(SIO + if high { 0x14 } else { 0x18 }, 1 << pin);
        self.write(SIO + 0x24, 1 << pin);
    }

    pub(crate) fn input(&mut self, pin: u32) -> bool {
        self.read(SIO + 0x04) & (1 << pin) != 0
    }

    pub(crate) fn event(&mut self, id: Event) {
        self.bus.event(&mut self.mem, id);
    }

    /// Runs all events of the next `duration`.
    pub(crate) fn run(&mut self, duration: Ps) {
        let until = self.now() + duration;
        while let Some(id) = self.bus.sys.take_event(until) {
            self.bus.sys.cycle = self.bus.sys.cycle.max(self.bus.sys.clock.cycle_at(self.bus.sys.now()));
            self.event(id);
        }
        self.bus.sys.end_event();
        self.bus.sys.cycle = self.bus.sys.cycle.max(self.bus.sys.clock.cycle_at(until));
    }
}
