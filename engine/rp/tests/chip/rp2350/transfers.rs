//! Random drivers of SPI and DMA: translated, with loops that wait, and interpreted, an event and a pass at a time.

use chip::mcu::Mcu;
use rp::rp2350::cpu::Master;
use rp::rp2350::cpu::core::State;
use rp::rp2350::{Chip, ChipConfig, Sys, World};
use sim::{Ps, SplitMix64, asked};

use super::two_cores::alike;

const PROGRAMS: u64 = 60;
const SLICES: usize = 12;
const RAM_CODE: u32 = 0x2000_1000;
const FLASH: u32 = 0x1000_0000;
const DATA: u32 = 0x2004_0000;
const SPI0: u32 = 0x4008_0000;
const DMA: u32 = 0x5000_0000;
const SIO: u32 = 0xd000_0000;
const CSN: u32 = 5;
/// Requests of SPI0.
const TX_DREQ: u32 = 24;

/// Answers, and keeps what it heard.
#[derive(Default)]
struct Device {
    state: u32,
    log: Vec<(Ps, u32)>,
}

impl World for Device {
    fn spi_frame(&mut self, sys: &mut Sys, _spi: usize, mosi: u16, _bits: u8) -> u16 {
        self.log.push((sys.now(), mosi.into()));
        self.state = (self.state ^ u32::from(mosi)).wrapping_mul(0x0100_0193);
        (self.state >> 9) as u16
    }

    fn pins_changed(&mut self, sys: &mut Sys) {
        self.log.push((sys.now(), sys.pins.level() as u32));
    }
}

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, end: u32) -> u16 {
        self.0.below(u64::from(end)) as u16
    }

    /// Appends what a driver does: R4 is SPI0, R5 the DMA, R6 and R7 words of SRAM, R3 lines of the cache, R8 SIO, R9 a
    /// channel that feeds SPI and R10 one that empties it, R11 SPI's data register, R12 a pin.
    fn act(&mut self, code: &mut Vec<u16>) {
        let wide_store = |register: u16, base: u16, offset: u16| [0xf8c0 | base, register << 12 | offset];
        match self.below(13) {
            // MOVS R1; STR R1 to DR, some times.
            0..3 => (0..=self.below(5)).for_each(|_| code.extend([0x2100 | self.below(256), 0x60a1])),
            // Waits while SPI is busy: LDR R0, SR; what changes nothing; LSLS R0, #27; BMI.
            3..5 => {
                code.push(0x68e0);
                let others = self.below(3);
                (0..others).for_each(|_| code.push([0xbf00, 0x1c49, 0x0052][usize::from(self.below(3))]));
                code.extend([0x06c0, 0xd400 | (0u16.wrapping_sub(others + 4) & 0xff)]);
            }
            // Reads a word if there is one: LDR R0, SR; LSLS #29; BPL; LDR R1, DR; STR R1.
            5..7 => code.extend([0x68e0, 0x0740, 0xd501, 0x68a1, 0x6031 | self.below(8) << 6]),
            7 => code.extend([0x68a1, 0x68e0, 0x6070]),
            // Both channels, and their end: R2 words.
            8..10 => {
                code.push(0x2200 | (1 + self.below(24)));
                for (base, from, to, control) in [(0x40, 11, 7, 10), (0, 6, 11, 9)] {
                    code.extend(wide_store(from, 5, base));
                    code.extend(wide_store(to, 5, base + 4));
                    code.extend(wide_store(2, 5, base + 8));
                    code.extend(wide_store(control, 5, base + 12));
                }
                // LDR.W R0, CTRL; LSLS R0, #5; BMI.
                code.extend([0xf8d5, 0x0050, 0x0140, 0xd4fb]);
            }
            // The chip select: STR.W R12, the register that sets or clears it.
            10 => code.extend(wide_store(12, 8, [0x18, 0x20][usize::from(self.below(2))])),
            // A line of the cache is invalid: STR R0, [R3, #8 n].
            11 => code.push(0x6018 | self.below(16) << 7),
            _ => (0..self.below(6))
                .for_each(|_| code.push([0x1c49, 0x1889, 0x6032, 0x6832, 0xbf00][usize::from(self.below(5))])),
        }
    }
}

fn chip(seed: u64, translated: bool) -> Chip {
    let random = &mut Random(SplitMix64::new(seed));
    let mut code = Vec::new();
    while code.len() < 90 {
        random.act(&mut code);
    }
    let back = 0u16.wrapping_sub(code.len() as u16 + 2);
    code.push(0xe000 | back & 0x7ff);
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let in_flash = random.below(4) != 0;
    let config = ChipConfig { bootrom: &[], flash_size: 1 << 20, flash: &bytes, ..ChipConfig::default() };
    let mut chip = <Chip>::new(&config, Device::default());
    assert!(chip.mem.poke(RAM_CODE, &bytes));
    let sys = &mut chip.bus.sys;
    (sys.held_in_reset, sys.freq.clk_peri_hz) = (0, 4_000_000);
    sys.clock_sources_dirty = false;
    sys.watch_pins(0, 1 << CSN);
    let mut write = |address, value| chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4).expect("a word");
    for (pin, function) in [(0, 1), (2, 1), (3, 1), (CSN, 5)] {
        write(0x4003_8004 + 4 * pin, 0x56);
        write(0x4002_8004 + 8 * pin, function);
    }
    let speed = 2 + 2 * u32::from(random.below(3));
    for (offset, value) in [(0x10, speed), (0, 7), (4, 2), (0x24, 3)] {
        write(SPI0 + offset, value);
    }
    write(SIO + 0x38, 1 << CSN);
    let control = |way: u32| 1 | [1 << 4, 1 << 6][way as usize] | way << 13 | (TX_DREQ + way) << 17;
    let core = &mut chip.cores[0];
    (core.pc, core.state) = (if in_flash { FLASH } else { RAM_CODE }, State::Running);
    core.regs[3..13].copy_from_slice(&[
        0x1800_0000,
        SPI0,
        DMA,
        DATA,
        DATA + 0x100,
        SIO,
        control(0),
        control(1),
        SPI0 + 8,
        1 << CSN,
    ]);
    let xip = &mut chip.mem.xip;
    (xip.offline, xip.whole_lines, xip.miss_cycles, xip.uncached_cycles) = (false, true, 12, 17);
    if translated {
        chip.mem.translate_at_once();
    } else {
        chip.mem.interpret_only();
    }
    chip
}

fn state(chip: &mut Chip) -> String {
    let core = &chip.cores[0];
    let counts = (core.pc, core.apsr(), core.cycles, core.instructions, core.flash_instructions);
    let sys = &chip.bus.sys;
    let lines = (sys.irq_level(), sys.dreq_level(), sys.pins.level(), sys.next_due());
    let seen = format!("{} {:x?} {counts:x?} {lines:x?}", chip.now(), core.regs);
    let device: &mut Device = chip.bus.world.of().expect("the device");
    let log = std::mem::take(&mut device.log);
    format!("{seen} {} {log:?} xip {} {}", device.state, chip.mem.xip.accesses, chip.mem.xip.misses)
}

/// `PORTBENCH_FUZZ_PROGRAMS` is the number of programs, and `PORTBENCH_FUZZ_SEED` makes others.
#[test]
fn a_driver_that_waits_sees_what_it_sees_when_interpreted() {
    let (programs, first) = (asked("PORTBENCH_FUZZ_PROGRAMS", PROGRAMS), asked("PORTBENCH_FUZZ_SEED", 0) << 32);
    let mut frames = 0;
    for seed in first..first + programs {
        let random = &mut Random(SplitMix64::new(!seed));
        let slices_ps = (0..SLICES).map(|_| 10_000_000 * (1 + u64::from(random.below(150))));
        let (_, states) = alike(seed, chip, state, slices_ps);
        frames += states.matches("), (").count();
    }
    assert!(frames > 100 * programs as usize, "{frames} frames");
}
