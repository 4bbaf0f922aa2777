use super::*;
use sim::PS_PER_US;

fn marks(readings: &[(u32, u32)]) -> Vec<Mark> {
    readings.iter().map(|&(value, pc)| Mark { at: u64::from(value) * PS_PER_US, value, pc }).collect()
}

fn find(marks: &[Mark], sought: &Sought) -> Option<Windows> {
    Readings::new(&marks.iter().copied().collect(), Ps::MAX).find(sought)
}

fn us(windows: &Windows) -> Vec<(u64, u64)> {
    windows.intervals.iter().map(|&(from, to)| (from / PS_PER_US, to / PS_PER_US)).collect()
}

#[test]
fn the_clients_readings_are_distinguished_from_others() {
    // 10, 20, ...: a poll loop. The client: 5 (started), 33 (ready), 41-141, 150-260.
    let mut all: Vec<(u32, u32)> = (1..40).map(|n| (10 * n, 0x100)).collect();
    all.extend([5, 33, 40, 41, 141, 150, 260, 261].map(|value| (value, 0x200)));
    all.sort_unstable();
    let sought = Sought { intervals_us: vec![100, 110], ready_us: Some(28), ..Sought::default() };
    let windows = find(&marks(&all), &sought).unwrap();
    assert_eq!(us(&windows), [(41, 141), (150, 260)]);
    assert_eq!((windows.started, windows.ready), (Some(5 * PS_PER_US), Some(33 * PS_PER_US)));
}

#[test]
fn readings_by_several_instructions_are_found_together() {
    let all = marks(&[(7, 1), (107, 2), (110, 1), (230, 2)]);
    let sought = Sought { intervals_us: vec![100, 120], ..Sought::default() };
    assert_eq!(us(&find(&all, &sought).unwrap()), [(7, 107), (110, 230)]);
}

#[test]
fn circuitpython_s_clock_moves_in_steps_and_jumps_at_each_second() {
    // A run reported 33 355, 33 386 and, over a full second, 33 813 us for rounds of nearly equal length.
    let clock = Clock::CircuitPython;
    let told = |from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
    assert_eq!(told(100_000, 133_390), 33_355);
    assert_eq!(told(980_000, 1_013_390), 33_813);
    let all = marks(&[(980_000, 1), (990_000, 1), (1_013_390, 1), (1_013_700, 1), (1_047_000, 1)]);
    let intervals_us = vec![told(980_000, 1_013_390), told(1_013_700, 1_047_000)];
    let sought = Sought { intervals_us, clock, ..Sought::default() };
    assert_eq!(us(&find(&all, &sought).unwrap()), [(980_000, 1_013_390), (1_013_700, 1_047_000)]);
}

#[test]
fn circuitpython_10_s_clock_moves_in_even_steps() {
    let clock = Clock::CircuitPython10;
    let told = |from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
    assert_eq!((clock.ns(30), clock.ns(31), clock.ns(977), clock.ns(1_000_000)), (0, 30_518, 976_562, 1_000_000_000));
    assert_eq!((told(100_000, 133_390), told(980_000, 1_013_390)), (33_386, 33_386));
    let all = marks(&[(980_000, 1), (1_013_390, 1), (1_013_700, 1), (1_047_000, 1)]);
    let intervals_us = vec![told(980_000, 1_013_390), told(1_013_700, 1_047_000)];
    let sought = |clock| Sought { intervals_us: intervals_us.clone(), clock, ..Sought::default() };
    assert_eq!(us(&find(&all, &sought(clock)).unwrap()), [(980_000, 1_013_390), (1_013_700, 1_047_000)]);
    assert_eq!(find(&all, &sought(Clock::CircuitPython)), None);
}

#[test]
fn circuitpython_8_s_clock_moves_in_whole_ticks() {
    // 257 ticks of 976.5625 us.
    let clock = Clock::CircuitPythonTicks;
    let told = |from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
    assert_eq!((told(4_000_100, 4_251_300), told(4_000_900, 4_251_500)), (250_976, 250_976));
    let all = marks(&[(4_000_100, 1), (4_251_300, 1), (4_253_000, 1), (4_552_700, 1)]);
    let sought = Sought { intervals_us: vec![250_976, told(4_253_000, 4_552_700)], clock, ..Sought::default() };
    assert_eq!(us(&find(&all, &sought).unwrap()), [(4_000_100, 4_251_300), (4_253_000, 4_552_700)]);
}

#[test]
fn a_client_may_cut_each_reading_to_microseconds() {
    let (cut, whole) = (Clock::CircuitPythonMicroseconds, Clock::CircuitPython);
    let told = |clock: Clock, from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
    assert_eq!(cut.ns(123_456) % 1000, 0);
    let differs = (1..2000).map(|n| (31 * n, 31 * n + 5000)).find(|&(a, b)| told(cut, a, b) != told(whole, a, b));
    let (from, to) = differs.expect("one more or less");
    let all = marks(&[(from, 1), (to, 1)]);
    let sought = |clock| Sought { intervals_us: vec![told(cut, from, to)], clock, ..Sought::default() };
    assert_eq!(find(&all, &sought(whole)), None);
    assert_eq!(us(&find(&all, &sought(cut)).unwrap()), [(u64::from(from), u64::from(to))]);
}

#[test]
fn no_interval_is_invented() {
    let all = marks(&[(7, 1), (107, 1), (210, 1)]);
    let sought = |intervals_us: &[u64]| Sought { intervals_us: intervals_us.to_vec(), ..Sought::default() };
    assert_eq!(find(&all, &sought(&[99])), None);
    assert_eq!(find(&all, &sought(&[100, 103, 1])), None);
    assert_eq!(find(&[], &sought(&[1])), None);
}

#[test]
fn the_tighter_of_two_chains_is_the_clients() {
    // Unrelated readings at 0 and 100 have the same distance as the client's at 400 and 500.
    let all = marks(&[(0, 1), (100, 1), (400, 1), (500, 1), (501, 1), (551, 1)]);
    let sought = Sought { intervals_us: vec![100, 50], ..Sought::default() };
    assert_eq!(us(&find(&all, &sought).unwrap()), [(400, 500), (501, 551)]);
}

#[test]
fn an_interval_contains_the_time_when_the_pc_had_its_message() {
    let all = marks(&[(0, 1), (100, 1), (300, 1), (400, 1), (450, 1)]);
    let within = vec![350 * PS_PER_US, 420 * PS_PER_US];
    let sought = Sought { intervals_us: vec![100, 50], within, ..Sought::default() };
    assert_eq!(us(&find(&all, &sought).unwrap()), [(300, 400), (400, 450)]);
}
