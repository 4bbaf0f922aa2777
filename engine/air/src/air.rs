//! The public interface of the air.

use std::collections::VecDeque;

use sim::{
    Join, PS_PER_MS, PS_PER_S, PS_PER_US, Ps, RadioReport, RadioRequest, Security, SettingError, Snapshot, SplitMix64,
};

use crate::access_point::AccessPoint;
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

#[derive(Debug, Snapshot)]
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

/// Counters of frames since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct AirStats {
    /// Frames that the station handed over.
    pub from_board: u64,
    /// Frames that the access point took from its cable.
    pub to_board: u64,
    /// No station was joined or in range, a queue was full, or every transmission of the frame was lost.
    pub dropped: u64,
    /// Lost transmissions.
    pub lost: u64,
    /// Frames that waited for a beacon.
    pub kept: u64,
}

/// The access point with the air, its queues, and the state of the one station.
#[derive(Snapshot)]
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
    /// Returns the air at simulated time 0, with no station joined. `Err`: a setting is outside its range.
    pub fn new(point: AccessPoint) -> Result<Self, SettingError> {
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

    /// Returns the counters so far.
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

    /// Returns when [`Self::advance`] next has something to do.
    pub fn next_event(&self) -> Option<Ps> {
        self.agenda.next()
    }

    /// Handles everything that is due up to and including `now`.
    pub fn advance(&mut self, now: Ps) {
        while let Some((at, todo)) = self.agenda.take(now) {
            self.now = self.now.max(at);
            self.carry_out(at, todo);
        }
        self.now = self.now.max(now);
    }

    /// Takes the next report to the radio chip.
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
mod tests;
