//! Decoded transfers on gSPI, for a trace.

use sim::{Ps, SpiFrame};

use crate::meaning::meaning;

const SHOWN: usize = 16;
/// Transfers kept; a firmware download alone takes some thousands.
const MOST: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct Log {
    on: bool,
    frames: Vec<SpiFrame>,
    /// Times of the first and last bit of each transfer.
    clocked: Vec<(Ps, Ps)>,
}

sim::left_out!([] Log);

impl Log {
    pub(crate) fn set(&mut self, on: bool) {
        *self = Self { on, ..Self::default() };
    }

    pub(crate) fn take(&mut self) -> Vec<SpiFrame> {
        std::mem::take(&mut self.frames)
    }

    pub(crate) fn take_clocked(&mut self) -> Vec<(Ps, Ps)> {
        std::mem::take(&mut self.clocked)
    }

    pub(crate) fn clocked(&mut self, first: Ps, last: Ps) {
        if self.clocked.len() < MOST {
            self.clocked.push((first, last));
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on && self.frames.len() < MOST
    }

    pub(crate) fn push(&mut self, start: Ps, end: Ps, command: super::chip::Command, wire_bytes: usize, data: &[u8]) {
        self.frames.push(SpiFrame {
            start,
            end,
            write: command.write,
            address: command.address as u16,
            len: command.length,
            wire_bytes,
            name: name(command),
            data: data.iter().take(SHOWN).copied().collect(),
            meaning: if command.function == 2 { meaning(data, command.write) } else { String::new() },
        });
    }
}

fn name(command: super::chip::Command) -> String {
    let register = match (command.function, command.address) {
        (0, 0x00) => "SPI_BUS_CONTROL",
        (0, 0x04) => "SPI_INTERRUPT",
        (0, 0x06) => "SPI_INTERRUPT_ENABLE",
        (0, 0x08) => "SPI_STATUS",
        (0, 0x14) => "SPI_READ_TEST",
        (0, 0x1d) => "SPI_RESP_DELAY_F1",
        (1, 0x1_000a..=0x1_000c) => "BACKPLANE_WINDOW",
        (1, 0x1_000e) => "CHIP_CLOCK_CSR",
        (1, 0x1_001f) => "SLEEP_CSR",
        (1, 0..0x1_0000) => "backplane",
        (2, _) => "WLAN frame",
        _ => return format!("F{} 0x{:05x}", command.function, command.address),
    };
    register.into()
}
