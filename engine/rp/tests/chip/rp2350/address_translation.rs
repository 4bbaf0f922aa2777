//! Code in flash at other addresses than its own: QMI's address translation, translated and interpreted.

use chip::mcu::Mcu;
use rp::rp2350::cpu::Master;
use rp::rp2350::cpu::core::State;
use rp::rp2350::world::Nothing;
use rp::rp2350::{Chip, ChipConfig, RunEnd};
use sim::{PS_PER_US, SplitMix64, asked};
use w25q::Array;

const FLASH: u32 = 0x1000_0000;
const SRAM: u32 = 0x2000_0000;
const ATRANS0: u32 = 0x400d_0034;
const STREAM_ADDR: u32 = 0x400c_8014;
const STREAM_CTR: u32 = 0x400c_8018;
const STREAM_FIFO: u32 = 0x400c_801c;
const RESETS_CLEAR: u32 = 0x4002_3000;
const SS_CTRL: u32 = 0x4003_001c;
const PAGE: u32 = 0x1000;
const FLASH_BYTES: usize = 16 * PAGE as usize;
/// A pane of 4 KiB.
const SIZE: u32 = 1 << 16;

fn chip(code: &[(u32, &[u16])], start: u32, translated: bool) -> Chip {
    let config = ChipConfig { bootrom: &[], flash_size: FLASH_BYTES, flash: &[], ..ChipConfig::default() };
    let mut chip = <Chip>::new(&config, Nothing);
    for (at, code) in code {
        chip.mem.flash_write(*at as usize, &code.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<_>>());
    }
    let core = &mut chip.cores[0];
    (core.pc, core.state, core.regs[13]) = (start, State::Running, 0x2000_1000);
    (core.regs[0], core.regs[1]) = (0, 0);
    chip.cores[1].state = State::Held;
    // No block is in reset, and QMI has the flash's chip select.
    set(&mut chip, RESETS_CLEAR, u32::MAX);
    set(&mut chip, SS_CTRL, 0);
    assert!(!chip.mem.xip.offline);
    if translated {
        chip.mem.translate_at_once();
    } else {
        chip.mem.interpret_only();
    }
    chip
}

/// Writes a register between two instructions, with an empty cache.
fn set(chip: &mut Chip, address: u32, value: u32) {
    chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4).expect("a register");
    chip.mem.xip.flush();
}

fn registers(chip: &mut Chip, us: u64) -> [u32; 2] {
    chip.run_until(chip.now() + us * PS_PER_US);
    assert_eq!(chip.bus.sys.unmodelled, None);
    [chip.cores[0].regs[0], chip.cores[0].regs[1]]
}

#[test]
fn a_loop_continues_in_the_page_that_its_pane_shows() {
    // ADDS R0 or R1, #1, and back.
    let code: [(u32, &[u16]); 2] = [(0, &[0x3001, 0xe7fd]), (5 * PAGE, &[0x3101, 0xe7fd])];
    let counts = [false, true].map(|translated| {
        let mut chip = chip(&code, FLASH, translated);
        let first = registers(&mut chip, 100);
        set(&mut chip, ATRANS0, SIZE | 5);
        let second = registers(&mut chip, 100);
        set(&mut chip, ATRANS0, 0x400 << 16);
        (first, second, registers(&mut chip, 100))
    });
    assert_eq!(counts[0], counts[1]);
    let (first, second, third) = counts[0];
    assert!(first[0] > 200 && first[1] == 0 && second[0] == first[0] && second[1] > 200, "{first:?} {second:?}");
    assert!(third[0] > second[0] && third[1] == second[1]);
}

#[test]
fn code_behind_a_gap_and_in_a_second_pane_runs_in_the_same_time() {
    let code: [(u32, &[u16]); 1] = [(7 * PAGE, &[0x3001, 0xe7fd])];
    let counts = [0, 0x40_0000, 0xc0_0000].map(|pane| {
        [false, true].map(|translated| {
            let mut chip = chip(&code, FLASH + pane, translated);
            set(&mut chip, ATRANS0, 0);
            set(&mut chip, ATRANS0 + (pane >> 20), SIZE | 7);
            registers(&mut chip, 100)
        })
    });
    assert!(counts[0][0][0] > 200, "{counts:?}");
    assert_eq!(counts, [counts[0]; 3]);
}

#[test]
fn a_stream_reads_the_page_that_its_pane_shows() {
    let code: [(u32, &[u16]); 2] =
        [(0, &[0xe7fe, 0x1111, 0x2222, 0x3333]), (5 * PAGE, &[0xe7fe, 0x4444, 0x5555, 0x6666])];
    for address in [0, FLASH] {
        let mut chip = chip(&code, FLASH, false);
        for (translation, words) in [(0x400 << 16, [0x1111_e7fe, 0x3333_2222]), (SIZE | 5, [0x4444_e7fe, 0x6666_5555])]
        {
            set(&mut chip, ATRANS0, translation);
            set(&mut chip, STREAM_ADDR, address);
            set(&mut chip, STREAM_CTR, 2);
            registers(&mut chip, 100);
            let read =
                [(); 2].map(|()| chip.bus.read(&mut chip.mem, Master::Core(0), STREAM_FIFO, 4).expect("a register"));
            assert_eq!(read, words, "{address:#x}");
        }
    }
}

#[test]
fn running_code_may_change_its_own_translation() {
    // ADDS R0 or R1, #1, which is all that differs; EORS R2, R4; STR R2, [R3]; STRB R6, [R5] to invalidate the line that
    // differs; B.
    let page = |add| [add, 0xbf00, 0xbf00, 0xbf00, 0x4062, 0x601a, 0x702e, 0xe7f7];
    let (first, second) = (page(0x3001), page(0x3101));
    let counts = [false, true].map(|translated| {
        let mut chip = chip(&[(0, &first), (PAGE, &second)], FLASH, translated);
        let regs = &mut chip.cores[0].regs;
        (regs[2], regs[3], regs[4], regs[5], regs[6]) = (0x400 << 16, ATRANS0, 1, 0x1800_0002, 0);
        registers(&mut chip, 20_000)
    });
    assert_eq!(counts[0], counts[1]);
    let [first, second] = counts[0];
    assert!(first > 50 && first.abs_diff(second) <= 1, "{first} {second}");
}

#[test]
fn code_of_pages_that_stay_is_not_translated_again() {
    // ADDS R0, #1, and back.
    let mut chip = chip(&[(0, &[0x3001, 0xe7fd])], FLASH, true);
    registers(&mut chip, 100);
    let (blocks, dropped) = (chip.mem.translated_blocks() as u64, chip.mem.dropped_blocks());
    for pages in [1, 2, 0] {
        set(&mut chip, ATRANS0 + 4, pages << 16);
        registers(&mut chip, 100);
    }
    assert_eq!((chip.mem.translated_blocks() as u64, chip.mem.dropped_blocks()), (blocks, dropped));
    set(&mut chip, ATRANS0, SIZE | 7);
    assert_eq!(chip.mem.dropped_blocks(), dropped + blocks);
}

#[test]
fn a_change_of_flash_reaches_all_places_that_show_it() {
    let config = ChipConfig { bootrom: &[], flash_size: 16 << 20, flash: &[], ..ChipConfig::default() };
    let mut chip = <Chip>::new(&config, Nothing);
    let shown = |chip: &Chip, at: usize| [0, 0x40_0000].map(|pane| chip.mem.flash_u8(pane + at));
    chip.mem.flash_write(0xff_ffff, &[1, 2]);
    set(&mut chip, RESETS_CLEAR, u32::MAX);
    // Two panes of 4 MiB show the same cells, the last of which are the first of the flash.
    for register in [ATRANS0, ATRANS0 + 4] {
        set(&mut chip, register, 0x400 << 16 | 0xc01);
    }
    assert_eq!((shown(&chip, 0x3f_efff), shown(&chip, 0x3f_f000)), ([1; 2], [2; 2]));
    chip.mem.program(0xff_fffe, &[0xf0, 0, 3]);
    assert_eq!(shown(&chip, 0x3f_effe), [0xf0; 2]);
    assert_eq!((shown(&chip, 0x3f_efff), shown(&chip, 0x3f_f000)), ([0; 2], [2; 2]));
    chip.mem.erase(0, 16 << 20);
    assert!((0x3f_effe..0x3f_f001).all(|at| shown(&chip, at) == [0xff; 2]));
}

/// Assembles MOVW and MOVT.
fn move_word(register: u16, value: u32) -> [u16; 4] {
    let halves = [(0xf240, value as u16), (0xf2c0, (value >> 16) as u16)];
    let [low, high] = halves.map(|(opcode, half)| {
        let first = opcode | half >> 12 | (half & 0x800) >> 1;
        [first, (half & 0x700) << 4 | register << 8 | half & 0xff]
    });
    [low[0], low[1], high[0], high[1]]
}

/// Returns a program in SRAM that maps pages of flash, and invalidates, reads and calls lines of them, for ever.
fn mapping(r: &mut SplitMix64) -> Vec<u8> {
    let mut code = Vec::new();
    for _ in 0..24 {
        let at = FLASH | (r.below(2) as u32) << 22 | (r.below(2) as u32) << 12 | (r.below(4) as u32) << 3;
        if r.below(3) == 0 {
            let pages = [0x400, 0x400, 0x400, 0x100, 5][r.below(5) as usize];
            code.extend(move_word(1, ATRANS0 + 4 * r.below(2) as u32));
            code.extend(move_word(2, pages << 16 | r.below(6) as u32));
            code.push(0x600a); // STR R2, [R1]
        } else {
            // The function at an odd place is the same in each page.
            if at & 8 == 0 && r.below(8) != 0 {
                code.extend(move_word(1, at ^ 0x0800_0002));
                code.push(0x7009); // STRB R1, [R1]
            }
            let call = r.below(2) as u32;
            code.extend(move_word(1, at | call));
            // LDR R3, [R1]; ADDS R0, R0, R3 or BLX R1.
            code.extend([[0x680b, 0x18c0], [0x4788, 0xbf00]][call as usize]);
        }
    }
    code.extend(move_word(1, SRAM | 1));
    code.push(0x4708); // BX R1
    code.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// Runs such a program while its flash is programmed; returns its registers and counts after each slice, a snapshot at
/// the end, and the number of instructions.
fn mapped(seed: u64, translated: bool, restored: bool) -> (Vec<String>, Vec<u8>, u64) {
    let mut r = SplitMix64::new(seed);
    // ADDS R0, #n; NOP; BX LR.
    let function =
        |page: usize, at: usize| [0x3000 | if at & 1 == 0 { page as u16 } else { 9 }, 0xbf00, 0x4770, 0xbf00];
    let pages: Vec<(u32, Vec<u16>)> =
        (0..12).map(|page| (page as u32 * PAGE, (0..16).flat_map(|at| function(page, at)).collect())).collect();
    let pages: Vec<(u32, &[u16])> = pages.iter().map(|(at, code)| (*at, &code[..])).collect();
    let mut chip = chip(&pages, SRAM, translated);
    chip.mem.poke(SRAM, &mapping(&mut r));
    let mut seen = Vec::new();
    let mut end = RunEnd::Time;
    while seen.len() < 40 && !matches!(end, RunEnd::Unmodelled(_)) {
        end = chip.run_until(chip.now() + (50 + r.below(600)) * PS_PER_US);
        let (core, xip) = (&chip.cores[0], &chip.mem.xip);
        seen.push(format!("{:?} {} {} {} {}", core.regs, core.pc, core.cycles, xip.accesses, xip.misses));
        chip.mem.program(r.below(12) as usize * PAGE as usize + 16 * r.below(8) as usize, &[r.draw() as u8]);
        if restored && seen.len() % 8 == 0 {
            let bytes = snapshot(&chip);
            let config = ChipConfig { bootrom: &[], flash_size: FLASH_BYTES, flash: &[], ..ChipConfig::default() };
            chip = <Chip>::new(&config, Nothing);
            Mcu::restore(&mut chip, &mut &bytes[..]).expect("a snapshot");
            assert!(snapshot(&chip) == bytes, "seed {seed}");
        }
    }
    seen.push(format!("{end:?}"));
    (seen, snapshot(&chip), chip.cores[0].instructions)
}

fn snapshot(chip: &Chip) -> Vec<u8> {
    let mut bytes = Vec::new();
    Mcu::save(chip, &mut bytes).expect("no debugger");
    bytes
}

/// `PORTBENCH_FUZZ_PROGRAMS` is the number of guests, and `PORTBENCH_FUZZ_SEED` makes others.
#[test]
fn translated_code_equals_the_interpreter_while_flash_moves() {
    let (guests, first) = (asked("PORTBENCH_FUZZ_PROGRAMS", 60), asked("PORTBENCH_FUZZ_SEED", 0) << 32);
    let (mut executed, mut refused) = (0, 0);
    for seed in first + 1..=first + guests {
        let plain = mapped(seed, false, false);
        for (translated, restored) in [(true, false), (false, true)] {
            let other = mapped(seed, translated, restored);
            assert_eq!(plain.0, other.0, "seed {seed}, translated: {translated}");
            assert!(plain.1 == other.1, "seed {seed}, translated: {translated}");
        }
        executed += plain.2;
        refused += u64::from(plain.0.last().is_some_and(|end| end.contains("stale")));
    }
    println!("{executed} instructions of {guests} guests, {refused} of which read a stale line");
    assert!(executed > 500 * guests && refused < guests, "the guests barely ran");
}
