//! SIO, the single-cycle IO block: per-core identity, GPIO, inter-core FIFOs, doorbells, spinlocks, interpolators and
//! the platform timer (datasheet 3.1).
//!
//! The Non-secure bank and the TMDS encoder are not modelled. Erratum RP2350-E2: a write
//! to a register at 0x180 or above also releases the spinlock with the same low bits of its address.

use super::unmodelled;
use crate::rp2350::wires::{PINS, event, function, irq, tick};
use crate::sio::{Common, spinlock};
use chip::Sys;
use sim::{NEVER, Snapshot};

const DOORBELLS: u32 = 0xff;
/// Bits of MTIME_CTRL.
const MTIME_ENABLE: u32 = 1;
const MTIME_FULL_SPEED: u32 = 2;
/// GPIO_HI: GPIO47 to 32, and from bit 24 on the pins of USB and QSPI.
const HI_GPIO: u32 = 0xffff;
const HI_QSPI: u32 = 24;

/// Changes that [`Sio::write_gpio`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Put,
    Set,
    Clear,
    Xor,
}

impl Change {
    fn apply(self, old: u32, value: u32) -> u32 {
        match self {
            Self::Put => value,
            Self::Set => old | value,
            Self::Clear => old & !value,
            Self::Xor => old ^ value,
        }
    }
}

/// A register of GPIO, of which each has a high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpio {
    Out,
    Enable,
}

#[derive(Debug, Default, Snapshot)]
struct PerCore {
    /// Doorbells that ring at this core.
    bells: u32,
    mtimecmp: [u32; 2],
    /// Its bit of RISCV_SOFTIRQ.
    softirq: bool,
}

#[derive(Debug, Default, Snapshot)]
pub struct Sio {
    common: Common<4>,
    cores: [PerCore; 2],
    out: [u32; 2],
    oe: [u32; 2],
    peri_nonsec: u32,
    mtime_ctrl: u32,
    /// MTIME less the count of its tick.
    mtime_offset: u64,
}

impl Sio {
    fn drive(&mut self, sys: &mut Sys) {
        let pins = |halves: [u32; 2]| (u64::from(halves[1]) << 32 | u64::from(halves[0])) & PINS;
        sys.pins.function_out[function::SIO] = pins(self.out);
        sys.pins.function_oe[function::SIO] = pins(self.oe);
        sys.pins.refresh();
    }

    /// Returns a register of GPIO, low or high half.
    pub fn gpio(&self, register: Gpio, high: usize) -> u32 {
        match register {
            Gpio::Out => self.out[high],
            Gpio::Enable => self.oe[high],
        }
    }

    /// Returns GPIO_IN or GPIO_HI_IN; `qspi`: levels of the pins from bit 24 on.
    pub fn gpio_in(&self, sys: &Sys, high: usize, qspi: u32) -> u32 {
        let input = sys.pins.input();
        if high == 0 { input as u32 } else { (input >> 32) as u32 & HI_GPIO | qspi << HI_QSPI }
    }

    /// Changes a half of a register of GPIO.
    pub fn write_gpio(&mut self, sys: &mut Sys, register: Gpio, high: usize, change: Change, value: u32) {
        let mask = if high == 0 { u32::MAX } else { 0xff00_ffff };
        let halves = if register == Gpio::Out { &mut self.out } else { &mut self.oe };
        halves[high] = change.apply(halves[high], value) & mask;
        self.drive(sys);
    }

    fn update_irq(&self, sys: &mut Sys) {
        for (core, c) in self.cores.iter().enumerate() {
            sys.set_irq_for_core(core, irq::SIO_FIFO, self.common.interrupts(core));
            sys.set_irq_for_core(core, irq::SIO_BELL, c.bells != 0);
            sys.set_irq_for_core(core, irq::RISCV_SOFTIRQ, c.softirq);
        }
    }

    /// Drives the lines of MTIMECMP, and schedules their next change. To be called when one of them is written, at its
    /// event, and after a change of clocks.
    pub fn update_timer(&mut self, sys: &mut Sys) {
        let time = self.mtime(sys);
        let mut next: Option<u64> = None;
        for core in 0..self.cores.len() {
            let [low, high] = self.cores[core].mtimecmp.map(u64::from);
            let wait = (high << 32 | low).saturating_sub(time);
            sys.set_irq_for_core(core, irq::SIO_MTIMECMP, wait == 0);
            if wait != 0 {
                next = Some(next.map_or(wait, |next| next.min(wait)));
            }
        }
        let at = match next {
            Some(wait) if self.mtime_ctrl & MTIME_ENABLE != 0 => {
                if self.mtime_ctrl & MTIME_FULL_SPEED != 0 {
                    let cycle = sys.now_cycle().saturating_add(wait);
                    // Beyond the conversion's range it is looked at again on the way.
                    sys.clock.ps_at(cycle.min(sys.now_cycle() + (1 << 40)))
                } else {
                    let ticks = &sys.ticks[tick::RISCV];
                    ticks.time_of(ticks.count(sys.now()).saturating_add(wait))
                }
            }
            _ => NEVER,
        };
        sys.schedule(event::MTIME, at);
    }

    fn mtime(&self, sys: &Sys) -> u64 {
        let runs = self.mtime_ctrl & MTIME_ENABLE != 0;
        let full_speed = self.mtime_ctrl & MTIME_FULL_SPEED != 0;
        let count = if full_speed { sys.now_cycle() } else { sys.ticks[tick::RISCV].count(sys.now()) };
        self.mtime_offset.wrapping_add(if runs { count } else { 0 })
    }

    fn set_mtime(&mut self, sys: &Sys, time: u64) {
        self.mtime_offset = 0;
        self.mtime_offset = time.wrapping_sub(self.mtime(sys));
    }
}

impl crate::sio::Sio for Sio {
    fn take(&mut self, sys: &mut Sys, core: usize, offset: u32, qspi: u32) -> u32 {
        match offset {
            0x008 => self.gpio_in(sys, 1, qspi),
            0x058 => {
                let word = self.common.read(core, offset);
                self.update_irq(sys);
                word
            }
            0x1b0 => self.mtime(sys) as u32,
            0x1b4 => (self.mtime(sys) >> 32) as u32,
            0x1c0.. => {
                unmodelled(sys, "SIO.TMDS", offset, None);
                0
            }
            _ => self.common.read(core, offset),
        }
    }

    #[inline]
    fn peek(&self, core: usize, offset: u32) -> Option<u32> {
        Some(match offset {
            0x010..=0x02c => self.out[((offset / 4) & 1) as usize],
            0x030..=0x04c => self.oe[((offset / 4) & 1) as usize],
            0x180 | 0x184 => self.cores[1 - core].bells,
            0x188 | 0x18c => self.cores[core].bells,
            0x190 => self.peri_nonsec,
            // In the bits that set and in those that clear.
            0x1a0 => 0x101 * (u32::from(self.cores[0].softirq) | u32::from(self.cores[1].softirq) << 1),
            0x1a4 => self.mtime_ctrl,
            0x1b8 | 0x1bc => self.cores[core].mtimecmp[usize::from(offset == 0x1bc)],
            _ => return self.common.peek(core, offset),
        })
    }

    fn write(&mut self, sys: &mut Sys, core: usize, offset: u32, value: u32) {
        if offset >= 0x180 {
            self.common.release(spinlock(offset));
        }
        match offset {
            0x010..=0x04c => {
                let register = if offset < 0x030 { Gpio::Out } else { Gpio::Enable };
                let change = match (offset - 0x010) % 0x20 / 8 {
                    0 => Change::Put,
                    1 => Change::Set,
                    2 => Change::Clear,
                    _ => Change::Xor,
                };
                self.write_gpio(sys, register, ((offset / 4) & 1) as usize, change, value);
            }
            0x180 => self.cores[1 - core].bells |= value & DOORBELLS,
            0x184 => self.cores[1 - core].bells &= !value,
            0x188 => self.cores[core].bells |= value & DOORBELLS,
            0x18c => self.cores[core].bells &= !value,
            0x190 => self.peri_nonsec = value & 0x23,
            0x1a0 => {
                for (index, core) in self.cores.iter_mut().enumerate() {
                    core.softirq = core.softirq && value >> (8 + index) & 1 == 0 || value >> index & 1 != 0;
                }
            }
            0x1a4 => {
                let time = self.mtime(sys);
                self.mtime_ctrl = value & 0xf;
                self.set_mtime(sys, time);
            }
            0x1b0 => {
                let time = self.mtime(sys) >> 32 << 32 | u64::from(value);
                self.set_mtime(sys, time);
            }
            0x1b4 => {
                let time = self.mtime(sys) & 0xffff_ffff | u64::from(value) << 32;
                self.set_mtime(sys, time);
            }
            0x1b8 | 0x1bc => self.cores[core].mtimecmp[usize::from(offset == 0x1bc)] = value,
            0x1c0.. => unmodelled(sys, "SIO.TMDS", offset, Some(value)),
            _ => self.common.write(core, offset, value),
        }
        self.update_irq(sys);
        if matches!(offset, 0x1a4..=0x1bc) {
            self.update_timer(sys);
        }
    }

    /// USB's and the flash's pins.
    fn qspi(&self) -> (u32, u32) {
        (self.out[1] >> HI_QSPI, self.oe[1] >> HI_QSPI)
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self { mtime_ctrl: 0xd, ..Self::default() };
        for core in &mut self.cores {
            core.mtimecmp = [u32::MAX; 2];
        }
        self.drive(sys);
        self.update_irq(sys);
        self.update_timer(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sio::Sio as _;

    fn bench() -> (Sio, Sys) {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut sio = Sio::default();
        sio.reset(&mut sys);
        (sio, sys)
    }

    #[test]
    fn gpio_has_two_halves_with_four_ways_to_write() {
        let (mut sio, mut sys) = bench();
        let s = &mut sys;
        sio.write(s, 0, 0x010, 0xf0);
        sio.write(s, 0, 0x018, 0x0f);
        sio.write(s, 0, 0x020, 0x81);
        sio.write(s, 0, 0x028, 0x03);
        sio.write(s, 0, 0x03c, 0x8000);
        assert_eq!([0x010, 0x014, 0x030, 0x034].map(|at| sio.read(s, 0, at, 0)), [0x7d, 0, 0, 0x8000]);
        assert_eq!((s.pins.function_out[function::SIO], s.pins.function_oe[function::SIO]), (0x7d, 1 << 47));
        assert_eq!(sio.read(s, 0, 0x008, 0xf8), 0xf800_0000);
    }

    #[test]
    fn a_doorbell_rings_at_the_other_core() {
        let (mut sio, mut sys) = bench();
        let bell = |sys: &Sys, core| sys.irq_level_for_core(core) >> irq::SIO_BELL & 1;
        sio.write(&mut sys, 0, 0x180, 0x105);
        assert_eq!((bell(&sys, 0), bell(&sys, 1), sio.read(&mut sys, 1, 0x188, 0)), (0, 1, 5));
        sio.write(&mut sys, 1, 0x18c, 5);
        assert_eq!((bell(&sys, 1), sio.read(&mut sys, 0, 0x180, 0)), (0, 0));
    }

    #[test]
    fn the_timer_interrupts_each_core_at_its_own_time() {
        let (mut sio, mut sys) = bench();
        let s = &mut sys;
        let lines = |sys: &Sys| [0, 1].map(|core| sys.irq_level_for_core(core) >> irq::SIO_MTIMECMP & 1);
        // It counts cycles.
        sio.write(s, 0, 0x1a4, 3);
        for (core, at) in [(0, 100), (1, 50)] {
            sio.write(s, core, 0x1b8, at);
            sio.write(s, core, 0x1bc, 0);
        }
        assert_eq!((s.due(event::MTIME), lines(s)), (s.clock.ps_at(50), [0, 0]));
        s.cycle = 50;
        sio.update_timer(s);
        assert_eq!((s.due(event::MTIME), lines(s)), (s.clock.ps_at(100), [0, 1]));
        s.cycle = 100;
        sio.update_timer(s);
        assert_eq!((s.due(event::MTIME), lines(s)), (NEVER, [1, 1]));
        sio.write(s, 1, 0x1b8, u32::MAX);
        assert_eq!(lines(s), [1, 0]);
    }

    #[test]
    fn a_software_interrupt_is_set_and_cleared_for_either_core() {
        let (mut sio, mut sys) = bench();
        let lines = |sys: &Sys| [0, 1].map(|core| sys.irq_level_for_core(core) >> irq::RISCV_SOFTIRQ & 1);
        sio.write(&mut sys, 0, 0x1a0, 2);
        assert_eq!((sio.read(&mut sys, 1, 0x1a0, 0), lines(&sys)), (0x202, [0, 1]));
        sio.write(&mut sys, 1, 0x1a0, 0x201);
        assert_eq!(lines(&sys), [1, 0]);
        // Set and cleared at once, it is set.
        sio.write(&mut sys, 1, 0x1a0, 0x101);
        assert_eq!(lines(&sys), [1, 0]);
    }

    #[test]
    fn a_fifo_holds_four_words() {
        let (mut sio, mut sys) = bench();
        for word in 0..5 {
            sio.write(&mut sys, 1, 0x054, word);
        }
        assert_eq!((sio.read(&mut sys, 1, 0x050, 0), sio.read(&mut sys, 0, 0x050, 0)), (4, 3));
        assert_eq!(sys.irq_level_for_core(0) >> irq::SIO_FIFO & 1, 1);
        let words: Vec<u32> = (0..4).map(|_| sio.read(&mut sys, 0, 0x058, 0)).collect();
        assert_eq!((words, sys.irq_level_for_core(0) >> irq::SIO_FIFO & 1), (vec![0, 1, 2, 3], 0));
    }

    #[test]
    fn a_spinlock_is_claimed_once_and_a_doorbell_releases_it() {
        let (mut sio, mut sys) = bench();
        assert_eq!((sio.read(&mut sys, 0, 0x104, 0), sio.read(&mut sys, 1, 0x104, 0)), (2, 0));
        sio.write(&mut sys, 0, 0x184, 0);
        assert_eq!(sio.read(&mut sys, 0, 0x05c, 0), 0);
    }

    #[test]
    fn what_is_not_modelled_ends_the_run() {
        let (mut sio, mut sys) = bench();
        sio.write(&mut sys, 0, 0x1c0, 1);
        assert!(sys.unmodelled.is_some());
    }
}
