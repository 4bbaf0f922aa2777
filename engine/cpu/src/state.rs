//! What a core does, and why a loop over its instructions ends.

use sim::Snapshot;

/// No code word is buffered: the next instruction must be fetched.
pub const NO_WORD: u32 = u32::MAX;

/// Execution state of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum State {
    /// It executes instructions.
    Running,
    /// In WFI (or sleep-on-exit) until an enabled interrupt is pending, regardless of PRIMASK.
    Wfi,
    /// In WFE until an event.
    Wfe,
    /// A fault inside HardFault or NMI. Only a reset ends it.
    LockedUp,
    /// PSM holds the core in reset.
    Held,
}

/// Why the inner loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Time is up, or an event needs handling.
    Limit,
    /// The PC left the region of this copy of the loop.
    Region,
    /// The next instruction is for the copy of the loop that looks; it may have been fetched.
    Step,
}

/// Why translated code was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The caller must check whether and where the core continues.
    Look,
    /// The next instruction must be interpreted, even if no time is left.
    Interpret,
}
