//! The board of a page.

use std::sync::PoisonError;

use board::{BoardConfig, Machine, Stop, flash_of_uf2};
use chip::trace::{Record, kind};
use serde_json::{Value, json};
use sim::{ps, us};
use usb_host::Stage;

use crate::ping_pong::{PingPong, Report};

/// Port of the simulated PC's server, as portbench's.
const SERVER_PORT: u16 = 5000;
/// The USB ids of the microcontrollers' boot loaders: those of the RP2040 and the RP2350.
const BOOT_LOADERS: [(u16, u16); 2] = [(0x2e8a, 0x0003), (0x2e8a, 0x000f)];
/// Most frames of the cable and changes of the pins from one look to the next.
const MOST_FRAMES: usize = 200;
const MOST_CHANGES: usize = 20_000;
/// Most SPI bytes on the wires in one look: the oldest, with which a triggered picture begins.
const MOST_WIRE: usize = 400;
/// What the trace of the pins records.
const TRACED: u32 = kind::PINS | kind::WIRE;
/// Most SPI frames that one look shows: the newest.
const MOST_SPI: usize = 400;

#[derive(Default)]
pub(crate) struct Page {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) boot_rom: Vec<u8>,
    pub(crate) settings: Vec<u8>,
    machine: Option<Machine>,
    /// It was powered up with BOOTSEL pressed.
    bootsel: bool,
    report: Report,
    /// What `observed` shows is recorded.
    watched: bool,
}

impl Page {
    /// Keeps a result; returns its length.
    pub(crate) fn answer(&mut self, bytes: Vec<u8>) -> usize {
        self.output = bytes;
        self.output.len()
    }

    pub(crate) fn power_up(&mut self, bootsel: bool) -> Result<(), String> {
        let uf2 = std::mem::take(&mut self.input);
        let settings = serde_json::from_slice(&self.settings).map_err(|error| format!("the settings: {error}"))?;
        let config = BoardConfig::from_settings(self.boot_rom.clone(), settings).map_err(|error| error.to_string())?;
        let kept = self.machine.as_mut().map(|machine| machine.chip().flash().to_vec()).unwrap_or_default();
        let flash =
            if uf2.is_empty() { kept } else { flash_of_uf2(config.mcu, &uf2).map_err(|error| error.to_string())? };
        if flash.len() > config.flash_size {
            return Err(format!("the image has {} bytes; the board's flash has {}", flash.len(), config.flash_size));
        }
        // WebAssembly gives no memory back, so the old board goes first.
        self.machine = None;
        let mut machine = Machine::new(config, &flash, bootsel).map_err(|error| error.to_string())?;
        if machine.network().is_ok() {
            let server = Box::new(PingPong::new(self.report.clone()));
            machine.listen(SERVER_PORT, server).map_err(|error| error.to_string())?;
        }
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clear();
        (self.machine, self.bootsel, self.watched) = (Some(machine), bootsel, false);
        Ok(())
    }

    /// Begins to record what `observed` shows, or ends that.
    pub(crate) fn watch(&mut self, on: bool) {
        let Some(machine) = &mut self.machine else { return };
        machine.log_spi(on);
        // A board without a network has no cable.
        let _ = machine.log_frames(if on { MOST_FRAMES } else { 0 });
        machine.chip_mut().start_trace(if on { TRACED } else { 0 }, MOST_CHANGES);
        self.watched = on;
    }

    /// What went over SPI and the cable, and the changes of the pins, since the last look, as JSON.
    pub(crate) fn observed(&mut self) -> Vec<u8> {
        let Some(machine) = self.machine.as_mut().filter(|_| self.watched) else { return Vec::new() };
        let mut spi = machine.take_spi();
        let left_out = spi.len().saturating_sub(MOST_SPI);
        spi.drain(..left_out);
        let frames = machine.take_frames().unwrap_or_default();
        let (records, _) = machine.chip_mut().sys().trace.take();
        machine.chip_mut().start_trace(TRACED, MOST_CHANGES);
        let pins: Vec<Value> = records
            .iter()
            .filter_map(|(at, record)| match *record {
                Record::Pins { level, output_enabled } => Some(json!([us(*at), level, output_enabled])),
                _ => None,
            })
            .collect();
        let wire: Vec<Value> = records
            .iter()
            .filter_map(|(at, record)| match *record {
                Record::Wire { spi, bits, mosi, miso, first, polarity, phase, .. } => {
                    Some(json!([us(first), us(*at), spi, bits, mosi, miso, polarity, phase]))
                }
                _ => None,
            })
            .take(MOST_WIRE)
            .collect();
        json!({ "spi": spi, "spiLeftOut": left_out, "frames": frames, "pins": pins, "wire": wire })
            .to_string()
            .into_bytes()
    }

    pub(crate) fn run(&mut self, us: f64) -> String {
        let Some(machine) = &mut self.machine else { return "no board is powered up".into() };
        let until = machine.now() + ps(us.clamp(0.0, 1e6));
        while machine.now() < until {
            match machine.run(until) {
                Ok(Stop::Reset(_)) if self.bootsel => {
                    // The button that led into the boot loader is let go now, or the image would never start.
                    let watched = self.watched;
                    let failure = self.power_up(false).err();
                    self.watch(watched);
                    return failure.unwrap_or_default();
                }
                Ok(Stop::Usb) => drop(machine.take_usb_events()),
                Ok(Stop::Console) => return String::new(),
                Ok(Stop::LockedUp) => {
                    let report = machine.chip_mut().sys().faults.take().0.pop();
                    return report.map_or_else(|| "a core locked up".into(), |report| report.to_string());
                }
                Ok(Stop::Asleep(why)) => return why,
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
        String::new()
    }

    pub(crate) fn time_us(&self) -> f64 {
        self.machine.as_ref().map_or(0.0, |machine| us(machine.now()))
    }

    pub(crate) fn instructions(&self) -> f64 {
        let Some(machine) = &self.machine else { return 0.0 };
        (0..2).map(|core| machine.chip().counts(core).0 as f64).sum()
    }

    pub(crate) fn type_in(&mut self) -> usize {
        let text = std::mem::take(&mut self.input);
        let Some(machine) = &mut self.machine else { return 0 };
        machine.on_usb(|usb| usb.console_write(&text))
    }

    pub(crate) fn printed(&mut self) -> Vec<u8> {
        self.machine.as_mut().map(|machine| machine.usb().console_read()).unwrap_or_default()
    }

    pub(crate) fn pins(&mut self) -> (u64, u64) {
        self.machine.as_mut().map_or((0, 0), Machine::pins)
    }

    pub(crate) fn set_cable(&mut self, plugged: bool) {
        if let Some(machine) = &mut self.machine {
            // A board without a network has no cable.
            let _ = machine.set_cable(plugged);
        }
    }

    /// 0: the PC has found no drive on the board; 1: its firmware's; 2: its boot loader's.
    pub(crate) fn drive(&mut self) -> u32 {
        let Some(usb) = self.machine.as_mut().map(Machine::usb).filter(|usb| usb.drive_blocks(0) > 0) else { return 0 };
        let device = usb.state().device;
        let is_boot_loader =
            |(vid, pid)| device.as_ref().is_some_and(|it| (it.descriptor.vid, it.descriptor.pid) == (vid, pid));
        1 + u32::from(BOOT_LOADERS.into_iter().any(is_boot_loader))
    }

    pub(crate) fn frames(&mut self) -> f64 {
        let Some(lan) = self.machine.as_mut().and_then(|machine| machine.lan().ok()) else { return 0.0 };
        let stats = lan.stats();
        (stats.from_board + stats.to_board) as f64
    }

    pub(crate) fn report(&self) -> Vec<u8> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn write_file(&mut self) -> Result<(), String> {
        let input = std::mem::take(&mut self.input);
        let end = input.iter().position(|&byte| byte == 0).ok_or("the file has no name")?;
        let path = String::from_utf8_lossy(&input[..end]).into_owned();
        let machine = self.machine.as_mut().ok_or("no board is powered up")?;
        let contents = &input[end + 1..];
        match machine.volume(0).and_then(|volume| volume.write_file(&path, contents)) {
            // A boot loader that has a whole image restarts the board, and its drive is gone.
            Err(error) if error.stage == Stage::Structure && machine.usb().drive_blocks(0) == 0 => Ok(()),
            written => written.map_err(|error| error.to_string()),
        }
    }

    pub(crate) fn read_file(&mut self) -> Result<Vec<u8>, String> {
        let path = String::from_utf8_lossy(&std::mem::take(&mut self.input)).into_owned();
        let machine = self.machine.as_mut().ok_or("no board is powered up")?;
        machine.volume(0).and_then(|volume| volume.read_file(&path)).map_err(|error| error.to_string())
    }

    pub(crate) fn list_files(&mut self) -> String {
        let Some(volume) = self.machine.as_mut().and_then(|machine| machine.volume(0).ok()) else {
            return String::new();
        };
        let entries = volume.list().unwrap_or_default();
        entries.into_iter().map(|entry| format!("{}\n", entry.path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use board::mcu::{RP2040, RP2350};

    use super::*;

    #[test]
    fn each_board_starts_and_a_bad_image_leaves_it_running() {
        let wires =
            json!({ "chip": "W5500", "bus": "spi0", "sck_pin": 18, "mosi_pin": 19, "miso_pin": 16, "csn_pin": 17 });
        for (mcu, devices) in [(&RP2040, json!([])), (&RP2350, json!([])), (&RP2040, json!([wires]))] {
            let settings = json!({ "mcu": mcu.name, "devices": devices }).to_string().into_bytes();
            // A stack pointer, a reset vector, and a branch to itself.
            let mut rom = [0x2004_0000_u32, 0x0000_0009, 0xe7fe_e7fe].map(u32::to_le_bytes).concat();
            let mut page = Page { settings, boot_rom: rom.clone(), ..Page::default() };
            assert!(page.power_up(false).is_err_and(|error| error.starts_with("the boot ROM has 12 bytes")));
            rom.resize(mcu.boot_rom.bytes, 0);
            page.boot_rom = rom;
            assert_eq!(page.power_up(false), Ok(()));
            assert_eq!((page.run(1000.0), page.time_us() >= 1000.0), (String::new(), true));
            page.input = vec![0; 100];
            assert!(page.power_up(false).is_err_and(|error| error.starts_with("100 bytes are no UF2 file")));
            assert_eq!((page.run(1000.0), page.time_us() >= 2000.0), (String::new(), true));
        }
        assert!(Page::default().power_up(false).is_err_and(|error| error.starts_with("the settings: EOF")));
    }
}
