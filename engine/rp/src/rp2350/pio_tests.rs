//! PIO blocks that act on each other.

use crate::rp2350::bus::Bus;
use crate::rp2350::memory::Memory;
use crate::rp2350::wires;
use chip::world::Nothing;
use cpu::Master;

const RESETS: u32 = 0x4002_0000;
const RESET_PIO1: u32 = 1 << 12;
const CTRL: [u32; 3] = [0x5020_0000, 0x5030_0000, 0x5040_0000];
const SET: u32 = 0x2000;
const NEXTPREV_SM_ENABLE: u32 = 1 << 24;
const NEXTPREV_SM_DISABLE: u32 = 1 << 25;

#[test]
fn ctrl_starts_and_stops_state_machines_of_the_blocks_beside() {
    let mut bus = Bus::new(wires::sys(150_000_000), Nothing);
    let mut mem = <Memory>::new(&[], 1 << 20);
    let mut after = |address, value| {
        bus.write(&mut mem, Master::Core(0), address, value, 4).expect("a register");
        CTRL.map(|address| bus.read(&mut mem, Master::Core(0), address, 4).expect("a register"))
    };
    after(RESETS, 0);
    // After the last block comes the first. The masks are of the next block's machines and of the previous block's.
    assert_eq!(after(CTRL[2], NEXTPREV_SM_ENABLE | 0b0010 << 20 | 0b0110 << 16 | 0b1000), [0b0010, 0b0110, 0b1000]);
    assert_eq!(after(CTRL[0] + SET, NEXTPREV_SM_DISABLE | 0b0100 << 20 | 0b1001 << 16), [0b0010, 0b0010, 0b0000]);
    // Disabling wins; a mask without an operation does nothing.
    let both = NEXTPREV_SM_ENABLE | NEXTPREV_SM_DISABLE;
    assert_eq!(after(CTRL[1], both | 0b1111 << 20 | 0b0010 << 16), [0, 0, 0]);
    assert_eq!(after(CTRL[1], 0b1111 << 20 | 0b1111 << 16), [0, 0, 0]);
    // A block that is held in reset does not start.
    after(RESETS + SET, RESET_PIO1);
    assert_eq!(after(CTRL[0], NEXTPREV_SM_ENABLE | 0b1111 << 20 | 0b0001 << 16), [0, 0, 1]);
    assert_eq!(after(RESETS, 0), [0, 0, 1]);
}
