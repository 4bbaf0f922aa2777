//! A radio chip on a board: gSPI on four pins, and the air.

use air::Air;
use chip::{BitPeer, Sys, Way};
use cyw43::{Cyw43439, Shifting};
use sim::{Device, NEVER, Ps, Radio, SettingError, Snapshot};

use crate::config::WifiConfig;
use crate::wires::level;

/// GPIO numbers of a radio chip on gSPI.
#[derive(Clone, Copy, Debug)]
pub struct WifiWires {
    /// Power supply of the chip, active high.
    pub on: u32,
    /// Data in both directions; between transfers, the chip's interrupt.
    pub data: u32,
    /// GPIO of the chip select, active low.
    pub csn: u32,
    /// GPIO of the clock.
    pub clock: u32,
}

sim::left_out!([] WifiWires);

impl WifiWires {
    /// Returns the pins, by their settings.
    pub(crate) fn pins(&self) -> [(&'static str, u32); 4] {
        [("on_pin", self.on), ("data_pin", self.data), ("csn_pin", self.csn), ("clock_pin", self.clock)]
    }
}

#[derive(Snapshot)]
pub(crate) struct WifiPort {
    pub(crate) wires: WifiWires,
    pub(crate) chip: Cyw43439,
    pub(crate) air: Air,
    selected: bool,
    on: bool,
}

impl WifiPort {
    pub(crate) fn new(config: &WifiConfig) -> Result<Self, SettingError> {
        let chip = Cyw43439::new(config.chip.clone());
        Ok(Self { wires: config.wires, chip, air: Air::new(config.point.clone())?, selected: false, on: false })
    }

    pub(crate) fn watched(&self) -> u64 {
        let WifiWires { on, data, csn, clock } = self.wires;
        1 << on | 1 << data | 1 << csn | 1 << clock
    }

    /// Passes on the levels of all four pins. Returns true if the chip's next event may have changed.
    pub(crate) fn follow(&mut self, sys: &mut Sys) -> bool {
        let now = sys.now();
        let selected = !level(sys, self.wires.csn);
        // Only the microcontroller supplies the chip.
        let on = sys.pins.output_enabled() & sys.pins.output() & (1 << self.wires.on) != 0;
        let mut more = false;
        if on != self.on {
            self.on = on;
            self.chip.set_power(now, on);
            more = true;
        }
        if selected != self.selected {
            self.selected = selected;
            self.chip.select(now, selected);
            more = true;
        }
        let levels = sys.pins.level();
        let (clock, data) = (levels & (1 << self.wires.clock) != 0, levels & (1 << self.wires.data) != 0);
        let step = self.chip.wires(now, clock, data);
        if more || step.drives {
            sys.pins.drive(self.wires.data, self.chip.data_wire());
        }
        more || step.more
    }

    /// Returns the chip's handling of the next bits on its pins.
    pub(crate) fn bit_peer(&self) -> Option<BitPeer> {
        let WifiWires { data, clock, .. } = self.wires;
        let (way, bits) = match self.chip.shifting()? {
            Shifting::In(bits) => (Way::Takes, bits),
            Shifting::Out { rising } => (Way::Gives { rising }, u32::MAX),
        };
        Some(BitPeer { clock, data, lanes: 1, way, bits })
    }

    /// Drives the chip's interrupt level on the data wire between transfers.
    pub(crate) fn drive(&self, sys: &mut Sys) {
        sys.pins.drive(self.wires.data, self.chip.data_wire());
    }

    /// Moves requests and reports between chip and air. Returns the time of their next event.
    pub(crate) fn settle(&mut self) -> Ps {
        while let Some((at, request)) = self.chip.take_request() {
            self.air.request(at, request);
        }
        [self.chip.next_event(), self.air.next_event()].into_iter().flatten().min().unwrap_or(NEVER)
    }

    pub(crate) fn advance(&mut self, now: Ps) {
        self.chip.advance(now);
        self.settle();
        self.air.advance(now);
        while let Some(report) = self.air.take_report() {
            self.chip.report(now, report);
        }
    }
}
