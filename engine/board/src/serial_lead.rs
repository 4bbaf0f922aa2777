//! The lead from a UART's pins to a serial adapter on the PC.

use std::collections::VecDeque;

use rp2040::Sys;
use rp2040::peripherals::uart::Uart;
use sim::{NEVER, PS_PER_S, Ps};

/// Kept of what the PC has not read: the newest.
const KEPT_BYTES: usize = 1 << 16;
/// What the PC may have in hand that is not on the line yet.
const WAITING_BYTES: usize = 1 << 16;
/// A character while the UART is not set up, which gets lost: 8N1 at 115200 baud.
const CHARACTER_PS: Ps = 10 * PS_PER_S / 115_200;

/// Whatever pins the program gives the UART, the lead is there, at the UART's own speed. It has no handshake lines.
#[derive(Debug, Default)]
pub struct SerialLead {
    received: VecDeque<u8>,
    received_at: Ps,
    waiting: VecDeque<u8>,
    /// When the character that is on its way to the board has come.
    due: Option<Ps>,
}

impl SerialLead {
    /// The board has sent a character, whose stop bit ends at `now`.
    pub fn heard(&mut self, now: Ps, byte: u8) {
        if self.received.len() == KEPT_BYTES {
            self.received.pop_front();
        }
        self.received.push_back(byte);
        self.received_at = now;
    }

    pub fn read(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received).into()
    }

    /// When the last character came from the board; 0 before the first.
    pub fn received_at(&self) -> Ps {
        self.received_at
    }

    /// Sends to the board; returns how many bytes were taken.
    pub fn write(&mut self, data: &[u8]) -> usize {
        let taken = data.len().min(WAITING_BYTES - self.waiting.len());
        self.waiting.extend(&data[..taken]);
        taken
    }

    /// Characters that have not come to the board yet.
    pub fn unsent(&self) -> usize {
        self.waiting.len()
    }

    /// When the next character will have come; starts it if none is on its way.
    pub fn next_event(&mut self, sys: &Sys, uart: &Uart) -> Ps {
        if self.waiting.is_empty() {
            return NEVER;
        }
        *self.due.get_or_insert_with(|| {
            let duration = Some(uart.character_ps(sys)).filter(|&ps| ps != NEVER).unwrap_or(CHARACTER_PS);
            sys.now().saturating_add(duration)
        })
    }

    /// The character that is on its way has come, if it is due.
    pub fn advance(&mut self, sys: &mut Sys, uart: &mut Uart) {
        if self.due.is_some_and(|due| due <= sys.now()) {
            self.due = None;
            if let Some(byte) = self.waiting.pop_front()
                && uart.hears_characters(sys)
            {
                uart.receive(sys, byte);
            }
        }
    }
}
