use super::*;
use crate::lan::Class;
use crate::recorder::Missed;
use std::collections::BTreeMap;

const US: Ps = PS_PER_US;

fn record(at: Ps, state: u8, stalled: Ps, waited: Ps) -> Record {
    Record {
        at: at * US,
        state,
        stalled_ps: stalled * US,
        waited_ps: waited * US,
        counts: [0, stalled as u32, 0, 0, 0, 0, 0],
    }
}

fn named(shares: &Shares, interval: usize) -> BTreeMap<&'static str, Ps> {
    let each = Cause::ALL.iter().map(|&(cause, name)| (name, shares.causes_ps[interval][cause as usize]));
    each.filter(|each| each.1 != 0).map(|(name, ps)| (name, ps / US)).collect()
}

fn transfers(all: &[(Ps, &str, usize)]) -> Transfers {
    let mut transfers = Transfers::default();
    all.iter().for_each(|&(start, what, wire_bytes)| transfers.push(start * US, wire_bytes, what));
    transfers
}

/// Returns one message: 100 us of code, two accesses, the network, a poll 500 us late, 44 us of code.
fn message() -> (Recording, Vec<Frame>, Transfers) {
    message_and(&[])
}

fn message_and(more: &[Record]) -> (Recording, Vec<Frame>, Transfers) {
    let mut records = vec![
        record(0, 0, 40, 10),
        record(100, state::SELECTED, 0, 2),
        record(105, state::SELECTED | state::BUSY, 3, 0),
        record(115, state::SELECTED, 5, 0),
        record(120, 0, 4, 0), // 10 us between two frames
        record(130, state::SELECTED, 0, 0),
        record(140, 0, 0, 0),
        record(160, state::ASLEEP, 0, 0),
        record(900, 0, 0, 0),
        record(950, state::USB, 9, 0),
        record(956, 0, 11, 0),
    ];
    records.extend(more);
    records.sort_by_key(|record| record.at);
    let recording = Recording {
        records: records.into_iter().collect(),
        bits: [(106 * US, 110 * US), (111 * US, 115 * US)].into_iter().collect(),
        exceptions: [(900 * US, 18)].into_iter().collect(),
        end: 1000 * US,
        ..Recording::default()
    };
    let frame = |start: Ps, to_board| Frame {
        start: start * US,
        arrival: (start + 6) * US,
        to_board,
        class: Class::Message,
        flow: (6, 1, 2),
        beside: Vec::new(),
    };
    let transfers = transfers(&[(100, "S0_TX buffer write", 4), (130, "S0_CR write", 4), (920, "S0_RX_RSR read", 5)]);
    (recording, vec![frame(140, false), frame(346, true)], transfers)
}

#[test]
fn every_microsecond_goes_to_one_cause() {
    let (recording, frames, transfers) = message();
    let shares = attribute(&recording, &frames, &transfers, &[(0, 1000 * US)]);
    // The last poll ends before the core sleeps at 160: from 140 on the message is away.
    let expected = [
        ("code_miss", 40 + 11),
        ("code_wait", 10),
        ("code_run", 50 + 50 + 33 + 548),
        ("gap_wait", 2),
        ("gap_miss", 5),
        ("gap_run", 3 + 10),
        ("gap_pause", 2),
        ("spi_bits", 8),
        ("driver_miss", 4),
        ("driver_run", 6),
        ("usb", 6),
        ("wire_to_pc", 6),
        ("pc", 200),
        ("wire_to_board", 6),
    ];
    let mut expected: BTreeMap<&str, Ps> = expected.into_iter().collect();
    // The chip is not read within the recording, so the sleep only waits for a timer.
    *expected.get_mut("code_run").unwrap() -= 548;
    expected.insert("wait_timer", 548);
    assert_eq!(named(&shares, 0), expected);
    assert_eq!(shares.causes_ps[0].iter().sum::<Ps>(), 1000 * US);
    assert_eq!(shares.counts["spi_bytes"], [13]);
    assert_eq!(shares.counts["cache_misses"], [72]);
    assert!(!shares.counts.contains_key("fpu_instructions"), "of a chip without one");
    assert_eq!(shares.exceptions, BTreeMap::from([(18, vec![1])]));
    assert_eq!(shares.registers["S0_RX_RSR read"], [1]);
}

#[test]
fn a_frame_read_by_a_timers_poll_has_waited_for_it() {
    let (recording, frames, transfers) = message_and(&[record(920, state::SELECTED, 0, 0)]);
    let shares = attribute(&recording, &frames, &transfers, &[(0, 1000 * US)]);
    let named = named(&shares, 0);
    assert_eq!((named["wait_poll"], named.get("wait_timer")), (548, None));
    assert_eq!(named.values().sum::<Ps>(), 1000);
}

#[test]
fn a_continued_sleep_is_named_by_the_event_that_ends_it() {
    let records = [(0, state::ASLEEP), (300, 0), (350, state::ASLEEP), (700, 0)];
    let recording = Recording {
        records: records.iter().map(|&(at, state)| record(at, state, 0, 0)).collect(),
        exceptions: [(300 * US, 21), (700 * US, 16)].into_iter().collect(),
        end: 900 * US,
        ..Recording::default()
    };
    let shares = attribute(&recording, &[], &Transfers::default(), &[(0, 900 * US)]);
    assert_eq!(named(&shares, 0), BTreeMap::from([("wait_timer", 650), ("code_run", 250)]));
}

#[test]
fn intervals_within_a_stretch_share_its_stalls() {
    let (recording, frames, transfers) = message();
    let shares = attribute(&recording, &frames, &transfers, &[(0, 50 * US), (50 * US, 101 * US)]);
    assert_eq!(named(&shares, 0), BTreeMap::from([("code_miss", 20), ("code_wait", 5), ("code_run", 25)]));
    assert_eq!(named(&shares, 1)["code_miss"], 20);
    assert_eq!(shares.causes_ps[1].iter().sum::<Ps>(), 51 * US);
}

#[test]
fn each_moment_has_its_cause() {
    let (recording, frames, transfers) = message();
    let us: Vec<_> = timeline(&recording, &frames, &transfers, (90 * US, 170 * US))
        .into_iter()
        .map(|((from, to), cause)| (from / US, to / US, cause))
        .collect();
    use Cause::*;
    let expected = [
        (90, 100, CodeRun),
        (100, 105, GapRun),
        (105, 106, GapPause),
        (106, 110, SpiBits),
        (110, 111, GapPause),
        (111, 115, SpiBits),
        (115, 120, GapRun),
        (120, 130, DriverRun),
        (130, 140, GapRun),
        (140, 146, WireToPc),
        (146, 170, Pc),
    ];
    assert_eq!(us, expected);
}

#[test]
fn misses_are_those_from_the_first_interval_to_the_last() {
    let copies = [(10, vec![(0, 5)]), (20, vec![(0, 1), (8, 2)]), (30, vec![(8, 4)]), (40, vec![(16, 9)])];
    let recording = Recording {
        misses: copies
            .into_iter()
            .flat_map(|(at, lines)| lines.into_iter().map(move |(line, count)| Missed { at: at * US, line, count }))
            .collect(),
        end: 50 * US,
        ..Recording::default()
    };
    let missed = |from: Ps, to: Ps| attribute(&recording, &[], &Transfers::default(), &[(from * US, to * US)]).misses;
    assert_eq!(missed(10, 30), BTreeMap::from([(0, 1), (8, 6)]));
    assert_eq!(missed(21, 22), BTreeMap::from([(8, 4)]), "an interval shorter than the time between copies");
    assert_eq!(missed(45, 46), BTreeMap::new());
}

#[test]
fn unrecorded_time_has_no_name() {
    let (recording, frames, transfers) = message();
    let shares = attribute(&recording, &frames, &transfers, &[(990 * US, 1010 * US)]);
    assert_eq!(named(&shares, 0)["unnamed"], 10);
}

#[test]
fn random_recordings_add_up() {
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) % below
    };
    for _ in 0..500 {
        let mut recording = Recording::default();
        let mut at = 0;
        for _ in 0..next(60) {
            at += next(90);
            let stalled = next(120);
            recording.records.push(record(at, next(64) as u8, stalled, next(30)));
        }
        let mut bit = 0;
        for _ in 0..next(40) {
            let begin = bit + next(70);
            bit = begin + 1 + next(20);
            recording.bits.push((begin * US, bit * US));
        }
        let mut taken = 0;
        for _ in 0..next(20) {
            taken += next(200);
            recording.exceptions.push((taken * US, 14 + next(20) as u8));
        }
        recording.end = (at + next(100)) * US;
        let mut frames: Vec<Frame> = (0..next(12))
            .map(|_| {
                let start = next(3000) * US;
                let class = [Class::Message, Class::Open, Class::Acknowledgement][next(3) as usize];
                Frame {
                    start,
                    arrival: start + next(300) * US,
                    to_board: next(2) == 0,
                    class,
                    flow: (6, 1, 2),
                    beside: Vec::new(),
                }
            })
            .collect();
        frames.sort_by_key(|frame| frame.start);
        let mut moved: Vec<_> =
            (0..next(20)).map(|_| (next(3000), ["S0_SR read", "PHYCFGR read"][next(2) as usize], 4)).collect();
        moved.sort_by_key(|each| each.0);
        let transfers = transfers(&moved);
        let mut intervals = Vec::new();
        let mut from = 0;
        for _ in 0..next(6) {
            from += next(300) * US;
            let to = from + next(900) * US;
            intervals.push((from, to));
            from = to;
        }
        let shares = attribute(&recording, &frames, &transfers, &intervals);
        for (causes, &interval) in shares.causes_ps.iter().zip(&intervals) {
            assert_eq!(causes.iter().sum::<Ps>(), interval.1 - interval.0);
            let moments = timeline(&recording, &frames, &transfers, interval);
            let ends = moments.iter().map(|moment| moment.0.1);
            let starts = moments.iter().map(|moment| moment.0.0);
            assert!(std::iter::once(interval.0).chain(ends).eq(starts.chain([interval.1])), "no gap");
            let mut by_cause = [0; Cause::COUNT];
            moments.iter().for_each(|&(part, cause)| by_cause[cause as usize] += length(part));
            let mut expected = *causes;
            use Cause::*;
            for (run, others) in
                [(GapRun, [GapMiss, GapWait]), (DriverRun, [DriverMiss, DriverWait]), (CodeRun, [CodeMiss, CodeWait])]
            {
                for other in others {
                    expected[run as usize] += std::mem::take(&mut expected[other as usize]);
                }
            }
            assert_eq!(by_cause, expected);
        }
    }
}
