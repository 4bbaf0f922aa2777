//! A gdb session with the board: the remote serial protocol without any I/O.
//!
//! While gdb has stopped the board, no simulated time passes. Both cores stop and continue together, one thread each.

mod description;
mod registers;
mod target;

use std::convert::Infallible;

use crate::mcu::Halt;
use gdbstub::common::Signal;
use gdbstub::conn::Connection;
use gdbstub::stub::GdbStub;
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::stub::state_machine::GdbStubStateMachine;
use gdbstub::target::ext::breakpoints::WatchKind;

use crate::machine::Machine;
use target::{GdbError, tid};

/// Largest packet from gdb in bytes.
const PACKET_BYTES: usize = 4096;

/// Data to be sent to gdb.
#[derive(Default)]
struct Output(Vec<u8>);

impl Connection for Output {
    type Error = Infallible;

    fn write(&mut self, byte: u8) -> Result<(), Infallible> {
        self.0.push(byte);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

type State = GdbStubStateMachine<'static, Machine, Output>;

/// One connection of gdb. The board is stopped at its start.
pub struct GdbSession {
    /// `None` after gdb has disconnected.
    state: Option<State>,
    unsent: Vec<u8>,
}

impl GdbSession {
    /// Stops all cores and starts a session. `Err`: gdb's stub could not start.
    pub fn new(machine: &mut Machine) -> Result<Self, GdbError> {
        machine.chip_mut().debug().clear();
        let stub = GdbStub::builder(Output::default()).packet_buffer_size(PACKET_BYTES).build();
        let stub = stub.map_err(|error| GdbError(error.to_string()))?;
        let state = stub.run_state_machine(machine).map_err(|error| GdbError(error.to_string()))?;
        Ok(Self { state: Some(state), unsent: Vec::new() })
    }

    /// Returns whether the board is to run.
    pub fn running(&self) -> bool {
        matches!(self.state, Some(GdbStubStateMachine::Running(_)) | None)
    }

    /// Returns whether gdb has detached.
    pub fn over(&self) -> bool {
        self.state.is_none()
    }

    /// Handles data from gdb. `Err`: it ended the session.
    pub fn receive(&mut self, machine: &mut Machine, data: &[u8]) -> Result<(), GdbError> {
        for &byte in data {
            let Some(state) = self.state.take() else { return Ok(()) };
            let next = match state {
                GdbStubStateMachine::Idle(state) => state.incoming_data(machine, byte),
                GdbStubStateMachine::Running(state) => state.incoming_data(machine, byte),
                other => Ok(other),
            };
            let next = next.map_err(|error| self.failed(machine, &error.to_string()))?;
            self.settle(machine, next)?;
        }
        Ok(())
    }

    /// Reports to gdb why the machine stopped, if it did.
    pub fn report(&mut self, machine: &mut Machine) -> Result<(), GdbError> {
        let Some(halt) = machine.chip_mut().debug().take_halt() else { return Ok(()) };
        let reason = match halt {
            Halt::Breakpoint { core } => MultiThreadStopReason::HwBreak(tid(core)),
            Halt::Step { core } => MultiThreadStopReason::SignalWithThread { tid: tid(core), signal: Signal::SIGTRAP },
            Halt::Watchpoint { core, address } => {
                MultiThreadStopReason::Watch { tid: tid(core), kind: WatchKind::Write, addr: address }
            }
        };
        self.stop(machine, reason)
    }

    /// Reports to gdb that a core locked up, or that the run is over.
    pub fn interrupt(&mut self, machine: &mut Machine, core: usize) -> Result<(), GdbError> {
        self.stop(machine, MultiThreadStopReason::SignalWithThread { tid: tid(core), signal: Signal::SIGSEGV })
    }

    /// Reports to gdb that the run cannot continue.
    pub fn exited(&mut self, machine: &mut Machine) -> Result<(), GdbError> {
        self.stop(machine, MultiThreadStopReason::Exited(0))
    }

    /// Takes the data to be sent to gdb.
    pub fn take_output(&mut self) -> Vec<u8> {
        let mut output = std::mem::take(&mut self.unsent);
        output.append(&mut self.state.as_mut().map_or(Vec::new(), take_output));
        output
    }

    fn stop(&mut self, machine: &mut Machine, reason: MultiThreadStopReason<u32>) -> Result<(), GdbError> {
        match self.state.take() {
            Some(GdbStubStateMachine::Running(state)) => {
                let next = state.report_stop(machine, reason);
                let next = next.map_err(|error| self.failed(machine, &error.to_string()))?;
                self.settle(machine, next)
            }
            other => {
                self.state = other;
                Ok(())
            }
        }
    }

    fn settle(&mut self, machine: &mut Machine, mut state: State) -> Result<(), GdbError> {
        if let GdbStubStateMachine::CtrlCInterrupt(interrupted) = state {
            machine.chip_mut().debug().forget_step();
            let reason = MultiThreadStopReason::Signal(Signal::SIGINT);
            let next = interrupted.interrupt_handled(machine, Some(reason));
            state = next.map_err(|error| self.failed(machine, &error.to_string()))?;
        }
        if matches!(state, GdbStubStateMachine::Disconnected(_)) {
            self.unsent.append(&mut take_output(&mut state));
            machine.chip_mut().debug().clear();
        } else {
            self.state = Some(state);
        }
        Ok(())
    }

    fn failed(&mut self, machine: &mut Machine, error: &str) -> GdbError {
        machine.chip_mut().debug().clear();
        GdbError(error.to_string())
    }
}

fn take_output(state: &mut State) -> Vec<u8> {
    let output = match state {
        GdbStubStateMachine::Idle(state) => state.borrow_conn(),
        GdbStubStateMachine::Running(state) => state.borrow_conn(),
        GdbStubStateMachine::CtrlCInterrupt(state) => state.borrow_conn(),
        GdbStubStateMachine::Disconnected(state) => state.borrow_conn(),
    };
    std::mem::take(&mut output.0)
}
