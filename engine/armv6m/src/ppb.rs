//! The private peripheral bus of one core: SysTick, NVIC, SCB and MPU (ARMv6-M Architecture Reference Manual, chapter
//! B3).

use chip::sys::ResetRequest;
use chip::{Event, Sys};
use cortex_m::systick::SysTick;
use sim::Snapshot;

use crate::mpu::Mpu;

/// Exception numbers.
pub(crate) mod exception {
    pub(crate) const NMI: u32 = 2;
    pub(crate) const HARD_FAULT: u32 = 3;
    pub(crate) const SV_CALL: u32 = 11;
    pub(crate) const PEND_SV: u32 = 14;
    pub(crate) const SYS_TICK: u32 = 15;
    pub(crate) const IRQ0: u32 = 16;
}

/// Page of the System Control Space; programs cannot access the debug blocks around it (ARMv6-M ARM B3.1).
const SYSTEM_CONTROL_SPACE: u32 = 0xe_000e;
/// Cortex-M0+ r0p1 with the privilege extension.
const CPUID: u32 = 0x410c_c601;

/// Interrupt controller and system control of one core.
#[derive(Debug, Default, Snapshot)]
pub struct Ppb {
    core: usize,
    systick: SysTick,
    /// Enabled and pending external interrupts.
    pub(crate) enabled: u32,
    /// Pending external interrupts, as bits.
    pub pending: u32,
    /// Pending system exceptions, by number.
    pub pending_system: u32,
    priorities: [u32; 8],
    /// VTOR: the address of the vector table.
    pub vtor: u32,
    pub(crate) scr: u32,
    shpr2: u32,
    shpr3: u32,
    pub(crate) mpu: Mpu,
    /// Pending exceptions when the core last checked.
    seen_pending: u64,
    /// Active exceptions, by number.
    pub active: u64,
}

pub(crate) mod scr {
    pub(crate) const SLEEPONEXIT: u32 = 2;
    pub(crate) const SEVONPEND: u32 = 16;
}

impl Ppb {
    /// Returns the registers of `core` after a reset. `systick`: the event of its timer.
    pub(crate) fn new(core: usize, systick: Event) -> Self {
        Self { core, systick: SysTick::new(systick, 0), ..Self::default() }
    }

    pub(crate) fn systick_event(&self) -> Event {
        self.systick.event()
    }

    /// Returns the priority of an exception (lower is more urgent); configurable ones have 0, 64, 128 or 192.
    pub(crate) fn priority(&self, number: u32) -> i32 {
        match number {
            exception::NMI => -2,
            exception::HARD_FAULT => -1,
            exception::SV_CALL => (self.shpr2 >> 24) as i32,
            exception::PEND_SV => ((self.shpr3 >> 16) & 0xff) as i32,
            exception::SYS_TICK => (self.shpr3 >> 24) as i32,
            _ => {
                let irq = number.wrapping_sub(exception::IRQ0);
                let word = self.priorities[(irq as usize / 4) & 7];
                ((word >> (8 * (irq & 3))) & 0xff) as i32
            }
        }
    }

    /// Returns the priority of the most urgent active exception (256: thread mode).
    pub(crate) fn active_priority(&self) -> i32 {
        let mut best = 256;
        let mut active = self.active;
        while active != 0 {
            let number = active.trailing_zeros();
            best = best.min(self.priority(number));
            active &= active - 1;
        }
        best
    }

    /// Returns the most urgent pending and enabled exception, with its priority.
    pub(crate) fn most_urgent(&self) -> Option<(u32, i32)> {
        let mut best: Option<(u32, i32)> = None;
        let mut consider = |number: u32, priority: i32| {
            // Of equal priorities the lowest number wins; the loop visits numbers in ascending order.
            if best.is_none_or(|(_, p)| priority < p) {
                best = Some((number, priority));
            }
        };
        let mut system = self.pending_system;
        while system != 0 {
            let number = system.trailing_zeros();
            consider(number, self.priority(number));
            system &= system - 1;
        }
        let mut irqs = self.pending & self.enabled;
        while irqs != 0 {
            let irq = irqs.trailing_zeros();
            consider(exception::IRQ0 + irq, self.priority(exception::IRQ0 + irq));
            irqs &= irqs - 1;
        }
        best
    }

    /// Enters exception `number`: it becomes active, and is no longer pending.
    pub(crate) fn activate(&mut self, number: u32) {
        self.active |= 1 << number;
        if number >= exception::IRQ0 {
            self.pending &= !(1 << (number - exception::IRQ0));
        } else {
            self.pending_system &= !(1 << number);
        }
        self.seen_pending &= !(1 << number);
    }

    /// Returns whether an exception, enabled or not, became pending since the last call.
    pub(crate) fn take_newly_pending(&mut self) -> bool {
        let pending = self.all_pending();
        let seen = std::mem::replace(&mut self.seen_pending, pending);
        pending & !seen != 0
    }

    fn all_pending(&self) -> u64 {
        (u64::from(self.pending) << exception::IRQ0) | u64::from(self.pending_system)
    }

    pub(crate) fn anything_pending(&self) -> bool {
        self.pending_system != 0 || self.pending & self.enabled != 0
    }

    /// Handles the SysTick event, or a change of its time by a clock.
    pub fn systick_due(&mut self, sys: &mut Sys, cycle: u64) {
        self.systick_sync(sys, cycle);
    }

    fn systick_sync(&mut self, sys: &mut Sys, cycle: u64) {
        if self.systick.sync(sys, cycle) {
            self.pending_system |= 1 << exception::SYS_TICK;
            sys.attention = true;
        }
    }

    pub(crate) fn read(&mut self, sys: &mut Sys, cycle: u64, vectactive: u32, address: u32) -> u32 {
        if address >> 12 != SYSTEM_CONTROL_SPACE {
            return 0;
        }
        match address & 0xffff {
            0xe010..=0xe01c => {
                self.systick_sync(sys, cycle);
                self.systick.read(address & 0xc)
            }
            0xe100 | 0xe180 => self.enabled,
            0xe200 | 0xe280 => self.pending,
            0xe400..=0xe41c => self.priorities[((address & 0x1c) / 4) as usize],
            0xed00 => CPUID,
            0xed04 => {
                let urgent = self.most_urgent().map_or(0, |(number, _)| number);
                vectactive
                    | (urgent << 12)
                    | (u32::from(self.pending != 0) << 22)
                    | (((self.pending_system >> exception::SYS_TICK) & 1) << 26)
                    | (((self.pending_system >> exception::PEND_SV) & 1) << 28)
                    | (((self.pending_system >> exception::NMI) & 1) << 31)
            }
            0xed08 => self.vtor,
            0xed0c => 0xfa05_0000,
            0xed10 => self.scr,
            // CCR: STKALIGN and UNALIGN_TRP are fixed.
            0xed14 => 0x208,
            0xed1c => self.shpr2,
            0xed20 => self.shpr3,
            0xed24 => ((self.pending_system >> exception::SV_CALL) & 1) << 15,
            register @ 0xed90..=0xeda0 => self.mpu.read(register - 0xed90),
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, cycle: u64, address: u32, value: u32) {
        if address >> 12 != SYSTEM_CONTROL_SPACE {
            return;
        }
        match address & 0xffff {
            0xe010..=0xe01c => {
                self.systick_sync(sys, cycle);
                self.systick.write(sys, cycle, address & 0xc, value);
                self.systick_sync(sys, cycle);
            }
            0xe100 => self.enabled |= value,
            0xe180 => self.enabled &= !value,
            0xe200 => self.pending |= value,
            // A line that is still high becomes pending again at once, unless its handler is running.
            0xe280 => {
                let active = (self.active >> exception::IRQ0) as u32;
                self.pending =
                    (self.pending & !value) | (self.pending & sys.irq_level_for_core(self.core) as u32 & !active);
            }
            0xe400..=0xe41c => self.priorities[((address & 0x1c) / 4) as usize] = value & 0xc0c0_c0c0,
            0xed04 => {
                for (bit, number, set) in [
                    (31, exception::NMI, true),
                    (28, exception::PEND_SV, true),
                    (27, exception::PEND_SV, false),
                    (26, exception::SYS_TICK, true),
                    (25, exception::SYS_TICK, false),
                ] {
                    if value & (1 << bit) != 0 {
                        if set {
                            self.pending_system |= 1 << number;
                        } else {
                            self.pending_system &= !(1 << number);
                        }
                    }
                }
            }
            0xed08 => self.vtor = value & 0xffff_ff00,
            0xed0c if value >> 16 == 0x05fa && value & 4 != 0 => {
                sys.request_reset(ResetRequest::Processor { core: self.core })
            }
            0xed10 => self.scr = value & 0x16,
            0xed1c => self.shpr2 = value & 0xc000_0000,
            0xed20 => self.shpr3 = value & 0xc0c0_0000,
            register @ 0xed90..=0xeda0 => self.mpu.write(register - 0xed90, value),
            _ => {}
        }
        self.seen_pending &= self.all_pending();
        // Any change may allow an exception to be taken.
        sys.attention = true;
    }
}
