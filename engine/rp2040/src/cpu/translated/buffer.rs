//! Memory that can be executed, and is written only while nothing runs in it.

use memmap2::{Mmap, MmapMut};

/// Bytes of code, after which all of it is dropped. Only what is written takes memory.
const SIZE: usize = 32 << 20;

enum Pages {
    Writable(MmapMut),
    Executable(Mmap),
    /// Between the two.
    Neither,
}

pub(super) struct Buffer {
    pages: Pages,
    start: usize,
    used: usize,
}

impl Buffer {
    /// None: this system gives out no memory for that.
    pub fn new() -> Option<Self> {
        let pages = MmapMut::map_anon(SIZE).ok()?;
        let start = pages.as_ptr() as usize;
        let mut buffer = Self { pages: Pages::Writable(pages), start, used: 0 };
        buffer.make_executable().then_some(buffer)
    }

    /// Address of what is added next.
    pub fn next(&self) -> usize {
        self.start + self.used
    }

    /// Adds `code`, assembled for [`Self::next`]. False: there is no room for it, or the system refuses.
    pub fn add(&mut self, code: &[u8]) -> bool {
        if code.len() > SIZE - self.used || !self.make_writable() {
            return false;
        }
        if let Pages::Writable(pages) = &mut self.pages {
            pages[self.used..self.used + code.len()].copy_from_slice(code);
        }
        self.used = (self.used + code.len()).next_multiple_of(16).min(SIZE);
        self.make_executable()
    }

    /// Drops what was added after the first `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.used = self.used.min(length.next_multiple_of(16));
    }

    pub fn used(&self) -> usize {
        self.used
    }

    fn make_executable(&mut self) -> bool {
        if let Pages::Writable(pages) = std::mem::replace(&mut self.pages, Pages::Neither) {
            match pages.make_exec() {
                Ok(pages) => self.pages = Pages::Executable(pages),
                Err(_) => return false,
            }
        }
        true
    }

    fn make_writable(&mut self) -> bool {
        if let Pages::Executable(pages) = std::mem::replace(&mut self.pages, Pages::Neither) {
            match pages.make_mut() {
                Ok(pages) => self.pages = Pages::Writable(pages),
                Err(_) => return false,
            }
        }
        matches!(self.pages, Pages::Writable(_))
    }
}
