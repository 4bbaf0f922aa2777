use super::*;
use crate::testing::{self, event};
use sim::PS_PER_US;

/// Returns a timer with a 1 MHz tick from 12 MHz, clk_sys 12 MHz.
fn ticking() -> (Sys, Timer) {
    let mut sys = testing::sys(12_000_000);
    sys.ticks[0].set_rate(0, 12_000_000, 12);
    (sys, testing::timer())
}

fn fire(sys: &mut Sys, timer: &mut Timer) {
    let due = sys.due(event::TIMER);
    assert_eq!(sys.take_event(due), Some(event::TIMER));
    timer.event(sys);
    assert_eq!(sys.take_event(0), None);
    sys.cycle = sys.clock.cycle_at(due);
}

#[test]
fn reset_values() {
    let (mut sys, mut timer) = ticking();
    for offset in (0..=0x40).step_by(4) {
        assert_eq!(timer.read(&mut sys, offset), if offset == 0x2c { 7 } else { 0 }, "0x{offset:02x}");
    }
}

#[test]
fn latched_and_raw_reads() {
    let (mut sys, mut timer) = ticking();
    let (s, t) = (&mut sys, &mut timer);
    t.write(s, 0x04, Write::normal(0xffff_fff0));
    assert_eq!(t.read(s, 0x28), 0);
    t.write(s, 0x00, Write::normal(7));
    s.cycle = 12 * 15;
    assert_eq!(t.read(s, 0x0c), 0xffff_ffff);
    s.cycle = 12 * 16;
    assert_eq!((t.read(s, 0x08), t.read(s, 0x24), t.read(s, 0x28)), (7, 8, 0));
    assert_eq!((t.read(s, 0x0c), t.read(s, 0x08)), (0, 8));
}

#[test]
fn alarms_fire_at_the_exact_microsecond() {
    let (mut sys, mut timer) = ticking();
    let (s, t) = (&mut sys, &mut timer);
    s.cycle = 5;
    t.write(s, 0x38, Write::normal(0b0101));
    t.write(s, 0x10, Write::normal(1000));
    t.write(s, 0x14, Write::normal(500));
    assert_eq!((t.read(s, 0x20), s.due(event::TIMER)), (3, 500 * PS_PER_US));
    fire(s, t);
    assert_eq!((t.read(s, 0x20), t.read(s, 0x34), t.read(s, 0x40)), (1, 2, 0));
    assert_eq!(s.irq_level() & 15, 0);
    assert_eq!(s.due(event::TIMER), 1000 * PS_PER_US);
    fire(s, t);
    assert_eq!((s.irq_level() & 15, t.read(s, 0x40)), (1, 1));
    t.write(s, 0x34, Write { bits: 1, alias: chip::Alias::Clear });
    assert_eq!((s.irq_level() & 15, t.read(s, 0x34)), (0, 2));
    // A value that has just passed waits for the wrap; disarming cancels it.
    t.write(s, 0x18, Write::normal(999));
    assert_eq!(s.due(event::TIMER), (1000 + (1 << 32) - 1) * PS_PER_US);
    t.write(s, 0x20, Write::normal(4));
    assert_eq!(s.due(event::TIMER), NEVER);
    t.write(s, 0x3c, Write::normal(8));
    assert_eq!(s.irq_level() & 15, 8);
}

#[test]
fn pause_and_rate_changes() {
    let (mut sys, mut timer) = ticking();
    let (s, t) = (&mut sys, &mut timer);
    t.write(s, 0x1c, Write::normal(100));
    s.cycle = 12 * 40;
    t.write(s, 0x30, Write::normal(1));
    assert_eq!(s.due(event::TIMER), NEVER);
    s.cycle = 12 * 60;
    assert_eq!(t.read(s, 0x28), 40);
    t.write(s, 0x30, Write::normal(0));
    assert_eq!(s.due(event::TIMER), 120 * PS_PER_US);
    // Half the tick rate: the remaining 60 ticks take twice as long.
    let now = s.now();
    s.ticks[0].set_rate(now, 6_000_000, 12);
    t.clocks_changed(s);
    assert_eq!(s.due(event::TIMER), 180 * PS_PER_US);
    t.reset(s);
    assert_eq!((t.read(s, 0x28), s.due(event::TIMER)), (0, NEVER));
}

#[test]
fn version_1_locks_and_has_its_interrupts_further_on() {
    let (mut sys, _) = ticking();
    sys.ticks[3].set_rate(0, 12_000_000, 6);
    let wires = TimerWires { name: "TIMER1", event: event::TIMER, irq: 4, tick: 3, version: Version::V1 };
    let mut timer = Timer::new(wires);
    let (s, t) = (&mut sys, &mut timer);
    t.write(s, 0x40, Write::normal(1));
    t.write(s, 0x10, Write::normal(1000));
    assert_eq!((t.read(s, 0x40), s.due(event::TIMER)), (1, 500 * PS_PER_US));
    fire(s, t);
    assert_eq!((s.irq_level(), t.read(s, 0x3c), t.read(s, 0x48)), (1 << 4, 1, 1));
    t.write(s, 0x3c, Write::normal(1));
    assert_eq!(s.irq_level(), 0);
    t.write(s, 0x34, Write::normal(1));
    t.write(s, 0x10, Write::normal(9999));
    assert_eq!((t.read(s, 0x34), t.read(s, 0x10), s.unmodelled.clone()), (1, 1000, None));
    t.reset(s);
    t.write(s, 0x38, Write::normal(1));
    assert!(s.unmodelled.is_some(), "it counts clk_sys");
}
