//! Reads settings from Python dicts. Unknown keys are refused.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use board::mcu::{self, Facts, RP2040};
use board::{
    AccessPoint, BoardConfig, Chip, EthernetConfig, RADIOS, SidePins, SpiWires, Surroundings, WifiConfig, WifiWires,
    check_pin,
};
use lan::{BridgeConfig, BridgeRule, Faults, LanConfig};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sim::{PS_PER_NS, PS_PER_US};

use crate::py_card;
use crate::py_device::{self, Failures};
use crate::py_machine::value_error;
use crate::py_wifi;

pub(crate) fn parse<T: std::str::FromStr>(key: &str, value: &str) -> PyResult<T> {
    value
        .parse()
        .map_err(|_| PyValueError::new_err(format!("{key} = {value:?} is not an address of the form it needs")))
}

/// Settings of the LAN and of the chip's PHY, which boards and the stand-alone chip share.
#[derive(Clone, Default)]
pub(crate) struct NetworkConfig {
    pub(crate) phy: wiznet::Config,
    pub(crate) lan: LanConfig,
}

impl NetworkConfig {
    /// Takes `key` if it is one of the network's; false otherwise.
    fn take(&mut self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        match key {
            "phy_link_delay_us" => self.phy.phy_link_delay = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "retry_unit_ns" => self.phy.retry_unit = value.extract::<u64>()?.saturating_mul(PS_PER_NS),
            "tcp_answer_us" => self.phy.tcp_answer = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "turnaround_us" => self.lan.turnaround_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "turnarounds_us" => {
                let values: Vec<u64> = value.extract()?;
                self.lan.turnarounds_ps = values.into_iter().map(|us| us.saturating_mul(PS_PER_US)).collect();
            }
            "dhcp_delay_us" => self.lan.dhcp_delay_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "seed" => self.lan.seed = value.extract()?,
            "pc_ip" => {
                let ip: Ipv4Addr = parse(key, &value.extract::<String>()?)?;
                let base = ip.to_bits() & 0xffff_ff00;
                self.lan.pc_ip = ip;
                if let Some(dhcp) = &mut self.lan.dhcp {
                    (dhcp.first, dhcp.last) = (Ipv4Addr::from_bits(base + 100), Ipv4Addr::from_bits(base + 199));
                    (dhcp.router, dhcp.dns) = (Some(ip), vec![ip]);
                }
            }
            "dhcp" => {
                if !value.extract::<bool>()? {
                    self.lan.dhcp = None;
                }
            }
            "dns_answer" => {
                let answer: Option<String> = value.extract()?;
                self.lan.dns_answer = answer.map(|text| parse(key, &text)).transpose()?;
            }
            "ntp_start_s" => self.lan.ntp_start_s = value.extract()?,
            "stack_delay_us" => self.lan.stack_delay_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "delayed_ack_us" => self.lan.delayed_ack_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "quick_ack" => self.lan.quick_ack = value.extract()?,
            "peer_mss" => self.lan.peer_mss = value.extract()?,
            "max_connections" => self.lan.max_connections = value.extract()?,
            "tcp_echo_port" => self.lan.tcp_echo_port = value.extract()?,
            "udp_echo_port" => self.lan.udp_echo_port = value.extract()?,
            "faults" => self.lan.faults = faults(value)?,
            "bridge" => {
                let mut rules = Vec::new();
                for (guest, host) in value.extract::<Vec<(String, String)>>()? {
                    let guest: SocketAddrV4 = parse("bridge guest", &guest)?;
                    let host: SocketAddr = parse("bridge host", &host)?;
                    rules.push(BridgeRule { guest, host });
                }
                self.lan.bridge = if rules.is_empty() { None } else { Some(BridgeConfig::new(rules)) };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut config = Self::default();
        for (key, value) in dict.iter() {
            let key: String = key.extract()?;
            if !config.take(&key, &value)? {
                return Err(PyKeyError::new_err(format!("unknown setting {key:?} of the simulated network")));
            }
        }
        Ok(config)
    }
}

/// `{"seed", "loss_from_board_per_mille", "loss_to_board_per_mille", "extra_delay_us", "jitter_us", "down_us"}`.
pub(crate) fn faults(value: &Bound<'_, PyAny>) -> PyResult<Faults> {
    let mut faults = Faults::default();
    for (key, value) in value.cast::<PyDict>()?.iter() {
        match key.extract::<String>()?.as_str() {
            "seed" => faults.seed = value.extract()?,
            "loss_from_board_per_mille" => faults.loss_from_board_per_mille = value.extract()?,
            "loss_to_board_per_mille" => faults.loss_to_board_per_mille = value.extract()?,
            "extra_delay_us" => faults.extra_delay_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "jitter_us" => faults.jitter_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "down_us" => {
                let intervals: Vec<(u64, u64)> = value.extract()?;
                faults.down = intervals
                    .into_iter()
                    .map(|(from, to)| (from.saturating_mul(PS_PER_US), to.saturating_mul(PS_PER_US)))
                    .collect();
            }
            other => return Err(PyKeyError::new_err(format!("unknown fault {other:?} of the simulated cable"))),
        }
    }
    Ok(faults)
}

/// Reads a board's settings.
pub(crate) fn board(bootrom: Vec<u8>, dict: &Bound<'_, PyDict>, failures: &Failures) -> PyResult<BoardConfig> {
    let mcu = dict.get_item("mcu")?.map_or(Ok(&RP2040), |name| mcu(&name.extract::<String>()?))?;
    let mut network = NetworkConfig::default();
    let mut usb = BoardConfig::default().usb;
    let mut attachments = Vec::new();
    let (mut crystal_hz, mut fuses) = (0, [0xff; 3]);
    let (least, most) = mcu.flash_bytes;
    let mut flash_size = (2usize << 20).clamp(least, most);
    let (mut devices, mut card, mut capture) = (Devices::default(), None, None);
    let mut point = AccessPoint::default();
    let (mut flash_id, mut psram_csn) = (None, None);
    let (mut xip_miss_cost, mut flash_layout) = (true, 0);
    let (mut spi_speed, mut pio_laps, mut translated) = (1, true, true);
    let mut surroundings = Surroundings::default();
    for (key, value) in dict.iter() {
        let key: String = key.extract()?;
        if network.take(&key, &value)? {
            continue;
        }
        match key.as_str() {
            "mcu" => {}
            "usb_request_gap_us" => usb.request_gap_us = value.extract()?,
            "flash_bytes" => flash_size = value.extract()?,
            "psram_csn_pin" => psram_csn = value.extract()?,
            "crystal_hz" => crystal_hz = value.extract()?,
            "fuses" => fuses = value.extract()?,
            "flash_id" => flash_id = value.extract::<Option<u64>>()?.map(u64::to_be_bytes),
            "devices" => devices = Devices::from_list(&value)?,
            "attached" => {
                for device in value.cast::<PyList>()?.iter() {
                    attachments.push(py_device::attachment(mcu, device.cast::<PyDict>()?, failures)?);
                }
            }
            "access_point" => point = py_wifi::access_point(&value)?,
            "sd_card" => card = py_card::socket(&value)?,
            "capture" => capture = value.extract()?,
            "pins" => hold_pins(mcu, &value, &mut surroundings)?,
            "wires" => {
                for (a, b) in value.extract::<Vec<(u32, u32)>>()? {
                    surroundings.wire(gpio(mcu, a)?, gpio(mcu, b)?);
                }
            }
            "xip_miss_cost" => xip_miss_cost = value.extract()?,
            "flash_layout" => flash_layout = value.extract()?,
            "spi_speed" => spi_speed = value.extract()?,
            "pio_laps" => pio_laps = value.extract()?,
            "translated" => translated = value.extract()?,
            _ => return Err(PyKeyError::new_err(format!("unknown setting {key:?} of an emulated board"))),
        }
    }
    let (phy, lan) = (network.phy, network.lan);
    let ethernet = devices.ethernet;
    point.seed = lan.seed;
    let mut radio = cyw43::Config::default();
    if let Some(id) = &flash_id {
        // Another board has another radio chip, and its own draws of the access point's delay.
        radio.mac[3..].copy_from_slice(&id[5..]);
        point.seed = point.seed.wrapping_add(u64::from_be_bytes(*id));
    }
    let wifi = devices.radio.map(|wires| WifiConfig { wires, chip: radio, point });
    let config = BoardConfig {
        mcu,
        bootrom,
        flash_size,
        psram_csn,
        crystal_hz,
        fuses,
        flash_id,
        ethernet,
        wifi,
        card,
        phy,
        lan,
        usb,
        surroundings,
        attachments,
        capture,
        xip_miss_cost,
        flash_layout,
        spi_speed,
        pio_batches: pio_laps,
        translated,
    };
    config.check().map_err(value_error)?;
    Ok(config)
}

/// The microcontroller called `name`.
pub(crate) fn mcu(name: &str) -> PyResult<&'static Facts> {
    mcu::named(name).ok_or_else(|| unknown("mcu", name, mcu::ALL.iter().map(|mcu| mcu.name)))
}

/// The chip called `name`.
pub(crate) fn chip(name: &str) -> PyResult<Chip> {
    Chip::named(name).ok_or_else(|| unknown("chip", name, Chip::ALL.iter().map(|chip| chip.name())))
}

pub(crate) fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> PyErr {
    let known: Vec<_> = known.collect();
    PyValueError::new_err(format!("{what} {name}: the engine models {}", known.join(", ")))
}

/// The parts soldered to the board.
#[derive(Default)]
struct Devices {
    ethernet: Option<EthernetConfig>,
    radio: Option<WifiWires>,
}

impl Devices {
    /// `[{"chip": "W5500", "bus": "spi0", "sck_pin": 18, ...}]`, or `[{"chip": "CYW43439", "bus": "gspi", "on_pin": 23, ...}]`.
    fn from_list(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut devices = Self::default();
        let mut first: Option<String> = None;
        for device in value.cast::<PyList>()?.iter() {
            let device = device.cast::<PyDict>()?;
            let name = match device.get_item("chip")? {
                Some(name) => name.extract::<String>()?,
                None => return Err(PyValueError::new_err("devices: a device without \"chip\"")),
            };
            if let Some(first) = first {
                let message = if devices.radio.is_none() && !RADIOS.contains(&name.as_str()) {
                    format!("devices: {first} and {name} are both Ethernet chips; the board has one cable")
                } else {
                    format!("devices: {first} and {name} are both network chips; the board has one network")
                };
                return Err(PyValueError::new_err(message));
            }
            if RADIOS.contains(&name.as_str()) {
                devices.radio = Some(py_wifi::wires(&name, device)?);
            } else {
                devices.ethernet = Some(spi_device(device)?);
            }
            first = Some(name);
        }
        Ok(devices)
    }
}

const PIN_KEYS: [&str; 6] = ["sck_pin", "mosi_pin", "miso_pin", "csn_pin", "rstn_pin", "intn_pin"];

fn spi_device(dict: &Bound<'_, PyDict>) -> PyResult<EthernetConfig> {
    let (mut name, mut bus) = (None, None);
    let mut pins = [None; PIN_KEYS.len()];
    for (key, value) in dict.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "chip" => name = Some(value.extract::<String>()?),
            "bus" => bus = Some(value.extract::<String>()?),
            _ => match PIN_KEYS.iter().position(|known| *known == key) {
                Some(index) => pins[index] = value.extract()?,
                None => return Err(PyKeyError::new_err(format!("unknown setting {key:?} of a device"))),
            },
        }
    }
    let name = name.ok_or_else(|| PyValueError::new_err("devices: a device without \"chip\""))?;
    let chip = chip(&name)?;
    let spi = spi_bus(&format!("devices: {name}"), bus.as_deref())?;
    let [sck, mosi, miso, csn, rstn, intn] = pins;
    let wired =
        |key: &str, pin: Option<u32>| pin.ok_or_else(|| PyValueError::new_err(format!("devices: {name} has no {key}")));
    let wires = SpiWires {
        spi,
        sck: wired("sck_pin", sck)?,
        mosi: wired("mosi_pin", mosi)?,
        miso: wired("miso_pin", miso)?,
        csn: wired("csn_pin", csn)?,
        side: SidePins { rstn, intn },
    };
    Ok(EthernetConfig { chip, wires })
}

/// `{15: 0.0, 26: 1.65}`: GPIO numbers, and the volts that are held there.
fn hold_pins(mcu: &Facts, value: &Bound<'_, PyAny>, surroundings: &mut Surroundings) -> PyResult<()> {
    for (pin, volts) in value.cast::<PyDict>()?.iter() {
        surroundings.hold(gpio(mcu, pin.extract()?)?, Some(millivolts(volts.extract()?)?));
    }
    Ok(())
}

/// The number of a GPIO.
pub(crate) fn gpio(mcu: &Facts, pin: u32) -> PyResult<u32> {
    check_pin(mcu, &format!("pin {pin}"), pin).map_err(value_error)?;
    Ok(pin)
}

/// A voltage that a pin survives (RP2040 datasheet 5.5.3.1: at most IOVDD + 0.5 V).
pub(crate) fn millivolts(volts: f64) -> PyResult<u32> {
    if (0.0..=3.8).contains(&volts) {
        return Ok((volts * 1e3).round() as u32);
    }
    Err(PyValueError::new_err(format!("{volts} V at a pin: use 0 to 3.8 V")))
}

/// The number of the SPI controller of a part.
pub(crate) fn spi_bus(what: &str, bus: Option<&str>) -> PyResult<usize> {
    match bus {
        Some("spi0") => Ok(0),
        Some("spi1") => Ok(1),
        other => {
            let other = other.unwrap_or("none");
            Err(PyValueError::new_err(format!("{what}: bus {other}: use spi0 or spi1")))
        }
    }
}

/// A GPIO number, or None for a pin that is not wired.
pub(crate) fn pin(mcu: &Facts, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let pin = value.extract::<Option<u32>>()?;
    let checked = pin.map_or(Ok(()), |pin| check_pin(mcu, &format!("{key} = {pin}"), pin));
    checked.map_err(value_error).map(|()| pin)
}
