//! What is soldered to the RP2040 of the board: the W5500 with its cable, and the USB port.

use lan::{Lan, LanError};
use rp2040::pins::function;
use rp2040::sys::{EventId, Sys};
use rp2040::trace::{Record, kind};
use rp2040::{Inputs, UsbPort, World};
use sim::{Device, EthernetChip, NEVER, Ps, SpiDevice};
use usb_host::UsbHost;
use w5500::W5500;

use crate::agenda::Agenda;
use crate::bit_spi::{BitSpi, Edge};
use crate::config::{BoardConfig, W5500Pins};

/// The board around the chip.
pub struct Wiring {
    pins: W5500Pins,
    pub w5500: W5500,
    pub lan: Lan,
    pub usb: UsbHost,
    selected: bool,
    /// The cable is in the board's socket.
    pub plugged: bool,
    bit_spi: BitSpi,
    agenda: Agenda,
}

/// Slots of the agenda.
const NETWORK: usize = 0;
const USB: usize = 1;
const SLOTS: usize = 2;

impl Wiring {
    pub fn new(config: &BoardConfig) -> Result<Self, LanError> {
        let mut lan = Lan::try_new(config.lan.clone())?;
        if let Some(path) = &config.capture {
            lan.capture_to(path).map_err(|e| LanError(format!("{}: cannot write the capture: {e}", path.display())))?;
        }
        Ok(Self {
            pins: config.pins,
            w5500: W5500::new(config.w5500.clone()),
            lan,
            usb: UsbHost::new(config.usb.clone()),
            selected: false,
            plugged: config.w5500.cable_plugged,
            bit_spi: BitSpi::default(),
            agenda: Agenda::new(SLOTS),
        })
    }

    /// Schedules the first events of the world.
    pub fn start(&mut self, sys: &mut Sys) {
        self.network(sys);
        self.schedule_usb(sys);
        self.sample_pins(sys);
    }

    /// Level on a wire that the W5500's own pull-up keeps high while the RP2040 does not drive it.
    fn wire(&self, sys: &Sys, pin: u32) -> bool {
        sys.pins.output_enabled() & (1 << pin) == 0 || sys.pins.output() & (1 << pin) != 0
    }

    fn sample_pins(&mut self, sys: &mut Sys) {
        let now = sys.now();
        self.w5500.set_reset(now, !self.wire(sys, self.pins.rstn));
        let selected = !self.wire(sys, self.pins.csn);
        if selected != self.selected {
            self.selected = selected;
            self.w5500.select(now, selected);
            self.bit_spi.select();
        }
        self.network(sys);
    }

    fn exchange(&mut self, sys: &mut Sys, mosi: u8) -> u8 {
        let miso = self.w5500.exchange(sys.now(), mosi);
        self.network(sys);
        miso
    }

    /// Moves frames between chip and cable, and brings INTn and the next event up to date.
    pub fn network(&mut self, sys: &mut Sys) {
        let now = sys.now();
        while let Some((at, frame)) = self.w5500.take_frame() {
            self.trace_frame(sys, at, true, frame.len());
            self.lan.from_board(at, &frame);
        }
        sys.pins.drive(self.pins.intn, Some(!self.w5500.interrupt_low()));
        let next = [self.w5500.next_event(), self.lan.next_event(), self.lan.next_cable_change(now)];
        let due = next.into_iter().flatten().min().unwrap_or(NEVER).max(now);
        self.schedule(sys, NETWORK, due);
    }

    fn network_event(&mut self, sys: &mut Sys) {
        let now = sys.now();
        self.w5500.set_cable(now, self.plugged && self.lan.cable_up(now));
        self.w5500.advance(now);
        self.lan.advance(now);
        while let Some(frame) = self.lan.to_board(now) {
            self.trace_frame(sys, now, false, frame.len());
            self.w5500.receive_frame(now, &frame);
        }
        self.network(sys);
        // An event that is due at this very moment has been handled; anything new comes later.
        if self.agenda.due(NETWORK) <= now {
            self.schedule(sys, NETWORK, now + 1);
        }
    }

    fn trace_frame(&self, sys: &mut Sys, at: Ps, from_board: bool, len: usize) {
        if sys.trace.wants(kind::LAN) {
            sys.trace.push(at, Record::Lan { from_board, len: len as u16 });
        }
    }

    pub fn schedule_usb(&mut self, sys: &mut Sys) {
        self.schedule(sys, USB, self.usb.next_event().unwrap_or(NEVER));
    }

    fn schedule(&mut self, sys: &mut Sys, slot: usize, at: Ps) {
        if self.agenda.due(slot) != at {
            self.agenda.set(slot, at);
            sys.schedule(EventId::World, self.agenda.next());
        }
    }
}

impl World for Wiring {
    fn spi_frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> u16 {
        let connected = spi == self.pins.spi && sys.pins.is_selected(self.pins.sck, function::SPI);
        if !connected || !self.selected {
            // Nothing drives MISO.
            return ((1u32 << bits) - 1) as u16;
        }
        let mosi = if sys.pins.is_selected(self.pins.mosi, function::SPI) { mosi } else { 0 };
        let miso = match bits {
            8 => u16::from(self.exchange(sys, mosi as u8)),
            16 => {
                let high = u16::from(self.exchange(sys, (mosi >> 8) as u8));
                (high << 8) | u16::from(self.exchange(sys, mosi as u8))
            }
            // The W5500 counts bytes; other frame lengths only shift its answers out of place.
            _ => u16::from(self.exchange(sys, mosi as u8)),
        };
        if sys.pins.is_selected(self.pins.miso, function::SPI) { miso } else { 0 }
    }

    fn pins_changed(&mut self, sys: &mut Sys) {
        self.sample_pins(sys);
        if !self.selected || sys.pins.is_selected(self.pins.sck, function::SPI) {
            return;
        }
        let level = sys.pins.level();
        match self.bit_spi.pins(level & (1 << self.pins.sck) != 0, level & (1 << self.pins.mosi) != 0) {
            Edge::Nothing => {}
            Edge::Miso(high) => sys.pins.drive(self.pins.miso, Some(high)),
            Edge::Byte(mosi) => {
                let miso = self.exchange(sys, mosi);
                self.bit_spi.answer(miso);
            }
        }
    }

    /// One slot at a time: what it causes in the chip comes before the next slot of the same time.
    fn event(&mut self, sys: &mut Sys, inputs: Inputs<'_>) {
        let now = sys.now();
        if self.agenda.take(now) == Some(NETWORK) {
            self.network_event(sys);
        } else {
            self.usb.advance(now, &mut UsbPort { sys, usb: inputs.usb });
            self.schedule_usb(sys);
        }
        sys.schedule(EventId::World, self.agenda.next());
    }
}
