//! Lowers code for x86-64, which every block is assembled to, to WebAssembly.
//!
//! Its registers and flags are locals. All blocks of a module are in one function, whose loop jumps to the block with a
//! number: the value of a link, and of the table of entries. WebAssembly has no other jumps backward, so the code of a block
//! is put in an order in which each jump leads forward, out of nested blocks (`block`) that end where it leads to.
//!
//! A flag is computed where it is read, from the operands of the instruction that has set it.

/// Appends an operation for 32 bits, or the one for 64 if `$wide`.
macro_rules! sized {
    ($self:ident, $wide:expr, $narrow:ident, $long:ident) => {
        if $wide {
            $self.op().$long();
        } else {
            $self.op().$narrow();
        }
    };
}

mod flags;
mod instructions;
mod modules;
mod operands;

use std::collections::HashMap;

use iced_x86::FlowControl;
use wasm_encoder::{BlockType, Function, InstructionSink, ValType};

use self::flags::{Carry, Source};
pub(super) use self::modules::{Buffer, SIZE};
use super::mistakes::{Mistake, Mistakes};
use super::routines::{NEXT, PORT, STORE, TOUCH};
use super::x86::Code;

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RBX: usize = 3;
const RBP: usize = 5;
const RSI: usize = 6;
const RDI: usize = 7;
const R13: usize = 13;
const R14: usize = 14;
const R15: usize = 15;

/// Registers of 64 bits. All others hold 32: values of the guest, and addresses.
const WIDE: [usize; 4] = [RAX, RCX, RDX, R14];
/// Registers with values of the guest.
const GUEST: [usize; 8] = [RDI, RSI, 8, 9, 10, 11, 12, RBP];
/// Most values on x86's stack in translated code.
const STACK: usize = 16;
/// Those below the frame of the code that all blocks share.
const FRAME: usize = 8;

/// A function of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Runs blocks: of the core, the context and the block's number.
    Blocks,
    /// A routine that passes the guest's registers through the core, and may end the run.
    Engine,
    /// A routine that leaves them.
    Keeping,
}

impl Kind {
    /// Returns the registers that a routine takes.
    pub(super) fn takes(self) -> Vec<usize> {
        match self {
            Self::Blocks => Vec::new(),
            Self::Engine => [RAX, RCX, RDX, R14, RBX, R15].into_iter().chain(GUEST).collect(),
            Self::Keeping => vec![RAX, RCX, RDX, R14, R15],
        }
    }

    /// Returns those that it returns; before them [`Kind::Engine`] has whether the run has ended.
    pub(super) fn returns(self) -> Vec<usize> {
        match self {
            Self::Blocks => Vec::new(),
            Self::Engine => [RAX, R14].into_iter().chain(GUEST).collect(),
            Self::Keeping => vec![RAX, RDX, R14],
        }
    }
}

/// Returns the type of a register's local.
pub(super) fn type_of(register: usize) -> ValType {
    if WIDE.contains(&register) { ValType::I64 } else { ValType::I32 }
}

/// Types of the functions that code calls, by the last parameter behind two numbers of 32 bits. They return one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    Two,
    Three,
    Long,
}

impl Called {
    pub(super) const ALL: [Self; 3] = [Self::Two, Self::Three, Self::Long];

    /// Returns that of the function at an offset of the context.
    fn at(offset: i32) -> Self {
        if offset == TOUCH || (STORE..STORE + 3 * 8).contains(&offset) {
            Self::Three
        } else if (PORT..PORT + 3 * 8).contains(&offset) {
            Self::Long
        } else {
            Self::Two
        }
    }

    pub(super) fn parameters(self) -> Vec<ValType> {
        let last = match self {
            Self::Two => None,
            Self::Three => Some(ValType::I32),
            Self::Long => Some(ValType::I64),
        };
        [ValType::I32; 2].into_iter().chain(last).collect()
    }
}

/// The code that blocks share, and where it has what they jump to and call.
pub(super) struct Shared {
    /// The function's first instructions, which jump to a block.
    pub(super) enter: Code,
    /// The code to jump to.
    pub(super) rest: Code,
    /// The instructions at which it is entered.
    pub(super) roots: Vec<usize>,
    /// The way of a jump to no block.
    pub(super) no_block: u64,
    /// The end of a run whose state is written back.
    pub(super) abandon: u64,
    /// The routines' functions.
    pub(super) routines: HashMap<u64, (u32, Kind)>,
    /// The first of [`Called::ALL`] among the types.
    pub(super) called: u32,
}

/// The state of the code's values at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    source: Source,
    carry: Carry,
    /// Values on x86's stack.
    depth: usize,
}

/// A `block` or `loop` that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// The loop that jumps to a block.
    Dispatch,
    /// It ends at an address of x86's code.
    Until(u64),
    /// Neither.
    Other,
}

/// A function in the making.
pub(super) struct Lowering<'a> {
    code: Vec<u8>,
    kind: Kind,
    shared: &'a Shared,
    mistakes: &'a Mistakes,
    /// The local of each register.
    registers: [u32; 16],
    types: Vec<ValType>,
    first: [u32; 2],
    second: [u32; 2],
    result: [u32; 2],
    carry: u32,
    address: u32,
    next: u32,
    stack: u32,
    frames: Vec<Frame>,
    state: State,
    /// The flags that are read after the current instruction.
    live: u32,
}

impl<'a> Lowering<'a> {
    /// Starts a function.
    pub(super) fn new(kind: Kind, shared: &'a Shared, mistakes: &'a Mistakes) -> Self {
        let mut registers = [0; 16];
        let taken = kind.takes();
        let mut local = if kind == Kind::Blocks { 3 } else { 0 };
        for &register in &taken {
            registers[register] = local;
            local += 1;
        }
        let mut types = Vec::new();
        let mut add = |ty| {
            types.push(ty);
            local += 1;
            local - 1
        };
        for (register, place) in registers.iter_mut().enumerate().filter(|(register, _)| !taken.contains(register)) {
            *place = add(type_of(register));
        }
        let [first, second, result] = [0; 3].map(|_| [add(ValType::I32), add(ValType::I64)]);
        let [carry, address, next] = [0; 3].map(|_| add(ValType::I32));
        let stack = add(ValType::I64);
        (1..STACK).for_each(|_| _ = add(ValType::I64));
        let (code, frames, state) = (Vec::new(), Vec::new(), State { depth: FRAME, ..State::default() });
        Self {
            code,
            kind,
            shared,
            mistakes,
            registers,
            types,
            first,
            second,
            result,
            carry,
            address,
            next,
            stack,
            frames,
            state,
            live: 0,
        }
    }

    /// Returns the function of blocks whose numbers count from `number`, and for each whether it can be lowered.
    pub(super) fn blocks(mut self, blocks: &[Code], number: u32) -> Option<(Function, Vec<bool>)> {
        for (parameter, register) in [RDI, RSI, RDX].into_iter().enumerate() {
            self.op().local_get(parameter as u32);
            self.set(register, false)?;
        }
        let shared = self.shared;
        self.region(&shared.enter, &[0], |_| Some(()))?;
        self.op().loop_(BlockType::Empty);
        self.frames.push(Frame::Dispatch);
        let mut able = Vec::new();
        self.region(&shared.rest, &shared.roots, |this| {
            let starts: Vec<Frame> = blocks.iter().map(|block| Frame::Until(block.instructions[0].ip())).collect();
            this.open(Frame::Other);
            let default = starts.len() as u32;
            for &start in starts.iter().rev() {
                this.open(start);
            }
            let depths: Option<Vec<u32>> = starts.iter().map(|&start| this.depth(start)).collect();
            let next = this.next;
            this.op().local_get(next).i32_const(number as i32).i32_sub().br_table(depths?, default);
            for block in blocks {
                this.close();
                let (length, frames) = (this.code.len(), this.frames.len());
                this.state = State::default();
                let lowered = this.region(block, &[0], |_| Some(())).is_some();
                able.push(lowered);
                if !lowered {
                    this.code.truncate(length);
                    this.frames.truncate(frames);
                    this.op().unreachable();
                }
            }
            // A block of another module, or none.
            this.close();
            let context = this.registers[R15];
            this.op().local_get(context).local_get(next).i32_store(operands::memory(NEXT as u64));
            this.jump(shared.no_block)
        })?;
        self.close();
        self.op().unreachable();
        Some((self.finish(), able))
    }

    /// Returns the function of a routine.
    pub(super) fn routine(mut self, code: &Code) -> Option<Function> {
        self.region(code, &[0], |_| Some(()))?;
        Some(self.finish())
    }

    fn finish(mut self) -> Function {
        self.op().end();
        let mut function = Function::new_with_locals_types(self.types);
        function.raw(self.code);
        function
    }

    fn makes(&self, mistake: Mistake) -> bool {
        self.mistakes.makes(mistake)
    }

    fn op(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.code)
    }

    // -- places in the code

    fn open(&mut self, frame: Frame) {
        self.op().block(BlockType::Empty);
        self.frames.push(frame);
    }

    fn close(&mut self) {
        self.op().end();
        self.frames.pop();
    }

    /// Returns how many frames are open inside of one.
    fn depth(&self, frame: Frame) -> Option<u32> {
        Some(self.frames.iter().rev().position(|&other| other == frame)? as u32)
    }

    /// Lowers code that is entered at `roots`, with `first` before it, where all of its frames are open.
    fn region(&mut self, code: &Code, roots: &[usize], first: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let Code { instructions, targets, live } = code;
        let mut leads = vec![false; instructions.len() + 1];
        roots.iter().chain(targets.iter().flatten()).for_each(|&target| leads[target] = true);
        for (index, instruction) in instructions.iter().enumerate() {
            let next =
                matches!(instruction.flow_control(), FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall);
            leads[index + 1] |= !next;
        }
        // Pieces without jumps, by their first instruction.
        let end = |start: usize| (start + 1..leads.len()).find(|&index| leads[index]).unwrap_or(instructions.len());
        let followers = |start: usize| {
            let last = end(start) - 1;
            let on = Some(last + 1).filter(|&next| next < instructions.len());
            match instructions[last].flow_control() {
                FlowControl::UnconditionalBranch => [targets[last], None],
                FlowControl::ConditionalBranch => [targets[last], on],
                FlowControl::IndirectBranch | FlowControl::Return => [None; 2],
                _ => [None, on],
            }
        };
        let order = forward(roots, instructions.len(), followers);
        let mut entered: HashMap<usize, State> = HashMap::new();
        let places: HashMap<usize, usize> = order.iter().enumerate().map(|(place, &start)| (start, place)).collect();
        for &start in order.iter().rev() {
            self.open(Frame::Until(instructions[start].ip()));
        }
        first(self)?;
        for (place, &start) in order.iter().enumerate() {
            self.close();
            if let Some(&state) = entered.get(&start) {
                self.state = state;
            } else if roots.contains(&start) {
                (live[start].0 == 0).then_some(())?;
                // The return address of a routine.
                let called = self.kind != Kind::Blocks || instructions[start].ip() == self.shared.abandon;
                let frame = if self.kind == Kind::Blocks { FRAME } else { 0 };
                self.state = State { depth: frame + usize::from(called), ..State::default() };
            }
            let later = followers(start).into_iter().flatten().all(|follower| places[&follower] > place);
            later.then_some(())?;
            for index in start..end(start) {
                self.live = live[index].1;
                self.instruction(&instructions[index], targets[index].is_some_and(|to| places[&to] == place + 1))?;
            }
            // Those that another piece leads to, too, start with the same state.
            for follower in followers(start).into_iter().flatten() {
                let known = if live[follower].0 == 0 {
                    State { depth: self.state.depth, ..State::default() }
                } else {
                    self.state
                };
                (*entered.entry(follower).or_insert(known) == known).then_some(())?;
            }
            if let [_, Some(on)] = followers(start)
                && places[&on] != place + 1
            {
                let depth = self.depth(Frame::Until(instructions[on].ip()))?;
                self.op().br(depth);
            }
        }
        Some(())
    }
}

/// Returns the pieces of code that are reached from `roots`, by their first of `count` instructions, in an order in which
/// each comes after those that lead to it, if there is no loop. A piece that is only jumped to comes late.
fn forward(roots: &[usize], count: usize, followers: impl Fn(usize) -> [Option<usize>; 2]) -> Vec<usize> {
    let mut seen = vec![false; count];
    let mut order = Vec::new();
    for &root in roots {
        let mut open = vec![(root, 0)];
        while let Some((piece, next)) = open.pop() {
            if next == 0 && std::mem::replace(&mut seen[piece], true) {
                continue;
            }
            if next == 2 {
                order.push(piece);
                continue;
            }
            open.push((piece, next + 1));
            open.extend(followers(piece)[next].filter(|&follower| !seen[follower]).map(|follower| (follower, 0)));
        }
    }
    order.reverse();
    order
}
