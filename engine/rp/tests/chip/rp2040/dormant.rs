//! The sleep of a chip whose oscillator is dormant (RP2040 datasheet 2.11.2, 2.16.5).

use super::common::{CODE, Rig, SYST_CSR, asm};
use chip::mcu::Mcu;
use rp::rp2040::RunEnd;
use rp::rp2040::cpu::core::State;
use sim::{PS_PER_MS, PS_PER_US};

const CLOCKS: u32 = 0x4000_8000;
const RESETS: u32 = 0x4000_c000;
const IO_BANK0: u32 = 0x4001_4000;
const XOSC: u32 = 0x4002_4000;
const RTC: u32 = 0x4005_c000;
const ROSC: u32 = 0x4006_0000;
const DORMANT: u32 = 0x636f_6d61;
const DORMANT_WAKE_INTE0: u32 = IO_BANK0 + 0x160;
const PIN: u32 = 5;
const LEVEL_LOW: u32 = 1;
const EDGE_HIGH: u32 = 8;

/// Creates a chip that runs from the crystal alone, whose program reads SysTick, sleeps, reads it again and counts in
/// R7. The crystal is stable 21.3 us after it starts.
fn rig() -> Rig {
    let mut r = Rig::new(&[asm::ldr(3, 5, 8), asm::str(2, 1, 8), asm::ldr(4, 5, 8), asm::adds(7, 1), asm::STOP]);
    for (address, value) in [
        (RESETS, 0),
        (XOSC + 0xc, 1),
        (XOSC, 0x00fa_baa0),
        (SYST_CSR + 4, 0x00ff_ffff),
        (SYST_CSR + 8, 0),
        (SYST_CSR, 5),
    ] {
        r.poke(address, value);
    }
    r.core().pc = CODE + 8;
    r.run(1000);
    r.poke(CLOCKS + 0x30, 2);
    let core = r.core();
    (core.regs[1], core.regs[2], core.regs[5], core.pc) = (XOSC, DORMANT, SYST_CSR, CODE);
    r
}

fn pass(r: &mut Rig, ps: u64) -> RunEnd {
    let until = r.chip.now() + ps;
    r.chip.run_until(until)
}

fn drive(r: &mut Rig, level: bool) {
    r.chip.bus.sys.pins.drive(PIN, Some(level));
    r.chip.bus.settle(&mut r.chip.mem);
}

#[test]
fn an_edge_at_a_pin_ends_the_sleep_and_no_cycle_passes() {
    let mut r = rig();
    r.poke(ROSC, 0x00d1_eaa0);
    r.poke(DORMANT_WAKE_INTE0, EDGE_HIGH << (4 * PIN));
    let (start, cycles) = (r.chip.now(), r.core().cycles);
    assert_eq!(pass(&mut r, 5 * PS_PER_MS), RunEnd::Time);
    assert_eq!((r.chip.now(), r.core().regs[7], r.core().state), (start + 5 * PS_PER_MS, 0, State::Running));
    assert!(r.core().cycles < cycles + 20, "the core stands still");
    assert_eq!(r.chip.bus.sys.freq.clk_sys_hz, 0);

    drive(&mut r, true);
    assert_eq!(pass(&mut r, 20 * PS_PER_US), RunEnd::Time);
    assert_eq!(r.core().regs[7], 0, "the crystal is not stable yet");
    assert_eq!(pass(&mut r, 5 * PS_PER_US), RunEnd::Time);
    assert_eq!(r.core().regs[7], 1);
    let (before, after) = (r.core().regs[3], r.core().regs[4]);
    assert!(before > after && before - after < 20, "SysTick ran on: {before} to {after}");
    let awake_us = (r.core().cycles - cycles) / 12;
    assert!(awake_us < 6, "{awake_us} us");

    // The latched edge wakes the chip again at once.
    r.core().pc = CODE + 2;
    assert_eq!(pass(&mut r, 25 * PS_PER_US), RunEnd::Time);
    assert_eq!(r.core().regs[7], 2);
}

#[test]
fn a_level_that_is_there_already_ends_it_at_once() {
    let mut r = rig();
    r.poke(DORMANT_WAKE_INTE0, LEVEL_LOW << (4 * PIN));
    assert_eq!(pass(&mut r, 25 * PS_PER_US), RunEnd::Time);
    assert_eq!(r.core().regs[7], 1);
}

#[test]
fn an_alarm_of_an_rtc_with_another_clock_ends_it() {
    let mut r = rig();
    // The ring oscillator at 6.5 MHz / 6500: a second of the RTC is a millisecond.
    for (address, value) in [
        (CLOCKS + 0x6c, 1 << 11 | 2 << 5),
        (RTC, 6499),
        (RTC + 4, 2021 << 12 | 1 << 8 | 1),
        (RTC + 8, 0),
        (RTC + 0xc, 0x11),
        (RTC + 0x14, 1 << 28 | 3),
        (RTC + 0x10, 1 << 28),
        (RTC + 0x24, 1),
    ] {
        r.poke(address, value);
    }
    assert_eq!(pass(&mut r, 2 * PS_PER_MS), RunEnd::Time);
    assert_eq!(r.core().regs[7], 0);
    assert_eq!(pass(&mut r, 2 * PS_PER_MS), RunEnd::Time);
    assert_eq!(r.core().regs[7], 1);
}

#[test]
fn a_sleep_that_nothing_can_end_is_told_once() {
    let mut r = rig();
    r.poke(ROSC, 0x00d1_eaa0);
    assert_eq!(pass(&mut r, PS_PER_MS), RunEnd::Asleep { pc: CODE + 4 });
    let start = r.chip.now();
    assert_eq!(pass(&mut r, PS_PER_MS), RunEnd::Time);
    assert_eq!((r.chip.now(), r.core().regs[7]), (start + PS_PER_MS, 0));
}

#[test]
fn a_chip_with_another_clock_stays_awake() {
    let mut r = rig();
    // clk_ref from the ring oscillator.
    r.poke(CLOCKS + 0x30, 0);
    assert_eq!(pass(&mut r, PS_PER_MS), RunEnd::Time);
    assert_eq!(r.core().regs[7], 1);
    // The ring oscillator's own DORMANT; a watchdog has no tick any more.
    (r.core().regs[1], r.core().pc) = (ROSC + 4, CODE + 2);
    assert_eq!(pass(&mut r, PS_PER_MS), RunEnd::Asleep { pc: CODE + 4 });
}
