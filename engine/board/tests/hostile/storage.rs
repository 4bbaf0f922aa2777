//! Repeated erasing and writing of flash, and DMA between random addresses.

use crate::FLASH_BYTES;
use crate::guest::Guest;

const SSI: u32 = 0x1800_0000;
const IO_QSPI_SS_CTRL: u32 = 0x4001_800c;
const DMA: u32 = 0x5000_0000;

impl Guest {
    /// Executes write enable, then an erase or a program, through the SSI like the boot ROM.
    pub(crate) fn flash_in_a_loop(&mut self) {
        let address = self.r.below(FLASH_BYTES as u32);
        let any = self.r.next();
        let command = self.r.pick(&[0x20, 0xd8, 0x02, 0x02, 0x02, 0xc7, 0x05, 0x66, 0x99, 0x01, 0x31, 0xb9, 0xab, any]);
        for bytes in [vec![0x06], vec![command, address >> 16, address >> 8 & 0xff, address & 0xff, 0xa5, any]] {
            self.write(SSI + 8, 0);
            for (offset, value) in [(0x00, 0x0007_0000), (0x14, 2), (0x10, 1), (0x08, 1)] {
                self.write(SSI + offset, value);
            }
            self.write(IO_QSPI_SS_CTRL, 0x200);
            for byte in bytes {
                self.write(SSI + 0x60, byte & 0xff);
                self.read(SSI + 0x60);
            }
            self.time(20);
            self.write(IO_QSPI_SS_CTRL, 0x300);
        }
        // A page takes 0.4 ms, a sector 45 ms: the next command comes too early, or not.
        let us = self.r.pick(&[0, 10, 1000]);
        self.time(us);
        if self.r.one_in(200) {
            self.time(50_000);
        }
    }

    pub(crate) fn dma(&mut self) {
        let channel = DMA + 0x40 * self.r.below(12);
        let (from, to) = (self.r.address(), self.r.address());
        let count = self.r.next() >> self.r.below(32);
        let control = self.r.next() | 1;
        for (offset, value) in [(0, from), (4, to), (8, count), (0xc, control)] {
            self.write(channel + offset, value);
        }
    }
}
