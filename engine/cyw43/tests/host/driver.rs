//! An independent host that works bit by bit on the wires, as a second opinion on the protocol.

use cyw43::{Config, Cyw43439};
use sim::{Device, PS_PER_MS, PS_PER_NS, Ps, Radio, RadioReport, RadioRequest};

const HALF_BIT: Ps = 16 * PS_PER_NS;
pub(crate) const MAC: [u8; 6] = [0x28, 0xcd, 0xc1, 1, 2, 3];

pub(crate) struct Host {
    pub chip: Cyw43439,
    pub now: Ps,
    /// Bytes are in memory order on the wire, after the switch to words of 32 bits.
    switched: bool,
    window: u32,
    sequence: u8,
    id: u16,
    pub credit: u8,
}

/// A frame of function 2: channel, and the payload after the header.
pub(crate) type Incoming = (u8, Vec<u8>);

/// An event: type, flags, status, reason.
pub(crate) type Told = (u32, u16, u32, u32);

pub(crate) fn command(write: bool, function: u32, address: u32, length: usize) -> u32 {
    u32::from(write) << 31 | 1 << 30 | function << 28 | address << 11 | length as u32
}

impl Host {
    /// Returns a host whose chip is powered and has started.
    pub(crate) fn new() -> Self {
        let mut chip = Cyw43439::new(Config { mac: MAC, ..Config::default() });
        chip.set_power(0, true);
        Self { chip, now: 250 * PS_PER_MS, switched: false, window: 0, sequence: 0, id: 0, credit: 1 }
    }

    /// Returns a host after the switch to 32 bits, with a response delay of 16 bytes on the backplane.
    pub(crate) fn switched() -> Self {
        let mut host = Self::new();
        host.transfer(&[command(true, 0, 0, 4), 0x0002_04b3], 0);
        host.switched = true;
        host.write(0, 0x1d, &[16]);
        host.write(0, 6, &0x00be_u16.to_le_bytes());
        host
    }

    fn wire(&self, word: u32) -> u32 {
        if self.switched { word.swap_bytes() } else { word.rotate_left(16) }
    }

    fn bit(&mut self, data: bool) -> bool {
        self.chip.wires(self.now, false, data);
        self.now += HALF_BIT;
        self.chip.wires(self.now, true, data);
        self.now += HALF_BIT;
        self.chip.data_wire().unwrap_or(data)
    }

    /// Performs one transfer: words out, then words in.
    pub(crate) fn transfer(&mut self, out: &[u32], count: usize) -> Vec<u32> {
        self.chip.wires(self.now, false, false);
        self.chip.select(self.now, true);
        for &word in out {
            let word = self.wire(word);
            for bit in (0..32).rev() {
                self.bit(word >> bit & 1 != 0);
            }
        }
        let mut words = Vec::new();
        for _ in 0..count {
            let word = (0..32).fold(0, |word, _| word << 1 | u32::from(self.bit(false)));
            words.push(self.wire(word));
        }
        self.chip.wires(self.now, false, false);
        self.now += HALF_BIT;
        self.chip.select(self.now, false);
        self.now += 10 * HALF_BIT;
        words
    }

    pub(crate) fn read(&mut self, function: u32, address: u32, length: usize) -> Vec<u8> {
        let delay = if function == 1 { 4 } else { 0 };
        let words = self.transfer(&[command(false, function, address, length)], delay + length.div_ceil(4));
        let mut bytes: Vec<u8> = words[delay..].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(length);
        bytes
    }

    pub(crate) fn write(&mut self, function: u32, address: u32, data: &[u8]) {
        let mut out = vec![command(true, function, address, data.len())];
        out.extend(data.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_le_bytes(word)
        }));
        self.transfer(&out, 0);
    }

    pub(crate) fn read_u32(&mut self, function: u32, address: u32) -> u32 {
        u32::from_le_bytes(self.read(function, address, 4).try_into().unwrap())
    }

    fn show(&mut self, address: u32) -> u32 {
        let window = address & !0x7fff;
        for (register, shift) in [(0x1_000c, 24), (0x1_000b, 16), (0x1_000a, 8)] {
            if (window ^ self.window) >> shift & 0xff != 0 {
                self.write(1, register, &[(window >> shift) as u8]);
            }
        }
        self.window = window;
        address & 0x7fff | 0x8000
    }

    pub(crate) fn read_backplane(&mut self, address: u32) -> u32 {
        let address = self.show(address);
        self.read_u32(1, address)
    }

    pub(crate) fn write_backplane(&mut self, address: u32, data: &[u8]) {
        for (index, chunk) in data.chunks(64).enumerate() {
            let at = self.show(address + index as u32 * 64);
            self.write(1, at, chunk);
        }
    }

    pub(crate) fn wait(&mut self, time: Ps) {
        let until = self.now + time;
        while let Some(at) = self.chip.next_event().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.chip.advance(self.now);
        }
        self.now = until;
        self.chip.advance(until);
    }

    fn release(&mut self, wrapper: u32) {
        self.write_backplane(wrapper + 0x408, &[3]);
        self.write_backplane(wrapper + 0x800, &[0]);
        self.write_backplane(wrapper + 0x408, &[1]);
    }

    /// Loads `firmware` and `nvram`, whose size word is `size`, and releases the processor.
    pub(crate) fn load(&mut self, firmware: &[u8], nvram: &[u8], size: u32) {
        self.release(0x1810_4000);
        self.write_backplane(0, firmware);
        self.write_backplane(0x8_0000 - 4 - nvram.len() as u32, nvram);
        self.write_backplane(0x8_0000 - 4, &size.to_le_bytes());
        self.release(0x1810_3000);
        self.wait(40 * PS_PER_MS);
    }

    /// Returns a host whose chip runs, with all events enabled, and up.
    pub(crate) fn running() -> Self {
        let mut host = Self::switched();
        host.load(&firmware(), &nvram(), size_word(nvram().len()));
        assert_eq!(host.chip.refused(), None);
        host.set("bsscfg:event_msgs", &[&[0; 4][..], &[0xff; 19]].concat());
        host.ioctl(true, 2, &[]).unwrap();
        host
    }

    pub(crate) fn has_packet(&mut self) -> Option<usize> {
        let status = self.read_u32(0, 8);
        (status & 0x100 != 0).then_some((status >> 9 & 0x7ff) as usize)
    }

    pub(crate) fn receive(&mut self) -> Option<Incoming> {
        let length = self.has_packet()?;
        let frame = self.read(2, 0, length);
        let size = u16::from_le_bytes([frame[0], frame[1]]);
        assert_eq!(size, !u16::from_le_bytes([frame[2], frame[3]]), "the length and its complement");
        assert_eq!(usize::from(size), length);
        self.credit = frame[9];
        Some((frame[5] & 0xf, frame[usize::from(frame[7])..].to_vec()))
    }

    pub(crate) fn send(&mut self, channel: u8, header: usize, body: &[u8]) {
        let length = (header + body.len()) as u16;
        let mut frame = [length.to_le_bytes(), (!length).to_le_bytes()].concat();
        frame.extend([self.sequence, channel, 0, header as u8, 0, 0, 0, 0]);
        frame.resize(header, 0);
        frame.extend(body);
        frame.resize(frame.len().next_multiple_of(4), 0xa5);
        self.sequence = self.sequence.wrapping_add(1);
        self.write(2, 0, &frame);
    }

    pub(crate) fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Returns the answer's argument, or the chip's error.
    pub(crate) fn ioctl(&mut self, set: bool, number: u32, argument: &[u8]) -> Result<Vec<u8>, i32> {
        self.id += 1;
        let mut body = Vec::new();
        for word in [number, argument.len() as u32, u32::from(self.id) << 16 | if set { 2 } else { 0 }, 0] {
            body.extend(word.to_le_bytes());
        }
        body.extend(argument);
        self.send(0, 12, &body);
        for _ in 0..200 {
            self.wait(PS_PER_MS);
            while let Some((channel, body)) = self.receive() {
                if channel != 0 {
                    continue;
                }
                let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
                assert_eq!((word(0), word(8) >> 16), (number, u32::from(self.id)));
                assert_eq!(body.len() - 16, argument.len(), "the answer is as long as the request");
                let error = word(12) as i32;
                assert_eq!(word(8) & 1, u32::from(error != 0));
                return if error == 0 { Ok(body[16..].to_vec()) } else { Err(error) };
            }
        }
        panic!("ioctl {number} got no answer");
    }

    pub(crate) fn set(&mut self, name: &str, value: &[u8]) {
        self.try_set(name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    pub(crate) fn try_set(&mut self, name: &str, value: &[u8]) -> Result<Vec<u8>, i32> {
        self.ioctl(true, 263, &[name.as_bytes(), &[0], value].concat())
    }

    pub(crate) fn get(&mut self, name: &str, length: usize) -> Vec<u8> {
        let mut argument = [name.as_bytes(), &[0]].concat();
        argument.resize(argument.len().max(length), 0);
        let mut value = self.ioctl(false, 262, &argument).unwrap_or_else(|error| panic!("{name}: {error}"));
        value.truncate(length);
        value
    }

    pub(crate) fn request(&mut self) -> Option<RadioRequest> {
        self.chip.take_request().map(|(_, request)| request)
    }

    pub(crate) fn requests(&mut self) -> Vec<RadioRequest> {
        std::iter::from_fn(|| self.request()).collect()
    }

    pub(crate) fn report(&mut self, report: RadioReport) {
        self.chip.report(self.now, report);
        self.wait(PS_PER_MS);
    }

    /// Returns the events received.
    pub(crate) fn events(&mut self) -> Vec<Told> {
        self.raw_events().into_iter().map(|(event, _)| event).collect()
    }

    pub(crate) fn raw_events(&mut self) -> Vec<(Told, Vec<u8>)> {
        let mut events = Vec::new();
        while let Some((channel, body)) = self.receive() {
            assert_eq!(channel, 1);
            let ethernet = &body[4 + usize::from(body[3]) * 4..];
            assert_eq!((&ethernet[12..14], &ethernet[19..22]), (&[0x88, 0x6c][..], &[0x00, 0x10, 0x18][..]));
            let event = &ethernet[24..];
            let word = |at: usize| u32::from_be_bytes(event[at..at + 4].try_into().unwrap());
            let flags = u16::from_be_bytes([event[2], event[3]]);
            assert_eq!(word(20) as usize, event.len() - 48);
            events.push(((word(4), flags, word(8), word(12)), event[48..].to_vec()));
        }
        events
    }
}

/// Returns data that the chip accepts as firmware: bytes, their CRC in a line of text, a trailer.
pub(crate) fn firmware() -> Vec<u8> {
    let mut image: Vec<u8> = (0..5000u32).map(|n| (n * 7 + n / 256) as u8).collect();
    let crc = crc(&image);
    image.extend([9; 30]);
    image.push(0);
    image.extend(format!("test-firmware Version: 1.2.3 (us) CRC: {crc:08x} Date: today\0\0\0DVID 01-00000000").bytes());
    image.resize(image.len().next_multiple_of(4), 0);
    image
}

/// Computes the CRC bit by bit, unlike the chip.
fn crc(data: &[u8]) -> u32 {
    data.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

pub(crate) fn nvram() -> Vec<u8> {
    let mut text = b"manfid=0x2d0\0prodid=0x0727\0\0".to_vec();
    text.resize(text.len().next_multiple_of(4), 0);
    text
}

pub(crate) fn size_word(length: usize) -> u32 {
    let words = length as u32 / 4;
    (!words & 0xffff) << 16 | words
}

/// Returns valid regulatory data.
pub(crate) fn clm() -> Vec<u8> {
    let data = b"CLM DATA\0\0\x0c\0\x02\0Test.Board\0\0\0\0\0\0\0\0\0\0".to_vec();
    let mut rest = Vec::new();
    for word in [1, 1, 0, 40, data.len() as u32, !crc(&data), 0] {
        rest.extend(u32::to_le_bytes(word));
    }
    let mut blob = b"BLOB".to_vec();
    blob.extend(40u32.to_le_bytes());
    blob.extend((!crc(&rest)).to_le_bytes());
    blob.extend(rest);
    assert_eq!(blob.len(), 40);
    blob.extend(data);
    blob
}

/// Splits `blob` into pieces of `size` bytes.
pub(crate) fn pieces(blob: &[u8], size: usize) -> Vec<Vec<u8>> {
    let count = blob.len().div_ceil(size);
    let piece = |(index, data): (usize, &[u8])| {
        let flags = 1 << 12 | if index == 0 { 2 } else { 0 } | if index + 1 == count { 4u16 } else { 0 };
        let mut piece = [flags.to_le_bytes(), 2u16.to_le_bytes()].concat();
        piece.extend((data.len() as u32).to_le_bytes());
        piece.extend([0; 4]);
        piece.extend(data);
        piece.resize(piece.len().next_multiple_of(8), 0x55);
        piece
    };
    blob.chunks(size).enumerate().map(piece).collect()
}
