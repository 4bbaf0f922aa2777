//! Power-up, RSTn, PLL lock, the PHY's link and PHYCFGR.

use super::support::*;
use wiznet::{Config, W5500};

fn version(board: &mut Board) -> u8 {
    board.get(COMMON, 0x39)
}

#[test]
fn the_chip_answers_when_the_pll_has_locked() {
    let mut board = Board::new(Config::default());
    board.now = MS - 1;
    assert_eq!(version(&mut board), 0);
    board.now = MS;
    assert_eq!(version(&mut board), 4);
}

#[test]
fn a_frame_begun_before_the_lock_is_lost() {
    let mut board = Board::new(Config::default());
    board.now = MS - 1;
    board.select(true);
    board.byte(0);
    board.now = MS;
    assert_eq!([board.byte(0x39), board.byte(0), board.byte(0)], [0, 0, 0]);
    board.select(false);
    assert_eq!(version(&mut board), 4);
}

#[test]
fn rstn_low_for_500_us_resets() {
    let mut board = Board::up();
    board.chip.set_reset(board.now, true);
    assert_eq!(board.chip.next_event(), Some(board.now + 500 * US));
    assert!(board.chip.link_up(board.now));
    board.run(500 * US - 1);
    assert_eq!(board.read(COMMON, 0x0F, 4), IP);
    board.run(1);
    assert!(!board.chip.link_up(board.now));
    assert_eq!(version(&mut board), 0, "no answer in reset");
    board.run(10 * MS);
    board.chip.set_reset(board.now, false);
    board.run(MS - 1);
    assert_eq!(version(&mut board), 0, "PLL not locked");
    board.run(1);
    assert_eq!(version(&mut board), 4);
    assert_eq!(board.read(COMMON, 0x0F, 4), [0; 4]);
}

#[test]
fn a_short_pulse_on_rstn_does_not_reset() {
    let mut board = Board::up();
    board.chip.set_reset(board.now, true);
    board.run(499 * US);
    board.chip.set_reset(board.now, false);
    board.run(MS);
    assert_eq!(board.read(COMMON, 0x0F, 4), IP);
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn reset_ends_connections_interrupts_and_intn() {
    let mut board = Board::up();
    let mut peer = connected(&mut board, 0, 0x01, 1000, None);
    board.write(COMMON, 0x18, &[1]);
    peer.say(&mut board, ACK, b"x");
    assert!(board.chip.interrupt_low());
    board.chip.set_reset(board.now, true);
    board.run(SECOND);
    assert!(!board.chip.interrupt_low());
    assert_eq!(board.chip.next_event(), None);
    board.no_frame();
}

#[test]
fn link_comes_up_1_5_s_after_power_up_and_after_rstn() {
    let mut board = Board::new(Config::default());
    board.now = 1500 * MS - 1;
    assert!(!board.chip.link_up(board.now));
    assert_eq!(board.get(COMMON, 0x2E), 0xB8);
    board.now = 1500 * MS;
    assert!(board.chip.link_up(board.now));
    assert_eq!(board.get(COMMON, 0x2E), 0xBF, "100 Mb/s full duplex, link");
    board.chip.set_reset(board.now, true);
    board.run(SECOND);
    board.chip.set_reset(board.now, false);
    assert_eq!(board.chip.link_up_at(), Some(board.now + 1500 * MS));
    board.run(1500 * MS - 1);
    assert!(!board.chip.link_up(board.now));
    board.run(1);
    assert!(board.chip.link_up(board.now));
}

#[test]
fn software_reset_leaves_the_link_alone() {
    let mut board = Board::up();
    board.write(COMMON, 0x00, &[0x80]);
    assert!(board.chip.link_up(board.now));
    assert_eq!(board.get(COMMON, 0x2E), 0xBF);
}

#[test]
fn phycfgr_reset_as_iolibrary_does_it() {
    let mut board = Board::new(sim::with!(Config::default(), phy_link_delay: 2 * SECOND));
    board.now = 3 * SECOND;
    assert!(board.chip.link_up(board.now));
    board.write(COMMON, 0x2E, &[0x3F]);
    assert_eq!(board.get(COMMON, 0x2E), 0x38, "held in reset, no link");
    board.run(5 * SECOND);
    assert!(!board.chip.link_up(board.now));
    board.write(COMMON, 0x2E, &[0xB8]);
    board.run(2 * SECOND - 1);
    assert_eq!(board.get(COMMON, 0x2E), 0xB8);
    board.run(1);
    assert_eq!(board.get(COMMON, 0x2E), 0xBF);
}

#[test]
fn operation_modes_take_effect_at_the_phy_reset() {
    // OPMDC, and the status bits DPX, SPD, LNK that follow.
    for (opmdc, status) in
        [(0u8, 0b001), (1, 0b101), (2, 0b011), (3, 0b111), (4, 0b011), (5, 0b000), (6, 0b000), (7, 0b111)]
    {
        let mut board = Board::up();
        let config = 0xC0 | opmdc << 3;
        board.write(COMMON, 0x2E, &[config]);
        assert_eq!(board.get(COMMON, 0x2E), config | 7, "no effect before the reset");
        board.write(COMMON, 0x2E, &[config & 0x7F]);
        board.write(COMMON, 0x2E, &[config]);
        assert_eq!(board.get(COMMON, 0x2E), config | status, "OPMDC {opmdc}");
        assert_eq!(board.chip.link_up(board.now), status & 1 != 0);
        // OPMD = 0: the pins decide again.
        board.write(COMMON, 0x2E, &[config & 0x3F]);
        board.write(COMMON, 0x2E, &[0x80 | config & 0x3F]);
        assert_eq!(board.get(COMMON, 0x2E), 0x80 | opmdc << 3 | 7);
    }
}

#[test]
fn the_pmode_pins_choose_the_mode_after_reset() {
    let mut board = Board::up_with(sim::with!(Config::default(), pmode: 1));
    assert_eq!(board.get(COMMON, 0x2E), 0xBD, "10 Mb/s full duplex");
}

#[test]
fn cable() {
    let mut chip = W5500::new(sim::with!(Config::default(), cable_plugged: false));
    assert!(!chip.link_up(100 * SECOND));
    assert_eq!(chip.link_up_at(), None);
    chip.set_cable(2 * SECOND, true);
    assert!(!chip.link_up(3500 * MS - 1));
    assert!(chip.link_up(3500 * MS));
    chip.set_cable(4 * SECOND, true);
    assert!(chip.link_up(4 * SECOND), "already plugged");
    chip.set_cable(5 * SECOND, false);
    assert!(!chip.link_up(5 * SECOND));
}

#[test]
fn nothing_passes_without_a_link() {
    let mut board = Board::up();
    board.chip.set_cable(board.now, false);
    board.open(0, 0x02, 7);
    board.write(socket(0), DIPR, &[255; 4]);
    board.put16(socket(0), DPORT, 7);
    board.send(0, b"lost");
    assert_eq!(board.ir(0), IR_SEND_OK);
    board.no_frame();
    board.arrive(&udp_frame(1, 7, b"lost too"));
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
    let stats = board.chip.stats();
    assert_eq!((stats.frames_in, stats.frames_out), (0, 0));
}
