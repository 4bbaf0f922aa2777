//! Register by register: address, width, reset value and access, and the registers' effects.

use smoltcp::wire::ArpOperation;
use wiznet::Config;

use super::host::{Host, sn};
use crate::support::*;

/// Name, address, reset value, and the bits that keep what the host writes.
type Row = (&'static str, u16, &'static [u8], &'static [u8]);

const RW1: &[u8] = &[0xFF];
const RW2: &[u8] = &[0xFF; 2];
const RW4: &[u8] = &[0xFF; 4];
const RW6: &[u8] = &[0xFF; 6];
const RO1: &[u8] = &[0];
const RO2: &[u8] = &[0; 2];

const COMMON: &[Row] = &[
    // RST clears itself; AI and IND are always set.
    ("MR", 0x00, &[0x03], &[0x18]),
    ("GAR", 0x01, &[0; 4], RW4),
    ("SUBR", 0x05, &[0; 4], RW4),
    ("SHAR", 0x09, &[0; 6], RW6),
    ("SIPR", 0x0F, &[0; 4], RW4),
    ("INTPTMR", 0x13, &[0; 2], RW2),
    ("IR", 0x15, &[0], RO1),
    ("IMR", 0x16, &[0], &[0xEF]),
    ("RTR", 0x17, &[0x07, 0xD0], RW2),
    ("RCR", 0x19, &[0x07], RW1),
    ("RMSR", 0x1A, &[0x55], RW1),
    ("TMSR", 0x1B, &[0x55], RW1),
    ("IR2", 0x20, &[0], RO1),
    ("IMR2", 0x21, &[0], &[0x01]),
    ("PTIMER", 0x28, &[0x28], RW1),
    ("PMAGIC", 0x29, &[0], RW1),
    ("UIPR", 0x2A, &[0; 4], &[0; 4]),
    ("UPORTR", 0x2E, &[0; 2], RO2),
    // CHPLCKR protects CLKSEL.
    ("MR2", 0x30, &[0x40], &[0x7A]),
    ("PHAR", 0x32, &[0; 6], RW6),
    ("PSIDR", 0x38, &[0; 2], RW2),
    ("PMRUR", 0x3A, &[0xFF, 0xFF], RW2),
    // No cable.
    ("PHYSR0", 0x3C, &[0x80], RO1),
    ("PHYSR1", 0x3D, &[0x81], RO1),
    ("PHYAR", 0x3E, &[0], RO1),
    ("PHYRAR", 0x3F, &[0], &[0x1F]),
    ("PHYDIR", 0x40, &[0; 2], RW2),
    ("PHYDOR", 0x42, &[0; 2], RO2),
    ("PHYACR", 0x44, &[0], RO1),
    ("PHYDIVR", 0x45, &[0x01], &[0x03]),
    // Protected by PHYLCKR.
    ("PHYCR0", 0x46, &[0], RO1),
    ("PHYCR1", 0x47, &[0x41], RO1),
    ("SLRTR", 0x4D, &[0x07, 0xD0], RW2),
    ("SLRCR", 0x4F, &[0], RW1),
    ("SLPIPR", 0x50, &[0; 4], RW4),
    ("SLPHAR", 0x54, &[0; 6], &[0; 6]),
    ("PINGSEQR", 0x5A, &[0; 2], RW2),
    ("PINGIDR", 0x5C, &[0; 2], RW2),
    ("SLIMR", 0x5E, &[0], &[0x07]),
    ("SLIR", 0x5F, &[0], RO1),
    ("CHPLCKR", 0x70, &[0], RO1),
    ("NETLCKR", 0x71, &[0], RO1),
    ("PHYLCKR", 0x72, &[0], RO1),
    ("VERR", 0x80, &[0x51], RO1),
    ("TCNTCLR", 0x88, &[0], RO1),
];

const SOCKET: &[Row] = &[
    ("MR", 0x00, &[0], RW1),
    ("CR", 0x01, &[0], RO1),
    ("IR", 0x02, &[0], RO1),
    ("SR", 0x03, &[0], RO1),
    ("PORTR", 0x04, &[0; 2], RW2),
    ("DHAR", 0x06, &[0xFF; 6], RW6),
    ("DIPR", 0x0C, &[0; 4], RW4),
    ("DPORTR", 0x10, &[0; 2], RW2),
    ("MSSR", 0x12, &[0; 2], RW2),
    ("PROTOR", 0x14, &[0], RW1),
    ("TOS", 0x15, &[0], RW1),
    ("TTL", 0x16, &[0x80], RW1),
    ("RXBUF_SIZE", 0x1E, &[2], RW1),
    ("TXBUF_SIZE", 0x1F, &[2], RW1),
    ("TX_FSR", 0x20, &[0x08, 0x00], RO2),
    ("TX_RD", 0x22, &[0; 2], RO2),
    ("TX_WR", 0x24, &[0; 2], RO2),
    ("RX_RSR", 0x26, &[0; 2], RO2),
    ("RX_RD", 0x28, &[0; 2], RW2),
    ("RX_WR", 0x2A, &[0; 2], RO2),
    ("IMR", 0x2C, &[0xFF], RW1),
    ("FRAGR", 0x2D, &[0x40, 0x00], RW2),
    ("MR2", 0x2F, &[0], RW1),
    ("KPALVTR", 0x30, &[0], RW1),
    // Copied by OPEN.
    ("RTR", 0x32, &[0; 2], RO2),
    ("RCR", 0x34, &[0], RO1),
];

fn host() -> Host {
    Host::new(sim::with!(Config::default(), cable_plugged: false))
}

fn check(prefix: &str, base: u16, &(name, offset, reset, writable): &Row) {
    let (what, address) = (format!("{prefix}{name}"), base + offset);
    for pattern in [0x00, 0xFF, 0x55, 0xAA] {
        let mut host = host();
        assert_eq!(host.read(address, reset.len()), reset, "reset value of {what}");
        let value = if what == "MR" { pattern & 0x7F } else { pattern };
        host.write(address, &vec![value; reset.len()]);
        let expected: Vec<u8> = reset.iter().zip(writable).map(|(reset, bits)| reset & !bits | value & bits).collect();
        assert_eq!(host.read(address, reset.len()), expected, "{what} after writing {value:#04x}");
        assert_eq!(host.chip.take_unmodelled(), None, "{what}");
    }
    let mut host = host();
    host.chip.set_log(true);
    host.read(address, 1);
    assert_eq!(host.chip.take_log()[0].name, what);
}

#[test]
fn common_registers() {
    for row in COMMON {
        check("", 0, row);
    }
}

#[test]
fn socket_registers() {
    for n in 0..4 {
        for row in SOCKET {
            check(&format!("S{n}_"), sn(n, 0), row);
        }
    }
}

#[test]
fn reserved_addresses_read_zero() {
    let mut host = host();
    let defined =
        |table: &[Row], offset: u16| table.iter().any(|row| (row.1..row.1 + row.2.len() as u16).contains(&offset));
    for offset in 0..0x100 {
        // SLCR has separate tests; TCNTR counts.
        if !defined(COMMON, offset) && !matches!(offset, 0x4C | 0x82 | 0x83) {
            host.write(offset, &[0xFF]);
            assert_eq!(host.get(offset), 0, "{offset:#06x}");
        }
        if !defined(SOCKET, offset) {
            host.write(sn(2, offset), &[0xFF]);
            assert_eq!(host.get(sn(2, offset)), 0, "socket {offset:#06x}");
        }
    }
}

#[test]
fn registers_are_mirrored_in_the_reserved_space() {
    let mut host = Host::up();
    assert_eq!(host.read(0x010F, 4), IP);
    assert_eq!(host.read(0x3B0F, 4), IP);
    host.write(0x0F16, &[99]);
    assert_eq!(host.get(sn(3, 0x16)), 99);
}

#[test]
fn software_reset_restores_every_register() {
    let (mut fresh, mut used) = (host(), host());
    let written = (0x01..0x3C).chain(0x4D..0x60).chain((0..4).flat_map(|n| (0x02..0x35).map(move |o| sn(n, o))));
    for address in written {
        used.write(address, &[0x5A]);
    }
    used.write(0x71, &[0xC5]);
    used.write(0x00, &[0x80]);
    for address in [0x0000, sn(0, 0), sn(1, 0), sn(2, 0), sn(3, 0)] {
        assert_eq!(used.read(address, 0x80), fresh.read(address, 0x80), "{address:#06x}");
    }
    used.write(0x000F, &IP);
    assert_eq!(used.read(0x000F, 4), IP, "NETLCKR is unlocked too");
}

#[test]
fn rstn_resets_after_500_ns_and_the_chip_answers_after_1_ms() {
    let mut host = Host::up();
    host.chip.set_reset(host.now, true);
    host.run(500_000 - 1);
    assert_eq!(host.read(0x000F, 4), IP);
    host.run(1);
    assert_eq!(host.get(0x0080), 0);
    host.chip.set_reset(host.now, false);
    host.run(MS - 1);
    assert_eq!(host.get(0x0080), 0);
    host.run(1);
    assert_eq!(host.get(0x0080), 0x51);
    assert_eq!(host.read(0x000F, 4), [0; 4]);
}

#[test]
fn the_network_lock_keeps_the_addresses() {
    let mut host = Host::up();
    host.write(0x0071, &[0xC5]);
    host.write(0x0001, &[9; 18]);
    assert_eq!(host.read(0x0001, 4), GATEWAY);
    assert_eq!(host.read(0x000F, 4), IP);
    host.write(0x0013, &[1, 2]);
    assert_eq!(host.read(0x0013, 2), [1, 2], "INTPTMR is not locked");
    host.write(0x0071, &[0x77]);
    host.write(0x0001, &[9]);
    assert_eq!(host.get(0x0001), GATEWAY[0], "another value changes nothing");
    host.write(0x0071, &[0x3A]);
    host.write(0x0001, &[9]);
    assert_eq!(host.get(0x0001), 9);
}

#[test]
fn the_chip_lock_keeps_the_clock_and_intptmr_counts_it() {
    for (slow, wait) in [(false, 1000 * 4 * 10_000), (true, 1000 * 4 * 40_000)] {
        let mut host = Host::up();
        host.write(0x0030, &[0xC0]);
        assert_eq!(host.get(0x0030), 0x40);
        if slow {
            host.write(0x0070, &[0xCE]);
            host.write(0x0030, &[0xC0]);
            assert_eq!(host.get(0x0030), 0xC0);
        }
        host.put16(0x0013, 1000);
        host.open(0, 0x02, 1);
        host.write(0x0016, &[0x01]);
        host.arrive(&udp_frame(9, 1, b"x"));
        assert!(host.chip.interrupt_low());
        host.write(sn(0, 0x02), &[0xFF]);
        assert!(!host.chip.interrupt_low());
        host.arrive(&udp_frame(9, 1, b"x"));
        assert!(!host.chip.interrupt_low());
        host.run(wait - 1);
        assert!(!host.chip.interrupt_low());
        host.run(1);
        assert!(host.chip.interrupt_low());
    }
}

#[test]
fn ir_has_the_sockets_and_imr_masks_intn() {
    let mut host = Host::up();
    host.open(0, 0x02, 1);
    host.open(3, 0x02, 2);
    host.write(0x0016, &[0x08]);
    host.arrive(&udp_frame(9, 1, b"x"));
    assert_eq!(host.get(0x0015), 0x01);
    assert!(!host.chip.interrupt_low());
    host.arrive(&udp_frame(9, 2, b"x"));
    assert_eq!(host.get(0x0015), 0x09);
    assert!(host.chip.interrupt_low());
    host.write(0x0030, &[0x00]);
    assert!(!host.chip.interrupt_low(), "MR2.IEN");
    host.write(0x0030, &[0x40]);
    assert!(host.chip.interrupt_low());
    host.write(0x0015, &[0xFF]);
    assert_eq!(host.get(0x0015), 0x09, "sockets' bits follow Sn_IR only");
    host.write(sn(3, 0x2C), &[0x00]);
    assert_eq!(host.get(0x0015), 0x01, "Sn_IMR masks");
    assert_eq!(host.get(sn(3, 0x02)), 0x04);
    assert!(!host.chip.interrupt_low());
    host.arrive(&arp_frame(ArpOperation::Request, PEER_MAC, IP, [0; 6], PEER));
    assert_eq!(host.get(0x0015), 0x81);
    host.write(0x0016, &[0x80]);
    assert!(host.chip.interrupt_low());
    host.write(0x0015, &[0x80]);
    assert!(!host.chip.interrupt_low());
}

#[test]
fn wake_on_lan_is_mr2_and_ir2() {
    let mut magic = vec![0xFF; 6];
    (0..16).for_each(|_| magic.extend_from_slice(&MAC));
    let mut host = Host::up();
    host.open(1, 0x02, 9);
    host.arrive(&udp_frame(1, 9, &magic));
    assert_eq!(host.get(0x0020), 0);
    host.write(0x0030, &[0x48]);
    host.write(0x0021, &[0x01]);
    host.arrive(&udp_frame(1, 9, &magic));
    assert_eq!((host.get(0x0020), host.get(0x0015)), (1, 2), "the socket has its datagram too");
    assert!(host.chip.interrupt_low());
    host.write(0x0020, &[0x01]);
    assert_eq!(host.get(0x0020), 0);
    assert!(!host.chip.interrupt_low());
}

#[test]
fn ping_block_is_mr() {
    let echo = ip_frame(MAC, PEER, IP, 1, &[8, 0, 0xF7, 0xFE, 0, 1, 0, 0]);
    let mut host = Host::up();
    host.arrive(&echo);
    assert_eq!(host.frame()[34], 0, "echo reply");
    host.write(0x0000, &[0x10]);
    host.arrive(&echo);
    assert!(host.frames().is_empty());
}

#[test]
fn mr2_silences_resets_and_unreachables() {
    let syn = PeerEnd { port: PEER_PORT, board_port: 7, seq: 1, ack: 0, window: 9 }.segment(SYN, &[]).frame();
    let mut host = Host::up();
    host.arrive(&syn);
    assert_eq!(Segment::parse(&host.frame()).flags, RST | ACK);
    host.arrive(&udp_frame(1, 7, b"x"));
    assert_eq!(host.frame()[34..36], [3, 3]);
    host.write(0x0030, &[0x70]);
    host.arrive(&syn);
    host.arrive(&udp_frame(1, 7, b"x"));
    assert!(host.frames().is_empty());
}

#[test]
fn sockets_have_separate_retry_registers() {
    let mut host = Host::up();
    host.put16(sn(0, 0x32), 100);
    host.write(sn(0, 0x34), &[1]);
    host.open(0, 0x02, 1);
    host.open(1, 0x02, 2);
    assert_eq!((host.get16(sn(0, 0x32)), host.get(sn(0, 0x34))), (100, 1));
    assert_eq!((host.get16(sn(1, 0x32)), host.get(sn(1, 0x34))), (2000, 7), "RTR and RCR");
    for (n, requests, time) in [(0, 2, 2 * 10 * MS), (1, 8, 8 * 200 * MS)] {
        host.write(sn(n, 0x0C), &PEER);
        host.put16(sn(n, 0x10), 9);
        host.send(n, b"x");
        host.run(time - 1);
        assert_eq!(host.get(sn(n, 0x02)), 0);
        assert_eq!(host.frames().len(), requests);
        host.run(1);
        assert_eq!(host.get(sn(n, 0x02)), IR_TIMEOUT);
    }
}

#[test]
fn the_counter_counts_100_us() {
    let mut host = Host::up();
    host.write(0x0088, &[0]);
    host.run(100 * US - 1);
    assert_eq!(host.get16(0x0082), 0);
    host.run(1);
    assert_eq!(host.get16(0x0082), 1);
    host.run(0x1_0000 * 100 * US);
    assert_eq!(host.get16(0x0082), 1);
    host.write(0x0088, &[0]);
    assert_eq!(host.get16(0x0082), 0);
}

#[test]
fn macraw_filters() {
    // Sn_MR, Sn_MR2, and which frames are accepted: broadcast, multicast, another's unicast, IPv6 to us.
    for (mr, mr2, expected) in [
        (0x04, 0x00, [true, true, true, true]),
        (0x44, 0x00, [true, true, false, true]),
        (0x04, 0x40, [false, true, true, true]),
        (0x04, 0x20, [true, false, true, true]),
        (0x04, 0x10, [true, true, true, false]),
        (0x84, 0x00, [true, true, true, true]),
    ] {
        let frames = [([0xFF; 6], 0x1234), ([1, 0, 0x5E, 0, 0, 9], 0x1234), ([2; 6], 0x1234), (MAC, 0x86DD)];
        for ((to, ethertype), got) in frames.into_iter().zip(expected) {
            let mut host = Host::up();
            host.write(sn(0, 0x2F), &[mr2]);
            host.open(0, mr, 0);
            host.arrive(&ethernet(to, PEER_MAC, ethertype, &[0; 46]));
            assert_eq!(host.get(sn(0, 0x02)) == IR_RECV, got, "{mr:#04x} {mr2:#04x} {to:?}");
        }
    }
}

#[test]
fn igmp_commands_join_and_leave() {
    let mut host = Host::up();
    host.write(sn(1, 0x0C), &[224, 1, 2, 3]);
    host.open(1, 0x82, 5);
    assert_eq!(host.frame()[38], 0x16, "OPEN joins");
    host.command(1, 0x24);
    assert_eq!(host.frame()[38], 0x17);
    host.command(1, 0x24);
    assert!(host.frames().is_empty(), "gone already");
    host.command(1, 0x23);
    assert_eq!(host.frame()[38], 0x16);
    host.open(2, 0x02, 6);
    host.command(2, 0x23);
    assert!(host.frames().is_empty(), "not a multicast socket");
}

#[test]
fn unmodelled_features_are_reported() {
    let mut host = Host::up();
    host.open(0, 0x05, 0);
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("W5100S S0_MR PPPoE"));
    assert_eq!(host.chip.take_unmodelled(), None);
    host.write(sn(1, 0x2F), &[0x02]);
    host.open(1, 0x01, 7);
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("W5100S S1_MR2.FPSH"));
    host.write(0x0072, &[0x53]);
    host.write(0x0047, &[0xC1]);
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("W5100S PHYCR1.WOL"));
    host.write(0x003F, &[4]);
    host.write(0x0044, &[0x02]);
    assert_eq!(host.chip.take_unmodelled().as_deref(), Some("W5100S PHY register 4"));
}
