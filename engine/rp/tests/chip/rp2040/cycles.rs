//! Cycles of every instruction, and of exception entry and return (Cortex-M0+ TRM r0p1, table 3-1; wait states as in
//! the RP2040 datasheet 2.1.3).

use super::common::{CODE, DATA, Rig, SIO, STACK, asm};

/// APB register without side effects: SYSINFO.PLATFORM.
const APB: u32 = 0x4000_0004;
/// AHB-Lite register without side effects: DMA channel 0's READ_ADDR.
const AHB: u32 = 0x5000_0000;

const N: u32 = 1 << 31;
const Z: u32 = 1 << 30;
const C: u32 = 1 << 29;
const V: u32 = 1 << 28;

/// Base in R1, an even number in R2, target in R3 (Thumb bit set).
fn rig(code: &[u16], base: u32, apsr: u32) -> Rig {
    let mut rig = Rig::new(code);
    rig.set_word(STACK, CODE | 0x101);
    rig.set_word(STACK + 4, CODE | 0x101);
    rig.set_word(STACK + 8, CODE | 0x101);
    let core = rig.core();
    core.regs[1] = base;
    core.regs[2] = 4;
    core.regs[3] = CODE | 0x101;
    core.set_apsr(apsr);
    rig
}

#[test]
fn instructions_take_the_manuals_cycles() {
    let table: &[(&str, &[u16], u64)] = &[
        ("MOVS Rd, #imm", &[0x2001], 1),
        ("MOVS Rd, Rm", &[0x0010], 1),
        ("MOV Rd, Rm", &[0x4690], 1),
        ("MOV PC, Rm", &[0x469f], 2),
        ("MOV Rd, PC", &[0x4678], 1),
        ("ADDS Rd, Rn, #imm3", &[0x1c50], 1),
        ("ADDS Rd, Rn, Rm", &[0x1888], 1),
        ("ADD Rd, Rm", &[0x4490], 1),
        ("ADD PC, Rm", &[0x4497], 2),
        ("ADDS Rd, #imm8", &[0x3001], 1),
        ("ADCS", &[0x4150], 1),
        ("ADD SP, #imm", &[0xb001], 1),
        ("ADD Rd, SP, #imm", &[0xa801], 1),
        ("ADR", &[0xa001], 1),
        ("SUBS Rd, Rn, Rm", &[0x1a88], 1),
        ("SUBS Rd, Rn, #imm3", &[0x1e50], 1),
        ("SUBS Rd, #imm8", &[0x3801], 1),
        ("SBCS", &[0x4190], 1),
        ("SUB SP, #imm", &[0xb081], 1),
        ("RSBS", &[0x4250], 1),
        ("MULS (RP2040 has the fast multiplier)", &[0x4350], 1),
        ("CMP Rn, Rm", &[0x4291], 1),
        ("CMP high", &[0x4590], 1),
        ("CMN", &[0x42d1], 1),
        ("CMP Rn, #imm", &[0x2901], 1),
        ("ANDS", &[0x4010], 1),
        ("EORS", &[0x4050], 1),
        ("ORRS", &[0x4310], 1),
        ("BICS", &[0x4390], 1),
        ("MVNS", &[0x43d0], 1),
        ("TST", &[0x4211], 1),
        ("LSLS #imm", &[0x0090], 1),
        ("LSLS Rs", &[0x4090], 1),
        ("LSRS #imm", &[0x0890], 1),
        ("LSRS Rs", &[0x40d0], 1),
        ("ASRS #imm", &[0x1090], 1),
        ("ASRS Rs", &[0x4110], 1),
        ("RORS", &[0x41d0], 1),
        ("LDR [Rn, #imm]", &[0x6808], 2),
        ("LDRH [Rn, #imm]", &[0x8808], 2),
        ("LDRB [Rn, #imm]", &[0x7808], 2),
        ("LDR [Rn, Rm]", &[0x5888], 2),
        ("LDRH [Rn, Rm]", &[0x5a88], 2),
        ("LDRSH [Rn, Rm]", &[0x5e88], 2),
        ("LDRB [Rn, Rm]", &[0x5c88], 2),
        ("LDRSB [Rn, Rm]", &[0x5688], 2),
        ("LDR literal", &[0x4801], 2),
        ("LDR [SP, #imm]", &[0x9801], 2),
        ("STR [Rn, #imm]", &[0x6008], 2),
        ("STRH [Rn, #imm]", &[0x8008], 2),
        ("STRB [Rn, #imm]", &[0x7008], 2),
        ("STR [Rn, Rm]", &[0x5088], 2),
        ("STRH [Rn, Rm]", &[0x5288], 2),
        ("STRB [Rn, Rm]", &[0x5488], 2),
        ("STR [SP, #imm]", &[0x9001], 2),
        ("LDM of 1", &[0xc901], 2),
        ("LDM of 3", &[0xc961], 4),
        ("LDM with its base", &[0xc903], 3),
        ("LDM of 8", &[0xc9ff], 9),
        ("STM of 1", &[0xc101], 2),
        ("STM of 8", &[0xc1ff], 9),
        ("PUSH {R0}", &[0xb401], 2),
        ("PUSH {R0-R7, LR}", &[0xb5ff], 10),
        ("POP {R0}", &[0xbc01], 2),
        ("POP {R0-R7}", &[0xbcff], 9),
        ("POP {PC}: 3 + N with N including the PC", &[0xbd00], 4),
        ("POP {R0, R4, PC}", &[0xbd11], 6),
        ("B", &[0xe010], 2),
        ("BL", &[0xf000, 0xf810], 3),
        ("BX", &[0x4718], 2),
        ("BLX", &[0x4798], 2),
        ("SXTH", &[0xb210], 1),
        ("SXTB", &[0xb250], 1),
        ("UXTH", &[0xb290], 1),
        ("UXTB", &[0xb2d0], 1),
        ("REV", &[0xba10], 1),
        ("REV16", &[0xba50], 1),
        ("REVSH", &[0xbad0], 1),
        ("CPSID", &[asm::CPSID], 1),
        ("CPSIE", &[asm::CPSIE], 1),
        ("MRS", &[0xf3ef, 0x8000], 3),
        ("MSR", &[0xf382, 0x8800], 3),
        ("SEV", &[asm::SEV], 1),
        ("NOP", &[asm::NOP], 1),
        ("YIELD", &[0xbf10], 1),
        ("DSB", &[0xf3bf, 0x8f4f], 3),
        ("DMB", &[0xf3bf, 0x8f5f], 3),
        ("ISB", &[0xf3bf, 0x8f6f], 3),
        ("WFI", &[asm::WFI], 2),
        ("WFE", &[asm::WFE], 2),
    ];
    for &(name, code, cycles) in table {
        assert_eq!(rig(code, DATA, 0).step(), cycles, "{name}");
    }
}

#[test]
fn conditional_branches_take_two_cycles_only_when_taken() {
    let conditions: [(u16, u32, u32); 14] = [
        (0, Z, 0),
        (1, 0, Z),
        (2, C, 0),
        (3, 0, C),
        (4, N, 0),
        (5, 0, N),
        (6, V, 0),
        (7, 0, V),
        (8, C, C | Z),
        (9, Z, C),
        (10, N | V, N),
        (11, V, 0),
        (12, 0, Z),
        (13, N, N | V),
    ];
    for (condition, taken, not_taken) in conditions {
        let code = [asm::b_if(condition, 10)];
        let mut r = rig(&code, DATA, taken);
        assert_eq!((r.step(), r.core().pc), (2, CODE + 20), "condition {condition}, taken");
        let mut r = rig(&code, DATA, not_taken);
        assert_eq!((r.step(), r.core().pc), (1, CODE + 2), "condition {condition}, not taken");
    }
}

#[test]
fn accesses_wait_for_their_bus() {
    for (name, base, load, store) in [
        ("SRAM", DATA, 2, 2),
        ("single-cycle IO", SIO + 0x60, 1, 1),
        ("APB", APB, 4, 5),
        ("AHB-Lite", AHB, 2, 2),
        ("PPB", 0xe000_ed08, 2, 2),
    ] {
        // RESETS releases everything first.
        let mut r = rig(&[asm::ldr(0, 1, 0)], base, 0);
        r.poke(0x4000_f000, u32::MAX);
        assert_eq!(r.step(), load, "load from {name}");
        let mut r = rig(&[asm::str(0, 1, 0)], base, 0);
        r.poke(0x4000_f000, u32::MAX);
        assert_eq!(r.step(), store, "store to {name}");
    }
    // ROM has no wait states either.
    assert_eq!(rig(&[asm::ldr(0, 1, 0)], 0, 0).step(), 2);
}

#[test]
fn exceptions_are_entered_in_15_cycles_and_left_like_a_pop_of_8() {
    let mut r = rig(&[asm::SVC, asm::STOP], DATA, 0);
    r.handler(11, &[asm::BX_LR]);
    assert_eq!(r.step(), 15);
    // BX takes 2 and the frame 3 + 8, which includes the jump.
    assert_eq!(r.step(), 2 + 11);
    assert_eq!(r.core().pc, CODE + 2);
}

#[test]
fn code_in_sram_and_rom_runs_without_wait_states() {
    let mut r = rig(&[asm::NOP; 64], DATA, 0);
    r.run(50);
    assert_eq!(r.core().instructions, 50);
}
