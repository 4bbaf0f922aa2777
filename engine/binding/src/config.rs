//! Everything that can be set about an emulated board.

use std::path::PathBuf;

use lan::LanConfig;
use usb_host::HostConfig;

/// GPIO numbers of the W5500 on the board.
#[derive(Clone, Copy, Debug)]
pub struct W5500Pins {
    /// SPI controller, 0 or 1.
    pub spi: usize,
    pub sck: u32,
    pub mosi: u32,
    pub miso: u32,
    pub csn: u32,
    pub rstn: u32,
    pub intn: u32,
}

impl Default for W5500Pins {
    /// The W5500-EVB-Pico.
    fn default() -> Self {
        Self { spi: 0, sck: 18, mosi: 19, miso: 16, csn: 17, rstn: 20, intn: 21 }
    }
}

#[derive(Clone, Debug)]
pub struct BoardConfig {
    pub bootrom: Vec<u8>,
    pub flash_size: usize,
    pub pins: W5500Pins,
    pub w5500: w5500::Config,
    pub lan: LanConfig,
    pub usb: HostConfig,
    /// Write all frames to this pcap file, anew at each power cycle.
    pub capture: Option<PathBuf>,
    /// Count the wait states of XIP cache misses.
    pub xip_miss_cost: bool,
    /// Time SPI frames by their edges, with the PL022's pauses between them.
    pub spi_edge_timing: bool,
}
