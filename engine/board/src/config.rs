//! Configuration of an emulated board.

use std::path::PathBuf;

use lan::LanConfig;
use sd_card::CardConfig;
use sim::SettingError;
use usb_host::{HostConfig, ReadPolicy};

use crate::attachment::Attachment;
use crate::chip::Chip;
use crate::mcu::{ATMEGA1284P, ATMEGA2560, Facts, RP2040, RP2350};
use crate::spi_port::SpiWires;
use crate::surroundings::Surroundings;
use crate::wifi_port::WifiWires;
use crate::wires::SidePins;

/// The Ethernet chip of a board.
#[derive(Clone, Debug)]
pub struct EthernetConfig {
    /// The Ethernet chip.
    pub chip: Chip,
    /// The chip's pins.
    pub wires: SpiWires,
}

/// The radio chip of a board, and its access point.
#[derive(Clone, Debug)]
pub struct WifiConfig {
    /// The radio chip's pins.
    pub wires: WifiWires,
    /// The radio chip's settings.
    pub chip: cyw43::Config,
    /// The access point that it can join.
    pub point: air::AccessPoint,
}

/// An SD card in the board's socket.
#[derive(Clone, Debug)]
pub struct CardSocketConfig {
    /// The socket's pins.
    pub wires: SpiWires,
    /// The card in it.
    pub card: CardConfig,
}

/// By default a bare RP2040 with 2 MiB of flash and an empty boot ROM.
///
/// ```
/// use portbench_engine::{BoardConfig, Machine, mcu::RP2040};
/// use sim::PS_PER_MS;
///
/// // A stack pointer, a reset vector, and a branch to itself: enough to run without a real boot ROM.
/// let mut rom = [0x2004_0000_u32, 0x0000_0009, 0xe7fe_e7fe].map(u32::to_le_bytes).concat();
/// rom.resize(RP2040.boot_rom.bytes, 0);
/// let mut config = BoardConfig::pico(rom);
/// config.surroundings.hold(15, Some(3_300));
/// let mut board = Machine::new(config, &[], false)?;
/// board.run(PS_PER_MS)?;
/// assert!(board.now() >= PS_PER_MS);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BoardConfig {
    /// The kind of microcontroller.
    pub mcu: &'static Facts,
    /// The boot ROM's contents: [`crate::bootrom`] reads them.
    pub bootrom: Vec<u8>,
    /// Bytes of the flash chip, a power of two.
    pub flash_size: usize,
    /// The GPIO that selects a PSRAM beside the flash, an APS6404L; one of [`Facts::psram_pins`].
    pub psram_csn: Option<u32>,
    /// Frequency of the crystal, of a microcontroller whose clock it is.
    pub crystal_hz: u64,
    /// Low, high and extended fuse byte of a microcontroller that has fuses.
    pub fuses: [u8; 3],
    /// The flash chip's unique id, from which firmware derives the board's id and its MAC address.
    pub flash_id: Option<[u8; 8]>,
    /// Without these two, the board has no network.
    pub ethernet: Option<EthernetConfig>,
    /// The radio chip and its access point. A board has Ethernet or Wi-Fi, not both.
    pub wifi: Option<WifiConfig>,
    /// `None`: no socket, or no card in it.
    pub card: Option<CardSocketConfig>,
    /// The Ethernet chip's settings: its cable, and the times it takes.
    pub phy: wiznet::Config,
    /// The simulated PC and its network.
    pub lan: LanConfig,
    /// The PC's USB host.
    pub usb: HostConfig,
    /// Voltages, levels and wires at the pins.
    pub surroundings: Surroundings,
    /// Further devices, in the order in which they were attached.
    pub attachments: Vec<Attachment>,
    /// Write all frames to this pcap file, anew at each power cycle.
    pub capture: Option<PathBuf>,
    /// Misses of the flash cache cost time; off to find out their total cost.
    pub xip_miss_cost: bool,
    /// Seed of another layout of the flash in its cache ([`chip::xip_cache::XipCache::place`]); 0: as linked.
    pub flash_layout: u32,
    /// Factor of the SPI clocks, to find out the benefit of a faster bus; 1: as programmed.
    pub spi_speed: u64,
    /// Passes of PIO loops are deferred and run in batches; off to measure the benefit. The chip's behaviour is the
    /// same.
    pub pio_batches: bool,
    /// Hot code is translated; off to measure the benefit. The chip's behaviour is the same.
    pub translated: bool,
}

impl Default for BoardConfig {
    fn default() -> Self {
        let mut usb = HostConfig::default();
        // A PC keeps the newest output of a terminal without a reader, and never holds the board up.
        usb.console.read_policy = ReadPolicy::Ring;
        Self {
            mcu: &RP2040,
            bootrom: Vec::new(),
            flash_size: 2 << 20,
            psram_csn: None,
            crystal_hz: 0,
            fuses: [0xff; 3],
            flash_id: None,
            ethernet: None,
            wifi: None,
            card: None,
            phy: wiznet::Config::default(),
            lan: LanConfig::default(),
            usb,
            surroundings: Surroundings::default(),
            attachments: Vec::new(),
            capture: None,
            xip_miss_cost: true,
            flash_layout: 0,
            spi_speed: 1,
            pio_batches: true,
            translated: true,
        }
    }
}

impl BoardConfig {
    /// A Raspberry Pi Pico that USB powers. `bootrom`: see [`crate::bootrom`].
    pub fn pico(bootrom: Vec<u8>) -> Self {
        let mut surroundings = Surroundings::default();
        // VBUS sense, and a third of VSYS: 5 V less the Schottky diode's 0.3 V.
        surroundings.hold(24, Some(3_300));
        surroundings.hold(29, Some(1_570));
        Self { bootrom, surroundings, ..Self::default() }
    }

    /// A Raspberry Pi Pico 2 that USB powers. `bootrom`: see [`crate::bootrom`].
    pub fn pico2(bootrom: Vec<u8>) -> Self {
        Self { mcu: &RP2350, flash_size: 4 << 20, ..Self::pico(bootrom) }
    }

    /// WIZnet's W5500-EVB-Pico: a Pico with a W5500 on SPI0.
    pub fn w5500_evb_pico(bootrom: Vec<u8>) -> Self {
        Self::pico(bootrom).with_w5500()
    }

    /// WIZnet's W5500-EVB-Pico2: the same with a Pico 2.
    pub fn w5500_evb_pico2(bootrom: Vec<u8>) -> Self {
        Self { flash_size: 2 << 20, ..Self::pico2(bootrom) }.with_w5500()
    }

    /// A Raspberry Pi Pico W, and an access point in its range.
    pub fn pico_w(bootrom: Vec<u8>) -> Self {
        Self { bootrom, ..Self::default() }.with_radio()
    }

    /// A Raspberry Pi Pico 2 W, and an access point in its range.
    pub fn pico2_w(bootrom: Vec<u8>) -> Self {
        Self { mcu: &RP2350, flash_size: 4 << 20, bootrom, ..Self::default() }.with_radio()
    }

    /// An Arduino Mega 2560 without a boot loader, under a shield with a W5500 whose chip select is pin 10 (PB4).
    pub fn arduino_mega2560() -> Self {
        let wires = SpiWires { spi: Some(0), sck: 9, mosi: 10, miso: 11, io: None, csn: 12, side: SidePins::default() };
        Self::atmega(&ATMEGA2560, 16_000_000, EthernetConfig { chip: Chip::W5500, wires })
    }

    /// A Goldilocks 1284P without a boot loader, under a shield with `chip`, whose chip select is pin 10 (PB4).
    pub fn goldilocks_1284p(chip: Chip) -> Self {
        let wires =
            SpiWires { spi: Some(0), sck: 15, mosi: 13, miso: 14, io: None, csn: 12, side: SidePins::default() };
        Self::atmega(&ATMEGA1284P, 22_118_400, EthernetConfig { chip, wires })
    }

    /// Fuses as Arduino's, but a reset begins at the start of flash.
    fn atmega(mcu: &'static Facts, crystal_hz: u64, ethernet: EthernetConfig) -> Self {
        let flash_size = mcu.flash_bytes.1;
        let fuses = [0xff, 0xd9, 0xfd];
        Self { mcu, flash_size, crystal_hz, fuses, ethernet: Some(ethernet), ..Self::default() }
    }

    fn with_w5500(self) -> Self {
        let side = SidePins { rstn: Some(20), intn: Some(21) };
        let wires = SpiWires { spi: Some(0), sck: 18, mosi: 19, miso: 16, io: None, csn: 17, side };
        Self { ethernet: Some(EthernetConfig { chip: Chip::W5500, wires }), ..self }
    }

    fn with_radio(mut self) -> Self {
        // A third of VSYS, as on a Pico.
        self.surroundings.hold(29, Some(1_570));
        let wires = WifiWires { on: 23, data: 24, csn: 25, clock: 29 };
        let (chip, point) = (cyw43::Config::default(), air::AccessPoint::default());
        Self { wifi: Some(WifiConfig { wires, chip, point }), ..self }
    }

    /// Returns whether a board can have these settings.
    pub fn check(&self) -> Result<(), SettingError> {
        let (mcu, bytes, rom, speed) = (self.mcu, self.flash_size, self.bootrom.len(), self.spi_speed);
        let (least, most) = mcu.flash_bytes;
        let fits = bytes.is_power_of_two() && (least..=most).contains(&bytes);
        SettingError::unless(fits, "flash_bytes", bytes, format_args!("use a power of two from {least} to {most}"))?;
        if rom != mcu.boot_rom.bytes {
            let (name, needs) = (mcu.name, mcu.boot_rom.bytes);
            return Err(SettingError::new(
                "the boot ROM",
                format!("has {rom} bytes"),
                format!("the {name}'s has {needs}"),
            ));
        }
        SettingError::unless((1..=16).contains(&speed), "spi_speed", speed, "use 1 to 16")?;
        if let Some(pin) = self.psram_csn.filter(|pin| !mcu.psram_pins.contains(pin)) {
            let (name, pins) = (mcu.name, mcu.psram_pins);
            let mend = if pins.is_empty() {
                format!("the {name} has no chip select for a PSRAM; leave it out")
            } else {
                format!("the {name} selects a PSRAM by one of GPIO {pins:?}")
            };
            return Err(SettingError::new("psram_csn_pin", format!("= {pin}"), mend));
        }
        let ethernet = self.ethernet.iter().flat_map(|ethernet| ethernet.wires.pins());
        let card = self.card.iter().flat_map(|card| card.wires.pins());
        let wifi = self.wifi.iter().flat_map(|wifi| wifi.wires.pins());
        for (key, pin) in ethernet.chain(card).chain(wifi) {
            check_pin(mcu, &format!("{key} = {pin}"), pin)?;
        }
        self.surroundings.pins().try_for_each(|pin| check_pin(mcu, &format!("pin {pin}"), pin))
    }

    /// Adds a device.
    #[must_use]
    pub fn with(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }
}

/// Returns the error of a part's `name` that is not among the `known` ones.
pub(crate) fn unknown(setting: &str, name: &str, known: impl Iterator<Item = &'static str>) -> SettingError {
    SettingError::new(setting, name, format!("the engine models {}", known.collect::<Vec<_>>().join(", ")))
}

/// Returns whether `mcu` has that pin; `what` names the setting.
pub fn check_pin(mcu: &Facts, what: &str, pin: u32) -> Result<(), SettingError> {
    if pin < mcu.pins {
        return Ok(());
    }
    Err(SettingError::new(what, "", format!("the {} has GPIO 0 to {}", mcu.name, mcu.pins - 1)))
}
