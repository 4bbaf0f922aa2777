//! Snapshots of a whole board: the chip, its surroundings, and the simulated PC.
//!
//! A snapshot is restored into a board with the same settings, by the same build of the engine. The board then goes on
//! as the first one would, to the picosecond. Logs, traces, profiles and programs that listen on the PC are no part of
//! it.

use std::fmt;

use sim::snapshot::{self, Refused, Torn};
use sim::{SettingError, Snapshot};

use crate::config::BoardConfig;
use crate::machine::Machine;
use crate::surroundings::Surroundings;
use crate::wiring::Wiring;

/// The first bytes of a snapshot; the checksum of all that follows it is next.
const MAGIC: &[u8; 8] = b"PBBOARD\x1a";
/// A number for the engine's sources.
const ENGINE: &str = env!("PORTBENCH_ENGINE_SOURCES");

/// The reason why a board cannot be saved or restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The board has something that a snapshot cannot hold.
    Refused(String),
    /// The bytes are no snapshot of a board.
    Foreign,
    /// Bytes are missing or were changed.
    Torn,
    /// Another build of the engine made the snapshot.
    OtherEngine,
    /// The snapshot is of a board with this microcontroller, which another one has.
    OtherChip(String),
    /// The snapshot is of a board with other settings.
    OtherSettings,
    /// The board's settings are invalid.
    Settings(SettingError),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(what) => write!(f, "cannot save the board: it has {what}"),
            Self::Foreign => f.write_str("not a snapshot of a board"),
            Self::Torn => f.write_str("the snapshot is damaged: save the board again"),
            Self::OtherEngine => f.write_str("the snapshot is of another build of the engine: save the board again"),
            Self::OtherChip(name) => write!(f, "the snapshot is of a board with an {name}: use such a board"),
            Self::OtherSettings => {
                f.write_str("the snapshot is of a board with other settings: use the same, or save this board")
            }
            Self::Settings(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<Refused> for SnapshotError {
    fn from(Refused(what): Refused) -> Self {
        Self::Refused(what)
    }
}

impl From<Torn> for SnapshotError {
    fn from(Torn: Torn) -> Self {
        Self::Torn
    }
}

#[derive(Debug, Default, Snapshot)]
struct Header {
    engine: String,
    chip: String,
    settings: u32,
    surroundings: Surroundings,
}

/// Returns a number for all settings but the controls at the pins, which are state.
fn fingerprint(config: &BoardConfig) -> u32 {
    let config = BoardConfig { surroundings: Surroundings::default(), ..config.clone() };
    crc32fast::hash(format!("{config:?}").as_bytes())
}

impl Machine {
    /// Returns the board's state as bytes. `Err`: the board has something that cannot be saved.
    ///
    /// ```
    /// use portbench_engine::{BoardConfig, Machine, mcu::RP2040};
    /// use sim::PS_PER_MS;
    ///
    /// let mut rom = [0x2004_0000_u32, 0x0000_0009, 0xe7fe_e7fe].map(u32::to_le_bytes).concat();
    /// rom.resize(RP2040.boot_rom.bytes, 0);
    /// let mut board = Machine::new(BoardConfig::pico(rom), &[], false)?;
    /// board.run(PS_PER_MS)?;
    /// let snapshot = board.save()?;
    /// board.run(2 * PS_PER_MS)?;
    /// let later = board.save()?;
    ///
    /// board.restore(&snapshot)?;
    /// board.run(2 * PS_PER_MS)?;
    /// assert_eq!(board.save()?, later);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&mut self) -> Result<Vec<u8>, SnapshotError> {
        if self.is_attributing() {
            return Err(SnapshotError::Refused("an attribution of time under way".into()));
        }
        let header = Header {
            engine: ENGINE.into(),
            chip: self.chip().facts().name.into(),
            settings: fingerprint(self.powered()),
            surroundings: self.surroundings().clone(),
        };
        let mut state = Vec::new();
        snapshot::save(&header, &mut state);
        self.chip().save(&mut state)?;
        self.wiring().save(&mut state)?;
        Ok([MAGIC, &crc32fast::hash(&state).to_le_bytes()[..], &state].concat())
    }

    /// Restores the board from [`Self::save`]'s bytes, of this board or another one with the same settings. Then
    /// programs must listen on the PC again, as after a power cycle. The memory of an SD card gets the saved contents, for
    /// all boards that have it. After an error the board is as it was.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let rest = snapshot.strip_prefix(MAGIC).ok_or(SnapshotError::Foreign)?;
        let (checksum, mut state) = rest.split_first_chunk().ok_or(SnapshotError::Torn)?;
        if crc32fast::hash(state) != u32::from_le_bytes(*checksum) {
            return Err(SnapshotError::Torn);
        }
        let mut header = Header::default();
        snapshot::restore(&mut header, &mut state)?;
        if header.engine != ENGINE {
            return Err(SnapshotError::OtherEngine);
        }
        if header.chip != self.config().mcu.name {
            return Err(SnapshotError::OtherChip(header.chip));
        }
        if header.settings != fingerprint(self.config()) {
            return Err(SnapshotError::OtherSettings);
        }
        self.replace(header.surroundings, |chip| {
            chip.restore(&mut state)?;
            Wiring::of(chip.world()).restore(&mut state)?;
            if state.is_empty() { Ok(()) } else { Err(SnapshotError::Torn) }
        })
    }
}
