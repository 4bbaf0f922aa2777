//! The board as gdb's target.

use gdbstub::common::{Signal, Tid};
use gdbstub::outputln;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSchedulerLocking,
    MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
    SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::memory_map::{MemoryMap, MemoryMapOps};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};

use super::description;
use super::registers::{CoreArch, CoreRegisters};
use crate::machine::Machine;

/// The reason why the session cannot continue, in one line.
#[derive(Debug)]
pub struct GdbError(pub String);

one_line!(GdbError);

pub(super) fn tid(core: usize) -> Tid {
    Tid::MIN.saturating_add(core)
}

fn part(text: &[u8], offset: u64, length: usize, buf: &mut [u8]) -> usize {
    let rest = text.get(offset as usize..).unwrap_or_default();
    let n = rest.len().min(length).min(buf.len());
    buf[..n].copy_from_slice(&rest[..n]);
    n
}

impl Machine {
    fn core(&self, tid: Tid) -> usize {
        (tid.get() - 1).min(self.chip().facts().cores - 1)
    }

    /// Returns the byte at `address` in a memory without read side effects.
    fn byte(&self, address: u32) -> Option<u8> {
        let memories = self.chip().memories();
        memories.iter().find_map(|memory| memory.bytes.get(address.wrapping_sub(memory.start) as usize)).copied()
    }
}

impl Target for Machine {
    type Arch = CoreArch;
    type Error = GdbError;

    fn base_ops(&mut self) -> BaseOps<'_, CoreArch, GdbError> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_memory_map(&mut self) -> Option<MemoryMapOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(&mut self) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for Machine {
    fn read_registers(&mut self, regs: &mut CoreRegisters, tid: Tid) -> TargetResult<(), Self> {
        *regs = CoreRegisters { all: self.chip().registers(self.core(tid)), pc: self.chip().facts().pc };
        Ok(())
    }

    fn write_registers(&mut self, regs: &CoreRegisters, tid: Tid) -> TargetResult<(), Self> {
        let core = self.core(tid);
        self.chip_mut().set_registers(core, &regs.all);
        Ok(())
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8], _tid: Tid) -> TargetResult<usize, Self> {
        let bytes = (0..data.len()).map_while(|at| self.byte(start.wrapping_add(at as u32)));
        let bytes: Vec<u8> = bytes.collect();
        if bytes.is_empty() && !data.is_empty() {
            return Err(TargetError::NonFatal);
        }
        data[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_addrs(&mut self, start: u32, data: &[u8], _tid: Tid) -> TargetResult<(), Self> {
        if self.chip_mut().poke(start, data) { Ok(()) } else { Err(TargetError::NonFatal) }
    }

    fn list_active_threads(&mut self, thread_is_active: &mut dyn FnMut(Tid)) -> Result<(), GdbError> {
        (0..self.chip().facts().cores).map(tid).for_each(thread_is_active);
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl ThreadExtraInfo for Machine {
    fn thread_extra_info(&self, tid: Tid, buf: &mut [u8]) -> Result<usize, GdbError> {
        let core = self.core(tid);
        let text = format!("core {core}: {}", self.chip().state(core));
        Ok(part(text.as_bytes(), 0, text.len(), buf))
    }
}

impl MultiThreadResume for Machine {
    fn resume(&mut self) -> Result<(), GdbError> {
        self.chip_mut().resume();
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), GdbError> {
        self.chip_mut().debug().forget_step();
        Ok(())
    }

    fn set_resume_action_continue(&mut self, _tid: Tid, _signal: Option<Signal>) -> Result<(), GdbError> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

/// Both cores run or neither does, since the run would differ otherwise: a step of one also advances the other.
impl MultiThreadSchedulerLocking for Machine {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), GdbError> {
        Ok(())
    }
}

impl MultiThreadSingleStep for Machine {
    fn set_resume_action_step(&mut self, tid: Tid, _signal: Option<Signal>) -> Result<(), GdbError> {
        let core = self.core(tid);
        self.chip_mut().step(core);
        Ok(())
    }
}

impl Breakpoints for Machine {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

/// These do not change memory either, so the guest cannot detect them.
impl SwBreakpoint for Machine {
    fn add_sw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.chip_mut().debug().add_breakpoint(addr))
    }

    fn remove_sw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.chip_mut().debug().remove_breakpoint(addr))
    }
}

impl HwBreakpoint for Machine {
    fn add_hw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.chip_mut().debug().add_breakpoint(addr))
    }

    fn remove_hw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.chip_mut().debug().remove_breakpoint(addr))
    }
}

/// Watchpoints on changes of SRAM by any master. Reads cannot be watched.
impl HwWatchpoint for Machine {
    fn add_hw_watchpoint(&mut self, addr: u32, len: u32, kind: WatchKind) -> TargetResult<bool, Self> {
        Ok(kind == WatchKind::Write && self.chip_mut().add_watchpoint(addr, len))
    }

    fn remove_hw_watchpoint(&mut self, addr: u32, len: u32, _kind: WatchKind) -> TargetResult<bool, Self> {
        Ok(self.chip_mut().debug().remove_watchpoint(addr, len))
    }
}

impl MonitorCmd for Machine {
    fn handle_monitor_cmd(&mut self, cmd: &[u8], mut out: ConsoleOutput<'_>) -> Result<(), GdbError> {
        match cmd {
            b"reset" | b"reset halt" | b"reset init" => {
                self.chip_mut().reset_cores();
                outputln!(out, "both cores are at their reset; `maintenance flush register-cache` shows it");
            }
            b"time" => outputln!(out, "{}.{:06} us of simulated time", self.now() / 1_000_000, self.now() % 1_000_000),
            _ => outputln!(out, "monitor reset: both cores through a reset; monitor time: simulated time"),
        }
        Ok(())
    }
}

impl MemoryMap for Machine {
    fn memory_map_xml(&self, offset: u64, length: usize, buf: &mut [u8]) -> TargetResult<usize, Self> {
        let text = description::memory_map(&self.chip().memories());
        Ok(part(text.as_bytes(), offset, length, buf))
    }
}

impl TargetDescriptionXmlOverride for Machine {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        match annex {
            b"target.xml" => Ok(part(self.chip().facts().description.as_bytes(), offset, length, buf)),
            _ => Err(TargetError::NonFatal),
        }
    }
}
