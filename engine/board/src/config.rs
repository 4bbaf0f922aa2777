//! Everything that can be set about an emulated board.

use std::path::PathBuf;

use lan::LanConfig;
use sd_card::CardConfig;
use usb_host::HostConfig;

use crate::chip::Chip;
use crate::spi_port::SpiWires;
use crate::surroundings::Surroundings;
use crate::wifi_port::WifiWires;

/// The Ethernet chip of a board.
#[derive(Clone, Debug)]
pub struct EthernetConfig {
    pub chip: Chip,
    pub wires: SpiWires,
}

/// The radio chip of a board, and the access point that it finds.
#[derive(Clone, Debug)]
pub struct WifiConfig {
    pub wires: WifiWires,
    pub chip: cyw43::Config,
    pub point: air::AccessPoint,
}

/// An SD card in the board's socket.
#[derive(Clone, Debug)]
pub struct CardSocketConfig {
    pub wires: SpiWires,
    pub card: CardConfig,
}

#[derive(Clone, Debug)]
pub struct BoardConfig {
    pub bootrom: Vec<u8>,
    pub flash_size: usize,
    /// What the flash chip says it is, of which firmware makes the board's id and its MAC address.
    pub flash_id: Option<[u8; 8]>,
    /// With neither of these, a board without a network.
    pub ethernet: Option<EthernetConfig>,
    pub wifi: Option<WifiConfig>,
    /// `None`: a board without a socket, or nothing in it.
    pub card: Option<CardSocketConfig>,
    pub phy: wiznet::Config,
    pub lan: LanConfig,
    pub usb: HostConfig,
    pub surroundings: Surroundings,
    /// Write all frames to this pcap file, anew at each power cycle.
    pub capture: Option<PathBuf>,
    /// Whether misses of the flash cache cost anything; off to see what they take.
    pub xip_miss_cost: bool,
    /// What the SPI clocks are multiplied with, to see what a faster bus would bring; 1 for what is programmed.
    pub spi_speed: u64,
    /// Whether laps of PIO programs are put off; off to see what that saves. The chip does the same.
    pub pio_laps: bool,
    /// Whether what the cores run often is translated; off to see what that saves. The chip does the same.
    pub translated: bool,
}
