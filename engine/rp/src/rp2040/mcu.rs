//! What boards must know of an RP2040.

use armv6m::debugger;
use chip::mcu::{BootRom, Facts, Image};

use crate::rp2040::memory::{ROM_SIZE, XIP_BASE};
use crate::rp2040::wires::PINS;

/// What all of them have in common.
pub static FACTS: Facts = Facts {
    name: "RP2040",
    image: Image::Uf2 { families: &[0xe48b_ff56], ignored: None },
    // Its magic number is in the datasheet, 2.8.3.
    boot_rom: BootRom {
        bytes: ROM_SIZE,
        variable: "PORTBENCH_BOOTROM",
        file: "rp2040-bootrom-b1.bin",
        magic: b"Mu\x01",
        magic_at: 0x10,
        own: None,
    },
    flash_base: XIP_BASE,
    flash_bytes: (64 << 10, 16 << 20),
    pins: PINS.count_ones(),
    adc_pins: 26..30,
    psram_pins: &[],
    cores: 2,
    description: debugger::DESCRIPTION,
    pc: debugger::PC,
};
