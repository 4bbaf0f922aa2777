use sd_card::Wear;
use sim::{Device, PS_PER_MS, SpiDevice};

use crate::host::{BLOCKS, Host, SDHC, SDSC, config};

const SOUND: Wear = Wear { write_protected: false, good_writes: None, corrupt_one_in: None };

#[test]
fn nothing_is_answered_before_cmd0_with_its_checksum() {
    let mut host = Host::new(&config(SDHC, SOUND));
    assert_eq!(host.command(8, 0x1aa), 0xff);
    assert_eq!(host.raw(&[0x40, 0, 0, 0, 0, 0x97]), 0xff);
    assert_eq!(host.raw(&[0x40, 0, 0, 0, 0, 0x95]), 0x01);
}

#[test]
fn the_response_comes_after_one_byte() {
    let mut host = Host::new(&config(SDHC, SOUND));
    for byte in [0x40, 0, 0, 0, 0, 0x95] {
        assert_eq!(host.byte(byte), 0xff);
    }
    assert_eq!(host.take(4), [0xff, 0x01, 0xff, 0xff]);
}

#[test]
fn the_card_takes_time_to_start() {
    let mut host = Host::new(&config(SDHC, SOUND));
    host.command(0, 0);
    host.command(8, 0x1aa);
    host.take(4);
    assert_eq!(host.app(41, 1 << 30), 0x01);
    host.wait(99 * PS_PER_MS);
    assert_eq!(host.app(41, 1 << 30), 0x01);
    assert_eq!((host.command(58, 0), host.take(4)), (0x01, vec![0x00, 0xff, 0x80, 0x00]));
    host.wait(PS_PER_MS);
    assert_eq!(host.app(41, 1 << 30), 0x00);
    assert_eq!((host.command(58, 0), host.take(4)), (0x00, vec![0xc0, 0xff, 0x80, 0x00]));
}

#[test]
fn a_high_capacity_card_starts_only_for_a_host_that_supports_it() {
    for (version, argument) in [(true, 0), (false, 1 << 30)] {
        let mut host = Host::new(&config(SDHC, SOUND));
        host.command(0, 0);
        if version {
            host.command(8, 0x1aa);
        }
        for _ in 0..20 {
            assert_eq!(host.app(41, argument), 0x01);
            host.wait(100 * PS_PER_MS);
        }
    }
    let mut host = Host::new(&config(SDSC, SOUND));
    host.command(0, 0);
    host.app(41, 0);
    host.wait(100 * PS_PER_MS);
    assert_eq!(host.app(41, 0), 0x00, "an old card starts for every host");
    assert_eq!((host.command(58, 0), host.take(4)), (0x00, vec![0x80, 0xff, 0x80, 0x00]));
}

#[test]
fn cmd1_starts_a_card_too() {
    let mut host = Host::new(&config(SDSC, SOUND));
    host.command(0, 0);
    assert_eq!(host.command(1, 0), 0x01);
    host.wait(100 * PS_PER_MS);
    assert_eq!(host.command(1, 0), 0x00);
}

#[test]
fn cmd8_is_checked_always_and_others_after_cmd59() {
    let mut host = Host::new(&config(SDHC, SOUND));
    host.command(0, 0);
    assert_eq!(host.raw(&[0x48, 0, 0, 1, 0xaa, 0x01]), 0x09);
    assert_eq!(host.raw(&[0x48, 0, 0, 1, 0xaa, 0x87]), 0x01);
    assert_eq!(host.take(4), [0, 0, 1, 0xaa]);
    assert_eq!((host.command(8, 0x255), host.take(4)), (0x01, vec![0, 0, 0, 0x55]), "an unsupported voltage");
    assert_eq!(host.raw(&[0x77, 0, 0, 0, 0, 0x01]), 0x01);
    assert_eq!(host.command(59, 1), 0x01);
    assert_eq!(host.raw(&[0x77, 0, 0, 0, 0, 0x01]), 0x09);
    assert_eq!(host.raw(&[0x77, 0, 0, 0, 0, 0x65]), 0x01);
    assert_eq!(host.command(59, 0), 0x01);
    assert_eq!(host.raw(&[0x77, 0, 0, 0, 0, 0x01]), 0x01);
}

#[test]
fn data_commands_are_illegal_before_the_start() {
    let mut host = Host::new(&config(SDHC, SOUND));
    host.command(0, 0);
    for index in [9, 10, 12, 13, 16, 17, 18, 24, 25, 32, 33, 38] {
        assert_eq!(host.command(index, 0), 0x05, "CMD{index}");
    }
    let mut host = Host::ready(&config(SDHC, SOUND));
    for index in [2, 3, 4, 5, 7, 11, 12, 14, 15, 19, 26, 31, 40, 41, 43, 54, 57, 63] {
        assert_eq!(host.command(index, 0), 0x04, "CMD{index}");
    }
}

#[test]
fn registers_are_sent_as_blocks_with_checksums() {
    let mut host = Host::ready(&config(SDHC, SOUND));
    assert_eq!(host.command(9, 0), 0);
    let csd = host.block(16);
    assert_eq!(csd[0] >> 6, 1);
    assert_eq!((u64::from(csd[8]) << 8 | u64::from(csd[9])) + 1, BLOCKS / 1024);
    assert_eq!(csd[15], sd_card::crc7(&csd[..15]));
    assert_eq!(host.command(10, 0), 0);
    let cid = host.block(16);
    assert_eq!((&cid[1..8], cid[15]), (&b"PBPBENC"[..], sd_card::crc7(&cid[..15])));
    assert_eq!(host.app(51, 0), 0);
    assert_eq!(host.block(8)[..2], [0x02, 0x35]);
    assert_eq!((host.app(13, 0), host.byte(0xff)), (0, 0));
    assert_eq!(host.block(64)[8], 4);
}

#[test]
fn a_deselected_card_neither_listens_nor_answers() {
    let mut host = Host::ready(&config(SDHC, SOUND));
    let now = host.now;
    host.card.select(now, false);
    assert_eq!(host.command(13, 0), 0xff);
    let now = host.now;
    host.card.select(now, true);
    assert_eq!(host.command(13, 0), 0x00);
}

#[test]
fn half_a_command_is_ignored() {
    let mut host = Host::ready(&config(SDHC, SOUND));
    for byte in [0x40 | 16, 0, 0] {
        host.byte(byte);
    }
    let now = host.now;
    host.card.select(now, false);
    host.card.select(now, true);
    assert_eq!(host.command(13, 0), 0x00);
}

#[test]
fn unmodelled_commands_are_named() {
    let mut host = Host::ready(&config(SDHC, SOUND));
    assert_eq!(host.card.take_unmodelled(), None);
    assert_eq!(host.command(6, 0), 0x04);
    assert_eq!(host.card.take_unmodelled().as_deref(), Some("SD card: CMD6 SWITCH_FUNC"));
    assert_eq!(host.app(38, 0), 0x04);
    assert_eq!(host.card.take_unmodelled().as_deref(), Some("SD card: ACMD38 SECURE_ERASE"));
}

#[test]
fn cmd0_starts_over() {
    let mut host = Host::ready(&config(SDHC, SOUND));
    assert_eq!(host.command(59, 1), 0);
    assert_eq!(host.command(18, 0), 0);
    assert_eq!(host.command(0, 0), 0x01);
    assert_eq!(host.raw(&[0x7a, 0, 0, 0, 0, 0x01]), 0x01, "checksums are off again");
    assert_eq!(host.take(4)[0], 0x00, "the card is not ready");
    assert_eq!(host.take(2000), [0xff; 2000], "no block is in transfer");
}

#[test]
fn commands_are_logged_by_name() {
    let mut host = Host::ready(&config(SDHC, SOUND));
    host.card.set_log(true);
    host.command(17, 5);
    host.block(512);
    host.command(99 & 0x3f, 0);
    host.app(23, 8);
    let told: Vec<(String, String)> = host.card.take_log().into_iter().map(|each| (each.name, each.meaning)).collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(name, meaning)| (&name[..], &meaning[..])).collect();
    assert_eq!(
        told,
        [
            ("CMD17 READ_SINGLE_BLOCK", "ok"),
            ("block 5", ""),
            ("CMD35", "illegal"),
            ("CMD55 APP_CMD", "ok"),
            ("ACMD23 SET_WR_BLK_ERASE_COUNT", "ok"),
        ]
    );
}
