//! What translated code and the engine tell one another, and what it calls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::bus::Bus;
use crate::cpu::core::Core;
use crate::cpu::fault::Cause;
use crate::memory::{Memory, RAM_SIZE, XIP_BASE};
use crate::world::World;

/// The cache's registers.
const XIP_CTRL: u32 = 0x1400_0000;

/// What translated code has to do after an access that the engine carried out.
pub(super) mod status {
    /// Go on.
    pub const ON: u32 = 0;
    /// Leave before the next instruction: something wants attention, or this code may have changed.
    pub const LEAVE: u32 = 1;
    /// Leave at once: the access faulted, and the core is where its handler begins.
    pub const FAULTED: u32 = 2;
}

/// Where the executed instructions of a block are counted.
pub(super) mod region {
    pub const RAM: usize = 0;
    pub const FLASH: usize = 1;
    pub const ROM: usize = 2;
}

/// Read and written by translated code at fixed offsets, for the length of one [`super::Translated::run`].
#[repr(C)]
pub(super) struct Context {
    /// Cycle at which the core has to stop.
    pub limit: u64,
    /// Where the code begins, and how far behind that each slot's is.
    pub code: usize,
    pub entries: *const u32,
    pub ram: *mut u8,
    /// For each granule of RAM, whether code in it is predecoded.
    pub granules: *const bool,
    /// Tags of the XIP cache, two for each set.
    pub lines: *const u32,
    pub offline: *const bool,
    pub flash: *const u8,
    /// The counter of SRAM5's accesses, where they count.
    pub counter: *mut u32,
    /// Instructions by [`region`], and words that were fetched from flash or read from it without the engine.
    pub executed: [u64; 3],
    pub fetched: u64,
    pub value: u32,
    pub status: u32,
    /// Functions below, for accesses of 1, 2 and 4 bytes.
    pub load: [usize; 3],
    pub store: [usize; 3],
    pub miss: usize,
    pub core: *mut (),
    pub mem: *mut (),
    pub bus: *mut (),
    /// A panic on its way through translated code, which cannot be unwound.
    pub panic: Option<Box<dyn Any + Send>>,
}

impl Context {
    /// # Safety
    /// Nothing else may use `core`, `mem` and `bus`, which are valid, while the context lives.
    pub unsafe fn new<W: World>(
        core: *mut Core,
        mem: *mut Memory,
        bus: *mut Bus<W>,
        limit: u64,
        code: usize,
        counter: *mut u32,
    ) -> Self {
        // SAFETY: as the caller promises. What is pointed to below stays where it is: no vector of it grows.
        let parts = unsafe { &mut *mem }.parts();
        Self {
            limit,
            code,
            entries: parts.entries,
            ram: parts.ram,
            granules: parts.granules,
            lines: parts.lines,
            offline: parts.offline,
            flash: parts.flash,
            counter,
            executed: [0; 3],
            fetched: 0,
            value: 0,
            status: status::ON,
            load: [
                load::<1, W> as *const () as usize,
                load::<2, W> as *const () as usize,
                load::<4, W> as *const () as usize,
            ],
            store: [
                store::<1, W> as *const () as usize,
                store::<2, W> as *const () as usize,
                store::<4, W> as *const () as usize,
            ],
            miss: miss as *const () as usize,
            core: core.cast(),
            mem: mem.cast(),
            bus: bus.cast(),
            panic: None,
        }
    }

    /// Hands what was counted over to the core and the cache.
    pub fn settle(&mut self, core: &mut Core, mem: &mut Memory) {
        let [ram, flash, rom] = std::mem::take(&mut self.executed);
        // What a block counts before it calls the engine it takes back afterwards: less than nothing until it is left.
        let add = |count: &mut u64, more: u64| *count = count.wrapping_add(more);
        add(&mut core.instructions, ram.wrapping_add(flash).wrapping_add(rom));
        if crate::PROBED {
            add(&mut core.flash_instructions, flash);
            add(&mut core.rom_instructions, rom);
        }
        add(&mut mem.xip.accesses, std::mem::take(&mut self.fetched));
    }
}

/// Carries out an access that has more to it than translated code knows, and says what comes of it.
fn carry_out<W: World>(
    context: *mut Context,
    address: u32,
    access: impl FnOnce(&mut Core, &mut Memory, &mut Bus<W>) -> Result<u32, Cause>,
) -> u32 {
    // SAFETY: translated code passes its own context on, whose pointers are valid and used by nobody else meanwhile.
    let (context, core, mem, bus) = unsafe {
        let context = &mut *context;
        let (core, mem, bus) =
            (context.core.cast::<Core>(), context.mem.cast::<Memory>(), context.bus.cast::<Bus<W>>());
        (context, &mut *core, &mut *mem, &mut *bus)
    };
    // Whoever looks at the cache's counts wants all of them.
    if address >> 24 == XIP_CTRL >> 24 || bus.sys.records() {
        context.settle(core, mem);
    }
    let generation = mem.translated.generation();
    let outcome = catch_unwind(AssertUnwindSafe(|| match access(core, mem, bus) {
        Ok(value) => {
            let leave = bus.sys.attention || mem.translated.generation() != generation;
            (value, if leave { status::LEAVE } else { status::ON })
        }
        Err(cause) => {
            core.cycles += 1;
            core.hard_fault(mem, bus, cause);
            (0, status::FAULTED)
        }
    }));
    let (value, status) = outcome.unwrap_or_else(|panic| {
        context.panic = Some(panic);
        (0, status::FAULTED)
    });
    context.status = status;
    value
}

extern "sysv64" fn load<const SIZE: u32, W: World>(context: *mut Context, address: u32) -> u32 {
    carry_out::<W>(context, address, |core, mem, bus| core.load::<SIZE, W>(mem, bus, address))
}

extern "sysv64" fn store<const SIZE: u32, W: World>(context: *mut Context, address: u32, value: u32) -> u32 {
    carry_out::<W>(context, address, |core, mem, bus| {
        let in_flash = core.pc.wrapping_sub(XIP_BASE) < mem.flash_size() as u32;
        core.store::<SIZE, W>(mem, bus, address, value)?;
        if in_flash && address.wrapping_sub(crate::memory::RAM_BASE) >= RAM_SIZE as u32 && mem.xip.offline {
            // The rest of this flash cannot be fetched.
            bus.sys.attention = true;
        }
        Ok(0)
    })
}

/// Wait states of a fetch, or a read of a literal, that found no line with all its words. Its access is counted already.
extern "sysv64" fn miss(context: *mut Context, offset: u32) -> u32 {
    // SAFETY: as above. The cache alone is touched, and nothing in it panics.
    let mem = unsafe { &mut *(*context).mem.cast::<Memory>() };
    mem.xip.look_up(offset)
}
