//! The modelled microcontrollers. No other file of this crate names one.

use attribution::Recording;
use sim::Ps;
use sim::snapshot::{Refused, Torn};

use parts::Sys;
use parts::debug::{Debug, Place};
use parts::probe::{Probes, Profiled, Seen};
use parts::world::World;
use parts::xip_cache::XipCache;

pub use avr::{ATMEGA1284P_FACTS as ATMEGA1284P, ATMEGA2560_FACTS as ATMEGA2560};
pub use parts::mcu::{ChipConfig, Debugged, Facts, Image, Mcu, RunEnd};
pub(crate) use parts::mcu::{Contents, Halt, Reached};
pub use parts::probe;
pub use rp2040::FACTS as RP2040;
pub use rp2350::{FACTS as RP2350, NO_BOOT_LOADER};

/// Passes calls to the chip of any kind: `&` for a method that changes nothing, `mut` for another.
macro_rules! pass {
    () => {};
    (& $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?; $($rest:tt)*) => {
        fn $name(&self $(, $argument: $type)*) $(-> $result)? {
            match self {
                Self::Rp2040(chip) => chip.$name($($argument),*),
                Self::Rp2350(chip) => chip.$name($($argument),*),
                Self::Avr(chip) => chip.$name($($argument),*),
            }
        }
        pass! { $($rest)* }
    };
    (mut $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?; $($rest:tt)*) => {
        fn $name(&mut self $(, $argument: $type)*) $(-> $result)? {
            match self {
                Self::Rp2040(chip) => chip.$name($($argument),*),
                Self::Rp2350(chip) => chip.$name($($argument),*),
                Self::Avr(chip) => chip.$name($($argument),*),
            }
        }
        pass! { $($rest)* }
    };
}

/// A microcontroller of any modelled kind. An enum, so that a board's chip is a setting.
pub enum AnyChip<W> {
    /// Two Cortex-M0+.
    Rp2040(Box<rp2040::Chip<W>>),
    /// Two Cortex-M33 or two Hazard3.
    Rp2350(rp2350::Rp2350<W>),
    /// An AVR core.
    Avr(Box<avr::Chip<W>>),
}

/// All kinds.
pub const ALL: &[&Facts] = &[&RP2040, &RP2350, &ATMEGA2560, &ATMEGA1284P];

/// Returns the kind of that name; `None`: it is not modelled.
pub fn named(name: &str) -> Option<&'static Facts> {
    ALL.iter().copied().find(|facts| facts.name == name)
}

impl<W: World + 'static> AnyChip<W> {
    /// Starts a profile of each instruction and call, or of samples every `sample_cycles` of clk_sys if that is not 0.
    /// `starts`: addresses at which functions begin. `Err`: the chip has none.
    pub fn start_profile(&mut self, sample_cycles: u64, starts: Vec<u32>) -> Result<(), String> {
        let name = self.facts().name;
        let Some((probes, xip, cores)) = self.probed() else {
            return Err(format!("{name}: no profile of this core; use a board with an RP2040 or an RP2350"));
        };
        probes.start_profile(xip, cores, sample_cycles != 0, starts);
        if sample_cycles != 0 {
            self.sample_pc(sample_cycles);
        }
        Ok(())
    }

    /// Ends the profile and takes it.
    pub fn take_profile(&mut self) -> Profiled {
        let Some((probes, xip, _)) = self.probed() else { return Profiled::default() };
        let profiled = probes.take_profile(xip);
        if profiled.exact.is_none() {
            self.sample_pc(0);
        }
        profiled
    }
}

impl<W: World + 'static> Mcu<W> for AnyChip<W> {
    fn new(facts: &Facts, config: &ChipConfig, world: W) -> Self {
        match facts.name {
            name if name == RP2040.name => Self::Rp2040(Box::new(rp2040::Chip::new(config, world))),
            name if name == RP2350.name => Self::Rp2350(rp2350::Rp2350::new(config, world)),
            _ => Self::Avr(Box::new(Mcu::new(facts, config, world))),
        }
    }

    pass! {
        & now() -> Ps;
        & settled() -> Ps;
        mut run_until(until: Ps) -> RunEnd;
        mut run_no_further_than(until: Ps) -> RunEnd;
        mut sys() -> &mut Sys;
        mut world() -> &mut W;
        mut reached() -> Reached<'_, W>;
        mut settle_pins();
        mut refresh_pins();
        mut interpret_only();
        & sck_hz(spi: usize) -> u64;
        mut xip() -> Option<&mut XipCache>;
        mut set_flash_id(id: [u8; 8]);
        & flash() -> &[u8];
        & save(to: &mut Vec<u8>) -> Result<(), Refused>;
        mut restore(from: &mut &[u8]) -> Result<(), Torn>;
        & flash_generation() -> u64;
        & counts(core: usize) -> (u64, u64);
        mut start_trace(mask: u32, limit: usize);
        mut sample_pc(cycles: u64);
        mut probed() -> Option<(&mut Probes, &mut XipCache, [Seen; 2])>;
        mut start_recording(limit: usize);
        mut stop_recording() -> Option<Recording>;
    }
}

impl<W: World + 'static> Debugged for AnyChip<W> {
    pass! {
        & facts() -> &'static Facts;
        & registers(core: usize) -> Vec<u32>;
        mut set_registers(core: usize, registers: &[u32]);
        & state(core: usize) -> String;
        & memories() -> Vec<Contents<'_>>;
        mut poke(address: u32, data: &[u8]) -> bool;
        mut reset_cores();
        & place(core: usize) -> Place;
        mut debug() -> &mut Debug;
    }
}
