//! A UART's receiver on a wire with external levels.

use sim::{NEVER, Ps, Snapshot};

/// A received character, from its start bit to its first stop bit, the first in bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Character {
    pub(crate) levels: u32,
    pub(crate) bits: u64,
}

#[derive(Clone, Copy, Debug, Default, Snapshot)]
enum State {
    /// The line was not high since the receiver was set up, or since a low stop bit.
    #[default]
    WaitsForMark,
    Idle,
    Receives {
        half_bit: Ps,
        /// Samples per character, one in the middle of each bit.
        samples: u64,
        taken: u64,
        levels: u32,
        due: Ps,
    },
}

#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub(crate) struct Receiver {
    state: State,
}

impl Receiver {
    /// Returns when the next sample is due.
    pub(crate) fn due(&self) -> Ps {
        match self.state {
            State::Receives { due, .. } => due,
            _ => NEVER,
        }
    }

    /// Handles a level of the line. `frame`: half a bit's duration and the samples of a character; `None`: the receiver
    /// is off. Returns true if a start bit has begun.
    pub(crate) fn line(&mut self, now: Ps, high: bool, frame: Option<(Ps, u64)>) -> bool {
        match (self.state, frame) {
            (State::WaitsForMark, Some(_)) if high => self.state = State::Idle,
            (State::Idle, Some((half_bit, samples))) if !high => {
                self.state =
                    State::Receives { half_bit, samples, taken: 0, levels: 0, due: now.saturating_add(half_bit) };
                return true;
            }
            _ => {}
        }
        false
    }

    /// Takes the due sample, and returns the character that it completes.
    pub(crate) fn sample(&mut self, now: Ps, high: bool) -> Option<Character> {
        let State::Receives { half_bit, samples, taken, levels, .. } = self.state else { return None };
        if taken == 0 && high {
            // A glitch instead of a start bit.
            self.state = State::Idle;
            return None;
        }
        let levels = levels | u32::from(high) << taken;
        let taken = taken + 1;
        if taken < samples {
            let due = now.saturating_add(2 * half_bit);
            self.state = State::Receives { half_bit, samples, taken, levels, due };
            return None;
        }
        self.state = if high { State::Idle } else { State::WaitsForMark };
        Some(Character { levels, bits: samples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_bit_is_low_in_its_middle_and_a_character_follows_a_mark() {
        let mut receiver = Receiver::default();
        let frame = Some((10, 3));
        assert!(!receiver.line(0, false, frame), "no mark yet");
        assert!(!receiver.line(1, true, None) && !receiver.line(2, false, frame), "it was off");
        for (at, levels, heard) in [(10, [true, true, true], 0), (50, [false, true, true], 3), (90, [false; 3], 3)] {
            receiver.line(at, true, frame);
            assert!(receiver.line(at, false, frame));
            let mut taken = Vec::new();
            while receiver.due() != NEVER {
                assert_eq!(receiver.due(), at + 10 + 20 * taken.len() as u64);
                taken.push(receiver.sample(receiver.due(), levels[taken.len()]));
            }
            let sum = levels.iter().rev().fold(0, |sum, &high| sum << 1 | u32::from(high));
            let character = Character { levels: sum, bits: 3 };
            assert_eq!(taken.last().unwrap(), &(heard == 3).then_some(character));
            assert_eq!(taken.len(), heard.max(1));
        }
        assert!(!receiver.line(200, false, frame), "the stop bit was low");
    }
}
