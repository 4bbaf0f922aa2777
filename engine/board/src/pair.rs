//! Two boards on one switch, in lock-step: nothing happens to one before the other is so far that no frame of its own can
//! come before that.

use lan::{LanError, MIN_FRAME_BYTES, wire_time_ps};
use sim::Ps;

use crate::machine::{Machine, Stop, Unmodelled};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one whose LAN has the PC.
    First,
    Second,
}

/// Two machines, of which the second was powered up when the first was at `since`.
pub struct Pair<'a> {
    first: &'a mut Machine,
    second: &'a mut Machine,
    since: Ps,
}

/// Puts both on one switch; the PC is the first's.
pub fn join(first: &mut Machine, second: &mut Machine) -> Result<(), LanError> {
    second.lan()?.join_switch(false);
    first.lan()?.join_switch(true);
    Ok(())
}

impl<'a> Pair<'a> {
    pub fn new(first: &'a mut Machine, second: &'a mut Machine, since: Ps) -> Self {
        Self { first, second, since }
    }

    /// Runs both until nothing can happen any more before the second is at `until` of its own time, or until something
    /// happens to one of them that its owner has to look at. `leader`: who goes first, which makes no difference.
    pub fn run(&mut self, until: Ps, leader: Side) -> Result<(Side, Stop), (Side, Unmodelled)> {
        let hop = wire_time_ps(MIN_FRAME_BYTES);
        let end = self.since + until;
        let mut side = leader;
        loop {
            self.exchange();
            let (first, second) = (self.first.settled(), self.since + self.second.settled());
            if first >= end && second >= end {
                return Ok((Side::Second, Stop::Time));
            }
            let (machine, other, settled, zero) = match side {
                Side::First => (&mut *self.first, second, first, 0),
                Side::Second => (&mut *self.second, first, second, self.since),
            };
            // What the other one sends from now on is in the switch, or has come out of it, a hop later at the earliest.
            let goal = (other + hop - 1).min(end);
            if settled < goal {
                match machine.run_no_further_than(goal - zero) {
                    Ok(Stop::Time) => {}
                    Ok(stop) => {
                        self.exchange();
                        return Ok((side, stop));
                    }
                    Err(error) => return Err((side, error)),
                }
            }
            side = if side == Side::First { Side::Second } else { Side::First };
        }
    }

    /// Carries over the trunk what has come to it, and lets radios hear each other.
    fn exchange(&mut self) {
        let Self { first, second, since } = self;
        if let (Some(a), Some(b)) = (first.air(), second.air()) {
            air::share(a, b, *since);
        }
        let (Ok(a), Ok(b)) = (first.lan(), second.lan()) else { return };
        let (mut moved_a, mut moved_b) = (false, false);
        while let Some((at, frame)) = b.take_for_trunk() {
            a.from_trunk(*since + at, frame);
            moved_a = true;
        }
        while let Some((at, frame)) = a.take_for_trunk() {
            // What came before it was powered up passed a port without a link.
            if let Some(at) = at.checked_sub(*since) {
                b.from_trunk(at, frame);
                moved_b = true;
            }
        }
        if moved_a {
            first.expect_frames();
        }
        if moved_b {
            second.expect_frames();
        }
    }
}
