//! Random loops in flash, SRAM and ROM, with interrupts at any cycle: translated code must have the same effects as the
//! interpreter, cycle by cycle.

mod common;

use common::{CODE, DATA, ROM_CODE, Rig, SIO, STACK, SYST_CSR, asm};
use proptest::prelude::*;
use rp2040::bus::Master;
use rp2040::cpu::core::State;
use rp2040::memory::{RAM_BASE, XIP_BASE};
use rp2040::peripherals::{Peripheral, Write};

const FLASH_CODE: u32 = XIP_BASE + 0x2000;
/// Initial addresses of the programs' pointers: ordinary SRAM, banks whose accesses may be counted, code, cached and
/// uncached flash, SIO, ROM, and unmapped space.
const POINTERS: [u32; 14] = [
    DATA,
    CODE - 8,
    CODE - 20,
    DATA + 0x102,
    0x2004_0ff0,
    0x2004_1010,
    0x2004_1ff0,
    CODE + 0x40,
    XIP_BASE + 0x2010,
    XIP_BASE + 0x4_2013,
    0x1300_2000,
    SIO,
    0x0000_0100,
    0x3000_0000,
];

/// Low registers: R0 to R3 take results, R4 to R6 are pointers, R7 counts.
fn instruction() -> impl Strategy<Value = Vec<u16>> {
    let low = 0..8u16;
    let result = 0..4u16;
    let pointer = 4..7u16;
    let one = |halfword: u16| vec![halfword];
    prop_oneof![
        // Shifts by a constant, sums, differences, moves and comparisons.
        6 => (0..0x18u16, 0..32u16, low.clone(), result.clone())
            .prop_map(move |(kind, imm, from, to)| one(kind << 8 & 0x1800 | imm << 6 | from << 3 | to)),
        4 => (0..4u16, result.clone(), any::<u8>())
            .prop_map(move |(kind, to, imm)| one(0x2000 | kind << 11 | to << 8 | u16::from(imm))),
        // The sixteen with two low registers.
        8 => (0..16u16, low.clone(), result.clone()).prop_map(move |(kind, from, to)| one(0x4000 | kind << 6 | from << 3 | to)),
        // High registers, without the PC.
        2 => (0..3u16, 0..15u16, 8..13u16)
            .prop_map(move |(kind, from, to)| one(0x4400 | kind << 8 | (to & 8) << 4 | from << 3 | to & 7)),
        1 => (0..4u16, result.clone()).prop_map(move |(kind, to)| one([0x4678, 0x4478, 0x466a, 0xa102][kind as usize] | to)),
        // Extensions and reversals.
        2 => (0..8u16, low.clone(), result.clone()).prop_map(move |(kind, from, to)| {
            one([0xb200, 0xb240, 0xb280, 0xb2c0, 0xba00, 0xba40, 0xbac0, 0xb200][kind as usize] | from << 3 | to)
        }),
        // Loads and stores.
        8 => (0..8u16, result.clone(), pointer.clone(), result.clone())
            .prop_map(move |(kind, index, base, to)| one(0x5000 | kind << 9 | index << 6 | base << 3 | to)),
        10 => (0..6u16, 0..8u16, pointer.clone(), result.clone())
            .prop_map(move |(kind, imm, base, to)| one((0x6000 + (kind << 11)) | (imm << 6) | (base << 3) | to)),
        2 => (0..2u16, result.clone(), 0..8u16).prop_map(move |(kind, to, imm)| one(0x9000 | kind << 11 | to << 8 | imm)),
        3 => (result.clone(), 0..8u16).prop_map(move |(to, imm)| one(0x4800 | to << 8 | imm)),
        3 => (0..2u16, pointer.clone(), 1..0x10u16).prop_map(move |(kind, base, list)| one(0xc000 | kind << 11 | base << 8 | list)),
        2 => (1..0x100u16, 0..2u16).prop_map(|(list, link)| {
            vec![0xb400 | link << 8 | list, 0xbc00 | list & 0xf, 0xb000 | (((list >> 4).count_ones() + u32::from(link)) as u16)]
        }),
        // Allocate space on the stack, and free it.
        1 => (0..4u16).prop_map(|words| vec![0xb080 | words, 0xa801, 0xb000 | words]),
        // The stack pointer used as any register, for a moment.
        1 => low.clone().prop_map(|from| vec![0x46eb, 0x4485 | (from << 3), 0x466a, 0x46dd]),
        // Shifts by about the width of a register.
        2 => (prop::sample::select(vec![2u16, 3, 4, 7]), prop::sample::select(vec![0u16, 1, 31, 32, 33, 255]), result.clone())
            .prop_map(|(kind, by, to)| vec![asm::movs(3, by), 0x4000 | (kind << 6) | (3 << 3) | to]),
        // Comparisons with their following instructions, also of equal values.
        3 => (0..14u16, low.clone(), low.clone())
            .prop_map(|(condition, left, right)| vec![0x4280 | (left << 3) | right, asm::b_if(condition, 2), 0xbf00]),
        2 => (0..14u16, low.clone(), 0..3u16)
            .prop_map(|(condition, one, imm)| vec![asm::cmp(one, imm), asm::b_if(condition, 2), 0xbf00]),
        // Short forward branches.
        4 => (0..14u16, 2..6i16).prop_map(move |(condition, ahead)| one(asm::b_if(condition, ahead))),
        1 => (2..5i16).prop_map(move |ahead| one(asm::b(ahead))),
        // Calls of the next instruction but one, by BL and by BLX, and a POP to it.
        2 => Just(vec![0xf000, 0xf800]),
        1 => Just(vec![0x4678, 0x3005, 0x4780]),
        1 => Just(vec![0x4678, 0x3009, 0xb401, 0xbd00, 0xbf00]),
        1 => Just(vec![0x4678, 0x3004, 0x4687, 0xbf00]),
        1 => Just(vec![0x2000, 0x4487, 0xbf00]),
        // For the interpreter: PRIMASK, MRS, barriers, SVC, NOP.
        1 => (0..6usize).prop_map(|kind| {
            [vec![0xb672, 0xb662], vec![0xf3ef, 0x8103], vec![0xf3bf, 0x8f4f], vec![0xdf00], vec![0xbf00], vec![0xbf40]][kind].clone()
        }),
        1 => any::<u16>().prop_filter("goes on", |halfword| !matches!(halfword >> 8, 0x44..=0x47 | 0xb5 | 0xbd | 0xbf | 0xd0..=0xff))
            .prop_map(move |halfword| one(halfword & !0x0700 | halfword & 0x0300)),
    ]
}

#[derive(Clone, Debug)]
struct Program {
    code: Vec<u16>,
    place: usize,
    pointers: [u32; 3],
    values: [u32; 4],
    /// Cycles between two SysTick interrupts.
    ticks: u32,
    /// The event counted by BUSCTRL.
    event: u32,
    miss_cycles: u32,
    /// Cycles between inspections.
    slices: Vec<u64>,
}

fn program() -> impl Strategy<Value = Program> {
    let pointer = (0..POINTERS.len(), 0..4u32).prop_map(|(i, odd)| POINTERS[i] + if odd == 0 { 1 } else { 0 });
    (
        prop::collection::vec(instruction(), 1..40),
        0..4usize,
        [pointer.clone(), pointer.clone(), pointer],
        any::<[u32; 4]>(),
        60..2000u32,
        prop_oneof![2 => Just(0u32), 2 => Just(0x05), 1 => Just(0x0f)],
        prop_oneof![Just(0u32), Just(48), Just(90)],
        prop::collection::vec(1..700u64, 1..12),
    )
        .prop_map(|(code, place, pointers, values, ticks, event, miss_cycles, slices)| Program {
            code: code.concat(),
            place,
            pointers,
            values,
            ticks,
            event,
            miss_cycles,
            slices,
        })
}

impl Program {
    /// Returns the program as an endless loop, which restores its pointers in each turn.
    fn halfwords(&self) -> Vec<u16> {
        // MOV R4, R8; MOV R5, R9; MOV R6, R10.
        let mut code = vec![0x4644, 0x464d, 0x4656];
        code.extend(&self.code);
        code.push(asm::adds(7, 1));
        let length = code.len() as i16;
        code.push(asm::b(-length));
        // Literals.
        code.extend((0..40).map(|i| 0x1234u16.wrapping_mul(i)));
        code
    }

    fn rig(&self) -> Rig {
        let at = [CODE, FLASH_CODE, ROM_CODE, FLASH_CODE + 2][self.place];
        let code = self.halfwords();
        let bytes: Vec<u8> = code.iter().flat_map(|halfword| halfword.to_le_bytes()).collect();
        let mut rig = Rig::with_rom(if self.place == 2 { &bytes } else { &[] });
        let flash: Vec<u8> = (0..0x4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        rig.chip.mem.flash_write(0, &flash);
        rig.chip.mem.flash_write(0x4_2000, &flash[..0x100]);
        match self.place {
            0 => rig.program(CODE, &code),
            2 => {}
            _ => rig.chip.mem.flash_write((at - XIP_BASE) as usize, &bytes),
        }
        rig.chip.mem.xip.offline = false;
        rig.chip.mem.xip.miss_cycles = self.miss_cycles;
        // Faults continue after the instruction.
        let skip = [0x4668, 0x6981, asm::adds(1, 2), 0x6181, asm::BX_LR];
        rig.handler(3, &skip);
        // SVC and SysTick count.
        rig.handler(11, &[0x9800, asm::adds(0, 1), 0x9000, asm::BX_LR]);
        rig.handler(15, &[0x9801, asm::adds(0, 1), 0x9001, asm::BX_LR]);
        rig.poke(SYST_CSR + 4, self.ticks);
        rig.poke(SYST_CSR, 7);
        let chip = &mut rig.chip;
        chip.bus.blocks.busctrl.write(
            &mut chip.bus.sys,
            0x0c,
            Write::normal(if self.event == 0 { 0x1f } else { self.event }),
        );
        let core = rig.core();
        core.regs[..4].copy_from_slice(&self.values);
        core.regs[8..11].copy_from_slice(&self.pointers);
        core.regs[13] = STACK;
        core.pc = at;
        rig
    }
}

/// Returns all state of a chip that a program can observe.
fn state(rig: &mut Rig) -> (Vec<u64>, Vec<u8>) {
    let chip = &mut rig.chip;
    let core = &chip.cores[0];
    let mut state: Vec<u64> = core.regs.iter().map(|&register| u64::from(register)).collect();
    state.extend([
        u64::from(core.pc),
        u64::from(core.apsr()),
        u64::from(core.ipsr),
        u64::from(core.primask),
        core.cycles,
        core.instructions,
        core.flash_instructions,
        core.rom_instructions,
        u64::from(core.state == State::Running),
        u64::from(chip.bus.blocks.busctrl.read(&mut chip.bus.sys, 0x08)),
    ]);
    for counter in [0x1400_000c, 0x1400_0010] {
        state.push(chip.bus.fetch(&mut chip.mem, Master::Core(0), counter, 4).map_or(0, u64::from));
    }
    (state, chip.mem.ram().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_loop_leaves_what_it_leaves_when_interpreted(program in program()) {
        let (mut interpreted, mut translated) = (program.rig(), program.rig());
        interpreted.chip.mem.translated.turn_off();
        translated.chip.mem.translated.make_at_once();
        for &cycles in program.slices.iter().cycle().take(program.slices.len().max(20)) {
            for rig in [&mut interpreted, &mut translated] {
                let until = rig.chip.now() + rig.ps_at(cycles);
                rig.chip.run_until(until);
            }
            let (plain, made) = (state(&mut interpreted), state(&mut translated));
            prop_assert_eq!(plain.0, made.0);
            let differs = plain.1.iter().zip(&made.1).position(|(a, b)| a != b);
            prop_assert_eq!(differs.map(|at| RAM_BASE + at as u32), None);
        }
    }
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
                rig.chip.mem.translated.make_at_once();
            } else {
                rig.chip.mem.translated.turn_off();
            }
            let core = rig.core();
            core.regs[4] = pointer;
            // ADDS R1, #2; ADDS R2, #1 instead of the first two instructions; the following ones are unchanged.
            core.regs[5] = u32::from(asm::adds(1, 2)) | u32::from(asm::adds(2, 1)) << 16;
            core.regs[6] = u32::from(code[2]) | u32::from(code[3]) << 16;
            rig.run(400);
            rig
        });
        let [interpreted, translated] = rigs.map(|mut rig| state(&mut rig));
        assert_eq!(interpreted.0, translated.0);
        assert!(interpreted.1 == translated.1);
        assert!(interpreted.0[1] > 41, "R1 is {}: the new code did not run", interpreted.0[1]);
    }
}
