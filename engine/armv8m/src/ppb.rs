//! The private peripheral bus of one core: SysTick, NVIC, SCB, MPU, SAU, FPU control and the cycle counter (Armv8-M
//! Architecture Reference Manual, part D). Arrays of two have the Secure copy first.

use chip::sys::ResetRequest;
use chip::{Event, Sys};
use cortex_m::systick::SysTick;
use sim::Snapshot;

use crate::mpu::Mpu;
use crate::sau::Sau;

/// Exception numbers.
pub(crate) mod exception {
    pub(crate) const NMI: u32 = 2;
    pub(crate) const HARD_FAULT: u32 = 3;
    pub(crate) const MEM_MANAGE: u32 = 4;
    pub(crate) const BUS_FAULT: u32 = 5;
    pub(crate) const USAGE_FAULT: u32 = 6;
    pub(crate) const SECURE_FAULT: u32 = 7;
    pub(crate) const SV_CALL: u32 = 11;
    pub(crate) const DEBUG_MONITOR: u32 = 12;
    pub(crate) const PEND_SV: u32 = 14;
    pub(crate) const SYS_TICK: u32 = 15;
    pub(crate) const IRQ0: u32 = 16;
}

pub(crate) mod scr {
    pub(crate) const SLEEPONEXIT: u32 = 2;
    pub(crate) const SLEEPDEEPS: u32 = 8;
    pub(crate) const SEVONPEND: u32 = 16;
}

pub(crate) mod ccr {
    pub(crate) const USERSETMPEND: u32 = 1 << 1;
    pub(crate) const UNALIGN_TRP: u32 = 1 << 3;
    pub(crate) const DIV_0_TRP: u32 = 1 << 4;
    pub(crate) const STKOFHFNMIGN: u32 = 1 << 10;
    /// What can be written: this core has neither caches nor a branch predictor to turn on.
    pub(crate) const ALL: u32 = 0x51a;
    /// RES1: STKALIGN and NONBASETHRDENA.
    pub(crate) const RESET: u32 = 0x201;
}

pub(crate) mod fpccr {
    pub(crate) const LSPACT: u32 = 1 << 0;
    pub(crate) const USER: u32 = 1 << 1;
    pub(crate) const SECURE: u32 = 1 << 2;
    pub(crate) const THREAD: u32 = 1 << 3;
    pub(crate) const HFRDY: u32 = 1 << 4;
    pub(crate) const MMRDY: u32 = 1 << 5;
    pub(crate) const BFRDY: u32 = 1 << 6;
    pub(crate) const SFRDY: u32 = 1 << 7;
    pub(crate) const MONRDY: u32 = 1 << 8;
    pub(crate) const SPLIMVIOL: u32 = 1 << 9;
    pub(crate) const UFRDY: u32 = 1 << 10;
    pub(crate) const CLRONRET: u32 = 1 << 28;
    pub(crate) const LSPEN: u32 = 1 << 30;
    pub(crate) const ASPEN: u32 = 1 << 31;
    pub(crate) const WRITABLE: u32 = 0xfc00_07ff;
}

pub(crate) mod aircr {
    pub(crate) const BFHFNMINS: u32 = 1 << 13;
    pub(crate) const PRIS: u32 = 1 << 14;
}

/// Interrupt lines.
pub(crate) const LINES: u32 = 52;
const ALL_LINES: u64 = (1 << LINES) - 1;
/// Implemented bits of a priority.
const PRIORITY_BITS: u8 = 0xf0;
/// Cortex-M33 r1p0.
const CPUID: u32 = 0x411f_d210;
/// System exceptions that have a copy in each security state.
const BANKED: u32 = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 11 | 1 << 14 | 1 << 15;

/// What each security state has for itself.
#[derive(Debug, Default, Snapshot)]
pub struct Bank {
    pub vtor: u32,
    pub scr: u32,
    pub ccr: u32,
    pub cfsr: u32,
    pub mmfar: u32,
    /// Priorities of the system exceptions 4 to 15.
    shpr: [u8; 12],
    /// MemManage, BusFault, UsageFault, SecureFault: bits 16 to 19 of SHCSR.
    pub(crate) faults_enabled: u32,
    prigroup: u32,
    pub(crate) cpacr: u32,
    pub(crate) fpcar: u32,
    pub(crate) fpdscr: u32,
    pub(crate) mpu: Mpu,
    systick: SysTick,
    /// Pending and active system exceptions, by number.
    pub pending: u32,
    pub active: u32,
}

#[derive(Debug, Default, Snapshot)]
pub struct Ppb {
    core: usize,
    pub banks: [Bank; 2],
    pub(crate) sau: Sau,
    /// Enabled, pending and active interrupts, and those that target the Non-secure state.
    pub enabled: u64,
    pub pending: u64,
    pub active: u64,
    pub non_secure: u64,
    /// Of the interrupts, by line / 32 and line % 32.
    priorities: [[u8; 32]; 2],
    pub hfsr: u32,
    pub bfar: u32,
    pub(crate) aircr: u32,
    /// [`fpccr`]. The first has the bits that both states share.
    pub(crate) fpccr: [u32; 2],
    pub(crate) nsacr: u32,
    demcr: u32,
    dwt_ctrl: u32,
    /// Cycle at which the counter was 0.
    counted_from: u64,
    seen_pending: (u64, [u32; 2]),
    /// Whether translated code keeps the rules of SAU and MPU; `None`: that is not known since they changed.
    #[snapshot(skip)]
    pub(crate) translated: Option<bool>,
}

impl Ppb {
    /// Returns the registers of `core` after a reset. `systick`: the events of its timers, Secure first; `reference`:
    /// their external reference.
    pub fn new(core: usize, systick: [Event; 2], reference: usize) -> Self {
        let bank = |event| Bank { ccr: ccr::RESET, systick: SysTick::new(event, reference), ..Bank::default() };
        let lazy = fpccr::ASPEN | fpccr::LSPEN;
        Self { core, banks: systick.map(bank), fpccr: [lazy | fpccr::SECURE, lazy], ..Self::default() }
    }

    /// Returns these registers after a reset.
    pub(crate) fn after_reset(&self) -> Self {
        let [first, second] = &self.banks;
        Self::new(self.core, [first.systick.event(), second.systick.event()], first.systick.reference())
    }

    /// Returns the security state (1: Non-secure) that an exception without two copies targets.
    pub(crate) fn target(&self, number: u32) -> usize {
        match number {
            exception::IRQ0.. => (self.non_secure >> (number - exception::IRQ0) & 1) as usize,
            exception::NMI | exception::BUS_FAULT => usize::from(self.aircr & aircr::BFHFNMINS != 0),
            _ => 0,
        }
    }

    /// Returns the priority of an exception (lower is more urgent), with what orders it within its group.
    pub fn priority(&self, number: u32, bank: usize) -> i32 {
        let raw = match number {
            exception::NMI => return -2,
            exception::HARD_FAULT => {
                return if bank == 0 && self.aircr & aircr::BFHFNMINS != 0 { -3 } else { -1 };
            }
            4..=15 => self.banks[bank].shpr[number as usize - 4],
            _ => {
                let line = (number - exception::IRQ0) as usize;
                self.priorities[line >> 5 & 1][line & 31]
            }
        };
        self.adjusted(i32::from(raw), bank)
    }

    /// Moves the priority of a Non-secure exception below those of Secure ones, where PRIS says so.
    pub(crate) fn adjusted(&self, raw: i32, bank: usize) -> i32 {
        if bank == 1 && self.aircr & aircr::PRIS != 0 { raw >> 1 | 0x80 } else { raw }
    }

    /// Returns the part of a priority by which exceptions preempt each other.
    pub(crate) fn group(&self, priority: i32, bank: usize) -> i32 {
        if priority < 0 { priority } else { priority & !((2 << self.banks[bank].prigroup) - 1) }
    }

    /// Returns the priority of the most urgent active exception (256: thread mode).
    pub fn active_priority(&self) -> i32 {
        let mut best = 256;
        for bank in 0..2 {
            let mut active = self.banks[bank].active;
            while active != 0 {
                let number = active.trailing_zeros();
                best = best.min(self.group(self.priority(number, bank), bank));
                active &= active - 1;
            }
        }
        let mut active = self.active;
        while active != 0 {
            let number = exception::IRQ0 + active.trailing_zeros();
            let bank = self.target(number);
            best = best.min(self.group(self.priority(number, bank), bank));
            active &= active - 1;
        }
        best
    }

    /// Returns the number of active exceptions.
    pub(crate) fn nesting(&self) -> u32 {
        self.active.count_ones() + self.banks.iter().map(|bank| bank.active.count_ones()).sum::<u32>()
    }

    /// Returns the most urgent pending and enabled exception: its number, its state and the group of its priority.
    pub fn most_urgent(&self) -> Option<(u32, usize, i32)> {
        let mut best: Option<(u32, usize, i32)> = None;
        // Of equal priorities the lowest number wins; the loops visit numbers in ascending order.
        let mut consider = |number, bank, priority| {
            if best.is_none_or(|(_, _, p)| priority < p) {
                best = Some((number, bank, priority));
            }
        };
        // Bits 16 to 19 of SHCSR enable exceptions 4 to 7.
        let ready = [0, 1].map(|bank| {
            let bank: &Bank = &self.banks[bank];
            bank.pending & (!0xf0 | bank.faults_enabled >> 12)
        });
        let mut system = ready[0] | ready[1];
        while system != 0 {
            let number = system.trailing_zeros();
            for (bank, ready) in ready.into_iter().enumerate() {
                if ready >> number & 1 != 0 {
                    consider(number, bank, self.priority(number, bank));
                }
            }
            system &= system - 1;
        }
        let mut irqs = self.pending & self.enabled;
        while irqs != 0 {
            let number = exception::IRQ0 + irqs.trailing_zeros();
            let bank = self.target(number);
            consider(number, bank, self.priority(number, bank));
            irqs &= irqs - 1;
        }
        best.map(|(number, bank, priority)| (number, bank, self.group(priority, bank)))
    }

    /// Enters an exception: it becomes active, and is no longer pending.
    pub(crate) fn activate(&mut self, number: u32, bank: usize) {
        if number >= exception::IRQ0 {
            self.active |= 1 << (number - exception::IRQ0);
            self.pending &= !(1 << (number - exception::IRQ0));
        } else {
            self.banks[bank].active |= 1 << number;
            self.banks[bank].pending &= !(1 << number);
        }
        self.see_pending();
    }

    pub(crate) fn is_active(&self, number: u32, bank: usize) -> bool {
        match number {
            exception::IRQ0.. => {
                let line = number - exception::IRQ0;
                line < LINES && self.active >> line & 1 != 0 && self.target(number) == bank
            }
            _ => self.banks[bank].active >> number & 1 != 0,
        }
    }

    pub(crate) fn deactivate(&mut self, number: u32, bank: usize) {
        if number >= exception::IRQ0 {
            self.active &= !(1 << (number - exception::IRQ0));
        } else {
            self.banks[bank].active &= !(1 << number);
        }
    }

    /// Makes NMI pending.
    pub fn pend_nmi(&mut self) {
        self.pend((exception::NMI, self.target(exception::NMI)));
    }

    /// Makes an exception of a state pending.
    pub(crate) fn pend(&mut self, (number, bank): (u32, usize)) {
        if number >= exception::IRQ0 {
            self.pending |= 1 << (number - exception::IRQ0);
        } else {
            self.banks[bank].pending |= 1 << number;
        }
    }

    /// Returns whether DebugMonitor is enabled.
    pub(crate) fn monitors(&self) -> bool {
        self.demcr >> 16 & 1 != 0
    }

    fn see_pending(&mut self) {
        self.seen_pending = (self.pending, [self.banks[0].pending, self.banks[1].pending]);
    }

    /// Returns whether an exception, enabled or not, became pending since the last call.
    pub(crate) fn take_newly_pending(&mut self) -> bool {
        let (irqs, system) = self.seen_pending;
        self.see_pending();
        self.pending & !irqs != 0 || (0..2).any(|bank| self.banks[bank].pending & !system[bank] != 0)
    }

    #[inline]
    pub fn anything_pending(&self) -> bool {
        self.pending & self.enabled != 0 || (self.banks[0].pending | self.banks[1].pending) != 0
    }

    /// Handles the SysTick events, or a change of their times by a clock.
    pub fn systick_due(&mut self, sys: &mut Sys, cycle: u64) {
        for bank in &mut self.banks {
            if bank.systick.sync(sys, cycle) {
                bank.pending |= 1 << exception::SYS_TICK;
                sys.attention = true;
            }
        }
    }

    /// Reads a register of `bank`, which a Secure access through the Non-secure alias (0xe002_e000) names.
    pub(crate) fn read(&mut self, sys: &mut Sys, cycle: u64, ipsr: u32, secure: bool, address: u32) -> u32 {
        let alias = address >> 12 == 0xe_002e;
        let (own, address) = if alias && secure { (1, address & !0x2_0000) } else { (usize::from(!secure), address) };
        if alias && !secure {
            return 0;
        }
        match address {
            0xe000_1000 => self.dwt_ctrl | 0x4000_0000,
            0xe000_1004 if self.dwt_ctrl & 1 != 0 => cycle.wrapping_sub(self.counted_from) as u32,
            0xe000_1004 => self.counted_from as u32,
            0xe000_edfc => self.demcr,
            0xe000_e000..=0xe000_efff => self.read_scs(sys, cycle, ipsr, secure, own, address & 0xfff),
            _ => 0,
        }
    }

    /// Interrupts of the words from `first` on that a state may see.
    fn visible(&self, bank: usize) -> u64 {
        if bank == 0 { ALL_LINES } else { self.non_secure & ALL_LINES }
    }

    fn read_scs(&mut self, sys: &mut Sys, cycle: u64, ipsr: u32, secure: bool, own: usize, register: u32) -> u32 {
        let visible = self.visible(own);
        let word = |all: u64| (all & visible).checked_shr((register & 0x3c) * 8).unwrap_or(0) as u32;
        match register {
            0x004 => LINES.div_ceil(32) - 1,
            0x010..=0x01f => {
                self.systick_due(sys, cycle);
                self.banks[own].systick.read(register & 0xc)
            }
            0x100..=0x13f | 0x180..=0x1bf => word(self.enabled),
            0x200..=0x23f | 0x280..=0x2bf => word(self.pending),
            0x300..=0x33f => word(self.active),
            0x380..=0x3bf if own == 0 => word(self.non_secure),
            0x400..=0x43c => {
                let first = (register - 0x400) as usize;
                (0..4).fold(0, |all, i| {
                    let seen = visible >> (first + i) & 1 != 0;
                    all | u32::from(if seen { self.priorities[(first + i) >> 5][(first + i) & 31] } else { 0 })
                        << (8 * i)
                })
            }
            0xd00 => CPUID,
            0xd04 => {
                let bank = &self.banks[own];
                let urgent = self.most_urgent().map_or(0, |(number, _, _)| number);
                ipsr | u32::from(self.nesting() <= 1) << 11
                    | urgent << 12
                    | u32::from(self.pending != 0) << 22
                    | (bank.pending >> exception::SYS_TICK & 1) << 26
                    | (bank.pending >> exception::PEND_SV & 1) << 28
                    | ((self.banks[0].pending | self.banks[1].pending) >> exception::NMI & 1) << 31
            }
            0xd08 => self.banks[own].vtor,
            0xd0c => {
                0xfa05_0000
                    | self.banks[own].prigroup << 8
                    | if secure { self.aircr } else { self.aircr & aircr::BFHFNMINS }
            }
            0xd10 => self.banks[own].scr,
            0xd14 => self.banks[own].ccr,
            0xd18..=0xd20 => {
                let first = (register - 0xd18) as usize;
                u32::from_le_bytes(self.banks[own].shpr[first..first + 4].try_into().unwrap_or_default())
            }
            0xd24 => self.shcsr(own),
            0xd28 => self.banks[own].cfsr | self.banks[0].cfsr & 0xff00,
            0xd2c => self.hfsr,
            0xd34 => self.banks[own].mmfar,
            0xd38 => self.bfar,
            // ID_PFR0, ID_PFR1, ID_DFR0, ID_AFR0, ID_MMFR0 to 3, ID_ISAR0 to 5, CLIDR, CTR (Cortex-M33 TRM, table 5-1).
            0xd40..=0xd7c => [
                0x30,
                0x210,
                0x0020_0000,
                0,
                0x0010_1f40,
                0,
                0x0100_0000,
                0,
                0x0110_1110,
                0x0221_2000,
                0x2023_2232,
                0x0111_1131,
                0x0131_0132,
                0,
                0,
                0x8000_c000,
            ][(register as usize - 0xd40) / 4],
            0xd88 => self.banks[own].cpacr,
            0xd8c if own == 0 => self.nsacr,
            0xd90..=0xdcf => self.banks[own].mpu.read(register - 0xd90),
            0xdd0..=0xdeb if own == 0 => self.sau.read(register - 0xdd0),
            0xf34 => self.fpccr[own] | self.fpccr[0] & if secure { 0 } else { fpccr::LSPEN | fpccr::CLRONRET },
            0xf38 => self.banks[own].fpcar,
            0xf3c => self.banks[own].fpdscr,
            0xf40 => 0x1011_0021,
            0xf44 => 0x1100_0011,
            0xf48 => 0x40,
            _ => 0,
        }
    }

    /// Bits of SHCSR for each exception: active, pending (32: none).
    const SHCSR: [(u32, u32, u32); 10] = [
        (exception::MEM_MANAGE, 0, 13),
        (exception::BUS_FAULT, 1, 14),
        (exception::HARD_FAULT, 2, 21),
        (exception::USAGE_FAULT, 3, 12),
        (exception::SECURE_FAULT, 4, 20),
        (exception::NMI, 5, 32),
        (exception::SV_CALL, 7, 15),
        (exception::DEBUG_MONITOR, 8, 32),
        (exception::PEND_SV, 10, 32),
        (exception::SYS_TICK, 11, 32),
    ];

    /// Returns the bank of a system exception as the state `own` sees it.
    fn bank_of(&self, number: u32, own: usize) -> usize {
        if BANKED >> number & 1 != 0 { own } else { self.target(number) }
    }

    fn shcsr(&self, own: usize) -> u32 {
        let mut value = self.banks[own].faults_enabled;
        for (number, active, pending) in Self::SHCSR {
            let bank = &self.banks[self.bank_of(number, own)];
            value |= (bank.active >> number & 1) << active;
            if pending < 32 {
                value |= (bank.pending >> number & 1) << pending;
            }
        }
        value
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, cycle: u64, secure: bool, address: u32, value: u32, size: u32) {
        let alias = address >> 12 == 0xe_002e;
        let (own, address) = if alias && secure { (1, address & !0x2_0000) } else { (usize::from(!secure), address) };
        if alias && !secure {
            return;
        }
        match address {
            0xe000_1000 => {
                if (self.dwt_ctrl ^ value) & 1 != 0 {
                    self.counted_from = cycle.wrapping_sub(self.counted_from);
                }
                self.dwt_ctrl = value & 1;
            }
            0xe000_1004 => {
                let value = u64::from(value);
                self.counted_from = if self.dwt_ctrl & 1 != 0 { cycle.wrapping_sub(value) } else { value };
            }
            0xe000_edfc => self.demcr = value & 0x010f_0000,
            0xe000_e000..=0xe000_efff => self.write_scs(sys, cycle, own, address & 0xfff, value, size),
            _ => {}
        }
        let (irqs, system) = &mut self.seen_pending;
        *irqs &= self.pending;
        for (seen, bank) in system.iter_mut().zip(&self.banks) {
            *seen &= bank.pending;
        }
        // Any change may allow an exception to be taken.
        sys.attention = true;
    }

    fn write_scs(&mut self, sys: &mut Sys, cycle: u64, own: usize, register: u32, value: u32, size: u32) {
        let visible = self.visible(own);
        let word = u64::from(value).checked_shl((register & 0x3c) * 8).unwrap_or(0) & visible;
        match register {
            0x010..=0x01f => {
                self.systick_due(sys, cycle);
                self.banks[own].systick.write(sys, cycle, register & 0xc, value);
                self.systick_due(sys, cycle);
            }
            0x100..=0x13f => self.enabled |= word,
            0x180..=0x1bf => self.enabled &= !word,
            0x200..=0x23f => self.pending |= word,
            // A line that is still high becomes pending again at once, unless its handler is running.
            0x280..=0x2bf => {
                let high = sys.irq_level_for_core(self.core) & !self.active;
                self.pending = (self.pending & !word) | (self.pending & high);
            }
            0x380..=0x3bf if own == 0 => {
                let mask = 0xffff_ffff_u64.checked_shl((register & 0x3c) * 8).unwrap_or(0);
                self.non_secure = (self.non_secure & !mask) | word;
            }
            0x400..=0x43f => {
                for i in 0..size.min(4) {
                    let line = (register - 0x400 + i) as usize & 63;
                    if visible >> line & 1 != 0 {
                        self.priorities[line >> 5][line & 31] = (value >> (8 * i)) as u8 & PRIORITY_BITS;
                    }
                }
            }
            0xd04 => {
                for (bit, number, set) in [
                    (31, exception::NMI, true),
                    (30, exception::NMI, false),
                    (28, exception::PEND_SV, true),
                    (27, exception::PEND_SV, false),
                    (26, exception::SYS_TICK, true),
                    (25, exception::SYS_TICK, false),
                ] {
                    if value >> bit & 1 != 0 {
                        let bank = self.bank_of(number, own);
                        let pending = &mut self.banks[bank].pending;
                        *pending = if set { *pending | 1 << number } else { *pending & !(1 << number) };
                    }
                }
            }
            0xd08 => self.banks[own].vtor = value & 0xffff_ff80,
            0xd0c if value >> 16 == 0x05fa => {
                self.banks[own].prigroup = value >> 8 & 7;
                if own == 0 {
                    self.aircr = value & (aircr::BFHFNMINS | aircr::PRIS | 1 << 3);
                }
                if value & 4 != 0 && (own == 0 || self.aircr & 1 << 3 == 0) {
                    sys.request_reset(ResetRequest::Processor { core: self.core });
                }
            }
            0xd10 => {
                let kept = if own == 1 { self.banks[1].scr & scr::SLEEPDEEPS } else { 0 };
                self.banks[own].scr = value & 0x1e | kept;
            }
            0xd14 => self.banks[own].ccr = value & ccr::ALL | ccr::RESET,
            0xd18..=0xd23 => {
                for i in 0..size.min(4) {
                    if let Some(priority) = self.banks[own].shpr.get_mut((register - 0xd18 + i) as usize) {
                        *priority = (value >> (8 * i)) as u8 & PRIORITY_BITS;
                    }
                }
            }
            0xd24 => {
                self.banks[own].faults_enabled = value & if own == 0 { 0xf_0000 } else { 0x5_0000 };
                for (number, active, pending) in Self::SHCSR {
                    let at = self.bank_of(number, own);
                    let bank = &mut self.banks[at];
                    // NMI and HardFault stay as they are.
                    if number > exception::HARD_FAULT {
                        bank.active = bank.active & !(1 << number) | (value >> active & 1) << number;
                        if pending < 32 {
                            bank.pending = bank.pending & !(1 << number) | (value >> pending & 1) << number;
                        }
                    }
                }
            }
            0xd28..=0xd2b => {
                let cleared = value << (8 * (register & 3));
                self.banks[own].cfsr &= !cleared;
                self.banks[0].cfsr &= !(cleared & 0xff00);
            }
            0xd2c => self.hfsr &= !value,
            0xd34 => self.banks[own].mmfar = value,
            0xd38 => self.bfar = value,
            0xd88 => self.banks[own].cpacr = value & 0x00f0_ffff,
            0xd8c if own == 0 => self.nsacr = value & 0xcff,
            0xd90..=0xdcf => {
                self.banks[own].mpu.write(register - 0xd90, value);
                self.translated = None;
            }
            0xdd0..=0xdeb if own == 0 => {
                self.sau.write(register - 0xdd0, value);
                self.translated = None;
            }
            0xf00 => self.pending |= 1_u64.checked_shl(value & 0x1ff).unwrap_or(0) & visible,
            0xf34 => self.fpccr[own] = self.fpccr[own] & !fpccr::WRITABLE | value & fpccr::WRITABLE,
            0xf38 => self.banks[own].fpcar = value & !7,
            0xf3c => self.banks[own].fpdscr = value & 0x07c0_0000,
            _ => {}
        }
    }
}
