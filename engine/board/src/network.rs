//! The board's network chip with its cable or air, and the other end.

use attribution::state;
use chip::Sys;
use chip::trace::{Record, kind};
use lan::Lan;
use sim::snapshot::{self, Refused, Torn};
use sim::{Device, EthernetChip, EthernetStats, NEVER, Ps, SettingError, SpiDevice, SpiFrame};

use crate::attributed::Radio;
use crate::chip::EthernetPart;
use crate::config::BoardConfig;
use crate::spi_port::SpiPort;
use crate::wifi_port::WifiPort;

/// The board's connection to its network.
enum Way {
    Cable(SpiPort<EthernetPart>),
    Air(WifiPort),
}

/// The board's way to its LAN: an Ethernet chip with a cable, or a radio chip with the air.
pub struct Network {
    way: Way,
    /// The LAN with the simulated PC.
    pub lan: Lan,
    /// The cable is plugged in, or the access point is in range.
    plugged: bool,
}

impl Network {
    /// Creates the network; `None`: the board has no network chip.
    pub(crate) fn new(config: &BoardConfig) -> Result<Option<Self>, SettingError> {
        let plugged = config.phy.cable_plugged;
        let mut lan = Lan::try_new(config.lan.clone())?;
        let way = if let Some(ethernet) = &config.ethernet {
            let mut chip = EthernetPart::new(ethernet.chip, config.phy.clone());
            chip.set_cable(0, plugged && lan.cable_up(0));
            Way::Cable(SpiPort::new(ethernet.wires, chip))
        } else if let Some(wifi) = &config.wifi {
            let mut port = WifiPort::new(wifi)?;
            port.air.set_up(0, plugged && lan.cable_up(0));
            Way::Air(port)
        } else {
            return Ok(None);
        };
        if let Some(path) = &config.capture {
            let failed = |error| {
                SettingError::new(format!("{}: cannot write the capture", path.display()), "", format!("{error}"))
            };
            lan.capture_to(path).map_err(failed)?;
        }
        Ok(Some(Self { way, lan, plugged }))
    }

    /// Appends the state of chip and LAN to a snapshot. `Err`: the LAN's cannot be saved.
    pub(crate) fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        match &self.way {
            Way::Cable(port) => {
                port.save(to);
                port.device.save(to);
            }
            Way::Air(port) => snapshot::save(port, to),
        }
        snapshot::save(&self.plugged, to);
        self.lan.save(to)
    }

    /// Restores a new network with the same settings.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        match &mut self.way {
            Way::Cable(port) => {
                port.restore(from)?;
                port.device.restore(from)?;
            }
            Way::Air(port) => snapshot::restore(port, from)?,
        }
        snapshot::restore(&mut self.plugged, from)?;
        self.lan.restore(from)
    }

    pub(crate) fn ethernet(&self) -> Option<&SpiPort<EthernetPart>> {
        match &self.way {
            Way::Cable(port) => Some(port),
            Way::Air(_) => None,
        }
    }

    pub(crate) fn ethernet_mut(&mut self) -> Option<&mut SpiPort<EthernetPart>> {
        match &mut self.way {
            Way::Cable(port) => Some(port),
            Way::Air(_) => None,
        }
    }

    /// Returns the Ethernet chip, if the network is a cable.
    pub fn chip_mut(&mut self) -> Option<&mut EthernetPart> {
        self.ethernet_mut().map(|port| &mut port.device)
    }

    pub(crate) fn wifi(&self) -> Option<&WifiPort> {
        match &self.way {
            Way::Cable(_) => None,
            Way::Air(port) => Some(port),
        }
    }

    pub(crate) fn wifi_mut(&mut self) -> Option<&mut WifiPort> {
        match &mut self.way {
            Way::Cable(_) => None,
            Way::Air(port) => Some(port),
        }
    }

    fn device(&self) -> &dyn Device {
        match &self.way {
            Way::Cable(port) => &port.device,
            Way::Air(port) => &port.chip,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.device().name()
    }

    /// Returns the chip's SPI controller; `None`: it uses none.
    pub fn spi(&self) -> Option<usize> {
        self.ethernet()?.wires.spi
    }

    /// Returns the traffic of the board's network chip.
    pub fn stats(&self) -> EthernetStats {
        match &self.way {
            Way::Cable(port) => port.device.stats(),
            Way::Air(port) => port.chip.stats(),
        }
    }

    /// Returns the number of frames dropped between chip and PC for lack of space.
    pub fn dropped(&self) -> u64 {
        self.lan.stats().dropped + self.wifi().map_or(0, |port| port.air.stats().dropped)
    }

    /// Returns whether frames can pass at `now`.
    pub fn link_up(&self, now: Ps) -> bool {
        match &self.way {
            Way::Cable(port) => port.device.link_up(now),
            Way::Air(port) => port.chip.link_up(),
        }
    }

    pub(crate) fn set_log(&mut self, on: bool) {
        match &mut self.way {
            Way::Cable(port) => port.device.set_log(on),
            Way::Air(port) => port.chip.set_log(on),
        }
    }

    pub(crate) fn take_log(&mut self) -> Vec<SpiFrame> {
        match &mut self.way {
            Way::Cable(port) => port.device.take_log(),
            Way::Air(port) => port.chip.take_log(),
        }
    }

    pub(crate) fn watched(&self) -> u64 {
        match &self.way {
            Way::Cable(port) => port.watched(),
            Way::Air(port) => port.watched(),
        }
    }

    /// Passes the levels of the pins. Returns whether there may be something to settle.
    pub(crate) fn sample_pins(&mut self, sys: &mut Sys) -> bool {
        match &mut self.way {
            Way::Cable(port) => {
                port.sample_pins(sys);
                port.device.take_touched()
            }
            Way::Air(port) => {
                port.follow(sys);
                true
            }
        }
    }

    pub(crate) fn set_cable(&mut self, now: Ps, plugged: bool) {
        self.plugged = plugged;
        match &mut self.way {
            Way::Cable(port) => port.device.set_cable(now, plugged),
            Way::Air(port) => port.air.set_up(now, plugged),
        }
    }

    /// Starts or stops recording the frames' places between radio chip and cable.
    pub(crate) fn log_radio(&mut self, on: bool) {
        if let Way::Air(port) = &mut self.way {
            port.air.log_passages(on);
        }
    }

    /// Takes the recording since the last call. `None`: there is no radio.
    pub(crate) fn take_radio(&mut self) -> Option<Radio> {
        let Way::Air(port) = &mut self.way else { return None };
        let passages = port.air.take_passages();
        Some(Radio { passages, clocked: port.chip.take_clocked() })
    }

    /// Returns the state for the recorder of an attribution of time.
    pub(crate) fn attributed(&self, now: Ps) -> u8 {
        let selected = match &self.way {
            Way::Cable(port) => port.is_selected(),
            Way::Air(port) => port.chip.is_selected(),
        };
        let selected = if selected { state::SELECTED } else { 0 };
        selected | if self.link_up(now) { state::LINK } else { 0 }
    }

    /// Exchanges one SPI byte. Returns it, and whether there may be something to settle.
    pub(crate) fn exchange(&mut self, sys: &mut Sys, mosi: u8) -> (u8, bool) {
        let Some(port) = self.ethernet_mut() else { return (0xff, false) };
        (port.device.exchange(sys.now(), mosi), port.device.take_touched())
    }

    /// Moves frames between chip and cable and drives INTn. Returns the time of the next event.
    pub(crate) fn settle(&mut self, sys: &mut Sys) -> Ps {
        let now = sys.now();
        let (next, unmodelled) = match &mut self.way {
            Way::Cable(port) => {
                while let Some((at, frame)) = port.device.take_frame() {
                    trace_frame(sys, at, true, frame.len());
                    self.lan.from_board(at, &frame);
                }
                port.wires.side.drive_interrupt(sys, &port.device);
                (port.device.next_event().unwrap_or(NEVER), port.device.take_unmodelled())
            }
            Way::Air(port) => {
                let next = port.settle();
                port.drive(sys);
                (next, port.chip.take_unmodelled())
            }
        };
        if let Some(what) = unmodelled {
            sys.unmodelled(what);
        }
        let lan = self.lan.next_event().unwrap_or(NEVER);
        let next = self.lan.next_cable_change(now).unwrap_or(NEVER).min(next);
        // A frame of another board may be announced before or after the instruction during which it arrives.
        if self.lan.is_switched() { next.max(now).min(lan) } else { next.min(lan).max(now) }
    }

    /// Handles an event of the chip or the cable.
    pub(crate) fn advance(&mut self, sys: &mut Sys) {
        let now = sys.now();
        let there = self.plugged && self.lan.cable_up(now);
        match &mut self.way {
            Way::Cable(port) => {
                let chip = &mut port.device;
                chip.set_cable(now, there);
                chip.advance(now);
                self.lan.advance(now);
                while let Some(frame) = self.lan.to_board(now) {
                    trace_frame(sys, now, false, frame.len());
                    chip.receive_frame(now, &frame);
                }
            }
            Way::Air(port) => {
                port.air.set_up(now, there);
                port.advance(now);
                while let Some((at, frame)) = port.air.to_cable() {
                    trace_frame(sys, at, true, frame.len());
                    self.lan.from_board(at, &frame);
                }
                self.lan.advance(now);
                while let Some(frame) = self.lan.to_board(now) {
                    trace_frame(sys, now, false, frame.len());
                    port.air.from_cable(now, frame);
                }
            }
        }
    }
}

fn trace_frame(sys: &mut Sys, at: Ps, from_board: bool, len: usize) {
    if sys.trace.wants(kind::LAN) {
        sys.trace.push(at, Record::Lan { from_board, len: len as u16 });
    }
}
