//! Loops that poll.

use jit::Part;

use crate::decode::{CONDITIONS, Kind, decode};
use crate::{Map, Memory};

/// Most instructions of a loop that polls.
const LONGEST: u32 = 12;

/// Returns the number of instructions of the loop that starts with the load at `pc`, if the others only change registers
/// and flags, up to the branch back. A pass from the load to itself that takes another way has more instructions.
pub(super) fn loop_at<M: Map>(mem: &Memory<M>, part: Part, pc: u32) -> Option<u32> {
    let mut next = pc;
    for count in 1..=LONGEST {
        let (half, after) = part.halfwords(mem, next);
        let op = decode(half, after);
        if op.kind == Kind::B || CONDITIONS.contains(&op.kind) {
            return (next.wrapping_add(4).wrapping_add(op.imm) == pc).then_some(count);
        }
        if count > 1 && !is_plain(op.kind) {
            return None;
        }
        next = next.wrapping_add(op.bytes());
    }
    None
}

/// Returns whether an instruction only changes registers and flags, and continues with the next.
fn is_plain(kind: Kind) -> bool {
    use Kind::*;
    // The kinds are declared in this order.
    let computes = (AndImm as u8..=Udiv as u8).contains(&(kind as u8));
    kind == Nop || computes && !matches!(kind, MovPc | AddPc)
}
