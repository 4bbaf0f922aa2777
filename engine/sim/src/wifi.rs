//! The interface between a radio chip and the air.

use crate::time::Ps;

pub type Mac = [u8; 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    Open,
    /// WPA2 with a pre-shared key, AES.
    Wpa2,
}

/// An access point as described by its beacons and probe responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bss {
    /// Empty in beacons of a hidden network.
    pub ssid: Vec<u8>,
    pub bssid: Mac,
    pub channel: u8,
    pub rssi_dbm: i16,
    pub security: Security,
    /// Beacon interval in time units of 1024 us.
    pub beacon_tu: u16,
    /// DTIM period: beacons from one that announces multicast frames to the next.
    pub dtim: u8,
}

/// The parameters with which a station joins a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub ssid: Vec<u8>,
    pub bssid: Option<Mac>,
    pub security: Security,
    pub passphrase: Vec<u8>,
}

/// A radio chip's requests to the air.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioRequest {
    /// Probes all channels for `ssid`; an empty `ssid` finds every access point.
    Scan {
        ssid: Vec<u8>,
    },
    Join(Join),
    Leave,
    /// An Ethernet frame for the access point.
    Frame(Vec<u8>),
    /// The receiver sleeps, except for one beacon in this many.
    Doze {
        beacons: u32,
    },
    /// The receiver is on again; the access point sends the frames it buffered.
    Awake,
    /// Fetches one frame buffered at the access point and goes back to sleep (PS-Poll).
    Poll,
}

/// The air's reports to a radio chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioReport {
    Found(Bss),
    ScanDone,
    /// No suitable network answered.
    NoNetwork,
    /// A network of that name exists but uses another kind of security.
    OtherSecurity(Bss),
    Authenticated(Bss),
    Associated(Bss),
    /// The access point's four-way handshake succeeded.
    Keyed,
    /// The handshake failed: the access point deauthenticated the station with this reason code (IEEE 802.11 table
    /// 9-49).
    ThrownOut(u16),
    /// Beacons are no longer received.
    BeaconsLost,
    Frame(Vec<u8>),
    /// The oldest unacknowledged frame has reached the access point, or is lost.
    Sent,
    /// A beacon announces that the access point has buffered frames for the station.
    Kept,
}

/// A chip with a radio, as the air sees it.
pub trait Radio {
    /// Takes the chip's next request to the air, with its time.
    fn take_request(&mut self) -> Option<(Ps, RadioRequest)>;
    fn report(&mut self, now: Ps, report: RadioReport);
}
