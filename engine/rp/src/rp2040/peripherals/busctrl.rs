//! BUSCTRL: bus priorities and performance counters (datasheet 2.1.5).
//!
//! The model has no arbitration between masters: priorities have no effect, and no access is ever contested. While a
//! counter is active, the cores report their accesses, in the same simulated time. Instruction fetches count by the
//! word, including prefetched ones (docs/evidence/cache.md).

use super::{Peripheral, Write};
use chip::Sys;
use sim::Snapshot;

const COUNTERS: usize = 4;
/// A counter is 24 bits wide and stops at its end.
pub(crate) const COUNTER_MOST: u32 = 0x00ff_ffff;
const PERFSEL_RESET: u32 = 0x1f;

/// Downstream ports of the crossbar, in the order of PERFSEL's values: each has an event for contested accesses and one
/// for all accesses.
mod port {
    pub(crate) const APB: u32 = 0;
    pub(crate) const FASTPERI: u32 = 1;
    pub(crate) const SRAM5: u32 = 2;
    pub(crate) const SRAM4: u32 = 3;
    /// SRAM3 to SRAM1 come before it.
    pub(crate) const SRAM0: u32 = 7;
    pub(crate) const XIP_MAIN: u32 = 8;
    pub(crate) const ROM: u32 = 9;
    pub(crate) const COUNT: u32 = 10;
}

/// Returns the port of `address`; SIO and the private peripheral bus are not on the crossbar.
#[inline]
fn port_of(address: u32) -> Option<u32> {
    match address >> 28 {
        0 => Some(port::ROM),
        1 => Some(port::XIP_MAIN),
        2 => match address & 0x0fff_ffff {
            // Words are striped over four banks, which are also mapped consecutively at 0x2100_0000 (datasheet 2.6.2).
            at @ 0..0x4_0000 => Some(port::SRAM0 - (at >> 2 & 3)),
            0x4_0000..0x4_1000 => Some(port::SRAM4),
            0x4_1000..0x4_2000 => Some(port::SRAM5),
            at @ 0x100_0000..0x104_0000 => Some(port::SRAM0 - (at >> 16 & 3)),
            _ => None,
        },
        4 => Some(port::APB),
        5 => Some(port::FASTPERI),
        _ => None,
    }
}

/// Returns the ports of the addresses with this upper nibble, as bits.
fn ports_of(nibble: u32) -> u32 {
    match nibble {
        0 => 1 << port::ROM,
        1 => 1 << port::XIP_MAIN,
        2 => (port::SRAM5..=port::SRAM0).fold(0, |ports, port| ports | 1 << port),
        4 => 1 << port::APB,
        5 => 1 << port::FASTPERI,
        _ => 0,
    }
}

/// The bus priorities and counters of accesses.
#[derive(Debug, Snapshot)]
pub struct Busctrl {
    priority: u32,
    perfctr: [u32; COUNTERS],
    perfsel: [u32; COUNTERS],
    /// Ports whose accesses are counted.
    counted: u32,
    /// Upper nibbles of those ports' addresses.
    regions: u16,
}

impl Default for Busctrl {
    fn default() -> Self {
        Self { priority: 0, perfctr: [0; COUNTERS], perfsel: [PERFSEL_RESET; COUNTERS], counted: 0, regions: 0 }
    }
}

impl Busctrl {
    /// Returns whether any accesses are counted: then the cores must report theirs.
    #[inline]
    pub(crate) fn counting(&self) -> bool {
        self.counted != 0
    }

    /// Returns the upper nibbles of the addresses that may count, as bits: the cores' first check.
    #[inline]
    pub(crate) fn regions(&self) -> u16 {
        self.regions
    }

    /// Returns the counter of accesses to SRAM5, if nothing else is counted.
    pub(crate) fn sram5_counter(&mut self) -> Option<&mut u32> {
        if self.counted != 1 << port::SRAM5 {
            return None;
        }
        let mut counters =
            self.perfctr.iter_mut().zip(&self.perfsel).filter(|(_, event)| **event == 2 * port::SRAM5 + 1);
        let (counter, _) = counters.next()?;
        if counters.next().is_some() { None } else { Some(counter) }
    }

    /// Counts a master's access to `address`.
    pub(crate) fn count(&mut self, address: u32) {
        let Some(port) = port_of(address) else { return };
        if self.counted & 1 << port == 0 {
            return;
        }
        for (counter, &event) in self.perfctr.iter_mut().zip(&self.perfsel) {
            if event == 2 * port + 1 {
                *counter = (*counter + 1).min(COUNTER_MOST);
            }
        }
    }

    fn select(&mut self, sys: &mut Sys) {
        let was = self.counted;
        let all_accesses = self.perfsel.iter().filter(|&&event| event & 1 != 0 && event / 2 < port::COUNT);
        self.counted = all_accesses.fold(0, |ports, event| ports | 1 << (event / 2));
        // The cores select their access path to the memories again.
        sys.attention |= was != self.counted;
        self.regions =
            (0..16).filter(|&nibble| self.counted & ports_of(nibble) != 0).fold(0, |all, nibble| all | 1 << nibble);
    }
}

impl Peripheral for Busctrl {
    fn name(&self) -> &'static str {
        "BUSCTRL"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        let index = (offset.wrapping_sub(0x08) / 8) as usize;
        match offset {
            0x00 => self.priority,
            0x04 => 1,
            0x08 | 0x10 | 0x18 | 0x20 => self.perfctr[index],
            0x0c | 0x14 | 0x1c | 0x24 => self.perfsel[index],
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let index = (offset.wrapping_sub(0x08) / 8) as usize;
        match offset {
            0x00 => self.priority = write.apply_masked(self.priority, 0x1111),
            // Any write clears.
            0x08 | 0x10 | 0x18 | 0x20 => self.perfctr[index] = 0,
            0x0c | 0x14 | 0x1c | 0x24 => {
                self.perfsel[index] = write.apply_masked(self.perfsel[index], 0x1f);
                self.select(sys);
            }
            _ => {}
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self { counted: self.counted, regions: self.regions, ..Self::default() };
        self.select(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers() {
        let mut sys = crate::rp2040::wires::sys(12_000_000);
        let mut busctrl = Busctrl::default();
        for (offset, value) in [(0x0, 0), (0x4, 1), (0x8, 0), (0xc, 0x1f), (0x24, 0x1f), (0x28, 0)] {
            assert_eq!(busctrl.read(&mut sys, offset), value);
        }
        busctrl.write(&mut sys, 0, Write::normal(u32::MAX));
        busctrl.write(&mut sys, 0x14, Write::normal(0x22));
        assert_eq!((busctrl.read(&mut sys, 0), busctrl.read(&mut sys, 0x14)), (0x1111, 2));
    }

    #[test]
    fn the_nibbles_that_the_cores_ask_first_leave_nothing_out() {
        for address in (0..=u32::MAX).step_by(0x800) {
            if let Some(port) = port_of(address) {
                assert_ne!(ports_of(address >> 28) & 1 << port, 0, "{address:#x}");
            }
        }
    }

    #[test]
    fn each_counter_counts_its_port_and_stops_at_its_end() {
        let mut sys = crate::rp2040::wires::sys(12_000_000);
        let mut busctrl = Busctrl::default();
        // apb, sram5, sram2, rom_contested.
        for (index, event) in [0x01, 0x05, 0x0b, 0x12].into_iter().enumerate() {
            busctrl.write(&mut sys, 0x0c + 8 * index as u32, Write::normal(event));
        }
        assert!(busctrl.counting() && sys.attention);
        let sram2 = [0x2000_0008, 0x2003_fff9, 0x2102_0000, 0x2102_fffc];
        let others = [0, 0x1000_0000, 0x2000_0004, 0x2103_0000, 0x2004_0000, 0x2004_2000, 0x5000_0000, 0xd000_0000];
        for address in [&sram2[..], &[0x2004_1000, 0x4000_0000], &others].concat() {
            busctrl.count(address);
        }
        let counts: Vec<u32> = (0..4).map(|index| busctrl.read(&mut sys, 8 + 8 * index)).collect();
        assert_eq!(counts, [1, 1, 4, 0]);
        busctrl.perfctr[0] = COUNTER_MOST;
        busctrl.count(0x4000_0000);
        assert_eq!(busctrl.read(&mut sys, 0x08), COUNTER_MOST);
        busctrl.write(&mut sys, 0x08, Write::normal(5));
        assert_eq!(busctrl.read(&mut sys, 0x08), 0);
        busctrl.reset(&mut sys);
        assert_eq!((busctrl.counting(), busctrl.read(&mut sys, 0x18)), (false, 0));
    }
}
