//! DMA paced by the wraps of a PWM slice.

use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::memory::Memory;
use rp::rp2040::wires::event;
use rp::rp2040::world::Nothing;
use sim::NEVER;

#[test]
fn dma_paced_by_wraps_moves_one_word_per_wrap() {
    let mut mem = Memory::new(&[], 1 << 16);
    let mut sys = rp::rp2040::wires::sys(125_000_000);
    sys.clock_sources_dirty = false;
    let mut bus = Bus::new(sys, Nothing);
    let put = |bus: &mut Bus, mem: &mut Memory, address, value| {
        bus.write(mem, Master::Core(0), address, value, 4).expect("a register");
    };
    put(&mut bus, &mut mem, 0x4005_0010, 999);
    // Counts, at clk_sys.
    put(&mut bus, &mut mem, 0x4005_0000, 1);
    assert_eq!(bus.sys.due(event::PWM), NEVER);
    // Channel 0: three words to SRAM, write increment, paced by slice 0.
    let ctrl = 24 << 15 | 1 << 5 | 2 << 2 | 1;
    for (offset, value) in [(0, 0x4005_0008), (4, 0x2000_0000), (8, 3), (0xc, ctrl)] {
        put(&mut bus, &mut mem, 0x5000_0000 + offset, value);
    }
    let mut wraps = vec![];
    while let Some(id) = bus.sys.take_event(NEVER - 1) {
        if id == event::PWM {
            wraps.push(bus.sys.now() / 8000);
        }
        bus.sys.cycle = bus.sys.clock.cycle_at(bus.sys.now());
        bus.event(&mut mem, id);
    }
    assert_eq!(wraps, [1000, 2000, 3000]);
    assert_eq!((bus.sys.watched_dreqs(), bus.sys.dreq_level()), (0, 0));
    // The counter at each transfer: a few cycles after each wrap.
    assert!((0..3).all(|word| (1..20).contains(&mem.ram_u32(4 * word))));
}
