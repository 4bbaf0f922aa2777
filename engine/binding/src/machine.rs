//! One emulated board: the chip, what is wired to it, and simulated time.

use std::io;

use lan::{Lan, LanError};
use rp2040::{Chip, ChipConfig, RunEnd};
use sim::{EthernetChip, PS_PER_MS, Ps, TcpApp};
use usb_host::{BlockDevice, Event, UsbHost, Volume, VolumeError};
use w5500::W5500;

use crate::config::{BoardConfig, W5500Pins};
use crate::wiring::Wiring;

/// Steps in which the board runs while the PC waits for a block of its drive.
const DISK_STEP: Ps = PS_PER_MS / 4;
/// Longest simulated time that one block request may take.
const DISK_TIMEOUT: Ps = 60_000 * PS_PER_MS;
/// Steps in which [`Machine::run`] looks for console output and USB events.
const STEP: Ps = PS_PER_MS;

/// Why [`Machine::run`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Simulated time has come.
    Time,
    /// There is console output to read.
    Console,
    /// A USB device came, went, or opened its console or drive.
    Usb,
    /// The guest reset the chip.
    Reset(&'static str),
    /// A core locked up: only a reset gets it out.
    LockedUp,
}

pub struct Machine {
    config: BoardConfig,
    chip: Chip<Wiring>,
}

/// An error that ends the simulation: something the guest used is not modelled.
#[derive(Debug)]
pub struct Unmodelled(pub String);

impl Machine {
    /// A board with `flash` in its flash, at simulated time 0, powered up with BOOTSEL as given.
    pub fn new(config: BoardConfig, flash: &[u8], bootsel: bool) -> Result<Self, LanError> {
        let chip = Self::power_up(&config, flash, bootsel)?;
        Ok(Self { config, chip })
    }

    fn power_up(config: &BoardConfig, flash: &[u8], bootsel: bool) -> Result<Chip<Wiring>, LanError> {
        let wiring = Wiring::new(config)?;
        let chip_config =
            ChipConfig { bootrom: &config.bootrom, flash_size: config.flash_size, flash, bootsel_pressed: bootsel };
        let mut chip = Chip::new(&chip_config, wiring);
        chip.mem.xip.cost_enabled = config.xip_miss_cost;
        let bus = &mut chip.bus;
        bus.sys.spi_edge_timing = config.spi_edge_timing;
        bus.world.start(&mut bus.sys);
        Ok(chip)
    }

    /// Takes the power away and gives it back: RP2040, W5500 and LAN start at simulated time 0; flash keeps its contents.
    /// Applications that listened on the LAN are gone.
    pub fn power_cycle(&mut self, bootsel: bool) -> Result<(), LanError> {
        let flash = self.chip.mem.flash().to_vec();
        self.chip = Self::power_up(&self.config, &flash, bootsel)?;
        Ok(())
    }

    pub fn config_mut(&mut self) -> &mut BoardConfig {
        &mut self.config
    }

    pub fn config_pins(&self) -> W5500Pins {
        self.config.pins
    }

    pub fn chip(&self) -> &Chip<Wiring> {
        &self.chip
    }

    pub fn chip_mut(&mut self) -> &mut Chip<Wiring> {
        &mut self.chip
    }

    /// The board around the chip.
    pub fn wiring(&mut self) -> &mut Wiring {
        &mut self.chip.bus.world
    }

    pub fn w5500(&mut self) -> &mut W5500 {
        &mut self.wiring().w5500
    }

    pub fn lan(&mut self) -> &mut Lan {
        &mut self.wiring().lan
    }

    pub fn usb(&mut self) -> &mut UsbHost {
        &mut self.wiring().usb
    }

    pub fn now(&self) -> Ps {
        self.chip.now()
    }

    pub fn listen(&mut self, port: u16, app: Box<dyn TcpApp>) -> Result<(), LanError> {
        self.lan().listen(port, app)?;
        self.reschedule();
        Ok(())
    }

    pub fn set_cable(&mut self, plugged: bool) {
        let now = self.now();
        let wiring = self.wiring();
        wiring.plugged = plugged;
        wiring.w5500.set_cable(now, plugged);
        self.reschedule();
    }

    /// Lets the world schedule its events anew after its owner changed something.
    pub fn reschedule(&mut self) {
        let bus = &mut self.chip.bus;
        bus.world.network(&mut bus.sys);
        bus.world.schedule_usb(&mut bus.sys);
    }

    /// Runs until simulated time `until`, or until something happens that the owner has to look at.
    pub fn run(&mut self, until: Ps) -> Result<Stop, Unmodelled> {
        while self.now() < until {
            let step = (self.now() + STEP).min(until);
            match self.chip.run_until(step) {
                RunEnd::Time => {}
                RunEnd::Reset { cause } => return Ok(Stop::Reset(cause)),
                RunEnd::Unmodelled(fault) => {
                    return Err(Unmodelled(format!("not modelled: {} (pc 0x{:08x})", fault.what, fault.pc)));
                }
            }
            if self.chip.bus.sys.faults.take_new_lock_up() {
                return Ok(Stop::LockedUp);
            }
            let usb = self.usb();
            if usb.has_events() {
                return Ok(Stop::Usb);
            }
            if usb.console_unread() > 0 {
                return Ok(Stop::Console);
            }
        }
        Ok(Stop::Time)
    }

    pub fn take_usb_events(&mut self) -> Vec<(Ps, Event)> {
        self.usb().take_events().into_iter().map(|e| (e.at, e.event)).collect()
    }

    /// Mounts the FAT volume of the board's drive.
    pub fn volume(&mut self) -> Result<Volume<Disk<'_>>, VolumeError> {
        let blocks = self.usb().drive_blocks();
        Volume::mount(Disk { machine: self, blocks })
    }
}

/// The board's USB drive as a block device: every access runs the board until it has answered.
pub struct Disk<'a> {
    machine: &'a mut Machine,
    blocks: u64,
}

impl Disk<'_> {
    fn finish(&mut self, id: u64) -> io::Result<Vec<u8>> {
        self.machine.reschedule();
        let deadline = self.machine.now() + DISK_TIMEOUT;
        loop {
            if let Some(result) = self.machine.usb().take_completion(id) {
                return result.map_err(|e| io::Error::new(io::ErrorKind::NotConnected, e.to_string()));
            }
            let now = self.machine.now();
            if now >= deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the board's drive did not answer within 60 s"));
            }
            if let RunEnd::Unmodelled(fault) = self.machine.chip.run_until(now + DISK_STEP) {
                return Err(io::Error::other(format!("not modelled: {} (pc 0x{:08x})", fault.what, fault.pc)));
            }
        }
    }
}

impl BlockDevice for Disk<'_> {
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()> {
        let blocks = (buf.len() / 512) as u64;
        let id = self.machine.usb().request_read(lba, blocks).map_err(|e| io::Error::other(e.to_string()))?;
        let data = self.finish(id)?;
        if data.len() != buf.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the board's drive sent too little"));
        }
        buf.copy_from_slice(&data);
        Ok(())
    }

    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()> {
        let id = self.machine.usb().request_write(lba, buf.to_vec()).map_err(|e| io::Error::other(e.to_string()))?;
        self.finish(id).map(|_| ())
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }
}
