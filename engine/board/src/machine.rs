//! One emulated board: the chip, the devices wired to it, and simulated time.

use std::any::Any;
use std::fmt;

use crate::mcu::{self, ChipConfig, Mcu, RunEnd};
use air::Air;
use lan::Lan;
use sim::{PS_PER_MS, Ps, SettingError, TcpApp};
use usb_host::{Event, UsbHost, Volume, VolumeError};

use crate::attachment::Attachment;
use crate::attributed::{Attributing, Recorded};
use crate::config::BoardConfig;
use crate::disk::Disk;
use crate::network::Network;
use crate::session::Logs;
use crate::snapshot::SnapshotError;
use crate::surroundings::Surroundings;
use crate::uart_cable::UartCable;
use crate::wiring::Wiring;

/// Length of the steps in which [`Machine::run`] checks for console output and USB events.
const STEP: Ps = PS_PER_MS;

/// Why [`Machine::run`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The requested simulated time was reached.
    Time,
    /// Console output is available.
    Console,
    /// A USB device attached, detached, or opened its console or drive.
    Usb,
    /// The guest reset the chip.
    Reset(&'static str),
    /// A core locked up: only a reset ends that.
    LockedUp,
    /// The guest sleeps and nothing can wake it, with the reason. Only a power cycle ends that.
    Asleep(String),
    /// An application of the simulated PC wants attention.
    Network,
    /// The debugger stopped the run.
    Halted,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("time"),
            Self::Console => f.write_str("console"),
            Self::Usb => f.write_str("usb"),
            Self::Reset(cause) => write!(f, "reset: {cause}"),
            Self::LockedUp => f.write_str("locked up"),
            Self::Asleep(why) => write!(f, "asleep: {why}"),
            Self::Network => f.write_str("network"),
            Self::Halted => f.write_str("halted"),
        }
    }
}

/// A board with the microcontroller that its settings name.
pub struct Machine {
    config: BoardConfig,
    /// The settings at power-up.
    powered: BoardConfig,
    chip: Box<dyn Mcu>,
    /// The current attribution.
    attributing: Option<Attributing>,
    attribution: Option<Recorded>,
    pub(crate) logs: Logs,
}

/// An error that ends the simulation: the guest used something that is not modelled.
#[derive(Debug)]
pub struct Unmodelled(pub String);

one_line!(Unmodelled);

impl Machine {
    /// Creates a board with `flash` in its flash, at simulated time 0, powered up with BOOTSEL as given.
    pub fn new(config: BoardConfig, flash: &[u8], bootsel: bool) -> Result<Self, SettingError> {
        let chip = Self::power_up(&config, flash, bootsel)?;
        Ok(Self { powered: config.clone(), config, chip, attributing: None, attribution: None, logs: Logs::default() })
    }

    fn power_up(config: &BoardConfig, flash: &[u8], bootsel: bool) -> Result<Box<dyn Mcu>, SettingError> {
        config.check()?;
        let wiring = Wiring::new(config)?;
        let chip_config = ChipConfig {
            bootrom: &config.bootrom,
            flash_size: config.flash_size,
            psram_csn: config.psram_csn,
            flash,
            bootsel_pressed: bootsel,
            crystal_hz: config.crystal_hz,
            fuses: config.fuses,
        };
        let mut chip = mcu::power_up(config.mcu, &chip_config, wiring);
        if let Some(xip) = chip.xip() {
            xip.cost_enabled = config.xip_miss_cost;
            if config.flash_layout != 0 {
                xip.place(config.flash_layout);
            }
        }
        chip.sys().spi_speed = config.spi_speed;
        chip.sys().batches_enabled = config.pio_batches;
        if !config.translated {
            chip.interpret_only();
        }
        if let Some(id) = config.flash_id {
            chip.set_flash_id(id);
        }
        let reached = chip.reached();
        config.surroundings.apply(reached.sys);
        Wiring::of(reached.world).start(reached.sys);
        Ok(chip)
    }

    /// Performs a power cycle: the chips and the LAN start at simulated time 0; flash keeps its contents. Applications
    /// that listened on the LAN are removed.
    pub fn power_cycle(&mut self, bootsel: bool) -> Result<(), SettingError> {
        let chip = Self::power_up(&self.config, self.chip.flash(), bootsel)?;
        self.take(chip);
        Ok(())
    }

    /// Continues with a new chip.
    fn take(&mut self, mut chip: Box<dyn Mcu>) {
        *chip.debug() = std::mem::take(self.chip.debug());
        self.chip = chip;
        self.powered = self.config.clone();
        self.attributing = None;
        self.attribution = None;
        self.logs = Logs::default();
    }

    /// Continues with a new chip in these surroundings, as `change` leaves it.
    pub(crate) fn replace(
        &mut self,
        surroundings: Surroundings,
        change: impl FnOnce(&mut dyn Mcu) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut chip = Self::power_up(&self.config, &[], false).map_err(SnapshotError::Settings)?;
        change(&mut *chip)?;
        self.config.surroundings = surroundings;
        self.take(chip);
        Ok(())
    }

    /// Returns the settings of the next power cycle.
    pub(crate) fn config(&self) -> &BoardConfig {
        &self.config
    }

    /// Returns the settings at power-up.
    pub(crate) fn powered(&self) -> &BoardConfig {
        &self.powered
    }

    pub(crate) fn is_attributing(&self) -> bool {
        self.attributing.is_some()
    }

    /// Returns the settings of the next power cycle.
    pub fn config_mut(&mut self) -> &mut BoardConfig {
        &mut self.config
    }

    /// Returns the microcontroller.
    pub fn chip(&self) -> &dyn Mcu {
        &*self.chip
    }

    /// Returns the microcontroller, to change its state from outside.
    pub fn chip_mut(&mut self) -> &mut dyn Mcu {
        &mut *self.chip
    }

    /// Returns the microcontroller for what only one of its kind has. `None`: it is another one.
    pub fn chip_as<C: Mcu>(&mut self) -> Option<&mut C> {
        let chip: &mut dyn Any = &mut *self.chip;
        chip.downcast_mut()
    }

    /// Returns the wiring of the board around the chip.
    pub fn wiring(&mut self) -> &mut Wiring {
        Wiring::of(self.chip.world())
    }

    /// Returns the network chip and its network, or an error if the board has none.
    pub fn network(&mut self) -> Result<&mut Network, SettingError> {
        let network = self.wiring().network.as_mut();
        network.ok_or_else(|| {
            SettingError::new("this board", "has no network", "none of its devices is an Ethernet or radio chip")
        })
    }

    /// Returns the LAN with the simulated PC. `Err`: the board has no network.
    pub fn lan(&mut self) -> Result<&mut Lan, SettingError> {
        Ok(&mut self.network()?.lan)
    }

    /// Returns the air between the board's radio chip and its access point; `None`: a cable or no network.
    pub(crate) fn air(&mut self) -> Option<&mut Air> {
        Some(&mut self.wiring().network.as_mut()?.wifi_mut()?.air)
    }

    /// Returns the PC's USB host.
    pub fn usb(&mut self) -> &mut UsbHost {
        &mut self.wiring().usb
    }

    /// Returns the simulated time since the power cycle.
    pub fn now(&self) -> Ps {
        self.chip.now()
    }

    /// Serves TCP connections to `port` of the simulated PC with `app`. `Err`: no network, or the port is taken.
    pub fn listen(&mut self, port: u16, app: Box<dyn TcpApp>) -> Result<(), SettingError> {
        self.on_lan(|lan, _| lan.listen(port, app))?
    }

    /// Plugs the Ethernet cable in or pulls it out. `Err`: the board has no network.
    pub fn set_cable(&mut self, plugged: bool) -> Result<(), SettingError> {
        let now = self.now();
        self.network()?.set_cable(now, plugged);
        self.reschedule();
        Ok(())
    }

    /// Changes the LAN at the present time. `Err`: the board has no network.
    pub fn on_lan<T>(&mut self, change: impl FnOnce(&mut Lan, Ps) -> T) -> Result<T, SettingError> {
        let now = self.now();
        let done = change(self.lan()?, now);
        self.reschedule();
        Ok(done)
    }

    /// Changes the PC's side of the USB port.
    pub fn on_usb<T>(&mut self, change: impl FnOnce(&mut UsbHost) -> T) -> T {
        let done = change(self.usb());
        self.reschedule();
        done
    }

    /// Plans the world's events again after a change by its owner.
    pub fn reschedule(&mut self) {
        let reached = self.chip.reached();
        Wiring::of(reached.world).refresh(reached.sys);
    }

    /// Announces frames that were sent to the board.
    pub(crate) fn expect_frames(&mut self) {
        let reached = self.chip.reached();
        Wiring::of(reached.world).expect_frames(reached.sys);
    }

    /// Runs until simulated time `until`, or until an event that the owner must handle.
    pub fn run(&mut self, until: Ps) -> Result<Stop, Unmodelled> {
        self.take_changes();
        while self.now() < until {
            let step = (self.now() + STEP).min(until);
            let end = self.chip.run_until(step);
            self.gather_logs();
            let stop = self.stop_for(end)?;
            if stop != Stop::Time {
                return Ok(stop);
            }
        }
        Ok(Stop::Time)
    }

    /// Looks at the attached devices again, which their owner may have changed.
    pub(crate) fn take_changes(&mut self) {
        let reached = self.chip.reached();
        if Wiring::of(reached.world).take_changes(reached.sys) {
            self.chip.settle_pins();
        }
    }

    /// Like [`Self::run`], but nothing due after `until` happens.
    pub(crate) fn run_no_further_than(&mut self, until: Ps) -> Result<Stop, Unmodelled> {
        let end = self.chip.run_no_further_than(until);
        self.stop_for(end)
    }

    /// Returns the time before which everything has happened.
    pub(crate) fn settled(&self) -> Ps {
        self.chip.settled()
    }

    fn stop_for(&mut self, end: RunEnd) -> Result<Stop, Unmodelled> {
        match end {
            RunEnd::Time => {}
            RunEnd::Reset { cause } => return Ok(Stop::Reset(cause)),
            RunEnd::Paused => return Ok(Stop::Network),
            RunEnd::Halted => return Ok(Stop::Halted),
            RunEnd::Asleep { pc } => {
                return Ok(Stop::Asleep(format!(
                    "the board sleeps (DORMANT, pc 0x{pc:08x}) and nothing can wake it: no pin is enabled in DORMANT_WAKE_INTE \
                     of IO_BANK0, and the RTC has no clock or no alarm"
                )));
            }
            RunEnd::Unmodelled(fault) => return Err(Unmodelled(fault.to_string())),
        }
        if self.chip.sys().faults.take_new_lock_up() {
            return Ok(Stop::LockedUp);
        }
        let usb = self.usb();
        if usb.has_events() {
            return Ok(Stop::Usb);
        }
        if usb.console_unread() > 0 {
            return Ok(Stop::Console);
        }
        Ok(Stop::Time)
    }

    /// Returns the external controls at the pins.
    pub fn surroundings(&self) -> &Surroundings {
        &self.config.surroundings
    }

    /// Changes the external controls at the pins, for now and for all later power cycles.
    pub fn rearrange(&mut self, change: impl FnOnce(&mut Surroundings)) {
        change(&mut self.config.surroundings);
        self.config.surroundings.apply(self.chip.sys());
        self.chip.settle_pins();
    }

    /// Attaches a device, for now and for all later power cycles.
    pub fn attach(&mut self, attachment: Attachment) {
        self.chip.refresh_pins();
        let reached = self.chip.reached();
        let wiring = Wiring::of(reached.world);
        attachment.attach(wiring);
        wiring.start(reached.sys);
        self.chip.settle_pins();
        self.config.attachments.push(attachment);
    }

    /// Returns the levels of all pins, and the pins driven by the chip, as masks.
    pub fn pins(&mut self) -> (u64, u64) {
        self.chip.refresh_pins();
        let pins = &self.chip.sys().pins;
        (pins.level(), pins.output_enabled())
    }

    /// Returns the PC's cable to a UART, 0 or 1.
    pub fn uart_cable(&mut self, uart: usize) -> &mut UartCable {
        self.wiring().uart_cable(uart)
    }

    /// Sends to a UART from the PC, at that UART's speed; returns how many bytes were accepted.
    pub fn send_to_uart(&mut self, uart: usize, data: &[u8]) -> usize {
        let reached = self.chip.reached();
        Wiring::of(reached.world).send_to_uart(reached.sys, reached.inputs, uart, data)
    }

    /// Starts recording for an attribution of time: at most `limit` changes.
    pub fn start_attribution(&mut self, limit: usize) {
        self.stop_attribution();
        self.attribution = None;
        self.chip.start_recording(limit);
        self.attributing = Some(Attributing::new(self.wiring(), limit));
    }

    /// Moves the records of a slice of time from the devices to the log of SPI frames, which has a bound, and to the
    /// current attribution.
    pub(crate) fn gather_logs(&mut self) {
        self.wiring().gather_spi_log();
        if let Some(attributing) = &mut self.attributing {
            attributing.gather(Wiring::of(self.chip.world()));
        }
    }

    /// Ends recording; [`Self::attribution`] returns the result.
    pub fn stop_attribution(&mut self) {
        let Some(recording) = self.chip.stop_recording() else { return };
        let Some(attributing) = self.attributing.take() else { return };
        self.attribution = Some(attributing.finish(self.wiring(), recording));
    }

    /// Returns the last recording since the power cycle.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        self.attribution.as_ref()
    }

    /// Takes the events of the USB port since the last call, each with its time.
    pub fn take_usb_events(&mut self) -> Vec<(Ps, Event)> {
        self.usb().take_events().into_iter().map(|e| (e.at, e.event)).collect()
    }

    /// Mounts the FAT volume of logical unit `lun` of the board's drive.
    pub fn volume(&mut self, lun: u8) -> Result<Volume<'_>, VolumeError> {
        let blocks = self.usb().drive_blocks(lun);
        Volume::mount(Disk::new(self, lun, blocks))
    }
}
