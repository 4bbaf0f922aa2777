//! UART: a device that echoes its input.

use std::collections::VecDeque;

use chip::pins::function;
use portbench_engine::{SidePins, UartWires};
use sim::{Device, Ps, UartDevice};

use super::rig::{CYCLE_PS, Log, Rig, taken};

const UART1: u32 = 0x4003_8000;
const FR_RXFE: u32 = 1 << 4;
/// Divisor 67 + 52/64 at 125 MHz; start bit, eight data bits, stop bit.
const CHARACTER_PS: Ps = 10 * 16 * (67 * 64 + 52) * CYCLE_PS / 64;

/// Sends each character back, one character time after its arrival.
struct Echo {
    queue: VecDeque<(Ps, u8)>,
    log: Log<(Ps, u8)>,
}

impl Device for Echo {
    fn name(&self) -> &'static str {
        "ECHO"
    }

    fn next_event(&self) -> Option<Ps> {
        self.queue.front().map(|(at, _)| *at)
    }
}

impl UartDevice for Echo {
    fn receive(&mut self, now: Ps, byte: u8) {
        self.log.lock().expect("no test panicked").push((now, byte));
        self.queue.push_back((now + CHARACTER_PS, byte));
    }

    fn take_byte(&mut self, now: Ps) -> Option<u8> {
        self.queue.pop_front_if(|(at, _)| *at <= now).map(|(_, byte)| byte)
    }
}

/// Returns 115200 baud, 8N1 with FIFOs on UART1, TX on GPIO8 and RX on GPIO9.
fn rig(log: &Log<(Ps, u8)>) -> Rig {
    let wires = UartWires { uart: 1, tx: 8, rx: 9, side: SidePins::default() };
    let mut rig = Rig::new(|wiring| {
        wiring.attach_uart(wires, Echo { queue: VecDeque::new(), log: log.clone() });
    });
    for pin in [8, 9] {
        rig.function(pin, function::UART);
    }
    for (offset, value) in [(0x24, 67), (0x28, 52), (0x2c, 0x70), (0x30, 0x301)] {
        rig.write(UART1 + offset, value);
    }
    rig
}

#[test]
fn characters_come_back_at_their_times() {
    let log = Log::default();
    let mut rig = rig(&log);
    let start = rig.now();
    for byte in [0x55, 0xaa] {
        rig.write(UART1, byte);
    }
    rig.run(2 * CHARACTER_PS - 1);
    assert_eq!(taken(&log), [(start + CHARACTER_PS, 0x55)]);
    assert_eq!(rig.read(UART1 + 0x18) & FR_RXFE, FR_RXFE, "not back yet");
    rig.run(CYCLE_PS);
    assert_eq!((rig.read(UART1 + 0x18) & FR_RXFE, rig.read(UART1)), (0, 0x55));
    rig.run(CHARACTER_PS);
    assert_eq!(rig.read(UART1), 0xaa);
    assert_eq!(taken(&log), [(start + 2 * CHARACTER_PS, 0xaa)]);
}

#[test]
fn a_pin_without_the_uart_function_carries_nothing() {
    let log = Log::default();
    let mut rig = rig(&log);
    rig.function(9, function::SIO);
    rig.write(UART1, 1);
    rig.run(3 * CHARACTER_PS);
    assert_eq!((taken(&log).len(), rig.read(UART1 + 0x18) & FR_RXFE), (1, FR_RXFE), "RX");
    rig.function(8, function::SIO);
    rig.write(UART1, 1);
    rig.run(3 * CHARACTER_PS);
    assert_eq!(taken(&log), [], "TX");
}
