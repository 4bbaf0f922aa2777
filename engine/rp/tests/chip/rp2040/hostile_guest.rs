//! A hostile guest: random code from reset, in ROM, SRAM and flash, with registers that point at every block of the
//! chip. It can neither crash the host (overflow checks are on in tests) nor keep it busy for long.

use super::common::Random;
use chip::mcu::Mcu;
use chip::{Peripheral, Write};
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::core::{Core, State};
use rp::rp2040::world::Nothing;
use rp::rp2040::{Chip, ChipConfig, RunEnd};
use sim::snapshot::Torn;
use sim::{PS_PER_MS, PS_PER_US, asked};
use std::time::{Duration, Instant};

/// Host time limit of one guest.
const LIMIT: Duration = Duration::from_secs(20);

impl Random {
    /// Returns an address that a faulty program might use.
    fn address(&mut self) -> u32 {
        let base = match self.below(12) {
            0..4 => 0x2000_0000 + self.below(0x4_2000),
            4 => 0x1000_0000 + 0x100_0000 * self.below(9) + self.below(0x20_0000),
            5..8 => 0x4000_0000 + 0x4000 * self.below(28) + 4 * self.below(64) + 0x1000 * self.below(4),
            8 => 0x5000_0000 + 0x10_0000 * self.below(5) + 4 * self.below(64),
            9 => 0xd000_0000 + 4 * self.below(96),
            10 => 0xe000_e000 + 4 * self.below(0x400),
            _ => self.next(),
        };
        if self.below(8) == 0 { base } else { base & !3 }
    }

    /// Returns mostly instructions that continue, so that a guest runs for long.
    fn halfword(&mut self) -> u16 {
        let r = self.next() as u16;
        match self.below(16) {
            0..3 => r,
            3..7 => 0x6000 | (r & 0x1fff),
            7 => 0x5000 | (r & 0x0fff),
            8 => 0x4800 | (r & 0x07ff),
            9..12 => r & 0x3fff,
            12 => 0x4000 | (r & 0x03ff),
            13 => 0xd000 | (r & 0x0dff),
            14 => 0xe000 | (r & 0x07ff),
            _ => [0xbf20, 0xbf30, 0xbf40, 0xb662, 0xb672, 0xb5ff, 0xbdff, 0xc9ff, 0xc1ff, 0x4770, 0x4708, 0x4798]
                [self.below(12) as usize],
        }
    }

    /// Code with address literals between the instructions.
    fn fill(&mut self, memory: &mut [u8]) {
        for word in memory.chunks_exact_mut(4) {
            let value = if self.below(4) == 0 {
                self.address() | u32::from(self.below(2) == 0)
            } else {
                u32::from(self.halfword()) | u32::from(self.halfword()) << 16
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// A HardFault handler that continues at another address in SRAM after each fault.
const GO_ON: [u16; 16] = [
    0x4805, // LDR R0, =0x20007ff0
    0x6801, // LDR R1, [R0]
    0x3162, // ADDS R1, #0x62
    0x6001, // STR R1, [R0]
    0x0449, // LSLS R1, #17
    0x0c89, // LSRS R1, #18
    0x0049, // LSLS R1, #1
    0x4a03, // LDR R2, =0x20000000
    0x1889, // ADDS R1, R2
    0x9106, // STR R1, [SP, #24]
    0x4770, // BX LR
    0xbf00, 0x7ff0, 0x2000, 0x0000, 0x2000,
];
const GO_ON_AT: usize = 0x3f00;

/// The results of a guest.
struct Guest {
    instructions: u64,
    unmodelled: bool,
    /// Registers and cycles of both cores.
    state: Vec<u64>,
    /// SRAM, flags, and the counters of the flash cache and the cores.
    rest: (Vec<u8>, Vec<u32>),
    blocks: usize,
}

/// Ways to execute the cores' code.
#[derive(Clone, Copy, PartialEq)]
enum Cores {
    AsUsual,
    Interpreted,
    /// Everything translatable is translated.
    Translated,
    /// The chip goes on as a new one restored from its snapshot, again and again.
    Restored,
}

impl Cores {
    fn chip(self, config: &ChipConfig) -> Chip {
        let mut chip = Chip::new(config, Nothing);
        match self {
            Self::AsUsual => {}
            Self::Interpreted => chip.interpret_only(),
            Self::Translated | Self::Restored => chip.translate_at_once(),
        }
        chip
    }
}

fn snapshot(chip: &Chip) -> Vec<u8> {
    let mut bytes = Vec::new();
    chip.save(&mut bytes).expect("no debugger");
    bytes
}

/// BUSCTRL's events of all accesses to SRAM0 and SRAM5.
const SRAM0: u32 = 0x0f;
const SRAM5: u32 = 0x05;

/// Runs a guest for `duration_us`, with each of BUSCTRL's counters counting its event of `counting`.
fn guest(seed: u64, duration_us: u64, counting: &[u32], how: Cores) -> Guest {
    let mut r = Random(seed);
    let mut rom = vec![0; 16 * 1024];
    r.fill(&mut rom);
    // Vectors: code in ROM, SRAM or flash.
    for number in 0..48 {
        let target = match r.below(3) {
            0 => r.below(0x3000) + 0x200,
            1 => 0x2000_0000 + r.below(0x8000),
            _ => 0x1000_0000 + r.below(0x8000),
        };
        let value = if number == 0 { 0x2000_0000 + r.below(0x4_2001) } else { target | 1 };
        rom[4 * number..][..4].copy_from_slice(&value.to_le_bytes());
    }
    if r.below(4) != 0 {
        rom[12..16].copy_from_slice(&(GO_ON_AT as u32 | 1).to_le_bytes());
        for (i, halfword) in GO_ON.iter().enumerate() {
            rom[GO_ON_AT + 2 * i..][..2].copy_from_slice(&halfword.to_le_bytes());
        }
    }
    let mut flash = vec![0; 64 * 1024];
    r.fill(&mut flash);
    let config = ChipConfig { bootrom: &rom, flash_size: 64 * 1024, flash: &flash, ..ChipConfig::default() };
    let mut chip = how.chip(&config);
    for (&event, offset) in counting.iter().zip([0x0c, 0x14, 0x1c, 0x24]) {
        chip.bus.own.busctrl.write(&mut chip.bus.sys, offset, Write::normal(event));
    }
    let mut ram = vec![0; 0x8000];
    r.fill(&mut ram);
    for (i, word) in ram.chunks_exact(4).enumerate() {
        chip.mem.set_ram_u32(4 * i, u32::from_le_bytes(word.try_into().expect("4 bytes")));
    }
    let wild = |core: &mut Core, r: &mut Random| core.regs[..13].fill_with(|| r.address());
    for core in &mut chip.cores {
        wild(core, &mut r);
    }
    let started = Instant::now();
    let until = duration_us * PS_PER_US;
    let mut unmodelled = false;
    // A guest may reset itself, and a slice may end anywhere.
    while chip.now() < until {
        let slice = PS_PER_US * u64::from(1 + r.below(200));
        let end = chip.run_until((chip.now() + slice).min(until));
        unmodelled |= matches!(end, RunEnd::Unmodelled(_));
        assert!(
            started.elapsed() < LIMIT,
            "seed {seed:#x}: {} us simulated in {LIMIT:?}, {end:?}, {:?}",
            chip.now() / PS_PER_US,
            chip.cores.each_ref().map(|c| (c.pc, c.state, c.instructions)),
        );
        if unmodelled {
            break;
        }
        if how == Cores::Restored {
            let bytes = snapshot(&chip);
            chip = how.chip(&config);
            let mut from = &bytes[..];
            assert_eq!((chip.restore(&mut from), from.len()), (Ok(()), 0), "seed {seed:#x}");
            assert!(snapshot(&chip) == bytes, "seed {seed:#x}: another state at {}", chip.now());
        }
        // Restart the cores that are locked up.
        for core in &mut chip.cores {
            if core.state == State::LockedUp {
                core.reset(&chip.mem, 0);
                core.cycles = chip.bus.sys.cycle;
                wild(core, &mut r);
            }
        }
    }
    let mut counts: Vec<u32> =
        [0x08, 0x10, 0x18, 0x20].map(|offset| chip.bus.own.busctrl.read(&mut chip.bus.sys, offset)).into();
    for counter in [0x1400_000c, 0x1400_0010] {
        counts.extend(chip.bus.read(&mut chip.mem, Master::Core(0), counter, 4).ok());
    }
    for core in &chip.cores {
        counts.extend([
            core.apsr(),
            core.ipsr,
            core.flash_instructions as u32,
            core.rom_instructions as u32,
            core.psp(),
        ]);
    }
    let state = |c: &Core| c.regs.map(u64::from).into_iter().chain([u64::from(c.pc), c.cycles, c.instructions]);
    Guest {
        instructions: chip.cores.iter().map(|c| c.instructions).sum(),
        unmodelled,
        state: chip.cores.iter().flat_map(state).collect(),
        rest: (chip.mem.ram().to_vec(), counts),
        blocks: chip.mem.translated_blocks(),
    }
}

/// `PORTBENCH_FUZZ_LONG=1` runs forty times as many guests.
#[test]
fn random_code_neither_crashes_nor_hangs_the_host() {
    let guests = if std::env::var_os("PORTBENCH_FUZZ_LONG").is_some() { 60_000 } else { 1500 };
    let mut instructions = 0;
    let mut unmodelled = 0;
    for seed in 1..=guests {
        let guest = guest(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15), 2000, &[], Cores::AsUsual);
        instructions += guest.instructions;
        unmodelled += u32::from(guest.unmodelled);
    }
    println!("{instructions} instructions, {unmodelled} of {guests} guests used something unmodelled");
    assert!(instructions > 100_000, "{instructions}: the guests barely ran");
}

/// Counting: the cores report every access to the active counters, by separate code paths.
#[test]
fn counting_accesses_changes_nothing() {
    let mut instructions = 0;
    for seed in 1..=200u64 {
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let plain = guest(seed, 500, &[], Cores::AsUsual);
        let counting = guest(seed, 500, &[SRAM0; 4], Cores::AsUsual);
        assert_eq!(plain.state, counting.state, "seed {seed:#x}");
        instructions += plain.instructions;
    }
    assert!(instructions > 20_000, "{instructions}: the guests barely ran");
}

/// Translated code has the same effects as the interpreter. `PORTBENCH_FUZZ_PROGRAMS` is the number of guests, and
/// `PORTBENCH_FUZZ_SEED` makes others.
#[test]
fn translated_code_equals_the_interpreter() {
    let (guests, first) = (asked("PORTBENCH_FUZZ_PROGRAMS", 1000), asked("PORTBENCH_FUZZ_SEED", 0) << 32);
    let (mut instructions, mut blocks) = (0, 0);
    for number in first + 1..=first + guests {
        let seed = u64::wrapping_mul(number, 0xd134_2543_de82_ef95);
        let counting: &[u32] = [&[][..], &[SRAM5], &[SRAM5, SRAM5], &[SRAM0]][number as usize % 4];
        let [interpreted, translated] =
            [Cores::Interpreted, Cores::Translated].map(|how| guest(seed, 500, counting, how));
        assert_eq!(interpreted.state, translated.state, "seed {seed:#x}");
        assert!(
            interpreted.rest == translated.rest,
            "seed {seed:#x}: {:?} {:?}",
            interpreted.rest.1,
            translated.rest.1
        );
        assert_eq!(interpreted.blocks, 0);
        instructions += translated.instructions;
        blocks += translated.blocks;
    }
    println!("{instructions} instructions, {blocks} blocks at the end");
    assert!(instructions > 100 * guests, "{instructions}: the guests barely ran");
    assert!(blocks > 5 * guests as usize, "{blocks}: almost nothing was translated");
}

/// A chip restored from a snapshot goes on as the first one would. `PORTBENCH_FUZZ_LONG=1` runs forty times as many
/// guests.
#[test]
fn a_restored_chip_goes_on_in_the_same_way() {
    let guests = if std::env::var_os("PORTBENCH_FUZZ_LONG").is_some() { 12_000 } else { 300 };
    let mut instructions = 0;
    for number in 1..=guests {
        let seed = u64::wrapping_mul(number, 0xa076_1d64_78bd_642f);
        let counting: &[u32] = [&[][..], &[SRAM5], &[SRAM0]][number as usize % 3];
        let [first, restored] = [Cores::Interpreted, Cores::Restored].map(|how| guest(seed, 500, counting, how));
        assert_eq!(first.state, restored.state, "seed {seed:#x}");
        assert!(first.rest == restored.rest, "seed {seed:#x}: {:?} {:?}", first.rest.1, restored.rest.1);
        instructions += restored.instructions;
    }
    assert!(instructions > 50_000, "{instructions}: the guests barely ran");
}

#[test]
fn a_torn_snapshot_of_a_chip_is_refused() {
    let config = ChipConfig { bootrom: &[], flash_size: 64 * 1024, flash: &[1; 100], ..ChipConfig::default() };
    let chip = Chip::new(&config, Nothing);
    let bytes = snapshot(&chip);
    for len in (0..bytes.len()).filter(|len| !(1_000..bytes.len() - 3_000).contains(len) || len % 4_999 == 0) {
        assert_eq!(Chip::new(&config, Nothing).restore(&mut &bytes[..len]), Err(Torn), "{len} of {}", bytes.len());
    }
}

/// A minute of simulated time with a sleeping or locked-up core costs almost nothing.
#[test]
fn a_guest_that_sleeps_for_ever_ends_at_its_time() {
    let mut rom = vec![0; 16 * 1024];
    rom[1] = 0x20;
    rom[4..8].copy_from_slice(&0x101u32.to_le_bytes());
    // WFI in a loop.
    rom[0x100..0x104].copy_from_slice(&[0x30, 0xbf, 0xfd, 0xe7]);
    let config = ChipConfig { bootrom: &rom, flash_size: 1 << 20, flash: &[], ..ChipConfig::default() };
    let mut chip = Chip::new(&config, Nothing);
    assert_eq!(chip.run_until(60_000 * PS_PER_MS), RunEnd::Time);
    assert_eq!(chip.now(), 60_000 * PS_PER_MS);
    assert!(chip.cores[0].instructions < 10);
}
