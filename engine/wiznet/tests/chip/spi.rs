//! SPI frames: variable and fixed length, auto-increment, MISO, the log and the counters.

use super::support::*;
use sim::{EthernetStats, SpiFrame};
use wiznet::{Config, W5500};

fn raw(board: &mut Board, bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|&byte| board.byte(byte)).collect()
}

#[test]
fn version_read_shows_the_phase_counter_on_miso() {
    let mut board = Board::up();
    board.select(true);
    assert_eq!(raw(&mut board, &[0x00, 0x39, 0x00, 0x00]), [1, 2, 3, 4]);
    board.select(false);
}

#[test]
fn variable_length_read_and_write_increment_the_address() {
    let mut board = Board::up();
    board.write(COMMON, 0x01, &(1..=18).collect::<Vec<u8>>());
    assert_eq!(board.read(COMMON, 0x01, 18), (1..=18).collect::<Vec<u8>>());
    assert_eq!(board.read(COMMON, 0x05, 4), [5, 6, 7, 8]);
}

#[test]
fn the_address_wraps_at_64_kb() {
    let mut board = Board::up();
    board.write(tx(0), 0xFFFE, &[1, 2, 3, 4]);
    assert_eq!(board.read(tx(0), 0x07FE, 4), [1, 2, 3, 4], "2 KB buffer");
    assert_eq!(board.read(tx(0), 0xFFFE, 4), [1, 2, 3, 4]);
    assert_eq!(board.read(tx(0), 0, 2), [3, 4]);
    board.write(COMMON, 0x00, &[0x10]);
    assert_eq!(board.read(COMMON, 0xFFFF, 2), [0, 0x10]);
}

#[test]
fn fixed_length_frames_follow_one_another_while_scsn_stays_low() {
    let mut board = Board::up();
    board.select(true);
    // 1, 2 and 4 bytes written to GAR, then read back.
    raw(&mut board, &[0x00, 0x01, 0x05, 0x11]);
    raw(&mut board, &[0x00, 0x02, 0x06, 0x22, 0x33]);
    assert_eq!(raw(&mut board, &[0x00, 0x01, 0x03, 0, 0, 0, 0]), [1, 2, 3, 0x11, 0x22, 0x33, GATEWAY[3]]);
    raw(&mut board, &[0x00, 0x01, 0x07, 9, 8, 7, 6]);
    assert_eq!(raw(&mut board, &[0x00, 0x04, 0x01, 0]), [1, 2, 3, 6]);
    assert_eq!(raw(&mut board, &[0x00, 0x02, 0x02, 0, 0]), [1, 2, 3, 8, 7]);
    board.select(false);
}

#[test]
fn chip_select_ends_a_frame_at_any_byte() {
    let mut board = Board::up();
    for length in 0..=3 {
        board.select(true);
        raw(&mut board, &[0x00, 0x01, 0x04][..length]);
        board.select(false);
    }
    assert_eq!(board.read(COMMON, 0x01, 4), GATEWAY);
    // A fixed length frame that is cut short still writes its first bytes.
    board.select(true);
    raw(&mut board, &[0x00, 0x01, 0x07, 1, 2]);
    board.select(false);
    assert_eq!(board.read(COMMON, 0x01, 4), [1, 2, GATEWAY[2], GATEWAY[3]]);
}

#[test]
fn unselected_bytes_do_nothing() {
    let mut board = Board::up();
    assert_eq!(raw(&mut board, &[0x00, 0x01, 0x04, 9, 9]), [0; 5]);
    assert_eq!(board.read(COMMON, 0x01, 4), GATEWAY);
}

#[test]
fn a_read_byte_is_fetched_when_the_byte_before_ends() {
    // Timer-driven change between two bytes: the ARP timeout falls between the end of one byte and the next.
    let mut board = Board::up();
    board.open(0, 0x02, 1000);
    board.write(socket(0), DIPR, &PEER);
    board.put16(socket(0), DPORT, 1);
    board.send(0, b"x");
    let timeout = board.now + 1800 * MS;
    board.now = timeout - 1;
    board.select(true);
    raw(&mut board, &[0, IR as u8, socket(0) << 3]);
    board.now = timeout;
    assert_eq!(board.byte(0), 0, "fetched before the timeout");
    board.select(false);
    assert_eq!(board.ir(0), IR_TIMEOUT);
}

#[test]
fn counters() {
    let mut board = Board::up();
    let before = board.chip.stats();
    board.read(COMMON, 0x39, 1);
    board.write(COMMON, 0x01, &[1, 2, 3, 4]);
    board.byte(0);
    let after = board.chip.stats();
    assert_eq!(after.chip_selects - before.chip_selects, 2);
    assert_eq!(after.bus_bytes - before.bus_bytes, 4 + 7);
    assert_eq!(W5500::new(Config::default()).stats(), EthernetStats::default());
}

#[test]
fn the_log_has_decoded_frames() {
    let mut board = Board::up();
    board.byte_time = 10;
    board.read(COMMON, 0x39, 1);
    assert_eq!(board.chip.take_log(), [], "off by default");
    board.chip.set_log(true);
    let start = board.now;
    board.put16(socket(0), TX_WR, 0x1234);
    board.now += 5;
    board.read(tx(2), 0x0100, 40);
    board.select(true);
    raw(&mut board, &[0x00, 0x01, 0x01, 0, 0x00, 0x02, 0x01, 0, 0x00]);
    board.select(false);
    let log = board.chip.take_log();
    assert_eq!(
        log[0],
        SpiFrame {
            start,
            end: start + 50,
            write: true,
            address: 0x24,
            len: 2,
            wire_bytes: 5,
            name: "S0_TX_WR".into(),
            data: vec![0x12, 0x34],
            meaning: "4660".into(),
        }
    );
    assert_eq!((log[1].name.as_str(), log[1].len, log[1].write, log[1].start), ("S2 TX buffer", 40, false, start + 55));
    assert_eq!(log[1].data.len(), 16);
    assert_eq!((log[2].name.as_str(), &log[2].data[..]), ("GAR", &GATEWAY[..1]));
    assert_eq!((log[3].name.as_str(), log[3].start), ("GAR+1", log[2].end));
    assert_eq!(log.len(), 4);
    board.chip.set_log(false);
    board.read(COMMON, 0, 1);
    assert_eq!(board.chip.take_log(), []);
}

#[test]
fn bytes_of_buffers_and_pointers_leave_nothing_to_settle() {
    let mut board = Board::up();
    for (block, address, touched) in [(tx(0), 0, false), (socket(0), TX_WR, false), (socket(0), CR, true)] {
        let [high, low] = address.to_be_bytes();
        board.select(true);
        raw(&mut board, &[high, low, block << 3 | 4]);
        board.chip.exchange(board.now, 1);
        assert_eq!(board.chip.take_touched(), touched, "{block} {address:#x}");
        board.select(false);
    }
}
