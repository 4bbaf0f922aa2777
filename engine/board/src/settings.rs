//! A board's settings as JSON has them. `boards/emulated/config.py` writes them, for Python's machines and for a page's.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use air::{AccessPoint, Delay};
use lan::{BridgeConfig, BridgeRule, Faults, LanConfig};
use sd_card::{CardConfig, Kind, Medium, Wear};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sim::{PS_PER_NS, PS_PER_US, Ps, SettingError};

use crate::chip::{Chip, RADIOS};
use crate::config::{BoardConfig, CardSocketConfig, EthernetConfig, WifiConfig, check_pin, unknown};
use crate::mcu::{self, RP2040};
use crate::spi_port::SpiWires;
use crate::wifi_port::WifiWires;
use crate::wires::SidePins;

type Read<T> = Result<T, SettingError>;

/// The settings of a board or of a part, which are taken one by one.
struct Settings {
    /// Their owner, for errors.
    of: String,
    left: Map<String, Value>,
}

impl Settings {
    fn new(of: &str, value: Value) -> Read<Self> {
        match value {
            Value::Object(left) => Ok(Self { of: of.into(), left }),
            other => Err(SettingError::new(of, "", format!("{other} has no names; use settings by their names"))),
        }
    }

    fn get<T: DeserializeOwned>(&mut self, key: &str) -> Read<Option<T>> {
        let read =
            |value| serde_json::from_value(value).map_err(|error| SettingError::new(key, "", format!("{error}")));
        self.left.remove(key).map(read).transpose()
    }

    fn need<T: DeserializeOwned>(&mut self, key: &str) -> Read<T> {
        self.get(key)?.ok_or_else(|| SettingError::new(&self.of, format!("has no {key}"), "add it"))
    }

    fn set<T: DeserializeOwned>(&mut self, key: &str, to: &mut T) -> Read<()> {
        if let Some(value) = self.get(key)? {
            *to = value;
        }
        Ok(())
    }

    /// Sets a time, in the unit that ends its name.
    fn time(&mut self, key: &str, to: &mut Ps) -> Read<()> {
        let unit = if key.ends_with("_ns") { PS_PER_NS } else { PS_PER_US };
        if let Some(time) = self.get::<u64>(key)? {
            *to = time.saturating_mul(unit);
        }
        Ok(())
    }

    /// Takes the place of its bus among `known`.
    fn bus(&mut self, known: &[&str]) -> Read<usize> {
        let bus = self.get::<String>("bus")?.unwrap_or("none".into());
        let place = known.iter().position(|known| *known == bus);
        place.ok_or_else(|| SettingError::new(format!("{}: bus", self.of), bus, format!("use {}", known.join(" or "))))
    }

    fn spi_wires(&mut self) -> Read<SpiWires> {
        Ok(SpiWires {
            spi: Some(self.bus(&["spi0", "spi1", "pio"])?).filter(|&spi| spi < 2),
            sck: self.need("sck_pin")?,
            mosi: self.need("mosi_pin")?,
            miso: self.need("miso_pin")?,
            io: None,
            csn: self.need("csn_pin")?,
            side: SidePins::default(),
        })
    }

    /// `Err`: one is left, which is unknown.
    fn end(&self) -> Read<()> {
        let unknown = |key| Err(SettingError::new(&self.of, format!("has no setting {key:?}"), "remove it"));
        self.left.keys().next().map_or(Ok(()), unknown)
    }
}

/// Takes the settings of the simulated PC, its network, and the Ethernet chip's PHY.
fn network(from: &mut Settings, lan: &mut LanConfig, phy: &mut wiznet::Config) -> Read<()> {
    from.time("phy_link_delay_us", &mut phy.phy_link_delay)?;
    from.time("retry_unit_ns", &mut phy.retry_unit)?;
    from.time("tcp_answer_us", &mut phy.tcp_answer)?;
    from.time("turnaround_us", &mut lan.turnaround_ps)?;
    if let Some(values) = from.get::<Vec<u64>>("turnarounds_us")? {
        lan.turnarounds_ps = values.into_iter().map(|us| us.saturating_mul(PS_PER_US)).collect();
    }
    from.time("dhcp_delay_us", &mut lan.dhcp_delay_ps)?;
    from.set("seed", &mut lan.seed)?;
    if let (Some(ip), Some(dhcp)) = (from.get::<Ipv4Addr>("pc_ip")?, &mut lan.dhcp) {
        let base = ip.to_bits() & 0xffff_ff00;
        lan.pc_ip = ip;
        (dhcp.first, dhcp.last) = (Ipv4Addr::from_bits(base + 100), Ipv4Addr::from_bits(base + 199));
        (dhcp.router, dhcp.dns) = (Some(ip), vec![ip]);
    }
    if from.get("dhcp")? == Some(false) {
        lan.dhcp = None;
    }
    from.set("dns_answer", &mut lan.dns_answer)?;
    from.set("ntp_start_s", &mut lan.ntp_start_s)?;
    from.time("stack_delay_us", &mut lan.stack_delay_ps)?;
    from.time("delayed_ack_us", &mut lan.delayed_ack_ps)?;
    from.set("quick_ack", &mut lan.quick_ack)?;
    from.set("peer_mss", &mut lan.peer_mss)?;
    from.set("max_connections", &mut lan.max_connections)?;
    from.set("tcp_echo_port", &mut lan.tcp_echo_port)?;
    from.set("udp_echo_port", &mut lan.udp_echo_port)?;
    if let Some(value) = from.get("faults")? {
        lan.faults = lan_faults(value)?;
    }
    if let Some(ends) = from.get::<Vec<(SocketAddrV4, SocketAddr)>>("bridge")? {
        let rules: Vec<_> = ends.into_iter().map(|(guest, host)| BridgeRule { guest, host }).collect();
        lan.bridge = (!rules.is_empty()).then(|| BridgeConfig::new(rules));
    }
    Ok(())
}

/// Reads the settings of a network without a board, all others as by default.
pub fn network_of(settings: Value) -> Result<(LanConfig, wiznet::Config), SettingError> {
    let (mut lan, mut phy) = Default::default();
    let mut from = Settings::new("the simulated network", settings)?;
    network(&mut from, &mut lan, &mut phy)?;
    from.end()?;
    Ok((lan, phy))
}

/// Reads the faults of the simulated cable.
pub fn lan_faults(settings: Value) -> Result<Faults, SettingError> {
    let mut faults = Faults::default();
    let mut from = Settings::new("faults", settings)?;
    from.set("seed", &mut faults.seed)?;
    from.set("loss_from_board_per_mille", &mut faults.loss_from_board_per_mille)?;
    from.set("loss_to_board_per_mille", &mut faults.loss_to_board_per_mille)?;
    from.time("extra_delay_us", &mut faults.extra_delay_ps)?;
    from.time("jitter_us", &mut faults.jitter_ps)?;
    let down = from.get::<Vec<(u64, u64)>>("down_us")?.unwrap_or_default();
    let times = |(from, to): (u64, u64)| (from.saturating_mul(PS_PER_US), to.saturating_mul(PS_PER_US));
    faults.down = down.into_iter().map(times).collect();
    from.end()?;
    Ok(faults)
}

fn access_point(settings: Value) -> Read<AccessPoint> {
    let mut point = AccessPoint::default();
    let mut from = Settings::new("access_point", settings)?;
    from.set("ssid", &mut point.ssid)?;
    from.set("passphrase", &mut point.passphrase)?;
    from.set("hidden", &mut point.hidden)?;
    from.set("channel", &mut point.channel)?;
    from.set("rssi_dbm", &mut point.rssi_dbm)?;
    from.set("beacon_tu", &mut point.beacon_tu)?;
    from.set("dtim", &mut point.dtim)?;
    if let Some(us) = from.get::<Option<u64>>("delay_us")?.flatten() {
        point.delay = Delay::Fixed(us.saturating_mul(PS_PER_US));
    }
    from.time("join_delay_us", &mut point.join_delay)?;
    from.set("loss_per_mille", &mut point.loss_per_mille)?;
    from.end()?;
    Ok(point)
}

/// Returns the settings of a card with a new memory.
fn card(settings: Value) -> Read<Option<CardSocketConfig>> {
    if settings.is_null() {
        return Ok(None);
    }
    let mut from = Settings::new("sd_card", settings)?;
    let (mut wear, mut seed) = (Wear::default(), 1);
    let name: String = from.need("kind")?;
    let known = || sd_card::KINDS.iter().map(|kind| kind.name);
    let kind = Kind::named(&name).ok_or_else(|| unknown("sd_card: kind", &name, known()))?;
    from.set("seed", &mut seed)?;
    from.set("write_protected", &mut wear.write_protected)?;
    from.set("good_writes", &mut wear.good_writes)?;
    from.set("corrupt_one_in", &mut wear.corrupt_one_in)?;
    // JSON has no memory of a card: its owner puts it into the socket.
    from.get::<Value>("medium")?;
    let wires = from.spi_wires()?;
    from.end()?;
    let card = CardConfig { kind, medium: Medium::new(kind.blocks), seed, wear };
    Ok(Some(CardSocketConfig { wires, card }))
}

/// Returns a voltage that a pin survives, in mV (RP2040 datasheet 5.5.3.1: at most IOVDD + 0.5 V).
pub fn millivolts(volts: f64) -> Result<u32, SettingError> {
    if (0.0..=3.8).contains(&volts) {
        return Ok((volts * 1e3).round() as u32);
    }
    Err(SettingError::new(format!("{volts} V at a pin"), "", "use 0 to 3.8 V"))
}

impl BoardConfig {
    /// Reads a board's settings, all others as by default. `Err`: the first that no board can have. See
    /// `boards/emulated/config.py` for their names.
    ///
    /// ```
    /// use portbench_engine::{BoardConfig, mcu::RP2350};
    /// use serde_json::json;
    ///
    /// let rom = vec![0; RP2350.boot_rom.bytes];
    /// let config = BoardConfig::from_settings(rom, json!({"mcu": "RP2350", "turnaround_us": 100}))?;
    /// assert_eq!((config.mcu.name, config.lan.turnaround_ps), ("RP2350", 100_000_000));
    /// let wrong = BoardConfig::from_settings(Vec::new(), json!({"turnaround": 100})).unwrap_err();
    /// assert_eq!(wrong.to_string(), "the board has no setting \"turnaround\": remove it");
    /// # Ok::<(), sim::SettingError>(())
    /// ```
    pub fn from_settings(bootrom: Vec<u8>, settings: Value) -> Result<Self, SettingError> {
        let mut from = Settings::new("the board", settings)?;
        let mcu = from.get::<String>("mcu")?.map_or(Ok(&RP2040), |name| mcu::named(&name))?;
        let flash_size = (2usize << 20).clamp(mcu.flash_bytes.0, mcu.flash_bytes.1);
        let mut config = Self { mcu, bootrom, flash_size, ..Self::default() };
        network(&mut from, &mut config.lan, &mut config.phy)?;
        from.set("usb_request_gap_us", &mut config.usb.request_gap_us)?;
        from.set("flash_bytes", &mut config.flash_size)?;
        from.set("psram_csn_pin", &mut config.psram_csn)?;
        from.set("crystal_hz", &mut config.crystal_hz)?;
        from.set("fuses", &mut config.fuses)?;
        config.flash_id = from.get::<Option<u64>>("flash_id")?.flatten().map(u64::to_be_bytes);
        let point = from.get("access_point")?.map_or(Ok(AccessPoint::default()), access_point)?;
        config.solder(from.get("devices")?.unwrap_or_default(), point)?;
        config.card = from.get("sd_card")?.map_or(Ok(None), card)?;
        from.set("capture", &mut config.capture)?;
        for (pin, volts) in from.get::<BTreeMap<u32, f64>>("pins")?.unwrap_or_default() {
            check_pin(mcu, &format!("pin {pin}"), pin)?;
            config.surroundings.hold(pin, Some(millivolts(volts)?));
        }
        for (a, b) in from.get::<Vec<(u32, u32)>>("wires")?.unwrap_or_default() {
            config.surroundings.wire(a, b);
        }
        from.set("xip_miss_cost", &mut config.xip_miss_cost)?;
        from.set("flash_layout", &mut config.flash_layout)?;
        from.set("spi_speed", &mut config.spi_speed)?;
        from.set("pio_laps", &mut config.pio_batches)?;
        from.set("translated", &mut config.translated)?;
        if from.get::<Vec<Value>>("attached")?.is_some_and(|devices| !devices.is_empty()) {
            return Err(SettingError::new("attached", "", "devices in Python are not available here; leave them out"));
        }
        from.end()?;
        config.check()?;
        Ok(config)
    }

    /// Adds the network chip soldered to the board; `point`: the access point of a radio chip.
    fn solder(&mut self, devices: Vec<Value>, mut point: AccessPoint) -> Read<()> {
        point.seed = self.lan.seed;
        let mut chip = cyw43::Config::default();
        if let Some(id) = &self.flash_id {
            // Another board has another radio chip, and its own draws of the access point's delay.
            chip.mac[3..].copy_from_slice(&id[5..]);
            point.seed = point.seed.wrapping_add(u64::from_be_bytes(*id));
        }
        let mut devices = devices.into_iter();
        let Some(device) = devices.next() else { return Ok(()) };
        let mut from = Settings::new("devices: a device", device)?;
        let name: String = from.need("chip")?;
        from.of = format!("devices: {name}");
        if RADIOS.contains(&&*name) {
            from.bus(&["gspi"])?;
            let (on, data) = (from.need("on_pin")?, from.need("data_pin")?);
            let wires = WifiWires { on, data, csn: from.need("csn_pin")?, clock: from.need("clock_pin")? };
            self.wifi = Some(WifiConfig { wires, chip, point });
        } else {
            let mut ethernet = EthernetConfig { chip: Chip::named(&name)?, wires: from.spi_wires()? };
            if let Some(io2) = from.get("io2_pin")? {
                ethernet.wires.io = Some([io2, from.need("io3_pin")?]);
            }
            from.set("rstn_pin", &mut ethernet.wires.side.rstn)?;
            from.set("intn_pin", &mut ethernet.wires.side.intn)?;
            self.ethernet = Some(ethernet);
        }
        from.end()?;
        let Some(other) = devices.next() else { return Ok(()) };
        let other: String = Settings::new("devices: a device", other)?.need("chip")?;
        let with_radio = self.wifi.is_some() || RADIOS.contains(&&*other);
        let (kind, one) = if with_radio { ("network", "network") } else { ("Ethernet", "cable") };
        Err(SettingError::new(
            "devices",
            "",
            format!("{name} and {other} are both {kind} chips; the board has one {one}"),
        ))
    }
}
