//! Reads a board's configuration from a Python dict. Unknown keys are refused.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use lan::{BridgeConfig, BridgeRule, DhcpConfig, Faults, LanConfig};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::PS_PER_US;
use usb_host::{HostConfig, ReadPolicy};

use crate::config::{BoardConfig, W5500Pins};

fn parse<T: std::str::FromStr>(key: &str, value: &str) -> PyResult<T> {
    value
        .parse()
        .map_err(|_| PyValueError::new_err(format!("{key} = {value:?} is not an address of the form it needs")))
}

/// Settings of the LAN and of the W5500's PHY, which boards and the stand-alone W5500 share.
#[derive(Clone, Default)]
pub struct NetworkConfig {
    pub w5500: w5500::Config,
    pub lan: LanConfig,
}

impl NetworkConfig {
    /// Takes `key` if it is one of the network's; false otherwise.
    fn take(&mut self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        match key {
            "phy_link_delay_us" => self.w5500.phy_link_delay = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "cable_plugged" => self.w5500.cable_plugged = value.extract()?,
            "turnaround_us" => self.lan.turnaround_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "stack_delay_us" => self.lan.stack_delay_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "delayed_ack_us" => self.lan.delayed_ack_ps = value.extract::<u64>()?.saturating_mul(PS_PER_US),
            "propagation_ns" => self.lan.propagation_ps = value.extract::<u64>()?.saturating_mul(1000),
            "pc_ip" => {
                let ip: Ipv4Addr = parse(key, &value.extract::<String>()?)?;
                let base = ip.to_bits() & 0xffff_ff00;
                self.lan.pc_ip = ip;
                self.lan.dhcp = Some(DhcpConfig {
                    first: Ipv4Addr::from_bits(base + 100),
                    last: Ipv4Addr::from_bits(base + 199),
                    lease_s: 3600,
                    router: Some(ip),
                    dns: vec![ip],
                });
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
            "tcp_echo_port" => self.lan.tcp_echo_port = value.extract()?,
            "udp_echo_port" => self.lan.udp_echo_port = value.extract()?,
            "seed" => self.lan.seed = value.extract()?,
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

    pub fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Self> {
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
pub fn faults(value: &Bound<'_, PyAny>) -> PyResult<Faults> {
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

impl BoardConfig {
    pub fn from_dict(bootrom: Vec<u8>, dict: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut network = NetworkConfig::default();
        let mut usb = HostConfig::default();
        // A PC whose terminal nobody reads keeps the newest output, and never holds the board up.
        usb.console.read_policy = ReadPolicy::Ring;
        let mut config = Self {
            bootrom,
            flash_size: 2 << 20,
            pins: W5500Pins::default(),
            w5500: network.w5500.clone(),
            lan: network.lan.clone(),
            usb,
            capture: None,
            xip_miss_cost: true,
            spi_edge_timing: true,
        };
        for (key, value) in dict.iter() {
            let key: String = key.extract()?;
            if network.take(&key, &value)? {
                continue;
            }
            match key.as_str() {
                "flash_bytes" => config.flash_size = value.extract()?,
                "spi" => config.pins.spi = value.extract()?,
                "sck_pin" => config.pins.sck = pin(&key, &value)?,
                "mosi_pin" => config.pins.mosi = pin(&key, &value)?,
                "miso_pin" => config.pins.miso = pin(&key, &value)?,
                "csn_pin" => config.pins.csn = pin(&key, &value)?,
                "rstn_pin" => config.pins.rstn = pin(&key, &value)?,
                "intn_pin" => config.pins.intn = pin(&key, &value)?,
                "capture" => config.capture = value.extract()?,
                "spi_edge_timing" => config.spi_edge_timing = value.extract()?,
                "xip_miss_cost" => config.xip_miss_cost = value.extract()?,
                "console_open_after_us" => config.usb.console.open_after_us = value.extract()?,
                "storage" => config.usb.storage.enabled = value.extract()?,
                "usb_debounce_us" => config.usb.debounce_us = value.extract()?,
                _ => return Err(PyKeyError::new_err(format!("unknown setting {key:?} of an emulated board"))),
            }
        }
        if !config.flash_size.is_power_of_two() || !(1 << 16..=16 << 20).contains(&config.flash_size) {
            let size = config.flash_size;
            return Err(PyValueError::new_err(format!(
                "flash_bytes = {size}: use a power of two from 65536 to 16777216"
            )));
        }
        if config.bootrom.len() != rp2040::memory::ROM_SIZE {
            let len = config.bootrom.len();
            return Err(PyValueError::new_err(format!("the boot ROM has {len} bytes: the RP2040's has 16384")));
        }
        config.w5500 = network.w5500;
        config.lan = network.lan;
        Ok(config)
    }
}

fn pin(key: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let pin: u32 = value.extract()?;
    if pin < 30 { Ok(pin) } else { Err(PyValueError::new_err(format!("{key} = {pin}: the RP2040 has GPIO 0 to 29"))) }
}
