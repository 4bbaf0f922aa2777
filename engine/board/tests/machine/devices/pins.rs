//! External controls and wires at the pins, and the signals of UART and SPI for observers.

use chip::pins::function;
use portbench_engine::Surroundings;
use rp::rp2040::wires::event;
use sim::Ps;

use super::rig::{CYCLE_PS, Rig};

const UART0: u32 = 0x4003_4000;
const UART1: u32 = 0x4003_8000;
const SPI0: u32 = 0x4003_c000;
const PADS: u32 = 0x4001_c004;
const PULL_UP: u32 = 0x40 | 1 << 3;
const PULL_DOWN: u32 = 0x40 | 1 << 2;
const NO_PULL: u32 = 0x40;

const FR: u32 = 0x18;
const FR_RXFE: u32 = 1 << 4;
const EIGHT_BITS_FIFO: u32 = 0x70;
const PARITY: u32 = 1 << 1;
const EVEN: u32 = 1 << 2;
const BREAK: u32 = 1;
/// Divisor 67 + 52/64 at 125 MHz.
const BIT_PS: Ps = 16 * (67 * 64 + 52) * CYCLE_PS / 64;

fn wired(wires: &[(u32, u32)]) -> Rig {
    let mut rig = Rig::new(|_| {});
    rig.surround(|around| wires.iter().for_each(|&(a, b)| around.wire(a, b)));
    rig
}

/// Sets a UART up at 115200 baud.
fn set_up(rig: &mut Rig, uart: u32, lcr_h: u32) {
    for (offset, value) in [(0x24, 67), (0x28, 52), (0x2c, lcr_h), (0x30, 0x301)] {
        rig.write(uart + offset, value);
    }
}

/// UART1's TX on GPIO8, joined to UART0's RX on GPIO13.
fn two_uarts(lcr_h: u32) -> Rig {
    let mut rig = wired(&[(8, 13)]);
    for pin in [8, 13] {
        rig.function(pin, function::UART);
    }
    set_up(&mut rig, UART1, lcr_h);
    set_up(&mut rig, UART0, lcr_h);
    rig
}

fn received(rig: &mut Rig) -> Vec<u32> {
    let mut entries = Vec::new();
    while rig.read(UART0 + FR) & FR_RXFE == 0 {
        entries.push(rig.read(UART0));
    }
    entries
}

#[test]
fn characters_go_from_one_uart_to_the_other_by_a_wire() {
    for (lcr_h, bits) in [(EIGHT_BITS_FIFO, 10), (EIGHT_BITS_FIFO | PARITY | EVEN, 11), (EIGHT_BITS_FIFO | PARITY, 11)]
    {
        let mut rig = two_uarts(lcr_h);
        for byte in [0x55, 0x00, 0xff, 0xa1] {
            rig.write(UART1, byte);
        }
        // The first one has arrived in the middle of its stop bit.
        let middle = BIT_PS * (2 * bits - 1) / 2;
        rig.run(middle - 3 * CYCLE_PS);
        assert!(received(&mut rig).is_empty());
        rig.run(6 * CYCLE_PS);
        assert_eq!(received(&mut rig), [0x55], "{lcr_h:x}");
        rig.run(3 * bits * BIT_PS + CYCLE_PS);
        assert_eq!(received(&mut rig), [0x00, 0xff, 0xa1], "{lcr_h:x}");
    }
}

#[test]
fn errors_of_a_character_are_reported_with_it() {
    const FRAMING: u32 = 1 << 8;
    const PARITY_ERROR: u32 = 1 << 9;
    const BREAK_SEEN: u32 = 1 << 10;
    let mut rig = two_uarts(EIGHT_BITS_FIFO);
    rig.write(UART0 + 0x2c, EIGHT_BITS_FIFO | PARITY | EVEN);
    rig.write(UART1, 0xfe);
    rig.run(12 * BIT_PS);
    // The stop bit is read as parity, which is right for seven ones but wrong for eight.
    assert_eq!(received(&mut rig), [0xfe]);
    rig.write(UART1, 0xff);
    rig.run(12 * BIT_PS);
    assert_eq!(received(&mut rig), [0xff | PARITY_ERROR]);

    rig.write(UART0 + 0x2c, 0x10);
    rig.write(UART1, 0x0f);
    rig.run(8 * BIT_PS);
    assert_eq!(received(&mut rig), [0x0f | FRAMING], "five bits of eight");
    rig.write(UART0 + 0x2c, EIGHT_BITS_FIFO);
    rig.run(20 * BIT_PS);
    received(&mut rig);

    rig.write(UART1 + 0x2c, EIGHT_BITS_FIFO | BREAK);
    rig.run(40 * BIT_PS);
    assert_eq!(received(&mut rig), [BREAK_SEEN | FRAMING], "once, for any duration");
    assert_eq!(rig.read(UART0 + 0x3c) & 0x280, 0x280);
    rig.write(UART1 + 0x2c, EIGHT_BITS_FIFO);
    rig.run(BIT_PS);
    rig.write(UART1, 0x42);
    rig.run(10 * BIT_PS);
    assert_eq!(received(&mut rig), [0x42]);
}

#[test]
fn bits_are_on_tx_when_a_program_reads_it_and_cost_nothing_before() {
    let mut rig = Rig::new(|_| {});
    rig.function(8, function::UART);
    set_up(&mut rig, UART1, EIGHT_BITS_FIFO);
    let start = rig.now();
    rig.write(UART1, 0b0100_1101);
    assert_eq!(rig.bus.sys.due(event::UART1), start + 10 * BIT_PS, "one event for the character");
    rig.run(BIT_PS / 2);
    let mut levels = Vec::new();
    for _ in 0..11 {
        levels.push(u8::from(rig.input(8)));
        rig.run(BIT_PS);
    }
    assert_eq!(levels, [0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1]);
}

#[test]
fn a_pio_program_that_waits_for_tx_sees_it() {
    const PIO0: u32 = 0x5020_0000;
    let mut rig = Rig::new(|_| {});
    rig.function(8, function::UART);
    set_up(&mut rig, UART1, EIGHT_BITS_FIFO);
    // wait 0 gpio 8; then push: one word for each falling edge.
    for (index, instruction) in [0x2008, 0x8000, 0x2088].into_iter().enumerate() {
        rig.write(PIO0 + 0x48 + 4 * index as u32, instruction);
    }
    rig.write(PIO0 + 0xcc, 2 << 12);
    rig.write(PIO0, 1);
    rig.write(UART1, 0b0101_0101);
    rig.run(12 * BIT_PS);
    // The start bit and three zeros that follow ones, and the last data bit; RX FIFO holds four.
    assert_eq!(rig.read(PIO0 + 0x0c) >> 4 & 15, 4);
    rig.write(PIO0, 0);
    rig.write(UART1, 0);
    assert_eq!(rig.bus.sys.due(event::UART1), rig.now() + 10 * BIT_PS, "no observer is left");
}

#[test]
fn spi_receives_its_output_by_a_wire_in_every_mode() {
    for (mode, cr0) in [(0, 0x07), (1, 0x87), (2, 0x47), (3, 0xc7), (0, 0x0f), (3, 0xcf)] {
        let mut rig = wired(&[(3, 4)]);
        for pin in [2, 3, 4] {
            rig.function(pin, function::SPI);
        }
        rig.write(SPI0 + 0x10, 10);
        rig.write(SPI0, cr0);
        rig.write(SPI0 + 4, 2);
        let frames = if cr0 & 15 == 15 { [0x1234, 0xa55a, 0x8001] } else { [0x5a, 0x81, 0x0f] };
        for frame in frames {
            rig.write(SPI0 + 8, frame);
        }
        rig.run(3 * 20 * 10 * CYCLE_PS);
        assert_eq!(frames.map(|_| rig.read(SPI0 + 8)), frames, "mode {mode}");
    }
}

#[test]
fn spi_without_an_observer_has_one_event_per_frame() {
    let mut rig = Rig::new(|_| {});
    for pin in [2, 3] {
        rig.function(pin, function::SPI);
    }
    rig.write(SPI0 + 0x10, 10);
    rig.write(SPI0, 0x07);
    rig.write(SPI0 + 4, 2);
    let start = rig.now();
    rig.write(SPI0 + 8, 0xa5);
    assert_eq!(rig.bus.sys.due(event::SPI0), start + 17 * 5 * CYCLE_PS);
    // SCK as read by a program in the middle of the half periods: the first edge comes after two of them.
    rig.run(5 * CYCLE_PS / 2 + 10 * CYCLE_PS);
    let mut levels = Vec::new();
    for _ in 0..4 {
        levels.push((u8::from(rig.input(2)), u8::from(rig.input(3))));
        rig.run(5 * CYCLE_PS);
    }
    assert_eq!(levels, [(1, 1), (0, 0), (1, 0), (0, 1)]);
}

#[test]
fn a_control_is_stronger_than_a_pull_and_weaker_than_a_driver() {
    let mut rig = Rig::new(|_| {});
    rig.write(PADS + 4 * 15, PULL_UP);
    assert!(rig.input(15));
    rig.surround(|around| around.hold(15, Some(0)));
    assert!(!rig.input(15));
    rig.surround(|around| around.hold(15, Some(1_649)));
    assert!(!rig.input(15));
    rig.surround(|around| around.hold(15, Some(1_650)));
    assert!(rig.input(15));
    rig.output(15, false);
    assert!(!rig.input(15));
    rig.surround(|around| around.hold(15, None));
    assert!(!rig.input(15));
}

#[test]
fn a_button_interrupts() {
    let mut rig = Rig::new(|_| {});
    rig.write(PADS + 4 * 15, PULL_UP);
    rig.write(0x4001_40f4, 4 << 28);
    assert_eq!(rig.read(0x4001_40f4) >> 28 & 4, 0);
    rig.surround(|around| around.hold(15, Some(0)));
    assert_eq!(rig.read(0x4001_40f4) >> 28 & 4, 4, "EDGE_LOW of GPIO15");
}

#[test]
fn a_wire_carries_the_strongest_and_a_low_level_wins() {
    let mut rig = wired(&[(0, 1), (1, 2)]);
    for (pads, level) in [
        ([NO_PULL, NO_PULL, PULL_UP], true),
        ([NO_PULL, PULL_DOWN, NO_PULL], false),
        ([NO_PULL, NO_PULL, NO_PULL], false),
        ([NO_PULL, PULL_UP, NO_PULL], true),
        ([PULL_DOWN, PULL_UP, NO_PULL], true),
    ] {
        for (pin, pad) in (0..).zip(pads) {
            rig.write(PADS + 4 * pin, pad);
        }
        assert_eq!([0, 1, 2].map(|pin| rig.input(pin)), [level; 3], "{pads:?}");
    }
    rig.output(0, true);
    assert_eq!([0, 1, 2].map(|pin| rig.input(pin)), [true; 3]);
    rig.output(2, false);
    assert_eq!([0, 1, 2].map(|pin| rig.input(pin)), [false; 3]);
    rig.surround(|around| assert!(around.unwire(1, 2)));
    assert_eq!([0, 1, 2].map(|pin| rig.input(pin)), [true, true, false]);
}

#[test]
fn a_voltage_reaches_the_adc_directly_and_by_a_wire() {
    const ADC: u32 = 0x4004_c000;
    let mut rig = wired(&[(27, 5)]);
    rig.bus.sys.freq.clk_adc_hz = 48_000_000;
    rig.surround(|around| {
        around.hold(26, Some(1_650));
        around.hold(5, Some(825));
    });
    let mut convert = |channel: u32| {
        rig.write(ADC, 1 | 1 << 2 | channel << 12);
        rig.run(3_000_000);
        rig.read(ADC + 4)
    };
    assert_eq!((convert(0), convert(1)), (2048, 1024));
}

#[test]
fn the_uart_cable_carries_characters_both_ways_at_the_uarts_speed() {
    let mut rig = Rig::new(|_| {});
    for pin in [8, 9] {
        rig.function(pin, function::UART);
    }
    set_up(&mut rig, UART1, EIGHT_BITS_FIFO);
    let start = rig.now();
    rig.write(UART1, 0x41);
    rig.write(UART1, 0x42);
    assert_eq!(rig.send_to_uart(1, b"xyz"), 3);
    rig.run(2 * 10 * BIT_PS);
    assert_eq!(rig.wiring().uart_cable(1).read(), b"AB");
    assert_eq!(rig.wiring().uart_cable(1).received_at(), start + 20 * BIT_PS);
    assert_eq!((rig.read(UART1), rig.read(UART1) & 0xff, rig.wiring().uart_cable(1).unsent()), (0x78, 0x79, 1));
    rig.run(10 * BIT_PS);
    assert_eq!((rig.read(UART1), rig.wiring().uart_cable(1).unsent()), (0x7a, 0));
    // Characters that arrive while a wire or a control holds the pin, or while it is unconnected, are lost.
    for takes in [0, 1] {
        match takes {
            0 => rig.surround(|around| around.hold(9, Some(3_300))),
            _ => rig.function(9, function::SIO),
        }
        rig.send_to_uart(1, b"!");
        rig.run(30 * BIT_PS);
        assert_eq!(rig.wiring().uart_cable(1).unsent(), 0);
        assert_eq!(rig.read(UART1 + FR) & FR_RXFE, FR_RXFE);
        rig.surround(|around| around.hold(9, None));
    }
    rig.function(8, function::SIO);
    rig.write(UART1, 0x43);
    rig.run(10 * BIT_PS);
    assert_eq!(rig.wiring().uart_cable(1).read(), b"");
}

#[test]
fn a_board_starts_without_controls_at_the_pins() {
    assert!(Surroundings::default().nets().is_empty());
}
