//! Executable memory, which is written only while none of its code runs, and behind it the links of its blocks, which are
//! data: the addresses that blocks jump to.

use region::{Allocation, Protection};

use super::mistakes::Mistakes;
use super::routines::Routines;

/// Bytes of code, after which all of it is dropped. Only the written part takes memory. CircuitPython fills 6 MB in the
/// interpreter workload; a hostile guest fills everything.
pub(super) const SIZE: usize = 16 << 20;
/// Apple's Arm PCs do not make changed pages of a hardened program executable. They have memory of the kind `MAP_JIT`, as
/// which `region` allocates this: each thread either writes to all of it or executes it.
const APPLE: bool = cfg!(all(target_os = "macos", target_arch = "aarch64"));
/// Most links.
const LINKS: usize = 1 << 18;

pub(super) struct Buffer {
    pages: Allocation,
    size: usize,
    used: usize,
    /// Where the blocks begin that have no entry yet.
    added: Vec<u32>,
    /// Links in use.
    links: usize,
}

// SAFETY: the buffer owns its pages, as a vector does.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Blocks that are compiled at once.
    pub(super) const BATCH: usize = 1;

    /// Returns a buffer of `size` bytes, or `None` if the system provides no executable memory.
    pub(crate) fn new(size: usize) -> Option<Self> {
        let size = size.next_multiple_of(region::page::size());
        let bytes = LINKS * size_of::<usize>();
        let unused = if APPLE { Protection::READ_WRITE_EXECUTE } else { Protection::READ };
        let mut pages = region::alloc(size + bytes, unused).ok()?;
        if !APPLE {
            // SAFETY: these pages belong to this buffer, and no code is in them.
            unsafe { region::protect(pages.as_mut_ptr::<u8>().add(size), bytes, Protection::READ_WRITE) }.ok()?;
        }
        Some(Self { pages, size, used: 0, added: Vec::new(), links: 0 })
    }

    pub(crate) fn start(&self) -> usize {
        self.pages.as_range().start
    }

    /// Returns the address of the next addition.
    pub(crate) fn next(&self) -> usize {
        self.start() + self.used
    }

    pub(crate) fn has_room(&self, bytes: usize, links: usize) -> bool {
        bytes <= self.size - self.used && links <= LINKS - self.links
    }

    /// Returns the address of the next link.
    pub(crate) fn next_link(&self) -> usize {
        self.start() + self.size + self.links * size_of::<usize>()
    }

    /// Adds links, and returns the first one's number.
    pub(crate) fn add_links(&mut self, links: usize) -> usize {
        let first = self.links;
        self.links += links;
        first
    }

    /// Lets blocks that jump by a link jump to `address`.
    pub(crate) fn link(&mut self, link: usize, address: usize) {
        assert!(link < self.links);
        let at = self.size + link * size_of::<usize>();
        // SAFETY: that is inside the buffer's writable part, aligned, and code of a running block only reads it.
        unsafe {
            let link = self.pages.as_mut_ptr::<u8>().add(at).cast::<usize>();
            if APPLE { written(|| link.write(address)) } else { link.write(address) }
        }
    }

    /// Adds the code that blocks share. False: the system refuses.
    pub(crate) fn share(&mut self, code: &[u8], _: &Routines) -> bool {
        let shared = self.add(code);
        self.added.clear();
        shared
    }

    /// Returns the entries of the blocks that were added since the last call, as offsets from the start.
    #[allow(clippy::unnecessary_wraps, reason = "a browser may refuse to compile")]
    pub(crate) fn compile(&mut self, _: &Mistakes) -> Option<Vec<u32>> {
        Some(std::mem::take(&mut self.added))
    }

    /// Returns the function that runs a block.
    pub(crate) fn function(&self, routines: &Routines, _: usize) -> usize {
        routines.enter
    }

    /// Adds `code`, assembled for [`Self::next`], if there is room. Returns false if the system refuses; then nothing
    /// in the buffer may be executed any more.
    pub(crate) fn add(&mut self, code: &[u8]) -> bool {
        assert!(self.has_room(code.len(), 0));
        // SAFETY: the pages from there on belong to this buffer, and while it is borrowed mutably no code in them is
        // executed.
        let added = unsafe {
            let start = self.pages.as_mut_ptr::<u8>().add(self.used);
            let copy = || std::ptr::copy_nonoverlapping(code.as_ptr(), start, code.len());
            if APPLE {
                written(copy);
                true
            } else {
                region::protect(start, code.len(), Protection::READ_WRITE).is_ok() && {
                    copy();
                    region::protect(start, code.len(), Protection::READ_EXECUTE).is_ok()
                }
            }
        };
        #[cfg(target_arch = "aarch64")]
        if added {
            // SAFETY: these bytes were just written, and are readable.
            let code = unsafe { std::slice::from_raw_parts(self.next() as *const u8, code.len()) };
            dynasmrt::cache_control::synchronize_icache(code);
        }
        self.added.push(self.used as u32);
        self.used = (self.used + code.len()).next_multiple_of(16).min(self.size);
        added
    }

    /// Drops the links, and everything after the first `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.links = 0;
        self.used = self.used.min(length.next_multiple_of(16));
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }
}

/// Writes to memory of the kind `MAP_JIT`, none of which this thread executes until then.
unsafe fn written(write: impl FnOnce()) {
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    unsafe extern "C" {
        fn pthread_jit_write_protect_np(enabled: std::ffi::c_int);
    }
    // SAFETY: Apple's documents let a thread change this at any time, for itself.
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    unsafe {
        pthread_jit_write_protect_np(0);
    }
    write();
    // SAFETY: the same.
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    unsafe {
        pthread_jit_write_protect_np(1);
    }
}
