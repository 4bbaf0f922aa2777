//! Single wires between a device and the microcontroller.

use chip::Sys;
use sim::Device;

/// Returns the level of a wire that the device pulls up while the microcontroller does not drive it.
pub(crate) fn level(sys: &Sys, pin: u32) -> bool {
    sys.pins.output_enabled() & (1 << pin) == 0 || sys.pins.output() & (1 << pin) != 0
}

/// GPIO numbers of a device's pins in addition to its bus, both active low.
#[derive(Clone, Copy, Debug, Default)]
pub struct SidePins {
    /// GPIO of the device's reset pin.
    pub rstn: Option<u32>,
    /// GPIO of the device's interrupt pin.
    pub intn: Option<u32>,
}

impl SidePins {
    /// Returns the pin whose level the device follows, as a mask.
    pub(crate) fn watched(&self) -> u64 {
        self.rstn.map_or(0, |rstn| 1 << rstn)
    }

    pub(crate) fn sample_reset(&self, sys: &Sys, device: &mut (impl Device + ?Sized)) {
        if let Some(rstn) = self.rstn {
            device.set_reset(sys.now(), !level(sys, rstn));
        }
    }

    pub(crate) fn drive_interrupt(&self, sys: &mut Sys, device: &(impl Device + ?Sized)) {
        if let Some(intn) = self.intn {
            sys.pins.drive(intn, Some(!device.interrupt_low()));
        }
    }
}
