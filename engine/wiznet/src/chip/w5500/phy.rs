//! The W5500's Ethernet PHY and PHYCFGR (datasheet 4.1 "PHYCFGR").

use sim::{Ps, Snapshot};

use crate::Config;
use crate::chip::Phy;

const RST: u8 = 0x80;
const OPMD: u8 = 0x40;
const OPMDC: u8 = 0x38;
const DPX_FULL: u8 = 0x04;
const SPD_100: u8 = 0x02;
const LNK: u8 = 0x01;

/// PMODE[2:0] and OPMDC[2:0]: all capable, auto-negotiation enabled.
const ALL_CAPABLE: u8 = 7;
const POWER_DOWN: u8 = 6;
const NOT_USED: u8 = 5;

/// The PHY, with a 100BASE-TX full duplex partner at the other end of the cable.
#[derive(Snapshot)]
pub struct W5500Phy {
    link_delay: Ps,
    /// The PMODE[2:0] pins.
    pmode: u8,
    plugged: bool,
    /// RST, OPMD and OPMDC as written.
    config: u8,
    /// The operation mode applied by the last PHY reset.
    mode: u8,
    /// The chip's reset also holds the PHY.
    chip_in_reset: bool,
    link_at: Option<Ps>,
}

/// Describes PHYCFGR.
pub(crate) fn meaning(value: u8) -> String {
    match (value & RST, value & LNK) {
        (0, _) => "in reset".into(),
        (_, 0) => "no link".into(),
        _ => {
            let speed = if value & SPD_100 != 0 { "100" } else { "10" };
            let duplex = if value & DPX_FULL != 0 { "full" } else { "half" };
            format!("link, {speed} Mbit/s {duplex} duplex")
        }
    }
}

impl W5500Phy {
    /// Starts negotiating a link at `now`, if one is possible.
    fn relink(&mut self, now: Ps) {
        let able = self.plugged
            && !self.chip_in_reset
            && self.config & RST != 0
            && !matches!(self.mode, POWER_DOWN | NOT_USED);
        self.link_at = able.then(|| now.saturating_add(self.link_delay));
    }

    /// Handles a write to PHYCFGR. RST = 0 resets the PHY and holds it; writing 1 releases it with the mode selected by
    /// OPMD and OPMDC or by the pins. DPX, SPD and LNK are read only.
    pub(crate) fn write(&mut self, now: Ps, value: u8) {
        let released = self.config & RST == 0 && value & RST != 0;
        let resets = self.config & RST != 0 && value & RST == 0;
        self.config = value & (RST | OPMD | OPMDC);
        if released {
            self.mode = if value & OPMD != 0 { (value & OPMDC) >> 3 } else { self.pmode };
        }
        if released || resets {
            self.relink(now);
        }
    }

    pub(crate) fn read(&self, now: Ps) -> u8 {
        if !self.link_up(now) {
            return self.config;
        }
        let status = match self.mode {
            0 => LNK,
            1 => LNK | DPX_FULL,
            2 | 4 => LNK | SPD_100,
            3 | ALL_CAPABLE => LNK | SPD_100 | DPX_FULL,
            _ => 0,
        };
        self.config | status
    }
}

impl Phy for W5500Phy {
    fn new(config: &Config) -> Self {
        let (mode, plugged) = (config.pmode & 7, config.cable_plugged);
        let link_delay = config.phy_link_delay;
        let mut phy =
            Self { link_delay, pmode: mode, plugged, config: RST | OPMDC, mode, chip_in_reset: false, link_at: None };
        phy.relink(0);
        phy
    }

    fn set_cable(&mut self, now: Ps, plugged: bool) {
        if self.plugged != plugged {
            self.plugged = plugged;
            self.relink(now);
        }
    }

    fn hardware_reset(&mut self, now: Ps, held: bool) {
        self.chip_in_reset = held;
        self.reset_register();
        self.mode = self.pmode;
        self.relink(now);
    }

    fn reset_register(&mut self) {
        self.config = RST | OPMDC;
    }

    fn link_at(&self) -> Option<Ps> {
        self.link_at
    }
}
