//! Replacement for [`translated`](crate::translated) on a PC without JIT support: all code is interpreted.

use cpu::{Bus, Left};

use crate::core::Core;
use crate::{Memory, V6m};

impl Core {
    pub(crate) fn run_translated<B: Bus<V6m>>(
        &mut self,
        _: &mut Memory<B::Map>,
        _: &mut B,
        _limit: u64,
    ) -> Option<Left> {
        None
    }
}
