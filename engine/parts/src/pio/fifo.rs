//! TX and RX FIFO of a state machine, which can lend each other their storage (datasheet 3.2.3).

use sim::Snapshot;

const MAX_WORDS: usize = 8;

#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Fifo {
    words: [u32; MAX_WORDS],
    first: usize,
    len: usize,
    /// 4, 8 when joined, 0 when the other FIFO has the storage: then it is both full and empty.
    depth: usize,
}

impl Fifo {
    pub(crate) const WORDS: usize = 4;

    pub(crate) fn new(depth: usize) -> Self {
        Self { words: [0; MAX_WORDS], first: 0, len: 0, depth }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.depth
    }

    /// Returns the number of words that it still takes.
    pub(crate) fn room(&self) -> usize {
        self.depth.saturating_sub(self.len)
    }

    /// Returns false, and drops `word`, if the FIFO is full.
    pub(crate) fn push(&mut self, word: u32) -> bool {
        if self.is_full() {
            return false;
        }
        self.words[(self.first + self.len) % MAX_WORDS] = word;
        self.len += 1;
        true
    }

    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let word = self.words[self.first];
        self.first = (self.first + 1) % MAX_WORDS;
        self.len -= 1;
        Some(word)
    }
}

#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Fifos {
    pub(crate) tx: Fifo,
    pub(crate) rx: Fifo,
}

impl Fifos {
    /// Returns empty FIFOs that share the storage as set by SHIFTCTRL.FJOIN_TX and FJOIN_RX.
    pub(crate) fn joined(join_tx: bool, join_rx: bool) -> Self {
        let depth = |own: bool, other: bool| match (own, other) {
            (_, true) => 0,
            (true, false) => 2 * Fifo::WORDS,
            (false, false) => Fifo::WORDS,
        };
        Self { tx: Fifo::new(depth(join_tx, join_rx)), rx: Fifo::new(depth(join_rx, join_tx)) }
    }
}
