//! The parts of the chip that each reset restarts (datasheet 7.3 to 7.5).

use crate::rp2350::bus::Bus;
use crate::rp2350::coprocessors::rcp::Rcp;
use crate::rp2350::memory::{Architecture, Memory};
use crate::rp2350::peripherals::{Peripheral, psm, resets};
use parts::batch::Batches;

impl Bus {
    /// Puts every block into its power-on state, with the BOOTSEL button as given.
    pub fn power_on(&mut self, mem: &mut Memory<impl Architecture>, bootsel_pressed: bool) {
        self.restart(mem, psm::bit::ALL);
        self.blocks.psm.reset(&mut self.sys);
        self.blocks.watchdog.reset(&mut self.sys);
        self.blocks.powman.reset(&mut self.sys);
        self.blocks.ticks.reset(&mut self.sys);
        self.blocks.glitch_detector.reset(&mut self.sys);
        self.blocks.pads_bank0.power_on(&mut self.sys);
        self.blocks.io_qspi.bootsel_pressed = bootsel_pressed;
        self.settle(mem);
    }

    /// Performs a watchdog reset of the blocks selected by PSM.WDSEL and RESETS.WDSEL. Returns whether the cores are
    /// reset.
    pub fn watchdog_reset(&mut self, mem: &mut Memory<impl Architecture>, timer: bool) -> bool {
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
        self.blocks.powman.watchdog_reset();
        self.settle(mem);
        restarted & psm::bit::PROC0 != 0
    }

    /// Resets the blocks in `blocks` (bits of PSM) and the peripherals that they hold.
    fn restart(&mut self, mem: &mut Memory<impl Architecture>, blocks: u32) {
        let pressed = self.blocks.io_qspi.bootsel_pressed;
        // The clocks fall back to ROSC before RESETS stops the PLLs.
        if blocks & psm::bit::CLOCKS != 0 {
            self.blocks.clocks.reset(&mut self.sys);
            self.blocks.ticks.reset(&mut self.sys);
            self.settle(mem);
        }
        // The salts outlive a reset of a core alone: core 1 waits for one that core 0 has written.
        if blocks & psm::bit::PROC_COLD != 0 {
            self.rcp = Rcp::default();
        }
        if blocks & psm::bit::OTP != 0 {
            self.blocks.otp.reset(&mut self.sys);
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
            self.blocks.psm.restart(&mut self.sys);
        }
        if blocks & psm::bit::BOOTRAM != 0 {
            self.blocks.bootram.reset(&mut self.sys);
        }
        if blocks & psm::bit::XIP != 0 {
            self.xip_ctrl.reset(&mut self.sys);
            mem.xip.configure(true, false);
            self.qmi.reset(&mut self.sys, mem);
        }
        if blocks & psm::bit::SIO != 0 {
            self.sio.reset(&mut self.sys);
            self.sio_changed();
        }
        if blocks & psm::bit::ACCESSCTRL != 0 {
            self.blocks.accessctrl.reset(&mut self.sys);
        }
        self.blocks.io_qspi.bootsel_pressed = pressed;
        self.settle(mem);
    }
}
