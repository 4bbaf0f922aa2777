use super::*;
use crate::testing::{self, irq};
use sim::{PS_PER_MS, PS_PER_US};

fn started() -> (Sys, Clocks) {
    let mut sys = testing::sys(6_500_000);
    sys.freq.rosc_hz = 6_500_000;
    sys.freq.xosc_hz = 12_000_000;
    sys.freq.pll_sys_hz = 125_000_000;
    sys.freq.pll_usb_hz = 48_000_000;
    let mut clocks = Clocks::new(testing::CLOCKS);
    clocks.update(&mut sys);
    (sys, clocks)
}

fn set(clocks: &mut Clocks, sys: &mut Sys, offset: u32, bits: u32) {
    clocks.write(sys, offset, Write::normal(bits));
    clocks.update(sys);
}

#[test]
fn a_reset_has_the_frequencies_computed_anew() {
    let (mut sys, mut clocks) = started();
    sys.clock_sources_dirty = false;
    clocks.reset(&mut sys);
    assert!(sys.clock_sources_dirty);
}

#[test]
fn reset_values() {
    let (mut sys, mut clocks) = started();
    for (offset, value) in [
        (0x00, 0),
        (0x04, 0x100),
        (0x08, 1),
        (0x30, 0),
        (0x34, 0x100),
        (0x38, 1),
        (0x3c, 0),
        (0x40, 0x100),
        (0x44, 1),
        (0x48, 0),
        (0x50, 1),
        (0x54, 0),
        (0x58, 0x100),
        (0x70, 0x100),
        (0x78, 0xff),
        (0x7c, 0),
        (0x88, 0x1ff_ffff),
        (0x8c, 1),
        (0x90, 8),
        (0x94, 0),
        (0x98, 0),
        (0xa0, u32::MAX),
        (0xa4, 0x7fff),
        (0xa8, u32::MAX),
        (0xac, 0x7fff),
        (0xb8, 0),
    ] {
        assert_eq!(clocks.read(&mut sys, offset), value, "0x{offset:02x}");
    }
    assert_eq!((sys.freq.clk_ref_hz, sys.freq.clk_sys_hz, sys.freq.clk_peri_hz), (6_500_000, 6_500_000, 0));
    assert_eq!(sys.clock.hz(), 6_500_000);
}

#[test]
fn the_sdk_setup_gives_125_mhz() {
    let (mut sys, mut clocks) = started();
    let (s, c) = (&mut sys, &mut clocks);
    set(c, s, 0x30, 2);
    assert_eq!((c.read(s, 0x38), s.freq.clk_ref_hz), (4, 12_000_000));
    set(c, s, 0x3c, 1);
    assert_eq!((c.read(s, 0x44), s.clock.hz()), (2, 125_000_000));
    set(c, s, 0x54, ENABLE);
    set(c, s, 0x60, ENABLE);
    set(c, s, 0x70, 1024 << 8);
    set(c, s, 0x6c, ENABLE);
    set(c, s, 0x48, ENABLE);
    let f = &s.freq;
    assert_eq!(
        (f.clk_usb_hz, f.clk_adc_hz, f.clk_rtc_hz, f.clk_peri_hz),
        (48_000_000, 48_000_000, 46_875, 125_000_000)
    );
    set(c, s, 0x48, ENABLE | (2 << 5));
    assert_eq!(s.freq.clk_peri_hz, 48_000_000);
    set(c, s, 0x48, ENABLE | KILL);
    assert_eq!(s.freq.clk_peri_hz, 0);
    set(c, s, 0x40, 0x0280);
    assert_eq!(s.freq.clk_sys_hz, 50_000_000);
    assert_eq!(s.unmodelled, None);
}

#[test]
fn the_frequency_counter_has_a_duration_and_a_resolution() {
    let (mut sys, mut clocks) = started();
    let (s, c) = (&mut sys, &mut clocks);
    set(c, s, 0x30, 2);
    set(c, s, 0x3c, 1);
    set(c, s, 0x80, 12_000);
    set(c, s, 0x90, 10);
    set(c, s, 0x94, 9);
    assert_eq!(c.read(s, 0x98), fc0_status::RUNNING);
    s.cycle = s.clock.cycle_at(PS_PER_MS + PS_PER_US);
    assert_eq!(c.read(s, 0x98), fc0_status::DONE | fc0_status::PASS);
    assert_eq!(c.read(s, 0x9c) >> 5, 125_000);
    set(c, s, 0x84, 130_000);
    assert_eq!(c.read(s, 0x98), fc0_status::DONE | fc0_status::SLOW | fc0_status::FAIL);
    // A wrong reference scales the result: clk_ref runs at twice the configured frequency.
    set(c, s, 0x80, 6_000);
    set(c, s, 0x94, 8);
    s.cycle += 1_000_000;
    assert_eq!(c.read(s, 0x9c) >> 5, 6_000);
    set(c, s, 0x94, 0x1e0);
    assert_eq!(c.read(s, 0x94), 0xe0, "FC0_SRC has eight bits");
}

#[test]
fn resus_falls_back_to_clk_ref() {
    let (mut sys, mut clocks) = started();
    let (s, c) = (&mut sys, &mut clocks);
    set(c, s, 0x3c, 1);
    set(c, s, 0x78, resus::ENABLE | 0xff);
    set(c, s, 0xbc, 1);
    s.freq.pll_sys_hz = 0;
    c.update(s);
    assert_eq!((s.freq.clk_sys_hz, c.read(s, 0x7c), c.read(s, 0x44)), (6_500_000, 1, 1));
    assert_ne!(s.irq_level() & (1 << irq::CLOCKS), 0);
    s.freq.pll_sys_hz = 100_000_000;
    set(c, s, 0x78, resus::CLEAR | resus::ENABLE);
    assert_eq!((s.freq.clk_sys_hz, c.read(s, 0x7c)), (100_000_000, 0));
    assert_eq!(s.irq_level() & (1 << irq::CLOCKS), 0);
}

#[test]
fn a_stopped_clk_sys_ends_the_run() {
    let (mut sys, mut clocks) = started();
    set(&mut clocks, &mut sys, 0x3c, 1 | (4 << 5));
    assert!(sys.unmodelled.is_some());
}

#[test]
fn version_1_divides_with_16_fraction_bits() {
    let (mut sys, _) = started();
    let mut clocks = Clocks::new(ClocksWires { version: Version::V1, ..testing::CLOCKS });
    let (s, c) = (&mut sys, &mut clocks);
    c.update(s);
    assert_eq!([0x30, 0x34, 0x3c, 0x40, 0x84].map(|at| c.read(s, at)), [0, 0x1_0000, 0x41, 0x1_0000, 0xff]);
    assert_eq!((s.freq.clk_sys_hz, s.freq.clk_ref_hz), (6_500_000, 6_500_000));
    set(c, s, 0x3c, 1);
    set(c, s, 0x40, 0x2_8000);
    set(c, s, 0x48, ENABLE);
    set(c, s, 0x4c, 2 << 16);
    set(c, s, 0x54, ENABLE | 1 << 5);
    set(c, s, 0x60, ENABLE);
    set(c, s, 0x6c, ENABLE);
    set(c, s, 0x30, 2);
    let f = &s.freq;
    assert_eq!((f.clk_sys_hz, f.clk_peri_hz, f.clk_hstx_hz), (50_000_000, 25_000_000, 125_000_000));
    assert_eq!((f.clk_ref_hz, f.clk_usb_hz, f.clk_adc_hz), (12_000_000, 48_000_000, 48_000_000));
    set(c, s, 0x30, 3);
    assert_eq!(s.freq.clk_ref_hz, LPOSC_HZ);
    c.write(s, 0x7c, Write::normal(3));
    assert_eq!((c.read(s, 0x7c), c.read(s, 0xb0)), (3, 0x7fff_ffff));
}
