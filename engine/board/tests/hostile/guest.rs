//! The board, its guest's actions, and counters of their reach.

use lan::{LanConfig, TcpEcho, UdpEcho};
use portbench_engine::{BoardConfig, Chip, EthernetConfig, Machine, SidePins, SpiWires};
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::core::State;
use sim::{LogReader, PS_PER_US};
use usb_host::HostConfig;

use crate::random::Random;
use crate::{ECHO, FLASH_BYTES, PC_UDP};

pub(crate) const SIO: u32 = 0xd000_0000;
pub(crate) const SPI0: u32 = 0x4003_c000;
pub(crate) const CSN: u32 = 17;
const MOST_CONSOLE_BYTES: usize = 4 << 20;
const MOST_EVENTS: usize = 20_000;
const MOST_TRACED: usize = 10_000;
const MOST_FRAMES: usize = 1000;
const MOST_CONNECTIONS: usize = 16;
/// WFI, and a branch back to it.
const SLEEPS: [u8; 4] = [0x30, 0xbf, 0xfd, 0xe7];
const SLEEPS_AT: usize = 0x200;

/// The guest's main activity: random code rarely opens a socket.
#[derive(Clone, Copy, PartialEq)]
enum Temper {
    Wild,
    Network,
    Storage,
    Usb,
}

/// Counters of what a guest reached in the board and at its PC.
#[derive(Default)]
pub(crate) struct Reached {
    pub instructions: u64,
    pub simulated_us: u64,
    pub unmodelled: u64,
    pub chip_selects: u64,
    pub to_board: u64,
    pub from_board: u64,
    pub pongs: u64,
    pub connections: u64,
    pub flash_changes: u64,
    pub usb_events: u64,
    pub configured: u64,
}

impl Reached {
    pub(crate) fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.simulated_us += other.simulated_us;
        self.unmodelled += other.unmodelled;
        self.chip_selects += other.chip_selects;
        self.to_board += other.to_board;
        self.from_board += other.from_board;
        self.pongs += other.pongs;
        self.connections += other.connections;
        self.flash_changes += other.flash_changes;
        self.usb_events += other.usb_events;
        self.configured += other.configured;
    }
}

pub(crate) struct Guest {
    pub machine: Machine,
    pub r: Random,
    pub reached: Reached,
    /// Number of the guest.
    pub number: u64,
    temper: Temper,
    frames: LogReader,
    /// No program runs on the PC.
    alone: bool,
}

impl Guest {
    pub(crate) fn new(number: u64) -> Self {
        Self::with_pc(number, false)
    }

    /// Returns a guest whose PC runs no program.
    pub(crate) fn alone(number: u64) -> Self {
        Self::with_pc(number, true)
    }

    fn with_pc(number: u64, alone: bool) -> Self {
        let mut r = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let temper = [Temper::Wild, Temper::Network, Temper::Storage, Temper::Usb][number as usize % 4];
        let mut config = config(&mut r, temper);
        if let Some(ethernet) = config.ethernet.as_mut().filter(|_| alone) {
            ethernet.chip = Chip::ALL[number as usize / 4 % Chip::ALL.len()];
        }
        let mut flash = vec![0; 64 << 10];
        r.fill(&mut flash);
        let mut machine = Machine::new(config, &flash, false).expect("a valid LAN");
        machine.listen(ECHO, Box::new(TcpEcho)).expect("a free port");
        if !alone {
            machine.lan().and_then(|lan| lan.udp_listen(PC_UDP, Box::new(UdpEcho))).expect("a free port");
        }
        // A reader that may never read.
        let frames = machine.lan().expect("a board with a network").log_frames(MOST_FRAMES);
        machine.chip_mut().start_trace(u32::MAX, MOST_TRACED);
        let mut guest = Self { machine, r, reached: Reached::default(), number, temper, frames, alone };
        for offset in (0..0x8000).step_by(4) {
            let word = guest.r.next();
            guest.chip().mem.set_ram_u32(offset, word);
        }
        guest.wild();
        guest.bring_up();
        guest
    }

    fn chip(&mut self) -> &mut rp::rp2040::Chip {
        self.machine.chip_as().expect("an RP2040")
    }

    fn wild(&mut self) {
        if self.temper == Temper::Wild {
            let registers: Vec<u32> = (0..26).map(|_| self.r.address()).collect();
            for (core, registers) in self.chip().cores.iter_mut().zip(registers.chunks(13)) {
                core.regs[..13].copy_from_slice(registers);
            }
        }
    }

    pub(crate) fn write(&mut self, address: u32, value: u32) {
        let chip = self.chip();
        let _ = chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4);
    }

    /// Reads memory; 0 if the bus refuses.
    pub(crate) fn read(&mut self, address: u32) -> u32 {
        let chip = self.chip();
        chip.bus.read(&mut chip.mem, Master::Core(1), address, 4).unwrap_or(0)
    }

    /// Takes every block out of reset, and sets up the pins of the W5500 as a driver does.
    fn bring_up(&mut self) {
        self.write(0x4000_c000, 0);
        self.write(0x4000_8048, 0x800); // clk_peri from clk_sys
        self.bring_up_ethernet();
    }

    fn anything(&mut self) {
        let (address, value) = (self.r.address() & !3, self.r.next() >> self.r.below(32));
        // Writes to RESETS, PSM and CLOCKS would stop most of the board.
        if matches!(address & 0xffff_c000, 0x4000_c000 | 0x4001_0000 | 0x4000_8000) && !self.r.one_in(50) {
            return;
        }
        if self.r.one_in(3) {
            self.read(address);
        } else {
            self.write(address, value);
        }
    }

    pub(crate) fn time(&mut self, us: u32) {
        let until = self.machine.now() + u64::from(us) * PS_PER_US;
        for _ in 0..64 {
            if self.machine.now() >= until {
                break;
            }
            if self.machine.run(until).is_err() {
                self.chip().bus.sys.unmodelled = None;
                self.reached.unmodelled += 1;
                self.restart_cores(true);
            }
        }
        self.restart_cores(false);
        self.look();
    }

    /// Checks the limits of data kept for readers.
    fn look(&mut self) {
        assert!(self.machine.usb().console_unread() <= MOST_CONSOLE_BYTES);
        let events = self.machine.take_usb_events();
        assert!(events.len() <= MOST_EVENTS, "{} USB events at once", events.len());
        self.reached.usb_events += events.len() as u64;
        self.reached.configured += u64::from(self.machine.usb().state().configured);
        let connections = self.machine.lan().expect("a board with a network").connections().len();
        assert!(connections <= MOST_CONNECTIONS, "{connections} connections");
        self.reached.connections += connections as u64;
    }

    /// Restarts the locked-up cores, or all.
    fn restart_cores(&mut self, all: bool) {
        for core in 0..2 {
            if all || self.chip().cores[core].state == State::LockedUp {
                let cycle = self.chip().bus.sys.cycle;
                let chip = self.chip();
                chip.cores[core].reset(&chip.mem, 0);
                chip.cores[core].cycles = cycle;
                self.wild();
            }
        }
    }

    pub(crate) fn step(&mut self) {
        let draw = self.r.below(40);
        match (self.temper, draw) {
            (_, 0) => self.bring_up(),
            (Temper::Network, 1..15) => self.socket(),
            (Temper::Network, 15..21) if !self.alone => self.lan_flood(),
            (Temper::Network, 21..27) => self.spi_garbage(),
            (Temper::Network, 27) if self.r.one_in(10) => self.disturb_the_cable(),
            (Temper::Storage, 1..25) => self.flash_in_a_loop(),
            (Temper::Usb, 1..35) => self.usb_nonsense(),
            _ => self.whatever(),
        }
    }

    fn whatever(&mut self) {
        match self.r.below(40) {
            0..4 => self.spi_garbage(),
            4..8 => self.flash_in_a_loop(),
            8..12 => self.dma(),
            12..16 => self.usb_nonsense(),
            16 if !self.alone => self.lan_flood(),
            17 => self.socket(),
            18..22 => {
                let us = self.r.below(50);
                self.time(us);
            }
            _ if self.temper == Temper::Wild => self.anything(),
            _ => self.time(20),
        }
    }

    /// Checks the limits of data that was never read.
    pub(crate) fn end(mut self) -> Reached {
        let faults = self.chip().bus.sys.faults.take();
        assert!(faults.0.len() <= MOST_TRACED, "{} faults kept", faults.0.len());
        let (records, _) = self.chip().bus.sys.trace.take();
        assert!(records.len() <= MOST_TRACED, "{} records kept", records.len());
        let lan = self.machine.lan().expect("a board with a network");
        let frames = lan.take_log(&self.frames).len();
        assert!(frames <= 2 * MOST_FRAMES, "{frames} frames kept");
        assert!(lan.leases().len() <= 100, "{} leases", lan.leases().len());
        self.reached.instructions = self.chip().cores.iter().map(|core| core.instructions).sum();
        self.reached.simulated_us = self.machine.now() / PS_PER_US;
        self.reached.flash_changes = self.chip().mem.flash_generation;
        let network = self.machine.network().expect("a board with a network");
        self.reached.chip_selects = network.stats().chip_selects;
        self.reached.to_board = network.lan.stats().to_board;
        self.reached.from_board = network.lan.stats().from_board;
        self.reached
    }
}

fn config(r: &mut Random, temper: Temper) -> BoardConfig {
    let mut bootrom = vec![0; portbench_engine::mcu::RP2040.boot_rom.bytes];
    if temper == Temper::Wild {
        r.fill(&mut bootrom);
    }
    bootrom[..4].copy_from_slice(&0x2004_0000u32.to_le_bytes());
    bootrom[SLEEPS_AT..][..4].copy_from_slice(&SLEEPS);
    for number in 1..48usize {
        let target = match temper {
            Temper::Wild if r.one_in(2) => 0x200 + r.below(0x3000),
            Temper::Wild => 0x2000_0000 + r.below(0x8000),
            _ => SLEEPS_AT as u32,
        };
        bootrom[4 * number..][..4].copy_from_slice(&(target | 1).to_le_bytes());
    }
    sim::with!(
        BoardConfig::default(),
        bootrom,
        flash_size: FLASH_BYTES,
        ethernet: Some(EthernetConfig {
            chip: Chip::ALL[0],
            wires: SpiWires {
                spi: Some(0),
                sck: 18,
                mosi: 19,
                miso: 16,
                io: None,
                csn: CSN,
                side: SidePins { rstn: Some(20), intn: Some(21) },
            },
        }),
        phy: sim::with!(wiznet::Config::default(), phy_link_delay: 50 * PS_PER_US),
        lan: sim::with!(
            LanConfig::default(),
            tcp_echo_port: Some(7),
            udp_echo_port: Some(7),
            dns_answer: Some([192, 168, 50, 1].into()),
            ntp_start_s: Some(1_700_000_000),
            max_connections: MOST_CONNECTIONS,
        ),
        usb: HostConfig::default(),
    )
}
