//! State, exceptions and memory accesses of one Cortex-M0+ core.

use chip::Event;
use chip::trace::{Record, kind};
pub use cpu::State;
use cpu::{Bus, Map, Master, NO_WORD};
use sim::Snapshot;

use crate::fault::{Cause, Report};
use crate::mpu::Access;
use crate::ppb::{Ppb, exception, scr};
use crate::{Memory, V6m};

/// Cycles from recognising an exception to its first instruction (Cortex-M0+ TRM 3.1: 15, zero jitter).
const EXCEPTION_ENTRY_CYCLES: u64 = 15;
/// Cycles of an exception return: it unstacks eight words and refills the pipeline, like a POP of eight words with PC.
const EXCEPTION_RETURN_CYCLES: u64 = 11;

/// End of the private peripheral bus; the space above is empty (ARMv6-M ARM B3.1).
const PPB_END: u32 = 0xe010_0000;

/// A Cortex-M0+ core.
#[derive(Snapshot)]
pub struct Core {
    /// Its place in the chip, 0 or 1.
    pub index: usize,
    /// R0 to R14; R13 is the active stack pointer. The last entry is unused: the PC is `pc`.
    pub regs: [u32; 16],
    /// The inactive stack pointer.
    other_sp: u32,
    /// N and Z, as those of this 64-bit value: its sign is N, and its low half decides Z.
    pub(crate) nz: i64,
    pub(crate) c: bool,
    pub(crate) v: bool,
    /// Address of the next instruction.
    pub pc: u32,
    /// Cycle of clk_sys at which the next instruction starts.
    pub cycles: u64,
    /// Number of the exception being handled, 0 in thread mode.
    pub ipsr: u32,
    /// PRIMASK: exceptions of configurable priority wait.
    pub primask: bool,
    /// CONTROL.nPRIV (bit 0) and CONTROL.SPSEL (bit 1).
    pub control: u32,
    /// Its private peripheral bus.
    pub ppb: Ppb,
    /// The event register: the next WFE does not sleep.
    pub event_register: bool,
    /// What it does.
    pub state: State,
    /// Instructions executed since power-on.
    pub instructions: u64,
    /// The instructions from flash through the cache.
    pub flash_instructions: u64,
    /// The instructions from ROM.
    pub rom_instructions: u64,
    /// Address / 4 of the last word fetched, if fetches are modelled, or [`NO_WORD`] after a branch.
    pub(crate) fetch_word: u32,
}

impl Core {
    /// Returns core `index`, held in reset. `systick`: the event of its timer.
    pub fn new(index: usize, systick: Event) -> Self {
        Self {
            index,
            regs: [0; 16],
            other_sp: 0,
            nz: 1,
            c: false,
            v: false,
            pc: 0,
            cycles: 0,
            ipsr: 0,
            primask: false,
            control: 0,
            ppb: Ppb::new(index, systick),
            event_register: false,
            state: State::Held,
            instructions: 0,
            flash_instructions: 0,
            rom_instructions: 0,
            fetch_word: NO_WORD,
        }
    }

    /// Starts from the vector table in ROM, as after any reset. `cycles` and `instructions` continue. `irq_level`:
    /// interrupt lines that are high; they become pending at once.
    pub fn reset<M: Map>(&mut self, mem: &Memory<M>, irq_level: u64) {
        let counted = (self.cycles, self.instructions, self.flash_instructions, self.rom_instructions);
        *self = Self::new(self.index, self.ppb.systick_event());
        (self.cycles, self.instructions, self.flash_instructions, self.rom_instructions) = counted;
        self.regs[13] = mem.rom_u32(0) & !3;
        self.regs[14] = u32::MAX;
        self.pc = mem.rom_u32(4) & !1;
        self.ppb.pending = irq_level as u32;
        self.state = State::Running;
    }

    /// Returns APSR: N, Z, C and V in bits 31 to 28.
    pub fn apsr(&self) -> u32 {
        (u32::from(self.nz < 0) << 31)
            | (u32::from(self.nz as u32 == 0) << 30)
            | (u32::from(self.c) << 29)
            | (u32::from(self.v) << 28)
    }

    /// Sets N, Z, C and V from bits 31 to 28.
    pub fn set_apsr(&mut self, value: u32) {
        let (n, z) = (value >> 31 != 0, value & (1 << 30) != 0);
        self.nz = match (n, z) {
            (false, true) => 0,
            (false, false) => 1,
            (true, false) => -1,
            // No result has these flags, but MSR can write them.
            (true, true) => i64::MIN,
        };
        self.c = value & (1 << 29) != 0;
        self.v = value & (1 << 28) != 0;
    }

    /// Returns the main stack pointer.
    pub fn msp(&self) -> u32 {
        if self.uses_psp() { self.other_sp } else { self.regs[13] }
    }

    /// Returns the process stack pointer.
    pub fn psp(&self) -> u32 {
        if self.uses_psp() { self.regs[13] } else { self.other_sp }
    }

    fn uses_psp(&self) -> bool {
        self.control & 2 != 0 && self.ipsr == 0
    }

    fn set_msp(&mut self, value: u32) {
        if self.uses_psp() { self.other_sp = value } else { self.regs[13] = value }
    }

    /// Sets the process stack pointer.
    pub fn set_psp(&mut self, value: u32) {
        if self.uses_psp() { self.regs[13] = value } else { self.other_sp = value }
    }

    pub(crate) fn mrs(&self, sysm: u32) -> u32 {
        match sysm {
            0 | 2 => self.apsr(),
            1 | 3 => self.apsr() | self.ipsr,
            5 | 7 => self.ipsr,
            8 if self.privileged() => self.msp(),
            9 if self.privileged() => self.psp(),
            16 if self.privileged() => u32::from(self.primask),
            20 => self.control,
            _ => 0,
        }
    }

    pub(crate) fn msr(&mut self, sysm: u32, value: u32) {
        match sysm {
            0..=3 => self.set_apsr(value),
            8 if self.privileged() => self.set_msp(value & !3),
            9 if self.privileged() => self.set_psp(value & !3),
            16 if self.privileged() => self.primask = value & 1 != 0,
            20 if self.privileged() => {
                // Handler mode always uses MSP: only nPRIV can be written there (ARMv6-M ARM B4.2.3).
                let writable = if self.ipsr == 0 { 3 } else { 1 };
                let control = (self.control & !writable) | (value & writable);
                if (self.control ^ control) & 2 != 0 {
                    std::mem::swap(&mut self.regs[13], &mut self.other_sp);
                }
                self.control = control;
            }
            _ => {}
        }
    }

    pub(crate) fn privileged(&self) -> bool {
        self.ipsr != 0 || self.control & 1 == 0
    }

    /// Asks the MPU, if it is enabled. `Err`: the cause of a fault.
    #[inline]
    pub(crate) fn permit(&self, access: Access, address: u32, privileged: bool) -> Result<(), Cause> {
        if self.ppb.mpu.enabled() && !self.ppb.mpu.allows(access, address, privileged, self.ppb.active) {
            return Err(Cause::Protected { address });
        }
        Ok(())
    }

    /// Reads 1, 2 or 4 bytes and adds the access's wait states. `Err`: the cause of a fault.
    #[inline(always)]
    pub(crate) fn load<const SIZE: u32, B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
    ) -> Result<u32, Cause> {
        if let Some((value, waits)) = mem.load_fast::<SIZE>(address) {
            bus.count(address);
            self.cycles += 1 + u64::from(waits);
            return Ok(value);
        }
        self.load_slow(mem, bus, address, SIZE)
    }

    #[inline(never)]
    pub(crate) fn load_slow<B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        size: u32,
    ) -> Result<u32, Cause> {
        if address & (size - 1) != 0 {
            return Err(Cause::Unaligned { address });
        }
        if B::Map::ROM.contains(address) {
            let at = (address - B::Map::ROM.base) as usize;
            bus.count(address);
            self.cycles += 1;
            return Ok(match size {
                1 => u32::from(mem.rom_u8(at)),
                2 => u32::from(mem.rom_u16(at)),
                _ => mem.rom_u32(at),
            });
        }
        bus.sys_mut().cycle = self.cycles;
        if address >> 28 == 0xe {
            if !self.privileged() {
                return Err(Cause::Unprivileged { address });
            }
            if address >= PPB_END {
                return Err(Cause::Read { address });
            }
            let word = self.ppb.read(bus.sys_mut(), self.cycles, self.ipsr, address & !3);
            self.cycles += 1;
            return Ok(match size {
                1 => (word >> ((address & 3) * 8)) & 0xff,
                2 => (word >> ((address & 2) * 8)) & 0xffff,
                _ => word,
            });
        }
        let value = bus.read(mem, Master::Core(self.index), address, size).map_err(|_| Cause::Read { address })?;
        if bus.sys().records() {
            bus.note_read(mem, self, address, value);
        }
        if !B::Map::IO_PORT.contains(address) {
            self.cycles += 1 + u64::from(bus.waits());
            bus.note_waits(self, address);
        }
        Ok(value)
    }

    /// Writes 1, 2 or 4 bytes and adds the access's wait states. `Err`: the cause of a fault.
    #[inline(always)]
    pub(crate) fn store<const SIZE: u32, B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
    ) -> Result<(), Cause> {
        if mem.store_fast::<SIZE>(address, value) {
            bus.count(address);
            self.cycles += 1;
            return Ok(());
        }
        self.store_slow(mem, bus, address, value, SIZE)
    }

    #[inline(never)]
    pub(crate) fn store_slow<B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), Cause> {
        if address & (size - 1) != 0 {
            return Err(Cause::Unaligned { address });
        }
        bus.sys_mut().cycle = self.cycles;
        if address >> 28 == 0xe {
            if !self.privileged() {
                return Err(Cause::Unprivileged { address });
            }
            if address >= PPB_END {
                return Err(Cause::Write { address });
            }
            self.cycles += 1;
            self.ppb.write(bus.sys_mut(), self.cycles, address & !3, value);
            return Ok(());
        }
        bus.write(mem, Master::Core(self.index), address, value, size).map_err(|_| Cause::Write { address })?;
        if !B::Map::IO_PORT.contains(address) {
            self.cycles += 1 + u64::from(bus.waits());
            bus.note_waits(self, address);
        }
        Ok(())
    }

    /// Latches rising interrupt lines, and wakes the core if one of them or an event may do so.
    pub fn observe(&mut self, rose: u64, event: bool, now_cycle: u64) {
        self.ppb.pending |= rose as u32;
        // With SEVONPEND even a disabled interrupt that becomes pending is an event (ARMv6-M ARM B3.2.7).
        let event = event || (self.ppb.take_newly_pending() && self.ppb.scr & scr::SEVONPEND != 0);
        self.event_register |= event;
        self.wake(now_cycle);
    }

    /// Leaves WFI or WFE if its wake-up condition holds.
    pub(crate) fn wake(&mut self, now_cycle: u64) {
        let wakes = match self.state {
            State::Wfi => self.interrupt_could_preempt(),
            // Unlike WFI, WFE ignores interrupts masked by PRIMASK (ARMv6-M ARM B1.5.18).
            State::Wfe => self.event_register || (!self.primask && self.interrupt_could_preempt()),
            _ => false,
        };
        if wakes {
            if self.state == State::Wfe {
                self.event_register = false;
            }
            self.state = State::Running;
            self.cycles = self.cycles.max(now_cycle);
        }
    }

    /// Returns whether a pending exception would be taken if PRIMASK were clear (ARMv6-M ARM B1.5.19).
    fn interrupt_could_preempt(&self) -> bool {
        self.ppb.anything_pending()
            && self.ppb.most_urgent().is_some_and(|(_, priority)| priority < self.ppb.active_priority())
    }

    /// Takes the most urgent exception, if one may be taken now.
    pub fn take_pending_exception<B: Bus<V6m>>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) {
        if !self.ppb.anything_pending() || self.state != State::Running {
            return;
        }
        let Some((number, priority)) = self.ppb.most_urgent() else { return };
        let masked = if self.primask { 0 } else { 256 };
        if priority < self.ppb.active_priority().min(masked) {
            self.enter_exception(mem, bus, number, self.pc);
        }
    }

    /// Handles a fault of the instruction at `pc`, or an escalated exception.
    pub(crate) fn hard_fault<B: Bus<V6m>>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause) {
        self.enter_hard_fault(mem, bus, cause, self.pc);
    }

    fn enter_hard_fault<B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        cause: Cause,
        return_address: u32,
    ) {
        let locked_up = self.ppb.active_priority() <= -1;
        self.report(bus, locked_up, self.pc, self.ipsr, cause);
        if locked_up {
            self.state = State::LockedUp;
            return;
        }
        self.enter_exception(mem, bus, exception::HARD_FAULT, return_address);
    }

    fn report<B: Bus<V6m>>(&self, bus: &mut B, locked_up: bool, pc: u32, exception: u32, cause: Cause) {
        let at = bus.sys().clock.ps_at(self.cycles);
        bus.sys_mut().faults.push(Report { at, core: self.index, locked_up, pc, lr: self.regs[14], exception, cause });
    }

    /// Executes SVC: makes SVCall pending, which is taken at once or, if masked, escalates to HardFault.
    pub(crate) fn supervisor_call<B: Bus<V6m>>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, return_address: u32) {
        let masked = if self.primask { 0 } else { 256 };
        if self.ppb.priority(exception::SV_CALL) < self.ppb.active_priority().min(masked) {
            self.enter_exception(mem, bus, exception::SV_CALL, return_address);
        } else {
            // NuttX finds its masked SVCs two bytes before the stacked address (arm_hardfault.c), on silicon too.
            self.enter_hard_fault(mem, bus, Cause::SupervisorCall, return_address);
        }
    }

    fn enter_exception<B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        number: u32,
        return_address: u32,
    ) {
        let aligned = self.regs[13] & 4 == 0;
        let frame = (self.regs[13].wrapping_sub(0x20)) & !4;
        let xpsr = self.apsr() | self.ipsr | (u32::from(!aligned) << 9) | (1 << 24);
        let words = [
            self.regs[0],
            self.regs[1],
            self.regs[2],
            self.regs[3],
            self.regs[12],
            self.regs[14],
            return_address,
            xpsr,
        ];
        let start = self.cycles;
        let mut fault = None;
        for (i, word) in words.into_iter().enumerate() {
            let at = frame.wrapping_add(4 * i as u32);
            let pushed = self.permit(Access::Write, at, self.privileged());
            fault = fault.or(pushed.and_then(|()| self.store::<4, B>(mem, bus, at, word)).err());
        }
        self.cycles = start;
        let interrupted = self.ipsr;
        let used_psp = self.uses_psp();
        let exc_return = match (self.ipsr != 0, used_psp) {
            (true, _) => 0xffff_fff1,
            (false, false) => 0xffff_fff9,
            (false, true) => 0xffff_fffd,
        };
        self.regs[13] = frame;
        if used_psp {
            std::mem::swap(&mut self.regs[13], &mut self.other_sp);
        }
        self.ipsr = number;
        self.fetch_word = NO_WORD;
        self.regs[14] = exc_return;
        self.ppb.activate(number);
        self.event_register = true;
        match self.load::<4, B>(mem, bus, self.ppb.vtor.wrapping_add(4 * number)) {
            // A vector without the Thumb bit faults at its first instruction.
            Ok(vector) => {
                self.pc = vector & !1;
                fault = fault.or((vector & 1 == 0).then_some(Cause::Vector { number, value: vector }));
            }
            Err(cause) => fault = fault.or(Some(cause)),
        }
        self.cycles = start + EXCEPTION_ENTRY_CYCLES;
        if bus.sys().trace.wants(kind::IRQ) {
            let at = bus.sys().clock.ps_at(start);
            bus.sys_mut()
                .trace
                .push(at, Record::Exception { core: self.index as u8, number: number as u8, entry: true });
        }
        if self.index == 0 && bus.sys().records() {
            let at = bus.sys().clock.ps_at(start);
            bus.sys_mut().recorder().into_iter().for_each(|recorder| recorder.exception_taken(at, number as u8));
        }
        if let Some(cause) = fault {
            let locked_up =
                matches!(number, exception::HARD_FAULT | exception::NMI) || self.ppb.active_priority() <= -1;
            self.report(bus, locked_up, return_address, interrupted, cause);
            if locked_up {
                self.state = State::LockedUp;
            } else {
                self.ppb.pending_system |= 1 << exception::HARD_FAULT;
                bus.sys_mut().attention = true;
            }
        }
    }

    /// Branches to an EXC_RETURN value in handler mode. `Err`: the cause of a fault.
    pub(crate) fn exception_return<B: Bus<V6m>>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        exc_return: u32,
    ) -> Result<(), Cause> {
        let number = self.ipsr;
        let invalid = Err(Cause::InvalidReturn { exc_return });
        let (to_thread, from_psp) = match exc_return & 0xf {
            0x1 => (false, false),
            0x9 => (true, false),
            0xd => (true, true),
            _ => return invalid,
        };
        // The frame may name any exception as the one to return to (UNPREDICTABLE, ARMv6-M ARM B1.5.8).
        if self.ppb.active & (1 << number) == 0 {
            return invalid;
        }
        self.ppb.active &= !(1 << number);
        // A return to the wrong mode would make the nesting inconsistent.
        if to_thread != (self.ppb.active == 0) {
            self.ppb.active |= 1 << number;
            return invalid;
        }
        // A level-sensitive line that is still high pends again.
        if number >= exception::IRQ0 {
            self.ppb.pending |= bus.sys().irq_level_for_core(self.index) as u32 & (1 << (number - exception::IRQ0));
        }
        if bus.sys().trace.wants(kind::IRQ) {
            let at = bus.sys().clock.ps_at(self.cycles);
            bus.sys_mut()
                .trace
                .push(at, Record::Exception { core: self.index as u8, number: number as u8, entry: false });
        }
        if self.index == 0
            && let Some(recorder) = bus.sys_mut().recorder()
        {
            recorder.exception_left();
        }
        let frame = if from_psp { self.other_sp } else { self.regs[13] };
        let start = self.cycles;
        let mut words = [0; 8];
        for (i, word) in words.iter_mut().enumerate() {
            let at = frame.wrapping_add(4 * i as u32);
            self.permit(Access::Read, at, !to_thread || self.control & 1 == 0)?;
            *word = self.load::<4, B>(mem, bus, at)?;
        }
        self.cycles = start + EXCEPTION_RETURN_CYCLES;
        let [r0, r1, r2, r3, r12, lr, pc, xpsr] = words;
        self.regs[0..4].copy_from_slice(&[r0, r1, r2, r3]);
        self.regs[12] = r12;
        self.regs[14] = lr;
        let sp = (frame.wrapping_add(0x20)) | (((xpsr >> 9) & 1) << 2);
        if to_thread {
            self.control = (self.control & 1) | (u32::from(from_psp) << 1);
        }
        if from_psp {
            self.other_sp = self.regs[13];
        }
        self.regs[13] = sp;
        self.ipsr = if to_thread { 0 } else { xpsr & 0x3f };
        // A frame's contents can leave neither Thumb state nor handler mode.
        let consistent = xpsr & (1 << 24) != 0 && to_thread == (self.ipsr == 0);
        self.set_apsr(xpsr);
        self.pc = pc & !1;
        self.fetch_word = NO_WORD;
        self.event_register = true;
        if self.ppb.scr & scr::SLEEPONEXIT != 0 && to_thread && !self.ppb.anything_pending() {
            self.state = State::Wfi;
        }
        bus.sys_mut().attention = true;
        if consistent { Ok(()) } else { invalid }
    }
}
