//! SPI: several devices on one bus, another bus, GPIO instead of the controller, reset and interrupt pins.

use chip::pins::function;
use portbench_engine::mcu::RP2040;
use portbench_engine::{Attachment, BoardConfig, Machine, SidePins, SpiWires};
use sim::{Device, Lanes, PS_PER_MS, PS_PER_US, Ps, SpiDevice, SpiFrame};

use super::super::snapshot::branch_to_itself;
use super::rig::{CYCLE_PS, Log, Rig, taken};

const SPI0: u32 = 0x4003_c000;
const SPI1: u32 = 0x4004_0000;
/// FUNCSEL of a pin that no peripheral drives.
const NO_FUNCTION: usize = 31;
/// CPSR 4, SCR 0: a bit takes four cycles of clk_peri.
const BIT_PS: Ps = 4 * CYCLE_PS;
/// From the write to the data register to the last edge of SCK: half a bit before the first.
const BYTE_PS: Ps = BIT_PS / 2 + 8 * BIT_PS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Select(bool),
    Byte(u8),
    Reset(bool),
    Timer,
    LogTaken,
}

/// A device that answers with `answer`; a byte pulls its interrupt pin low for `pulse`.
struct Probe {
    answer: u8,
    pulse: Ps,
    low_until: Option<Ps>,
    in_reset: bool,
    logging: bool,
    frames: Vec<SpiFrame>,
    log: Log<(Ps, u8, Seen)>,
}

impl Probe {
    fn new(answer: u8, pulse: Ps, log: &Log<(Ps, u8, Seen)>) -> Self {
        let (in_reset, logging, low_until) = (false, false, None);
        Self { answer, pulse, low_until, in_reset, logging, frames: Vec::new(), log: log.clone() }
    }

    fn note(&self, now: Ps, seen: Seen) {
        self.log.lock().expect("no test panicked").push((now, self.answer, seen));
    }
}

impl Device for Probe {
    fn name(&self) -> &'static str {
        "PROBE"
    }

    fn set_reset(&mut self, now: Ps, low: bool) {
        if std::mem::replace(&mut self.in_reset, low) != low {
            self.note(now, Seen::Reset(low));
        }
    }

    fn interrupt_low(&self) -> bool {
        self.low_until.is_some()
    }

    fn next_event(&self) -> Option<Ps> {
        self.low_until
    }

    fn advance(&mut self, now: Ps) {
        if self.low_until.take_if(|until| *until <= now).is_some() {
            self.note(now, Seen::Timer);
        }
    }
}

impl SpiDevice for Probe {
    fn select(&mut self, now: Ps, low: bool) {
        self.note(now, Seen::Select(low));
    }

    fn exchange(&mut self, now: Ps, mosi: u8) -> u8 {
        self.note(now, Seen::Byte(mosi));
        if self.pulse != 0 {
            self.low_until = Some(now + self.pulse);
        }
        if self.logging {
            let (name, meaning, data) = (String::from("byte"), String::new(), vec![mosi]);
            let (write, address, len, wire_bytes) = (true, 0, 1, 1);
            self.frames.push(SpiFrame { start: now, end: now, write, address, len, wire_bytes, name, data, meaning });
        }
        self.answer
    }

    fn set_log(&mut self, on: bool) {
        self.logging = on;
    }

    fn take_log(&mut self) -> Vec<SpiFrame> {
        self.note(0, Seen::LogTaken);
        std::mem::take(&mut self.frames)
    }
}

fn on_spi0(csn: u32, side: SidePins) -> SpiWires {
    SpiWires { spi: Some(0), sck: 18, mosi: 19, miso: 16, io: None, csn, side }
}

fn on_spi1(csn: u32) -> SpiWires {
    SpiWires { spi: Some(1), sck: 10, mosi: 11, miso: 12, io: None, csn, side: SidePins::default() }
}

/// Two devices on SPI0 with chip selects 17 and 22, the second with RSTn 20 and INTn 21, and one on SPI1 with 13.
fn rig(log: &Log<(Ps, u8, Seen)>, pulse: Ps) -> Rig {
    let mut rig = Rig::new(|wiring| {
        wiring.attach_spi(on_spi0(17, SidePins::default()), Probe::new(0xa5, pulse, log));
        wiring.attach_spi(on_spi0(22, SidePins { rstn: Some(20), intn: Some(21) }), Probe::new(0x3c, pulse, log));
        wiring.attach_spi(on_spi1(13), Probe::new(0x81, pulse, log));
    });
    for pin in [16, 18, 19, 10, 11, 12] {
        rig.function(pin, function::SPI);
    }
    for csn in [17, 22, 13] {
        rig.output(csn, true);
    }
    for base in [SPI0, SPI1] {
        rig.write(base, 7);
        rig.write(base + 0x10, 4);
        rig.write(base + 4, 2);
    }
    taken(log);
    rig
}

fn exchange(rig: &mut Rig, base: u32, byte: u8) -> u32 {
    rig.write(base + 8, u32::from(byte));
    rig.run(PS_PER_US);
    rig.read(base + 8)
}

#[test]
fn a_chip_select_chooses_the_device_on_a_shared_bus() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    assert_eq!(exchange(&mut rig, SPI0, 1), 0xff, "MISO is not driven");
    for (csn, answer) in [(17, 0xa5), (22, 0x3c)] {
        let start = rig.now();
        rig.output(csn, false);
        assert_eq!(exchange(&mut rig, SPI0, 0x42), u32::from(answer));
        assert_eq!(exchange(&mut rig, SPI1, 0x24), 0xff, "the other bus");
        let end = rig.now();
        rig.output(csn, true);
        let byte_end = start + BYTE_PS;
        let expected = [(start, Seen::Select(true)), (byte_end, Seen::Byte(0x42)), (end, Seen::Select(false))];
        assert_eq!(taken(&log), expected.map(|(at, seen)| (at, answer, seen)));
    }
    assert_eq!(taken(&log), []);
}

#[test]
fn a_device_on_the_other_controller_hears_only_that() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    rig.output(13, false);
    assert_eq!(exchange(&mut rig, SPI0, 1), 0xff);
    assert_eq!(exchange(&mut rig, SPI1, 2), 0x81);
    let seen: Vec<(u8, Seen)> = taken(&log).into_iter().map(|(_, answer, seen)| (answer, seen)).collect();
    assert_eq!(seen, [(0x81, Seen::Select(true)), (0x81, Seen::Byte(2))]);
}

#[test]
fn two_selected_devices_both_pull_miso_low() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    rig.output(17, false);
    rig.output(22, false);
    assert_eq!(exchange(&mut rig, SPI0, 9), 0xa5 & 0x3c);
}

#[test]
fn sixteen_bit_frames_are_two_bytes() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    rig.write(SPI0, 15);
    rig.output(17, false);
    rig.write(SPI0 + 8, 0x1234);
    rig.run(PS_PER_US);
    assert_eq!(rig.read(SPI0 + 8), 0xa5a5);
    let bytes: Vec<Seen> = taken(&log).into_iter().map(|(_, _, seen)| seen).collect();
    assert_eq!(bytes, [Seen::Select(true), Seen::Byte(0x12), Seen::Byte(0x34)]);
}

#[test]
fn a_pin_without_the_spi_function_carries_nothing() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    rig.output(17, false);
    rig.function(19, function::SIO);
    assert_eq!(exchange(&mut rig, SPI0, 0x42), 0xa5);
    assert_eq!(taken(&log).last().map(|seen| seen.2), Some(Seen::Byte(0)), "MOSI is not connected");
    rig.function(18, function::SIO);
    assert_eq!(exchange(&mut rig, SPI0, 0x42), 0, "no SCK");
    assert_eq!(taken(&log), []);
}

/// Exchanges a byte on GPIO 18, 19 and 16.
fn clock_byte(rig: &mut Rig, byte: u8) -> u8 {
    (0..8).rev().fold(0, |read, bit| {
        rig.output(19, byte & (1 << bit) != 0);
        rig.output(18, true);
        let miso = rig.input(16);
        rig.output(18, false);
        (read << 1) | u8::from(miso)
    })
}

#[test]
fn gpio_can_clock_a_device() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    for pin in [18, 19] {
        rig.output(pin, false);
    }
    rig.output(22, false);
    rig.function(16, function::SIO);
    taken(&log);
    clock_byte(&mut rig, 0x96);
    assert_eq!(clock_byte(&mut rig, 0x00), 0x3c, "the answer to the first byte comes with the second");
    let seen: Vec<(u8, Seen)> = taken(&log).into_iter().map(|(_, answer, seen)| (answer, seen)).collect();
    assert_eq!(seen, [(0x3c, Seen::Byte(0x96)), (0x3c, Seen::Byte(0x00))]);
}

#[test]
fn gpio_reads_an_ethernet_chip_in_the_byte_that_it_names() {
    let mut rig = Rig::new(|wiring| {
        let side = SidePins::default();
        let wires = |csn| SpiWires { spi: None, sck: 18, mosi: 19, miso: 16, io: None, csn, side };
        wiring.attach_spi(wires(17), wiznet::W5500::new(wiznet::Config::default()));
        wiring.attach_spi(wires(22), wiznet::chip::w5100s::W5100S::new(wiznet::Config::default()));
    });
    [17, 22].into_iter().for_each(|csn| rig.output(csn, true));
    rig.output(18, false);
    rig.function(16, function::SIO);
    rig.run(10 * PS_PER_MS);
    // VERSIONR, and the low byte of RTR.
    for (csn, frame, value) in [(17, [0x00, 0x39, 0x00, 0x00], 4), (22, [0x0f, 0x00, 0x18, 0x00], 0xd0)] {
        rig.output(csn, false);
        let read = frame.map(|byte| clock_byte(&mut rig, byte));
        rig.output(csn, true);
        assert_eq!(read[3], value);
    }
}

/// A memory of one byte. A command on one lane has the number of those for the next byte, which is written; a byte
/// with the highest bit of the command reads it.
#[derive(Default)]
struct Latch {
    command: Option<u8>,
    latched: u8,
}

impl Device for Latch {
    fn name(&self) -> &'static str {
        "LATCH"
    }
}

impl SpiDevice for Latch {
    fn select(&mut self, _now: Ps, _low: bool) {
        self.command = None;
    }

    fn exchange(&mut self, _now: Ps, mosi: u8) -> u8 {
        match self.command {
            None => self.command = Some(mosi),
            Some(command) if command & 0x80 == 0 => self.latched = mosi,
            Some(_) => {}
        }
        0xff
    }

    fn lanes(&self) -> Lanes {
        self.command.map_or(Lanes::SINGLE, |command| Lanes {
            count: command & 7,
            out: (command & 0x80 != 0).then_some(self.latched),
        })
    }
}

#[test]
fn a_device_has_one_two_or_four_lanes() {
    const IO: [u32; 4] = [18, 19, 20, 21];
    let side = SidePins::default();
    let wires = SpiWires { spi: None, sck: 17, mosi: IO[0], miso: IO[1], io: Some([IO[2], IO[3]]), csn: 16, side };
    let mut rig = Rig::new(|wiring| wiring.attach_spi(wires, Latch::default()));
    rig.output(16, true);
    rig.output(17, false);
    // Outputs a byte on the first pins, or reads one from them; with one lane, from IO1.
    let clock = |rig: &mut Rig, byte: Option<u8>, lanes: u32| {
        (0..8 / lanes).rev().fold(0, |read, step| {
            IO.into_iter().for_each(|pin| rig.function(pin, NO_FUNCTION));
            for (lane, pin) in (0..lanes).zip(IO) {
                if let Some(byte) = byte {
                    rig.output(pin, byte >> (step * lanes + lane) & 1 != 0);
                }
            }
            let inputs = if lanes == 1 { &IO[1..2] } else { &IO[..lanes as usize] };
            let levels = inputs.iter().rev().fold(0, |levels, &pin| levels << 1 | u8::from(rig.input(pin)));
            rig.output(17, true);
            rig.output(17, false);
            read << lanes | levels
        })
    };
    let frame = |rig: &mut Rig, command: u8, byte: Option<u8>| {
        rig.output(16, false);
        clock(rig, Some(command), 1);
        let read = clock(rig, byte, u32::from(command & 7));
        rig.output(16, true);
        read
    };
    for (lanes, byte) in [(4, 0xa5), (2, 0x96), (1, 0x3c), (4, 0xff)] {
        frame(&mut rig, lanes, Some(byte));
        assert_eq!(frame(&mut rig, 0x80 | lanes, None), byte, "{lanes} lanes");
    }
    assert_eq!(IO.map(|pin| rig.input(pin)), [false; 4], "a device that is not selected drives none");
}

#[test]
fn reset_and_interrupt_pins_reach_their_device() {
    let log = Log::default();
    let mut rig = rig(&log, 3 * PS_PER_US);
    let start = rig.now();
    rig.output(20, false);
    rig.output(20, true);
    assert_eq!(taken(&log), [(start, 0x3c, Seen::Reset(true)), (start, 0x3c, Seen::Reset(false))]);
    assert!(rig.input(21));
    rig.output(22, false);
    exchange(&mut rig, SPI0, 1);
    assert!(!rig.input(21));
    rig.run(3 * PS_PER_US);
    assert!(rig.input(21));
    let byte_end = start + BYTE_PS;
    assert_eq!(taken(&log).last(), Some(&(byte_end + 3 * PS_PER_US, 0x3c, Seen::Timer)));
}

#[test]
fn a_pin_that_pwm_drives_shows_every_edge() {
    const SLICE2: u32 = 0x4005_0028;
    let log = Log::default();
    let mut rig = rig(&log, 0);
    // GPIO20 is channel A of slice 2: high for 6 of 10 cycles.
    for (offset, value) in [(0x10, 9), (0x0c, 6), (0x00, 1)] {
        rig.write(SLICE2 + offset, value);
    }
    rig.function(20, function::PWM);
    rig.run(20 * CYCLE_PS);
    let (times, seen): (Vec<Ps>, Vec<Seen>) = taken(&log).into_iter().map(|(at, _, seen)| (at, seen)).unzip();
    let (low, high) = (Seen::Reset(true), Seen::Reset(false));
    assert_eq!(seen, [low, high, low, high]);
    let gaps: Vec<Ps> = times.windows(2).map(|pair| (pair[1] - pair[0]) / CYCLE_PS).collect();
    assert_eq!(gaps, [4, 6, 4]);
}

#[test]
fn devices_due_at_once_are_handled_in_order_of_attachment() {
    let log = Log::default();
    let mut rig = rig(&log, 2 * PS_PER_US);
    for csn in [22, 17] {
        rig.output(csn, false);
    }
    exchange(&mut rig, SPI0, 1);
    taken(&log);
    rig.run(4 * PS_PER_US);
    let timers: Vec<(u8, Seen)> = taken(&log).into_iter().map(|(_, answer, seen)| (answer, seen)).collect();
    assert_eq!(timers, [(0xa5, Seen::Timer), (0x3c, Seen::Timer)]);
}

#[test]
fn the_spi_log_has_all_devices_by_time() {
    let log = Log::default();
    let mut rig = rig(&log, 0);
    rig.output(13, false);
    rig.output(17, false);
    exchange(&mut rig, SPI1, 1);
    let reader = rig.wiring().log_spi();
    exchange(&mut rig, SPI1, 2);
    let other = rig.wiring().log_spi();
    exchange(&mut rig, SPI0, 3);
    exchange(&mut rig, SPI1, 4);
    let frames = rig.wiring().take_spi_log(&reader);
    rig.wiring().end_spi_log(reader);
    exchange(&mut rig, SPI0, 5);
    assert!(frames.iter().all(|(device, _)| *device == "PROBE"));
    assert_eq!(frames.iter().map(|(_, frame)| frame.data[0]).collect::<Vec<_>>(), [2, 3, 4]);
    let frames = rig.wiring().take_spi_log(&other);
    assert_eq!(frames.iter().map(|(_, frame)| frame.data[0]).collect::<Vec<_>>(), [3, 4, 5], "another device");
    rig.wiring().end_spi_log(other);
    exchange(&mut rig, SPI0, 6);
    let reader = rig.wiring().log_spi();
    assert_eq!(rig.wiring().take_spi_log(&reader), []);
}

#[test]
fn a_board_takes_the_frames_from_its_devices_though_nobody_reads_the_log() {
    let log = Log::default();
    let logs = log.clone();
    let device = Attachment::spi(on_spi1(13), move || Probe::new(0, 0, &logs));
    let mut board =
        Machine::new(BoardConfig::pico(branch_to_itself(&RP2040)).with(device), &[], false).expect("a board");
    let takes_in_5_ms = |board: &mut Machine| {
        board.run(board.now() + 5 * PS_PER_MS).expect("a branch");
        taken(&log).iter().filter(|(_, _, seen)| *seen == Seen::LogTaken).count()
    };
    assert_eq!(takes_in_5_ms(&mut board), 0, "nothing is logged");
    board.wiring().log_spi();
    assert_eq!(takes_in_5_ms(&mut board), 5);
}
