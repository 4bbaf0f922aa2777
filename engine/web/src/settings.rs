//! The surroundings of a board in a page, as JSON has them: those fields of `EmulatedConfig.settings` in
//! boards/emulated/config.py that a page may change.

use board::BoardConfig;
use serde::Deserialize;
use sim::PS_PER_US;

/// Fields that are absent stay as they are by default. An unknown field is an error with its name.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    turnaround_us: Option<u64>,
    turnarounds_us: Vec<u64>,
    dhcp_delay_us: u64,
    seed: Option<u64>,
    phy_link_delay_us: Option<u64>,
    faults: Cable,
    xip_miss_cost: Option<bool>,
    flash_layout: u32,
    spi_speed: Option<u64>,
    usb_request_gap_us: Option<u64>,
}

/// Faults of the cable; loss and cuts are not for a page.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Cable {
    seed: u64,
    jitter_us: u64,
}

fn ps(us: u64) -> u64 {
    us.saturating_mul(PS_PER_US)
}

impl Settings {
    pub(crate) fn apply(self, config: &mut BoardConfig) {
        let (lan, phy) = (&mut config.lan, &mut config.phy);
        lan.turnaround_ps = self.turnaround_us.map_or(lan.turnaround_ps, ps);
        lan.turnarounds_ps = self.turnarounds_us.into_iter().map(ps).collect();
        lan.dhcp_delay_ps = ps(self.dhcp_delay_us);
        lan.seed = self.seed.unwrap_or(lan.seed);
        lan.faults.seed = self.faults.seed;
        lan.faults.jitter_ps = ps(self.faults.jitter_us);
        phy.phy_link_delay = self.phy_link_delay_us.map_or(phy.phy_link_delay, ps);
        config.xip_miss_cost = self.xip_miss_cost.unwrap_or(config.xip_miss_cost);
        config.flash_layout = self.flash_layout;
        config.spi_speed = self.spi_speed.unwrap_or(config.spi_speed);
        config.usb.request_gap_us = self.usb_request_gap_us.unwrap_or(config.usb.request_gap_us);
        if let Some(wifi) = &mut config.wifi {
            wifi.point.seed = config.lan.seed;
        }
    }
}
