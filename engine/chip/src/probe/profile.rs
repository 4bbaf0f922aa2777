//! Profiles of the cores' cycles: by instruction and by call path, or by samples.

use std::collections::{BTreeMap, BTreeSet};

use crate::debug::Place;

use super::{Flow, Probed, Seen};

/// Longest call path; deeper calls are charged to its last function.
const DEEPEST: usize = 512;

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
    /// By the address of the instruction.
    at: BTreeMap<u32, Spent>,
    nodes: Vec<Node>,
    children: BTreeMap<(usize, u32, u32), usize>,
    starts: BTreeSet<u32>,
    paths: [Path; 2],
}

impl Profile {
    /// Starts a profile; `starts`: known addresses of functions.
    pub(super) fn new(cores: [Seen; 2], starts: impl IntoIterator<Item = u32>) -> Self {
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
            at: BTreeMap::new(),
            nodes: vec![root(0), root(1)],
            children: BTreeMap::new(),
            starts: starts.into_iter().map(|start| start & !1).collect(),
            paths: [path(0), path(1)],
        };
        for core in cores.iter().filter(|core| core.running) {
            profile.enter_unknown(core.place);
        }
        profile
    }

    /// Returns the cost of each address, in order.
    pub fn addresses(&self) -> Vec<(u32, Spent)> {
        self.at
            .iter()
            .map(|(&address, &spent)| (address, spent))
            .filter(|(_, spent)| *spent != Spent::default())
            .collect()
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
    pub(super) fn catch_up(&mut self, core: &Seen) {
        let path = &mut self.paths[core.place.core];
        let gap = core.cycles.saturating_sub(path.until);
        path.until = core.cycles;
        if gap != 0 {
            let node = path.node();
            self.nodes[node].asleep += gap;
        }
    }

    /// Handles `exception`, which the core took between `before` and `after`.
    pub(super) fn interrupted(&mut self, before: &Seen, after: &Seen, exception: u32) {
        self.push(after.place.core, after.place.pc, exception, before.place.pc, before.sp);
        self.charge(after, Spent::default());
    }

    /// Handles the instruction that `core` has executed since `before`. `counts`: misses of the flash cache, and cycles
    /// of waiting for them, there.
    pub(super) fn executed(&mut self, before: &Seen, counts: (u64, u64), core: &impl Probed) {
        let after = core.seen();
        let cycles = after.cycles - before.cycles;
        let instructions = after.place.instructions - before.place.instructions;
        let (misses, stalls) = (core.xip().misses - counts.0, core.xip().stalled - counts.1);
        let spent = Spent { instructions, cycles, stalls: stalls.min(cycles), misses };
        let (pc, next) = (before.place.pc, after.place.pc);
        self.at.entry(pc).or_default().add(spent);
        self.charge(&after, spent);
        if instructions == 0 && next == pc {
            return;
        }
        if next == pc.wrapping_add(2) || next == pc.wrapping_add(4) {
            return;
        }
        if let Some(exception) = core.entered(before.place.exception) {
            // An SVC or a fault: it may continue after the instruction or repeat it.
            self.push(after.place.core, next, exception, pc, before.sp);
            return;
        }
        match core.flow(pc) {
            Flow::Within => {}
            Flow::Call(bytes) => self.call(after.place.core, next, pc.wrapping_add(bytes), before.sp),
            flow => self.jump(&after, flow == Flow::Return),
        }
    }

    fn charge(&mut self, core: &Seen, mut spent: Spent) {
        let path = &mut self.paths[core.place.core];
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
    fn jump(&mut self, after: &Seen, leaves: bool) {
        let (core, sp, pc) = (after.place.core, after.sp, after.place.pc);
        let path = &mut self.paths[core];
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
            self.enter_unknown(after.place);
        } else if self.starts.contains(&pc) {
            let Some(Frame { node, back, sp }) = self.paths[core].frames.pop() else { return };
            if self.nodes[node].function == pc {
                self.paths[core].frames.push(Frame { node, back, sp });
                return;
            }
            let exception = self.nodes[node].exception;
            self.push(core, pc, exception, back, sp);
        }
    }

    /// Enters a function that was called before the profile started.
    fn enter_unknown(&mut self, place: Place) {
        let function = self.starts.range(..=place.pc).next_back().copied().unwrap_or(place.pc);
        self.push(place.core, function, 0, u32::MAX, u32::MAX);
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
pub(super) struct Sampler {
    counts: Option<BTreeMap<(usize, u32), u64>>,
}

impl Sampler {
    /// Starts with no samples.
    pub(super) fn start(&mut self) {
        self.counts = Some(BTreeMap::new());
    }

    /// Ends sampling; returns the samples of each core and address.
    pub(super) fn stop(&mut self) -> BTreeMap<(usize, u32), u64> {
        self.counts.take().unwrap_or_default()
    }

    /// Takes a sample of a core, if samples are taken.
    pub(super) fn count(&mut self, place: Place) {
        if let Some(counts) = &mut self.counts {
            *counts.entry((place.core, place.pc)).or_default() += 1;
        }
    }
}
