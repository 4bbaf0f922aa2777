//! Replacement for the translator on a PC without JIT support: all code is interpreted.

use cpu::{Architecture, Bus, Left, Map, Memory, Translations};

/// No translated code.
#[derive(Default)]
pub struct Translated;

impl Translations for Translated {
    fn new<M: Map>(_: usize) -> Self {
        Self
    }

    fn forget(&mut self, _: usize) {}
}

impl Translated {
    /// Returns whether a branch should leave the interpreter.
    pub fn wants(&mut self, _slot: usize, _left: u64) -> bool {
        false
    }
}

/// Without translated code, all is left to the interpreter.
pub fn run<A: Architecture, B: Bus<A>>(
    _: &mut A::Core,
    _: &mut Memory<B::Map, A>,
    _: &mut B,
    _limit: &mut u64,
) -> Option<Left> {
    None
}

/// Without translated code, cores always take turns.
pub fn run_ahead<A: Architecture, B: Bus<A>>(
    _: &mut [A::Core; 2],
    _: &mut Memory<B::Map, A>,
    _: &mut B,
    _index: usize,
    _end: u64,
) -> u64 {
    u64::MAX
}
