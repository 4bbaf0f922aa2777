//! SPI frames: control byte, address, auto-increment, MISO and the log.

use sim::SpiFrame;

use super::host::Host;
use crate::support::*;

#[test]
fn a_read_shows_the_byte_count_on_miso() {
    let mut host = Host::up();
    host.select(true);
    assert_eq!(host.bytes(&[0x0F, 0x00, 0x80, 0]), [0, 1, 2, 0x51]);
    host.select(false);
    host.select(true);
    assert_eq!(host.bytes(&[0xF0, 0x00, 0x01, 9, 9]), [0, 1, 2, 3, 3]);
    host.select(false);
}

#[test]
fn the_address_increments_through_the_whole_space() {
    let mut host = Host::up();
    host.write(0x0001, &(1..=18).collect::<Vec<u8>>());
    assert_eq!(host.read(0x0001, 18), (1..=18).collect::<Vec<u8>>());
    // From the TX memory into the RX memory.
    host.write(0x5FFE, &[1, 2, 3, 4]);
    assert_eq!(host.read(0x5FFE, 4), [1, 2, 3, 4]);
    assert_eq!(host.read(0x6000, 2), [3, 4]);
    assert_eq!(host.read(0x7FFF, 3)[1..], [3, 1], "after the RX memory the registers are mirrored");
}

#[test]
fn another_control_byte_is_ignored_until_chip_select() {
    let mut host = Host::up();
    host.select(true);
    host.bytes(&[0x00, 0xF0, 0x00, 0x01, 9]);
    host.select(false);
    assert_eq!(host.read(0x0001, 4), GATEWAY);
    host.bytes(&[0xF0, 0x00, 0x01, 9]);
    assert_eq!(host.read(0x0001, 4), GATEWAY, "unselected");
    for length in 0..=3 {
        host.select(true);
        host.bytes(&[0xF0, 0x00, 0x01][..length]);
        host.select(false);
    }
    assert_eq!(host.read(0x0001, 4), GATEWAY);
}

#[test]
fn the_log_has_decoded_frames() {
    let mut host = Host::up();
    host.chip.set_log(true);
    let now = host.now;
    host.put16(0x0424, 0x1234);
    host.read(0x5000, 40);
    let log = host.chip.take_log();
    assert_eq!(
        log[0],
        SpiFrame {
            start: now,
            end: now,
            write: true,
            address: 0x0424,
            len: 2,
            wire_bytes: 5,
            name: "S0_TX_WR".into(),
            data: vec![0x12, 0x34],
            meaning: "4660".into(),
        }
    );
    assert_eq!((log[1].name.as_str(), log[1].len, log[1].wire_bytes), ("TX buffer", 40, 43));
}

/// Counts the bytes on the wire for one frame of `data` bytes with WIZnet's method for each chip: pointer read, burst,
/// pointer written, command.
#[test]
fn a_frame_of_1300_bytes_costs_the_same_bytes_as_on_the_w5500() {
    let data = vec![0x55; 1300];
    let mut host = Host::up();
    host.open(0, 0x02, 7);
    let before = host.chip.stats().bus_bytes;
    host.write(0x4000, &data);
    let w5100s = host.chip.stats().bus_bytes - before;
    let mut board = Board::up();
    board.open(0, 0x02, 7);
    let before = board.chip.stats().bus_bytes;
    board.write(tx(0), 0, &data);
    let w5500 = board.chip.stats().bus_bytes - before;
    assert_eq!((w5100s, w5500), (1303, 1303));
}
