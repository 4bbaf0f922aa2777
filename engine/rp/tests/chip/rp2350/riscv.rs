//! The chip with its RISC-V cores, which a small ROM of the tests switches to: no boot ROM and no image is needed.

use chip::mcu::{Debugged, Halt, Mcu};
use rp::rp2350::world::Nothing;
use rp::rp2350::{ChipConfig, Rp2350, RunEnd};
use sim::{PS_PER_US, Ps};

const SRAM: u32 = 0x2000_0000;
const ROM_BYTES: usize = 0x8000;
const RESET_VECTOR: usize = 0x7dfc;

/// Arm code that sets OTP.ARCHSEL and triggers the watchdog, which resets all.
const SWITCH: [u16; 10] = [
    0x4805, // LDR R0, =ARCHSEL
    0x2103, // MOVS R1, #3
    0x6001, // STR R1, [R0]
    0x4805, // LDR R0, =PSM.WDSEL
    0x4905, // LDR R1, =0x1ffffff
    0x6001, // STR R1, [R0]
    0x4805, // LDR R0, =WATCHDOG.CTRL
    0x4906, // LDR R1, =TRIGGER
    0x6001, // STR R1, [R0]
    0xe7fe, // B .
];
const SWITCH_AT: usize = 0x40;
const LITERALS: [u32; 5] = [0x4012_0158, 0x4001_8008, 0x01ff_ffff, 0x400d_8000, 0x8000_0000];
const LITERALS_AT: usize = 0x58;

/// LUI x1, 0x20000; JALR x0, x1.
const TO_SRAM: [u32; 2] = [0x2000_00b7, 0x0000_8067];
const TO_SRAM_AT: usize = 0x7df4;
/// JAL x0, -8.
const BACK: u32 = 0xff9f_f06f;

fn rom() -> Vec<u8> {
    let mut rom = vec![0; ROM_BYTES];
    let mut put = |at: usize, bytes: Vec<u8>| rom[at..at + bytes.len()].copy_from_slice(&bytes);
    put(0, [0x2004_0000, SWITCH_AT as u32 | 1].into_iter().flat_map(u32::to_le_bytes).collect());
    put(SWITCH_AT, SWITCH.into_iter().flat_map(u16::to_le_bytes).collect());
    put(LITERALS_AT, LITERALS.into_iter().flat_map(u32::to_le_bytes).collect());
    put(TO_SRAM_AT, TO_SRAM.into_iter().flat_map(u32::to_le_bytes).collect());
    put(RESET_VECTOR, BACK.to_le_bytes().to_vec());
    rom
}

fn bytes(code: &[u32]) -> Vec<u8> {
    code.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a chip whose RISC-V cores are about to execute `sram` from its start.
fn chip(sram: &[u8]) -> Rp2350 {
    let config = ChipConfig { bootrom: &rom(), flash_size: 1 << 20, flash: &[], ..ChipConfig::default() };
    let mut chip = Rp2350::new(&config, Nothing);
    assert!(chip.poke(SRAM, sram));
    assert_eq!(chip.run_until(100 * PS_PER_US), RunEnd::Reset { cause: "WATCHDOG trigger" });
    assert!(matches!(chip, Rp2350::Riscv(_)));
    chip
}

fn word(chip: &Rp2350, offset: usize) -> u32 {
    let memories = chip.memories();
    let sram = memories.iter().find(|memory| memory.writable).expect("SRAM");
    u32::from_le_bytes(sram.bytes[offset..][..4].try_into().expect("a word"))
}

#[test]
fn both_cores_start_at_the_reset_vector_with_their_numbers() {
    // CSRR x5, MHARTID; SLLI x6, x5, 2; LUI x7, 0x20001; ADD x7, x7, x6; ADDI x5, x5, 1; SW x5, 0(x7); WFI.
    let code = [0xf140_22f3, 0x0022_9313, 0x2000_13b7, 0x0063_83b3, 0x0012_8293, 0x0053_a023, 0x1050_0073];
    let mut chip = chip(&bytes(&code));
    assert_eq!([0, 1].map(|core| chip.registers(core)[chip.facts().pc]), [RESET_VECTOR as u32; 2]);
    assert_eq!(chip.facts().description.matches("riscv:rv32").count(), 1);
    assert_eq!(chip.run_until(chip.now() + 100 * PS_PER_US), RunEnd::Time);
    assert_eq!((word(&chip, 0x1000), word(&chip, 0x1004)), (1, 2));
    assert_eq!([0, 1].map(|core| chip.state(core)), ["Wfi", "Wfi"]);
    // The debugger's reset leaves the kind.
    chip.reset_cores();
    assert!(matches!(chip, Rp2350::Riscv(_)));
}

#[test]
fn the_platform_timer_wakes_a_core_at_its_time() {
    // SIO's MTIME counts cycles. MTIMECMP is 1000 later; after the wake-up the time is noted.
    let code = [
        0xd000_04b7, // LUI x9, 0xd0000
        0x0030_0293, // ADDI x5, x0, 3
        0x1a54_a223, // SW x5, MTIME_CTRL(x9)
        0x0800_0293, // ADDI x5, x0, 0x80
        0x3042_9073, // CSRW MIE, x5
        0x1b04_a303, // LW x6, MTIME(x9)
        0x3e83_0313, // ADDI x6, x6, 1000
        0x1a64_ac23, // SW x6, MTIMECMP(x9)
        0x1a04_ae23, // SW x0, MTIMECMPH(x9)
        0x1050_0073, // WFI
        0x1b04_a383, // LW x7, MTIME(x9)
        0x4063_83b3, // SUB x7, x7, x6
        0x2000_1437, // LUI x8, 0x20001
        0x0074_2023, // SW x7, 0(x8)
        0x3440_23f3, // CSRR x7, MIP
        0x0074_2223, // SW x7, 4(x8)
        0x3040_1073, // CSRW MIE, x0
        0x1050_0073, // WFI
    ];
    let mut chip = chip(&bytes(&code));
    assert_eq!(chip.run_until(chip.now() + 1000 * PS_PER_US), RunEnd::Time);
    assert_eq!((word(&chip, 0x1000), word(&chip, 0x1004)), (0, 0x80));
}

/// ADDI x10, x10, 1; RET.
const F: [u32; 2] = [0x0015_0513, 0x0000_8067];
/// ADDI sp, sp, -16; SW ra, 0(sp); JAL ra, -16 (F); LW ra, 0(sp); ADDI sp, sp, 16; RET.
const G: [u32; 6] = [0xff01_0113, 0x0011_2023, 0xff1f_f0ef, 0x0001_2083, 0x0101_0113, 0x0000_8067];
const F_AT: u32 = SRAM + 0x10;
const G_AT: u32 = F_AT + 8;

/// LUI sp, 0x20040; JAL ra, 12 (F); JAL ra, 16 (G); WFI; then F and G.
fn calls() -> Vec<u8> {
    bytes(&[&[0x2004_0137, 0x00c0_00ef, 0x0100_00ef, 0x1050_0073][..], &F, &G].concat())
}

#[test]
fn a_profile_follows_calls_and_changes_nothing() {
    let [mut plain, mut chip] = [(); 2].map(|()| chip(&calls()));
    plain.run_until(plain.now() + 100 * PS_PER_US);
    let (probes, xip, cores) = chip.probed().expect("it has probes");
    probes.start_profile(xip, cores, false, vec![SRAM]);
    chip.run_until(chip.now() + 100 * PS_PER_US);
    assert_eq!(chip.counts(0), plain.counts(0));
    let (probes, xip, _) = chip.probed().expect("it has probes");
    let profile = probes.take_profile(xip).exact.expect("it was started");
    let of = |function, parent| {
        let nodes = profile.nodes();
        let found =
            nodes.iter().filter(|n| n.core == 0 && n.function == function && nodes[n.parent].function == parent);
        found.map(|node| (node.calls, node.spent.instructions)).collect::<Vec<_>>()
    };
    assert_eq!((of(F_AT, SRAM), of(G_AT, SRAM), of(F_AT, G_AT)), (vec![(1, 2)], vec![(1, 6)], vec![(1, 2)]));
}

#[test]
fn a_debugger_stops_and_steps_a_core() {
    let mut chip = chip(&calls());
    assert!(chip.debug().add_breakpoint(F_AT));
    let pc = chip.facts().pc;
    for (back, x10) in [(SRAM + 8, 0), (G_AT + 12, 1)] {
        // Core 1 is there, too, whenever core 0 stops: that counts as told.
        assert_eq!(chip.run_until(chip.now() + 100 * PS_PER_US), RunEnd::Halted);
        assert_eq!(chip.debug().take_halt(), Some(Halt::Breakpoint { core: 0 }));
        let registers = chip.registers(0);
        assert_eq!((registers[pc], registers[1], registers[10]), (F_AT, back, x10));
        assert_eq!(chip.registers(1)[pc], F_AT);
        chip.resume();
    }
    chip.debug().remove_breakpoint(F_AT);
    chip.step(1);
    assert_eq!(chip.run_until(chip.now() + 100 * PS_PER_US), RunEnd::Halted);
    assert_eq!((chip.debug().take_halt(), chip.registers(1)[pc]), (Some(Halt::Step { core: 1 }), F_AT + 4));
}

/// A multiplicative congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        let scaled = u64::from(self.next()) * u64::from(limit);
        (scaled >> 32) as u32
    }

    /// Returns an address that a faulty program might use.
    fn address(&mut self) -> u32 {
        let base = match self.below(12) {
            0..5 => SRAM + self.below(0x8_2000),
            5 => 0x1000_0000 + 0x100_0000 * self.below(16) + self.below(0x20_0000),
            6..9 => 0x4000_0000 + 0x8000 * self.below(46) + 4 * self.below(64) + 0x1000 * self.below(4),
            9 => 0x5000_0000 + 0x10_0000 * self.below(8) + 4 * self.below(64),
            10 => 0xd000_0000 + 4 * self.below(128),
            _ => self.next(),
        };
        if self.below(8) == 0 { base } else { base & !3 }
    }

    /// Returns mostly instructions that continue, so that a guest runs for long.
    fn instruction(&mut self) -> u32 {
        let r = self.next();
        let regs = r & 0x01ff_8f80;
        match self.below(16) {
            0 => r,
            1..4 => r & !0x7f | 0x13,
            4..6 => r & 0x41ff_ff80 | 0x33,
            6 => regs | 2 << 12 | 0x03,
            7 => r & 0x01ff_8f80 | 2 << 12 | 0x23,
            8 => r & 0x00ff_ff80 | 0x63,
            9 => r & 0x00ff_ff80 | 0x73,
            10 => {
                regs | [0x300, 0x304, 0x305, 0x341, 0x3a0, 0x3b0, 0xbe0, 0xbe2, 0xbe4, 0xbe5, 0x320, 0xbd0]
                    [self.below(12) as usize]
                    << 20
                    | (1 + self.below(3)) << 12
                    | 0x73
            }
            11 => r & 0xf9ff_ff80 & !0x7000 | 2 << 12 | 0x2f,
            12 => {
                [0x1050_0073, 0x3020_0073, 0x0000_2033, 0x0010_2033, 0x0000_100f, 0x0000_0073][self.below(6) as usize]
            }
            13 => r & 0x007f_ff80 | 0x6f,
            // Two narrow ones: Zcmp among them.
            _ => (r & 0xffff | 1) & !2 | ((0xb800 | self.next() & 0x7ff) & !3 | self.below(3)) << 16,
        }
    }
}

/// A trap handler that continues at another address in SRAM after each trap.
const GO_ON: [u32; 12] = [
    0x2000_8337, // LUI x6, 0x20008
    0xf003_2283, // LW x5, -256(x6)
    0x0622_8293, // ADDI x5, x5, 0x62
    0xf053_2023, // SW x5, -256(x6)
    0x0112_9293, // SLLI x5, x5, 17
    0x0122_d293, // SRLI x5, x5, 18
    0x0012_9293, // SLLI x5, x5, 1
    0x2000_03b7, // LUI x7, 0x20000
    0x0072_82b3, // ADD x5, x5, x7
    0x3412_9073, // CSRW MEPC, x5
    0x3000_2373, // CSRR x6, MSTATUS
    0x3020_0073, // MRET
];
const GO_ON_AT: usize = 0x7f40;
/// LUI x5, 0x20008; ADDI x5, x5, -192; CSRW MTVEC, x5.
const PRELUDE: [u32; 3] = [0x2000_82b7, 0xf402_8293, 0x3052_9073];

/// Returns a chip that goes on from the snapshot of `chip`.
fn restored(chip: &Rp2350) -> Rp2350 {
    let mut bytes = Vec::new();
    chip.save(&mut bytes).expect("it can be saved");
    let config = ChipConfig { bootrom: &rom(), flash_size: 1 << 20, flash: &[], ..ChipConfig::default() };
    let mut new = Rp2350::new(&config, Nothing);
    let mut from = &bytes[..];
    assert_eq!((new.restore(&mut from), from.len()), (Ok(()), 0));
    new
}

/// Runs a guest of random code in `slices` of 10 us; `interrupted`: from its own snapshots now and then. Returns its
/// instructions and what it leaves.
fn hostile(seed: u64, slices: u64, interrupted: bool) -> (u64, Vec<Vec<u32>>, Ps, String) {
    let mut random = Random(seed);
    let mut sram: Vec<u8> = Vec::new();
    while sram.len() < 0x8000 {
        let word = if random.below(6) == 0 { random.address() } else { random.instruction() };
        sram.extend(word.to_le_bytes());
    }
    sram[..12].copy_from_slice(&bytes(&PRELUDE));
    sram[GO_ON_AT..GO_ON_AT + 48].copy_from_slice(&bytes(&GO_ON));
    let mut chip = chip(&sram);
    for core in 0..2 {
        let mut registers = chip.registers(core);
        registers[2..32].iter_mut().for_each(|register| *register = random.address());
        chip.set_registers(core, &registers);
    }
    let mut end = RunEnd::Time;
    for slice in 0..slices {
        if interrupted && slice % 32 == 5 {
            chip = restored(&chip);
            assert!(matches!(chip, Rp2350::Riscv(_)));
        }
        end = chip.run_until(chip.now() + 10 * PS_PER_US);
        if matches!(end, RunEnd::Unmodelled(_)) {
            break;
        }
    }
    let instructions = chip.counts(0).0 + chip.counts(1).0;
    (instructions, vec![chip.registers(0), chip.registers(1)], chip.now(), format!("{end:?}"))
}

/// PORTBENCH_FUZZ_LONG=1 runs ten million instructions.
#[test]
fn a_hostile_guest_ends_like_itself_and_harms_no_host() {
    let long = std::env::var_os("PORTBENCH_FUZZ_LONG").is_some();
    let (least, mut instructions, mut named, mut seed) = (if long { 10_000_000 } else { 100_000 }, 0, 0, 0);
    while instructions < least {
        let first = hostile(seed, 200, false);
        if seed % 16 == 0 {
            assert_eq!(hostile(seed, 200, true), first, "seed {seed}");
        }
        instructions += first.0;
        named += u32::from(first.3.contains("Unmodelled"));
        seed += 1;
    }
    println!("{seed} guests, {instructions} instructions, {named} ended at something not modelled");
    assert!(seed > named.into());
}
