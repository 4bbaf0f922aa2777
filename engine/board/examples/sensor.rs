//! An I2C thermometer that MicroPython reads: `cargo run --release --example sensor -- micropython.uf2`.

use std::error::Error;

use portbench_engine::mcu::RP2040;
use portbench_engine::sim::{Device, I2cDevice, PS_PER_S, Ps};
use portbench_engine::{Attachment, BoardConfig, I2cWires, Machine, SidePins, bootrom, flash_of_uf2};

/// A TMP102 at 21.5 degrees: two bytes, in sixteenths of a degree from bit 4 on.
#[derive(Default)]
struct Thermometer {
    taken: usize,
}

impl Device for Thermometer {
    fn name(&self) -> &'static str {
        "TMP102"
    }
}

impl I2cDevice for Thermometer {
    fn start(&mut self, _now: Ps, address: u16, _read: bool) -> bool {
        self.taken = 0;
        address == 0x48
    }

    fn write(&mut self, _now: Ps, _byte: u8) -> bool {
        true
    }

    fn read(&mut self, _now: Ps) -> u8 {
        self.taken += 1;
        (344u16 << 4).to_be_bytes()[(self.taken - 1) % 2]
    }
}

/// Returns what MicroPython prints for the reading.
pub(crate) fn run(image: &str) -> Result<String, Box<dyn Error>> {
    let wires = I2cWires { i2c: 0, sda: 4, scl: 5, side: SidePins::default() };
    let config = BoardConfig::pico(bootrom(&RP2040)?).with(Attachment::i2c(wires, Thermometer::default));
    let mut board = Machine::new(config, &flash_of_uf2(&RP2040, &std::fs::read(image)?)?, false)?;
    board.expect(">>> ", 10 * PS_PER_S)?;
    board.type_in("from machine import I2C; i2c = I2C(0, sda=4, scl=5)\r");
    board.expect("\n>>> ", 10 * PS_PER_S)?;
    board.type_in("int.from_bytes(i2c.readfrom_mem(0x48, 0, 2), 'big') / 256\r");
    Ok(board.expect("\n>>> ", 10 * PS_PER_S)?)
}

#[allow(dead_code, reason = "the tests use this file as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(&std::env::args().nth(1).ok_or("usage: sensor IMAGE.uf2")?)?);
    Ok(())
}
