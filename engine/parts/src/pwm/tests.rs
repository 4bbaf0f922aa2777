use super::*;
use crate::testing::{self, dreq, event, function, irq};
use crate::wires::{FunctionPins, PwmWires, Version};
use chip::Layout;
use chip::sys::watcher;

const SLICE: u32 = 0x14;

fn chip() -> (Sys, Pwm) {
    let mut sys = testing::sys(125_000_000);
    let mut pwm = testing::pwm();
    pwm.reset(&mut sys);
    (sys, pwm)
}

fn set(sys: &mut Sys, pwm: &mut Pwm, slice: u32, registers: [u32; 4]) {
    let [div, cc, top, csr] = registers;
    for (offset, bits) in [(4, div), (0x0c, cc), (0x10, top), (0, csr)] {
        pwm.write(sys, slice * SLICE + offset, Write::normal(bits));
    }
}

#[test]
fn reset_values() {
    let (mut sys, mut pwm) = chip();
    for slice in 0..8 {
        for (offset, value) in [(0, 0), (4, 0x10), (8, 0), (0xc, 0), (0x10, 0xffff)] {
            assert_eq!(pwm.read(&mut sys, slice * SLICE + offset), value);
        }
    }
    for offset in [0xa0, 0xa4, 0xa8, 0xac, 0xb0] {
        assert_eq!(pwm.read(&mut sys, offset), 0);
    }
    assert_eq!(sys.due(event::PWM), NEVER);
}

/// Performs one count as the datasheet describes it; returns the counter and whether it counts down.
fn count_once((counter, down): (u32, bool), top: u32, phase_correct: bool) -> (u32, bool) {
    match (phase_correct, down) {
        (false, _) if counter == top => (0, false),
        (true, false) if counter == top => (counter, true),
        (true, true) if counter == 0 => (0, false),
        (true, true) => (counter - 1, true),
        _ => ((counter + 1) & 0xffff, false),
    }
}

fn naive(top: u32, phase_correct: bool, ticks: u32) -> u32 {
    (0..ticks).fold((0, false), |state, _| count_once(state, top, phase_correct)).0
}

/// pico-sdk's hardware_pwm_test: 1234 into a stopped phase-correct slice whose TOP is 100.
#[test]
fn a_stopped_counter_keeps_its_value_for_any_top_and_mode() {
    let (mut sys, mut pwm) = chip();
    let (s, p) = (&mut sys, &mut pwm);
    for csr in [csr::PH_CORRECT | csr::B_INV | DIVMODE_LEVEL << 4, 0] {
        set(s, p, 5, [16, 0, 100, csr]);
        p.write(s, 5 * SLICE + 8, Write::normal(1234));
        s.cycle += 10_000;
        assert_eq!(p.read(s, 5 * SLICE + 8), 1234, "CSR 0x{csr:x}");
    }
}

/// Counter and watched output, event by event, compared with counting one by one, from starts on both sides of TOP.
#[test]
fn counters_written_while_running_keep_their_direction() {
    for (top, compare, phase_correct, turn_at, start) in [
        (9, 4, true, 3, 7),
        (9, 4, true, 14, 7),
        (9, 4, true, 14, 40),
        (9, 4, true, 14, 0),
        (9, 12, true, 3, 0xfff8),
        (9, 0xffff, true, 3, 0xfff8),
        (9, 12, false, 3, 0xfff0),
        (0, 1, true, 1, 3),
    ] {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        s.pins.function_mask[function::PWM] = 1;
        s.watch_pins(watcher::WORLD, 1);
        set(s, p, 0, [16, compare, top, csr::EN | if phase_correct { csr::PH_CORRECT } else { 0 }]);
        let mut state = (0, false);
        for cycle in 0..100u64 {
            if cycle == turn_at {
                state.0 = start;
                s.cycle = cycle;
                p.write(s, 8, Write::normal(start));
            }
            while s.take_event(cycle * 8000).is_some() {
                p.event(s);
            }
            let case = format!("TOP {top}, CC {compare}, {start} at {turn_at}: cycle {cycle}");
            assert_eq!(s.pins.level(), u64::from(state.0 < compare), "{case}");
            if cycle % 7 == 0 {
                s.cycle = cycle;
                assert_eq!(p.read(s, 8), state.0, "{case}");
            }
            state = count_once(state, top, phase_correct);
        }
    }
}

#[test]
fn lazy_counters_agree_with_counting() {
    for (top, phase_correct, div) in [(9, false, 16), (9, true, 16), (0, true, 40), (3, true, 0x25), (100, false, 0x9f)]
    {
        let (mut sys, mut pwm) = chip();
        set(&mut sys, &mut pwm, 3, [div, 0, top, csr::EN | if phase_correct { csr::PH_CORRECT } else { 0 }]);
        for cycle in 0..500u64 {
            sys.cycle = cycle;
            let ticks = (cycle * 16 / u64::from(div)) as u32;
            assert_eq!(
                pwm.read(&mut sys, 3 * SLICE + 8),
                naive(top, phase_correct, ticks),
                "{top} {phase_correct} {cycle}"
            );
        }
    }
}

#[test]
fn the_wrap_interrupt_is_exact_and_scheduled_only_if_enabled() {
    let (mut sys, mut pwm) = chip();
    let (s, p) = (&mut sys, &mut pwm);
    set(s, p, 0, [4 << 4, 0, 99, csr::EN]);
    assert_eq!(s.due(event::PWM), NEVER);
    s.cycle = 1000;
    assert_eq!(p.read(s, 0xa4), 1);
    p.write(s, 0xa4, Write::normal(1));
    p.write(s, 0xa8, Write::normal(1));
    assert_eq!(s.due(event::PWM), 1200 * 8000);
    assert_eq!(s.take_event(NEVER - 1), Some(event::PWM));
    p.event(s);
    assert_eq!((s.irq_level(), s.due(event::PWM)), (1 << irq::PWM_WRAP, NEVER));
    s.take_event(0);
    s.cycle = 1201;
    p.write(s, 0xa4, Write::normal(1));
    assert_eq!((s.irq_level(), s.due(event::PWM)), (0, 1600 * 8000));
    // Phase correct takes twice as long, and the new TOP waits for the wrap.
    p.write(s, 0, Write::normal(csr::EN | csr::PH_CORRECT));
    p.write(s, 0x10, Write::normal(9));
    assert_eq!(s.due(event::PWM), 2000 * 8000);
}

#[test]
fn levels_are_right_when_read_and_edges_when_watched() {
    let (mut sys, mut pwm) = chip();
    let (s, p) = (&mut sys, &mut pwm);
    s.pins.function_mask[function::PWM] = 0b11;
    set(s, p, 0, [16, 30 | (101 << 16), 99, csr::EN | csr::B_INV]);
    assert_eq!((s.pins.level(), p.drives_pins(s)), (1, true));
    s.cycle = 130;
    p.refresh_pins(s);
    assert_eq!(s.pins.level(), 0);
    s.watch_pins(watcher::WORLD, 1);
    p.reschedule(s);
    let mut edges = vec![];
    for _ in 0..4 {
        let due = s.due(event::PWM);
        assert_eq!(s.take_event(due), Some(event::PWM));
        p.event(s);
        edges.push((due / 8000, s.pins.level()));
    }
    assert_eq!(edges, [(200, 1), (230, 0), (300, 1), (330, 0)]);
    s.watch_pins(watcher::WORLD, 0);
    p.reschedule(s);
    assert_eq!(s.due(event::PWM), NEVER);
}

#[test]
fn phase_correct_edges_are_symmetric() {
    let (mut sys, mut pwm) = chip();
    let (s, p) = (&mut sys, &mut pwm);
    s.pins.function_mask[function::PWM] = 1 << 18;
    s.watch_pins(watcher::WORLD, testing::PIN_MASK);
    set(s, p, 1, [16, 30, 99, csr::EN | csr::PH_CORRECT]);
    let mut edges = vec![];
    for _ in 0..6 {
        let due = s.due(event::PWM);
        s.take_event(due);
        p.event(s);
        edges.push((due / 8000, s.pins.level() >> 18));
    }
    assert_eq!(edges, [(30, 0), (170, 1), (200, 1), (230, 0), (370, 1), (400, 1)]);
}

#[test]
fn the_b_pin_gates_and_counts() {
    for (mode, expected) in [(DIVMODE_LEVEL, 40), (DIVMODE_RISE, 3), (DIVMODE_FALL, 2)] {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        s.pins.function_mask[function::PWM] = 1 << 5;
        set(s, p, 2, [16, 0, 0xffff, csr::EN | mode << 4]);
        for (cycle, level) in [(100, true), (120, false), (200, true), (220, false), (300, true)] {
            s.cycle = cycle;
            s.pins.drive(5, Some(level));
            p.input_changed(s);
        }
        assert_eq!(p.read(s, 2 * SLICE + 8), expected, "mode {mode}");
    }
}

#[test]
fn phase_can_be_moved() {
    let (mut sys, mut pwm) = chip();
    let (s, p) = (&mut sys, &mut pwm);
    set(s, p, 0, [2 << 4, 0, 0xffff, csr::EN]);
    s.cycle = 100;
    p.write(s, 0, Write { bits: csr::PH_ADV, alias: chip::Alias::Set });
    assert_eq!((p.read(s, 8), p.read(s, 0)), (51, csr::EN));
    p.write(s, 0, Write { bits: csr::PH_RET, alias: chip::Alias::Set });
    s.cycle = 200;
    assert_eq!(p.read(s, 8), 100);
}

#[test]
fn a_watched_dreq_rises_at_every_wrap() {
    let (mut sys, mut pwm) = chip();
    let (s, p) = (&mut sys, &mut pwm);
    set(s, p, 4, [16, 0, 49, csr::EN]);
    let line = dreq::PWM_WRAP0 + 4;
    s.watch_dreqs(1 << line);
    p.reschedule(s);
    assert_eq!((s.due(event::PWM), s.dreq_level()), (50 * 8000, 0));
    s.take_event(NEVER - 1);
    p.event(s);
    assert_eq!((s.dreq_level(), s.due(event::PWM)), (1 << line, NEVER));
    // The DMA's transfer clears the request.
    s.set_dreq(line, false);
    p.reschedule(s);
    assert_eq!(s.due(event::PWM), 100 * 8000);
}

/// As on RP2350B: slices 8 to 11 are on GPIO32 to GPIO39, and again on GPIO40 to GPIO47.
#[test]
fn twelve_slices_reach_48_pins() {
    let all = (1 << 48) - 1;
    let layout = Layout { events: 11, pins: all, without_clk_sys: 0, pulsed_dreqs: 0xfff << dreq::PWM_WRAP0 };
    let mut sys = Sys::new(125_000_000, &layout);
    let a_pins = (0..12).map(|slice| if slice < 8 { 0x1_0001 << (2 * slice) } else { 0x101 << (2 * slice + 16) });
    let mut pwm = Pwm::new(PwmWires {
        version: Version::V1,
        pins: FunctionPins { function: function::PWM, pins: all },
        a_pins: Vec::leak(a_pins.collect()),
        ..testing::pwm().wires
    });
    pwm.reset(&mut sys);
    sys.pins.function_mask[function::PWM] = 1 << 46 | 1 << 47;
    pwm.write(&mut sys, 11 * SLICE, Write::normal(csr::EN | csr::A_INV));
    assert_eq!(sys.pins.level(), 1 << 46);
    assert_eq!(pwm.read(&mut sys, 12 * SLICE), 1 << 11, "EN is behind the slices");
    pwm.write(&mut sys, 12 * SLICE + 8, Write::normal(u32::MAX));
    assert_eq!(pwm.read(&mut sys, 12 * SLICE + 8), 0xfff);
}

#[test]
fn version_1_has_two_interrupts() {
    let mut sys = testing::sys(125_000_000);
    let wires = PwmWires { irq: 8, version: Version::V1, ..testing::pwm().wires };
    let mut pwm = Pwm::new(wires);
    let s = &mut sys;
    pwm.write(s, 0xb4, Write::normal(2));
    pwm.write(s, 0xb8, Write::normal(4));
    assert_eq!(s.irq_level(), 1 << 9);
    assert_eq!([0xa8, 0xb4, 0xb8, 0xbc].map(|at| pwm.read(s, at)), [0, 2, 4, 4]);
}
