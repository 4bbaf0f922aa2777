//! The RP2350 as a board drives it.

use attribution::Recording;
use parts::mcu::{BootRom, ChipConfig, Contents, Debugged, Halt, Mcu, Reached, RunEnd};
use sim::Ps;

use crate::chip::{Chip, place};
use crate::debugger;
use crate::memory::ROM_SIZE;
use crate::sys::{ResetRequest, Sys};
use crate::world::World;

/// Pins on the package of RP2350A.
const PINS: u32 = 30;

impl<W: World + 'static> Mcu<W> for Chip<W> {
    const NAME: &'static str = "RP2350";
    // Arm, secure. A file begins with a block for any flash address, which works around erratum RP2350-E10.
    const UF2_FAMILY: u32 = 0xe48b_ff59;
    const UF2_IGNORED: Option<(u32, u32)> = Some((0xe48b_ff57, 0x10ff_ff00));
    // Its magic number is in the datasheet, 5.4.1; the revision follows it.
    const BOOT_ROM: BootRom = BootRom {
        bytes: ROM_SIZE,
        variable: "PORTBENCH_BOOTROM_RP2350",
        file: "rp2350-bootrom-a2.bin",
        magic: b"Mu\x02\x02",
        magic_at: 0x10,
    };
    const FLASH_BYTES: (usize, usize) = (64 << 10, 16 << 20);
    const PINS: u32 = PINS;

    fn new(config: &ChipConfig, world: W) -> Self {
        Self::new(config, world)
    }

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

    fn world(&mut self) -> &mut W {
        &mut self.bus.world
    }

    fn reached(&mut self) -> Reached<'_, W> {
        let bus = &mut self.bus;
        Reached { sys: &mut bus.sys, world: &mut bus.world, uart: &mut bus.blocks.uart, adc: &mut bus.blocks.adc }
    }

    fn settle_pins(&mut self) {
        self.bus.settle(&mut self.mem);
    }

    fn refresh_pins(&mut self) {
        self.bus.refresh_pins();
    }

    /// All code is interpreted.
    fn interpret_only(&mut self) {}

    fn charge_misses(&mut self, cost: bool) {
        self.mem.xip.cost_enabled = cost;
    }

    fn set_flash_id(&mut self, id: [u8; 8]) {
        self.bus.qmi.flash.unique_id = id;
        self.bus.blocks.otp.set_chip_id(id);
    }

    fn flash(&self) -> &[u8] {
        self.mem.flash()
    }

    fn start_recording(&mut self, limit: usize) {
        self.start_recording(limit);
    }

    fn stop_recording(&mut self) -> Option<Recording> {
        self.stop_recording()
    }
}

impl<W: World> Debugged for Chip<W> {
    const CORES: usize = 2;
    const DESCRIPTION: &'static str = debugger::DESCRIPTION;
    const PC: usize = debugger::PC;

    fn registers(&self, core: usize) -> Vec<u32> {
        debugger::registers(&self.cores[core])
    }

    fn set_registers(&mut self, core: usize, registers: &[u32]) {
        debugger::set_registers(&mut self.cores[core], registers);
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

    fn resume(&mut self) {
        self.debug.leave(self.cores.each_ref().map(place));
    }

    fn step(&mut self, core: usize) {
        self.debug.step(place(&self.cores[core]));
    }

    fn forget_step(&mut self) {
        self.debug.forget_step();
    }

    fn take_halt(&mut self) -> Option<Halt> {
        self.debug.take_halt()
    }

    fn add_breakpoint(&mut self, address: u32) -> bool {
        self.debug.add_breakpoint(address)
    }

    fn remove_breakpoint(&mut self, address: u32) -> bool {
        self.debug.remove_breakpoint(address)
    }

    fn add_watchpoint(&mut self, address: u32, len: u32) -> bool {
        self.debug.add_watchpoint(&self.mem, address, len)
    }

    fn remove_watchpoint(&mut self, address: u32, len: u32) -> bool {
        self.debug.remove_watchpoint(address, len)
    }

    fn clear_debugger(&mut self) {
        self.debug.clear();
    }

    fn take_debugger(&mut self, before: &mut Self) {
        self.debug = std::mem::take(&mut before.debug);
    }
}
