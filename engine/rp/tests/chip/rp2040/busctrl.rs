//! BUSCTRL's performance counters as used by a program (RP2040 datasheet 2.1.5).

use super::common::{CODE, Rig, asm};
use armv6m::V6m;
use chip::Peripheral;
use chip::mcu::Mcu;
use cpu::Bus;

/// The counters stop there.
const MOST: u32 = 0xff_ffff;
const RESETS_CLEAR: u32 = 0x4000_f000;
const BUSCTRL: u32 = 0x4003_0000;
const SRAM4: u32 = 0x2004_0000;
const SRAM5: u32 = 0x2004_1000;
const SYSINFO: u32 = 0x4000_0000;
const USB_RAM: u32 = 0x5010_0000;

const APB: u32 = 0x01;
const FASTPERI: u32 = 0x03;
const SRAM5_ACCESSES: u32 = 0x05;
const SRAM4_ACCESSES: u32 = 0x07;
const SRAM4_CONTESTED: u32 = 0x06;
const ROM: u32 = 0x13;

/// Returns the counters of `events` after `code`, with R1 to R4 as given, and the cycles it took.
fn counts(events: [u32; 4], code: &[u16], registers: [u32; 4]) -> ([u32; 4], u64) {
    let mut r = Rig::new(&[code, &[asm::STOP]].concat());
    r.poke(RESETS_CLEAR, u32::MAX);
    for (index, event) in events.into_iter().enumerate() {
        r.poke(BUSCTRL + 0x0c + 8 * index as u32, event);
    }
    // The set-up's accesses count, too.
    for index in 0..4 {
        r.poke(BUSCTRL + 8 + 8 * index, 0);
    }
    r.run_to(r.chip.cores[0].cycles);
    r.core().regs[1..5].copy_from_slice(&registers);
    let before = r.core().cycles;
    while r.core().pc != CODE + 2 * code.len() as u32 {
        r.step();
    }
    let cycles = r.core().cycles - before;
    let chip = &mut r.chip;
    let counts = [0, 1, 2, 3].map(|index| chip.bus.own.busctrl.read(&mut chip.bus.sys, 8 + 8 * index));
    (counts, cycles)
}

#[test]
fn accesses_of_each_port_are_counted_and_cost_no_time() {
    let code = [
        asm::ldr(0, 1, 0),
        asm::ldr(0, 1, 4),
        asm::str(0, 1, 8),
        0xc901, // LDM R1!, {R0}
        asm::ldr(0, 2, 0),
        asm::ldr(0, 2, 4),
        asm::str(0, 3, 0),
        asm::ldr(0, 4, 0),
    ];
    let registers = [SRAM4, SYSINFO, USB_RAM, 0x10];
    let (counted, cycles) = counts([SRAM4_ACCESSES, APB, FASTPERI, ROM], &code, registers);
    // The stores that cleared counters 2 and 3 came after counter 1's.
    assert_eq!(counted, [4, 2 + 2, 1, 1]);
    let (nothing, uncounted_cycles) = counts([SRAM4_CONTESTED, 0x1f, 0x14, 0x1e], &code, registers);
    assert_eq!((nothing, uncounted_cycles), ([0; 4], cycles));
}

#[test]
fn fetches_count_by_the_word_in_the_bank_that_holds_them() {
    // SRAM0 to SRAM3: twelve words of code, and the prefetched word of STOP.
    let (counted, _) = counts([0x0f, 0x0d, 0x0b, 0x09], &[asm::NOP; 24], [0; 4]);
    assert_eq!(counted, [4, 3, 3, 3]);
}

#[test]
fn an_exception_stacks_and_unstacks_eight_words() {
    let mut r = Rig::new(&[asm::SVC, asm::STOP]);
    r.handler(11, &[asm::BX_LR]);
    r.poke(RESETS_CLEAR, u32::MAX);
    r.poke(BUSCTRL + 0x0c, SRAM4_ACCESSES);
    r.core().regs[13] = SRAM4 + 0x100;
    r.run(200);
    assert_eq!(r.chip.bus.own.busctrl.read(&mut r.chip.bus.sys, 8), 16);
}

#[test]
fn a_program_reads_its_accesses_to_sram5_so_far() {
    let counter = |register: u16| asm::ldr(register, 2, 8);
    let code = [asm::str(0, 1, 0), asm::ldr(0, 1, 4), counter(3), asm::str(0, 1, 0), counter(4), asm::STOP];
    for (before, expected) in [(0, [2, 3]), (MOST - 2, [MOST, MOST])] {
        let mut r = Rig::new(&code);
        r.poke(RESETS_CLEAR, u32::MAX);
        r.poke(BUSCTRL + 0x0c, SRAM5_ACCESSES);
        r.chip.interpret_only();
        // The first run decodes, an instruction at a time.
        for _ in 0..2 {
            *Bus::<V6m>::bank_counter(&mut r.chip.bus).unwrap() = before;
            r.core().pc = CODE;
            r.core().regs[1..3].copy_from_slice(&[SRAM5, BUSCTRL]);
            r.run(100);
            assert_eq!(r.core().regs[3..5], expected);
        }
    }
}
