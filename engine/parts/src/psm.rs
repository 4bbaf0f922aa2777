//! PSM, the power-on state machine (RP2040 datasheet 2.13).
//!
//! The blocks form a chain: each leaves reset when the one before it is done. FRCE_OFF of a block therefore also resets
//! every later one that FRCE_ON does not keep on. SIO and core 1 can be reset in this way while the rest of the chip
//! runs. A reset of core 0 or of anything before SIO could never be released, so it ends the run. A block forced both
//! ways, which the datasheet does not specify, is off.

use chip::sys::ResetRequest;
use chip::{Peripheral, Sys, Write};
use sim::Snapshot;

/// Bits of every PSM register for the blocks that several chips have.
#[expect(missing_docs, reason = "named as in the datasheet")]
pub struct Bits {
    pub rosc: u32,
    pub xosc: u32,
    pub clocks: u32,
    pub resets: u32,
    pub xip: u32,
    /// The cores' single-cycle registers.
    pub sio: u32,
    pub proc0: u32,
    pub proc1: u32,
    /// All blocks.
    pub all: u32,
    /// Those that a running program can reset.
    pub resettable: u32,
}

/// The power-on state machine.
#[derive(Debug, Snapshot)]
pub struct Psm {
    /// Bits of all blocks, in the order of the reset sequence.
    all: u32,
    /// Blocks that a running program can reset.
    resettable: u32,
    frce_on: u32,
    frce_off: u32,
    wdsel: u32,
}

impl Psm {
    /// Returns the state machine of a chip with the blocks `all`, of which a running program can reset `resettable`.
    pub fn new(all: u32, resettable: u32) -> Self {
        Self { all, resettable, frce_on: 0, frce_off: 0, wdsel: 0 }
    }

    /// Returns the blocks that a watchdog reset restarts (bits of the registers). PSM starts again from the first selected block,
    /// followed by every later one.
    pub fn watchdog_selection(&self) -> u32 {
        self.wdsel
    }

    /// Starts again after a watchdog reset. WDSEL stays: RP2350's boot ROM reads in it what that reset selected.
    pub fn restart(&mut self, sys: &mut Sys) {
        let wdsel = self.wdsel;
        self.reset(sys);
        self.wdsel = wdsel;
    }

    /// Returns the blocks in reset.
    fn held(&self) -> u32 {
        let mut held = 0;
        let mut previous_done = true;
        for block in (0..u32::BITS).map(|i| 1 << i).take_while(|block| block & self.all != 0) {
            previous_done = self.frce_off & block == 0 && (previous_done || self.frce_on & block != 0);
            if !previous_done {
                held |= block;
            }
        }
        held
    }

    /// Handles a write to FRCE_ON or FRCE_OFF at `offset`.
    fn forces_changed(&self, sys: &mut Sys, offset: u32) {
        let (old, new) = (sys.held_by_psm, self.held());
        if new & !self.resettable != 0 {
            let (name, value) = if offset == 0 { ("FRCE_ON", self.frce_on) } else { ("FRCE_OFF", self.frce_off) };
            sys.unmodelled(format!("PSM.{name} write 0x{value:08x}: holds 0x{:08x} in reset", new & !self.resettable));
        } else if old != new {
            sys.held_by_psm = new;
            sys.request_reset(ResetRequest::Psm { entered: new & !old, left: old & !new });
        }
    }
}

impl Peripheral for Psm {
    fn name(&self) -> &'static str {
        "PSM"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x0 => self.frce_on,
            0x4 => self.frce_off,
            0x8 => self.wdsel,
            0xc => self.all & !self.held(),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x0 => {
                self.frce_on = write.apply_masked(self.frce_on, self.all);
                self.forces_changed(sys, offset);
            }
            0x4 => {
                self.frce_off = write.apply_masked(self.frce_off, self.all);
                self.forces_changed(sys, offset);
            }
            0x8 => self.wdsel = write.apply_masked(self.wdsel, self.all),
            _ => {}
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.all, self.resettable);
        sys.held_by_psm = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use chip::Alias;

    /// RP2040's blocks.
    mod bit {
        pub(crate) const ROSC: u32 = 1 << 0;
        pub(crate) const SIO: u32 = 1 << 14;
        pub(crate) const PROC0: u32 = 1 << 15;
        pub(crate) const PROC1: u32 = 1 << 16;
        pub(crate) const ALL: u32 = 0x0001_ffff;
    }

    fn psm() -> (Sys, Psm) {
        (testing::sys(12_000_000), Psm::new(bit::ALL, bit::SIO | bit::PROC1))
    }

    #[test]
    fn core_1_is_held_and_released() {
        let (mut sys, mut psm) = psm();
        assert_eq!(
            (psm.read(&mut sys, 0), psm.read(&mut sys, 4), psm.read(&mut sys, 8), psm.read(&mut sys, 0xc)),
            (0, 0, 0, 0x1_ffff)
        );
        psm.write(&mut sys, 4, Write { bits: bit::PROC1, alias: Alias::Set });
        assert_eq!(sys.reset_request.take(), Some(ResetRequest::Psm { entered: bit::PROC1, left: 0 }));
        assert_eq!(psm.read(&mut sys, 0xc), 0xffff);
        psm.write(&mut sys, 4, Write { bits: bit::PROC1, alias: Alias::Set });
        assert_eq!(sys.reset_request, None);
        psm.write(&mut sys, 4, Write { bits: bit::PROC1, alias: Alias::Clear });
        assert_eq!(sys.reset_request.take(), Some(ResetRequest::Psm { entered: 0, left: bit::PROC1 }));
        psm.write(&mut sys, 8, Write::normal(u32::MAX));
        assert_eq!((psm.watchdog_selection(), sys.unmodelled), (bit::ALL, None));
    }

    #[test]
    fn a_block_resets_the_later_ones_unless_they_are_forced_on() {
        let (mut sys, mut psm) = psm();
        let sio_and_core_1 = bit::SIO | bit::PROC1;
        psm.write(&mut sys, 0, Write::normal(bit::PROC0));
        psm.write(&mut sys, 4, Write::normal(sio_and_core_1));
        assert_eq!(psm.read(&mut sys, 0xc), bit::ALL & !sio_and_core_1);
        assert_eq!(sys.reset_request.take(), Some(ResetRequest::Psm { entered: sio_and_core_1, left: 0 }));
        psm.write(&mut sys, 4, Write::normal(bit::SIO));
        assert_eq!(psm.read(&mut sys, 0xc), bit::ALL & !bit::SIO, "core 0 is up, so core 1 follows it");
        psm.write(&mut sys, 4, Write::normal(0));
        psm.write(&mut sys, 0, Write::normal(0));
        assert_eq!((psm.read(&mut sys, 0xc), sys.unmodelled.take()), (bit::ALL, None));
        psm.write(&mut sys, 4, Write::normal(bit::SIO));
        let fault = sys.unmodelled.take().map(|fault| fault.what);
        assert_eq!(fault.as_deref(), Some("PSM.FRCE_OFF write 0x00004000: holds 0x00008000 in reset"));
        psm.write(&mut sys, 4, Write::normal(bit::ROSC));
        assert!(sys.unmodelled.is_some());
    }
}
