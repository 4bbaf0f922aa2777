use super::super::Alias;
use super::*;
use crate::time::Ps;

const CYCLE_PS: Ps = 8_000;

mod asm {
    pub fn jmp(condition: u16, to: u16) -> u16 {
        condition << 5 | to
    }
    pub fn wait(level: u16, source: u16, index: u16) -> u16 {
        0x2000 | level << 7 | source << 5 | index
    }
    pub fn input(source: u16, bits: u16) -> u16 {
        0x4000 | source << 5 | bits & 31
    }
    pub fn out(to: u16, bits: u16) -> u16 {
        0x6000 | to << 5 | bits & 31
    }
    pub const PUSH: u16 = 0x8020;
    pub const PULL: u16 = 0x80a0;
    pub const PULL_NOBLOCK: u16 = 0x8080;
    pub fn mov(to: u16, operation: u16, from: u16) -> u16 {
        0xa000 | to << 5 | operation << 3 | from
    }
    pub fn irq(clear: u16, wait: u16, index: u16) -> u16 {
        0xc000 | clear << 6 | wait << 5 | index
    }
    pub fn set(to: u16, value: u16) -> u16 {
        0xe000 | to << 5 | value
    }
    pub fn delay(cycles: u16, instruction: u16) -> u16 {
        cycles << 8 | instruction
    }
}
use asm::*;

const PINS: u16 = 0;
const X: u16 = 1;
const Y: u16 = 2;
const NULL: u16 = 3;
const PINDIRS: u16 = 4;
const ISR: u16 = 6;
const OSR: u16 = 7;

struct Bench {
    sys: Sys,
    pio: Pio,
    /// Selected pins after each change, with the cycle at which it came.
    pins: Vec<(u64, u32)>,
}

impl Bench {
    fn new(program: &[u16]) -> Self {
        let mut bench = Self { sys: Sys::new(125_000_000), pio: Pio::new(0), pins: vec![] };
        bench.pio.reset(&mut bench.sys);
        for (i, &instruction) in program.iter().enumerate() {
            bench.w(0x048 + 4 * i as u32, u32::from(instruction));
        }
        // All machines wrap after the program's last instruction.
        for machine in 0..4 {
            bench.machine(machine, 0x04, (program.len() as u32 - 1) << 12);
        }
        bench
    }

    fn w(&mut self, offset: u32, bits: u32) {
        self.pio.write(&mut self.sys, offset, Write::normal(bits));
        self.settle();
    }

    fn set(&mut self, offset: u32, bits: u32) {
        self.pio.write(&mut self.sys, offset, Write { bits, alias: Alias::Set });
        self.settle();
    }

    fn r(&mut self, offset: u32) -> u32 {
        let value = self.pio.read(&mut self.sys, offset);
        self.settle();
        value
    }

    fn machine(&mut self, machine: u32, register: u32, bits: u32) {
        self.w(0x0c8 + 0x18 * machine + register, bits);
    }

    /// Selects PIO0 on `pins`.
    fn select(&mut self, pins: u32) {
        self.sys.pins.function_mask[function::PIO0] = pins;
        self.sys.pins.refresh();
        self.pio.input_changed(&mut self.sys);
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.sys.pins.world_dirty) {
            let cycle = self.sys.clock.cycle_at(self.sys.now());
            self.pins.push((cycle, self.sys.pins.output() & self.sys.pins.output_enabled()));
        }
        if std::mem::take(&mut self.sys.pins.input_dirty) {
            self.pio.input_changed(&mut self.sys);
        }
    }

    fn run_to(&mut self, cycle: u64) {
        while let Some(id) = self.sys.take_event(cycle * CYCLE_PS) {
            assert_eq!(id, EventId::Pio0);
            self.pio.event(&mut self.sys);
            self.settle();
        }
        self.sys.cycle = cycle;
    }
}

#[test]
fn reset_values() {
    let mut b = Bench::new(&[0]);
    b.pio.reset(&mut b.sys);
    for (offset, value) in [
        (0x000, 0), (0x004, 0x0f00_0f00), (0x008, 0), (0x00c, 0), (0x030, 0), (0x038, 0), (0x03c, 0), (0x040, 0),
        (0x044, 0x0020_0404), (0x048, 0), (0x0c8, 0x0001_0000), (0x0cc, 0x0001_f000), (0x0d0, 0x000c_0000), (0x0d4, 0),
        (0x0dc, 0x1400_0000), (0x124, 0x1400_0000), (0x128, 0x0f0), (0x12c, 0), (0x130, 0), (0x134, 0), (0x13c, 0), (0x140, 0),
    ] {
        assert_eq!(b.r(offset), value, "0x{offset:03x}");
    }
    assert_eq!(b.sys.dreq_level(), 0);
}

#[test]
fn a_square_wave_has_exact_edges() {
    for (clkdiv, period) in [(1 << 16, 5), (3 << 16, 15), (0, 5 * 65536)] {
        // Pin 3: 2 cycles high, 3 low.
        let mut b = Bench::new(&[set(PINDIRS, 1), delay(1, set(PINS, 1)), delay(2, set(PINS, 0))]);
        b.machine(0, 0x04, 2 << 12 | 1 << 7);
        b.machine(0, 0x14, 1 << 26 | 3 << 5);
        b.machine(0, 0x00, clkdiv);
        b.select(1 << 3);
        b.sys.cycle = 1000;
        b.w(0x000, 0x101);
        b.run_to(1000 + 3 * period);
        let tick = period / 5;
        let expected: Vec<(u64, u32)> = [(0, 0), (1, 8), (3, 0), (6, 8), (8, 0), (11, 8), (13, 0)]
            .into_iter()
            .map(|(ticks, level)| (1001 + ticks * tick, level))
            .collect();
        assert_eq!(b.pins, expected, "divider 0x{clkdiv:x}");
    }
}

#[test]
fn fractional_dividers_keep_their_average() {
    let mut b = Bench::new(&[set(PINS, 1), set(PINS, 0)]);
    b.machine(0, 0x14, 1 << 26);
    b.machine(0, 0x00, 2 << 16 | 0x80 << 8);
    b.select(1);
    b.w(0x040, 0);
    b.machine(0, 0x10, u32::from(set(PINDIRS, 1)));
    b.pins.clear();
    b.w(0x000, 0x101);
    b.run_to(1000);
    assert!((b.pins.len() as i64 - 400).abs() <= 1, "{}", b.pins.len());
    assert!(b.pins.windows(2).all(|pair| matches!(pair[1].0 - pair[0].0, 2 | 3)));
}

#[test]
fn a_machine_without_visible_effects_costs_few_events() {
    let mut b = Bench::new(&[jmp(2, 0), jmp(0, 0)]);
    b.w(0x000, 1);
    let mut events = 0;
    while b.sys.take_event(100_000 * CYCLE_PS).is_some() {
        b.pio.event(&mut b.sys);
        events += 1;
    }
    b.sys.take_event(0);
    b.sys.cycle = 100_000;
    assert!(events <= 100_000 / AHEAD, "{events}");
    // And one that waits costs none.
    b.w(0x048, u32::from(PULL));
    b.w(0x0d8, 0);
    b.run_to(200_000);
    assert_eq!(b.sys.due(EventId::Pio0), NEVER);
}

#[test]
fn shifting_out_with_side_set_is_an_spi_transmitter() {
    // out pins, 1 side 0 [1]; nop side 1 [1] with autopull of 8 bits, most significant first.
    let mut b = Bench::new(&[delay(1, out(PINS, 1)), delay(0x10 | 1, mov(Y, 0, Y))]);
    b.machine(0, 0x14, 1 << 29 | 1 << 20 | 5 << 10 | 4);
    b.machine(0, 0x08, 8 << 25 | 1 << 17);
    b.select(1 << 4 | 1 << 5);
    b.machine(0, 0x14, 2 << 26 | 4 << 5);
    b.machine(0, 0x10, u32::from(set(PINDIRS, 3)));
    b.machine(0, 0x14, 1 << 29 | 1 << 20 | 5 << 10 | 4);
    b.pins.clear();
    b.w(0x000, 1);
    b.run_to(50);
    assert_eq!((b.pins.len(), b.r(0x008)), (0, fdebug::TXSTALL));
    b.w(0x010, 0xa500_0000);
    b.run_to(100);
    // Data is sampled at the rising clock.
    let mut last = 0;
    let mut received = 0u32;
    let mut rises = vec![];
    for &(cycle, pins) in &b.pins {
        if pins & 32 != 0 && last & 32 == 0 {
            received = received << 1 | pins >> 4 & 1;
            rises.push(cycle);
        }
        last = pins;
    }
    assert_eq!((received, rises.len()), (0xa5, 8));
    assert!(rises.windows(2).all(|pair| pair[1] - pair[0] == 4));
    // Written at 50: OSR refilled in cycle 50, OUT in 51 and 52, clock rises in 53 and shows at 54.
    assert_eq!(rises[0], 54);
}

#[test]
fn inputs_pass_the_synchroniser_and_autopush() {
    let mut b = Bench::new(&[wait(1, 1, 0), input(PINS, 4), wait(0, 0, 7)]);
    b.machine(0, 0x14, 7 << 15);
    b.machine(0, 0x08, 4 << 20 | 1 << 16);
    b.w(0x12c, 1);
    b.w(0x000, 1);
    b.run_to(100);
    assert_eq!((b.r(0x0d4), b.sys.due(EventId::Pio0)), (0, NEVER));
    for pin in [7, 9] {
        b.sys.pins.drive(pin, Some(true));
    }
    b.settle();
    // Seen from cycle 102 on: WAIT ends in 102, IN runs in 103, its word is there from 104 on.
    assert_eq!(b.sys.due(EventId::Pio0), 104 * CYCLE_PS);
    b.run_to(103);
    assert_eq!((b.r(0x0d4), b.sys.irq_level()), (1, 0));
    b.run_to(104);
    assert_eq!((b.r(0x0d4), b.sys.irq_level(), b.sys.dreq_level() >> dreq::PIO0_RX0 & 1), (2, 1 << irq::PIO0_0, 1));
    // Pins 7 to 10; shifting left, the bits enter at the bottom.
    assert_eq!((b.r(0x020), b.sys.irq_level()), (0b0101, 0));
    b.r(0x020);
    assert_eq!(b.r(0x008), fdebug::RXUNDER);
}

#[test]
fn an_output_is_seen_three_cycles_after_its_instruction() {
    // set pins 1; then count how often the pin still reads 0.
    let mut b = Bench::new(&[set(PINS, 1), jmp(6, 3), jmp(2, 1), jmp(0, 3)]);
    b.machine(0, 0x14, 1 << 26);
    b.select(1);
    b.machine(0, 0x10, u32::from(set(PINDIRS, 1)));
    b.machine(0, 0x10, u32::from(set(X, 31)));
    b.w(0x000, 1);
    b.run_to(50);
    b.machine(0, 0x10, u32::from(mov(ISR, 0, X)));
    b.machine(0, 0x10, u32::from(PUSH));
    // SET in cycle n; JMP PIN in n + 1 fails, JMP X-- in n + 2, JMP PIN in n + 3 sees the pin.
    assert_eq!(b.r(0x020), 30);
}

#[test]
fn machines_meet_through_irq_flags() {
    // Machine 0 sets flag 4 and waits until machine 1 clears it.
    let mut b = Bench::new(&[irq(0, 1, 4), set(PINS, 1), jmp(0, 2), delay(7, set(PINS, 1)), wait(1, 2, 4), jmp(0, 5)]);
    for machine in [0, 1] {
        b.machine(machine, 0x14, 1 << 26 | machine << 5);
        b.machine(machine, 0x10, u32::from(set(PINDIRS, 1)));
    }
    b.select(3);
    b.machine(1, 0x10, 3);
    b.pins.clear();
    b.w(0x000, 3);
    b.run_to(5);
    assert_eq!((b.r(0x030), b.r(0x128) >> 8), (0x10, 0));
    b.run_to(100);
    // Machine 1 waits 7 cycles from cycle 0 on, clears the flag in 8, machine 0 goes on in 9 and 10.
    assert_eq!(b.pins, [(1, 2), (11, 3)]);
    assert_eq!(b.r(0x030), 0);
    // Relative flags, force and clear by the system.
    b.machine(3, 0x10, u32::from(irq(0, 0, 0x10 | 2)));
    assert_eq!((b.r(0x030), b.r(0x128) >> 8), (0b10, 0b10));
    b.w(0x034, 0x81);
    b.w(0x030, 0x02);
    assert_eq!(b.r(0x030), 0x81);
    b.w(0x138, 0x100);
    assert_eq!(b.sys.irq_level(), 1 << (irq::PIO0_0 + 1));
}

#[test]
fn fifos_fill_join_and_report() {
    let mut b = Bench::new(&[jmp(0, 0)]);
    for word in 0..5 {
        b.w(0x010, word);
    }
    assert_eq!((b.r(0x004), b.r(0x008), b.r(0x00c)), (0x0e01_0f00, fdebug::TXOVER, 4));
    assert_eq!(b.sys.dreq_level() & 0xff, 0b1110);
    b.set(0x0d0, 1 << 30);
    assert_eq!(b.r(0x00c), 0);
    for word in 0..8 {
        b.w(0x010, word);
    }
    // A joined-away FIFO is empty and full.
    assert_eq!((b.r(0x004), b.r(0x00c)), (0x0e01_0f01, 8));
    b.machine(0, 0x10, u32::from(PULL));
    b.machine(0, 0x10, u32::from(mov(X, 0, OSR)));
    assert_eq!(b.r(0x00c), 7);
    b.set(0x0d0, 1 << 31);
    b.w(0x010, 0);
    assert_eq!(b.r(0x00c), 0);
    b.w(0x0d0, 0x000c_0000 | 1 << 31);
    for _ in 0..9 {
        b.machine(0, 0x10, u32::from(0x8000u16));
    }
    assert_eq!((b.r(0x00c), b.r(0x008) & fdebug::RXSTALL), (8 << 4, fdebug::RXSTALL));
}

#[test]
fn injected_instructions_run_at_once_or_wait() {
    let mut b = Bench::new(&[jmp(0, 0)]);
    b.machine(2, 0x10, u32::from(set(Y, 21)));
    b.machine(2, 0x10, u32::from(mov(ISR, 1, Y)));
    b.machine(2, 0x10, u32::from(PUSH));
    assert_eq!(b.r(0x028), !21);
    b.machine(2, 0x10, u32::from(PULL));
    assert_eq!((b.r(0x0c8 + 0x30 + 4) >> 31, b.r(0x0c8 + 0x30 + 0x10)), (1, u32::from(PULL)));
    b.run_to(10);
    b.w(0x018, 77);
    b.run_to(20);
    assert_eq!((b.r(0x0c8 + 0x30 + 4) >> 31, b.r(0x00c)), (0, 0));
    b.machine(2, 0x10, u32::from(mov(ISR, 2, OSR)));
    b.machine(2, 0x10, u32::from(PUSH));
    assert_eq!(b.r(0x028), 77u32.reverse_bits());
    // Out to EXEC: the instruction comes from the OSR; to PC: a jump.
    b.w(0x018, u32::from(set(X, 9)));
    b.machine(2, 0x10, u32::from(PULL));
    b.w(0x000, 4);
    b.machine(2, 0x10, u32::from(out(7, 16)));
    b.run_to(30);
    b.w(0x000, 0);
    b.machine(2, 0x10, u32::from(mov(ISR, 0, X)));
    b.machine(2, 0x10, u32::from(PUSH));
    assert_eq!(b.r(0x028), 9);
    b.machine(2, 0x10, u32::from(jmp(0, 17)));
    assert_eq!(b.r(0x0c8 + 0x30 + 0x0c), 17);
}

#[test]
fn pull_push_and_status_follow_the_thresholds() {
    let mut b = Bench::new(&[jmp(0, 0)]);
    let exec = |b: &mut Bench, instruction: u16| b.machine(0, 0x10, u32::from(instruction));
    // A nonblocking PULL from an empty FIFO copies X.
    exec(&mut b, set(X, 5));
    exec(&mut b, PULL_NOBLOCK);
    exec(&mut b, mov(ISR, 0, OSR));
    exec(&mut b, PUSH);
    assert_eq!((b.r(0x020), b.r(0x008)), (5, 0));
    // PUSH IFFULL waits for the threshold.
    b.w(0x0d0, 0x000c_0000 | 16 << 20);
    exec(&mut b, input(X, 8));
    exec(&mut b, 0x8060);
    assert_eq!(b.r(0x00c), 0);
    exec(&mut b, input(X, 8));
    exec(&mut b, 0x8060);
    assert_eq!(b.r(0x020), 0x0505_0000);
    // STATUS: all ones while the TX FIFO has less than 2 words.
    b.w(0x0cc, 2);
    for (words, expected) in [(1, u32::MAX), (2, 0)] {
        b.w(0x010, 0);
        exec(&mut b, mov(ISR, 0, 5));
        exec(&mut b, PUSH);
        assert_eq!(b.r(0x020), expected, "{words}");
    }
    exec(&mut b, out(NULL, 32));
    exec(&mut b, jmp(7, 9));
    assert_eq!(b.r(0x0d4), 0);
}

#[test]
fn sticky_outputs_and_inline_enables() {
    let mut b = Bench::new(&[jmp(0, 0)]);
    b.w(0x0dc, 8 << 20);
    b.w(0x0cc, 1 << 18 | 9 << 19);
    let exec = |b: &mut Bench, instruction: u16| b.machine(0, 0x10, u32::from(instruction));
    for (word, expected) in [(0x255, 0x55), (0x0aa, 0x55), (0x2ff, 0xff)] {
        b.w(0x010, word);
        exec(&mut b, PULL);
        exec(&mut b, out(PINS, 10));
        assert_eq!(b.r(0x03c), expected);
    }
    // Another machine's write is overwritten by a sticky one while both run.
    b.w(0x0cc, 1 << 17);
    b.machine(1, 0x14, 5 << 26);
    b.w(0x010, 0x0f);
    exec(&mut b, PULL);
    exec(&mut b, out(PINS, 8));
    b.machine(1, 0x10, u32::from(set(PINS, 0)));
    assert_eq!(b.r(0x03c), 0);
    exec(&mut b, set(Y, 0));
    assert_eq!(b.r(0x03c), 0x0f);
}

#[test]
fn pins_wrap_around_bit_31() {
    let mut b = Bench::new(&[jmp(0, 0)]);
    b.w(0x0dc, 30 << 5 | 5 << 26);
    b.machine(0, 0x10, u32::from(set(PINS, 0b11011)));
    assert_eq!(b.r(0x03c), 0xc000_0006);
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
}

/// Looking at the block at every cycle, which runs it step by step, must not change anything that it does: the same
/// random programs, writes and inputs with and without looking give the same pins at the same times.
#[test]
fn running_ahead_changes_nothing() {
    for seed in 1..60 {
        let run = |look: bool| {
            let mut random = Random(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
            let program: Vec<u16> = (0..32).map(|_| random.next() as u16).collect();
            let mut b = Bench::new(&program);
            b.select(0xffff);
            for machine in 0..4 {
                b.machine(machine, 0x00, (1 + random.next() % 3) << 16 | (random.next() & 0xff00));
                b.machine(machine, 0x08, random.next() << 16 & 0x3fff_0000);
                b.machine(machine, 0x14, random.next());
                b.machine(machine, 0x10, random.next() & 0x1f);
            }
            b.w(0x000, 0xf0f);
            let mut reads = vec![];
            for step in 1..40u64 {
                let until = step * 50 + u64::from(random.next() % 50);
                if look {
                    for cycle in b.sys.cycle..until {
                        b.run_to(cycle);
                        b.r(0x00c);
                    }
                }
                b.run_to(until);
                match random.next() % 5 {
                    0 => b.w(0x010 + 4 * (random.next() % 4), random.next()),
                    1 => reads.push(b.r(0x020 + 4 * (random.next() % 4))),
                    2 => b.w(0x030, random.next() & 0xff),
                    3 => {
                        let (pin, level) = (16 + random.next() % 8, random.next() & 1 != 0);
                        b.sys.pins.drive(pin, Some(level));
                        b.settle();
                    }
                    _ => reads.push(b.r(0x008)),
                }
            }
            let machines: Vec<u32> = (0..4).map(|m| b.r(0x0d4 + 0x18 * m)).collect();
            (b.pins.clone(), reads, machines, b.r(0x03c), b.r(0x040), b.r(0x00c), b.r(0x030))
        };
        assert_eq!(run(false), run(true), "seed {seed}");
    }
}
