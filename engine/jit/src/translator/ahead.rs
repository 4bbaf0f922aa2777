//! Two running cores: one runs ahead of the other in translated code, as long as neither can tell.
//!
//! The order of a chip's two cores is that of their instructions' first cycles; core 0 is first in the same cycle.
//! While both do nothing but change their registers, hit the flash cache, and access SRAM that the other leaves alone,
//! any order has the same effects. [`run_ahead`] runs such a window: the first core to its end, then the second up to
//! where the first stopped. A core stops before an instruction that needs the true order: a miss of the cache, a bus
//! access other than [`Bus::peek_at`], a store into code, or anything that is not translated. Hence in a window no event,
//! interrupt, cache line or block changes. The second core also stops before it reads a granule of SRAM that the first has written, or writes
//! one that the first has accessed. In all these cases the first core is ahead of an instruction that may concern it:
//! its registers and its granules get their earlier contents, and it runs again up to that instruction. It does the
//! same again, since the second core has changed nothing that it reads.
//!
//! Each core's first access to a granule in a window calls `touch`; the further ones find their permission.

use cpu::memory::CODE_GRANULE_BITS;
use cpu::{Bus, Map, Memory};

use super::mistakes::Mistake;
use super::{Accesses, BAILED, Guest, Translate, block_for, enter};

const GRANULE: usize = 1 << CODE_GRANULE_BITS;
/// Cycles that the cores take turns where one has no block, and half of those that a window must gain to be followed by
/// another at once.
const TURNS: u64 = 32;
/// Cycles before an event that are not worth a window.
const WORTH: u64 = 8;
/// Cycles of the shortest and the longest window.
const WINDOW: (u64, u64) = (64, 4096);
/// Most cycles between a window that failed and the next attempt.
const PAUSE: u64 = 512;

/// A read of SRAM.
pub const LOAD: u32 = 0;
/// A write to it.
pub const STORE: u32 = 1;

/// The accesses of both cores in the present window.
pub(super) struct Ahead {
    /// For each core (the first, the second), access, and granule of SRAM: not permitted yet.
    pub(crate) denied: [[Vec<bool>; 2]; 2],
    granted: Vec<(usize, usize)>,
    /// What the first core's granules contained before its first store.
    saved: Vec<(usize, [u8; GRANULE])>,
    window: u64,
    pause: u64,
    /// Cycle of the next attempt.
    next: u64,
}

impl Ahead {
    pub(crate) fn new<M: Map>() -> Self {
        let all = || vec![true; (M::SRAM.bytes as usize >> CODE_GRANULE_BITS) + 1];
        let denied = [[all(), all()], [all(), all()]];
        Self { denied, granted: Vec::new(), saved: Vec::new(), window: WINDOW.0, pause: 1, next: 0 }
    }

    fn end_window(&mut self) {
        for (core, granule) in self.granted.drain(..) {
            self.denied[core].iter_mut().for_each(|denied| denied[granule] = true);
        }
        self.saved.clear();
    }
}

/// Permits `core` (0: the first) an access to the granule at `offset` of SRAM. False: it needs the true order.
pub(super) fn touch<M: Map, A: Translate>(mem: &mut Memory<M, A>, core: usize, offset: u32, access: u32) -> bool {
    let granule = offset as usize >> CODE_GRANULE_BITS;
    let is_code = mem.is_code(granule);
    let mistakes = [Mistake::ReadOfStoreAhead, Mistake::StoreAfterReadAhead, Mistake::StoreAheadKept];
    let [read_of_store, store_after_read, kept] = mistakes.map(|mistake| mem.translated.makes(mistake));
    let content = mem.granule(granule);
    let ahead = &mut mem.translated.ahead;
    let first = ahead.denied[0].each_ref().map(|denied| !denied[granule]);
    let refused = match (core, access) {
        (1, LOAD) => first[STORE as usize] && !read_of_store,
        (1, _) => is_code || first[if store_after_read { STORE } else { LOAD } as usize],
        (_, LOAD) => false,
        _ => is_code,
    };
    if refused {
        return false;
    }
    ahead.granted.push((core, granule));
    ahead.denied[core][LOAD as usize][granule] = false;
    if access == STORE {
        ahead.denied[core][STORE as usize][granule] = false;
        if core == 0 && !kept {
            ahead.saved.push((granule, content));
        }
    }
    true
}

/// Runs `core` in the window up to `limit`, or to an instruction that needs the true order.
#[inline(never)]
fn run_to<A, B>(core: &mut A::Core, mem: &mut Memory<B::Map, A>, bus: &mut B, limit: u64, role: usize)
where
    A: Translate<Core: Accesses<A, B>>,
    B: Bus<A>,
{
    while core.cycles() < limit
        && let Some(start) = core.start()
    {
        let Some(entry) = mem.translated.ahead_entry::<B::Map>(core.pc(), start, mem.xip.offline) else { return };
        if let Some((BAILED, _)) = enter(core, mem, bus, limit, entry, std::ptr::null_mut(), Some(role)) {
            return;
        }
    }
}

/// Runs both cores to before cycle `end`, core `index` ahead of the other, until one of them needs the true order. Returns up
/// to which cycle they should then take turns.
#[inline(never)]
pub fn run_ahead<A, B>(
    cores: &mut [A::Core; 2],
    mem: &mut Memory<B::Map, A>,
    bus: &mut B,
    index: usize,
    end: u64,
) -> u64
where
    A: Translate<Core: Accesses<A, B>>,
    B: Bus<A>,
{
    let start = cores[index].cycles();
    let never = mem.translated.off || bus.counted() != 0;
    if never || end <= start + WORTH {
        return u64::MAX;
    }
    if start < mem.translated.ahead.next || bus.sys().attention {
        return mem.translated.ahead.next;
    }
    for core in cores.iter() {
        if core.interrupted::<B::Map>() || block_for(mem, core, false, true).is_none() {
            return start + TURNS;
        }
    }
    let [zero, one] = cores;
    let (first, second) = if index == 0 { (zero, one) } else { (one, zero) };
    let before = first.cycles() + second.cycles();
    let limit = end.min(start + mem.translated.ahead.window);
    let (checkpoint, accesses) = (first.checkpoint(), mem.xip.accesses);
    run_to(first, mem, bus, limit, 0);
    let counted = mem.xip.accesses - accesses;
    // Core 0 is first in the same cycle.
    let first_wins = u64::from((index == 0) != mem.translated.makes(Mistake::OtherCoreFirst));
    let until = end.min(first.cycles() + 1 - first_wins);
    run_to(second, mem, bus, until, 1);
    let overtaken = second.cycles() < until;
    let saved = std::mem::take(&mut mem.translated.ahead.saved);
    if overtaken && !mem.translated.makes(Mistake::AheadKept) {
        for (granule, content) in &saved {
            mem.restore_granule(*granule, content);
        }
        first.restore(checkpoint);
        if !mem.translated.makes(Mistake::AheadCountedTwice) {
            mem.xip.accesses -= counted;
        }
        mem.translated.ahead.end_window();
        if first.cycles() < second.cycles() + first_wins {
            run_to(first, mem, bus, second.cycles() + first_wins, 0);
        }
    }
    let ahead = &mut mem.translated.ahead;
    ahead.saved = saved;
    ahead.end_window();
    ahead.window = if overtaken { ahead.window / 2 } else { ahead.window * 2 }.clamp(WINDOW.0, WINDOW.1);
    let gained = first.cycles() + second.cycles() - before;
    ahead.pause = if gained < 2 * TURNS { (2 * ahead.pause).min(PAUSE) } else { 1 };
    ahead.next = first.cycles().min(second.cycles()) + ahead.pause - 1;
    ahead.next
}
