//! SPI as master (ATmega2560 datasheet 21). A slave is not modelled.
//!
//! A byte's SPIF is visible to the instruction that starts two cycles after its eight periods of SCK, counted from the
//! OUT that writes SPDR: at the fastest clock an IN 18 cycles later sees it, one 17 cycles later does not. That is what the
//! comment on SPI.transfer in Arduino's SPI.h tells of real chips: a NOP before the loop of IN, SBRS and RJMP saves one
//! turn. The divider is taken to start with the byte.

use chip::pins::function;
use chip::trace::{Record, kind};
use chip::{Sys, World};
use sim::{NEVER, Ps};

use super::at;
use crate::device::event;

/// Offsets from SPCR.
pub(crate) const SPCR: u16 = 0x4c;
pub(crate) const SPSR: u16 = 0x4d;
pub(crate) const SPDR: u16 = 0x4e;

mod spcr {
    pub(super) const SPIE: u8 = 0x80;
    pub(super) const SPE: u8 = 0x40;
    pub(super) const DORD: u8 = 0x20;
    pub(super) const MSTR: u8 = 0x10;
    pub(super) const CPOL: u8 = 0x08;
    pub(super) const CPHA: u8 = 0x04;
}

mod spsr {
    pub(super) const SPIF: u8 = 0x80;
    pub(super) const WCOL: u8 = 0x40;
    pub(super) const SPI2X: u8 = 0x01;
}

/// Cycles before the first period of SCK, and after the last one up to SPIF.
const SYNCHRONISATION: u64 = 1;

/// A byte in the shift register.
#[derive(Clone, Copy)]
struct Shift {
    mosi: u8,
    begin: u64,
    /// Cycles of its eight periods of SCK.
    cycles: u64,
}

#[derive(Default)]
pub struct Spi {
    spcr: u8,
    double: bool,
    spif: bool,
    collision: bool,
    /// SPSR was read while SPIF or WCOL was set: an access to SPDR clears them.
    armed: bool,
    received: u8,
    shift: Option<Shift>,
}

impl Spi {
    /// Returns the cycles of a period of SCK.
    fn divider(&self) -> u64 {
        let divider = [4, 16, 64, 128][usize::from(self.spcr & 3)];
        if self.double { divider / 2 } else { divider }
    }

    /// Returns the frequency of SCK in Hz; 0: SPI is off.
    pub fn sck_hz(&self, sys: &Sys) -> u64 {
        if self.spcr & spcr::SPE == 0 { 0 } else { sys.clock.hz() * sys.spi_speed / self.divider() }
    }

    pub fn shifting(&self) -> bool {
        self.shift.is_some()
    }

    pub fn read(&mut self, address: u16) -> u8 {
        match address {
            SPCR => self.spcr,
            SPSR => {
                self.armed |= self.spif || self.collision;
                let flag = |set: bool, bit: u8| if set { bit } else { 0 };
                flag(self.spif, spsr::SPIF) | flag(self.collision, spsr::WCOL) | flag(self.double, spsr::SPI2X)
            }
            _ => {
                self.clear_flags();
                self.received
            }
        }
    }

    fn clear_flags(&mut self) {
        if std::mem::take(&mut self.armed) {
            self.spif = false;
            self.collision = false;
        }
    }

    pub fn write(&mut self, sys: &mut Sys, address: u16, value: u8, pins: [u32; 4]) {
        match address {
            SPCR => {
                self.spcr = value;
                if value & (spcr::SPE | spcr::MSTR) == spcr::SPE {
                    sys.unmodelled("SPI as slave (SPCR.SPE without MSTR)".into());
                }
                self.select_pins(sys, pins);
            }
            SPSR => self.double = value & spsr::SPI2X != 0,
            _ => {
                self.clear_flags();
                if self.spcr & spcr::SPE == 0 {
                    self.received = value;
                } else if self.shift.is_some() {
                    self.collision = true;
                } else {
                    self.start(sys, value);
                }
            }
        }
    }

    /// Gives the controller its pins while it is on; DDRx decides whether SCK and MOSI are outputs.
    fn select_pins(&self, sys: &mut Sys, [_, sck, mosi, miso]: [u32; 4]) {
        let on = self.spcr & spcr::SPE != 0;
        let mine = 1 << sck | 1 << mosi | 1 << miso;
        let levels = if self.spcr & spcr::CPOL != 0 { 1 << sck } else { 0 };
        let pins = &mut sys.pins;
        pins.function_mask[function::SPI] = if on { mine } else { 0 };
        pins.function_out[function::SPI] = pins.function_out[function::SPI] & !(1 << sck) | levels;
    }

    fn start(&mut self, sys: &mut Sys, mosi: u8) {
        let cycles = (8 * self.divider()).div_ceil(sys.spi_speed).max(1);
        let begin = sys.cycle + SYNCHRONISATION;
        self.shift = Some(Shift { mosi, begin, cycles });
        sys.schedule(event::SPI, at(sys, begin + cycles + SYNCHRONISATION));
    }

    /// Ends the byte in the shift register.
    pub fn event(&mut self, sys: &mut Sys, world: &mut dyn World, pins: [u32; 4]) {
        let Some(Shift { mosi, begin, cycles }) = self.shift.take() else { return };
        let last_edge = at(sys, begin + cycles);
        let begin = at(sys, begin);
        sys.spi_shifted = (last_edge - begin, 16);
        if let Some(recorder) = sys.recorder() {
            recorder.shifted(begin, last_edge);
        }
        let [_, sck, mosi_pin, _] = pins;
        let reverses = self.spcr & spcr::DORD != 0;
        let wire = if reverses { mosi.reverse_bits() } else { mosi };
        let drives = sys.pins.output_enabled() >> sck & 1 != 0;
        let miso = if drives { world.spi_frame(sys, 0, wire.into(), 8) as u8 } else { 0xff };
        if sys.trace.wants(kind::SPI) {
            sys.trace.push(sys.now(), Record::Spi { spi: 0, mosi: wire.into(), miso: miso.into() });
        }
        if sys.trace.wants(kind::WIRE) {
            self.trace_wires(sys, (wire, miso), begin, last_edge);
        }
        // MOSI keeps its last bit.
        let level = u64::from(wire & 1) << mosi_pin;
        let out = &mut sys.pins.function_out[function::SPI];
        *out = *out & !(1 << mosi_pin) | level;
        sys.pins.refresh();
        self.received = if reverses { miso.reverse_bits() } else { miso };
        self.spif = true;
    }

    #[cold]
    fn trace_wires(&self, sys: &mut Sys, (mosi, miso): (u8, u8), begin: Ps, end: Ps) {
        let phase = self.spcr & spcr::CPHA != 0;
        let half = (end - begin) / 16;
        // With CPHA the first edge begins the byte, and the last one ends it half a period earlier.
        let (first, last) = if phase { (begin, end - half) } else { (begin + half, end) };
        let polarity = self.spcr & spcr::CPOL != 0;
        let (mosi, miso) = (mosi.into(), miso.into());
        sys.trace.push(last, Record::Wire { spi: 0, bits: 8, mosi, miso, begin, first, polarity, phase });
    }

    /// Returns whether the interrupt is pending and enabled.
    pub fn pending(&self) -> bool {
        self.spif && self.spcr & spcr::SPIE != 0
    }

    /// The interrupt's handler starts.
    pub fn acknowledge(&mut self) {
        self.spif = false;
    }

    pub fn reset(&mut self, sys: &mut Sys, pins: [u32; 4]) {
        *self = Self::default();
        sys.schedule(event::SPI, NEVER);
        self.select_pins(sys, pins);
    }
}
