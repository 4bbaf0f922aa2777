//! The chip as a board drives it, and as a debugger sees it.

use attribution::Recording;
use chip::attributed;
use chip::debug::Debug;
use chip::mcu::{Contents, Debugged, Facts, Mcu, Reached, RunEnd};
use chip::probe::Seen;
use chip::sys::ResetRequest;
use parts::batch::Batches;
use sim::Ps;
use sim::snapshot::{self, Refused, Torn};

use crate::bus::Fabric;
use crate::chip::Chip;
use crate::cores::Kind;

impl<F: Fabric, K: Kind<F>> Mcu for Chip<F, K> {
    fn now(&self) -> Ps {
        self.runner.now()
    }

    fn settled(&self) -> Ps {
        self.runner.settled(&self.bus.sys)
    }

    fn run_until(&mut self, until: Ps) -> RunEnd {
        let end = self.with_runner(|runner, chip| runner.run(chip, until, false));
        self.bus.end_batch(self.now());
        end
    }

    fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        let end = self.with_runner(|runner, chip| runner.run(chip, until, true));
        self.bus.end_batch(self.settled());
        end
    }

    fn reached(&mut self) -> Reached<'_> {
        let (bus, xip, probes) = (&mut self.bus, Some(&mut self.mem.xip), Some(&mut self.probes));
        Reached { sys: &mut bus.sys, world: &mut *bus.world, inputs: &mut bus.blocks, xip, probes }
    }

    fn settle_pins(&mut self) {
        self.bus.settle(&mut self.mem);
    }

    fn refresh_pins(&mut self) {
        self.bus.refresh_pins(&mut self.mem);
    }

    fn interpret_only(&mut self) {
        self.mem.interpret_only();
    }

    fn sck_hz(&self, spi: usize) -> u64 {
        self.bus.blocks.spi[spi].sck_hz(&self.bus.sys)
    }

    fn set_flash_id(&mut self, id: [u8; 8]) {
        self.bus.own.set_flash_id(id);
    }

    fn flash(&self) -> &[u8] {
        self.mem.flash()
    }

    fn flash_generation(&self) -> u64 {
        self.mem.flash_generation
    }

    fn start_trace(&mut self, mask: u32, limit: usize) {
        self.with_runner(|runner, chip| runner.start_trace(chip, mask, limit));
    }

    fn sample_pc(&mut self, cycles: u64) {
        self.with_runner(|runner, chip| runner.sample_pc(chip, cycles));
    }

    fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        self.probes.debug.refuses_snapshot()?;
        snapshot::save(&self.cores, to);
        snapshot::save(&self.runner, to);
        self.mem.save(to);
        self.bus.save(to);
        Ok(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.cores, from)?;
        snapshot::restore(&mut self.runner, from)?;
        self.mem.restore(from)?;
        self.bus.restore(from)?;
        Ok(())
    }

    fn start_recording(&mut self, limit: usize) {
        attributed::start(&mut self.bus.sys, &mut self.mem.xip, limit);
        self.note();
    }

    fn stop_recording(&mut self) -> Option<Recording> {
        let now = self.now();
        attributed::stop(&mut self.bus.sys, &mut self.mem.xip, self.bus.waited, now)
    }
}

impl<F: Fabric, K: Kind<F>> Debugged for Chip<F, K> {
    fn facts(&self) -> &'static Facts {
        K::facts(&self.bus)
    }

    fn registers(&self, core: usize) -> Vec<u32> {
        K::registers(&self.cores[core])
    }

    fn set_registers(&mut self, core: usize, registers: &[u32]) {
        K::set_registers(&mut self.cores[core], registers);
    }

    fn state(&self, core: usize) -> String {
        format!("{:?}", K::seen(&self.cores[core]).state)
    }

    fn memories(&self) -> Vec<Contents<'_>> {
        self.mem.regions()
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

    fn seen(&self, core: usize) -> Seen {
        K::seen(&self.cores[core]).probed()
    }

    fn debug(&mut self) -> &mut Debug {
        &mut self.probes.debug
    }
}
