//! The 30 GPIO pads of bank 0: their drivers and levels.
//!
//! Register access is in `peripherals::io_bank0` and `peripherals::pads_bank0`; this module holds the electrical state
//! that all peripherals and the world share.

/// Function select values (datasheet 1.4.3, table 2).
pub mod function {
    pub const XIP: usize = 0;
    pub const SPI: usize = 1;
    pub const UART: usize = 2;
    pub const I2C: usize = 3;
    pub const PWM: usize = 4;
    pub const SIO: usize = 5;
    pub const PIO0: usize = 6;
    pub const PIO1: usize = 7;
    pub const CLOCK: usize = 8;
    pub const USB: usize = 9;
    pub const COUNT: usize = 10;
}

pub const PIN_MASK: u32 = 0x3fff_ffff;
/// Possible pins of UART0 and UART1: they alternate in groups of four, 0 to 3 UART0, 4 to 11 UART1, 12 to 19 UART0 and
/// so on (datasheet 1.4.3).
pub const UART_PINS: [u32; 2] = [0x300f_f00f, 0x0ff0_0ff0];
/// TX of either UART; RX, CTS and RTS are the following pins.
pub const UART_TX_PINS: u32 = 0x1111_1111;

#[derive(Clone, Debug)]
pub struct Pins {
    /// Level that each function would drive on each pin.
    pub function_out: [u32; function::COUNT],
    /// Whether each function enables the output driver of each pin.
    pub function_oe: [u32; function::COUNT],
    /// Pins that have each function selected.
    pub function_mask: [u32; function::COUNT],
    /// OUTOVER and OEOVER of IO_BANK0: inverted, forced low, forced high.
    pub out_invert: u32,
    pub out_low: u32,
    pub out_high: u32,
    pub oe_invert: u32,
    pub oe_low: u32,
    pub oe_high: u32,
    /// INOVER: modifies the input for the peripherals.
    pub in_invert: u32,
    pub in_low: u32,
    pub in_high: u32,
    /// PADS_BANK0: output disable, input enable, pull-up, pull-down.
    pub pad_output_disable: u32,
    pub pad_input_enable: u32,
    pub pad_pull_up: u32,
    pub pad_pull_down: u32,
    /// Externally driven pins, and their levels.
    world_driven: u32,
    world_level: u32,
    /// Pins held by external controls, weaker than any driver and stronger than the pulls, and their levels.
    held: u32,
    held_level: u32,
    /// Sets of pins joined by wires; the sets do not overlap.
    nets: Vec<u32>,
    wired: u32,
    out: u32,
    oe: u32,
    level: u32,
    /// The chip's outputs changed since the world last read them.
    pub world_dirty: bool,
    /// Levels at the input buffers changed since IO_BANK0 last read them.
    pub input_dirty: bool,
}

impl Default for Pins {
    fn default() -> Self {
        Self {
            function_out: [0; function::COUNT],
            function_oe: [0; function::COUNT],
            function_mask: [0; function::COUNT],
            out_invert: 0,
            out_low: 0,
            out_high: 0,
            oe_invert: 0,
            oe_low: 0,
            oe_high: 0,
            in_invert: 0,
            in_low: 0,
            in_high: 0,
            pad_output_disable: 0,
            pad_input_enable: PIN_MASK,
            pad_pull_up: 0,
            pad_pull_down: PIN_MASK,
            world_driven: 0,
            world_level: 0,
            held: 0,
            held_level: 0,
            nets: Vec::new(),
            wired: 0,
            out: 0,
            oe: 0,
            level: 0,
            world_dirty: false,
            input_dirty: false,
        }
    }
}

impl Pins {
    /// Recomputes pad levels after a change of any input of the computation.
    pub fn refresh(&mut self) {
        let mut out = 0;
        let mut oe = 0;
        for f in 0..function::COUNT {
            out |= self.function_out[f] & self.function_mask[f];
            oe |= self.function_oe[f] & self.function_mask[f];
        }
        out = ((out ^ self.out_invert) & !self.out_low) | self.out_high;
        oe = ((oe ^ self.oe_invert) & !self.oe_low) | self.oe_high;
        oe &= !self.pad_output_disable & PIN_MASK;
        out &= PIN_MASK;
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
        self.level = level & PIN_MASK;
    }

    /// Returns `level` with that of every net in its pins. The strongest drivers of a net decide; among these low wins.
    #[cold]
    fn joined(&self, level: u32, out: u32, oe: u32) -> u32 {
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

    /// Holds `pin` externally, as a button or a resistor does (`None`: releases it).
    pub fn hold(&mut self, pin: u32, level: Option<bool>) {
        let bit = 1 << pin;
        self.held = (self.held & !bit) | (u32::from(level.is_some()) << pin);
        self.held_level = (self.held_level & !bit) | (u32::from(level == Some(true)) << pin);
        self.refresh();
    }

    /// Joins pins by wires: sets that do not overlap.
    pub fn join(&mut self, nets: Vec<u32>) {
        self.wired = nets.iter().fold(0, |all, net| all | net);
        self.nets = nets;
        self.refresh();
    }

    /// Returns the pins whose level may be set externally by something other than a device on its bus.
    pub fn connected(&self) -> u32 {
        self.wired | self.held
    }

    /// Returns the pins joined to others by wires.
    pub fn wired(&self) -> u32 {
        self.wired
    }

    /// Returns whether `pin` floats: no driver, no control and no pull, here or at the other end of a wire.
    pub fn floats(&self, pin: u32) -> bool {
        let net = self.nets.iter().copied().find(|net| net & (1 << pin) != 0).unwrap_or(1 << pin);
        (self.oe | self.world_driven | self.held | self.pad_pull_up | self.pad_pull_down) & net == 0
    }

    /// Drives `pin` from outside the chip (`None`: releases it).
    pub fn drive(&mut self, pin: u32, level: Option<bool>) {
        let bit = 1 << pin;
        let (driven, high) = (level.is_some(), level == Some(true));
        if (self.world_driven & bit != 0) == driven && (self.world_level & bit != 0) == high {
            return;
        }
        self.world_driven = (self.world_driven & !bit) | (u32::from(driven) << pin);
        self.world_level = (self.world_level & !bit) | (u32::from(high) << pin);
        self.refresh();
    }

    /// Returns the electrical level of every pad. An output loops back to its input.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Returns the levels that the chip drives, where [`Self::output_enabled`] is set.
    pub fn output(&self) -> u32 {
        self.out
    }

    pub fn output_enabled(&self) -> u32 {
        self.oe
    }

    /// Returns the levels for peripherals and SIO: pad level through the input buffer and INOVER.
    pub fn input(&self) -> u32 {
        self.input_of(self.level)
    }

    /// Returns the input levels for other pad levels.
    pub fn input_of(&self, level: u32) -> u32 {
        (((level & self.pad_input_enable) ^ self.in_invert) & !self.in_low) | self.in_high
    }

    /// Returns the pins whose pads differ from their function's output.
    pub fn overridden(&self) -> u32 {
        let out = self.out_invert | self.out_low | self.out_high;
        out | self.oe_invert | self.oe_low | self.oe_high | self.pad_output_disable
    }

    /// Returns whether TX of UART `uart` is on a pin.
    pub fn carries_uart_tx(&self, uart: usize) -> bool {
        self.function_mask[function::UART] & UART_PINS[uart] & UART_TX_PINS != 0
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
        let mut pins = Pins { pad_pull_down: 0, ..Pins::default() };
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
