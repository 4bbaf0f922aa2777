//! Replacement for [`translated`](crate::translated) on a PC without JIT support: all code is interpreted.

use cpu::Left;

use crate::Memory;
use crate::bus::Bus;
use crate::core::Core;

impl Core {
    pub(crate) fn run_translated<B: Bus>(&mut self, _: &mut Memory<B::Map>, _: &mut B, _: &mut u64) -> Option<Left> {
        None
    }
}
