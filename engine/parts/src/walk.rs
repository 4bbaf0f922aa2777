//! Each part by itself, in any order of reads, writes, levels at its pins, events and other calls: all that can be seen
//! of it is as recorded. After a wanted change, show it in another test, and take the checksum from the failure.

use crate::UsbPort;
use crate::clocks::Clocks;
use crate::dma::{Dma, DmaBus};
use crate::i2c::I2c;
use crate::interpolator::Interpolator;
use crate::io_bank0::IoBank0;
use crate::io_qspi::IoQspi;
use crate::pads_bank0::PadsBank0;
use crate::pads_qspi::PadsQspi;
use crate::passing::Reached;
use crate::pio::Pio;
use crate::pll::Pll;
use crate::psm::Psm;
use crate::pwm::Pwm;
use crate::resets::Resets;
use crate::rosc::Rosc;
use crate::spi::Spi;
use crate::testing::{self, PIN_MASK, PWM, TIMER, USB, WATCHDOG, dreq, event, irq};
use crate::timer::Timer;
use crate::uart::Uart;
use crate::usb::Usb;
use crate::watchdog::Watchdog;
use crate::wires::{
    ClocksWires, DmaWires, IoWires, PioWires, PwmWires, SerialWires, TimerWires, UsbWires, Version, WatchdogWires,
};
use crate::xip_stream::XipStream;
use crate::xosc::Xosc;
use chip::pins::FUNCTIONS;
use chip::sys::watcher;
use chip::xip_cache::XipCache;
use chip::{Alias, BusFault, Event, Peripheral, Sys, World, Write};
use sim::{PS_PER_US, Snapshot, SplitMix64, UsbBus};

/// Inverts what SPI sends; on I2C it acknowledges two addresses and half of the bytes. Second: the event.
#[derive(Default)]
struct Outside(u64, u8);

impl World for Outside {
    fn spi_frame(&mut self, _: &mut Sys, unit: usize, mosi: u16, bits: u8) -> u16 {
        self.0 += u64::from(mosi) + u64::from(bits) + unit as u64;
        !mosi
    }

    fn uart_byte(&mut self, _: &mut Sys, unit: usize, byte: u8) {
        self.0 += u64::from(byte) + unit as u64;
    }

    fn i2c_start(&mut self, _: &mut Sys, unit: usize, address: u16, read: bool) -> bool {
        self.0 += u64::from(address) + u64::from(read) + unit as u64;
        matches!(address, 0x50 | 0x10)
    }

    fn i2c_write(&mut self, _: &mut Sys, unit: usize, byte: u8) -> bool {
        self.0 += u64::from(byte) + unit as u64;
        byte & 1 == 0
    }

    fn i2c_read(&mut self, _: &mut Sys, unit: usize) -> u8 {
        self.0 += unit as u64;
        self.0 as u8
    }

    fn i2c_stop(&mut self, _: &mut Sys, unit: usize) {
        self.0 += 3 * unit as u64;
    }

    fn pins_changed(&mut self, sys: &mut Sys) {
        self.0 ^= sys.pins.level();
    }
}

/// The controller, and the memory on its bus.
struct OnBus<'a>(&'a mut Dma, &'a mut Sys, &'a mut [u8], u32);

impl DmaBus for OnBus<'_> {
    fn dma_and_sys(&mut self) -> (&mut Dma, &mut Sys) {
        (self.0, self.1)
    }

    fn read(&mut self, address: u32, size: u32) -> Result<u32, BusFault> {
        self.3 = address >> 4 & 3;
        let at = address as usize & 0x1fff;
        let bytes = self.2.get(at..at + size as usize).ok_or(BusFault)?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }

    fn write(&mut self, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        self.3 = address >> 5 & 3;
        let at = address as usize & 0x1fff;
        let bytes = self.2.get_mut(at..at + size as usize).ok_or(BusFault)?;
        bytes.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        Ok(())
    }

    fn waits(&self) -> u32 {
        self.3
    }
}

/// DMA, and a memory of 4 KiB: at the other half of all addresses nothing answers.
#[derive(Snapshot)]
struct Moved(Dma, Vec<u8>);

/// The interpolators of a core.
#[derive(Snapshot)]
struct Pair([Interpolator; 2]);

/// The stream of a cache whose counts are those of its reads.
#[derive(Snapshot)]
struct Streamed(XipStream, #[snapshot(skip)] XipCache);

impl Peripheral for Streamed {
    fn name(&self) -> &'static str {
        "XIP_CTRL"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.1.accesses += 3;
        self.1.misses += 1;
        self.0.read(sys, &self.1, offset)
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.1.uncached_cycles = write.bits & 0x3f;
        self.0.write(sys, &self.1, offset, write);
    }

    fn reset(&mut self, sys: &mut Sys) {
        self.0.reset(sys);
    }
}

/// The parts of a chip that changes of pins and clocks reach, whose registers take turns.
#[derive(Snapshot)]
struct Whole(IoBank0, IoQspi, Xosc, Rosc, [Pll; 2], Clocks, [Uart; 2], [Spi; 2], Pwm, [Pio; 2]);

impl Whole {
    fn new(version: Version) -> Self {
        let pll = |name, hz| Pll::new(name, hz);
        let uart = |n| SerialWires::uart(n, Event([4, 5][n]), 20, 20, [0x300f_f00f, 0x0ff0_0ff0][n]);
        let spi = |n| SerialWires::spi(n, Event([3, 6][n]), 18, 16, [0x00ff_00ff, 0xff00_ff00][n]);
        let pio = |n| PioWires::new(n, version, Event([8, 9][n]), testing::irq::PIO0_0, PIN_MASK);
        Self(
            IoBank0::new(IoWires { irq: 13, version }),
            IoQspi::new(IoWires { irq: 14, version }),
            Xosc::new(event::XOSC, version),
            Rosc::new(version),
            [pll("PLL_SYS", |f| &mut f.pll_sys_hz), pll("PLL_USB", |f| &mut f.pll_usb_hz)],
            Clocks::new(ClocksWires { version, ..testing::CLOCKS }),
            [0, 1].map(|n| Uart::new(uart(n))),
            [0, 1].map(|n| Spi::new(spi(n))),
            Pwm::new(PwmWires { version, ..PWM }),
            [0, 1].map(|n| Pio::new(pio(n))),
        )
    }

    /// Returns the part that has a register.
    fn at(&mut self, offset: u32) -> (&mut dyn Peripheral, u32) {
        let Self(bank0, qspi, xosc, rosc, [sys, usb], clocks, [uart0, uart1], [spi0, spi1], pwm, [pio0, pio1]) = self;
        let of = offset as usize / 4;
        let all: [&mut dyn Peripheral; 14] =
            [bank0, qspi, xosc, rosc, sys, usb, clocks, uart0, uart1, spi0, spi1, pwm, pio0, pio1];
        (all.into_iter().nth(of % 14).unwrap(), (of / 14 * 4) as u32)
    }

    fn event(&mut self, sys: &mut Sys, outside: &mut Outside) {
        match outside.1 {
            2 => self.2.event(sys),
            unit @ (3 | 6) => self.7[usize::from(unit) / 6].event(sys, outside),
            unit @ (4 | 5) => self.6[usize::from(unit) - 4].event(sys, outside),
            7 => self.8.event(sys),
            unit @ (8 | 9) => self.9[usize::from(unit) - 8].event(sys),
            _ => self.5.event(sys),
        }
    }

    fn call(&mut self, sys: &mut Sys, drawn: u64) -> u64 {
        let Self(io_bank0, io_qspi, xosc, rosc, pll, clocks, uart, spi, pwm, pio) = self;
        let mut reached = Reached { io_bank0, io_qspi, xosc, rosc, pll, clocks, uart, spi, pwm, pio };
        let mut outside = Outside::default();
        match drawn % 8 {
            0 => return reached.refresh_pins(sys).into(),
            1 => reached.watch(sys),
            2 => reached.wake_oscillators(sys, drawn >> 8 & 1 != 0),
            3 => reached.update_clocks(sys),
            4 => reached.clocks_changed(sys),
            _ => reached.settle(sys, &mut outside),
        }
        outside.0
            + u64::from(std::mem::take(&mut sys.clocks_changed))
            + 2 * u64::from(std::mem::take(&mut sys.attention))
    }
}

impl Peripheral for Whole {
    fn name(&self) -> &'static str {
        "whole"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        let (part, offset) = self.at(offset);
        part.read(sys, offset)
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let (part, offset) = self.at(offset);
        part.write(sys, offset, write);
    }

    fn reset(&mut self, sys: &mut Sys) {
        (0..14).for_each(|part| self.at(4 * part).0.reset(sys));
    }
}

impl Peripheral for Moved {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.0.read(sys, offset)
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.0.write(sys, offset, write);
    }

    fn reset(&mut self, sys: &mut Sys) {
        self.0.reset(sys);
    }
}

impl Peripheral for Pair {
    fn name(&self) -> &'static str {
        "INTERP"
    }

    fn read(&mut self, _: &mut Sys, offset: u32) -> u32 {
        self.0[(offset >> 6) as usize].read((offset >> 6) as usize, offset & 0x3c)
    }

    fn write(&mut self, _: &mut Sys, offset: u32, write: Write) {
        self.0[(offset >> 6) as usize].write((offset >> 6) as usize, offset & 0x3c, write.bits);
    }

    fn reset(&mut self, _: &mut Sys) {}
}

fn value(random: &mut SplitMix64) -> u32 {
    match random.below(5) {
        0 => random.draw32(),
        1 => 1 << random.below(32),
        2 => random.below32(16),
        3 => u32::MAX,
        _ => random.draw32() & random.draw32() & random.draw32(),
    }
}

/// Another call of a part, with a drawn number; returns what it tells.
type Call<P> = fn(&mut P, &mut Sys, u64) -> u64;
/// Handles the part's event.
type Handle<P> = fn(&mut P, &mut Sys, &mut Outside);

/// Returns the name and the checksum of a part's walks. `last`: its last register. `begin`: writes that start it, which
/// random ones seldom do.
fn walk<P: Peripheral + Snapshot>(
    new: impl Fn() -> P,
    last: u32,
    begin: &[(u32, u32)],
    handle: Handle<P>,
    call: Call<P>,
) -> (&'static str, u32) {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut note = |seen: &[u64]| {
        sum = seen.iter().fold(sum, |sum, &each| (sum ^ each).wrapping_mul(0x100_0000_01b3).rotate_left(23));
    };
    for seed in 0..24 {
        let (mut random, mut outside) = (SplitMix64::new(seed), Outside::default());
        // Every second chip has as many pins as an RP2350B.
        let pins = [30, 48][seed as usize % 2];
        let (mut sys, mut part) = (testing::sys_with(125_000_000, (1 << pins) - 1), new());
        let f = &mut sys.freq;
        (f.xosc_hz, f.rosc_hz, f.clk_ref_hz, f.tick_hz) = (12_000_000, 6_500_000, 12_000_000, 1_000_000);
        (f.clk_sys_hz, f.clk_peri_hz, f.pll_sys_hz) = (125_000_000, 125_000_000, 125_000_000);
        (f.clk_usb_hz, f.clk_adc_hz, f.pll_usb_hz) = (48_000_000, 48_000_000, 48_000_000);
        sys.ticks[0].set_rate(0, 12_000_000, 12);
        for pin in 0..pins {
            sys.pins.function_mask[random.below(10) as usize] |= 1 << pin;
        }
        for function in 0..FUNCTIONS {
            sys.pins.function_out[function] = random.draw() & sys.pins.mask();
            sys.pins.function_oe[function] = random.draw() & random.draw() & sys.pins.mask();
        }
        // Two wires.
        sys.pins.join([5 << (seed % 20), 1 << 29 | 1 << (seed % 5)].map(|net| net & sys.pins.mask()).into());
        sys.pins.pad_input_enable = sys.pins.mask() & !(1 << random.below(pins));
        sys.watch_pins(watcher::WORLD, if seed % 3 == 0 { 0 } else { random.draw() & sys.pins.mask() });
        sys.watch_dreqs(random.draw());
        sys.trace.start(u32::MAX, usize::MAX);
        let from = 0x40 * (seed as u32 % 4);
        for step in 0..2_500 {
            for &(offset, bits) in begin.iter().filter(|_| step % 50 == 0) {
                // Now and then with one setting or several changed.
                let changed = match random.below(8) {
                    0 | 1 => 1 << random.below(24),
                    2 => random.draw32() & random.draw32() >> 8,
                    _ => 0,
                };
                let near = u32::MAX >> bits.leading_zeros().saturating_sub(4);
                part.write(&mut sys, offset, Write::normal(bits ^ changed & near));
            }
            // Three of four accesses are to a part of a large block.
            let far = last < 0x400 || random.one_in(4);
            let offset = if far { 4 * random.below32(last / 4 + 1) } else { from + 4 * random.below32(16) };
            match random.below(8) {
                0..=2 => note(&[u64::from(part.read(&mut sys, offset))]),
                3..=5 => {
                    let alias = random.pick(&[Alias::Normal, Alias::Xor, Alias::Set, Alias::Clear]);
                    part.write(&mut sys, offset, Write { bits: value(&mut random), alias });
                }
                6 => {
                    let level = random.pick(&[None, Some(false), Some(true)]);
                    sys.pins.drive(random.below(pins) as u32, level);
                }
                _ => note(&[call(&mut part, &mut sys, random.draw())]),
            }
            if random.one_in(500) {
                part.reset(&mut sys);
            }
            sys.cycle += 1 + random.below(30);
            let until = sys.now() + random.pick(&[0, 0, 0, 1, 7, 20]) * PS_PER_US;
            for _ in 0..2_000 {
                let Some(Event(id)) = sys.take_event(until) else { break };
                note(&[sys.now(), u64::from(id)]);
                sys.cycle = sys.cycle.max(sys.clock.cycle_at(sys.now()));
                outside.1 = id;
                handle(&mut part, &mut sys, &mut outside);
            }
            sys.end_event();
            sys.cycle = sys.cycle.max(sys.clock.cycle_at(until));
            let lines = [sys.irq_level(), sys.irq_level_for_core(0), sys.irq_level_for_core(1), sys.dreq_level()];
            note(&lines);
            note(&[sys.pins.level(), sys.pins.output_enabled(), sys.watched_pins(), sys.next_due(), outside.0]);
            let hash = |bytes: &[u8]| bytes.iter().fold(0u64, |sum, &byte| sum.wrapping_mul(31) ^ u64::from(byte));
            for (at, record) in sys.trace.take().0 {
                note(&[at, hash(format!("{record:?}").as_bytes())]);
            }
            if step % 16 == 0 {
                let mut state = Vec::new();
                part.save_state(&mut state);
                part.restore_state(&mut &state[..]).unwrap();
                note(&[hash(&state), hash(format!("{:?} {:?}", sys.pins, sys.freq).as_bytes())]);
            }
            let missing = sys.unmodelled.take().map_or(0, |unmodelled| unmodelled.what.len() as u64);
            let reset = sys.reset_request.take().map_or(0, |request| format!("{request:?}").len() as u64);
            let stated = [u64::from(sys.held_in_reset), u64::from(sys.held_by_psm), u64::from(sys.dormant)];
            note(&[&[missing, reset, u64::from(std::mem::take(&mut sys.clock_sources_dirty))], &stated[..]].concat());
        }
    }
    (new().name(), sum as u32)
}

/// A call that tells nothing.
fn then(_: ()) -> u64 {
    0
}

/// A part without events or other calls.
fn nothing<P>(_: &mut P, _: &mut Sys, _: &mut Outside) {}
fn none<P>(_: &mut P, _: &mut Sys, _: u64) -> u64 {
    0
}

/// Calls of the controller by the PC's port.
fn on_the_bus(usb: &mut Usb, sys: &mut Sys, drawn: u64) -> u64 {
    let mut random = SplitMix64::new(drawn);
    (0..6).fold(0, |told: u64, _| told.wrapping_mul(31) ^ on_the_bus_once(usb, sys, random.draw()))
}

fn on_the_bus_once(usb: &mut Usb, sys: &mut Sys, drawn: u64) -> u64 {
    let (number, data) = ((drawn >> 8) as u8 & 3, drawn.to_le_bytes());
    let mut port = UsbPort { sys, usb };
    let mut taken = Vec::new();
    let answer = match drawn & 7 {
        0 => format!("{}", port.pulled_up()),
        1 if drawn >> 60 == 0 => format!("{:?}", port.reset()),
        1 | 2 => format!("{:?}", port.sof((drawn >> 16) as u16 & 0x7ff)),
        3 => format!("{:?}", port.setup(0, data)),
        4 => format!("{:?}", port.out(0, number, drawn >> 32 & 1 != 0, &data[..(drawn >> 40) as usize & 7])),
        5 => format!("{:?}", port.input(0, number, &mut taken)),
        6 => format!("{}", usb.dpram_read((drawn >> 16) as u32 & 0xffc)),
        // A buffer that is available, or any word.
        _ => {
            let control =
                [0x0400_0400 | (drawn >> 32) as u32 & 0x8000_a03f, (drawn >> 32) as u32][(drawn >> 31 & 1) as usize];
            // Most often of an endpoint that the bus asks.
            let at = [(drawn >> 16) as u32 & 0x1fc, (drawn >> 16) as u32 & 0x9c][(drawn >> 30 & 1) as usize];
            usb.dpram_write(sys, at, control, 4);
            String::new()
        }
    };
    (answer.bytes().chain(taken)).fold(0u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(byte))
}

#[test]
#[expect(clippy::unit_arg, reason = "calls that tell nothing stand beside those that tell something")]
fn each_part_is_as_recorded() {
    let usb_begin = [(0, 0), (0x74, 9), (0x78, 0xc), (0x40, 1), (0x4c, 0x2001_0000), (0x90, 0xf_ffff)];
    // More reads than the receive FIFO holds.
    let i2c_begin =
        [&[(0x6c, 0), (0, 0x365), (4, 0x50), (0x1c, 20), (0x20, 20), (0x6c, 1)][..], &[(0x10, 0x100); 18]].concat();
    // 40 bytes, in version 0 unpaced, which the sniffer sees.
    let dma_begin = [0x00bf_8031, 0x023f_8031].map(|ctrl| {
        [(0x434, 0x1e1), (0x0, 0x100), (0x4, 0x200), (0x8, 40), (0xc, ctrl), (0x404, 0xffff), (0x420, 0x1_0005)]
    });
    let mut found = vec![
        walk(
            testing::adc,
            0x24,
            &[(0, 0x1f_000b), (8, 0x100_000f), (0x18, 1)],
            |p, s, _| p.event(s),
            |p, s, drawn| {
                s.pins.readings[26 + (drawn >> 8) as usize % 4] =
                    [None, Some((drawn >> 16) as u16)][drawn as usize & 1];
                p.clocks_changed(s);
                p.reads_level(s).into()
            },
        ),
        walk(
            || Spi::new(SerialWires::spi(1, event::SPI0, irq::SPI0, dreq::SPI0_TX, 0xff00_ff00)),
            0x24,
            &[(0, 7), (0x10, 2), (4, 2)],
            |p, s, world| p.event(s, world),
            |p, s, drawn| match drawn & 3 {
                0 => p.refresh_pins(s).into(),
                1 => p.polled(s, 0xc, || s.now()).map_or(7, |(value, until)| until ^ u64::from(value)),
                2 => u64::from(p.shifting()) + p.sck_hz(s),
                _ => then(p.reschedule(s)),
            },
        ),
        walk(
            || Uart::new(SerialWires::uart(1, event::UART0, irq::UART0, dreq::UART0_TX, 0x0ff0_0ff0)),
            0x48,
            &[(0x24, 100), (0x2c, 0x70), (0x30, 0x301), (0x38, 0x7ff), (0x48, 3), (0, 0x55)],
            |p, s, world| p.event(s, world),
            |p, s, drawn| {
                // Levels as of another UART.
                let pins = s.pins.function_mask[2];
                (0..30).filter(|pin| pins >> pin & 1 != 0).for_each(|pin| s.pins.hold(pin, Some(drawn & 4 != 0)));
                p.input_changed(s);
                match drawn & 3 {
                    0 => p.refresh_pins(s).into(),
                    1 => u64::from(p.hears_characters(s)) ^ p.character_ps(s),
                    2 => then(p.receive(s, (drawn >> 8) as u8)),
                    _ => then(p.reschedule(s)),
                }
            },
        ),
        walk(
            || I2c::new(SerialWires::i2c(1, event::I2C0, irq::I2C0, dreq::I2C0_TX, 0xcccc_cccc)),
            0xfc,
            &i2c_begin,
            |p, s, world| p.event(s, world),
            none,
        ),
        walk(|| Pair(Default::default()), 0x7c, &[], nothing, none),
        walk(
            || Psm::new(0x1_ffff, 0x1_fffe),
            0xc,
            &[],
            nothing,
            |p, s, drawn| {
                if drawn & 7 == 0 {
                    p.restart(s);
                }
                p.watchdog_selection().into()
            },
        ),
        walk(
            || Resets::new(0x1ff_ffff),
            8,
            &[],
            nothing,
            |p, s, _| {
                p.watchdog_reset(s);
                u64::from(std::mem::take(&mut s.entering_reset))
            },
        ),
        walk(
            || Pll::new("PLL", |f| &mut f.pll_sys_hz),
            0xc,
            &[(8, 125), (4, 0), (0xc, 0x6_2000)],
            nothing,
            |p, s, _| {
                p.update(s);
                s.freq.pll_sys_hz
            },
        ),
    ];
    found.push(walk(
        || Streamed(XipStream::new(event::SPI0, dreq::SPI0_TX), XipCache::default()),
        0x1c,
        &[(0x14, 0x1000_0100), (0x18, 20)],
        |p, s, _| {
            p.1.offline = p.0.address() & 0x40 != 0;
            p.0.event(s, &p.1, |at| at as u32 + 0x1000);
        },
        |p, s, _| u64::from(p.0.take(s)) + u64::from(p.0.address()),
    ));
    // Both oscillators, a UART, an SPI, a counter and a state machine run.
    let whole_begin: Vec<_> =
        [(2, 0, 0xfa_baa0), (2, 0xc, 1), (7, 0x24, 2), (7, 0x2c, 0x70), (7, 0x30, 0x301), (9, 4, 2)]
            .into_iter()
            .chain([
                (9, 0, 7),
                (9, 0x10, 2),
                (11, 0x10, 99),
                (11, 0xc, 50),
                (11, 0, 1),
                (13, 0xc8, 0x1_0000),
                (13, 0, 0xfff),
            ])
            .map(|(part, offset, bits)| (14 * offset + 4 * part, bits))
            .collect();
    for version in [Version::V0, Version::V1] {
        found.push(walk(|| Whole::new(version), 14 * 0x148, &whole_begin, Whole::event, Whole::call));
        let io = |irq| IoWires { irq, version };
        let pio = PioWires::new(0, version, event::PIO0, testing::irq::PIO0_0, PIN_MASK);
        let dma = DmaWires { event: Event(9), irq: 10, version, channels: 12, dreqs: 40 };
        found.extend([
            walk(
                || Timer::new(TimerWires { version, ..TIMER }),
                0x4c,
                &[(0x38, 15), (0x40, 15), (0x10, 40), (0x14, 70)],
                |p, s, _| p.event(s),
                |p, s, drawn| {
                    s.ticks[0].set_rate(s.now(), 12_000_000, 1 + (drawn & 15));
                    p.clocks_changed(s);
                    0
                },
            ),
            walk(
                || Watchdog::new(WatchdogWires { version, ..WATCHDOG }),
                0x2c,
                &[(4, 100), (0, 0x4000_0000), (0x2c, 0x20c)],
                |p, s, _| p.event(s),
                |p, s, drawn| {
                    p.clocks_changed(s);
                    if drawn & 3 == 0 {
                        p.watchdog_reset(s, drawn & 4 != 0);
                    }
                    0
                },
            ),
            walk(
                || Xosc::new(event::XOSC, version),
                0x1c,
                &[(0xc, 1), (0, 0xfa_baa0)],
                |p, s, _| p.event(s),
                |p, s, _| {
                    p.wake(s);
                    s.freq.xosc_hz
                },
            ),
            walk(
                || Rosc::new(version),
                0x24,
                &[(4, 0x9696_0000), (8, 0x9696_0000)],
                nothing,
                |p, s, drawn| {
                    if drawn & 1 == 0 {
                        p.wake(s)
                    } else {
                        p.update(s)
                    }
                    s.freq.rosc_hz
                },
            ),
            walk(
                || Clocks::new(ClocksWires { version, ..testing::CLOCKS }),
                0xc8,
                &[],
                |p, s, _| p.event(s),
                |p, s, drawn| match drawn & 3 {
                    0 => p.drives_pins(s).into(),
                    1 => then(p.refresh_pins(s)),
                    2 => then(p.reschedule(s)),
                    _ => {
                        p.update(s);
                        let f = &s.freq;
                        f.clk_ref_hz ^ f.clk_sys_hz << 1 ^ f.clk_peri_hz << 2 ^ f.clk_usb_hz << 3 ^ f.clk_adc_hz << 4
                    }
                },
            ),
            walk(
                || IoBank0::new(io(13)),
                0x320,
                &[],
                nothing,
                |p, s, drawn| {
                    match drawn & 3 {
                        0 => p.edges_passed(s, drawn >> 8 & s.pins.mask(), drawn.rotate_left(17) & s.pins.mask()),
                        _ => p.input_changed(s),
                    }
                    u64::from(p.wakes()) * 2 + u64::from(p.may_wake())
                },
            ),
            walk(
                || IoQspi::new(io(14)),
                0x80,
                &[],
                nothing,
                |p, s, drawn| {
                    p.set_sio(s, (drawn >> 8) as u32 & 0xff, (drawn >> 16) as u32 & 0xff);
                    p.bootsel_pressed = drawn & 1 != 0;
                    u64::from(std::mem::take(&mut p.ss_dirty)) * 2048
                        + u64::from(p.gpio_hi_in()) * 8
                        + u64::from(p.wakes()) * 4
                        + p.ss_override().map_or(2, u64::from)
                },
            ),
            walk(
                || PadsBank0::new(version),
                0xcc,
                &[],
                nothing,
                |p, s, drawn| if drawn & 7 == 0 { then(p.power_on(s)) } else { s.pins.level() },
            ),
            walk(|| PadsQspi::new(version), 0x18, &[], nothing, none),
            walk(
                || Pwm::new(PwmWires { version, ..PWM }),
                0x108,
                &[(0x10, 99), (0xc, 50), (0, 1), (0xa0, 0xff), (0xa4, 0xff), (0xa8, 0xff)],
                |p, s, _| p.event(s),
                |p, s, drawn| match drawn & 3 {
                    0 => p.drives_pins(s).into(),
                    1 => then(p.refresh_pins(s)),
                    2 => then(p.reschedule(s)),
                    _ => then(p.input_changed(s)),
                },
            ),
            walk(
                || Pio::new(pio),
                0x188,
                &[(0xc8, 0x1_0000), (0xe0, 0x1_8000), (0, 0xfff), (0x12c, 0xfff), (0x14, 7)],
                |p, s, _| p.event(s),
                |p, s, drawn| match drawn & 3 {
                    0 => then(p.clocks_changed(s)),
                    1 => then(p.write_ctrl_of_neighbour(s, Write::normal((drawn >> 8) as u32 & 0xf0f), drawn & 4 != 0)),
                    _ => then(p.input_changed(s)),
                },
            ),
            walk(|| Usb::new(UsbWires { version, ..USB }), 0x110, &usb_begin, |p, s, _| p.event(s), on_the_bus),
            walk(
                || Moved(Dma::new(dma), (0..=255).cycle().take(4096).collect()),
                0x8fc,
                &dma_begin[version as usize],
                |p, s, _| Dma::service(&mut OnBus(&mut p.0, s, &mut p.1, 0)),
                |p, s, drawn| {
                    s.set_dreq((drawn >> 8) as u32 % 40, drawn & 1 != 0);
                    p.0.requests_changed(s);
                    let from = (drawn >> 16) as usize % 4000;
                    p.1[from..from + 64].iter().fold(0u64, |sum, &byte| sum.wrapping_mul(31) ^ u64::from(byte))
                },
            ),
        ]);
    }
    let recorded: [u32; 37] = [
        0xc60f9c34, 0xe9b74bba, 0x1a236997, 0xe60adb45, 0x1084ecf9, 0x0d156316, 0xe4f8f5d4, 0x9a61263c, 0x9c46fe67,
        0x38ca1928, 0x4279bce7, 0xd95e8550, 0x23dd8a0a, 0x6b3dd1a5, 0x7fb0e998, 0x7bb1fdae, 0x693fd116, 0xe87a2361,
        0x4d49f9fa, 0x0f83887b, 0x533b1742, 0xd256a68b, 0xd12c4cbc, 0x5c4796c2, 0x7ff377bc, 0xb7a96f64, 0x0c4a731a,
        0x80938786, 0x93d7fd84, 0x00bad144, 0x2447e1d8, 0xe050a598, 0x3859ecb8, 0x53689948, 0x51cf81df, 0xd20d6d2c,
        0x8b88ba7b,
    ];
    let changed: Vec<_> = found.iter().zip(recorded).filter(|((_, sum), recorded)| sum != recorded).collect();
    assert!(found.len() == recorded.len() && changed.is_empty(), "{changed:x?}, of {found:#x?}");
}
