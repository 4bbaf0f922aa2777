//! ADC (datasheet 4.9).
//!
//! A conversion takes 96 cycles of clk_adc. Channels 0 to 3, or 7, read the voltage that is set at the pin
//! (`Pins::readings`), or 0 while that is cut off (`Pins::gate`), otherwise the pin's level (0 or full scale), and on a
//! floating pin noise: 9 bits above 512, from a generator that restarts equally at each power-up. The next channel reads
//! the temperature sensor at 27 degrees Celsius (0.706 V with a 3.3 V reference) if it is powered. There are no
//! conversion errors.

use crate::wires::AdcWires;
use chip::ticks::Ticks;
use chip::{Peripheral, Sys, Write};
use sim::{NEVER, PS_PER_S, Ps, Snapshot};
use std::collections::VecDeque;

const CYCLES: u64 = 96;
const FIFO_DEPTH: usize = 4;
const FULL_SCALE: u16 = 0xfff;
const FLOATS_FROM: u16 = 512;
/// 0.706 V / 3.3 V * 4096.
pub(crate) const TEMPERATURE_27C: u16 = 876;

mod cs {
    pub(crate) const EN: u32 = 1 << 0;
    pub(crate) const TS_EN: u32 = 1 << 1;
    pub(crate) const START_ONCE: u32 = 1 << 2;
    pub(crate) const START_MANY: u32 = 1 << 3;
    pub(crate) const READY: u32 = 1 << 8;
    /// EN, TS_EN, START_MANY, AINSEL, RROBIN; with eight channels, the last two have a bit and four bits more.
    pub(crate) const WRITABLE: u32 = 0x001f_700b;
    pub(crate) const WRITABLE_OF_8: u32 = 0x01ff_f00b;
}

mod fcs {
    pub(crate) const EN: u32 = 1 << 0;
    pub(crate) const SHIFT: u32 = 1 << 1;
    pub(crate) const DREQ_EN: u32 = 1 << 3;
    pub(crate) const EMPTY: u32 = 1 << 8;
    pub(crate) const FULL: u32 = 1 << 9;
    pub(crate) const UNDER: u32 = 1 << 10;
    pub(crate) const OVER: u32 = 1 << 11;
    pub(crate) const WRITABLE: u32 = 0x0f00_000f;
}

/// The analogue-to-digital converter.
#[derive(Debug, Snapshot)]
pub struct Adc {
    wires: AdcWires,
    /// Conversions of floating pins since power-up.
    floating: u32,
    cs: u32,
    result: u32,
    fcs: u32,
    over: bool,
    under: bool,
    fifo: VecDeque<u32>,
    div: u32,
    inte: u32,
    intf: u32,
    /// End of the conversion in progress.
    converting_until: Option<Ps>,
    /// Start times of the conversions of START_MANY, and the number of the next one.
    pace: Ticks,
    next_start: u64,
}

impl Adc {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: AdcWires) -> Self {
        Self {
            wires,
            floating: 0,
            cs: 0,
            result: 0,
            fcs: 0,
            over: false,
            under: false,
            fifo: VecDeque::new(),
            div: 0,
            inte: 0,
            intf: 0,
            converting_until: None,
            pace: Ticks::default(),
            next_start: 0,
        }
    }

    /// Returns whether the current conversion reads a pin's level, which may need an update.
    pub fn reads_level(&self, sys: &Sys) -> bool {
        let channel = self.channel();
        self.converting_until.is_some() && channel < self.wires.channels && self.reading_at(sys, channel).is_none()
    }

    fn channel(&self) -> u32 {
        self.cs >> 12 & 0xf
    }

    fn reading_at(&self, sys: &Sys, channel: u32) -> Option<u16> {
        sys.pins.readings[(self.wires.first_pin + channel) as usize]
    }

    /// Handles the end of a conversion or the start of the next one.
    pub fn event(&mut self, sys: &mut Sys) {
        let now = sys.now();
        if self.converting_until.is_some_and(|end| end <= now) {
            self.converting_until = None;
            self.finish(sys);
        }
        self.update(sys);
    }

    /// Handles a change of clk_adc. A conversion in progress keeps its end.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        self.set_pace(sys);
        self.update(sys);
    }

    fn set_pace(&mut self, sys: &Sys) {
        let period = (256 + u64::from(self.div)).max(CYCLES * 256);
        self.pace.set_rate(sys.now(), sys.freq.clk_adc_hz.saturating_mul(256), period);
    }

    fn restart_pace(&mut self, sys: &Sys) {
        self.pace = Ticks::default();
        self.set_pace(sys);
        self.next_start = 0;
    }

    fn sample(&mut self, sys: &Sys) -> u16 {
        match self.channel() {
            channel if channel < self.wires.channels => {
                let pin = self.wires.first_pin + channel;
                match self.reading_at(sys, channel) {
                    Some(_) if sys.pins.is_cut_off(pin) => 0,
                    Some(reading) => reading.min(FULL_SCALE),
                    None => self.reading_of(sys, pin),
                }
            }
            channel if channel == self.wires.channels && self.cs & cs::TS_EN != 0 => TEMPERATURE_27C,
            _ => 0,
        }
    }

    fn reading_of(&mut self, sys: &Sys, pin: u32) -> u16 {
        if sys.pins.floats(pin) {
            self.floating = self.floating.wrapping_add(1);
            return FLOATS_FROM + (scrambled(self.floating) >> 23) as u16;
        }
        if sys.pins.level() & (1 << pin) != 0 { FULL_SCALE } else { 0 }
    }

    fn finish(&mut self, sys: &Sys) {
        self.result = u32::from(self.sample(sys));
        if self.fcs & fcs::EN != 0 {
            if self.fifo.len() < FIFO_DEPTH {
                self.fifo.push_back(if self.fcs & fcs::SHIFT != 0 { self.result >> 4 } else { self.result });
            } else {
                self.over = true;
            }
        }
        let robin = self.cs >> 16;
        if robin != 0 {
            let (current, count) = (self.channel(), self.wires.channels + 1);
            let next = (1..=count).map(|ahead| (current + ahead) % count).find(|channel| robin & (1 << channel) != 0);
            self.cs = (self.cs & !0xf000) | (next.unwrap_or(0) << 12);
        }
    }

    fn start(&mut self, sys: &Sys) {
        let hz = sys.freq.clk_adc_hz;
        let end = if hz == 0 {
            NEVER
        } else {
            let ps = u128::from(CYCLES) * u128::from(PS_PER_S) / u128::from(hz);
            sys.now().saturating_add(u64::try_from(ps).unwrap_or(NEVER))
        };
        self.converting_until = Some(end);
    }

    fn update(&mut self, sys: &mut Sys) {
        let now = sys.now();
        let mut next = self.converting_until.unwrap_or(NEVER);
        if self.cs & (cs::EN | cs::START_MANY) == cs::EN | cs::START_MANY {
            let mut start = self.pace.time_of(self.next_start);
            if self.converting_until.is_none() && start <= now {
                self.next_start = self.pace.count(now) + 1;
                start = self.pace.time_of(self.next_start);
                self.start(sys);
                next = self.converting_until.unwrap_or(NEVER);
            }
            if self.converting_until.is_none() {
                next = start;
            }
        }
        sys.schedule(self.wires.event, next);
        sys.set_irq(self.wires.irq, self.ints() != 0);
        sys.set_dreq(self.wires.dreq, self.fcs & fcs::DREQ_EN != 0 && self.at_threshold());
    }

    /// Returns whether the threshold is reached; a threshold of 0 requires at least one result.
    fn at_threshold(&self) -> bool {
        self.fifo.len() >= ((self.fcs >> 24) as usize).max(1)
    }

    fn ints(&self) -> u32 {
        (u32::from(self.at_threshold()) & self.inte) | self.intf
    }
}

/// Hashes a counter to 32 bits (the finaliser of MurmurHash3).
fn scrambled(counter: u32) -> u32 {
    let x = (counter ^ (counter >> 16)).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

impl Peripheral for Adc {
    fn name(&self) -> &'static str {
        "ADC"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => {
                let ready = self.cs & cs::EN != 0 && self.converting_until.is_none();
                self.cs | if ready { cs::READY } else { 0 }
            }
            0x04 => self.result,
            0x08 => {
                let mut value = self.fcs | ((self.fifo.len() as u32) << 16);
                for (condition, flag) in [
                    (self.fifo.is_empty(), fcs::EMPTY),
                    (self.fifo.len() >= FIFO_DEPTH, fcs::FULL),
                    (self.under, fcs::UNDER),
                    (self.over, fcs::OVER),
                ] {
                    value |= if condition { flag } else { 0 };
                }
                value
            }
            0x0c => {
                let value = self.fifo.pop_front();
                self.under |= value.is_none();
                self.update(sys);
                value.unwrap_or(0)
            }
            0x10 => self.div,
            0x14 => u32::from(self.at_threshold()),
            0x18 => self.inte,
            0x1c => self.intf,
            0x20 => self.ints(),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => {
                let old = self.cs;
                let value = write.apply(old);
                self.cs = value & if self.wires.channels == 4 { cs::WRITABLE } else { cs::WRITABLE_OF_8 };
                if self.cs & cs::EN == 0 {
                    self.converting_until = None;
                } else if self.cs & cs::START_MANY != 0 {
                    if old & (cs::EN | cs::START_MANY) != cs::EN | cs::START_MANY {
                        self.restart_pace(sys);
                    }
                } else if value & cs::START_ONCE != 0 && self.converting_until.is_none() {
                    self.start(sys);
                }
            }
            0x08 => {
                self.fcs = write.apply_masked(self.fcs, fcs::WRITABLE);
                self.under &= write.ones() & fcs::UNDER == 0;
                self.over &= write.ones() & fcs::OVER == 0;
            }
            0x10 => {
                self.div = write.apply_masked(self.div, 0x00ff_ffff);
                self.restart_pace(sys);
            }
            0x18 => self.inte = write.apply_masked(self.inte, 1),
            0x1c => self.intf = write.apply_masked(self.intf, 1),
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self { floating: self.floating, ..Self::new(self.wires) };
        self.update(sys);
    }
}

#[cfg(test)]
mod tests;
