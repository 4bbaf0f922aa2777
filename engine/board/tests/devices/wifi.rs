//! A radio chip on the pins of a Pico W, driven by GPIO writes.

use board::{AccessPoint, WifiConfig, WifiWires};
use sim::PS_PER_MS;

use crate::rig::Rig;

const ON: u32 = 23;
const DATA: u32 = 24;
const CSN: u32 = 25;
const CLOCK: u32 = 29;

fn rig() -> Rig {
    let wires = WifiWires { on: ON, data: DATA, csn: CSN, clock: CLOCK };
    let mut rig =
        Rig::with(|_| {}, Some(WifiConfig { wires, chip: cyw43::Config::default(), point: AccessPoint::default() }));
    rig.output(CSN, true);
    rig.output(CLOCK, false);
    rig.output(ON, true);
    rig.run(200 * PS_PER_MS);
    rig
}

/// One transfer: 32 bits out, and so many in, as a program would do it.
fn transfer(rig: &mut Rig, out: &[u32], count: usize) -> Vec<u32> {
    rig.output(CSN, false);
    for word in out {
        for bit in (0..32).rev() {
            rig.output(DATA, word >> bit & 1 != 0);
            rig.output(CLOCK, true);
            rig.output(CLOCK, false);
        }
    }
    // The program lets go of the wire.
    rig.write(0xd000_0028, 1 << DATA);
    let words = (0..count).map(|_| {
        (0..32).fold(0, |word, _| {
            rig.output(CLOCK, true);
            let bit = rig.input(DATA);
            rig.output(CLOCK, false);
            word << 1 | u32::from(bit)
        })
    });
    let words = words.collect();
    rig.output(CSN, true);
    words
}

#[test]
fn the_test_register_is_read_through_the_pins() {
    let mut rig = rig();
    // Function 0, address 0x14, 4 bytes; halves swapped, as the chip starts.
    assert_eq!(transfer(&mut rig, &[0x4000_a004u32.rotate_left(16)], 1), [0xfeed_beadu32.rotate_left(16)]);
    rig.output(ON, false);
    assert_eq!(transfer(&mut rig, &[0x4000_a004u32.rotate_left(16)], 1), [0], "nothing drives the wire");
}

#[test]
fn between_transfers_the_data_wire_asks_for_the_host() {
    let mut rig = rig();
    rig.write(0xd000_0028, 1 << DATA);
    assert!(!rig.input(DATA));
    // A frame is read that is not there: DATA_UNAVAILABLE, which interrupts once it is enabled.
    transfer(&mut rig, &[0x6000_0004u32.rotate_left(16)], 1);
    assert!(!rig.input(DATA));
    transfer(&mut rig, &[0xc000_3002u32.rotate_left(16), 1u32.rotate_left(16)], 0);
    assert!(rig.input(DATA));
    transfer(&mut rig, &[0xc000_2002u32.rotate_left(16), 1u32.rotate_left(16)], 0);
    assert!(!rig.input(DATA), "a one cleared it");
}
