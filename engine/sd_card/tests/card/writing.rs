use sd_card::{Direction, Wear};
use sim::{Device, PS_PER_US, SpiDevice};

use crate::host::{BLOCKS, BYTE, Host, SDHC, config, pattern};

fn stored(config: &sd_card::CardConfig, block: u64) -> Vec<u8> {
    let mut data = vec![0; 512];
    config.medium.read(block * 512, &mut data);
    data
}

#[test]
fn a_block_is_stored_when_the_card_is_no_longer_busy() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    assert_eq!(host.command(24, 7), 0);
    host.take(3);
    assert_eq!(host.send(0xfe, &pattern(1)), 0xe5);
    let due = host.card.next_event().unwrap();
    assert_eq!(host.take(10), [0; 10]);
    assert_eq!(stored(&config, 7), [0; 512], "still being programmed");
    host.card.advance(due - 1);
    assert_eq!(stored(&config, 7), [0; 512]);
    host.card.advance(due);
    assert_eq!(stored(&config, 7), pattern(1));
    assert_eq!(host.card.next_event(), None);
    // Published latency of 1007 to 6896 us, of which HOST_US are the host's.
    let busy = due - host.now + 10 * BYTE;
    assert!((830 * PS_PER_US..6721 * PS_PER_US).contains(&busy), "{busy}");
}

#[test]
fn blocks_are_accepted_until_the_stop_token() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    assert_eq!(host.app(23, 3), 0);
    assert_eq!(host.command(25, 100), 0);
    for n in 0..3 {
        host.take(1);
        assert_eq!(host.send(0xfc, &pattern(n)), 0xe5);
        // Busy from the last bit of the checksum; the card answers in the first byte.
        assert_eq!(host.busy(), ((50 * PS_PER_US).div_ceil(BYTE) - 1) * BYTE);
    }
    host.byte(0xfd);
    assert!(host.busy() > 800 * PS_PER_US);
    for n in 0..3 {
        assert_eq!(stored(&config, 100 + u64::from(n)), pattern(n));
    }
    assert_eq!(host.app(22, 0), 0);
    assert_eq!(host.block(4), [0, 0, 0, 3]);
    assert_eq!(host.card.usage().of(Direction::Write).blocks, 3);
}

#[test]
fn a_power_loss_keeps_the_last_blocks_old_content() {
    let config = config(SDHC, Wear::default());
    config.medium.write(101 * 512, &pattern(99));
    let mut host = Host::ready(&config);
    host.command(25, 100);
    host.send(0xfc, &pattern(1));
    host.busy();
    host.send(0xfc, &pattern(2));
    drop(host); // busy with the second block
    assert_eq!(stored(&config, 100), pattern(1));
    assert_eq!(stored(&config, 101), pattern(99));

    let mut host = Host::ready(&config);
    assert_eq!(host.command(17, 101), 0);
    assert_eq!(host.block(512), pattern(99));
}

#[test]
fn cmd0_aborts_programming() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    host.command(24, 5);
    host.send(0xfe, &pattern(1));
    assert_eq!(host.command(59, 1), 0x00, "MISO is low");
    host.take(10);
    assert_eq!(host.command(0, 0), 0x01);
    assert_eq!(stored(&config, 5), [0; 512]);
}

#[test]
fn busy_continues_while_the_card_is_deselected() {
    let mut host = Host::ready(&config(SDHC, Wear::default()));
    host.command(24, 5);
    host.send(0xfe, &pattern(1));
    let now = host.now;
    host.card.select(now, false);
    assert_eq!(host.byte(0xff), 0xff, "another device uses the bus");
    let now = host.now;
    host.card.select(now, true);
    assert_eq!(host.byte(0xff), 0x00);
    let due = host.card.next_event().unwrap();
    host.now = due;
    assert_eq!(host.byte(0xff), 0xff);
}

#[test]
fn wrong_tokens_are_ignored() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    host.command(24, 5);
    for token in [0xfc, 0xfd, 0x00, 0xf0] {
        host.byte(token);
    }
    assert_eq!(host.send(0xfe, &pattern(1)), 0xe5);
    host.busy();
    assert_eq!(stored(&config, 5), pattern(1));
}

#[test]
fn the_last_block_is_the_end() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    assert_eq!(host.command(25, BLOCKS as u32 - 1), 0);
    assert_eq!(host.send(0xfc, &pattern(1)), 0xe5);
    host.busy();
    assert_eq!(host.send(0xfc, &pattern(2)), 0xed);
    host.byte(0xfd);
    host.byte(0xff);
    host.busy();
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x80));
    assert_eq!(stored(&config, BLOCKS - 1), pattern(1));
    assert_eq!(host.app(22, 0), 0);
    assert_eq!(host.block(4), [0, 0, 0, 1]);
}

#[test]
fn cmd12_stops_writing_too() {
    let config = config(SDHC, Wear::default());
    let mut host = Host::ready(&config);
    host.command(25, 3);
    host.send(0xfc, &pattern(1));
    host.busy();
    assert_eq!(host.command(12, 0), 0);
    host.busy();
    assert_eq!(host.send(0xfc, &pattern(2)), 0xff);
    assert_eq!(stored(&config, 3), pattern(1));
}

#[test]
fn blocks_are_erased_to_zeros() {
    let config = config(SDHC, Wear::default());
    for block in 10..15 {
        config.medium.write(block * 512, &pattern(1));
    }
    let mut host = Host::ready(&config);
    assert_eq!(host.command(38, 0), 0x10, "erase of what?");
    assert_eq!([host.command(32, 11), host.command(33, 13), host.command(38, 0)], [0; 3]);
    assert_eq!(host.busy(), ((2000 * PS_PER_US).div_ceil(BYTE) - 2) * BYTE);
    let left: Vec<bool> = (10..15).map(|block| stored(&config, block) == pattern(1)).collect();
    assert_eq!(left, [true, false, false, false, true]);
    assert_eq!([host.command(32, 13), host.command(33, 11), host.command(38, 0)], [0, 0, 0x40]);
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x40));
}
