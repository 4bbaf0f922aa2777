//! A board with an RP2350 boots from the chip's own boot ROM. A test is skipped without that ROM, or without the image
//! in `PORTBENCH_FIRMWARE_DIR`.

use std::path::Path;

use board::mcu::{AnyChip, Mcu, RP2350};
use board::{BoardConfig, Machine, Stop, bootrom, flash_of_uf2};
use sim::PS_PER_S;

/// The Pico's LED.
const LED: u64 = 1 << 25;

/// Returns a Pico 2 with the image `file`.
fn pico2(file: &str) -> Option<Machine> {
    machine(file, BoardConfig::pico2)
}

/// Returns a board of `config` with the image `file`.
fn machine(file: &str, config: fn(Vec<u8>) -> BoardConfig) -> Option<Machine> {
    let skipped = |why: String| println!("skipped: {why}");
    let rom = bootrom(&RP2350).map_err(|error| skipped(error.to_string())).ok()?;
    let Some(folder) = std::env::var_os("PORTBENCH_FIRMWARE_DIR") else {
        skipped(format!("PORTBENCH_FIRMWARE_DIR names no folder with {file}"));
        return None;
    };
    let path = Path::new(&folder).join(file);
    let image = std::fs::read(&path).map_err(|error| skipped(format!("{}: {error}", path.display()))).ok()?;
    let flash = flash_of_uf2(&RP2350, &image).expect("an image for the RP2350");
    Some(Machine::new(config(rom), &flash, false).expect("a valid board"))
}

/// Boots `file` twice to MicroPython's prompt and calculates; both take the same time.
fn micropython(file: &str) {
    let times: Vec<_> = (0..2)
        .map_while(|_| {
            let mut board = pico2(file)?;
            board.expect(">>> ", 3 * PS_PER_S).expect("a prompt");
            board.type_in("6 * 7\r");
            let answer = board.expect("\n>>> ", PS_PER_S).expect("an answer");
            assert_eq!(answer, "6 * 7\r\n42\r\n>>> ");
            Some(board.now())
        })
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] == pair[1]), "{times:?}");
}

#[test]
fn micropython_on_w5500_evb_pico2() {
    micropython("mp-w5500-pico2-1.27.0-preview.85.uf2");
}

#[test]
fn w5500_evb_pico2_gets_its_address() {
    let file = "mp-w5500-pico2-1.27.0-preview.85.uf2";
    let Some(mut board) = machine(file, BoardConfig::w5500_evb_pico2) else { return };
    board.expect(">>> ", 3 * PS_PER_S).expect("a prompt");
    board.type_in("import network; nic = network.WIZNET5K(); nic.active(True); nic.ifconfig('dhcp')\r");
    board.expect("\n>>> ", 10 * PS_PER_S).expect("an address");
    board.type_in("nic.ifconfig()[0]\r");
    let answer = board.expect("\n>>> ", PS_PER_S).expect("an answer");
    assert!(answer.contains("'192.168.50."), "{answer}");
}

#[test]
fn micropython_on_pico2() {
    micropython("mp-pico2-1.25.0-preview.393.uf2");
}

#[test]
fn micropython_on_pico2_w() {
    micropython("mp-pico2-w-1.28.0.uf2");
}

/// Boots `file` to CircuitPython's invitation, which comes after it has made its file system, and to its prompt.
fn circuitpython(file: &str) -> Option<Machine> {
    let mut board = pico2(file)?;
    board.expect("Press any key to enter the REPL.", 10 * PS_PER_S).expect("an invitation");
    board.type_in("\r");
    board.expect(">>> ", 3 * PS_PER_S).expect("a prompt");
    board.type_in("6 * 7\r");
    assert!(board.expect("\n>>> ", PS_PER_S).expect("an answer").contains("42\r\n>>> "));
    Some(board)
}

/// Loops of one operation on a list's items, and the nanoseconds that a pass takes on silicon: of the same image, by
/// shaoziyang/micropython_benchmarks, README of 2024-11-04, a million passes of each. The product of integers, which fills
/// the heap, is not among them: its time depends on how often the heap is collected.
const LOOPS: [(&str, &str, f64); 6] = [
    ("+", "12345678, 56781234", 5_594.0),
    ("/", "99999991, 45481", 5_728.0),
    ("+", "12345678.1234, 56781234.5678", 6_207.0),
    ("*", "12345678.1234, 56781234.5678", 6_213.0),
    ("/", "99999991.2345, 45481.1357", 6_314.0),
    ("**", "1234.5678, 2.3456", 9_081.0),
];

#[test]
fn circuitpython_on_pico2_takes_the_time_of_silicon() {
    let Some(mut board) = circuitpython("cp-pico2-9.2.0.uf2") else { return };
    for (operation, operands, silicon_ns) in LOOPS {
        let lines = [
            "\x05import time",
            "def loop(p):",
            "    for i in range(p[0]):",
            &format!("        C = p[1] {operation} p[2]"),
            "def took(n):",
            "    start = time.monotonic_ns()",
            &format!("    loop([n, {operands}])"),
            "    return time.monotonic_ns() - start",
            "took(100)",
            "print('took', took(5000) - took(1000))",
            "\x04",
        ];
        board.type_in(&lines.join("\r"));
        let output = board.expect("\n>>> ", 2 * PS_PER_S).expect("an answer");
        let took = output.rsplit("took ").next().and_then(|rest| rest.split("\r").next()).expect("a time");
        let ratio = took.parse::<f64>().expect("nanoseconds") / 4000.0 / silicon_ns;
        println!("{operation} of {operands}: {ratio:.4} of silicon");
        assert!((0.99..1.01).contains(&ratio), "{operation} of {operands}: {ratio:.4} of silicon");
    }
}

#[test]
fn circuitpython_on_pico2_w() {
    let _ = circuitpython("cp-pico2-w-10.0.0.uf2");
}

/// Returns whether the LED changes at least twice in two seconds.
fn blinks(board: &mut Machine) -> bool {
    let start = board.now();
    let mut changes = 0;
    let mut lit = false;
    for quarter in 1..=8 {
        let until = start + quarter * PS_PER_S / 4;
        while board.now() < until {
            board.run(until).expect("nothing that is not modelled");
            board.take_usb_events();
        }
        let (level, _) = board.pins();
        changes += u32::from(lit != (level & LED != 0));
        lit = level & LED != 0;
    }
    changes >= 2
}

#[test]
fn the_led_blinks() {
    let Some(mut board) = pico2("blink-m33.uf2") else { return };
    assert!(blinks(&mut board));
}

/// Boots a Pico 2 without a program, whose BOOTSEL button is pressed until the PC has its drive; copies `file` onto it.
fn with_drive(file: &str) -> Option<Machine> {
    let expected = pico2(file)?.chip().flash().to_vec();
    let rom = bootrom(&RP2350).expect("the ROM that was there");
    let mut board = Machine::new(BoardConfig::pico2(rom), &[], true).expect("a valid board");
    let until = PS_PER_S;
    while board.usb().drive_blocks(0) == 0 {
        assert!(board.now() < until, "{:?}", board.usb().state());
        board.run(until).expect("nothing that is not modelled");
        board.take_usb_events();
    }
    let device = board.usb().state().device.expect("a device");
    assert_eq!((device.descriptor.vid, device.descriptor.pid), (0x2e8a, 0x000f));
    let AnyChip::Rp2350(chip) = board.chip_mut() else { panic!("another chip") };
    chip.bus.blocks.io_qspi.bootsel_pressed = false;

    let volume = board.volume(0).expect("a volume");
    assert_eq!(volume.label().expect("a label"), "RP2350");
    let folder = std::env::var_os("PORTBENCH_FIRMWARE_DIR").expect("the folder that was there");
    let image = std::fs::read(Path::new(&folder).join(file)).expect("the image that was there");
    volume.write_file("image.uf2", &image).expect("space");
    drop(volume);
    let until = board.now() + PS_PER_S;
    while !matches!(board.run(until).expect("nothing that is not modelled"), Stop::Reset("WATCHDOG timer")) {
        assert!(board.now() < until, "no reset");
    }
    // The first block works around erratum RP2350-E10: its absolute address, 16 MiB less a page, wraps to the last page.
    let (program, last) = board.chip().flash().split_at(expected.len() - 256);
    assert!(program == &expected[..program.len()], "another program");
    assert_eq!(last, &image[32..][..256]);
    Some(board)
}

#[test]
fn a_program_on_the_drive_starts() {
    let Some(mut board) = with_drive("blink-m33.uf2") else { return };
    assert!(blinks(&mut board));
}

#[test]
fn micropython_on_the_drive_starts() {
    let Some(mut board) = with_drive("mp-pico2-1.25.0-preview.393.uf2") else { return };
    board.expect(">>> ", 3 * PS_PER_S).expect("a prompt");
}
