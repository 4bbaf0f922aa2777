//! A host that drives a W5100S over SPI, and computes its rings like WIZnet's drivers.

use sim::Ps;
use wiznet::Config;
use wiznet::chip::w5100s::W5100S;

use crate::support::{Device, EthernetChip, GATEWAY, IP, MAC, MASK, MS, SpiDevice};

pub(super) fn sn(n: u16, offset: u16) -> u16 {
    0x0400 + 0x0100 * n + offset
}

pub(super) struct Host {
    pub chip: W5100S,
    pub now: Ps,
}

impl Host {
    pub(super) fn new(config: Config) -> Self {
        Self { chip: W5100S::new(config), now: 2 * MS }
    }

    /// Returns a host with link up and addresses set.
    pub(super) fn up() -> Self {
        let mut host = Self::new(sim::with!(Config::default(), phy_link_delay: 0));
        host.write(0x0001, &GATEWAY);
        host.write(0x0005, &MASK);
        host.write(0x0009, &MAC);
        host.write(0x000F, &IP);
        host
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        bytes.iter().map(|&byte| self.chip.exchange(self.now, byte)).collect()
    }

    pub(super) fn select(&mut self, low: bool) {
        self.chip.select(self.now, low);
    }

    pub(super) fn write(&mut self, address: u16, data: &[u8]) {
        self.select(true);
        self.bytes(&[0xF0, (address >> 8) as u8, address as u8]);
        self.bytes(data);
        self.select(false);
    }

    pub(super) fn read(&mut self, address: u16, length: usize) -> Vec<u8> {
        self.select(true);
        self.bytes(&[0x0F, (address >> 8) as u8, address as u8]);
        let data = self.bytes(&vec![0; length]);
        self.select(false);
        data
    }

    pub(super) fn get(&mut self, address: u16) -> u8 {
        self.read(address, 1)[0]
    }

    pub(super) fn get16(&mut self, address: u16) -> u16 {
        let bytes = self.read(address, 2);
        u16::from_be_bytes([bytes[0], bytes[1]])
    }

    pub(super) fn put16(&mut self, address: u16, value: u16) {
        self.write(address, &value.to_be_bytes());
    }

    pub(super) fn run(&mut self, time: Ps) {
        self.now += time;
        self.chip.advance(self.now);
    }

    pub(super) fn command(&mut self, n: u16, command: u8) {
        self.write(sn(n, 0x01), &[command]);
        assert_eq!(self.get(sn(n, 0x01)), 0);
    }

    pub(super) fn open(&mut self, n: u16, mode: u8, port: u16) {
        self.write(sn(n, 0x00), &[mode]);
        self.put16(sn(n, 0x04), port);
        self.command(n, 0x01);
    }

    /// Returns the first address and size of a socket's ring.
    fn ring(&mut self, n: u16, memory: u16, sizes: u16) -> (u16, u16) {
        let sizes = self.get(sizes);
        let size = |n: u16| 1024u16 << ((sizes >> (2 * n)) & 3);
        (memory + (0..n).map(size).sum::<u16>(), size(n))
    }

    /// Returns the parts of a ring occupied by `length` bytes from `pointer` on.
    fn parts((base, size): (u16, u16), pointer: u16, length: usize) -> [(u16, usize); 2] {
        let offset = pointer & (size - 1);
        let first = length.min(usize::from(size - offset));
        [(base + offset, first), (base, length - first)]
    }

    pub(super) fn send(&mut self, n: u16, data: &[u8]) {
        let pointer = self.get16(sn(n, 0x24));
        let ring = self.ring(n, 0x4000, 0x001B);
        let mut rest = data;
        for (address, length) in Self::parts(ring, pointer, data.len()) {
            let (part, after) = rest.split_at(length);
            self.write(address, part);
            rest = after;
        }
        self.put16(sn(n, 0x24), pointer.wrapping_add(data.len() as u16));
        self.command(n, 0x20);
    }

    pub(super) fn recv(&mut self, n: u16) -> Vec<u8> {
        let length = usize::from(self.get16(sn(n, 0x26)));
        let pointer = self.get16(sn(n, 0x28));
        let ring = self.ring(n, 0x6000, 0x001A);
        let mut data = Vec::new();
        for (address, length) in Self::parts(ring, pointer, length) {
            data.extend(self.read(address, length));
        }
        self.put16(sn(n, 0x28), pointer.wrapping_add(length as u16));
        self.command(n, 0x40);
        data
    }

    pub(super) fn arrive(&mut self, frame: &[u8]) {
        self.chip.receive_frame(self.now, frame);
    }

    pub(super) fn frames(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.chip.take_frame()).map(|(_, frame)| frame).collect()
    }

    pub(super) fn frame(&mut self) -> Vec<u8> {
        let mut frames = self.frames();
        assert_eq!(frames.len(), 1, "one frame expected");
        frames.remove(0)
    }
}
