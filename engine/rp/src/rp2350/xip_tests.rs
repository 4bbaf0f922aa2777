//! The XIP space by the bus: address translation, and a PSRAM at the second chip select.

use crate::rp2350::bus::Bus;
use crate::rp2350::memory::Memory;
use crate::rp2350::wires;
use chip::BusFault;
use chip::world::Nothing;
use cpu::Master;

const XIP_CTRL: u32 = 0x400c_8000;
const QMI: u32 = 0x400d_0000;
const DIRECT_CSR: u32 = QMI;
const DIRECT_TX: u32 = QMI + 4;
const DIRECT_RX: u32 = QMI + 8;
const M1_TIMING: u32 = QMI + 0x20;
const ATRANS: u32 = QMI + 0x34;
const FLASH_BYTES: usize = 2 << 20;
const CSN: u32 = 19;
/// An ATRANS register that maps nothing.
const CLOSED: u32 = 0;
/// Bits of XIP_CTRL.CTRL.
const CACHED_AND_WRITABLE: u32 = 0x883;

struct Bench {
    bus: Bus,
    mem: Memory,
}

impl Bench {
    /// Flash whose words are their own offsets.
    fn new() -> Self {
        let mut mem = Memory::new(&[], FLASH_BYTES);
        let words: Vec<u8> = (0..FLASH_BYTES as u32).step_by(4).flat_map(u32::to_le_bytes).collect();
        mem.flash_write(0, &words);
        let mut bus = Bus::new(wires::sys(150_000_000), Nothing);
        bus.own.qmi.reset(&mut bus.sys, &mut mem);
        Self { bus, mem }
    }

    /// The same with a PSRAM in QPI mode, set up as MicroPython's driver does at 150 MHz.
    fn with_psram() -> Self {
        let mut bench = Self::new();
        bench.bus.own.qmi.connect_psram(CSN);
        bench.set(0x4002_8004 + 8 * CSN, 9);
        bench.direct(&[0x35], false);
        // COOLDOWN 1, PAGEBREAK 1024, SELECT_HOLD 3, MAX_SELECT 18, MIN_DESELECT 2, CLKDIV 2; EBh with 6 dummy clocks, 38h.
        for (at, value) in [0x61a4_2202, 0x0006_12aa, 0x00eb, 0x12aa, 0x0038].into_iter().enumerate() {
            bench.set(M1_TIMING + 4 * at as u32, value);
        }
        bench.set(XIP_CTRL, CACHED_AND_WRITABLE);
        bench
    }

    fn get(&mut self, address: u32) -> Result<u32, BusFault> {
        self.read(address, 4)
    }

    /// Reads, and lets the wait states pass.
    fn read(&mut self, address: u32, size: u32) -> Result<u32, BusFault> {
        let value = self.bus.read(&mut self.mem, Master::Core(0), address, size);
        self.bus.sys.cycle += u64::from(self.bus.waits);
        value
    }

    fn put(&mut self, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        let done = self.bus.write(&mut self.mem, Master::Core(0), address, value, size);
        self.bus.sys.cycle += u64::from(self.bus.waits);
        done
    }

    fn set(&mut self, address: u32, value: u32) {
        self.put(address, value, 4).expect("a register");
    }

    fn read_waits(&mut self, address: u32) -> u32 {
        self.get(address).expect("memory");
        self.bus.waits
    }

    /// Sends bytes to the second chip select in direct mode, on four lines or one; returns those that came in.
    fn direct(&mut self, bytes: &[u8], quad: bool) -> Vec<u8> {
        self.set(DIRECT_CSR, 0x0180_0009);
        let width = if quad { 2 << 16 | 1 << 19 } else { 0 };
        let byte = |bench: &mut Self, &byte: &u8| {
            bench.set(DIRECT_TX, u32::from(byte) | width);
            bench.bus.sys.cycle += 100;
            bench.get(DIRECT_RX).expect("a register") as u8
        };
        let read = bytes.iter().map(|out| byte(self, out)).collect();
        self.set(DIRECT_CSR, 0x0180_0000);
        read
    }

    /// Invalidates the whole cache by set and way.
    fn flush(&mut self) {
        (0..0x4000).step_by(8).for_each(|at| self.set(0x1800_0000 + at, 0));
    }

    fn refusal(&mut self) -> String {
        self.bus.sys.unmodelled.take().map(|refused| refused.what).unwrap_or_default()
    }
}

#[test]
fn a_pane_shows_its_pages_of_flash() {
    let mut bench = Bench::new();
    // 64 KiB from 1 MiB on, and 4 KiB of what lies before it.
    bench.set(ATRANS, 16 << 16 | 0x100);
    bench.set(ATRANS + 4, 1 << 16 | 0xff);
    for base in [0x1000_0000, 0x1400_0000] {
        assert_eq!(bench.get(base + 0x1234), Ok(0x0010_1234));
        assert_eq!(bench.get(base + 0xfffc), Ok(0x0010_fffc));
        assert_eq!(bench.get(base + 0x1_0000), Err(BusFault));
        assert_eq!(bench.get(base + 0x40_0ff0), Ok(0x000f_fff0));
        assert_eq!(bench.get(base + 0x40_1000), Err(BusFault));
        // The flash ignores the higher bits of an address.
        assert_eq!(bench.get(base + 0x80_0010), Ok(0x0000_0010));
    }
    assert_eq!(bench.get(0x1c00_0004), Ok(4), "without translation");
    assert_eq!(bench.get(0x1c01_0000), Ok(0x0001_0000));
    assert_eq!(bench.refusal(), "");
}

#[test]
fn the_base_wraps_at_the_end_of_the_window() {
    let mut bench = Bench::new();
    bench.set(ATRANS, 0x400 << 16 | 0xfff);
    assert_eq!((bench.get(0x1000_0000), bench.get(0x1000_1000)), (Ok(0x001f_f000), Ok(0)));
}

#[test]
fn an_access_beyond_a_pane_reaches_neither_cache_nor_flash() {
    let mut bench = Bench::new();
    bench.set(ATRANS, CLOSED);
    let before = (bench.mem.xip.accesses, bench.mem.xip.misses);
    assert_eq!(bench.read(0x1000_0000, 2), Err(BusFault));
    assert_eq!((bench.mem.xip.accesses, bench.mem.xip.misses, bench.bus.waits), (before.0, before.1, 0));
}

#[test]
fn flash_that_is_programmed_shows_in_each_pane() {
    let mut bench = Bench::new();
    bench.set(ATRANS, 1 << 16 | 2);
    bench.set(ATRANS + 4, 1 << 16 | 2);
    bench.mem.flash_write(0x2010, &[0; 4]);
    assert_eq!([0x1000_0010, 0x1040_0010, 0x1c00_2010].map(|at| bench.get(at)), [Ok(0); 3]);
    assert_eq!(bench.mem.flash()[0x2010..0x2018], [0, 0, 0, 0, 0x14, 0x20, 0, 0], "the chip's own content");
    w25q::Array::erase(&mut bench.mem, 0x2000, 0x1000);
    assert_eq!([0x1000_0014, 0x1040_0014].map(|at| bench.get(at)), [Ok(u32::MAX); 2]);
    bench.set(ATRANS, 0x400 << 16);
    bench.flush();
    assert_eq!([0x1000_0010, 0x1000_2010].map(|at| bench.get(at)), [Ok(0x10), Ok(u32::MAX)]);
}

#[test]
fn a_line_filled_before_the_translation_changed_must_be_flushed() {
    let mut bench = Bench::new();
    bench.get(0x1000_0040).expect("flash");
    bench.set(ATRANS, 0x400 << 16 | 1);
    bench.get(0x1000_0048).expect("another line");
    assert_eq!(bench.refusal(), "");
    bench.get(0x1000_0040).expect("flash");
    assert!(bench.refusal().contains("flash offset 0x000040, whose line in the cache is stale"));
    // A mapping that has passed leaves no trace.
    let mut bench = Bench::new();
    bench.get(0x1000_0040).expect("flash");
    bench.set(ATRANS, 0x400 << 16 | 1);
    bench.set(ATRANS, 0x400 << 16);
    assert_eq!((bench.read_waits(0x1000_0044), bench.get(0x1000_0044), bench.refusal()), (0, Ok(0x44), String::new()));
    // A line with the same content is none, and keeps its place.
    let mut bench = Bench::new();
    bench.mem.flash_write(0, &[0x5a; 0x2000]);
    bench.get(0x1000_0040).expect("flash");
    bench.set(ATRANS, 0x400 << 16 | 1);
    assert_eq!((bench.read_waits(0x1000_0044), bench.refusal()), (0, String::new()));
    for operation in [0x1800_0042, 0x1800_0040, 0x1800_2040] {
        let mut bench = Bench::new();
        bench.get(0x1000_0040).expect("flash");
        bench.set(ATRANS, 0x400 << 16 | 1);
        bench.put(operation, 0, 1).expect("maintenance");
        if operation == 0x1800_0040 {
            bench.put(0x1800_2040, 0, 1).expect("maintenance");
        } else if operation == 0x1800_2040 {
            bench.put(0x1800_0040, 0, 1).expect("maintenance");
        }
        assert_eq!((bench.get(0x1000_0040), bench.refusal()), (Ok(0x1040), String::new()));
    }
}

#[test]
fn a_pane_behind_a_gap_is_cached_too() {
    let mut bench = Bench::new();
    bench.set(ATRANS, CLOSED);
    bench.set(ATRANS + 4, 0x400 << 16 | 3);
    assert_ne!(bench.read_waits(0x1040_0000), 0);
    assert_eq!((bench.read_waits(0x1040_0004), bench.get(0x1040_0004)), (0, Ok(0x3004)));
    // Once the gap is closed its lines are found where all others are.
    bench.set(ATRANS, 0x400 << 16);
    bench.set(ATRANS + 4, 0x400 << 16 | 0x400);
    assert_eq!(bench.refusal(), "");
}

#[test]
fn a_reset_of_the_block_ends_translation() {
    let mut bench = Bench::new();
    bench.set(ATRANS, 1 << 16 | 2);
    bench.bus.own.qmi.reset(&mut bench.bus.sys, &mut bench.mem);
    bench.flush();
    assert_eq!((bench.get(0x1000_0010), bench.mem.reach()), (Ok(0x10), 16 << 20));
}

#[test]
fn direct_mode_reads_the_psrams_number_once_its_pin_is_selected() {
    let mut bench = Bench::new();
    bench.bus.own.qmi.connect_psram(CSN);
    assert_eq!(bench.direct(&[0x9f, 0, 0, 0, 0, 0], false)[4..], [0xff; 2]);
    bench.set(0x4002_8004 + 8 * CSN, 9);
    assert_eq!(bench.direct(&[0x9f, 0, 0, 0, 0, 0], false)[4..], [0x0d, 0x5d]);
}

#[test]
fn without_a_psram_the_second_window_reads_ones() {
    let mut bench = Bench::new();
    assert_eq!([0x1100_0000, 0x1500_0010, 0x1d00_0010].map(|at| bench.get(at)), [Ok(u32::MAX); 3]);
    assert_eq!(bench.put(0x1100_0000, 0, 4), Err(BusFault), "windows are read-only at reset");
    assert_eq!(bench.put(0x1500_0000, 0, 4), Err(BusFault));
}

#[test]
fn a_write_stays_in_the_cache_until_its_line_is_cleaned() {
    let mut bench = Bench::with_psram();
    bench.set(0x1100_0010, 0x1122_3344);
    bench.put(0x1100_0016, 0x5566, 2).expect("memory");
    assert_eq!(bench.get(0x1100_0014), Ok(0x5566_0000));
    assert_eq!((bench.get(0x1500_0010), bench.get(0x1d00_0014)), (Ok(0), Ok(0)), "memory has nothing yet");
    // Clean by address.
    bench.put(0x1900_0013, 0, 1).expect("maintenance");
    assert_eq!((bench.get(0x1500_0010), bench.get(0x1d00_0014)), (Ok(0x1122_3344), Ok(0x5566_0000)));
    assert_eq!(bench.read_waits(0x1100_0010), 0, "the line stays");
    // Invalidated, a dirty line is lost.
    bench.set(0x1100_0010, 9);
    bench.put(0x1900_0012, 0, 1).expect("maintenance");
    assert_eq!(bench.get(0x1100_0010), Ok(0x1122_3344));
    // Uncached writes of each size pass by the cache.
    bench.put(0x1500_0011, 0xaa, 1).expect("memory");
    bench.put(0x1d00_0012, 0xbbcc, 2).expect("memory");
    assert_eq!((bench.get(0x1500_0010), bench.get(0x1100_0010)), (Ok(0xbbcc_aa44), Ok(0x1122_3344)));
    bench.set(XIP_CTRL, 0x83);
    assert_eq!(bench.put(0x1100_0010, 0, 4), Err(BusFault));
    assert_eq!(bench.refusal(), "");
}

#[test]
fn clean_by_set_and_way_leaves_the_lines_tag_at_its_own_address() {
    // RP2350-E11, and the SDK's way round it: the last 16 KiB of the maintenance space.
    let mut bench = Bench::with_psram();
    bench.set(0x1100_0008, 7);
    (0..0x4000).step_by(8).for_each(|at| bench.put(0x1bff_c001 + at, 0, 1).expect("maintenance"));
    assert_eq!(bench.get(0x1500_0008), Ok(7));
    assert_ne!(bench.read_waits(0x1100_0008), 0, "the line has another address now");
    assert_eq!((bench.get(0x1000_0008), bench.refusal()), (Ok(8), String::new()));
    // From the start of the space, the line then looks like one of flash.
    bench.set(0x1100_0008, 8);
    (0..0x4000).step_by(8).for_each(|at| bench.put(0x1800_0001 + at, 0, 1).expect("maintenance"));
    bench.flush();
    bench.set(0x1100_0008, 9);
    (0..0x4000).step_by(8).for_each(|at| bench.put(0x1800_0001 + at, 0, 1).expect("maintenance"));
    bench.get(0x1000_0008).expect("flash");
    bench.get(0x1000_2008).expect("flash");
    assert!(bench.refusal().contains("is stale"));
}

#[test]
fn a_miss_of_flash_writes_a_dirty_line_back() {
    let mut bench = Bench::with_psram();
    for line in 0..64 {
        bench.set(0x1100_0000 + 8 * line, line + 1);
    }
    bench.get(0x1010_1ff8).expect("flash");
    let (line, write_back) = (64 * 4, bench.mem.xip.write_back_cycles);
    // SELECT_HOLD, half a clock and MIN_DESELECT; 2 + 6 + 16 clocks.
    assert_eq!(write_back, 7 + 24 * 2);
    let mut written = 0;
    // Lines of all sets, more than once, each of which continues the transfer.
    for at in (0..0x4_0000).step_by(8) {
        let waits = bench.read_waits(0x1010_2000 + at);
        assert!(waits == line || waits == line + write_back, "{waits}");
        written += u32::from(waits != line);
    }
    assert_eq!(written, 64);
    for line in 0..64 {
        assert_eq!([0x1500_0000, 0x1100_0000].map(|base| bench.get(base + 8 * line)), [Ok(line + 1); 2]);
    }
}

#[test]
fn the_windows_registers_say_what_a_transfer_costs() {
    let mut bench = Bench::with_psram();
    bench.get(0x1000_0000).expect("flash");
    bench.bus.sys.cycle += 1_000;
    let cost = |bench: &mut Bench, at: u32, pause: u64| {
        bench.bus.sys.cycle += pause;
        bench.read_waits(at)
    };
    // 2 + 6 + 6 + 16 clocks of 2 cycles, after flash's chip select is released: 1 + 2 cycles.
    let (whole, data) = (30 * 2, 16 * 2);
    assert_eq!(cost(&mut bench, 0x1100_0100, 0), whole + 3);
    assert_eq!(cost(&mut bench, 0x1100_0104, 0), 0);
    // The next line continues the transfer for 64 cycles and half a clock; then chip select is high already.
    assert_eq!(cost(&mut bench, 0x1100_0108, 64), data);
    assert_eq!(cost(&mut bench, 0x1100_0110, 65), whole + 1 + 2);
    assert_eq!(cost(&mut bench, 0x1100_0118, 500), whole);
    // Another line first ends it: SELECT_HOLD 4, half a clock, MIN_DESELECT 2.
    assert_eq!(cost(&mut bench, 0x1100_0400 - 8, 0), whole + 7);
    // A page of 1024 bytes ends here, so chip select rose after half a clock.
    assert_eq!(cost(&mut bench, 0x1100_0400, 0), whole + 4);
    assert_eq!(cost(&mut bench, 0x1100_0408, 0), data);
}

#[test]
fn translation_of_the_second_window_is_its_own() {
    let mut bench = Bench::with_psram();
    bench.set(0x1500_3000, 0x55);
    bench.set(ATRANS + 16, 1 << 16 | 3);
    assert_eq!((bench.get(0x1100_0000), bench.get(0x1500_0000)), (Ok(0x55), Ok(0x55)));
    assert_eq!(
        (bench.get(0x1100_1000), bench.get(0x1500_1000), bench.get(0x1d00_0000)),
        (Err(BusFault), Err(BusFault), Ok(0))
    );
    assert_eq!(bench.get(0x1000_0000), Ok(0));
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    for (register, value, why) in [
        (XIP_CTRL, 0x483, "XIP_CTRL.CTRL"),
        (M1_TIMING + 4, 0x1000_1000, "double transfer rate"),
        (QMI + 0x10, 0x1000_1000, "double transfer rate"),
    ] {
        let mut bench = Bench::new();
        bench.set(register, value);
        assert!(bench.refusal().contains(why), "{register:#x}");
    }
    let mut bench = Bench::with_psram();
    bench.set(0x1100_0000, 1);
    bench.set(XIP_CTRL, 0x880);
    assert!(bench.refusal().contains("dirty lines"));
}
