//! The LAN's inputs since power-up. The state of the PC's stack cannot be saved, so a new LAN repeats them.

use sim::{Ps, Snapshot};

use crate::faults::Faults;

/// Most bytes of frames on a tape.
const MOST_BYTES: usize = 4 << 20;

/// An input, and the time up to which the LAN had handled all events before it.
#[derive(Debug, Snapshot)]
pub(crate) struct Input {
    pub(crate) settled: Ps,
    pub(crate) what: What,
}

#[derive(Debug, Snapshot)]
pub(crate) enum What {
    Frame { at: Ps, frame: Vec<u8> },
    Faults(Faults),
}

/// All inputs; `Err`: an input of another kind, in the words that follow "it has".
pub(crate) struct Tape {
    inputs: Result<Vec<Input>, &'static str>,
    bytes: usize,
}

impl Tape {
    pub(crate) fn new() -> Self {
        Self { inputs: Ok(Vec::new()), bytes: 0 }
    }

    pub(crate) fn inputs(&self) -> Result<&Vec<Input>, &'static str> {
        self.inputs.as_ref().map_err(|&why| why)
    }

    pub(crate) fn frame(&mut self, settled: Ps, at: Ps, frame: &[u8]) {
        if let Ok(inputs) = &mut self.inputs {
            inputs.push(Input { settled, what: What::Frame { at, frame: frame.to_vec() } });
            self.bytes += frame.len();
            if self.bytes > MOST_BYTES {
                self.end("sent more frames than a snapshot holds");
            }
        }
    }

    pub(crate) fn faults(&mut self, settled: Ps, faults: &Faults) {
        if let Ok(inputs) = &mut self.inputs {
            inputs.push(Input { settled, what: What::Faults(faults.clone()) });
        }
    }

    /// Records an input that a new LAN cannot repeat.
    pub(crate) fn end(&mut self, why: &'static str) {
        if self.inputs.is_ok() {
            self.inputs = Err(why);
        }
    }
}
