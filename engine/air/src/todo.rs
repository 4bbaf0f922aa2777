//! Planned events on the air, ordered by time, then in the order in which they were planned.

use std::collections::BTreeMap;

use sim::{Ps, Snapshot};

#[derive(Snapshot)]
pub(crate) struct Agenda<T: Snapshot> {
    planned: BTreeMap<(Ps, u64), T>,
    count: u64,
}

impl<T: Snapshot> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self { planned: BTreeMap::new(), count: 0 }
    }

    pub(crate) fn plan(&mut self, at: Ps, what: T) {
        self.planned.insert((at, self.count), what);
        self.count += 1;
    }

    pub(crate) fn next(&self) -> Option<Ps> {
        self.planned.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn take(&mut self, until: Ps) -> Option<(Ps, T)> {
        let entry = self.planned.first_entry().filter(|entry| entry.key().0 <= until)?;
        let ((at, _), what) = entry.remove_entry();
        Some((at, what))
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.planned.retain(|_, what| keep(what));
    }

    pub(crate) fn len(&self) -> usize {
        self.planned.len()
    }
}
