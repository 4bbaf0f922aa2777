//! The interface between a radio chip and the air.

use crate::Snapshot;

use crate::time::Ps;

/// A MAC address, in the order of transmission.
pub type Mac = [u8; 6];

/// The security of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum Security {
    /// No encryption.
    Open,
    /// WPA2 with a pre-shared key, AES.
    Wpa2,
}

/// An access point as described by its beacons and probe responses.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub struct Bss {
    /// Empty in beacons of a hidden network.
    pub ssid: Vec<u8>,
    /// The access point's MAC address.
    pub bssid: Mac,
    /// The channel at 2.4 GHz, from 1.
    pub channel: u8,
    /// Signal strength at the station.
    pub rssi_dbm: i16,
    /// The security that the access point asks for.
    pub security: Security,
    /// Beacon interval in time units of 1024 us.
    pub beacon_tu: u16,
    /// DTIM period: beacons from one that announces multicast frames to the next.
    pub dtim: u8,
}

/// The parameters with which a station joins a network.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub struct Join {
    /// Name of the network.
    pub ssid: Vec<u8>,
    /// The only access point to join; `None`: any of the network.
    pub bssid: Option<Mac>,
    /// The security that the station expects.
    pub security: Security,
    /// The passphrase of WPA2; empty for an open network.
    pub passphrase: Vec<u8>,
}

/// A radio chip's requests to the air.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub enum RadioRequest {
    /// Probes all channels for `ssid`; an empty `ssid` finds every access point.
    Scan {
        /// Name of the network.
        ssid: Vec<u8>,
    },
    /// Looks for a network and joins it; ends the current connection.
    Join(Join),
    /// Leaves the network.
    Leave,
    /// An Ethernet frame for the access point.
    Frame(Vec<u8>),
    /// The receiver sleeps, except for one beacon in this many.
    Doze {
        /// 1: it listens to each beacon.
        beacons: u32,
    },
    /// The receiver is on again; the access point sends the frames it buffered.
    Awake,
    /// Fetches one frame buffered at the access point and goes back to sleep (PS-Poll).
    Poll,
}

/// The air's reports to a radio chip.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub enum RadioReport {
    /// A scan found a network.
    Found(Bss),
    /// The scan has ended.
    ScanDone,
    /// No suitable network answered.
    NoNetwork,
    /// A network of that name exists but uses another kind of security.
    OtherSecurity(Bss),
    /// The access point accepted the station (open system).
    Authenticated(Bss),
    /// The access point associated the station.
    Associated(Bss),
    /// The access point's four-way handshake succeeded.
    Keyed,
    /// The handshake failed: the access point deauthenticated the station with this reason code (IEEE 802.11 table
    /// 9-49).
    ThrownOut(u16),
    /// Beacons are no longer received.
    BeaconsLost,
    /// An Ethernet frame from the access point.
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
    /// Delivers a report at `now`.
    fn report(&mut self, now: Ps, report: RadioReport);
}
