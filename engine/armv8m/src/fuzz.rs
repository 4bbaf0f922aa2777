//! Random programs run interpreted and translated, with interrupts, faults and code that changes itself: both must do
//! the same in the same cycles. `PORTBENCH_FUZZ_STEPS` sets the number of instructions, `PORTBENCH_FUZZ_SEED` their seed:
//! `make fuzz`.

use jit::mistakes::Mistake;
use jit::{Outcome, Part, Translate};
use sim::{SplitMix64, asked};

use crate::V8m;
use crate::bench::{Addresses, Bench};
use crate::core::State;

const INSTRUCTIONS: u64 = 600_000;
const SLICES: usize = 40;
const VECTORS: u32 = 0x2000_0000;
const HANDLERS: u32 = 0x2000_0800;
const CODE: u32 = 0x2000_1000;
const DATA: u32 = 0x2000_3000;
const STACK: u32 = 0x2000_4000;
const FLASH: u32 = 0x1000_0000;
/// Bytes of code in SRAM and in flash.
const CODE_BYTES: u32 = 0x600;

struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0.draw() as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0.below(u64::from(end)) as u32
    }

    /// Returns a value that a register may hold.
    fn value(&mut self) -> u32 {
        match self.below(13) {
            0..=3 => DATA + 4 * self.below(0x300),
            4 => DATA + self.below(0xc00),
            5 => (CODE + self.below(CODE_BYTES)) | 1,
            6 => FLASH + self.below(CODE_BYTES),
            7 => self.below(64),
            // From where a list reaches into the code.
            8 => CODE - 4 * (1 + self.below(7)),
            9 | 10 => [0xe000_ed94, 0xe000_e100, 0x4000_0000, 0x2003_fffe, 0x2003_fffc, 0x2004_0000, 0, 0xffff_ffff]
                [self.below(8) as usize],
            _ => self.next(),
        }
    }

    /// Appends an instruction that loads a value into a register.
    fn constant(&mut self, code: &mut Vec<u16>) {
        let (value, register) = (self.value(), self.below(8));
        for (opcode, half) in [(0xf240, value & 0xffff), (0xf2c0, value >> 16)] {
            code.push((opcode | half >> 12 | (half >> 11 & 1) << 10) as u16);
            code.push((register << 8 | (half >> 8 & 7) << 12 | half & 0xff) as u16);
        }
    }

    /// Appends an instruction.
    fn instruction(&mut self, code: &mut Vec<u16>) {
        let r = self.next();
        let (half, next) = (r as u16, (r >> 16) as u16);
        match self.below(28) {
            0..=4 => code.push(half & 0x3fff),
            5 => code.push(0x4000 | half & 0x3ff),
            6 => code.push(0x4400 | half & 0x2ff),
            7 => code.push(0x4800 | half & 0x73f),
            8..=10 => code.push(0x5000 | (half % 0x5000)),
            11 => code.push(0xb000 | half & 0xfff),
            12 => code.push(0xc000 | half & 0xfff),
            13 => code.push(0xd000 | ((half & 0xf00) % 0xe00) | (half & 31).wrapping_sub(12) & 0xff),
            14 => code.push(0xe000 | half & 15),
            15 => code.extend([0xf000 | half & 0x5ff, next & 0x7fff]),
            16 => code.extend([0xf200 | half & 0x5ff, next & 0x7fff]),
            17 => code.extend([0xea00 | half & 0x1ff, next & 0x7fff]),
            18 => code.extend([0xf800 | half & 0x1ff, next]),
            19 => code.extend([0xfa00 | half & 0x1ff, 0xf000 | next & 0xfff]),
            20 => code.extend([0xfb00 | half & 0x1ff, next]),
            21 => code.extend([0xe840 | half & 0x1bf, next & 0xff0f]),
            22 => {
                code.push(0xbf00 | half & 0xff | 1);
                for _ in 0..2 {
                    let kind = self.below(8);
                    let other = self.next() as u16;
                    code.push(if kind == 0 { 0x4770 } else { other & 0x7fff });
                }
            }
            23 => {
                let kind = [0xee00, 0xee30, 0xeeb0, 0xed90, 0xed80][self.below(5) as usize];
                code.extend([kind | half & 0xf, next & 0x70ef | 0xa00]);
            }
            24 => match self.below(12) {
                10 => self.system(code),
                // RRX.
                11 => code.extend([0xea4f | half & 0x10, 0x30 | next & 0x707]),
                // SDIV and UDIV, SBFX and UBFX, MLS, STMIA of all but the base.
                6 => code.extend([0xfb90 | half & 0x27, 0xf0f0 | next & 0x707]),
                7 => code.extend([0xf340 | half & 0x87, next & 0x77df]),
                8 => code.extend([0xfb00 | half & 7, 0x10 | next & 0x7707]),
                9 => code.extend([0xe880 | half & 7, 0xff & !(1 << (half & 7))]),
                0 => code.extend([0xe8df, 0xf000 | half & 0x17]),
                1 => code.extend([0xf000, 0xf800 | half & 15]),
                2 => code.extend([0x4770, 0x4718 | half & 0x98]),
                3 => code.push(0xbf00),
                4 => code.extend([0xe92d, 0x4000 | half & 0x1fff]),
                _ => code.extend([0xe8bd, half & 0x9fff]),
            },
            25 | 26 => self.constant(code),
            _ => code.push(half),
        }
    }

    /// Appends an instruction that reads or sets a special register, or a far call as linkers make it.
    fn system(&mut self, code: &mut Vec<u16>) {
        let register = self.below(8) as u16;
        // PRIMASK, BASEPRI, BASEPRI_MAX, FAULTMASK; then IPSR, MSP and CONTROL, which are only read.
        let special = [16, 17, 18, 19, 5, 8, 20];
        match self.below(6) {
            0 => code.extend([0xf3ef, 0x8000 | register << 8 | special[self.below(7) as usize]]),
            1 => code.extend([0xf380 | register, 0x8800 | special[self.below(4) as usize]]),
            2 => code.extend([0xbf00, 0xb661 | (self.below(3) | self.below(2) << 4) as u16]),
            3 => code.extend([0xf3bf, 0x8f4f + 0x10 * self.below(3) as u16]),
            4 => code.extend([0xec40 | register, register << 12 | 0x40 | (self.below(8) << 8) as u16]),
            _ => {
                let target = [CODE, FLASH][self.below(2) as usize] + self.below(CODE_BYTES);
                if !code.len().is_multiple_of(2) {
                    code.push(0xbf00);
                }
                code.extend([0xf8df, 0xf000, target as u16, (target >> 16) as u16]);
            }
        }
    }

    fn code(&mut self) -> Vec<u8> {
        let mut code = Vec::new();
        while code.len() < CODE_BYTES as usize / 2 {
            self.instruction(&mut code);
        }
        code.truncate(CODE_BYTES as usize / 2);
        code.iter().flat_map(|half| half.to_le_bytes()).collect()
    }
}

/// Returns a bench with a random program.
fn bench(seed: u64) -> Bench {
    let random = &mut Random(SplitMix64::new(seed));
    let rom = Random(SplitMix64::new(seed | 1 << 42)).code();
    let mut bench = Bench::with_rom(&rom);
    let handlers: [&[u16]; 3] = [
        // Goes on behind the instruction at fault.
        &[0x9806, 0x3002, 0x9006, 0x4770],
        &[0x3001, 0xbf00, 0x4770],
        &[0xb510, 0x1c40, 0xbd10],
    ];
    for (number, handler) in handlers.iter().enumerate() {
        let bytes: Vec<u8> = handler.iter().flat_map(|half| half.to_le_bytes()).collect();
        assert!(bench.mem.poke(HANDLERS + 0x40 * number as u32, &bytes));
    }
    for number in 0..68_u32 {
        let handler = if number < 16 { 0 } else { 1 + number % 2 };
        assert!(bench.mem.poke(VECTORS + 4 * number, &((HANDLERS + 0x40 * handler) | 1).to_le_bytes()));
    }
    let code = random.code();
    assert!(bench.mem.poke(CODE, &code));
    let code = random.code();
    bench.mem.flash_write(0, &code);
    for at in (DATA..STACK).step_by(4) {
        let value = if random.below(3) == 0 { random.value() } else { random.next() };
        assert!(bench.mem.poke(at, &value.to_le_bytes()));
    }
    let mut registers = [0; 16];
    registers.iter_mut().for_each(|register| *register = random.value());
    registers[13] = STACK - 0x100;
    let start = match seed % 16 {
        8 => 0,
        even if even & 1 == 0 => CODE,
        _ => FLASH,
    };
    registers[15] = start + 2 * random.below(16);
    bench.start(registers, random.next() & 0xf80f_0000, 0, [0x3f80_0000; 32], VECTORS);
    bench.core.ppb.enabled = 0xf;
    let xip = &mut bench.mem.xip;
    (xip.offline, xip.whole_lines, xip.miss_cycles, xip.uncached_cycles) = (false, true, 12, 17);
    xip.next_line_cycles = Some(9);
    if seed % 16 == 1 {
        xip.configure(false, false);
    }
    if seed % 4 == 2 {
        guard(&mut bench, &mut Random(SplitMix64::new(seed | 1 << 41)));
    }
    if seed % 8 == 3 {
        bench.core.limits[0][0] = STACK - 0x180;
    }
    bench
}

/// Turns the MPU on, with one to three regions.
fn guard(bench: &mut Bench, random: &mut Random) {
    let mpu = &mut bench.core.ppb.banks[0].mpu;
    for number in 0..=random.below(3) {
        let start = [DATA, CODE, STACK - 0x100, FLASH, 0x4000_0000][random.below(5) as usize] + 32 * random.below(32);
        mpu.write(8, number);
        mpu.write(0xc, start | random.below(8));
        mpu.write(0x10, (start + 32 * random.below(4)) | 1);
    }
    // Enabled, mostly with all other addresses for privileged code.
    mpu.write(4, 1 | random.below(2) << 1 | if random.below(8) > 0 { 4 } else { 0 });
}

/// Returns all that a program can notice, and what decides its time.
fn state(bench: &Bench) -> String {
    let core = &bench.core;
    format!(
        "{:x?} apsr {:x} it {:x} pc {:x} cycle {} late {:x} word {:x} ipsr {} {:?} masks {:?} \n{:x?}\n executed {} {} {} \
         xip {} {} {}\n stacks {:x?} pending {:?}",
        core.regs,
        core.apsr(),
        core.it,
        core.pc,
        core.cycles,
        core.late,
        // That of SRAM and ROM is known only where each access is looked at, and takes no time.
        if (FLASH..VECTORS).contains(&core.pc) { core.fetch_word } else { 0 },
        core.ipsr,
        core.state,
        (core.primask, core.faultmask, core.basepri, core.exclusive),
        core.fpu,
        core.instructions,
        core.flash_instructions,
        core.rom_instructions,
        bench.mem.xip.accesses,
        bench.mem.xip.misses,
        bench.mem.xip.stalled,
        core.stacks,
        core.ppb.pending,
    )
}

/// A program, interpreted and translated.
struct Pair([Bench; 2]);

impl Pair {
    fn new(seed: u64) -> Self {
        let mut pair = [bench(seed), bench(seed)];
        pair[0].mem.interpret_only();
        pair[1].mem.translate_at_once();
        Self(pair)
    }

    /// The same, translated with a mistake.
    fn mistaken(seed: u64, mistake: Option<Mistake>) -> Self {
        let mut pair = Self::new(seed);
        if let Some(mistake) = mistake {
            pair.0[1].mem.translated.make_mistake(mistake);
        }
        pair
    }

    /// Runs both for `cycles`, and raises an interrupt. False: they differ.
    fn run(&mut self, cycles: u64, irq: u64) -> bool {
        for bench in &mut self.0 {
            bench.run(cycles);
            if irq != 0 {
                let cycle = bench.core.cycles;
                bench.core.observe(irq, false, cycle);
            }
        }
        let [plain, translated] = &self.0;
        state(plain) == state(translated) && plain.mem.ram() == translated.mem.ram()
    }
}

/// Returns the lengths of the slices of a program, in cycles, each with its interrupt.
fn slices(seed: u64) -> Vec<(u64, u64)> {
    let random = &mut Random(SplitMix64::new(seed | 1 << 40));
    let slice = |slice| {
        let cycles = u64::from([4, 40, 400][random.below(3) as usize] + random.below(60));
        let irq = 1_u64 << random.below(8);
        (cycles, if slice % 4 == 3 { irq } else { 0 })
    };
    (0..SLICES).map(slice).collect()
}

/// Fails with the shortest run of the last of these slices that differs.
fn explain(seed: u64, slices: &[(u64, u64)]) -> ! {
    let (&(last, _), before) = slices.split_last().expect("a slice");
    for cycles in 1..=last {
        let mut pair = Pair::new(seed);
        before.iter().for_each(|&(cycles, irq)| assert!(pair.run(cycles, irq)));
        let [start, _] = pair.0.each_ref().map(state);
        let [plain, _] = &pair.0;
        let code: Vec<u16> = (0..48)
            .map(|at| {
                let at = plain.core.pc.wrapping_add(2 * at);
                let offset = (at & 0xffff) as usize;
                match at {
                    VECTORS.. => plain.mem.ram_u16(offset),
                    FLASH.. => plain.mem.flash_u16(offset),
                    _ => plain.mem.rom_u16(offset),
                }
            })
            .collect();
        if !pair.run(cycles, 0) {
            let [expected, got] = pair.0.each_ref().map(state);
            panic!(
                "seed {seed}, {cycles} cycles after\n{start}\n{code:04x?}\ninterpreted {expected}\ntranslated  {got}"
            );
        }
    }
    panic!("seed {seed}: the interrupt after slice {} differs", before.len());
}

/// Runs a program both ways, up to the slice in which it stops. Returns whether it does the same.
fn same(pair: &mut Pair, slices: &[(u64, u64)]) -> bool {
    for &(cycles, irq) in slices {
        if !pair.run(cycles, irq) {
            return false;
        }
        if pair.0[0].core.state != State::Running {
            break;
        }
    }
    true
}

/// Executes one instruction with a register or the flags changed; returns what it leaves.
fn left_by(code: [u16; 2], registers: [u32; 16], apsr: u32) -> Outcome {
    let mut bench = Bench::default();
    bench.mem.interpret_only();
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    assert!(bench.mem.poke(CODE, &bytes));
    for word in (DATA..STACK).step_by(4) {
        assert!(bench.mem.poke(word, &word.wrapping_mul(2_654_435_761).to_le_bytes()));
    }
    bench.start(registers, apsr, 0, [0; 32], VECTORS);
    bench.run(1);
    (bench.core.regs, bench.core.apsr() & 0xf000_0000, bench.core.pc, bench.core.cycles)
}

/// A loop that waits takes nothing else from before a pass: what an instruction leaves does not depend on the others.
#[test]
fn instructions_read_no_more_than_they_say() {
    let random = &mut Random(SplitMix64::new(7));
    let part = Part::of::<Addresses>(CODE, 0, false).expect("SRAM");
    let (mut changed, mut read) = (0, 0);
    for _ in 0..4000 {
        let mut code = Vec::new();
        random.instruction(&mut code);
        code.push(0xbf00);
        let code = [code[0], code[1]];
        let mut bench = Bench::default();
        assert!(bench.mem.poke(CODE, &[code[0].to_le_bytes(), code[1].to_le_bytes()].concat()));
        let Some(effects) = V8m::effects(&bench.mem, part, CODE).filter(|effects| effects.uses != u16::MAX) else {
            continue;
        };
        let mut registers: [u32; 16] = std::array::from_fn(|_| random.value());
        (registers[13], registers[15]) = (STACK - 0x100, CODE);
        let apsr = random.next() & 0xf000_0000;
        println!("{code:04x?}");
        let left_by = |registers, apsr| left_by(code, registers, apsr);
        changed += effects.assert_reads((registers, apsr), || random.below(32), left_by);
        let (_, flags, pc, _) = left_by(registers, apsr);
        for register in (0..13).filter(|register| effects.uses & 1 << register != 0) {
            let mut other = registers;
            other[register] ^= 1 << random.below(32);
            let left = left_by(other, apsr);
            read += u32::from((left.1, left.2) != (flags, pc));
        }
    }
    assert!(changed > 10_000 && read > 100, "{changed} changes, {read} seen");
}

/// Most programs until a mistake is found.
const PROGRAMS: u64 = 1500;

/// Loops in SRAM that show what random programs hardly do.
const LOOPS: [(Mistake, &[u16]); 3] = {
    // ADDS R5, #1; ADDS R6, #1; then R4, which has ADDS R5, #2 instead, is stored there; B.
    [
        // MOV R0, R7; STR R4, [R0, #12].
        (Mistake::StoreIntoCode, &[0x3501, 0x3601, 0x4638, 0x60c4, 0xe7fa]),
        // MOV R0, R7; STMIA R0!, {R1 to R4}.
        (Mistake::LastWordIntoCode, &[0x3501, 0x3601, 0x4638, 0xc01e, 0xe7fa]),
        // LDR R0, [PC, #124]; ADDS R5, R5, R0; ADDS R5, #1; MOV R0, R7; ADDS R0, #140; STR R5, [R0]; B.
        (Mistake::StaleLiteral, &[0x481f, 0x182d, 0x3501, 0x4638, 0x308c, 0x6005, 0xe7f8]),
    ]
};

/// Runs a loop both ways, translated with a mistake. Returns whether it does the same.
fn loops_the_same(code: &[u16], mistake: Option<Mistake>) -> bool {
    let code: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut pair = Pair::mistaken(0, mistake);
    for bench in &mut pair.0 {
        assert!(bench.mem.poke(CODE, &code));
        let mut registers = [0; 16];
        (registers[4], registers[7]) = (0x3601_3502, CODE - 12);
        (registers[13], registers[15]) = (STACK - 0x100, CODE);
        bench.start(registers, 0, 0, [0; 32], VECTORS);
    }
    (0..8).all(|_| pair.run(100, 0))
}

#[test]
fn loops_show_what_random_programs_hardly_do() {
    for (mistake, code) in LOOPS {
        assert!(loops_the_same(code, None), "{mistake:?}");
        assert!(!loops_the_same(code, Some(mistake)), "{mistake:?}");
    }
}

/// The test of this test: each deliberate mistake of the block maker makes a difference.
#[test]
fn every_mistake_is_found() {
    let mut left = Vec::new();
    let random = |mistake: &&Mistake| LOOPS.iter().all(|(other, _)| other != *mistake);
    let lowering: &[Mistake] = if cfg!(target_arch = "x86_64") { &[] } else { Mistake::OF_LOWERING };
    for &mistake in [Mistake::OF_BOTH, Mistake::OF_ARMV8M, lowering].into_iter().flatten().filter(random) {
        let found = (0..PROGRAMS).find(|&seed| {
            let differs = !same(&mut Pair::mistaken(seed, Some(mistake)), &slices(seed));
            assert!(!differs || same(&mut Pair::new(seed), &slices(seed)), "seed {seed} without a mistake");
            differs
        });
        match found {
            Some(seed) => println!("{mistake:?}: {}", seed + 1),
            None => left.push(mistake),
        }
    }
    assert!(left.is_empty(), "not found by {PROGRAMS} programs: {left:?}");
}

#[test]
fn translated_programs_do_the_same_in_the_same_cycles() {
    let (steps, first) = (asked("PORTBENCH_FUZZ_STEPS", INSTRUCTIONS), 1000 * asked("PORTBENCH_FUZZ_SEED", 0));
    let (mut programs, mut instructions, mut blocks, mut locked_up) = (0, 0, 0, 0);
    while instructions < steps {
        let seed = first + programs;
        programs += 1;
        let mut pair = Pair::new(seed);
        let slices = slices(seed);
        for (number, &(cycles, irq)) in slices.iter().enumerate() {
            if !pair.run(cycles, irq) {
                explain(seed, &slices[..=number]);
            }
            if pair.0[0].core.state != State::Running {
                locked_up += u64::from(pair.0[0].core.state == State::LockedUp);
                break;
            }
        }
        instructions += pair.0[0].core.instructions;
        blocks += pair.0[1].mem.translated_blocks() as u64;
    }
    println!("{programs} programs, {instructions} instructions, {blocks} blocks, {locked_up} locked up");
    assert!(blocks > programs, "almost nothing was translated");
}
