//! A hostile guest on a whole board: random code on both cores, DMA from and to anywhere, flash that is erased and written,
//! garbage for the W5500 and for USB, while the PC types and calls. Nothing panics, simulated time goes on, and what is kept
//! for whoever looks later stays bounded. No guest gets far enough to answer the PC: a flooded LAN is `lan`'s own test.
//!
//! `PORTBENCH_FUZZ_STEPS` sets how many steps: 10000000 takes a while.

use std::net::{Ipv4Addr, SocketAddrV4};

use board::{BoardConfig, Chip, EthernetConfig, Machine, SidePins, SpiWires, Surroundings};
use lan::{LanConfig, TcpEcho};
use rp2040::bus::Master;
use rp2040::cpu::core::State;
use sim::{EthernetChip, PS_PER_US};
use usb_host::HostConfig;

const STEPS: u64 = 60_000;
const STEPS_OF_A_GUEST: u64 = 20_000;
const FLASH_BYTES: usize = 1 << 20;
const SIO: u32 = 0xd000_0000;
const SPI0: u32 = 0x4003_c000;
const SSI: u32 = 0x1800_0000;
const IO_QSPI_SS_CTRL: u32 = 0x4001_800c;
const USB_DPRAM: u32 = 0x5010_0000;
const USB_REGS: u32 = 0x5011_0000;
const DMA: u32 = 0x5000_0000;
const CSN: u32 = 17;
const MOST_CONSOLE_BYTES: usize = 4 << 20;
const MOST_EVENTS: usize = 20_000;
/// Between the first guests and the last: what grows by the step is far above it.
const MOST_GROWTH_BYTES: u64 = 96 << 20;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    fn address(&mut self) -> u32 {
        match self.below(10) {
            0..4 => 0x2000_0000 + self.below(0x4_2000),
            4 => 0x1000_0000 + self.below(FLASH_BYTES as u32),
            5..8 => 0x4000_0000 + 0x4000 * self.below(28) + 4 * self.below(64) + 0x1000 * self.below(4),
            8 => 0x5000_0000 + 0x10_0000 * self.below(5) + 4 * self.below(64),
            _ => self.next(),
        }
    }

    fn fill(&mut self, memory: &mut [u8]) {
        for word in memory.chunks_exact_mut(4) {
            let value = if self.below(4) == 0 { self.address() | 1 } else { self.next() };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
}

fn config(r: &mut Random) -> BoardConfig {
    let mut bootrom = vec![0; rp2040::memory::ROM_SIZE];
    r.fill(&mut bootrom);
    bootrom[..4].copy_from_slice(&0x2004_0000u32.to_le_bytes());
    for number in 1..48u32 {
        let target = if r.below(2) == 0 { 0x200 + r.below(0x3000) } else { 0x2000_0000 + r.below(0x8000) };
        bootrom[4 * number as usize..][..4].copy_from_slice(&(target | 1).to_le_bytes());
    }
    BoardConfig {
        bootrom,
        flash_size: FLASH_BYTES,
        card: None,
        ethernet: Some(EthernetConfig {
            chip: Chip::ALL[0],
            wires: SpiWires {
                spi: 0,
                sck: 18,
                mosi: 19,
                miso: 16,
                csn: CSN,
                side: SidePins { rstn: Some(20), intn: Some(21) },
            },
        }),
        phy: wiznet::Config { phy_link_delay: 50 * PS_PER_US, ..wiznet::Config::default() },
        lan: LanConfig { tcp_echo_port: Some(7), udp_echo_port: Some(7), ..LanConfig::default() },
        usb: HostConfig::default(),
        surroundings: Surroundings::default(),
        capture: None,
        xip_miss_cost: true,
        spi_speed: 1,
    }
}

struct Guest {
    machine: Machine,
    r: Random,
    /// How often time would not go on for this guest; it is given up at some point.
    refused: u64,
}

impl Guest {
    fn new(seed: u64) -> Self {
        let mut r = Random(seed);
        let config = config(&mut r);
        let mut flash = vec![0; 64 << 10];
        r.fill(&mut flash);
        let mut machine = Machine::new(config, &flash, false).expect("a LAN that can be");
        machine.listen(5000, Box::new(TcpEcho)).expect("a free port");
        let mut guest = Self { machine, r, refused: 0 };
        for (offset, word) in (0..0x8000).step_by(4).map(|offset| (offset, guest.r.next())).collect::<Vec<_>>() {
            guest.machine.chip_mut().mem.set_ram_u32(offset, word);
        }
        guest.wild();
        guest
    }

    fn wild(&mut self) {
        let registers: Vec<u32> = (0..26).map(|_| self.r.address()).collect();
        for (core, registers) in self.machine.chip_mut().cores.iter_mut().zip(registers.chunks(13)) {
            core.regs[..13].copy_from_slice(registers);
        }
    }

    fn write(&mut self, address: u32, value: u32) {
        let chip = self.machine.chip_mut();
        let _ = chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4);
    }

    fn read(&mut self, address: u32) {
        let chip = self.machine.chip_mut();
        let _ = chip.bus.read(&mut chip.mem, Master::Core(1), address, 4);
    }

    /// Every block out of reset and the pins of the W5500 as a driver sets them up.
    fn bring_up(&mut self) {
        self.write(0x4000_c000, 0);
        self.write(0x4000_8048, 0x800); // clk_peri from clk_sys
        for (pin, function) in [(16, 1), (17, 5), (18, 1), (19, 1), (20, 5)] {
            self.write(0x4001_4004 + 8 * pin, function);
        }
        self.write(SIO + 0x24, 1 << CSN | 1 << 20);
        self.write(SIO + 0x14, 1 << CSN | 1 << 20);
        for (offset, value) in [(0x10, 2), (0x00, 7), (0x04, 2), (0x24, 3)] {
            self.write(SPI0 + offset, value);
        }
        // Gateway, mask, MAC and address, so that the PC finds somebody to flood.
        let address = [192, 168, 50, 1, 255, 255, 255, 0, 2, 0, 0, 0, 0, 1, 192, 168, 50, 100];
        self.spi(&[&[0, 1, 4][..], &address[..]].concat());
    }

    fn spi(&mut self, bytes: &[u32]) {
        self.write(SIO + 0x18, 1 << CSN);
        for bytes in bytes.chunks(8) {
            for &byte in bytes {
                self.write(SPI0 + 8, byte);
            }
            self.time(30);
        }
        self.write(SIO + 0x14, 1 << CSN);
    }

    /// A frame of the W5500's, or what could be one.
    fn spi_garbage(&mut self) {
        self.write(SIO + 0x18, 1 << CSN);
        let block = self.r.below(32);
        let header = [self.r.below(256), self.r.below(256), block << 3 | self.r.below(8)];
        for byte in header {
            self.write(SPI0 + 8, byte);
        }
        for _ in 0..self.r.below(8) {
            let byte = [0x01, 0x02, 0x04, 0x10, 0x20, 0x40, 0x42, self.r.next() & 0xff][self.r.below(8) as usize];
            self.write(SPI0 + 8, byte);
        }
        self.time(30);
        self.write(SIO + 0x14, 1 << CSN);
    }

    /// Write enable, then an erase or a program, through the SSI as the boot ROM does it.
    fn flash_in_a_loop(&mut self) {
        let address = self.r.below(FLASH_BYTES as u32);
        let command = [0x20, 0xd8, 0x02, 0xc7, 0x05, 0x66, self.r.below(256)][self.r.below(7) as usize];
        for bytes in
            [vec![0x06], vec![command, address >> 16, address >> 8 & 0xff, address & 0xff, 0xa5, self.r.next()]]
        {
            self.write(SSI + 8, 0);
            for (offset, value) in [(0x00, 0x0007_0000), (0x14, 4), (0x10, 1), (0x08, 1)] {
                self.write(SSI + offset, value);
            }
            self.write(IO_QSPI_SS_CTRL, 0x200);
            for byte in bytes {
                self.write(SSI + 0x60, byte & 0xff);
                self.read(SSI + 0x60);
            }
            self.time(10);
            self.write(IO_QSPI_SS_CTRL, 0x300);
        }
    }

    fn dma(&mut self) {
        let channel = DMA + 0x40 * self.r.below(12);
        let (from, to) = (self.r.address(), self.r.address());
        let count = self.r.next() >> self.r.below(32);
        let control = self.r.next() | 1;
        for (offset, value) in [(0, from), (4, to), (8, count), (0xc, control)] {
            self.write(channel + offset, value);
        }
    }

    fn usb_nonsense(&mut self) {
        match self.r.below(4) {
            0 => {
                let (offset, value) = (4 * self.r.below(0x400), self.r.next());
                self.write(USB_DPRAM + offset, value);
            }
            1 => {
                let (offset, value) = (4 * self.r.below(0x26), self.r.next());
                self.write(USB_REGS + offset, value);
            }
            // Pulled up, with what endpoint 0 needs.
            2 => {
                for (offset, value) in [(0x74, 9), (0x78, 0xc), (0x40, 1), (0x4c, 0x2001_0000), (0x90, 0x1_1010)] {
                    self.write(USB_REGS + offset, value);
                }
            }
            _ => {
                let bytes: Vec<u8> = (0..self.r.below(600)).map(|n| n as u8).collect();
                self.machine.usb().console_write(&bytes);
                self.machine.reschedule();
            }
        }
    }

    /// The PC's part: more than the board can take.
    fn lan_flood(&mut self) {
        let now = self.machine.now();
        let board = Ipv4Addr::new(192, 168, 50, 100 + u8::from(self.r.below(8) == 0));
        let (port, sequence) = (self.r.next() as u16 | 1, self.r.next() as u16);
        let size = self.r.below(1500) as usize;
        let unplugged = self.r.below(50) == 0;
        let lan = self.machine.lan().expect("a board with a network");
        for _ in 0..20 {
            lan.ping(now, now, board, sequence, &vec![0x55; size]);
        }
        if let Ok(connection) = lan.connect(now, now, SocketAddrV4::new(board, port), Box::new(TcpEcho)) {
            lan.send(now, connection, &vec![0xaa; 4 * size]);
            if sequence & 1 == 0 {
                lan.close(now, connection);
            }
        }
        lan.take_ping_replies();
        self.machine.reschedule();
        if unplugged {
            let plugged = self.r.below(2) == 0;
            self.machine.set_cable(plugged).expect("a cable");
        }
    }

    fn anything(&mut self) {
        let (address, value) = (self.r.address() & !3, self.r.next() >> self.r.below(32));
        // RESETS, PSM and CLOCKS would hold most of the board still.
        if matches!(address & 0xffff_c000, 0x4000_c000 | 0x4001_0000 | 0x4000_8000) && self.r.below(50) != 0 {
            return;
        }
        if self.r.below(3) == 0 { self.read(address) } else { self.write(address, value) }
    }

    fn time(&mut self, us: u32) {
        let before = self.machine.now();
        let until = before + u64::from(us) * PS_PER_US;
        for _ in 0..64 {
            if self.machine.now() >= until {
                break;
            }
            if self.machine.run(until).is_err() {
                self.machine.chip_mut().bus.sys.unmodelled = None;
                self.refused += 1;
                self.restart_cores(true);
            }
        }
        self.restart_cores(false);
        assert!(self.machine.usb().console_unread() <= MOST_CONSOLE_BYTES);
        let events = self.machine.take_usb_events();
        assert!(events.len() <= MOST_EVENTS, "{} USB events in {us} us", events.len());
    }

    /// What locked up, or all, gets another chance.
    fn restart_cores(&mut self, all: bool) {
        for core in 0..2 {
            if all || self.machine.chip().cores[core].state == State::LockedUp {
                let cycle = self.machine.chip().bus.sys.cycle;
                let chip = self.machine.chip_mut();
                chip.cores[core].reset(&chip.mem, 0);
                chip.cores[core].cycles = cycle;
                self.wild();
            }
        }
    }

    fn step(&mut self) {
        match self.r.below(40) {
            0..2 => self.bring_up(),
            2..6 => self.spi_garbage(),
            6..10 => self.flash_in_a_loop(),
            10..14 => self.dma(),
            14..18 => self.usb_nonsense(),
            18 => self.lan_flood(),
            19..23 => {
                let us = self.r.below(20);
                self.time(us);
            }
            _ => self.anything(),
        }
    }
}

/// The process's memory; None where the system does not say.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn a_hostile_guest_in_a_hostile_place_is_survived_in_bounded_memory() {
    let steps = std::env::var("PORTBENCH_FUZZ_STEPS").map_or(STEPS, |text| text.parse().expect("a number of steps"));
    let guests = steps.div_ceil(STEPS_OF_A_GUEST);
    let (mut at_first, mut instructions, mut simulated, mut refused) = (None, 0u64, 0u64, 0u64);
    let (mut to_board, mut from_board, mut selects, mut written) = (0u64, 0u64, 0u64, 0u64);
    for number in 1..=guests {
        let mut guest = Guest::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        guest.bring_up();
        for _ in 0..STEPS_OF_A_GUEST.min(steps - (number - 1) * STEPS_OF_A_GUEST) {
            guest.step();
        }
        instructions += guest.machine.chip().cores.iter().map(|core| core.instructions).sum::<u64>();
        simulated += guest.machine.now() / PS_PER_US;
        refused += guest.refused;
        written += guest.machine.chip().mem.flash_generation;
        let network = guest.machine.network().expect("a board with a network");
        let stats = network.chip().stats();
        to_board += network.lan.stats().to_board;
        from_board += network.lan.stats().from_board;
        selects += stats.chip_selects;
        if number == 2 {
            at_first = resident_bytes();
        }
    }
    let at_last = resident_bytes();
    println!(
        "{steps} steps, {guests} guests, {simulated} us, {instructions} instructions, {refused} times not modelled"
    );
    println!(
        "{selects} chip selects, {to_board} frames to the board, {from_board} from it, flash changed {written} times"
    );
    println!("memory: {at_first:?} bytes at first, {at_last:?} at last");
    assert!(simulated > guests, "time stood still");
    assert!(selects > guests && written > guests, "nothing got through");
    if let (Some(first), Some(last)) = (at_first, at_last) {
        assert!(last <= first + MOST_GROWTH_BYTES, "memory grew from {first} to {last} bytes");
    }
}
