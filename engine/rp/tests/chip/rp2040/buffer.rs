//! Tests of dropped blocks: a full buffer, and translation turned off.

use chip::mcu::Mcu;
use rp::rp2040::cpu::core::State;
use rp::rp2040::memory::RAM_BASE;
use rp::rp2040::world::Nothing;
use rp::rp2040::{Chip, ChipConfig};

/// ADDS R0, #1 and a branch to the next instruction: one block each.
const BLOCK: [u16; 2] = [0x3001, 0xe7ff];
const BLOCKS: usize = 1000;
const CODE: u32 = RAM_BASE + 0x100;

/// Returns a chip at the first of many blocks, the last of which branches back to it.
fn chip() -> Chip {
    let config = ChipConfig { bootrom: &[], flash_size: 1 << 16, flash: &[], ..ChipConfig::default() };
    let mut chip = Chip::new(&config, Nothing);
    // A branch reaches back at most 2 KiB, so use BL.
    let back = (-(BLOCKS as i32 * 4) - 4) as u32;
    let bl = [0xf400 | (back >> 12 & 0x3ff) as u16, 0xf800 | (back >> 1 & 0x7ff) as u16];
    let code = BLOCK.into_iter().cycle().take(2 * BLOCKS).chain(bl);
    for (i, halfword) in code.enumerate() {
        chip.mem.set_ram_u16((CODE - RAM_BASE) as usize + 2 * i, halfword);
    }
    chip.cores[0].pc = CODE;
    chip.cores[1].state = State::Held;
    chip
}

/// Returns instructions, cycles and R0 after `us` microseconds.
fn run(chip: &mut Chip, us: u64) -> (u64, u64, u32) {
    chip.run_until(chip.now() + us * sim::PS_PER_US);
    let core = &chip.cores[0];
    (core.instructions, core.cycles, core.regs[0])
}

#[test]
fn a_full_buffer_is_started_over() {
    let (mut interpreted, mut translated) = (chip(), chip());
    interpreted.interpret_only();
    translated.translate_at_once();
    translated.mem.limit_translated(64 << 10);
    for _ in 0..20 {
        assert_eq!(run(&mut interpreted, 200), run(&mut translated, 200));
    }
    assert!(translated.cores[0].regs[0] > 2 * BLOCKS as u32);
    let blocks = translated.mem.translated_blocks();
    assert!((1..BLOCKS).contains(&blocks), "{blocks} of {BLOCKS} blocks are in the buffer");
    assert!(translated.mem.dropped_blocks() > 0, "the buffer was never full");
}

#[test]
fn code_is_interpreted_after_turning_off() {
    let (mut interpreted, mut translated) = (chip(), chip());
    interpreted.interpret_only();
    translated.translate_at_once();
    assert_eq!(run(&mut interpreted, 100), run(&mut translated, 100));
    assert!(translated.mem.translated_blocks() > 0);
    translated.interpret_only();
    assert_eq!(run(&mut interpreted, 100), run(&mut translated, 100));
    assert_eq!(translated.mem.translated_blocks(), 0);
}
