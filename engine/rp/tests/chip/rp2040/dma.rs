//! DMA on the chip's bus.

use parts::dma::{REQUEST_CYCLES, TREQ_PERMANENT};
use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::memory::Memory;
use rp::rp2040::wires::{dreq, irq};
use rp::rp2040::world::Nothing;
use sim::NEVER;

/// CTRL of a channel.
mod ctrl {
    pub use parts::dma::ctrl::*;

    pub const INCR_READ: u32 = 1 << 4;
    pub const INCR_WRITE: u32 = 1 << 5;
    pub const IRQ_QUIET: u32 = 1 << 21;
    pub const BSWAP: u32 = 1 << 22;
    pub const SNIFF_EN: u32 = 1 << 23;
    pub const BUSY: u32 = 1 << 24;
}

const CHANNEL0: u32 = 0x5000_0000;

fn bench() -> (Bus, Memory) {
    let mem = Memory::new(&[], 1 << 20);
    let mut sys = rp::rp2040::wires::sys(125_000_000);
    sys.freq.clk_sys_hz = 125_000_000;
    sys.clock_sources_dirty = false;
    sys.cycle = STARTED;
    (Bus::new(sys, Nothing), mem)
}

fn put(bus: &mut Bus, mem: &mut Memory, address: u32, value: u32) {
    bus.write(mem, Master::Core(0), address, value, 4).unwrap();
}

fn get(bus: &mut Bus, mem: &mut Memory, address: u32) -> u32 {
    bus.read(mem, Master::Core(0), address, 4).unwrap()
}

/// Cycle at which the tests start their transfers.
const STARTED: u64 = 1000;

/// Runs events until none is due; returns the cycle of the last.
fn run(bus: &mut Bus, mem: &mut Memory) -> u64 {
    for _ in 0..100_000 {
        let due = bus.sys.next_due();
        if due == NEVER {
            let last = bus.sys.cycle;
            bus.sys.take_event(0);
            return last;
        }
        let id = bus.sys.take_event(due).unwrap();
        bus.sys.cycle = bus.sys.clock.cycle_at(due);
        bus.event(mem, id);
    }
    panic!("events without end");
}

fn busy(bus: &mut Bus, mem: &mut Memory, channel: u32) -> bool {
    get(bus, mem, CHANNEL0 + 0x40 * channel + 0x10) & ctrl::BUSY != 0
}

fn start(bus: &mut Bus, mem: &mut Memory, read: u32, write: u32, count: u32, ctrl: u32) {
    put(bus, mem, CHANNEL0, read);
    put(bus, mem, CHANNEL0 + 4, write);
    put(bus, mem, CHANNEL0 + 8, count);
    put(bus, mem, CHANNEL0 + 0xc, ctrl);
}

/// TREQ_SEL of the first pacing timer.
const TREQ_TIMER0: u32 = 0x3b;

const COPY: u32 = ctrl::EN | ctrl::INCR_READ | ctrl::INCR_WRITE | (TREQ_PERMANENT << 15);

#[test]
fn copies_words_at_one_per_cycle_and_interrupts_once() {
    let (mut bus, mut mem) = bench();
    for i in 0..64 {
        mem.set_ram_u32(4 * i, 0x1000 + i as u32);
    }
    put(&mut bus, &mut mem, CHANNEL0 + 0x404, 1);
    start(&mut bus, &mut mem, 0x2000_0000, 0x2000_1000, 64, COPY | (2 << 2));
    assert_ne!(get(&mut bus, &mut mem, CHANNEL0 + 0xc) & ctrl::BUSY, 0);
    let last = run(&mut bus, &mut mem);
    assert!((0..64).all(|i| mem.ram_u32(0x1000 + 4 * i) == 0x1000 + i as u32));
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0xc) & ctrl::BUSY, 0);
    assert_eq!(bus.sys.irq_level() & (1 << irq::DMA_0), 1 << irq::DMA_0);
    assert_eq!(last, STARTED + REQUEST_CYCLES + 64);
    put(&mut bus, &mut mem, CHANNEL0 + 0x40c, 1);
    assert_eq!(bus.sys.irq_level() & (1 << irq::DMA_0), 0);
}

#[test]
fn wraps_a_ring_and_swaps_bytes() {
    let (mut bus, mut mem) = bench();
    mem.set_ram_u32(0, 0x0403_0201);
    mem.set_ram_u32(4, 0x0807_0605);
    // A read ring of 8 bytes.
    start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 4, COPY | (2 << 2) | (3 << 6) | ctrl::BSWAP);
    run(&mut bus, &mut mem);
    let got: Vec<u32> = (0..4).map(|i| mem.ram_u32(0x100 + 4 * i)).collect();
    assert_eq!(got, [0x0102_0304, 0x0506_0708, 0x0102_0304, 0x0506_0708]);
}

#[test]
fn chains_through_a_control_block_that_writes_its_own_registers() {
    let (mut bus, mut mem) = bench();
    mem.set_ram_u32(0x200, 0x2000_0300);
    mem.set_ram_u32(0x300, 0xcafe);
    // Channel 1 copies one word from an address that channel 0 writes to AL3_READ_ADDR_TRIG.
    put(&mut bus, &mut mem, CHANNEL0 + 0x40 + 4, 0x2000_0400);
    put(&mut bus, &mut mem, CHANNEL0 + 0x40 + 8, 1);
    put(&mut bus, &mut mem, CHANNEL0 + 0x40 + 0x10, ctrl::EN | (2 << 2) | (1 << 11) | (TREQ_PERMANENT << 15));
    start(&mut bus, &mut mem, 0x2000_0200, CHANNEL0 + 0x40 + 0x3c, 1, COPY | (2 << 2));
    run(&mut bus, &mut mem);
    assert_eq!(mem.ram_u32(0x400), 0xcafe);
}

#[test]
fn a_bus_error_stops_the_channel_and_can_be_cleared() {
    let (mut bus, mut mem) = bench();
    start(&mut bus, &mut mem, 0x6000_0000, 0x2000_0000, 4, COPY | (2 << 2));
    run(&mut bus, &mut mem);
    let value = get(&mut bus, &mut mem, CHANNEL0 + 0xc);
    assert_eq!(value & (ctrl::READ_ERROR | ctrl::AHB_ERROR | ctrl::BUSY), ctrl::READ_ERROR | ctrl::AHB_ERROR);
    put(&mut bus, &mut mem, CHANNEL0 + 0x10, ctrl::READ_ERROR);
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x10) & ctrl::AHB_ERROR, 0);
}

#[test]
fn a_timer_paces_one_transfer_every_y_over_x_cycles() {
    let (mut bus, mut mem) = bench();
    put(&mut bus, &mut mem, CHANNEL0 + 0x420, (1 << 16) | 100);
    start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 5, ctrl::EN | (2 << 2) | (TREQ_TIMER0 << 15));
    let last = run(&mut bus, &mut mem);
    // Requests at 100, 200, ... after the timer was set; the last transfer takes a cycle.
    assert_eq!(last, STARTED + 500 + 1);
}

/// X should not be above Y; a request each cycle is the most there is.
#[test]
fn a_timer_with_x_above_y_paces_one_transfer_a_cycle() {
    for (x, y) in [(1, 1), (3, 2), (7, 3), (0xffff, 1)] {
        let (mut bus, mut mem) = bench();
        put(&mut bus, &mut mem, CHANNEL0 + 0x420, (x << 16) | y);
        start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 50, ctrl::EN | (2 << 2) | (TREQ_TIMER0 << 15));
        assert_eq!(run(&mut bus, &mut mem), STARTED + REQUEST_CYCLES + 50, "{x}/{y}");
    }
}

#[test]
fn the_sniffer_computes_the_crcs_of_the_check_string() {
    let (mut bus, mut mem) = bench();
    for (i, byte) in b"123456789".iter().enumerate() {
        mem.set_ram_u8(i, *byte);
    }
    let sniffed = COPY | ctrl::SNIFF_EN;
    // CRC-32/MPEG-2 and CRC-16/CCITT-FALSE are the plain forms; CRC-32 needs both reversals and the inversion.
    for (mode, seed, expected) in [
        (0x0, u32::MAX, 0x0376_e6e7),
        (0x1 << 5 | 1 << 10 | 1 << 11, u32::MAX, 0xcbf4_3926),
        (0x2 << 5, 0xffff, 0x29b1),
        (0xf << 5, 0, 477),
    ] {
        put(&mut bus, &mut mem, CHANNEL0 + 0x434, 1 | mode);
        put(&mut bus, &mut mem, CHANNEL0 + 0x438, seed);
        start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 9, sniffed);
        run(&mut bus, &mut mem);
        assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x438), expected, "{mode:#x}");
    }
}

#[test]
fn wait_states_of_the_slower_side_set_the_pace() {
    let (mut bus, mut mem) = bench();
    // APB reads (SPI1.SSPPERIPHID0): 1 + 2 cycles each, into SRAM.
    start(&mut bus, &mut mem, 0x4004_0fe0, 0x2000_0000, 10, ctrl::EN | ctrl::INCR_WRITE | (TREQ_PERMANENT << 15));
    assert_eq!(run(&mut bus, &mut mem), STARTED + REQUEST_CYCLES + 30);
    assert_eq!(mem.ram_u32(4), 0x2222_2222);
}

#[test]
fn completion_is_neither_early_nor_late() {
    let (mut bus, mut mem) = bench();
    start(&mut bus, &mut mem, 0x2000_0000, 0x2000_1000, 1000, COPY | (2 << 2));
    let end = bus.sys.clock.ps_at(STARTED + REQUEST_CYCLES + 1000);
    for until in [end - 8_000, end] {
        while let Some(id) = bus.sys.take_event(until) {
            bus.event(&mut mem, id);
        }
        bus.sys.cycle = bus.sys.clock.cycle_at(until);
        assert_eq!(busy(&mut bus, &mut mem, 0), until != end);
    }
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x400), 1);
}

#[test]
fn null_triggers_and_quiet_channels() {
    let (mut bus, mut mem) = bench();
    start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 1, COPY | ctrl::IRQ_QUIET);
    run(&mut bus, &mut mem);
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x400), 0);
    put(&mut bus, &mut mem, CHANNEL0 + 0x3c, 0);
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x400), 1);
    assert!(!busy(&mut bus, &mut mem, 0));
}

#[test]
fn channels_chain_and_start_together() {
    let (mut bus, mut mem) = bench();
    mem.set_ram_u32(0, 5);
    for (n, chain) in [(0u32, 1u32), (1, 2), (2, 2)] {
        let at = CHANNEL0 + 0x40 * n;
        put(&mut bus, &mut mem, at, 0x2000_0000 + 4 * n);
        put(&mut bus, &mut mem, at + 4, 0x2000_0004 + 4 * n);
        put(&mut bus, &mut mem, at + 8, 1);
        put(&mut bus, &mut mem, at + 0x10, ctrl::EN | (2 << 2) | (chain << 11) | (TREQ_PERMANENT << 15));
    }
    put(&mut bus, &mut mem, CHANNEL0 + 0x430, 1);
    assert_eq!(run(&mut bus, &mut mem), STARTED + 3 * (REQUEST_CYCLES + 1));
    assert_eq!((mem.ram_u32(12), get(&mut bus, &mut mem, CHANNEL0 + 0x400)), (5, 7));
    // A ring of channels without transfers runs in simulated time, not in an endless loop.
    for n in 0..2 {
        put(&mut bus, &mut mem, CHANNEL0 + 0x40 * n + 8, 0);
        put(&mut bus, &mut mem, CHANNEL0 + 0x40 * n + 0x10, COPY | ((1 - n) << 11));
    }
    put(&mut bus, &mut mem, CHANNEL0 + 0x430, 1);
    let before = bus.sys.clock.cycle_at(bus.sys.next_due());
    for _ in 0..10 {
        let due = bus.sys.next_due();
        let id = bus.sys.take_event(due).unwrap();
        bus.event(&mut mem, id);
    }
    assert_eq!(bus.sys.clock.cycle_at(bus.sys.next_due()), before + 10 * REQUEST_CYCLES);
}

#[test]
fn high_priority_channels_go_first_and_others_share() {
    let (mut bus, mut mem) = bench();
    for (n, flags) in [(0u32, 0), (1, ctrl::HIGH_PRIORITY), (2, 0)] {
        let at = CHANNEL0 + 0x40 * n;
        put(&mut bus, &mut mem, at, 0x2000_0000);
        put(&mut bus, &mut mem, at + 4, 0x2000_0100);
        put(&mut bus, &mut mem, at + 8, 8);
        put(&mut bus, &mut mem, at + 0x10, ctrl::EN | flags | (n << 11) | (TREQ_PERMANENT << 15));
    }
    put(&mut bus, &mut mem, CHANNEL0 + 0x430, 7);
    let mut order = vec![];
    while bus.sys.next_due() != NEVER {
        let due = bus.sys.next_due();
        let id = bus.sys.take_event(due).unwrap();
        bus.event(&mut mem, id);
        let done = get(&mut bus, &mut mem, CHANNEL0 + 0x400);
        for n in 0..3 {
            if done & (1 << n) != 0 && !order.contains(&n) {
                order.push(n);
            }
        }
    }
    // Channel 1 gets every other cycle; 0 and 2 share the rest, and then all of them.
    assert_eq!(order, [1, 2, 0]);
}

#[test]
fn an_abort_stops_silently_and_a_pause_keeps_the_place() {
    let (mut bus, mut mem) = bench();
    start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 5, COPY | (2 << 2));
    put(&mut bus, &mut mem, CHANNEL0 + 0x444, 1);
    assert!(!busy(&mut bus, &mut mem, 0));
    run(&mut bus, &mut mem);
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x400), 0);
    put(&mut bus, &mut mem, CHANNEL0 + 0xc, COPY | (2 << 2));
    bus.write(&mut mem, Master::Core(0), CHANNEL0 + 0x3010, ctrl::EN, 4).unwrap();
    run(&mut bus, &mut mem);
    assert!(busy(&mut bus, &mut mem, 0));
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 8), 5);
    bus.write(&mut mem, Master::Core(0), CHANNEL0 + 0x2010, ctrl::EN, 4).unwrap();
    run(&mut bus, &mut mem);
    assert!(!busy(&mut bus, &mut mem, 0));
}

#[test]
fn errors_raise_the_interrupt_even_of_a_quiet_channel() {
    let (mut bus, mut mem) = bench();
    start(&mut bus, &mut mem, 0x2000_0000, 0x6000_0000, 4, COPY | ctrl::IRQ_QUIET);
    run(&mut bus, &mut mem);
    let value = get(&mut bus, &mut mem, CHANNEL0 + 0x10);
    assert_eq!(value & (ctrl::ERRORS | ctrl::AHB_ERROR), ctrl::WRITE_ERROR | ctrl::AHB_ERROR);
    assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x400), 1);
}

#[test]
fn a_full_duplex_spi_transfer_runs_at_the_wire_rate() {
    let (mut bus, mut mem) = bench();
    bus.sys.freq.clk_peri_hz = 125_000_000;
    // SPI0 released from reset, loop back, clk_peri / 4, 8 bits, mode 3: frames follow without a pause.
    bus.sys.held_in_reset = 0;
    for (offset, value) in [(0x10, 4), (0x00, 0xc7), (0x24, 3), (0x04, 3)] {
        put(&mut bus, &mut mem, 0x4003_c000 + offset, value);
    }
    for i in 0..64 {
        mem.set_ram_u8(i, i as u8 ^ 0x5a);
    }
    for (channel, read, write, flags, dreq) in [
        (0u32, 0x2000_0000, 0x4003_c008, ctrl::INCR_READ, dreq::SPI0_TX),
        (1, 0x4003_c008, 0x2000_0100, ctrl::INCR_WRITE, dreq::SPI0_RX),
    ] {
        let at = CHANNEL0 + 0x40 * channel;
        put(&mut bus, &mut mem, at, read);
        put(&mut bus, &mut mem, at + 4, write);
        put(&mut bus, &mut mem, at + 8, 64);
        put(&mut bus, &mut mem, at + 0x10, ctrl::EN | flags | (channel << 11) | (dreq << 15));
    }
    put(&mut bus, &mut mem, CHANNEL0 + 0x430, 3);
    while busy(&mut bus, &mut mem, 1) {
        let due = bus.sys.next_due();
        assert_ne!(due, NEVER);
        let id = bus.sys.take_event(due).unwrap();
        bus.event(&mut mem, id);
    }
    assert!((0..64).all(|i| mem.ram_u8(0x100 + i) == i as u8 ^ 0x5a));
    // First TX write after the request; 64 frames of 8 * 4 cycles; the last byte's read request, 3 cycles on the APB.
    let end = bus.sys.clock.cycle_at(bus.sys.now());
    assert_eq!(end, STARTED + REQUEST_CYCLES + 64 * 32 + REQUEST_CYCLES + 3);
}

#[test]
fn random_programs_never_panic_or_hang() {
    let (mut bus, mut mem) = bench();
    bus.sys.held_in_reset = 0;
    let mut random = sim::SplitMix64::new(0xdead_beef_cafe_f00d);
    for _ in 0..30_000 {
        let x = random.draw();
        let value = (x >> 32) as u32;
        let address = match x % 4 {
            0 => [0x2000_0000, 0x5000_0000, 0x1500_0000, 0x4003_c008][(x >> 8) as usize % 4] + (value & 0xffc),
            1 => value & 0x3f,
            _ => value,
        };
        let offset = CHANNEL0 + ((x >> 12) as u32 & 0x3ffc);
        let value = if x & 0x40 != 0 { value } else { address };
        put(&mut bus, &mut mem, offset, value);
        for _ in 0..4 {
            let due = bus.sys.next_due();
            if due != NEVER
                && let Some(id) = bus.sys.take_event(due)
            {
                bus.sys.cycle = bus.sys.clock.cycle_at(due);
                bus.event(&mut mem, id);
            }
        }
        bus.sys.take_event(0);
    }
}

#[test]
fn all_aliases_reach_the_same_registers_and_the_last_triggers() {
    enum Field {
        ReadAddr,
        WriteAddr,
        TransCount,
        Ctrl,
    }
    use Field::{Ctrl, ReadAddr, TransCount, WriteAddr};
    let order = [
        [ReadAddr, WriteAddr, TransCount, Ctrl],
        [Ctrl, ReadAddr, WriteAddr, TransCount],
        [Ctrl, TransCount, ReadAddr, WriteAddr],
        [Ctrl, WriteAddr, TransCount, ReadAddr],
    ];
    for (alias, fields) in order.iter().enumerate() {
        let (mut bus, mut mem) = bench();
        mem.set_ram_u32(0x10, 77);
        for (i, f) in fields.iter().enumerate() {
            let value = match f {
                ReadAddr => 0x2000_0010,
                WriteAddr => 0x2000_0020,
                TransCount => 1,
                Ctrl => COPY | (2 << 2),
            };
            assert!(!busy(&mut bus, &mut mem, 2));
            put(&mut bus, &mut mem, CHANNEL0 + 0x80 + 0x10 * alias as u32 + 4 * i as u32, value);
        }
        assert!(busy(&mut bus, &mut mem, 2));
        run(&mut bus, &mut mem);
        assert_eq!(mem.ram_u32(0x20), 77, "alias {alias}");
    }
}
