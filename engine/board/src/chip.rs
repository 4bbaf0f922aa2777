//! The chips that a board can be made of.

use sim::{Device, EthernetChip, EthernetStats, Ps, SpiDevice, SpiFrame};
use wiznet::W5500;
use wiznet::chip::{Model, w5500::W5500Model};

/// Microcontrollers that are modelled.
pub const MCUS: &[&str] = &["RP2040"];

/// Chips beside the microcontroller that are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chip {
    W5500,
}

impl Chip {
    pub const ALL: &[Chip] = &[Chip::W5500];

    pub fn name(self) -> &'static str {
        match self {
            Self::W5500 => W5500Model::NAME,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|chip| chip.name() == name)
    }
}

/// An Ethernet chip on SPI. An enum, so that no SPI byte costs an indirect call.
pub enum EthernetPart {
    W5500(W5500),
}

/// Passes a call on to the chip, whichever it is.
macro_rules! chip {
    ($part:expr, $chip:ident => $call:expr) => {
        match $part {
            EthernetPart::W5500($chip) => $call,
        }
    };
}

impl EthernetPart {
    pub fn new(chip: Chip, config: wiznet::Config) -> Self {
        match chip {
            Chip::W5500 => Self::W5500(W5500::new(config)),
        }
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
