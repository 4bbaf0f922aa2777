//! The memory protection unit. A refused access is a HardFault, in interpreted and in translated code.

use super::common::{self, CODE, DATA, Rig, STACK, asm};
use chip::mcu::Mcu;
use rp::rp2040::cpu::fault::Cause;

const MPU_CTRL: u32 = 0xe000_ed94;
const MPU_RBAR: u32 = 0xe000_ed9c;
const MPU_RASR: u32 = 0xe000_eda0;
const HARD_FAULT: u32 = 3;
/// 256 bytes without access, and the same without execution.
const NOTHING: u32 = 7 << 1 | 1;
const NEVER_EXECUTE: u32 = 1 << 28 | 3 << 24 | NOTHING;
const ENABLE: u32 = 1;
const PRIVDEFENA: u32 = 4;

/// Protects the 256 bytes at `base`, with the default map around them.
fn protect(r: &mut Rig, base: u32, attributes: u32) {
    for (address, value) in [(MPU_RBAR, base), (MPU_RASR, attributes), (MPU_CTRL, ENABLE | PRIVDEFENA)] {
        r.poke(address, value);
    }
}

/// Returns the PC and cause of each fault.
fn faults(r: &mut Rig) -> Vec<(u32, Cause)> {
    r.chip.bus.sys.faults.take().0.iter().map(|report| (report.pc, report.cause)).collect()
}

#[test]
fn a_refused_access_is_a_hard_fault() {
    for (code, at) in [(asm::str(0, 1, 4), DATA + 4), (asm::ldr(0, 1, 0), DATA), (0xc106, DATA)] {
        let mut r = Rig::new(&[asm::NOP, code, asm::STOP]);
        protect(&mut r, DATA, NOTHING);
        r.core().regs[1] = DATA;
        r.run(100);
        assert_eq!(faults(&mut r), [(CODE + 2, Cause::Protected { address: at })]);
        assert_eq!((r.core().ipsr, r.core().regs[7]), (HARD_FAULT, 1));

        let mut r = Rig::new(&[asm::NOP, code, asm::STOP]);
        protect(&mut r, DATA + 0x100, NOTHING);
        r.core().regs[1] = DATA;
        r.run(100);
        assert_eq!((faults(&mut r), r.core().pc), (vec![], CODE + 4), "beside the region");
    }
}

#[test]
fn code_that_may_not_execute_faults_where_it_begins() {
    let mut r = Rig::new(&[asm::bx(1)]);
    r.program(CODE + 0x100, &[asm::adds(6, 1), asm::STOP]);
    protect(&mut r, CODE + 0x100, NEVER_EXECUTE);
    r.core().regs[1] = CODE + 0x101;
    r.run(100);
    assert_eq!(faults(&mut r), [(CODE + 0x100, Cause::Protected { address: CODE + 0x100 })]);
    assert_eq!(r.core().regs[6], 0);
}

#[test]
fn unprivileged_code_has_no_default_map() {
    let mut r = Rig::new(&[&[asm::movs(2, 1)][..], &asm::msr(asm::CONTROL, 2), &[asm::STOP]].concat());
    protect(&mut r, DATA, NOTHING);
    r.run(100);
    // Nor may it use the stack that the HardFault needs.
    let at = [CODE + 6, STACK - 0x20];
    assert_eq!(faults(&mut r), at.map(|address| (CODE + 6, Cause::Protected { address })));
}

#[test]
fn an_exception_needs_its_stack_and_no_vector() {
    let mut r = Rig::new(&[asm::SVC, asm::STOP]);
    protect(&mut r, STACK - 0x100, NOTHING);
    r.run(100);
    assert_eq!(faults(&mut r)[0], (CODE + 2, Cause::Protected { address: STACK - 0x20 }));

    let mut r = Rig::new(&[asm::SVC, asm::STOP]);
    protect(&mut r, common::VECTORS, NOTHING);
    r.run(100);
    assert_eq!((faults(&mut r), r.core().ipsr), (vec![], 11));
}

#[test]
fn handlers_of_faults_run_without_it() {
    let mut r = Rig::new(&[asm::UDF]);
    r.handler(HARD_FAULT, &[asm::ldr(0, 1, 0), asm::adds(7, 1), asm::STOP]);
    r.core().regs[1] = DATA;
    protect(&mut r, DATA, NOTHING);
    r.run(100);
    assert_eq!((faults(&mut r).len(), r.core().regs[7]), (1, 1));
}

/// A loop that has been translated stores again after its program has protected the place.
#[test]
fn translated_code_is_checked_from_the_moment_that_it_is_on() {
    let code = [asm::str(0, 1, 0), asm::subs(2, 1), asm::b_if(asm::NE, -2), asm::str(3, 4, 0), asm::b(-4)];
    let [translated, interpreted] = [true, false].map(|translate| {
        let mut r = Rig::new(&code);
        if translate {
            r.chip.translate_at_once()
        } else {
            r.chip.interpret_only()
        }
        for (address, value) in [(MPU_RBAR, DATA), (MPU_RASR, NOTHING)] {
            r.poke(address, value);
        }
        for (register, value) in [(1, DATA), (2, 100), (3, ENABLE | PRIVDEFENA), (4, MPU_CTRL)] {
            r.core().regs[register] = value;
        }
        r.run(2000);
        assert_eq!(faults(&mut r), [(CODE, Cause::Protected { address: DATA })]);
        (r.core().instructions, r.core().cycles)
    });
    assert_eq!(translated, interpreted);
}
