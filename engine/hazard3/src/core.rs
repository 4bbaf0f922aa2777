//! State and memory accesses of one Hazard3 core.

pub use cpu::State;
use sim::Snapshot;

use crate::csr::Csrs;
use crate::interrupts::Interrupts;
use crate::pmp::{Access, Pmp};
use crate::traps::Cause;
use crate::{Bus, Map, Master, Memory};

/// No code word is buffered: the next instruction must be fetched.
pub(crate) const NO_WORD: u32 = u32::MAX;

/// Values of [`Core::late`], beside the register whose load the next instruction would have to wait for.
pub(crate) mod late {
    /// There is none.
    pub(crate) const NOTHING: u32 = 0xff;
    /// A jump has ended at the upper half of a word.
    pub(crate) const UPPER_HALF: u32 = 0xfe;
    /// Flag: the instruction was LR or SC.
    pub(crate) const EXCLUSIVE: u32 = 0x100;
}

/// The chip's choices: the lines of the standard interrupts, and where the core starts.
#[derive(Clone, Copy, Debug, Snapshot)]
pub struct Wires {
    /// Of the timer, MTIP.
    pub timer: u32,
    /// Of the software interrupt, MSIP. It is none of the external ones.
    pub software: u32,
    /// Address of the first instruction.
    pub reset_vector: u32,
    /// MTVEC after a reset.
    pub trap_vector: u32,
}

/// A Hazard3 core.
#[derive(Snapshot)]
pub struct Core {
    /// Its place in the chip, 0 or 1.
    pub index: usize,
    /// x0 to x31, and where a result for x0 goes.
    pub regs: [u32; 64],
    /// Address of the next instruction.
    pub pc: u32,
    /// Cycle of clk_sys at which the next instruction starts.
    pub cycles: u64,
    /// In Machine mode; otherwise in User mode.
    pub machine: bool,
    /// Its control and status registers.
    pub csrs: Csrs,
    pub(crate) pmp: Pmp,
    pub(crate) interrupts: Interrupts,
    pub(crate) wires: Wires,
    /// An unblock signal has come since the last h3.block.
    pub unblocked: bool,
    /// What it does.
    pub state: State,
    /// Instructions executed since power-on.
    pub instructions: u64,
    /// The instructions from flash through the cache.
    pub flash_instructions: u64,
    /// The instructions from ROM.
    pub rom_instructions: u64,
    /// Traps that no MRET has ended.
    pub depth: u32,
    /// Address / 4 of the last word fetched, or [`NO_WORD`] after a jump.
    pub(crate) fetch_word: u32,
    pub(crate) late: u32,
    /// Address of the branch that is predicted taken, [`NO_WORD`] if none is.
    pub(crate) predicted: u32,
    /// The local monitor: no SC, AMO or trap has come since a LR of SRAM.
    pub(crate) reserved: bool,
    /// Where the last exception led, and the instructions before it.
    pub(crate) trapped_to: Option<(u32, u64)>,
}

impl Core {
    /// Returns core `index`, held in reset.
    pub fn new(index: usize, wires: Wires) -> Self {
        Self {
            index,
            regs: [0; 64],
            pc: wires.reset_vector,
            cycles: 0,
            machine: true,
            csrs: Csrs::new(wires.trap_vector),
            pmp: Pmp::default(),
            interrupts: Interrupts::default(),
            wires,
            unblocked: false,
            state: State::Held,
            instructions: 0,
            flash_instructions: 0,
            rom_instructions: 0,
            depth: 0,
            fetch_word: NO_WORD,
            late: late::NOTHING,
            predicted: NO_WORD,
            reserved: false,
            trapped_to: None,
        }
    }

    /// Starts at the reset vector. `cycles` and `instructions` continue.
    pub fn reset(&mut self) {
        let counted = (self.cycles, self.instructions, self.flash_instructions, self.rom_instructions);
        *self = Self::new(self.index, self.wires);
        (self.cycles, self.instructions, self.flash_instructions, self.rom_instructions) = counted;
        self.state = State::Running;
    }

    /// Returns whether loads and stores are made in Machine mode.
    #[inline]
    pub(crate) fn accesses_as_machine(&self) -> bool {
        if self.csrs.mprv { self.csrs.mpp } else { self.machine }
    }

    /// Returns whether accesses and fetches must be checked one by one.
    #[inline]
    pub(crate) fn guards(&self) -> bool {
        !self.machine || !self.accesses_as_machine() || self.pmp.binds_machine()
    }

    /// Asks the PMP about a load or store. `Err`: the cause of a trap.
    #[inline(never)]
    pub(crate) fn permit<B: Bus>(&self, bus: &mut B, access: Access, address: u32) -> Result<(), Cause> {
        let machine = self.accesses_as_machine();
        if !self.pmp.allows(access, address, 1, machine) {
            return Err(Cause::fault(access, address));
        }
        if !machine {
            bus.sys_mut().cycle = self.cycles;
            bus.access_as_user(address);
        }
        Ok(())
    }

    /// Reads 1, 2 or 4 bytes that are not plain memory. Adds the wait states, not the access itself.
    #[inline(never)]
    pub(crate) fn load_slow<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        size: u32,
    ) -> Result<u32, Cause> {
        if address & (size - 1) != 0 {
            return Err(Cause::LoadUnaligned { address });
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
        let value = bus.read(mem, Master::Core(self.index), address, size).map_err(|_| Cause::Load { address })?;
        if bus.sys().records() {
            bus.note_read(mem, self, address, value);
        }
        if !B::Map::IO_PORT.contains(address) {
            self.cycles += u64::from(bus.waits());
            bus.note_waits(self, address);
        }
        Ok(value)
    }

    /// Writes 1, 2 or 4 bytes that are not plain memory.
    #[inline(never)]
    pub(crate) fn store_slow<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), Cause> {
        if address & (size - 1) != 0 {
            return Err(Cause::StoreUnaligned { address });
        }
        bus.sys_mut().cycle = self.cycles;
        // The bus repeats a narrow value on all lanes.
        let value = if size == 4 { value } else { value & ((1 << (8 * size)) - 1) };
        bus.write(mem, Master::Core(self.index), address, value, size).map_err(|_| Cause::Store { address })?;
        if !B::Map::IO_PORT.contains(address) {
            self.cycles += u64::from(bus.waits());
            bus.note_waits(self, address);
        }
        Ok(())
    }

    /// Reads a word after the check of the PMP, and takes no cycle but wait states.
    pub(crate) fn load_word<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
    ) -> Result<u32, Cause> {
        if self.guards() {
            self.permit(bus, Access::Read, address)?;
        }
        if let Some((value, waits)) = mem.load_fast::<4>(address) {
            self.cycles += u64::from(waits);
            return Ok(value);
        }
        self.load_slow(mem, bus, address, 4)
    }

    /// Writes a word after the check of the PMP, and takes no cycle but wait states.
    pub(crate) fn store_word<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
    ) -> Result<(), Cause> {
        if self.guards() {
            self.permit(bus, Access::Write, address)?;
        }
        if mem.store_fast::<4>(address, value) {
            return Ok(());
        }
        self.store_slow(mem, bus, address, value, 4)
    }

    /// Tells the core about an unblock signal, and wakes it if that, or an interrupt line, may do so.
    pub fn observe(&mut self, level: u64, unblock: bool, now_cycle: u64) {
        self.unblocked |= unblock;
        self.wake(level, now_cycle);
    }

    /// Leaves WFI or h3.block if its condition holds.
    pub fn wake(&mut self, level: u64, now_cycle: u64) {
        let blocked = self.state == State::Wfe;
        if !blocked && self.state != State::Wfi {
            return;
        }
        if blocked && self.unblocked || self.pending(level) != 0 {
            // Sticky until the core has left the state that it ends.
            self.unblocked &= !blocked;
            self.state = State::Running;
            self.cycles = self.cycles.max(now_cycle);
        }
    }
}
