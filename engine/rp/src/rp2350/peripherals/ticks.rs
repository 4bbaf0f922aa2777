//! TICKS: six generators that divide clk_ref: for the cores' SysTicks, the timers, the watchdog and RISC-V's timer
//! (datasheet 8.5).

use super::{Peripheral, Write};
use crate::rp2350::wires::tick;
use chip::Sys;
use sim::Snapshot;

const ENABLE: u32 = 1;
const RUNNING: u32 = 2;
const CYCLES: u32 = 0x1ff;
/// Bytes of a generator's registers CTRL, CYCLES, COUNT.
const STRIDE: u32 = 12;

#[derive(Clone, Copy, Debug, Default, Snapshot)]
struct Generator {
    enabled: bool,
    cycles: u32,
}

#[derive(Debug, Default, Snapshot)]
pub struct Ticks {
    generators: [Generator; tick::COUNT],
}

impl Ticks {
    /// Handles a change of clk_ref or of a register: sets the rates.
    pub fn update(&self, sys: &mut Sys) {
        let now = sys.now();
        for (generator, ticks) in self.generators.iter().zip(&mut sys.ticks) {
            let runs = generator.enabled && generator.cycles != 0;
            let hz = if runs { sys.freq.clk_ref_hz } else { 0 };
            ticks.set_rate(now, hz, generator.cycles.into());
        }
        let proc0 = &self.generators[tick::PROC0];
        let hz = sys.freq.clk_ref_hz.checked_div(proc0.cycles.into()).unwrap_or(0);
        sys.freq.tick_hz = if proc0.enabled { hz } else { 0 };
    }
}

impl Peripheral for Ticks {
    fn name(&self) -> &'static str {
        "TICKS"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        let index = (offset / STRIDE) as usize;
        let Some(generator) = self.generators.get(index) else { return 0 };
        let ticks = &sys.ticks[index];
        match offset % STRIDE {
            0 if generator.enabled => ENABLE | if ticks.running() { RUNNING } else { 0 },
            0 => 0,
            4 => generator.cycles,
            _ if ticks.running() => generator.cycles.saturating_sub(ticks.cycles_into_tick(sys.now()) as u32),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let Some(generator) = self.generators.get_mut((offset / STRIDE) as usize) else { return };
        match offset % STRIDE {
            0 => generator.enabled = write.apply(u32::from(generator.enabled)) & ENABLE != 0,
            4 => generator.cycles = write.apply_masked(generator.cycles, CYCLES),
            _ => return,
        }
        sys.clock_sources_dirty = true;
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        sys.clock_sources_dirty = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generator_divides_clk_ref() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        sys.freq.clk_ref_hz = 12_000_000;
        let mut ticks = Ticks::default();
        ticks.write(&mut sys, 0x1c, Write::normal(12));
        ticks.write(&mut sys, 0x18, Write::normal(ENABLE));
        ticks.write(&mut sys, 0x34, Write::normal(6));
        ticks.write(&mut sys, 0x30, Write::normal(ENABLE));
        ticks.update(&mut sys);
        sys.cycle = 12_003;
        let now = sys.now();
        assert_eq!((sys.ticks[tick::TIMER0].count(now), sys.ticks[tick::WATCHDOG].count(now)), (1000, 2000));
        assert_eq!([0x18, 0x1c, 0x20, 0x24].map(|offset| ticks.read(&mut sys, offset)), [3, 12, 9, 0]);
        ticks.write(&mut sys, 0x18, Write::normal(0));
        ticks.update(&mut sys);
        sys.cycle = 24_000;
        assert_eq!((sys.ticks[tick::TIMER0].count(sys.now()), ticks.read(&mut sys, 0x18)), (1000, 0));
    }
}
