//! An SD memory card in SPI mode (SD Specifications, Part 1, Physical Layer Simplified Specification, chapter 7).
//!
//! | file | content |
//! |---|---|
//! | `card` | the card on its bus: selection, bytes, busy, the clock |
//! | `commands` | the effect of each command |
//! | `transfer` | blocks on their way to and from the host |
//! | `registers` | OCR, CID, CSD, SCR and SD status |
//! | `crc` | CRC7 and CRC16 |
//! | `kind` | the available cards, with published times of real ones |
//! | `medium` | the card's memory, which survives power loss |
//! | `usage` | use of the bus and of the card |
//! | `log` | decoded commands for the trace |
//!
//! Times are drawn from a seed, never from the host. SD mode, UHS, lock (CMD42), speed classes (CMD6) and write
//! protection of groups (CMD27 to CMD30) are not modelled: a host that uses them ends the run with their names.

#![warn(missing_docs, unreachable_pub)]

mod card;
mod commands;
mod crc;
mod kind;
mod log;
mod medium;
mod registers;
mod transfer;
mod usage;

pub use card::{Card, CardConfig, Wear};
pub use crc::{crc7, crc16};
pub use kind::{KINDS, Kind};
pub use medium::Medium;
pub use usage::{BINS_NS, Direction, Gaps, Usage};
