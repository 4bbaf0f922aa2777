//! Cycles of the instructions that take more than one (datasheet 3.8.7). Wait states of the bus come on top.

/// JAL, JALR, MRET, FENCE.I, and a branch that is mispredicted.
pub(crate) const JUMP: u64 = 2;
/// A branch that is predicted, taken or not.
pub(crate) const PREDICTED: u64 = 1;
/// From an exception's instruction to the first one of its handler.
pub(crate) const EXCEPTION: u64 = 3;
/// The same of an interrupt. It replaces no instruction, so one cycle less than an exception; the datasheet has no
/// figure.
pub(crate) const INTERRUPT: u64 = 2;
/// DIV, DIVU, REM, REMU; one more if a sign is corrected.
pub(crate) const DIVIDE: u64 = 18;
/// An atomic memory operation.
pub(crate) const AMO: u64 = 4;
/// WFI and h3.block that do not wait.
pub(crate) const SLEEP: u64 = 2;
/// CM.MVA01S and CM.MVSA01.
pub(crate) const DOUBLE_MOVE: u64 = 2;
