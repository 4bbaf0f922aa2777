//! GLITCH_DETECTOR: stored, and never triggered, since the supply of the model has no glitches (datasheet 10.9).

use super::{Peripheral, Write, unmodelled};
use chip::Sys;
use sim::Snapshot;

const TRIG_FORCE: u32 = 0x14;

#[derive(Debug, Snapshot)]
pub struct GlitchDetector {
    /// ARM, DISARM, SENSITIVITY, LOCK.
    words: [u32; 4],
}

impl Default for GlitchDetector {
    fn default() -> Self {
        // ARM reads as "no".
        Self { words: [0x5bad, 0, 0, 0] }
    }
}

impl Peripheral for GlitchDetector {
    fn name(&self) -> &'static str {
        "GLITCH_DETECTOR"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        self.words.get((offset / 4) as usize).copied().unwrap_or(0)
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        if offset == TRIG_FORCE && write.apply(0) != 0 {
            unmodelled(sys, "GLITCH_DETECTOR.TRIG_FORCE", offset, Some(write.bits));
        }
        let locked = self.words[3] != 0;
        if let Some(word) = self.words.get_mut((offset / 4) as usize)
            && !locked
        {
            *word = write.apply(*word);
        }
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_holds_until_a_reset() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut detector = GlitchDetector::default();
        assert_eq!((detector.read(&mut sys, 0), detector.read(&mut sys, 0x10)), (0x5bad, 0));
        detector.write(&mut sys, 8, Write::normal(5));
        detector.write(&mut sys, 0xc, Write::normal(1));
        detector.write(&mut sys, 8, Write::normal(7));
        assert_eq!(detector.read(&mut sys, 8), 5);
        detector.reset(&mut sys);
        assert_eq!((detector.read(&mut sys, 8), detector.read(&mut sys, 0xc), sys.unmodelled.clone()), (0, 0, None));
        detector.write(&mut sys, 0x14, Write::normal(1));
        assert!(sys.unmodelled.is_some());
    }
}
