//! BOOTDIS of OTP and of POWMAN: the boot ROM ignores scratch registers (datasheet 6.4 and 13.9).

use chip::Write;
use sim::Snapshot;

/// The boot ROM ignores the scratch registers at this boot. A one written clears it.
const NOW: u32 = 1;
/// It will at the next.
const NEXT: u32 = 2;

/// The register.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub(super) struct BootDis(u32);

impl BootDis {
    pub(super) fn read(self) -> u32 {
        self.0
    }

    pub(super) fn write(&mut self, write: Write) {
        self.0 = (self.0 | write.apply(0) & NEXT) & !(write.ones() & NOW);
    }

    /// Handles a reset of the register's block.
    pub(super) fn reset(&mut self) {
        if self.0 & NEXT != 0 {
            self.0 = NOW;
        }
    }
}
