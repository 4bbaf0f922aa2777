use super::*;
use crate::delay::Delay;
use sim::snapshot;

fn open() -> Air {
    Air::new(AccessPoint { passphrase: None, delay: Delay::Fixed(0), ..AccessPoint::default() }).unwrap()
}

fn join(passphrase: &str, security: Security) -> RadioRequest {
    let (ssid, passphrase) = (b"portbench".to_vec(), passphrase.into());
    RadioRequest::Join(Join { ssid, bssid: None, security, passphrase })
}

fn all(air: &mut Air, until: Ps) -> Vec<(Ps, RadioReport)> {
    let mut reports = Vec::new();
    while let Some(at) = air.next_event().filter(|&at| at <= until) {
        air.advance(at);
        reports.extend(std::iter::from_fn(|| air.take_report()).map(|report| (at / PS_PER_MS, report)));
    }
    air.advance(until);
    reports
}

#[test]
fn joins_with_the_right_passphrase_only() {
    for (passphrase, right) in [("emulated", true), ("simulated", false)] {
        let mut air = Air::new(AccessPoint::default()).unwrap();
        air.request(0, join(passphrase, Security::Wpa2));
        let reports = all(&mut air, 10 * PS_PER_S);
        let last = reports.last().cloned().unwrap();
        let (keyed, out) = (RadioReport::Keyed, RadioReport::ThrownOut(15));
        assert_eq!((reports.len(), last), (3, if right { (680, keyed) } else { (3767, out) }));
    }
}

/// Sends frames of 1500 bytes from both stations at once. Returns when the first one's frame was sent, when the
/// second one's, and when all ten of both.
fn both_send(shared: bool, channels: [u8; 2]) -> [Ps; 2] {
    const SINCE: Ps = 3 * PS_PER_MS;
    let mut airs = channels.map(|channel| {
        let delay = Delay::Fixed(0);
        Air::new(AccessPoint { passphrase: None, delay, channel, ..AccessPoint::default() }).unwrap()
    });
    for (number, air) in airs.iter_mut().enumerate() {
        air.request(0, join("", Security::Open));
        all(air, PS_PER_S - number as Ps * SINCE);
        (0..10).for_each(|_| air.request(PS_PER_S - number as Ps * SINCE, RadioRequest::Frame(vec![0; 1500])));
        air.log_passages(true);
    }
    let [a, b] = &mut airs;
    // Pairs of boards also run alternately, a few microseconds each.
    for us in 0..20_000 {
        let now = PS_PER_S + us * PS_PER_US;
        a.advance(now);
        if shared {
            share(a, b, SINCE);
        }
        b.advance(now - SINCE);
        if shared {
            share(a, b, SINCE);
        }
    }
    let sent = |air: &mut Air, since: Ps| {
        let passages = air.take_passages();
        assert_eq!(passages.len(), 10);
        passages.iter().map(|passage| passage.places[0].1 + since - PS_PER_S).max().unwrap()
    };
    [sent(a, 0), sent(b, SINCE)]
}

#[test]
fn two_stations_share_one_channel_but_not_two() {
    let airtime = 10 * (data_time(1500, -50) + ACK + DIFS);
    let [alone, beside] = both_send(false, [6, 6]);
    assert!((airtime..airtime * 3 / 2).contains(&alone), "{alone}");
    assert_eq!(both_send(true, [1, 6]), [alone, beside], "channels do not share airtime");
    let shared = both_send(true, [6, 6]).into_iter().max().unwrap();
    assert!((2 * airtime..alone + beside + PS_PER_MS).contains(&shared), "{shared} of {alone} and {beside}");
}

#[test]
fn wrong_security_or_out_of_range_prevents_a_join() {
    let mut air = open();
    air.request(0, join("whatever", Security::Wpa2));
    assert!(matches!(all(&mut air, PS_PER_S)[..], [(660, RadioReport::OtherSecurity(_))]));
    let mut air = Air::new(AccessPoint { rssi_dbm: -95, ..AccessPoint::default() }).unwrap();
    air.request(0, join("emulated", Security::Wpa2));
    air.request(0, RadioRequest::Scan { ssid: Vec::new() });
    let reports = all(&mut air, 5 * PS_PER_S);
    assert_eq!(reports, [(660, RadioReport::ScanDone), (1980, RadioReport::NoNetwork)]);
}

#[test]
fn a_hidden_network_answers_to_its_name() {
    let point = AccessPoint { hidden: true, ..AccessPoint::default() };
    for (asked, seen) in [("", ""), ("portbench", "portbench")] {
        let mut air = Air::new(point.clone()).unwrap();
        air.request(0, RadioRequest::Scan { ssid: asked.into() });
        let reports = all(&mut air, PS_PER_S);
        assert!(matches!(&reports[0], (240, RadioReport::Found(bss)) if bss.ssid == seen.as_bytes()), "{asked}");
    }
}

#[test]
fn frames_for_a_station_that_sleeps_wait_for_its_beacon() {
    let mut air = open();
    air.request(0, join("", Security::Open));
    all(&mut air, PS_PER_S);
    air.request(PS_PER_S, RadioRequest::Doze { beacons: 3 });
    all(&mut air, PS_PER_S);
    air.log_passages(true);
    air.from_cable(PS_PER_S, vec![0; 60]);
    let reports = all(&mut air, 2 * PS_PER_S);
    let interval = air.point.beacon_interval();
    let first = (0..).map(|n| air.phase + 3 * n * interval).find(|&at| at > PS_PER_S).unwrap();
    assert_eq!(reports[0], ((first + BEACON) / PS_PER_MS, RadioReport::Kept));
    air.request(2 * PS_PER_S, RadioRequest::Awake);
    let reports = all(&mut air, 3 * PS_PER_S);
    assert!(matches!(reports[..], [(2000, RadioReport::Frame(_))]), "{reports:?}");
    assert_eq!(air.stats().kept, 1);
    let passages = air.take_passages();
    let [Passage { to_board: true, begin: PS_PER_S, places, .. }] = &passages[..] else { panic!("{passages:?}") };
    let [(Place::AccessPoint, forwarded), (Place::Kept, woken), (Place::Air, delivered)] = places[..] else {
        panic!("{places:?}")
    };
    assert_eq!((forwarded, woken), (PS_PER_S + FORWARDING, 2 * PS_PER_S + NULL));
    assert_eq!((delivered / PS_PER_MS, passages[0].end()), (2000, delivered));
    air.request(3 * PS_PER_S, RadioRequest::Frame(vec![0; 60]));
    all(&mut air, 4 * PS_PER_S);
    let passages = air.take_passages();
    let [Passage { to_board: false, places, .. }] = &passages[..] else { panic!("{passages:?}") };
    assert!(matches!(places[..], [(Place::Air, sent), (Place::AccessPoint, at)] if at == sent + FORWARDING));
}

#[test]
fn a_long_absence_loses_the_connection_and_a_short_one_does_not() {
    for (back_s, lost) in [(5, false), (20, true)] {
        let mut air = open();
        air.request(0, join("", Security::Open));
        all(&mut air, PS_PER_S);
        air.set_up(PS_PER_S, false);
        let mut reports = all(&mut air, back_s * PS_PER_S);
        air.set_up(back_s * PS_PER_S, true);
        reports.extend(all(&mut air, 30 * PS_PER_S));
        assert_eq!(reports.contains(&(9000, RadioReport::BeaconsLost)), lost, "{reports:?}");
    }
}

#[test]
fn losses_are_retransmitted_and_delay_a_join() {
    let joined = |loss_per_mille: u16, join_delay: Ps, seed: u64| {
        let point = AccessPoint { loss_per_mille, join_delay, seed, ..AccessPoint::default() };
        let mut air = Air::new(point).unwrap();
        air.request(0, join("emulated", Security::Wpa2));
        let end = all(&mut air, 20 * PS_PER_S).last().cloned().unwrap();
        (end, air)
    };
    assert!((0..20).all(|seed| joined(0, 0, seed).0 == (680, RadioReport::Keyed)));
    let late: Vec<Ps> = (0..20).map(|seed| joined(0, PS_PER_S, seed).0.0).collect();
    assert!(late.iter().all(|ms| (680..1_680).contains(ms)) && late.iter().any(|&ms| ms > 1_400), "{late:?}");
    let ends: Vec<_> = (0..20).map(|seed| joined(500, 0, seed).0).collect();
    assert!(ends.contains(&(1_340, RadioReport::Keyed)), "the second scan finds it: {ends:?}");
    assert_eq!(joined(1000, 0, 1).0, (1_980, RadioReport::NoNetwork));

    let (_, mut air) = joined(500, 0, 1);
    for number in 0..100 {
        air.request(20 * PS_PER_S + number * 100 * PS_PER_MS, RadioRequest::Frame(vec![0; 60]));
    }
    let reports = all(&mut air, 40 * PS_PER_S);
    assert_eq!(reports.iter().filter(|(_, report)| *report == RadioReport::Sent).count(), 100);
    assert_eq!(air.stats().from_board + air.stats().dropped, 100);
    assert!((70..130).contains(&air.stats().lost), "half of the transmissions are lost: {:?}", air.stats());
}

#[test]
fn the_same_calls_give_the_same_times() {
    let run = || {
        let mut air = Air::new(AccessPoint { passphrase: None, seed: 5, ..AccessPoint::default() }).unwrap();
        air.request(0, join("", Security::Open));
        all(&mut air, PS_PER_S);
        for number in 0..50 {
            air.from_cable(PS_PER_S + number * PS_PER_MS, vec![0; 60 + number as usize]);
        }
        let mut times = Vec::new();
        while let Some(at) = air.next_event() {
            air.advance(at);
            times.push(at);
        }
        times
    };
    assert_eq!(run(), run());
}

/// Runs a station that joins, sleeps, and sends and gets frames at random times, some of which are lost. Returns its
/// reports and the state at the end of an access point that is restored from a snapshot at each step, if `restored`.
fn station(seed: u64, restored: bool) -> (Vec<(Ps, RadioReport)>, Vec<u8>) {
    let saved = |air: &Air| {
        let mut bytes = Vec::new();
        snapshot::save(air, &mut bytes);
        bytes
    };
    let point =
        AccessPoint { passphrase: None, loss_per_mille: 200, join_delay: PS_PER_MS, seed, ..AccessPoint::default() };
    let mut air = Air::new(point.clone()).unwrap();
    let (mut r, mut reports, mut now) = (SplitMix64::new(seed), Vec::new(), 0);
    air.request(0, join("", Security::Open));
    for _ in 0..200 {
        now += r.below(60) * PS_PER_MS + r.below(PS_PER_MS);
        reports.extend(all(&mut air, now));
        if restored {
            let bytes = saved(&air);
            air = Air::new(point.clone()).unwrap();
            let mut from = &bytes[..];
            assert_eq!((snapshot::restore(&mut air, &mut from), from.len()), (Ok(()), 0), "seed {seed}");
        }
        let frame = vec![0; 60 + r.below(1400) as usize];
        match r.below(16) {
            0 => air.request(now, RadioRequest::Scan { ssid: Vec::new() }),
            1 => air.request(now, RadioRequest::Doze { beacons: 1 + r.below(5) as u32 }),
            2 => air.request(now, RadioRequest::Awake),
            3 => air.request(now, RadioRequest::Poll),
            4 if r.below(4) == 0 => air.set_up(now, r.below(2) == 0),
            5 if r.below(4) == 0 => air.request(now, join("", Security::Open)),
            6..10 => air.request(now, RadioRequest::Frame(frame)),
            _ => air.from_cable(now, frame),
        }
    }
    (reports, saved(&air))
}

#[test]
fn a_restored_access_point_goes_on_in_the_same_way() {
    let mut seen = 0;
    for seed in 0..20 {
        let [first, again] = [false, true].map(|restored| station(seed, restored));
        assert_eq!(first.0, again.0, "seed {seed}");
        assert!(first.1 == again.1, "seed {seed}: another state");
        seen += first.0.len();
    }
    assert!(seen > 1_000, "{seen} reports");
}
