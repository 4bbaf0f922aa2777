//! Probes have no side effects, and account for each cycle.

use super::common::{self, CODE, DATA, Rig, STACK, asm};
use chip::mcu::{Debugged, Halt, Mcu};
use chip::probe::profile::{Node, Profile};
use rp::rp2040::RunEnd;

/// Returns `BL` from the halfword `from` of the code to the halfword `to`.
fn bl(from: i32, to: i32) -> [u16; 2] {
    let offset = (2 * (to - from) - 4) as u32;
    let (high, low) = ((offset >> 12) & 0x3ff, (offset >> 1) & 0x7ff);
    let sign = (offset >> 31) as u16;
    // J1 and J2 are the sign here: no jump is that long.
    [0xf000 | (sign << 10) | high as u16, 0xf800 | low as u16]
}

/// Returns code that calls `f` (at halfword 16) twice and `g` (24) once, which calls `f` and ends in a jump to it.
fn program() -> Vec<u16> {
    let mut code = vec![asm::NOP; 40];
    code[0..2].copy_from_slice(&bl(0, 16));
    code[2..4].copy_from_slice(&bl(2, 16));
    code[4..6].copy_from_slice(&bl(4, 24));
    code[6] = asm::WFI;
    // f: two cycles, and the return's two.
    code[16] = asm::NOP;
    code[17] = asm::NOP;
    code[18] = asm::BX_LR;
    // g: mov r6, lr; bl f; mov lr, r6; b f
    code[24] = 0x4676;
    code[25..27].copy_from_slice(&bl(25, 16));
    code[27] = 0x46b6;
    code[28] = asm::b(16 - 28);
    code
}

const F: u32 = CODE + 32;
const G: u32 = CODE + 48;

fn profiled(rig: &mut Rig) {
    profiled_from(rig, &[]);
}

fn profiled_from(rig: &mut Rig, starts: &[u32]) {
    let (probes, xip, cores) = rig.chip.probed().expect("it has probes");
    probes.start_profile(xip, cores, false, starts.to_vec());
}

fn take(rig: &mut Rig) -> Profile {
    let (probes, xip, _) = rig.chip.probed().expect("it has probes");
    *probes.take_profile(xip).exact.expect("it was started")
}

fn node<'a>(profile: &'a Profile, path: &[u32]) -> &'a Node {
    let mut at = 0;
    for &function in path {
        let found = profile.nodes().iter().enumerate().skip(2).find(|(_, n)| n.parent == at && n.function == function);
        at = found.unwrap_or_else(|| panic!("no {function:#x} below {at} in {:#x?}", profile.nodes())).0;
    }
    &profile.nodes()[at]
}

#[test]
fn every_call_and_every_cycle_is_in_the_profile() {
    let mut rig = Rig::new(&program());
    profiled(&mut rig);
    rig.run(500);
    let profile = take(&mut rig);
    // Entered before the profile started.
    let main = node(&profile, &[CODE]);
    assert_eq!((main.spent.instructions, main.spent.cycles), (4, 3 * 3 + 2));
    // Twice by calls, and once by the jump at g's end, which replaces g by f.
    let f = node(&profile, &[CODE, F]);
    assert_eq!((f.calls, f.spent.instructions, f.spent.cycles), (3, 9, 12));
    let g = node(&profile, &[CODE, G]);
    assert_eq!((g.calls, g.spent.instructions, g.spent.cycles), (1, 4, 1 + 3 + 1 + 2));
    let called = node(&profile, &[CODE, G, F]);
    assert_eq!((called.calls, called.spent.cycles), (1, 4));
    let total: u64 = profile.nodes().iter().map(|n| n.spent.cycles).sum();
    assert_eq!(total, rig.chip.cores[0].cycles);
    let fs: u64 = profile.nodes().iter().filter(|n| n.function == F).map(|n| n.calls).sum();
    assert_eq!(fs, 4);
    let by_address = profile.addresses();
    assert_eq!(by_address.iter().map(|(_, spent)| spent.cycles).sum::<u64>(), total);
    assert_eq!(by_address.iter().find(|(at, _)| *at == F).map(|(_, spent)| spent.instructions), Some(4));
    assert_eq!(profile.starts().collect::<Vec<_>>(), [F, G]);
}

#[test]
fn an_interrupt_is_a_separate_call() {
    let mut rig = Rig::new(&program());
    rig.handler(16, &[asm::NOP, asm::BX_LR]);
    profiled(&mut rig);
    rig.run(10);
    rig.poke(common::NVIC_ISER, 1);
    rig.poke(common::NVIC_ISPR, 1);
    rig.run(500);
    let profile = take(&mut rig);
    let handler = profile.nodes().iter().find(|n| n.exception == 16).expect("it was entered");
    assert_eq!((handler.function, handler.calls, handler.spent.instructions), (Rig::handler_at(16), 1, 2));
    // Entry, an instruction, and the return.
    assert_eq!(handler.spent.cycles, 15 + 1 + 2 + 11);
    assert_eq!(node(&profile, &[CODE]).spent.instructions, 4, "the interrupted code continues where it was");
}

#[test]
fn a_function_entered_before_the_profile_can_return() {
    let mut rig = Rig::new(&program());
    rig.run(8);
    assert!((F..G).contains(&rig.chip.cores[0].pc), "within the second call of f");
    profiled_from(&mut rig, &[CODE, F, G]);
    rig.run(500);
    let profile = take(&mut rig);
    assert_eq!(node(&profile, &[CODE, G]).calls, 1);
    assert_eq!(node(&profile, &[CODE]).spent.instructions, 2, "the call that is left, and WFI");
    assert!(node(&profile, &[F]).spent.instructions <= 3);
}

#[test]
fn a_long_jump_leaves_its_functions() {
    // main: mov r4, sp; bl outer; nop; stop. outer: push {lr}; bl inner. inner: mov sp, r4; mov pc, r5 (behind outer's call)
    let mut code = vec![asm::NOP; 40];
    code[0] = 0x466c;
    code[1..3].copy_from_slice(&bl(1, 16));
    code[4] = asm::STOP;
    code[16] = 0xb500;
    code[17..19].copy_from_slice(&bl(17, 24));
    code[24] = 0x46a5;
    code[25] = 0x46af;
    let mut rig = Rig::new(&code);
    rig.core().regs[5] = CODE + 6;
    profiled(&mut rig);
    rig.run(40);
    let profile = take(&mut rig);
    let (outer, inner) = (CODE + 32, CODE + 48);
    assert_eq!(node(&profile, &[CODE, outer, inner]).spent.instructions, 2);
    assert_eq!(node(&profile, &[CODE, outer]).spent.instructions, 2);
    assert!(node(&profile, &[CODE]).spent.instructions > 5, "the loop at the end is main's");
}

#[test]
fn the_debugger_stops_at_breakpoints_and_changes_nothing() {
    let mut plain = Rig::new(&program());
    plain.run(500);
    let mut rig = Rig::new(&program());
    let until = rig.ps_at(500);
    rig.chip.probes.debug.add_breakpoint(F);
    let mut stops = 0;
    while rig.chip.run_until(until) == RunEnd::Halted {
        assert_eq!(rig.chip.probes.debug.take_halt(), Some(Halt::Breakpoint { core: 0 }));
        assert_eq!(rig.chip.cores[0].pc, F);
        let chip = &mut rig.chip;
        chip.resume();
        stops += 1;
    }
    assert_eq!(stops, 4);
    assert_eq!(rig.chip.cores[0].regs, plain.chip.cores[0].regs);
    assert_eq!((rig.chip.cores[0].cycles, rig.chip.now()), (plain.chip.cores[0].cycles, plain.chip.now()));
}

#[test]
fn a_step_is_one_instruction_and_skips_interrupts() {
    let mut rig = Rig::new(&program());
    rig.handler(16, &[asm::NOP, asm::BX_LR]);
    rig.poke(common::NVIC_ISER, 1);
    rig.poke(common::NVIC_ISPR, 1);
    let until = rig.ps_at(500);
    let chip = &mut rig.chip;
    chip.step(0);
    assert_eq!(chip.run_until(until), RunEnd::Halted);
    assert_eq!(chip.probes.debug.take_halt(), Some(Halt::Step { core: 0 }));
    assert_eq!((chip.cores[0].pc, chip.cores[0].ipsr), (F, 0), "the call, after the handler");
    assert_eq!(chip.cores[0].instructions, 2 + 2 + 1, "two of poke's, two of the handler's");
}

#[test]
fn a_watchpoint_stops_at_a_changed_value() {
    let code = [asm::str(0, 1, 0), asm::str(2, 1, 0), asm::NOP, asm::STOP];
    let mut rig = Rig::new(&code);
    rig.core().regs[1] = DATA;
    rig.core().regs[2] = 7;
    let chip = &mut rig.chip;
    assert!(!chip.add_watchpoint(0x1000_0000, 4), "only SRAM");
    assert!(chip.add_watchpoint(DATA, 4));
    let until = rig.ps_at(500);
    assert_eq!(rig.chip.run_until(until), RunEnd::Halted);
    assert_eq!(rig.chip.probes.debug.take_halt(), Some(Halt::Watchpoint { core: 0, address: DATA }));
    assert_eq!(rig.chip.cores[0].pc, CODE + 4, "not at the first write, which keeps the value");
    assert!(rig.chip.probes.debug.remove_watchpoint(DATA, 4) && STACK > CODE);
}
