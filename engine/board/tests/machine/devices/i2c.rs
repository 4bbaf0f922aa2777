//! I2C: two memories on one bus.

use chip::pins::function;
use portbench_engine::{I2cWires, SidePins};
use sim::{Device, I2cDevice, Ps};

use super::rig::{CYCLE_PS, Log, Rig, taken};

const I2C0: u32 = 0x4004_4000;
const DATA_CMD: u32 = I2C0 + 0x10;
const READ: u32 = 1 << 8;
const STOP: u32 = 1 << 9;
const RESTART: u32 = 1 << 10;
const TX_ABRT: u32 = 1 << 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Start(bool),
    Write(u8),
    Read(u8),
    Stop,
}

/// A memory of 256 bytes with one pointer byte.
struct Eeprom {
    address: u16,
    bytes: [u8; 256],
    pointer: u8,
    expects_pointer: bool,
    log: Log<(Ps, u16, Seen)>,
}

impl Eeprom {
    fn new(address: u16, log: &Log<(Ps, u16, Seen)>) -> Self {
        Self { address, bytes: [0xff; 256], pointer: 0, expects_pointer: false, log: log.clone() }
    }

    fn note(&self, now: Ps, seen: Seen) {
        self.log.lock().expect("no test panicked").push((now, self.address, seen));
    }
}

impl Device for Eeprom {
    fn name(&self) -> &'static str {
        "EEPROM"
    }
}

impl I2cDevice for Eeprom {
    fn start(&mut self, now: Ps, address: u16, read: bool) -> bool {
        if address != self.address {
            return false;
        }
        self.note(now, Seen::Start(read));
        self.expects_pointer = !read;
        true
    }

    fn write(&mut self, now: Ps, byte: u8) -> bool {
        self.note(now, Seen::Write(byte));
        if std::mem::take(&mut self.expects_pointer) {
            self.pointer = byte;
        } else {
            self.bytes[usize::from(self.pointer)] = byte;
            self.pointer = self.pointer.wrapping_add(1);
        }
        true
    }

    fn read(&mut self, now: Ps) -> u8 {
        let byte = self.bytes[usize::from(self.pointer)];
        self.pointer = self.pointer.wrapping_add(1);
        self.note(now, Seen::Read(byte));
        byte
    }

    fn stop(&mut self, now: Ps) {
        self.note(now, Seen::Stop);
    }
}

/// 100 kHz as the SDK programs it, SDA on GPIO4 and SCL on GPIO5, memories at 0x50 and 0x51.
fn rig(log: &Log<(Ps, u16, Seen)>) -> Rig {
    let wires = I2cWires { i2c: 0, sda: 4, scl: 5, side: SidePins::default() };
    let mut rig = Rig::new(|wiring| {
        wiring.attach_i2c(wires, Eeprom::new(0x50, log));
        wiring.attach_i2c(wires, Eeprom::new(0x51, log));
    });
    for pin in [4, 5] {
        rig.function(pin, function::I2C);
    }
    for (offset, value) in [(0x00, 0x165), (0x1c, 500), (0x20, 750), (0xa0, 46)] {
        rig.write(I2C0 + offset, value);
    }
    rig
}

const PERIOD_PS: Ps = (500 + 46 + 7 + 750 + 1) * CYCLE_PS;

fn transfer(rig: &mut Rig, address: u32, commands: &[u32]) {
    rig.write(I2C0 + 0x6c, 0);
    rig.write(I2C0 + 0x04, address);
    rig.write(I2C0 + 0x6c, 1);
    for &command in commands {
        rig.write(DATA_CMD, command);
    }
    rig.run(60 * PERIOD_PS);
}

#[test]
fn each_memory_answers_to_its_own_address() {
    let log = Log::default();
    let mut rig = rig(&log);
    let start = rig.now();
    transfer(&mut rig, 0x51, &[7, 0xaa | STOP]);
    let at = |periods: Ps| start + periods * PERIOD_PS;
    let expected = [
        (at(10), 0x51, Seen::Start(false)),
        (at(19), 0x51, Seen::Write(7)),
        (at(28), 0x51, Seen::Write(0xaa)),
        (at(29), 0x51, Seen::Stop),
    ];
    assert_eq!(taken(&log), expected);
    for (address, held) in [(0x50, 0xff), (0x51, 0xaa)] {
        transfer(&mut rig, address, &[7, READ | RESTART | STOP]);
        assert_eq!(rig.read(DATA_CMD) & 0xff, held);
        let seen: Vec<Seen> = taken(&log).into_iter().map(|(_, _, seen)| seen).collect();
        let read = Seen::Read(held as u8);
        assert_eq!(seen, [Seen::Start(false), Seen::Write(7), Seen::Start(true), read, Seen::Stop]);
    }
}

#[test]
fn an_address_without_a_device_is_not_acknowledged() {
    let log = Log::default();
    let mut rig = rig(&log);
    transfer(&mut rig, 0x52, &[7 | STOP]);
    assert_eq!((rig.read(I2C0 + 0x34) & TX_ABRT, taken(&log)), (TX_ABRT, vec![]));
}

#[test]
fn a_pin_without_the_i2c_function_disconnects_the_devices() {
    let log = Log::default();
    let mut rig = rig(&log);
    rig.function(5, function::SIO);
    transfer(&mut rig, 0x50, &[7 | STOP]);
    assert_eq!((rig.read(I2C0 + 0x34) & TX_ABRT, taken(&log)), (TX_ABRT, vec![]));
}
