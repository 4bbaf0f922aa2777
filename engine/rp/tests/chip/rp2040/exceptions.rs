//! Exceptions, sleep and events of one core (ARMv6-M Architecture Reference Manual B1.5 and B3).

use super::common::{CODE, DATA, ICSR, NVIC_ISER, NVIC_ISPR, PROCESS_STACK, Rig, SCR, STACK, SYST_CSR, VECTORS, asm};
use rp::rp2040::cpu::core::State;

const SYST_RVR: u32 = SYST_CSR + 4;
const SYST_CVR: u32 = SYST_CSR + 8;
const NVIC_ICPR: u32 = NVIC_ISPR + 0x80;
const NVIC_IPR: u32 = 0xe000_e400;
const SHPR2: u32 = 0xe000_ed1c;
const SHPR3: u32 = 0xe000_ed20;

const HARD_FAULT: u32 = 3;
const SV_CALL: u32 = 11;
const PEND_SV: u32 = 14;
const SYS_TICK: u32 = 15;
const IRQ0: u32 = 16;

const PEND_PENDSV: u32 = 1 << 28;
const PEND_NMI: u32 = 1 << 31;
const SLEEPONEXIT: u32 = 2;
const SEVONPEND: u32 = 16;

/// A rig whose interrupts 0 to 3 are enabled.
fn rig(code: &[u16]) -> Rig {
    let mut rig = Rig::new(code);
    rig.poke(NVIC_ISER, 0xf);
    rig
}

/// Runs until core 0 only waits, in a handler or at the end of its program.
fn run(r: &mut Rig) {
    r.run(400);
}

#[test]
fn entry_stacks_a_frame_and_return_restores_it() {
    for sp in [STACK, STACK - 4] {
        let mut r = rig(&[asm::SVC, asm::STOP]);
        r.handler(SV_CALL, &[asm::BX_LR]);
        let core = r.core();
        core.regs[..13].copy_from_slice(&std::array::from_fn::<u32, 13, _>(|i| 0x1000 + i as u32));
        core.regs[13] = sp;
        core.set_apsr(0xa000_0000);
        r.step();
        let frame = (sp - 0x20) & !4;
        let core = r.core();
        assert_eq!(
            (core.regs[13], core.regs[14], core.ipsr, core.pc),
            (frame, 0xffff_fff9, SV_CALL, Rig::handler_at(SV_CALL))
        );
        let stacked: Vec<u32> = (0..8).map(|i| r.word(frame + 4 * i)).collect();
        // Bit 9 of the stacked xPSR indicates that the stack pointer was not a multiple of 8; bit 24 is Thumb state.
        let aligned = u32::from(sp & 4 != 0) << 9;
        assert_eq!(stacked, [0x1000, 0x1001, 0x1002, 0x1003, 0x100c, u32::MAX, CODE + 2, 0xa100_0000 | aligned]);
        let core = r.core();
        core.regs[..4].fill(0);
        core.regs[12] = 0;
        core.set_apsr(0);
        r.step();
        let core = r.core();
        assert_eq!(
            (core.pc, core.regs[13], core.regs[14], core.ipsr, core.apsr()),
            (CODE + 2, sp, u32::MAX, 0, 0xa000_0000)
        );
        assert_eq!((core.regs[0], core.regs[12]), (0x1000, 0x100c));
    }
}

#[test]
fn thread_mode_may_use_the_process_stack() {
    let [msr0, msr1] = asm::msr(asm::PSP, 0);
    let [ctl0, ctl1] = asm::msr(asm::CONTROL, 1);
    let mut r = rig(&[msr0, msr1, ctl0, ctl1, asm::SVC, asm::STOP]);
    r.handler(SV_CALL, &[asm::BX_LR]);
    r.core().regs[0] = PROCESS_STACK;
    r.core().regs[1] = 2;
    r.step();
    r.step();
    assert_eq!((r.core().regs[13], r.core().msp()), (PROCESS_STACK, STACK));
    r.step();
    let core = r.core();
    assert_eq!((core.regs[13], core.psp(), core.regs[14]), (STACK, PROCESS_STACK - 0x20, 0xffff_fffd));
    r.step();
    assert_eq!((r.core().regs[13], r.core().msp(), r.core().control), (PROCESS_STACK, STACK, 2));
}

#[test]
fn unprivileged_code_cannot_change_the_system() {
    let [msr0, msr1] = asm::msr(asm::PRIMASK, 0);
    let [ctl0, ctl1] = asm::msr(asm::CONTROL, 1);
    let [mrs0, mrs1] = asm::mrs(2, asm::CONTROL);
    let [msp0, msp1] = asm::mrs(3, 8);
    let mut r = rig(&[asm::CPSID, msr0, msr1, ctl0, ctl1, mrs0, mrs1, msp0, msp1, asm::ldr(4, 5, 0)]);
    r.core().control = 1;
    r.core().regs[0] = 1;
    r.core().regs[1] = 0;
    r.core().regs[3] = 77;
    r.core().regs[5] = SCR;
    for _ in 0..5 {
        r.step();
    }
    let core = r.core();
    assert_eq!((core.primask, core.control, core.regs[2], core.regs[3]), (false, 1, 1, 0));
    r.step();
    assert_eq!(r.core().ipsr, HARD_FAULT, "the private peripheral bus is for privileged code");
}

#[test]
fn handler_mode_can_drop_and_regain_thread_privilege() {
    let [ctl0, ctl1] = asm::msr(asm::CONTROL, 0);
    let mut r = rig(&[asm::SVC, asm::STOP]);
    r.handler(SV_CALL, &[asm::movs(0, 3), ctl0, ctl1, asm::BX_LR]);
    run(&mut r);
    let core = r.core();
    assert_eq!((core.control, core.regs[13]), (1, STACK), "SPSEL cannot be written in handler mode");
}

#[test]
fn a_pending_masked_interrupt_ends_wfi_without_being_taken() {
    let mut r = rig(&[asm::CPSID, asm::WFI, asm::adds(6, 1), asm::CPSIE, asm::adds(6, 1), asm::STOP]);
    r.poke(NVIC_ISPR, 1);
    r.core().primask = true;
    for _ in 0..3 {
        r.step();
    }
    assert_eq!((r.core().regs[6], r.core().regs[7], r.core().state), (1, 0, State::Running));
    run(&mut r);
    assert_eq!((r.core().regs[6], r.core().regs[7], r.core().ipsr), (1, 1, IRQ0), "taken right after CPSIE");
}

#[test]
fn systick_wakes_wfi_at_its_exact_cycle_whatever_primask() {
    for masked in [true, false] {
        let mut r = rig(&[asm::WFI, asm::adds(6, 1), asm::STOP]);
        r.core().primask = masked;
        r.poke(SYST_RVR, 999);
        r.poke(SYST_CVR, 0);
        r.poke(SYST_CSR, 7);
        // Enabled by a store at cycle 0 that reaches the timer at cycle 1: the first tick loads 999, the 1000th reaches 0.
        r.run(990);
        assert_eq!(r.core().state, State::Wfi);
        r.run_to(1001);
        assert_eq!((r.core().state, r.core().cycles), (State::Running, 1001));
        r.step();
        assert_eq!((r.core().cycles, r.core().ipsr), if masked { (1002, 0) } else { (1016, SYS_TICK) });
    }
}

#[test]
fn wfi_ignores_exceptions_that_could_not_preempt() {
    let mut r = rig(&[asm::SVC, asm::STOP]);
    r.handler(SV_CALL, &[asm::WFI, asm::adds(6, 1), asm::STOP]);
    r.poke(NVIC_ISPR, 1);
    r.poke(NVIC_IPR, 0x40);
    r.poke(SHPR2, 0x4000_0000);
    r.core().primask = false;
    // The interrupt comes first, so SVCall's handler is running when it becomes pending again.
    r.handler(IRQ0, &[asm::BX_LR]);
    run(&mut r);
    assert_eq!((r.core().state, r.core().ipsr), (State::Wfi, SV_CALL));
    r.core().ppb.pending |= 1;
    r.chip.bus.sys.attention = true;
    run(&mut r);
    assert_eq!((r.core().state, r.core().regs[6]), (State::Wfi, 0), "the same priority does not wake");
    r.core().ppb.pending |= 2;
    r.chip.bus.sys.attention = true;
    run(&mut r);
    assert_eq!((r.core().regs[6], r.core().regs[7], r.core().ipsr), (0, 1, IRQ0 + 1), "priority 0 does, and is taken");
}

#[test]
fn wfe_clears_the_event_register() {
    let mut r = rig(&[asm::SEV, asm::WFE, asm::adds(6, 1), asm::WFE, asm::adds(6, 1), asm::STOP]);
    run(&mut r);
    assert_eq!((r.core().regs[6], r.core().state), (1, State::Wfe));
    r.chip.bus.sys.event_signal = true;
    r.chip.bus.sys.attention = true;
    run(&mut r);
    assert_eq!((r.core().regs[6], r.core().state, r.core().event_register), (2, State::Running, false));
}

#[test]
fn wfe_sees_masked_interrupts_only_with_sevonpend() {
    for (sevonpend, enabled, masked, awake) in [
        (false, true, true, false),
        (false, true, false, true),
        (false, false, false, false),
        (true, true, true, true),
        (true, false, true, true),
        (true, false, false, true),
    ] {
        let mut r = Rig::new(&[asm::WFE, asm::adds(6, 1), asm::STOP]);
        r.handler(IRQ0, &[asm::BX_LR]);
        r.poke(NVIC_ISER, u32::from(enabled));
        r.poke(SCR, if sevonpend { SEVONPEND } else { 0 });
        r.core().primask = masked;
        run(&mut r);
        assert_eq!(r.core().state, State::Wfe);
        r.chip.bus.sys.set_irq(0, true);
        r.chip.bus.sys.set_irq(0, false);
        run(&mut r);
        let case = (sevonpend, enabled, masked);
        assert_eq!(r.core().state == State::Running, awake, "{case:?}");
        assert_eq!(r.core().regs[6], u32::from(awake), "{case:?}");
    }
}

#[test]
fn sevonpend_sees_exceptions_pended_repeatedly() {
    let pend = asm::str(0, 1, 0);
    let mut r = Rig::new(&[
        pend,
        asm::WFE,
        pend,
        asm::WFE,
        asm::str(2, 3, 0),
        pend,
        asm::WFE,
        asm::adds(6, 1),
        asm::WFE,
        asm::adds(6, 1),
    ]);
    r.poke(SCR, SEVONPEND);
    let core = r.core();
    (core.regs[0], core.regs[1], core.regs[2], core.regs[3]) = (1, NVIC_ISPR, 1, NVIC_ICPR);
    core.primask = true;
    run(&mut r);
    assert_eq!((r.core().state, r.core().pc), (State::Wfe, CODE + 8), "pending already: no new event");
    r.chip.bus.sys.event_signal = true;
    r.chip.bus.sys.attention = true;
    run(&mut r);
    assert_eq!((r.core().state, r.core().regs[6]), (State::Wfe, 1), "cleared and pended again: an event");
}

#[test]
fn the_most_urgent_goes_first_and_nests() {
    let mut r = rig(&[asm::STOP]);
    // Each handler appends its number to the list at R6.
    let note = |number: u32| [asm::movs(0, number as u16), asm::str(0, 6, 0), asm::adds(6, 4), asm::BX_LR];
    for number in [IRQ0, IRQ0 + 1, IRQ0 + 2, PEND_SV, SYS_TICK] {
        r.handler(number, &note(number));
    }
    r.core().regs[6] = DATA;
    r.poke(NVIC_IPR, 0x0040_8080);
    r.poke(SHPR3, 0x40c0_0000);
    r.poke(NVIC_ISPR, 7);
    r.poke(ICSR, PEND_PENDSV | 1 << 26);
    run(&mut r);
    let order: Vec<u32> = (0..6).map(|i| r.word(DATA + 4 * i)).collect();
    // Of equal priorities the lowest number; then by priority: SysTick and IRQ 2 at 0x40, IRQ 0 and 1 at 0x80, PendSV.
    assert_eq!(order, [SYS_TICK, IRQ0 + 2, IRQ0, IRQ0 + 1, PEND_SV, 0]);
    assert_eq!((r.core().ipsr, r.core().regs[13]), (0, STACK));
}

#[test]
fn a_more_urgent_interrupt_preempts_and_an_equal_one_waits() {
    for (priority, nested) in [(0x40, true), (0x80, false)] {
        let mut r = rig(&[asm::STOP]);
        r.handler(IRQ0, &[asm::str(0, 1, 0), asm::adds(6, 1), asm::BX_LR]);
        r.handler(IRQ0 + 1, &[0x0035, asm::BX_LR]); // MOVS R5, R6
        r.core().regs[0] = 2;
        r.core().regs[1] = NVIC_ISPR;
        r.core().regs[5] = 77;
        r.poke(NVIC_IPR, 0x80 | priority << 8);
        r.poke(NVIC_ISPR, 1);
        run(&mut r);
        let core = r.core();
        assert_eq!((core.regs[5], core.regs[6], core.ipsr, core.regs[13]), (if nested { 0 } else { 1 }, 1, 0, STACK));
    }
}

#[test]
fn levels_pend_again_and_pulses_do_not() {
    for level in [true, false] {
        let mut r = rig(&[asm::STOP]);
        r.handler(IRQ0, &[asm::adds(7, 1), asm::BX_LR]);
        r.chip.bus.sys.set_irq(0, true);
        if !level {
            r.chip.bus.sys.set_irq(0, false);
        }
        r.run(100);
        let core = r.core();
        if level {
            assert!(core.regs[7] >= 2, "entered {} times", core.regs[7]);
        } else {
            assert_eq!((core.regs[7], core.ipsr), (1, 0));
        }
    }
}

#[test]
fn a_line_that_is_high_pends_after_a_clear_and_after_a_core_reset() {
    let mut r = rig(&[asm::STOP]);
    r.core().primask = true;
    r.chip.bus.sys.set_irq(2, true);
    r.run(10);
    r.poke(NVIC_ICPR, 4);
    assert_eq!(r.core().ppb.pending, 4);
    r.chip.bus.sys.set_irq(2, false);
    r.poke(NVIC_ICPR, 4);
    assert_eq!(r.core().ppb.pending, 0);
    let chip = &mut r.chip;
    chip.bus.sys.set_irq(3, true);
    chip.cores[1].reset(&chip.mem, chip.bus.sys.irq_level_for_core(1));
    assert_eq!(chip.cores[1].ppb.pending, 8);
}

#[test]
fn a_masked_svc_becomes_a_hard_fault_that_returns_after_it() {
    let mut r = rig(&[asm::NOP, asm::SVC]);
    r.core().primask = true;
    run(&mut r);
    assert_eq!((r.core().ipsr, r.word(STACK - 0x20 + 24)), (HARD_FAULT, CODE + 4));
    // The same from a handler of the same priority.
    let mut r = rig(&[asm::SVC]);
    r.handler(SV_CALL, &[asm::NOP, asm::SVC]);
    run(&mut r);
    assert_eq!((r.core().ipsr, r.core().regs[7]), (HARD_FAULT, 1));
    assert_eq!(r.word(STACK - 0x40 + 24), Rig::handler_at(SV_CALL) + 4);
}

#[test]
fn faults_name_the_instruction_and_a_second_one_locks_up() {
    let cases: &[(&str, &[u16], u32)] = &[
        ("undefined", &[asm::UDF], 0),
        ("undefined 32 bits", &[0xe800, 0x0000], 0),
        ("breakpoint without a debugger", &[asm::BKPT], 0),
        ("misaligned word", &[asm::ldr(0, 1, 0)], DATA + 2),
        ("misaligned word store", &[asm::str(0, 1, 0)], DATA + 1),
        ("misaligned halfword", &[0x8808], DATA + 1),
        ("misaligned halfword store", &[0x8008], DATA + 1),
        ("misaligned multiple load", &[0xc906], DATA + 2),
        ("misaligned multiple store", &[0xc106], DATA + 2),
        ("nothing there", &[asm::ldr(0, 1, 0)], 0x7000_0000),
        ("behind SRAM", &[asm::str(0, 1, 0)], 0x2004_2000),
        ("above the private peripheral bus", &[asm::ldr(0, 1, 0)], 0xe010_0000),
    ];
    for &(name, code, base) in cases {
        let mut r = rig(&[&[asm::NOP], code].concat());
        r.core().regs[1] = base;
        run(&mut r);
        assert_eq!((r.core().ipsr, r.core().regs[7], r.word(STACK - 0x20 + 24)), (HARD_FAULT, 1, CODE + 2), "{name}");
        assert_eq!(r.core().regs[1], base, "{name}: the base is unchanged");
        let mut r = rig(code);
        r.core().regs[1] = base;
        r.handler(HARD_FAULT, &[asm::adds(7, 1), asm::UDF]);
        run(&mut r);
        assert_eq!((r.core().state, r.core().regs[7]), (State::LockedUp, 1), "{name}, then a fault in the handler");
    }
}

#[test]
fn jumps_to_non_executable_memory_fault_at_the_target() {
    let cases = [
        ("ARM state", CODE + 0x100, CODE + 0x100),
        ("peripherals", 0x4000_0001, 0x4000_0000),
        ("the USB's RAM", 0x5010_0001, 0x5010_0000),
        ("single-cycle IO", 0xd000_0001, 0xd000_0000),
        ("EXC_RETURN in thread mode", 0xffff_fff9, 0xffff_fff8),
        ("an unused region", 0x3000_0001, 0x3000_0000),
    ];
    for (name, target, pc) in cases {
        for jump in [asm::bx(1), 0x4788] {
            let mut r = rig(&[jump]);
            r.core().regs[1] = target;
            run(&mut r);
            assert_eq!((r.core().ipsr, r.word(STACK - 0x20 + 24)), (HARD_FAULT, pc), "{name}, 0x{jump:04x}");
        }
    }
}

#[test]
fn a_broken_stack_locks_up() {
    let mut r = rig(&[asm::SVC]);
    r.core().regs[13] = 0x7000_0000;
    run(&mut r);
    assert_eq!(r.core().state, State::LockedUp);
    let mut r = rig(&[asm::UDF]);
    r.set_word(VECTORS + 4 * HARD_FAULT, CODE);
    run(&mut r);
    assert_eq!(r.core().state, State::LockedUp, "a vector without the Thumb bit");
}

#[test]
fn nmi_preempts_hard_fault_and_locks_up_on_a_fault() {
    let mut r = rig(&[asm::UDF]);
    r.handler(HARD_FAULT, &[asm::str(0, 1, 0), asm::adds(6, 1), asm::STOP]);
    r.handler(2, &[asm::adds(7, 1), asm::BX_LR]);
    r.core().regs[0] = PEND_NMI;
    r.core().regs[1] = ICSR;
    run(&mut r);
    assert_eq!((r.core().regs[7], r.core().regs[6], r.core().ipsr), (1, 1, HARD_FAULT));
    let mut r = rig(&[asm::str(0, 1, 0), asm::STOP]);
    r.handler(2, &[asm::UDF]);
    r.core().regs[0] = PEND_NMI;
    r.core().regs[1] = ICSR;
    run(&mut r);
    assert_eq!((r.core().state, r.core().ipsr), (State::LockedUp, 2));
}

#[test]
fn sleep_on_exit_returns_to_sleep_and_takes_pending_interrupts() {
    let mut r = rig(&[asm::SVC, asm::adds(6, 1), asm::STOP]);
    for number in [SV_CALL, IRQ0] {
        r.handler(number, &[asm::adds(7, 1), asm::BX_LR]);
    }
    r.poke(SCR, SLEEPONEXIT);
    run(&mut r);
    assert_eq!((r.core().state, r.core().regs[6], r.core().regs[7]), (State::Wfi, 0, 1));
    for wakes in 2..5 {
        r.chip.bus.sys.set_irq(0, true);
        r.chip.bus.sys.set_irq(0, false);
        run(&mut r);
        assert_eq!((r.core().state, r.core().regs[6], r.core().regs[7]), (State::Wfi, 0, wakes));
    }
    // Two at once: the second is taken before the core sleeps.
    r.handler(IRQ0 + 1, &[asm::adds(7, 1), asm::BX_LR]);
    r.core().ppb.pending |= 3;
    r.chip.bus.sys.attention = true;
    run(&mut r);
    assert_eq!((r.core().state, r.core().regs[7]), (State::Wfi, 6));
}

#[test]
fn impossible_exception_returns_fault() {
    // Wrong low nibble, and return to a handler without one.
    for exc_return in [0xffff_fff0, 0xffff_fff5, 0xffff_ffff, 0xffff_fff1] {
        let mut r = rig(&[asm::SVC]);
        r.handler(SV_CALL, &[asm::bx(1)]);
        r.core().regs[1] = exc_return;
        run(&mut r);
        assert_eq!((r.core().ipsr, r.core().regs[7]), (HARD_FAULT, 1), "0x{exc_return:08x}");
    }
    // Return to thread mode with two exceptions active.
    let mut r = rig(&[asm::SVC]);
    r.handler(SV_CALL, &[asm::str(0, 1, 0), asm::STOP]);
    r.handler(IRQ0, &[asm::bx(2)]);
    r.poke(SHPR2, 0x8000_0000);
    (r.core().regs[0], r.core().regs[1], r.core().regs[2]) = (1, NVIC_ISPR, 0xffff_fff9);
    run(&mut r);
    assert_eq!((r.core().ipsr, r.core().regs[7]), (HARD_FAULT, 1));
}

#[test]
fn forged_frames_cannot_confuse_the_nesting() {
    // The frame of a nested handler names each possible exception; the next return is then from that one.
    for number in (0..64).filter(|&n| n != SV_CALL) {
        let mut r = rig(&[asm::SVC, asm::STOP]);
        r.handler(SV_CALL, &[asm::str(0, 1, 0), asm::BX_LR]);
        r.handler(IRQ0, &[0x9a07, 0x9307, asm::BX_LR]); // LDR R2, [SP, #28]; STR R3, [SP, #28]
        r.poke(SHPR2, 0x8000_0000);
        (r.core().regs[0], r.core().regs[1], r.core().regs[3]) = (1, NVIC_ISPR, 1 << 24 | number);
        run(&mut r);
        let core = r.core();
        assert!(core.ipsr == HARD_FAULT || core.state == State::LockedUp, "{number}: {} {:?}", core.ipsr, core.state);
    }
    // A frame without the Thumb bit.
    let mut r = rig(&[asm::SVC, asm::STOP]);
    r.handler(SV_CALL, &[0x9307, asm::BX_LR]);
    r.core().regs[3] = 0;
    run(&mut r);
    assert_eq!((r.core().ipsr, r.core().regs[7]), (HARD_FAULT, 1));
}

#[test]
fn systick_counts_reload_plus_one_and_flags_each_zero() {
    let mut r = rig(&[asm::STOP]);
    r.handler(SYS_TICK, &[asm::adds(7, 1), asm::BX_LR]);
    r.poke(SYST_RVR, 99);
    r.poke(SYST_CVR, 0);
    r.poke(SYST_CSR, 7);
    r.run_to(10_050);
    // Zeros at 1 + 100 k.
    assert_eq!(r.core().regs[7], 100);
    let mut r = rig(&[asm::ldr(0, 1, 8), asm::ldr(2, 1, 0), asm::ldr(3, 1, 0), asm::STOP]);
    r.poke(SYST_RVR, 99);
    r.poke(SYST_CVR, 0);
    r.poke(SYST_CSR, 5);
    r.core().regs[1] = SYST_CSR;
    r.core().cycles = 201;
    r.run(10);
    let core = r.core();
    assert_eq!(core.regs[0], 0, "SYST_CVR at the second zero");
    assert_eq!((core.regs[2], core.regs[3]), (0x1_0005, 5), "COUNTFLAG is read once");
}

#[test]
fn systick_on_the_reference_clock_counts_the_watchdogs_tick() {
    let mut r = rig(&[asm::STOP]);
    r.handler(SYS_TICK, &[asm::adds(7, 1), asm::BX_LR]);
    r.poke(SYST_RVR, 9);
    r.poke(SYST_CVR, 0);
    r.poke(SYST_CSR, 3);
    r.run(10_000);
    assert_eq!(r.core().regs[7], 0, "no tick yet");
    // clk_ref / 65: 100 kHz of the ROSC's 6.5 MHz.
    r.poke(0x4005_802c, 0x200 | 65);
    r.run(65 * 1005);
    assert_eq!(r.core().regs[7], 100);
}

#[test]
fn systick_keeps_its_cycles_when_clk_sys_changes() {
    // Divides clk_sys by 4 for a while: the interrupt stays on its cycle, at four times the time.
    let mut r = rig(&[asm::STOP]);
    r.handler(SYS_TICK, &[asm::adds(7, 1), asm::BX_LR]);
    r.poke(SYST_RVR, 999);
    r.poke(SYST_CVR, 0);
    r.poke(0x4000_8040, 4 << 8);
    r.poke(SYST_CSR, 7);
    r.run_to(500);
    r.poke(0x4000_8040, 1 << 8);
    r.run_to(1000);
    assert_eq!(r.core().regs[7], 0);
    r.run_to(1040);
    assert_eq!(r.core().regs[7], 1);
}

#[test]
fn bytes_before_a_32_bit_instruction_change_it() {
    // Code that overwrites the second half of the preceding BL, which has already been executed.
    let mut r = rig(&[]);
    let bl_back = [0xf000, 0xf804]; // BL +12
    let code = [bl_back[0], bl_back[1], asm::STOP, asm::STOP, asm::STOP, asm::STOP, 0x8048, asm::bx(2)];
    r.program(CODE, &code);
    let core = r.core();
    // STRH R0, [R1, #2]: BL +16 next time, to a SVC.
    (core.regs[0], core.regs[1], core.regs[2]) = (0xf806, CODE, CODE | 1);
    r.program(CODE + 16, &[asm::SVC]);
    r.run(200);
    assert_eq!(r.core().ipsr, SV_CALL);
}
