//! State and memory accesses of one Cortex-M33 core.

use chip::Event;
pub(crate) use cpu::NO_WORD;
pub use cpu::State;
use sim::Snapshot;

use crate::bus::{Attribution, Bus};
use crate::exception::Returned;
use crate::fault::Cause;
use crate::fpu::Fpu;
use crate::mpu::Access;
use crate::ppb::{Ppb, aircr, ccr, exception, scr};
use crate::{Map, Master, Memory};

/// The private peripheral bus. Its upper part (the chip's own registers) is on the bus.
pub(crate) const PPB: std::ops::Range<u32> = 0xe000_0000..0xe008_0000;
/// The space above the chip's private registers is empty.
const PPB_END: u32 = 0xe010_0000;

pub(crate) mod control {
    pub(crate) const NPRIV: u32 = 1;
    pub(crate) const SPSEL: u32 = 2;
    pub(crate) const FPCA: u32 = 4;
    pub(crate) const SFPA: u32 = 8;
}

/// Who makes an access.
#[derive(Clone, Copy)]
pub(crate) struct Accessor {
    pub(crate) secure: bool,
    pub(crate) privileged: bool,
}

/// Arrays of two have the Secure copy first.
#[derive(Snapshot)]
pub struct Core {
    /// Its place in the chip, 0 or 1.
    pub index: usize,
    /// R0 to R14; R13 is the active stack pointer. The last entry is unused: the PC is `pc`.
    pub regs: [u32; 16],
    /// Main and process stack pointer of each state; that of the active one is in R13.
    pub(crate) stacks: [[u32; 2]; 2],
    /// Their limits.
    pub(crate) limits: [[u32; 2]; 2],
    /// In Secure state.
    pub secure: bool,
    /// N and Z, as those of this 64-bit value: its sign is N, and its low half decides Z.
    pub(crate) nz: i64,
    pub(crate) c: bool,
    pub(crate) v: bool,
    pub(crate) q: bool,
    pub(crate) ge: u8,
    /// ITSTATE: 0 outside of IT blocks.
    pub(crate) it: u8,
    /// Clear from a branch that leaves Thumb state to the entry of the fault by which that ends.
    pub(crate) thumb: bool,
    /// Address of the next instruction.
    pub pc: u32,
    /// Cycle of clk_sys at which the next instruction starts.
    pub cycles: u64,
    /// Number of the exception being handled, 0 in thread mode.
    pub ipsr: u32,
    /// PRIMASK of each state.
    pub primask: [bool; 2],
    /// FAULTMASK of each state.
    pub faultmask: [bool; 2],
    /// BASEPRI of each state.
    pub basepri: [u8; 2],
    /// nPRIV and SPSEL of each state; FPCA and SFPA are in the first.
    pub control: [u32; 2],
    /// Its floating-point unit.
    pub fpu: Fpu,
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
    /// Address / 4 of the last word fetched, or [`NO_WORD`] after a branch.
    pub(crate) fetch_word: u32,
    /// Registers whose values come a cycle late, and what the last instruction can be paired with
    /// ([`crate::decode::Op::late`]).
    pub(crate) late: u32,
    /// The local monitor: an exclusive load is the last that neither a store nor an exception has ended.
    pub(crate) exclusive: bool,
    pub(crate) returned: Option<Returned>,
    /// The fault of an instruction is one of saving floating-point registers, which is pending.
    pub(crate) saving_failed: bool,
}

impl Core {
    /// Returns core `index`, held in reset. `systick`: the events of its timers, Secure first; `reference`: the chip's
    /// tick that is their external reference.
    pub fn new(index: usize, systick: [Event; 2], reference: usize) -> Self {
        Self::with(index, Ppb::new(index, systick, reference))
    }

    fn with(index: usize, ppb: Ppb) -> Self {
        Self {
            index,
            regs: [0; 16],
            stacks: [[0; 2]; 2],
            limits: [[0; 2]; 2],
            secure: true,
            nz: 1,
            c: false,
            v: false,
            q: false,
            ge: 0,
            it: 0,
            thumb: true,
            pc: 0,
            cycles: 0,
            ipsr: 0,
            primask: [false; 2],
            faultmask: [false; 2],
            basepri: [0; 2],
            control: [0; 2],
            fpu: Fpu::default(),
            ppb,
            event_register: false,
            state: State::Held,
            instructions: 0,
            flash_instructions: 0,
            rom_instructions: 0,
            fetch_word: NO_WORD,
            late: 0,
            exclusive: false,
            returned: None,
            saving_failed: false,
        }
    }

    /// Starts from the vector table in ROM, as after any reset. `cycles` and `instructions` continue. `irq_level`:
    /// interrupt lines that are high; they become pending at once.
    pub fn reset<M: Map>(&mut self, mem: &Memory<M>, irq_level: u64) {
        let counted = (self.cycles, self.instructions, self.flash_instructions, self.rom_instructions);
        *self = Self::with(self.index, self.ppb.after_reset());
        (self.cycles, self.instructions, self.flash_instructions, self.rom_instructions) = counted;
        self.regs[13] = mem.rom_u32(0) & !3;
        self.regs[14] = u32::MAX;
        self.pc = mem.rom_u32(4) & !1;
        self.ppb.pending = irq_level;
        self.state = State::Running;
    }

    /// Index of the state's copies: 1 if Non-secure.
    #[inline]
    pub(crate) fn bank(&self) -> usize {
        usize::from(!self.secure)
    }

    /// Returns APSR.
    pub fn apsr(&self) -> u32 {
        (u32::from(self.nz < 0) << 31)
            | (u32::from(self.nz as u32 == 0) << 30)
            | (u32::from(self.c) << 29)
            | (u32::from(self.v) << 28)
            | (u32::from(self.q) << 27)
            | (u32::from(self.ge) << 16)
    }

    pub(crate) fn set_nzcv(&mut self, value: u32) {
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

    /// Sets N, Z, C, V, Q and GE.
    pub fn set_apsr(&mut self, value: u32) {
        self.set_nzcv(value);
        self.q = value & (1 << 27) != 0;
        self.ge = (value >> 16 & 15) as u8;
    }

    /// Returns xPSR, with the state of an IT block and the Thumb bit.
    pub fn xpsr(&self) -> u32 {
        let it = u32::from(self.it);
        self.apsr() | self.ipsr | u32::from(self.thumb) << 24 | (it & 3) << 25 | (it >> 2) << 10
    }

    /// Returns the state and the kind of the active stack pointer.
    pub(crate) fn active_stack(&self) -> (usize, usize) {
        let bank = self.bank();
        (bank, usize::from(self.ipsr == 0 && self.control[bank] & control::SPSEL != 0))
    }

    /// Returns a stack pointer: of the Secure (0) or Non-secure state, main (0) or process.
    pub fn stack(&self, bank: usize, process: usize) -> u32 {
        if self.active_stack() == (bank, process) { self.regs[13] } else { self.stacks[bank][process] }
    }

    pub(crate) fn set_stack(&mut self, bank: usize, process: usize, value: u32) {
        if self.active_stack() == (bank, process) {
            self.regs[13] = value & !3;
        } else {
            self.stacks[bank][process] = value & !3;
        }
    }

    /// Returns the main stack pointer of the current state.
    pub fn msp(&self) -> u32 {
        self.stack(self.bank(), 0)
    }

    /// Returns the process stack pointer of the current state.
    pub fn psp(&self) -> u32 {
        self.stack(self.bank(), 1)
    }

    /// Sets the process stack pointer of the current state.
    pub fn set_psp(&mut self, value: u32) {
        self.set_stack(self.bank(), 1, value);
    }

    /// Changes what decides which stack pointer is active.
    pub(crate) fn switch(&mut self, change: impl FnOnce(&mut Self)) {
        let (bank, process) = self.active_stack();
        self.stacks[bank][process] = self.regs[13];
        change(self);
        let (bank, process) = self.active_stack();
        self.regs[13] = self.stacks[bank][process];
    }

    /// Returns whether a stack pointer would lie below its limit, where that is not ignored.
    pub(crate) fn exceeds(&self, stack: (usize, usize), value: u32) -> bool {
        value < self.limits[stack.0][stack.1]
            && (self.ppb.banks[stack.0].ccr & ccr::STKOFHFNMIGN == 0 || !self.demands_negative_priority(stack.0))
    }

    /// Returns whether a state has FAULTMASK set, or HardFault or NMI active (IsReqExcPriNeg).
    fn demands_negative_priority(&self, bank: usize) -> bool {
        self.faultmask[bank] || self.ppb.banks[bank].active & (1 << exception::NMI | 1 << exception::HARD_FAULT) != 0
    }

    /// Moves R13 down to `value`. `Err`: below its limit.
    #[inline]
    pub(crate) fn lower_stack(&mut self, value: u32) -> Result<(), Cause> {
        let stack = self.active_stack();
        if self.exceeds(stack, value) {
            return Err(Cause::StackLimit { sp: value });
        }
        self.regs[13] = value;
        Ok(())
    }

    pub(crate) fn privileged(&self) -> bool {
        self.ipsr != 0 || self.control[self.bank()] & control::NPRIV == 0
    }

    /// Returns the priority that an exception must exceed: that of the active ones, or of the masks.
    pub fn execution_priority(&self) -> i32 {
        let mut priority = self.ppb.active_priority();
        for bank in 0..2 {
            let mut boost = |to: i32| priority = priority.min(to);
            if self.basepri[bank] != 0 {
                let raw = self.ppb.adjusted(i32::from(self.basepri[bank]), bank);
                boost(self.ppb.group(raw, bank));
            }
            if self.primask[bank] {
                boost(self.ppb.adjusted(0, bank));
            }
            if self.faultmask[bank] {
                let minus = self.ppb.aircr & aircr::BFHFNMINS != 0;
                boost(match (bank, minus) {
                    (0, true) => -3,
                    (0, false) | (1, true) => -1,
                    _ => self.ppb.adjusted(0, 1),
                });
            }
        }
        priority
    }

    /// Returns whether loads and stores must be checked one by one: without an MPU a Secure one may reach all.
    #[inline]
    pub(crate) fn guards_data(&self) -> bool {
        !self.secure || self.ppb.banks[self.bank()].mpu.enabled()
    }

    /// Returns whether SAU or MPU may refuse accesses of translated code that it does not leave to the engine.
    #[inline(always)]
    pub(crate) fn guarded(&self) -> bool {
        let unprivileged = || self.ppb.banks[0].mpu.enabled() && !self.privileged();
        !self.secure || self.ppb.translated != Some(true) || unprivileged()
    }

    /// Returns whether fetches and data accesses of code in `size` bytes from `start` on must be.
    #[inline]
    pub(crate) fn guards_code(&self, start: u32, size: u32) -> bool {
        self.guards_data() || self.ppb.sau.opens(start, start.wrapping_add(size - 1))
    }

    /// Returns the security of `address`.
    pub(crate) fn attribution<B: Bus>(&self, bus: &B, address: u32) -> Attribution {
        let by_chip = if PPB.contains(&address) { Attribution::Exempt } else { bus.attribution(address) };
        self.ppb.sau.attribution(address, by_chip)
    }

    /// Asks SAU and MPU. `Err`: the cause of a fault.
    #[inline(never)]
    pub(crate) fn permit<B: Bus>(&self, bus: &B, access: Access, address: u32, privileged: bool) -> Result<(), Cause> {
        let negative = self.ppb.banks[self.bank()].mpu.enabled() && self.execution_priority() < 0;
        self.permit_as(bus, access, address, Accessor { secure: self.secure, privileged }, negative)
    }

    /// `negative`: at a priority below 0.
    pub(crate) fn permit_as<B: Bus>(
        &self,
        bus: &B,
        access: Access,
        address: u32,
        by: Accessor,
        negative: bool,
    ) -> Result<(), Cause> {
        let attribution = self.attribution(bus, address);
        match (access, by.secure, attribution) {
            (_, _, Attribution::Exempt) | (Access::Read | Access::Write, true, _) => {}
            (Access::Fetch, true, Attribution::NonSecure) => return Err(Cause::InsecureEntry { address }),
            // SG, the only thing that may be executed there, is found by who fetches it.
            (Access::Fetch, false, Attribution::Callable) => return Err(Cause::InsecureEntry { address }),
            (_, false, Attribution::Secure | Attribution::Callable) if access == Access::Fetch => {
                return Err(Cause::InsecureEntry { address });
            }
            (_, false, Attribution::Secure | Attribution::Callable) => return Err(Cause::Insecure { address }),
            _ => {}
        }
        // A Secure access to Non-secure memory is checked by the Secure MPU, too.
        let mpu = &self.ppb.banks[usize::from(!by.secure)].mpu;
        if mpu.allows(access, address, by.privileged, negative) {
            return Ok(());
        }
        Err(if access == Access::Fetch { Cause::ProtectedFetch { address } } else { Cause::Protected { address } })
    }

    /// Reads 1, 2 or 4 bytes that are not plain memory or not aligned. Adds the wait states, not the access itself.
    #[inline(never)]
    pub(crate) fn load_slow<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        size: u32,
    ) -> Result<u32, Cause> {
        if address & (size - 1) != 0 {
            self.unaligned(address)?;
            let mut value = 0;
            for at in 0..size {
                value |= self.load_slow(mem, bus, address.wrapping_add(at), 1)? << (8 * at);
            }
            // Two accesses instead of one.
            self.cycles += 1;
            return Ok(value);
        }
        match size {
            1 => {
                if let Some((value, waits)) = mem.load_fast::<1>(address) {
                    self.cycles += u64::from(waits);
                    return Ok(value);
                }
            }
            2 => {
                if let Some((value, waits)) = mem.load_fast::<2>(address) {
                    self.cycles += u64::from(waits);
                    return Ok(value);
                }
            }
            _ => {
                if let Some((value, waits)) = mem.load_fast::<4>(address) {
                    self.cycles += u64::from(waits);
                    return Ok(value);
                }
            }
        }
        if B::Map::ROM.contains(address) {
            let at = (address - B::Map::ROM.base) as usize;
            return Ok(match size {
                1 => u32::from(mem.rom_u8(at)),
                2 => u32::from(mem.rom_u16(at)),
                _ => mem.rom_u32(at),
            });
        }
        bus.sys_mut().cycle = self.cycles;
        if PPB.contains(&address) {
            self.reach_ppb(address, self.privileged())?;
            let word = self.ppb.read(bus.sys_mut(), self.cycles, self.ipsr, self.secure, address & !3);
            return Ok(word >> ((address & 3) * 8) & (u32::MAX >> (32 - 8 * size)));
        }
        if address >= PPB_END {
            return Err(Cause::Read { address });
        }
        bus.access_as(self.secure, self.privileged());
        let value = bus.read(mem, Master::Core(self.index), address, size).map_err(|_| Cause::Read { address })?;
        if bus.sys().records() {
            bus.note_read(mem, self, address, value);
        }
        if !B::Map::IO_PORT.contains(address) {
            self.cycles += u64::from(bus.waits());
            bus.note_waits(self, address);
        }
        Ok(value)
    }

    fn unaligned(&self, address: u32) -> Result<(), Cause> {
        // Device memory takes no unaligned access.
        let device = matches!(address >> 29, 2 | 5..=7);
        if device || self.ppb.banks[self.bank()].ccr & ccr::UNALIGN_TRP != 0 {
            return Err(Cause::Unaligned { address });
        }
        Ok(())
    }

    fn reach_ppb(&self, address: u32, privileged: bool) -> Result<(), Cause> {
        let trigger = address & !3 == 0xe000_ef00 && self.ppb.banks[self.bank()].ccr & ccr::USERSETMPEND != 0;
        if privileged || trigger { Ok(()) } else { Err(Cause::Unprivileged { address }) }
    }

    /// Writes 1, 2 or 4 bytes that are not plain memory or not aligned.
    #[inline(never)]
    pub(crate) fn store_slow<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), Cause> {
        let by = Accessor { secure: self.secure, privileged: self.privileged() };
        self.store_as(mem, bus, address, value, size, by)
    }

    pub(crate) fn store_as<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
        size: u32,
        by: Accessor,
    ) -> Result<(), Cause> {
        if address & (size - 1) != 0 {
            self.unaligned(address)?;
            for at in 0..size {
                self.store_as(mem, bus, address.wrapping_add(at), value >> (8 * at) & 0xff, 1, by)?;
            }
            self.cycles += 1;
            return Ok(());
        }
        if match size {
            1 => mem.store_fast::<1>(address, value),
            2 => mem.store_fast::<2>(address, value),
            _ => mem.store_fast::<4>(address, value),
        } {
            return Ok(());
        }
        bus.sys_mut().cycle = self.cycles;
        if PPB.contains(&address) {
            self.reach_ppb(address, by.privileged)?;
            self.ppb.write(bus.sys_mut(), self.cycles, by.secure, address, value, size);
            // It may have been CPACR or FPCCR.
            self.fpu.ready = false;
            return Ok(());
        }
        if address >= PPB_END {
            return Err(Cause::Write { address });
        }
        bus.access_as(by.secure, by.privileged);
        bus.write(mem, Master::Core(self.index), address, value, size).map_err(|_| Cause::Write { address })?;
        if !B::Map::IO_PORT.contains(address) {
            self.cycles += u64::from(bus.waits());
            bus.note_waits(self, address);
        }
        Ok(())
    }

    /// Reads after the checks of SAU and MPU, and takes one cycle.
    pub(crate) fn load<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        size: u32,
    ) -> Result<u32, Cause> {
        if self.guards_data() {
            self.permit(bus, Access::Read, address, self.privileged())?;
        }
        self.cycles += 1;
        self.load_slow(mem, bus, address, size)
    }

    /// Writes after the checks of SAU and MPU, and takes one cycle.
    pub(crate) fn store<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), Cause> {
        if self.guards_data() {
            self.permit(bus, Access::Write, address, self.privileged())?;
        }
        self.cycles += 1;
        self.store_slow(mem, bus, address, value, size)
    }

    /// Latches rising interrupt lines, and wakes the core if one of them or an event may do so.
    pub fn observe(&mut self, rose: u64, event: bool, now_cycle: u64) {
        self.ppb.pending |= rose;
        // With SEVONPEND even a disabled interrupt that becomes pending is an event.
        let sev = (self.ppb.banks[0].scr | self.ppb.banks[1].scr) & scr::SEVONPEND != 0;
        self.event_register |= event | (self.ppb.take_newly_pending() && sev);
        self.wake(now_cycle);
    }

    /// Leaves WFI or WFE if its wake-up condition holds.
    pub fn wake(&mut self, now_cycle: u64) {
        let wakes = match self.state {
            State::Wfi => self.could_preempt(true),
            State::Wfe => self.event_register || self.could_preempt(false),
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

    /// Returns whether a pending exception would be taken. `unmasked`: if PRIMASK were clear.
    fn could_preempt(&mut self, unmasked: bool) -> bool {
        if !self.ppb.anything_pending() {
            return false;
        }
        let masks = self.primask;
        if unmasked {
            self.primask = [false; 2];
        }
        let priority = self.execution_priority();
        self.primask = masks;
        self.ppb.most_urgent().is_some_and(|(_, _, urgent)| urgent < priority)
    }
}
