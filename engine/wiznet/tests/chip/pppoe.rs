//! MR's PPPoE.

use super::support::*;

const SERVER: [u8; 6] = [2, 0xAA, 0, 0, 0, 1];

fn board() -> Board {
    let mut board = Board::up();
    board.write(COMMON, 0x1D, &[0x5A]);
    board.write(COMMON, 0x1E, &SERVER);
    board.put16(COMMON, 0x24, 0x1234);
    board.write(COMMON, 0x00, &[0x08]);
    board
}

fn session(protocol: u16, data: &[u8]) -> Vec<u8> {
    let mut payload = vec![0x11, 0, 0x12, 0x34];
    payload.extend_from_slice(&(data.len() as u16 + 2).to_be_bytes());
    payload.extend_from_slice(&protocol.to_be_bytes());
    payload.extend_from_slice(data);
    ethernet(MAC, SERVER, 0x8864, &payload)
}

#[test]
fn ip_packets_travel_in_the_session() {
    let mut board = board();
    board.open(0, 0x02, 7);
    board.write(socket(0), DIPR, &[255; 4]);
    board.put16(socket(0), DPORT, 9);
    board.send(0, b"out");
    let frame = board.frame();
    assert_eq!((&frame[..6], &frame[12..14]), (&SERVER[..], &[0x88, 0x64][..]));
    assert_eq!(frame[14..18], [0x11, 0, 0x12, 0x34]);
    assert_eq!(usize::from(u16::from_be_bytes([frame[18], frame[19]])), frame.len() - 20);
    assert_eq!(frame[20..22], [0, 0x21]);
    assert_eq!(frame[frame.len() - 3..], *b"out");
    let ip = &udp_frame(1, 7, b"in")[14..];
    board.arrive(&session(0x0021, ip));
    assert_eq!(board.recv(0, 100)[8..], *b"in");
    // Another session's frames are not ours.
    let mut other = session(0x0021, ip);
    other[17] ^= 1;
    board.arrive(&other);
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
}

#[test]
fn lcp_echo_every_ptimer() {
    let mut board = board();
    assert_eq!(board.chip.next_event(), Some(board.now + 40 * 25 * MS));
    board.run(SECOND);
    let frame = board.frame();
    assert_eq!(frame[20..], [0xC0, 0x21, 9, 1, 0, 8, 0x5A, 0x5A, 0x5A, 0x5A]);
    board.run(SECOND);
    assert_eq!(board.frame()[23], 2);
    board.arrive(&session(0xC021, &[9, 77, 0, 8, 1, 2, 3, 4]));
    assert_eq!(board.frame()[20..], [0xC0, 0x21, 10, 77, 0, 8, 0x5A, 0x5A, 0x5A, 0x5A]);
    board.write(COMMON, 0x00, &[0]);
    assert_eq!(board.chip.next_event(), None);
}

#[test]
fn the_end_of_the_session_is_an_interrupt() {
    let mut terminated = board();
    terminated.arrive(&session(0xC021, &[5, 3, 0, 4]));
    assert_eq!(terminated.frame()[22..24], [6, 3]);
    assert_eq!(terminated.get(COMMON, 0x15), 0x20);
    let mut discovered = board();
    discovered.arrive(&ethernet(MAC, SERVER, 0x8863, &[0x11, 0xA7, 0x12, 0x34, 0, 0]));
    assert_eq!(discovered.get(COMMON, 0x15), 0x20);
}

#[test]
fn segment_sizes_shrink() {
    let mut board = board();
    board.write(socket(0), TXBUF_SIZE, &[4]);
    board.open(0, 0x02, 7);
    board.write(socket(0), DIPR, &[255; 4]);
    board.send(0, &[1; 2000]);
    let lengths: Vec<usize> = board.frames().iter().map(|(_, frame)| frame.len()).collect();
    assert_eq!(lengths, [14 + 8 + 28 + 1464, 14 + 8 + 28 + 536]);
}
