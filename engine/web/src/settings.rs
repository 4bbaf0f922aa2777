//! The surroundings of a board in a page, as JSON has them: those fields of `EmulatedConfig.settings` in
//! boards/emulated/config.py that a page may change.

use board::BoardConfig;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sim::PS_PER_US;

/// Changes the settings that are given. `Err`: the first that a page does not have, or whose value is wrong.
pub(crate) fn apply(settings: Map<String, Value>, config: &mut BoardConfig) -> Result<(), String> {
    let (lan, phy) = (&mut config.lan, &mut config.phy);
    for (key, value) in settings {
        match &*key {
            "turnaround_us" => lan.turnaround_ps = ps(read(&key, value)?),
            "turnarounds_us" => {
                lan.turnarounds_ps = read::<Vec<u64>>(&key, value)?.into_iter().map(ps).collect();
            }
            "dhcp_delay_us" => lan.dhcp_delay_ps = ps(read(&key, value)?),
            "seed" => lan.seed = read(&key, value)?,
            "phy_link_delay_us" => phy.phy_link_delay = ps(read(&key, value)?),
            // Loss and cuts are not for a page.
            "faults" => {
                for (key, value) in read::<Map<String, Value>>(&key, value)? {
                    match &*key {
                        "seed" => lan.faults.seed = read(&key, value)?,
                        "jitter_us" => lan.faults.jitter_ps = ps(read(&key, value)?),
                        _ => return Err(format!("unknown field `{key}` of the faults")),
                    }
                }
            }
            "xip_miss_cost" => config.xip_miss_cost = read(&key, value)?,
            "flash_layout" => config.flash_layout = read(&key, value)?,
            "spi_speed" => config.spi_speed = read(&key, value)?,
            "usb_request_gap_us" => config.usb.request_gap_us = read(&key, value)?,
            _ => return Err(format!("unknown field `{key}` of the settings")),
        }
    }
    if let Some(wifi) = &mut config.wifi {
        wifi.point.seed = config.lan.seed;
    }
    Ok(())
}

fn read<T: DeserializeOwned>(key: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("{key}: {error}"))
}

fn ps(us: u64) -> u64 {
    us.saturating_mul(PS_PER_US)
}
