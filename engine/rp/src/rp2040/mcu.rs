//! The RP2040 as a board drives it.

use attribution::Recording;
use parts::debug::{Debug, Place};
use parts::mcu::{BootRom, Contents, Debugged, Facts, Image, Mcu, Reached, RunEnd};
use parts::probe::{Probes, Seen};
use sim::Ps;
use sim::snapshot::{Refused, Torn};

use crate::rp2040::chip::Chip;
use crate::rp2040::cpu::debugger;
use crate::rp2040::memory::{ROM_SIZE, XIP_BASE};
use crate::rp2040::sys::{ResetRequest, Sys};
use crate::rp2040::wires::PIN_MASK;
use crate::rp2040::world::World;
use crate::rp2040::xip_cache::XipCache;

/// What all of them have in common.
pub static FACTS: Facts = Facts {
    name: "RP2040",
    image: Image::Uf2 { families: &[0xe48b_ff56], ignored: None },
    // Its magic number is in the datasheet, 2.8.3.
    boot_rom: BootRom {
        bytes: ROM_SIZE,
        variable: "PORTBENCH_BOOTROM",
        file: "rp2040-bootrom-b1.bin",
        magic: b"Mu\x01",
        magic_at: 0x10,
        own: None,
    },
    flash_base: XIP_BASE,
    flash_bytes: (64 << 10, 16 << 20),
    pins: PIN_MASK.count_ones(),
    psram_pins: &[],
    cores: 2,
    description: debugger::DESCRIPTION,
    pc: debugger::PC,
};

impl Mcu for Chip {
    fn now(&self) -> Ps {
        self.now()
    }

    fn settled(&self) -> Ps {
        self.settled()
    }

    fn run_until(&mut self, until: Ps) -> RunEnd {
        self.run_until(until)
    }

    fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        self.run_no_further_than(until)
    }

    fn sys(&mut self) -> &mut Sys {
        &mut self.bus.sys
    }

    fn world(&mut self) -> &mut (dyn World + 'static) {
        &mut *self.bus.world
    }

    fn reached(&mut self) -> Reached<'_> {
        let bus = &mut self.bus;
        let blocks = &mut bus.blocks;
        Reached { sys: &mut bus.sys, world: &mut *bus.world, uart: &mut blocks.uart, adc: Some(&mut blocks.adc) }
    }

    fn settle_pins(&mut self) {
        self.bus.settle(&mut self.mem);
    }

    fn refresh_pins(&mut self) {
        self.bus.refresh_pins(&mut self.mem);
    }

    fn interpret_only(&mut self) {
        self.interpret_only();
    }

    fn sck_hz(&self, spi: usize) -> u64 {
        self.bus.blocks.spi[spi].sck_hz(&self.bus.sys)
    }

    fn xip(&mut self) -> Option<&mut XipCache> {
        Some(&mut self.mem.xip)
    }

    fn set_flash_id(&mut self, id: [u8; 8]) {
        self.bus.ssi.flash.unique_id = id;
    }

    fn flash(&self) -> &[u8] {
        self.mem.flash()
    }

    fn flash_generation(&self) -> u64 {
        self.mem.flash_generation
    }

    fn counts(&self, core: usize) -> (u64, u64) {
        (self.cores[core].instructions, self.cores[core].cycles)
    }

    fn start_trace(&mut self, mask: u32, limit: usize) {
        self.start_trace(mask, limit);
    }

    fn sample_pc(&mut self, cycles: u64) {
        self.sample_pc(cycles);
    }

    fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        self.save(to)
    }

    fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        self.restore(from)
    }

    fn probed(&mut self) -> Option<(&mut Probes, &mut XipCache, [Seen; 2])> {
        Some((&mut self.probes, &mut self.mem.xip, self.cores.each_ref().map(armv6m::seen)))
    }

    fn start_recording(&mut self, limit: usize) {
        self.start_recording(limit);
    }

    fn stop_recording(&mut self) -> Option<Recording> {
        self.stop_recording()
    }
}

impl Debugged for Chip {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn registers(&self, core: usize) -> Vec<u32> {
        debugger::registers(&self.cores[core]).to_vec()
    }

    fn set_registers(&mut self, core: usize, registers: &[u32]) {
        if let Ok(registers) = registers.try_into() {
            debugger::set_registers(&mut self.cores[core], registers);
        }
    }

    fn state(&self, core: usize) -> String {
        format!("{:?}", self.cores[core].state)
    }

    fn memories(&self) -> Vec<Contents<'_>> {
        self.mem.regions().to_vec()
    }

    fn poke(&mut self, address: u32, data: &[u8]) -> bool {
        self.mem.poke(address, data)
    }

    fn reset_cores(&mut self) {
        let now = self.now();
        self.bus.sys.request_reset(ResetRequest::Processor { core: 0 });
        self.bus.sys.attention = true;
        // The reset is handled first.
        self.run_until(now + 1);
    }

    fn place(&self, core: usize) -> Place {
        self.cores[core].place()
    }

    fn debug(&mut self) -> &mut Debug {
        &mut self.probes.debug
    }
}
