//! An SD card in its socket: addressing, isolation, and timing.

use chip::pins::function;
use portbench_engine::{CardSocket, CardSocketConfig, SidePins, SpiWires};
use sd_card::{CardConfig, Direction, KINDS, Medium, Wear};
use sim::{PS_PER_MS, Ps};

use super::rig::{CYCLE_PS, Rig};

const SPI1: u32 = 0x4004_0000;
const CSN: u32 = 13;
/// CPSR 4, SCR 0: 31.25 MHz, as in the published measurements.
const BIT_PS: Ps = 4 * CYCLE_PS;

fn config(medium: &Medium) -> CardSocketConfig {
    let side = SidePins { rstn: None, intn: None };
    CardSocketConfig {
        wires: SpiWires { spi: Some(1), sck: 10, mosi: 11, miso: 12, io: None, csn: CSN, side },
        card: CardConfig { kind: &KINDS[0], medium: medium.clone(), seed: 1, wear: Wear::default() },
    }
}

fn rig(medium: &Medium) -> Rig {
    let mut rig = Rig::new(|wiring| wiring.card = Some(CardSocket::new(&config(medium))));
    for pin in [10, 11, 12] {
        rig.function(pin, function::SPI);
    }
    rig.output(CSN, false);
    rig.write(SPI1 + 0x10, 4);
    rig.write(SPI1, 0x07);
    rig.write(SPI1 + 0x04, 0x02);
    rig
}

/// Transfers bytes through the FIFO, as many as it holds, so that they follow each other at full speed.
fn exchange(rig: &mut Rig, mosi: &[u8]) -> Vec<u8> {
    let mut miso = Vec::new();
    for part in mosi.chunks(8) {
        for &byte in part {
            rig.write(SPI1 + 0x08, byte.into());
        }
        rig.run(part.len() as Ps * 10 * BIT_PS);
        miso.extend(part.iter().map(|_| rig.read(SPI1 + 0x08) as u8));
    }
    miso
}

fn command(rig: &mut Rig, index: u8, argument: u32) -> u8 {
    let mut bytes = vec![0x40 | index];
    bytes.extend(argument.to_be_bytes());
    bytes.push(sd_card::crc7(&bytes));
    exchange(rig, &bytes);
    exchange(rig, &[0xff; 2])[1]
}

fn start(rig: &mut Rig) {
    assert_eq!(command(rig, 0, 0), 0x01);
    assert_eq!(command(rig, 8, 0x1aa), 0x01);
    exchange(rig, &[0xff; 4]);
    command(rig, 55, 0);
    command(rig, 41, 1 << 30);
    rig.run(100 * PS_PER_MS);
    command(rig, 55, 0);
    assert_eq!(command(rig, 41, 1 << 30), 0x00);
}

#[test]
fn a_block_is_read_and_its_bytes_are_timed() {
    let medium = Medium::new(64 << 11);
    medium.write(512, b"data of the SD card");
    let mut rig = rig(&medium);
    start(&mut rig);
    assert_eq!(command(&mut rig, 17, 1), 0);
    rig.run(PS_PER_MS);
    assert_eq!(exchange(&mut rig, &[0xff]), [0xfe]);
    let data = exchange(&mut rig, &[0xff; 514]);
    assert_eq!(&data[..19], b"data of the SD card");

    let card = rig.wiring().card.as_ref().expect("the card is present").card();
    let used = card.usage().of(Direction::Read);
    // Eight bits, and the controller's pause of one and a half bits between frames in mode 0.
    assert_eq!(used.gaps.spread().map(|[least, ..]| least), Some(19 * BIT_PS / 2));
    assert_eq!(used.gaps.median_ns(), Some(304));
    // The command's last byte, two until R1, the token, data and checksum, at eight bits each.
    assert_eq!((used.bytes, used.clocked), (1 + 2 + 1 + 514, (1 + 2 + 1 + 514) * 8 * BIT_PS));
}

#[test]
fn a_block_is_written_once_its_time_has_come() {
    let medium = Medium::new(64 << 11);
    let mut rig = rig(&medium);
    start(&mut rig);
    assert_eq!(command(&mut rig, 24, 3), 0);
    exchange(&mut rig, &[0xfe]);
    exchange(&mut rig, &[0x5a; 512]);
    assert_eq!(exchange(&mut rig, &[0xff; 3])[2] & 0x1f, 0x05);
    assert_eq!(exchange(&mut rig, &[0xff]), [0x00]);
    let mut data = [0; 512];
    medium.read(3 * 512, &mut data);
    assert_eq!(data, [0; 512]);
    rig.run(8 * PS_PER_MS);
    medium.read(3 * 512, &mut data);
    assert_eq!(data, [0x5a; 512], "by a separate event");
    assert_eq!(exchange(&mut rig, &[0xff]), [0xff]);
}

#[test]
fn unmodelled_commands_end_the_run() {
    let mut rig = rig(&Medium::new(64 << 11));
    start(&mut rig);
    command(&mut rig, 6, 0);
    let told = rig.bus.sys.unmodelled.as_ref().map(|unmodelled| unmodelled.what.clone());
    assert_eq!(told.as_deref(), Some("SD card: CMD6 SWITCH_FUNC"));
}

#[test]
fn an_empty_socket_reads_as_ones() {
    let mut rig = Rig::new(|_| {});
    for pin in [10, 11, 12] {
        rig.function(pin, function::SPI);
    }
    rig.output(CSN, false);
    rig.write(SPI1 + 0x10, 4);
    rig.write(SPI1, 0x07);
    rig.write(SPI1 + 0x04, 0x02);
    assert_eq!(command(&mut rig, 0, 0), 0xff);
}

#[test]
fn a_card_on_gpio_pins_works_too() {
    let mut rig = rig(&Medium::new(64 << 11));
    rig.output(10, false);
    rig.output(11, true);
    rig.function(12, function::SIO);
    let mut clock = |byte: u8| {
        (0..8).rev().fold(0u8, |read, bit| {
            rig.output(11, byte & (1 << bit) != 0);
            let miso = rig.input(12);
            rig.output(10, true);
            rig.output(10, false);
            (read << 1) | u8::from(miso)
        })
    };
    for byte in [0x40, 0, 0, 0, 0, 0x95] {
        clock(byte);
    }
    let read: Vec<u8> = (0..4).map(|_| clock(0xff)).collect();
    assert!(read.contains(&0x01), "{read:x?}");
}
