//! The bus as the core sees it.

use chip::trace::{Record, kind};
use chip::{BusFault, Sys};

use crate::architecture::Architecture;
use crate::map::Map;
use crate::memory::Memory;

/// The master of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    /// A core, by its index.
    Core(usize),
    /// The DMA controller.
    Dma,
}

impl Master {
    /// Traces an access of a core to a peripheral, while such accesses are recorded.
    #[inline]
    pub fn trace(self, sys: &mut Sys, address: u32, value: u32, write: bool) {
        if sys.trace.wants(kind::REGISTERS) {
            self.record(sys, address, value, write);
        }
    }

    #[cold]
    fn record(self, sys: &mut Sys, address: u32, value: u32, write: bool) {
        if let Self::Core(core) = self {
            sys.trace.push(sys.now(), Record::Register { core: core as u8, write, address, value });
        }
    }
}

/// The chip's bus, with everything on it except the memories of [`Memory`].
pub trait Bus<A: Architecture> {
    /// The chip's memories.
    type Map: Map;

    /// Returns the state that all peripherals share.
    fn sys(&self) -> &Sys;

    /// Returns the state that all peripherals share.
    fn sys_mut(&mut self) -> &mut Sys;

    /// Reads `size` (1, 2, 4) bytes; `address` is aligned to it.
    fn read(
        &mut self,
        mem: &mut Memory<Self::Map, A>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault>;

    /// Like [`Self::read`], for a core that counts its fetched words itself.
    fn fetch(
        &mut self,
        mem: &mut Memory<Self::Map, A>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault>;

    /// Writes the low `size` (1, 2, 4) bytes of `value`; `address` is aligned to it.
    fn write(
        &mut self,
        mem: &mut Memory<Self::Map, A>,
        master: Master,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault>;

    /// Returns the word that `core` reads at `address` of [`Map::IO_PORT`], if the read has no side effect, not even a
    /// record, and gives the same until a write, a read that has one, or an event.
    fn peek(&self, _core: usize, _address: u32) -> Option<u32> {
        None
    }

    /// Returns the word that `core` reads at `address` at `cycle`, and the wait states (`None`: it is at the IO port), if
    /// the read is like those of [`Self::peek`], or gives what depends on the cycle alone.
    fn peek_at(&self, core: usize, address: u32, _cycle: u64) -> Option<(u32, Option<u32>)> {
        self.peek(core, address).map(|value| (value, None))
    }

    /// Reads the word at `address` of [`Map::IO_PORT`] as `core` does at `cycle`, if only that core can tell that it was
    /// read. `None`: the read must pass the bus.
    fn read_port(&mut self, _core: usize, _address: u32, _cycle: u64) -> Option<u32> {
        None
    }

    /// Writes likewise. False: the write must pass the bus.
    fn write_port(&mut self, _core: usize, _address: u32, _value: u32, _cycle: u64) -> bool {
        false
    }

    /// Returns the word at `address`, wherever that is, and the cycle up to which the reads of `core` there, of whatever
    /// size, are like those of [`Self::peek`]; `None`: none are.
    fn steady(&self, core: usize, address: u32) -> Option<(u32, u64)> {
        self.peek(core, address).map(|value| (value, u64::MAX))
    }

    /// Handles the next event, if a core that only reads a register may do so itself: the event comes before
    /// [`Sys::take_early`] refuses it, and leaves the cache alone.
    fn pass_event(&mut self, _mem: &mut Memory<Self::Map, A>) -> bool {
        false
    }

    /// Returns the wait states of the last access.
    fn waits(&self) -> u32;

    /// Returns the upper nibbles of the addresses whose accesses are counted, as bits; 0: none are.
    #[inline]
    fn counted(&self) -> u16 {
        0
    }

    /// Counts an access that did not pass the bus.
    #[inline]
    fn count(&mut self, _address: u32) {}

    /// Returns the counter of [`Map::COUNTED`], if no other accesses are counted.
    #[inline]
    fn bank_counter(&mut self) -> Option<&mut u32> {
        None
    }

    /// Tells the recorder about a read over the bus, while [`Sys::records`].
    #[inline]
    fn note_read(&mut self, _mem: &mut Memory<Self::Map, A>, _core: &A::Core, _address: u32, _value: u32) {}

    /// Tells the recorder about the wait states of the last access.
    #[inline]
    fn note_waits(&mut self, _core: &A::Core, _address: u32) {}
}
