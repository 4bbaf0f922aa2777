//! A device's view of an SPI master that drives GPIOs (bit-banged or by PIO): modes 0 and 3, MSB first, as most devices
//! support (W5500 datasheet 2.1).

use sim::{Lanes, Snapshot};

/// Converts between levels at the pins and whole bytes.
#[derive(Debug, Snapshot)]
pub(crate) struct BitSpi {
    sck: bool,
    bits: u8,
    mosi: u8,
    /// Byte being shifted out, most significant bit first.
    miso: u8,
    /// The pins of the byte.
    pub(crate) lanes: Lanes,
}

impl Default for BitSpi {
    fn default() -> Self {
        Self { sck: false, bits: 0, mosi: 0, miso: 0, lanes: Lanes::SINGLE }
    }
}

/// The effect of an edge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Nothing,
    /// Eight bits have been received: exchange them and pass the answer to [`BitSpi::answer`].
    Byte(u8),
    /// The device's outputs change to these levels, that of IO0, or of MISO as the only one, in the lowest place.
    Out(u8),
}

impl BitSpi {
    /// Handles an edge of chip select: counting starts over.
    pub(crate) fn select(&mut self, lanes: Lanes) {
        self.bits = 0;
        self.answer(self.miso, lanes);
    }

    /// Handles a change of SCK or of the data pins, whose levels `data` returns, that of IO0 in the lowest place.
    pub(crate) fn pins(&mut self, sck: bool, data: impl FnOnce() -> u8) -> Edge {
        let lanes = self.lanes.count;
        if sck == self.sck {
            return Edge::Nothing;
        }
        self.sck = sck;
        if sck {
            self.mosi = (self.mosi << lanes) | data() & ((1 << lanes) - 1);
            self.bits += lanes;
            if self.bits == 8 {
                self.bits = 0;
                return Edge::Byte(self.mosi);
            }
            return Edge::Nothing;
        }
        let levels = self.miso >> (8 - lanes);
        self.miso <<= lanes;
        Edge::Out(levels)
    }

    /// Sets the answer to the byte just received, which is shifted out during the next one unless `lanes` names that
    /// one's.
    pub(crate) fn answer(&mut self, miso: u8, lanes: Lanes) {
        self.miso = lanes.out.unwrap_or(miso);
        self.lanes = lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_a_byte_in_and_the_next_answer_out() {
        let mut spi = BitSpi::default();
        // Mode 3: SCK is high before the chip is selected.
        spi.pins(true, || 0);
        spi.select(Lanes::SINGLE);
        let clock = |spi: &mut BitSpi, byte: u8| {
            let (mut got, mut read) = (None, 0u8);
            let mut miso = 0;
            for bit in (0..8).rev() {
                if let Edge::Out(level) = spi.pins(false, || byte >> bit) {
                    miso = level;
                }
                read = (read << 1) | miso;
                if let Edge::Byte(value) = spi.pins(true, || byte >> bit) {
                    got = Some(value);
                }
            }
            (got, read)
        };
        assert_eq!(clock(&mut spi, 0xa5).0, Some(0xa5));
        spi.answer(0x3c, Lanes::SINGLE);
        assert_eq!(clock(&mut spi, 0x00), (Some(0x00), 0x3c));
    }
}
