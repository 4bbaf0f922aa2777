//! The W5100S's Ethernet PHY: PHYSR0 and PHYSR1, PHYCR0 and PHYCR1 protected by PHYLCKR, and the PHY's internal
//! registers, accessed through PHYRAR to PHYACR. Of these, BMCR and BMSR are modelled, which ioLibrary uses.

use sim::{Ps, Snapshot};

use crate::Config;
use crate::chip::Phy;

const PHYSR0: u16 = 0x3C;
const PHYSR1: u16 = 0x3D;
const PHYRAR: u16 = 0x3F;
const PHYDIR: u16 = 0x40;
const PHYDOR: u16 = 0x42;
const PHYACR: u16 = 0x44;
const PHYDIVR: u16 = 0x45;
const PHYCR0: u16 = 0x46;
const PHYCR1: u16 = 0x47;
const PHYLCKR: u16 = 0x72;

const UNLOCK: u8 = 0x53;

/// PHYSR0. FDPX and FSPD are set for half duplex and 10 Mbit/s.
pub(crate) const CABOFF: u8 = 0x80;
pub(crate) const LINK: u8 = 0x01;
pub(crate) const FSPD_10: u8 = 0x02;
pub(crate) const FDPX_HALF: u8 = 0x04;
/// PHYSR1 as read on boards after a reset: calibrated.
const PHYSR1_VALUE: u8 = 0x81;

/// PHYCR0: 0 to 3 negotiate, 4 to 7 are fixed, with bits for half duplex and 10 Mbit/s.
const MODE: u8 = 0x07;
const MODE_FIXED: u8 = 0x04;
const MODE_10: u8 = 0x02;
const MODE_HALF: u8 = 0x01;

/// PHYCR1. Writing 0 to RST resets the PHY; RST is 1 again at once.
const PHYCR1_RESET: u8 = 0x41;
const PHYCR1_WOL: u8 = 0x80;
const PHYCR1_PWDN: u8 = 0x20;
const PHYCR1_RST: u8 = 0x01;

const PHYDIVR_RESET: u8 = 0x01;

/// PHYACR.
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;

/// The PHY's internal registers (IEEE 802.3, 22.2.4).
const BMCR: u8 = 0;
const BMSR: u8 = 1;
const BMCR_RESET: u16 = 0x8000;
const BMCR_SPEED_100: u16 = 0x2000;
const BMCR_NEGOTIATE: u16 = 0x1000;
const BMCR_POWER_DOWN: u16 = 0x0800;
const BMCR_RESTART: u16 = 0x0200;
const BMCR_FULL: u16 = 0x0100;
/// 10 and 100 Mbit/s, half and full duplex, negotiation.
const BMSR_ABLE: u16 = 0x7808;
const BMSR_NEGOTIATED: u16 = 0x0020;
const BMSR_LINK: u16 = 0x0004;

/// The PHY, with a 100BASE-TX full duplex partner at the other end of the cable.
#[derive(Snapshot)]
pub struct W5100sPhy {
    link_delay: Ps,
    plugged: bool,
    /// The chip's reset also holds the PHY.
    chip_in_reset: bool,
    link_at: Option<Ps>,
    unlocked: bool,
    /// PHYCR0 as written, and as applied by a reset of the PHY.
    phycr0: u8,
    mode: u8,
    powered_down: bool,
    /// PHYRAR to PHYDIR, PHYDOR and PHYDIVR.
    register: u8,
    input: [u8; 2],
    output: [u8; 2],
    divider: u8,
}

/// Describes PHYSR0.
pub(crate) fn meaning(value: u8) -> String {
    if value & LINK == 0 {
        return if value & CABOFF != 0 { "no cable".into() } else { "no link".into() };
    }
    let speed = if value & FSPD_10 != 0 { "10" } else { "100" };
    let duplex = if value & FDPX_HALF != 0 { "half" } else { "full" };
    format!("link, {speed} Mbit/s {duplex} duplex")
}

impl W5100sPhy {
    fn relink(&mut self, now: Ps) {
        let able = self.plugged && !self.chip_in_reset && !self.powered_down;
        self.link_at = able.then(|| now.saturating_add(self.link_delay));
    }

    fn restart(&mut self, now: Ps) {
        self.mode = self.phycr0;
        self.relink(now);
    }

    pub(crate) fn read(&self, now: Ps, address: u16) -> u8 {
        match address {
            PHYSR0 => {
                let cable = if self.plugged { 0 } else { CABOFF };
                cable | self.mode << 3 | if self.link_up(now) { LINK | self.speed() } else { 0 }
            }
            PHYSR1 => PHYSR1_VALUE,
            PHYRAR => self.register,
            PHYDIR | 0x41 => self.input[usize::from(address - PHYDIR)],
            PHYDOR | 0x43 => self.output[usize::from(address - PHYDOR)],
            PHYDIVR => self.divider,
            PHYCR0 => self.phycr0,
            PHYCR1 if self.powered_down => PHYCR1_RESET | PHYCR1_PWDN,
            PHYCR1 => PHYCR1_RESET,
            // PHYACR clears itself; PHYAR is the PHY's address, which no driver reads.
            _ => 0,
        }
    }

    fn speed(&self) -> u8 {
        let set = |bit: u8, flag: u8| if self.mode & bit != 0 { flag } else { 0 };
        if self.mode & MODE_FIXED == 0 { 0 } else { set(MODE_10, FSPD_10) | set(MODE_HALF, FDPX_HALF) }
    }

    /// Handles a write by the host. Returns a description if it is not modelled.
    pub(crate) fn write(&mut self, now: Ps, address: u16, value: u8) -> Option<String> {
        match address {
            PHYLCKR => self.unlocked = value == UNLOCK,
            PHYRAR => self.register = value & 0x1F,
            PHYDIR | 0x41 => self.input[usize::from(address - PHYDIR)] = value,
            PHYACR => return self.access(now, value),
            PHYDIVR => self.divider = value & 0x03,
            PHYCR0 if self.unlocked => self.phycr0 = value & MODE,
            PHYCR1 if self.unlocked => {
                if value & PHYCR1_WOL != 0 {
                    return Some("PHYCR1.WOL".into());
                }
                let powered_down = value & PHYCR1_PWDN != 0;
                if value & PHYCR1_RST == 0 || powered_down != self.powered_down {
                    self.powered_down = powered_down;
                    self.restart(now);
                }
            }
            _ => {}
        }
        None
    }

    /// Handles PHYACR: reads or writes one of the PHY's internal registers, in no time.
    fn access(&mut self, now: Ps, action: u8) -> Option<String> {
        let reading = action & READ != 0;
        match (self.register, reading, action & WRITE != 0) {
            (BMCR, true, _) => self.output = self.bmcr().to_be_bytes(),
            (BMSR, true, _) => self.output = self.bmsr(now).to_be_bytes(),
            (BMCR, false, true) => self.write_bmcr(now, u16::from_be_bytes(self.input)),
            (BMSR, false, true) | (_, false, false) => {}
            (register, ..) => return Some(format!("PHY register {register}")),
        }
        None
    }

    fn bmcr(&self) -> u16 {
        let set = |on: bool, bit: u16| if on { bit } else { 0 };
        let fixed = self.mode & MODE_FIXED != 0;
        set(!fixed, BMCR_NEGOTIATE)
            | set(!fixed || self.mode & MODE_10 == 0, BMCR_SPEED_100)
            | set(!fixed || self.mode & MODE_HALF == 0, BMCR_FULL)
            | set(self.powered_down, BMCR_POWER_DOWN)
    }

    fn bmsr(&self, now: Ps) -> u16 {
        BMSR_ABLE | if self.link_up(now) { BMSR_LINK | BMSR_NEGOTIATED } else { 0 }
    }

    fn write_bmcr(&mut self, now: Ps, value: u16) {
        let before = (self.bmcr(), self.powered_down);
        if value & BMCR_RESET != 0 {
            self.powered_down = false;
            self.restart(now);
            return;
        }
        self.powered_down = value & BMCR_POWER_DOWN != 0;
        self.mode = if value & BMCR_NEGOTIATE != 0 {
            0
        } else {
            let slow = if value & BMCR_SPEED_100 == 0 { MODE_10 } else { 0 };
            let half = if value & BMCR_FULL == 0 { MODE_HALF } else { 0 };
            MODE_FIXED | slow | half
        };
        if value & BMCR_RESTART != 0 || (self.bmcr(), self.powered_down) != before {
            self.relink(now);
        }
    }
}

impl Phy for W5100sPhy {
    fn new(config: &Config) -> Self {
        let mut phy = Self {
            link_delay: config.phy_link_delay,
            plugged: config.cable_plugged,
            chip_in_reset: false,
            link_at: None,
            unlocked: false,
            phycr0: 0,
            mode: 0,
            powered_down: false,
            register: 0,
            input: [0; 2],
            output: [0; 2],
            divider: PHYDIVR_RESET,
        };
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
        self.powered_down = false;
        self.restart(now);
    }

    fn reset_register(&mut self) {
        self.unlocked = false;
        self.phycr0 = 0;
        self.register = 0;
        (self.input, self.output) = ([0; 2], [0; 2]);
        self.divider = PHYDIVR_RESET;
    }

    fn link_at(&self) -> Option<Ps> {
        self.link_at
    }
}
