//! Cycles of the Cortex-M33 r1p0.
//!
//! "Measured" is jnk0le's table, taken on an RP2350 (github.com/jnk0le/random, pipeline cycle test). "Fitted" follows
//! published run times of CircuitPython; so does the late result of a transfer from a coprocessor, by the
//! datasheet's time of a division of doubles (3.6.2.10). "Assumed" is neither; the Cortex-M33 manual has no table.

/// What a branch to half of a 32-bit instruction waits for the word with its rest
/// ([`SECOND_HALF`](crate::decode::SECOND_HALF)), in SRAM and in flash (fitted, with [`TAKEN`] for BL, on four figures of
/// CircuitPython 9.2.0: docs/evidence/pico2.md).
pub(crate) const SECOND_HALF: u64 = 3;
pub(crate) const SECOND_HALF_IN_FLASH: u64 = 2;
/// A taken branch (measured; BL: fitted), and one paired with a 16-bit instruction before it that sets no flags; BX and
/// BLX are paired with those that do, too (measured by picoem on an RP2354: BLX, ADDS, BX, SUBS and BNE take 7).
pub(crate) const TAKEN: u64 = 2;
pub(crate) const TAKEN_PAIRED: u64 = 1;
/// What a load of the PC takes beside its words (measured).
pub(crate) const LOAD_PC: u64 = 3;
/// TBB and TBH (assumed: a load, its latency and a branch).
pub(crate) const TABLE_BRANCH: u64 = 4;
/// What a wide multiply takes (measured: one cycle to issue, and its result one later).
pub(crate) const MULTIPLY_LONG: u64 = 1;
/// FMA and chained multiplications (measured: two cycles in which no other FPU instruction starts).
pub(crate) const FMA_OCCUPIES: u64 = 2;
/// VDIV and VSQRT (assumed: the Cortex-M4's).
pub(crate) const FLOAT_DIVIDE: u64 = 14;
/// Exception entry and return without floating-point state (assumed: 12 by Arm's product page).
pub(crate) const ENTRY: u64 = 12;
pub(crate) const RETURN: u64 = 10;
/// From an entry or a return that fails to the handler of its fault (assumed).
pub(crate) const TAIL_CHAIN: u64 = 6;
/// MSR, MRS, CPS and the barriers (assumed).
pub(crate) const SYSTEM: u64 = 2;

/// Cycles of SDIV and UDIV by the magnitudes of their operands (assumed: four bits of the quotient a cycle, 2 to 11).
pub(crate) fn divide(dividend: u32, divisor: u32) -> u64 {
    if divisor == 0 || divisor > dividend {
        return 2;
    }
    let bits = divisor.leading_zeros() - dividend.leading_zeros() + 1;
    3 + u64::from(bits.div_ceil(4))
}
