//! Memory for large tables that start as zeros: separate pages, of which a browser takes from its PC only those that are
//! written to.
//!
//! Rust's allocator writes the zeros itself, also to pages that have them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::arch::wasm32::memory_grow;
use std::cell::RefCell;
use std::slice;

const PAGE: usize = 1 << 16;
/// Words in a page of the PC's memory.
const PC_PAGE: usize = 4096 / size_of::<u64>();
/// Fewest bytes of a table that gets separate pages.
const LARGE: usize = 8 * PAGE;
/// Most runs of pages. A board has about ten tables of that size.
const RUNS: usize = 64;

#[global_allocator]
static ALLOCATOR: Pages = Pages(RefCell::new([const { Run { start: 0, bytes: 0, used: false } }; RUNS]));

/// Pages in a row. A module's memory never shrinks: those that are not used any more wait for a table that fits.
struct Run {
    start: usize,
    bytes: usize,
    used: bool,
}

struct Pages(RefCell<[Run; RUNS]>);

// SAFETY: a module for browsers has one thread.
unsafe impl Sync for Pages {}

impl Pages {
    /// Returns zeros in pages that nothing else uses. `None`: no run is left.
    fn take(&self, bytes: usize) -> Option<*mut u8> {
        let mut runs = self.0.borrow_mut();
        let fits = |run: &&mut Run| !run.used && (bytes..=2 * bytes).contains(&run.bytes);
        if let Some(run) = runs.iter_mut().filter(fits).min_by_key(|run| run.bytes) {
            run.used = true;
            // SAFETY: the run is in the module's memory, and was given back.
            let words = unsafe { slice::from_raw_parts_mut(run.start as *mut u64, run.bytes / size_of::<u64>()) };
            // Pages that were only read stay unwritten.
            words.chunks_mut(PC_PAGE).filter(|page| page.iter().any(|&word| word != 0)).for_each(|page| page.fill(0));
            return Some(run.start as *mut u8);
        }
        let run = runs.iter_mut().find(|run| run.bytes == 0)?;
        let pages = bytes.div_ceil(PAGE);
        let start = memory_grow::<0>(pages);
        (start != usize::MAX).then(|| {
            *run = Run { start: start * PAGE, bytes: pages * PAGE, used: true };
            run.start as *mut u8
        })
    }

    /// Returns whether memory is from here, and keeps or takes it back.
    fn owns(&self, start: *mut u8, bytes: usize, keeps: bool) -> bool {
        bytes >= LARGE && {
            let mut runs = self.0.borrow_mut();
            let run = runs.iter_mut().find(|run| run.bytes != 0 && run.start == start.addr());
            run.map(|run| run.used = keeps).is_some()
        }
    }
}

// SAFETY: memory is either from the library's allocator, which gets it back, or in a run that is used once at a time.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let large = layout.size() >= LARGE;
        // SAFETY: as the caller's.
        large.then(|| self.take(layout.size())).flatten().unwrap_or_else(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !self.owns(start, layout.size(), true) {
            // SAFETY: as the caller's; it is from there.
            return unsafe { System.realloc(start, layout, bytes) };
        }
        // SAFETY: as the caller's.
        unsafe {
            let other = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !other.is_null() {
                other.copy_from_nonoverlapping(start, bytes.min(layout.size()));
                self.dealloc(start, layout);
            }
            other
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if !self.owns(start, layout.size(), false) {
            // SAFETY: as the caller's; it is from there.
            unsafe { System.dealloc(start, layout) }
        }
    }
}
