//! Reads the settings of a radio chip's wires and of its access point.

use board::{AccessPoint, Delay, WifiWires};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::PS_PER_US;

const PIN_KEYS: [&str; 4] = ["on_pin", "data_pin", "csn_pin", "clock_pin"];

/// `{"chip": "CYW43439", "bus": "gspi", "on_pin": 23, "data_pin": 24, "csn_pin": 25, "clock_pin": 29}`.
pub(crate) fn wires(name: &str, dict: &Bound<'_, PyDict>) -> PyResult<WifiWires> {
    let mut pins = [None; PIN_KEYS.len()];
    for (key, value) in dict.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "chip" => {}
            "bus" => {
                let bus: String = value.extract()?;
                if bus != "gspi" {
                    return Err(PyValueError::new_err(format!("devices: {name}: bus {bus}: use gspi")));
                }
            }
            _ => match PIN_KEYS.iter().position(|known| *known == key) {
                Some(index) => pins[index] = value.extract()?,
                None => return Err(PyKeyError::new_err(format!("unknown setting {key:?} of a device"))),
            },
        }
    }
    let wired = |index: usize| {
        pins[index].ok_or_else(|| PyValueError::new_err(format!("devices: {name} has no {}", PIN_KEYS[index])))
    };
    Ok(WifiWires { on: wired(0)?, data: wired(1)?, csn: wired(2)?, clock: wired(3)? })
}

/// `{"ssid", "passphrase", "hidden", "channel", "rssi_dbm", "beacon_tu", "dtim", "delay_us", "join_delay_us", "loss_per_mille"}`;
/// `delay_us` None: as a published ping was.
pub(crate) fn access_point(value: &Bound<'_, PyAny>) -> PyResult<AccessPoint> {
    let mut point = AccessPoint::default();
    for (key, value) in value.cast::<PyDict>()?.iter() {
        match key.extract::<String>()?.as_str() {
            "ssid" => point.ssid = value.extract()?,
            "passphrase" => point.passphrase = value.extract()?,
            "hidden" => point.hidden = value.extract()?,
            "channel" => point.channel = value.extract()?,
            "rssi_dbm" => point.rssi_dbm = value.extract()?,
            "beacon_tu" => point.beacon_tu = value.extract()?,
            "dtim" => point.dtim = value.extract()?,
            "delay_us" => {
                let delay: Option<u64> = value.extract()?;
                point.delay = delay.map_or(Delay::Published, |us| Delay::Fixed(us.saturating_mul(PS_PER_US)));
            }
            "join_delay_us" => point.join_delay = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "loss_per_mille" => point.loss_per_mille = value.extract()?,
            other => return Err(PyKeyError::new_err(format!("unknown setting {other:?} of the access point"))),
        }
    }
    Ok(point)
}
