//! The cable from a UART's pins to a serial adapter on the PC.

use std::collections::VecDeque;

use chip::{Inputs, Sys};
use sim::{NEVER, PS_PER_S, Ps, Snapshot};

/// Most unread bytes kept for the PC: the newest.
const KEPT_BYTES: usize = 1 << 16;
/// Most bytes from the PC that wait for transmission.
const WAITING_BYTES: usize = 1 << 16;
/// Character time while the UART is not set up, when characters are lost: 8N1 at 115200 baud.
const CHARACTER_PS: Ps = 10 * PS_PER_S / 115_200;

/// A cable to the UART at any pins that the program selects, at the UART's speed. It has no handshake lines.
#[derive(Debug, Default, Snapshot)]
pub struct UartCable {
    received: VecDeque<u8>,
    received_at: Ps,
    waiting: VecDeque<u8>,
    /// Time when the character in transmission reaches the board.
    due: Option<Ps>,
}

impl UartCable {
    /// Handles a character from the board, whose stop bit ends at `now`.
    pub(crate) fn heard(&mut self, now: Ps, byte: u8) {
        if self.received.len() == KEPT_BYTES {
            self.received.pop_front();
        }
        self.received.push_back(byte);
        self.received_at = now;
    }

    /// Takes the bytes that the board has sent since the last call.
    pub fn read(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received).into()
    }

    /// Returns when the last character from the board arrived; 0 before the first.
    pub fn received_at(&self) -> Ps {
        self.received_at
    }

    /// Sends to the board; returns how many bytes were accepted.
    pub(crate) fn write(&mut self, data: &[u8]) -> usize {
        let taken = data.len().min(WAITING_BYTES - self.waiting.len());
        self.waiting.extend(&data[..taken]);
        taken
    }

    /// Returns the number of characters that have not reached the board yet.
    pub fn unsent(&self) -> usize {
        self.waiting.len()
    }

    /// Returns when the next character is complete; starts it if none is in transmission.
    pub(crate) fn next_event(&mut self, sys: &Sys, inputs: &dyn Inputs, uart: usize) -> Ps {
        if self.waiting.is_empty() {
            return NEVER;
        }
        *self.due.get_or_insert_with(|| {
            let duration = Some(inputs.character_ps(sys, uart)).filter(|&ps| ps != NEVER).unwrap_or(CHARACTER_PS);
            sys.now().saturating_add(duration)
        })
    }

    /// Delivers the character in transmission, if it is due.
    pub(crate) fn advance(&mut self, sys: &mut Sys, inputs: &mut dyn Inputs, uart: usize) {
        if self.due.is_some_and(|due| due <= sys.now()) {
            self.due = None;
            if let Some(byte) = self.waiting.pop_front()
                && inputs.hears_characters(sys, uart)
            {
                inputs.receive(sys, uart, byte);
            }
        }
    }
}
