//! Time, traps, interrupts, protection, and Zcmp, on a bench.

use crate::bench::{Bench, WIRES};
use crate::core::State;

const START: u32 = 0x8000_0000;
const HANDLER: u32 = 0x8000_1000;
const DATA: u32 = 0x8000_2000;

const NOP: u32 = 0x0000_0013;
const WFI: u32 = 0x1050_0073;
const MRET: u32 = 0x3020_0073;
const ECALL: u32 = 0x0000_0073;

/// Halfwords of 16-bit and of 32-bit instructions.
#[derive(Clone, Copy)]
enum Code {
    Narrow(u16),
    Wide(u32),
}

use Code::{Narrow, Wide};

fn bytes(code: &[Code]) -> Vec<u8> {
    let mut all = Vec::new();
    for &one in code {
        match one {
            Narrow(half) => all.extend(half.to_le_bytes()),
            Wide(word) => all.extend(word.to_le_bytes()),
        }
    }
    all
}

/// A bench with `code` at the start, and a handler that sleeps. Interrupts sleep at their vectors.
fn bench(code: &[Code]) -> Bench {
    let mut bench = Bench::default();
    assert!(bench.mem.poke(START, &bytes(code)));
    assert!(bench.mem.poke(HANDLER, &bytes(&[Wide(WFI); 16])));
    bench.start(START);
    bench.core.csrs.mtvec = HANDLER | 1;
    bench
}

/// Cycles of `code` up to a WFI at its end, without that. `registers`: numbers and values.
fn cycles(code: &[Code], registers: &[(usize, u32)]) -> u64 {
    let mut code = code.to_vec();
    code.push(Wide(WFI));
    let mut bench = bench(&code);
    for &(register, value) in registers {
        bench.core.regs[register] = value;
    }
    bench.run(10_000);
    assert_eq!(bench.core.state, State::Wfi, "at 0x{:08x}", bench.core.pc);
    bench.core.cycles - crate::time::SLEEP
}

fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: i32) -> Code {
    Wide((imm as u32) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode)
}

fn r_type(funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> Code {
    Wide(funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33)
}

fn addi(rd: u32, rs1: u32, imm: i32) -> Code {
    i_type(0x13, 0, rd, rs1, imm)
}

fn lw(rd: u32, rs1: u32, imm: i32) -> Code {
    i_type(0x03, 2, rd, rs1, imm)
}

fn sw(rs2: u32, rs1: u32, imm: u32) -> Code {
    Wide(imm >> 5 << 25 | rs2 << 20 | rs1 << 15 | 2 << 12 | (imm & 31) << 7 | 0x23)
}

fn branch(funct3: u32, rs1: u32, rs2: u32, offset: i32) -> Code {
    let at = |from: u32, count: u32| (offset as u32) >> from & ((1 << count) - 1);
    let low = at(11, 1) << 7 | at(1, 4) << 8;
    Wide(at(12, 1) << 31 | at(5, 6) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | low | 0x63)
}

/// CSRRW (1), CSRRS (2), CSRRC (3).
fn csr(funct3: u32, rd: u32, number: u32, rs1: u32) -> Code {
    Wide(number << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x73)
}

fn amo(funct5: u32, rd: u32, rs1: u32, rs2: u32) -> Code {
    Wide(funct5 << 27 | rs2 << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x2f)
}

#[test]
fn instructions_take_the_cycles_of_the_datasheet() {
    let data = &[(10, DATA), (11, 1)][..];
    for (what, code, expected) in [
        ("ADD", vec![r_type(0, 0, 5, 6, 7); 3], 3),
        ("MUL", vec![r_type(1, 0, 5, 6, 7); 2], 2),
        ("DIVU", vec![r_type(1, 5, 5, 6, 7)], 18),
        ("DIV", vec![r_type(1, 4, 5, 6, 7)], 18),
        ("load, then independent", vec![lw(5, 10, 0), addi(6, 7, 1)], 2),
        ("load, then dependent", vec![lw(5, 10, 0), addi(6, 5, 1)], 3),
        ("load, then an address", vec![lw(10, 10, 4), lw(6, 10, 0)], 3),
        ("load, then data of a store", vec![lw(5, 10, 0), sw(5, 10, 4)], 2),
        ("load to x0", vec![lw(0, 10, 0), addi(6, 0, 1)], 2),
        ("LR, SC", vec![amo(2, 5, 10, 0), amo(3, 6, 10, 11)], 3),
        ("SC, then its result", vec![amo(3, 6, 10, 11), branch(0, 6, 0, 4)], 3),
        ("AMO", vec![amo(0, 5, 10, 11); 2], 8),
        ("JAL", vec![Wide(0x0080_006f), Wide(NOP)], 2),
        ("JAL to an unaligned target", vec![Wide(0x0060_006f), Narrow(1), Wide(NOP)], 2 + 1 + 1),
        ("JAL to an unaligned, narrow one", vec![Wide(0x0060_006f), Narrow(1), Narrow(1), Narrow(1)], 2 + 2),
        ("branch forward, not taken", vec![branch(1, 0, 0, 8)], 1),
        ("branch forward, taken", vec![branch(0, 0, 0, 8), Wide(NOP)], 2),
        ("CSRR", vec![csr(2, 5, 0x340, 0)], 1),
        ("CM.MVA01S", vec![Narrow(0xac62), Narrow(1)], 3),
    ] {
        assert_eq!(cycles(&code, data), expected, "{what}");
    }
    // A sign is corrected at the end.
    for (a, b, expected) in [(7u32, 2u32, 18), (-7i32 as u32, 2, 19), (7, -2i32 as u32, 19), (7, 0, 18)] {
        assert_eq!(cycles(&[r_type(1, 6, 5, 6, 7)], &[(6, a), (7, b)]), expected, "{a} by {b}");
    }
}

/// The datasheet's example, 3.8.7.10: ten bytes take 52 cycles, without BEQZ and ADD before the loop.
#[test]
fn a_loop_is_predicted_as_in_the_datasheet() {
    let copy = [
        i_type(0x03, 4, 13, 10, 0),
        Wide(13 << 20 | 11 << 15 | 0x23),
        addi(10, 10, 1),
        addi(11, 11, 1),
        branch(6, 11, 12, -16),
    ];
    assert_eq!(cycles(&copy, &[(10, DATA), (11, DATA + 64), (12, DATA + 74)]), 52);
}

#[test]
fn a_delay_loop_of_one_narrow_instruction_escapes_the_predictor() {
    // ADDI of 16 or 32 bits, then BGE back to it.
    let narrow = [Narrow(0x157d), branch(5, 10, 0, -2)];
    let wide = [addi(10, 10, -1), branch(5, 10, 0, -4)];
    assert_eq!((cycles(&narrow, &[(10, 9)]), cycles(&wide, &[(10, 9)])), (29, 22));
}

/// CM.PUSH, CM.POP, CM.POPRET, CM.POPRETZ with a list of registers and 16 bytes more.
fn zcmp(which: u16, rlist: u16, spimm: u16) -> Code {
    Narrow(0xa002 | which << 8 | rlist << 4 | spimm << 2)
}

const PUSH: u16 = 0x18;
const POP: u16 = 0x1a;
const POPRETZ: u16 = 0x1c;
const POPRET: u16 = 0x1e;

#[test]
fn push_and_pop_move_the_registers_of_the_list() {
    // Registers and the bytes that the specification reserves for them.
    for (rlist, registers, bytes) in [
        (4, &[1][..], 16),
        (5, &[1, 8], 16),
        (7, &[1, 8, 9, 18], 16),
        (8, &[1, 8, 9, 18, 19], 32),
        (14, &[1, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25], 48),
        (15, &[1, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27], 64),
    ] {
        let count = registers.len() as u64;
        let sp = DATA + 256;
        let mut push = bench(&[zcmp(PUSH, rlist, 1), zcmp(POP, rlist, 1), Wide(WFI)]);
        push.core.regs[2] = sp;
        for &register in registers {
            push.core.regs[register] = 0x1000 + register as u32;
        }
        push.run(1);
        assert_eq!((push.core.regs[2], push.core.cycles), (sp - bytes - 16, 1 + count), "{rlist}");
        for (place, &register) in registers.iter().rev().enumerate() {
            let at = (sp - START) as usize - 4 * (place + 1);
            assert_eq!(push.mem.ram_u32(at), 0x1000 + register as u32, "{rlist}, x{register}");
            push.core.regs[register] = 0;
        }
        push.run(1);
        assert_eq!((push.core.regs[2], push.core.cycles), (sp, 2 + 2 * count), "{rlist}");
        for &register in registers {
            assert_eq!(push.core.regs[register], 0x1000 + register as u32, "{rlist}, x{register}");
        }
    }
}

#[test]
fn a_return_by_pop_takes_the_cycles_of_the_datasheet() {
    for (which, rlist, expected, a0) in
        [(POPRET, 4, 4, 7), (POPRET, 5, 4, 7), (POPRET, 6, 5, 7), (POPRETZ, 4, 5, 0), (POPRETZ, 6, 6, 0)]
    {
        let mut pop = bench(&[zcmp(which, rlist, 0)]);
        (pop.core.regs[2], pop.core.regs[10]) = (DATA, 7);
        for at in 0..4 {
            pop.mem.poke(DATA + 4 * at, &(HANDLER + 1).to_le_bytes());
        }
        pop.run(1);
        assert_eq!((pop.core.pc, pop.core.cycles, pop.core.regs[10]), (HANDLER, expected, a0), "{which:#x} {rlist}");
        assert_eq!(pop.core.regs[2], DATA + 16);
    }
}

#[test]
fn double_moves_take_both_registers_at_once() {
    // CM.MVSA01 s1, s0; CM.MVA01S s0, s1.
    let mut moves = bench(&[Narrow(0xaca2), Narrow(0xac66), Wide(WFI)]);
    (moves.core.regs[10], moves.core.regs[11]) = (1, 2);
    moves.run(1);
    assert_eq!((moves.core.regs[9], moves.core.regs[8], moves.core.cycles), (1, 2, 2));
    moves.run(1);
    assert_eq!((moves.core.regs[10], moves.core.regs[11]), (2, 1));
}

#[test]
fn a_push_that_faults_changes_no_register() {
    let mut push = bench(&[zcmp(PUSH, 6, 0)]);
    push.core.regs[2] = START + 4;
    push.run(1);
    assert_eq!((push.core.csrs.mcause, push.core.csrs.mepc, push.core.regs[2]), (7, START, START + 4));
}

#[test]
fn bits_are_extracted_by_the_custom_instructions() {
    // h3.bextm x5, x6, x7, 5 bits; h3.bextmi x5, x6, 28, 8 bits.
    let word =
        |funct3: u32, size: u32, second: u32| Wide(size << 26 | second << 20 | 6 << 15 | funct3 << 12 | 5 << 7 | 0x0b);
    for (code, shift, expected) in [(word(0, 4, 7), 8 + 32, 0x16), (word(4, 7, 28), 0, 0x9), (word(0, 0, 7), 31, 1)] {
        let mut extract = bench(&[code]);
        (extract.core.regs[6], extract.core.regs[7]) = (0x9abc_def6 & !0xff00 | 0xb600, shift);
        extract.run(1);
        assert_eq!(extract.core.regs[5], expected);
    }
}

#[test]
fn exceptions_have_their_causes() {
    for (what, code, cause) in [
        ("no instruction", Narrow(0), 2),
        ("C.LUI of 0", Narrow(0x6281), 2),
        ("an unknown CSR", csr(2, 5, 0x100, 0), 2),
        ("a write to a constant CSR", csr(2, 5, 0xf14, 10), 2),
        ("EBREAK", Wide(0x0010_0073), 3),
        ("C.EBREAK", Narrow(0x9002), 3),
        ("ECALL", Wide(ECALL), 11),
        ("unaligned load", lw(5, 10, 1), 4),
        ("unaligned store", sw(5, 10, 2), 6),
        ("load from nowhere", lw(5, 0, 2044), 5),
        ("store to nowhere", sw(5, 0, 2044), 7),
        ("AMO outside of SRAM", amo(0, 5, 0, 6), 7),
        ("CLMUL, which is not configured", r_type(5, 1, 5, 6, 7), 2),
    ] {
        let mut trap = bench(&[code]);
        (trap.core.regs[10], trap.core.regs[5]) = (DATA, 77);
        trap.run(1);
        let csrs = &trap.core.csrs;
        assert_eq!((csrs.mcause, csrs.mepc, trap.core.pc, trap.core.regs[5]), (cause, START, HANDLER, 77), "{what}");
        assert_eq!((trap.core.cycles, trap.core.instructions), (3, 0), "{what}");
    }
    let mut jump = bench(&[i_type(0x67, 0, 1, 10, 0)]);
    jump.core.regs[10] = 0x4000_0000;
    jump.run(6);
    assert_eq!((jump.core.csrs.mcause, jump.core.csrs.mepc), (1, 0x4000_0000));
}

#[test]
fn a_handler_that_cannot_be_executed_locks_the_core_up() {
    let mut lost = bench(&[Narrow(0)]);
    lost.core.csrs.mtvec = 0x4000_0000;
    lost.run(100);
    let (reports, _) = lost.bus.sys.faults.take();
    assert_eq!(lost.core.state, State::LockedUp);
    let lines: Vec<_> = reports.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("core 0 trap at pc 0x80000000") && lines[0].ends_with("illegal instruction"));
    assert!(lines[1].starts_with("core 0 locked up at pc 0x40000000"), "{lines:?}");
}

#[test]
fn interrupts_come_in_the_order_of_the_datasheet() {
    let mut taken = bench(&[Wide(NOP); 8]);
    taken.core.csrs.mie = 0x888;
    taken.core.interrupts.write(0xbe0, 0, 0x20_0000);
    taken.bus.sys.set_irq(5, true);
    for line in [WIRES.timer, WIRES.software] {
        taken.bus.sys.set_irq_for_core(0, line, true);
    }
    taken.run(2);
    assert_eq!(taken.core.pc, START + 8);
    taken.core.csrs.interrupts_on = true;
    for (cause, line) in [(11, None), (3, Some(WIRES.software)), (7, Some(WIRES.timer))] {
        taken.core.csrs.interrupts_on = true;
        let before = (taken.core.pc, taken.core.cycles);
        taken.run(1);
        let csrs = &taken.core.csrs;
        assert_eq!((csrs.mcause, csrs.mepc, csrs.interrupts_on), (1 << 31 | cause, before.0, false));
        assert_eq!((taken.core.pc, taken.core.cycles), (HANDLER + 4 * cause, before.1 + 2));
        match line {
            Some(line) => taken.bus.sys.set_irq_for_core(0, line, false),
            None => taken.bus.sys.set_irq(5, false),
        }
    }
}

#[test]
fn external_interrupts_preempt_by_priority() {
    let mut core = bench(&[Wide(NOP)]).core;
    let irqs = &mut core.interrupts;
    let level = 1 << 3 | 1 << 20 | 1 << 51;
    // All enabled; 20 has priority 2, 51 priority 7.
    for window in 0..4 {
        irqs.write(0xbe0, window, 0xffff_0000);
    }
    irqs.write(0xbe3, 5, 2 << 16);
    irqs.write(0xbe3, 12, 7 << 28);
    assert_eq!(irqs.read(0xbe3, 12, 0) >> 28, 7);
    assert_eq!(irqs.read(0xbe1, 3, level), 1 << 19);
    assert_eq!(irqs.read_next(level, false), 51 << 2);
    irqs.enter(level, true);
    // PREEMPT is one above; only interrupts at or above the old one are shown.
    assert_eq!(irqs.context() >> 16 & 31, 8);
    assert_eq!(irqs.read_next(1 << 20, true), 20 << 2);
    assert_eq!((irqs.context() >> 16 & 31, irqs.context() >> 4 & 0xff), (3, 20));
    irqs.enter(1 << 51, true);
    assert_eq!((irqs.context() >> 24 & 15, irqs.context() >> 16 & 31), (3, 8));
    assert_eq!(irqs.read_next(1 << 20, false) >> 31, 1, "it is in the frame that was preempted");
    irqs.leave();
    assert_eq!((irqs.context() >> 24 & 15, irqs.context() >> 16 & 31, irqs.context() & 1), (0, 3, 0));
    irqs.leave();
    assert_eq!(irqs.context() >> 16 & 31, 3, "only an interrupt's MRET restores");
    // A forced interrupt is taken once.
    irqs.set_context(0);
    irqs.write(0xbe2, 2, 1 << 16);
    assert_eq!((irqs.read_next(0, false), irqs.read_next(0, false)), (32 << 2, 1 << 31));
}

#[test]
fn a_sleeping_core_wakes_without_mstatus_mie() {
    let mut sleeper = bench(&[Wide(WFI), Wide(NOP), Wide(NOP)]);
    sleeper.core.csrs.mie = 1 << 7;
    sleeper.run(100);
    assert_eq!((sleeper.core.state, sleeper.core.pc), (State::Wfi, START + 4));
    sleeper.core.observe(1 << WIRES.timer, true, 50);
    assert_eq!((sleeper.core.state, sleeper.core.cycles, sleeper.core.csrs.mcause), (State::Running, 50, 0));
}

#[test]
fn an_unblock_signal_is_kept_for_the_next_block() {
    let (block, unblock) = (r_type(0, 2, 0, 0, 0), r_type(0, 2, 0, 0, 1));
    let mut both = bench(&[unblock, block, block, Wide(NOP)]);
    both.run(100);
    assert_eq!((both.core.state, both.core.pc), (State::Wfe, START + 12));
    both.core.observe(0, true, 200);
    assert_eq!((both.core.state, both.core.unblocked), (State::Running, false));
}

#[test]
fn user_mode_has_only_what_it_is_given() {
    // MRET to code in User mode; region 0 gives it the first 4 KiB, to read and execute.
    let code = [Wide(MRET), Wide(NOP), csr(2, 5, 0xc00, 0), lw(5, 10, 0), sw(5, 10, 0), Wide(ECALL)];
    let user = |x: u32| {
        let mut user = bench(&code);
        user.core.csrs.mepc = START + x;
        user.core.regs[10] = START;
        user.core.pmp.set_address(0, START >> 2 | 0x1ff);
        user.core.pmp.set_config(0, 0x1d);
        user.core.csrs.mpp = false;
        user.run(10);
        (user.core.csrs.mcause, user.core.csrs.mepc - START, user.core.machine, user.core.csrs.mpp)
    };
    assert_eq!(user(8), (2, 8, true, false), "CYCLE, which MCOUNTEREN does not give");
    assert_eq!(user(12), (7, 16, true, false), "a store");
    assert_eq!(user(20), (8, 20, true, false), "a call");
    assert_eq!(user(DATA - START), (1, DATA - START, true, false), "code elsewhere");
}

#[test]
fn a_region_binds_machine_mode_by_lock_or_pmpcfgm0() {
    for (config, machine, cause) in [(0x19, 0, 0), (0x99, 0, 7), (0x19, 1, 7)] {
        let mut store = bench(&[sw(5, 10, 0), Wide(WFI)]);
        store.core.regs[10] = DATA;
        store.core.pmp.set_address(0, DATA >> 2 | 3);
        store.core.pmp.set_config(0, config);
        store.core.pmp.set_machine(machine);
        store.run(1);
        assert_eq!(store.core.csrs.mcause, cause, "{config:#x}, {machine}");
    }
    let mut pmp = crate::pmp::Pmp::default();
    pmp.set_config(0, 0x8810);
    assert_eq!(pmp.config(0), 0x8000, "neither NA4 nor TOR");
    pmp.set_address(1, 5);
    assert_eq!((pmp.address(1), pmp.address(8)), (0, 0x01ff_ffff), "a locked one and a fixed one");
}

#[test]
fn an_access_across_a_regions_end_is_refused() {
    let mut pmp = crate::pmp::Pmp::default();
    // 4 KiB that may be executed. Erratum RP2350-E6: R and X have changed places.
    pmp.set_address(0, START >> 2 | 0x1ff);
    pmp.set_config(0, 0x19);
    for (at, allowed) in [(0, true), (0xffc, true), (0xffe, false), (0x1000, false), (u32::MAX - 1, false)] {
        let fetched = pmp.allows(crate::pmp::Access::Fetch, START.wrapping_add(at), 4, false);
        assert_eq!(fetched, allowed, "{at:#x}");
    }
}

#[test]
fn counters_stand_still_until_they_are_let_go() {
    let mut counter = bench(&[Wide(NOP), csr(1, 0, 0x320, 0), Wide(NOP), csr(2, 5, 0xb00, 0), csr(2, 6, 0xb02, 0)]);
    counter.run(5);
    assert_eq!((counter.core.regs[5], counter.core.regs[6]), (2, 3));
}

#[test]
fn a_reservation_lasts_until_a_write_or_a_trap() {
    let (lr, sc) = (amo(2, 5, 10, 0), amo(3, 6, 10, 11));
    for (between, fails) in [(Wide(NOP), 0), (sw(0, 10, 0), 1), (amo(0, 7, 12, 11), 1)] {
        let mut pair = bench(&[lr, between, sc]);
        (pair.core.regs[10], pair.core.regs[11], pair.core.regs[12]) = (DATA, 9, DATA + 64);
        pair.run(20);
        assert_eq!(pair.core.regs[6], fails);
        assert_eq!(pair.mem.ram_u32((DATA - START) as usize), if fails == 0 { 9 } else { 0 });
    }
}
