//! Two boards on one switch, in lock-step: neither runs ahead of the time at which a frame from the other could arrive.

use lan::{MIN_FRAME_BYTES, wire_time_ps};
use sim::{Ps, SettingError};

use crate::machine::{Machine, Stop, Unmodelled};

/// One of the two boards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The board whose LAN has the PC.
    First,
    /// The other board.
    Second,
}

/// Two machines, of which the second was powered up when the first was at `since`.
pub struct Pair<'a> {
    first: &'a mut Machine,
    second: &'a mut Machine,
    since: Ps,
}

/// Joins both to one switch; the PC is the first's.
pub fn join(first: &mut Machine, second: &mut Machine) -> Result<(), SettingError> {
    second.lan()?.join_switch(false);
    first.lan()?.join_switch(true);
    Ok(())
}

impl<'a> Pair<'a> {
    /// Returns a pair of machines that [`join`] has put on one switch.
    pub fn new(first: &'a mut Machine, second: &'a mut Machine, since: Ps) -> Self {
        Self { first, second, since }
    }

    /// Runs both until the second is at `until` of its clock, or until one of them has an event that its owner must
    /// handle. `leader`: the one that runs first, without effect on the result.
    pub fn run(&mut self, until: Ps, leader: Side) -> Result<(Side, Stop), (Side, Unmodelled)> {
        self.first.take_changes();
        self.second.take_changes();
        let end = self.run_to(until, leader);
        self.first.gather_logs();
        self.second.gather_logs();
        end
    }

    fn run_to(&mut self, until: Ps, leader: Side) -> Result<(Side, Stop), (Side, Unmodelled)> {
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
            // A frame that the other one sends from now on reaches or leaves the switch at least one hop later.
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

    /// Carries frames over the trunk, and makes radios aware of each other.
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
            // Frames before its power-up met a port without a link.
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
