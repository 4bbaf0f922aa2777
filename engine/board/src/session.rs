//! What a person hears of a board through Python or a page: numbers, text, tuples and JSON, with times in microseconds.

use attribution::{Clock, Interval, Sought};
use chip::trace::{Record, kind};
use sd_card::{BINS_NS, Card, Direction};
use serde::Serialize;
use serde_json::{Value, json};
use sim::{LogReader, PS_PER_NS, SettingError, SpiFrame, ps, us};
use usb_host::{Event, VolumeError};

use crate::attributed::clocks;
use crate::machine::Machine;
use crate::network::Network;
use lan::PingReply;

/// Who reads the logs for the board's owner.
#[derive(Default)]
pub(crate) struct Logs {
    frames: Option<LogReader>,
    spi: Option<LogReader>,
}

/// A frame of the cable: start, arrival, whether it is to the board, its fate as [`lan::Fate`] names it, its bytes.
pub type FrameTold = (f64, f64, bool, String, Vec<u8>);
/// A decoded SPI frame: start, end, device, name, address, whether it writes, its length, the first bytes, their meaning,
/// bytes on the wire.
pub type SpiTold = (f64, f64, &'static str, String, u16, bool, usize, Vec<u8>, String, usize);
/// An echo reply: from, sequence, data, when the request was sent, when the reply came.
pub type ReplyTold = (String, u16, Vec<u8>, f64, f64);

/// A record of the trace and its time.
#[derive(Serialize)]
struct Traced {
    t_us: f64,
    #[serde(flatten)]
    record: Record,
}

impl Machine {
    /// Keeps the newest `limit` frames of the cable from now on (0: none) until the next power cycle. `Err`: no network.
    pub fn log_frames(&mut self, limit: usize) -> Result<(), SettingError> {
        let reader = self.logs.frames.take();
        let lan = self.lan()?;
        if let Some(reader) = reader {
            lan.end_log(reader);
        }
        self.logs.frames = (limit > 0).then(|| lan.log_frames(limit));
        Ok(())
    }

    /// Takes these frames in order. `Err`: no network.
    pub fn take_frames(&mut self) -> Result<Vec<FrameTold>, SettingError> {
        let reader = self.logs.frames.take();
        let frames = self.lan().map(|lan| reader.as_ref().map(|reader| lan.take_log(reader)))?;
        self.logs.frames = reader;
        let told = |f: lan::FrameRecord| (us(f.start), us(f.arrival), f.to_board, format!("{:?}", f.fate), f.frame);
        Ok(frames.into_iter().flatten().map(told).collect())
    }

    /// Logs decoded SPI frames of the devices from now on, or stops.
    pub fn log_spi(&mut self, on: bool) {
        if let Some(reader) = self.logs.spi.take() {
            self.wiring().end_spi_log(reader);
        }
        self.logs.spi = on.then(|| self.wiring().log_spi());
    }

    /// Takes these frames in order.
    pub fn take_spi(&mut self) -> Vec<SpiTold> {
        let Some(reader) = self.logs.spi.take() else { return Vec::new() };
        let frames = self.wiring().take_spi_log(&reader);
        self.logs.spi = Some(reader);
        let told = |(device, frame)| {
            let SpiFrame { start, end, name, address, write, len, data, meaning, wire_bytes } = frame;
            (us(start), us(end), device, name, address, write, len, data, meaning, wire_bytes)
        };
        frames.into_iter().map(told).collect()
    }

    /// Takes the echo replies so far. `Err`: no network.
    pub fn take_ping_replies(&mut self) -> Result<Vec<ReplyTold>, SettingError> {
        let told = |r: PingReply| (r.from.to_string(), r.sequence, r.data, us(r.sent), us(r.received));
        Ok(self.lan()?.take_ping_replies().into_iter().map(told).collect())
    }

    /// Returns whether the network chip has a link; false without one.
    pub fn link_up(&mut self) -> bool {
        let now = self.now();
        self.wiring().network.as_ref().is_some_and(|network| network.link_up(now))
    }

    /// Returns the board's address as the simulated PC knows it.
    pub fn board_address(&mut self) -> Option<String> {
        self.lan().ok()?.board_address().map(|address| address.to_string())
    }

    /// Returns when the simulated PC last told the board by DHCP that an address is its own.
    pub fn leased_us(&mut self) -> Option<f64> {
        self.lan().ok()?.leased_at().map(us)
    }

    /// Returns the registers of each core as far as the status behind the program counter.
    pub fn registers(&self) -> Vec<Vec<u32>> {
        let (chip, end) = (self.chip(), self.chip().facts().pc + 2);
        (0..chip.facts().cores).map(|core| chip.registers(core).into_iter().take(end).collect()).collect()
    }

    /// Returns the counters since the power cycle. Those of the network are 0 and `spi_hz` is null without one; those of an
    /// SD card are there with one.
    pub fn stats(&mut self) -> Value {
        let network = self.wiring().network.as_ref();
        let (ethernet, dropped) = network.map(|network| (network.stats(), network.dropped())).unwrap_or_default();
        let spi = network.and_then(Network::spi);
        let chip = self.chip_mut();
        let spi_hz = spi.map(|spi| chip.sck_hz(spi));
        let (sys_hz, peri_hz) = (chip.sys().freq.clk_sys_hz, chip.sys().freq.clk_peri_hz);
        let cores = || 0..chip.facts().cores;
        let mut told = json!({
            "spi_bytes": ethernet.bus_bytes,
            "chip_selects": ethernet.chip_selects,
            "frames_from_board": ethernet.frames_out,
            "frames_to_board": ethernet.frames_in,
            "frames_dropped": dropped,
            "clk_sys_hz": sys_hz,
            "clk_peri_hz": peri_hz,
            "spi_hz": spi_hz,
            "instructions": cores().map(|core| chip.counts(core).0).sum::<u64>(),
            "cycles": cores().map(|core| chip.counts(core).1).collect::<Vec<_>>(),
            "flash_generation": chip.flash_generation(),
            "core_states": cores().map(|core| chip.state(core)).collect::<Vec<_>>(),
            "pc": cores().map(|core| chip.registers(core)[chip.facts().pc]).collect::<Vec<_>>(),
        });
        if let Some(socket) = &self.wiring().card {
            add_usage(socket.card(), &mut told);
        }
        told
    }

    /// Returns what the PC knows of the USB device; `generation` grows with each enumeration.
    pub fn usb_state(&mut self) -> Value {
        let state = self.usb().state();
        let device = state.device.as_ref();
        let functions = device.map(|device| device.configuration.functions()).unwrap_or_default();
        let unused = functions.iter().filter(|f| !f.used).map(|f| {
            let (class, subclass, protocol) = f.class;
            format!("{} (interface {}, class {class:02x}:{subclass:02x}:{protocol:02x})", f.name, f.interface)
        });
        let mut told = json!({
            "attached": state.attached,
            "configured": state.configured,
            "generation": state.generation,
            "port": format!("{:?}", state.port),
            "trouble": state.trouble,
            "serial_ports": state.serial_ports,
            "console": state.console_present,
            "console_open": state.console_open,
            "storage": state.storage_present,
            "storage_ready": state.storage.is_some(),
            "write_protected": state.storage.as_ref().is_some_and(|drive| drive.write_protected),
            "blocks": state.storage.as_ref().map_or(0, |drive| drive.blocks),
            "unused": unused.collect::<Vec<_>>(),
            "units_ready": state.units.iter().map(Option::is_some).collect::<Vec<_>>(),
        });
        if let Some(device) = device {
            told["vid"] = device.descriptor.vid.into();
            told["pid"] = device.descriptor.pid.into();
            told["manufacturer"] = device.manufacturer.clone().into();
            told["product"] = device.product.clone().into();
            told["serial"] = device.serial.clone().into();
        }
        told
    }

    /// Takes what happened on the USB port since the last call: when, its name, details.
    pub fn usb_events(&mut self) -> Vec<(f64, &'static str, String)> {
        let told = |event| match event {
            Event::Attached => ("attached", String::new()),
            Event::Detached => ("detached", String::new()),
            Event::Configured { vid, pid, .. } => ("configured", format!("{vid:04x}:{pid:04x}")),
            Event::EnumerationFailed { reason } => ("enumeration failed", reason),
            Event::PowerCycled { reason } => ("port switched off and on", reason),
            Event::PortReset { reason } => ("port reset", reason),
            Event::ConsoleOpened => ("console opened", String::new()),
            Event::ConsoleClosed => ("console closed", String::new()),
            Event::SerialOpened(place) => ("serial port opened", format!("{}", place + 1)),
            Event::SerialClosed(place) => ("serial port closed", format!("{}", place + 1)),
            Event::StorageReady { lun: 0, blocks, .. } => ("storage ready", format!("{blocks} blocks")),
            Event::StorageReady { lun, blocks, .. } => {
                ("storage ready", format!("{blocks} blocks, logical unit {lun}"))
            }
            Event::MediumGone { lun: 0 } => ("medium gone", String::new()),
            Event::MediumGone { lun } => ("medium gone", format!("logical unit {lun}")),
        };
        let events = self.take_usb_events().into_iter().map(|(at, event)| (us(at), told(event)));
        events.map(|(at, (name, details))| (at, name, details)).collect()
    }

    /// Changes the drive's logical unit `lun` in one mount: `write`, `mkdir` or `remove`, a path, the file's contents.
    pub fn change_volume(&mut self, changes: &[(String, String, Vec<u8>)], lun: u8) -> Result<(), VolumeError> {
        let volume = self.volume(lun)?;
        for (action, path, data) in changes {
            match action.as_str() {
                "write" => volume.write_file(path, data)?,
                "mkdir" => volume.create_dir(path)?,
                _ => volume.remove(path)?,
            }
        }
        Ok(())
    }

    /// Takes the HardFaults and lock-ups since the last call, and the number that did not fit. `text` says it all in one
    /// line. A HardFault that the guest handles is reported, too, and does not end a run.
    pub fn take_faults(&mut self) -> (Vec<Value>, u64) {
        let (reports, dropped) = self.chip_mut().sys().faults.take();
        let told = reports.iter().map(|report| {
            json!({ "t_us": us(report.at), "core": report.core, "locked_up": report.locked_up, "pc": report.pc,
                "lr": report.lr, "exception": report.exception, "cause": report.cause.to_string(),
                "text": report.to_string() })
        });
        (told.collect(), dropped)
    }

    /// Starts tracing the kinds named, at most `limit` records, beginning with what pins and cores are now; of kind `pc`
    /// one each `pc_sample_cycles`. `Err`: there is no such kind.
    pub fn trace_kinds(&mut self, kinds: &[String], limit: usize, pc_sample_cycles: u64) -> Result<(), SettingError> {
        let mut mask = 0;
        for name in kinds {
            let Some((_, bit)) = kind::ALL.iter().find(|(known, _)| known == name) else {
                let all = kind::ALL.map(|(name, _)| name).join(", ");
                return Err(SettingError::new("unknown trace kind", format!("{name:?}"), format!("use {all}")));
            };
            mask |= bit;
        }
        let chip = self.chip_mut();
        chip.start_trace(mask, limit);
        chip.sample_pc(if mask & kind::PC != 0 { pc_sample_cycles } else { 0 });
        Ok(())
    }

    /// Ends the trace.
    pub fn stop_trace(&mut self) {
        self.chip_mut().sys().trace.stop();
        self.chip_mut().sample_pc(0);
    }

    /// Takes the records so far, and the number that did not fit.
    pub fn take_trace(&mut self) -> (impl Serialize + use<>, u64) {
        let (records, dropped) = self.chip_mut().sys().trace.take();
        let told = records.into_iter().map(|(at, record)| Traced { t_us: us(at), record });
        (told.collect::<Vec<_>>(), dropped)
    }

    /// Returns where the time of a client's spans went, as columns. `None`: nothing was recorded. `windows_us`: begin and end
    /// of each interval, if they are known; `spans_us` is then ignored. See `boards/emulated/attribution.py`.
    pub fn attribution(
        &mut self,
        spans_us: Vec<u64>,
        within_us: Vec<f64>,
        ready_us: Option<u64>,
        link_us: Option<u64>,
        windows_us: Option<Vec<(f64, f64)>>,
    ) -> Option<Value> {
        let within = within_us.into_iter().map(ps).collect();
        let sought = Sought { intervals_us: spans_us, clock: Clock::default(), within, ready_us, link_us };
        let given = windows_us.map(|each| each.into_iter().map(in_ps).collect());
        let (mut told, base) = (clocks(self.chip_mut()), self.chip().facts().flash_base);
        self.recorded()?.account(&mut told, base, &sought, given);
        Some(told)
    }

    /// Returns what went on at each moment of an interval: start, end, cause, without a gap. `None`: nothing was recorded, or
    /// not all of it. Causes are those of [`Self::attribution`], of which `_run` stands for what counts as `_miss` and
    /// `_wait`, too.
    pub fn attribution_moments(&self, window_us: (f64, f64)) -> Option<Vec<(f64, f64, &'static str)>> {
        let moments = self.recorded()?.moments(in_ps(window_us))?;
        Some(moments.into_iter().map(|((from, to), cause)| (us(from), us(to), cause)).collect())
    }
}

fn in_ps((from, to): (f64, f64)) -> Interval {
    (ps(from), ps(to))
}

/// Adds the card's counters since the power cycle.
fn add_usage(card: &Card, told: &mut Value) {
    let usage = card.usage();
    told["sd_commands"] = usage.commands.into();
    told["sd_errors"] = usage.errors.into();
    for (name, direction) in [("read", Direction::Read), ("write", Direction::Write)] {
        let used = usage.of(direction);
        let mut add = |what: &str, value: Value| told[format!("sd_{name}_{what}")] = value;
        add("blocks", used.blocks.into());
        add("bytes", used.bytes.into());
        add("clocked_us", us(used.clocked).into());
        add("card_us", us(used.card).into());
        let Some(spread) = used.gaps.spread() else { continue };
        let [least, mean, most] = spread.map(|gap| gap as f64 / PS_PER_NS as f64);
        add("gap_min_ns", least.into());
        add("gap_median_ns", used.gaps.median_ns().into());
        add("gap_mean_ns", mean.into());
        add("gap_max_ns", most.into());
        let bins = used.gaps.bins();
        for (end, count) in BINS_NS.iter().zip(bins) {
            add(&format!("gaps_to_{end}_ns"), count.into());
        }
        add("gaps_longer", bins[BINS_NS.len()].into());
    }
}
