//! Time, exceptions, masks, faults and security, on a bench.

use crate::bench::Bench;
use crate::core::{State, control};
use crate::fault::Cause;
use crate::ppb::{ccr, exception, fpccr};
use crate::time;

const CODE: u32 = 0x2000_1000;
const VECTORS: u32 = 0x2000_0000;
const HANDLER: u32 = 0x2000_0800;
const STACK: u32 = 0x2000_4000;
const DATA: u32 = 0x2000_8000;
const BX_LR: u16 = 0x4770;

/// A bench at the start of `code`, whose exceptions all lead to `handler`.
fn bench(code: &[u16], handler: &[u16]) -> Bench {
    let mut bench = Bench::default();
    put(&mut bench, CODE, code);
    put(&mut bench, HANDLER, handler);
    for number in 0..68 {
        assert!(bench.mem.poke(VECTORS + 4 * number, &(HANDLER | 1).to_le_bytes()));
    }
    let mut registers = [0; 16];
    (registers[4], registers[13], registers[15]) = (DATA, STACK, CODE);
    bench.start(registers, 0, 0, [0x3f80_0000; 32], VECTORS);
    bench
}

fn put(bench: &mut Bench, at: u32, code: &[u16]) {
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    assert!(bench.mem.poke(at, &bytes));
}

/// Runs until the PC is at `end`.
fn run_to(bench: &mut Bench, end: u32) {
    for _ in 0..1000 {
        if bench.core.pc == end {
            return;
        }
        bench.run(1);
    }
    panic!("0x{end:08x} is not reached: at 0x{:08x}, {:?}", bench.core.pc, bench.bus.sys.faults.take());
}

/// Cycles of `code`, in one run to a WFI behind it, without that.
fn cycles(code: &[u16]) -> u64 {
    let mut code = code.to_vec();
    code.push(0xbf30);
    let mut bench = bench(&code, &[BX_LR]);
    bench.run(1000);
    assert_eq!(bench.core.state, State::Wfi);
    bench.core.cycles - 1
}

#[test]
fn pairs_and_latencies_are_the_measured_ones() {
    let (adds, mov, b, beq) = (0x3301, 0x46d2, 0xe7ff, 0xd0ff);
    let (ldr, add_loaded, str_loaded) = (0x6820, 0x1c41, 0x6060);
    for (what, code, expected) in [
        ("two sums", &[adds, adds][..], 2),
        ("eight NOPs", &[0xbf00; 8], 4),
        ("a branch not taken", &[0x2201, adds, beq], 2),
        ("a wide branch not taken", &[0x2201, adds, 0xf000, 0x8000], 3),
        ("a branch after flags", &[adds, b], 3),
        ("a branch paired", &[mov, b], 2),
        ("BX after flags", &[0x4678, 0x3003, 0x4700], 3),
        ("a branch to half of a wide instruction", &[0xe7ff, 0xeb01, 0x0002], 6),
        ("IT is free", &[mov, 0xbf08, 0x46d2], 2),
        ("load and use", &[ldr, add_loaded], 3),
        ("load, another, use", &[ldr, mov, add_loaded], 3),
        ("load and store", &[ldr, str_loaded], 2),
        ("MULS", &[0x4353], 2),
        ("MUL and use", &[0xfb01, 0xf002, add_loaded], 3),
        ("shifted operand and use", &[0xeb01, 0x0042, add_loaded], 3),
        ("a wide shift and use", &[0xea4f, 0x0042, add_loaded], 2),
        ("a wide shift by a register and use", &[0xfa01, 0xf002, add_loaded], 2),
        ("LDM of four", &[0xcc0f], 4),
        ("LDRD", &[0xe9d4, 0x0100], 2),
        ("VADD and its use", &[0xee30, 0x0a81, 0xee30, 0x0a01], 3),
        ("VADD twice", &[0xee30, 0x0a81, 0xee31, 0x1a82], 2),
        ("VFMA and VADD", &[0xeea0, 0x0a81, 0xee31, 0x1a82], 4),
    ] {
        assert_eq!(cycles(code), expected, "{what}");
    }
    // BL to the next instruction, and back by POP {PC}: PUSH 2, POP 2.
    assert_eq!(cycles(&[0xf000, 0xf800]), time::TAKEN);
}

#[test]
fn an_exception_keeps_registers_flags_and_it() {
    // SVC 0; IT EQ; ADDEQ R0, #1. The handler: MOVS R0, #7 (not kept), BX LR.
    let mut bench = bench(&[0xdf00, 0xbf30], &[0x2007, BX_LR]);
    bench.core.regs[0] = 5;
    bench.core.set_apsr(0xf80f_0000);
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.pc), (exception::SV_CALL, HANDLER));
    assert_eq!(bench.core.cycles, time::ENTRY);
    // Secure, thread mode, main stack, floating-point frame.
    assert_eq!(bench.core.regs[14], 0xffff_ffe9);
    assert_eq!(bench.core.regs[13], STACK - 0x68);
    run_to(&mut bench, CODE + 2);
    assert_eq!((bench.core.regs[0], bench.core.apsr(), bench.core.regs[13]), (5, 0xf80f_0000, STACK));
}

#[test]
fn floating_point_state_is_stacked_when_it_is_used() {
    // The handler: VMOV S0, R4; BX LR.
    let mut bench = bench(&[0xdf00, 0xbf30], &[0xee00, 0x4a10, BX_LR]);
    bench.run(1);
    assert_ne!(bench.core.ppb.fpccr[0] & fpccr::LSPACT, 0);
    let saved = (STACK - 0x48 - 0x2000_0000) as usize;
    assert_eq!(bench.mem.ram_u32(saved), 0);
    bench.run(1);
    assert_eq!(bench.core.ppb.fpccr[0] & fpccr::LSPACT, 0);
    assert_eq!((bench.mem.ram_u32(saved), bench.core.fpu.s[0]), (0x3f80_0000, DATA));
    run_to(&mut bench, CODE + 2);
    assert_eq!(bench.core.fpu.s[0], 0x3f80_0000);
}

#[test]
fn the_fpus_arithmetic_is_counted_and_its_moves_are_not() {
    // VADD S0, S1, S2; VMOV S0, R4; VADD S2, S3, S4.
    let mut bench = bench(&[0xee30, 0x0a81, 0xee00, 0x4a10, 0xee31, 0x1a82], &[BX_LR]);
    run_to(&mut bench, CODE + 12);
    assert_eq!(bench.core.fpu.executed, 2);
}

#[test]
fn who_uses_the_fpu_owns_its_registers() {
    let mut bench = bench(&[0xee00, 0x4a10], &[BX_LR]);
    bench.core.ppb.fpccr[0] &= !fpccr::SECURE;
    bench.run(1);
    assert_ne!(bench.core.ppb.fpccr[0] & fpccr::SECURE, 0);
}

#[test]
fn interrupts_preempt_by_priority_and_masks() {
    let mut bench = bench(&[0xbf00, 0xe7fd], &[0xbf00, 0xe7fd]);
    let Bench { core, bus, .. } = &mut bench;
    core.ppb.enabled = 1 << 51 | 1 << 3;
    for (line, priority) in [(51, 0x40), (3, 0x80)] {
        core.ppb.write(&mut bus.sys, 0, true, 0xe000_e400 + line, priority, 1);
    }
    core.observe(1 << 3, false, 0);
    bench.run(1);
    assert_eq!(bench.core.ipsr, 16 + 3);
    bench.core.basepri[0] = 0x40;
    bench.core.observe(1 << 51, false, 0);
    bench.run(1);
    assert_eq!(bench.core.ipsr, 16 + 3, "masked by BASEPRI");
    bench.core.basepri[0] = 0x50;
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.active), (16 + 51, 1 << 51 | 1 << 3));
}

#[test]
fn faults_have_their_status() {
    // The address of each is in R0.
    for (what, code, r0, number, cfsr) in [
        ("UDF", &[0xde00][..], 0, exception::USAGE_FAULT, 1 << 16),
        ("LDR of nothing", &[0x6800], 0x4000_0000, exception::BUS_FAULT, 0x8200),
        ("LDRD, not aligned", &[0xe9d0, 0x1200], DATA + 2, exception::USAGE_FAULT, 1 << 24),
        ("BX to ARM", &[0x4700], DATA, exception::USAGE_FAULT, 1 << 17),
        ("coprocessor 0", &[0xee00, 0x0010], 0, exception::USAGE_FAULT, 1 << 19),
        ("fetch of nothing", &[0x4700], 0x1800_0001, exception::BUS_FAULT, 1 << 8),
        ("UDIV by 0", &[0xfbb0, 0xf1f1], 5, exception::USAGE_FAULT, 1 << 25),
        ("PUSH below the limit", &[0xb401], 0, exception::USAGE_FAULT, 1 << 20),
    ] {
        let mut bench = bench(code, &[0xbf00, 0xe7fd]);
        bench.core.regs[0] = r0;
        bench.core.ppb.banks[0].faults_enabled = 7 << 16;
        bench.core.ppb.banks[0].ccr |= crate::ppb::ccr::DIV_0_TRP;
        if what.starts_with("PUSH") {
            bench.core.limits[0][0] = STACK;
        }
        for _ in 0..2 {
            if bench.core.ipsr == 0 {
                bench.run(1);
            }
        }
        let seen = bench.core.ppb.banks[0].cfsr & !if what.starts_with("PUSH") { 0 } else { 1 << 20 };
        assert_eq!((bench.core.ipsr, seen), (number, cfsr), "{what}");
        assert!(bench.bus.sys.faults.take().0.is_empty(), "{what}");
    }
}

#[test]
fn a_fault_that_is_off_becomes_a_hard_fault() {
    let mut bench = bench(&[0xde00], &[0xde00]);
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.hfsr), (exception::HARD_FAULT, 1 << 30));
    bench.run(1);
    assert_eq!(bench.core.state, State::LockedUp);
    let causes: Vec<_> = bench.bus.sys.faults.take().0.iter().map(|report| (report.locked_up, report.cause)).collect();
    assert_eq!(causes, [(false, Cause::UndefinedInstruction), (true, Cause::UndefinedInstruction)]);
}

#[test]
fn secure_code_calls_non_secure_code_and_is_called() {
    let (outside, gate) = (0x2002_0000, 0x2003_0000);
    // BLXNS R0, then a loop; Non-secure: BL through the gate, BX to where it came from; the gate: SG, BXNS LR.
    let mut bench = bench(&[0x4784, 0xe7fe], &[0xe7fe]);
    put(&mut bench, outside, &[0x4673, 0x4788, 0x4718]);
    put(&mut bench, gate, &[0xe97f, 0xe97f, 0x4774]);
    let sys = &mut bench.bus.sys;
    for (register, value) in [(0xedd8, 0), (0xeddc, outside), (0xede0, outside | 0xffe1), (0xedd8, 1), (0xeddc, gate)] {
        bench.core.ppb.write(sys, 0, true, 0xe000_0000 | register, value, 4);
    }
    bench.core.ppb.write(sys, 0, true, 0xe000_ede0, gate | 0xe3, 4);
    bench.core.ppb.write(sys, 0, true, 0xe000_edd0, 1, 4);
    (bench.core.regs[0], bench.core.regs[1]) = (outside, gate | 1);
    bench.core.set_stack(1, 0, outside + 0x1000);
    run_to(&mut bench, outside);
    assert!(!bench.core.secure);
    assert_eq!((bench.core.regs[14], bench.core.stack(0, 0)), (0xfeff_ffff, STACK - 8));
    run_to(&mut bench, gate + 4);
    assert!(bench.core.secure);
    run_to(&mut bench, outside + 4);
    assert!(!bench.core.secure);
    run_to(&mut bench, CODE + 2);
    assert!(bench.core.secure);
    assert_eq!(bench.core.regs[13], STACK);
    // Non-secure code that reads Secure memory.
    put(&mut bench, outside, &[0x6820]);
    (bench.core.pc, bench.core.regs[0]) = (CODE, outside);
    run_to(&mut bench, outside);
    bench.run(1);
    assert_eq!(bench.core.ipsr, exception::HARD_FAULT);
    assert_eq!((bench.core.ppb.sau.status, bench.core.ppb.sau.fault_address), (0x48, DATA));
}

#[test]
fn a_write_to_the_second_half_of_an_instruction_is_seen() {
    // MOVW r0, #1. RAM is checked for changed code in granules of 32 bytes: this instruction is in two of them.
    let at = (CODE | 31) - 1;
    let mut bench = bench(&[], &[BX_LR]);
    put(&mut bench, at, &[0xf240, 0x0001]);
    for (written, value) in [(None, 1), (Some((at + 16, 7)), 1), (Some((at + 2, 2)), 2)] {
        if let Some((address, byte)) = written {
            assert!(bench.mem.poke(address, &[byte]));
        }
        bench.core.pc = at;
        run_to(&mut bench, at + 4);
        assert_eq!(bench.core.regs[0], value);
    }
}

#[test]
fn another_write_ends_a_reservation() {
    // LDREX r0, [r4] and STREX r1, r0, [r4].
    let code = [0xe854, 0x0f00, 0xe844, 0x0100];
    for (what, written, status) in [
        ("nothing", &[][..], 0),
        ("the word", &[DATA + 2], 1),
        ("its neighbour", &[DATA + 4], 0),
        ("the word after its neighbour", &[DATA + 4, DATA + 2], 1),
    ] {
        let mut bench = bench(&code, &[BX_LR]);
        run_to(&mut bench, CODE + 4);
        for &address in written {
            assert!(bench.mem.poke(address, &[7]));
        }
        run_to(&mut bench, CODE + 8);
        assert_eq!(bench.core.regs[1], status, "{what} was written");
    }
}

/// A word of the stack.
fn word(bench: &Bench, address: u32) -> u32 {
    bench.mem.ram_u32((address - 0x2000_0000) as usize)
}

/// A bench without floating-point state, whose UsageFaults and BusFaults are on and whose SVCall gives way to them.
fn faulting(code: &[u16], handler: &[u16]) -> Bench {
    let mut bench = bench(code, handler);
    bench.core.control[0] = 0;
    bench.core.ppb.banks[0].faults_enabled = 6 << 16;
    prioritise(&mut bench, exception::SV_CALL, 0x80);
    bench
}

fn prioritise(bench: &mut Bench, number: u32, priority: u32) {
    bench.core.ppb.write(&mut bench.bus.sys, 0, true, 0xe000_ed14 + number, priority, 1);
}

/// Runs until an exception is taken.
fn run_to_exception(bench: &mut Bench, number: u32) {
    for _ in 0..20 {
        if bench.core.ipsr == number {
            return;
        }
        bench.run(1);
    }
    panic!("exception {number} is not taken: in {} at 0x{:08x}", bench.core.ipsr, bench.core.pc);
}

#[test]
fn an_exception_keeps_the_selected_stack_in_exc_return() {
    let main = 0x2000_0c00;
    // The handler: MRS R5, CONTROL; MSR CONTROL, R6; MRS R7, CONTROL; BX LR.
    let mut bench = faulting(&[0xdf00, 0xbf30], &[0xf3ef, 0x8514, 0xf386, 0x8814, 0xf3ef, 0x8714, BX_LR]);
    (bench.core.regs[6], bench.core.control[0]) = (control::SPSEL, control::SPSEL);
    bench.core.stacks[0][0] = main;
    bench.run(1);
    assert_eq!((bench.core.regs[14], bench.core.regs[13]), (0xffff_fffd, main));
    bench.core.control[0] |= control::NPRIV;
    run_to(&mut bench, CODE + 2);
    // The bit can be written in handler mode, where it selects nothing.
    assert_eq!((bench.core.regs[5], bench.core.regs[7]), (control::NPRIV, control::SPSEL));
    assert_eq!((bench.core.control[0], bench.core.regs[13]), (control::SPSEL, STACK));
}

#[test]
fn a_frame_below_the_limit_is_not_written() {
    let limit = STACK - 0x18;
    let mut bench = faulting(&[0xdf00], &[0xe7fe]);
    bench.core.limits[0][0] = limit;
    bench.run(1);
    let bank = &bench.core.ppb.banks[0];
    assert_eq!((bench.core.ipsr, bank.cfsr, bank.pending), (exception::USAGE_FAULT, 1 << 20, 1 << exception::SV_CALL));
    assert_eq!(bench.core.regs[13], limit);
    assert!((STACK - 0x20..STACK).step_by(4).all(|at| word(&bench, at) == 0));
}

#[test]
fn a_negative_priority_can_ignore_the_limit() {
    for (ignores, sp) in [(ccr::STKOFHFNMIGN, STACK - 4), (0, STACK)] {
        // PUSH {R0}, with FAULTMASK.
        let mut bench = faulting(&[0xb401], &[0xe7fe]);
        (bench.core.limits[0][0], bench.core.faultmask[0]) = (STACK, true);
        bench.core.ppb.banks[0].ccr |= ignores;
        bench.run(1);
        assert_eq!(bench.core.regs[13], sp);
    }
}

#[test]
fn a_frame_keeps_whose_the_floating_point_context_is() {
    let mut bench = bench(&[0xdf00, 0xbf30], &[BX_LR]);
    bench.run(1);
    let at = STACK - 0x68 + 28;
    let psr = word(&bench, at);
    assert_eq!(psr, 1 << 24 | 1 << 20);
    assert!(bench.mem.poke(at, &(psr & !(1 << 20)).to_le_bytes()));
    run_to(&mut bench, CODE + 2);
    assert_eq!(bench.core.control[0], control::FPCA);
}

#[test]
fn a_branch_out_of_thumb_state_is_stacked_as_such() {
    let mut bench = faulting(&[0x4700], &[0xe7fe]);
    bench.core.regs[0] = DATA;
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.banks[0].cfsr), (exception::USAGE_FAULT, 1 << 17));
    assert_eq!((word(&bench, STACK - 8), word(&bench, STACK - 4)), (DATA, 0));
    assert_ne!(bench.core.xpsr() & 1 << 24, 0, "the handler is Thumb code");
}

#[test]
fn a_refused_return_leaves_the_frame_to_the_fault() {
    let (svc, usage) = (1 << exception::SV_CALL, 1 << exception::USAGE_FAULT);
    for (bits, what, active, link) in [
        (2, "a reserved bit", usage, 0xffff_fffb),
        // R4 to R11 would be on the stack.
        (1, "of the other state, where the exception is not active", svc | usage, 0xffff_ffd9),
        (8, "to handler mode, by a frame of thread mode", usage, 0xffff_fff1),
    ] {
        // The handler: EOR LR, LR, #bits; BX LR.
        let mut bench = faulting(&[0xdf00], &[0xf08e, 0x0e00 | bits, BX_LR]);
        bench.run(1);
        bench.core.regs[0] = 77;
        run_to_exception(&mut bench, exception::USAGE_FAULT);
        let bank = &bench.core.ppb.banks[0];
        assert_eq!((bank.cfsr, bank.active), (1 << 18, active), "{what}");
        assert_eq!((bench.core.regs[13], bench.core.regs[0]), (STACK - 0x20, 77), "{what}");
        assert_eq!(bench.core.regs[14], link, "{what}");
    }
}

#[test]
fn a_return_from_a_negative_priority_ends_it_whatever_ipsr_says() {
    let mut bench = faulting(&[0xde00], &[BX_LR]);
    bench.core.ppb.banks[0].faults_enabled = 0;
    run_to_exception(&mut bench, exception::HARD_FAULT);
    bench.core.ipsr = exception::SV_CALL;
    bench.core.ppb.banks[0].faults_enabled = 4 << 16;
    run_to_exception(&mut bench, exception::USAGE_FAULT);
    let bank = &bench.core.ppb.banks[0];
    assert_eq!((bank.active, bank.cfsr), (1 << exception::USAGE_FAULT, 1 << 18 | 1 << 16));
}

#[test]
fn a_fault_of_stacking_is_taken_by_its_priority() {
    let irq = 16 + 3;
    for (priority, taken, pending, irqs) in
        [(0x40, exception::BUS_FAULT, 0, 1 << 3), (0xc0, irq, 1 << exception::BUS_FAULT, 0)]
    {
        let mut bench = faulting(&[0xe7fe], &[0xe7fe]);
        bench.core.ppb.enabled = 1 << 3;
        bench.core.ppb.write(&mut bench.bus.sys, 0, true, 0xe000_e403, 0x80, 1);
        prioritise(&mut bench, exception::BUS_FAULT, priority);
        bench.core.regs[13] = 0x6000_1000;
        bench.core.observe(1 << 3, false, 0);
        bench.run(1);
        let bank = &bench.core.ppb.banks[0];
        assert_eq!((bench.core.ipsr, bank.pending, bench.core.ppb.pending), (taken, pending, irqs));
        assert_eq!((bank.cfsr, bench.core.regs[13], bench.core.regs[14]), (1 << 12, 0x6000_0fe0, 0xffff_fff9));
        assert_eq!(bench.core.ppb.bfar, 0, "only a precise fault has an address");
    }
}

#[test]
fn a_fault_of_stacking_that_cannot_be_taken_is_a_hard_fault() {
    let mut bench = faulting(&[0xdf00], &[0xe7fe]);
    bench.core.ppb.banks[0].faults_enabled = 0;
    bench.core.regs[13] = 0x6000_1000;
    bench.run(1);
    let bank = &bench.core.ppb.banks[0];
    assert_eq!((bench.core.ipsr, bank.pending), (exception::HARD_FAULT, 1 << exception::SV_CALL));
    assert_eq!((bank.cfsr, bench.core.ppb.hfsr), (1 << 12, 1 << 30));
}

#[test]
fn access_to_the_fpu_ends_at_once() {
    // VMOV S0, R0; STR R1, [R2]: CPACR; VMOV S0, R0.
    let mut bench = faulting(&[0xee00, 0x0a10, 0x6011, 0xee00, 0x0a10], &[0xe7fe]);
    bench.core.regs[2] = 0xe000_ed88;
    run_to_exception(&mut bench, exception::USAGE_FAULT);
    assert_eq!((bench.core.ppb.banks[0].cfsr, word(&bench, STACK - 0x68 + 24)), (1 << 19, CODE + 6));
}

#[test]
fn registers_that_may_not_be_reached_are_not_stacked() {
    let mut bench = faulting(&[0xdf00], &[0xe7fe]);
    bench.core.control[0] = control::FPCA;
    bench.core.ppb.fpccr[0] &= !fpccr::LSPEN;
    bench.core.ppb.banks[0].cpacr = 0;
    bench.run(1);
    let bank = &bench.core.ppb.banks[0];
    assert_eq!((bench.core.ipsr, bank.cfsr, bank.pending), (exception::USAGE_FAULT, 1 << 19, 1 << exception::SV_CALL));
    let frame = STACK - 0x68;
    assert_eq!((bench.core.regs[13], word(&bench, frame + 24), word(&bench, frame + 32)), (frame, CODE + 2, 0));
}

#[test]
fn a_frame_notes_what_could_interrupt_its_program() {
    let mut bench = bench(&[0xdf00], &[0xe7fe]);
    for (number, priority) in [(exception::MEM_MANAGE, 0x20), (exception::BUS_FAULT, 0x80)] {
        prioritise(&mut bench, number, priority);
    }
    bench.core.ppb.banks[0].faults_enabled = 7 << 16;
    bench.core.basepri[0] = 0x40;
    bench.core.control[0] |= control::NPRIV;
    bench.run(1);
    let low = fpccr::LSPACT | fpccr::USER | fpccr::SECURE | fpccr::THREAD | fpccr::HFRDY | fpccr::MMRDY | fpccr::UFRDY;
    assert_eq!(bench.core.ppb.fpccr[0], fpccr::ASPEN | fpccr::LSPEN | low);
}

#[test]
fn an_exception_that_follows_at_once_keeps_the_notes_of_the_frame() {
    let mut bench = bench(&[0xdf00], &[BX_LR]);
    bench.run(1);
    let noted = bench.core.ppb.fpccr[0];
    bench.core.control[0] |= control::NPRIV;
    bench.core.ppb.fpccr[0] &= !fpccr::LSPEN;
    bench.core.ppb.pend((exception::PEND_SV, 0));
    run_to_exception(&mut bench, exception::PEND_SV);
    assert_eq!(bench.core.ppb.fpccr[0], noted & !fpccr::LSPEN);
}

#[test]
fn an_exception_that_follows_at_once_does_not_look_at_the_frame() {
    let end = |change: fn(&mut Bench)| {
        let mut bench = bench(&[0xdf00], &[BX_LR]);
        bench.run(1);
        change(&mut bench);
        let sp = bench.core.regs[13];
        bench.core.ppb.pend((exception::PEND_SV, 0));
        run_to_exception(&mut bench, exception::PEND_SV);
        let Bench { core, .. } = &bench;
        assert_eq!((core.regs[13], core.regs[14], core.ppb.banks[0].cfsr), (sp, 0xffff_ffe9, 0));
        (core.cycles, bench)
    };
    // A bit that no pop keeps; no Thumb bit; no memory.
    let (cycles, bench) = end(|bench| assert!(bench.mem.poke(STACK - 0x68 + 28, &0x0110_0000u32.to_le_bytes())));
    assert_eq!(word(&bench, STACK - 0x68 + 28), 0x0110_0000);
    for change in [
        |bench: &mut Bench| assert!(bench.mem.poke(STACK - 0x68 + 28, &0u32.to_le_bytes())),
        |bench: &mut Bench| bench.core.regs[13] = 0x6000_0000,
    ] {
        assert_eq!(end(change).0, cycles);
    }
    // The handler's registers are left alone, too.
    let (_, bench) = end(|bench| {
        bench.core.ppb.fpccr[0] &= !fpccr::LSPACT;
        bench.core.fpu.s[3] = DATA;
    });
    assert_eq!(bench.core.fpu.s[3], DATA);
}

#[test]
fn a_return_that_faults_notes_its_frame_anew() {
    let mut bench = bench(&[0xdf00], &[BX_LR]);
    bench.run(1);
    let noted = bench.core.ppb.fpccr[0];
    bench.core.control[0] |= control::NPRIV;
    // Without the Thumb bit.
    assert!(bench.mem.poke(STACK - 0x68 + 28, &0u32.to_le_bytes()));
    run_to_exception(&mut bench, exception::HARD_FAULT);
    assert_eq!((bench.core.ppb.banks[0].cfsr, bench.core.ppb.fpccr[0]), (1 << 17, noted | fpccr::USER));
}

/// A bench in the handler of SVC, whose next instruction (VMOV S0, R4) saves the registers of a program to FPCAR.
fn deferred(faults_enabled: u32, bus_fault: u32, change: fn(&mut Bench)) -> Bench {
    let mut bench = bench(&[0xdf00], &[0xee00, 0x4a10, 0xe7fe]);
    prioritise(&mut bench, exception::SV_CALL, 0x80);
    prioritise(&mut bench, exception::BUS_FAULT, bus_fault);
    bench.core.ppb.banks[0].faults_enabled = faults_enabled;
    change(&mut bench);
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.fpccr[0] & fpccr::LSPACT), (exception::SV_CALL, fpccr::LSPACT));
    bench
}

#[test]
fn a_fault_of_saving_registers_is_taken_as_their_program_could_be_interrupted() {
    let nowhere = |bench: &mut Bench| bench.core.ppb.banks[0].fpcar = 0x6000_0000;
    let (lsperr, bus_fault) = (1 << 13, exception::BUS_FAULT);
    for (enabled, priority, taken, hfsr) in
        [(7 << 16, 0x40, bus_fault, 0), (5 << 16, 0x40, exception::HARD_FAULT, 1 << 30)]
    {
        let mut bench = deferred(enabled, priority, |_| ());
        nowhere(&mut bench);
        bench.run(1);
        let Bench { core, .. } = &bench;
        assert_eq!((core.ipsr, core.ppb.banks[0].cfsr, core.ppb.hfsr, core.ppb.bfar), (taken, lsperr, hfsr, 0));
        assert_eq!((core.fpu.s[0], core.ppb.fpccr[0] & fpccr::LSPACT), (0x3f80_0000, fpccr::LSPACT));
        assert_eq!(word(&bench, core.regs[13] + 24), HANDLER, "the instruction is executed again");
    }
    // Less urgent than the handler: the fault waits, and the registers are lost.
    let mut bench = deferred(7 << 16, 0xc0, |_| ());
    nowhere(&mut bench);
    bench.run(1);
    let bank = &bench.core.ppb.banks[0];
    assert_eq!((bench.core.ipsr, bank.cfsr, bank.pending), (exception::SV_CALL, lsperr, 1 << bus_fault));
    assert_eq!((bench.core.fpu.s[0], bench.core.ppb.fpccr[0] & fpccr::LSPACT), (DATA, 0));
    // Their program could not be interrupted by a HardFault.
    let mut bench = deferred(7 << 16, 0xc0, |_| ());
    nowhere(&mut bench);
    bench.core.ppb.fpccr[0] &= !fpccr::HFRDY;
    bench.run(1);
    assert_eq!(bench.core.state, State::LockedUp);
}

#[test]
fn registers_are_saved_with_the_rights_of_their_program() {
    let unprivileged = |bench: &mut Bench| bench.core.control[0] |= control::NPRIV;
    let mut bench = deferred(7 << 16, 0x40, unprivileged);
    bench.core.ppb.banks[0].cpacr = 0x50_0000;
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.banks[0].cfsr), (exception::USAGE_FAULT, 1 << 19));
    // The MPU, with PRIVDEFENA.
    for (change, taken, cfsr) in
        [(unprivileged as fn(&mut Bench), exception::MEM_MANAGE, 1 << 5), (|_| (), exception::SV_CALL, 0)]
    {
        let mut bench = deferred(7 << 16, 0x40, change);
        bench.core.ppb.write(&mut bench.bus.sys, 0, true, 0xe000_ed94, 5, 4);
        bench.run(1);
        let bank = &bench.core.ppb.banks[0];
        assert_eq!((bench.core.ipsr, bank.cfsr, bank.mmfar), (taken, cfsr, 0));
    }
    // At a negative priority it is not asked.
    let mut bench = deferred(7 << 16, 0x40, unprivileged);
    bench.core.ppb.write(&mut bench.bus.sys, 0, true, 0xe000_ed94, 5, 4);
    bench.core.ppb.fpccr[0] &= !fpccr::HFRDY;
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.banks[0].cfsr), (exception::SV_CALL, 0));
}

#[test]
fn registers_of_an_earlier_frame_are_not_lost_in_another() {
    // An interrupt of the handler, with FPCA set.
    let mut bench = deferred(15 << 16, 0x40, |_| ());
    bench.core.control[0] |= control::FPCA;
    bench.core.ppb.enabled = 1;
    bench.core.observe(1, false, 0);
    run_to_exception(&mut bench, exception::SECURE_FAULT);
    assert_eq!((bench.core.ppb.sau.status, bench.core.ppb.pending), (1 << 7, 1));
    // Below the stack's limit there are two faults.
    let mut bench = deferred(8 << 16, 0x40, |_| ());
    bench.core.control[0] |= control::FPCA;
    bench.core.limits[0][0] = bench.core.regs[13];
    bench.core.ppb.enabled = 1;
    bench.core.observe(1, false, 0);
    run_to_exception(&mut bench, exception::HARD_FAULT);
    let bank = &bench.core.ppb.banks[0];
    assert_eq!((bench.core.ppb.sau.status, bank.cfsr), (1 << 7, 1 << 20));
    assert_eq!((bank.pending, bench.core.ppb.pending), (1 << exception::SECURE_FAULT, 1));
}

#[test]
fn a_return_clears_the_registers_that_its_handler_has_used() {
    for (control, saved, left, status) in
        [(control::FPCA, true, 0, 0), (0, true, DATA, 0), (control::FPCA, false, 0x3f80_0000, 1 << 7)]
    {
        let mut bench = bench(&[0xdf00], &[BX_LR]);
        bench.core.control[0] = 0;
        bench.run(1);
        bench.core.ppb.fpccr[0] |= fpccr::CLRONRET | if saved { 0 } else { fpccr::LSPACT };
        bench.core.control[0] = control;
        if saved {
            bench.core.fpu.s[15] = DATA;
        }
        bench.run(1);
        assert_eq!((bench.core.fpu.s[15], bench.core.fpu.s[16]), (left, 0x3f80_0000));
        assert_eq!((bench.core.ppb.sau.status, bench.core.ipsr == 0), (status, saved));
    }
}

#[test]
fn registers_that_cannot_be_popped_are_cleared() {
    let mut bench = bench(&[0xdf00], &[BX_LR]);
    bench.core.regs[13] = 0x2003_ffe0;
    bench.core.control[0] = 0;
    bench.core.ppb.banks[0].faults_enabled = 7 << 16;
    bench.run(1);
    bench.core.regs[13] = 0x2003_ffe0;
    assert!(bench.mem.poke(0x2003_fffc, &(1u32 << 24).to_le_bytes()));
    bench.core.regs[14] &= !0x10;
    bench.run(1);
    assert_eq!((bench.core.ipsr, bench.core.ppb.banks[0].cfsr), (exception::BUS_FAULT, 1 << 11));
    assert_eq!((bench.core.fpu.s[0], bench.core.fpu.s[16]), (0, 0x3f80_0000));
}

#[test]
fn a_fault_that_waits_is_taken_once_it_is_enabled() {
    let mut bench = faulting(&[0xe7fe], &[0xe7fe]);
    bench.core.ppb.banks[0].faults_enabled = 0;
    bench.core.ppb.write(&mut bench.bus.sys, 0, true, 0xe000_ed24, 1 << 14, 4);
    bench.run(10);
    assert_eq!(bench.core.ipsr, 0);
    bench.core.ppb.write(&mut bench.bus.sys, 0, true, 0xe000_ed24, 1 << 14 | 1 << 17, 4);
    bench.run(10);
    assert_eq!(bench.core.ipsr, exception::BUS_FAULT);
}

#[test]
fn unprivileged_code_gives_up_its_floating_point_context_only() {
    // MSR CONTROL, R0.
    let mut bench = bench(&[0xf380, 0x8814], &[0xe7fe]);
    bench.core.control[0] |= control::NPRIV;
    bench.run(1);
    assert_eq!(bench.core.control[0], control::NPRIV | control::FPCA);
}

#[test]
fn a_non_secure_exception_keeps_secure_registers_on_the_stack() {
    let mut bench = faulting(&[0xe7fe], &[0xe7fe]);
    let vectors = 0x2002_0000;
    assert!(bench.mem.poke(vectors + 4 * 16, &(vectors | 0x101).to_le_bytes()));
    (bench.core.regs[5], bench.core.ppb.banks[1].vtor) = (55, vectors);
    (bench.core.ppb.enabled, bench.core.ppb.non_secure) = (1, 1);
    bench.core.observe(1, false, 0);
    let Bench { core, mem, bus } = &mut bench;
    core.take_pending_exception(mem, bus);
    assert_eq!((core.ipsr, core.secure, core.regs[5], core.regs[14]), (16, false, 0, 0xffff_fff8));
    assert_eq!(mem.ram_u32((STACK - 0x48 - 0x2000_0000) as usize), 0xfefa_125b);
    assert_eq!(core.return_by(mem, bus, 0xffff_fff8), Ok(()));
    assert_eq!((core.ipsr, core.secure, core.regs[5], core.regs[13], core.pc), (0, true, 55, STACK, CODE));
    // It may not end a Secure exception.
    core.observe(1, false, 0);
    core.take_pending_exception(mem, bus);
    assert_eq!(core.return_by(mem, bus, 0xffff_fff9), Ok(()));
    assert_eq!((core.ipsr, core.ppb.sau.status, core.regs[14]), (exception::HARD_FAULT, 1 << 2, 0xffff_ffd9));
}
