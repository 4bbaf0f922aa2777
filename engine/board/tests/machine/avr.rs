//! Boards with an ATmega run the guests of `firmware/avr`, and take the times that `docs/evidence/avr.md` has.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::{Arc, Mutex};

use lan::{Faults, TcpEcho};
use portbench_engine::{BoardConfig, Chip, Machine, Stop, flash_of_image};
use sim::{AppReply, EthernetChip, PS_PER_MS, PS_PER_S, PS_PER_US, Ps, SplitMix64, TcpApp, asked};

const BOARD: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 100);

/// Returns a board of `config` with a guest in its flash, after 300 ms: its link is up.
fn board_with(mut config: BoardConfig, guest: &str) -> Machine {
    config.phy.phy_link_delay = 100 * PS_PER_MS;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/avr").join(guest);
    let image = std::fs::read(&path).expect("a guest");
    let flash = flash_of_image(config.mcu, &image).expect("an image for the chip");
    let mut board = Machine::new(config, &flash, false).expect("a valid board");
    run(&mut board, 300 * PS_PER_MS);
    board
}

fn run(board: &mut Machine, until: Ps) {
    assert_eq!(board.run(until).expect("nothing that is not modelled"), Stop::Time);
}

/// Downloads a page.
#[derive(Clone)]
struct Download {
    request: String,
    /// Bytes of the page, when the request was handed over, and when the page ended.
    got: Arc<Mutex<(usize, Ps, Option<Ps>)>>,
}

impl TcpApp for Download {
    fn accept(&mut self, _: u64, _: SocketAddrV4, now: Ps) -> AppReply {
        self.got.lock().expect("no panic").1 = now;
        AppReply::send(self.request.as_bytes())
    }

    fn receive(&mut self, _: u64, data: &[u8], _: Ps) -> AppReply {
        self.got.lock().expect("no panic").0 += data.len();
        AppReply::default()
    }

    fn closed(&mut self, _: u64, _: bool, now: Ps) -> AppReply {
        self.got.lock().expect("no panic").2 = Some(now);
        AppReply::default()
    }
}

const HEAD: usize = b"HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n".len();

/// Returns the time of a download of `buffers` buffers, each filled `fills` times in the way `kind`.
fn download(board: &mut Machine, kind: char, fills: u32, buffers: usize) -> Ps {
    let app = Download { request: format!("GET /{kind}/{fills}/{buffers} "), got: Arc::default() };
    let now = board.now();
    let peer = SocketAddrV4::new(BOARD, 80);
    board.lan().expect("a LAN").connect(now, now, peer, Box::new(app.clone())).expect("a connection");
    board.reschedule();
    loop {
        run(board, board.now() + PS_PER_MS);
        let (bytes, from, end) = *app.got.lock().expect("no panic");
        if let Some(end) = end {
            assert_eq!(bytes, HEAD + 2048 * buffers);
            // The server listens again.
            run(board, board.now() + 10 * PS_PER_MS);
            return end - from;
        }
        assert!(board.now() < 100 * PS_PER_S, "{bytes} bytes of /{kind}/{fills}/{buffers}");
    }
}

#[test]
fn a_mega_fills_buffers_in_11_9_and_7_cycles_a_pass() {
    let mut board = board_with(BoardConfig::arduino_mega2560(), "fill.hex");
    assert_eq!(board.uart_cable(0).read(), b"ready\r\n");
    const BUFFERS: usize = 3;
    let mut passes = Vec::new();
    for (kind, count, cycles) in [('i', 1024, 11), ('b', 2048, 9), ('p', 2048, 7)] {
        let times = [2, 4].map(|fills| download(&mut board, kind, fills, BUFFERS));
        let pass_ps = (times[1] - times[0]) / 2 / BUFFERS as u64 / count;
        // A fill has some 30 further cycles: its call, and what surrounds the loop.
        assert_eq!(pass_ps / 62_500, cycles, "{kind}");
        passes.push(pass_ps);
    }
    let unfilled = [0, 1, 2, 3].map(|fills| download(&mut board, 'i', fills, BUFFERS) / BUFFERS as u64 / PS_PER_US);
    let first = unfilled[1] - unfilled[0];
    let later = unfilled[3] - unfilled[2];
    assert!(first < later, "the bend at one fill");
    // Three buffers carry the connection's start and end, too: docs/evidence/avr.md has those of twenty.
    assert_eq!(passes, [689_436, 563_227, 438_145]);
    assert_eq!(unfilled, [5_846, 6_440, 7_144, 7_851]);
}

/// Returns the round trips of `count` pings of 1300 bytes.
fn pings(board: &mut Machine, count: u16) -> Vec<Ps> {
    let data: Vec<u8> = (0..1300u32).map(|n| (n * 7) as u8).collect();
    let mut times = Vec::new();
    for sequence in 0..count {
        let now = board.now();
        assert!(board.lan().expect("a LAN").ping(now, now, BOARD, sequence, &data));
        board.reschedule();
        run(board, now + 40 * PS_PER_MS);
        let replies = board.lan().expect("a LAN").take_ping_replies();
        let [reply] = &replies[..] else { panic!("{} replies", replies.len()) };
        assert_eq!((reply.sequence, &reply.data), (sequence, &data));
        times.push(reply.received - reply.sent);
    }
    times
}

/// What a ping takes.
#[derive(Debug, PartialEq, Eq)]
struct Pinged {
    round_trip: Ps,
    /// From the first byte of the frame's read, or of the answer's write, to its last.
    read: Ps,
    write: Ps,
    /// Between them.
    between: Ps,
    /// Bytes on SPI for each byte of both frames, times 100.
    spi_bytes_percent: usize,
}

/// Pings a board until it takes the same time again.
fn pinged(chip: Chip, guest: &str) -> Pinged {
    let mut board = board_with(BoardConfig::goldilocks_1284p(chip), guest);
    assert_eq!(board.uart_cable(0).read(), b"ready\r\n");
    // The first one waits for ARP.
    pings(&mut board, 1);
    let times = pings(&mut board, 2);
    let log = board.wiring().log_spi();
    let logged = pings(&mut board, 1);
    assert_eq!([times[0]; 2], [times[1], logged[0]]);
    let frames: Vec<_> = board.wiring().take_spi_log(&log).into_iter().map(|(_, frame)| frame).collect();
    board.wiring().end_spi_log(log);
    let of = |buffer: &str| {
        let mine: Vec<_> = frames.iter().filter(|frame| frame.name.ends_with(buffer)).collect();
        let (Some(first), Some(last)) = (mine.first(), mine.last()) else { panic!("no frames of the {buffer}") };
        (first.start, last.end, mine.iter().map(|frame| frame.wire_bytes).sum::<usize>())
    };
    let too_fast = frames.iter().filter(|frame| frame.meaning.contains("out of specification")).count();
    assert_eq!(too_fast, if chip == Chip::W5100 { frames.len() } else { 0 });
    let (read, write) = (of("RX buffer"), of("TX buffer"));
    Pinged {
        round_trip: times[0],
        read: read.1 - read.0,
        write: write.1 - write.0,
        between: write.0 - read.1,
        spi_bytes_percent: (read.2 + write.2) * 100 / (2 * 1342),
    }
}

#[test]
fn a_goldilocks_answers_pings_by_w5100_and_w5200() {
    let w5100 = pinged(Chip::W5100, "ping_w5100.hex");
    let w5200 = pinged(Chip::W5200, "ping_w5200.hex");
    let slow = Pinged {
        round_trip: 21_004_361_305,
        read: 10_029_839_409,
        write: 10_010_715_061,
        between: 691_505_715,
        spi_bytes_percent: 400,
    };
    let fast = Pinged {
        round_trip: 3_797_827_378,
        read: 1_472_032_335,
        write: 1_399_875_217,
        between: 666_639_540,
        spi_bytes_percent: 100,
    };
    assert_eq!((w5100, w5200), (slow, fast));
}

/// Answers each number with the next one.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<Vec<(u32, Ps)>>>);

impl TcpApp for Counter {
    fn accept(&mut self, _: u64, _: SocketAddrV4, _: Ps) -> AppReply {
        AppReply::default()
    }

    fn receive(&mut self, _: u64, data: &[u8], now: Ps) -> AppReply {
        let number: u32 = std::str::from_utf8(data).expect("digits").parse().expect("a number");
        self.0.lock().expect("no panic").push((number, now));
        AppReply::send((number + 1).to_string())
    }

    fn closed(&mut self, _: u64, _: bool, _: Ps) -> AppReply {
        AppReply::default()
    }
}

#[test]
fn a_mega_plays_ping_pong() {
    let mut config = BoardConfig::arduino_mega2560();
    config.phy.phy_link_delay = 100 * PS_PER_MS;
    let image = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/avr/ping_pong.hex");
    let flash = flash_of_image(config.mcu, &std::fs::read(image).expect("a guest")).expect("an image");
    let mut board = Machine::new(config, &flash, false).expect("a valid board");
    let counter = Counter::default();
    board.listen(5000, Box::new(counter.clone())).expect("a free port");
    run(&mut board, PS_PER_S);
    let numbers = counter.0.lock().expect("no panic").clone();
    assert!(numbers.len() > 500, "{} messages", numbers.len());
    assert!(numbers.iter().zip((1..).step_by(2)).all(|((number, _), expected)| *number == expected));
    assert_eq!(board.uart_cable(0).read(), b"link\r\n");
}

/// Steps of hostile guests; `PORTBENCH_FUZZ_STEPS` and `PORTBENCH_FUZZ_SEED` ask for others: `make fuzz`.
const STEPS: u64 = 1_200;
const STEPS_OF_A_GUEST: u64 = 60;

/// Returns an SPI frame that `chip` may take: often a command for a socket, or its pointers.
fn spi_frame(chip: Chip, r: &mut SplitMix64) -> Vec<u8> {
    let any = r.draw() as u8;
    let command = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x42, 0x44, any][r.below(10) as usize];
    let (socket, register) = (r.below(8) as u8, [0, 1, 0x20, 0x24, 0x28, any][r.below(6) as usize]);
    match chip {
        Chip::W5100 => vec![[0xf0, 0x0f, any][r.below(3) as usize], 0x04 + socket % 4, register, command],
        Chip::W5200 => vec![0x40 + socket, register, 0x80, 2, command, any],
        _ => vec![r.below(2) as u8, register, (4 * socket + 1) << 3 | any & 7, command, any],
    }
}

/// Returns flash that sends SPI frames again and again, with random instructions among them.
fn hostile_flash(chip: Chip, r: &mut SplitMix64) -> Vec<u8> {
    let out = |io: u16, value: u8| {
        [0xe000 | u16::from(value & 0xf0) << 4 | u16::from(value & 0xf), 0xb800 | (io & 0x30) << 5 | 0x100 | io & 0xf]
    };
    // Every vector returns, but that of a reset.
    let mut words = vec![0x9518_u16; 0x80];
    words[..2].copy_from_slice(&[0x940c, 0x80]);
    // DDRB, SPCR and SPSR: outputs, and SPI at half the clock.
    words.extend([out(0x04, 0xb7), out(0x2c, 0x50), out(0x2d, 1)].concat());
    for _ in 0..40 {
        words.extend(out(0x05, 0x00));
        for byte in spi_frame(chip, r) {
            words.extend(out(0x2e, byte));
            words.extend([0xc000; 10]); // RJMP to the next: two cycles
        }
        words.extend(out(0x05, 0x10));
        match r.below(80) {
            0 => words.push(r.draw() as u16),
            1 => words.extend([0x9200 | r.draw() as u16 & 0x1f0, 0x20 + r.below(0x120) as u16]), // STS
            2..6 => words.push([0x9478, 0x9588, 0x95a8][r.below(3) as usize]),                   // SEI, SLEEP, WDR
            _ => {}
        }
    }
    // A jump beyond ends at the start again.
    words.resize(0x1ffe, 0);
    words.extend([0x940c, 0x80]);
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// Causes something on the PC's side of the cable.
fn disturb(board: &mut Machine, r: &mut SplitMix64) {
    let (now, port) = (board.now(), SocketAddrV4::new(BOARD, [80, 5000][r.below(2) as usize]));
    let size = r.below(1400) as usize;
    let lan = board.lan().expect("a LAN");
    match r.below(6) {
        0 => _ = lan.ping(now, now, BOARD, 1, &vec![0x55; size]),
        1 => _ = lan.udp_send(now, 5001, port, &vec![0x33; size]),
        2 => _ = lan.connect(now, now, port, Box::new(TcpEcho)),
        3 => {
            let loss = r.below(300) as u16;
            let faults = Faults { seed: r.draw(), loss_to_board_per_mille: loss, ..Faults::default() };
            lan.set_faults(faults).expect("valid faults");
        }
        4 => board.set_cable(r.below(4) > 0).expect("a cable"),
        _ => {
            let frame: Vec<u8> = (0..14 + size).map(|_| r.draw() as u8).collect();
            let network = board.network().expect("a network");
            network.chip_mut().expect("an Ethernet chip").receive_frame(now, &frame);
        }
    }
    board.lan().expect("a LAN").take_ping_replies();
    board.reschedule();
}

/// Runs a guest, in slices of 37 us if `cut`; returns its time, instructions, chip selects, and the fault that ended it.
fn hostile(seed: u64, steps: u64, cut: bool) -> (Ps, u64, u64, Option<String>) {
    let mut r = SplitMix64::new(seed);
    let (chip, mut config) = match seed % 3 {
        0 => (Chip::W5500, BoardConfig::arduino_mega2560()),
        1 => (Chip::W5100, BoardConfig::goldilocks_1284p(Chip::W5100)),
        _ => (Chip::W5200, BoardConfig::goldilocks_1284p(Chip::W5200)),
    };
    config.phy.phy_link_delay = PS_PER_MS;
    let flash = hostile_flash(chip, &mut r);
    let mut board = Machine::new(config, &flash, false).expect("a valid board");
    let mut fault = None;
    for _ in 0..steps {
        let until = board.now() + PS_PER_US * (1 + r.below(3_000));
        while fault.is_none() && board.now() < until {
            let slice = if cut { (board.now() + 37 * PS_PER_US).min(until) } else { until };
            fault = board.run(slice).err().map(|error| error.to_string());
        }
        if fault.is_some() {
            break;
        }
        assert!(board.now() >= until, "seed {seed}: time stood still");
        disturb(&mut board, &mut r);
    }
    let selects = board.network().expect("a network").stats().chip_selects;
    // Where a fault ended the run, its clock depends on the slice.
    (if fault.is_some() { 0 } else { board.now() }, board.chip().counts(0).0, selects, fault)
}

/// Random programs that speak to their Ethernet chips while the PC floods them end by name, or go on; and equally,
/// however their time is cut.
#[test]
fn hostile_guests_on_whole_boards_end_by_name_or_run() {
    let (steps, seed) = (asked("PORTBENCH_FUZZ_STEPS", STEPS), asked("PORTBENCH_FUZZ_SEED", 1));
    let (mut ran, mut selects, mut ended) = (0, 0, 0);
    for guest in 0..steps.div_ceil(STEPS_OF_A_GUEST) {
        let [whole, cut] = [false, true].map(|cut| hostile(seed + guest, STEPS_OF_A_GUEST, cut));
        assert_eq!(whole, cut, "seed {}", seed + guest);
        ran += whole.1;
        selects += whole.2;
        ended += u64::from(whole.3.is_some());
    }
    println!("{steps} steps: {ran} instructions, {selects} chip selects, {ended} guests ended by name");
    assert!(ran > 100 * steps && selects > steps, "the guests barely ran");
}

#[test]
fn a_snapshot_is_refused_by_name() {
    let mut board = board_with(BoardConfig::arduino_mega2560(), "fill.hex");
    let error = board.save().expect_err("no snapshot").to_string();
    assert!(error.contains("an ATmega2560, whose state cannot be saved yet"), "{error}");
}
