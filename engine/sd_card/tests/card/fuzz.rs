use proptest::prelude::*;
use sd_card::{Card, CardConfig, Medium, Wear};
use sim::snapshot::{restore, save};
use sim::{Device, PS_PER_MS, PS_PER_NS, SpiDevice};

use crate::host::{Host, SDHC, SDSC, config};

fn mosi() -> impl Strategy<Value = Vec<u8>> {
    let command =
        (0u8..64, any::<u32>().prop_map(|n| n >> (n & 31)), any::<bool>()).prop_map(|(index, argument, fits)| {
            let mut bytes = vec![0x40 | index];
            bytes.extend(argument.to_be_bytes());
            bytes.push(if fits { sd_card::crc7(&bytes) } else { 0x01 });
            bytes.extend([0xff; 12]);
            bytes
        });
    let data = (prop_oneof![Just(0xfeu8), Just(0xfc), Just(0xfd)], 0usize..530).prop_map(|(token, length)| {
        let mut bytes = vec![token];
        bytes.resize(1 + length, 0x55);
        bytes
    });
    prop_oneof![
        4 => command,
        1 => data,
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (0usize..700).prop_map(|count| vec![0xff; count]),
    ]
}

fn saved(card: &Card) -> Vec<u8> {
    let mut bytes = Vec::new();
    save(card, &mut bytes);
    bytes
}

/// Returns a new card with the state of another, and with another memory.
fn restored(card: &Card, config: &CardConfig) -> Card {
    let (bytes, mut again) = (saved(card), Card::new(&fresh(config)));
    let mut from = &bytes[..];
    assert_eq!((restore(&mut again, &mut from), from.len()), (Ok(()), 0));
    again
}

fn fresh(config: &CardConfig) -> CardConfig {
    CardConfig { medium: Medium::new(config.medium.blocks()), ..config.clone() }
}

/// Returns the answers. With `again`, the card is restored from a snapshot before each step.
fn run(card: &mut Card, steps: &[(Vec<u8>, u64, bool)], mut now: u64, again: Option<&CardConfig>) -> Vec<u8> {
    let mut answers = Vec::new();
    for (bytes, pause_ns, deselect) in steps {
        if let Some(config) = again {
            *card = restored(card, config);
        }
        if *deselect {
            card.select(now, false);
            card.select(now, true);
        }
        for &byte in bytes {
            now += 320 * PS_PER_NS;
            answers.push(card.exchange(now, byte));
        }
        now += pause_ns * PS_PER_NS;
        card.advance(now);
        assert!(card.next_event().is_none_or(|at| at > now));
        card.take_unmodelled();
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any input the card answers, equally each time, also if it is restored from snapshots, and works again after
    /// CMD0.
    #[test]
    fn any_input_is_survived(
        steps in proptest::collection::vec((mosi(), 0u64..3_000_000, any::<bool>()), 1..40),
        standard: bool, started: bool, protected: bool,
    ) {
        let kind = if standard { SDSC } else { SDHC };
        let wear = Wear { write_protected: protected, good_writes: Some(5), corrupt_one_in: Some(4) };
        let [first, second] = [false, true].map(|again| {
            let config = config(kind, wear);
            let mut host = if started { Host::ready(&config) } else { Host::new(&config) };
            let answers = run(&mut host.card, &steps, host.now, again.then_some(&config));
            let state = saved(&host.card);
            let end = host.now + 3_600_000 * PS_PER_MS;
            host.now = end;
            host.card.select(end, true);
            // At most the rest of a block is still in transfer.
            host.take(600);
            host.wait(1000 * PS_PER_MS);
            assert_eq!(host.command(0, 0), 0x01);
            (answers, state)
        });
        prop_assert_eq!(first, second);
    }
}
