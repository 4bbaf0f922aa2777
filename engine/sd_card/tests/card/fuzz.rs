use sd_card::{Card, CardConfig, Medium, Wear};
use sim::snapshot::{restore, save};
use sim::{Device, PS_PER_MS, PS_PER_NS, SpiDevice, SplitMix64, asked};

use crate::host::{Host, SDHC, SDSC, config};

/// Draws what a host sends.
fn mosi(random: &mut SplitMix64) -> Vec<u8> {
    match random.below(7) {
        0..4 => {
            let argument = random.draw() as u32;
            let mut bytes = vec![0x40 | random.below(64) as u8];
            bytes.extend((argument >> (argument & 31)).to_be_bytes());
            bytes.push(if random.below(2) == 0 { sd_card::crc7(&bytes) } else { 0x01 });
            bytes.extend([0xff; 12]);
            bytes
        }
        4 => {
            let mut bytes = vec![[0xfe, 0xfc, 0xfd][random.below(3) as usize]];
            bytes.resize(1 + random.below(530) as usize, 0x55);
            bytes
        }
        5 => (0..random.below(20)).map(|_| random.draw() as u8).collect(),
        _ => vec![0xff; random.below(700) as usize],
    }
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

/// For any input the card answers, equally each time, also if it is restored from snapshots, and works again after
/// CMD0. `PORTBENCH_FUZZ_SEED` makes other inputs.
#[test]
fn any_input_is_survived() {
    let random = &mut SplitMix64::new(asked("PORTBENCH_FUZZ_SEED", 1));
    for number in 0..200 {
        let steps: Vec<_> =
            (0..=random.below(39)).map(|_| (mosi(random), random.below(3_000_000), random.below(2) == 0)).collect();
        let [standard, started, protected] = [(); 3].map(|()| random.below(2) == 0);
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
        assert!(first == second, "input {number}: {steps:?}");
    }
}
