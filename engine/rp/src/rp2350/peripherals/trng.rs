//! TRNG, the true random number generator (datasheet 12.12), here with a fixed seed, so that runs are reproducible.
//!
//! It collects 192 bits, one every SAMPLE_CNT1 cycles of clk_sys. The von Neumann balancer takes four of these for a
//! bit on average, and here always. The tests for errors never fail.

use super::{Peripheral, Write, unmodelled};
use crate::rp2350::wires::{event, irq};
use chip::Sys;
use sim::{NEVER, Snapshot};

const BITS: u64 = 192;
const BALANCER_BITS: u64 = 4;
const VNC_BYPASS: u32 = 1 << 1;
const EHR_VALID: u32 = 1;
const SEED: u64 = 0x2545_f491_4f6c_dd1d;

#[derive(Debug, Snapshot)]
pub struct Trng {
    random: u64,
    imr: u32,
    isr: u32,
    config: u32,
    enabled: bool,
    sample_count: u32,
    debug: u32,
    /// The collected bits, and the cycle at which all are there ([`NEVER`]: none are being collected).
    ehr: [u32; 6],
    ready_at: u64,
}

impl Default for Trng {
    fn default() -> Self {
        Self {
            random: SEED,
            imr: 0xf,
            isr: 0,
            config: 0,
            enabled: false,
            sample_count: 0xffff,
            debug: 0,
            ehr: [0; 6],
            ready_at: NEVER,
        }
    }
}

impl Trng {
    /// Handles the end of a collection.
    pub fn event(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    fn draw(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u32
    }

    fn collect(&mut self, sys: &mut Sys) {
        let balancer = if self.debug & VNC_BYPASS != 0 { 1 } else { BALANCER_BITS };
        let cycles = BITS * balancer * u64::from(self.sample_count.max(1));
        self.ready_at = if self.enabled { sys.now_cycle().saturating_add(cycles) } else { NEVER };
        self.isr &= !EHR_VALID;
        self.ehr = [0; 6];
        self.update(sys);
    }

    fn update(&mut self, sys: &mut Sys) {
        if sys.now_cycle() >= self.ready_at {
            self.ready_at = NEVER;
            self.ehr = std::array::from_fn(|_| self.draw());
            self.isr |= EHR_VALID;
        }
        sys.set_irq(irq::TRNG, self.isr & !self.imr != 0);
        let awaited = self.ready_at != NEVER && self.imr & EHR_VALID == 0;
        let at = if awaited { sys.clock.ps_at(self.ready_at) } else { NEVER };
        sys.schedule(event::TRNG, at);
    }
}

impl Peripheral for Trng {
    fn name(&self) -> &'static str {
        "TRNG"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.update(sys);
        match offset {
            0x100 => self.imr,
            0x104 => self.isr,
            0x10c => self.config,
            0x110 => self.isr & EHR_VALID,
            0x114..=0x128 => {
                let word = self.ehr[((offset - 0x114) / 4) as usize];
                // The last word's read starts the next collection.
                if offset == 0x128 && self.isr & EHR_VALID != 0 {
                    self.collect(sys);
                }
                word
            }
            0x12c => self.enabled.into(),
            0x130 => self.sample_count,
            0x138 => self.debug,
            0x1b8 => u32::from(self.ready_at != NEVER),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.update(sys);
        match offset {
            0x100 => self.imr = write.apply_masked(self.imr, 0xf),
            0x108 => {
                let valid = self.isr & EHR_VALID != 0;
                self.isr &= !write.ones();
                if valid && self.isr & EHR_VALID == 0 {
                    self.collect(sys);
                }
            }
            0x10c => self.config = write.apply_masked(self.config, 3),
            0x12c => {
                let was = self.enabled;
                self.enabled = write.apply(was.into()) & 1 != 0;
                match (was, self.enabled) {
                    (false, true) => self.collect(sys),
                    // The collected bits stay.
                    (true, false) => self.ready_at = NEVER,
                    _ => {}
                }
            }
            0x130 => self.sample_count = write.apply(self.sample_count),
            0x138 => self.debug = write.apply_masked(self.debug, 0xe),
            0x140 if write.apply(0) & 1 != 0 => {
                let random = self.random;
                *self = Self { random, ..Self::default() };
            }
            0x1b4 if write.apply(0) != 0 => unmodelled(sys, "TRNG.RNG_DEBUG_EN_INPUT", offset, Some(write.bits)),
            0x1bc if write.apply(0) & 1 != 0 => self.collect(sys),
            _ => {}
        }
        self.update(sys);
    }

    /// Resets the registers; the source of noise goes on.
    fn reset(&mut self, sys: &mut Sys) {
        let random = self.random;
        *self = Self { random, ..Self::default() };
        self.update(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_collected_in_their_time_and_differ() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut trng = Trng::default();
        trng.write(&mut sys, 0x130, Write::normal(25));
        trng.write(&mut sys, 0x138, Write::normal(VNC_BYPASS));
        trng.write(&mut sys, 0x12c, Write::normal(1));
        sys.cycle = 192 * 25 - 1;
        assert_eq!((trng.read(&mut sys, 0x110), trng.read(&mut sys, 0x1b8)), (0, 1));
        sys.cycle += 1;
        assert_eq!((trng.read(&mut sys, 0x110), trng.read(&mut sys, 0x1b8)), (1, 0));
        let first: Vec<u32> = (0..6).map(|word| trng.read(&mut sys, 0x114 + 4 * word)).collect();
        assert_eq!((trng.read(&mut sys, 0x110), trng.read(&mut sys, 0x114)), (0, 0));
        sys.cycle += 192 * 25;
        let second: Vec<u32> = (0..6).map(|word| trng.read(&mut sys, 0x114 + 4 * word)).collect();
        assert!(first.iter().zip(&second).all(|(first, second)| first != second && *first != 0));
    }

    #[test]
    fn an_unmasked_interrupt_comes_at_the_end() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut trng = Trng::default();
        trng.write(&mut sys, 0x130, Write::normal(1));
        trng.write(&mut sys, 0x100, Write::normal(0xe));
        trng.write(&mut sys, 0x12c, Write::normal(1));
        let due = sys.due(event::TRNG);
        assert_eq!(due, sys.clock.ps_at(192 * 4));
        assert_eq!(sys.take_event(due), Some(event::TRNG));
        trng.event(&mut sys);
        assert_eq!(sys.irq_level() >> irq::TRNG & 1, 1);
        trng.write(&mut sys, 0x108, Write::normal(1));
        assert_eq!(sys.irq_level() >> irq::TRNG & 1, 0);
    }
}
