//! Two boards on one switch: frames between them arrive at exact times, independent of the order and length of steps.

use lan::FrameRecord;
use portbench_engine::{BoardConfig, Chip, EthernetConfig, Machine, Pair, Side, SidePins, SpiWires, Stop, join};
use sim::{LogReader, PS_PER_MS, PS_PER_US, Ps, SpiDevice};

/// The shortest frame on the wire.
const SHORT: Ps = 5_760_000;
const CODE_AT: usize = 0x100;
/// `b .` keeps the core busy, `wfi; b .-2` lets it sleep.
const BUSY: [u8; 4] = [0xfe, 0xe7, 0xfe, 0xe7];
const ASLEEP: [u8; 4] = [0x30, 0xbf, 0xfd, 0xe7];
const ADDRESSES: [[u8; 4]; 2] = [[192, 168, 50, 21], [192, 168, 50, 22]];
const SOCKET: u8 = 1;
const LISTEN: u8 = 2;
const CONNECT: u8 = 4;
const ESTABLISHED: u8 = 0x17;

fn machine(code: [u8; 4], last: u8) -> Machine {
    let mut bootrom = vec![0; portbench_engine::mcu::RP2040.boot_rom.bytes];
    bootrom[..4].copy_from_slice(&0x2004_0000u32.to_le_bytes());
    bootrom[4..8].copy_from_slice(&(CODE_AT as u32 | 1).to_le_bytes());
    bootrom[CODE_AT..][..4].copy_from_slice(&code);
    let config = sim::with!(
        BoardConfig::default(),
        bootrom,
        flash_size: 1 << 20,
        flash_id: Some([1, 2, 3, 4, 5, 6, 7, last]),
        ethernet: Some(EthernetConfig {
            chip: Chip::ALL[0],
            wires: SpiWires { spi: Some(0), sck: 18, mosi: 19, miso: 16, io: None, csn: 17, side: SidePins::default() },
        }),
        phy: sim::with!(wiznet::Config::default(), phy_link_delay: 50 * PS_PER_US),
    );
    Machine::new(config, &[], false).expect("a valid board")
}

/// Writes over SPI in no time, regardless of the core.
fn write(machine: &mut Machine, block: u8, address: u16, data: &[u8]) {
    let now = machine.now();
    let chip = machine.network().expect("a network").chip_mut().expect("a W5500");
    chip.select(now, true);
    for byte in [&address.to_be_bytes()[..], &[block << 3 | 4], data].concat() {
        chip.exchange(now, byte);
    }
    chip.select(now, false);
    machine.reschedule();
}

fn state(machine: &mut Machine) -> u8 {
    let now = machine.now();
    let chip = machine.network().expect("a network").chip_mut().expect("a W5500");
    chip.select(now, true);
    let answer = [0, 3, SOCKET << 3, 0].map(|byte| chip.exchange(now, byte));
    chip.select(now, false);
    answer[3]
}

fn set_up(machine: &mut Machine, number: usize, command: u8) {
    let mac = [0, 8, 0xdc, 0, 0, number as u8];
    write(machine, 0, 1, &[&[192, 168, 50, 1, 255, 255, 255, 0][..], &mac, &ADDRESSES[number]].concat());
    write(machine, SOCKET, 0, &[1]);
    write(machine, SOCKET, 4, &5000u16.to_be_bytes());
    write(machine, SOCKET, 0x0c, &ADDRESSES[1 - number]);
    write(machine, SOCKET, 0x10, &5000u16.to_be_bytes());
    write(machine, SOCKET, 1, &[1]);
    write(machine, SOCKET, 1, &[command]);
}

/// Runs in steps of `step`; events for either side's owner do not end it.
fn run(first: &mut Machine, second: &mut Machine, since: Ps, until: Ps, step: Ps, leader: Side) {
    while second.now() < until {
        let end = (second.now() + step).min(until);
        let (_, stop) = Pair::new(first, second, since).run(end, leader).expect("nothing unmodelled");
        assert_eq!(stop, Stop::Time);
    }
}

/// Sent and received frames, as (queued, start, arrival), by board and direction, on the first board's clock.
type Times = [Vec<(Ps, Ps, Ps)>; 4];

/// Runs a handshake of the two chips' TCP, from the second board to the first.
fn handshake(since: Ps, step: Ps, leader: Side, codes: [[u8; 4]; 2]) -> Times {
    let (mut first, mut second) = (machine(codes[0], 1), machine(codes[1], 2));
    first.run(since).expect("nothing unmodelled");
    let since = first.now();
    join(&mut first, &mut second).expect("both have a network");
    let readers: [LogReader; 2] = [&mut first, &mut second].map(|m| m.lan().expect("a network").log_frames(100));
    run(&mut first, &mut second, since, PS_PER_MS, step, leader);
    set_up(&mut first, 0, LISTEN);
    set_up(&mut second, 1, CONNECT);
    run(&mut first, &mut second, since, 3 * PS_PER_MS, step, leader);
    assert_eq!([state(&mut first), state(&mut second)], [ESTABLISHED; 2]);
    let take = |machine: &mut Machine, reader: &LogReader, zero: Ps| {
        let records = machine.lan().expect("a network").take_log(reader);
        let of = |to_board: bool| {
            let those = records.iter().filter(|record| record.to_board == to_board);
            those.map(|r: &FrameRecord| (zero + r.queued, zero + r.start, zero + r.arrival)).collect::<Vec<_>>()
        };
        [of(false), of(true)]
    };
    let [from_first, to_first] = take(&mut first, &readers[0], 0);
    let [from_second, to_second] = take(&mut second, &readers[1], since);
    [from_first, to_first, from_second, to_second]
}

#[test]
fn frames_between_boards_arrive_at_exact_times() {
    let [from_first, to_first, from_second, to_second] = handshake(10 * PS_PER_MS, PS_PER_MS, Side::First, [BUSY; 2]);
    // ARP and its answer, SYN, SYN and ACK, ACK; all of minimum length.
    assert_eq!((from_second.len(), from_first.len()), (3, 2));
    for (sent, came) in [(&from_second, &to_first), (&from_first, &to_second)] {
        let arrivals: Vec<Ps> = sent.iter().map(|&(_, start, _)| start + 2 * SHORT).collect();
        assert_eq!(came.iter().map(|&(_, _, arrival)| arrival).collect::<Vec<_>>(), arrivals);
        for (&(_, start, arrival), &(queued, ..)) in sent.iter().zip(came) {
            assert_eq!((arrival, queued), (start + SHORT, start + SHORT), "stored, then forwarded");
        }
    }
}

#[test]
fn times_do_not_depend_on_order_and_length_of_steps() {
    for codes in [[BUSY; 2], [ASLEEP; 2], [BUSY, ASLEEP], [ASLEEP, BUSY]] {
        let expected = handshake(10 * PS_PER_MS, PS_PER_MS, Side::First, codes);
        for (step, leader) in [(PS_PER_MS, Side::Second), (7 * PS_PER_US, Side::First), (7 * PS_PER_US, Side::Second)] {
            assert_eq!(handshake(10 * PS_PER_MS, step, leader, codes), expected, "{step} ps, {leader:?}");
        }
    }
}

#[test]
fn neither_runs_ahead_of_a_frames_arrival() {
    let (mut first, mut second) = (machine(BUSY, 1), machine(ASLEEP, 2));
    first.run(PS_PER_MS).expect("nothing unmodelled");
    let since = first.now();
    join(&mut first, &mut second).expect("both have a network");
    for until in (1..200).map(|n| n * PS_PER_US) {
        Pair::new(&mut first, &mut second, since).run(until, Side::First).expect("nothing unmodelled");
        assert!(first.chip().settled().abs_diff(since + second.chip().settled()) < SHORT);
    }
}

#[test]
fn a_board_reports_the_id_of_its_flash_chip() {
    let [one, other] = [machine(BUSY, 1), machine(BUSY, 2)].map(|mut board| {
        let chip = board.chip_as::<rp::rp2040::Chip>().expect("an RP2040");
        chip.bus.own.ssi.flash.unique_id
    });
    assert_eq!((one, other), ([1, 2, 3, 4, 5, 6, 7, 1], [1, 2, 3, 4, 5, 6, 7, 2]));
}
