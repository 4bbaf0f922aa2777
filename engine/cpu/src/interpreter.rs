//! The frame of an interpreter's loop, which does not depend on the instruction set.

use chip::PROBED;

use crate::architecture::Architecture;
use crate::bus::Bus;
use crate::map::Map;
use crate::memory::Memory;
use crate::state::Exit;

/// The regions that instructions are fetched from; the first two have a specialised copy of the loop.
pub mod region {
    /// ROM and SRAM: no wait states.
    pub const FAST: u8 = 0;
    /// Flash through the XIP cache.
    pub const XIP: u8 = 1;
    /// Anything else: every fetch goes over the bus.
    pub const BUS: u8 = 2;
    /// The copy of the loop that looks at each access serves all of them.
    pub const ANY: u8 = 3;
}

/// Instructions of one region.
#[derive(Clone, Copy)]
pub struct Code {
    /// One of [`region`].
    pub region: u8,
    /// Their first address.
    pub start: u32,
    /// Their bytes.
    pub size: u32,
    /// The index of the first predecoded one.
    pub base: usize,
}

/// A core with a loop for each region, and one more that looks at each access.
pub trait Interpreter<A: Architecture<Core = Self>, B: Bus<A>>: Sized {
    /// Returns the address of the next instruction.
    fn next(&self) -> u32;

    /// Returns the counts of instructions: all, those from flash through the cache, those from ROM.
    fn counts(&mut self) -> [&mut u64; 3];

    /// Returns whether accesses of code in the `size` bytes at `start` must be checked one by one.
    fn guards(&self, start: u32, size: u32) -> bool;

    /// Runs instructions of `code`. `LOOK`: checks every access and reports it to the bus, in the same simulated time;
    /// `REGION` is then [`ANY`](region::ANY).
    fn run_region<const REGION: u8, const LOOK: bool>(
        &mut self,
        mem: &mut Memory<B::Map, A>,
        bus: &mut B,
        limit: u64,
        code: Code,
    ) -> Exit;

    /// Runs in the region of the PC. `look`: see [`run_region`](Self::run_region).
    #[inline(always)]
    fn run_here(&mut self, mem: &mut Memory<B::Map, A>, bus: &mut B, limit: u64, look: bool) -> Exit {
        let pc = self.next();
        let counted = bus.counted() != 0;
        // The copy that does not look counts accesses to this bank alone.
        let look = look || counted && bus.bank_counter().is_none();
        let (rom, sram, flash) = (B::Map::ROM, B::Map::SRAM, B::Map::FLASH);
        let flash_size = mem.code_bytes();
        macro_rules! run {
            ($region:ident, $look:expr, $start:expr, $size:expr, $ops:ident) => {{
                let code = Code { region: region::$region, start: $start, size: $size, base: B::Map::$ops };
                if $look || self.guards(code.start, code.size) {
                    self.run_region::<{ region::ANY }, true>(mem, bus, limit, code)
                } else {
                    self.run_region::<{ region::$region }, false>(mem, bus, limit, code)
                }
            }};
        }
        let before = *self.counts()[0];
        let in_sram = pc.wrapping_sub(sram.base);
        let (exit, place) = if in_sram < sram.bytes {
            let apart = counted && in_sram < B::Map::UNCOUNTED;
            let size = if apart { B::Map::UNCOUNTED } else { sram.bytes };
            return run!(FAST, look || counted && !apart, sram.base, size, SRAM_OPS);
        } else if pc.wrapping_sub(flash.base) < flash_size && !mem.xip.offline {
            (run!(XIP, look, flash.base, flash_size, FLASH_OPS), 1)
        } else if rom.contains(pc) {
            (run!(FAST, look, rom.base, rom.bytes, ROM_OPS), 2)
        } else {
            let code = Code { region: region::BUS, start: pc, size: 4, base: B::Map::SCRATCH_OP };
            return self.run_region::<{ region::ANY }, true>(mem, bus, limit, code);
        };
        if PROBED {
            let counts = self.counts();
            *counts[place] += *counts[0] - before;
        }
        exit
    }
}
