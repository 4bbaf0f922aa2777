//! The 30 GPIO pads of bank 0: who drives them, and what level they carry.
//!
//! Register access is in `peripherals::io_bank0` and `peripherals::pads_bank0`; this is the electrical state that all
//! peripherals and the world share.

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
    /// INOVER: what the peripherals see of the input.
    pub in_invert: u32,
    pub in_low: u32,
    pub in_high: u32,
    /// PADS_BANK0: output disable, input enable, pull-up, pull-down.
    pub pad_output_disable: u32,
    pub pad_input_enable: u32,
    pub pad_pull_up: u32,
    pub pad_pull_down: u32,
    /// Pins that something outside drives, and their levels.
    world_driven: u32,
    world_level: u32,
    out: u32,
    oe: u32,
    level: u32,
    /// The chip's own outputs changed since the world last looked.
    pub world_dirty: bool,
    /// Levels at the input buffers changed since IO_BANK0 last looked.
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
            out: 0,
            oe: 0,
            level: 0,
            world_dirty: false,
            input_dirty: false,
        }
    }
}

impl Pins {
    /// Recomputes pad levels after any input of the computation changed.
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
        let undriven = (self.world_level & self.world_driven) | (floating & !self.world_driven);
        let level = (out & oe) | (undriven & !oe);
        if oe != self.oe || (out ^ self.out) & oe != 0 {
            self.world_dirty = true;
        }
        if level != self.level {
            self.input_dirty = true;
        }
        self.out = out;
        self.oe = oe;
        self.level = level & PIN_MASK;
    }

    /// Drives `pin` from outside the chip (`None`: lets go of it).
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

    /// Electrical level of every pad. An output loops back to its own input.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Level the chip drives, where [`Self::output_enabled`] is set.
    pub fn output(&self) -> u32 {
        self.out
    }

    pub fn output_enabled(&self) -> u32 {
        self.oe
    }

    /// What peripherals and SIO see: pad level through the input buffer and INOVER.
    pub fn input(&self) -> u32 {
        (((self.level & self.pad_input_enable) ^ self.in_invert) & !self.in_low) | self.in_high
    }

    /// A pin that no function but `function` owns.
    pub fn is_selected(&self, pin: u32, function: usize) -> bool {
        self.function_mask[function] & (1 << pin) != 0
    }
}
