//! Runs of code that the cache holds, so that an interpreter need not look up each of their words again.

use super::XipCache;

/// Runs that are remembered, by the low bits of their starts.
const RUNS: usize = 1024;

/// Code from `start` to before `end` is in the cache while that has changed `changes` times.
#[derive(Clone, Copy)]
struct Run {
    start: u32,
    end: u32,
    changes: u64,
}

pub(super) struct Runs(Box<[Run; RUNS]>);

impl Default for Runs {
    fn default() -> Self {
        Self(Box::new([Run { start: u32::MAX, end: 0, changes: 0 }; RUNS]))
    }
}

fn place(start: u32) -> usize {
    (start >> 1) as usize & (RUNS - 1)
}

impl XipCache {
    /// Returns how many words of a line, from the one at flash offset `offset` on, are known to be in the cache.
    #[inline(always)]
    pub fn holds(&self, offset: u32) -> u32 {
        let word = offset >> 2;
        if !self.held.word(word) { 0 } else { 1 + u32::from(word & 1 == 0 && self.held.word(word + 1)) }
    }

    /// Remembers that it holds every word from which the instructions from `start` to before `end` are fetched.
    #[inline]
    pub fn remember_run(&mut self, start: u32, end: u32) {
        self.runs.0[place(start)] = Run { start, end, changes: self.changes };
    }

    /// Returns the end of the run that starts at `start`; 0: none is known.
    #[inline(always)]
    pub fn run_from(&self, start: u32) -> u32 {
        let run = &self.runs.0[place(start)];
        if run.start == start && run.changes == self.changes { run.end } else { 0 }
    }
}
