use super::*;
use crate::testing::{self, dreq, event, function, irq};
use chip::Alias;
use std::sync::{Arc, Mutex};

/// Records the bytes with their times.
#[derive(Default)]
struct Terminal(Arc<Mutex<Vec<(Ps, u8)>>>);

impl World for Terminal {
    fn uart_byte(&mut self, sys: &mut Sys, uart: usize, byte: u8) {
        assert_eq!(uart, 0);
        self.0.lock().unwrap().push((sys.now(), byte));
    }
}

/// Returns a UART with 115200 baud, 8N1 from 125 MHz: divisor 67 + 52/64.
fn configured(fifo: bool) -> (Sys, Uart, Terminal) {
    let mut sys = testing::sys(125_000_000);
    sys.freq.clk_peri_hz = 125_000_000;
    sys.pins.function_mask[function::UART] = 1;
    let mut uart = testing::uart();
    uart.reset(&mut sys);
    for (offset, bits) in [(0x24, 67), (0x28, 52), (0x2c, 0x60 | if fifo { lcr::FEN } else { 0 }), (0x30, 0x301)] {
        uart.write(&mut sys, offset, Write::normal(bits));
    }
    (sys, uart, Terminal::default())
}

const CHARACTER_PS: Ps = 10 * (67 * 64 + 52) * 1_000_000_000_000 / 500_000_000;

fn run(sys: &mut Sys, uart: &mut Uart, terminal: &mut Terminal, until: Ps) {
    while let Some(id) = sys.take_event(until) {
        assert_eq!(id, event::UART0);
        uart.event(sys, terminal);
    }
    sys.cycle = sys.clock.cycle_at(until);
}

#[test]
fn reset_values() {
    let mut sys = testing::sys(125_000_000);
    let mut uart = testing::uart();
    uart.reset(&mut sys);
    for (offset, value) in [
        (0x00, 0),
        (0x04, 0),
        (0x18, 0x91),
        (0x20, 0),
        (0x24, 0),
        (0x28, 0),
        (0x2c, 0),
        (0x30, 0x300),
        (0x34, 0x12),
        (0x38, 0),
        (0x3c, 0),
        (0x40, 0),
        (0x48, 0),
        (0xfe0, 0x11),
        (0xfe4, 0x10),
        (0xfe8, 0x34),
        (0xfec, 0),
        (0xff0, 0x0d),
        (0xff4, 0xf0),
        (0xff8, 0x05),
        (0xffc, 0xb1),
    ] {
        assert_eq!(uart.read(&mut sys, offset), value, "0x{offset:03x}");
    }
}

#[test]
fn bytes_leave_at_the_baud_rate() {
    let (mut sys, mut uart, mut terminal) = configured(true);
    let sent = terminal.0.clone();
    for byte in b"abc" {
        uart.write(&mut sys, 0, Write::normal(u32::from(*byte)));
    }
    assert_eq!(uart.read(&mut sys, 0x18), fr::BUSY | fr::RXFE | fr::CTS);
    run(&mut sys, &mut uart, &mut terminal, 4 * CHARACTER_PS);
    assert_eq!(*sent.lock().unwrap(), [(CHARACTER_PS, b'a'), (2 * CHARACTER_PS, b'b'), (3 * CHARACTER_PS, b'c')]);
    assert_eq!(uart.read(&mut sys, 0x18), fr::TXFE | fr::RXFE | fr::CTS);
    // Baud rate within 0.1 % of 115200.
    assert!((CHARACTER_PS as i64 - 86_805_556).abs() < 86_805);
}

#[test]
fn the_transmit_interrupt_comes_with_the_passage_through_its_level() {
    let (mut sys, mut uart, mut terminal) = configured(true);
    let (s, u, t) = (&mut sys, &mut uart, &mut terminal);
    u.write(s, 0x34, Write::normal(0));
    u.write(s, 0x38, Write::normal(int::TX));
    assert_eq!(s.irq_level() & (1 << irq::UART0), 0);
    for i in 0..40 {
        u.write(s, 0, Write::normal(i));
    }
    assert_eq!(u.read(s, 0x18) & fr::TXFF, fr::TXFF);
    // 33 were accepted (one in the shift register); the level falls from 5 to 4 when the 29th starts.
    run(s, u, t, 28 * CHARACTER_PS - 1);
    assert_eq!(u.read(s, 0x40), 0);
    run(s, u, t, 28 * CHARACTER_PS);
    assert_eq!((u.read(s, 0x40), s.irq_level() & (1 << irq::UART0)), (int::TX, 1 << irq::UART0));
    u.write(s, 0x44, Write::normal(int::TX));
    run(s, u, t, 50 * CHARACTER_PS);
    assert_eq!((u.read(s, 0x3c), t.0.lock().unwrap().len()), (0, 33));
}

#[test]
fn reception_levels_timeout_and_overrun() {
    let (mut sys, mut uart, mut terminal) = configured(true);
    let (s, u, t) = (&mut sys, &mut uart, &mut terminal);
    u.write(s, 0x34, Write::normal(0));
    u.write(s, 0x38, Write::normal(int::ALL));
    for byte in 0..3 {
        u.receive(s, byte);
    }
    assert_eq!(u.read(s, 0x3c), 0);
    let bit = CHARACTER_PS / 10;
    assert_eq!(s.due(event::UART0), 32 * bit);
    run(s, u, t, 32 * bit);
    assert_eq!(u.read(s, 0x40), int::RT);
    u.receive(s, 3);
    assert_eq!(u.read(s, 0x40), int::RT | int::RX);
    for expected in 0..4 {
        assert_eq!(u.read(s, 0), expected);
    }
    assert_eq!((u.read(s, 0x3c), s.irq_level() & (1 << irq::UART0), s.due(event::UART0)), (0, 0, NEVER));
    for byte in 0..34 {
        u.receive(s, byte);
    }
    assert_eq!(u.read(s, 0x3c), int::RX | int::OE);
    assert_eq!(u.read(s, 0x18) & fr::RXFF, fr::RXFF);
    for expected in 0..32 {
        assert_eq!(u.read(s, 0), expected);
    }
    u.receive(s, 99);
    assert_eq!((u.read(s, 0), u.read(s, 0x04)), (99 | DATA_OE, 8));
    u.write(s, 0x04, Write::normal(0));
    assert_eq!(u.read(s, 0x04), 0);
}

#[test]
fn loopback_single_registers_and_dma_requests() {
    let (mut sys, mut uart, mut terminal) = configured(false);
    let (s, u, t) = (&mut sys, &mut uart, &mut terminal);
    u.write(s, 0x30, Write { bits: cr::LBE, alias: Alias::Set });
    u.write(s, 0x48, Write::normal(3));
    let (tx, rx) = (1u64 << dreq::UART0_TX, 1u64 << dreq::UART0_RX);
    assert_eq!(s.dreq_level(), tx);
    u.write(s, 0, Write::normal(0x155));
    u.write(s, 0, Write::normal(0x66));
    assert_eq!((s.dreq_level(), u.read(s, 0x18) & fr::TXFF), (0, fr::TXFF));
    run(s, u, t, CHARACTER_PS);
    assert_eq!((s.dreq_level(), u.read(s, 0x3c)), (tx | rx, int::RX | int::TX));
    assert_eq!((u.read(s, 0), s.dreq_level()), (0x55, tx));
}

#[test]
fn any_error_holds_back_requests_of_received_data_where_that_is_asked_for() {
    let rx = 1u64 << dreq::UART0_RX;
    for error in [int::FE, int::PE, int::BE, int::OE, int::RT] {
        for (dmacr, held) in [(1, false), (5, error != int::RT), (4, true)] {
            let (mut sys, mut uart, _) = configured(false);
            uart.write(&mut sys, 0x48, Write::normal(dmacr));
            uart.receive(&mut sys, 7);
            uart.ris |= error;
            uart.update(&mut sys);
            assert_eq!(sys.dreq_level() & rx == 0, held, "{error:#x} {dmacr}");
        }
    }
}

#[test]
fn cts_holds_transmission_back() {
    let (mut sys, mut uart, mut terminal) = configured(true);
    let (s, u, t) = (&mut sys, &mut uart, &mut terminal);
    s.pins.function_mask[function::UART] |= 1 << 14;
    s.pins.drive(14, Some(true));
    u.input_changed(s);
    assert_eq!(u.read(s, 0x3c), int::CTSM);
    u.write(s, 0x30, Write { bits: cr::CTSEN, alias: Alias::Set });
    u.write(s, 0, Write::normal(7));
    assert_eq!((s.due(event::UART0), u.read(s, 0x18) & fr::CTS), (NEVER, 0));
    s.cycle = 1000;
    s.pins.drive(14, Some(false));
    u.input_changed(s);
    run(s, u, t, 2 * CHARACTER_PS);
    assert_eq!(*t.0.lock().unwrap(), [(8_000_000 + CHARACTER_PS, 7)]);
}

#[test]
fn without_a_clock_nothing_moves() {
    let (mut sys, mut uart, _) = configured(true);
    sys.freq.clk_peri_hz = 0;
    uart.write(&mut sys, 0, Write::normal(1));
    assert_eq!((sys.due(event::UART0), uart.read(&mut sys, 0x18) & fr::TXFE), (NEVER, 0));
}
