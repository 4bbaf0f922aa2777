//! Control and status registers (datasheet 3.8.9).

use sim::Snapshot;

use crate::Bus;
use crate::core::Core;
use crate::decode::Op;
use crate::interrupts::code;

/// The register does not exist, cannot be written, or is not for this mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

/// RV32IMAC with User mode and custom extensions.
const MISA: u32 = 1 << 30 | 1 << 23 | 1 << 20 | 1 << 12 | 1 << 8 | 1 << 2 | 1;
const MVENDORID: u32 = 0x493;
const MARCHID: u32 = 0x1b;
const MIMPID: u32 = 0x86fc_4e3f;
/// A trigger of type 2, which is off.
const TRIGGER: u32 = 2 << 28;
/// TDATA1: EXECUTE.
const TRIGGER_EXECUTE: u32 = 4;

/// MCYCLE or MINSTRET. Its methods get the count of cycles or instructions.
#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Counter {
    /// Its value while it stands still, otherwise its value less the count.
    base: u64,
    runs: bool,
}

impl Counter {
    fn value(self, count: u64) -> u64 {
        if self.runs { self.base.wrapping_add(count) } else { self.base }
    }

    fn set(&mut self, count: u64, value: u64) {
        self.base = if self.runs { value.wrapping_sub(count) } else { value };
    }

    fn set_running(&mut self, count: u64, runs: bool) {
        let value = self.value(count);
        self.runs = runs;
        self.set(count, value);
    }
}

/// The registers of traps and counters.
#[derive(Clone, Copy, Debug, Snapshot)]
pub struct Csrs {
    /// MSTATUS.MIE.
    pub interrupts_on: bool,
    pub(crate) mpie: bool,
    /// MSTATUS.MPP is Machine mode.
    pub(crate) mpp: bool,
    pub(crate) mprv: bool,
    /// MSTATUS.TW.
    pub(crate) timeout_wait: bool,
    pub mie: u32,
    pub mtvec: u32,
    pub mscratch: u32,
    pub mepc: u32,
    pub mcause: u32,
    mcounteren: u32,
    /// MCYCLE and MINSTRET.
    counters: [Counter; 2],
    msleep: u32,
    tselect: u32,
    tdata: [[u32; 2]; 4],
}

impl Csrs {
    pub(crate) fn new(mtvec: u32) -> Self {
        Self {
            interrupts_on: false,
            mpie: false,
            mpp: true,
            mprv: false,
            timeout_wait: false,
            mie: 0,
            mtvec,
            mscratch: 0,
            mepc: 0,
            mcause: 0,
            mcounteren: 0,
            counters: [Counter { base: 0, runs: false }; 2],
            msleep: 0,
            tselect: 0,
            tdata: [[TRIGGER, 0]; 4],
        }
    }

    /// Returns MSTATUS.
    pub fn mstatus(&self) -> u32 {
        u32::from(self.interrupts_on) << 3
            | u32::from(self.mpie) << 7
            | if self.mpp { 3 << 11 } else { 0 }
            | u32::from(self.mprv) << 17
            | u32::from(self.timeout_wait) << 21
    }

    fn set_mstatus(&mut self, value: u32) {
        let bit = |at: u32| value >> at & 1 != 0;
        (self.interrupts_on, self.mpie, self.mpp) = (bit(3), bit(7), bit(12));
        (self.mprv, self.timeout_wait) = (bit(17), bit(21));
    }
}

impl Core {
    /// Returns the count of cycles (0) or of instructions.
    fn counted(&self, index: usize) -> u64 {
        if index == 0 { self.cycles } else { self.instructions }
    }

    fn counter(&self, csr: u32) -> u32 {
        let index = usize::from(csr & 2 != 0);
        let value = self.csrs.counters[index].value(self.counted(index));
        if csr & 0x80 == 0 { value as u32 } else { (value >> 32) as u32 }
    }

    /// Executes CSRRW, CSRRS or CSRRC: `raw` is its operand. Returns the old value.
    pub(crate) fn access_csr<B: Bus>(&mut self, bus: &mut B, op: Op, raw: u32, writes: bool) -> Result<u32, Refused> {
        let csr = op.imm & 0xfff;
        let is_counter = matches!(csr, 0xc00 | 0xc02 | 0xc80 | 0xc82);
        if writes && csr >> 10 == 3 || csr >> 8 & 3 > 3 * u32::from(self.machine) {
            return Err(Refused);
        }
        if is_counter && !self.machine && self.csrs.mcounteren >> (csr & 2) & 1 == 0 {
            return Err(Refused);
        }
        let level = bus.sys().irq_level_for_core(self.index);
        let kind = op.imm >> 12 & 3;
        let update = |old: u32| match kind {
            1 => raw,
            2 => old | raw,
            _ => old & !raw,
        };
        if csr == 0xbe4 {
            let update = writes && update(0) & 1 != 0;
            return Ok(self.interrupts.read_next(level, update));
        }
        let mut old = self.read_csr(csr, raw, level)?;
        if csr == 0xbe5 {
            // CLEARTS shows what it clears.
            let clears = writes && kind != 3 && raw & 2 != 0;
            let standard = self.csrs.mie & (1 << code::TIMER | 1 << code::SOFTWARE);
            if clears {
                old |= standard >> code::TIMER << 3 | (standard >> code::SOFTWARE & 1) << 2;
            }
            if writes {
                let value = update(old);
                self.interrupts.set_context(value);
                self.csrs.mie |= (value >> 3 & 1) << code::TIMER | (value >> 2 & 1) << code::SOFTWARE;
                if clears {
                    self.csrs.mie &= !(1 << code::TIMER | 1 << code::SOFTWARE);
                }
            }
            return Ok(old);
        }
        if writes {
            self.write_csr(bus, csr, raw, update(old));
        }
        Ok(old)
    }

    fn read_csr(&self, csr: u32, raw: u32, level: u64) -> Result<u32, Refused> {
        let csrs = &self.csrs;
        Ok(match csr {
            0x300 => csrs.mstatus(),
            0x301 => MISA,
            0x304 => csrs.mie,
            0x305 => csrs.mtvec,
            0x306 => csrs.mcounteren,
            // MENVCFG, MSTATUSH, MHPMEVENT, MTVAL, MCONFIGPTR and MHPMCOUNTER are 0.
            0x30a | 0x310 | 0x31a | 0x323..=0x33f | 0x343 | 0xf15 | 0xb03..=0xb1f | 0xb83..=0xb9f => 0,
            0x320 => u32::from(!csrs.counters[0].runs) | u32::from(!csrs.counters[1].runs) << 2,
            0x340 => csrs.mscratch,
            0x341 => csrs.mepc,
            0x342 => csrs.mcause,
            0x344 => self.mip(level),
            0x3a0..=0x3a3 => self.pmp.config((csr & 3) as usize),
            0x3b0..=0x3bf => self.pmp.address((csr & 15) as usize),
            0x7a0 => csrs.tselect,
            0x7a1 | 0x7a2 => csrs.tdata[csrs.tselect as usize][(csr & 1 ^ 1) as usize],
            0xb00 | 0xb02 | 0xb80 | 0xb82 | 0xc00 | 0xc02 | 0xc80 | 0xc82 => self.counter(csr),
            0xbd0 => self.pmp.machine(),
            0xbe0..=0xbe3 => self.interrupts.read(csr, raw, level),
            0xbe5 => self.interrupts.context(),
            0xbf0 => csrs.msleep,
            0xf11 => MVENDORID,
            0xf12 => MARCHID,
            0xf13 => MIMPID,
            0xf14 => self.index as u32,
            _ => return Err(Refused),
        })
    }

    fn write_csr<B: Bus>(&mut self, bus: &mut B, csr: u32, raw: u32, value: u32) {
        let counted = [self.counted(0), self.counted(1)];
        let csrs = &mut self.csrs;
        match csr {
            0x300 => csrs.set_mstatus(value),
            0x304 => csrs.mie = value & code::ALL,
            0x305 => csrs.mtvec = value & !2,
            0x306 => csrs.mcounteren = value & 7,
            0x320 => {
                csrs.counters[0].set_running(counted[0], value & 1 == 0);
                csrs.counters[1].set_running(counted[1], value & 4 == 0);
            }
            0x340 => csrs.mscratch = value,
            0x341 => csrs.mepc = value & !1,
            0x342 => csrs.mcause = value & 0x8000_000f,
            0x3a0..=0x3a3 => self.pmp.set_config((csr & 3) as usize, value),
            0x3b0..=0x3bf => self.pmp.set_address((csr & 15) as usize, value),
            0x7a0 => csrs.tselect = value & 3,
            0x7a1 => {
                csrs.tdata[csrs.tselect as usize][0] = TRIGGER | value & 0x104c;
                if value & TRIGGER_EXECUTE != 0 {
                    bus.sys_mut().unmodelled(format!("TDATA1 write 0x{value:08x}: a trigger of Hazard3"));
                }
            }
            0x7a2 => csrs.tdata[csrs.tselect as usize][1] = value,
            0xb00 | 0xb02 | 0xb80 | 0xb82 => {
                let index = usize::from(csr & 2 != 0);
                let old = csrs.counters[index].value(counted[index]);
                let new = if csr & 0x80 == 0 {
                    old >> 32 << 32 | u64::from(value)
                } else {
                    old & 0xffff_ffff | u64::from(value) << 32
                };
                csrs.counters[index].set(counted[index], new);
            }
            0xbd0 => self.pmp.set_machine(value),
            0xbe0..=0xbe3 => self.interrupts.write(csr, raw, value),
            0xbf0 => csrs.msleep = value & 7,
            _ => {}
        }
    }
}
