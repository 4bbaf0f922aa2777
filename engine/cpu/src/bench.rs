//! The bus of a core with SRAM and nothing else, for tests.

use std::marker::PhantomData;

use chip::{BusFault, Layout, Sys};

use crate::architecture::Architecture;
use crate::bus::{Bus, Master};
use crate::map::Map;
use crate::memory::Memory;

/// A bus that answers nowhere.
pub struct Empty<M> {
    /// The state of a chip without peripherals.
    pub sys: Sys,
    map: PhantomData<M>,
}

impl<M> Empty<M> {
    /// Returns the bus of a chip at 150 MHz with `events` events.
    pub fn new(events: usize) -> Self {
        let layout = Layout { events, without_clk_sys: 0, pins: 0, pulsed_dreqs: 0 };
        Self { sys: Sys::new(150_000_000, &layout), map: PhantomData }
    }
}

impl<A: Architecture, M: Map> Bus<A> for Empty<M> {
    type Map = M;

    fn sys(&self) -> &Sys {
        &self.sys
    }

    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.sys
    }

    fn read(&mut self, _: &mut Memory<M, A>, _: Master, _: u32, _: u32) -> Result<u32, BusFault> {
        Err(BusFault)
    }

    fn fetch(&mut self, _: &mut Memory<M, A>, _: Master, _: u32, _: u32) -> Result<u32, BusFault> {
        Err(BusFault)
    }

    fn write(&mut self, _: &mut Memory<M, A>, _: Master, _: u32, _: u32, _: u32) -> Result<(), BusFault> {
        Err(BusFault)
    }

    fn waits(&self) -> u32 {
        0
    }
}
