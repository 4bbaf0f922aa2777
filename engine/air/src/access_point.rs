//! The settings of the access point.

use sim::{Bss, Join, Mac, PS_PER_US, Ps, Security, SettingError};

use crate::airtime::LEAST_DBM;
use crate::delay::Delay;

sim::left_out!([] AccessPoint);

/// The settings of an access point. The default one is in range, uses WPA2 and loses no frame.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessPoint {
    /// The network's name, 1 to 32 bytes.
    pub ssid: String,
    /// WPA2 with this passphrase of 8 to 63 characters; `None`: open.
    pub passphrase: Option<String>,
    /// The beacons do not contain the SSID.
    pub hidden: bool,
    /// The channel at 2.4 GHz, 1 to 13.
    pub channel: u8,
    /// Signal strength at the board. Below -92 dBm the access point is out of range.
    pub rssi_dbm: i16,
    /// Beacon interval in time units of 1024 us, 10 to 1000.
    pub beacon_tu: u16,
    /// Beacons from one that announces multicast frames to the next, 1 to 10.
    pub dtim: u8,
    /// Delay of a frame on its way to the board.
    pub delay: Delay,
    /// Largest extra delay of authentication.
    pub join_delay: Ps,
    /// Probability that a transmission of a frame is lost, in either direction.
    pub loss_per_mille: u16,
    /// Seed of all draws: of delays, backoffs and losses.
    pub seed: u64,
}

impl Default for AccessPoint {
    fn default() -> Self {
        Self {
            ssid: "portbench".into(),
            passphrase: Some("emulated".into()),
            hidden: false,
            channel: 6,
            rssi_dbm: -50,
            beacon_tu: 100,
            dtim: 1,
            delay: Delay::Published,
            join_delay: 0,
            loss_per_mille: 0,
            seed: 1,
        }
    }
}

/// Leaves out the passphrase.
impl std::fmt::Debug for AccessPoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let security = if self.passphrase.is_some() { "WPA2" } else { "open" };
        write!(out, "AccessPoint({:?}, {security}, channel {}, {} dBm)", self.ssid, self.channel, self.rssi_dbm)
    }
}

impl AccessPoint {
    /// Locally administered.
    const BSSID: Mac = [0x02, 0x50, 0x42, 0x41, 0x50, 0x01];

    pub(crate) fn validate(&self) -> Result<(), SettingError> {
        let check = |good: bool, setting: &str, problem: String, mend: &str| {
            if good { Ok(()) } else { Err(SettingError::new(format!("wifi {setting}"), problem, mend)) }
        };
        let length = self.ssid.len();
        check((1..=32).contains(&length), "ssid", format!("has {length} bytes"), "use 1 to 32")?;
        if let Some(passphrase) = &self.passphrase {
            let length = passphrase.len();
            check((8..=63).contains(&length), "passphrase", format!("has {length} characters"), "use 8 to 63")?;
        }
        check((1..=13).contains(&self.channel), "channel", self.channel.to_string(), "use 1 to 13")?;
        check((-120..=0).contains(&self.rssi_dbm), "rssi_dbm", self.rssi_dbm.to_string(), "use -120 to 0")?;
        check((10..=1000).contains(&self.beacon_tu), "beacon_tu", self.beacon_tu.to_string(), "use 10 to 1000")?;
        check((1..=10).contains(&self.dtim), "dtim", self.dtim.to_string(), "use 1 to 10")?;
        let loss = self.loss_per_mille;
        check(loss <= 1000, "loss_per_mille", loss.to_string(), "use 0 to 1000")
    }

    pub(crate) fn security(&self) -> Security {
        if self.passphrase.is_some() { Security::Wpa2 } else { Security::Open }
    }

    pub(crate) fn in_range(&self) -> bool {
        self.rssi_dbm >= LEAST_DBM
    }

    pub(crate) fn beacon_interval(&self) -> Ps {
        Ps::from(self.beacon_tu) * 1024 * PS_PER_US
    }

    pub(crate) fn passes(&self, join: &Join) -> bool {
        self.passphrase.as_ref().is_none_or(|passphrase| passphrase.as_bytes() == join.passphrase)
    }

    pub(crate) fn is_meant(&self, join: &Join) -> bool {
        join.ssid == self.ssid.as_bytes() && join.bssid.is_none_or(|bssid| bssid == Self::BSSID)
    }

    pub(crate) fn bss(&self) -> Bss {
        Bss {
            ssid: self.ssid.as_bytes().to_vec(),
            bssid: Self::BSSID,
            channel: self.channel,
            rssi_dbm: self.rssi_dbm,
            security: self.security(),
            beacon_tu: self.beacon_tu,
            dtim: self.dtim,
        }
    }

    /// Returns the answer to a probe for `ssid`; an empty `ssid` matches any network.
    pub(crate) fn seen(&self, ssid: &[u8]) -> Option<Bss> {
        let named = ssid == self.ssid.as_bytes();
        (named || ssid.is_empty()).then(|| {
            let bss = self.bss();
            if self.hidden && !named { Bss { ssid: Vec::new(), ..bss } } else { bss }
        })
    }
}
