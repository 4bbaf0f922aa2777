//! Contents of a fault's report: address, cause, and the core's state.

use super::common::{self, CODE, DATA, Rig, STACK, asm};
use rp::rp2040::cpu::core::State;
use rp::rp2040::cpu::fault::{Cause, Report};

const HARD_FAULT: u32 = 3;
const LR: u32 = CODE + 0x41;

/// Runs `code` after a NOP, with R1 as given, until it stops.
fn reports(code: &[u16], r1: u32, handler: Option<&[u16]>) -> (Rig, Vec<Report>) {
    let mut r = Rig::new(&[&[asm::NOP], code, &[asm::STOP]].concat());
    (r.core().regs[1], r.core().regs[14]) = (r1, LR);
    if let Some(handler) = handler {
        r.handler(HARD_FAULT, handler);
    }
    r.run(200);
    let (reports, dropped) = r.chip.bus.sys.faults.take();
    assert_eq!(dropped, 0);
    (r, reports)
}

#[test]
fn every_fault_names_its_cause_and_instruction() {
    let unprivileged = [&[asm::movs(2, 1)][..], &asm::msr(asm::CONTROL, 2), &[asm::ldr(0, 1, 0)]].concat();
    let cases: &[(&[u16], u32, u32, Cause)] = &[
        (&[asm::UDF], 0, 2, Cause::UndefinedInstruction),
        (&[asm::BKPT], 0, 2, Cause::Breakpoint),
        (&[asm::ldr(0, 1, 0)], 0x3000_0000, 2, Cause::Read { address: 0x3000_0000 }),
        (&[asm::str(0, 1, 4)], 0x2004_2000, 2, Cause::Write { address: 0x2004_2004 }),
        (&[asm::ldr(0, 1, 0)], 0x400f_0000, 2, Cause::Read { address: 0x400f_0000 }),
        (&[asm::ldr(0, 1, 0)], 0xe010_0000, 2, Cause::Read { address: 0xe010_0000 }),
        (&[asm::str(0, 1, 0)], DATA + 2, 2, Cause::Unaligned { address: DATA + 2 }),
        (&[asm::NOP, 0xc906], DATA + 1, 4, Cause::Unaligned { address: DATA + 1 }),
        (&unprivileged, 0xe000_ed00, 8, Cause::Unprivileged { address: 0xe000_ed00 }),
        (&[asm::CPSID, asm::SVC], 0, 4, Cause::SupervisorCall),
        (&[asm::bx(1)], 0x3000_0001, 0x3000_0000 - CODE, Cause::Fetch { address: 0x3000_0000 }),
        (&[asm::bx(1)], 0x4000_0001, 0x4000_0000 - CODE, Cause::Fetch { address: 0x4000_0000 }),
        (&[asm::bx(1)], CODE + 0x100, 0x100, Cause::InvalidState { target: CODE + 0x100 }),
    ];
    for &(code, r1, offset, cause) in cases {
        let (mut r, reports) = reports(code, r1, None);
        let [report] = reports[..] else { panic!("{cause:?}: {reports:?}") };
        let expected = Report {
            at: report.at,
            core: 0,
            locked_up: false,
            pc: CODE.wrapping_add(offset),
            lr: LR,
            exception: 0,
            cause,
        };
        assert_eq!(report, expected);
        assert_eq!((r.core().ipsr, r.core().regs[7]), (HARD_FAULT, 1), "{cause:?}: the program handles it");
    }
}

#[test]
fn a_fault_in_the_handler_is_a_lock_up_and_is_reported_once() {
    let (mut r, reports) = reports(&[asm::UDF], 0, Some(&[asm::NOP, asm::BKPT]));
    assert_eq!(r.core().state, State::LockedUp);
    let told: Vec<_> = reports.iter().map(|r| (r.locked_up, r.pc, r.lr, r.exception, r.cause)).collect();
    let handler = Rig::handler_at(HARD_FAULT);
    assert_eq!(
        told,
        [
            (false, CODE + 2, LR, 0, Cause::UndefinedInstruction),
            (true, handler + 2, 0xffff_fff9, HARD_FAULT, Cause::Breakpoint)
        ]
    );
    assert!(reports[0].at < reports[1].at);
    let faults = &mut r.chip.bus.sys.faults;
    assert_eq!((faults.take_new_lock_up(), faults.take_new_lock_up()), (true, false));
    r.run(1000);
    assert_eq!(r.chip.bus.sys.faults.take(), (vec![], 0), "a locked-up core reports nothing more");
}

#[test]
fn a_broken_stack_or_vector_is_named() {
    let (mut r, _) = reports(&[], 0, None);
    r.core().regs[13] = 0x7000_0020;
    r.program(CODE + 0x80, &[asm::SVC]);
    r.core().pc = CODE + 0x80;
    r.run(100);
    let (reports, _) = r.chip.bus.sys.faults.take();
    assert_eq!(
        reports.iter().map(|r| (r.locked_up, r.pc, r.cause)).collect::<Vec<_>>(),
        [
            (false, CODE + 0x82, Cause::Write { address: 0x7000_0000 }),
            (true, Rig::handler_at(11), Cause::Write { address: 0x6fff_ffe0 })
        ]
    );

    let mut r = Rig::new(&[asm::UDF]);
    r.set_word(common::VECTORS + 4 * HARD_FAULT, CODE);
    r.core().regs[13] = STACK;
    r.run(100);
    let (reports, _) = r.chip.bus.sys.faults.take();
    let lock_up = reports.last().expect("two reports");
    assert_eq!((lock_up.locked_up, lock_up.cause), (true, Cause::Vector { number: HARD_FAULT, value: CODE }));
}

#[test]
fn an_invalid_return_is_named() {
    let forged = [0x4671, asm::movs(0, 2), 0x4041, asm::bx(1)]; // MOV R1, LR; EORS R1, R0
    let mut r = Rig::new(&[asm::SVC]);
    r.handler(11, &forged);
    r.run(100);
    let (reports, _) = r.chip.bus.sys.faults.take();
    assert_eq!((reports[0].exception, reports[0].cause), (11, Cause::InvalidReturn { exc_return: 0xffff_fffb }));
}

#[test]
fn a_program_that_faults_endlessly_continues() {
    let mut r = Rig::new(&[asm::UDF]);
    r.handler(HARD_FAULT, &[asm::adds(7, 1), asm::BX_LR]);
    r.run(100_000);
    let (reports, dropped) = r.chip.bus.sys.faults.take();
    assert!(reports.len() == 64 && dropped > 1000, "{} reports, {dropped} dropped", reports.len());
    assert_eq!(r.core().state, State::Running);
}
