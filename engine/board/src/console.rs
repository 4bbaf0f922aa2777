//! The board's console, its first serial port on USB, for programs that wait for its output.

use std::fmt;

use sim::{PS_PER_MS, Ps};

use crate::machine::{Machine, Unmodelled};

/// The reason why [`Machine::expect`] ended without the text.
#[derive(Debug)]
pub enum ConsoleError {
    /// The text did not come in time; this came instead.
    Missing {
        /// The text that was expected.
        wanted: String,
        /// All text since the call of [`Machine::expect`].
        printed: String,
    },
    /// The program used a part that is not modelled; the run has ended.
    Unmodelled(Unmodelled),
}

impl fmt::Display for ConsoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { wanted, printed } => {
                write!(f, "the console did not print {wanted:?} in time; it printed {printed:?}")
            }
            Self::Unmodelled(Unmodelled(what)) => f.write_str(what),
        }
    }
}

impl std::error::Error for ConsoleError {}

impl Machine {
    /// Types at the console; Enter is `\r`, Ctrl-C `\x03`. Returns how many bytes were accepted.
    pub fn type_in(&mut self, text: &str) -> usize {
        self.on_usb(|usb| usb.console_write(text.as_bytes()))
    }

    /// Runs until the console has printed `text`, for at most `within` of simulated time. Returns all output since the
    /// last call.
    pub fn expect(&mut self, text: &str, within: Ps) -> Result<String, ConsoleError> {
        let until = self.now().saturating_add(within);
        let mut printed = Vec::new();
        loop {
            self.take_usb_events();
            printed.extend(self.usb().console_read());
            if printed.windows(text.len()).any(|window| window == text.as_bytes()) {
                return Ok(String::from_utf8_lossy(&printed).into_owned());
            }
            if self.now() >= until {
                let printed = String::from_utf8_lossy(&printed).into_owned();
                return Err(ConsoleError::Missing { wanted: text.to_owned(), printed });
            }
            let step = (self.now() + PS_PER_MS).min(until);
            self.run(step).map_err(ConsoleError::Unmodelled)?;
        }
    }
}
