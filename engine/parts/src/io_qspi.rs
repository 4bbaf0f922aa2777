//! IO_QSPI: function select, overrides and interrupts of the flash's pins (RP2040 datasheet 2.19.6.2).
//!
//! The boot ROM's flash routines force chip select through GPIO_QSPI_SS_CTRL.OUTOVER. Programs that read the BOOTSEL
//! button release it through OEOVER and read GPIO_HI_IN. The other pins' levels are not simulated: they are idle with
//! SCLK low and SD0 to SD3 high.

use crate::wires::IoWires;
use chip::{Peripheral, Sys, Write};
use sim::Snapshot;
use sim::snapshot::LeftOut;

/// Most pins.
const PINS: usize = 8;
const NULL: u32 = 0x1f;
const FUNCTION_XIP: u32 = 0;
const FUNCTION_SIO: u32 = 5;
const EDGES: u32 = 0xcccc_cccc;

/// What differs between the versions: version 1 has USB's two pins before SCLK, SS and SD0 to SD3.
#[derive(Debug)]
struct Layout {
    pins: usize,
    ss: usize,
    /// Levels of the pins other than SS.
    idle: u32,
    ctrl_mask: u32,
    /// Least bits of OUTOVER and OEOVER.
    outover: u32,
    oeover: u32,
    intr: u32,
}

const LAYOUTS: [Layout; 2] = [
    Layout { pins: 6, ss: 1, idle: 0x3c, ctrl_mask: 0x3003_331f, outover: 8, oeover: 12, intr: 0x30 },
    Layout { pins: 8, ss: 3, idle: 0xc0, ctrl_mask: 0x3003_f01f, outover: 12, oeover: 14, intr: 0x218 },
];
/// PROC0, PROC1, DORMANT_WAKE.
const DESTINATIONS: usize = 3;
const DORMANT_WAKE: usize = 2;

/// The function selects, overrides and interrupts of the QSPI pins.
#[derive(Debug, Snapshot)]
pub struct IoQspi {
    wires: IoWires,
    layout: LeftOut<&'static Layout>,
    /// GPIO_QSPI_SS_CTRL's output override changed.
    pub ss_dirty: bool,
    /// The BOOTSEL button is pressed; it pulls SS low through a resistor.
    pub bootsel_pressed: bool,
    /// GPIO_HI_OUT and GPIO_HI_OE as SIO drives them.
    sio_out: u32,
    sio_oe: u32,
    ctrl: [u32; PINS],
    edges: u32,
    inte: [u32; DESTINATIONS],
    intf: [u32; DESTINATIONS],
    seen: u32,
}

impl IoQspi {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: IoWires) -> Self {
        let layout = &LAYOUTS[wires.version as usize];
        Self {
            wires,
            layout: LeftOut(layout),
            ss_dirty: false,
            bootsel_pressed: false,
            sio_out: 0,
            sio_oe: 0,
            ctrl: [NULL; PINS],
            edges: 0,
            inte: [0; DESTINATIONS],
            intf: [0; DESTINATIONS],
            seen: layout.idle | (1 << layout.ss),
        }
    }
}

impl IoQspi {
    /// Returns the level that OUTOVER/OEOVER/SIO forces on the flash's chip select; `None`: the SSI drives it.
    pub fn ss_override(&self) -> Option<bool> {
        let ctrl = self.ctrl[self.layout.ss];
        let (driven, from_function) = match ctrl & 0x1f {
            FUNCTION_XIP => (true, None),
            FUNCTION_SIO => (self.sio_oe & (1 << self.layout.ss) != 0, Some(self.sio_out & (1 << self.layout.ss) != 0)),
            _ => (false, Some(false)),
        };
        let enabled = match (ctrl >> self.layout.oeover) & 3 {
            0 => driven,
            1 => !driven,
            2 => false,
            _ => true,
        };
        if !enabled {
            return Some(!self.bootsel_pressed);
        }
        match (ctrl >> self.layout.outover) & 3 {
            0 => from_function,
            // The SSI's inverted select is not modelled: the flash never sees a valid frame.
            1 => Some(!from_function.unwrap_or(false)),
            2 => Some(false),
            _ => Some(true),
        }
    }

    /// Returns the pins' levels as SIO reads them, from bit 0 up.
    pub fn gpio_hi_in(&self) -> u32 {
        self.inputs()
    }

    /// Handles a change of SIO's GPIO_HI_OUT and GPIO_HI_OE.
    pub fn set_sio(&mut self, sys: &mut Sys, out: u32, oe: u32) {
        (self.sio_out, self.sio_oe) = (out, oe);
        self.ss_dirty |= self.ctrl[self.layout.ss] & 0x1f == FUNCTION_SIO;
        self.update(sys);
    }

    fn level(&self, pin: usize) -> bool {
        if pin == self.layout.ss {
            // A select driven by the SSI is high whenever the program can read it.
            self.ss_override().unwrap_or(true)
        } else {
            self.layout.idle & (1 << pin) != 0
        }
    }

    fn inputs(&self) -> u32 {
        (0..self.layout.pins)
            .fold(0, |mask, pin| mask | (u32::from(overridden(self.ctrl[pin] >> 16, self.level(pin))) << pin))
    }

    fn update(&mut self, sys: &mut Sys) {
        // Fast path: the ROM's flash routines come here twice per command, and only the select changes.
        let now = if self.ctrl.iter().all(|ctrl| ctrl >> 28 & 3 == 0) {
            self.layout.idle | (u32::from(self.level(self.layout.ss)) << self.layout.ss)
        } else {
            (0..self.layout.pins)
                .fold(0, |mask, pin| mask | (u32::from(overridden(self.ctrl[pin] >> 28, self.level(pin))) << pin))
        };
        let mut changed = now ^ self.seen;
        while changed != 0 {
            let pin = changed.trailing_zeros() as usize;
            self.edges |= if now & (1 << pin) != 0 { 8 } else { 4 } << (4 * pin);
            changed &= changed - 1;
        }
        self.seen = now;
        for core in 0..2 {
            let asked = (self.inte[core] | self.intf[core]) != 0;
            sys.set_irq_for_core(core, self.wires.irq, asked && self.ints(core) != 0);
        }
    }

    fn intr(&self) -> u32 {
        (0..self.layout.pins)
            .fold(self.edges, |intr, pin| intr | (if self.seen & (1 << pin) != 0 { 2 } else { 1 } << (4 * pin)))
    }

    fn ints(&self, destination: usize) -> u32 {
        (self.intr() & self.inte[destination]) | self.intf[destination]
    }

    /// Returns whether DORMANT_WAKE is high, which wakes a dormant oscillator. The flash's pins are idle in a chip that
    /// sleeps, so nothing raises it later.
    pub fn wakes(&self) -> bool {
        self.ints(DORMANT_WAKE) != 0
    }

    fn status(&self, pin: usize) -> u32 {
        let ctrl = self.ctrl[pin];
        let (out, oe) = match ctrl & 0x1f {
            FUNCTION_XIP => (
                self.layout.idle >> pin & 1 != 0 || pin == self.layout.ss,
                pin == self.layout.ss || pin + 1 == self.layout.ss,
            ),
            FUNCTION_SIO => (self.sio_out & (1 << pin) != 0, self.sio_oe & (1 << pin) != 0),
            _ => (false, false),
        };
        let input = self.level(pin);
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

fn overridden(mode: u32, level: bool) -> bool {
    match mode & 3 {
        0 => level,
        1 => !level,
        2 => false,
        _ => true,
    }
}

impl Peripheral for IoQspi {
    fn name(&self) -> &'static str {
        "IO_QSPI"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.update(sys);
        let pin = (offset / 8) as usize;
        match offset.checked_sub(self.layout.intr) {
            None if pin >= self.layout.pins => 0,
            None if offset & 4 == 0 => self.status(pin),
            None => self.ctrl[pin],
            Some(0) => self.intr(),
            Some(offset) if ((offset / 4 - 1) as usize) < 3 * DESTINATIONS => {
                let (destination, register) = (((offset / 4 - 1) / 3) as usize, (offset / 4 - 1) % 3);
                match register {
                    0 => self.inte[destination],
                    1 => self.intf[destination],
                    _ => self.ints(destination),
                }
            }
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let pin = (offset / 8) as usize;
        match offset.checked_sub(self.layout.intr) {
            None if offset & 4 != 0 && pin < self.layout.pins => {
                self.ctrl[pin] = write.apply_masked(self.ctrl[pin], self.layout.ctrl_mask);
                self.ss_dirty |= pin == self.layout.ss;
            }
            None => {}
            Some(0) => self.edges &= !(write.ones() & EDGES),
            Some(offset) if ((offset / 4 - 1) as usize) < 3 * DESTINATIONS => {
                let (destination, register) = (((offset / 4 - 1) / 3) as usize, (offset / 4 - 1) % 3);
                let value = match register {
                    0 => &mut self.inte[destination],
                    1 => &mut self.intf[destination],
                    _ => return,
                };
                *value = write.apply_masked(*value, u32::MAX >> (32 - 4 * self.layout.pins));
            }
            _ => {}
        }
        self.update(sys);
    }

    /// Resets the registers; the button and SIO's registers belong to other blocks and stay.
    fn reset(&mut self, sys: &mut Sys) {
        *self = Self {
            bootsel_pressed: self.bootsel_pressed,
            sio_out: self.sio_out,
            sio_oe: self.sio_oe,
            ss_dirty: true,
            ..Self::new(self.wires)
        };
        self.update(sys);
        self.edges = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::wires::Version;
    use chip::Alias;

    const SS_CTRL: u32 = 0x0c;

    #[test]
    fn reset_values() {
        let mut sys = testing::sys(12_000_000);
        let mut io = IoQspi::new(testing::IO_QSPI);
        for pin in 0..6 {
            assert_eq!(io.read(&mut sys, pin * 8 + 4), 0x1f);
        }
        assert_eq!((io.read(&mut sys, 0x30), io.read(&mut sys, 0x34), io.read(&mut sys, 0x54)), (0x0022_2221, 0, 0));
        assert_eq!(io.gpio_hi_in(), 0x3e);
    }

    #[test]
    fn the_rom_forces_the_select() {
        let mut sys = testing::sys(12_000_000);
        let mut io = IoQspi::new(testing::IO_QSPI);
        io.write(&mut sys, SS_CTRL, Write::normal(0));
        assert!(std::mem::take(&mut io.ss_dirty));
        assert_eq!(io.ss_override(), None);
        io.write(&mut sys, SS_CTRL, Write { bits: 2 << 8, alias: Alias::Xor });
        assert_eq!((io.ss_override(), io.ss_dirty), (Some(false), true));
        io.write(&mut sys, SS_CTRL, Write::normal(3 << 8));
        assert_eq!(io.ss_override(), Some(true));
        assert_eq!(io.read(&mut sys, 0x30) >> 4 & 15, 0b1110);
    }

    #[test]
    fn the_button_shows_while_the_select_floats() {
        let mut sys = testing::sys(12_000_000);
        let mut io = IoQspi::new(testing::IO_QSPI);
        io.write(&mut sys, SS_CTRL, Write::normal(0));
        io.bootsel_pressed = true;
        assert_eq!(io.gpio_hi_in(), 0x3e);
        io.write(&mut sys, SS_CTRL, Write::normal(2 << 12));
        assert_eq!((io.gpio_hi_in(), io.read(&mut sys, 0x08) >> 17 & 1), (0x3c, 0));
        io.bootsel_pressed = false;
        assert_eq!(io.gpio_hi_in(), 0x3e);
        io.ss_dirty = false;
        io.reset(&mut sys);
        assert_eq!((io.gpio_hi_in(), io.ss_dirty), (0x3e, true));
    }

    #[test]
    fn version_1_has_the_pins_of_usb_first() {
        let mut sys = testing::sys(12_000_000);
        let mut io = IoQspi::new(IoWires { irq: 23, version: Version::V1 });
        let s = &mut sys;
        io.write(s, 0x1c, Write::normal(2 << 12));
        assert_eq!((io.ss_override(), io.ss_dirty, io.gpio_hi_in()), (Some(false), true, 0xc0));
        io.bootsel_pressed = true;
        io.write(s, 0x1c, Write::normal(2 << 14));
        assert_eq!((io.ss_override(), io.read(s, 0x218) >> 12 & 3), (Some(false), 1));
        // PROC0's INTE: the low level of SS.
        io.write(s, 0x21c, Write::normal(1 << 12));
        assert_eq!((s.irq_level_for_core(0), io.read(s, 0x224)), (1 << 23, 1 << 12));
    }
}
