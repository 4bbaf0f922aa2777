//! The data shared by translated code and the engine, and the functions that it calls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use chip::fault::Cause;
use cpu::Translations as _;
use cpu::memory::Parts;
use cpu::{Architecture, Bus, Map, Master, Memory};
use sim::Ps;

use super::mistakes::Mistake;
use super::{Accesses, Guest, State, Translate, Translated, ahead};

/// The next step of translated code after an access by the engine.
pub(super) mod status {
    /// Continue.
    pub(crate) const CONTINUE: u32 = 0;
    /// Exit before the next instruction: an event needs handling, or this code may have changed.
    pub(crate) const LEAVE: u32 = 1;
    /// Exit at once: the access faulted, and the core is at the start of the handler.
    pub(crate) const FAULTED: u32 = 2;
}

/// Where a block's instructions come from, which are counted apart.
pub mod source {
    /// SRAM.
    pub const RAM: usize = 0;
    /// Flash through the cache.
    pub const FLASH: usize = 1;
    /// The boot ROM.
    pub const ROM: usize = 2;
}

/// Words fetched are counted in one number with instructions, above this bit. Fewer instructions are in [`RUN`] cycles, and
/// fewer than 512 words in a block.
const WORDS_BIT: u32 = 22;
/// Most cycles of one run of blocks.
pub(super) const RUN: u64 = 1 << 20;

/// Returns what a block adds to the counter of its [`source`] for instructions and words fetched.
pub(super) fn counts(executed: u32, fetched: u32) -> i32 {
    (executed + (fetched << WORDS_BIT)) as i32
}

/// Returns the instructions of such a counter.
fn instructions(counts: u64) -> u64 {
    counts & ((1 << WORDS_BIT) - 1)
}

/// What a loop that waits had when it read a register.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// The start of the loop, the PC, the address and the value.
    pub(super) place: [u32; 4],
    state: State,
    cycles: u64,
    executed: [u64; 3],
    fetched: u64,
    misses: u64,
}

/// How many passes are known: of a few loops, with some values each.
pub(super) const PASSES: usize = 32;

/// A pass through a loop that waits, which came back to its read with the same registers.
#[derive(Clone, Copy, Default)]
pub(super) struct Pass {
    place: [u32; 4],
    /// What it leaves.
    state: State,
    /// How often blocks were dropped, and for code in flash, how often the cache has changed: later, it may differ.
    memory: [u64; 2],
    cycles: u64,
    executed: [u64; 3],
    fetched: u64,
}

impl Pass {
    /// Returns which of the known passes this one may be.
    fn number([start, pc, address, value]: [u32; 4]) -> usize {
        let mixed = (value ^ address << 7 ^ pc << 13 ^ start << 21).wrapping_mul(0x9e37_79b1);
        (mixed >> (u32::BITS - PASSES.ilog2())) as usize
    }

    /// Returns whether it is known for this place and these memories.
    fn is_for(&self, place: [u32; 4], memory: [u64; 2]) -> bool {
        self.place == place && self.memory == memory
    }
}

/// Defines a function with the calling convention of translated code.
macro_rules! called {
    ($(#[$attribute:meta])* fn $($function:tt)*) => {
        #[cfg(target_arch = "x86_64")]
        $(#[$attribute])*
        extern "sysv64" fn $($function)*
        #[cfg(not(target_arch = "x86_64"))]
        $(#[$attribute])*
        extern "C" fn $($function)*
    };
}

/// An address, for code that is assembled for a PC of 64 bits.
type Address = u64;

/// Data that translated code reads and writes at fixed offsets, during one [`super::Translated::run`].
#[repr(C)]
pub(super) struct Context {
    /// Cycle at which the core must stop.
    pub(crate) limit: u64,
    /// Start of the code, and each slot's offset from it.
    pub(crate) code: Address,
    pub(crate) entries: Address,
    /// [`cpu::memory::Parts`]. Each comes from its owner, not from a borrow of it, and therefore stays valid when the
    /// engine borrows the memories: from [`Vec::as_ptr`], [`Vec::as_mut_ptr`], or the address of the memories.
    pub(crate) ram: Address,
    pub(crate) granules: Address,
    pub(crate) flash: Address,
    pub(crate) words: Address,
    pub(crate) offline: Address,
    /// The counter of accesses to [`Map::COUNTED`], if they are counted; else 0.
    pub(crate) counter: Address,
    /// The [`counts`] by [`source`], and words read from flash without the engine.
    pub(crate) executed: [u64; 3],
    pub(crate) fetched: u64,
    /// Cycles from the start of the instruction to its access, if no fetch missed.
    pub(crate) spent: u32,
    pub(crate) value: u32,
    pub(crate) status: u32,
    /// The block of another module that a module leads to; 0: none.
    pub(crate) next: u32,
    /// Functions below, for accesses of 1, 2 and 4 bytes.
    pub(crate) load: [Address; 3],
    pub(crate) store: [Address; 3],
    /// Like `load`, by a block that is a loop and changes no memory.
    pub(crate) poll: [Address; 3],
    /// The start of the loop that polls, what a pass takes from before it and what it sets ([`super::Block::passes`]), and
    /// the start of the loop with the pass that ended last, with its instructions.
    pub(crate) polling: u32,
    pub(crate) takes: u32,
    pub(crate) sets: u32,
    pub(crate) pass: [u32; 2],
    pub(crate) miss: Address,
    /// Executes one instruction.
    pub(crate) execute: Address,
    /// The least value of the stack pointer.
    pub(crate) stack_limit: u32,
    pub(crate) core: *mut (),
    pub(crate) mem: *mut (),
    pub(crate) bus: *mut (),
    /// In a window ([`super::ahead`]): what the core may not access yet, the function that permits it, and whether the
    /// core is the second.
    pub(crate) denied: [Address; 2],
    pub(crate) touch: Address,
    /// Functions that read and write a word of the core's IO port, and read any register in a window.
    pub(crate) port: [Address; 3],
    /// The address of the core's number and that, if a read of it is like any other in this run; else no address.
    pub(crate) number_at: u64,
    pub(crate) number: u32,
    role: usize,
    /// A panic caught in a function called by translated code, through which it cannot unwind.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

impl Context {
    /// # Safety
    /// `core`, `mem` and `bus` must be valid, and nothing else may use them while the context lives.
    pub(crate) unsafe fn new<A, B>(
        core: *mut A::Core,
        mem: *mut Memory<B::Map, A>,
        bus: *mut B,
        limit: u64,
        code: usize,
        counter: *mut u32,
        ahead: Option<usize>,
    ) -> Self
    where
        A: Translate<Core: Accesses<A, B>>,
        B: Bus<A>,
    {
        // SAFETY: as the caller promises. The parts do not move, since no vector of them grows.
        let Parts { ram, granules, flash, words, .. } = unsafe { &mut *mem }.parts();
        // SAFETY: the same.
        let offline = unsafe { &raw const (*mem).xip.offline };
        // SAFETY: the same.
        let translated = unsafe { &(*mem).translated };
        let entries = translated.entries(ahead.is_some());
        // SAFETY: the same.
        let number = unsafe { (*bus).read_port((*core).index(), B::Map::IO_PORT.base, 0) };
        let mut denied = [0; 2];
        if let Some(role) = ahead {
            denied = translated.ahead.denied[role].each_ref().map(|denied| denied.as_ptr() as Address);
        }
        Self {
            limit,
            code: code as Address,
            entries: entries as Address,
            ram: ram as Address,
            granules: granules as Address,
            flash: flash as Address,
            words: words as Address,
            offline: offline as Address,
            counter: counter as Address,
            executed: [0; 3],
            fetched: 0,
            spent: 0,
            value: 0,
            next: 0,
            status: status::CONTINUE,
            load: [
                load::<1, A, B> as *const () as Address,
                load::<2, A, B> as *const () as Address,
                load::<4, A, B> as *const () as Address,
            ],
            store: [
                store::<1, A, B> as *const () as Address,
                store::<2, A, B> as *const () as Address,
                store::<4, A, B> as *const () as Address,
            ],
            poll: [
                poll::<1, A, B> as *const () as Address,
                poll::<2, A, B> as *const () as Address,
                poll::<4, A, B> as *const () as Address,
            ],
            polling: 0,
            takes: 0,
            sets: 0,
            pass: [0; 2],
            miss: miss::<A, B::Map> as *const () as Address,
            execute: execute::<A, B> as *const () as Address,
            // SAFETY: the same.
            stack_limit: unsafe { (*core).stack_limit() },
            denied,
            touch: touch::<A, B> as *const () as Address,
            port: [
                read_port::<A, B> as *const () as Address,
                write_port::<A, B> as *const () as Address,
                peek::<A, B> as *const () as Address,
            ],
            number_at: number.map_or(u64::MAX, |_| B::Map::IO_PORT.base.into()),
            number: number.unwrap_or_default(),
            role: ahead.unwrap_or_default(),
            core: core.cast(),
            mem: mem.cast(),
            bus: bus.cast(),
            panic: None,
        }
    }

    /// Counts passes that are not executed.
    fn skip(&mut self, pass: &Pass, times: u64) {
        for (count, more) in self.executed.iter_mut().zip(pass.executed) {
            *count = count.wrapping_add(times.wrapping_mul(more));
        }
        self.fetched = self.fetched.wrapping_add(times * pass.fetched);
    }

    /// Adds the counts to those of the core and the cache.
    pub(crate) fn settle<M: Map, A: Translate>(&mut self, core: &mut A::Core, mem: &mut Memory<M, A>) {
        // A block subtracts again what it counted before a call of the engine, so a counter may be negative until it
        // exits.
        let counts = std::mem::take(&mut self.executed);
        core.count(counts.map(instructions));
        let fetched =
            counts.iter().fold(std::mem::take(&mut self.fetched), |sum, counts| sum.wrapping_add(counts >> WORDS_BIT));
        mem.xip.accesses = mem.xip.accesses.wrapping_add(fetched);
    }
}

/// A context, and what it points to.
type Lent<'a, A, B> =
    (&'a mut Context, &'a mut <A as Architecture>::Core, &'a mut Memory<<B as Bus<A>>::Map, A>, &'a mut B);

/// Lends what a context points to.
///
/// # Safety
/// During the loan nothing else may use them: translated code, which calls, does not.
#[inline(always)]
unsafe fn lent<'a, A: Architecture, B: Bus<A>>(context: *mut Context) -> Lent<'a, A, B> {
    // SAFETY: the pointers are valid as long as the context.
    unsafe {
        let context = &mut *context;
        let (core, mem, bus) =
            (context.core.cast::<A::Core>(), context.mem.cast::<Memory<B::Map, A>>(), context.bus.cast::<B>());
        (context, &mut *core, &mut *mem, &mut *bus)
    }
}

/// Performs an access that translated code does not handle inline, and stores its status.
fn carry_out<A, B>(
    context: *mut Context,
    address: u32,
    access: impl FnOnce(&mut A::Core, &mut Memory<B::Map, A>, &mut B) -> Result<u32, Cause>,
) -> u32
where
    A: Translate<Core: Accesses<A, B>>,
    B: Bus<A>,
{
    // SAFETY: translated code passes its context.
    let (context, core, mem, bus) = unsafe { lent::<A, B>(context) };
    // Readers of the cache's counters need exact counts.
    if B::Map::CACHE_REGISTERS.contains(address) || bus.sys().records() {
        context.settle(core, mem);
    }
    let generation = mem.translated.generation();
    let due = bus.sys().next_due();
    bus.sys_mut().begin_access();
    let outcome = catch_unwind(AssertUnwindSafe(|| match access(core, mem, bus) {
        Ok(value) => {
            let leave = bus.sys().attention || mem.translated.generation() != generation;
            (value, if leave { status::LEAVE } else { status::CONTINUE })
        }
        Err(cause) => {
            core.fault(mem, bus, cause);
            (0, status::FAULTED)
        }
    }));
    let (value, status) = outcome.unwrap_or_else(|panic| {
        context.panic = Some(panic);
        (0, status::FAULTED)
    });
    if let Some(stop) = bus.sys_mut().end_access(due) {
        context.limit = stop;
    }
    if context.counter != 0
        && let Some(counter) = bus.bank_counter()
    {
        context.counter = &raw mut *counter as Address;
    }
    context.status = status;
    value
}

/// Reads a word that programs poll, without what other registers need.
#[inline(always)]
fn read_polled<A: Translate, B: Bus<A>>(
    context: &mut Context,
    core: &mut A::Core,
    bus: &mut B,
    address: u32,
) -> Option<u32> {
    if bus.counted() != 0 || bus.sys().records() || bus.sys().batched.is_some() {
        return None;
    }
    let cycle = core.cycles();
    let (value, waits) = bus.peek_at(core.index(), address, cycle)?;
    core.wait(u64::from(A::ACCESS - 1 + waits?));
    (bus.sys_mut().cycle, context.status) = (cycle, status::CONTINUE);
    Some(value)
}

called! {
    // In one place only: inlined into its callers, too, its closure would be called instead of inlined here.
    #[inline(never)]
    fn load<const SIZE: u32, A, B>(context: *mut Context, address: u32) -> u32
    where
        A: Translate<Core: Accesses<A, B>>,
        B: Bus<A>,
    {
        // SAFETY: as in `carry_out`; the loan ends here.
        let (lender, core, _, bus) = unsafe { lent::<A, B>(context) };
        if SIZE == 4
            && let Some(value) = read_polled::<A, B>(lender, core, bus, address)
        {
            return value;
        }
        carry_out::<A, B>(context, address, |core, mem, bus| core.load::<SIZE>(mem, bus, address))
    }
}
called! {
    /// Reads a register in a block that is a loop and changes no memory. If it is known how long a pass takes that reads
    /// this value with these registers, since the pass before this read did or an earlier one, the passes up to the limit
    /// are the same, and only take their time. So are those after events that the core handles itself, while the passes
    /// with what it reads then are known.
    fn poll<const SIZE: u32, A, B>(context: *mut Context, address: u32) -> u32
    where
        A: Translate<Core: Accesses<A, B>>,
        B: Bus<A>,
    {
        // SAFETY: as in `carry_out`; the loan ends here.
        let mut start = unsafe { lent::<A, B>(context) }.1.cycles();
        let mut value = load::<SIZE, A, B>(context, address);
        // SAFETY: the same.
        let (context, core, mem, bus) = unsafe { lent::<A, B>(context) };
        let pass = std::mem::take(&mut context.pass);
        let mut state = core.state();
        let in_flash = B::Map::FLASH.contains(context.polling);
        let memory = |mem: &Memory<B::Map, A>| [mem.translated.drops, if in_flash { mem.xip.changes() } else { 0 }];
        let (known, misses) = (memory(mem), mem.xip.misses);
        let Translated { seen: before, passes, mistakes, .. } = &mut mem.translated;
        let more = |source: usize| context.executed[source].wrapping_sub(before.executed[source]);
        let executed: [u64; 3] = std::array::from_fn(more);
        let fetched = context.fetched.wrapping_sub(before.fetched);
        // With fewer or more instructions it was not one pass from there to here.
        let count = executed.iter().fold(0u32, |sum, &more| sum.wrapping_add(instructions(more) as u32));
        let one_pass = pass == [context.polling, if mistakes.makes(Mistake::WaitAfterOther) { pass[1] } else { count }];
        let place = [context.polling, core.pc(), address, value];
        let (takes, sets) = (if mistakes.makes(Mistake::WaitWithOthers) { 0 } else { context.takes }, context.sets);
        let pass = &mut passes[Pass::number(place)];
        // The next pass may take less time than one with a miss.
        if one_pass && before.place == place && before.misses == misses && state.is_alike(&before.state, takes) {
            *pass = Pass { place, state, memory: known, cycles: start - before.cycles, executed, fetched };
        }
        *before = Seen { place, state, cycles: start, executed: context.executed, fetched: context.fetched, misses };
        if !pass.is_for(place, known) || !state.is_alike(&pass.state, takes) {
            return value;
        }
        let mut pass = *pass;
        if context.status != status::CONTINUE || bus.counted() != 0 || bus.sys().records() {
            return value;
        }
        let (anything, past) = (mistakes.makes(Mistake::WaitForAnything), mistakes.makes(Mistake::WaitPastLimit));
        let (core_index, accessed, first) = (core.index(), bus.sys().cycle, start);
        let (spent, limit) = (u64::from(context.spent), context.limit);
        let cycle = |bus: &B, stop: Option<Ps>| stop.map_or(limit, |stop| bus.sys().clock.cycle_at(stop));
        // How many passes from the read at `start` on are the same: the last read begins before the limit, and reads before
        // the value changes.
        let passes = |bus: &B, start: u64, cycles: u64, (stop, until): (Option<Ps>, u64)| {
            let before_limit = (cycle(bus, stop) - 1 - (start - spent)) / cycles + u64::from(past);
            before_limit.min((until - 1).saturating_sub(start) / cycles)
        };
        // When the core stops since it has handled an event; up to where passes are the same, now and before that event.
        let (mut stop, mut reached, mut before) = (None, None, None);
        let mut steady = bus.steady(core_index, address);
        while let Some(until) = steady.map(|(_, until)| until).or(anything.then_some(u64::MAX)) {
            (before, reached) = (reached, Some((stop, until)));
            // The other instructions of a pass cannot tell whether this event has come.
            let due = bus.sys().next_due();
            if until != u64::MAX || !bus.pass_event(mem) {
                break;
            }
            steady = bus.steady(core_index, address);
            let read = match steady.filter(|_| SIZE == 4 && bus.sys().batched.is_none()) {
                Some((read, _)) => Some(read),
                None => {
                    let read = bus.read(mem, Master::Core(core_index), address, SIZE).ok();
                    steady = bus.steady(core_index, address);
                    read
                }
            };
            if !bus.sys_mut().goes_on(due) {
                break;
            }
            stop = Some(bus.sys().stops_at());
            let Some(read) = read.filter(|_| memory(mem) == known) else { break };
            if read == value {
                continue;
            }
            // The next pass has the new value, if it reads that before it changes and before the limit.
            let place = [context.polling, core.pc(), address, read];
            let next = mem.translated.passes[Pass::number(place)];
            let skipped = 1 + passes(bus, start, pass.cycles, (reached.and_then(|(stop, _)| stop), until));
            let at = start + skipped * pass.cycles;
            let in_time = steady.is_some_and(|(_, until)| at < until);
            let then = pass.state.only(&state, sets);
            let is_known = next.is_for(place, known) && then.is_alike(&next.state, takes);
            if !in_time || at - spent >= cycle(bus, stop) || !is_known {
                break;
            }
            context.skip(&pass, skipped);
            (value, pass, state, start, reached) = (read, next, then, at, None);
        }
        let skipped = [before, reached].into_iter().flatten().map(|to| passes(bus, start, pass.cycles, to)).max();
        let skipped = skipped.unwrap_or_default();
        if skipped > 0 {
            state = pass.state.only(&state, sets);
        }
        core.set_state(&state);
        context.limit = cycle(bus, stop);
        context.skip(&pass, skipped);
        start += skipped * pass.cycles;
        core.wait(start - first);
        bus.sys_mut().cycle = accessed + (start - first);
        let place = [context.polling, core.pc(), address, value];
        let seen = Seen { place, state, cycles: start, executed: context.executed, fetched: context.fetched, misses };
        mem.translated.seen = seen;
        value
    }
}
called! {
    /// Executes the instruction at the PC. `accesses`: it may access memory, if that is not 0.
    fn execute<A, B>(context: *mut Context, accesses: u32) -> u32
    where
        A: Translate<Core: Accesses<A, B>>,
        B: Bus<A>,
    {
        // It may read the cache's counters.
        let address = if accesses != 0 { B::Map::CACHE_REGISTERS.base } else { 0 };
        carry_out::<A, B>(context, address, |core, mem, bus| core.execute(mem, bus).map(|()| 0))
    }
}
called! {
    fn store<const SIZE: u32, A, B>(context: *mut Context, address: u32, value: u32) -> u32
    where
        A: Translate<Core: Accesses<A, B>>,
        B: Bus<A>,
    {
        carry_out::<A, B>(context, address, |core, mem, bus| {
            let in_flash = core.pc().wrapping_sub(B::Map::FLASH.base) < mem.flash_size() as u32;
            core.store::<SIZE>(mem, bus, address, value)?;
            if in_flash && !B::Map::SRAM.contains(address) && mem.xip.offline {
                // The rest of this flash can no longer be fetched.
                bus.sys_mut().attention = true;
            }
            Ok(0)
        })
    }
}
called! {
    /// Returns the wait states of a fetch or literal read that missed the cache. Its access is counted already.
    fn miss<A: Translate, M: Map>(context: *mut Context, offset: u32) -> u32 {
        // SAFETY: as above. Only the cache and the flash are accessed, and the access does not panic.
        let mem = unsafe { &mut *(*context).mem.cast::<Memory<M, A>>() };
        mem.look_up(offset)
    }
}
called! {
    /// Reads a word of the core's IO port into the context's value; 0: the read must pass the bus.
    fn read_port<A: Translate, B: Bus<A>>(context: *mut Context, address: u32, cycle: u64) -> u32 {
        // SAFETY: as above. A register changes, which does not panic.
        let (context, core, bus) =
            unsafe { (&mut *context, &*(*context).core.cast::<A::Core>(), &mut *(*context).bus.cast::<B>()) };
        let value = bus.read_port(core.index(), address, cycle);
        context.value = value.unwrap_or_default();
        u32::from(value.is_some())
    }
}
called! {
    /// Writes the context's value to a word of the core's IO port; 0: the write must pass the bus.
    fn write_port<A: Translate, B: Bus<A>>(context: *mut Context, address: u32, cycle: u64) -> u32 {
        // SAFETY: the same.
        let (context, core, bus) =
            unsafe { (&*context, &*(*context).core.cast::<A::Core>(), &mut *(*context).bus.cast::<B>()) };
        u32::from(bus.write_port(core.index(), address, context.value, cycle))
    }
}
called! {
    /// Reads a register in a window. Returns the cycles that this takes; 0: it needs the true order.
    fn peek<A: Translate, B: Bus<A>>(context: *mut Context, address: u32, cycle: u64) -> u32 {
        // SAFETY: as above.
        let (context, core, bus) =
            unsafe { (&mut *context, &*(*context).core.cast::<A::Core>(), &*(*context).bus.cast::<B>()) };
        let Some((value, waits)) = bus.peek_at(core.index(), address, cycle) else { return 0 };
        context.value = value;
        waits.map_or(1, |waits| A::ACCESS + waits)
    }
}
called! {
    /// Permits an access of `kind` to SRAM in a window; 0: it needs the true order.
    fn touch<A: Translate, B: Bus<A>>(context: *mut Context, offset: u32, kind: u32) -> u32 {
        // SAFETY: as above. The tables neither move nor grow.
        let (mem, role) = unsafe { (&mut *(*context).mem.cast::<Memory<B::Map, A>>(), (*context).role) };
        u32::from(ahead::touch(mem, role, offset, kind))
    }
}
