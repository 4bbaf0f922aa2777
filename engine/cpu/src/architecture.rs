//! What the memories, the bus and the probes do not know about a core.

use std::ops::Range;

use bytemuck::Zeroable;

use crate::bus::Master;
use crate::map::Map;

/// An instruction set, and the core that executes it.
pub trait Architecture: 'static {
    /// The core that executes it.
    type Core;
    /// A predecoded instruction; one whose bytes are zeros is not decoded yet.
    type Op: Copy + PartialEq + Zeroable;
    /// The translated code of its instructions.
    type Translated: Translations;
}

/// The code translated from predecoded instructions.
pub trait Translations {
    /// Creates the state for the memories of `M` with `flash_size` bytes of flash.
    fn new<M: Map>(flash_size: usize) -> Self;

    /// Drops the translation of the instructions around `slot`.
    fn forget(&mut self, slot: usize);

    /// Returns whether the translation of any instruction in `slots` is kept.
    fn reaches(&self, _slots: Range<usize>) -> bool {
        false
    }

    /// Translates no code of flash from its first `bytes` on.
    fn reach_flash(&mut self, _bytes: usize) {}

    /// Interprets every instruction from now on.
    fn turn_off(&mut self) {}

    /// Makes a block of translated code wherever one can start, for tests.
    fn make_at_once(&mut self) {}

    /// Has room for `bytes` of translated code, for tests; to be called before the first instruction.
    fn limit(&mut self, _bytes: usize) {}

    /// Returns the number of translated blocks.
    fn blocks(&self) -> usize {
        0
    }

    /// Returns how often translated blocks were dropped.
    fn generation(&self) -> u64 {
        0
    }

    /// Names the master of the writes that follow, for deliberate mistakes.
    #[inline(always)]
    fn written_by(&mut self, _: Master) {}
}

/// For a core that only interprets.
impl Translations for () {
    fn new<M: Map>(_: usize) -> Self {}

    fn forget(&mut self, _: usize) {}
}
