//! AP Memory's APS6404L, a pseudo-static RAM of 8 MiB with a QSPI interface, modelled clock by clock.
//!
//! Source: APS6404L-3SQR datasheet (command table, SPI and QPI mode, read ID, reset, wrap boundary toggle). The chip sees
//! the levels of SIO0..SIO3 at each rising clock edge, so that mismatched frame formats garble data as they do on the
//! board. Not modelled: the contents at power-up (zeros here), the refresh that a selection of more than 8 us delays,
//! the most clocks that each command allows, and the 150 us after power-up in which the chip takes none.

#![warn(missing_docs, unreachable_pub)]

use sim::snapshot::{Snapshot, Torn, save_bytes, saved_bytes};

/// Bytes of the memory.
pub const SIZE: usize = 8 << 20;
/// Read ID: manufacturer, known good die, and the EID, whose first three bits are the density (010: 64 Mbit).
const ID: [u8; 8] = [0x0d, 0x5d, 0x46, 0x50, 0x42, 0x31, 0x5a, 0x38];
/// Bytes of a burst's wrap after Wrap Boundary Toggle.
const WRAP: u32 = 32;

mod command {
    pub(super) const WRITE: u8 = 0x02;
    pub(super) const READ: u8 = 0x03;
    pub(super) const FAST_READ: u8 = 0x0b;
    pub(super) const ENTER_QUAD: u8 = 0x35;
    pub(super) const QUAD_WRITE: u8 = 0x38;
    pub(super) const RESET_ENABLE: u8 = 0x66;
    pub(super) const RESET: u8 = 0x99;
    pub(super) const READ_ID: u8 = 0x9f;
    pub(super) const TOGGLE_WRAP: u8 = 0xc0;
    pub(super) const QUAD_READ: u8 = 0xeb;
    pub(super) const EXIT_QUAD: u8 = 0xf5;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Phase {
    Command,
    Address,
    Wait,
    Output,
    Input,
    /// A command without address, which takes effect when chip select rises.
    Complete,
    Ignore,
}

/// A command's form: lines of its address and of its data, clocks between them, and whether it writes.
#[derive(Clone, Copy, Debug, Snapshot)]
struct Form {
    address_lines: u32,
    wait_clocks: u32,
    data_lines: u32,
    writes: bool,
}

/// The chip.
#[derive(Debug, Snapshot)]
pub struct Aps6404l {
    cells: Cells,
    /// QPI mode: commands come on all four lines.
    quad: bool,
    reset_enabled: bool,
    wraps: bool,
    selected: bool,
    phase: Phase,
    /// Bits (or clocks) left in the phase.
    left: u32,
    shift: u32,
    opcode: u8,
    form: Form,
    address: u32,
    /// Bytes of this transfer's data so far.
    count: usize,
}

/// Memory; a snapshot has no zeros at its end.
#[derive(Debug)]
struct Cells(Vec<u8>);

impl Snapshot for Cells {
    fn save_state(&self, to: &mut Vec<u8>) {
        let end = self.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        save_bytes(&self.0[..end], to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        let mut cells = saved_bytes(from)?.to_vec();
        cells.resize(SIZE, 0);
        Ok(Self(cells))
    }
}

impl Default for Aps6404l {
    fn default() -> Self {
        Self {
            cells: Cells(vec![0; SIZE]),
            quad: false,
            reset_enabled: false,
            wraps: false,
            selected: false,
            phase: Phase::Ignore,
            left: 0,
            shift: 0,
            opcode: 0,
            form: Form { address_lines: 1, wait_clocks: 0, data_lines: 1, writes: false },
            address: 0,
            count: 0,
        }
    }
}

impl Aps6404l {
    /// Handles an edge of chip select.
    pub fn select(&mut self, low: bool) {
        if low == self.selected {
            return;
        }
        self.selected = low;
        if low {
            self.count = 0;
            self.begin(Phase::Command, 8);
        } else {
            if self.phase == Phase::Complete {
                self.complete();
            }
            self.phase = Phase::Ignore;
        }
    }

    /// Handles one clock. `io` holds the levels that the controller and the pull-ups put on SIO0..SIO3; the result adds
    /// the chip's own outputs.
    pub fn clock(&mut self, io: u8) -> u8 {
        if !self.selected {
            return io;
        }
        match self.phase {
            Phase::Ignore => {}
            // A command ends with its last bit.
            Phase::Complete => self.phase = Phase::Ignore,
            Phase::Command => {
                if self.takes(io, if self.quad { 4 } else { 1 }) {
                    self.decode(self.shift as u8);
                }
            }
            Phase::Address => {
                if self.takes(io, self.form.address_lines) {
                    self.address = self.shift & 0x00ff_ffff;
                    let data = if self.form.writes { Phase::Input } else { Phase::Output };
                    if self.form.wait_clocks == 0 {
                        self.begin(data, 8);
                    } else {
                        self.begin(Phase::Wait, self.form.wait_clocks);
                    }
                }
            }
            Phase::Wait => {
                self.left -= 1;
                if self.left == 0 {
                    self.begin(Phase::Output, 8);
                }
            }
            Phase::Input => {
                if self.takes(io, self.form.data_lines) {
                    self.cells.0[self.address as usize % SIZE] = self.shift as u8;
                    self.advance();
                    self.begin(Phase::Input, 8);
                }
            }
            Phase::Output => return self.output(io),
        }
        io
    }

    fn begin(&mut self, phase: Phase, left: u32) {
        self.phase = phase;
        self.left = left;
        self.shift = 0;
    }

    /// Samples `lines` lines; returns true when the phase's bits are complete.
    fn takes(&mut self, io: u8, lines: u32) -> bool {
        self.shift = self.shift << lines | u32::from(io) & ((1 << lines) - 1);
        self.left = self.left.saturating_sub(lines);
        self.left == 0
    }

    fn decode(&mut self, opcode: u8) {
        self.opcode = opcode;
        let form = |address_lines, wait_clocks, data_lines, writes| {
            Some(Form { address_lines, wait_clocks, data_lines, writes })
        };
        let form = match (self.quad, opcode) {
            (false, command::READ | command::READ_ID) => form(1, 0, 1, false),
            (false, command::FAST_READ) => form(1, 8, 1, false),
            (true, command::FAST_READ) => form(4, 4, 4, false),
            (_, command::QUAD_READ) => form(4, 6, 4, false),
            (false, command::WRITE) => form(1, 0, 1, true),
            (true, command::WRITE) | (_, command::QUAD_WRITE) => form(4, 0, 4, true),
            _ => None,
        };
        let simple = matches!(opcode, command::RESET_ENABLE | command::RESET | command::TOGGLE_WRAP)
            || opcode == if self.quad { command::EXIT_QUAD } else { command::ENTER_QUAD };
        // Reset must follow Reset Enable.
        self.reset_enabled &= opcode == command::RESET;
        match form {
            Some(form) => {
                self.form = form;
                self.begin(Phase::Address, 24);
            }
            None => self.phase = if simple { Phase::Complete } else { Phase::Ignore },
        }
    }

    fn complete(&mut self) {
        match self.opcode {
            command::ENTER_QUAD => self.quad = true,
            command::EXIT_QUAD => self.quad = false,
            command::TOGGLE_WRAP => self.wraps = !self.wraps,
            command::RESET_ENABLE => self.reset_enabled = true,
            command::RESET if self.reset_enabled => (self.quad, self.wraps, self.reset_enabled) = (false, false, false),
            _ => {}
        }
    }

    fn output(&mut self, io: u8) -> u8 {
        if self.left == 8 {
            self.shift = u32::from(match self.opcode {
                command::READ_ID => ID[self.count % ID.len()],
                _ => self.cells.0[self.address as usize % SIZE],
            });
            self.advance();
        }
        let lines = self.form.data_lines;
        self.left -= lines;
        let bits = (self.shift >> self.left) as u8 & ((1 << lines) - 1);
        if self.left == 0 {
            self.left = 8;
        }
        // A single output is SIO1.
        if lines == 1 { io & !2 | bits << 1 } else { bits }
    }

    fn advance(&mut self) {
        self.count = self.count.wrapping_add(1);
        let next = self.address.wrapping_add(1);
        self.address = if self.wraps { self.address & !(WRAP - 1) | next & (WRAP - 1) } else { next & 0x00ff_ffff };
    }
}

#[cfg(test)]
mod tests;
