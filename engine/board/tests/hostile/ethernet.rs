//! The W5500 and its cable: valid and invalid frames, sockets in every state, and a PC that floods.

use std::net::SocketAddrV4;

use lan::{Faults, TcpEcho};
use sim::{EthernetChip, PS_PER_US, SpiDevice};

use crate::frames::{BOARD, BOARD_MAC, TO_BOARD, TO_PC};
use crate::guest::{CSN, Guest, SIO, SPI0};
use crate::{ECHO, PC_UDP};

const SOCKETS: u32 = 8;
const LISTENING: [u16; 3] = [80, 81, 5000];
const PC_PORTS: [u16; 4] = [7, ECHO, 81, 49_152];
const OPEN: u8 = 0x01;
const LISTEN: u8 = 0x02;
const CONNECT: u8 = 0x04;
const SEND: u8 = 0x20;

impl Guest {
    /// Sets up the pins of the W5500 as a driver does, and its addresses.
    pub(crate) fn bring_up_ethernet(&mut self) {
        for (pin, function) in [(16, 1), (17, 5), (18, 1), (19, 1), (20, 5)] {
            self.write(0x4001_4004 + 8 * pin, function);
        }
        self.write(SIO + 0x24, 1 << CSN | 1 << 20);
        self.write(SIO + 0x14, 1 << CSN | 1 << 20);
        for (offset, value) in [(0x10, 2), (0x00, 7), (0x04, 2), (0x24, 3)] {
            self.write(SPI0 + offset, value);
        }
        let mut addresses = vec![192, 168, 50, 1, 255, 255, 255, 0];
        addresses.extend(BOARD_MAC);
        addresses.extend(BOARD.octets());
        self.spi(&[&[0, 1, 4][..], &addresses].concat());
    }

    /// Sends a frame over the pins, at the speed of the bus.
    fn spi(&mut self, bytes: &[u8]) {
        self.write(SIO + 0x18, 1 << CSN);
        for bytes in bytes.chunks(8) {
            for &byte in bytes {
                self.write(SPI0 + 8, byte.into());
            }
            self.time(30);
        }
        self.write(SIO + 0x14, 1 << CSN);
    }

    /// Writes directly to the chip, regardless of the pins' state.
    fn at_the_chip(&mut self, block: u32, address: u16, data: &[u8]) {
        let now = self.machine.now();
        let chip = self.machine.network().expect("a board with a network").chip_mut().expect("a W5500");
        chip.select(now, true);
        for byte in [&address.to_be_bytes()[..], &[(block << 3 | 4) as u8], data].concat() {
            chip.exchange(now, byte);
        }
        chip.select(now, false);
        self.machine.reschedule();
    }

    /// Sends a valid or similar frame to the W5500.
    pub(crate) fn spi_garbage(&mut self) {
        let len = self.r.below(8);
        let block = self.r.below(32);
        let mut bytes = vec![self.r.next() as u8, self.r.next() as u8, (block << 3 | self.r.below(8)) as u8];
        for _ in 0..len {
            let any = self.r.next() as u8;
            bytes.push(self.r.pick(&[0x01, 0x02, 0x04, 0x10, 0x20, 0x40, 0x42, any]));
        }
        if self.r.one_in(2) {
            self.spi(&bytes);
        } else {
            let address = u16::from_be_bytes([bytes[0], bytes[1]]);
            self.at_the_chip(block, address, &bytes[3..]);
        }
    }

    /// Uses a socket as a driver does, in random order.
    pub(crate) fn socket(&mut self) {
        let number = self.r.below(SOCKETS);
        let (registers, buffer) = (4 * number + 1, 4 * number + 2);
        match self.r.below(10) {
            // TCP server or client, UDP, and MACRAW, which only socket 0 supports.
            0 | 1 => self.open(number, 0x01, LISTEN),
            2 => self.open(number, 0x01, CONNECT),
            3 => self.open(number, 0x02, 0),
            4 => self.open(0, 0x04, 0),
            5..8 => {
                // Pointer registers, and sometimes any register.
                let length = self.r.below(2000);
                let data = if number == 0 && !self.r.one_in(4) {
                    TO_PC.any(&mut self.r, &PC_PORTS)
                } else {
                    self.r.bytes(length)
                };
                self.at_the_chip(buffer, 0, &data);
                let end = if self.r.one_in(10) { self.r.next() as u16 } else { data.len() as u16 };
                self.at_the_chip(registers, 0x24, &end.to_be_bytes());
                self.at_the_chip(registers, 0x01, &[SEND]);
            }
            8 => {
                // Receives everything that has arrived.
                let pointer = self.r.next() as u16;
                self.at_the_chip(registers, 0x28, &pointer.to_be_bytes());
                self.at_the_chip(registers, 0x01, &[0x40]);
            }
            _ => {
                let any = self.r.next() as u8;
                let command = self.r.pick(&[0x08, 0x10, 0x22, 0x21, any]);
                self.at_the_chip(registers, 0x01, &[command]);
            }
        }
        let us = self.r.below(300);
        self.time(us);
    }

    fn open(&mut self, number: u32, mode: u8, then: u8) {
        let registers = 4 * number + 1;
        let port: u16 = self.r.pick(&LISTENING);
        let peer: u16 = if mode == 0x02 { PC_UDP } else { self.r.pick(&PC_PORTS) };
        let flags = if self.r.one_in(4) { self.r.next() as u8 & 0xf0 } else { 0 };
        self.at_the_chip(registers, 0x00, &[mode | flags]);
        self.at_the_chip(registers, 0x04, &port.to_be_bytes());
        self.at_the_chip(registers, 0x0c, &[192, 168, 50, 1]);
        self.at_the_chip(registers, 0x10, &peer.to_be_bytes());
        self.at_the_chip(registers, 0x01, &[OPEN]);
        if then != 0 {
            self.at_the_chip(registers, 0x01, &[then]);
        }
    }

    /// Sends from the PC: more than the board can receive, and frames that no PC sends.
    pub(crate) fn lan_flood(&mut self) {
        let now = self.machine.now();
        let (port, sequence) = (self.r.pick(&LISTENING), self.r.next() as u16);
        let (size, frames) = (self.r.below(1500) as usize, self.r.below(20));
        let lan = self.machine.lan().expect("a board with a network");
        for _ in 0..frames {
            lan.ping(now, now, BOARD, sequence, &vec![0x55; size]);
            lan.udp_send(now, PC_UDP, SocketAddrV4::new(BOARD, port), &vec![0x33; size]);
        }
        if let Ok(connection) = lan.connect(now, now, SocketAddrV4::new(BOARD, port), Box::new(TcpEcho)) {
            lan.send(now, connection, &vec![0xaa; 4 * size]);
            match sequence % 4 {
                0 => _ = lan.close(now, connection),
                1 => _ = lan.reset(now, connection),
                _ => {}
            }
        }
        self.reached.pongs += lan.take_ping_replies().len() as u64;
        for _ in 0..frames {
            let frame = TO_BOARD.any(&mut self.r, &LISTENING);
            let network = self.machine.network().expect("a board with a network");
            network.chip_mut().expect("a W5500").receive_frame(now, &frame);
        }
        self.machine.reschedule();
        let us = self.r.below(3000);
        self.time(us);
    }

    /// Causes loss, delay, an unplugged cable, and a reset of the chip at any time.
    pub(crate) fn disturb_the_cable(&mut self) {
        let now = self.machine.now();
        let faults = Faults {
            seed: self.r.next().into(),
            loss_from_board_per_mille: self.r.below(300) as u16,
            loss_to_board_per_mille: self.r.below(300) as u16,
            jitter_ps: u64::from(self.r.below(1000)) * PS_PER_US,
            down: vec![(now, now + u64::from(1 + self.r.below(500)) * PS_PER_US)],
            ..Faults::default()
        };
        let faults = if self.r.one_in(2) { faults } else { Faults::default() };
        self.machine.lan().expect("a board with a network").set_faults(faults).expect("valid faults");
        let plugged = !self.r.one_in(4);
        self.machine.set_cable(plugged).expect("a cable");
        if self.r.one_in(4) {
            self.at_the_chip(0, 0, &[0x80]);
        }
    }
}
