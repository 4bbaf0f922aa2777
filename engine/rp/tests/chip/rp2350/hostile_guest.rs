//! A hostile guest: random code from reset, in ROM, SRAM and flash, with registers that point at every block of the
//! chip. It cannot crash the host (overflow checks are on in tests), and a chip restored from a snapshot goes on as the
//! first one would.

use chip::mcu::{ChipConfig, Debugged, Mcu, RunEnd};
use rp::rp2350::Rp2350;
use rp::rp2350::world::Nothing;
use sim::snapshot::Torn;
use sim::{PS_PER_US, Ps, SplitMix64, asked};

const FLASH_BYTES: usize = 64 << 10;
const ROM_BYTES: usize = 32 << 10;
/// Simulated time of a guest.
const LENGTH: Ps = 500 * PS_PER_US;

/// Returns an address that a faulty program might use.
fn address(r: &mut SplitMix64) -> u32 {
    let base = match r.below(12) {
        0..4 => 0x2000_0000 + r.below(0x8_4000) as u32,
        4 => 0x1000_0000 + 0x100_0000 * r.below(16) as u32 + r.below(0x20_0000) as u32,
        5..8 => 0x4000_0000 + 0x8000 * r.below(45) as u32 + 4 * r.below(128) as u32 + 0x1000 * r.below(4) as u32,
        8 => 0x5000_0000 + 0x10_0000 * r.below(8) as u32 + 4 * r.below(128) as u32,
        9 => 0xd000_0000 + 4 * r.below(128) as u32,
        10 => 0xe000_e000 + 4 * r.below(0x400) as u32,
        _ => r.draw() as u32,
    };
    if r.below(8) == 0 { base } else { base & !3 }
}

/// Returns mostly instructions that continue, so that a guest runs for long.
fn word(r: &mut SplitMix64) -> u32 {
    let halfword = |r: &mut SplitMix64| {
        let any = r.draw() as u32 & 0xffff;
        match r.below(8) {
            0..3 => 0x6000 | any & 0x1fff,
            3 => 0x4800 | any & 0x07ff,
            4 | 5 => any & 0x3fff,
            6 => 0x4000 | any & 0x03ff,
            _ => [0xbf20, 0xbf30, 0xbf40, 0xb662, 0xbf08, 0xb5ff, 0xbdff, 0xc9ff][r.below(8) as usize],
        }
    };
    match r.below(8) {
        0 => address(r) | r.below(2) as u32,
        1 => r.draw() as u32,
        // The instructions of 32 bits: the first halfword is the lower one.
        2..5 => 0xe800 | r.draw() as u32 & 0xffff_1fff,
        _ => halfword(r) | halfword(r) << 16,
    }
}

fn fill(r: &mut SplitMix64, memory: &mut [u8]) {
    memory.chunks_exact_mut(4).for_each(|bytes| bytes.copy_from_slice(&word(r).to_le_bytes()));
}

fn snapshot(chip: &Rp2350) -> Vec<u8> {
    let mut bytes = Vec::new();
    Mcu::save(chip, &mut bytes).expect("no debugger");
    bytes
}

/// Starts a core again, of the kind that the guest runs by now.
fn restart(chip: &mut Rp2350, core: usize) {
    match chip {
        Rp2350::Arm(chip) => {
            chip.cores[core].reset(&chip.mem, 0);
            chip.cores[core].cycles = chip.bus.sys.cycle;
        }
        Rp2350::Riscv(chip) => {
            chip.cores[core].reset();
            chip.cores[core].cycles = chip.bus.sys.cycle;
        }
        Rp2350::Switching => unreachable!("no core is replaced now"),
    }
}

fn wild(chip: &mut Rp2350, core: usize, r: &mut SplitMix64) {
    let mut registers = chip.registers(core);
    registers[..13].fill_with(|| address(r));
    chip.set_registers(core, &registers);
}

/// Runs a guest, whose chip is restored after each slice if `restored`, and whose code is translated at once or not at
/// all if that is told. Returns the instructions, and the state at the end.
fn guest(seed: u64, restored: bool, translated: Option<bool>) -> (u64, Vec<u8>) {
    let mut r = SplitMix64::new(seed);
    let (mut rom, mut flash, mut ram) = (vec![0; ROM_BYTES], vec![0; FLASH_BYTES], vec![0; 0x8000]);
    [&mut rom, &mut flash, &mut ram].into_iter().for_each(|memory| fill(&mut r, memory));
    rom[..4].copy_from_slice(&0x2004_0000_u32.to_le_bytes());
    for number in 1..68 {
        let target = [0x200 + r.below(0x6000), 0x2000_0000 + r.below(0x8000), 0x1000_0000 + r.below(0x8000)];
        let target = target[r.below(3) as usize] as u32 | 1;
        rom[4 * number..][..4].copy_from_slice(&target.to_le_bytes());
    }
    // A snapshot has all of its 8 MiB.
    let psram_csn = seed.is_multiple_of(8).then_some(19);
    let config =
        ChipConfig { bootrom: &rom, flash_size: FLASH_BYTES, psram_csn, flash: &flash, ..ChipConfig::default() };
    let mut chip = Rp2350::new(&config, Nothing);
    if let Rp2350::Arm(chip) = &mut chip {
        match translated {
            Some(true) => chip.mem.translate_at_once(),
            Some(false) => chip.mem.interpret_only(),
            None => {}
        }
    }
    assert!(chip.poke(0x2000_0000, &ram));
    (0..2).for_each(|core| wild(&mut chip, core, &mut r));
    while chip.now() < LENGTH {
        let until = (chip.now() + PS_PER_US * (1 + r.below(100))).min(LENGTH);
        if matches!(chip.run_until(until), RunEnd::Unmodelled(_)) {
            break;
        }
        if restored {
            let bytes = snapshot(&chip);
            chip = Rp2350::new(&config, Nothing);
            let mut from = &bytes[..];
            assert_eq!((Mcu::restore(&mut chip, &mut from), from.len()), (Ok(()), 0), "seed {seed}");
            assert!(snapshot(&chip) == bytes, "seed {seed}: another state at {}", chip.now());
        }
        for core in 0..2 {
            if chip.state(core) == "LockedUp" {
                restart(&mut chip, core);
                wild(&mut chip, core, &mut r);
            }
        }
    }
    ([0, 1].map(|core| chip.counts(core).0).iter().sum(), snapshot(&chip))
}

/// `PORTBENCH_FUZZ_LONG=1` runs more guests.
#[test]
fn a_restored_chip_goes_on_in_the_same_way() {
    let guests = if std::env::var_os("PORTBENCH_FUZZ_LONG").is_some() { 8_000 } else { 60 };
    let mut instructions = 0;
    for seed in 1..=guests {
        let [first, again] = [false, true].map(|restored| guest(seed, restored, None));
        assert!(first == again, "seed {seed}: {} and {} instructions", first.0, again.0);
        instructions += first.0;
    }
    println!("{instructions} instructions of {guests} guests");
    assert!(instructions > 5_000, "{instructions}: the guests barely ran");
}

/// `PORTBENCH_FUZZ_PROGRAMS` is the number of guests, and `PORTBENCH_FUZZ_SEED` makes others.
#[test]
fn translated_code_equals_the_interpreter() {
    let (guests, first) = (asked("PORTBENCH_FUZZ_PROGRAMS", 60), asked("PORTBENCH_FUZZ_SEED", 0) << 32);
    for seed in first + 1..=first + guests {
        let [plain, translated] = [false, true].map(|translated| guest(seed, false, Some(translated)));
        assert!(plain == translated, "seed {seed}: {} and {} instructions", plain.0, translated.0);
    }
}

#[test]
fn a_torn_snapshot_of_a_chip_is_refused() {
    let config = ChipConfig { bootrom: &[], flash_size: FLASH_BYTES, flash: &[1; 100], ..ChipConfig::default() };
    let bytes = snapshot(&Rp2350::new(&config, Nothing));
    for len in (0..bytes.len()).filter(|len| !(1_000..bytes.len() - 3_000).contains(len) || len % 4_999 == 0) {
        let mut chip = Rp2350::new(&config, Nothing);
        assert_eq!(Mcu::restore(&mut chip, &mut &bytes[..len]), Err(Torn), "{len} of {}", bytes.len());
    }
}
