//! Random loops that wait for DMA, SPI or the other core's FIFO: passes that only take their time when they are translated.

use super::state;
use crate::rp2040::common::{CODE, DATA, NVIC_ISER, Random, Rig, SIO, asm};
use chip::mcu::Mcu;
use jit::mistakes::Mistake;
use jit::{Part, Translate};
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::V6m;
use rp::rp2040::memory::{Addresses, Memory, XIP_BASE};

const DMA: u32 = 0x5000_0000;
const DMA_TIMER0: u32 = DMA + 0x420;
const SPI0: u32 = 0x4003_c000;
const TIMER: u32 = 0x4005_4000;
const WATCHDOG_TICK: u32 = 0x4005_802c;
const DMA_IRQ: u32 = 11;
const FLASH_CODE: u32 = XIP_BASE + 0x1000;
const SOURCE: u32 = DATA + 0x100;

/// Returns a loop that reads a register or a word, and what follows it: R4 is SIO or TIMER, R5 a channel of DMA or (`spi`)
/// SPI0, R6 words of SRAM.
fn waiting_loop(random: &mut Random, spi: bool) -> Vec<u16> {
    let mut pick = |from: &[u16]| from[random.below(from.len() as u32) as usize];
    let offsets = if spi { &[0x0c, 0x0c, 0x0c, 0x0c, 0x18] } else { &[0x00, 0x08, 0x0c, 0x0c, 0x0c] };
    let (register, word) = (asm::ldr(0, 5, pick(offsets)), asm::ldr(0, 6, pick(&[0, 4, 8])));
    let other = asm::ldr(0, 4, pick(&[0x28, 0x50]));
    let read = pick(&[register, register, register, register, word, other]);
    // LSLS R1, R0, #7; TST R0, R2; LSRS R1, R0, #8; a literal; what counts or stores; another read.
    let mut harmless = vec![0x01c1, 0x4210, 0x0a01, 0x4900, asm::NOP, asm::cmp(0, 0), asm::movs(1, 5)];
    if spi {
        // LSLS R1, R0, #27, #29 and #31: BSY, RNE, TFE; R0 itself, and R1.
        harmless.extend([0x06c1, 0x0741, 0x07c1, 0x06c0, 0x0749]);
    }
    let others = [asm::adds(2, 1), asm::str(0, 6, 4), asm::str(2, 6, 0), asm::ldr(1, 5, 8), asm::ldr(1, 6, 4), 0x4051];
    let mut code = Vec::new();
    let reads_at = pick(&[0, 0, 0, 1, 2]);
    for place in 0..pick(&[1, 2, 3, 5]).max(reads_at + 1) {
        if place == reads_at {
            code.push(read);
        } else if pick(&[0, 0, 0, 0, 0, 1]) != 0 {
            code.push(pick(&others));
        } else if pick(&[0, 0, 0, 0, 1]) != 0 {
            // Leaves the loop from its middle: to one of the instructions after it.
            code.push(asm::b_if(pick(&[0, 1, 2, 3, 4, 5, 8, 9]), pick(&[3, 4, 6, 8]) as i16));
        } else {
            code.push(pick(&harmless));
        }
    }
    let back = -(code.len() as i16);
    code.push(match pick(&[0, 1, 2, 3]) {
        0 => asm::b(back),
        _ => asm::b_if(pick(&[0, 1, 4, 5, 10, 11]), back),
    });
    code.extend([asm::adds(7, 1), asm::str(7, 6, 8), asm::movs(1, pick(&[1, 2, 3, 9]))]);
    if spi {
        // STR R1, [R5, #SSPDR], some times, and LDR.
        (0..pick(&[1, 1, 2, 4, 8])).for_each(|_| code.push(asm::str(1, 5, 8)));
        (0..pick(&[0, 1, 2, 4])).for_each(|_| code.push(asm::ldr(1, 5, 8)));
    } else {
        // STR R1, [R5, #AL1_TRANS_COUNT_TRIG]
        code.push(asm::str(1, 5, 0x1c));
    }
    code.extend([pick(&others), asm::NOP, asm::NOP, asm::adds(3, 1)]);
    let back = -(code.len() as i16);
    code.push(asm::b(back));
    code.extend([0x1234, 0x5678, 0x9abc, 0xdef0]);
    code
}

fn rig(code: &[u16], in_flash: bool, setting: u32, spi: bool) -> Rig {
    let mut rig = Rig::new(code);
    let bytes: Vec<u8> = code.iter().flat_map(|halfword| halfword.to_le_bytes()).collect();
    rig.chip.mem.flash_write((FLASH_CODE - XIP_BASE) as usize, &bytes);
    rig.chip.mem.xip.offline = false;
    rig.chip.mem.xip.miss_cycles = 40;
    // LDR R1, =INTS0; MOVS R0, #1; STR R0, [R1]; ADDS R3, #1; BX LR.
    let clear = DMA + 0x40c;
    let handler = [0x4902, asm::movs(0, 1), asm::str(0, 1, 0), asm::adds(3, 1), asm::BX_LR, 0];
    let literal = [clear as u16, (clear >> 16) as u16];
    rig.handler(16 + DMA_IRQ, &[&handler[..], &literal].concat());
    let destination = DATA + [0x400, 0, 4][setting as usize % 3];
    let chip = &mut rig.chip;
    chip.bus.sys.freq.clk_peri_hz = chip.bus.sys.clock.hz();
    let mut write = |address, value| chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4).expect("a word");
    for word in 0..0x40 {
        write(SOURCE + 4 * word, word.wrapping_mul(2_654_435_761));
    }
    // RESETS: DMA, SPI0 and TIMER; a microsecond of some cycles.
    write(0x4000_f000, 1 << 2 | 1 << 16 | 1 << 21);
    write(WATCHDOG_TICK, 1 << 9 | (20 + (setting >> 12 & 0x7f)));
    write(DMA_TIMER0, 1 << 16 | (3 + setting / 3 % 90));
    write(DMA, SOURCE);
    write(DMA + 4, destination);
    write(DMA + 8, 5);
    write(DMA + 0x404, setting >> 10 & 1);
    // EN, words, INCR_READ in a ring, TREQ_SEL: timer 0 or none.
    write(DMA + 0xc, 1 | 2 << 2 | 1 << 4 | 7 << 6 | [0x3b, 0x3f][setting as usize >> 11 & 1] << 15);
    // SSPCPSR; SSPCR0: some clock, 4 to 16 bits, either phase; SSPCR1: SSE, loop back.
    write(SPI0 + 0x10, 2 + (setting >> 21 & 2));
    write(SPI0, (3 + setting % 13) | (setting >> 22 & 1) << 7 | (setting >> 23 & 3) << 8);
    write(SPI0 + 4, 3);
    rig.poke(NVIC_ISER, 1 << DMA_IRQ);
    let core = rig.core();
    let waits_for = if spi { SPI0 } else { DMA };
    (core.regs[4], core.regs[5], core.regs[6]) = ([SIO, TIMER][setting as usize >> 20 & 1], waits_for, DATA);
    core.regs[2] = 1 << 24;
    if in_flash {
        core.pc = FLASH_CODE;
    }
    rig
}

/// Returns the first of `loops` random loops that leaves something else when translated, with `change` made to that chip.
fn first_difference(loops: usize, change: &dyn Fn(&mut Memory)) -> Option<String> {
    let random = &mut Random(0x7a17);
    for number in 0..loops {
        let spi = number % 2 != 0;
        let (code, in_flash, setting) = (waiting_loop(random, spi), random.below(2) != 0, random.next());
        let mut rigs = [0, 1].map(|_| rig(&code, in_flash, setting, spi));
        rigs[0].chip.interpret_only();
        rigs[1].chip.translate_at_once();
        change(&mut rigs[1].chip.mem);
        for slice in 0..30 {
            let cycles = u64::from(1 + random.below(500));
            let [plain, made] = rigs.each_mut().map(|rig| {
                rig.run(cycles);
                let words: Vec<u32> = (0..3).map(|word| rig.word(DATA + 4 * word)).collect();
                (state(rig), words, rig.chip.bus.sys.cycle, rig.chip.mem.xip.accesses, rig.chip.mem.xip.misses)
            });
            if plain != made {
                return Some(format!("loop {number}, slice {slice}: {code:04x?}: {plain:?}, {made:?}"));
            }
        }
    }
    None
}

#[test]
fn a_loop_that_waits_sees_what_it_sees_when_interpreted() {
    assert_eq!(first_difference(400, &|_| ()), None);
}

/// Mistakes with loops that wait, which are rare among random programs.
pub(super) const MISTAKES: [Mistake; 4] =
    [Mistake::WaitPastLimit, Mistake::WaitForAnything, Mistake::WaitWithOthers, AFTER_OTHER];
const AFTER_OTHER: Mistake = Mistake::WaitAfterOther;

#[test]
fn every_mistake_with_such_a_loop_is_found() {
    let found = |&mistake: &Mistake| first_difference(400, &|mem| mem.translated.make_mistake(mistake)).is_some();
    let left: Vec<Mistake> = MISTAKES.into_iter().filter(|mistake| !found(mistake)).collect();
    // The next test finds it.
    assert_eq!(left, [AFTER_OTHER]);
}

/// The loop reads a register once, then SRAM twice, then the register again, with the same values in all registers. A
/// word is counted up in between.
#[test]
fn a_loop_that_was_left_has_not_waited() {
    let counted = |change: &dyn Fn(&mut Memory)| {
        // LDR R0, [R5, #12]; SUBS R2, #1; BNE.
        let mut code = vec![asm::ldr(0, 5, 12), asm::subs(2, 1), asm::b_if(asm::NE, -2)];
        code.extend([asm::cmp(3, 0), asm::b_if(asm::NE, 9)]);
        // MOV R5, R8: SRAM. MOV R5, R9: DMA.
        code.extend([asm::ldr(1, 6, 0), asm::adds(1, 1), asm::str(1, 6, 0), asm::movs(1, 0), 0x4645]);
        code.extend([asm::movs(2, 2), asm::movs(3, 1), asm::b(-12)]);
        code.extend([0x464d, asm::movs(2, 1), asm::movs(3, 0), asm::b(-16)]);
        let mut rig = Rig::new(&code);
        change(&mut rig.chip.mem);
        let core = rig.core();
        (core.regs[2], core.regs[5], core.regs[6]) = (1, DMA, DATA);
        (core.regs[8], core.regs[9]) = (DATA + 0x40, DMA);
        rig.run(2000);
        (state(&mut rig), rig.word(DATA))
    };
    let expected = counted(&|mem| mem.interpret_only());
    assert!(expected.1 > 40, "{}", expected.1);
    assert_eq!(counted(&|mem| mem.translate_at_once()), expected);
    let mistaken = counted(&|mem| {
        mem.translate_at_once();
        mem.translated.make_mistake(AFTER_OTHER);
    });
    assert_ne!(mistaken, expected);
}

/// A loop that waits takes nothing else from before a pass: what an instruction leaves does not depend on the others.
#[test]
fn instructions_read_no_more_than_they_say() {
    let (random, mut rig) = (&mut Random(9), Rig::new(&[asm::NOP; 4]));
    rig.chip.interpret_only();
    let part = Part::of::<Addresses>(CODE, 0, false).expect("SRAM");
    let mut changed = 0;
    for code in (0..=u16::MAX).step_by(7) {
        rig.program(CODE, &[code, asm::NOP]);
        let effects = V6m::effects(&rig.chip.mem, part, CODE).filter(|effects| effects.uses != u16::MAX);
        let Some(effects) = effects else { continue };
        let left_by = |registers: [u32; 16], apsr: u32| {
            let core = rig.core();
            let (cycles, instructions) = (core.cycles, core.instructions);
            (core.regs, core.pc) = (registers, CODE);
            core.set_apsr(apsr);
            rig.run(1);
            let core = rig.core();
            assert_eq!(core.instructions, instructions + 1, "{code:04x}");
            (core.regs, core.apsr() & 0xf000_0000, core.pc, core.cycles - cycles)
        };
        let mut registers: [u32; 16] = std::array::from_fn(|_| DATA + 4 * random.below(64));
        registers[13] = DATA + 0x800;
        let apsr = random.next() & 0xf000_0000;
        println!("{code:04x}");
        changed += effects.assert_reads((registers, apsr), || random.below(32), left_by);
    }
    assert!(changed > 50_000, "{changed}");
}
