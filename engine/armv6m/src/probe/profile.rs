//! Profiles of the cores' cycles: by instruction and by call path, or by samples.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::{Core, State};
use crate::decode::Kind;
use crate::map::Map;
use crate::memory::Memory;

/// Longest call path; deeper calls are charged to its last function.
const DEEPEST: usize = 512;

/// The state before one instruction.
pub(crate) struct Instruction {
    pc: u32,
    cycles: u64,
    pub(super) instructions: u64,
    misses: u64,
    pub(super) exception: u32,
    slot: usize,
    sp: u32,
}

impl Instruction {
    pub(super) fn at<M: Map>(core: &Core, mem: &Memory<M>) -> Self {
        Self {
            pc: core.pc,
            cycles: core.cycles,
            instructions: core.instructions,
            misses: mem.xip.misses,
            exception: core.ipsr,
            slot: mem.slot(core.pc),
            sp: core.regs[13],
        }
    }
}

/// Cycles and instructions spent at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles, including `stalls`.
    pub cycles: u64,
    /// Cycles in which the core waited for the flash because of a cache miss.
    pub stalls: u64,
    /// Misses of the flash cache.
    pub misses: u64,
}

impl Spent {
    fn add(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.cycles += other.cycles;
        self.stalls += other.stalls;
        self.misses += other.misses;
    }
}

/// A function on one path of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the caller; a root is its parent.
    pub parent: usize,
    /// Start of the function, as called; 0 for a root.
    pub function: u32,
    /// Index of the core.
    pub core: usize,
    /// Number of the exception that it handles, if it was entered by one.
    pub exception: u32,
    /// How often it was called on this path.
    pub calls: u64,
    /// Spent by the function itself, without its callees.
    pub spent: Spent,
    /// Cycles in WFI or WFE in this function.
    pub asleep: u64,
}

#[derive(Clone, Copy)]
struct Frame {
    node: usize,
    /// Return address in the caller, and the stack pointer there.
    back: u32,
    sp: u32,
}

struct Path {
    root: usize,
    frames: Vec<Frame>,
    /// Cycle up to which everything is accounted for.
    until: u64,
}

impl Path {
    fn node(&self) -> usize {
        self.frames.last().map_or(self.root, |frame| frame.node)
    }
}

/// A profile of every call and every cycle.
///
/// A function has returned when its caller's stack pointer and return address are restored, or when the stack has
/// shrunk below its frame, as by `longjmp`. A jump to the start of a function (a tail call) replaces the jumping
/// function by it. Known starts are those given and those called so far.
pub struct Profile {
    /// Returns the address of a slot.
    address: fn(usize) -> u32,
    at: Vec<Spent>,
    nodes: Vec<Node>,
    children: BTreeMap<(usize, u32, u32), usize>,
    starts: BTreeSet<u32>,
    paths: [Path; 2],
}

impl Profile {
    /// Starts a profile; `starts`: known addresses of functions.
    pub fn new<M: Map>(cores: &[Core; 2], mem: &Memory<M>, starts: impl IntoIterator<Item = u32>) -> Self {
        let root = |core: usize| Node {
            parent: core,
            function: 0,
            core,
            exception: 0,
            calls: 0,
            spent: Spent::default(),
            asleep: 0,
        };
        let path = |core: usize| Path { root: core, frames: Vec::new(), until: cores[core].cycles };
        let mut profile = Self {
            address: Memory::<M>::address,
            at: vec![Spent::default(); mem.ops.len()],
            nodes: vec![root(0), root(1)],
            children: BTreeMap::new(),
            starts: starts.into_iter().map(|start| start & !1).collect(),
            paths: [path(0), path(1)],
        };
        for core in cores {
            if core.state == State::Running {
                profile.enter_unknown(core);
            }
        }
        profile
    }

    /// Returns the cost of each address, in order.
    pub fn addresses(&self) -> Vec<(u32, Spent)> {
        let spent = self.at.iter().enumerate().filter(|(_, spent)| **spent != Spent::default());
        let mut found: Vec<_> = spent.map(|(slot, spent)| ((self.address)(slot), *spent)).collect();
        found.sort_unstable_by_key(|(address, _)| *address);
        found
    }

    /// Returns all call paths; each node follows its parent.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the known starts of functions.
    pub fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        self.starts.iter().copied()
    }

    /// Accounts for the time that the core slept or was held since the last call.
    pub(super) fn catch_up(&mut self, core: &Core) {
        let path = &mut self.paths[core.index];
        let gap = core.cycles.saturating_sub(path.until);
        path.until = core.cycles;
        if gap != 0 {
            let node = path.node();
            self.nodes[node].asleep += gap;
        }
    }

    /// Handles an exception that `core` took at `from`, with stack pointer `sp`.
    pub(super) fn interrupted(&mut self, core: &Core, from: u32, sp: u32) {
        self.push(core.index, core.pc, core.ipsr, from, sp);
        self.charge(core, Spent::default());
    }

    /// Handles the instruction at `before` that `core` has executed.
    pub(super) fn executed<M: Map>(&mut self, before: &Instruction, core: &Core, mem: &Memory<M>) {
        let misses = mem.xip.misses - before.misses;
        let stalls = if mem.xip.cost_enabled { misses * u64::from(mem.xip.miss_cycles) } else { 0 };
        let cycles = core.cycles - before.cycles;
        let instructions = core.instructions - before.instructions;
        let spent = Spent { instructions, cycles, stalls: stalls.min(cycles), misses };
        self.at[before.slot].add(spent);
        self.charge(core, spent);
        let (pc, next) = (before.pc, core.pc);
        if instructions == 0 && next == pc {
            return;
        }
        if next == pc.wrapping_add(2) || next == pc.wrapping_add(4) {
            return;
        }
        let index = core.index;
        if core.ipsr != before.exception && core.regs[14] >= 0xffff_fff0 {
            // An SVC or a fault: it may continue after the instruction or repeat it.
            self.push(index, next, core.ipsr, pc, before.sp);
            return;
        }
        match mem.op(before.slot).kind {
            Kind::Bl => self.call(index, next, pc.wrapping_add(4), before.sp),
            Kind::Blx => self.call(index, next, pc.wrapping_add(2), before.sp),
            Kind::Beq | Kind::Bne | Kind::Bcs | Kind::Bcc | Kind::Bmi | Kind::Bpl | Kind::Bvs | Kind::Bvc => {}
            Kind::Bhi | Kind::Bls | Kind::Bge | Kind::Blt | Kind::Bgt | Kind::Ble => {}
            kind => self.jump(core, matches!(kind, Kind::Bx | Kind::PopPc)),
        }
    }

    fn charge(&mut self, core: &Core, mut spent: Spent) {
        let path = &mut self.paths[core.index];
        // Includes the cycles of an exception's entry, which belong to no instruction.
        spent.cycles = core.cycles.saturating_sub(path.until);
        path.until = core.cycles;
        let node = path.node();
        self.nodes[node].spent.add(spent);
    }

    fn call(&mut self, core: usize, function: u32, back: u32, sp: u32) {
        self.starts.insert(function);
        self.push(core, function, 0, back, sp);
    }

    /// Handles a jump. `leaves`: the instruction is one that returns from functions.
    fn jump(&mut self, core: &Core, leaves: bool) {
        let (sp, pc) = (core.regs[13], core.pc);
        let path = &mut self.paths[core.index];
        let mut returned = false;
        while let Some(frame) = path.frames.last() {
            let is_back = frame.sp == sp && frame.back & !1 == pc;
            // A frame without a known call has no stack pointer to compare.
            if !is_back && (frame.sp >= sp || frame.back == u32::MAX) {
                break;
            }
            path.frames.pop();
            returned = true;
            if is_back {
                return;
            }
        }
        let unknown = path.frames.last().is_none_or(|frame| frame.back == u32::MAX);
        if unknown && (returned || leaves) && !self.starts.contains(&pc) {
            // Back in the unknown caller.
            path.frames.clear();
            self.enter_unknown(core);
        } else if self.starts.contains(&pc) {
            let Some(Frame { node, back, sp }) = self.paths[core.index].frames.pop() else { return };
            if self.nodes[node].function == pc {
                self.paths[core.index].frames.push(Frame { node, back, sp });
                return;
            }
            let exception = self.nodes[node].exception;
            self.push(core.index, pc, exception, back, sp);
        }
    }

    /// Enters a function that was called before the profile started.
    fn enter_unknown(&mut self, core: &Core) {
        let function = self.starts.range(..=core.pc).next_back().copied().unwrap_or(core.pc);
        self.push(core.index, function, 0, u32::MAX, u32::MAX);
    }

    fn push(&mut self, core: usize, function: u32, exception: u32, back: u32, sp: u32) {
        let path = &mut self.paths[core];
        let parent = path.node();
        let deep = path.frames.len() >= DEEPEST;
        let next = self.nodes.len();
        let key = (parent, function, exception);
        let node = if deep { parent } else { *self.children.entry(key).or_insert(next) };
        if node == next {
            let spent = Spent::default();
            self.nodes.push(Node { parent, function, core, exception, calls: 0, spent, asleep: 0 });
        }
        self.nodes[node].calls += 1;
        self.paths[core].frames.push(Frame { node, back, sp });
    }
}

/// Samples of the program counter at regular cycles of clk_sys.
#[derive(Default)]
pub struct Sampler {
    counts: Option<BTreeMap<(usize, u32), u64>>,
}

impl Sampler {
    /// Starts with no samples.
    pub fn start(&mut self) {
        self.counts = Some(BTreeMap::new());
    }

    /// Ends sampling; returns the samples of each core and address.
    pub fn stop(&mut self) -> BTreeMap<(usize, u32), u64> {
        self.counts.take().unwrap_or_default()
    }

    /// Returns whether samples are taken.
    #[inline]
    pub fn on(&self) -> bool {
        self.counts.is_some()
    }

    /// Takes a sample of `core`.
    pub fn count(&mut self, core: &Core) {
        if let Some(counts) = &mut self.counts {
            *counts.entry((core.index, core.pc)).or_default() += 1;
        }
    }
}
