//! What the memories, the bus and the probes do not know about a core.

use std::ops::Range;

use crate::core::Core;
use crate::decode::Op;
use crate::map::Map;
use crate::translator::Translated;

/// An instruction set, and the core that executes it.
pub trait Architecture: 'static {
    /// The core that executes it.
    type Core;
    /// A predecoded instruction; its default is one that is not decoded yet.
    type Op: Copy + Default + PartialEq;
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
}

/// For a core that only interprets.
impl Translations for () {
    fn new<M: Map>(_: usize) -> Self {}

    fn forget(&mut self, _: usize) {}
}

/// Armv6-M.
pub struct V6m;

impl Architecture for V6m {
    type Core = Core;
    type Op = Op;
    type Translated = Translated;
}
