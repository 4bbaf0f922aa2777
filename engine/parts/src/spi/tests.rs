use super::*;
use crate::testing::{self, dreq, event, function, irq};
use chip::Alias;

/// Answers every frame with its complement.
#[derive(Default)]
struct Recorder {
    /// Time of the last edge, controller, MOSI, bits.
    frames: Vec<(Ps, usize, u16, u8)>,
}

impl World for Recorder {
    fn spi_frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> u16 {
        self.frames.push((sys.now(), spi, mosi, bits));
        !mosi
    }
}

const HZ: u64 = 125_000_000;

struct Bench {
    spi: Spi,
    sys: Sys,
    world: Recorder,
}

impl Bench {
    /// SPI0 on GPIO16, 18 and 19 at clk_peri / 4 with 8-bit frames.
    fn new(mode: u32) -> Self {
        let mut sys = testing::sys(HZ);
        sys.freq.clk_peri_hz = HZ;
        sys.pins.function_mask[function::SPI] = 0x000d_0000;
        let mut b = Self { spi: testing::spi(), sys, world: Recorder::default() };
        b.w(reg::CPSR, 4);
        b.w(reg::CR0, 7 | (mode << 6));
        b.w(reg::CR1, cr1::SSE);
        b
    }

    fn w(&mut self, offset: u32, value: u32) {
        self.spi.write(&mut self.sys, offset, Write::normal(value));
    }

    fn r(&mut self, offset: u32) -> u32 {
        self.spi.read(&mut self.sys, offset)
    }

    fn run(&mut self, until: Ps) {
        while let Some(id) = self.sys.take_event(until) {
            assert_eq!(id, event::SPI0);
            self.spi.event(&mut self.sys, &mut self.world);
        }
        self.sys.cycle = self.sys.clock.cycle_at(until);
    }
}

/// One period of SCK in the benches: 4 cycles of 8 ns.
const SCK: Ps = 32_000;

#[test]
fn reset_values() {
    let mut spi = testing::spi();
    let mut sys = testing::sys(HZ);
    for offset in (0..0x1000).step_by(4) {
        let expected = match offset {
            reg::SR => 3,
            reg::RIS => 8,
            reg::PERIPHID0.. => IDENTIFICATION[(offset as usize - 0xfe0) / 4],
            _ => 0,
        };
        assert_eq!(spi.read(&mut sys, offset), expected, "{offset:#x}");
    }
}

#[test]
fn a_reset_lets_the_pins_idle() {
    for mode in 0..4 {
        let mut b = Bench::new(mode);
        b.w(reg::DR, 0x55); // which leaves TX high
        b.run(20 * SCK);
        let levels = |b: &Bench| (b.sys.pins.function_out[function::SPI] >> 17 & 7) as u32;
        assert_ne!(levels(&b), 1, "mode {mode}");
        b.spi.reset(&mut b.sys);
        assert_eq!(levels(&b), 1, "mode {mode}");
    }
}

#[test]
fn frames_have_the_timing_of_their_format() {
    // (mode as SPH << 1 | SPO, last edge, distance of frames) in half periods.
    for (mode, last, period) in [(0, 17, 19), (1, 17, 19), (2, 16, 16), (3, 16, 16)] {
        let mut b = Bench::new(mode);
        for byte in [0xa5, 0x5a, 0x00] {
            b.w(reg::DR, byte);
        }
        b.run(1_000_000_000);
        let at: Vec<Ps> = b.world.frames.iter().map(|f| f.0).collect();
        let half = SCK / 2;
        assert_eq!(at, [last * half, (period + last) * half, (2 * period + last) * half], "mode {mode}");
        assert_eq!(b.world.frames.iter().map(|f| f.2).collect::<Vec<_>>(), [0xa5, 0x5a, 0]);
    }
}

#[test]
fn the_rate_is_clk_peri_over_cpsdvsr_and_scr() {
    let mut b = Bench::new(0);
    b.sys.freq.clk_peri_hz = 48_000_000;
    b.w(reg::CPSR, 25);
    assert_eq!(b.r(reg::CPSR), 24);
    b.w(reg::CR0, 15 | (4 << 8));
    b.w(reg::DR, 0x1_1234);
    b.run(1_000_000_000);
    // 33 half periods of 24 * 5 / 2 cycles of 48 MHz.
    assert_eq!(b.world.frames, [(33 * 60 * 1_000_000_000_000 / 48_000_000, 0, 0x1234, 16)]);
}

#[test]
fn busy_lasts_until_the_chip_select_rises() {
    let mut b = Bench::new(0);
    b.w(reg::DR, 1);
    assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::BSY);
    b.run(17 * SCK / 2);
    assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::RNE | sr::BSY);
    b.run(18 * SCK / 2);
    assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::RNE);
    assert_eq!(b.sys.next_due(), NEVER);
}

#[test]
fn reads_return_the_worlds_answer_or_loop_back() {
    let mut b = Bench::new(0);
    b.w(reg::DR, 0x12);
    b.run(SCK * 100);
    assert_eq!(b.r(reg::DR), 0xed, "the recorder returns the complement");
    b.w(reg::CR1, cr1::SSE | cr1::LBM);
    b.w(reg::DR, 0x34);
    b.run(SCK * 200);
    assert_eq!(b.r(reg::DR), 0x34);
    assert_eq!(b.r(reg::DR), 0);
    b.w(reg::CR1, cr1::SSE);
    b.sys.pins.function_mask[function::SPI] = 0;
    b.w(reg::DR, 0x56);
    b.run(SCK * 300);
    assert_eq!((b.r(reg::DR), b.world.frames.len()), (0, 2), "no pin, no frame");
}

#[test]
fn fifos_hold_eight_and_overrun() {
    let mut b = Bench::new(2);
    b.w(reg::CR1, 0);
    for byte in 0..10 {
        b.w(reg::DR, byte);
    }
    assert_eq!(b.r(reg::SR), sr::BSY);
    b.w(reg::CR1, cr1::SSE | cr1::LBM);
    assert_eq!(b.r(reg::SR) & sr::TNF, sr::TNF, "one is in the shift register");
    b.w(reg::DR, 0x77);
    b.run(SCK * 200);
    assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::RNE | sr::RFF);
    assert_eq!(b.r(reg::RIS), int::ROR | int::RX | int::TX | int::RT);
    b.w(reg::ICR, int::ROR);
    assert_eq!(b.r(reg::RIS) & int::ROR, 0);
    assert_eq!((0..8).map(|_| b.r(reg::DR)).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
}

#[test]
fn interrupts_follow_fifo_levels() {
    let mut b = Bench::new(0);
    b.w(reg::IMSC, int::TX | int::RX);
    let line = |b: &Bench| b.sys.irq_level() & (1 << irq::SPI0) != 0;
    assert!(line(&b));
    for _ in 0..6 {
        b.w(reg::DR, 1);
    }
    assert_eq!((b.r(reg::MIS), line(&b)), (0, false), "five wait");
    let frame = 19 * SCK / 2;
    b.run(17 * SCK / 2);
    assert_eq!(b.r(reg::MIS), int::TX);
    b.run(3 * frame + 17 * SCK / 2);
    assert_eq!(b.r(reg::MIS), int::TX | int::RX);
}

#[test]
fn a_receive_timeout_comes_after_32_bits_without_a_read() {
    let mut b = Bench::new(0);
    b.w(reg::IMSC, int::RT);
    b.w(reg::DR, 1);
    b.w(reg::DR, 2);
    let idle = (19 + 18) * SCK / 2;
    b.run(idle + 32 * SCK - 1_000);
    b.sys.cycle -= 1;
    assert_eq!(b.r(reg::MIS), 0);
    b.run(idle + 32 * SCK);
    assert_eq!((b.r(reg::MIS), b.sys.irq_level() >> irq::SPI0 & 1), (int::RT, 1));
    b.w(reg::ICR, int::RT);
    assert_eq!((b.r(reg::MIS), b.sys.irq_level() >> irq::SPI0 & 1), (0, 0));
    b.r(reg::DR);
    assert_eq!(b.sys.due(event::SPI0), b.sys.now() + 32 * SCK);
    b.r(reg::DR);
    assert_eq!(b.sys.due(event::SPI0), NEVER);
}

#[test]
fn dreqs_follow_the_fifos() {
    let mut b = Bench::new(0);
    assert_eq!(b.sys.dreq_level(), 0);
    b.w(reg::DMACR, 3);
    assert_eq!(b.sys.dreq_level(), 1 << dreq::SPI0_TX);
    for _ in 0..9 {
        b.w(reg::DR, 1);
    }
    assert_eq!(b.sys.dreq_level(), 0);
    b.run(17 * SCK / 2);
    assert_eq!(b.sys.dreq_level(), (1 << dreq::SPI0_TX) | (1 << dreq::SPI0_RX));
    b.r(reg::DR);
    assert_eq!(b.sys.dreq_level(), 1 << dreq::SPI0_TX);
}

#[test]
fn the_hardware_chip_select_pulses_per_frame_only_with_sph_0() {
    for (mode, expected_falls, expected_rises) in [(0, &[0, 19, 38][..], &[18, 37, 56][..]), (2, &[0], &[50])] {
        let mut b = Bench::new(mode);
        b.sys.pins.function_mask[function::SPI] |= 1 << 17;
        b.sys.pins.refresh();
        assert_eq!(b.sys.pins.level() >> 17 & 1, 1);
        for _ in 0..3 {
            b.w(reg::DR, 1);
        }
        let half = SCK / 2;
        let mut falls = vec![0];
        let mut rises = vec![];
        let mut low = true;
        while let Some(_id) = b.sys.take_event(NEVER - 1) {
            b.spi.event(&mut b.sys, &mut b.world);
            let now_low = b.sys.pins.level() >> 17 & 1 == 0;
            if now_low != low {
                if now_low { &mut falls } else { &mut rises }.push(b.sys.now() / half);
            }
            low = now_low;
        }
        assert_eq!((falls, rises), (expected_falls.to_vec(), expected_rises.to_vec()), "mode {mode}");
    }
}

#[test]
fn clock_polarity_shows_on_the_idle_pin() {
    let mut b = Bench::new(1);
    assert_eq!(b.sys.pins.level() >> 18 & 1, 1);
    b.w(reg::CR0, 7);
    b.sys.pins.refresh();
    assert_eq!(b.sys.pins.level() >> 18 & 1, 0);
}

#[test]
fn other_formats_are_timed() {
    for (frf, at) in [(1, 18), (2, 35)] {
        let mut b = Bench::new(0);
        b.w(reg::CR0, 7 | (frf << 4));
        b.w(reg::DR, 0xc3);
        b.run(1_000_000_000);
        assert_eq!(b.world.frames, [(at * SCK / 2, 0, 0xc3, 8)]);
    }
    let mut b = Bench::new(0);
    b.w(reg::CR0, 7 | (3 << 4));
    b.w(reg::DR, 1);
    assert!(b.sys.unmodelled.is_some());
    let mut b = Bench::new(0);
    b.w(reg::CR1, cr1::SSE | cr1::MS);
    assert!(b.sys.unmodelled.is_some());
}

#[test]
fn frames_are_traced() {
    let mut b = Bench::new(0);
    b.sys.trace.start(kind::SPI, 4);
    b.w(reg::DR, 0x0f);
    b.run(1_000_000_000);
    assert_eq!(b.sys.trace.take().0, [(17 * SCK / 2, Record::Spi { spi: 0, mosi: 0x0f, miso: 0xf0 })]);
}

#[test]
fn random_use_never_panics() {
    let mut b = Bench::new(0);
    let mut random = sim::SplitMix64::new(0x2545_f491_4f6c_dd1d);
    for _ in 0..200_000 {
        let x = random.draw();
        let value = (x >> 32) as u32;
        match x % 8 {
            0..3 => {
                let alias = [Alias::Normal, Alias::Xor, Alias::Set, Alias::Clear][(x >> 20) as usize % 4];
                b.spi.write(&mut b.sys, (x >> 8) as u32 & 0x3c, Write { bits: value, alias });
            }
            3..5 => b.w(reg::DR, value),
            5 => {
                b.r((x >> 8) as u32 & 0xffc);
            }
            6 => b.sys.freq.clk_peri_hz = [0, 1, 48_000_000, 125_000_000][value as usize % 4],
            _ => {
                let until = b.sys.now() + u64::from(value);
                b.run(until);
            }
        }
    }
}

#[test]
fn an_access_after_pending_edges_drops_none() {
    let mut b = Bench::new(0);
    b.sys.follow_pins(0, 1 << 18);
    b.w(reg::DR, 0x00);
    let (mut edges, mut high) = (Vec::new(), false);
    while b.sys.next_due() != NEVER {
        // Some edges, 2 cycles apart, are due before the access and not handled yet.
        b.sys.cycle += 13;
        b.w(reg::ICR, 0);
        while b.sys.take_event(b.sys.clock.ps_at(b.sys.cycle)).is_some() {
            b.spi.event(&mut b.sys, &mut b.world);
            if high != (b.sys.pins.function_out[function::SPI] >> 18 & 1 != 0) {
                high = !high;
                edges.push(b.sys.now());
            }
        }
    }
    assert_eq!(edges, (2..=17).map(|half| SCK / 2 * half).collect::<Vec<_>>());
}

#[test]
fn the_status_lasts_to_the_next_event_or_to_the_rise_of_the_chip_select() {
    let mut b = Bench::new(0);
    let polled = |b: &Bench| b.spi.polled(&b.sys, reg::SR, || b.sys.now());
    assert_eq!(polled(&b), Some((sr::TFE | sr::TNF, u64::MAX)));
    assert_eq!(b.spi.polled(&b.sys, reg::DR, || 0), None);
    b.w(reg::DR, 1);
    b.w(reg::DR, 2);
    assert_eq!(polled(&b), Some((sr::TNF | sr::BSY, u64::MAX)));
    // The first frame's last edge; the second starts one and a half periods later, and is about to until then.
    b.run(17 * SCK / 2);
    assert_eq!(polled(&b), Some((sr::TFE | sr::TNF | sr::RNE | sr::BSY, u64::MAX)));
    b.run((19 + 17) * SCK / 2);
    let rises = b.sys.clock.cycle_at((19 + 18) * SCK / 2);
    assert_eq!(polled(&b), Some((sr::TFE | sr::TNF | sr::RNE | sr::BSY, rises)));
    for (cycle, busy) in [(rises - 1, sr::BSY), (rises, 0)] {
        b.sys.cycle = cycle;
        let value = sr::TFE | sr::TNF | sr::RNE | busy;
        assert_eq!((polled(&b).map(|(value, _)| value), b.r(reg::SR)), (Some(value), value));
    }
}
