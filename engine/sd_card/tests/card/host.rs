//! A host that clocks bytes.

use sd_card::{Card, CardConfig, KINDS, Kind, Medium, Wear, crc7, crc16};
use sim::{Device, PS_PER_MS, PS_PER_NS, Ps, SpiDevice};

/// Time of a byte: 8 bits at 25 MHz, back to back.
pub(crate) const BYTE: Ps = 320 * PS_PER_NS;
pub(crate) const SDHC: &Kind = &KINDS[0];
pub(crate) const SDSC: &Kind = &KINDS[2];
pub(crate) const BLOCKS: u64 = 64 << 11;

pub(crate) struct Host {
    pub card: Card,
    pub now: Ps,
}

pub(crate) fn config(kind: &'static Kind, wear: Wear) -> CardConfig {
    CardConfig { kind, medium: Medium::new(BLOCKS), seed: 1, wear }
}

impl Host {
    pub(crate) fn new(config: &CardConfig) -> Self {
        let mut card = Card::new(config);
        card.select(0, true);
        Self { card, now: 0 }
    }

    /// Returns a host whose card has been initialised as in 7.2.1.
    pub(crate) fn ready(config: &CardConfig) -> Self {
        let mut host = Self::new(config);
        assert_eq!(host.command(0, 0), 0x01);
        assert_eq!(host.command(8, 0x1aa), 0x01);
        assert_eq!(host.take(4), [0, 0, 1, 0xaa]);
        while host.app(41, 1 << 30) != 0 {
            host.wait(PS_PER_MS);
        }
        host
    }

    pub(crate) fn byte(&mut self, mosi: u8) -> u8 {
        self.now += BYTE;
        self.card.exchange(self.now, mosi)
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte(0xff)).collect()
    }

    pub(crate) fn wait(&mut self, time: Ps) {
        self.now += time;
        self.card.advance(self.now);
    }

    /// Sends a command. Returns R1, or 0xff if none arrives within 8 bytes.
    pub(crate) fn command(&mut self, index: u8, argument: u32) -> u8 {
        let mut bytes = [0x40 | index, 0, 0, 0, 0, 0];
        bytes[1..5].copy_from_slice(&argument.to_be_bytes());
        bytes[5] = crc7(&bytes[..5]);
        self.raw(&bytes)
    }

    pub(crate) fn raw(&mut self, bytes: &[u8; 6]) -> u8 {
        for &byte in bytes {
            self.byte(byte);
        }
        if bytes[0] == 0x40 | 12 {
            self.byte(0xff);
        }
        (0..8).map(|_| self.byte(0xff)).find(|byte| byte & 0x80 == 0).unwrap_or(0xff)
    }

    pub(crate) fn app(&mut self, index: u8, argument: u32) -> u8 {
        self.command(55, 0);
        self.command(index, argument)
    }

    /// Waits for data. Returns the token that ends the wait, and the time waited.
    pub(crate) fn token(&mut self) -> (u8, Ps) {
        let from = self.now;
        loop {
            match self.byte(0xff) {
                0xff => assert!(self.now < from + 200 * PS_PER_MS, "no token"),
                token => return (token, self.now - from),
            }
        }
    }

    /// Reads a block of `length` bytes, and checks its CRC.
    pub(crate) fn block(&mut self, length: usize) -> Vec<u8> {
        assert_eq!(self.token().0, 0xfe);
        let data = self.take(length);
        assert_eq!(self.take(2), crc16(&data).to_be_bytes());
        data
    }

    /// Sends a block; returns the data response.
    pub(crate) fn send(&mut self, token: u8, data: &[u8]) -> u8 {
        self.byte(token);
        for &byte in data {
            self.byte(byte);
        }
        for byte in crc16(data).to_be_bytes() {
            self.byte(byte);
        }
        self.byte(0xff)
    }

    /// Waits while MISO is low. Returns the time waited.
    pub(crate) fn busy(&mut self) -> Ps {
        let from = self.now;
        while self.byte(0xff) == 0 {
            assert!(self.now < from + 500 * PS_PER_MS, "busy for ever");
        }
        self.now - from
    }
}

pub(crate) fn pattern(seed: u8) -> Vec<u8> {
    (0..512u32).map(|n| (n as u8).wrapping_mul(7).wrapping_add(seed)).collect()
}
