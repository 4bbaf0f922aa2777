use super::*;
use crate::testing::{self, dreq, event, irq};
use sim::PS_PER_US;

fn enabled() -> (Sys, Adc) {
    let mut sys = testing::sys(125_000_000);
    sys.freq.clk_adc_hz = 48_000_000;
    let mut adc = testing::adc();
    (sys.pins.readings[26], sys.pins.readings[28]) = (Some(1000), Some(0x5000));
    adc.write(&mut sys, 0, Write::normal(cs::EN));
    (sys, adc)
}

fn step(sys: &mut Sys, adc: &mut Adc) -> Ps {
    let due = sys.due(event::ADC);
    assert_eq!(sys.take_event(due), Some(event::ADC));
    adc.event(sys);
    assert_eq!(sys.take_event(0), None);
    sys.cycle = sys.clock.cycle_at(due);
    due
}

#[test]
fn reset_values() {
    let mut sys = testing::sys(125_000_000);
    let mut adc = testing::adc();
    for (offset, value) in
        [(0x0, 0), (0x4, 0), (0x8, fcs::EMPTY), (0x10, 0), (0x14, 0), (0x18, 0), (0x1c, 0), (0x20, 0)]
    {
        assert_eq!(adc.read(&mut sys, offset), value);
    }
}

#[test]
fn one_conversion_takes_two_microseconds() {
    let (mut sys, mut adc) = enabled();
    let (s, a) = (&mut sys, &mut adc);
    assert_eq!(a.read(s, 0), cs::EN | cs::READY);
    a.write(s, 0, Write { bits: cs::START_ONCE, alias: chip::Alias::Set });
    assert_eq!(a.read(s, 0), cs::EN);
    assert_eq!(step(s, a), 2 * PS_PER_US);
    assert_eq!((a.read(s, 0), a.read(s, 4)), (cs::EN | cs::READY, 1000));
    for (select, expected) in [(2, 0xfff), (4, 0), (7, 0)] {
        a.write(s, 0, Write::normal(cs::EN | cs::START_ONCE | (select << 12)));
        step(s, a);
        assert_eq!(a.read(s, 4), expected);
    }
    a.write(s, 0, Write::normal(cs::EN | cs::TS_EN | cs::START_ONCE | (4 << 12)));
    step(s, a);
    // 27 - (V - 0.706) / 0.001721
    let volts = f64::from(a.read(s, 4)) * 3.3 / 4096.0;
    assert!((27.0 - (volts - 0.706) / 0.001721 - 27.0).abs() < 0.5);
}

#[test]
fn without_a_voltage_a_channel_reads_its_pin() {
    let (mut sys, mut adc) = enabled();
    let (s, a) = (&mut sys, &mut adc);
    let mut convert = |s: &mut Sys, channel: u32| {
        a.write(s, 0, Write::normal(cs::EN | cs::START_ONCE | (channel << 12)));
        step(s, a);
        a.read(s, 4)
    };
    // Pulled down, as after a reset; pulled up; driven by another pin; held externally.
    assert_eq!(convert(s, 1), 0);
    (s.pins.pad_pull_up, s.pins.pad_pull_down) = (1 << 27, 0);
    s.pins.refresh();
    assert_eq!(convert(s, 1), 0xfff);
    s.pins.join(vec![1 << 27 | 1 << 3]);
    (s.pins.function_out[5], s.pins.function_oe[5], s.pins.function_mask[5]) = (0, 1 << 3, 1 << 3);
    s.pins.refresh();
    assert_eq!(convert(s, 1), 0);
    s.pins.hold(29, Some(true));
    assert_eq!(convert(s, 3), 0xfff);
    // Floating: noise that varies, and equally each time.
    s.pins.hold(29, None);
    let noise: Vec<u32> = (0..4).map(|_| convert(s, 3)).collect();
    assert_eq!(noise, [674, 609, 779, 585]);
}

#[test]
fn paced_round_robin_fills_the_fifo() {
    let (mut sys, mut adc) = enabled();
    let (s, a) = (&mut sys, &mut adc);
    a.write(s, 0x08, Write::normal(fcs::EN | fcs::SHIFT | fcs::DREQ_EN | (2 << 24)));
    a.write(s, 0x18, Write::normal(1));
    // 480 cycles: 10 us.
    a.write(s, 0x10, Write::normal(479 << 8));
    a.write(s, 0, Write::normal(cs::EN | cs::START_MANY | (0b101 << 16)));
    assert_eq!(step(s, a), 2 * PS_PER_US);
    assert_eq!((a.read(s, 0x14), s.dreq_level()), (0, 0));
    assert_eq!((step(s, a), step(s, a)), (10 * PS_PER_US, 12 * PS_PER_US));
    assert_eq!((a.read(s, 0x20), s.dreq_level(), s.irq_level()), (1, 1 << dreq::ADC, 1 << irq::ADC_FIFO));
    assert_eq!((a.read(s, 0x0c), a.read(s, 0x0c), a.read(s, 0x20)), (1000 >> 4, 0xff, 0));
    for _ in 0..10 {
        step(s, a);
    }
    assert_eq!(a.read(s, 0x08) & 0x000f_0f00, fcs::FULL | fcs::OVER | (4 << 16));
    a.write(s, 0x08, Write { bits: fcs::OVER, alias: chip::Alias::Set });
    assert_eq!(a.read(s, 0x08) & fcs::OVER, 0);
    for _ in 0..5 {
        a.read(s, 0x0c);
    }
    assert_eq!(a.read(s, 0x08) & fcs::UNDER, fcs::UNDER);
    a.write(s, 0, Write::normal(0));
    assert_eq!(s.due(event::ADC), NEVER);
}

#[test]
fn back_to_back_conversions_follow_at_once() {
    let (mut sys, mut adc) = enabled();
    let (s, a) = (&mut sys, &mut adc);
    a.write(s, 0, Write::normal(cs::EN | cs::START_MANY));
    for i in 1..20 {
        assert_eq!(step(s, a), i * 2 * PS_PER_US);
    }
}
