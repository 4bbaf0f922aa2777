//! Long lists in little memory: the end of each is in memory, the rest in a file without a name, where there are files.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;

use sim::Ps;

use crate::Interval;

/// Bytes in memory of a tape, and of each of its readers.
const BLOCK: usize = 1 << 16;
/// Most bytes of a tape where there are no files, as in a browser: the rest is lost.
const MOST_WITHOUT_FILES: usize = 1 << 25;

/// An item as numbers, of which small ones take little room.
pub trait Item: Copy + Default {
    /// Passes the numbers that make it of the item before.
    fn write(&self, before: &Self, put: &mut impl FnMut(u64));
    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self;
}

/// A list that only grows.
#[derive(Debug, Default)]
pub struct Tape<T> {
    tail: Vec<u8>,
    file: Option<File>,
    /// Bytes in `file`.
    filed: u64,
    count: u64,
    last: T,
    /// The file cannot be written or read.
    failed: Cell<bool>,
}

impl<T: Item> Tape<T> {
    /// Appends an item. An error of the file drops it and is reported by `has_failed`.
    pub fn push(&mut self, item: T) {
        let tail = &mut self.tail;
        item.write(&self.last, &mut |mut value| {
            while value >= 0x80 {
                tail.push(value as u8 | 0x80);
                value >>= 7;
            }
            tail.push(value as u8);
        });
        self.last = item;
        self.count += 1;
        if cfg!(target_family = "wasm") {
            if self.tail.len() >= MOST_WITHOUT_FILES {
                self.failed.set(true);
                self.tail.clear();
            }
        } else if self.tail.len() >= BLOCK && self.file_tail().is_err() {
            self.failed.set(true);
            self.tail.clear();
        }
    }

    /// Returns the number of items.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the last item; `None`: the tape is empty.
    pub(crate) fn last(&self) -> Option<T> {
        (self.count > 0).then_some(self.last)
    }

    /// Returns whether items are lost because the file could not be written or read.
    pub fn has_failed(&self) -> bool {
        self.failed.get()
    }

    pub(crate) fn iter(&self) -> Reader<'_, T> {
        Reader { tape: self, buffer: Vec::new(), at: 0, next: 0, left: self.count, last: T::default() }
    }

    fn file_tail(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::End(0))?;
        file.write_all(&self.tail)?;
        self.filed += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }
}

impl<T: Item> FromIterator<T> for Tape<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut tape = Self::default();
        items.into_iter().for_each(|item| tape.push(item));
        tape
    }
}

/// Reads a tape from its beginning.
pub(crate) struct Reader<'a, T> {
    tape: &'a Tape<T>,
    buffer: Vec<u8>,
    at: usize,
    /// Offset of the first byte behind `buffer`.
    next: u64,
    left: u64,
    last: T,
}

impl<T: Item> Reader<'_, T> {
    fn fill(&mut self) -> io::Result<()> {
        let tape = self.tape;
        self.at = 0;
        self.buffer.clear();
        match tape.file.as_ref() {
            Some(mut file) if self.next < tape.filed => {
                let length = (tape.filed - self.next).min(BLOCK as u64) as usize;
                self.buffer.resize(length, 0);
                file.seek(SeekFrom::Start(self.next))?;
                file.read_exact(&mut self.buffer)?;
            }
            _ => {
                let rest = tape.tail.get((self.next - tape.filed) as usize..).unwrap_or_default();
                self.buffer.extend_from_slice(&rest[..rest.len().min(BLOCK)]);
            }
        }
        self.next += self.buffer.len() as u64;
        if self.buffer.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn number(&mut self) -> io::Result<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            if self.at == self.buffer.len() {
                self.fill()?;
            }
            let byte = self.buffer[self.at];
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }
}

impl<T: Item> Iterator for Reader<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let before = self.last;
        let mut failed = false;
        let item = T::read(&before, &mut || {
            self.number().unwrap_or_else(|_| {
                failed = true;
                0
            })
        });
        if failed {
            self.tape.failed.set(true);
            self.left = 0;
            return None;
        }
        self.last = item;
        Some(item)
    }
}

impl Item for Interval {
    fn write(&self, before: &Self, put: &mut impl FnMut(u64)) {
        put(self.0.wrapping_sub(before.1));
        put(self.1.wrapping_sub(self.0));
    }

    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self {
        let from = before.1.wrapping_add(get());
        (from, from.wrapping_add(get()))
    }
}

impl Item for (Ps, u8) {
    fn write(&self, before: &Self, put: &mut impl FnMut(u64)) {
        put(self.0.wrapping_sub(before.0));
        put(self.1.into());
    }

    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self {
        (before.0.wrapping_add(get()), get() as u8)
    }
}

/// Returns each item with the next one; `None`: it is the last one.
pub(crate) fn with_next<T: Copy>(items: impl Iterator<Item = T>) -> impl Iterator<Item = (T, Option<T>)> {
    let mut items = items.peekable();
    std::iter::from_fn(move || {
        let item = items.next()?;
        Some((item, items.peek().copied()))
    })
}

/// A position in a list in order of time, for questions that are in order of time, too.
pub(crate) struct Cursor<I: Iterator> {
    items: std::iter::Peekable<I>,
    kind: PhantomData<I>,
}

impl<I: Iterator> Cursor<I> {
    pub(crate) fn new(items: I) -> Self {
        Self { items: items.peekable(), kind: PhantomData }
    }

    /// Passes the items that are `over` and returns the first of the others, which stays.
    pub(crate) fn first(&mut self, over: impl Fn(&I::Item) -> bool) -> Option<&I::Item> {
        while self.items.peek().is_some_and(&over) {
            self.items.next();
        }
        self.items.peek()
    }

    /// Takes the next item if it is `inside`.
    pub(crate) fn take_if(&mut self, inside: impl Fn(&I::Item) -> bool) -> Option<I::Item> {
        self.items.next_if(|item| inside(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_tape_is_in_a_file_and_reads_as_written() {
        let item = |n: u64| (n * n * 1_000_003, n as u8);
        let tape: Tape<(Ps, u8)> = (0..100_000).map(item).collect();
        assert!(tape.file.is_some() && tape.tail.capacity() <= 4 * BLOCK);
        assert!(tape.iter().eq((0..100_000).map(item)));
        assert_eq!((tape.count(), tape.last(), tape.has_failed()), (100_000, Some(item(99_999)), false));
    }

    #[test]
    fn numbers_of_any_size_and_order_come_back() {
        let items = [(5, 9), (u64::MAX, 0), (0, u64::MAX), (7, 7)];
        let tape: Tape<Interval> = items.into_iter().collect();
        assert!(tape.file.is_none() && tape.iter().eq(items));
        assert_eq!(Tape::<Interval>::default().iter().next(), None);
    }
}
