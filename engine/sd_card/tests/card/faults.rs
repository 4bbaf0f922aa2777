use sd_card::{Wear, crc16};

use crate::host::{Host, SDHC, config, pattern};

#[test]
fn a_write_protected_card_refuses_writes_and_keeps_its_data() {
    let config = config(SDHC, Wear { write_protected: true, ..Wear::default() });
    config.medium.write(512, &pattern(9));
    let mut host = Host::ready(&config);
    assert_eq!(host.command(9, 0), 0);
    assert_eq!(host.block(16)[14] & 0x10, 0x10);
    assert_eq!(host.command(24, 1), 0);
    assert_eq!(host.send(0xfe, &pattern(1)), 0xed);
    assert_eq!(host.byte(0xff), 0xff, "it is not busy afterwards");
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x20));
    assert_eq!([host.command(32, 1), host.command(33, 1), host.command(38, 0)], [0; 3]);
    host.busy();
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x20));
    assert_eq!(host.command(17, 1), 0);
    assert_eq!(host.block(512), pattern(9));
}

#[test]
fn a_worn_card_writes_until_it_has_no_spare_blocks() {
    let mut host = Host::ready(&config(SDHC, Wear { good_writes: Some(2), ..Wear::default() }));
    for (block, answer) in [(1, 0xe5), (2, 0xe5), (3, 0xed), (1, 0xed)] {
        assert_eq!(host.command(24, block), 0);
        assert_eq!(host.send(0xfe, &pattern(1)), answer);
        host.busy();
    }
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x04));
    assert_eq!(host.command(17, 2), 0);
    assert_eq!(host.block(512), pattern(1));
}

#[test]
fn the_checksum_detects_a_wrong_bit_on_the_wire() {
    let config = config(SDHC, Wear { corrupt_one_in: Some(3), ..Wear::default() });
    config.medium.write(0, &pattern(1));
    let mut host = Host::ready(&config);
    let fits: Vec<bool> = (0..6)
        .map(|_| {
            host.command(17, 0);
            host.token();
            let data = host.take(512);
            let fits = host.take(2) == crc16(&data).to_be_bytes();
            assert_eq!(fits, data == pattern(1));
            fits
        })
        .collect();
    assert_eq!(fits, [true, true, false, true, true, false]);
}

#[test]
fn blocks_with_wrong_checksums_are_refused_after_cmd59() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    let wrong = |host: &mut Host| {
        host.command(24, 1);
        host.byte(0xfe);
        for byte in pattern(1) {
            host.byte(byte);
        }
        host.take(2);
        let answer = host.byte(0xff);
        host.busy();
        answer
    };
    assert_eq!(wrong(&mut host), 0xe5, "checks are off");
    assert_eq!(host.command(59, 1), 0);
    assert_eq!(wrong(&mut host), 0xeb);
    assert_eq!((host.command(24, 1), host.send(0xfe, &pattern(2))), (0, 0xe5));
}
