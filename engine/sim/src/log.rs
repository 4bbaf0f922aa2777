//! A log with several readers, each with an independent position.

use std::collections::{BTreeMap, VecDeque};

/// Handle of a reader of a [`Log`].
#[derive(Debug, PartialEq, Eq)]
pub struct LogReader(u64);

/// A log that keeps the records its readers have not taken yet, up to each reader's limit; without readers it keeps
/// none.
pub struct Log<T> {
    records: VecDeque<T>,
    /// Records pushed while there was a reader.
    pushed: u64,
    readers: BTreeMap<u64, Reader>,
    opened: u64,
}

struct Reader {
    limit: usize,
    /// Number of the first record that this reader has not taken.
    next: u64,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self { records: VecDeque::new(), pushed: 0, readers: BTreeMap::new(), opened: 0 }
    }
}

impl<T: Clone> Log<T> {
    /// Adds a reader of all records from now on; at most `limit` records are kept for it.
    pub fn open(&mut self, limit: usize) -> LogReader {
        self.opened += 1;
        self.readers.insert(self.opened, Reader { limit, next: self.pushed });
        LogReader(self.opened)
    }

    /// Removes a reader; records kept only for it are dropped.
    pub fn close(&mut self, reader: LogReader) {
        self.readers.remove(&reader.0);
        self.forget();
    }

    /// Returns whether the log has a reader.
    pub fn is_read(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Appends a record. Without readers, `record` is not called.
    pub fn push(&mut self, record: impl FnOnce() -> T) {
        if self.is_read() {
            self.records.push_back(record());
            self.pushed += 1;
            self.forget();
        }
    }

    /// Takes the records since the last call for `reader`, oldest first. A reader of another log gets none.
    pub fn take(&mut self, reader: &LogReader) -> Vec<T> {
        let first = self.first();
        let Some(reader) = self.readers.get_mut(&reader.0) else { return Vec::new() };
        let from = reader.next.max(self.pushed.saturating_sub(reader.limit as u64));
        reader.next = self.pushed;
        let taken = self.records.range((from - first) as usize..).cloned().collect();
        self.forget();
        taken
    }

    /// Returns the number of the oldest record kept.
    fn first(&self) -> u64 {
        self.pushed - self.records.len() as u64
    }

    fn forget(&mut self) {
        let wanted = |reader: &Reader| reader.next.max(self.pushed.saturating_sub(reader.limit as u64));
        let from = self.readers.values().map(wanted).min().unwrap_or(self.pushed);
        self.records.drain(..(from - self.first()) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_gets_all_records_since_its_last_take() {
        let mut log = Log::default();
        log.push(|| 0);
        let one = log.open(10);
        log.push(|| 1);
        let two = log.open(10);
        log.push(|| 2);
        assert_eq!(log.take(&one), [1, 2]);
        log.push(|| 3);
        assert_eq!((log.take(&two), log.take(&one)), (vec![2, 3], vec![3]));
        assert_eq!((log.take(&two), log.take(&one)), (vec![], vec![]));
        assert!(log.records.is_empty());
    }

    #[test]
    fn each_reader_loses_the_oldest_records_beyond_its_limit() {
        let mut log = Log::default();
        let (few, many) = (log.open(2), log.open(4));
        (0..6).for_each(|n| log.push(|| n));
        assert_eq!(log.records.len(), 4);
        assert_eq!((log.take(&few), log.take(&many)), (vec![4, 5], vec![2, 3, 4, 5]));
    }

    #[test]
    fn nothing_is_kept_for_a_closed_reader() {
        let mut log = Log::default();
        let (slow, quick) = (log.open(10), log.open(10));
        log.push(|| 1);
        assert_eq!(log.take(&quick), [1]);
        assert_eq!(log.records.len(), 1);
        log.close(slow);
        assert!(log.records.is_empty() && log.is_read());
        log.close(quick);
        log.push(|| unreachable!("there is no reader"));
        assert!(!log.is_read());
    }
}
