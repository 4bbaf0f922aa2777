//! Clock outputs as seen by a program and its GPIO interrupts (RP2040 datasheet 2.15.1.3).

use super::common::{NVIC_ISER, Rig, SIO, asm};
use rp::rp2040::bus::Master;

const RESETS_CLEAR: u32 = 0x4000_f000;
const CLK_GPOUT0_CTRL: u32 = 0x4000_8000;
const CLK_GPOUT0_DIV: u32 = 0x4000_8004;
const ENABLE: u32 = 1 << 11;
const FROM_ROSC: u32 = 4 << 5;
const GPIO21_CTRL: u32 = 0x4001_40ac;
const FUNCTION_CLOCK: u32 = 8;
/// Pin 21's nibble of INTR2 and PROC0_INTE2: EDGE_HIGH.
const INTR2: u32 = 0x4001_40f8;
const PROC0_INTE2: u32 = 0x4001_4108;
const RISES: u32 = 8 << 20;

#[test]
fn a_clock_output_toggles_its_pin_and_interrupts() {
    let mut r = Rig::new(&[asm::STOP]);
    // A twentieth of clk_sys, which is ROSC; the program loops in two cycles.
    for (address, value) in [
        (RESETS_CLEAR, u32::MAX),
        (CLK_GPOUT0_DIV, 20 << 8),
        (CLK_GPOUT0_CTRL, ENABLE | FROM_ROSC),
        (GPIO21_CTRL, FUNCTION_CLOCK),
    ] {
        r.poke(address, value);
    }
    let mut highs = 0;
    for _ in 0..100 {
        r.run(1);
        let chip = &mut r.chip;
        let pins = chip.bus.read(&mut chip.mem, Master::Core(0), SIO + 4, 4).expect("GPIO_IN");
        highs += pins >> 21 & 1;
    }
    assert_eq!(highs, 50);

    r.handler(16 + 13, &[asm::str(5, 4, 0), asm::adds(7, 1), asm::BX_LR]);
    (r.core().regs[4], r.core().regs[5]) = (INTR2, RISES);
    r.poke(CLK_GPOUT0_DIV, 1000 << 8);
    r.poke(INTR2, RISES);
    r.poke(PROC0_INTE2, RISES);
    r.poke(NVIC_ISER, 1 << 13);
    r.run(20_000);
    assert_eq!(r.core().regs[7], 20);
    r.poke(CLK_GPOUT0_CTRL, 0);
    r.run(20_000);
    assert_eq!(r.core().regs[7], 20);
}
