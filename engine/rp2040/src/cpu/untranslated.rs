//! Replacement for [`translated`](super::translated) on a PC without JIT support: all code is interpreted.

use super::core::{Core, Left};
use crate::bus::Bus;
use crate::memory::Memory;
use crate::world::World;

#[derive(Default)]
pub struct Translated {
    pub(crate) mistakes: Mistakes,
}

/// The master whose writes follow.
pub(crate) enum Writer {
    Dma,
}

#[derive(Default)]
pub(crate) struct Mistakes;

impl Mistakes {
    pub const fn written_by(&mut self, _: Writer) {}
}

impl Translated {
    pub fn new(_slots: usize, _flash_size: usize) -> Self {
        Self::default()
    }

    pub fn turn_off(&mut self) {}

    pub fn make_at_once(&mut self) {}

    pub fn blocks(&self) -> usize {
        0
    }

    pub(super) fn wants(&mut self, _slot: usize) -> bool {
        false
    }

    pub(crate) fn forget(&mut self, _slot: usize) {}
}

impl Core {
    pub(super) fn run_translated<W: World>(&mut self, _: &mut Memory, _: &mut Bus<W>, _limit: u64) -> Option<Left> {
        None
    }
}
