//! The parts of the chip that each reset restarts (datasheet 2.12 to 2.14).

use crate::rp2040::bus::Bus;
use crate::rp2040::memory::Memory;
use crate::rp2040::peripherals::{Peripheral, psm, resets};
use parts::batch::Batches;

impl Bus {
    /// Puts every block into its power-on state, with the BOOTSEL button as given.
    pub fn power_on(&mut self, mem: &mut Memory, bootsel_pressed: bool) {
        self.restart(mem, psm::bit::ALL);
        self.blocks.watchdog.reset(&mut self.sys);
        self.blocks.vreg_and_chip_reset.reset(&mut self.sys);
        self.blocks.io_qspi.bootsel_pressed = bootsel_pressed;
        self.settle(mem);
    }

    /// Performs a watchdog reset of the blocks selected by PSM.WDSEL and RESETS.WDSEL. Returns whether the cores are
    /// reset.
    pub fn watchdog_reset(&mut self, mem: &mut Memory, timer: bool) -> bool {
        self.run_batch();
        let selected = self.blocks.psm.watchdog_selection();
        // PSM starts again from the first selected block, followed by all later ones.
        let restarted = match selected & selected.wrapping_neg() {
            0 => 0,
            first => psm::bit::ALL & !(first - 1),
        };
        self.blocks.resets.watchdog_reset(&mut self.sys);
        self.restart(mem, restarted);
        self.blocks.watchdog.watchdog_reset(&mut self.sys, timer);
        self.settle(mem);
        restarted & psm::bit::PROC0 != 0
    }

    /// Resets the blocks in `blocks` (bits of PSM) and the peripherals that they hold.
    fn restart(&mut self, mem: &mut Memory, blocks: u32) {
        let pressed = self.blocks.io_qspi.bootsel_pressed;
        // The clocks fall back to ROSC before RESETS stops the PLLs.
        if blocks & psm::bit::CLOCKS != 0 {
            self.blocks.clocks.reset(&mut self.sys);
            self.settle(mem);
        }
        if blocks & psm::bit::ROSC != 0 {
            self.blocks.rosc.reset(&mut self.sys);
        }
        if blocks & psm::bit::XOSC != 0 {
            self.blocks.xosc.reset(&mut self.sys);
        }
        if blocks & psm::bit::RESETS != 0 {
            self.sys.held_in_reset = 0;
            self.blocks.resets.reset(&mut self.sys);
            self.sys.held_in_reset = resets::bit::ALL;
            self.sys.entering_reset = resets::bit::ALL;
            self.settle(mem);
            self.blocks.psm.reset(&mut self.sys);
        }
        if blocks & psm::bit::XIP != 0 {
            self.xip_ctrl.reset(&mut self.sys);
            self.ssi.reset(&mut self.sys, mem);
        }
        if blocks & psm::bit::SIO != 0 {
            self.sio.reset(&mut self.sys);
        }
        self.blocks.io_qspi.bootsel_pressed = pressed;
        self.settle(mem);
    }
}
