//! Joining and leaving a network, with their events.
//!
//! Order and timing of the events follow a public trace of cyw43-driver (pico-sdk issue 2153).

use sim::{Bss, Join, Mac, PS_PER_S, Ps, RadioReport, RadioRequest, Security, Snapshot};

use super::events::{self, Event, LINK_UP, status, supplicant};
use super::{JOINED, Wlan, error, scan};

/// Cipher AES of WSEC.
const AES: u32 = 4;
/// WPA_AUTH: WPA2 with a pre-shared key.
const WPA2_PSK: u32 = 0x80;
/// WPA3, also together with a passphrase for WPA2: the network decides. The access point has WPA2.
const WPA3_SAE_PSK: u32 = 0x4_0000;
const NO_ADDRESS: Mac = [0; 6];
/// Handshakes that the firmware attempts before it gives up a network.
const TRIES: u32 = 3;
/// Pause between two searches for a lost network.
const PAUSE: Ps = PS_PER_S;

#[derive(Debug, Default, Snapshot)]
pub(crate) struct Station {
    pub(crate) wsec: u32,
    pub(crate) wpa_auth: u32,
    pub(crate) passphrase: Vec<u8>,
    /// Number of the current scan.
    pub(crate) scan: Option<u16>,
    /// The current or last join.
    wanted: Option<Join>,
    tries: u32,
    /// Set if a joined network went out of reach: the time of the next search.
    was_lost: bool,
    pub(crate) look_at: Option<Ps>,
    /// The associated network, with keys if it needs them: frames pass.
    pub(crate) joined: Option<Bss>,
    associated: Option<Bss>,
}

impl Wlan {
    pub(super) fn join(&mut self, now: Ps, ssid: &[u8], bssid: Option<Mac>) -> Result<(), i32> {
        if !self.up {
            return Err(error::NOT_UP);
        }
        let security = match (self.station.wsec & 0xff, self.station.wpa_auth) {
            (0, 0) => Security::Open,
            (wsec, WPA2_PSK) if wsec & AES != 0 => Security::Wpa2,
            (wsec, WPA3_SAE_PSK) if wsec & AES != 0 && !self.station.passphrase.is_empty() => Security::Wpa2,
            (wsec, auth) => {
                self.name(format!("security with WSEC 0x{wsec:x} and WPA_AUTH 0x{auth:x}"));
                return Err(error::BAD_ARGUMENT);
            }
        };
        self.leave(now);
        let passphrase = self.station.passphrase.clone();
        let join = Join { ssid: ssid.to_vec(), bssid, security, passphrase };
        self.station.wanted = Some(join.clone());
        self.station.tries = TRIES;
        self.requests.push_back((now, RadioRequest::Join(join)));
        Ok(())
    }

    pub(super) fn leave(&mut self, now: Ps) {
        let was = self.station.associated.take();
        if self.station.wanted.take().is_some() {
            self.requests.push_back((now, RadioRequest::Leave));
        }
        self.forget();
        if let Some(bss) = was {
            self.event(now, events::LINK, 0, status::SUCCESS, 0, bss.bssid);
            self.event(now, events::DISASSOC, 0, status::SUCCESS, 0, bss.bssid);
        }
    }

    fn forget(&mut self) {
        self.station.associated = None;
        self.station.joined = None;
        self.joined_at = None;
        self.station.was_lost = false;
        self.station.look_at = None;
        self.power.left();
    }

    pub(super) fn join_report(&mut self, now: Ps, report: RadioReport) {
        use status::SUCCESS;
        match report {
            RadioReport::Found(bss) => {
                if let Some(sync) = self.station.scan {
                    self.scan_event(now, status::PARTIAL, bss.bssid, &scan::result(sync, &bss));
                }
            }
            RadioReport::ScanDone => {
                if let Some(sync) = self.station.scan.take() {
                    self.scan_event(now, SUCCESS, NO_ADDRESS, &scan::end(sync));
                }
            }
            // While it looks for a lost network, the firmware sends no event.
            RadioReport::NoNetwork if self.station.was_lost => self.station.look_at = Some(now + PAUSE),
            RadioReport::NoNetwork => self.event(now, events::SET_SSID, 0, status::NO_NETWORKS, 0, NO_ADDRESS),
            RadioReport::OtherSecurity(bss) => {
                self.event(now, events::PRUNE, 0, SUCCESS, events::PRUNE_ENCRYPTION, bss.bssid);
                self.event(now, events::SET_SSID, 0, status::NO_NETWORKS, 0, NO_ADDRESS);
            }
            RadioReport::Authenticated(bss) => {
                self.event(now, events::ASSOC_REQ_IE, 0, SUCCESS, 0, bss.bssid);
                self.event(now, events::AUTH, 0, SUCCESS, 0, bss.bssid);
            }
            RadioReport::Associated(bss) => {
                self.event(now, events::ASSOC_RESP_IE, 0, SUCCESS, 0, bss.bssid);
                self.event(now, events::ASSOC, 0, SUCCESS, 0, bss.bssid);
                self.event(now, events::LINK, LINK_UP, SUCCESS, 0, bss.bssid);
                self.station.associated = Some(bss.clone());
                if bss.security == Security::Open {
                    self.joined(now, bss);
                }
            }
            RadioReport::Keyed => {
                if let Some(bss) = self.station.associated.clone() {
                    self.event(now, events::PSK_SUP, 0, supplicant::KEYED, 0, bss.bssid);
                    self.joined(now, bss);
                }
            }
            RadioReport::ThrownOut(reason) => self.thrown_out(now, reason),
            RadioReport::BeaconsLost => {
                if let Some(bss) = self.station.associated.take() {
                    self.forget();
                    self.station.was_lost = true;
                    self.event(now, events::LINK, 0, SUCCESS, 1, bss.bssid);
                    self.again(now);
                }
            }
            RadioReport::Frame(_) | RadioReport::Sent | RadioReport::Kept => {}
        }
    }

    fn scan_event(&mut self, now: Ps, status: u32, about: Mac, data: &[u8]) {
        let event = Event { kind: events::ESCAN_RESULT, flags: 0, status, reason: 0, about };
        self.event_with(now, &event, data);
    }

    fn joined(&mut self, now: Ps, bss: Bss) {
        let request = self.power.joined(now, bss.dtim);
        self.requests.extend(request.map(|request| (now, request)));
        self.joined_at = Some((now + JOINED, bss.bssid));
        self.station.was_lost = false;
        self.station.tries = TRIES;
        self.station.joined = Some(bss);
    }

    /// Handles a deauthentication by the access point: during the handshake the usual reason is the passphrase.
    fn thrown_out(&mut self, now: Ps, reason: u16) {
        let Some(bss) = self.station.associated.take() else { return };
        let in_handshake = self.station.joined.is_none();
        self.forget();
        if in_handshake {
            let reason = supplicant::DEAUTHENTICATED;
            self.event(now, events::PSK_SUP, 0, supplicant::WAITS_FOR_M3, reason, bss.bssid);
        }
        self.event(now, events::DEAUTH_IND, 0, status::SUCCESS, u32::from(reason), bss.bssid);
        self.event(now, events::LINK, 0, status::SUCCESS, 2, bss.bssid);
        self.station.tries = self.station.tries.saturating_sub(1);
        if self.station.tries > 0 {
            self.again(now);
        } else {
            self.station.wanted = None;
        }
    }

    /// Reconnects, as the firmware does by itself.
    pub(super) fn again(&mut self, now: Ps) {
        if let Some(join) = self.station.wanted.clone() {
            self.requests.push_back((now, RadioRequest::Join(join)));
        }
    }
}
