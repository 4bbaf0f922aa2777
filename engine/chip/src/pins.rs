//! The GPIO pads of bank 0, at most 64: their drivers and levels.
//!
//! Register access is in the chip's IO_BANK0 and PADS_BANK0; this module holds the electrical state
//! that all peripherals and the world share.

use sim::Snapshot;

/// Most function select values of a pin.
pub const FUNCTIONS: usize = 12;

/// Function select values that RP2040 and RP2350 share.
pub mod function {
    /// The SPI controllers.
    pub const SPI: usize = 1;
    /// The UARTs.
    pub const UART: usize = 2;
    /// The I2C controllers.
    pub const I2C: usize = 3;
    /// The PWM slices.
    pub const PWM: usize = 4;
    /// The cores' single-cycle registers.
    pub const SIO: usize = 5;
    /// The first block of PIO.
    pub const PIO0: usize = 6;
    /// The second block of PIO.
    pub const PIO1: usize = 7;
}

/// What IO_BANK0 makes of the levels of pins.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub struct Override {
    /// Those that it inverts.
    pub invert: u64,
    /// Those that it forces low.
    pub low: u64,
    /// Those that it forces high.
    pub high: u64,
}

impl Override {
    /// Returns the levels that it makes of `level`.
    #[inline]
    pub fn of(self, level: u64) -> u64 {
        ((level ^ self.invert) & !self.low) | self.high
    }

    /// Returns the pins that do not keep their levels.
    fn pins(self) -> u64 {
        self.invert | self.low | self.high
    }
}

/// The chip's GPIO pins: who drives them, and their levels.
#[derive(Clone, Debug, Snapshot)]
pub struct Pins {
    mask: u64,
    /// Level that each function would drive on each pin.
    pub function_out: [u64; FUNCTIONS],
    /// Whether each function enables the output driver of each pin.
    pub function_oe: [u64; FUNCTIONS],
    /// Pins that have each function selected.
    pub function_mask: [u64; FUNCTIONS],
    /// OUTOVER of IO_BANK0.
    pub out_over: Override,
    /// OEOVER.
    pub oe_over: Override,
    /// INOVER: modifies the input for the peripherals.
    pub in_over: Override,
    /// PADS_BANK0: output disable.
    pub pad_output_disable: u64,
    /// Input enable.
    pub pad_input_enable: u64,
    /// Pull-up.
    pub pad_pull_up: u64,
    /// Pull-down.
    pub pad_pull_down: u64,
    /// Pads that keep their drivers' state, whatever their functions and overrides do.
    isolated: u64,
    /// Externally driven pins, and their levels.
    world_driven: u64,
    world_level: u64,
    /// Pins held by external controls, weaker than any driver and stronger than the pulls, and their levels.
    held: u64,
    held_level: u64,
    /// The ADC's readings of voltages at pins, 0 to 4095 for 0 V to its reference; `None`: from the pin's level.
    pub readings: [Option<u16>; u64::BITS as usize],
    /// A pin whose held voltage reaches it only while the second one is high.
    gate: Option<(u32, u32)>,
    /// Sets of pins joined by wires; the sets do not overlap.
    nets: Vec<u64>,
    wired: u64,
    out: u64,
    oe: u64,
    level: u64,
    /// The chip's outputs changed since the world last read them.
    pub world_dirty: bool,
    /// Levels at the input buffers changed since IO_BANK0 last read them.
    pub input_dirty: bool,
}

impl Pins {
    /// Returns whether the parts or the world have to learn of a change.
    #[inline]
    pub fn changed(&self) -> bool {
        self.input_dirty || self.world_dirty
    }

    /// Returns the pads of the pins in `mask` after a reset: inputs that are pulled down.
    pub(crate) fn new(mask: u64) -> Self {
        Self {
            mask,
            function_out: [0; FUNCTIONS],
            function_oe: [0; FUNCTIONS],
            function_mask: [0; FUNCTIONS],
            out_over: Override::default(),
            oe_over: Override::default(),
            in_over: Override::default(),
            pad_output_disable: 0,
            pad_input_enable: mask,
            pad_pull_up: 0,
            pad_pull_down: mask,
            isolated: 0,
            world_driven: 0,
            world_level: 0,
            held: 0,
            held_level: 0,
            readings: [None; u64::BITS as usize],
            gate: None,
            nets: Vec::new(),
            wired: 0,
            out: 0,
            oe: 0,
            level: 0,
            world_dirty: false,
            input_dirty: false,
        }
    }

    /// Returns all pins.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Recomputes pad levels after a change of any input of the computation.
    #[inline]
    pub fn refresh(&mut self) {
        let mut out = 0;
        let mut oe = 0;
        for f in 0..FUNCTIONS {
            out |= self.function_out[f] & self.function_mask[f];
            oe |= self.function_oe[f] & self.function_mask[f];
        }
        out = self.out_over.of(out) & self.mask;
        oe = self.oe_over.of(oe) & !self.pad_output_disable & self.mask;
        if self.isolated != 0 {
            out = (out & !self.isolated) | (self.out & self.isolated);
            oe = (oe & !self.isolated) | (self.oe & self.isolated);
        }
        let floating = (self.pad_pull_up & !self.pad_pull_down) | (self.level & self.pad_pull_up & self.pad_pull_down);
        let held = self.held & !self.world_driven;
        let driven = self.world_driven | held;
        let undriven = (self.world_level & self.world_driven) | (self.held_level & held) | (floating & !driven);
        let mut level = (out & oe) | (undriven & !oe);
        if self.wired != 0 {
            level = self.joined(level, out, oe);
        }
        // A changed pull is visible on the wire, too; the world knows the levels that it drives.
        if oe != self.oe || (out ^ self.out) & oe != 0 || (level ^ self.level) & !self.world_driven != 0 {
            self.world_dirty = true;
        }
        if level != self.level {
            self.input_dirty = true;
        }
        self.out = out;
        self.oe = oe;
        self.level = level & self.mask;
    }

    /// Returns `level` with that of every net in its pins. The strongest drivers of a net decide; among these low wins.
    #[cold]
    fn joined(&self, level: u64, out: u64, oe: u64) -> u64 {
        let (up, down) = (self.pad_pull_up & !self.pad_pull_down, self.pad_pull_down & !self.pad_pull_up);
        let strengths = [(oe, out), (self.world_driven, self.world_level), (self.held, self.held_level)];
        self.nets.iter().fold(level, |level, &net| {
            let high = match strengths.into_iter().find(|(driven, _)| driven & net != 0) {
                Some((driven, high)) => driven & !high & net == 0,
                // Opposing pulls leave the net unchanged.
                None if up & net != 0 && down & net != 0 => self.level & net != 0,
                None => up & net != 0,
            };
            if high { level | net } else { level & !net }
        })
    }

    /// Sets the pins that are pulled up, and those that are pulled down.
    pub fn set_pulls(&mut self, up: u64, down: u64) {
        (self.pad_pull_up, self.pad_pull_down) = (up, down);
    }

    /// Sets the pads whose isolation latches hold (RP2350 datasheet 9.7).
    pub fn isolate(&mut self, pins: u64) {
        self.isolated = pins;
    }

    /// Holds `pin` externally, as a button or a resistor does (`None`: releases it).
    pub fn hold(&mut self, pin: u32, level: Option<bool>) {
        let bit = 1u64 << pin;
        self.held = (self.held & !bit) | (u64::from(level.is_some()) << pin);
        self.held_level = (self.held_level & !bit) | (u64::from(level == Some(true)) << pin);
        self.refresh();
    }

    /// Lets the voltage that is held at `pin` reach it only while `by` is high: a transistor is between.
    pub fn gate(&mut self, pin: u32, by: u32) {
        self.gate = Some((pin, by));
    }

    /// Returns whether the voltage that is held at `pin` does not reach it.
    pub fn is_cut_off(&self, pin: u32) -> bool {
        self.gate.is_some_and(|(gated, by)| gated == pin && self.level & (1 << by) == 0)
    }

    /// Joins pins by wires: sets that do not overlap.
    pub fn join(&mut self, nets: Vec<u64>) {
        self.wired = nets.iter().fold(0, |all, net| all | net);
        self.nets = nets;
        self.refresh();
    }

    /// Returns the pins whose level may be set externally by something other than a device on its bus.
    pub fn connected(&self) -> u64 {
        self.wired | self.held
    }

    /// Returns the pins joined to others by wires.
    pub fn wired(&self) -> u64 {
        self.wired
    }

    /// Returns whether `pin` floats: no driver, no control and no pull, here or at the other end of a wire.
    pub fn floats(&self, pin: u32) -> bool {
        let net = self.nets.iter().copied().find(|net| net & (1 << pin) != 0).unwrap_or(1 << pin);
        (self.oe | self.world_driven | self.held | self.pad_pull_up | self.pad_pull_down) & net == 0
    }

    /// Drives `pin` from outside the chip (`None`: releases it).
    pub fn drive(&mut self, pin: u32, level: Option<bool>) {
        let bit = 1u64 << pin;
        let (driven, high) = (level.is_some(), level == Some(true));
        if (self.world_driven & bit != 0) == driven && (self.world_level & bit != 0) == high {
            return;
        }
        self.world_driven = (self.world_driven & !bit) | (u64::from(driven) << pin);
        self.world_level = (self.world_level & !bit) | (u64::from(high) << pin);
        self.refresh();
    }

    /// Returns the electrical level of every pad. An output loops back to its input.
    #[inline]
    pub fn level(&self) -> u64 {
        self.level
    }

    /// Returns the levels that the chip drives, where [`Self::output_enabled`] is set.
    pub fn output(&self) -> u64 {
        self.out
    }

    /// Returns the pins that the chip drives.
    pub fn output_enabled(&self) -> u64 {
        self.oe
    }

    /// Returns the levels for peripherals and SIO: pad level through the input buffer and INOVER.
    pub fn input(&self) -> u64 {
        self.input_of(self.level)
    }

    /// Returns the input levels for other pad levels.
    #[inline]
    pub fn input_of(&self, level: u64) -> u64 {
        self.in_over.of(level & self.pad_input_enable)
    }

    /// Returns the pins whose pads differ from their function's output.
    pub fn overridden(&self) -> u64 {
        self.out_over.pins() | self.oe_over.pins() | self.pad_output_disable | self.isolated
    }

    /// Returns whether no function but `function` drives the pin.
    pub fn is_selected(&self, pin: u32, function: usize) -> bool {
        self.function_mask[function] & (1 << pin) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_pull_is_visible_on_the_wire() {
        let mut pins = Pins { pad_pull_down: 0, ..Pins::new(0x3fff_ffff) };
        pins.drive(4, Some(true));
        pins.world_dirty = false;
        pins.pad_pull_up = 1 << 3 | 1 << 4;
        pins.refresh();
        assert!(pins.world_dirty && pins.level() & (1 << 3) != 0);
        // The world knows the levels that it drives.
        pins.world_dirty = false;
        pins.drive(4, Some(false));
        assert!(!pins.world_dirty && pins.level() & (1 << 4) == 0);
    }
}
