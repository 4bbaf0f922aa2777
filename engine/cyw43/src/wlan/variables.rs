//! Variables by name, which ioctls 262 and 263 read and write.

use std::collections::BTreeMap;

use sim::{Mac, Ps, Snapshot};

use super::ioctl::{Answer, word};
use super::{Wlan, error};

/// Variables that are stored but have no effect here: the aggregation of frames, and the supplicant's wait times.
const KEPT: [&str; 14] = [
    "bus:txglom",
    "apsta",
    "ampdu_ba_wsize",
    "ampdu_mpdu",
    "ampdu_rx_factor",
    "mfp",
    "bsscfg:sup_wpa",
    "bsscfg:sup_wpa2_eapver",
    "bsscfg:sup_wpa_tmo",
    "sae_password",
    "assoc_listen",
    "qtxpower",
    "allmulti",
    "2g_mrate",
];
/// Variables of power save.
const SLEEP_RETURN: &str = "pm2_sleep_ret";
const LISTEN_BEACONS: &str = "bcn_li_bcn";
const LISTEN_DTIMS: &str = "bcn_li_dtim";
const GROUPS: usize = 32;

#[derive(Debug, Default, Snapshot)]
pub(crate) struct Variables {
    kept: BTreeMap<String, Vec<u8>>,
    groups: Vec<Mac>,
    /// Abbreviation, revision and code.
    country: Vec<u8>,
}

impl Variables {
    pub(crate) fn hears_group(&self, to: &Mac) -> bool {
        self.groups.contains(to) || self.kept.get("allmulti").is_some_and(|value| value.starts_with(&[1]))
    }
}

/// Returns the name, and the value after its zero byte.
fn split(argument: &[u8]) -> Result<(&str, &[u8]), i32> {
    let zero = argument.iter().position(|&byte| byte == 0).ok_or(error::BAD_ARGUMENT)?;
    let name = std::str::from_utf8(&argument[..zero]).map_err(|_| error::BAD_ARGUMENT)?;
    Ok((name, &argument[zero + 1..]))
}

impl Wlan {
    pub(super) fn get_variable(&mut self, argument: &[u8]) -> Answer {
        let (name, _) = split(argument)?;
        let word = |value: u32| Ok(value.to_le_bytes().to_vec());
        match name {
            "cur_etheraddr" => Ok(self.mac.to_vec()),
            "clmload_status" => word(self.clm.status()),
            "clmver" => Ok(text(&self.clm.version())),
            "ver" => Ok(text(&self.version)),
            "ccgpioin" => word((self.inputs & !self.gpios.driven) | (self.gpios.level & self.gpios.driven)),
            "country" => Ok(self.variables.country.clone()),
            "bsscfg:event_msgs" => Ok([&[0; 4], self.mask.bytes()].concat()),
            SLEEP_RETURN => word(self.power.sleep_return_ms),
            LISTEN_BEACONS => word(self.power.listen_beacons),
            LISTEN_DTIMS => word(self.power.listen_dtims),
            "mcast_list" => {
                let groups = &self.variables.groups;
                Ok([&(groups.len() as u32).to_le_bytes()[..], &groups.concat()].concat())
            }
            // The chip's access point, which is never on.
            "bss" => Err(error::NOT_ASSOCIATED),
            _ => match KEPT.iter().find(|kept| **kept == name) {
                Some(kept) => Ok(self.variables.kept.get(*kept).cloned().unwrap_or_default()),
                None => {
                    self.name(format!("variable {name:?}"));
                    Ok(Vec::new())
                }
            },
        }
    }

    pub(super) fn set_variable(&mut self, now: Ps, argument: &[u8]) -> Result<(), i32> {
        let (name, value) = split(argument)?;
        match name {
            "clmload" => return if self.clm.load(value) { Ok(()) } else { Err(error::BAD_ARGUMENT) },
            "cur_etheraddr" => {
                let mac: &Mac = value.first_chunk().ok_or(error::BAD_ARGUMENT)?;
                if mac[0] & 1 != 0 {
                    return Err(error::BAD_ARGUMENT);
                }
                self.mac = *mac;
            }
            "country" => {
                let code = value.get(..12).ok_or(error::BAD_ARGUMENT)?;
                if !self.clm.is_loaded() || !code[..2].iter().all(u8::is_ascii_uppercase) {
                    return Err(error::BAD_ARGUMENT);
                }
                self.variables.country = code.to_vec();
            }
            "bsscfg:event_msgs" => self.mask.set(value.get(4..).ok_or(error::BAD_ARGUMENT)?),
            "event_msgs" => self.mask.set(value),
            "gpioout" => {
                let (mask, level) = (word(value)? & 7, word(value.get(4..).unwrap_or_default())?);
                self.gpios.driven |= mask;
                self.gpios.level = (self.gpios.level & !mask) | (level & mask);
            }
            "mcast_list" => {
                let count = word(value)? as usize;
                if count > GROUPS {
                    return Err(error::BAD_ARGUMENT);
                }
                let list = value.get(4..4 + count * 6).ok_or(error::BAD_ARGUMENT)?;
                self.variables.groups = list.as_chunks().0.to_vec();
            }
            SLEEP_RETURN => self.power.sleep_return_ms = word(value)?.clamp(10, 2000),
            LISTEN_BEACONS => self.power.listen_beacons = word(value)?.min(255),
            LISTEN_DTIMS => self.power.listen_dtims = word(value)?.min(255),
            // Interface, and whether its access point is to be on.
            "bss" if word(value)? == 1 && word(value.get(4..).unwrap_or_default())? == 0 => {}
            "bss" => self.name("its own access point".into()),
            "escan" => return self.scan(now, value),
            "join" => return self.join_one(now, value),
            _ => match KEPT.iter().find(|kept| **kept == name) {
                // Only the settings of the first interface: those for the chip's access point start with its index.
                Some(kept) => {
                    drop(self.variables.kept.insert((*kept).into(), value.get(..4).unwrap_or(value).to_vec()))
                }
                None => self.name(format!("variable {name:?}")),
            },
        }
        Ok(())
    }
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}
