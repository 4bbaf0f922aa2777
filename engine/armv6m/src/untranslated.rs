//! Replacement for [`translator`](crate::translator) on a PC without JIT support: all code is interpreted.

use crate::architecture::Architecture;
use crate::bus::{Bus, Master};
use crate::core::{Core, Left};
use crate::map::Map;
use crate::memory::Memory;

/// No translated code.
#[derive(Default)]
pub struct Translated {
    pub(crate) mistakes: Mistakes,
}

#[derive(Default)]
pub(crate) struct Mistakes;

impl Mistakes {
    pub(crate) const fn written_by(&mut self, _: Master) {}
}

impl crate::Translations for Translated {
    fn new<M: Map>(_: usize) -> Self {
        Self::default()
    }

    fn forget(&mut self, _: usize) {}
}

impl Translated {
    pub(crate) fn turn_off(&mut self) {}

    pub(crate) fn make_at_once(&mut self) {}

    pub(crate) fn limit(&mut self, _bytes: usize) {}

    pub(crate) fn blocks(&self) -> usize {
        0
    }

    pub(crate) fn generation(&self) -> u64 {
        0
    }

    /// Returns whether a branch should leave the interpreter.
    pub fn wants(&mut self, _slot: usize) -> bool {
        false
    }
}

impl Core {
    pub(crate) fn run_translated<B: Bus>(&mut self, _: &mut Memory<B::Map>, _: &mut B, _limit: u64) -> Option<Left> {
        None
    }
}

/// Without translated code, cores always take turns.
pub fn run_ahead<A: Architecture, B: Bus<A>>(
    _: &mut [A::Core; 2],
    _: &mut Memory<B::Map, A>,
    _: &mut B,
    _index: usize,
    _end: u64,
) -> bool {
    false
}
