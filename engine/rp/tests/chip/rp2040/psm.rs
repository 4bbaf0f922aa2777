//! Resets through PSM by a running program (RP2040 datasheet 2.13), and the state that SYSRESETREQ keeps.

use super::common::{CODE, DATA, Rig, SIO, STACK, asm};
use chip::mcu::Mcu;
use parts::dma::{TREQ_PERMANENT, ctrl};
use rp::rp2040::RunEnd;
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::core::State;
use rp::rp2040::peripherals::psm::BITS;

const PSM: u32 = 0x4001_0000;
const RESETS: u32 = 0x4000_c000;
const DMA: u32 = 0x5000_0000;
const FRCE_ON: u16 = 0x0;
const FRCE_OFF: u16 = 0x4;
const DONE: u16 = 0xc;
const AIRCR: u32 = 0xe000_ed0c;
const SPINLOCK31: u32 = SIO + 0x17c;
const CODE1: u32 = CODE + 0x400;
const GPIO_OUT: u32 = SIO + 0x10;

/// Writes R`value` to PSM's register `offset` and waits until it reads back.
fn write_and_wait(value: u16, offset: u16) -> [u16; 4] {
    [asm::str(value, 4, offset), asm::ldr(0, 4, offset), 0x4280 | (value << 3), asm::b_if(asm::NE, -2)]
}

/// embassy-rp's `pre_init`: a debugger's reset keeps the state of SIO and core 1, so it resets them and not itself.
#[test]
fn sio_and_core_1_are_reset_under_a_core_0_that_is_forced_on() {
    let code = [
        &write_and_wait(1, FRCE_ON)[..],
        &write_and_wait(2, FRCE_OFF),
        &[asm::ldr(0, 4, DONE), asm::str(0, 5, 0)],
        &write_and_wait(3, FRCE_OFF),
        &write_and_wait(3, FRCE_ON),
        &[asm::ldr(0, 4, DONE), asm::str(0, 5, 4), asm::STOP],
    ]
    .concat();
    let mut r = Rig::new(&code);
    r.program(CODE1, &[asm::STOP]);
    r.start_core1(CODE1, STACK + 0x800);
    for (register, value) in [(1, BITS.proc0), (2, BITS.sio | BITS.proc1), (3, 0), (4, PSM), (5, DATA)] {
        r.core().regs[register] = value;
    }
    assert_eq!(r.sio(1, SPINLOCK31), 1 << 31, "core 1 holds the lock");
    r.chip.bus.write(&mut r.chip.mem, Master::Core(1), GPIO_OUT, 1 << 25, 4).expect("a register");
    r.run(400);
    assert_eq!(r.core().pc, CODE + 2 * (code.len() as u32 - 1));
    assert_eq!((r.word(DATA), r.word(DATA + 4)), (BITS.all & !(BITS.sio | BITS.proc1), BITS.all));
    assert_eq!((r.sio(0, GPIO_OUT), r.sio(0, SPINLOCK31)), (0, 1 << 31), "the lock was free");
    assert_eq!(r.chip.cores[1].ppb.vtor, 0);
    assert_ne!(r.chip.cores[1].pc, CODE1, "core 1 starts from ROM");
}

#[test]
fn sio_in_reset_ignores_writes_and_reads_zero() {
    let mut r = Rig::new(&[asm::STOP]);
    r.poke(PSM, BITS.proc0);
    r.poke(PSM + 4, BITS.sio | BITS.proc1);
    r.run(10);
    r.poke(GPIO_OUT, 1);
    assert_eq!((r.sio(0, GPIO_OUT), r.sio(0, SPINLOCK31)), (0, 0));
    assert_eq!(r.chip.cores[1].state, State::Held);
    r.poke(PSM + 4, 0);
    r.run(10);
    r.poke(GPIO_OUT, 1);
    assert_eq!(r.sio(0, GPIO_OUT), 1);
}

#[test]
fn a_reset_of_core_0_ends_the_run() {
    let mut r = Rig::new(&[asm::STOP]);
    r.poke(PSM + 4, BITS.sio);
    let until = r.chip.now() + 1_000_000_000;
    let RunEnd::Unmodelled(fault) = r.chip.run_until(until) else { panic!("core 0 was forced off without a report") };
    assert_eq!(fault.what, "PSM.FRCE_OFF write 0x00004000: holds 0x00008000 in reset");
}

#[test]
fn a_write_that_ends_the_run_names_its_instruction_unless_dma_did_it() {
    let told = |r: &mut Rig| {
        let until = r.chip.now() + 1_000_000_000;
        let end = r.chip.run_until(until);
        let RunEnd::Unmodelled(fault) = end else { panic!("{end:?}") };
        fault.to_string()
    };
    let says = "not modelled: PSM.FRCE_OFF write 0x00004000: holds 0x00008000 in reset";
    let mut r = Rig::new(&[asm::str(0, 1, 4), asm::STOP]);
    (r.core().regs[0], r.core().regs[1]) = (BITS.sio, PSM);
    assert_eq!(told(&mut r), format!("{says} (pc 0x{:08x})", CODE + 2));
    let mut r = Rig::new(&[asm::STOP]);
    r.poke(DATA, BITS.sio);
    let word = ctrl::EN | 2 << 2 | TREQ_PERMANENT << 15;
    for (address, value) in [(RESETS, 0), (DMA, DATA), (DMA + 4, PSM + 4), (DMA + 8, 1), (DMA + 0xc, word)] {
        r.poke(address, value);
    }
    assert_eq!(told(&mut r), says);
}

#[test]
fn a_run_ends_at_the_time_of_the_write_that_ends_it() {
    for (register, value) in [(PSM + 4, BITS.sio), (AIRCR, 0x05fa_0004)] {
        let mut r = Rig::new(&[asm::NOP, asm::NOP, asm::NOP, asm::str(0, 1, 0), asm::STOP]);
        (r.core().regs[0], r.core().regs[1]) = (value, register);
        let written = r.core().cycles + 3;
        let until = r.chip.now() + 1_000_000_000;
        assert_ne!(r.chip.run_until(until), RunEnd::Time);
        assert_eq!(r.chip.now(), r.ps_at(written), "0x{register:08x}");
    }
}

/// The reset of debuggers and `SCB::sys_reset()` only affects the cores (rp-hal issue 292).
#[test]
fn sysresetreq_leaves_the_spinlocks_locked() {
    let mut r = Rig::new(&[asm::STOP]);
    assert_eq!(r.sio(0, SPINLOCK31), 1 << 31);
    r.poke(AIRCR, 0x05fa_0004);
    let until = r.chip.now() + 1_000_000_000;
    assert_eq!(r.chip.run_until(until), RunEnd::Reset { cause: "SYSRESETREQ" });
    assert_eq!(r.sio(0, SPINLOCK31), 0);
}
