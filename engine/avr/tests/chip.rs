//! Small programs on whole chips: what their peripherals do, and when.

use avr::device::pin;
use avr::{ATMEGA1284P_FACTS, ATMEGA2560_FACTS, Chip};
use chip::mcu::{ChipConfig, Debugged, Facts, Mcu, RunEnd};
use chip::{Sys, World};
use sim::{PS_PER_MS, PS_PER_US, Ps, SplitMix64};

const HZ: u64 = 16_000_000;
const CYCLE: Ps = 62_500;

/// Hears what the chip says.
#[derive(Default)]
struct Listener {
    spi: Vec<(Ps, u8)>,
    uart: Vec<(Ps, usize, u8)>,
}

impl World for Listener {
    fn spi_frame(&mut self, sys: &mut Sys, _spi: usize, mosi: u16, _bits: u8) -> u16 {
        self.spi.push((sys.now(), mosi as u8));
        0x5a
    }

    fn uart_byte(&mut self, sys: &mut Sys, uart: usize, byte: u8) {
        self.uart.push((sys.now(), uart, byte));
    }
}

/// Instructions by their names.
mod asm {
    pub fn ldi(d: u16, k: u16) -> Vec<u16> {
        vec![0xe000 | (k & 0xf0) << 4 | (d - 16) << 4 | k & 0xf]
    }
    pub fn out(address: u16, r: u16) -> Vec<u16> {
        let a = address - 0x20;
        vec![0xb800 | (a & 0x30) << 5 | r << 4 | a & 0xf]
    }
    pub fn input(d: u16, address: u16) -> Vec<u16> {
        let a = address - 0x20;
        vec![0xb000 | (a & 0x30) << 5 | d << 4 | a & 0xf]
    }
    pub fn sts(address: u16, r: u16) -> Vec<u16> {
        vec![0x9200 | r << 4, address]
    }
    pub fn lds(d: u16, address: u16) -> Vec<u16> {
        vec![0x9000 | d << 4, address]
    }
    /// Stores a constant in a register of the data space; uses R16.
    pub fn set(address: u16, k: u16) -> Vec<u16> {
        [ldi(16, k), sts(address, 16)].concat()
    }
    /// A loop that ends when bit `bit` of an I/O register is set, of 4 cycles a turn; uses R16.
    pub fn wait(address: u16, bit: u16) -> Vec<u16> {
        [input(16, address), vec![0xff00 | bit, 0xcffd]].concat()
    }
    pub const SEI: u16 = 0x9478;
    pub const SLEEP: u16 = 0x9588;
    pub const RETI: u16 = 0x9518;
    pub const NOP: u16 = 0;
    /// A jump to itself.
    pub const STOP: u16 = 0xcfff;
}

/// A program behind its vector table: each vector of `handlers` increments the register of its number.
fn image(program: &[u16], handlers: &[(usize, u16)]) -> Vec<u8> {
    let mut words = vec![asm::STOP; 0x80];
    words[0] = 0x940c;
    words[1] = 0x80;
    for &(vector, register) in handlers {
        words[2 * vector] = 0x9403 | register << 4;
        words[2 * vector + 1] = asm::RETI;
    }
    words.extend(program);
    words.push(asm::STOP);
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// A chip without start-up time: an external clock, SUT = 0.
fn chip(facts: &'static Facts, flash: &[u8]) -> Chip {
    let config = ChipConfig { flash, crystal_hz: HZ, fuses: [0xc0, 0xd9, 0xff], ..ChipConfig::default() };
    Chip::of(facts, &config, Listener::default())
}

fn heard(chip: &mut Chip) -> &mut Listener {
    chip.world().of().expect("the listener")
}

fn run(chip: &mut Chip, until: Ps) {
    assert_eq!(chip.run_until(until), RunEnd::Time);
}

fn program(parts: &[Vec<u16>]) -> Vec<u16> {
    parts.concat()
}

/// Cycles of the RESET vector's jump, before a program begins, and of the clock's start.
const START: u64 = 6 + 3;

#[test]
fn a_loop_that_polls_at_17_cycles_turns_once_more() {
    // The loop reads SPSR 1, 5, 9, 13, 17 and 21 cycles after OUT; with a NOP before it 2, 6, 10, 14 and 18 cycles.
    let mut cycles = Vec::new();
    for nops in [0, 1] {
        let sends = program(&[
            asm::set(0x24, 0x07),
            asm::set(0x4d, 0x01),
            asm::set(0x4c, 0x50),
            asm::ldi(17, 0xa5),
            asm::out(0x4e, 17),
            vec![asm::NOP; nops],
            asm::wait(0x4d, 7),
            asm::out(0x4e, 17),
        ]);
        let mut chip = chip(&ATMEGA2560_FACTS, &image(&sends, &[]));
        run(&mut chip, PS_PER_MS);
        let spi = &heard(&mut chip).spi;
        cycles.push((spi[1].0 - spi[0].0) / CYCLE);
    }
    assert_eq!(cycles, [24, 21]);
}

#[test]
fn every_divider_of_spi_is_as_documented() {
    for (spcr, spsr, divider) in
        [(0, 1, 2), (0, 0, 4), (1, 1, 8), (1, 0, 16), (2, 1, 32), (2, 0, 64), (3, 1, 64), (3, 0, 128)]
    {
        let sends = program(&[
            asm::set(0x24, 0xb0),
            asm::set(0x4d, spsr),
            asm::set(0x4c, 0x50 | spcr),
            asm::ldi(17, 0x81),
            asm::out(0x4e, 17),
        ]);
        let mut chip = chip(&ATMEGA1284P_FACTS, &image(&sends, &[]));
        run(&mut chip, PS_PER_MS);
        assert_eq!(chip.sck_hz(0), HZ / divider);
        assert_eq!(heard(&mut chip).spi[0].0, (START + 10 + 2 + 8 * divider) * CYCLE, "{divider}");
    }
}

#[test]
fn timer_0_overflows_every_256_ticks() {
    let counts = program(&[
        asm::set(0x44, 0x03),
        asm::set(0x6e, 0x01),
        asm::set(0x45, 0x03), // clock / 64, as Arduino has it
        vec![asm::SEI],
    ]);
    let mut chip = chip(&ATMEGA2560_FACTS, &image(&counts, &[(23, 5)]));
    run(&mut chip, 10 * PS_PER_MS);
    assert_eq!(chip.registers(0)[5], 9);
    run(&mut chip, 103 * PS_PER_MS);
    assert_eq!(chip.registers(0)[5], 100);
}

#[test]
fn timer_1_interrupts_by_compare_in_ctc() {
    let counts = program(&[
        asm::set(0x89, 0x3e),
        asm::set(0x88, 0x7f), // OCR1A = 15999
        asm::set(0x6f, 0x02),
        asm::set(0x81, 0x09), // CTC, clock / 1
        vec![asm::SEI],
    ]);
    for (facts, vector) in [(&ATMEGA2560_FACTS, 17), (&ATMEGA1284P_FACTS, 13)] {
        let mut chip = chip(facts, &image(&counts, &[(vector, 5)]));
        run(&mut chip, 50 * PS_PER_MS);
        assert_eq!(chip.registers(0)[5], 49, "{}", facts.name);
    }
}

#[test]
fn a_usart_sends_and_receives_at_its_speed() {
    let talks = program(&[
        asm::set(0xc0, 0x02), // U2X
        asm::set(0xc4, 16),   // 117647 baud
        asm::set(0xc1, 0x98), // RXCIE, RXEN, TXEN
        asm::set(0xc6, 0x41),
        asm::set(0xc6, 0x42),
        vec![asm::SEI],
    ]);
    for (facts, vector) in [(&ATMEGA2560_FACTS, 25), (&ATMEGA1284P_FACTS, 20)] {
        let mut chip = chip(facts, &image(&talks, &[(vector, 6)]));
        run(&mut chip, PS_PER_MS);
        let character = 10 * 8 * 17 * CYCLE;
        let uart = &heard(&mut chip).uart;
        let said: Vec<_> = uart.iter().map(|&(_, uart, byte)| (uart, byte)).collect();
        assert_eq!((said, uart[1].0 - uart[0].0), (vec![(0, 0x41), (0, 0x42)], character));
        let reached = chip.reached();
        assert_eq!(reached.inputs.character_ps(reached.sys, 0), character);
        assert!(reached.inputs.hears_characters(reached.sys, 0) && !reached.inputs.hears_characters(reached.sys, 1));
        reached.inputs.receive(reached.sys, 0, 0x33);
        chip.settle_pins();
        run(&mut chip, PS_PER_MS + 5 * PS_PER_US);
        assert!(chip.registers(0)[6] > 0);
    }
}

#[test]
fn eeprom_takes_3_3_ms_and_keeps_a_byte_through_a_watchdog_reset() {
    let writes = program(&[
        asm::lds(20, 0x54),                      // MCUSR
        vec![0xfd00 | 20 << 4 | 3, 0xc000 | 18], // after the watchdog: to the end
        asm::set(0x41, 7),
        asm::set(0x40, 0x77),
        asm::ldi(17, 0x04),
        asm::ldi(18, 0x02),
        asm::out(0x3f, 17),
        asm::out(0x3f, 18),
        asm::input(19, 0x3f),
        asm::set(0x60, 0x18),
        asm::set(0x60, 0x08), // 16 ms
        vec![asm::STOP],
        asm::set(0x41, 7),
        asm::set(0x3f, 0x01),
        asm::lds(21, 0x40),
    ]);
    let mut chip = chip(&ATMEGA2560_FACTS, &image(&writes, &[]));
    run(&mut chip, 3 * PS_PER_MS);
    assert_eq!(chip.registers(0)[19] & 2, 2);
    let end = chip.run_until(40 * PS_PER_MS);
    assert_eq!(end, RunEnd::Reset { cause: "WATCHDOG timer" });
    assert!((16 * PS_PER_MS..17 * PS_PER_MS).contains(&Mcu::now(&chip)), "{}", Mcu::now(&chip));
    let until = Mcu::now(&chip) + 5 * PS_PER_MS;
    run(&mut chip, until);
    assert_eq!((chip.registers(0)[20] & 8, chip.registers(0)[21]), (8, 0x77));
}

#[test]
fn a_sleeping_chip_is_woken_by_a_pin_and_by_no_timer_when_asleep_deeply() {
    for (mode, timer) in [(0x01u16, true), (0x05, false)] {
        let sleeps = program(&[
            asm::set(0x44, 0x03),
            asm::set(0x6e, 0x01),
            asm::set(0x45, 0x03),
            asm::set(0x69, 0x02), // INT0: falling edge
            asm::set(0x3d, 0x01),
            asm::set(0x53, mode),
            vec![asm::SEI, asm::SLEEP, 0x9403 | 7 << 4, 0xcffd],
        ]);
        let mut chip = chip(&ATMEGA2560_FACTS, &image(&sleeps, &[(23, 5), (1, 6)]));
        chip.sys().pins.drive(pin(b'D', 0), Some(true));
        chip.settle_pins();
        run(&mut chip, 10 * PS_PER_MS);
        assert_eq!(chip.registers(0)[5] > 0, timer, "mode {mode}");
        let turns = chip.registers(0)[7];
        chip.sys().pins.drive(pin(b'D', 0), Some(false));
        chip.settle_pins();
        run(&mut chip, 10 * PS_PER_MS + 500 * PS_PER_US);
        assert_eq!((chip.registers(0)[6], chip.registers(0)[7]), (1, turns + 1 + u32::from(timer)), "mode {mode}");
    }
}

#[test]
fn what_is_not_modelled_ends_the_run_by_name() {
    for (writes, says) in [
        (asm::set(0x7a, 0xc0), "ADCSRA = 0xc0: a conversion"),
        (asm::set(0x44, 0x83), "TCCR0A = 0x83: an output compare pin"),
        (asm::set(0xbc, 0x84), "TWI register 0xbc = 0x84"),
        (asm::set(0x74, 0x80), "XMCRA = 0x80: external memory"),
        (asm::lds(2, 0xfff0), "load from 0xfff0, where there is no memory"),
        (vec![0x95e8], "SPM, which programs flash"),
        (vec![0x940b], "opcode 0x940b, which is reserved"),
    ] {
        let mut chip = chip(&ATMEGA2560_FACTS, &image(&writes, &[]));
        let RunEnd::Unmodelled(fault) = chip.run_until(PS_PER_MS) else { panic!("{says}: runs") };
        assert_eq!(fault.what, says);
    }
}

/// Random flash does no harm, and equal flash ends equally.
#[test]
fn hostile_guests_end_by_name_or_run() {
    let mut random = SplitMix64::new(27);
    for round in 0..300 {
        let facts = if round % 2 == 0 { &ATMEGA2560_FACTS } else { &ATMEGA1284P_FACTS };
        // Half of them are made of stores to I/O registers, with interrupts on.
        let mut flash: Vec<u8> = if round % 4 < 2 {
            (0..4096).map(|_| random.draw() as u8).collect()
        } else {
            let words = (0..600).flat_map(|_| {
                let bits = random.draw() as u16;
                match random.below(8) {
                    0 => vec![asm::SEI],
                    1 => vec![asm::SLEEP],
                    2 => vec![0xb800 | bits & 0x07ff],
                    3 => vec![0x9800 | bits & 0x03ff],
                    4 | 5 => asm::sts(0x20 + random.below(0x120) as u16, bits >> 11),
                    6 => asm::ldi(16 + (bits & 0xf), bits >> 4 & 0xff),
                    _ => asm::lds(bits & 0x1f, 0x20 + random.below(0x120) as u16),
                }
            });
            image(&words.collect::<Vec<u16>>(), &[])
        };
        flash.truncate(8192);
        let fuses = [random.draw() as u8, random.draw() as u8 | 1, 0xff];
        let outcome = || {
            let config = ChipConfig { flash: &flash, crystal_hz: HZ, fuses, ..ChipConfig::default() };
            let mut chip = Chip::of(facts, &config, Listener::default());
            let mut ends = Vec::new();
            for _ in 0..20 {
                let end = chip.run_until(Mcu::now(&chip) + 5 * PS_PER_MS);
                let stops = matches!(end, RunEnd::Unmodelled(_));
                ends.push(end);
                if stops {
                    break;
                }
            }
            (ends, chip.counts(0), chip.registers(0))
        };
        assert_eq!(outcome(), outcome(), "round {round}");
    }
}
