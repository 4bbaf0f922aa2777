//! A USB device with random answers, and a PC that enumerates, types and reads.

use crate::guest::Guest;

const DPRAM: u32 = 0x5010_0000;
const REGS: u32 = 0x5011_0000;
const XOSC: u32 = 0x4002_4000;
const PLL_USB: u32 = 0x4002_c000;
const CLK_USB_CTRL: u32 = 0x4000_8054;
const ADDR_ENDP: u32 = REGS;
const SIE_STATUS: u32 = REGS + 0x50;
const SETUP_REC: u32 = 1 << 17;
/// Buffer controls by endpoint: IN, and OUT 4 bytes after it.
const CONTROLS: u32 = DPRAM + 0x80;
const EP0_BUFFER: u32 = DPRAM + 0x100;
const FULL: u32 = 1 << 15;
const DATA1: u32 = 1 << 13;
const AVAILABLE: u32 = 1 << 10;

const DEVICE: [u8; 18] = [18, 1, 0, 2, 0, 0, 0, 64, 0x8a, 0x2e, 3, 0, 0, 1, 0, 0, 0, 1];
/// A drive, and a serial port, sufficient for a PC.
const DRIVE: &[u8] =
    &[9, 2, 32, 0, 1, 1, 0, 0x80, 50, 9, 4, 0, 0, 2, 8, 6, 0x50, 0, 7, 5, 0x81, 2, 64, 0, 0, 7, 5, 2, 2, 64, 0, 0];
const SERIAL: &[u8] = &[
    9, 2, 67, 0, 2, 1, 0, 0x80, 50, 9, 4, 0, 0, 1, 2, 2, 1, 0, 5, 0x24, 0, 0x10, 1, 5, 0x24, 1, 0, 1, 4, 0x24, 2, 2, 5,
    0x24, 6, 0, 1, 7, 5, 0x83, 3, 8, 0, 16, 9, 4, 1, 0, 2, 10, 0, 0, 0, 7, 5, 2, 2, 64, 0, 0, 7, 5, 0x81, 2, 64, 0, 0,
];

impl Guest {
    pub(crate) fn usb_nonsense(&mut self) {
        match self.r.below(40) {
            0 if self.r.one_in(20) => {
                let (offset, value) = (4 * self.r.below(0x400), self.r.next());
                self.write(DPRAM + offset, value);
            }
            1 if self.r.one_in(20) => {
                let (offset, value) = (4 * self.r.below(0x26), self.r.next());
                self.write(REGS + offset, value);
            }
            2 if self.r.one_in(10) || !self.machine.usb().state().attached => self.attach(),
            0..25 => self.answer(),
            25..38 => self.bulk(),
            _ => {
                let bytes = vec![0x0d; self.r.below(600) as usize];
                self.machine.usb().console_write(&bytes);
                let (block, blocks) = (self.r.next() >> self.r.below(32), self.r.below(64));
                if let Ok(request) = self.machine.usb().request_read(0, block.into(), blocks.into()) {
                    _ = self.machine.usb().take_completion(request);
                }
                self.machine.reschedule();
            }
        }
    }

    /// Attaches the device: pulled up, at 48 MHz from the crystal (RP2040 datasheet 2.18.3), with a working endpoint 0.
    fn attach(&mut self) {
        self.write(XOSC, 0x00fa_baa0);
        self.time(2000);
        for (offset, value) in [(0x00, 1), (0x08, 100), (0x0c, 0x5_5000), (0x04, 0)] {
            self.write(PLL_USB + offset, value);
        }
        self.time(200);
        self.write(CLK_USB_CTRL, 0x800);
        self.write(REGS + 0x4c, 0x2000_0000); // unplugged for the PC
        self.time(5000);
        for (offset, value) in [(0x74, 9), (0x78, 0xc), (0x00, 0), (0x40, 1), (0x4c, 0x2001_0000), (0x90, 0x1_1010)] {
            self.write(REGS + offset, value);
        }
        for (endpoint, buffer) in [(1, 0x180), (2, 0x1c0), (3, 0x200)] {
            for way in [0, 4] {
                self.write(DPRAM + 8 * endpoint + way, 1 << 31 | 2 << 26 | buffer);
            }
        }
        // The PC debounces a connection for 100 ms.
        let us = if self.machine.usb().state().attached { 1000 } else { 150_000 };
        self.time(us);
    }

    /// Answers the received request correctly, or nearly.
    fn answer(&mut self) {
        if self.read(SIE_STATUS) & SETUP_REC == 0 && !self.r.one_in(20) {
            self.time(500);
            return;
        }
        let (question, rest) = (self.read(DPRAM), self.read(DPRAM + 4));
        self.write(SIE_STATUS, SETUP_REC);
        let any = self.r.below(80);
        let (bytes, address) = match (question >> 8 & 0xff, question >> 24) {
            (6, 1) => (DEVICE.to_vec(), None),
            (6, 2) if self.serial() => (SERIAL.to_vec(), None),
            (6, 2) => (DRIVE.to_vec(), None),
            (6, 3) => (vec![4, 3, 9, 4], None),
            (5, _) => (vec![], Some(question >> 16 & 0x7f)),
            (0x0a | 0xfe, _) => (vec![0], None),
            _ if self.r.one_in(4) => (self.r.bytes(any), None),
            _ => (vec![], None),
        };
        let mut bytes = if bytes.is_empty() || !self.r.one_in(8) { bytes } else { self.r.damage(bytes) };
        bytes.truncate((rest >> 16) as usize);
        if question & 0x80 == 0 {
            bytes.clear();
        }
        for (index, part) in bytes.chunks(64).enumerate() {
            self.give(part, if index % 2 == 0 { DATA1 } else { 0 });
        }
        if question & 0x80 == 0 {
            self.give(&[], DATA1);
        } else {
            self.write(CONTROLS + 4, DATA1 | 64);
            self.write(CONTROLS + 4, DATA1 | AVAILABLE | 64);
            self.time(500);
        }
        if let Some(address) = address {
            self.write(ADDR_ENDP, address);
        }
    }

    /// Returns whether the guest has a serial port: the same at each enumeration.
    fn serial(&self) -> bool {
        self.number % 8 < 4
    }

    fn give(&mut self, bytes: &[u8], pid: u32) {
        for (index, word) in bytes.chunks(4).enumerate() {
            let mut padded = [0; 4];
            padded[..word.len()].copy_from_slice(word);
            self.write(EP0_BUFFER + 4 * index as u32, u32::from_le_bytes(padded));
        }
        self.write(CONTROLS, FULL | pid | bytes.len() as u32);
        self.write(CONTROLS, FULL | pid | AVAILABLE | bytes.len() as u32);
        self.time(500);
    }

    /// Sends data on any endpoint, regardless of the request: sometimes a drive's status.
    fn bulk(&mut self) {
        let (endpoint, pid) = (1 + self.r.below(3), self.r.next() & DATA1);
        let len = if self.r.one_in(2) { 13 } else { self.r.below(65) };
        if len == 13 {
            let tag = self.read(DPRAM + 0x1c4);
            for (offset, word) in [(0, 0x5342_5355), (4, tag), (8, 0), (12, self.r.below(4) & self.r.below(4))] {
                self.write(DPRAM + 0x180 + offset, word);
            }
        }
        for (way, flags) in [(0, FULL | len), (4, 64)] {
            self.write(CONTROLS + 8 * endpoint + way, flags | pid);
            self.write(CONTROLS + 8 * endpoint + way, flags | pid | AVAILABLE);
        }
        let us = self.r.below(1500);
        self.time(us);
    }
}
