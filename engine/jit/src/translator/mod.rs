//! The buffer, the table of blocks, and their calls. All unsafe code of this crate is in this module: blocks access a core,
//! SRAM and the cache by address.

#![allow(unsafe_code)]

#[cfg(any(target_arch = "aarch64", all(target_arch = "x86_64", feature = "mistakes")))]
#[cfg_attr(not(target_arch = "aarch64"), allow(dead_code, reason = "only Arm PCs execute it"))]
mod aarch64;
mod accesses;
pub mod ahead;
mod block;
mod branches;
#[cfg(not(target_arch = "wasm32"))]
mod buffer;
mod context;
pub mod flags;
pub mod mistakes;
mod part;
mod results;
pub mod routines;
mod stubs;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(any(not(target_arch = "x86_64"), feature = "mistakes"))]
mod x86;

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::panic::resume_unwind;

use chip::fault::Cause;
use cpu::{Architecture, Bus, Left, Map, Master, Memory, Translations};

pub use self::accesses::{Access, Check, Offset};
use self::ahead::Ahead;
pub use self::ahead::run_ahead;
pub use self::block::{Block, Flow, Place, Touches, guest};
#[cfg(not(target_arch = "wasm32"))]
use self::buffer::{Buffer, SIZE};
pub use self::context::source;
use self::context::{Context, PASSES, Pass, RUN, Seen, counts, status};
use self::mistakes::Mistakes;
pub use self::part::Part;
use self::part::{Room, counted};
#[cfg(feature = "mistakes")]
pub use self::results::Outcome;
pub use self::results::{Effects, Shift};
use self::routines::{Assembler, BAILED, Routines};
#[cfg(target_arch = "wasm32")]
use self::wasm::{Buffer, SIZE};

/// Where a core has what the code that blocks share reads and writes, in bytes from its start.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// R0 to R14.
    pub regs: i32,
    /// A number of 64 bits with the sign N, whose lower half is 0 if Z is set.
    pub nz: i32,
    /// The carry.
    pub c: i32,
    /// The overflow.
    pub v: i32,
    /// The PC.
    pub pc: i32,
    /// The last word fetched.
    pub fetch_word: i32,
    /// The cycle of the next instruction.
    pub cycles: i32,
}

impl Layout {
    /// Returns where a register is.
    pub fn register(self, number: u8) -> i32 {
        self.regs + 4 * i32::from(number & 15)
    }
}

/// An instruction set that is translated.
pub trait Translate: Architecture<Translated = Translated, Core: Guest> + Sized {
    /// The core's layout.
    const LAYOUT: Layout;
    /// Cycles of a load or store of SRAM.
    const ACCESS: u32;
    /// Those before the access, as the engine counts.
    const BEFORE_ACCESS: u32;

    /// What an instruction depends on beside registers, flags and fetched words.
    type Pipeline: Copy + PartialEq;

    /// Returns the same, and the last word fetched, where [`Guest::start`] of a core at `pc` is `start`.
    fn started(pc: u32, start: u32) -> (u32, Self::Pipeline);

    /// Returns the same for the engine, which executes the current instruction: `at` its start, `here` its end.
    fn in_engine(_at: Self::Pipeline, here: Self::Pipeline) -> Self::Pipeline {
        here
    }

    /// Assembles the writing of the same to the core. EAX must stay.
    fn tell<M: Map>(_: &mut Block<'_, Self, M>, _: Self::Pipeline) {}

    /// Assembles what must be undone of that when the block goes on.
    fn resume<M: Map>(_: &mut Block<'_, Self, M>, _: Self::Pipeline) {}

    /// Assembles what a branch to ECX that leads to no block must do, beside setting the PC. EAX is free.
    fn after_branch(_: &mut Assembler) {}

    /// Translates the instruction at `block.here`, or more than that.
    fn step<M: Map>(block: &mut Block<'_, Self, M>) -> Flow;

    /// Returns what the instruction at `pc` in `part` does with flags and registers. `None`: a block may end before or
    /// after it, or it is not known.
    fn effects<M: Map>(mem: &Memory<M, Self>, part: Part, pc: u32) -> Option<Effects>;
}

/// [`Guest::start`] after a branch.
pub const BRANCHED: u32 = 0;

/// The registers and flags that an instruction may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// R0 to R15, of which the last is not used.
    pub registers: [u32; 16],
    /// As in [`Layout::nz`].
    pub nz: i64,
    /// The carry.
    pub c: bool,
    /// The overflow.
    pub v: bool,
}

impl State {
    /// Returns whether both have the same in `set`: registers as bits, and from bit 16 on flags as in [`flags::ALL`].
    fn is_alike(&self, other: &Self, set: u32) -> bool {
        let Self { registers, nz, c, v } = other.only(self, set);
        (registers, nz, c, v) == (self.registers, self.nz, self.c, self.v)
    }

    /// Returns this state with what `other` has outside of `set`.
    fn only(&self, other: &Self, set: u32) -> Self {
        let has = |flag: u8| set >> 16 & u32::from(flag) != 0;
        let registers =
            std::array::from_fn(|register| if set >> register & 1 != 0 { self } else { other }.registers[register]);
        Self {
            registers,
            nz: if has(flags::NZ) { self.nz } else { other.nz },
            c: if has(flags::C) { self.c } else { other.c },
            v: if has(flags::V) { self.v } else { other.v },
        }
    }
}

/// A core as the translator sees it.
pub trait Guest {
    /// All that translated code changes of it.
    type Checkpoint;

    /// Returns which of the chip's cores it is.
    fn index(&self) -> usize;

    /// Returns the address of the next instruction.
    fn pc(&self) -> u32;

    /// Returns the cycle at which that starts.
    fn cycles(&self) -> u64;

    /// Returns what a block that starts here must know of the instruction before: [`BRANCHED`], or anything else.
    /// `None`: no block can.
    fn start(&self) -> Option<u32>;

    /// Returns whether all of its code must be interpreted now, or an exception may be taken.
    fn interrupted<M: Map>(&self) -> bool;

    /// Adds executed instructions, by [`source`].
    fn count(&mut self, executed: [u64; 3]);

    /// Returns the least value of the active stack pointer.
    fn stack_limit(&self) -> u32 {
        0
    }

    /// Returns all registers and flags that an instruction may read.
    fn state(&self) -> State;

    /// Sets them.
    fn set_state(&mut self, state: &State);

    /// Lets `cycles` pass.
    fn wait(&mut self, cycles: u64);

    /// Returns the state that translated code can change.
    fn checkpoint(&self) -> Self::Checkpoint;

    /// Returns to a checkpoint.
    fn restore(&mut self, checkpoint: Self::Checkpoint);
}

/// What translated code leaves to the interpreter.
pub trait Accesses<A: Architecture<Core = Self>, B: Bus<A>> {
    /// Reads `SIZE` bytes. `Err`: the cause of a fault.
    fn load<const SIZE: u32>(&mut self, mem: &mut Memory<B::Map, A>, bus: &mut B, address: u32) -> Result<u32, Cause>;

    /// Writes `SIZE` bytes.
    fn store<const SIZE: u32>(
        &mut self,
        mem: &mut Memory<B::Map, A>,
        bus: &mut B,
        address: u32,
        value: u32,
    ) -> Result<(), Cause>;

    /// Takes the fault of the current instruction.
    fn fault(&mut self, mem: &mut Memory<B::Map, A>, bus: &mut B, cause: Cause);

    /// Executes the instruction at the PC, which continues with the next.
    fn execute(&mut self, _: &mut Memory<B::Map, A>, _: &mut B) -> Result<(), Cause> {
        Err(Cause::UndefinedInstruction)
    }
}

/// Default of [`Translated::hot`]: code that runs only a few times is not translated.
const HOT: u8 = if Buffer::BATCH == 1 || cfg!(feature = "mistakes") { 24 } else { 200 };
/// Marks a slot where no block can start.
const NEVER: u8 = u8::MAX;
/// Marks a slot whose block waits to be compiled with others.
const WAITING: u8 = NEVER - 1;
/// How often branches lead to blocks that wait until they are compiled.
const PATIENCE: u32 = if cfg!(feature = "mistakes") { 8 } else { 4000 };
/// Fewest cycles for which entering a block gains time.
const WORTHWHILE: u64 = 16;
/// Predecoded slots per granule, the unit in which blocks are looked up.
const GRANULE_SLOTS: usize = 16;

#[cfg(target_arch = "x86_64")]
type Enter<C> = unsafe extern "sysv64" fn(*mut C, *mut Context, usize) -> u32;
#[cfg(not(target_arch = "x86_64"))]
type Enter<C> = unsafe extern "C" fn(*mut C, *mut Context, usize) -> u32;

/// The slots of a block's instructions.
#[derive(Clone, Copy)]
struct Extent {
    first: usize,
    end: usize,
}

/// The links to each slot: their numbers, and the first slots of their blocks.
type Chains = HashMap<usize, Vec<(usize, usize)>>;

impl Extent {
    fn granules(self) -> RangeInclusive<usize> {
        self.first / GRANULE_SLOTS..=self.end / GRANULE_SLOTS
    }
}

struct Blocks {
    buffer: Buffer,
    routines: Routines,
    /// Bytes of the buffer used by the routines.
    reserved: usize,
    /// Offset of each slot's block in the buffer; 0, the start of the buffer, is the exit. All zeros at first, so only
    /// executed parts take memory. The second table is of blocks for [`ahead`], the third of those that start after an
    /// instruction without a branch, to which no block leads. Both are empty without such a block.
    entries: [Vec<u32>; 3],
    /// [`Guest::start`] of the blocks in the third table.
    starts: Vec<u32>,
    heat: Vec<u8>,
    /// For the first two tables, the links to each slot. A link without a block leads to the exit.
    chains: [Chains; 2],
    /// The slots that the links of the blocks in each slot lead to.
    exits: HashMap<usize, Vec<usize>>,
    /// Granules of slots that contain parts of blocks.
    reached: Vec<bool>,
    /// The blocks in each of them.
    extents: HashMap<usize, Vec<Extent>>,
    /// Slots and tables of the blocks that are not compiled yet; `None`: it is dropped.
    waiting: Vec<Option<(usize, usize)>>,
    patience: u32,
}

impl Blocks {
    /// Returns whether the blocks that wait should be compiled.
    fn is_due(&self) -> bool {
        self.patience == 0 || self.waiting.len() >= Buffer::BATCH
    }

    /// Makes an entry of each block that waits. False: the system refuses.
    fn compile(&mut self, hot: u8, mistakes: &Mistakes) -> bool {
        self.patience = PATIENCE;
        let waiting = std::mem::take(&mut self.waiting);
        let Some(entries) = self.buffer.compile(mistakes) else { return false };
        for (place, entry) in waiting.into_iter().zip(entries) {
            let Some((slot, table)) = place else { continue };
            self.heat[slot] = if entry == 0 { NEVER } else { hot };
            self.enter(slot, table, entry);
        }
        true
    }

    /// Returns a slot's entry in a table.
    fn entry(&self, slot: usize, table: usize) -> u32 {
        self.entries[table].get(slot).copied().unwrap_or_default()
    }

    /// Returns whether blocks in `slot` may start after an instruction without a branch as `start` says.
    fn starts(&self, slot: usize, start: u32) -> bool {
        start == BRANCHED || self.starts.get(slot).is_none_or(|&known| known == BRANCHED || known == start)
    }

    /// Points the entry of a slot, and all links to it, at its block.
    fn enter(&mut self, slot: usize, table: usize, entry: u32) {
        // The table in which the block looks others up must exist, too.
        for table in [table, table.min(1)] {
            if entry != 0 && self.entries[table].is_empty() {
                self.entries[table] = vec![0; self.heat.len()];
            }
        }
        if let Some(place) = self.entries[table].get_mut(slot) {
            *place = entry;
        }
        let address = self.buffer.start() + entry as usize;
        for &(link, _) in self.chains.get(table).and_then(|chains| chains.get(&slot)).into_iter().flatten() {
            self.buffer.link(link, address);
        }
    }

    /// Adds the links of the block in `slot`.
    fn add_links(&mut self, slot: usize, exits: Vec<usize>, ahead: usize) {
        let first = self.buffer.add_links(exits.len());
        for (number, &exit) in exits.iter().enumerate() {
            self.chains[ahead].entry(exit).or_default().push((first + number, slot));
            self.buffer.link(first + number, self.buffer.start() + self.entry(exit, ahead) as usize);
        }
        self.exits.entry(slot).or_default().extend(exits);
    }

    /// Drops the blocks in `slot`.
    fn drop_blocks(&mut self, slot: usize) {
        for table in 0..self.entries.len() {
            self.enter(slot, table, 0);
        }
        if let Some(start) = self.starts.get_mut(slot) {
            *start = BRANCHED;
        }
        for exit in self.exits.remove(&slot).into_iter().flatten() {
            for chains in &mut self.chains {
                if let Some(links) = chains.get_mut(&exit) {
                    links.retain(|&(_, block)| block != slot);
                }
            }
        }
        self.waiting
            .iter_mut()
            .filter(|place| place.is_some_and(|(waits, _)| waits == slot))
            .for_each(|place| *place = None);
        self.heat[slot] = 0;
    }
}

/// The blocks of one chip's memory.
pub struct Translated {
    slots: usize,
    /// The slots of SRAM.
    sram: Range<usize>,
    flash_size: usize,
    /// Bytes of flash from its start that code is translated from.
    flash_reach: usize,
    blocks: Option<Blocks>,
    /// Translation is off: by request, or because the system does not allow it.
    off: bool,
    /// The blocks count accesses to [`Map::COUNTED`].
    counting: bool,
    /// How often blocks were dropped, and how often the running one had to be left without that.
    drops: u64,
    leaves: u64,
    /// How often a branch must lead to an instruction before a block is made there.
    hot: u8,
    /// Bytes of code, after which all of it is dropped.
    room: usize,
    ahead: Box<Ahead>,
    /// What a loop that polls had, in the present run, and passes through such loops that are known.
    seen: Seen,
    passes: [Pass; PASSES],
    pub(crate) mistakes: Mistakes,
}

impl Translations for Translated {
    fn new<M: Map>(flash_size: usize) -> Self {
        Self {
            slots: M::FLASH_OPS + flash_size / 2 + 1,
            sram: M::SRAM_OPS..M::SCRATCH_OP,
            flash_size,
            flash_reach: flash_size,
            blocks: None,
            off: false,
            counting: false,
            drops: 0,
            leaves: 0,
            hot: HOT,
            room: SIZE,
            ahead: Box::new(Ahead::new::<M>()),
            seen: Seen::default(),
            passes: Default::default(),
            mistakes: Mistakes::default(),
        }
    }

    #[inline]
    fn forget(&mut self, slot: usize) {
        if let Some(blocks) = &self.blocks
            && blocks.reached[slot / GRANULE_SLOTS]
            && !self.mistakes.overlook(slot, &self.sram)
        {
            self.drop_at(slot);
        }
    }

    fn reaches(&self, slots: Range<usize>) -> bool {
        let mut granules = slots.start / GRANULE_SLOTS..=(slots.end - 1) / GRANULE_SLOTS;
        self.blocks.as_ref().is_some_and(|blocks| granules.any(|granule| blocks.reached[granule]))
    }

    fn reach_flash(&mut self, bytes: usize) {
        self.flash_reach = bytes;
    }

    fn turn_off(&mut self) {
        self.off = true;
        self.drop_all();
    }

    fn make_at_once(&mut self) {
        self.hot = 0;
    }

    fn limit(&mut self, bytes: usize) {
        self.room = bytes;
    }

    fn blocks(&self) -> usize {
        let Some(blocks) = &self.blocks else { return 0 };
        blocks.entries.iter().flatten().filter(|&&entry| entry != 0).count()
    }

    fn generation(&self) -> u64 {
        self.drops + self.leaves
    }

    #[inline(always)]
    fn written_by(&mut self, master: Master) {
        self.mistakes.written_by(master);
    }
}

impl Translated {
    /// Returns whether a deliberate mistake is made.
    pub fn makes(&self, mistake: mistakes::Mistake) -> bool {
        self.mistakes.makes(mistake)
    }

    /// Returns the deliberate mistake that is made.
    #[cfg(feature = "mistakes")]
    pub fn mistake(&self) -> Option<mistakes::Mistake> {
        self.mistakes.made
    }

    /// Translates with a deliberate mistake from now on, for a test of the translator's tests.
    #[cfg(feature = "mistakes")]
    pub fn make_mistake(&mut self, mistake: mistakes::Mistake) {
        self.mistakes.made = Some(mistake);
    }

    /// Leaves the running block after the present access.
    pub fn leave(&mut self) {
        self.leaves += 1;
    }

    /// Returns the table of blocks, or (`ahead`) of those for a core ahead of the other.
    pub(crate) fn entries(&self, ahead: bool) -> *const u32 {
        self.blocks.as_ref().map_or(std::ptr::null(), |blocks| blocks.entries[usize::from(ahead)].as_ptr())
    }

    /// Returns the block for a core ahead of the other, at `pc` after `start`.
    fn ahead_entry<M: Map>(&self, pc: u32, start: u32, offline: bool) -> Option<usize> {
        let blocks = self.blocks.as_ref()?;
        let slot = Part::of::<M>(pc, self.flash_reach, false)?.slot(pc);
        let entry = blocks.entry(slot, table(start, true));
        let usable = entry != 0 && blocks.starts(slot, start) && !(offline && slot >= M::FLASH_OPS);
        usable.then(|| blocks.buffer.start() + entry as usize)
    }

    /// Returns whether a branch to the instruction in `slot` should leave the interpreter: a block exists, or is due.
    /// `left`: cycles to the limit.
    #[inline]
    pub fn wants(&mut self, slot: usize, left: u64) -> bool {
        let Some(blocks) = self.blocks.as_mut().filter(|_| left >= WORTHWHILE) else { return false };
        let heat = &mut blocks.heat[slot];
        if *heat >= self.hot {
            if *heat == WAITING {
                blocks.patience = blocks.patience.saturating_sub(1);
                return blocks.patience == 0;
            }
            return *heat != NEVER;
        }
        *heat += 1;
        *heat == self.hot
    }

    /// Drops the blocks that contain the halfword in `slot`, which changes.
    #[cold]
    fn drop_at(&mut self, slot: usize) {
        let Some(blocks) = &mut self.blocks else { return };
        // A 32-bit instruction starts one slot earlier.
        let end =
            |extent: &Extent| extent.end - 2 * usize::from(self.mistakes.makes(mistakes::Mistake::BlockEndsEarly));
        let touched = |extent: &Extent| (extent.first..=end(extent)).contains(&slot);
        let here = blocks.extents.get(&(slot / GRANULE_SLOTS)).into_iter().flatten();
        let hit: Vec<Extent> = here.copied().filter(touched).collect();
        for extent in hit {
            blocks.drop_blocks(extent.first);
            for granule in extent.granules() {
                if let Some(extents) = blocks.extents.get_mut(&granule) {
                    extents.retain(|other| other.first != extent.first);
                    blocks.reached[granule] = !extents.is_empty();
                }
            }
            self.drops += 1;
        }
    }

    fn drop_all(&mut self) {
        self.drops += 1;
        if self.off {
            self.blocks = None;
            return;
        }
        if let Some(blocks) = &mut self.blocks {
            blocks.entries = [vec![0; self.slots], Vec::new(), Vec::new()];
            blocks.starts = Vec::new();
            blocks.heat = vec![0; self.slots];
            blocks.chains = Default::default();
            blocks.exits.clear();
            blocks.reached.fill(false);
            blocks.extents.clear();
            blocks.waiting.clear();
            blocks.buffer.truncate(blocks.reserved);
        }
    }

    /// Creates a buffer with the code that blocks share, or `None` if this PC does not support it.
    #[cold]
    fn begin<M: Map, A: Translate>(&mut self) -> Option<Blocks> {
        let mut buffer = Buffer::new(self.room)?;
        let (code, routines) = routines::assemble::<M, A>(buffer.next(), self.flash_size)?;
        if !buffer.share(&code, &routines) {
            return None;
        }
        Some(Blocks {
            reserved: buffer.used(),
            buffer,
            routines,
            entries: [vec![0; self.slots], Vec::new(), Vec::new()],
            starts: Vec::new(),
            heat: vec![0; self.slots],
            chains: Default::default(),
            exits: HashMap::new(),
            reached: vec![false; self.slots / GRANULE_SLOTS + 1],
            extents: HashMap::new(),
            waiting: Vec::new(),
            patience: PATIENCE,
        })
    }
}

/// Returns the table with the blocks for `start` ([`Guest::start`]).
fn table(start: u32, ahead: bool) -> usize {
    if ahead { 1 + usize::from(start != BRANCHED) } else { 0 }
}

/// Returns the address of the block for the next instruction of `core`, which is made if that is hot.
#[inline(always)]
fn block_for<M: Map, A: Translate<Core: Guest>>(
    mem: &mut Memory<M, A>,
    core: &A::Core,
    counting: bool,
    ahead: bool,
) -> Option<usize> {
    let (pc, start) = (core.pc(), core.start()?);
    let &Translated { flash_reach, off, hot, .. } = &mem.translated;
    if off {
        return None;
    }
    if mem.translated.blocks.is_none() {
        let blocks = mem.translated.begin::<M, A>();
        mem.translated.off = blocks.is_none();
        mem.translated.blocks = blocks;
    }
    if mem.translated.counting != counting {
        mem.translated.drop_all();
        mem.translated.counting = counting;
    }
    let part = Part::of::<M>(pc, flash_reach, counting)?;
    let slot = part.slot(pc);
    let in_flash = slot >= M::FLASH_OPS;
    if in_flash && mem.xip.offline {
        return None;
    }
    let blocks = mem.translated.blocks.as_mut()?;
    let table = table(start, ahead);
    if !blocks.starts(slot, start) {
        return None;
    }
    let entry = blocks.entry(slot, table);
    if entry != 0 {
        return Some(blocks.buffer.start() + entry as usize);
    }
    if blocks.heat[slot] < hot {
        blocks.heat[slot] += 1;
        return None;
    }
    match blocks.heat[slot] {
        NEVER => None,
        WAITING => compile(mem, slot, table),
        _ => make(mem, part, counting, ahead, (pc, start)),
    }
}

/// Compiles the blocks that wait, if that is due, and returns the address of the one in `slot`.
fn compile<M: Map, A: Translate>(mem: &mut Memory<M, A>, slot: usize, table: usize) -> Option<usize> {
    let Translated { blocks, mistakes, hot, .. } = &mut mem.translated;
    let (blocks, hot) = (blocks.as_mut()?, *hot);
    if !blocks.is_due() && hot > 0 {
        return None;
    }
    if !blocks.compile(hot, mistakes) {
        mem.translated.turn_off();
        return None;
    }
    let entry = blocks.entry(slot, table);
    (entry != 0).then(|| blocks.buffer.start() + entry as usize)
}

#[cold]
fn make<M: Map, A: Translate>(
    mem: &mut Memory<M, A>,
    part: Part,
    counting: bool,
    ahead: bool,
    (pc, start): (u32, u32),
) -> Option<usize> {
    let table = table(start, ahead);
    let slot = part.slot(pc);
    let blocks = mem.translated.blocks.as_ref()?;
    let (routines, at) = (blocks.routines, blocks.buffer.next());
    let room = Room { code: at, links: blocks.buffer.next_link() };
    let block = Block::new(mem, &routines, part, counting, ahead, (pc, start), room).make();
    #[cfg(any(target_arch = "aarch64", all(target_arch = "x86_64", feature = "mistakes")))]
    let block = block.and_then(|made| {
        let lowered = aarch64::lower(&made.code, at, &mem.translated.mistakes);
        debug_assert!(lowered.is_some(), "code of the block at {pc:#x} that AArch64 cannot have");
        Some(part::Made { code: if cfg!(target_arch = "aarch64") { lowered?.bytes } else { made.code }, ..made })
    });
    let blocks = mem.translated.blocks.as_mut()?;
    let Some(block) = block else {
        blocks.heat[slot] = NEVER;
        return None;
    };
    if !blocks.buffer.has_room(block.code.len(), block.exits.len()) {
        // Start over with the code that is hot now.
        mem.translated.drop_all();
        return None;
    }
    if !blocks.buffer.add(&block.code) {
        mem.translated.turn_off();
        return None;
    }
    blocks.add_links(slot, block.exits, usize::from(ahead));
    blocks.waiting.push(Some((slot, table)));
    if start != BRANCHED {
        if blocks.starts.is_empty() {
            blocks.starts = vec![BRANCHED; blocks.heat.len()];
        }
        blocks.starts[slot] = start;
    }
    blocks.heat[slot] = WAITING;
    let end = slot + ((block.end - pc) >> 1) as usize;
    let extent = Extent { first: slot, end };
    for granule in extent.granules() {
        blocks.reached[granule] = true;
        blocks.extents.entry(granule).or_default().push(extent);
    }
    if mem.translated.sram.contains(&slot) {
        for halfword in slot..end {
            mem.mark_code((halfword - M::SRAM_OPS) * 2);
        }
    } else if slot >= M::FLASH_OPS {
        [slot, end - 1].into_iter().for_each(|slot| mem.mark_flash((slot - M::FLASH_OPS) * 2));
    }
    compile(mem, slot, table)
}

/// Runs blocks from the PC of `core` on until `limit`, or until one leads outside translated code. `None`: no block
/// exists for the PC. An event that comes sooner lowers the limit.
#[inline(always)]
pub fn run<A, B>(core: &mut A::Core, mem: &mut Memory<B::Map, A>, bus: &mut B, limit: &mut u64) -> Option<Left>
where
    A: Translate<Core: Accesses<A, B>>,
    B: Bus<A>,
{
    mem.translated.mistakes.written_by(Master::Core(core.index()));
    if *limit - core.cycles() < WORTHWHILE || core.start() != Some(BRANCHED) {
        return None;
    }
    let counting = bus.counted() != 0;
    let counter = bus.bank_counter().map_or(std::ptr::null_mut(), |counter| &raw mut *counter);
    if counting && counter.is_null() {
        return None;
    }
    let entry = block_for(mem, &*core, counting, false)?;
    let (left, stop) = enter(core, mem, bus, *limit, entry, counter, None)?;
    *limit = stop.min(*limit);
    Some(if left == BAILED { Left::Interpret } else { Left::Look })
}

/// Runs the block at `entry`, and those that it leads to, until `limit`. `ahead`: in a window, the core's place in it.
/// Returns why it was left, and the cycle at which it had to stop.
#[inline(always)]
fn enter<A, B>(
    core: &mut A::Core,
    mem: &mut Memory<B::Map, A>,
    bus: &mut B,
    limit: u64,
    mut entry: usize,
    counter: *mut u32,
    ahead: Option<usize>,
) -> Option<(u32, u64)>
where
    A: Translate<Core: Accesses<A, B>>,
    B: Bus<A>,
{
    let blocks = mem.translated.blocks.as_ref()?;
    let code = blocks.buffer.start();
    let limit = limit.min(core.cycles() + RUN);
    let mut function = blocks.buffer.function(&blocks.routines, entry);
    mem.translated.seen.place = [0; 4];
    let (core, mem, bus) = (&raw mut *core, &raw mut *mem, &raw mut *bus);
    // SAFETY: all three are borrowed exclusively while this function runs, and used only through these pointers
    // until the block exits. `function` is in the buffer, assembled for this ABI, and so is `entry`. Its code is not
    // written during the call: blocks are made only above.
    let (left, mut context) = unsafe {
        let mut context = Context::new::<A, B>(core, mem, bus, limit, code, counter, ahead);
        loop {
            let run = std::mem::transmute::<usize, Enter<A::Core>>(function);
            let left = run(core, &raw mut context, entry);
            if Buffer::BATCH == 1 || context.next == 0 {
                break (left, context);
            }
            entry = std::mem::take(&mut context.next) as usize;
            let blocks = (*mem).translated.blocks.as_ref()?;
            function = blocks.buffer.function(&blocks.routines, entry);
        }
    };
    // SAFETY: the pointers above are no longer used.
    let (core, mem) = unsafe { (&mut *core, &mut *mem) };
    context.settle(core, mem);
    if let Some(panic) = context.panic.take() {
        resume_unwind(panic);
    }
    Some((left, context.limit))
}
