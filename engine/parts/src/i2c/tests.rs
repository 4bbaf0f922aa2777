use super::*;
use crate::testing::{self, dreq, event, irq};
use sim::Ps;
use std::ops::{Deref, DerefMut};

/// A memory of 8 bytes at address 0x50 with one pointer byte; refuses to write byte 7.
#[derive(Default)]
struct Eeprom {
    bytes: [u8; 8],
    pointer: usize,
    expects_pointer: bool,
}

impl World for Eeprom {
    fn i2c_start(&mut self, _: &mut Sys, i2c: usize, address: u16, read: bool) -> bool {
        assert_eq!(i2c, 0);
        self.expects_pointer = !read;
        address == 0x50
    }
    fn i2c_write(&mut self, _: &mut Sys, _: usize, byte: u8) -> bool {
        if std::mem::take(&mut self.expects_pointer) {
            self.pointer = usize::from(byte & 7);
            return true;
        }
        let writable = self.pointer != 7;
        if writable {
            self.bytes[self.pointer] = byte;
            self.pointer = (self.pointer + 1) & 7;
        }
        writable
    }
    fn i2c_read(&mut self, _: &mut Sys, _: usize) -> u8 {
        let byte = self.bytes[self.pointer];
        self.pointer = (self.pointer + 1) & 7;
        byte
    }
}

struct Wired {
    i2c: I2c,
    eeprom: Eeprom,
}

impl Deref for Wired {
    type Target = I2c;

    fn deref(&self) -> &I2c {
        &self.i2c
    }
}

impl DerefMut for Wired {
    fn deref_mut(&mut self) -> &mut I2c {
        &mut self.i2c
    }
}

/// Returns 100 kHz from 125 MHz as the SDK programs it, on a bus with the EEPROM.
fn configured(address: u32) -> (Sys, Wired) {
    let mut sys = testing::sys(125_000_000);
    let mut i2c = testing::i2c();
    let con = con::SPEED & (2 << 1) | con::MASTER_MODE | (1 << 6) | con::RESTART_EN | con::TX_EMPTY_CTRL;
    for (offset, bits) in [(0x00, con), (0x1c, 500), (0x20, 750), (0xa0, 46), (0x04, address), (0x6c, 1)] {
        i2c.write(&mut sys, offset, Write::normal(bits));
    }
    (sys, Wired { i2c, eeprom: Eeprom::default() })
}

const PERIOD_PS: Ps = (500 + 46 + 7 + 750 + 1) * 8000;

fn run(sys: &mut Sys, wired: &mut Wired) -> Ps {
    let mut last = sys.now();
    while let Some(id) = sys.take_event(NEVER - 1) {
        assert_eq!(id, event::I2C0);
        last = sys.now();
        wired.i2c.event(sys, &mut wired.eeprom);
    }
    sys.cycle = sys.clock.cycle_at(last);
    last
}

fn send(sys: &mut Sys, i2c: &mut I2c, commands: &[u32]) {
    for &command in commands {
        i2c.write(sys, 0x10, Write::normal(command));
    }
}

#[test]
fn reset_values() {
    let mut sys = testing::sys(125_000_000);
    let mut i2c = testing::i2c();
    for (offset, value) in [
        (0x00, 0x65),
        (0x04, 0x55),
        (0x08, 0x55),
        (0x14, 0x28),
        (0x18, 0x2f),
        (0x1c, 6),
        (0x20, 0xd),
        (0x2c, 0),
        (0x30, 0x8ff),
        (0x34, 0),
        (0x38, 0),
        (0x3c, 0),
        (0x6c, 0),
        (0x70, 6),
        (0x7c, 1),
        (0x80, 0),
        (0x94, 0x64),
        (0x98, 1),
        (0x9c, 0),
        (0xa0, 7),
        (0xf4, 0),
        (0xf8, 0x3230_312a),
        (0xfc, 0x4457_0140),
    ] {
        assert_eq!(i2c.read(&mut sys, offset), value, "0x{offset:02x}");
    }
}

#[test]
fn a_missing_device_aborts_after_the_address() {
    let (mut sys, mut i2c) = configured(0x29);
    let (s, i) = (&mut sys, &mut i2c);
    send(s, i, &[1, 2, 3 | cmd::STOP]);
    assert_eq!(i.read(s, 0x70) & 0x21, 0x21);
    assert_eq!(i.read(s, 0x34) & int::TX_EMPTY, 0);
    assert_eq!(s.due(event::I2C0), 10 * PERIOD_PS);
    assert_eq!(run(s, i), 11 * PERIOD_PS);
    assert_eq!(i.read(s, 0x80), abort::ADDR_7B_NOACK | (2 << 23));
    let expected = int::TX_ABRT | int::STOP_DET | int::START_DET | int::ACTIVITY | int::TX_EMPTY;
    assert_eq!((i.read(s, 0x34), s.irq_level()), (expected, 1 << irq::I2C0));
    // Flushed until the abort is cleared.
    send(s, i, &[1 | cmd::STOP]);
    assert_eq!(i.read(s, 0x74), 0);
    assert_eq!((i.read(s, 0x54), i.read(s, 0x80)), (1, 0));
    assert_eq!(i.read(s, 0x60), 1);
    send(s, i, &[1 | cmd::STOP]);
    assert_eq!(i.read(s, 0x70) & 1, 1);
}

#[test]
fn writes_and_reads_back_with_a_restart() {
    let (mut sys, mut i2c) = configured(0x50);
    let (s, i) = (&mut sys, &mut i2c);
    send(s, i, &[2, 0xaa, 0xbb | cmd::STOP]);
    assert_eq!(run(s, i), (10 + 3 * 9 + 1) * PERIOD_PS);
    assert_eq!((i.read(s, 0x60), i.read(s, 0x80), i.read(s, 0x70)), (1, 0, 6));
    let start = s.now();
    send(s, i, &[2, cmd::READ | cmd::RESTART, cmd::READ | cmd::STOP]);
    assert_eq!(run(s, i) - start, (10 + 9 + 10 + 2 * 9 + 1) * PERIOD_PS);
    assert_eq!(i.read(s, 0x34) & int::RX_FULL, int::RX_FULL);
    assert_eq!((i.read(s, 0x10), i.read(s, 0x10), i.read(s, 0x78)), (0xaa | cmd::FIRST_DATA_BYTE, 0xbb, 0));
    i.read(s, 0x10);
    assert_eq!(i.read(s, 0x44), 1);
}

#[test]
fn a_transfer_without_stop_holds_the_bus() {
    let (mut sys, mut i2c) = configured(0x50);
    let (s, i) = (&mut sys, &mut i2c);
    send(s, i, &[7]);
    run(s, i);
    assert_eq!((i.read(s, 0x34) & (int::STOP_DET | int::TX_EMPTY), i.read(s, 0x70) & 1), (int::TX_EMPTY, 1));
    send(s, i, &[1 | cmd::STOP]);
    run(s, i);
    assert_eq!(i.read(s, 0x80), abort::TXDATA_NOACK);
    i.write(s, 0x6c, Write::normal(0));
    assert_eq!((i.read(s, 0x70), i.read(s, 0x9c)), (6, 0));
}

#[test]
fn a_full_receive_fifo_overflows_or_holds() {
    for hold in [false, true] {
        let (mut sys, mut i2c) = configured(0x50);
        let (s, i) = (&mut sys, &mut i2c);
        i.write(s, 0x6c, Write::normal(0));
        let con = i.read(s, 0) | if hold { con::RX_FIFO_FULL_HLD_CTRL } else { 0 };
        i.write(s, 0, Write::normal(con));
        i.write(s, 0x6c, Write::normal(1));
        send(s, i, &[cmd::READ; 10]);
        run(s, i);
        send(s, i, &[cmd::READ; 6]);
        send(s, i, &[cmd::READ | cmd::STOP]);
        run(s, i);
        assert_eq!((i.read(s, 0x78), i.read(s, 0x34) & int::RX_OVER != 0), (16, !hold));
        i.read(s, 0x10);
        run(s, i);
        assert_eq!((i.read(s, 0x78), i.read(s, 0x60)), (if hold { 16 } else { 15 }, 1));
    }
}

#[test]
fn configuration_is_locked_while_enabled_and_users_can_abort() {
    let (mut sys, mut i2c) = configured(0x50);
    let (s, i) = (&mut sys, &mut i2c);
    i.write(s, 0x04, Write::normal(0x11));
    assert_eq!(i.read(s, 0x04), 0x50);
    i.write(s, 0x88, Write::normal(3));
    assert_eq!(s.dreq_level(), 1 << dreq::I2C0_TX);
    send(s, i, &[0, 1, 2]);
    assert_eq!(s.dreq_level(), 0);
    i.write(s, 0x6c, Write::normal(enable::ENABLE | enable::ABORT));
    assert_eq!((i.read(s, 0x6c), i.read(s, 0x80)), (1, abort::USER | (2 << 23)));
    run(s, i);
    assert_eq!(i.read(s, 0x60), 1);
    i.write(s, 0x6c, Write::normal(0));
    i.write(s, 0x14, Write::normal(0));
    assert_eq!(i.read(s, 0x14), 6);
}

#[test]
fn each_clear_register_clears_its_bit_alone() {
    let bits = [int::RX_UNDER, int::RX_OVER, int::TX_OVER, int::RD_REQ, int::TX_ABRT, int::RX_DONE];
    let more = [int::ACTIVITY, int::STOP_DET, int::START_DET, int::GEN_CALL];
    let all = bits.iter().chain(&more).fold(0, |all, bit| all | bit);
    for (offset, bit) in (0x44..).step_by(4).zip(bits.into_iter().chain(more)).chain([(0x40, int::ALL)]) {
        let (mut sys, mut i2c) = configured(0x50);
        i2c.latched = all;
        assert_eq!((i2c.read(&mut sys, offset), i2c.latched), (1, all & !bit), "0x{offset:02x}");
        assert_eq!(i2c.read(&mut sys, offset), 0);
    }
}
