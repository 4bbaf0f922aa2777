//! Random loops in flash, SRAM and ROM, which interrupts hit at any cycle, and whose code the core itself, DMA, the other
//! core, the firmware's flash programming and a debugger change: translated code must have the same effects as the
//! interpreter, cycle by cycle.

mod program;
mod waiting;

use crate::rp2040::common::{CODE, Random, Rig, SIO, STACK, asm};
use chip::mcu::Mcu;
use chip::trace::kind;
use chip::{Peripheral, Write};
use jit::mistakes::Mistake;
use program::{Program, program};
use rp::rp2040::bus::Master;
use rp::rp2040::memory::RAM_BASE;
use sim::asked;

/// Returns all state of a chip that a program can observe, but memories.
fn state(rig: &mut Rig) -> Vec<u64> {
    let chip = &mut rig.chip;
    let mut state = Vec::with_capacity(64);
    for core in &chip.cores {
        state.extend(core.regs.map(u64::from));
        state.extend([
            u64::from(core.pc),
            u64::from(core.apsr()),
            u64::from(core.ipsr),
            u64::from(core.primask),
            core.cycles,
            core.instructions,
            core.flash_instructions,
            core.rom_instructions,
            core.state as u64,
        ]);
    }
    state.push(u64::from(chip.bus.own.busctrl.read(&mut chip.bus.sys, 0x08)));
    for counter in [0x1400_000c, 0x1400_0010] {
        state.push(chip.bus.fetch(&mut chip.mem, Master::Core(0), counter, 4).map_or(0, u64::from));
    }
    state
}

/// What a program reached.
struct Reached {
    instructions: u64,
    blocks: usize,
    /// Programs and erases of flash by the SSI.
    flash_changes: u64,
}

/// Runs `program` interpreted, and `translated` on. `Err`: the first difference.
fn compare(program: &Program, mut translated: Rig) -> Result<Reached, String> {
    let mut interpreted = program.rig();
    interpreted.chip.interpret_only();
    let loaded = translated.chip.mem.flash_generation;
    translated.chip.translate_at_once();
    for number in 0..program.slices() {
        let [plain, made] = [&mut interpreted, &mut translated].map(|rig| program.slice(rig, number));
        let [plain_state, made_state] = [&mut interpreted, &mut translated].map(state);
        if (&plain, &plain_state) != (&made, &made_state) {
            return Err(format!("slice {number}: {plain}, {plain_state:x?}; translated: {made}, {made_state:x?}"));
        }
        let [plain_ram, made_ram] = [&interpreted, &translated].map(|rig| rig.chip.mem.ram());
        if plain_ram != made_ram {
            let differs = plain_ram.iter().zip(made_ram).position(|(a, b)| a != b);
            return Err(format!("slice {number}: SRAM at {:x?}", differs.map(|at| RAM_BASE + at as u32)));
        }
        if interpreted.chip.mem.flash() != translated.chip.mem.flash() {
            return Err(format!("slice {number}: flash"));
        }
        if plain != "Time" {
            break;
        }
    }
    let chip = &translated.chip;
    Ok(Reached {
        instructions: chip.cores.iter().map(|core| core.instructions).sum(),
        blocks: chip.mem.translated_blocks(),
        flash_changes: chip.mem.flash_generation.saturating_sub(loaded + program.loads()),
    })
}

/// A generator whose equal seeds give equal programs.
fn programs(seed: u64) -> Random {
    Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

/// Instructions of a usual run.
const STEPS: u64 = 1_000_000;
const TIMER: u32 = 0x4005_4000;

/// `PORTBENCH_FUZZ_STEPS` is the number of instructions, and `PORTBENCH_FUZZ_SEED` makes other programs.
#[test]
fn a_loop_leaves_what_it_leaves_when_interpreted() {
    let steps = asked("PORTBENCH_FUZZ_STEPS", STEPS);
    let random = &mut programs(asked("PORTBENCH_FUZZ_SEED", 1));
    let (mut instructions, mut blocks, mut erased, mut number) = (0, 0, 0, 0);
    while instructions < steps {
        let program = program(random);
        let reached = compare(&program, program.rig())
            .unwrap_or_else(|difference| panic!("program {number}: {difference}: {program:#x?}"));
        instructions += reached.instructions;
        blocks += reached.blocks;
        erased += reached.flash_changes;
        number += 1;
    }
    println!(
        "{instructions} instructions in {number} programs; {blocks} blocks at their ends; {erased} changes of flash by SSI"
    );
    assert!(blocks > number, "almost nothing was translated");
    assert!(steps < STEPS || erased > 0, "flash was not programmed");
}

/// Most programs until a mistake is found.
const CASES: usize = 1500;

/// The test of this test: each deliberate mistake of the translator makes a difference.
#[test]
fn every_mistake_is_found() {
    let mut left = Vec::new();
    let others = [&WITHOUT_CHANCE[..], &waiting::MISTAKES, &[Mistake::PortAtStart]].concat();
    let all = [Mistake::OF_BOTH, Mistake::ON_RP2040].concat();
    for mistake in all.into_iter().filter(|mistake| !others.contains(mistake)) {
        let mut random = programs(1);
        let found = (1..=CASES).find(|_| {
            let program = program(&mut random);
            let mut translated = program.rig();
            translated.chip.mem.translated.make_mistake(mistake);
            let differs = compare(&program, translated).is_err();
            assert!(!differs || compare(&program, program.rig()).is_ok(), "without a mistake: {program:#?}");
            differs
        });
        match found {
            Some(cases) => println!("{mistake:?}: {cases}"),
            None => left.push(mistake),
        }
    }
    assert!(left.is_empty(), "not found by {CASES} programs: {left:?}");
}

/// Mistakes that random programs hardly show: they rarely read only what the other core writes.
const WITHOUT_CHANCE: [Mistake; 2] = [Mistake::StoreAfterReadAhead, Mistake::LiteralNotWatched];

/// Core 0 sums up a word that core 1 counts up, in loops of different lengths; by a literal or a pointer.
#[test]
fn a_core_reads_what_the_other_has_stored_by_then() {
    let sums = |literal: bool, change: &dyn Fn(&mut rp::rp2040::memory::Memory)| {
        // LDR R0, [PC, #60] or [R5]; ADDS R1, R1, R0; B.
        let read = if literal { 0x480f } else { asm::ldr(0, 5, 0) };
        let mut rig = Rig::new(&[read, 0x1809, asm::b(-2)]);
        rig.program(CODE + 0x400, &[asm::adds(0, 1), asm::NOP, asm::str(0, 5, 0), asm::b(-3)]);
        rig.start_core1(CODE + 0x400, STACK + 0x800);
        change(&mut rig.chip.mem);
        rig.chip.cores.iter_mut().for_each(|core| core.regs[5] = CODE + 64);
        rig.run(5000);
        state(&mut rig)
    };
    for literal in [false, true] {
        let expected = sums(literal, &|mem| mem.interpret_only());
        assert!(expected[1] > 1000, "{}", expected[1]);
        assert_eq!(sums(literal, &|mem| mem.translate_at_once()), expected);
        let mistaken = sums(literal, &|mem| {
            mem.translate_at_once();
            mem.translated.make_mistake(WITHOUT_CHANCE[usize::from(literal)]);
        });
        assert_ne!(mistaken, expected);
    }
}

/// The timer, the flash's controller and a PIO block: registers that programs poll, and others.
const POLLED: [(u32, [u16; 5], [u16; 2]); 3] = [
    (TIMER, [0x24, 0x28, 0x28, 0x08, 0x30], [asm::ldr(3, 4, 0x0c), asm::ldr(3, 4, 0x0c)]),
    (0x1800_0000, [0x28, 0x28, 0x28, 0x20, 0x24], [asm::str(1, 4, 0x60), asm::ldr(3, 4, 0x60)]),
    (0x5020_0000, [0x04, 0x04, 0x04, 0x0c, 0x08], [asm::str(1, 4, 0x10), asm::str(1, 4, 0x10)]),
];

/// A loop that reads registers of SIO and one of [`POLLED`], and after some passes does anything with FIFO, spin lock,
/// divider, latched time, and words for flash or PIO.
fn sio_loop(random: &mut Random, (_, polled, polled_acts): &(u32, [u16; 5], [u16; 2])) -> Vec<u16> {
    let reads = [0x00, 0x10, 0x50, 0x50, 0x50, 0x5c, 0x60, 0x68, 0x74].map(|offset| asm::ldr(0, 5, offset));
    let polled = polled.map(|offset| asm::ldr(0, 4, offset));
    let reads = [&reads[..], &polled].concat();
    // R6: a spin lock. LSLS R2, R0, #16; ADDS R1, R1, R0; EORS R1, R2; LSRS R3, R1, #3.
    let others = [asm::ldr(2, 6, 0), asm::NOP, 0x0402, 0x1809, 0x4051, 0x08cb, asm::adds(2, 1)];
    let [pop, quotient, ready] = [0x58, 0x70, 0x78].map(|offset| asm::ldr(3, 5, offset));
    let [push, dividend, divisor] = [0x54, 0x60, 0x64].map(|offset| asm::str(1, 5, offset));
    let acts = [pop, pop, quotient, ready, push, push, dividend, divisor, asm::str(1, 6, 0), asm::SEV];
    let acts = [&acts[..], polled_acts].concat();
    let mut pick = |from: &[u16]| from[random.below(from.len() as u32) as usize];
    let mut code = vec![asm::movs(7, pick(&[1, 3, 30, 200]))];
    for _ in 0..pick(&[1, 2, 5]) {
        code.extend([pick(&reads), pick(&others), 0x1809]);
    }
    code.push(asm::subs(7, 1));
    code.push(asm::b_if(asm::NE, 1 - code.len() as i16));
    code.extend([pick(&acts), pick(&others), pick(&acts)]);
    code.push(asm::b(-(code.len() as i16)));
    code
}

#[test]
fn two_cores_read_the_same_registers_when_translated() {
    let random = &mut Random(0x510);
    for number in 0..300 {
        let polled = &POLLED[number % 3];
        let loops = [(); 2].map(|()| sio_loop(random, polled));
        let [pull, clock, baud] = [12, 3, 20].map(|most| 1 + random.below(most));
        let mut rigs = [false, true].map(|translated| {
            let mut rig = Rig::new(&loops[0]);
            rig.program(CODE + 0x400, &loops[1]);
            rig.start_core1(CODE + 0x400, STACK + 0x800);
            // RESETS, and in WATCHDOG the timer's tick: two cycles of clk_ref.
            rig.poke(0x4000_f000, u32::MAX);
            rig.poke(0x4005_802c, 0x200 | 2);
            for core in &mut rig.chip.cores {
                (core.regs[4], core.regs[5], core.regs[6]) = (polled.0, SIO, SIO + 0x100);
            }
            // The flash's controller sends bytes: SSIENR, CTRLR0, BAUDR, SER, SSIENR.
            for (register, value) in [(0x08, 0), (0x00, 7 << 16), (0x14, 2 * baud), (0x10, 1), (0x08, 1)] {
                rig.poke(0x1800_0000 + register, value);
            }
            // OUT PINS, 1 and NOP; SET PINS, 1 and SET PINS, 0.
            let program = [0x6001, 0xa142, 0xe101, 0xe000].into_iter().zip((0x48..).step_by(4));
            program.for_each(|(instruction, at)| rig.poke(0x5020_0000 + at, instruction));
            for (machine, first) in [(0, 0), (0x18, 2)] {
                // CLKDIV, EXECCTRL, SHIFTCTRL, ADDR, INSTR, PINCTRL.
                let (wrap, pins) = ((first + 1) << 12 | first << 7, 1 << 20 | 1 << 26 | 8 << 5);
                let settings = [clock << 16 | 1 << 14, wrap, pull << 25 | 1 << 17, 0, first, pins];
                let registers = settings.into_iter().zip((0x5020_00c8 + machine..).step_by(4));
                registers.for_each(|(value, at)| rig.poke(at, value));
            }
            rig.poke(0x5020_0000, 3);
            if translated {
                rig.chip.translate_at_once();
            } else {
                rig.chip.interpret_only();
                // No action of PIO is deferred.
                rig.chip.start_trace(kind::PINS, 0);
            }
            rig
        });
        for slice in 0..40 {
            let cycles = u64::from(1 + random.below(700));
            let [plain, made] = rigs.each_mut().map(|rig| {
                rig.run(cycles);
                (state(rig), [0, 1].map(|core| rig.sio(core, SIO + 0x50)))
            });
            assert_eq!(plain, made, "programs {number}, slice {slice}: {loops:04x?}");
        }
    }
}

#[test]
fn the_divider_is_ready_at_the_same_cycle_when_translated() {
    let sums = |waits: usize, change: &dyn Fn(&mut rp::rp2040::memory::Memory)| {
        // After the division, its state is added up: ADDS R2, R2, R3.
        let waiting = vec![asm::NOP; waits];
        let code = [&[asm::str(1, 5, 0x64)][..], &waiting, &[asm::ldr(3, 5, 0x78), 0x18d2]].concat();
        let mut rig = Rig::new(&[&code[..], &[asm::b(-(code.len() as i16))]].concat());
        change(&mut rig.chip.mem);
        rig.core().regs[5] = SIO;
        rig.run(1000);
        state(&mut rig)
    };
    let all = |change: &dyn Fn(&mut rp::rp2040::memory::Memory)| [6, 7, 8, 9].map(|waits| sums(waits, change));
    let expected = all(&|mem| mem.interpret_only());
    assert_eq!(expected.each_ref().map(|state| state[2] % 2), [0, 1, 1, 1]);
    assert_eq!(all(&|mem| mem.translate_at_once()), expected);
    let mistaken = all(&|mem| {
        mem.translate_at_once();
        mem.translated.make_mistake(Mistake::PortAtStart);
    });
    assert_ne!(mistaken, expected);
}

/// STM and PUSH from before a block into it: the old code is not executed again.
#[test]
fn overwritten_code_is_not_executed_again() {
    let pushes = [0x46eb, 0x46a5, 0xb463, 0x46dd];
    let stores = [0xc463, 0xbf00, 0xbf00, 0xbf00];
    for (writes, pointer) in [(stores, CODE - 8), (pushes, CODE + 8)] {
        let code = [
            &[asm::adds(1, 1), asm::adds(2, 1), asm::cmp(2, 40), asm::b_if(asm::NE, -3)][..],
            &writes,
            &[asm::movs(2, 0), asm::b(-9)],
        ]
        .concat();
        let rigs = [false, true].map(|translated| {
            let mut rig = Rig::new(&code);
            if translated {
                rig.chip.translate_at_once();
            } else {
                rig.chip.interpret_only();
            }
            let core = rig.core();
            core.regs[4] = pointer;
            // ADDS R1, #2; ADDS R2, #1 instead of the first two instructions; the following ones are unchanged.
            core.regs[5] = u32::from(asm::adds(1, 2)) | u32::from(asm::adds(2, 1)) << 16;
            core.regs[6] = u32::from(code[2]) | u32::from(code[3]) << 16;
            rig.run(400);
            rig
        });
        let [mut interpreted, mut translated] = rigs;
        assert_eq!(state(&mut interpreted), state(&mut translated));
        assert!(interpreted.chip.mem.ram() == translated.chip.mem.ram());
        let r1 = interpreted.core().regs[1];
        assert!(r1 > 41, "R1 is {r1}: the new code did not run");
    }
}

/// The core fetches the first word of SRAM5, which is counted, while it executes a branch before it.
#[test]
fn fetches_ahead_into_sram5_are_counted() {
    let branch = [asm::adds(1, 1), asm::adds(1, 1), asm::adds(1, 1), asm::b(-3)];
    // A comparison and its branch need no turn of the interpreter's loop.
    let compared = [asm::adds(1, 1), asm::adds(1, 1), asm::cmp(0, 1), asm::b_if(asm::NE, -3)];
    // The branch is in BL's second half.
    let call = [asm::adds(1, 1), asm::adds(1, 1), 0xf7ff, 0xfffc];
    for code in [branch, compared, call] {
        // A second counter makes the interpreter look at each access.
        let [looked, interpreted, translated] =
            [(0x07, false), (0x1f, false), (0x1f, true)].map(|(second, translated)| {
                let mut rig = Rig::new(&[]);
                if translated {
                    rig.chip.translate_at_once();
                } else {
                    rig.chip.interpret_only();
                }
                let chip = &mut rig.chip;
                for (counter, event) in [(0x0c, 0x05), (0x14, second)] {
                    chip.bus.own.busctrl.write(&mut chip.bus.sys, counter, Write::normal(event));
                }
                let start = 0x2004_1000 - 8;
                rig.program(start, &code);
                rig.core().pc = start;
                rig.run(500);
                state(&mut rig)
            });
        let fetches = looked.len() - 3;
        assert!(looked[fetches] > 90, "{}", looked[fetches]);
        assert_eq!(looked, interpreted);
        assert_eq!(looked, translated);
    }
}
