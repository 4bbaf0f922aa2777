//! SIO, the single-cycle IO block: per-core identity, GPIO, inter-core FIFOs, spinlocks, divider, interpolators
//! (datasheet 2.3.1).

use super::psm;
use crate::rp2040::sys::Sys;
use crate::rp2040::wires::irq;
use crate::rp2040::wires::{PIN_MASK, function};
use parts::interpolator::Interpolator;
use sim::Snapshot;
use std::collections::VecDeque;

const FIFO_DEPTH: usize = 8;
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
    fn compute(&mut self, sys: &Sys, signed: bool) {
        self.dirty = true;
        self.ready_at = sys.cycle + DIVIDER_CYCLES;
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

#[derive(Debug, Default, Snapshot)]
struct PerCore {
    divider: Divider,
    interpolators: [Interpolator; 2],
    /// Words in transit to this core.
    inbox: VecDeque<u32>,
    read_on_empty: bool,
    write_on_full: bool,
}

/// The cores' single-cycle registers: GPIO, mailboxes, spinlocks, dividers, interpolators.
#[derive(Debug, Default, Snapshot)]
pub struct Sio {
    cores: [PerCore; 2],
    spinlocks: u32,
    gpio_out: u32,
    gpio_oe: u32,
    gpio_hi_out: u32,
    gpio_hi_oe: u32,
}

impl Sio {
    pub(crate) fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        self.drive(sys);
    }

    fn drive(&mut self, sys: &mut Sys) {
        sys.pins.function_out[function::SIO] = self.gpio_out.into();
        sys.pins.function_oe[function::SIO] = self.gpio_oe.into();
        sys.pins.refresh();
    }

    /// Returns GPIO_HI_OUT and GPIO_HI_OE, which IO_QSPI drives on the flash's pins.
    pub(crate) fn gpio_hi(&self) -> (u32, u32) {
        (self.gpio_hi_out, self.gpio_hi_oe)
    }

    fn update_irq(&self, sys: &mut Sys) {
        for (core, line) in [(0, irq::SIO_PROC0), (1, irq::SIO_PROC1)] {
            let c = &self.cores[core];
            sys.set_irq(line, !c.inbox.is_empty() || c.read_on_empty || c.write_on_full);
        }
    }

    /// Reads a register as `core` sees it. May have side effects.
    pub fn read(&mut self, sys: &mut Sys, core: usize, offset: u32) -> u32 {
        if in_reset(sys) {
            return 0;
        }
        if let Some(value) = self.peek(core, offset) {
            return value;
        }
        match offset {
            0x004 => sys.pins.input() as u32,
            0x058 => {
                let word = self.cores[core].inbox.pop_front();
                if word.is_none() {
                    self.cores[core].read_on_empty = true;
                }
                self.update_irq(sys);
                word.unwrap_or(0)
            }
            0x070 => {
                self.cores[core].divider.dirty = false;
                self.cores[core].divider.quotient
            }
            0x078 => {
                let d = &self.cores[core].divider;
                u32::from(sys.cycle >= d.ready_at) | (u32::from(d.dirty) << 1)
            }
            0x080..0x100 => {
                let index = usize::from(offset >= 0x0c0);
                self.cores[core].interpolators[index].read(index, offset & 0x3f)
            }
            0x100..0x180 => {
                self.spinlocks |= spinlock(offset);
                spinlock(offset)
            }
            _ => 0,
        }
    }

    /// Returns what `core` reads, if the read has no side effect and gives the same at any time until a write, another
    /// read or an event.
    #[inline]
    pub(crate) fn peek(&self, core: usize, offset: u32) -> Option<u32> {
        let me = &self.cores[core];
        Some(match offset {
            0x000 => core as u32,
            0x010 => self.gpio_out,
            0x020 => self.gpio_oe,
            0x030 => self.gpio_hi_out,
            0x040 => self.gpio_hi_oe,
            0x050 => {
                u32::from(!me.inbox.is_empty())
                    | (u32::from(self.cores[1 - core].inbox.len() < FIFO_DEPTH) << 1)
                    | (u32::from(me.write_on_full) << 2)
                    | (u32::from(me.read_on_empty) << 3)
            }
            0x05c => self.spinlocks,
            0x060 | 0x068 => me.divider.dividend,
            0x064 | 0x06c => me.divider.divisor,
            0x074 => me.divider.remainder,
            0x100..0x180 if self.spinlocks & spinlock(offset) != 0 => 0,
            _ => return None,
        })
    }

    /// Writes a register as `core` sees it.
    pub fn write(&mut self, sys: &mut Sys, core: usize, offset: u32, value: u32) {
        if in_reset(sys) {
            return;
        }
        match offset {
            0x010..=0x01c => {
                self.gpio_out = alias(offset, self.gpio_out, value) & PIN_MASK;
                self.drive(sys);
            }
            0x020..=0x02c => {
                self.gpio_oe = alias(offset, self.gpio_oe, value) & PIN_MASK;
                self.drive(sys);
            }
            0x030..=0x03c => self.gpio_hi_out = alias(offset, self.gpio_hi_out, value) & 0x3f,
            0x040..=0x04c => self.gpio_hi_oe = alias(offset, self.gpio_hi_oe, value) & 0x3f,
            0x050 => {
                self.cores[core].read_on_empty = false;
                self.cores[core].write_on_full = false;
                self.update_irq(sys);
            }
            0x054 => {
                if self.cores[1 - core].inbox.len() < FIFO_DEPTH {
                    self.cores[1 - core].inbox.push_back(value);
                } else {
                    self.cores[core].write_on_full = true;
                }
                self.update_irq(sys);
            }
            0x060 | 0x064 | 0x068 | 0x06c => {
                let d = &mut self.cores[core].divider;
                if offset & 4 == 0 {
                    d.dividend = value;
                } else {
                    d.divisor = value;
                }
                d.compute(sys, offset >= 0x068);
            }
            0x070 | 0x074 => {
                let d = &mut self.cores[core].divider;
                if offset == 0x070 {
                    d.quotient = value;
                } else {
                    d.remainder = value;
                }
                d.dirty = true;
            }
            0x080..0x100 => {
                let index = usize::from(offset >= 0x0c0);
                self.cores[core].interpolators[index].write(index, offset & 0x3f, value);
            }
            0x100..0x180 => self.spinlocks &= !(1 << ((offset - 0x100) / 4)),
            _ => {}
        }
    }
}

/// Returns the bit of the spin lock at `offset`.
fn spinlock(offset: u32) -> u32 {
    1 << ((offset - 0x100) / 4)
}

pub(crate) fn in_reset(sys: &Sys) -> bool {
    sys.held_by_psm & psm::bit::SIO != 0
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
