//! The modelled microcontrollers. No other file of this crate names one.

use sim::SettingError;

use crate::config::unknown;
use crate::wiring::Wiring;

pub use avr::{ATMEGA1284P_FACTS as ATMEGA1284P, ATMEGA2560_FACTS as ATMEGA2560};
pub(crate) use chip::mcu::Halt;
pub use chip::mcu::{ChipConfig, Debugged, Facts, Image, Mcu, RunEnd};
pub use chip::probe;
pub use rp::rp2040::FACTS as RP2040;
pub use rp::rp2350::{FACTS as RP2350, NO_BOOT_LOADER, RP2350B, RP2354A, RP2354B};

/// All kinds.
pub const ALL: &[&Facts] = &[&RP2040, &RP2350, &RP2350B, &RP2354A, &RP2354B, &ATMEGA2560, &ATMEGA1284P];

/// Returns the kind of that name. `Err`: it is not modelled.
pub fn named(name: &str) -> Result<&'static Facts, SettingError> {
    let found = ALL.iter().copied().find(|facts| facts.name == name);
    found.ok_or_else(|| unknown("mcu", name, ALL.iter().map(|facts| facts.name)))
}

/// Returns a microcontroller of the kind `facts` at power-on, with `world` on its pins.
pub(crate) fn power_up(facts: &Facts, config: &ChipConfig, world: Wiring) -> Box<dyn Mcu> {
    match facts.name {
        name if name == RP2040.name => Box::new(rp::rp2040::Chip::new(config, world)),
        name if name.starts_with("RP235") => Box::new(rp::rp2350::Rp2350::of(facts, config, world)),
        _ => Box::new(avr::Chip::of(facts, config, world)),
    }
}
