//! HSTX: registers that are kept, and no output. Words written to its FIFO are gone at once, and it makes no requests of
//! DMA, so a display's interrupts never come (datasheet 12.11).

use super::{Peripheral, Write};
use chip::Sys;
use sim::Snapshot;

/// STAT of the FIFO: EMPTY.
pub(crate) const FIFO_STAT: u32 = 1 << 9;

/// The bits that exist of CSR, BIT0 to BIT7, EXPAND_SHIFT and EXPAND_TMDS.
const BITS: [u32; 11] = {
    let mut bits = [0x0003_1f1f; 11];
    (bits[0], bits[9], bits[10]) = (0xff1f_1f73, 0x1f1f_1f1f, 0x00ff_ffff);
    bits
};

#[derive(Debug, Snapshot)]
pub struct Hstx([u32; 11]);

impl Default for Hstx {
    fn default() -> Self {
        Self([0x1005_0600, 0, 0, 0, 0, 0, 0, 0, 0, 0x0100_0100, 0])
    }
}

impl Peripheral for Hstx {
    fn name(&self) -> &'static str {
        "HSTX_CTRL"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        self.0.get((offset / 4) as usize).copied().unwrap_or(0)
    }

    fn write(&mut self, _sys: &mut Sys, offset: u32, write: Write) {
        let index = (offset / 4) as usize;
        if let Some(word) = self.0.get_mut(index) {
            *word = write.apply_masked(*word, BITS[index]);
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
    fn registers_keep_their_bits_until_a_reset() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut hstx = Hstx::default();
        let reset = [0x1005_0600, 0, 0, 0, 0, 0, 0, 0, 0, 0x0100_0100, 0, 0];
        let all = |hstx: &mut Hstx, sys: &mut Sys| -> Vec<u32> {
            (0..12).map(|register| hstx.read(sys, 4 * register)).collect()
        };
        assert_eq!(all(&mut hstx, &mut sys), reset);
        for register in 0..12 {
            hstx.write(&mut sys, 4 * register, Write::normal(u32::MAX));
        }
        let kept = all(&mut hstx, &mut sys);
        assert_eq!((kept[0], kept[1], kept[8]), (0xff1f_1f73, 0x0003_1f1f, 0x0003_1f1f));
        assert_eq!(kept[9..], [0x1f1f_1f1f, 0x00ff_ffff, 0]);
        hstx.reset(&mut sys);
        assert_eq!(all(&mut hstx, &mut sys), reset);
    }
}
