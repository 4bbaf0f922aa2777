//! Two boards on one switch, in lock-step: neither runs further ahead of the other than a frame takes to get to it.

use lan::{LanError, MIN_FRAME_BYTES, wire_time_ps};
use sim::{PS_PER_US, Ps};

use crate::machine::{Machine, Stop, Unmodelled};

/// An instruction that has begun ends after the time to which a machine is to run: so much is kept in hand for it. Of one
/// that takes longer, as where flash is slow, the chip's own events come first, and a frame that came meanwhile after them.
const IN_HAND: Ps = 2 * PS_PER_US;

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

    /// Runs both until the second is at `until` of its own time, or until something happens to one of them that its
    /// owner has to look at. `leader`: who goes first, which makes no difference unless an instruction outlasts [`IN_HAND`].
    pub fn run(&mut self, until: Ps, leader: Side) -> Result<(Side, Stop), (Side, Unmodelled)> {
        let hop = wire_time_ps(MIN_FRAME_BYTES);
        let end = self.since + until;
        let mut side = leader;
        loop {
            if let Some(stopped) = self.settle()? {
                return Ok(stopped);
            }
            let (first, second) = (self.first.now(), self.since + self.second.now());
            if first >= end && second >= end {
                return Ok((Side::Second, Stop::Time));
            }
            let (machine, other, now, zero) = match side {
                Side::First => (&mut *self.first, second, first, 0),
                Side::Second => (&mut *self.second, first, second, self.since),
            };
            // What it sends itself can come back two hops later, wherever the other one is by now.
            let goal = (other + hop - IN_HAND).min(now + 2 * hop - IN_HAND).min(end);
            if now < goal {
                match machine.run(goal - zero) {
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

    /// Carries frames, and lets each side see those that came within its last instruction before the other goes on: what
    /// they make the PC or a chip send has its own exact time.
    fn settle(&mut self) -> Result<Option<(Side, Stop)>, (Side, Unmodelled)> {
        self.exchange();
        for (side, machine) in [(Side::First, &mut *self.first), (Side::Second, &mut *self.second)] {
            if machine.is_late() {
                match machine.run(machine.now() + 1) {
                    Ok(Stop::Time) => {}
                    Ok(stop) => return Ok(Some((side, stop))),
                    Err(error) => return Err((side, error)),
                }
            }
        }
        self.exchange();
        Ok(None)
    }

    /// Carries over the trunk what has come to it.
    fn exchange(&mut self) {
        let Self { first, second, since } = self;
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
