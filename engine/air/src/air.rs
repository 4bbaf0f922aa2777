//! The public interface of the air.

use std::collections::VecDeque;

use sim::{Join, PS_PER_MS, PS_PER_S, PS_PER_US, Ps, RadioReport, RadioRequest, Security, SplitMix64};

use crate::access_point::{AccessPoint, AirError};
use crate::airtime::{ACK, BEACON, DIFS, NULL, backoff, data_time};
use crate::luck::{Luck, TRIES};
use crate::passage::{Passage, PassageLog, Place};
use crate::todo::Agenda;

/// Time on each channel of a scan: active where probing is allowed everywhere, otherwise passive.
const ACTIVE_DWELL: Ps = 40 * PS_PER_MS;
const PASSIVE_DWELL: Ps = 110 * PS_PER_MS;
const ACTIVE_CHANNELS: u8 = 11;
const CHANNELS: u8 = 13;
/// Scans before a network counts as absent.
const JOIN_SCANS: u64 = 3;
/// From the end of the scan to authentication, from there to association, and to the keys (public trace, see crate
/// cyw43).
const AUTHENTICATES: Ps = 2 * PS_PER_MS;
const ASSOCIATES: Ps = 5 * PS_PER_MS;
const HANDSHAKE: Ps = 13 * PS_PER_MS;
/// hostapd repeats the first message of the handshake after 100 ms, then three times after 1 s each, and gives up.
const HANDSHAKE_GIVEN_UP: Ps = 3_100 * PS_PER_MS;
const REASON_HANDSHAKE_TIMEOUT: u16 = 15;
/// Time without a beacon after which the connection is lost.
const BEACONS_LOST: Ps = 8 * PS_PER_S;
/// Shortest forwarding delay of an access point, in either direction: half of the shortest time of a published ping,
/// less the simulated board's part.
const FORWARDING: Ps = 1_220 * PS_PER_US;
/// Most frames that the access point buffers for a sleeping station, or queues.
const KEPT: usize = 64;
/// Most frames in flight; further ones are dropped.
const MOST: usize = 512;

#[derive(Debug)]
enum Todo {
    Request(RadioRequest),
    /// A report of the current join or scan.
    Report(RadioReport),
    /// The access point has received the frame from its cable; it now waits for the air.
    Down(Passage),
    Delivered(Passage),
    /// The access point has received the frame from the air; it goes to the cable next.
    Up(Passage),
    Forwarded(Passage),
    Beacon(u64),
    BeaconsLost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirStats {
    pub from_board: u64,
    pub to_board: u64,
    /// No station was joined or in range, a queue was full, or every transmission of the frame was lost.
    pub dropped: u64,
    /// Lost transmissions.
    pub lost: u64,
    /// Frames that waited for a beacon.
    pub kept: u64,
}

pub struct Air {
    point: AccessPoint,
    random: SplitMix64,
    luck: Luck,
    agenda: Agenda<Todo>,
    now: Ps,
    /// The access point is in range.
    up: bool,
    phase: Ps,
    free_at: Ps,
    last_down: Ps,
    joined: bool,
    /// The station listens only to one beacon in this many.
    doze: Option<u32>,
    kept: VecDeque<Passage>,
    groups: VecDeque<Passage>,
    reports: VecDeque<RadioReport>,
    forwarded: VecDeque<(Ps, Vec<u8>)>,
    stats: AirStats,
    log: PassageLog,
}

impl Air {
    pub fn new(point: AccessPoint) -> Result<Self, AirError> {
        point.validate()?;
        let mut random = SplitMix64::new(point.seed);
        let phase = random.below(point.beacon_interval());
        let luck = Luck::new(point.loss_per_mille, point.seed);
        Ok(Self {
            point,
            random,
            luck,
            agenda: Agenda::new(),
            now: 0,
            up: true,
            phase,
            free_at: 0,
            last_down: 0,
            joined: false,
            doze: None,
            kept: VecDeque::new(),
            groups: VecDeque::new(),
            reports: VecDeque::new(),
            forwarded: VecDeque::new(),
            stats: AirStats::default(),
            log: PassageLog::default(),
        })
    }

    pub fn point(&self) -> &AccessPoint {
        &self.point
    }

    pub fn stats(&self) -> AirStats {
        self.stats
    }

    /// Takes the access point out of range, or brings it back unchanged.
    pub fn set_up(&mut self, now: Ps, up: bool) {
        if up == self.up {
            return;
        }
        self.up = up;
        self.agenda.retain(|todo| !matches!(todo, Todo::BeaconsLost));
        if !up && self.joined {
            self.agenda.plan(now + BEACONS_LOST, Todo::BeaconsLost);
        }
    }

    /// Starts or stops recording the places where each frame was.
    pub fn log_passages(&mut self, on: bool) {
        self.log.set(on);
    }

    /// Takes the passages that were completed since the last call.
    pub fn take_passages(&mut self) -> Vec<Passage> {
        self.log.take()
    }

    fn reached(&self) -> bool {
        self.up && self.point.in_range()
    }

    /// Accepts the radio's request for the time `at`, which may lie ahead.
    pub fn request(&mut self, at: Ps, request: RadioRequest) {
        if self.agenda.len() < MOST {
            self.agenda.plan(at.max(self.now), Todo::Request(request));
        } else {
            self.stats.dropped += 1;
        }
    }

    /// Accepts a frame from the access point's cable.
    pub fn from_cable(&mut self, now: Ps, frame: Vec<u8>) {
        if !self.joined || self.agenda.len() >= MOST {
            self.stats.dropped += 1;
            return;
        }
        // Frames stay in order: a delayed frame delays the ones behind it.
        let at = (now + FORWARDING + self.point.delay.draw(&mut self.random)).max(self.last_down);
        self.last_down = at;
        let passage = Passage::new(true, now, frame).until(Place::AccessPoint, at);
        self.agenda.plan(at, Todo::Down(passage));
    }

    pub fn next_event(&self) -> Option<Ps> {
        self.agenda.next()
    }

    pub fn advance(&mut self, now: Ps) {
        while let Some((at, todo)) = self.agenda.take(now) {
            self.now = self.now.max(at);
            self.carry_out(at, todo);
        }
        self.now = self.now.max(now);
    }

    pub fn take_report(&mut self) -> Option<RadioReport> {
        self.reports.pop_front()
    }

    /// Takes the next frame for the cable, with its time.
    pub fn to_cable(&mut self) -> Option<(Ps, Vec<u8>)> {
        self.forwarded.pop_front()
    }

    fn carry_out(&mut self, now: Ps, todo: Todo) {
        match todo {
            Todo::Request(request) => self.requested(now, request),
            Todo::Report(report) => self.tell(report),
            Todo::Down(passage) => self.send_down(now, passage),
            Todo::Delivered(passage) => {
                if self.joined && self.reached() {
                    self.stats.to_board += 1;
                    self.log.note(&passage);
                    self.reports.push_back(RadioReport::Frame(passage.frame));
                } else {
                    self.stats.dropped += 1;
                }
            }
            Todo::Up(passage) => {
                self.reports.push_back(RadioReport::Sent);
                if self.joined && self.reached() {
                    let at = now + FORWARDING;
                    self.agenda.plan(at, Todo::Forwarded(passage.until(Place::AccessPoint, at)));
                } else {
                    self.stats.dropped += 1;
                }
            }
            Todo::Forwarded(passage) => {
                self.stats.from_board += 1;
                self.log.note(&passage);
                self.forwarded.push_back((now, passage.frame));
            }
            Todo::Beacon(number) => self.beacon(now, number),
            Todo::BeaconsLost => {
                self.end_association();
                self.reports.push_back(RadioReport::BeaconsLost);
            }
        }
    }

    fn tell(&mut self, report: RadioReport) {
        match &report {
            RadioReport::Associated(bss) if bss.security == Security::Open => self.joined = true,
            RadioReport::Keyed => self.joined = true,
            RadioReport::ThrownOut(_) => self.end_association(),
            _ => {}
        }
        self.reports.push_back(report);
    }

    fn end_association(&mut self) {
        self.joined = false;
        self.doze = None;
        self.stats.dropped += (self.kept.len() + self.groups.len()) as u64;
        self.kept.clear();
        self.groups.clear();
        self.agenda.retain(|todo| !matches!(todo, Todo::Beacon(_) | Todo::BeaconsLost));
    }

    fn requested(&mut self, now: Ps, request: RadioRequest) {
        match request {
            RadioRequest::Scan { ssid } => {
                let seen = self.point.seen(&ssid).filter(|_| self.reached());
                if let Some(bss) = seen.filter(|_| self.luck.finds()) {
                    self.agenda.plan(now + scan_time(self.point.channel), Todo::Report(RadioReport::Found(bss)));
                }
                self.agenda.plan(now + scan_time(CHANNELS), Todo::Report(RadioReport::ScanDone));
            }
            RadioRequest::Join(join) => self.join(now, &join),
            RadioRequest::Leave => {
                self.end_association();
                self.agenda.retain(|todo| {
                    !matches!(todo, Todo::Report(report) if !matches!(report, RadioReport::Found(_) | RadioReport::ScanDone))
                });
            }
            RadioRequest::Frame(frame) => {
                let (end, arrived) = self.on_air(now, frame.len());
                self.free_at = end;
                let passage = Passage::new(false, now, frame).until(Place::Air, end);
                self.agenda.plan(end, if arrived { Todo::Up(passage) } else { Todo::Report(RadioReport::Sent) });
            }
            RadioRequest::Doze { beacons } => {
                let known = self.doze.replace(beacons.max(1)).is_some();
                if self.joined && !known {
                    self.plan_beacon(now);
                }
            }
            RadioRequest::Awake => {
                self.doze = None;
                self.agenda.retain(|todo| !matches!(todo, Todo::Beacon(_)));
                self.release(now + NULL, 0);
            }
            RadioRequest::Poll => self.release(now, NULL),
        }
    }

    fn join(&mut self, now: Ps, join: &Join) {
        let there = self.point.is_meant(join) && self.reached();
        let fits = join.security == self.point.security();
        let luck = &mut self.luck;
        // A loss on the way to association makes the station scan again.
        let scans = (1..=JOIN_SCANS).find(|_| there && luck.finds() && (!fits || luck.exchanges() && luck.exchanges()));
        let mut plan = |at: Ps, report: RadioReport| self.agenda.plan(at, Todo::Report(report));
        let Some(scans) = scans else {
            return plan(now + JOIN_SCANS * scan_time(CHANNELS), RadioReport::NoNetwork);
        };
        let bss = self.point.bss();
        let scanned = now + scans * scan_time(CHANNELS);
        if !fits {
            return plan(scanned, RadioReport::OtherSecurity(bss));
        }
        let authenticated = scanned + AUTHENTICATES + luck.delay(self.point.join_delay);
        let associated = authenticated + ASSOCIATES;
        plan(authenticated, RadioReport::Authenticated(bss.clone()));
        plan(associated, RadioReport::Associated(bss));
        if join.security == Security::Open {
            return;
        }
        match luck.handshake().filter(|_| self.point.passes(join)) {
            Some(late) => plan(associated + HANDSHAKE + late, RadioReport::Keyed),
            None => plan(associated + HANDSHAKE_GIVEN_UP, RadioReport::ThrownOut(REASON_HANDSHAKE_TIMEOUT)),
        }
    }

    /// Returns when a frame of `length` bytes has been acknowledged or given up, if its sender contends for the air
    /// from `now` on, and whether it arrived.
    fn on_air(&mut self, now: Ps, length: usize) -> (Ps, bool) {
        let random = &mut self.random;
        let mut end = self.free_at.max(now);
        for losses in 0..TRIES {
            end += DIFS + backoff(losses, |bound| random.below(bound));
            end += data_time(length, self.point.rssi_dbm) + ACK;
            if !self.luck.loses() {
                return (end, true);
            }
            self.stats.lost += 1;
        }
        self.stats.dropped += 1;
        (end, false)
    }

    fn send_down(&mut self, now: Ps, passage: Passage) {
        if !self.joined || !self.reached() {
            self.stats.dropped += 1;
            return;
        }
        if self.doze.is_none() {
            return self.deliver(now, passage, 0);
        }
        let is_group = passage.frame.first().is_some_and(|byte| byte & 1 != 0);
        let queue = if is_group { &mut self.groups } else { &mut self.kept };
        if queue.len() < KEPT {
            self.stats.kept += 1;
            queue.push_back(passage);
        } else {
            self.stats.dropped += 1;
        }
    }

    fn deliver(&mut self, now: Ps, passage: Passage, before: Ps) {
        let (end, arrived) = self.on_air(now, passage.frame.len());
        self.free_at = end + before;
        if arrived {
            let at = self.free_at - ACK;
            self.agenda.plan(at, Todo::Delivered(passage.until(Place::Air, at)));
        }
    }

    /// Sends the buffered frames.
    fn release(&mut self, now: Ps, before: Ps) {
        while let Some(passage) = self.kept.pop_front() {
            self.deliver(now, passage.until(Place::Kept, now), before);
        }
    }

    fn plan_beacon(&mut self, now: Ps) {
        let Some(every) = self.doze else { return };
        let interval = self.point.beacon_interval();
        let every = u64::from(every);
        let number = if now < self.phase { 0 } else { (now - self.phase) / interval + 1 };
        let number = number.next_multiple_of(every);
        self.agenda.plan(self.phase + number * interval, Todo::Beacon(number));
    }

    /// Handles a beacon that the station listens to.
    fn beacon(&mut self, now: Ps, number: u64) {
        if self.doze.is_none() || !self.joined {
            return;
        }
        self.plan_beacon(now);
        if !self.reached() {
            return;
        }
        let end = now + BEACON;
        self.free_at = self.free_at.max(end);
        if number.is_multiple_of(u64::from(self.point.dtim)) {
            while let Some(passage) = self.groups.pop_front() {
                self.deliver(end, passage.until(Place::Kept, end), 0);
            }
        }
        if !self.kept.is_empty() {
            self.agenda.plan(end, Todo::Report(RadioReport::Kept));
        }
    }
}

/// Makes two stations of one access point share the channel: neither starts while a frame of the other is on the air,
/// and frames to both take turns. `since`: time 0 of the second one on the clock of the first. Two frames that both
/// start before either could be detected do not collide.
pub fn share(first: &mut Air, second: &mut Air, since: Ps) {
    if first.point.channel == second.point.channel {
        let free_at = first.free_at.max(since + second.free_at);
        first.free_at = free_at;
        second.free_at = free_at.saturating_sub(since);
    }
}

/// Returns the time from the start of the scan to the end of `channel`.
fn scan_time(channel: u8) -> Ps {
    let active = Ps::from(channel.min(ACTIVE_CHANNELS));
    active * ACTIVE_DWELL + (Ps::from(channel) - active) * PASSIVE_DWELL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Delay;

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
}
