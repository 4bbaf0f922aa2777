//! The parts of the chip that each reset restarts (datasheets, 2.12 to 2.14 and 7.3 to 7.5).

use chip::Peripheral;
use cpu::Architecture;
use parts::batch::Batches;

use crate::bus::{Bus, Fabric, Memory};
use crate::sio::Sio;

impl<F: Fabric> Bus<F> {
    /// Puts every block into its power-on state, with the BOOTSEL button as given.
    pub fn power_on(&mut self, mem: &mut Memory<F, impl Architecture>, bootsel_pressed: bool) {
        self.restart(mem, F::WIRES.psm.all);
        self.blocks.psm.reset(&mut self.sys);
        self.blocks.watchdog.reset(&mut self.sys);
        F::power_on(self);
        self.blocks.io_qspi.bootsel_pressed = bootsel_pressed;
        self.settle(mem);
    }

    /// Performs a watchdog reset of the blocks selected by PSM.WDSEL and RESETS.WDSEL. Returns whether the cores are
    /// reset.
    pub fn watchdog_reset(&mut self, mem: &mut Memory<F, impl Architecture>, timer: bool) -> bool {
        self.run_batch();
        let selected = self.blocks.psm.watchdog_selection();
        // PSM starts again from the first selected block, followed by all later ones.
        let restarted = match selected & selected.wrapping_neg() {
            0 => 0,
            first => F::WIRES.psm.all & !(first - 1),
        };
        self.blocks.resets.watchdog_reset(&mut self.sys);
        self.restart(mem, restarted);
        self.blocks.watchdog.watchdog_reset(&mut self.sys, timer);
        self.own.watchdog_reset();
        self.settle(mem);
        restarted & F::WIRES.psm.proc0 != 0
    }

    /// Resets the blocks in `blocks` (bits of PSM) and the peripherals that they hold.
    fn restart(&mut self, mem: &mut Memory<F, impl Architecture>, blocks: u32) {
        let (bit, resets) = (F::WIRES.psm, F::WIRES.resets);
        let pressed = self.blocks.io_qspi.bootsel_pressed;
        F::restart(self, blocks);
        // The clocks fall back to ROSC before RESETS stops the PLLs.
        if blocks & bit.clocks != 0 {
            self.blocks.clocks.reset(&mut self.sys);
            self.settle(mem);
        }
        if blocks & bit.rosc != 0 {
            self.blocks.rosc.reset(&mut self.sys);
        }
        if blocks & bit.xosc != 0 {
            self.blocks.xosc.reset(&mut self.sys);
        }
        if blocks & bit.resets != 0 {
            self.sys.held_in_reset = 0;
            self.blocks.resets.reset(&mut self.sys);
            self.sys.held_in_reset = resets;
            self.sys.entering_reset = resets;
            self.settle(mem);
            F::restart_psm(self);
        }
        if blocks & bit.xip != 0 {
            F::reset_xip(self, mem);
        }
        if blocks & bit.sio != 0 {
            self.sio.reset(&mut self.sys);
            self.sio_changed();
        }
        self.blocks.io_qspi.bootsel_pressed = pressed;
        self.settle(mem);
    }
}
