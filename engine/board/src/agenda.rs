//! Planned events of the devices around the chip.

use sim::{NEVER, Ps, Snapshot};

/// One pending time per slot. Slots due at the same time are handled in order.
#[derive(Debug, Snapshot)]
pub(crate) struct Agenda {
    due: Vec<Ps>,
}

impl Agenda {
    pub(crate) fn new(slots: usize) -> Self {
        Self { due: vec![NEVER; slots] }
    }

    /// Adds a slot after the others.
    pub(crate) fn add(&mut self) {
        self.due.push(NEVER);
    }

    pub(crate) fn due(&self, slot: usize) -> Ps {
        self.due[slot]
    }

    /// Schedules (or moves) a slot; [`NEVER`] cancels it.
    pub(crate) fn set(&mut self, slot: usize, at: Ps) {
        self.due[slot] = at;
    }

    /// Returns the earliest time.
    pub(crate) fn next(&self) -> Ps {
        self.due.iter().copied().min().unwrap_or(NEVER)
    }

    /// Takes the first slot due at or before `now`.
    pub(crate) fn take(&mut self, now: Ps) -> Option<usize> {
        let slot = self.due.iter().position(|&due| due <= now)?;
        self.due[slot] = NEVER;
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_the_same_time_come_in_order() {
        let mut agenda = Agenda::new(3);
        assert_eq!((agenda.next(), agenda.take(NEVER - 1)), (NEVER, None));
        for (slot, at) in [(2, 5), (1, 5), (0, 9)] {
            agenda.set(slot, at);
        }
        assert_eq!((agenda.next(), agenda.take(4)), (5, None));
        assert_eq!([agenda.take(5), agenda.take(5), agenda.take(5)], [Some(1), Some(2), None]);
        assert_eq!((agenda.due(0), agenda.next()), (9, 9));
    }
}
