use super::super::Alias;
use super::*;
use sim::PS_PER_S;

fn date(year: u32, month: u32, day: u32) -> u32 {
    (year << 12) | (month << 8) | day
}

fn time(dotw: u32, hour: u32, min: u32, sec: u32) -> u32 {
    (dotw << 24) | (hour << 16) | (min << 8) | sec
}

/// Returns an RTC running from `date` and `time`, clk_sys 1 MHz.
fn running(date: u32, time: u32) -> (Sys, Rtc) {
    let mut sys = crate::rp2040::wires::sys(1_000_000);
    sys.freq.clk_rtc_hz = 46_875;
    let mut rtc = Rtc::default();
    for (offset, bits) in [(0x00, 46_874), (0x04, date), (0x08, time), (0x0c, CTRL_LOAD), (0x0c, CTRL_ENABLE)] {
        rtc.write(&mut sys, offset, Write::normal(bits));
    }
    (sys, rtc)
}

#[test]
fn reset_values() {
    let mut sys = crate::rp2040::wires::sys(1_000_000);
    let mut rtc = Rtc::default();
    for offset in (0..=0x2c).step_by(4) {
        assert_eq!(rtc.read(&mut sys, offset), 0);
    }
}

#[test]
fn leap_years_and_carries() {
    for (start, seconds, expected) in [
        ((date(2021, 12, 31), time(5, 23, 59, 59)), 1, (date(2022, 1, 1), time(6, 0, 0, 0))),
        ((date(2024, 2, 28), time(3, 23, 59, 58)), 2, (date(2024, 2, 29), time(4, 0, 0, 0))),
        ((date(2023, 2, 28), time(2, 0, 0, 0)), 86_400, (date(2023, 3, 1), time(3, 0, 0, 0))),
        ((date(2024, 1, 31), time(3, 12, 0, 0)), 60 * 86_400 + 61, (date(2024, 3, 31), time(0, 12, 1, 1))),
        ((date(2020, 4, 30), time(6, 22, 30, 0)), 2 * 3600, (date(2020, 5, 1), time(0, 0, 30, 0))),
    ] {
        let (mut sys, mut rtc) = running(start.0, start.1);
        assert_eq!(rtc.read(&mut sys, 0x0c), CTRL_ENABLE | CTRL_ACTIVE);
        sys.cycle = seconds * 1_000_000 - 1;
        let before = rtc.read(&mut sys, 0x1c);
        assert_ne!(before, expected.1);
        sys.cycle += 1;
        // RTC_1 has the value latched when RTC_0 was read.
        assert_ne!(rtc.read(&mut sys, 0x18), 0);
        assert_eq!((rtc.read(&mut sys, 0x1c), rtc.read(&mut sys, 0x18)), (expected.1, expected.0));
    }
}

#[test]
fn centuries_need_help() {
    let (mut sys, mut rtc) = running(date(2100, 2, 28), time(0, 23, 59, 59));
    rtc.write(&mut sys, 0x0c, Write { bits: CTRL_FORCE_NOTLEAPYEAR, alias: Alias::Set });
    sys.cycle = 1_000_000;
    rtc.read(&mut sys, 0x1c);
    assert_eq!(rtc.read(&mut sys, 0x18), date(2100, 3, 1));
}

#[test]
fn the_alarm_matches_for_one_second() {
    let (mut sys, mut rtc) = running(date(2024, 5, 5), time(0, 1, 2, 57));
    let (s, r) = (&mut sys, &mut rtc);
    r.write(s, 0x14, Write::normal((1 << 28) | 59));
    r.write(s, 0x24, Write::normal(1));
    r.write(s, 0x10, Write::normal(MATCH_ENA));
    assert_eq!(r.read(s, 0x10), MATCH_ENA | MATCH_ACTIVE);
    for (second, level) in [(1, 0), (2, 1 << irq::RTC), (3, 0)] {
        assert_eq!(s.take_event(second * PS_PER_S), Some(event::RTC));
        assert_eq!(s.now(), second * PS_PER_S);
        r.event(s);
        assert_eq!(s.irq_level(), level);
    }
    assert_eq!(s.take_event(0), None);
    s.cycle = 3_000_000;
    r.write(s, 0x10, Write { bits: MATCH_ENA, alias: Alias::Clear });
    assert_eq!(s.due(event::RTC), NEVER);
}

/// pico-sdk's handler of a repeating alarm clears MATCH_ENA and sets it again within the same second.
#[test]
fn an_alarm_reenabled_within_its_second_fires_again() {
    let (mut sys, mut rtc) = running(date(2024, 5, 5), time(0, 1, 2, 59));
    let (s, r) = (&mut sys, &mut rtc);
    r.write(s, 0x14, Write::normal(1 << 28));
    r.write(s, 0x24, Write::normal(1));
    r.write(s, 0x10, Write::normal(MATCH_ENA));
    let mut fired = vec![];
    for cycle in [1_000_000, 1_400_000, 1_999_999, 2_000_000] {
        s.cycle = cycle;
        for alias in [Alias::Clear, Alias::Set] {
            r.write(s, 0x10, Write { bits: MATCH_ENA, alias });
            fired.push(s.irq_level() >> irq::RTC & 1);
        }
    }
    assert_eq!(fired, [0, 1, 0, 1, 0, 1, 0, 0]);
}

#[test]
fn invalid_dates_and_rates_stay_bounded() {
    let (mut sys, mut rtc) = running(u32::MAX, u32::MAX);
    sys.freq.clk_rtc_hz = 1_600_000_000;
    rtc.write(&mut sys, 0x00, Write::normal(0));
    sys.cycle = 10_000_000_000_000;
    assert_ne!(rtc.read(&mut sys, 0x1c), 0);
}
