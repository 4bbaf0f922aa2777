//! The board's Ethernet chip with its cable and what is at the other end.

use attribution::state;
use lan::{Lan, LanError};
use rp2040::Sys;
use rp2040::trace::{Record, kind};
use sim::{Device, EthernetChip, NEVER, Ps, SpiDevice};

use crate::chip::EthernetPart;
use crate::config::{BoardConfig, EthernetConfig};
use crate::spi_port::SpiPort;

pub struct Network {
    pub(crate) port: SpiPort<EthernetPart>,
    pub lan: Lan,
    /// The cable is in the board's socket.
    plugged: bool,
}

impl Network {
    pub(crate) fn new(config: &BoardConfig, ethernet: &EthernetConfig) -> Result<Self, LanError> {
        let mut lan = Lan::try_new(config.lan.clone())?;
        if let Some(path) = &config.capture {
            lan.capture_to(path).map_err(|e| LanError(format!("{}: cannot write the capture: {e}", path.display())))?;
        }
        let mut chip = EthernetPart::new(ethernet.chip, config.phy.clone());
        chip.set_cable(0, config.phy.cable_plugged && lan.cable_up(0));
        Ok(Self { port: SpiPort::new(ethernet.wires, chip), lan, plugged: config.phy.cable_plugged })
    }

    pub fn chip(&self) -> &EthernetPart {
        &self.port.device
    }

    pub fn chip_mut(&mut self) -> &mut EthernetPart {
        &mut self.port.device
    }

    /// The SPI controller that the chip is on.
    pub fn spi(&self) -> usize {
        self.port.wires.spi
    }

    pub(crate) fn set_cable(&mut self, now: Ps, plugged: bool) {
        self.plugged = plugged;
        self.port.device.set_cable(now, plugged);
    }

    /// For the recorder of an attribution of time.
    pub(crate) fn attributed(&self, now: Ps) -> u8 {
        let selected = if self.port.is_selected() { state::SELECTED } else { 0 };
        selected | if self.chip().link_up(now) { state::LINK } else { 0 }
    }

    /// One SPI byte.
    pub(crate) fn exchange(&mut self, sys: &mut Sys, mosi: u8) -> u8 {
        self.port.device.exchange(sys.now(), mosi)
    }

    /// Moves frames between chip and cable and drives INTn. Returns the time of the next event.
    pub(crate) fn settle(&mut self, sys: &mut Sys) -> Ps {
        let now = sys.now();
        while let Some((at, frame)) = self.port.device.take_frame() {
            trace_frame(sys, at, true, frame.len());
            self.lan.from_board(at, &frame);
        }
        self.port.wires.side.drive_interrupt(sys, &self.port.device);
        if let Some(what) = self.port.device.take_unmodelled() {
            sys.unmodelled(what);
        }
        let next = [self.port.device.next_event(), self.lan.next_event(), self.lan.next_cable_change(now)];
        next.into_iter().flatten().min().unwrap_or(NEVER).max(now)
    }

    /// The chip or the cable has something to do.
    pub(crate) fn advance(&mut self, sys: &mut Sys) {
        let now = sys.now();
        let chip = &mut self.port.device;
        chip.set_cable(now, self.plugged && self.lan.cable_up(now));
        chip.advance(now);
        self.lan.advance(now);
        while let Some(frame) = self.lan.to_board(now) {
            trace_frame(sys, now, false, frame.len());
            chip.receive_frame(now, &frame);
        }
    }
}

fn trace_frame(sys: &mut Sys, at: Ps, from_board: bool, len: usize) {
    if sys.trace.wants(kind::LAN) {
        sys.trace.push(at, Record::Lan { from_board, len: len as u16 });
    }
}
