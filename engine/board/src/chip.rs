//! The chips available for boards.

use sim::snapshot::{self, Torn};
use sim::{Device, EthernetChip, EthernetStats, Lanes, Ps, SettingError, SpiDevice, SpiFrame};

use crate::config::unknown;

/// Modelled radio chips.
pub const RADIOS: &[&str] = &[cyw43::Cyw43439::NAME];

/// The Ethernet chips, by variant and type; `$` for the parameters of the macro within.
macro_rules! ethernet_chips {
    ($d:tt $($chip:ident: $part:ty,)+) => {
        /// Modelled chips other than the microcontroller.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Chip {
            $(#[doc = concat!("WIZnet's ", stringify!($chip), ".")] $chip,)+
        }

        impl Chip {
            /// All modelled chips.
            pub const ALL: &[Chip] = &[$(Chip::$chip,)+];

            /// Returns the part's name as WIZnet writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$chip => <$part>::NAME,)+
                }
            }
        }

        /// An Ethernet chip on SPI. An enum, so that no SPI byte costs an indirect call.
        pub enum EthernetPart {
            $(#[doc = concat!("WIZnet's ", stringify!($chip), ".")] $chip($part),)+
        }

        impl EthernetPart {
            /// Returns the chip at power-up.
            pub fn new(chip: Chip, config: wiznet::Config) -> Self {
                match chip {
                    $(Chip::$chip => Self::$chip(<$part>::new(config)),)+
                }
            }
        }

        /// Passes a call to the chip of any type.
        macro_rules! chip {
            ($d part:expr, $d chip:ident => $d call:expr) => {
                match $d part {
                    $(EthernetPart::$chip($d chip) => $d call,)+
                }
            };
        }
    };
}

ethernet_chips! { $
    W5500: wiznet::W5500,
    W5100S: wiznet::chip::w5100s::W5100S,
    W5100: wiznet::chip::w5100::W5100,
    W5200: wiznet::chip::w5200::W5200,
}

impl Chip {
    /// Returns the chip of that name. `Err`: it is not modelled.
    pub fn named(name: &str) -> Result<Self, SettingError> {
        let found = Self::ALL.iter().copied().find(|chip| chip.name() == name);
        found.ok_or_else(|| unknown("chip", name, Self::ALL.iter().map(|chip| chip.name())))
    }
}

impl EthernetPart {
    /// Appends the chip's state to a snapshot.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        chip!(self, chip => snapshot::save(chip, to));
    }

    /// Restores a new chip of the same kind and settings.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        chip!(self, chip => snapshot::restore(chip, from))
    }
}

impl Device for EthernetPart {
    fn name(&self) -> &'static str {
        chip!(self, chip => chip.name())
    }

    fn set_reset(&mut self, now: Ps, low: bool) {
        chip!(self, chip => chip.set_reset(now, low));
    }

    fn interrupt_low(&self) -> bool {
        chip!(self, chip => chip.interrupt_low())
    }

    fn next_event(&self) -> Option<Ps> {
        chip!(self, chip => chip.next_event())
    }

    fn take_touched(&mut self) -> bool {
        chip!(self, chip => chip.take_touched())
    }

    fn take_unmodelled(&mut self) -> Option<String> {
        chip!(self, chip => chip.take_unmodelled())
    }

    fn advance(&mut self, now: Ps) {
        chip!(self, chip => chip.advance(now));
    }
}

impl SpiDevice for EthernetPart {
    fn select(&mut self, now: Ps, low: bool) {
        chip!(self, chip => chip.select(now, low));
    }

    fn exchange(&mut self, now: Ps, mosi: u8) -> u8 {
        chip!(self, chip => chip.exchange(now, mosi))
    }

    fn lanes(&self) -> Lanes {
        chip!(self, chip => chip.lanes())
    }

    fn clocked(&mut self, byte: Ps) {
        chip!(self, chip => chip.clocked(byte));
    }

    fn set_log(&mut self, on: bool) {
        chip!(self, chip => chip.set_log(on));
    }

    fn take_log(&mut self) -> Vec<SpiFrame> {
        chip!(self, chip => chip.take_log())
    }
}

impl EthernetChip for EthernetPart {
    fn take_frame(&mut self) -> Option<(Ps, Vec<u8>)> {
        chip!(self, chip => chip.take_frame())
    }

    fn receive_frame(&mut self, now: Ps, frame: &[u8]) {
        chip!(self, chip => chip.receive_frame(now, frame));
    }

    fn set_cable(&mut self, now: Ps, plugged: bool) {
        chip!(self, chip => chip.set_cable(now, plugged));
    }

    fn link_up(&self, now: Ps) -> bool {
        chip!(self, chip => chip.link_up(now))
    }

    fn stats(&self) -> EthernetStats {
        chip!(self, chip => chip.stats())
    }
}
