use sd_card::{Direction, Wear};
use sim::{PS_PER_MS, PS_PER_NS, PS_PER_US, SpiDevice};

use crate::host::{BLOCKS, BYTE, Host, SDHC, SDSC, config, pattern};

#[test]
fn a_block_arrives_after_the_access_time() {
    let config = config(SDHC, Wear::default());
    config.medium.write(7 * 512, &pattern(3));
    let mut host = Host::ready(&config);
    assert_eq!(host.command(17, 7), 0);
    let (token, waited) = host.token();
    assert_eq!(token, 0xfe);
    // Published latency of 402 to 646 us, of which HOST_US are the host's.
    assert!((225 * PS_PER_US..471 * PS_PER_US).contains(&waited), "{waited}");
    assert_eq!(host.take(512), pattern(3));
    host.take(2);
    assert_eq!(host.take(3), [0xff; 3]);

    // Another card with the same seed takes exactly the same time.
    let mut again = Host::ready(&config);
    again.command(17, 7);
    assert_eq!(again.token().1, waited);
}

#[test]
fn blocks_are_sent_until_cmd12() {
    let config = config(SDHC, Wear::default());
    for n in 0..4 {
        config.medium.write((100 + u64::from(n)) * 512, &pattern(n));
    }
    let mut host = Host::ready(&config);
    assert_eq!(host.command(18, 100), 0);
    for n in 0..3 {
        assert_eq!(host.block(512), pattern(n));
    }
    assert_eq!(host.token(), (0xfe, 63 * BYTE), "20 us between blocks");
    host.take(100);
    assert_eq!(host.command(12, 0), 0, "in the middle of the fourth");
    assert_eq!(host.take(4000), [0xff; 4000]);
    assert_eq!(host.command(13, 0), 0);
    assert_eq!(host.take(1), [0]);
}

#[test]
fn a_block_waits_while_the_card_is_deselected() {
    let config = config(SDHC, Wear::default());
    config.medium.write(0, &pattern(9));
    let mut host = Host::ready(&config);
    host.command(18, 0);
    let now = host.now;
    host.card.select(now, false);
    host.wait(PS_PER_MS);
    let now = host.now;
    host.card.select(now, true);
    assert_eq!(host.block(512), pattern(9));
}

#[test]
fn reads_beyond_the_end_fail() {
    let mut host = Host::ready(&config(SDHC, Wear::default()));
    assert_eq!(host.command(17, BLOCKS as u32), 0x40);
    assert_eq!(host.command(17, u32::MAX), 0x40);
    assert_eq!(host.command(24, BLOCKS as u32), 0x40);
    assert_eq!(host.command(18, BLOCKS as u32 - 1), 0);
    host.block(512);
    assert_eq!(host.token().0, 0x08, "out of range");
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x80));
    assert_eq!((host.command(13, 0), host.byte(0xff)), (0, 0x00), "it was read");
}

#[test]
fn a_standard_card_counts_bytes_and_reads_parts_of_blocks() {
    let config = config(SDSC, Wear::default());
    config.medium.write(7 * 512, &pattern(3));
    let mut host = Host::ready(&config);
    assert_eq!(host.command(17, 7 * 512), 0);
    assert_eq!(host.block(512), pattern(3));
    assert_eq!(host.command(17, 7 * 512 + 1), 0x20, "reads do not cross blocks");
    assert_eq!(host.command(16, 16), 0);
    assert_eq!(host.command(17, 7 * 512 + 32), 0);
    assert_eq!(host.block(16), pattern(3)[32..48]);
    assert_eq!(host.command(24, 0), 0x40, "parts of blocks cannot be written");
    assert_eq!([0, 513, u32::MAX].map(|length| host.command(16, length)), [0x40; 3]);
    assert_eq!(host.command(16, 512), 0);
    assert_eq!(host.command(24, 0), 0);
}

#[test]
fn cmd16_changes_nothing_on_a_high_capacity_card() {
    let mut host = Host::ready(&config(SDHC, Wear::default()));
    assert_eq!(host.command(16, 16), 0);
    assert_eq!(host.command(17, 0), 0);
    host.block(512);
}

#[test]
fn the_bytes_of_a_block_are_timed() {
    let mut host = Host::ready(&config(SDHC, Wear::default()));
    host.command(17, 0);
    host.token();
    for n in 0..512 {
        host.byte(0xff);
        if n == 99 {
            host.wait(1750 * PS_PER_NS - BYTE);
        }
    }
    host.take(2);
    let read = host.card.usage().of(Direction::Read);
    assert_eq!((read.blocks, read.gaps.count()), (1, 511));
    assert_eq!(read.gaps.spread(), Some([BYTE, (510 * BYTE + 1750 * PS_PER_NS) / 511, 1750 * PS_PER_NS]));
    assert_eq!(read.gaps.median_ns(), Some(320));
    let bins = read.gaps.bins();
    assert_eq!((bins[2], bins[7], bins.iter().sum::<u64>()), (510, 1, 511));
}
