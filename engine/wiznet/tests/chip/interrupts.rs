//! IR, SIR, their masks, and INTn with INTLEVEL.

use super::support::*;

const INTLEVEL: u16 = 0x13;
const IR_COMMON: u16 = 0x15;
const IMR_COMMON: u16 = 0x16;
const SIR: u16 = 0x17;
const SIMR: u16 = 0x18;

/// Returns a board with two UDP sockets on ports 1 and 2.
fn board() -> Board {
    let mut board = Board::up();
    board.open(0, 0x02, 1);
    board.open(1, 0x02, 2);
    board.write(COMMON, SIMR, &[0xFF]);
    board
}

#[test]
fn intn_is_low_while_an_unmasked_socket_interrupt_pends() {
    let mut board = board();
    assert!(!board.chip.interrupt_low());
    board.arrive(&udp_frame(9, 1, b"x"));
    assert!(board.chip.interrupt_low());
    assert_eq!(board.get(COMMON, SIR), 1);
    board.clear_ir(0);
    assert!(!board.chip.interrupt_low());
    assert_eq!(board.get(COMMON, SIR), 0);
}

#[test]
fn sn_imr_masks_sir_and_not_sn_ir() {
    let mut board = board();
    board.write(socket(0), IMR, &[IR_SEND_OK]);
    board.arrive(&udp_frame(9, 1, b"x"));
    assert_eq!(board.ir(0), IR_RECV);
    assert_eq!(board.get(COMMON, SIR), 0);
    assert!(!board.chip.interrupt_low());
    board.write(socket(0), IMR, &[0xFF]);
    assert!(board.chip.interrupt_low());
}

#[test]
fn simr_masks_the_pin_and_not_sir() {
    let mut board = board();
    board.write(COMMON, SIMR, &[0b10]);
    board.arrive(&udp_frame(9, 1, b"x"));
    assert_eq!(board.get(COMMON, SIR), 1);
    assert!(!board.chip.interrupt_low());
    board.arrive(&udp_frame(9, 2, b"x"));
    assert_eq!(board.get(COMMON, SIR), 3);
    assert!(board.chip.interrupt_low());
}

#[test]
fn sn_ir_bits_clear_one_by_one() {
    let mut board = board();
    board.arrive(&udp_frame(9, 1, b"x"));
    board.write(socket(0), DIPR, &[255; 4]);
    board.send(0, b"y");
    assert_eq!(board.ir(0), IR_RECV | IR_SEND_OK);
    board.write(socket(0), IR, &[IR_RECV]);
    assert_eq!(board.ir(0), IR_SEND_OK);
    board.write(COMMON, SIR, &[0xFF]);
    assert_eq!(board.get(COMMON, SIR), 1, "SIR follows Sn_IR only");
}

#[test]
fn common_interrupts_have_their_own_mask() {
    let mut board = Board::up();
    use smoltcp::wire::ArpOperation;
    board.arrive(&arp_frame(ArpOperation::Request, PEER_MAC, IP, [0; 6], PEER));
    assert_eq!(board.get(COMMON, IR_COMMON), 0x80, "CONFLICT");
    assert!(!board.chip.interrupt_low());
    board.write(COMMON, IMR_COMMON, &[0x80]);
    assert!(board.chip.interrupt_low());
    board.write(COMMON, IR_COMMON, &[0x80]);
    assert!(!board.chip.interrupt_low());
}

#[test]
fn without_intlevel_a_second_interrupt_keeps_intn_low() {
    let mut board = board();
    board.arrive(&udp_frame(9, 1, b"x"));
    board.arrive(&udp_frame(9, 2, b"x"));
    board.clear_ir(0);
    assert!(board.chip.interrupt_low());
    board.clear_ir(1);
    assert!(!board.chip.interrupt_low());
    board.arrive(&udp_frame(9, 1, b"x"));
    assert!(board.chip.interrupt_low(), "and the next one comes at once");
}

#[test]
fn intlevel_holds_the_next_assertion_back() {
    let mut board = board();
    board.put16(COMMON, INTLEVEL, 0x0FFF);
    // (0x0FFF + 1) x 4 / 150 MHz
    let wait = 0x1000 * 4 * 1_000_000 / 150;
    board.arrive(&udp_frame(9, 1, b"x"));
    assert!(board.chip.interrupt_low(), "the first comes at once");
    board.arrive(&udp_frame(9, 2, b"x"));
    board.clear_ir(0);
    assert!(!board.chip.interrupt_low(), "datasheet INTLEVEL, figure: de-asserted though socket 1 still pends");
    assert_eq!(board.get(COMMON, SIR), 2);
    assert_eq!(board.chip.next_event(), Some(board.now + wait));
    board.run(wait - 1);
    assert!(!board.chip.interrupt_low());
    board.run(1);
    assert!(board.chip.interrupt_low());
    // After the last one the wait also delays a new one.
    board.clear_ir(1);
    assert!(!board.chip.interrupt_low());
    assert_eq!(board.chip.next_event(), None);
    board.run(wait / 2);
    board.arrive(&udp_frame(9, 1, b"x"));
    assert!(!board.chip.interrupt_low());
    board.run(wait - wait / 2);
    assert!(board.chip.interrupt_low());
}

#[test]
fn intlevel_counts_only_from_the_clearing_of_a_pending_interrupt() {
    use smoltcp::wire::ArpOperation;
    let mut board = board();
    board.put16(COMMON, INTLEVEL, 0x0FFF);
    board.write(COMMON, IMR_COMMON, &[0xC0]);
    board.arrive(&arp_frame(ArpOperation::Request, PEER_MAC, IP, [0; 6], PEER));
    for cleared in [0, 0x40] {
        board.write(COMMON, IR_COMMON, &[cleared]);
        assert!(board.chip.interrupt_low(), "CONFLICT pends, {cleared:#x} was cleared");
    }
    board.arrive(&udp_frame(9, 1, b"x"));
    board.write(COMMON, SIMR, &[0b10]);
    for cleared in [0, IR_SEND_OK, IR_RECV] {
        board.write(socket(0), IR, &[cleared]);
        assert!(board.chip.interrupt_low(), "a socket not enabled in SIMR");
    }
    board.arrive(&udp_frame(9, 2, b"x"));
    for cleared in [0, IR_SEND_OK] {
        board.write(socket(1), IR, &[cleared]);
        assert!(board.chip.interrupt_low(), "RECV pends, {cleared:#x} was cleared");
    }
    board.write(socket(1), IR, &[IR_RECV]);
    assert!(!board.chip.interrupt_low(), "CONFLICT still pends, but an interrupt was cleared");
}
