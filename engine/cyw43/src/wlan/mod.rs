//! The work of the chip's firmware: control messages, events, frames, power save.

mod clm;
pub(crate) mod events;
mod ioctl;
mod join;
mod power;
mod scan;
mod variables;

use std::collections::VecDeque;

use sim::{Bss, Mac, PS_PER_MS, Ps, RadioReport, RadioRequest, Snapshot};

use crate::sdpcm::{self, Control};
use crate::time::{COUNTRY, FRAME, IOCTL};

use clm::Clm;
use events::{Event, EventMask};
use join::Station;
use power::Power;
use variables::Variables;

/// From the keys to the event that ends the join (public trace of cyw43-driver, pico-sdk issue 2153).
const JOINED: Ps = 20 * PS_PER_MS;

/// Broadcom's error codes.
pub(crate) mod error {
    pub(crate) const BAD_ARGUMENT: i32 = -2;
    pub(crate) const NOT_UP: i32 = -5;
    pub(crate) const NOT_ASSOCIATED: i32 = -17;
}

/// Data for the host: time, channel, content.
pub(crate) type Outgoing = (Ps, u8, Vec<u8>);

/// The chip's three GPIOs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Gpios {
    /// Pins that the host made outputs, and their levels.
    pub driven: u32,
    pub level: u32,
}

#[derive(Snapshot)]
pub(crate) struct Wlan {
    mac: Mac,
    /// Levels on the GPIOs, driven by the board.
    inputs: u32,
    pub(crate) gpios: Gpios,
    version: String,
    up: bool,
    mask: EventMask,
    clm: Clm,
    variables: Variables,
    power: Power,
    station: Station,
    requests: VecDeque<(Ps, RadioRequest)>,
    outgoing: Vec<Outgoing>,
    /// Time and access point of the event that ends a join.
    joined_at: Option<(Ps, Mac)>,
    sent: u32,
    pub(crate) unmodelled: Option<String>,
}

impl Wlan {
    pub(crate) fn new(mac: Mac, inputs: u32, version: String) -> Self {
        Self {
            mac,
            inputs,
            gpios: Gpios::default(),
            version,
            up: false,
            mask: EventMask::default(),
            clm: Clm::default(),
            variables: Variables::default(),
            power: Power::default(),
            station: Station::default(),
            requests: VecDeque::new(),
            outgoing: Vec::new(),
            joined_at: None,
            sent: 0,
            unmodelled: None,
        }
    }

    /// Returns whether frames pass.
    pub(crate) fn link_up(&self) -> bool {
        self.station.joined.is_some()
    }

    pub(crate) fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    /// Takes the number of the host's frames that the radio has finished with.
    pub(crate) fn take_sent(&mut self) -> u32 {
        std::mem::take(&mut self.sent)
    }

    pub(crate) fn take_request(&mut self) -> Option<(Ps, RadioRequest)> {
        self.requests.pop_front()
    }

    pub(crate) fn next_event(&self) -> Option<Ps> {
        let joined = self.joined_at.map(|(at, _)| at);
        [self.power.next_event(), joined, self.station.look_at].into_iter().flatten().min()
    }

    pub(crate) fn advance(&mut self, now: Ps) {
        if let Some((at, bssid)) = self.joined_at
            && at <= now
        {
            self.joined_at = None;
            self.event(now, events::JOIN, 0, 0, 0, bssid);
            self.event(now, events::SET_SSID, 0, 0, 0, bssid);
        }
        if self.station.look_at.is_some_and(|at| at <= now) {
            self.station.look_at = None;
            self.again(now);
        }
        if let Some(request) = self.power.advance(now) {
            self.requests.push_back((now, request));
        }
    }

    /// Handles a control message of the host.
    pub(crate) fn control(&mut self, now: Ps, message: &Control) {
        let result = self.ioctl(now, message);
        let took = if message.argument.starts_with(b"country\0") { COUNTRY } else { IOCTL };
        self.outgoing.push((now + took, sdpcm::CONTROL, message.answer(result)));
    }

    /// Transmits an Ethernet frame of the host. Returns false if it is dropped, in which case it is never reported as
    /// sent.
    pub(crate) fn transmit(&mut self, now: Ps, frame: &[u8]) -> bool {
        if !self.link_up() || !(14..=1514).contains(&frame.len()) {
            return false;
        }
        if let Some(request) = self.power.transmits(now) {
            self.requests.push_back((now, request));
        }
        self.requests.push_back((now + FRAME, RadioRequest::Frame(frame.to_vec())));
        true
    }

    pub(crate) fn report(&mut self, now: Ps, report: RadioReport) {
        match report {
            RadioReport::Frame(frame) => {
                if let Some(request) = self.power.receives(now) {
                    self.requests.push_back((now, request));
                }
                if self.wants(&frame) {
                    let body = sdpcm::with_bdc(sdpcm::DATA, &frame);
                    self.outgoing.push((now + FRAME, sdpcm::DATA, body));
                }
            }
            RadioReport::Sent => self.sent += 1,
            RadioReport::Kept => {
                if let Some(request) = self.power.kept(now) {
                    self.requests.push_back((now, request));
                }
            }
            other => self.join_report(now, other),
        }
    }

    /// The receive filter: the station's address, broadcasts, and listed multicast groups.
    fn wants(&self, frame: &[u8]) -> bool {
        let Some(to) = frame.first_chunk::<6>() else { return false };
        *to == self.mac || *to == [0xff; 6] || (to[0] & 1 != 0 && self.variables.hears_group(to))
    }

    fn event(&mut self, now: Ps, kind: u32, flags: u16, status: u32, reason: u32, about: Mac) {
        self.event_with(now, &Event { kind, flags, status, reason, about }, &[]);
    }

    fn event_with(&mut self, now: Ps, event: &Event, data: &[u8]) {
        if self.mask.wants(event.kind) {
            let body = sdpcm::with_bdc(sdpcm::EVENT, &event.ethernet(self.mac, data));
            self.outgoing.push((now + FRAME, sdpcm::EVENT, body));
        }
    }

    fn bss(&self) -> Option<&Bss> {
        self.station.joined.as_ref()
    }

    fn name(&mut self, what: String) {
        self.unmodelled.get_or_insert(format!("CYW43439 {what}"));
    }
}
