//! Both cores together: SIO's FIFOs, events and spinlocks (RP2040 datasheet 2.3.1), and independence of the division of
//! simulated time into calls.

use super::common::{CODE, DATA, NVIC_ISER, Rig, SIO, STACK, SYST_CSR, asm};
use chip::mcu::Mcu;
use rp::rp2040::RunEnd;
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::core::State;
use sim::{PS_PER_MS, PS_PER_US};

const CODE1: u32 = CODE + 0x400;
const STACK1: u32 = STACK + 0x800;

const FIFO_ST: u16 = 0x50;
const FIFO_WR: u16 = 0x54;
const FIFO_RD: u16 = 0x58;

fn two(code0: &[u16], code1: &[u16]) -> Rig {
    let mut rig = Rig::new(code0);
    rig.program(CODE1, code1);
    rig.start_core1(CODE1, STACK1);
    for core in &mut rig.chip.cores {
        core.regs[4] = SIO;
        core.regs[5] = DATA;
    }
    rig
}

#[test]
fn words_cross_the_fifos_and_sev_wakes_the_waiting_core() {
    // Core 1 waits like the boot ROM: WFE until a word has arrived; then it sends the word plus one and signals.
    let wait = [asm::ldr(0, 4, FIFO_ST), 0x07c0, asm::b_if(asm::NE, 3), asm::WFE, asm::b(-4)];
    let echo = [asm::ldr(0, 4, FIFO_RD), asm::adds(0, 1), asm::str(0, 4, FIFO_WR), asm::SEV];
    let core1 = [&wait[..], &echo, &[asm::b(-9)]].concat();
    // Core 0 sends 7, waits in the same way, stores the answer, and sends it.
    let send = [asm::str(1, 4, FIFO_WR), asm::SEV];
    let store = [asm::ldr(1, 4, FIFO_RD), asm::str(1, 5, 0), asm::b(-9)];
    let core0 = [&send[..], &wait, &store].concat();
    let mut r = two(&core0, &core1);
    r.chip.cores[0].regs[1] = 7;
    r.run(5000);
    let last = r.word(DATA);
    assert!((100..1000).contains(&last), "{last} words were sent and returned");
}

#[test]
fn a_full_fifo_drops_and_flags_it_and_an_empty_one_reads_zero() {
    let mut r = two(&[asm::STOP], &[asm::STOP]);
    r.chip.cores[1].state = State::Held;
    for word in 1..=9 {
        r.poke(SIO + u32::from(FIFO_WR), word);
    }
    // Core 0: write on full, no space; core 1: valid, space.
    assert_eq!((r.sio(0, SIO + 0x50), r.sio(1, SIO + 0x50)), (0b100, 0b011));
    assert_eq!(r.chip.bus.sys.irq_level() >> 15 & 3, 3, "both report changes");
    let words: Vec<u32> = (0..9).map(|_| r.sio(1, SIO + 0x58)).collect();
    assert_eq!(words, [1, 2, 3, 4, 5, 6, 7, 8, 0]);
    assert_eq!(r.sio(1, SIO + 0x50), 0b1010, "read on empty");
    for core in 0..2 {
        r.chip.bus.write(&mut r.chip.mem, Master::Core(core), SIO + 0x50, u32::MAX, 4).expect("a register");
    }
    assert_eq!((r.sio(0, SIO + 0x50), r.sio(1, SIO + 0x50), r.chip.bus.sys.irq_level() >> 15 & 3), (2, 2, 0));
}

/// Returns code that adds 1 to a word of SRAM 200 times, by load, add and store, under spinlock 0 if `locked`.
fn counting(locked: bool) -> Vec<u16> {
    let lock = if locked { vec![asm::ldr(0, 6, 0), asm::cmp(0, 0), asm::b_if(asm::EQ, -2)] } else { vec![asm::NOP; 3] };
    let unlock = if locked { asm::str(0, 6, 0) } else { asm::NOP };
    let count = [asm::ldr(1, 5, 0), asm::adds(1, 1), asm::NOP, asm::str(1, 5, 0)];
    [&lock[..], &count, &[unlock, asm::subs(7, 1), asm::b_if(asm::NE, -9), asm::STOP]].concat()
}

#[test]
fn a_spinlock_keeps_the_other_core_out() {
    for locked in [true, false] {
        let code = counting(locked);
        let mut r = two(&code, &code);
        for core in &mut r.chip.cores {
            core.regs[6] = SIO + 0x100;
            core.regs[7] = 200;
        }
        r.run(60_000);
        assert_eq!(r.chip.cores.each_ref().map(|c| c.regs[7]), [0, 0]);
        let counted = r.word(DATA);
        assert_eq!(counted == 400, locked, "{counted}");
    }
}

/// Returns two cores that count under a spinlock, sleep in WFI between SysTicks and TIMER alarms, and use the divider.
fn busy_chip() -> Rig {
    let mut code = counting(true);
    let end = code.len() - 1;
    // Instead of stopping: divide, sleep, start again.
    let tail = [asm::str(1, 4, 0x60), asm::str(7, 4, 0x64), asm::ldr(2, 4, 0x70), asm::WFI, asm::movs(7, 5)];
    code.splice(end.., tail);
    code.push(asm::b(-(code.len() as i16)));
    let mut r = two(&code, &code);
    for core in &mut r.chip.cores {
        core.regs[6] = SIO + 0x100;
        core.regs[7] = 20;
        core.regs[9] = 1;
    }
    r.handler(15, &[0x44c8, asm::BX_LR]); // ADD R8, R9
    // TIMER_IRQ_0: clear it, arm it again 37 us from now.
    r.handler(
        16,
        &[
            0xb410, // PUSH {R4}
            0x4c05, // LDR R4, =TIMER
            asm::movs(0, 1),
            asm::str(0, 4, 0x34),
            asm::ldr(0, 4, 0x28),
            asm::adds(0, 37),
            asm::str(0, 4, 0x10),
            0xbc10, // POP {R4}
            asm::BX_LR,
            asm::NOP,
            asm::NOP,
            asm::NOP,
            0x4000,
            0x4005,
        ],
    );
    r.poke(0x4000_f000, u32::MAX);
    r.poke(0x4005_802c, 0x200 | 6);
    r.poke(NVIC_ISER, 1);
    r.poke(SYST_CSR + 4, 777);
    r.poke(SYST_CSR, 7);
    r.poke(0x4005_4038, 1);
    r.poke(0x4005_4010, 50);
    r
}

fn state(r: &Rig) -> Vec<u64> {
    let cores = r.chip.cores.iter().flat_map(|c| {
        c.regs.iter().map(|&reg| u64::from(reg)).chain([
            u64::from(c.pc),
            u64::from(c.apsr()),
            u64::from(c.ipsr),
            c.cycles,
            c.instructions,
            c.state as u64,
        ])
    });
    let ram = r.chip.mem.ram().chunks(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    cores.chain(ram).collect()
}

#[test]
fn slices_of_time_change_nothing() {
    let end = 5 * PS_PER_MS;
    let mut whole = busy_chip();
    assert_eq!(whole.chip.run_until(end), RunEnd::Time);
    let expected = state(&whole);
    let ticks = whole.chip.cores[0].regs[8];
    assert!(ticks == 41 && whole.word(DATA) > 200, "{ticks} ticks, counted to {}", whole.word(DATA));
    for slice in [PS_PER_US, 1, PS_PER_MS, 999_983, 153_846, 153_847, 1_234_567_891] {
        let mut r = busy_chip();
        // Slices of 1 ps only for a while.
        let small = if slice == 1 { PS_PER_US / 2 } else { end };
        while r.chip.now() < small {
            let until = (r.chip.now() + slice).min(end);
            assert_eq!(r.chip.run_until(until), RunEnd::Time);
        }
        assert_eq!(r.chip.run_until(end), RunEnd::Time);
        assert!(state(&r) == expected, "slices of {slice} ps");
    }
}

#[test]
fn trace_and_samples_change_nothing() {
    let end = 2 * PS_PER_MS;
    let mut plain = busy_chip();
    assert_eq!(plain.chip.run_until(end), RunEnd::Time);
    let mut traced = busy_chip();
    traced.chip.bus.sys.trace.start(u32::MAX, 100_000);
    traced.chip.sample_pc(17);
    assert_eq!(traced.chip.run_until(end), RunEnd::Time);
    assert!(state(&plain) == state(&traced));
    assert!(traced.chip.bus.sys.trace.take().0.len() > 100);
}
