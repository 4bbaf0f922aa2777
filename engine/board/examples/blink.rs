//! Records a pin as a VCD file for PulseView:
//! `cargo run --release --example blink -- blink.uf2 25 > blink.vcd`.

use std::error::Error;
use std::fmt::Write;

use portbench_engine::mcu::RP2040;
use portbench_engine::sim::PS_PER_S;
use portbench_engine::trace::{Record, kind};
use portbench_engine::{BoardConfig, Machine, bootrom, flash_of_uf2};

const MOST_EDGES: usize = 1_000_000;

/// Runs the image for two seconds of simulated time and returns the VCD file of `pin`.
pub(crate) fn run(image: &str, pin: u32) -> Result<String, Box<dyn Error>> {
    let flash = flash_of_uf2(&RP2040, &std::fs::read(image)?)?;
    let mut board = Machine::new(BoardConfig::w5500_evb_pico(bootrom(&RP2040)?), &flash, false)?;
    board.chip_mut().start_trace(kind::PINS, MOST_EDGES);
    while board.now() < 2 * PS_PER_S {
        board.run(2 * PS_PER_S)?;
        board.take_usb_events();
        board.usb().console_read();
    }
    let mut vcd = format!("$timescale 1 ps $end\n$var wire 1 ! GP{pin} $end\n$enddefinitions $end\n");
    let (records, _) = board.chip_mut().sys().trace.take();
    let mut last = None;
    for (at, record) in records {
        let Record::Pins { level, .. } = record else { continue };
        let high = level >> pin & 1;
        if last.replace(high) != Some(high) {
            writeln!(vcd, "#{at}\n{high}!")?;
        }
    }
    Ok(vcd)
}

#[allow(dead_code, reason = "the tests use this file as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [image, pin] = &arguments[..] else { return Err("usage: blink IMAGE.uf2 GPIO".into()) };
    print!("{}", run(image, pin.parse()?)?);
    Ok(())
}
