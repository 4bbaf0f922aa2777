//! A radio chip on the pins of a Pico W, driven by GPIO writes.

use chip::pins::function;
use portbench_engine::{AccessPoint, WifiConfig, WifiWires};
use sim::PS_PER_MS;

use super::rig::{CYCLE_PS, Rig};

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

/// Makes an edge, and waits the two cycles until a core can write again.
fn clock(rig: &mut Rig, high: bool) {
    rig.output(CLOCK, high);
    rig.run(2 * CYCLE_PS);
}

/// Makes one transfer: 32 bits out, and `count` words in, as a program would do it.
fn transfer(rig: &mut Rig, out: &[u32], count: usize) -> Vec<u32> {
    rig.output(CSN, false);
    for word in out {
        for bit in (0..32).rev() {
            rig.output(DATA, word >> bit & 1 != 0);
            clock(rig, true);
            clock(rig, false);
        }
    }
    // The program releases the wire.
    rig.write(0xd000_0028, 1 << DATA);
    let words = (0..count).map(|_| {
        (0..32).fold(0, |word, _| {
            clock(rig, true);
            let bit = rig.input(DATA);
            clock(rig, false);
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
    // Function 0, address 0x14, 4 bytes; halves swapped, as after a reset of the chip.
    assert_eq!(transfer(&mut rig, &[0x4000_a004u32.rotate_left(16)], 1), [0xfeed_beadu32.rotate_left(16)]);
    rig.output(ON, false);
    assert_eq!(transfer(&mut rig, &[0x4000_a004u32.rotate_left(16)], 1), [0], "nothing drives the wire");
}

#[test]
fn between_transfers_the_data_wire_is_the_interrupt() {
    let mut rig = rig();
    rig.write(0xd000_0028, 1 << DATA);
    assert!(!rig.input(DATA));
    // A read of a missing frame: DATA_UNAVAILABLE, which interrupts once it is enabled.
    transfer(&mut rig, &[0x6000_0004u32.rotate_left(16)], 1);
    assert!(!rig.input(DATA));
    transfer(&mut rig, &[0xc000_3002u32.rotate_left(16), 1u32.rotate_left(16)], 0);
    assert!(rig.input(DATA));
    transfer(&mut rig, &[0xc000_2002u32.rotate_left(16), 1u32.rotate_left(16)], 0);
    assert!(!rig.input(DATA), "a one cleared it");
}

const PIO0: u32 = 0x5020_0000;
const DMA: u32 = 0x5000_0000;
const RAM: u32 = 0x2000_0000;

/// Waits until the state machine has finished.
fn wait(rig: &mut Rig, cycles: u64) {
    rig.run(cycles * CYCLE_PS);
}

/// Makes one transfer by a program like the drivers': out of the TX FIFO, back into the RX FIFO, both by DMA. Returns
/// the words, and the number of events.
fn transfer_by_pio(rig: &mut Rig, out: &[u32], count: u32) -> (Vec<u32>, u64) {
    rig.write(PIO0, 0);
    for (index, &word) in out.iter().enumerate() {
        rig.write(RAM + 4 * index as u32, word);
    }
    rig.output(CSN, false);
    rig.function(DATA, function::PIO0);
    rig.function(CLOCK, function::PIO0);
    // out pins, 1 side 0; jmp x-- side 1; set pindirs, 0 side 0; nop side 1; in pins, 1 side 0; jmp y-- 4 side 1; jmp 6 side 0.
    for (address, instruction) in [0x6001, 0x1040, 0xe080, 0xb042, 0x4001, 0x1084, 0x0006].into_iter().enumerate() {
        rig.write(PIO0 + 0x48 + 4 * address as u32, instruction);
    }
    rig.write(PIO0 + 0xc8, 2 << 16);
    rig.write(PIO0 + 0xcc, 6 << 12);
    rig.write(PIO0 + 0xd0, 3 << 16);
    rig.write(PIO0 + 0xdc, 1 << 29 | 1 << 26 | 1 << 20 | DATA << 15 | CLOCK << 10 | DATA << 5 | DATA);
    rig.write(PIO0 + 0x38, 1 << DATA);
    // set pindirs, 1 for the clock and then for the data; pull and out x, 32; pull and out y, 32; jmp 0.
    rig.write(PIO0 + 0xdc, 1 << 26 | CLOCK << 5);
    rig.write(PIO0 + 0xd8, 0xe081);
    wait(rig, 4);
    rig.write(PIO0 + 0xdc, 1 << 29 | 1 << 26 | 1 << 20 | DATA << 15 | CLOCK << 10 | DATA << 5 | DATA);
    for (instruction, word) in
        [(0xe081, None), (0x6020, Some(32 * out.len() as u32 - 1)), (0x6040, Some(32 * count - 1))]
    {
        if let Some(word) = word {
            rig.write(PIO0 + 0x10, word);
        }
        rig.write(PIO0 + 0xd8, instruction);
        wait(rig, 8);
    }
    rig.write(PIO0 + 0xd8, 0);
    let program = |rig: &mut Rig, channel: u32, from: u32, to: u32, count: u32, ctrl: u32| {
        for (index, value) in [from, to, count, ctrl | 2 << 2 | 1].into_iter().enumerate() {
            rig.write(DMA + 0x40 * channel + 4 * index as u32, value);
        }
    };
    program(rig, 0, RAM, PIO0 + 0x10, out.len() as u32, 1 << 4);
    program(rig, 1, PIO0 + 0x20, RAM + 0x400, count, 4 << 15 | 1 << 11 | 1 << 5);
    rig.write(PIO0, 1);
    let mut events = 0;
    let end = rig.now() + (128 * (out.len() as u64 + u64::from(count)) + 100) * CYCLE_PS;
    while let Some(id) = rig.bus.sys.take_event(end) {
        rig.bus.sys.cycle = rig.bus.sys.cycle.max(rig.bus.sys.clock.cycle_at(rig.bus.sys.now()));
        rig.event(id);
        events += 1;
    }
    rig.bus.sys.cycle = rig.bus.sys.clock.cycle_at(end);
    let words = (0..count).map(|index| rig.read(RAM + 0x400 + 4 * index)).collect();
    rig.output(CSN, true);
    (words, events)
}

#[test]
fn a_program_shifts_the_same_words_in_a_fraction_of_the_events() {
    let mut found = Vec::new();
    for batches_enabled in [false, true] {
        let mut rig = rig();
        rig.bus.sys.batches_enabled = batches_enabled;
        let mut events = 0;
        let mut all = Vec::new();
        // The test register, all registers of the bus, and one of them written, twice.
        for (out, count) in [
            (vec![0x4000_a004u32], 1),
            (vec![0x4000_0020], 9),
            (vec![0xc000_e002, 0x0000_1234], 1),
            (vec![0x4000_e004], 2),
            (vec![0xc000_c008, 0x0304_0102, 0x0708_0506], 3),
            (vec![0x4000_c008], 3),
        ] {
            let out: Vec<u32> = out.into_iter().map(|word| word.rotate_left(16)).collect();
            let (words, took) = transfer_by_pio(&mut rig, &out, count);
            events += took;
            all.push((words, rig.now()));
        }
        let stats = rig.wiring().network.as_ref().map(|network| network.stats().bus_bytes);
        found.push((all, stats, events));
    }
    let [(plain, plain_bytes, many), (lazy, bytes, few)] = &found[..] else { unreachable!("two ways") };
    assert_eq!(plain[0].0[0].rotate_left(16), 0xfeed_bead);
    assert_eq!((lazy, bytes), (plain, plain_bytes));
    assert!(few * 6 < *many, "{few} events in place of {many}");
}

/// arduino-pico takes a board for one without a radio if GP29 has a voltage while GP25 is low.
#[test]
fn a_third_of_vsys_is_at_the_clock_only_while_chip_select_is_high() {
    const ADC: u32 = 0x4004_c000;
    let mut rig = rig();
    rig.bus.sys.freq.clk_adc_hz = 48_000_000;
    rig.surround(|around| around.hold(CLOCK, Some(1_570)));
    for (high, reading) in [(false, 0), (true, 1948), (false, 0)] {
        rig.output(CSN, high);
        rig.write(ADC, 1 | 1 << 2 | 3 << 12);
        rig.run(3_000_000);
        assert_eq!(rig.read(ADC + 4), reading);
    }
}
