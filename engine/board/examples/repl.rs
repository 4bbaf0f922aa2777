//! Boots MicroPython and types at its prompt: `cargo run --release --example repl -- micropython.uf2 "6 * 7"`.

use std::error::Error;

use portbench_engine::mcu::RP2040;
use portbench_engine::sim::PS_PER_S;
use portbench_engine::{BoardConfig, Machine, bootrom, flash_of_uf2};

/// Returns what MicroPython prints for `line`.
pub(crate) fn run(image: &str, line: &str) -> Result<String, Box<dyn Error>> {
    let flash = flash_of_uf2(&RP2040, &std::fs::read(image)?)?;
    let mut board = Machine::new(BoardConfig::pico(bootrom(&RP2040)?), &flash, false)?;
    board.expect(">>> ", 10 * PS_PER_S)?;
    board.type_in(&format!("{line}\r"));
    Ok(board.expect(">>> ", 10 * PS_PER_S)?)
}

#[allow(dead_code, reason = "the tests use this file as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let image = arguments.next().ok_or("usage: repl IMAGE.uf2 [LINE]")?;
    println!("{}", run(&image, &arguments.next().unwrap_or("6 * 7".into()))?);
    Ok(())
}
