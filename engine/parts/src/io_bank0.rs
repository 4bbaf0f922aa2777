//! IO_BANK0: function select, overrides and interrupts of the GPIOs (RP2040 datasheet 2.19).
//!
//! Interrupts see the pad's level after its input buffer and IRQOVER.

use crate::wires::IoWires;
use chip::pins::{FUNCTIONS, Override};
use chip::sys::watcher;
use chip::{Peripheral, Sys, Write};
use sim::Snapshot;
use sim::snapshot::LeftOut;

/// Most registers of INTR, INTE, INTF or INTS, with eight pins per register.
const WORDS: usize = 6;
/// EDGE_LOW and EDGE_HIGH of every pin of a word.
const EDGES: u32 = 0xcccc_cccc;
const NULL: u32 = 0x1f;

/// What differs between the versions.
#[derive(Debug)]
struct Layout {
    pins: usize,
    words: usize,
    ctrl_mask: u32,
    /// Least bits of OUTOVER and OEOVER.
    outover: u32,
    oeover: u32,
    /// Offset of IRQSUMMARY, which version 1 has, and of INTR.
    summary: u32,
    intr: u32,
}

const LAYOUTS: [Layout; 2] = [
    Layout { pins: 30, words: 4, ctrl_mask: 0x3003_331f, outover: 8, oeover: 12, summary: 0x0f0, intr: 0x0f0 },
    Layout { pins: 48, words: 6, ctrl_mask: 0x3003_f01f, outover: 12, oeover: 14, summary: 0x200, intr: 0x230 },
];

/// Destinations of interrupts: PROC0, PROC1, DORMANT_WAKE.
const DESTINATIONS: usize = 3;
const DORMANT_WAKE: usize = 2;

/// A register: of a pin, IRQSUMMARY (destination, half), INTR (word), or INTE, INTF, INTS (destination, which, word).
enum Place {
    Pin(usize),
    Summary(usize, usize),
    Intr(usize),
    Int(usize, usize, usize),
    Nothing,
}

/// The function selects, overrides and interrupts of the GPIO pins.
#[derive(Debug, Snapshot)]
pub struct IoBank0 {
    wires: IoWires,
    layout: LeftOut<&'static Layout>,
    ctrl: Vec<u32>,
    /// Latched edges.
    edges: [u32; WORDS],
    inte: [[u32; WORDS]; DESTINATIONS],
    intf: [[u32; WORDS]; DESTINATIONS],
    /// IRQOVER as masks.
    irq_over: Override,
    /// Levels that the interrupt logic last saw.
    seen: u64,
}

impl IoBank0 {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: IoWires) -> Self {
        let layout = &LAYOUTS[wires.version as usize];
        Self {
            wires,
            layout: LeftOut(layout),
            ctrl: vec![NULL; layout.pins],
            edges: [0; WORDS],
            inte: [[0; WORDS]; DESTINATIONS],
            intf: [[0; WORDS]; DESTINATIONS],
            irq_over: Override::default(),
            seen: 0,
        }
    }
}

/// Moves bit i of eight to bit 4 i.
fn spread(pins: u64) -> u32 {
    let x = pins as u32 & 0xff;
    let x = (x | (x << 12)) & 0x000f_000f;
    let x = (x | (x << 6)) & 0x0303_0303;
    (x | (x << 3)) & 0x1111_1111
}

/// Returns a signal's level after one of the 2-bit overrides: unchanged, inverted, low, high.
fn overridden(mode: u32, level: bool) -> bool {
    match mode & 3 {
        0 => level,
        1 => !level,
        2 => false,
        _ => true,
    }
}

impl IoBank0 {
    /// Handles changed levels at the input buffers (`sys.pins.input`).
    pub fn input_changed(&mut self, sys: &mut Sys) {
        let now = self.irq_input(sys);
        let changed = now ^ self.seen;
        if changed == 0 {
            return;
        }
        self.seen = now;
        for word in 0..WORDS {
            let shift = 8 * word;
            if (changed >> shift) & 0xff != 0 {
                let fell = spread((changed & !now) >> shift) << 2;
                let rose = spread((changed & now) >> shift) << 3;
                self.edges[word] |= fell | rose;
            }
        }
        self.update_irqs(sys);
    }

    /// Handles any number of edges on pins without enabled interrupts; they have their final levels.
    pub fn edges_passed(&mut self, sys: &Sys, rose: u64, fell: u64) {
        let seen = sys.pins.pad_input_enable & !self.irq_over.low & !self.irq_over.high;
        let inverted = self.irq_over.invert;
        let (rises, falls) = ((rose & !inverted) | (fell & inverted), (fell & !inverted) | (rose & inverted));
        for word in 0..WORDS {
            let shift = 8 * word;
            self.edges[word] |= spread((falls & seen) >> shift) << 2 | spread((rises & seen) >> shift) << 3;
        }
        self.seen = self.irq_input(sys);
    }

    /// Returns the pin levels that the interrupt logic sees.
    fn irq_input(&self, sys: &Sys) -> u64 {
        let raw = sys.pins.level() & sys.pins.pad_input_enable;
        self.irq_over.of(raw) & sys.pins.mask()
    }

    fn intr(&self, word: usize) -> u32 {
        let shift = 8 * word;
        let high = spread(self.seen >> shift);
        let low = spread(!self.seen >> shift & self.pins() >> shift);
        self.edges[word] | low | (high << 1)
    }

    /// Returns all pins.
    fn pins(&self) -> u64 {
        (1 << self.layout.pins) - 1
    }

    /// Returns the bits of the interrupt registers that exist in `word`.
    fn word_mask(&self, word: usize) -> u32 {
        spread(self.pins() >> (8 * word)) * 0xf
    }

    fn ints(&self, destination: usize, word: usize) -> u32 {
        let enabled = match self.inte[destination][word] {
            0 => 0,
            inte => self.intr(word) & inte,
        };
        enabled | self.intf[destination][word]
    }

    /// Returns whether DORMANT_WAKE is high, which wakes a dormant oscillator.
    pub fn wakes(&self) -> bool {
        (0..WORDS).any(|word| self.ints(DORMANT_WAKE, word) != 0)
    }

    /// Returns whether a pin may raise DORMANT_WAKE.
    pub fn may_wake(&self) -> bool {
        self.inte[DORMANT_WAKE] != [0; WORDS]
    }

    /// Returns the pins with enabled interrupts.
    fn watched(&self) -> u64 {
        (0..self.layout.pins).fold(0, |mask, pin| {
            let enables = self.inte.iter().fold(0, |all, inte| all | inte[pin / 8]);
            mask | (u64::from(enables >> (4 * (pin % 8)) & 15 != 0) << pin)
        })
    }

    fn update_irqs(&self, sys: &mut Sys) {
        for core in 0..2 {
            let any = (0..WORDS).any(|word| self.ints(core, word) != 0);
            sys.set_irq_for_core(core, self.wires.irq, any);
        }
    }

    /// Copies all CTRL registers to `sys.pins`.
    fn apply(&mut self, sys: &mut Sys) {
        let pins = &mut sys.pins;
        pins.function_mask = [0; FUNCTIONS];
        for (pin, ctrl) in self.ctrl.iter().enumerate() {
            if let Some(mask) = pins.function_mask.get_mut((ctrl & 0x1f) as usize) {
                *mask |= 1 << pin;
            }
        }
        let Layout { outover, oeover, .. } = **self.layout;
        let with = |shift: u32, mode: u32| {
            self.ctrl
                .iter()
                .enumerate()
                .fold(0, |mask, (pin, ctrl)| mask | (u64::from((ctrl >> shift) & 3 == mode) << pin))
        };
        let over = |shift| Override { invert: with(shift, 1), low: with(shift, 2), high: with(shift, 3) };
        (pins.out_over, pins.oe_over, pins.in_over) = (over(outover), over(oeover), over(16));
        self.irq_over = over(28);
        pins.input_dirty = true;
        pins.refresh();
        self.input_changed(sys);
    }

    /// Decodes an offset.
    fn place(&self, offset: u32) -> Place {
        let Layout { pins, words, summary, intr, .. } = **self.layout;
        let word = |from: u32| ((offset - from) / 4) as usize;
        match offset {
            _ if offset >= intr => match word(intr) {
                word if word < words => Place::Intr(word),
                word => {
                    let (register, word) = (word / words - 1, word % words);
                    if register < 3 * DESTINATIONS {
                        Place::Int(register / 3, register % 3, word)
                    } else {
                        Place::Nothing
                    }
                }
            },
            // Each destination has the pins' halves for Secure, then for Non-secure.
            _ if offset >= summary => match word(summary) {
                word if word & 2 == 0 => Place::Summary(word / 4, word & 1),
                _ => Place::Nothing,
            },
            _ if ((offset / 8) as usize) < pins => Place::Pin((offset / 8) as usize),
            _ => Place::Nothing,
        }
    }

    /// Returns which pins of a half of 32 interrupt.
    fn summary(&self, destination: usize, half: usize) -> u32 {
        let words = (4 * half..4 * half + 4).filter(|&word| word < self.layout.words);
        words.fold(0, |pins, word| {
            let ints = self.ints(destination, word);
            (0..8).fold(pins, |pins, pin| pins | u32::from(ints >> (4 * pin) & 15 != 0) << (8 * (word & 3) + pin))
        })
    }

    fn status(&self, sys: &Sys, pin: usize) -> u32 {
        let pins = &sys.pins;
        let ctrl = self.ctrl[pin];
        let bit = 1 << pin;
        let selected = (ctrl & 0x1f) as usize;
        let out = pins.function_out.get(selected).is_some_and(|out| out & bit != 0);
        let oe = pins.function_oe.get(selected).is_some_and(|oe| oe & bit != 0);
        let input = pins.level() & pins.pad_input_enable & bit != 0;
        (u32::from(out) << 8)
            | (u32::from(overridden(ctrl >> self.layout.outover, out)) << 9)
            | (u32::from(oe) << 12)
            | (u32::from(overridden(ctrl >> self.layout.oeover, oe)) << 13)
            | (u32::from(input) << 17)
            | (u32::from(overridden(ctrl >> 16, input)) << 19)
            | (u32::from(input) << 24)
            | (u32::from(overridden(ctrl >> 28, input)) << 26)
    }
}

impl Peripheral for IoBank0 {
    fn name(&self) -> &'static str {
        "IO_BANK0"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match self.place(offset) {
            Place::Pin(pin) if offset & 4 == 0 => self.status(sys, pin),
            Place::Pin(pin) => self.ctrl[pin],
            Place::Summary(destination, half) => self.summary(destination, half),
            Place::Intr(word) => self.intr(word),
            Place::Int(destination, 0, word) => self.inte[destination][word],
            Place::Int(destination, 1, word) => self.intf[destination][word],
            Place::Int(destination, _, word) => self.ints(destination, word),
            Place::Nothing => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match self.place(offset) {
            Place::Pin(pin) if offset & 4 != 0 => {
                let ctrl = &mut self.ctrl[pin];
                let new = write.apply_masked(*ctrl, self.layout.ctrl_mask);
                if new != *ctrl {
                    *ctrl = new;
                    self.apply(sys);
                }
            }
            Place::Intr(word) => self.edges[word] &= !(write.ones() & EDGES),
            Place::Int(destination, register, word) => {
                let mask = self.word_mask(word);
                let value = match register {
                    0 => &mut self.inte[destination][word],
                    1 => &mut self.intf[destination][word],
                    _ => return,
                };
                *value = write.apply_masked(*value, mask);
                let watched = self.watched();
                sys.watch_pins(watcher::GPIO, watched);
                sys.follow_pins(watcher::GPIO, watched);
            }
            _ => return,
        }
        self.update_irqs(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        self.apply(sys);
        self.edges = [0; WORDS];
        sys.watch_pins(watcher::GPIO, 0);
        sys.follow_pins(watcher::GPIO, 0);
        self.update_irqs(sys);
    }
}

#[cfg(test)]
mod tests;
