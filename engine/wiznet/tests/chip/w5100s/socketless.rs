//! SLCR: ARP and PING without a socket.

use smoltcp::wire::{ArpOperation, ArpRepr, Icmpv4Packet, Icmpv4Repr};

use super::host::Host;
use crate::support::*;

const SLCR: u16 = 0x4C;
const SLIR: u16 = 0x5F;

fn asks_for(frame: &[u8], ip: [u8; 4]) {
    let ArpRepr::EthernetIpv4 { operation, target_protocol_addr, .. } = arp_of(frame) else { panic!("no ARP") };
    assert_eq!((operation, target_protocol_addr.octets()), (ArpOperation::Request, ip));
}

fn host(command: u8, target: [u8; 4]) -> Host {
    let mut host = Host::up();
    host.write(0x50, &target);
    host.write(0x5A, &[0x12, 0x34, 0xAB, 0xCD]);
    host.write(0x4F, &[2]);
    host.write(0x5E, &[0x07]);
    host.write(SLCR, &[command]);
    host
}

fn answer_arp(host: &mut Host, ip: [u8; 4]) {
    host.arrive(&arp_frame(ArpOperation::Reply, PEER_MAC, ip, MAC, IP));
}

/// Takes the waiting echo request, and returns its answer.
fn answered(frame: &[u8], id: u16) -> Vec<u8> {
    let ip = ip_of(frame);
    let packet = Icmpv4Packet::new_checked(ip.payload()).unwrap();
    assert!(packet.verify_checksum());
    assert_eq!((packet.echo_ident(), packet.echo_seq_no()), (0xABCD, 0x1234));
    let repr = Icmpv4Repr::EchoReply { ident: id, seq_no: 0x1234, data: packet.data() };
    let mut bytes = vec![0; repr.buffer_len()];
    repr.emit(&mut Icmpv4Packet::new_unchecked(&mut bytes), &Default::default());
    ip_frame(MAC, ip.dst_addr().octets(), IP, 1, &bytes)
}

#[test]
fn arp_finds_the_hardware_address() {
    let mut host = host(0x02, PEER);
    assert_eq!(host.get(SLCR), 0x02, "still at it");
    asks_for(&host.frame(), PEER);
    answer_arp(&mut host, GATEWAY);
    assert_eq!(host.get(SLIR), 0, "another's answer");
    answer_arp(&mut host, PEER);
    assert_eq!((host.get(SLIR), host.get(SLCR)), (0x02, 0));
    assert_eq!(host.read(0x54, 6), PEER_MAC);
    assert!(host.chip.interrupt_low());
    host.write(SLIR, &[0x02]);
    assert_eq!(host.get(SLIR), 0);
    assert!(!host.chip.interrupt_low());
    assert_eq!(host.chip.next_event(), None);
}

#[test]
fn ping_begins_with_arp_and_ends_with_its_echo() {
    let mut host = host(0x01, PEER);
    asks_for(&host.frame(), PEER);
    answer_arp(&mut host, PEER);
    let request = host.frame();
    host.arrive(&answered(&request, 1));
    assert_eq!(host.get(SLIR), 0, "another's id");
    host.arrive(&answered(&request, 0xABCD));
    assert_eq!((host.get(SLIR), host.get(SLCR)), (0x01, 0));
}

#[test]
fn other_subnets_go_through_the_gateway() {
    let mut host = host(0x01, [8, 8, 8, 8]);
    asks_for(&host.frame(), GATEWAY);
    answer_arp(&mut host, GATEWAY);
    let request = host.frame();
    assert_eq!(ip_of(&request).dst_addr().octets(), [8, 8, 8, 8]);
    host.arrive(&answered(&request, 0xABCD));
    assert_eq!(host.get(SLIR), 0x01);
}

#[test]
fn slrtr_and_slrcr_bound_both_commands() {
    for answered in [false, true] {
        let mut host = host(0x01, PEER);
        host.frame();
        if answered {
            answer_arp(&mut host, PEER);
            assert_eq!(host.frames().len(), 1);
        }
        host.run(600 * MS - 1);
        assert_eq!(host.frames().len(), 2, "repeated twice");
        assert_eq!(host.get(SLIR), 0);
        host.run(1);
        assert_eq!((host.get(SLIR), host.get(SLCR)), (0x04, 0));
        assert!(host.frames().is_empty());
    }
}

#[test]
fn one_command_at_a_time() {
    let mut host = host(0x02, PEER);
    host.frame();
    host.write(SLCR, &[0x01]);
    assert!(host.frames().is_empty());
    answer_arp(&mut host, PEER);
    assert_eq!(host.get(SLIR), 0x02);
    host.write(SLCR, &[0x40]);
    assert_eq!(host.get(SLCR), 0, "no command");
    host.write(SLCR, &[0x02]);
    host.write(0x0000, &[0x80]);
    assert_eq!(host.chip.next_event(), None, "a reset ends it");
}
