//! External controls of a board's pins: held levels or voltages, and wires between pins.

use chip::Sys;
use chip::sys::watcher;
use sim::Snapshot;

/// Most GPIOs of a microcontroller.
const MOST_PINS: usize = 64;
/// The reference of the ADC, and the supply of the pads.
const SUPPLY_MV: u32 = 3_300;

/// The controls, which survive power cycles, as a breadboard does.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub struct Surroundings {
    /// Millivolts at each GPIO; `None`: not held.
    held_mv: [Option<u32>; MOST_PINS],
    wires: Vec<(u32, u32)>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self { held_mv: [None; MOST_PINS], wires: Vec::new() }
    }
}

impl Surroundings {
    /// Holds `pin` at this voltage in millivolts, or releases it. A program reads high from half of the supply on.
    pub fn hold(&mut self, pin: u32, millivolts: Option<u32>) {
        self.held_mv[pin as usize] = millivolts;
    }

    /// Returns the voltage that holds `pin`, in mV; `None`: nothing does.
    pub fn held_mv(&self, pin: u32) -> Option<u32> {
        self.held_mv[pin as usize]
    }

    /// Adds a wire between two pins; a repeated one counts once.
    pub fn wire(&mut self, a: u32, b: u32) {
        let wire = (a.min(b), a.max(b));
        if a != b && !self.wires.contains(&wire) {
            self.wires.push(wire);
        }
    }

    /// Removes a wire; returns false if there is none between these two.
    pub fn unwire(&mut self, a: u32, b: u32) -> bool {
        let before = self.wires.len();
        self.wires.retain(|&wire| wire != (a.min(b), a.max(b)));
        self.wires.len() < before
    }

    /// Returns the pairs of pins that a wire connects.
    pub fn wires(&self) -> &[(u32, u32)] {
        &self.wires
    }

    /// Returns all pins that are held or wired.
    pub(crate) fn pins(&self) -> impl Iterator<Item = u32> {
        let held = (0..).zip(&self.held_mv).filter_map(|(pin, held)| held.map(|_| pin));
        held.chain(self.wires.iter().flat_map(|&(a, b)| [a, b]))
    }

    /// Returns the sets of pins that wires join, directly or through others.
    pub fn nets(&self) -> Vec<u64> {
        let mut nets: Vec<u64> = Vec::new();
        for &(a, b) in &self.wires {
            let mut net = 1 << a | 1 << b;
            nets.retain(|&other| {
                let apart = other & net == 0;
                if !apart {
                    net |= other;
                }
                apart
            });
            nets.push(net);
        }
        nets
    }

    /// Applies all controls to the chip.
    pub fn apply(&self, sys: &mut Sys) {
        let pins = sys.pins.mask();
        for (pin, &held_mv) in (0..pins.count_ones()).zip(&self.held_mv) {
            sys.pins.hold(pin, held_mv.map(|mv| 2 * mv >= SUPPLY_MV));
        }
        let nets = self.nets();
        let wired = nets.iter().fold(0, |all, net| all | net);
        sys.watch_pins(watcher::WIRES, wired);
        sys.follow_pins(watcher::WIRES, wired);
        for (pin, to) in sys.pins.readings.iter_mut().enumerate() {
            let net = nets.iter().copied().find(|net| net & (1 << pin) != 0).unwrap_or(1 << pin);
            // A voltage at the other end of a wire applies here, too.
            let held_mv = (0..MOST_PINS as u32).filter(|pin| net & (1 << pin) != 0).find_map(|pin| self.held_mv(pin));
            *to = held_mv.map(reading);
        }
        sys.pins.join(nets);
    }
}

/// Returns the ADC's reading of a voltage.
fn reading(millivolts: u32) -> u16 {
    (u64::from(millivolts) * 4096 / u64::from(SUPPLY_MV)).min(4095) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_that_meet_are_one_net() {
        let mut around = Surroundings::default();
        for (a, b) in [(0, 1), (2, 3), (1, 0), (4, 4), (3, 1), (8, 9)] {
            around.wire(a, b);
        }
        assert_eq!(around.wires(), [(0, 1), (2, 3), (1, 3), (8, 9)]);
        assert_eq!(around.nets(), [0b1111, 0b11 << 8]);
        assert!(around.unwire(3, 1) && !around.unwire(3, 1));
        assert_eq!(around.nets(), [0b11, 0b1100, 0b11 << 8]);
    }

    #[test]
    fn readings_are_those_of_a_12_bit_converter() {
        assert_eq!([0, 1650, 3299, 3300, 5000].map(reading), [0, 2048, 4094, 4095, 4095]);
    }
}
