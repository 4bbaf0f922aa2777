//! Two boards on one switch exchange a message by TCP:
//! `cargo run --release --example two_boards -- micropython-with-w5500.uf2`.

use std::error::Error;

use portbench_engine::mcu::RP2040;
use portbench_engine::sim::{PS_PER_MS, PS_PER_S};
use portbench_engine::{BoardConfig, Machine, Pair, Side, bootrom, flash_of_uf2, join};

/// Lines for the prompt of a board at 192.168.50.`number`, up to a TCP socket. The link is up after 1.5 s.
fn network(number: u8) -> String {
    let address = format!("('192.168.50.{number}', '255.255.255.0', '192.168.50.1', '192.168.50.1')");
    format!(
        "import network, socket, time; n = network.WIZNET5K(); n.active(True); n.ifconfig({address}); time.sleep(2); \
         s = socket.socket(); "
    )
}

fn boot(flash: &[u8], id: u8) -> Result<Machine, Box<dyn Error>> {
    // Firmware makes its MAC address of the flash chip's number.
    let config = portbench_engine::sim::with!(BoardConfig::w5500_evb_pico(bootrom(&RP2040)?), flash_id: Some([id; 8]));
    Ok(Machine::new(config, flash, false)?)
}

/// Returns what the first board prints when the second one's message has come.
pub(crate) fn run(image: &str) -> Result<String, Box<dyn Error>> {
    let flash = flash_of_uf2(&RP2040, &std::fs::read(image)?)?;
    let mut first = boot(&flash, 1)?;
    first.expect(">>> ", 10 * PS_PER_S)?;
    first.type_in(&(network(21) + "s.bind(('', 7)); s.listen(1); print('listens'); s.accept()[0].recv(9)\r"));
    first.expect("\nlistens", 10 * PS_PER_S)?;
    let mut second = boot(&flash, 2)?;
    let since = first.now();
    join(&mut first, &mut second)?;
    let (mut typed, mut printed, mut of_second) = (false, String::new(), String::new());
    while second.now() < 20 * PS_PER_S {
        let until = second.now() + PS_PER_MS;
        Pair::new(&mut first, &mut second, since).run(until, Side::First).map_err(|(_, fault)| fault)?;
        first.take_usb_events();
        second.take_usb_events();
        printed += &String::from_utf8_lossy(&first.usb().console_read());
        if printed.contains(">>> ") {
            return Ok(printed);
        }
        of_second += &String::from_utf8_lossy(&second.usb().console_read());
        if !typed && of_second.ends_with(">>> ") {
            second.type_in(&(network(22) + "s.connect(('192.168.50.21', 7)); s.send(b'hello')\r"));
            typed = true;
        }
    }
    Err(format!("no message within 20 s; the boards printed {printed:?} and {of_second:?}").into())
}

#[allow(dead_code, reason = "the tests use this file as a module")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run(&std::env::args().nth(1).ok_or("usage: two_boards IMAGE.uf2")?)?);
    Ok(())
}
