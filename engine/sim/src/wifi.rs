//! Between a radio chip and the air.

use crate::time::Ps;

pub type Mac = [u8; 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    Open,
    /// WPA2 with a pre-shared key, AES.
    Wpa2,
}

/// An access point as its beacons and probe responses tell of it.
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
    /// Beacons from one that announces multicast frames to the next.
    pub dtim: u8,
}

/// What a station wants to join with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub ssid: Vec<u8>,
    pub bssid: Option<Mac>,
    pub security: Security,
    pub passphrase: Vec<u8>,
}

/// What a radio chip does on the air.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioRequest {
    /// Probes all channels for `ssid`, or for whoever answers where it is empty.
    Scan {
        ssid: Vec<u8>,
    },
    Join(Join),
    Leave,
    /// An Ethernet frame for the access point.
    Frame(Vec<u8>),
    /// The receiver sleeps but for each so many beacons.
    Doze {
        beacons: u32,
    },
    /// The receiver is on again; the access point sends what it kept.
    Awake,
    /// Fetches one frame of those that the access point keeps, and sleeps on.
    Poll,
}

/// What the air brings a radio chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioReport {
    Found(Bss),
    ScanDone,
    /// No network that could be joined answered.
    NoNetwork,
    /// There is one of that name with another kind of security.
    OtherSecurity(Bss),
    Authenticated(Bss),
    Associated(Bss),
    /// The access point's four-way handshake ended well.
    Keyed,
    /// It did not: the access point threw the station out, with this reason of IEEE 802.11 table 9-49.
    ThrownOut(u16),
    /// No beacon came any more.
    BeaconsLost,
    Frame(Vec<u8>),
    /// The access point has the oldest frame that was not acknowledged yet, or it is lost.
    Sent,
    /// A beacon that says that the access point keeps frames for the station.
    Kept,
}

/// A chip with a radio, as the air sees it.
pub trait Radio {
    /// What the chip does next on the air, and when.
    fn take_request(&mut self) -> Option<(Ps, RadioRequest)>;
    fn report(&mut self, now: Ps, report: RadioReport);
}
