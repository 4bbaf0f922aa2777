//! A device connected to an SPI bus.

use chip::Sys;
use chip::pins::function;
use sim::snapshot::{self, Torn};
use sim::{Lanes, SpiDevice};

use crate::bit_spi::{BitSpi, Edge};
use crate::wires::{SidePins, level};

/// GPIO numbers of a device on SPI.
#[derive(Clone, Copy, Debug)]
pub struct SpiWires {
    /// SPI controller, 0 or 1; `None`: PIO or GPIO drive the pins.
    pub spi: Option<usize>,
    /// GPIO of SCK.
    pub sck: u32,
    /// GPIO of MOSI, or IO0.
    pub mosi: u32,
    /// GPIO of MISO, or IO1.
    pub miso: u32,
    /// GPIOs of IO2 and IO3 of a device with four lanes.
    pub io: Option<[u32; 2]>,
    /// GPIO of the chip select, active low.
    pub csn: u32,
    /// The device's reset and interrupt pins.
    pub side: SidePins,
}

impl SpiWires {
    /// Returns the wired pins, by their settings.
    pub(crate) fn pins(&self) -> impl Iterator<Item = (&'static str, u32)> + use<> {
        let bus = [("sck_pin", self.sck), ("mosi_pin", self.mosi), ("miso_pin", self.miso), ("csn_pin", self.csn)];
        let [io2, io3] = [0, 1].map(|at| self.io.map(|io| io[at]));
        let more = [("io2_pin", io2), ("io3_pin", io3), ("rstn_pin", self.side.rstn), ("intn_pin", self.side.intn)];
        bus.into_iter().chain(more.into_iter().filter_map(|(key, pin)| Some((key, pin?))))
    }

    /// Returns the data pins from IO0 on.
    fn data(&self) -> impl Iterator<Item = u32> + use<> {
        [self.mosi, self.miso].into_iter().chain(self.io.into_iter().flatten())
    }
}

pub(crate) struct SpiPort<D: ?Sized> {
    pub(crate) wires: SpiWires,
    selected: bool,
    bits: BitSpi,
    pub(crate) device: D,
}

impl<D: SpiDevice> SpiPort<D> {
    pub(crate) fn new(wires: SpiWires, device: D) -> Self {
        Self { wires, selected: false, bits: BitSpi::default(), device }
    }
}

impl<D: SpiDevice + ?Sized> SpiPort<D> {
    /// Appends the state of all but the device to a snapshot.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        snapshot::save(&self.selected, to);
        snapshot::save(&self.bits, to);
    }

    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.selected, from)?;
        snapshot::restore(&mut self.bits, from)
    }

    /// Returns the pins whose levels the device follows, as a mask.
    pub(crate) fn watched(&self) -> u64 {
        let SpiWires { sck, mosi, csn, io, side, .. } = self.wires;
        io.into_iter().flatten().fold(1 << sck | 1 << mosi | 1 << csn | side.watched(), |pins, pin| pins | 1 << pin)
    }

    /// Passes on the levels of reset and chip select.
    pub(crate) fn sample_pins(&mut self, sys: &mut Sys) {
        self.wires.side.sample_reset(sys, &mut self.device);
        let selected = !level(sys, self.wires.csn);
        if selected != self.selected {
            self.selected = selected;
            self.device.select(sys.now(), selected);
            if self.bits.lanes.count > 1 {
                self.wires.data().for_each(|pin| sys.pins.drive(pin, None));
            }
            self.bits.select(self.device.lanes());
        }
    }

    pub(crate) fn is_selected(&self) -> bool {
        self.selected
    }

    /// Returns whether the device receives frames of controller `spi`.
    pub(crate) fn hears(&self, sys: &Sys, spi: usize) -> bool {
        self.selected && Some(spi) == self.wires.spi && sys.pins.is_selected(self.wires.sck, function::SPI)
    }

    /// Returns the device's input for a frame's MOSI.
    pub(crate) fn mosi(&self, sys: &Sys, mosi: u16) -> u16 {
        if sys.pins.is_selected(self.wires.mosi, function::SPI) { mosi } else { 0 }
    }

    /// Tells the device the clock of the frame that has just ended.
    pub(crate) fn clocked(&mut self, sys: &Sys) {
        let (time, halves) = sys.spi_shifted;
        self.device.clocked(time * 16 / halves);
    }

    /// Returns the controller's input for the device's MISO.
    pub(crate) fn miso(&self, sys: &Sys, miso: u16) -> u16 {
        if sys.pins.is_selected(self.wires.miso, function::SPI) { miso } else { 0 }
    }

    /// Follows SCK driven by GPIO or PIO. Returns the byte completed by its last edge; pass the response to
    /// [`Self::answer`].
    pub(crate) fn follow_clock(&mut self, sys: &mut Sys) -> Option<u8> {
        if !self.selected || sys.pins.is_selected(self.wires.sck, function::SPI) {
            return None;
        }
        let level = sys.pins.level();
        let data = || self.wires.data().zip(0..).fold(0, |data, (pin, at)| data | ((level >> pin) as u8 & 1) << at);
        match self.bits.pins(level & (1 << self.wires.sck) != 0, data) {
            Edge::Nothing => None,
            Edge::Out(levels) => {
                let Lanes { count, out } = self.bits.lanes;
                if count == 1 {
                    sys.pins.drive(self.wires.miso, Some(levels != 0));
                } else {
                    for (pin, at) in self.wires.data().zip(0..count) {
                        sys.pins.drive(pin, out.map(|_| levels >> at & 1 != 0));
                    }
                }
                None
            }
            Edge::Byte(mosi) => Some(mosi),
        }
    }

    pub(crate) fn answer(&mut self, miso: u8) {
        self.bits.answer(miso, self.device.lanes());
    }
}

/// Exchanges a frame of `bits` bits, byte by byte.
pub(crate) fn exchange_frame(mosi: u16, bits: u8, mut exchange: impl FnMut(u8) -> u8) -> u16 {
    match bits {
        16 => {
            let high = u16::from(exchange((mosi >> 8) as u8));
            (high << 8) | u16::from(exchange(mosi as u8))
        }
        // Devices count bytes; with frame lengths other than 8 their answers are only shifted.
        _ => u16::from(exchange(mosi as u8)),
    }
}
