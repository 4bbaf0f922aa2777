//! The SPI frame decoder: address phase, control phase, data phase (datasheet 2.2 to 2.4).

use sim::{Ps, SpiFrame};

use crate::W5500;
use crate::map::{Block, meaning, register_name};

/// How many data bytes of a frame the log keeps.
const LOGGED_BYTES: usize = 16;

/// Address and control phase.
const HEADER_BYTES: usize = 3;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Not selected, or selected while the chip could not listen.
    #[default]
    Idle,
    AddressHigh,
    AddressLow,
    Control,
    Data,
}

#[derive(Default)]
pub struct Decoder {
    selected: bool,
    phase: Phase,
    /// The next byte on MISO. During the address and control phases the chip counts 1, 2, 3: undocumented, but seen on
    /// real chips (WIZnet forum, topics 3721 and 8405).
    miso: u8,
    address: u16,
    bsb: u8,
    write: bool,
    /// Data bytes left in fixed length mode.
    left: Option<u8>,
    frame_start: Ps,
    first_address: u16,
    length: usize,
    data: Vec<u8>,
}

impl Decoder {
    fn begin(&mut self, now: Ps) {
        self.phase = Phase::AddressHigh;
        self.miso = 1;
        self.frame_start = now;
        self.length = 0;
        self.data.clear();
    }
}

impl W5500 {
    pub(crate) fn spi_select(&mut self, low: bool) {
        if low == self.spi.selected {
            return;
        }
        self.spi.selected = low;
        if low {
            self.stats.chip_selects += 1;
            if self.reset.stable(self.now) {
                self.spi.begin(self.now);
            }
        } else {
            if self.spi.phase == Phase::Data {
                self.spi_log_frame();
            }
            self.spi.phase = Phase::Idle;
        }
    }

    pub(crate) fn spi_exchange(&mut self, mosi: u8) -> u8 {
        if !self.spi.selected {
            return 0;
        }
        self.stats.bus_bytes += 1;
        if !self.reset.stable(self.now) {
            self.spi.phase = Phase::Idle;
        }
        let mut miso = self.spi.miso;
        match self.spi.phase {
            Phase::Idle => miso = 0,
            Phase::AddressHigh => {
                self.spi.address = u16::from(mosi) << 8;
                self.spi.phase = Phase::AddressLow;
                self.spi.miso = 2;
            }
            Phase::AddressLow => {
                self.spi.address |= u16::from(mosi);
                self.spi.phase = Phase::Control;
                self.spi.miso = 3;
            }
            Phase::Control => self.spi_control(mosi),
            Phase::Data => self.spi_data(mosi, miso),
        }
        miso
    }

    fn spi_control(&mut self, control: u8) {
        self.spi.bsb = control >> 3;
        self.spi.write = control & 4 != 0;
        self.spi.left = match control & 3 {
            0 => None,
            1 => Some(1),
            2 => Some(2),
            _ => Some(4),
        };
        self.spi.first_address = self.spi.address;
        self.spi.phase = Phase::Data;
        self.spi_prefetch();
    }

    fn spi_data(&mut self, mosi: u8, miso: u8) {
        let (bsb, address, write) = (self.spi.bsb, self.spi.address, self.spi.write);
        if write {
            self.write_byte(Block::from_bsb(bsb), address, mosi);
        }
        self.spi.length += 1;
        if self.spi_log.is_some() && self.spi.data.len() < LOGGED_BYTES {
            self.spi.data.push(if write { mosi } else { miso });
        }
        self.spi.address = address.wrapping_add(1);
        match &mut self.spi.left {
            Some(1) => {
                self.spi_log_frame();
                self.spi.begin(self.now);
            }
            left => {
                if let Some(left) = left {
                    *left -= 1;
                }
                self.spi_prefetch();
            }
        }
    }

    /// Loads the byte that goes out next: MISO's first bit must stand before the byte's first clock edge.
    fn spi_prefetch(&mut self) {
        if !self.spi.write {
            self.spi.miso = self.read_byte(Block::from_bsb(self.spi.bsb), self.spi.address);
        }
    }

    fn spi_log_frame(&mut self) {
        let Some(log) = &mut self.spi_log else { return };
        let spi = &self.spi;
        log.push(SpiFrame {
            start: spi.frame_start,
            end: self.now,
            write: spi.write,
            address: spi.first_address,
            len: spi.length,
            wire_bytes: HEADER_BYTES + spi.length,
            name: register_name(spi.bsb, spi.first_address),
            data: spi.data.clone(),
            meaning: meaning(spi.bsb, spi.first_address, &spi.data, spi.length),
        });
    }
}
