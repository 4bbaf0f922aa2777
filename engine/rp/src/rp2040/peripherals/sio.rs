//! SIO, the single-cycle IO block: per-core identity, GPIO, inter-core FIFOs, spinlocks, divider, interpolators
//! (datasheet 2.3.1).

use crate::rp2040::wires::{PINS, function, irq};
use crate::sio::Common;
use chip::Sys;
use sim::Snapshot;

/// Cycles from operand write to result (datasheet 2.3.1.5).
const DIVIDER_CYCLES: u64 = 8;

#[derive(Debug, Default, Snapshot)]
struct Divider {
    dividend: u32,
    divisor: u32,
    quotient: u32,
    remainder: u32,
    dirty: bool,
    ready_at: u64,
}

impl Divider {
    fn compute(&mut self, cycle: u64, signed: bool) {
        self.dirty = true;
        self.ready_at = cycle + DIVIDER_CYCLES;
        let (p, q) = (self.dividend, self.divisor);
        // Division by zero: quotient all ones (unsigned), -1 or 1 opposite to the dividend's sign (signed), remainder
        // the dividend.
        (self.quotient, self.remainder) = match (signed, q) {
            (false, 0) => (u32::MAX, p),
            (true, 0) => (if (p as i32) < 0 { 1 } else { u32::MAX }, p),
            (false, _) => (p / q, p % q),
            (true, _) => {
                let (p, q) = (p as i32, q as i32);
                (p.wrapping_div(q) as u32, p.wrapping_rem(q) as u32)
            }
        };
    }
}

/// The cores' single-cycle registers: GPIO, FIFOs, spinlocks, dividers, interpolators.
#[derive(Debug, Default, Snapshot)]
pub struct Sio {
    common: Common<8>,
    dividers: [Divider; 2],
    gpio_out: u32,
    gpio_oe: u32,
    gpio_hi_out: u32,
    gpio_hi_oe: u32,
}

impl Sio {
    fn drive(&mut self, sys: &mut Sys) {
        sys.pins.function_out[function::SIO] = self.gpio_out.into();
        sys.pins.function_oe[function::SIO] = self.gpio_oe.into();
        sys.pins.refresh();
    }

    fn update_irq(&self, sys: &mut Sys) {
        sys.set_irq(irq::SIO_PROC0, self.common.interrupts(0));
        sys.set_irq(irq::SIO_PROC1, self.common.interrupts(1));
    }
}

impl crate::sio::Sio for Sio {
    fn take(&mut self, sys: &mut Sys, core: usize, offset: u32, qspi: u32) -> u32 {
        match offset {
            0x008 => qspi,
            0x058 => {
                let word = self.common.read(core, offset);
                self.update_irq(sys);
                word
            }
            _ => self.common.read(core, offset),
        }
    }

    #[inline]
    fn read_own(&mut self, core: usize, offset: u32, cycle: u64) -> Option<u32> {
        let divider = &mut self.dividers[core];
        match offset {
            0x070 => {
                divider.dirty = false;
                Some(divider.quotient)
            }
            0x078 => Some(u32::from(cycle >= divider.ready_at) | (u32::from(divider.dirty) << 1)),
            _ => self.peek(core, offset),
        }
    }

    #[inline]
    fn write_own(&mut self, core: usize, offset: u32, value: u32, cycle: u64) -> bool {
        let divider = &mut self.dividers[core];
        match offset {
            0x060 | 0x064 | 0x068 | 0x06c => {
                if offset & 4 == 0 {
                    divider.dividend = value;
                } else {
                    divider.divisor = value;
                }
                divider.compute(cycle, offset >= 0x068);
            }
            0x070 | 0x074 => {
                if offset == 0x070 {
                    divider.quotient = value;
                } else {
                    divider.remainder = value;
                }
                divider.dirty = true;
            }
            _ => return false,
        }
        true
    }

    #[inline]
    fn peek(&self, core: usize, offset: u32) -> Option<u32> {
        let divider = &self.dividers[core];
        Some(match offset {
            0x010 => self.gpio_out,
            0x020 => self.gpio_oe,
            0x030 => self.gpio_hi_out,
            0x040 => self.gpio_hi_oe,
            0x060 | 0x068 => divider.dividend,
            0x064 | 0x06c => divider.divisor,
            0x074 => divider.remainder,
            _ => return self.common.peek(core, offset),
        })
    }

    fn write(&mut self, sys: &mut Sys, core: usize, offset: u32, value: u32) {
        match offset {
            0x010..=0x01c => {
                self.gpio_out = alias(offset, self.gpio_out, value) & PINS as u32;
                self.drive(sys);
            }
            0x020..=0x02c => {
                self.gpio_oe = alias(offset, self.gpio_oe, value) & PINS as u32;
                self.drive(sys);
            }
            0x030..=0x03c => self.gpio_hi_out = alias(offset, self.gpio_hi_out, value) & 0x3f,
            0x040..=0x04c => self.gpio_hi_oe = alias(offset, self.gpio_hi_oe, value) & 0x3f,
            0x050 | 0x054 => {
                self.common.write(core, offset, value);
                self.update_irq(sys);
            }
            _ => self.common.write(core, offset, value),
        }
    }

    /// GPIO_HI_OUT and GPIO_HI_OE.
    fn qspi(&self) -> (u32, u32) {
        (self.gpio_hi_out, self.gpio_hi_oe)
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        self.drive(sys);
    }
}

/// Applies a write through OUT, OUT_SET, OUT_CLR or OUT_XOR, or the same four of another register.
fn alias(offset: u32, old: u32, value: u32) -> u32 {
    match offset & 0xc {
        0x0 => value,
        0x4 => old | value,
        0x8 => old & !value,
        _ => old ^ value,
    }
}
