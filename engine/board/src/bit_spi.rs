//! A device's view of an SPI master that drives GPIOs (bit-banged or by PIO): modes 0 and 3, MSB first, as most devices
//! support (W5500 datasheet 2.1).

use sim::Snapshot;

/// Converts between levels at the pins and whole bytes.
#[derive(Debug, Default, Snapshot)]
pub(crate) struct BitSpi {
    sck: bool,
    bits: u8,
    mosi: u8,
    /// Byte being shifted out, most significant bit first.
    miso: u8,
}

/// The effect of an edge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Nothing,
    /// Eight bits have been received: exchange them and pass the answer to [`BitSpi::answer`].
    Byte(u8),
    /// MISO changes to this level.
    Miso(bool),
}

impl BitSpi {
    /// Handles the falling edge of chip select: counting starts over.
    pub(crate) fn select(&mut self) {
        self.bits = 0;
    }

    /// Handles a change of SCK or MOSI.
    pub(crate) fn pins(&mut self, sck: bool, mosi: bool) -> Edge {
        if sck == self.sck {
            return Edge::Nothing;
        }
        self.sck = sck;
        if sck {
            self.mosi = (self.mosi << 1) | u8::from(mosi);
            self.bits += 1;
            if self.bits == 8 {
                self.bits = 0;
                return Edge::Byte(self.mosi);
            }
            return Edge::Nothing;
        }
        let level = self.miso & 0x80 != 0;
        self.miso <<= 1;
        Edge::Miso(level)
    }

    /// Sets the answer to the byte just received: it is shifted out during the next one.
    pub(crate) fn answer(&mut self, miso: u8) {
        self.miso = miso;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_a_byte_in_and_the_next_answer_out() {
        let mut spi = BitSpi::default();
        // Mode 3: SCK is high before the chip is selected.
        spi.pins(true, false);
        spi.select();
        let clock = |spi: &mut BitSpi, byte: u8| {
            let (mut got, mut read) = (None, 0u8);
            let mut miso = false;
            for bit in (0..8).rev() {
                if let Edge::Miso(level) = spi.pins(false, byte & (1 << bit) != 0) {
                    miso = level;
                }
                read = (read << 1) | u8::from(miso);
                if let Edge::Byte(value) = spi.pins(true, byte & (1 << bit) != 0) {
                    got = Some(value);
                }
            }
            (got, read)
        };
        assert_eq!(clock(&mut spi, 0xa5).0, Some(0xa5));
        spi.answer(0x3c);
        assert_eq!(clock(&mut spi, 0x00), (Some(0x00), 0x3c));
    }
}
