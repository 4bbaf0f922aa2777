//! Winbond's W25Q serial NOR flash, modelled clock by clock. Sizes other than the W25Q16JV-IQ's 2 MiB differ only in
//! their identification.
//!
//! Source: Winbond W25Q16JV datasheet (instruction set table, status registers, AC characteristics). The chip sees the
//! levels of IO0..IO3 at each rising clock edge, so that mismatched frame formats garble data as they do on the board.
//! Instructions that the chip has but the model does not (suspend and resume, individual block locks, dual and quad
//! manufacturer ID) are reported through [`W25q::take_unmodelled`]; unknown ones are ignored, as the chip does.

#![warn(missing_docs, unreachable_pub)]

mod chip;
mod instructions;
mod sfdp;

pub use chip::W25q;

/// The chip's cells. The microcontroller holds them, since it executes code from them. Addresses wrap at the size.
pub trait Array {
    /// Bytes, a power of two.
    fn size(&self) -> usize;
    /// Returns the byte at `at`.
    fn byte(&self, at: usize) -> u8;
    /// Programs bytes: bits change only from 1 to 0.
    fn program(&mut self, at: usize, data: &[u8]);
    /// Erases `len` bytes from `at`: all bits become 1.
    fn erase(&mut self, at: usize, len: usize);
}
