//! Runs the examples. A test is skipped without the boot ROM, or without the image in `PORTBENCH_FIRMWARE_DIR`.

use std::path::Path;

#[path = "../../examples/blink.rs"]
mod blink;
#[path = "../../examples/ping.rs"]
mod ping;
#[path = "../../examples/repl.rs"]
mod repl;
#[path = "../../examples/sensor.rs"]
mod sensor;
#[path = "../../examples/two_boards.rs"]
mod two_boards;

const NATIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/ping_pong/native.uf2");

const PICO: &str = "RPI_PICO-20250911-v1.26.1.uf2";
const W5500_EVB_PICO: &str = "W5500_EVB_PICO-20250809-v1.26.0.uf2";

fn has_bootrom() -> bool {
    portbench_engine::bootrom(&portbench_engine::mcu::RP2040).inspect_err(|error| println!("skipped: {error}")).is_ok()
}

fn micropython(file: &str) -> Option<String> {
    let folder = std::env::var("PORTBENCH_FIRMWARE_DIR").ok().filter(|_| has_bootrom())?;
    let path = Path::new(&folder).join(file);
    path.exists().then(|| path.to_string_lossy().into_owned())
}

#[test]
fn repl() {
    let Some(image) = micropython(PICO) else { return };
    assert_eq!(repl::run(&image, "6 * 7").expect("a prompt"), "6 * 7\r\n42\r\n>>> ");
}

#[test]
fn sensor() {
    let Some(image) = micropython(PICO) else { return };
    let printed = sensor::run(&image).expect("a reading");
    assert!(printed.ends_with("\r\n21.5\r\n>>> "), "{printed:?}");
}

#[test]
fn two_boards() {
    let Some(image) = micropython(W5500_EVB_PICO) else { return };
    assert_eq!(two_boards::run(&image).expect("a message"), "b'hello'\r\n>>> ");
}

#[test]
fn blink() {
    if !has_bootrom() {
        return;
    }
    // The native client ends the W5500's reset at GP20 once.
    let vcd = blink::run(NATIVE, 20).expect("a recording");
    let edges: Vec<&str> = vcd.lines().skip(3).filter(|line| !line.starts_with('#')).collect();
    assert!(edges.ends_with(&["0!", "1!"]), "{vcd}");
}

#[test]
fn ping() {
    if !has_bootrom() {
        return;
    }
    let round_trip = ping::run(NATIVE).expect("an answer");
    assert_eq!(round_trip, ping::run(NATIVE).expect("an answer"));
    assert!(round_trip > 0);
}
