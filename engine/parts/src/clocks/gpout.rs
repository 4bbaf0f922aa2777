//! The clocks on GPIO21, 23, 24 and 25 (datasheet 2.15.1.3).
//!
//! As with PWM, levels are computed when a program reads them, and edges are events only on watched pins. The chip
//! itself sees at most one edge per cycle of clk_sys: of a faster clock, only its level at that time. The duty cycle is
//! always 50 %, as DC50 makes it, and an output starts low; PHASE and NUDGE, which shift an output against its source,
//! have no effect.

use crate::wires::ClocksWires;
use chip::Sys;
use chip::ticks::Ticks;
use sim::{NEVER, Ps, Snapshot};

const OUTPUTS: usize = 4;

/// The source of an output and its divider in units of `one` (`hz` 0: stopped, low).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub(crate) struct Drive {
    pub(crate) hz: u64,
    pub(crate) divisor: u64,
    pub(crate) one: u64,
}

#[derive(Debug, Snapshot)]
pub(crate) struct Gpout {
    wires: ClocksWires,
    drives: [Drive; OUTPUTS],
    half_periods: [Ticks; OUTPUTS],
}

impl Gpout {
    pub(crate) fn new(wires: ClocksWires) -> Self {
        Self { wires, drives: Default::default(), half_periods: Default::default() }
    }

    /// Returns the pins of all outputs.
    fn pins(&self) -> u64 {
        self.wires.outputs.iter().fold(0, |all, pins| all | pins)
    }

    /// Handles a change of the generators or their sources.
    pub(crate) fn set(&mut self, sys: &mut Sys, drives: [Drive; OUTPUTS]) {
        let now = sys.now();
        for ((old, new), half_periods) in self.drives.iter_mut().zip(drives).zip(&mut self.half_periods) {
            if new.hz == 0 {
                *half_periods = Ticks::default();
            } else if *old != new {
                half_periods.set_rate(now, 2 * new.one * new.hz, new.divisor);
            }
            *old = new;
        }
        self.update(sys);
    }

    /// Returns whether the level of a pin may be out of date until [`Self::update`].
    pub(crate) fn drives_pins(&self, sys: &Sys) -> bool {
        sys.pins.function_mask[self.wires.function] & self.pins() != 0 && self.half_periods.iter().any(Ticks::running)
    }

    /// Updates the levels of all pins, and the next event.
    pub(crate) fn update(&mut self, sys: &mut Sys) {
        let now = sys.now();
        let ClocksWires { event, function, outputs, .. } = self.wires;
        let all = self.pins();
        let watched = sys.watched_pins() & sys.pins.function_mask[function];
        let (mut out, mut next): (u64, Ps) = (0, NEVER);
        for (half_periods, pins) in self.half_periods.iter().zip(outputs) {
            let count = half_periods.count(now);
            out |= (count & 1) * pins;
            if watched & pins != 0 {
                next = next.min(half_periods.time_of(count.wrapping_add(1)));
            }
        }
        let pins = &mut sys.pins;
        if pins.function_out[function] != out || pins.function_oe[function] != all {
            pins.function_out[function] = out;
            pins.function_oe[function] = all;
            pins.refresh();
        }
        if next != NEVER {
            next = next.max(sys.clock.ps_at(sys.clock.cycle_at(now) + 1));
        }
        if sys.due(event) != next {
            sys.schedule(event, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, event, function};
    use chip::sys::watcher;
    use sim::PS_PER_US;

    const MHZ: u64 = 1_000_000;

    const PIN: u32 = 21;

    /// Returns GPOUT0 on its pin, from `hz`, at clk_sys 125 MHz.
    fn bench(hz: u64, divisor: u64) -> (Sys, Gpout) {
        let mut sys = testing::sys(125 * MHZ);
        sys.pins.function_mask[function::CLOCK] = 1 << PIN;
        let mut gpout = Gpout::new(testing::CLOCKS);
        gpout.set(&mut sys, [Drive { hz, divisor, one: 256 }, Drive::default(), Drive::default(), Drive::default()]);
        (sys, gpout)
    }

    fn level(sys: &Sys) -> u64 {
        sys.pins.level() >> PIN & 1
    }

    #[test]
    fn levels_are_right_when_somebody_looks_and_cost_nothing_otherwise() {
        // 12 MHz through 25.5: a half period of 1062.5 ns, that is 132.8 cycles.
        let (mut sys, mut gpout) = bench(12 * MHZ, 25 * 256 + 128);
        assert!(gpout.drives_pins(&sys));
        for (cycle, expected) in [(0, 0), (132, 0), (133, 1), (265, 1), (266, 0), (398, 0), (399, 1)] {
            sys.cycle = cycle;
            gpout.update(&mut sys);
            assert_eq!(level(&sys), expected, "cycle {cycle}");
        }
        assert_eq!(sys.due(event::CLOCKS), NEVER);
    }

    #[test]
    fn a_watched_pin_has_every_edge_and_a_stopped_output_none() {
        let (mut sys, mut gpout) = bench(48 * MHZ, 10 * 256);
        sys.watch_pins(watcher::GPIO, 1 << PIN);
        gpout.update(&mut sys);
        let mut rises = 0;
        while sys.take_event(10 * PS_PER_US).is_some() {
            gpout.update(&mut sys);
            rises += level(&sys);
        }
        assert_eq!(rises, 48);
        gpout.set(&mut sys, [Drive::default(); OUTPUTS]);
        assert_eq!((level(&sys), sys.due(event::CLOCKS), gpout.drives_pins(&sys)), (0, NEVER, false));
    }

    #[test]
    fn nobody_sees_more_than_a_level_in_each_cycle() {
        let (mut sys, mut gpout) = bench(1600 * MHZ, 256);
        sys.watch_pins(watcher::PARTS, 1 << PIN);
        gpout.update(&mut sys);
        let mut events = 0;
        while sys.take_event(PS_PER_US).is_some() {
            gpout.update(&mut sys);
            events += 1;
        }
        assert_eq!(events, 125);
    }
}
