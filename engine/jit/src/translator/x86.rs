//! Code for x86-64 as a lowering to another machine reads it.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, MemorySize, OpKind, RflagsBits};

pub(super) const CF: u32 = RflagsBits::CF;
pub(super) const SIGNED: u32 = RflagsBits::SF | RflagsBits::OF;
const FLAGS: u32 = CF | RflagsBits::ZF | SIGNED;
/// The flags that a routine may return.
const RETURNED: u32 = RflagsBits::ZF;

/// Instructions in the order of their addresses.
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    /// The instruction that each jumps to, if it is one of these.
    pub(super) targets: Vec<Option<usize>>,
    /// The flags that are read later, before and after each.
    pub(super) live: Vec<(u32, u32)>,
}

impl Code {
    /// Decodes machine code at an address.
    pub(super) fn read(code: &[u8], base: usize) -> Self {
        Self::new(decode(code, base))
    }

    /// Takes such instructions.
    pub(super) fn new(instructions: Vec<Instruction>) -> Self {
        let number = |address: u64| instructions.binary_search_by_key(&address, Instruction::ip).ok();
        let targets: Vec<Option<usize>> = instructions
            .iter()
            .map(|instruction| match instruction.op0_kind() {
                OpKind::NearBranch64 => number(instruction.near_branch64()),
                _ => None,
            })
            .collect();
        let live = live_flags(&instructions, &targets);
        Self { instructions, targets, live }
    }
}

/// Decodes machine code at an address.
pub(super) fn decode(code: &[u8], base: usize) -> Vec<Instruction> {
    Decoder::with_ip(64, code, base as u64, DecoderOptions::NONE).into_iter().collect()
}

/// Returns the flags that are read later, before and after each instruction.
fn live_flags(code: &[Instruction], targets: &[Option<usize>]) -> Vec<(u32, u32)> {
    let mut live = vec![(0, 0); code.len()];
    let effects: Vec<(u32, u32)> = code
        .iter()
        .map(|instruction| match instruction.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => (0, FLAGS),
            _ => (instruction.rflags_read() & FLAGS, instruction.rflags_modified() & FLAGS),
        })
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..code.len()).rev() {
            let at = |index: usize| live.get(index).map_or(0, |&(before, _)| before);
            let there = targets[index].map_or(0, at);
            let after = match code[index].flow_control() {
                FlowControl::UnconditionalBranch => there,
                FlowControl::ConditionalBranch => there | at(index + 1),
                FlowControl::Return => RETURNED,
                FlowControl::IndirectBranch => 0,
                _ => at(index + 1),
            };
            let (reads, modifies) = effects[index];
            let now = (after & !modifies | reads, after);
            changed |= live[index] != now;
            live[index] = now;
        }
    }
    live
}

/// Returns the bytes of an instruction's first operand.
pub(super) fn bytes(i: &Instruction) -> u32 {
    match i.op0_kind() {
        OpKind::Register => i.op0_register().size() as u32,
        OpKind::Memory if i.memory_size() != MemorySize::Unknown => i.memory_size().size() as u32,
        _ => 0,
    }
}

/// Returns a constant operand, extended to 64 bits, or to the 32 of the first operand.
pub(super) fn immediate(i: &Instruction) -> u64 {
    match i.op1_kind() {
        OpKind::Register | OpKind::Memory => 0,
        _ if bytes(i) == 8 => i.immediate(1),
        _ if bytes(i) == 1 => i.immediate(1) & 0xff,
        _ => u64::from(i.immediate(1) as u32),
    }
}
