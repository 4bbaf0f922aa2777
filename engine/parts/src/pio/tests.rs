use super::reference::Reference;
use super::*;
use crate::testing::{self, event, function, irq};
use sim::{Ps, SplitMix64};

const ALL_PINS: u64 = testing::PIN_MASK;

/// Instructions, with the delay and side-set field in bits 8 to 12.
mod asm {
    pub(crate) fn jmp(condition: u16, address: u16) -> u16 {
        (condition << 5) | address
    }
    pub(crate) fn wait(polarity: u16, source: u16, index: u16) -> u16 {
        0x2000 | (polarity << 7) | (source << 5) | index
    }
    pub(crate) fn r#in(source: u16, bits: u16) -> u16 {
        0x4000 | (source << 5) | (bits & 31)
    }
    pub(crate) fn out(destination: u16, bits: u16) -> u16 {
        0x6000 | (destination << 5) | (bits & 31)
    }
    pub(crate) const PUSH_BLOCK: u16 = 0x8020;
    pub(crate) const PUSH_NOBLOCK: u16 = 0x8000;
    pub(crate) const PULL_BLOCK: u16 = 0x80a0;
    pub(crate) const PULL_NOBLOCK: u16 = 0x8080;
    pub(crate) const PULL_IFEMPTY: u16 = 0x80e0;
    pub(crate) const PUSH_IFFULL: u16 = 0x8060;
    pub(crate) fn mov(destination: u16, operation: u16, source: u16) -> u16 {
        0xa000 | (destination << 5) | (operation << 3) | source
    }
    pub(crate) const NOP: u16 = 0xa042;
    pub(crate) fn irq(clear: u16, wait: u16, index: u16) -> u16 {
        0xc000 | (clear << 6) | (wait << 5) | index
    }
    pub(crate) fn set(destination: u16, data: u16) -> u16 {
        0xe000 | (destination << 5) | data
    }
    /// Returns `instruction` with `field` as delay and side-set.
    pub(crate) fn d(instruction: u16, field: u16) -> u16 {
        instruction | (field << 8)
    }
}
use asm::*;

struct Bench {
    sys: Sys,
    pio: Pio,
    /// Cycle, levels and directions of every change.
    edges: Vec<(u64, u32, u32)>,
    events: u64,
    last_event: Ps,
}

fn register(machine: u32, register: u32) -> u32 {
    offset::SM0_CLKDIV + machine * offset::SM_STRIDE + register
}

impl Bench {
    fn new() -> Self {
        let mut sys = testing::sys(125_000_000);
        sys.pins.function_mask[function::PIO0] = ALL_PINS;
        let mut pio = testing::pio();
        pio.reset(&mut sys);
        Self { sys, pio, edges: Vec::new(), events: 0, last_event: 0 }
    }

    fn program(program: &[u16]) -> Self {
        let mut bench = Self::new();
        for (address, &instruction) in program.iter().enumerate() {
            bench.w(offset::INSTR_MEM0 + 4 * address as u32, u32::from(instruction));
        }
        bench.sm(0, offset::SM_EXECCTRL, (program.len() as u32 - 1) << 12);
        bench
    }

    fn w(&mut self, register: u32, value: u32) {
        self.pio.write(&mut self.sys, register, Write::normal(value));
        self.settle();
    }

    fn r(&mut self, register: u32) -> u32 {
        self.pio.read(&mut self.sys, register)
    }

    fn sm(&mut self, machine: u32, offset: u32, value: u32) {
        self.w(register(machine, offset), value);
    }

    fn settle(&mut self) {
        let state = (self.pio.shared.out, self.pio.shared.oe);
        if self.edges.last().map_or((0, 0), |&(_, out, oe)| (out, oe)) != state {
            self.edges.push((cycle_now(&self.sys), state.0, state.1));
        }
        while std::mem::take(&mut self.sys.pins.input_dirty) {
            self.pio.input_changed(&mut self.sys);
        }
    }

    /// Handles the events up to `cycle` and advances to it.
    fn run(&mut self, cycle: u64) {
        let until: Ps = self.sys.clock.ps_at(cycle);
        while let Some(id) = self.sys.take_event(until) {
            assert_eq!(id, event::PIO0);
            assert!(self.sys.now() > self.last_event, "one event per cycle, and none in the past");
            self.last_event = self.sys.now();
            self.events += 1;
            self.pio.event(&mut self.sys);
            self.settle();
        }
        self.sys.cycle = cycle;
    }

    /// Drives a pin from outside.
    fn drive(&mut self, pin: u32, level: bool) {
        self.sys.pins.drive(pin, Some(level));
        self.settle();
    }

    /// Returns the level changes of `pin`.
    fn levels(&self, pin: u32) -> Vec<(u64, u32)> {
        let mut levels: Vec<(u64, u32)> = Vec::new();
        for &(cycle, out, _) in &self.edges {
            let level = (out >> pin) & 1;
            if levels.last().map_or(0, |&(_, level)| level) != level {
                levels.push((cycle, level));
            }
        }
        levels
    }

    fn state(&mut self, machine: usize) -> (u32, u32) {
        (self.r(register(machine as u32, offset::SM_ADDR)), self.r(offset::FLEVEL) >> (8 * machine) & 0xff)
    }
}

#[test]
fn reset_values() {
    let mut b = Bench::new();
    for offset in (0..=0x144).step_by(4) {
        let expected = match offset {
            offset::FSTAT => 0x0f00_0f00,
            offset::DBG_CFGINFO => 0x0020_0404,
            offset::INTR => 0xf0,
            offset::SM0_CLKDIV..=offset::SM3_PINCTRL => match (offset - offset::SM0_CLKDIV) % 0x18 {
                0x00 => 0x0001_0000,
                0x04 => 0x0001_f000,
                0x08 => 0x000c_0000,
                0x14 => 0x1400_0000,
                _ => 0,
            },
            _ => 0,
        };
        let value = if (offset::RXF0..=offset::RXF3).contains(&offset) { 0 } else { b.r(offset) };
        assert_eq!(value, expected, "0x{offset:03x}");
    }
    assert_eq!(b.sys.next_due(), NEVER);
    assert_eq!(b.sys.dreq_level(), 0);
    b.w(offset::CTRL, 0);
    assert_eq!(b.sys.dreq_level(), 0x0f);
}

#[test]
fn reserved_and_read_only_bits() {
    let mut b = Bench::new();
    b.w(offset::CTRL, 0xffff_fff0);
    b.w(offset::IRQ0_INTE, u32::MAX);
    b.w(offset::IRQ1_INTF, u32::MAX);
    b.sm(2, offset::SM_CLKDIV, u32::MAX);
    b.sm(2, offset::SM_EXECCTRL, u32::MAX);
    b.sm(2, offset::SM_SHIFTCTRL, u32::MAX);
    b.sm(2, offset::SM_PINCTRL, u32::MAX);
    b.sm(2, offset::SM_ADDR, u32::MAX);
    b.w(offset::DBG_CFGINFO, 0);
    for (offset, value) in [
        (offset::CTRL, 0),
        (offset::IRQ0_INTE, 0xfff),
        (offset::IRQ1_INTF, 0xfff),
        (register(2, offset::SM_CLKDIV), 0xffff_ff00),
        (register(2, offset::SM_EXECCTRL), 0x7fff_ff9f),
        (register(2, offset::SM_SHIFTCTRL), 0xffff_0000),
        (register(2, offset::SM_PINCTRL), u32::MAX),
        (register(2, offset::SM_ADDR), 0),
        (offset::DBG_CFGINFO, 0x0020_0404),
        (offset::IRQ1_INTS, 0xfff),
    ] {
        assert_eq!(b.r(offset), value, "0x{offset:03x}");
    }
}

/// Returns PINCTRL with SET_COUNT 1, SET_BASE `pin`.
fn set_pin(pin: u32) -> u32 {
    (1 << 26) | (pin << 5)
}

#[test]
fn a_square_wave_has_exact_edges() {
    // set pindirs, 1; set pins, 1 [1]; set pins, 0 (wraps to after pindirs).
    let mut b = Bench::program(&[set(4, 1), d(set(0, 1), 1), set(0, 0)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(7));
    b.sm(0, offset::SM_EXECCTRL, (2 << 12) | (1 << 7));
    b.sys.cycle = 100;
    b.w(offset::CTRL, 1);
    b.run(110);
    assert_eq!(b.edges[0], (101, 0, 1 << 7));
    assert_eq!(b.levels(7), [(102, 1), (104, 0), (105, 1), (107, 0), (108, 1), (110, 0)]);
    // The pad changes at the same times, and its level is visible everywhere.
    assert_eq!(b.sys.pins.level() >> 7 & 1, 0);
    b.run(111);
    assert_eq!(b.sys.pins.level() >> 7 & 1, 1);
}

#[test]
fn the_fractional_divider_stretches_some_periods() {
    let mut b = Bench::program(&[set(0, 1), set(0, 0)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.sm(0, offset::SM_CLKDIV, (2 << 16) | (0x80 << 8));
    b.w(offset::CTRL, 0x101);
    b.run(22);
    // Periods of 2, 2, 3, 2, 3, ... cycles.
    assert_eq!(b.levels(0).iter().map(|&(cycle, _)| cycle).collect::<Vec<_>>(), [2, 4, 7, 9, 12, 14, 17, 19, 22]);
    // INT of 0 is 65536.
    let mut b = Bench::program(&[set(0, 1), set(0, 0)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.sm(0, offset::SM_CLKDIV, 0);
    b.w(offset::CTRL, 0x101);
    b.run(200_000);
    assert_eq!(b.levels(0), [(65536, 1), (131_072, 0), (196_608, 1)]);
}

#[test]
fn the_divider_runs_on_while_disabled_and_keeps_delays() {
    let mut b = Bench::program(&[d(set(0, 1), 3), set(0, 0)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.sm(0, offset::SM_CLKDIV, 10 << 16);
    b.w(offset::CTRL, 0x101);
    b.run(25);
    // The rising edge came in tick 1 (cycle 10); one of three delay ticks is over.
    b.w(offset::CTRL, 0);
    b.run(1003);
    assert_eq!(b.sys.next_due(), NEVER);
    b.w(offset::CTRL, 1);
    b.run(1100);
    assert_eq!(b.levels(0), [(10, 1), (1030, 0), (1040, 1), (1080, 0), (1090, 1)]);
}

#[test]
fn spi_transmits_with_side_set() {
    // SPI mode 0, 8 bits, MSB first: out pins, 1 side 0 [1]; nop side 1 [1]. Data on GPIO3, clock on GPIO2.
    let mut b = Bench::program(&[d(out(0, 1), 0b00001), d(NOP, 0b10001)]);
    b.sm(0, offset::SM_PINCTRL, (1 << 29) | (1 << 20) | (2 << 10) | 3);
    b.sm(0, offset::SM_SHIFTCTRL, (8 << 25) | (1 << 17));
    b.w(register(0, offset::SM_INSTR), u32::from(set(4, 3)));
    b.w(offset::CTRL, 1);
    b.w(offset::TXF0, 0xa5 << 24);
    b.w(offset::TXF0, 0x0f << 24);
    b.run(200);
    let rises: Vec<u64> = b.levels(2).iter().filter(|edge| edge.1 == 1).map(|edge| edge.0).collect();
    assert_eq!(rises.len(), 16);
    assert!(rises.windows(2).all(|pair| pair[1] - pair[0] == 4), "{rises:?}");
    let bits = rises.iter().fold(0u32, |bits, &rise| {
        let level = b.levels(3).iter().rev().find(|edge| edge.0 < rise).map_or(0, |edge| edge.1);
        (bits << 1) | level
    });
    assert_eq!(bits, 0xa50f);
    // Stalled on OUT with the clock low; no event until the next byte.
    assert_eq!((b.sys.next_due(), b.r(offset::FDEBUG)), (NEVER, 1 << 24));
    assert_eq!(b.sys.pins.level() & (1 << 2), 0);
}

#[test]
fn ws2812_pulses_have_their_widths() {
    // The usual program: T1 = 2, T2 = 5, T3 = 3, one side-set pin.
    let side = |level: u16, delay: u16| (level << 4) | delay;
    let mut b = Bench::program(&[
        d(out(1, 1), side(0, 2)),
        d(jmp(1, 3), side(1, 1)),
        d(jmp(0, 0), side(1, 4)),
        d(NOP, side(0, 4)),
    ]);
    b.sm(0, offset::SM_PINCTRL, (1 << 29) | (9 << 10));
    b.sm(0, offset::SM_SHIFTCTRL, (24 << 25) | (1 << 17) | (1 << 30));
    // 125 MHz / 15.625 = 8 MHz, ten ticks per bit.
    b.sm(0, offset::SM_CLKDIV, (15 << 16) | (160 << 8));
    b.w(offset::TXF0, 0xff00_aa00);
    b.w(offset::CTRL, 0x101);
    b.run(125 * 100);
    let edges = b.levels(9);
    assert_eq!(edges.len(), 48);
    let mut bits = 0u32;
    for pair in edges.chunks(2) {
        let ns = (pair[1].0 - pair[0].0) * 8;
        let one = ns > 500;
        let nominal = if one { 875 } else { 250 };
        assert!(ns.abs_diff(nominal) <= 8, "{ns} ns");
        bits = (bits << 1) | u32::from(one);
    }
    assert_eq!(bits, 0x00ff_00aa);
    assert!(edges.windows(3).step_by(2).all(|edge| ((edge[2].0 - edge[0].0) * 8).abs_diff(1250) <= 8));
}

#[test]
fn autopull_and_autopush_stream_every_cycle() {
    // out x, 32; in x, 32 with both thresholds 32: a copy of the stream.
    let mut b = Bench::program(&[out(1, 32), r#in(1, 32)]);
    b.sm(0, offset::SM_SHIFTCTRL, 0x000f_0000);
    b.w(offset::CTRL, 1);
    let mut received = Vec::new();
    for word in 0..20 {
        while b.r(offset::FSTAT) >> 16 & 1 != 0 {
            b.run(b.sys.cycle + 1);
        }
        b.w(offset::TXF0, word * 0x0101_0101);
        b.run(b.sys.cycle + 1);
        if b.r(offset::FSTAT) >> 8 & 1 == 0 {
            received.push(b.r(offset::RXF0));
        }
    }
    b.run(b.sys.cycle + 50);
    while b.r(offset::FSTAT) >> 8 & 1 == 0 {
        received.push(b.r(offset::RXF0));
        b.run(b.sys.cycle + 50);
    }
    assert_eq!(received, (0..20).map(|word| word * 0x0101_0101).collect::<Vec<_>>());
    assert_eq!(b.r(offset::FDEBUG) & 0x000f_0f00, 0, "nothing was lost");
}

#[test]
fn fifos_join_flush_and_report() {
    let mut b = Bench::new();
    for word in 1..=5 {
        b.w(offset::TXF0 + 4, word);
    }
    assert_eq!((b.r(offset::FLEVEL), b.r(offset::FSTAT), b.r(offset::FDEBUG)), (0x400, 0x0d02_0f00, 0x2_0000));
    assert_eq!(b.sys.dreq_level(), 0b1101);
    assert_eq!(b.r(offset::INTR), 0xd0);
    // Joined TX: flushed, eight deep, RX both full and empty.
    b.sm(1, offset::SM_SHIFTCTRL, 0x400c_0000);
    assert_eq!((b.r(offset::FLEVEL), b.r(offset::FSTAT)), (0, 0x0f00_0f02));
    for word in 1..=9 {
        b.w(offset::TXF0 + 4, word);
    }
    assert_eq!((b.r(offset::FLEVEL), b.r(offset::FDEBUG)), (0x800, 0x2_0000));
    b.w(offset::FDEBUG, 0x2_0000);
    assert_eq!(b.r(offset::FDEBUG), 0);
    // Joined RX: no space for TX.
    b.sm(1, offset::SM_SHIFTCTRL, 0x800c_0000);
    assert_eq!((b.r(offset::FLEVEL), b.r(offset::FSTAT), b.sys.dreq_level()), (0, 0x0f02_0f00, 0b1101));
    assert_eq!(b.r(offset::RXF0 + 4), 0);
    assert_eq!(b.r(offset::FDEBUG), 0x200);
    // Eight words fit, each pushed by a forced instruction, which a disabled machine executes too.
    for _ in 0..9 {
        b.sm(1, offset::SM_INSTR, u32::from(PUSH_BLOCK));
        b.run(b.sys.cycle + 2);
    }
    assert_eq!((b.r(offset::FLEVEL), b.r(offset::FSTAT) & 0x202), (0x8000, 0x002));
    assert_eq!(b.r(register(1, offset::SM_EXECCTRL)) >> 31, 1, "the ninth waits");
    assert_eq!(b.sys.dreq_level() & 0xf0, 0x20);
    b.r(offset::RXF0 + 4);
    b.run(b.sys.cycle + 1);
    assert_eq!((b.r(register(1, offset::SM_EXECCTRL)) >> 31, b.r(offset::FLEVEL)), (0, 0x8000));
}

#[test]
fn interrupt_lines_follow_fifos_flags_and_force() {
    let mut b = Bench::new();
    let lines = |b: &Bench| b.sys.irq_level() >> irq::PIO0_0 & 3;
    b.w(offset::IRQ0_INTE, 0x101);
    b.w(offset::IRQ1_INTE, 0x010);
    assert_eq!((lines(&b), b.r(offset::IRQ1_INTS)), (2, 0x10));
    for _ in 0..4 {
        b.w(offset::TXF0, 0);
    }
    assert_eq!(lines(&b), 0);
    b.w(offset::IRQ_FORCE, 0x11);
    assert_eq!((lines(&b), b.r(offset::IRQ), b.r(offset::INTR)), (1, 0x11, 0x1e0));
    b.w(offset::IRQ, 0x01);
    assert_eq!((lines(&b), b.r(offset::IRQ)), (0, 0x10));
    b.sm(0, offset::SM_INSTR, u32::from(PUSH_NOBLOCK));
    b.run(1);
    assert_eq!((lines(&b), b.r(offset::IRQ0_INTS)), (1, 0x001));
    b.r(offset::RXF0);
    assert_eq!(lines(&b), 0);
    b.w(offset::IRQ1_INTF, 0x800);
    assert_eq!((lines(&b), b.r(offset::IRQ1_INTS), b.r(offset::IRQ)), (2, 0x800, 0x10));
}

#[test]
fn state_machines_hand_shake_by_flags() {
    // Machine 0: irq wait 0; set pins 1. Machine 1, four ticks later: wait 1 irq 0; set pins 1.
    let mut b = Bench::program(&[irq(0, 1, 0), set(0, 1), jmp(0, 2), d(NOP, 4), wait(1, 2, 0), set(0, 1), jmp(0, 6)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.sm(1, offset::SM_PINCTRL, set_pin(1));
    b.sm(1, offset::SM_INSTR, u32::from(jmp(0, 3)));
    b.run(2);
    b.w(offset::CTRL, 3);
    b.run(5);
    assert_eq!(b.r(offset::IRQ), 1);
    b.run(20);
    // Machine 1 executes NOP in 3, WAIT in 8, SET in 9; machine 0 sees the cleared flag in 9 and sets in 10.
    assert_eq!((b.levels(1), b.levels(0)), (vec![(9, 1)], vec![(10, 1)]));
    assert_eq!(b.r(offset::IRQ), 0);
    // Relative flags: machine 3 with 0x12 raises flag 1.
    b.sm(3, offset::SM_INSTR, u32::from(irq(0, 0, 0x12)));
    b.run(21);
    assert_eq!(b.r(offset::IRQ), 2);
    b.sm(3, offset::SM_INSTR, u32::from(irq(1, 0, 0x12)));
    b.run(22);
    assert_eq!(b.r(offset::IRQ), 0);
}

/// Executes `instructions` one after the other on machine 0, disabled.
fn force(b: &mut Bench, instructions: &[u16]) {
    for &instruction in instructions {
        b.sm(0, offset::SM_INSTR, u32::from(instruction));
        b.run(b.sys.cycle + 1);
    }
}

fn pushed(b: &mut Bench, source: u16) -> u32 {
    force(b, &[mov(6, 0, source), PUSH_BLOCK]);
    b.r(offset::RXF0)
}

#[test]
fn jump_conditions() {
    // Condition, X, Y, whether taken, X and Y afterwards.
    for (condition, x, y, taken, x_after, y_after) in [
        (0, 1, 1, true, 1, 1),
        (1, 0, 5, true, 0, 5),
        (1, 5, 0, false, 5, 0),
        (2, 5, 0, true, 4, 0),
        (2, 0, 7, false, u32::MAX, 7),
        (3, 5, 0, true, 5, 0),
        (3, 0, 5, false, 0, 5),
        (4, 0, 5, true, 0, 4),
        (4, 7, 0, false, 7, u32::MAX),
        (5, 3, 4, true, 3, 4),
        (5, 3, 3, false, 3, 3),
        (7, 0, 0, false, 0, 0),
    ] {
        let mut b = Bench::new();
        force(&mut b, &[set(1, x), set(2, y), jmp(condition, 17)]);
        assert_eq!(b.state(0).0, if taken { 17 } else { 0 }, "condition {condition}, X {x}, Y {y}");
        assert_eq!((pushed(&mut b, 1), pushed(&mut b, 2)), (x_after, y_after), "condition {condition}");
    }
    // !OSRE counts against the threshold; PIN reads JMP_PIN, independently of IN_BASE.
    let mut b = Bench::new();
    b.sm(0, offset::SM_SHIFTCTRL, (4 << 25) | (3 << 18));
    force(&mut b, &[mov(7, 0, 1), out(3, 3), jmp(7, 9)]);
    assert_eq!(b.state(0).0, 9);
    force(&mut b, &[out(3, 1), jmp(7, 10)]);
    assert_eq!(b.state(0).0, 9);
    b.sm(0, offset::SM_EXECCTRL, 12 << 24);
    b.sm(0, offset::SM_PINCTRL, 3 << 15);
    force(&mut b, &[jmp(6, 11)]);
    assert_eq!(b.state(0).0, 9);
    b.drive(12, true);
    b.run(b.sys.cycle + 3);
    force(&mut b, &[jmp(6, 11)]);
    assert_eq!(b.state(0).0, 11);
}

#[test]
fn moves_shifts_and_status() {
    let mut b = Bench::new();
    b.w(offset::TXF0, 0x1234_5678);
    force(&mut b, &[PULL_BLOCK, mov(1, 0, 7), mov(2, 1, 7)]);
    assert_eq!((pushed(&mut b, 1), pushed(&mut b, 2)), (0x1234_5678, !0x1234_5678));
    force(&mut b, &[mov(2, 2, 1)]);
    assert_eq!(pushed(&mut b, 2), 0x1234_5678u32.reverse_bits());
    // Right: least significant bits leave OSR, ISR fills from the top.
    force(&mut b, &[out(2, 8), mov(6, 0, 3), r#in(2, 4), r#in(2, 8), PUSH_BLOCK]);
    assert_eq!((b.r(offset::RXF0), pushed(&mut b, 7)), (0x7880_0000, 0x0012_3456));
    // Left.
    b.sm(0, offset::SM_SHIFTCTRL, 0);
    force(&mut b, &[mov(7, 0, 1), out(2, 8), mov(6, 0, 3), r#in(2, 4), r#in(2, 8), PUSH_BLOCK]);
    assert_eq!((b.r(offset::RXF0), pushed(&mut b, 7), pushed(&mut b, 2)), (0x212, 0x3456_7800, 0x12));
    // 32 bits leave nothing, and OUT ISR sets its count: IFFULL pushes at once.
    b.sm(0, offset::SM_SHIFTCTRL, 5 << 20);
    force(&mut b, &[PUSH_IFFULL, mov(7, 0, 1), out(6, 4), PUSH_IFFULL]);
    assert_eq!(b.state(0).1, 0);
    force(&mut b, &[out(6, 5), PUSH_IFFULL]);
    assert_eq!(b.state(0).1, 0x10);
    assert_eq!(b.r(offset::RXF0), 0b00100);
    // An empty FIFO gives X to a PULL that does not block; IFEMPTY has no effect before the threshold.
    force(&mut b, &[set(1, 21), PULL_NOBLOCK]);
    assert_eq!(pushed(&mut b, 7), 21);
    b.w(offset::TXF0, 99);
    force(&mut b, &[PULL_IFEMPTY]);
    assert_eq!(b.state(0).1, 1);
    // STATUS: TX level below 1? RX level below 1?
    b.sm(0, offset::SM_EXECCTRL, 1);
    assert_eq!(pushed(&mut b, 5), 0);
    b.sm(0, offset::SM_EXECCTRL, 0x11);
    assert_eq!(pushed(&mut b, 5), u32::MAX);
}

#[test]
fn pins_map_wrap_and_override() {
    let mut b = Bench::new();
    // OUT to 6 pins from 29 on: GPIO29 and, after the two that do not exist, 0 to 2.
    b.sm(0, offset::SM_PINCTRL, (6 << 20) | 29);
    force(&mut b, &[mov(1, 1, 3), mov(0, 0, 1), mov(7, 0, 1), out(4, 32)]);
    assert_eq!((b.r(offset::DBG_PADOUT), b.r(offset::DBG_PADOE)), (0x2000_0007, 0x2000_0007));
    assert_eq!(b.sys.pins.function_oe[function::PIO0], 0x2000_0007);
    // Bits that OUT does not supply are zeros.
    force(&mut b, &[mov(7, 0, 1), out(0, 2)]);
    assert_eq!(b.r(offset::DBG_PADOUT), 0x2000_0000);
    // In the same cycle side-set beats SET, and machine 1 beats machine 0.
    let mut b = Bench::program(&[d(set(0, 0b11), 0b00000), jmp(0, 1), d(set(0, 0b11), 0), jmp(0, 3)]);
    b.sm(0, offset::SM_PINCTRL, (1 << 29) | (2 << 26) | (1 << 10));
    b.sm(1, offset::SM_PINCTRL, (1 << 26) | (2 << 5));
    b.sm(1, offset::SM_INSTR, u32::from(jmp(0, 2)));
    b.run(1);
    b.w(offset::CTRL, 1);
    b.run(2);
    assert_eq!(b.r(offset::DBG_PADOUT), 0b01);
    b.w(offset::CTRL, 3);
    b.run(3);
    assert_eq!(b.r(offset::DBG_PADOUT), 0b101);
}

#[test]
fn sticky_writes_and_inline_enable() {
    // Machine 1 holds GPIO0 high by OUT with bit 1 as enable; machine 0 cannot lower it until the enable is 0.
    let mut b = Bench::new();
    b.sm(1, offset::SM_PINCTRL, 1 << 20);
    b.sm(1, offset::SM_EXECCTRL, (1 << 19) | (1 << 18) | (1 << 17));
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    let one = |b: &mut Bench, machine: u32, instruction: u16| {
        b.sm(machine, offset::SM_INSTR, u32::from(instruction));
        b.run(b.sys.cycle + 2);
        b.r(offset::DBG_PADOUT)
    };
    one(&mut b, 1, set(1, 0b11));
    assert_eq!(one(&mut b, 1, mov(0, 0, 1)), 1);
    assert_eq!(one(&mut b, 0, set(0, 0)), 1);
    one(&mut b, 1, set(1, 0b01));
    assert_eq!(one(&mut b, 1, mov(0, 0, 1)), 1);
    assert_eq!(one(&mut b, 0, set(0, 0)), 0);
}

#[test]
fn inputs_pass_three_flip_flops_or_one() {
    for (bypass, seen) in [(0, 1004), (1 << 5, 1002)] {
        // wait 1 gpio 5; set pins 1.
        let mut b = Bench::program(&[wait(1, 0, 5), set(0, 1), jmp(0, 2)]);
        b.sm(0, offset::SM_PINCTRL, set_pin(0));
        b.w(offset::INPUT_SYNC_BYPASS, bypass);
        b.w(offset::CTRL, 1);
        b.run(900);
        assert_eq!(b.sys.next_due(), NEVER, "waiting costs nothing");
        b.run(1000);
        b.drive(5, true);
        b.run(1020);
        assert_eq!(b.levels(0), [(seen + 1, 1)]);
    }
    // A pulse of one cycle is seen at full speed, and its own pins loop back with the delay of the output register.
    let mut b = Bench::program(&[wait(1, 0, 5), set(0, 1), wait(1, 0, 0), set(0, 0), jmp(0, 4)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    force(&mut b, &[set(4, 1)]);
    b.w(offset::CTRL, 1);
    b.run(100);
    b.drive(5, true);
    b.run(101);
    b.drive(5, false);
    b.run(120);
    assert_eq!(b.levels(0), [(105, 1), (110, 0)]);
}

/// The datasheet's own example (3.5.6.1): side-set drives the pin high in the first 16 of 32 instructions, and IN reads
/// it in all.
#[test]
fn a_machine_sees_its_own_outputs_after_two_or_four_cycles() {
    for (bypass, delay) in [(0, 4), (1, 2)] {
        let side = |level: u16| r#in(0, 1) | level << 12;
        let program: Vec<u16> = (0..32).map(|i| side(u16::from(i < 16))).collect();
        let mut b = Bench::program(&program);
        force(&mut b, &[set(4, 1)]);
        b.sm(0, offset::SM_PINCTRL, 1 << 29);
        b.sm(0, offset::SM_SHIFTCTRL, 1 << 16);
        b.w(offset::INPUT_SYNC_BYPASS, bypass);
        b.w(offset::CTRL, 1);
        b.run(b.sys.cycle + 32);
        assert_eq!(b.r(offset::RXF0), 0xffff_0000 >> delay);
    }
}

/// On silicon a ring of `mov pins, !pins` gives 16.667 MHz at 133.3 MHz and 25 MHz at 250 MHz.
#[test]
fn a_ring_takes_as_many_cycles_as_on_silicon() {
    for (hz, cycles) in [(133_333_333, 8), (250_000_000, 10), (125_000_000, 8)] {
        let mut b = Bench::program(&[mov(0, 1, 0)]);
        b.sys.set_clk_sys_hz(hz);
        b.pio.clocks_changed(&mut b.sys);
        force(&mut b, &[set(4, 1)]);
        b.sm(0, offset::SM_PINCTRL, 1 << 20);
        b.w(offset::CTRL, 1);
        b.run(b.sys.cycle + 1000);
        let rises: Vec<u64> = b.levels(0).into_iter().filter(|&(_, level)| level == 1).map(|(at, _)| at).collect();
        assert!(rises.len() > 90);
        assert!(rises.windows(2).skip(1).all(|pair| pair[1] - pair[0] == cycles), "{hz}: {rises:?}");
    }
}

#[test]
fn executes_from_osr_and_registers() {
    // out exec, 16 in a loop of one: two ticks per instruction, a delay of the executed one counts, that of OUT does not.
    let mut b = Bench::program(&[d(out(7, 16), 7), NOP, NOP, NOP, NOP, jmp(0, 5)]);
    b.sm(0, offset::SM_EXECCTRL, 0);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.sm(0, offset::SM_SHIFTCTRL, (3 << 18) | (1 << 17));
    b.w(offset::TXF0, u32::from(d(set(0, 1), 3)) | u32::from(set(0, 0)) << 16);
    b.w(offset::TXF0, u32::from(set(0, 1)) | u32::from(jmp(0, 5)) << 16);
    b.w(offset::CTRL, 1);
    b.run(50);
    // Pull and stall in 1, OUT in 2, SET in 3 to 6, OUT in 7, SET in 8, OUT, SET in 10, OUT, JMP in 12.
    assert_eq!(b.levels(0), [(3, 1), (8, 0), (10, 1)]);
    assert_eq!(b.state(0).0, 5);
    // SMx_INSTR ignores delay and divider; stalls are flagged, and ended by data or another instruction.
    let mut b = Bench::new();
    b.sm(0, offset::SM_CLKDIV, 1000 << 16);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    force(&mut b, &[d(set(0, 1), 31), d(set(0, 0), 31), PULL_BLOCK]);
    assert_eq!(b.levels(0), [(1, 1), (2, 0)]);
    b.run(100);
    let stalled = |b: &mut Bench| b.r(register(0, offset::SM_EXECCTRL)) >> 31;
    assert_eq!((stalled(&mut b), b.sys.next_due()), (1, NEVER));
    b.w(offset::TXF0, 7);
    b.run(101);
    assert_eq!((stalled(&mut b), b.state(0)), (0, (0, 0)));
    force(&mut b, &[PULL_BLOCK]);
    assert_eq!(stalled(&mut b), 1);
    force(&mut b, &[NOP]);
    assert_eq!(stalled(&mut b), 0);
    // A jump forced during a delay changes PC at once; the delay still runs.
    let mut b = Bench::program(&[d(NOP, 31), jmp(0, 1), set(0, 1), jmp(0, 3)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.w(offset::CTRL, 1);
    b.run(10);
    force(&mut b, &[jmp(0, 2)]);
    assert_eq!(b.state(0).0, 2);
    b.run(100);
    assert_eq!(b.levels(0), [(33, 1)]);
}

#[test]
fn a_forced_instruction_uses_the_registers_of_its_cycle() {
    let mut b = Bench::new();
    b.sm(0, offset::SM_PINCTRL, set_pin(3));
    b.run(10);
    b.sm(0, offset::SM_INSTR, u32::from(set(4, 1)));
    // The next write comes one cycle later, before the events of that cycle.
    b.sys.cycle = 11;
    b.sm(0, offset::SM_PINCTRL, set_pin(5));
    b.run(20);
    assert_eq!(b.r(offset::DBG_PADOE), 1 << 3);
}

#[test]
fn restart_clears_what_the_datasheet_lists() {
    let mut b = Bench::program(&[PULL_BLOCK]);
    b.w(offset::TXF0, 5);
    b.w(offset::TXF0, 6);
    force(&mut b, &[set(1, 9), PULL_BLOCK, r#in(1, 8), jmp(0, 3)]);
    b.w(offset::CTRL, 0x10);
    assert_eq!(b.state(0), (3, 1));
    assert_eq!((pushed(&mut b, 7), pushed(&mut b, 1), pushed(&mut b, 6)), (5, 9, 0));
    force(&mut b, &[wait(1, 2, 0)]);
    b.w(offset::CTRL, 0x10);
    assert_eq!(b.r(register(0, offset::SM_EXECCTRL)) >> 31, 0);
}

#[test]
fn stall_flags_come_back_while_the_stall_lasts() {
    let mut b = Bench::program(&[PULL_BLOCK]);
    b.sm(0, offset::SM_CLKDIV, 10 << 16);
    b.w(offset::CTRL, 0x101);
    b.run(15);
    assert_eq!(b.r(offset::FDEBUG), 1 << 24);
    b.w(offset::FDEBUG, 1 << 24);
    assert_eq!(b.r(offset::FDEBUG), 0);
    b.run(19);
    assert_eq!(b.r(offset::FDEBUG), 0);
    b.run(20);
    assert_eq!(b.r(offset::FDEBUG), 1 << 24);
}

#[test]
fn long_delay_loops_take_few_events() {
    // The usual blink program: pull; out y, 32; mov x, y; set pins 1; jmp x--; mov x, y; set pins 0; jmp x--.
    let mut b = Bench::program(&[
        PULL_BLOCK,
        out(2, 32),
        mov(1, 0, 2),
        set(0, 1),
        jmp(2, 4),
        mov(1, 0, 2),
        set(0, 0),
        jmp(2, 7),
    ]);
    b.sm(0, offset::SM_EXECCTRL, (7 << 12) | (2 << 7));
    b.sm(0, offset::SM_PINCTRL, set_pin(25));
    b.w(offset::TXF0, 1_000_000);
    b.w(offset::CTRL, 1);
    let half = 1_000_001 + 2;
    b.run(4 + 4 * half);
    assert_eq!(b.levels(25), [(4, 1), (4 + half, 0), (4 + 2 * half, 1), (4 + 3 * half, 0), (4 + 4 * half, 1)]);
    assert!(b.events < 30, "{} events", b.events);
    // Reading PC in between neither disturbs the program nor costs events.
    b.run(4 + 4 * half + 500_000);
    assert_eq!(b.state(0).0, 4);
    b.run(4 + 5 * half);
    assert_eq!(b.levels(25).last(), Some(&(4 + 5 * half, 0)));
}

#[test]
fn a_loop_that_only_polls_takes_few_events() {
    // As a quadrature encoder: in pins, 2; push noblock into a full FIFO; mov x, isr; jmp.
    let mut b = Bench::program(&[r#in(0, 2), PUSH_NOBLOCK, mov(1, 0, 6), jmp(0, 0)]);
    b.w(offset::CTRL, 1);
    b.run(2_000_001);
    assert!(b.events < 20, "{} events", b.events);
    assert_eq!((b.state(0), b.r(offset::FDEBUG)), ((1, 0x40), FDEBUG_RXSTALL));
    b.w(offset::FDEBUG, FDEBUG_RXSTALL);
    assert_eq!(b.r(offset::FDEBUG), 0);
    b.run(2_000_002);
    assert_eq!((b.state(0), b.r(offset::FDEBUG)), ((2, 0x40), FDEBUG_RXSTALL), "a word is lost in this cycle");
    b.drive(1, true);
    b.run(2_000_022);
    b.w(offset::FDEBUG, FDEBUG_RXSTALL);
    assert_eq!(b.r(offset::RXF0), 0);
    b.run(2_000_026);
    assert_eq!((b.state(0), b.r(offset::FDEBUG)), ((2, 0x40), 0), "this one found room");
    assert_eq!([0; 4].map(|_| b.r(offset::RXF0)), [0, 0, 0, 2 << 30]);
}

#[test]
fn a_frequency_change_keeps_cycles() {
    let mut b = Bench::program(&[d(set(0, 1), 9), d(set(0, 0), 9)]);
    b.sm(0, offset::SM_PINCTRL, set_pin(0));
    b.w(offset::CTRL, 1);
    b.run(5);
    b.sys.set_clk_sys_hz(50_000_000);
    b.pio.clocks_changed(&mut b.sys);
    assert_eq!(b.sys.due(event::PIO0), b.sys.clock.ps_at(5) + 6 * 20_000);
    b.run(40);
    assert_eq!(b.levels(0), [(1, 1), (11, 0), (21, 1), (31, 0)]);
}

#[test]
fn reset_drops_pins_lines_and_events() {
    let mut b = Bench::program(&[d(set(0, 1), 9), d(set(4, 1), 9)]);
    b.w(offset::IRQ0_INTE, 0xfff);
    assert_eq!(b.sys.watched_pins(), 0);
    b.w(offset::CTRL, 1);
    assert_eq!(b.sys.watched_pins(), ALL_PINS);
    b.run(15);
    assert_eq!((b.sys.pins.output_enabled(), b.sys.irq_level() >> irq::PIO0_0, b.sys.dreq_level()), (1, 1, 0xf));
    b.pio.reset(&mut b.sys);
    assert_eq!((b.sys.pins.output_enabled(), b.sys.irq_level(), b.sys.dreq_level()), (0, 0, 0));
    assert_eq!((b.sys.next_due(), b.sys.watched_pins()), (NEVER, 0));
}

/// Returns an often sensible, always possible instruction.
fn instruction(random: &mut SplitMix64) -> u16 {
    let field = if random.below32(2) == 0 { 0 } else { random.below32(32) as u16 };
    let i = match random.below32(16) {
        0 => jmp(random.below32(8) as u16, random.below32(32) as u16),
        1 => jmp(2 * (1 + random.below32(2) as u16), random.below32(32) as u16),
        2 => set(1 + random.below32(2) as u16, random.below32(32) as u16),
        3 => set(4 * random.below32(2) as u16, random.below32(32) as u16),
        4 | 5 => out(random.below32(8) as u16, 1 + random.below32(12) as u16),
        6 | 7 => r#in(random.below32(8) as u16, 1 + random.below32(12) as u16),
        8 => wait(random.below32(2) as u16, random.below32(2) as u16, random.below32(32) as u16),
        _ => random.draw32() as u16 & 0xe0ff,
    };
    d(i & 0xe0ff, field)
}

/// Random programs, configurations, register accesses and pin changes: edges, FIFO contents, flags and program counters
/// must equal the reference.
#[test]
fn random_programs_run_as_on_the_reference() {
    let (mut edges, mut words) = (0, 0);
    for seed in 0..400 {
        let random = &mut SplitMix64::new(seed);
        let mut b = Bench::new();
        let mut reference = Reference::new();
        let mut reference_edges = Vec::new();
        let mut world = 0;
        for address in 0..32 {
            let mut i = instruction(random);
            if seed % 3 == 0 && address % 5 == 4 {
                i = d(jmp(2, address as u16), random.below32(4) as u16);
            }
            b.w(offset::INSTR_MEM0 + 4 * address, u32::from(i));
            reference.write_memory(address, i);
        }
        // Rare accesses permit long lookahead, frequent ones interrupt it.
        let gap = [2, 8, 60, 300][seed as usize % 4];
        for cycle in 1..3000 {
            let before = (reference.out, reference.oe);
            reference.cycle(world);
            if (reference.out, reference.oe) != before {
                reference_edges.push((cycle, reference.out, reference.oe));
            }
            if cycle > 2 && random.below32(gap) != 0 {
                continue;
            }
            b.run(cycle);
            let n = random.below32(4) as usize;
            let m = n as u32;
            let value = random.draw32();
            match if cycle <= 2 { 0 } else { random.below32(48) } {
                0 => {
                    let bits = if random.below32(2) == 0 { 0xf } else { value & 0xf }
                        | if random.below32(4) == 0 { value & 0xff0 } else { 0 };
                    b.w(offset::CTRL, bits);
                    reference.ctrl(bits);
                }
                1 => {
                    let value = (1 + random.below32(3)) << 16 | if random.below32(2) == 0 { value & 0xff00 } else { 0 };
                    b.sm(m, offset::SM_CLKDIV, value);
                    reference.sm[n].clkdiv = value;
                }
                2 => {
                    let value = if random.below32(4) == 0 { value } else { value & !0x0006_0000 };
                    b.sm(m, offset::SM_EXECCTRL, value);
                    reference.set_execctrl(n, value);
                }
                3 => {
                    let value = if random.below32(2) == 0 { value } else { value & 0x3fff_ffff };
                    b.sm(m, offset::SM_SHIFTCTRL, value);
                    reference.set_shiftctrl(n, value);
                }
                4 => {
                    b.sm(m, offset::SM_PINCTRL, value);
                    reference.sm[n].pinctrl = value;
                }
                5 => {
                    let i = instruction(random);
                    b.sm(m, offset::SM_INSTR, u32::from(i));
                    reference.force(n, i);
                }
                6 => {
                    let i = instruction(random);
                    b.w(offset::INSTR_MEM0 + 4 * (value % 32), u32::from(i));
                    reference.write_memory(value % 32, i);
                }
                7..16 => {
                    b.w(offset::TXF0 + 4 * m, value);
                    reference.push(n, value);
                }
                16..25 => {
                    assert_eq!(b.r(offset::RXF0 + 4 * m), reference.pop(n), "seed {seed} cycle {cycle}");
                    words += 1;
                }
                25..27 => {
                    b.w(offset::IRQ, value & 0xff);
                    reference.irq &= !(value as u8);
                }
                27 => {
                    b.w(offset::IRQ_FORCE, value & 0xff);
                    reference.irq |= value as u8;
                }
                28 => {
                    let bypass = if random.below32(2) == 0 { 0 } else { value };
                    b.w(offset::INPUT_SYNC_BYPASS, bypass);
                    reference.bypass = bypass;
                }
                29 => {
                    b.w(offset::FDEBUG, value);
                    reference.fdebug &= !value;
                }
                30..40 => {
                    let pin = value % 30;
                    world ^= 1 << pin;
                    b.drive(pin, world & (1 << pin) != 0);
                    reference.drive(world);
                }
                40 => {
                    // Write-only, reserved and read-only registers change nothing.
                    b.w(register(m, offset::SM_ADDR), value);
                    b.w(0x144 + (value & 0xebc), value);
                }
                _ => {}
            }
            let at = format!("seed {seed} cycle {cycle} machine {n}");
            assert_eq!(b.r(offset::IRQ), u32::from(reference.irq), "{at}");
            let sm = &reference.sm[n];
            assert_eq!(b.state(n), (sm.pc, (sm.rx.len() << 4 | sm.tx.len()) as u32), "{at}");
            assert_eq!(
                b.r(register(m, offset::SM_EXECCTRL)),
                sm.execctrl | u32::from(sm.forced.is_some()) << 31,
                "{at}"
            );
            assert_eq!(b.r(offset::FDEBUG), reference.fdebug, "{at}");
            assert_eq!(b.edges.last().map_or((0, 0), |&(_, out, oe)| (out, oe)), (reference.out, reference.oe), "{at}");
        }
        b.run(2999);
        let model_edges: Vec<_> = b.edges.to_vec();
        assert_eq!(model_edges, reference_edges, "seed {seed}");
        edges += model_edges.len();
    }
    assert!(edges > 10_000 && words > 10_000, "{edges} edges, {words} words");
}

#[test]
fn a_neighbour_restarts_dividers_as_a_block_itself_does() {
    let waves = [false, true].map(|by_neighbour| {
        // set pindirs, 1; set pins, 1; set pins, 0 (wraps to after pindirs).
        let mut b = Bench::program(&[set(4, 1), set(0, 1), set(0, 0)]);
        b.sm(0, offset::SM_PINCTRL, set_pin(7));
        b.sm(0, offset::SM_EXECCTRL, 2 << 12 | 1 << 7);
        b.sm(0, offset::SM_CLKDIV, 100 << 16);
        b.w(offset::CTRL, 1);
        b.run(1234);
        if by_neighbour {
            let ctrl = CTRL_NEXTPREV_CLKDIV_RESTART | 1 << CTRL_PREV_PIO_MASK | 0xe << CTRL_NEXT_PIO_MASK;
            b.pio.write_ctrl_of_neighbour(&mut b.sys, Write::normal(ctrl), false);
            b.settle();
        } else {
            b.w(offset::CTRL, 1 | 1 << 8);
        }
        b.run(2000);
        b.levels(7)
    });
    assert_eq!(waves[0], waves[1]);
    let after = waves[0].iter().find(|&&(cycle, _)| cycle > 1234).expect("an edge");
    assert_eq!(after.0 % 100, 1234 % 100, "the divider begins anew");
}

/// Random accesses to all registers, with any alias, at any time: no panic, and a bounded number of events.
#[test]
fn hostile_programs_cannot_hang() {
    for seed in 0..100 {
        let random = &mut SplitMix64::new(seed);
        let mut b = Bench::new();
        for _ in 0..2000 {
            let cycle = b.sys.cycle + u64::from(random.below32(200));
            b.run(cycle);
            let register = if random.below32(3) == 0 { 0 } else { random.below32(0x160) & !3 };
            let alias = [chip::Alias::Normal, chip::Alias::Xor, chip::Alias::Set, chip::Alias::Clear]
                [random.below32(4) as usize];
            let bits = random.draw32();
            b.pio.write(&mut b.sys, register, Write { bits, alias });
            b.settle();
            b.r(random.below32(0x400) * 4);
            if random.below32(4) == 0 {
                b.drive(random.below32(30), random.below32(2) == 0);
            }
            if random.below32(50) == 0 {
                b.sys.set_clk_sys_hz(1 + u64::from(random.below32(133_000_000)));
                b.pio.clocks_changed(&mut b.sys);
            }
        }
        assert!(b.events <= b.sys.cycle + 2000, "seed {seed}: {} events in {} cycles", b.events, b.sys.cycle);
    }
}

#[test]
fn version_1_moves_its_pins_and_shows_all_flags() {
    let mut sys = Sys::new(
        125_000_000,
        &chip::Layout { events: 12, without_clk_sys: 0, pins: 0xffff_ffff_ffff, pulsed_dreqs: 0 },
    );
    let pins = FunctionPins { function: function::PIO0, pins: 0xffff_ffff_ffff };
    let mut pio = Pio::new(PioWires { version: Version::V1, pins, ..testing::pio().wires });
    let s = &mut sys;
    pio.write(s, offset::GPIOBASE, Write::normal(u32::MAX));
    assert_eq!((pio.read(s, offset::GPIOBASE), pio.read(s, offset::DBG_CFGINFO)), (16, 0x1020_0404));
    // SET PINDIRS, 1, then SET PINS, 1 on the block's pin 20.
    pio.write(s, offset::SM0_CLKDIV + offset::SM_PINCTRL, Write::normal(20 << 5 | 1 << 26));
    for instruction in [0xe081, 0xe001] {
        pio.write(s, offset::SM0_CLKDIV + offset::SM_INSTR, Write::normal(instruction));
        let due = s.due(event::PIO0);
        s.take_event(due);
        pio.event(s);
        s.take_event(0);
        s.cycle += 1;
    }
    assert_eq!((s.pins.function_out[function::PIO0], s.pins.function_oe[function::PIO0]), (1 << 36, 1 << 36));
    pio.write(s, offset::IRQ_FORCE, Write::normal(0x81));
    pio.write(s, 0x170, Write::normal(0x8000));
    assert_eq!((pio.read(s, 0x16c) >> 8, pio.read(s, 0x178)), (0x81, 0x8000));
    assert_eq!(s.unmodelled, None);
    // MOV PINDIRS, NULL.
    pio.write(s, offset::INSTR_MEM0, Write::normal(0xa063));
    assert!(s.unmodelled.is_some());
}
