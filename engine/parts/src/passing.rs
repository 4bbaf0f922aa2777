//! How changes of pins and clocks pass between the parts of a chip.

use crate::clocks::Clocks;
use crate::io_bank0::IoBank0;
use crate::io_qspi::IoQspi;
use crate::pio::Pio;
use crate::pll::Pll;
use crate::pwm::Pwm;
use crate::rosc::Rosc;
use crate::spi::Spi;
use crate::uart::Uart;
use crate::xosc::Xosc;
use chip::{Sys, World};

/// Stops a ring oscillator from hanging the host.
const MOST_CHANGES: u32 = 8;

/// The parts of a chip that changes of pins and clocks reach.
#[expect(missing_docs, reason = "named as in the datasheet")]
pub struct Reached<'a> {
    pub io_bank0: &'a mut IoBank0,
    pub io_qspi: &'a mut IoQspi,
    pub xosc: &'a mut Xosc,
    pub rosc: &'a mut Rosc,
    pub pll: &'a mut [Pll; 2],
    pub clocks: &'a mut Clocks,
    pub uart: &'a mut [Uart; 2],
    pub spi: &'a mut [Spi; 2],
    pub pwm: &'a mut Pwm,
    pub pio: &'a mut [Pio],
}

impl Reached<'_> {
    /// Updates pins for a program that reads them: PWM, CLOCKS, UART and SPI only maintain pins that are watched. Returns
    /// whether pins may have changed.
    pub fn refresh_pins(&mut self, sys: &mut Sys) -> bool {
        let (by_pwm, by_clocks) = (self.pwm.drives_pins(sys), self.clocks.drives_pins(sys));
        let mut by_bits = false;
        for uart in &mut *self.uart {
            by_bits |= uart.refresh_pins(sys);
        }
        for spi in &mut *self.spi {
            by_bits |= spi.refresh_pins(sys);
        }
        if by_pwm {
            self.pwm.refresh_pins(sys);
        }
        if by_clocks {
            self.clocks.refresh_pins(sys);
        }
        by_pwm || by_clocks || by_bits
    }

    /// Tells the parts which pins are watched.
    pub fn watch(&mut self, sys: &mut Sys) {
        sys.watch_dirty = false;
        self.pwm.reschedule(sys);
        self.clocks.reschedule(sys);
        self.uart.iter_mut().for_each(|uart| uart.reschedule(sys));
        self.spi.iter_mut().for_each(|spi| spi.reschedule(sys));
    }

    /// Tells all parts and the world about changed pins, again for a change that this causes (a pin that loops back).
    /// Without clk_sys only the interrupts of pins answer.
    pub fn settle(&mut self, sys: &mut Sys, world: &mut dyn World) {
        for _ in 0..MOST_CHANGES {
            if std::mem::take(&mut sys.pins.input_dirty) {
                sys.trace_pins();
                self.io_bank0.input_changed(sys);
                if !sys.stopped() {
                    self.pio.iter_mut().for_each(|pio| pio.input_changed(sys));
                    self.pwm.input_changed(sys);
                    self.clocks.reschedule(sys);
                    self.uart.iter_mut().for_each(|uart| uart.input_changed(sys));
                }
            } else if std::mem::take(&mut sys.pins.world_dirty) {
                world.pins_changed(sys);
            } else {
                break;
            }
        }
    }

    /// Wakes dormant oscillators if a signal for that is high: DORMANT_WAKE of a pin, or `timer`.
    pub fn wake_oscillators(&mut self, sys: &mut Sys, timer: bool) {
        if self.io_bank0.wakes() || self.io_qspi.wakes() || timer {
            self.xosc.wake(sys);
            self.rosc.wake(sys);
        }
    }

    /// Recomputes the frequencies of all clocks.
    pub fn update_clocks(&mut self, sys: &mut Sys) {
        self.rosc.update(sys);
        sys.clock_sources_dirty = false;
        self.pll.iter_mut().for_each(|pll| pll.update(sys));
        self.clocks.update(sys);
    }

    /// Recomputes the events of PWM and PIO at new frequencies, and tells the chip's loop.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        self.pwm.reschedule(sys);
        self.pio.iter_mut().for_each(|pio| pio.clocks_changed(sys));
        sys.clocks_changed = true;
        sys.attention = true;
    }
}
