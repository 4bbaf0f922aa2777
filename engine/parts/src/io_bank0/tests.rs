use super::*;
use crate::testing::{self, function, irq};
use crate::wires::Version;
use chip::Alias;

const BANK: u64 = 1 << irq::IO_BANK0;

fn changed(sys: &mut Sys, io: &mut IoBank0) {
    assert!(std::mem::take(&mut sys.pins.input_dirty));
    io.input_changed(sys);
}

#[test]
fn reset_values() {
    let mut sys = testing::sys(12_000_000);
    let mut io = IoBank0::new(testing::IO_BANK0);
    io.reset(&mut sys);
    for pin in 0..30 {
        assert_eq!((io.read(&mut sys, pin * 8), io.read(&mut sys, pin * 8 + 4)), (0, 0x1f));
    }
    // Every pin is low, so LEVEL_LOW is raised for each.
    assert_eq!((io.read(&mut sys, 0xf0), io.read(&mut sys, 0xfc)), (0x1111_1111, 0x0011_1111));
    for offset in (0x100..0x190).step_by(4) {
        assert_eq!(io.read(&mut sys, offset), 0);
    }
}

#[test]
fn spread_moves_each_bit_to_its_nibble() {
    for i in 0..8 {
        assert_eq!(spread(1 << i), 1 << (4 * i));
    }
    assert_eq!(spread(0x1ff), 0x1111_1111);
}

#[test]
fn function_select_and_overrides() {
    let mut sys = testing::sys(12_000_000);
    let mut io = IoBank0::new(testing::IO_BANK0);
    let (s, io) = (&mut sys, &mut io);
    s.pins.function_out[function::SIO] = 1 << 17;
    s.pins.function_oe[function::SIO] = 1 << 17;
    io.write(s, 17 * 8 + 4, Write::normal(5));
    assert_eq!((s.pins.function_mask[function::SIO], s.pins.level()), (1 << 17, 1 << 17));
    let expected = (3 << 8) | (3 << 12) | (1 << 17) | (1 << 19) | (1 << 24) | (1 << 26);
    assert_eq!(io.read(s, 17 * 8), expected);
    io.write(s, 17 * 8 + 4, Write { bits: 1 << 8, alias: Alias::Set });
    assert_eq!(s.pins.level(), 0);
    io.write(s, 17 * 8 + 4, Write::normal(NULL | (3 << 8) | (3 << 12)));
    assert_eq!((s.pins.level(), s.pins.function_mask[function::SIO]), (1 << 17, 0));
    io.write(s, 17 * 8 + 4, Write::normal(NULL | (1 << 16)));
    assert_eq!((s.pins.level(), s.pins.input()), (0, 1 << 17));
    assert_eq!(io.read(s, 17 * 8), 1 << 19);
}

#[test]
fn levels_and_edges_interrupt_the_enabled_core() {
    let mut sys = testing::sys(12_000_000);
    let mut io = IoBank0::new(testing::IO_BANK0);
    let (s, io) = (&mut sys, &mut io);
    io.reset(s);
    s.pins.input_dirty = false;
    // Pin 21: falling edge to core 1, low level to core 0.
    let shift = 4 * (21 - 16);
    s.pins.drive(21, Some(true));
    changed(s, io);
    io.write(s, 0xf8, Write::normal(0xf << shift));
    io.write(s, 0x138, Write::normal(4 << shift));
    io.write(s, 0x108, Write::normal(1 << shift));
    assert_eq!((s.irq_level_for_core(0) & BANK, s.irq_level_for_core(1) & BANK), (0, 0));
    s.pins.drive(21, Some(false));
    changed(s, io);
    assert_eq!((s.irq_level_for_core(0) & BANK, s.irq_level_for_core(1) & BANK), (BANK, BANK));
    assert_eq!((io.read(s, 0x128), io.read(s, 0x158)), (1 << shift, 4 << shift));
    s.pins.drive(21, Some(true));
    changed(s, io);
    assert_eq!((s.irq_level_for_core(0) & BANK, s.irq_level_for_core(1) & BANK), (0, BANK));
    // Both edges are latched; only a write of 1 clears them, and levels cannot be cleared.
    assert_eq!(io.read(s, 0xf8) >> shift & 15, 0b1110);
    io.write(s, 0xf8, Write::normal(0xf << shift));
    assert_eq!(io.read(s, 0xf8) >> shift & 15, 0b0010);
    assert_eq!(s.irq_level_for_core(1) & BANK, 0);
    io.write(s, 0x124, Write::normal(0xf));
    assert_eq!(io.read(s, 0x104), 0, "INTS is read-only");
    io.write(s, 0x144, Write::normal(8));
    assert_eq!((io.read(s, 0x154), s.irq_level_for_core(1) & BANK, s.irq_level_for_core(0) & BANK), (8, BANK, 0));
}

#[test]
fn irqover_is_seen_by_interrupts_only() {
    let mut sys = testing::sys(12_000_000);
    let mut io = IoBank0::new(testing::IO_BANK0);
    io.write(&mut sys, 4, Write::normal(NULL | (1 << 28)));
    assert_eq!(io.read(&mut sys, 0xf0) & 15, 0b1010);
    assert_eq!((sys.pins.input(), io.read(&mut sys, 0)), (0, 1 << 26));
}

#[test]
fn version_1_has_more_pins_and_a_summary() {
    let mut sys = testing::sys(12_000_000);
    let mut io = IoBank0::new(IoWires { irq: irq::IO_BANK0, version: Version::V1 });
    let s = &mut sys;
    io.reset(s);
    s.pins.function_out[function::SIO] = 1 << 17;
    s.pins.function_oe[function::SIO] = 1 << 17;
    io.write(s, 17 * 8 + 4, Write::normal(5 | 1 << 12));
    assert_eq!((s.pins.level(), io.read(s, 17 * 8) >> 8 & 3), (0, 1), "inverted");
    io.write(s, 17 * 8 + 4, Write::normal(5));
    changed(s, &mut io);
    // PROC1's INTE, word 2: the rising edge of GPIO17.
    io.write(s, 0x298, Write::normal(8 << 4));
    assert_eq!((s.irq_level_for_core(0) & BANK, s.irq_level_for_core(1) & BANK), (0, BANK));
    assert_eq!([0x210, 0x214, 0x200, 0x238, 0x2c8].map(|at| io.read(s, at)), [1 << 17, 0, 0, 0x1111_11a1, 0x80]);
    io.write(s, 0x238, Write::normal(8 << 4));
    assert_eq!(s.irq_level_for_core(1) & BANK, 0);
    assert_eq!((io.read(s, 47 * 8 + 4), io.read(s, 48 * 8 + 4)), (NULL, 0));
}
