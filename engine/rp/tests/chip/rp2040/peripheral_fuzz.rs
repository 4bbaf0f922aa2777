//! Each register block separately, in a chip whose clocks are set up by a program: random reads and writes, externally
//! driven pins, and all events of some milliseconds. Nothing panics, the number of events is proportional to simulated
//! time, and all values and times are as recorded.

use super::common::Random;
use rp::rp2040::Sys;
use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::memory::Memory;
use rp::rp2040::world::World;
use sim::{PS_PER_MS, PS_PER_US, Ps};

const SET: u32 = 0x2000;
const CLEAR: u32 = 0x3000;
const CORE: Master = Master::Core(0);

/// Wires every output of the lower half of the pins, inverted, to the pin 15 above it; on I2C it acknowledges two
/// addresses and half of the bytes.
#[derive(Default)]
struct Inverters {
    i2c_read: u8,
}

impl World for Inverters {
    fn spi_frame(&mut self, _: &mut Sys, _: usize, mosi: u16, _: u8) -> u16 {
        !mosi
    }

    fn pins_changed(&mut self, sys: &mut Sys) {
        for pin in 0..15 {
            let driven = sys.pins.output_enabled() >> pin & 1 != 0;
            let level = sys.pins.output() >> pin & 1 == 0;
            sys.pins.drive(pin + 15, driven.then_some(level));
        }
    }

    fn i2c_start(&mut self, _: &mut Sys, _: usize, address: u16, _: bool) -> bool {
        matches!(address, 0x50 | 0x10)
    }

    fn i2c_write(&mut self, _: &mut Sys, _: usize, byte: u8) -> bool {
        byte & 1 == 0
    }

    fn i2c_read(&mut self, _: &mut Sys, _: usize) -> u8 {
        self.i2c_read = self.i2c_read.wrapping_add(1);
        self.i2c_read
    }
}

struct Bench {
    bus: Bus,
    mem: Memory,
    events: u64,
    digest: u64,
}

impl Bench {
    /// Creates 125 MHz from the crystal, a 1 MHz tick and no block in reset, as the SDK's start-up code leaves the
    /// chip.
    fn new() -> Self {
        let mut bus = Bus::new(rp::rp2040::wires::sys(6_500_000), Inverters::default());
        let mut mem = Memory::new(&[], 1 << 20);
        bus.power_on(&mut mem, false);
        // Each edge of PIO is an event, which is noted.
        bus.sys.batches_enabled = false;
        let mut bench = Self { bus, mem, events: 0, digest: 0 };
        bench.write(0x4002_400c, 1);
        bench.write(0x4002_4000, 0x00fa_baa0);
        bench.run_for(PS_PER_MS);
        bench.write(0x4000_c000 + CLEAR, u32::MAX);
        for (base, fbdiv, prim) in [(0x4002_8000, 125, 0x6_2000), (0x4002_c000, 100, 0x5_5000)] {
            bench.write(base + 8, fbdiv);
            bench.write(base + 4, 0);
            bench.write(base + 0xc, prim);
        }
        bench.run_for(PS_PER_MS);
        // clk_ref, clk_sys, clk_peri, clk_usb, clk_adc, clk_rtc.
        for (offset, value) in [(0x30, 2), (0x3c, 1), (0x48, 0x800), (0x54, 0x800), (0x60, 0x800), (0x6c, 0x800)] {
            bench.write(0x4000_8000 + offset, value);
        }
        bench.write(0x4005_802c, 0x20c);
        let f = &bench.bus.sys.freq;
        assert_eq!((f.clk_sys_hz, f.clk_usb_hz, f.tick_hz), (125_000_000, 48_000_000, 1_000_000));
        assert_eq!(bench.bus.sys.unmodelled, None);
        bench.events = 0;
        bench
    }

    fn note(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn read(&mut self, address: u32) {
        let value = self.bus.read(&mut self.mem, CORE, address, 4).expect("a register");
        self.note(u64::from(value));
    }

    fn write(&mut self, address: u32, value: u32) {
        self.bus.write(&mut self.mem, CORE, address, value, 4).expect("a register");
    }

    /// Handles events for `duration`, or fewer if there are far too many.
    fn run_for(&mut self, duration: Ps) {
        let until = self.bus.sys.now() + duration;
        let limit = self.events + 5_000;
        while self.events < limit
            && let Some(id) = self.bus.sys.take_event(until)
        {
            self.events += 1;
            let now = self.bus.sys.now();
            self.note(now ^ u64::from(id.0));
            self.bus.sys.cycle = self.bus.sys.cycle.max(self.bus.sys.clock.cycle_at(now));
            self.bus.event(&mut self.mem, id);
        }
        self.bus.sys.end_event();
        self.bus.sys.cycle = self.bus.sys.cycle.max(self.bus.sys.clock.cycle_at(until));
        let (level, irqs, dreqs) = (self.bus.sys.pins.level(), self.bus.sys.irq_level(), self.bus.sys.dreq_level());
        self.note(level << 32 | irqs);
        self.note(dreqs);
    }
}

/// Block, largest offset of a register, and most events per microsecond at 125 MHz: one per byte, sample or edge for
/// the slow blocks, one per cycle if the fastest setting allows that; and what its values and times add up to.
const BLOCKS: [(u32, u32, u64, u64); 23] = [
    (0x4000_0000, 0x40, 1, 0x5bc6362433774833),
    (0x4000_4000, 0x18, 1, 0x31a67a1b14e9a823),
    (0x4000_c000, 0x08, 1, 0x24e7dc4596a3825e),
    (0x4001_0000, 0x0c, 1, 0xb2d5e19ab4f34ef4),
    (0x4001_4000, 0x18c, 1, 0xf9e9e23e79e0c3cf),
    (0x4001_8000, 0x54, 1, 0x3970869d0740b07a),
    (0x4001_c000, 0x80, 1, 0x44b9dc9c198b35e9),
    (0x4002_0000, 0x18, 1, 0x4314e8fd5d7415b7),
    (0x4003_0000, 0x24, 1, 0x0064da22471a7b67),
    (0x4003_4000, 0x48, 20, 0x11de5c464a6b8929),
    (0x4003_8000, 0x48, 20, 0xdde32fcf9c7fb0c6),
    (0x4004_4000, 0xfc, 20, 0xf8aefe3918dc8c2b),
    (0x4004_8000, 0xfc, 20, 0xc74d56b8e164f0d9),
    (0x4004_c000, 0x20, 2, 0xfe6b346198d1b098),
    (0x4005_0000, 0xb0, 130, 0xf47b51ee8b76c6eb),
    (0x4005_4000, 0x40, 5, 0x63774bb4daf32dfc),
    (0x4005_8000, 0x28, 1, 0x8e7ab96cf9d98cdf),
    (0x4005_c000, 0x2c, 130, 0x889f16cc797b7469),
    (0x4006_0000, 0x20, 1, 0x7ee041ca8bcd5f50),
    (0x4006_4000, 0x08, 1, 0x6744e3b7cb6afbc1),
    (0x4006_c000, 0x00, 1, 0x7ea45ae64213574b),
    (0x5020_0000, 0x140, 130, 0xfd0ac99f2c59b7ad),
    (0x5030_0000, 0x140, 130, 0x3e5c50c77538bf89),
];

fn value(r: &mut Random) -> u32 {
    match r.below(5) {
        0 => r.next(),
        1 => 1 << r.below(32),
        2 => r.below(16),
        3 => u32::MAX,
        _ => r.next() & r.next() & r.next(),
    }
}

/// Returns writes that start a block; random writes seldom do.
fn start_up(base: u32) -> &'static [(u32, u32)] {
    match base {
        0x4003_4000 | 0x4003_8000 => &[(0x24, 2), (0x2c, 0x70), (0x30, 0x301), (0x38, 0x7ff), (0x48, 3), (0x00, 0x55)],
        0x4004_4000 | 0x4004_8000 => {
            &[(0x6c, 0), (0x00, 0x365), (0x04, 0x50), (0x1c, 20), (0x20, 20), (0x6c, 1), (0x10, 0x100)]
        }
        0x4004_c000 => &[(0x00, 0x1f_000b), (0x08, 0x0100_000f), (0x18, 1)],
        0x4005_0000 => &[(0x10, 99), (0x0c, 50), (0x00, 1), (0xa0, 0xff), (0xa4, 0xff), (0xa8, 0xff)],
        0x4005_4000 => &[(0x30, 0), (0x38, 15)],
        0x4005_8000 => &[(0x04, 100), (0x00, 0x4000_0000)],
        0x4005_c000 => &[(0x00, 0), (0x0c, 1), (0x24, 1), (0x10, 0x1000_0000)],
        0x5020_0000 | 0x5030_0000 => {
            &[(0x0c8, 0x0001_0000), (0x0e0, 0x0001_8000), (0x000, 0xfff), (0x12c, 0xfff), (0x014, 7)]
        }
        _ => &[],
    }
}

fn fuzz(base: u32, last: u32, per_us: u64, seed: u64) -> u64 {
    let mut r = Random(seed);
    let mut b = Bench::new();
    // Some pins belong to a function that may read or drive them.
    let functions = [2, 3, 4, 5, 6, 7, 31];
    for pin in 0..30 {
        let function = functions[r.below(functions.len() as u32) as usize];
        b.write(0x4001_4004 + 8 * pin, function);
    }
    if base >= 0x5020_0000 {
        for instruction in 0..32 {
            let opcode = r.next();
            b.write(base + 0x48 + 4 * instruction, opcode);
        }
    }
    let start = b.bus.sys.now();
    for step in 0..1500 {
        if step % 50 == 0 {
            for &(offset, value) in start_up(base) {
                b.write(base + offset, value);
            }
        }
        if r.below(10) == 0 {
            let Bench { bus, .. } = &mut b;
            let (uart, byte) = (r.below(2) as usize, r.next() as u8);
            bus.blocks.uart[uart].receive(&mut bus.sys, byte);
        }
        let offset = r.below(last / 4 + 1) * 4;
        match r.below(3) {
            0 => b.read(base + offset),
            1 => {
                let alias = [0, 0x1000, SET, CLEAR][r.below(4) as usize];
                let value = value(&mut r);
                b.write(base + alias + offset, value);
            }
            _ => {
                let pin = r.below(30);
                let level = r.below(3);
                b.bus.sys.pins.drive(pin, (level < 2).then_some(level == 0));
                b.bus.settle(&mut b.mem);
            }
        }
        b.bus.sys.cycle += u64::from(1 + r.below(30));
        if r.below(4) == 0 {
            let duration = u64::from(r.below(20)) * PS_PER_US;
            b.run_for(duration);
        }
        b.bus.sys.unmodelled = None;
        b.bus.sys.reset_request = None;
    }
    let us = (b.bus.sys.now() - start) / PS_PER_US + 1;
    assert!(b.events <= us * per_us + 1500, "0x{base:08x}, seed {seed}: {} events in {us} us", b.events);
    b.digest
}

#[test]
fn every_block_survives_and_is_as_recorded() {
    for (base, last, per_us, recorded) in BLOCKS {
        let digests = (1..=8).map(|seed| fuzz(base, last, per_us, 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed)));
        let found = digests.fold(0u64, |all, each| all.rotate_left(7) ^ each);
        assert_eq!(
            found, recorded,
            "0x{base:08x}: show a wanted change in another test, and then take the value from here"
        );
    }
}

/// Blocks with a bit in RESETS: block, largest offset of a register, bit. IO_BANK0 is not one of these: it notes edges of
/// pins that its own reset causes.
const RESETTABLE: [(u32, u32, u32); 17] = [
    (0x4000_4000, 0x18, 18),
    (0x4001_8000, 0x54, 6),
    (0x4001_c000, 0x80, 8),
    (0x4002_0000, 0x18, 9),
    (0x4003_0000, 0x24, 1),
    (0x4003_4000, 0x48, 22),
    (0x4003_8000, 0x48, 23),
    (0x4003_c000, 0x24, 16),
    (0x4004_0000, 0x24, 17),
    (0x4004_4000, 0xfc, 3),
    (0x4004_8000, 0xfc, 4),
    (0x4004_c000, 0x20, 0),
    (0x4005_0000, 0xb0, 14),
    (0x4005_4000, 0x40, 21),
    (0x4005_c000, 0x2c, 15),
    (0x5020_0000, 0x140, 10),
    (0x5030_0000, 0x140, 11),
];

#[test]
fn a_block_after_its_reset_is_as_if_nothing_had_been_written() {
    let (resets, mode_1) = (0x4000_c000, 0xc7);
    for (base, last, bit) in RESETTABLE {
        for seed in 1..=4 {
            let mut r = Random(0x2545_f491_4f6c_dd1du64.wrapping_mul(seed));
            let (mut used, mut fresh) = (Bench::new(), Bench::new());
            for pin in 0..30 {
                let function = [1, 2, 3, 4, 5, 6, 7, 31][r.below(8) as usize];
                used.write(0x4001_4004 + 8 * pin, function);
                fresh.write(0x4001_4004 + 8 * pin, function);
            }
            for step in 0..200 {
                for &(offset, value) in start_up(base).iter().filter(|_| step % 50 == 0) {
                    used.write(base + offset, value);
                }
                let offset = r.below(last / 4 + 1) * 4;
                // SPI: a clock that idles high, for half of the guests.
                let value = if base >> 15 == 0x4003_c000 >> 15 && offset == 0 { mode_1 } else { value(&mut r) };
                used.write(base + offset, value);
                used.run_for(u64::from(r.below(3)) * PS_PER_US);
                used.bus.sys.unmodelled = None;
            }
            fresh.run_for(used.bus.sys.now() - fresh.bus.sys.now());
            let [used, fresh] = [used, fresh].map(|mut bench| {
                bench.write(resets + SET, 1 << bit);
                bench.write(resets + CLEAR, 1 << bit);
                bench.run_for(PS_PER_US);
                let sys = &bench.bus.sys;
                let lines = [sys.pins.level(), sys.pins.output_enabled(), sys.irq_level(), sys.dreq_level()];
                let read = |offset| bench.bus.read(&mut bench.mem, CORE, base + offset, 4).expect("a register");
                (lines, (0..=last).step_by(4).map(read).collect::<Vec<_>>())
            });
            assert_eq!(used, fresh, "0x{base:08x}, seed {seed}");
        }
    }
}

#[test]
fn random_clock_settings_keep_time_advancing() {
    for seed in 1..=40 {
        let mut r = Random(0x2545_f491_4f6c_dd1du64.wrapping_mul(seed));
        let mut b = Bench::new();
        // An event to be timed by each clock.
        b.write(0x4005_4010, 50_000);
        b.write(0x4005_0000 + 0xa8, 1);
        b.write(0x4005_0000, 1);
        b.write(0x4003_4024, 1);
        b.write(0x4003_402c, 0x70);
        b.write(0x4003_4030, 0x381);
        for _ in 0..300 {
            let base = [0x4000_8000, 0x4002_4000, 0x4002_8000, 0x4002_c000, 0x4006_0000][r.below(5) as usize];
            let last = if base == 0x4000_8000 { 0xc4 } else { 0x20 };
            let (offset, value) = (r.below(last / 4 + 1) * 4, value(&mut r));
            if r.below(3) == 0 {
                b.read(base + offset)
            } else {
                b.write(base + offset, value)
            }
            b.write(0x4003_4000, value);
            b.bus.sys.cycle += 1;
            let before = b.bus.sys.now();
            b.run_for(10 * PS_PER_US);
            assert!(b.bus.sys.now() > before);
            b.bus.sys.unmodelled = None;
            b.bus.sys.reset_request = None;
            if r.below(30) == 0 {
                b.bus.watchdog_reset(&mut b.mem, true);
            }
        }
    }
}
