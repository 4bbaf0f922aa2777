//! The ATmegas as a board drives them.

use attribution::Recording;
use chip::World;
use chip::debug::Debug;
use chip::mcu::{BootRom, ChipConfig, Contents, Debugged, Facts, Image, Mcu, Reached, RunEnd};
use chip::probe::Seen;
use sim::Ps;
use sim::snapshot::{Refused, Torn};

use crate::chip::Chip;
use crate::debugger;
use crate::device::{ATMEGA1284P, ATMEGA2560, Device};

/// There is none: flash is executed from its start.
const NO_BOOT_ROM: BootRom = BootRom { bytes: 0, variable: "", file: "", magic: b"", magic_at: 0, own: Some(Vec::new) };

const fn facts(device: &'static Device) -> Facts {
    Facts {
        name: device.name,
        image: Image::HexOrElf,
        boot_rom: NO_BOOT_ROM,
        flash_base: 0,
        flash_bytes: (device.flash_bytes, device.flash_bytes),
        pins: 64,
        adc_pins: 0..0,
        psram_pins: &[],
        cores: 1,
        description: debugger::DESCRIPTION,
        pc: debugger::PC,
    }
}

/// What all ATmega2560 have in common.
pub static ATMEGA2560_FACTS: Facts = facts(&ATMEGA2560);
/// What all ATmega1284P have in common.
pub static ATMEGA1284P_FACTS: Facts = facts(&ATMEGA1284P);

fn kind_of(device: &Device) -> &'static Facts {
    if device.name == ATMEGA2560.name { &ATMEGA2560_FACTS } else { &ATMEGA1284P_FACTS }
}

impl Chip {
    /// Returns a chip of the kind `facts` at power-on, with `world` on its pins.
    pub fn of(facts: &Facts, config: &ChipConfig, world: impl World) -> Self {
        let device = if facts.name == ATMEGA2560.name { &ATMEGA2560 } else { &ATMEGA1284P };
        Self::new(device, config, world)
    }
}

impl Mcu for Chip {
    fn now(&self) -> Ps {
        self.runner.now()
    }

    fn settled(&self) -> Ps {
        self.runner.settled(&self.bus.sys)
    }

    fn run_until(&mut self, until: Ps) -> RunEnd {
        self.with_runner(|runner, chip| runner.run(chip, until, false))
    }

    fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        self.with_runner(|runner, chip| runner.run(chip, until, true))
    }

    fn reached(&mut self) -> Reached<'_> {
        let bus = &mut self.bus;
        Reached { sys: &mut bus.sys, world: &mut *bus.world, inputs: &mut bus.usarts, xip: None, probes: None }
    }

    fn sck_hz(&self, _spi: usize) -> u64 {
        self.bus.spi.sck_hz(&self.bus.sys)
    }

    fn settle_pins(&mut self) {
        self.bus.settle();
    }

    fn refresh_pins(&mut self) {}

    /// All code is interpreted.
    fn interpret_only(&mut self) {}

    /// Flash is in the chip, and has no id.
    fn set_flash_id(&mut self, _id: [u8; 8]) {}

    fn flash(&self) -> &[u8] {
        self.mem.flash()
    }

    /// Programs cannot change flash.
    fn flash_generation(&self) -> u64 {
        0
    }

    fn start_trace(&mut self, mask: u32, limit: usize) {
        self.with_runner(|runner, chip| runner.start_trace(chip, mask, limit));
    }

    fn sample_pc(&mut self, cycles: u64) {
        self.with_runner(|runner, chip| runner.sample_pc(chip, cycles));
    }

    fn save(&self, _to: &mut Vec<u8>) -> Result<(), Refused> {
        Err(Refused(format!("an {}, whose state cannot be saved yet", self.bus.device.name)))
    }

    fn restore(&mut self, _from: &mut &[u8]) -> Result<(), Torn> {
        Err(Torn)
    }

    /// Time is not attributed.
    fn start_recording(&mut self, _limit: usize) {}

    fn stop_recording(&mut self) -> Option<Recording> {
        None
    }
}

impl Debugged for Chip {
    fn facts(&self) -> &'static Facts {
        kind_of(self.bus.device)
    }

    fn registers(&self, _core: usize) -> Vec<u32> {
        debugger::registers(&self.core)
    }

    fn set_registers(&mut self, _core: usize, registers: &[u32]) {
        debugger::set_registers(&mut self.core, registers);
    }

    fn state(&self, _core: usize) -> String {
        if self.core.asleep { "Asleep" } else { "Running" }.into()
    }

    fn memories(&self) -> Vec<Contents<'_>> {
        vec![Contents { start: 0, bytes: self.mem.flash(), writable: false }, self.sram()]
    }

    fn poke(&mut self, address: u32, data: &[u8]) -> bool {
        let bytes = (address..).zip(data).map(|(at, &byte)| (at.wrapping_sub(debugger::DATA), byte));
        bytes.fold(true, |all, (at, byte)| {
            let place = u16::try_from(at).ok().and_then(|at| self.mem.byte_mut(at));
            place.map(|place| *place = byte).is_some() && all
        })
    }

    fn reset_cores(&mut self) {
        self.bus.reset(false);
        self.core.pc = 0;
    }

    fn seen(&self, _core: usize) -> Seen {
        Seen { place: self.here(), running: !self.core.asleep, cycles: self.core.cycles, sp: self.core.sp.into() }
    }

    fn debug(&mut self) -> &mut Debug {
        &mut self.debug
    }
}
