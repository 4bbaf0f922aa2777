//! What a reset of the chip restarts (datasheet 2.12 to 2.14).

use crate::bus::Bus;
use crate::memory::Memory;
use crate::peripherals::{Peripheral, psm, resets};
use crate::world::World;

impl<W: World> Bus<W> {
    /// Every block as after power-on, with the BOOTSEL button as given.
    pub fn power_on(&mut self, mem: &mut Memory, bootsel_pressed: bool) {
        self.restart(mem, psm::bit::ALL);
        self.blocks.watchdog.reset(&mut self.sys);
        self.blocks.vreg_and_chip_reset.reset(&mut self.sys);
        self.blocks.io_qspi.bootsel_pressed = bootsel_pressed;
        self.settle(mem);
    }

    /// The watchdog fired: what PSM.WDSEL and RESETS.WDSEL select is reset. Returns whether the cores are.
    pub fn watchdog_reset(&mut self, mem: &mut Memory, timer: bool) -> bool {
        self.carry_out_laps();
        let selected = self.blocks.psm.watchdog_selection();
        // PSM starts again from the first selected block, and every later one follows it.
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

    /// Resets the blocks in `blocks` (bits of PSM) and what they hold.
    fn restart(&mut self, mem: &mut Memory, blocks: u32) {
        let pressed = self.blocks.io_qspi.bootsel_pressed;
        // The clocks fall back to ROSC before RESETS takes the PLLs away from them.
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
