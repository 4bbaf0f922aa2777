//! Pings the board's W5500 from the simulated PC: `cargo run --release --example ping -- image-with-network.uf2`.

use std::error::Error;

use portbench_engine::mcu::RP2040;
use portbench_engine::sim::{PS_PER_MS, PS_PER_S, Ps};
use portbench_engine::{BoardConfig, Machine, bootrom, flash_of_uf2};

/// Returns the round-trip time of a ping, once the image has got an address by DHCP.
pub(crate) fn run(image: &str) -> Result<Ps, Box<dyn Error>> {
    let flash = flash_of_uf2(&RP2040, &std::fs::read(image)?)?;
    let mut board = Machine::new(BoardConfig::w5500_evb_pico(bootrom(&RP2040)?), &flash, false)?;
    let mut asked = false;
    while board.now() < 20 * PS_PER_S {
        let now = board.now();
        board.run(now + PS_PER_MS)?;
        board.take_usb_events();
        let now = board.now();
        let lan = board.lan()?;
        if let Some(reply) = lan.take_ping_replies().first() {
            return Ok(reply.received - reply.sent);
        }
        if let Some(address) = lan.board_address().filter(|_| !asked) {
            asked = lan.ping(now, now, address, 1, b"portbench");
            board.reschedule();
        }
    }
    Err("no echo reply within 20 s; use an image that brings its network up".into())
}

#[allow(dead_code, reason = "the tests use this file as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    let image = std::env::args().nth(1).ok_or("usage: ping IMAGE.uf2")?;
    println!("{} ps", run(&image)?);
    Ok(())
}
