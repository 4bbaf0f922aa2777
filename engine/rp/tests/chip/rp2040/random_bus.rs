//! A hostile guest: random reads and writes anywhere on the bus, with the resulting events, never panic, and never keep
//! the host busy without progress of simulated time.

use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::memory::Memory;
use rp::rp2040::world::Nothing;
use sim::{PS_PER_US, SplitMix64};

/// Returns bases of the register blocks, the DPSRAM and the XIP block (datasheet 2.2).
fn block_base(r: &mut SplitMix64) -> u32 {
    match r.below(8) {
        0..5 => 0x4000_0000 + 0x4000 * r.below(28) as u32,
        5 => [0x5000_0000, 0x5010_0000, 0x5011_0000, 0x5020_0000, 0x5030_0000, 0x5040_0000][r.below(6) as usize],
        6 => [0x1400_0000, 0x1500_0000, 0x1800_0000][r.below(3) as usize],
        _ => 0xd000_0000,
    }
}

/// Returns values like those of real programs, which are more dangerous than noise: few bits, small numbers, addresses.
fn value(r: &mut SplitMix64) -> u32 {
    match r.below(5) {
        0 => r.draw() as u32,
        1 => 1 << r.below(32),
        2 => r.below(16) as u32,
        3 => u32::MAX,
        _ => 0x2000_0000 + (r.below(0x4_2000) as u32 & !3),
    }
}

fn run(seed: u64, steps: u64) {
    let mut r = SplitMix64::new(seed);
    let mut mem: Memory = Memory::new(&[], 1 << 20);
    let mut bus = Bus::new(rp::rp2040::wires::sys(6_500_000), Nothing);
    bus.settle(&mut mem);
    for _ in 0..steps {
        let master = if r.below(8) == 0 { Master::Dma } else { Master::Core(r.below(2) as usize) };
        let size = 1 << r.below(3);
        let offset = match r.below(4) {
            0 => r.below(0x40),
            1 => r.below(0x1000),
            _ => r.below(0x200),
        };
        // Some writes go through the atomic aliases.
        let alias = if r.below(3) == 0 { 0x1000 * r.below(4) as u32 } else { 0 };
        let address = (block_base(&mut r) + offset as u32 + alias) & !(size - 1);
        bus.sys.cycle += 1 + r.below(20);
        let value = value(&mut r);
        // RESETS and PSM would stop most blocks.
        let is_reset = matches!(address & 0xffff_c000, 0x4000_c000 | 0x4001_0000);
        if r.below(3) == 0 {
            let _ = bus.read(&mut mem, master, address, size);
        } else if !is_reset || r.below(50) == 0 {
            let _ = bus.write(&mut mem, master, address, value, size);
        }
        if r.below(40) == 0 {
            let release = [0x4000_f000, 0x4001_3004][r.below(2) as usize];
            let _ = bus.write(&mut mem, Master::Core(0), release, u32::MAX, 4);
        }
        let until = bus.sys.now() + r.below(3) * PS_PER_US;
        // Time must advance between events: a block that schedules in the past would hang the host. With a slow clk_sys
        // a single cycle can contain very many events, of which some are enough.
        let mut same_time = 0;
        let mut last = 0;
        for _ in 0..2_000 {
            let Some(id) = bus.sys.take_event(until) else { break };
            let now = bus.sys.now();
            same_time = if now == last { same_time + 1 } else { 0 };
            last = now;
            assert!(same_time < 1_000, "seed {seed:#x}: {id:?} is due at {now} ps repeatedly");
            bus.sys.cycle = bus.sys.cycle.max(bus.sys.clock.cycle_at(now));
            bus.event(&mut mem, id);
        }
        bus.sys.end_event();
        bus.sys.unmodelled = None;
        bus.sys.reset_request = None;
    }
}

#[test]
fn random_accesses_and_events_never_panic() {
    for seed in 1..=40u64 {
        run(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), 100_000);
    }
}
