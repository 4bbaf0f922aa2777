//! The double-precision functions that RP2350 images contain, on the emulated coprocessor, against the host's IEEE
//! arithmetic. They are found by the coprocessor's instructions in them. A test is skipped without the image in
//! `PORTBENCH_FIRMWARE_DIR`.

use chip::mcu::Mcu;
use std::path::Path;

use portbench_engine::mcu::RP2350;
use portbench_engine::{BoardConfig, Machine};
use rp::rp2350::Rp2350;
use sim::{PS_PER_S, SplitMix64};

/// Where the driver calls the function, and where operands and results are.
const FUNCTION: usize = 0x400;
const OPERANDS: u32 = 0x2000_0000;
const RESULTS: u32 = 0x2006_0000;
/// Runs of a function; their operands end before the count.
const RUNS: usize = 15_000;

/// Switches the coprocessor on, and calls the function with each pair of operands:
/// ```text
///     ldr   r0, =0xe000ed88
///     mov   r1, #0x300
///     str   r1, [r0]
///     dsb
///     isb
///     mov   r4, #OPERANDS
///     movw  r6, #FUNCTION | 1
///     ldr   r7, =RESULTS
///     ldr   r5, [r7, #-4]
/// 1:  ldmia r4!, {r0-r3}
///     blx   r6
///     stmia r7!, {r0, r1}
///     subs  r5, #1
///     bne   1b
/// 2:  wfi
///     b     2b
/// ```
const DRIVER: [u16; 26] = [
    0x480a, 0xf44f, 0x7140, 0x6001, 0xf3bf, 0x8f4f, 0xf3bf, 0x8f6f, 0xf04f, 0x5400, 0xf240, 0x4601, 0x4f05, 0xf857,
    0x5c04, 0xcc0f, 0x47b0, 0xc703, 0x3d01, 0xd1fa, 0xbf30, 0xe7fd, 0xed88, 0xe000, 0x0000, 0x2006,
];

/// MRC2 of the status to the flags, with which each function begins.
const ENTRY: u32 = 0xfe10_f430;
const BX_LR: u16 = 0x4770;

/// The first instruction of the coprocessor after the entry, and the last.
const ADD: (u32, u32) = (0xec41_0410, 0xec51_0410);
const SUBTRACT: (u32, u32) = (0xec41_0410, 0xec51_0430);
const MULTIPLY: (u32, u32) = (0xec41_0410, 0xec51_0450);
const DIVIDE: (u32, u32) = (0xec41_0410, 0xec51_0470);
const ROOT: (u32, u32) = (0xec41_0410, 0xec51_0490);
const TO_SINGLE: (u32, u32) = (0xec41_0410, 0xee10_04b2);
const FROM_SINGLE: (u32, u32) = (0xec40_0412, 0xec51_04b0);
const TO_INT: (u32, u32) = (0xec41_0480, 0xee10_0413);
const TO_UNSIGNED: (u32, u32) = (0xec41_0480, 0xee10_0433);
const FROM_INT: (u32, u32) = (0xec40_0470, 0xec51_0430);
const FROM_UNSIGNED: (u32, u32) = (0xec40_0460, 0xec51_0430);

const SPECIALS: [f64; 10] =
    [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, f64::MAX, 5e-324, 1.0, -4_294_967_295.5];

fn image(file: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("PORTBENCH_FIRMWARE_DIR") else {
        println!("skipped: PORTBENCH_FIRMWARE_DIR names no folder with {file}");
        return None;
    };
    let path = Path::new(&folder).join(file);
    let uf2 = std::fs::read(&path).map_err(|error| println!("skipped: {}: {error}", path.display())).ok()?;
    Some(portbench_engine::flash_of_uf2(&rp::rp2350::FACTS, &uf2).expect("an image for the RP2350"))
}

/// Returns the code of the function whose coprocessor instructions begin and end with `ends`, up to its BX LR.
fn function(flash: &[u8], ends: (u32, u32)) -> Vec<u16> {
    let halves: Vec<u16> = flash.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let word = |at: usize| u32::from(halves[at]) << 16 | u32::from(*halves.get(at + 1).unwrap_or(&0));
    for at in (0..halves.len()).filter(|&at| word(at) == ENTRY) {
        let length = halves[at..].iter().position(|&half| half == BX_LR).expect("a return") + 1;
        let coprocessor = |at: &usize| matches!(word(*at) >> 24, 0xec | 0xee) && word(*at) >> 8 & 15 == 4;
        let mut inside = (at + 2..at + length).filter(coprocessor);
        let first = inside.next().map(word);
        if (first, inside.next_back().map(word)) == (Some(ends.0), Some(ends.1)) {
            return halves[at..at + length].to_vec();
        }
    }
    panic!("the image has no function with {ends:08x?}");
}

/// Calls `code` with each pair of operands.
fn call(code: &[u16], operands: &[(u64, u64)]) -> Vec<u64> {
    timed(code, operands).0
}

/// Calls `code` with each pair of operands; returns the results and the cycles of all.
fn timed(code: &[u16], operands: &[(u64, u64)]) -> (Vec<u64>, u64) {
    let mut rom: Vec<u8> = [RESULTS + 0x2_0000, 8 | 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    rom.extend(DRIVER.iter().flat_map(|half| half.to_le_bytes()));
    rom.resize(FUNCTION, 0);
    rom.extend(code.iter().flat_map(|half| half.to_le_bytes()));
    rom.resize(RP2350.boot_rom.bytes, 0);
    let mut board = Machine::new(BoardConfig::pico2(rom), &[], false).expect("a board");
    let Some(Rp2350::Arm(chip)) = board.chip_as::<Rp2350>() else { unreachable!() };
    chip.cores[1].state = rp::rp2350::cpu::core::State::Held;
    for (at, operand) in operands.iter().flat_map(|&(x, y)| [x, y]).enumerate() {
        assert!(chip.mem.poke(OPERANDS + 8 * at as u32, &operand.to_le_bytes()));
    }
    assert!(chip.mem.poke(RESULTS - 4, &(operands.len() as u32).to_le_bytes()));
    let end = chip.run_until(5 * PS_PER_S);
    assert_eq!(chip.cores[0].state, rp::rp2350::cpu::core::State::Wfi, "{end:?}");
    let result = |run: usize| {
        let word = |at: u32| u64::from(chip.mem.ram_u32((at - OPERANDS) as usize));
        let at = RESULTS + 8 * run as u32;
        word(at) | word(at + 4) << 32
    };
    ((0..operands.len()).map(result).collect(), chip.cores[0].cycles)
}

/// A number of any kind, whose products and quotients mostly have an exponent.
fn operand(random: &mut SplitMix64) -> u64 {
    let fraction = u64::from(random.draw32()) << 32 | u64::from(random.draw32());
    let spread = [1, 8, 120, 800][random.below32(4) as usize];
    let exponent = u64::from(1023 - spread / 2 + random.below32(spread));
    match random.below32(16) {
        0 => SPECIALS[random.below32(10) as usize].to_bits(),
        1 => f64::from(random.draw32() as i32).to_bits(),
        2 => fraction,
        few @ 3..6 => fraction & 1 << 63 | exponent << 52 | (fraction & ((1 << 52) - 1)) >> (12 * few) << (12 * few),
        _ => fraction & 1 << 63 | exponent << 52 | fraction & ((1 << 52) - 1),
    }
}

fn operands(seed: u64) -> Vec<(u64, u64)> {
    let mut random = SplitMix64::new(seed);
    (0..RUNS).map(|_| (operand(&mut random), operand(&mut random))).collect()
}

fn double(bits: u64) -> f64 {
    let value = f64::from_bits(bits);
    if value.is_subnormal() { 0f64.copysign(value) } else { value }
}

/// Compares doubles, of which any NaN is one.
fn check(flash: &[u8], ends: (u32, u32), expected: impl Fn(f64, f64) -> f64) {
    let operands = operands(u64::from(ends.1));
    for (&(x, y), seen) in operands.iter().zip(call(&function(flash, ends), &operands)) {
        let expected = double(expected(double(x), double(y)).to_bits());
        let seen = f64::from_bits(seen);
        let same = seen.to_bits() == expected.to_bits() || seen.is_nan() && expected.is_nan();
        assert!(same, "{ends:x?} of {:e} and {:e}: {seen:e}, not {expected:e}", double(x), double(y));
    }
}

/// Compares low words of the results, with the first operand's low word as `from` wants it.
fn check_words(flash: &[u8], ends: (u32, u32), expected: impl Fn(f64) -> u32) {
    let operands = operands(u64::from(ends.1));
    for (&(x, _), seen) in operands.iter().zip(call(&function(flash, ends), &operands)) {
        assert_eq!(seen as u32, expected(double(x)), "{ends:x?} of {:e}", double(x));
    }
}

#[test]
fn micropythons_functions() {
    let Some(flash) = image("mp-pico2-1.25.0-preview.393.uf2") else { return };
    check(&flash, ADD, |x, y| x + y);
    check(&flash, SUBTRACT, |x, y| x - y);
    check(&flash, MULTIPLY, |x, y| x * y);
    check(&flash, DIVIDE, |x, y| x / y);
    check_words(&flash, TO_INT, |x| match (x.is_nan(), x.is_sign_negative()) {
        (true, negative) => {
            if negative {
                i32::MIN as u32
            } else {
                i32::MAX as u32
            }
        }
        _ => x as i32 as u32,
    });
    check_words(&flash, TO_UNSIGNED, |x| match (x.is_nan(), x.is_sign_negative()) {
        (true, false) => u32::MAX,
        _ => x as u32,
    });
    check_words(&flash, TO_SINGLE, |x| {
        let single = x as f32;
        let normal = if single.is_subnormal() { 0f32.copysign(single) } else { single };
        if x.is_nan() { f32::NAN.to_bits() | u32::from(x.is_sign_negative()) << 31 } else { normal.to_bits() }
    });
    let integers = operands(1);
    for (ends, exact) in [(FROM_INT, (|x| f64::from(x as i32)) as fn(u32) -> f64), (FROM_UNSIGNED, f64::from)] {
        for (&(x, _), seen) in integers.iter().zip(call(&function(&flash, ends), &integers)) {
            assert_eq!(f64::from_bits(seen), exact(x as u32), "{ends:x?} of {:x}", x as u32);
        }
    }
    for (&(x, _), seen) in integers.iter().zip(call(&function(&flash, FROM_SINGLE), &integers)) {
        let single = f32::from_bits(x as u32);
        if !single.is_nan() && !single.is_subnormal() {
            assert_eq!(seen, f64::from(single).to_bits(), "{single:e}");
        }
    }
}

#[test]
fn a_division_takes_the_datasheets_time() {
    let Some(flash) = image("mp-pico2-1.25.0-preview.393.uf2") else { return };
    let operands = [(1.5f64.to_bits(), 7.25f64.to_bits()); 100];
    let cycles = |ends| timed(&function(&flash, ends), &operands).1;
    // Table 113 has the sequences alone: 51 cycles, and 6 of an addition. The functions around them are alike.
    assert_eq!(cycles(DIVIDE) - cycles(ADD), 100 * (51 - 6));
}

#[test]
fn circuitpythons_root() {
    let Some(flash) = image("cp-pico2-9.2.0.uf2") else { return };
    check(&flash, ROOT, |x, _| x.sqrt());
}
