//! An SD card connected to an SPI bus.

use chip::Sys;
use sd_card::Card;
use sim::{Device, NEVER, Ps, SpiDevice};

use crate::config::CardSocketConfig;
use crate::spi_port::{SpiPort, exchange_frame};

/// A socket with an SD card on an SPI bus.
pub struct CardSocket {
    pub(crate) port: SpiPort<Card>,
}

impl CardSocket {
    /// Returns a socket whose card has just got power.
    pub fn new(config: &CardSocketConfig) -> Self {
        Self { port: SpiPort::new(config.wires, Card::new(&config.card)) }
    }

    /// Returns the card, for its usage and medium.
    pub fn card(&self) -> &Card {
        &self.port.device
    }

    /// Handles the card's part of a frame of controller `spi`; `None`: the card is not addressed.
    pub(crate) fn frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> Option<u16> {
        if !self.port.hears(sys, spi) {
            return None;
        }
        let (now, mosi) = (sys.now(), self.port.mosi(sys, mosi));
        let miso = exchange_frame(mosi, bits, |byte| self.port.device.exchange(now, byte));
        let (time, halves) = sys.spi_shifted;
        self.port.device.clocked(time * 2 * u64::from(bits) / halves);
        Some(self.port.miso(sys, miso))
    }

    /// Follows SCK driven by GPIO or PIO; returns whether a byte was transferred.
    pub(crate) fn follow_clock(&mut self, sys: &mut Sys) -> bool {
        let Some(mosi) = self.port.follow_clock(sys) else { return false };
        let miso = self.port.device.exchange(sys.now(), mosi);
        self.port.answer(miso);
        true
    }

    /// Returns the time of the next event.
    pub(crate) fn settle(&mut self, sys: &mut Sys) -> Ps {
        if let Some(what) = self.port.device.take_unmodelled() {
            sys.unmodelled(what);
        }
        self.port.device.next_event().unwrap_or(NEVER).max(sys.now())
    }
}
