//! The 16 KiB XIP cache: two ways, 8-byte lines (datasheet 2.6.3.1).
//!
//! Only tags are kept: the data always comes from the flash array, which the firmware can only change through the SSI
//! and, as on the chip, must flush the cache after. The datasheet does not name the replacement policy; the way that was
//! filled or hit longer ago is replaced.

pub const LINE_BYTES_LOG2: u32 = 3;
const SETS: usize = 1024;
const INVALID: u32 = u32::MAX;

pub struct XipCache {
    tags: Vec<[u32; 2]>,
    /// Way that was used last.
    recent: Vec<u8>,
    enabled: bool,
    /// Cycles of clk_sys that a line fill keeps the bus waiting; set by the SSI from its registers.
    pub miss_cycles: u32,
    /// Cycles of one uncached 32-bit read.
    pub uncached_cycles: u32,
}

impl Default for XipCache {
    fn default() -> Self {
        Self {
            tags: vec![[INVALID; 2]; SETS],
            recent: vec![0; SETS],
            enabled: true,
            miss_cycles: 0,
            uncached_cycles: 0,
        }
    }
}

impl XipCache {
    /// One access to `line` (flash offset >> 3): the wait states it costs.
    #[inline]
    pub fn access(&mut self, line: u32) -> u32 {
        let set = (line as usize) & (SETS - 1);
        let tag = line >> 10;
        let ways = &self.tags[set];
        if ways[0] == tag {
            self.recent[set] = 0;
            0
        } else if ways[1] == tag {
            self.recent[set] = 1;
            0
        } else {
            self.miss(set, tag)
        }
    }

    #[cold]
    fn miss(&mut self, set: usize, tag: u32) -> u32 {
        if !self.enabled {
            return self.miss_cycles;
        }
        let way = 1 - usize::from(self.recent[set]);
        self.tags[set][way] = tag;
        self.recent[set] = way as u8;
        self.miss_cycles
    }

    /// XIP_CTRL.FLUSH.
    pub fn flush(&mut self) {
        self.tags.fill([INVALID; 2]);
    }

    /// A write to a cached address invalidates its line (datasheet 2.6.3.2).
    pub fn invalidate(&mut self, line: u32) {
        let set = (line as usize) & (SETS - 1);
        for tag in &mut self.tags[set] {
            if *tag == line >> 10 {
                *tag = INVALID;
            }
        }
    }

    /// XIP_CTRL.CTRL.EN. A disabled cache is 16 KiB of SRAM at 0x1500_0000.
    pub fn set_enabled(&mut self, enabled: bool) {
        if !enabled {
            self.flush();
        }
        self.enabled = enabled;
    }

    pub fn enabled(&self) -> bool {
        self.enabled
    }
}
