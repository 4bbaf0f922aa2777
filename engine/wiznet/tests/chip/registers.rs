//! Register by register: address, width, reset value and access, from datasheet 1.0.9 chapters 3.1, 3.2 and 4.

use super::support::*;
use wiznet::Config;

/// Bits that keep what the host writes; the others always read as the reset value.
struct Row {
    name: &'static str,
    address: u16,
    reset: &'static [u8],
    writable: &'static [u8],
}

const RW1: &[u8] = &[0xFF];
const RW2: &[u8] = &[0xFF; 2];
const RW4: &[u8] = &[0xFF; 4];
const RW6: &[u8] = &[0xFF; 6];
const RO1: &[u8] = &[0];
const RO2: &[u8] = &[0; 2];
const RO4: &[u8] = &[0; 4];

const fn row(name: &'static str, address: u16, reset: &'static [u8], writable: &'static [u8]) -> Row {
    Row { name, address, reset, writable }
}

const COMMON_TABLE: &[Row] = &[
    // RST clears itself; WOL, PB, PPPoE and FARP hold.
    row("MR", 0x00, &[0x00], &[0x3A]),
    row("GAR", 0x01, &[0; 4], RW4),
    row("SUBR", 0x05, &[0; 4], RW4),
    row("SHAR", 0x09, &[0; 6], RW6),
    row("SIPR", 0x0F, &[0; 4], RW4),
    row("INTLEVEL", 0x13, &[0; 2], RW2),
    // Writing 1 clears.
    row("IR", 0x15, &[0], RO1),
    row("IMR", 0x16, &[0], &[0xF0]),
    row("SIR", 0x17, &[0], RO1),
    row("SIMR", 0x18, &[0], RW1),
    row("RTR", 0x19, &[0x07, 0xD0], RW2),
    row("RCR", 0x1B, &[0x08], RW1),
    row("PTIMER", 0x1C, &[0x28], RW1),
    row("PMAGIC", 0x1D, &[0], RW1),
    row("PHAR", 0x1E, &[0; 6], RW6),
    row("PSID", 0x24, &[0; 2], RW2),
    row("PMRU", 0x26, &[0xFF, 0xFF], RW2),
    row("UIPR", 0x28, &[0; 4], RO4),
    row("UPORTR", 0x2C, &[0; 2], RO2),
    // 10111XXX; the lowest bits are the link's, which is down here.
    row("PHYCFGR", 0x2E, &[0xB8], &[0xF8]),
    row("VERSIONR", 0x39, &[0x04], RO1),
];

const SOCKET_TABLE: &[Row] = &[
    row("MR", 0x00, &[0], RW1),
    // Cleared when the command is accepted.
    row("CR", 0x01, &[0], RO1),
    row("IR", 0x02, &[0], RO1),
    row("SR", 0x03, &[0], RO1),
    row("PORT", 0x04, &[0; 2], RW2),
    row("DHAR", 0x06, &[0xFF; 6], RW6),
    row("DIPR", 0x0C, &[0; 4], RW4),
    row("DPORT", 0x10, &[0; 2], RW2),
    row("MSSR", 0x12, &[0; 2], RW2),
    row("TOS", 0x15, &[0], RW1),
    row("TTL", 0x16, &[0x80], RW1),
    row("RXBUF_SIZE", 0x1E, &[2], RW1),
    row("TXBUF_SIZE", 0x1F, &[2], RW1),
    row("TX_FSR", 0x20, &[0x08, 0x00], RO2),
    row("TX_RD", 0x22, &[0; 2], RO2),
    // Copied by SEND; until then the old value is read.
    row("TX_WR", 0x24, &[0; 2], RO2),
    row("RX_RSR", 0x26, &[0; 2], RO2),
    row("RX_RD", 0x28, &[0; 2], RW2),
    row("RX_WR", 0x2A, &[0; 2], RO2),
    row("IMR", 0x2C, &[0xFF], RW1),
    row("FRAG", 0x2D, &[0x40, 0x00], RW2),
    row("KPALVTR", 0x2F, &[0], RW1),
];

fn board() -> Board {
    Board::new(sim::with!(Config::default(), cable_plugged: false))
}

fn check_access(block: u8, prefix: &str, row: &Row) {
    let what = format!("{prefix}{} of block {block}", row.name);
    for pattern in [0x00, 0xFF, 0x55, 0xAA] {
        let mut board = board();
        assert_eq!(board.read(block, row.address, row.reset.len()), row.reset, "reset value of {what}");
        // No pattern is a command, since Sn_CR has separate tests; MR's reset bit is left out.
        let value = if row.name == "MR" && block == COMMON { pattern & 0x7F } else { pattern };
        board.write(block, row.address, &vec![value; row.reset.len()]);
        let expected: Vec<u8> =
            row.reset.iter().zip(row.writable).map(|(reset, bits)| reset & !bits | value & bits).collect();
        let mut read = board.read(block, row.address, row.reset.len());
        assert_eq!(read, expected, "{what} after writing {value:#04x}");
        // Byte by byte the result is the same, and no neighbour has changed.
        read = (0..row.reset.len()).map(|i| board.get(block, row.address + i as u16)).collect();
        assert_eq!(read, expected, "{what} read byte by byte");
    }
}

#[test]
fn common_block() {
    for row in COMMON_TABLE {
        check_access(COMMON, "", row);
        assert_eq!(board().name_at(COMMON, row.address), row.name);
    }
}

#[test]
fn socket_blocks() {
    for n in 0..8 {
        for row in SOCKET_TABLE {
            check_access(socket(n), "Sn_", row);
            assert_eq!(board().name_at(socket(n), row.address), format!("S{n}_{}", row.name));
        }
    }
}

#[test]
fn writing_one_register_changes_no_other() {
    let dump = |board: &mut Board, block: u8| board.read(block, 0, 0x80);
    for (block, table) in [(COMMON, COMMON_TABLE), (socket(3), SOCKET_TABLE)] {
        for row in table {
            let mut board = board();
            let before = dump(&mut board, block);
            let length = row.reset.len();
            board.write(block, row.address, &vec![0x11; length]);
            let after = dump(&mut board, block);
            for (address, (old, new)) in before.iter().zip(&after).enumerate() {
                let inside = (usize::from(row.address)..usize::from(row.address) + length).contains(&address);
                // Sn_TX_FSR follows Sn_TXBUF_SIZE.
                let derived = row.name == "TXBUF_SIZE" && (0x20..0x22).contains(&address);
                assert!(inside || derived || old == new, "{} changed byte {address:#x}", row.name);
            }
        }
    }
}

#[test]
fn reserved_addresses_and_blocks_read_zero() {
    let mut board = board();
    let defined = |table: &[Row], address: u16| {
        table.iter().any(|r| (r.address..r.address + r.reset.len() as u16).contains(&address))
    };
    // Sn_PROTO (0x14) is undocumented and has a separate test.
    for (block, table) in [(COMMON, COMMON_TABLE), (socket(0), SOCKET_TABLE)] {
        for address in (0..0x200).chain(0xFFF0..=0xFFFF).filter(|&a| a != 0x14 && !defined(table, a)) {
            board.write(block, address, &[0xFF]);
            assert_eq!(board.get(block, address), 0, "block {block} address {address:#06x}");
        }
    }
    for block in [4, 8, 12, 16, 20, 24, 28] {
        board.write(block, 0, &[0xFF; 64]);
        assert_eq!(board.read(block, 0, 64), [0; 64]);
    }
}

#[test]
fn software_reset_restores_every_register() {
    let mut fresh = board();
    let mut used = board();
    for block in [COMMON, socket(0), socket(7)] {
        for address in (0x01..0x30).filter(|&a| block == COMMON || a != CR) {
            used.write(block, address, &[0x5A]);
        }
    }
    used.write(COMMON, 0, &[0x80]);
    assert_eq!(used.get(COMMON, 0), 0, "RST clears itself");
    for block in [COMMON, socket(0), socket(7)] {
        assert_eq!(used.read(block, 0, 0x40), fresh.read(block, 0, 0x40), "block {block}");
    }
}

#[test]
fn buffer_sizes_set_the_free_size() {
    let mut board = board();
    for (kb, free) in [(0, 0), (1, 0x0400), (2, 0x0800), (4, 0x1000), (8, 0x2000), (16, 0x4000)] {
        board.write(socket(0), TXBUF_SIZE, &[kb]);
        assert_eq!(board.get16(socket(0), TX_FSR), free);
    }
}

#[test]
fn tx_wr_is_taken_over_by_send_only() {
    // Several writes after Sn_TX_WR + offset build one datagram (Arduino Ethernet, EthernetUDP::write).
    let mut board = Board::up();
    board.open(0, 0x02, 7);
    board.write(socket(0), DIPR, &[255; 4]);
    board.put16(socket(0), DPORT, 9);
    let mut offset = 0;
    for part in [&b"one "[..], b"two ", b"three"] {
        let pointer = board.get16(socket(0), TX_WR) + offset;
        board.write(tx(0), pointer, part);
        board.put16(socket(0), TX_WR, pointer + part.len() as u16);
        offset += part.len() as u16;
    }
    board.command(0, SEND);
    assert_eq!(Datagram::parse(&board.frame()).data, b"one two three");
    assert_eq!(board.get16(socket(0), TX_WR), 13);
    assert_eq!(board.get16(socket(0), TX_RD), 13);
}
