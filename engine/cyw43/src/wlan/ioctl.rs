//! Control messages by number.

use sim::{Mac, Ps, RadioRequest};

use super::{Wlan, error};
use crate::sdpcm::Control;

const UP: u32 = 2;
const DOWN: u32 = 3;
const SET_INFRA: u32 = 20;
const SET_AUTH: u32 = 22;
const GET_BSSID: u32 = 23;
const GET_SSID: u32 = 25;
const SET_SSID: u32 = 26;
const GET_CHANNEL: u32 = 29;
const DISASSOC: u32 = 52;
const GET_ANTDIV: u32 = 63;
const SET_ANTDIV: u32 = 64;
const GET_PM: u32 = 85;
const SET_PM: u32 = 86;
const SET_GMODE: u32 = 110;
const GET_RSSI: u32 = 127;
const SET_WSEC: u32 = 134;
const SET_BAND: u32 = 142;
const SET_WPA_AUTH: u32 = 165;
const GET_VAR: u32 = 262;
const SET_VAR: u32 = 263;
const SET_WSEC_PMK: u32 = 268;

pub(crate) type Answer = Result<Vec<u8>, i32>;

pub(crate) fn word(argument: &[u8]) -> Result<u32, i32> {
    argument.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or(error::BAD_ARGUMENT)
}

impl Wlan {
    pub(super) fn ioctl(&mut self, now: Ps, message: &Control) -> Answer {
        let argument = message.argument.as_slice();
        if message.interface() != 0 {
            return self.own_access_point(message);
        }
        match message.command {
            UP => self.up = true,
            DOWN => {
                self.leave(now);
                self.up = false;
            }
            // One radio, one antenna, one band, infrastructure only: these settings have no alternatives.
            SET_INFRA | SET_ANTDIV | SET_GMODE | SET_BAND => drop(word(argument)?),
            GET_ANTDIV => return Ok(vec![0; 4]),
            SET_AUTH => match word(argument)? {
                // Open, or WPA3's, which a network with WPA2 does not need.
                0 | 3 => {}
                other => self.name(format!("authentication type {other}")),
            },
            GET_BSSID => return self.bss().map(|bss| bss.bssid.to_vec()).ok_or(error::NOT_ASSOCIATED),
            GET_SSID => {
                let ssid = self.bss().map(|bss| bss.ssid.clone()).unwrap_or_default();
                return Ok([&(ssid.len() as u32).to_le_bytes()[..], &ssid].concat());
            }
            GET_CHANNEL => {
                let channel = u32::from(self.bss().map_or(1, |bss| bss.channel));
                return Ok([channel, channel, 0].into_iter().flat_map(u32::to_le_bytes).collect());
            }
            SET_SSID => self.join(now, &named(argument)?, None)?,
            DISASSOC => self.leave(now),
            GET_PM => return Ok(self.power.mode().to_le_bytes().to_vec()),
            SET_PM => match word(argument)? {
                mode @ 0..=2 => {
                    let request = self.power.set_mode(now, mode);
                    self.requests.extend(request.map(|request| (now, request)));
                }
                _ => return Err(error::BAD_ARGUMENT),
            },
            GET_RSSI => {
                let rssi = i32::from(self.bss().map_or(0, |bss| bss.rssi_dbm));
                return Ok(rssi.to_le_bytes().to_vec());
            }
            SET_WSEC => self.station.wsec = word(argument)?,
            SET_WPA_AUTH => self.station.wpa_auth = word(argument)?,
            SET_WSEC_PMK => self.set_passphrase(argument)?,
            GET_VAR => return self.get_variable(argument),
            SET_VAR => self.set_variable(now, argument)?,
            other => self.name(format!("ioctl {other}")),
        }
        Ok(Vec::new())
    }

    /// Handles settings of the chip's access point, which is not modelled. Turning it off is allowed, since it is never
    /// on.
    fn own_access_point(&mut self, message: &Control) -> Answer {
        match message.command {
            DISASSOC => return Err(error::NOT_ASSOCIATED),
            SET_VAR if message.argument.starts_with(b"qtxpower\0") => {}
            other => self.name(format!("ioctl {other} to interface {}: its own access point", message.interface())),
        }
        Ok(Vec::new())
    }

    /// Sets the passphrase: its length, flags (1: a passphrase), and 64 bytes of which the first ones count.
    fn set_passphrase(&mut self, argument: &[u8]) -> Result<(), i32> {
        let header = argument.get(..4).ok_or(error::BAD_ARGUMENT)?;
        let length = usize::from(u16::from_le_bytes([header[0], header[1]]));
        if u16::from_le_bytes([header[2], header[3]]) != 1 {
            self.name("a pairwise master key instead of a passphrase".into());
        }
        if !(8..=64).contains(&length) {
            return Err(error::BAD_ARGUMENT);
        }
        self.station.passphrase = argument.get(4..4 + length).ok_or(error::BAD_ARGUMENT)?.to_vec();
        Ok(())
    }

    pub(super) fn scan(&mut self, now: Ps, argument: &[u8]) -> Result<(), i32> {
        if !self.up {
            return Err(error::NOT_UP);
        }
        let action = argument.get(4..8).ok_or(error::BAD_ARGUMENT)?;
        let ssid = named(&argument[8..])?;
        match u16::from_le_bytes([action[0], action[1]]) {
            1 => {
                self.station.scan = Some(u16::from_le_bytes([action[2], action[3]]));
                self.requests.push_back((now, RadioRequest::Scan { ssid }));
            }
            other => self.name(format!("scan action {other}")),
        }
        Ok(())
    }

    /// Handles the variable `join`: SSID, scan parameters, and BSSID.
    pub(super) fn join_one(&mut self, now: Ps, argument: &[u8]) -> Result<(), i32> {
        let ssid = named(argument)?;
        let bssid: Option<&Mac> = argument.get(56..).and_then(|rest| rest.first_chunk());
        let bssid = *bssid.ok_or(error::BAD_ARGUMENT)?;
        self.join(now, &ssid, (bssid != [0xff; 6]).then_some(bssid))
    }
}

/// Returns the SSID that follows its length.
fn named(argument: &[u8]) -> Result<Vec<u8>, i32> {
    let length = word(argument)? as usize;
    if length > 32 {
        return Err(error::BAD_ARGUMENT);
    }
    argument.get(4..4 + length).map(<[u8]>::to_vec).ok_or(error::BAD_ARGUMENT)
}
