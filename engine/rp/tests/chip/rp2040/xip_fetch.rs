//! The flash words that the cores fetch, determined from the wait states of a cold cache.

use super::common::{DATA, Rig, asm};
use chip::mcu::Mcu;
use rp::rp2040::RunEnd;
use rp::rp2040::memory::XIP_BASE;

const MISS: u64 = 50;
const TARGET: u32 = 0x200;
const XIP_CTRL: u32 = 0x1400_0000;
const SSI: u32 = 0x1800_0000;
const MPU_CTRL: u32 = 0xe000_ed94;
/// The MPU is on, and without a region the default map holds. The interpreter then looks at each access.
const LOOK: u32 = 5;

/// Returns core 0 at `start` of a flash with `code` there and NOPs elsewhere; the cache is empty.
fn rig(start: u32, code: &[u16]) -> Rig {
    let mut rig = Rig::new(&[]);
    let flash: Vec<u8> = asm::NOP.to_le_bytes().repeat(0x200);
    rig.chip.mem.flash_write(0, &flash);
    let code: Vec<u8> = code.iter().flat_map(|halfword| halfword.to_le_bytes()).collect();
    rig.chip.mem.flash_write(start as usize, &code);
    rig.chip.mem.xip.offline = false;
    rig.chip.mem.xip.miss_cycles = MISS as u32;
    // Decode once in advance, which is not part of the measurement.
    rig.core().pc = XIP_BASE + start;
    rig.run(1000);
    rig.chip.mem.xip.flush();
    rig.core().pc = XIP_BASE + start;
    rig
}

fn branch(from: u32) -> u16 {
    asm::b(((TARGET - from) / 2) as i16)
}

fn bl(from: u32) -> [u16; 2] {
    [0xf000, 0xf800 | ((TARGET - from - 4) / 2) as u16]
}

fn steps<const N: usize>(rig: &mut Rig) -> [u64; N] {
    std::array::from_fn(|_| rig.step())
}

#[test]
fn code_in_a_row_fetches_the_next_word_in_each_upper_halfword() {
    assert_eq!(steps(&mut rig(0x100, &[])), [1 + MISS, 1 + MISS, 1, 1 + MISS, 1]);
}

#[test]
fn a_branch_in_a_lower_halfword_fetches_nothing_after_it() {
    let mut rig = rig(0x100, &[branch(0x100)]);
    assert_eq!(steps(&mut rig), [2 + MISS, 1 + MISS]);
    assert_eq!(rig.core().pc, XIP_BASE + TARGET + 2);
}

#[test]
fn a_branch_in_an_upper_halfword_waits_for_the_next_word() {
    assert_eq!(steps(&mut rig(0x100, &[asm::NOP, branch(0x102)])), [1 + MISS, 2 + MISS, 1 + MISS]);
}

#[test]
fn an_unused_fetched_word_stays_in_the_cache() {
    let mut rig = rig(0x100, &[asm::NOP, branch(0x102)]);
    steps::<2>(&mut rig);
    rig.core().pc = XIP_BASE + 0x104;
    assert_eq!(rig.step(), 1);
}

#[test]
fn entering_at_an_upper_halfword_fetches_two_words() {
    assert_eq!(steps(&mut rig(0x102, &[])), [1 + 2 * MISS, 1]);
}

#[test]
fn a_call_in_one_word_waits_for_the_next_word() {
    assert_eq!(steps(&mut rig(0x100, &bl(0x100))), [3 + 2 * MISS, 1 + MISS]);
}

#[test]
fn a_call_over_two_words_waits_for_those() {
    assert_eq!(steps(&mut rig(0x102, &bl(0x102))), [3 + 2 * MISS, 1 + MISS]);
}

#[test]
fn a_call_in_the_cache_waits_for_the_next_line() {
    let mut rig = rig(0x100, &[&[asm::NOP; 2][..], &bl(0x104)].concat());
    steps::<2>(&mut rig);
    assert_eq!(rig.step(), 3 + MISS);
}

/// Returns the registers, cycles, and the cache's accesses and misses after code that reads CTR_ACC (R3, R4, R5) and,
/// once it is in the cache, flushes it between R4 and R5.
fn counted(look: bool) -> ([u32; 16], u64, [u64; 2]) {
    let counter = |register: u16| asm::ldr(register, 1, 0x10);
    let mut code = vec![asm::b(2), asm::NOP, counter(3), asm::NOP, asm::NOP, asm::NOP, counter(4), asm::str(0, 2, 4)];
    code.extend([asm::NOP, asm::NOP, asm::NOP, counter(5), asm::STOP]);
    let mut rig = rig(0, &[]);
    let code: Vec<u8> = code.into_iter().flat_map(u16::to_le_bytes).collect();
    rig.chip.mem.flash_write(TARGET as usize, &code);
    rig.chip.interpret_only();
    if look {
        rig.poke(MPU_CTRL, LOOK);
    }
    for written in [DATA, XIP_CTRL] {
        let core = rig.core();
        core.pc = XIP_BASE + TARGET;
        core.regs[1..3].copy_from_slice(&[XIP_CTRL, written]);
        rig.run(1000);
    }
    let (regs, cycles) = (rig.core().regs, rig.core().cycles);
    (regs, cycles, [rig.chip.mem.xip.accesses, rig.chip.mem.xip.misses])
}

#[test]
fn a_program_in_the_cache_reads_its_accesses_so_far_and_may_flush_it() {
    let seen = counted(false);
    assert_eq!(seen, counted(true));
    assert!(seen.0[3] < seen.0[4] && seen.0[4] < seen.0[5], "{seen:?}");
}

/// Runs code that closes the SSI, and with it the flash; the cache holds that code, or nothing.
fn closed(look: bool, held: bool) -> (RunEnd, [u32; 2]) {
    let mut rig = rig(TARGET, &[asm::str(0, 1, 8), asm::movs(3, 1), asm::movs(3, 2), asm::STOP]);
    rig.chip.interpret_only();
    if look {
        rig.poke(MPU_CTRL, LOOK);
    }
    let mut end = RunEnd::Time;
    let written: &[u32] = if held { &[DATA, SSI] } else { &[SSI] };
    for &address in written {
        let core = rig.core();
        (core.regs[1], core.regs[3], core.pc) = (address, 0, XIP_BASE + TARGET);
        let until = rig.ps_at(rig.chip.cores[0].cycles + 1000);
        end = rig.chip.run_until(until);
    }
    (end, [rig.core().regs[3], rig.core().pc - XIP_BASE])
}

#[test]
fn code_that_closes_its_flash_ends_at_the_first_word_that_the_cache_lacks() {
    for look in [false, true] {
        assert_eq!(closed(look, true), (RunEnd::Time, [2, TARGET + 6]));
        let (RunEnd::Unmodelled(end), _) = closed(look, false) else { panic!("the closed flash answered") };
        assert_eq!(end.what, "XIP read of flash offset 0x000200 while the flash cannot answer");
        assert_eq!(end.pc, Some(XIP_BASE + TARGET + 4));
    }
}
