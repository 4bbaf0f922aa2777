//! Everything around the microcontroller: devices on its buses, the network and the USB port.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chip::sys::watcher;
use chip::{BitPeer, Inputs, Sys, World};
use sim::snapshot::{self, Refused, Torn};
use sim::{Device, I2cDevice, Log, LogReader, NEVER, PinDevice, Ps, SettingError, SpiDevice, SpiFrame, UartDevice};
use usb_host::UsbHost;

use crate::agenda::Agenda;
use crate::card_socket::CardSocket;
use crate::config::BoardConfig;
use crate::i2c_port::{I2cPort, I2cWires};
use crate::network::Network;
use crate::pin_port::PinPort;
use crate::spi_port::{SpiPort, SpiWires, exchange_frame};
use crate::uart_cable::UartCable;
use crate::uart_port::{UartPort, UartWires};
use crate::wires::SidePins;

/// Slots of the agenda; the devices follow.
const NETWORK: usize = 0;
const USB: usize = 1;
/// The slot of UART0's cable, followed by UART1's.
const UART_CABLES: usize = 2;
const CARD: usize = 4;
const DEVICES: usize = 5;

/// Frames that a log of SPI keeps for its reader.
pub const MOST_SPI_FRAMES: usize = 1 << 20;

/// A device other than the network.
enum Port {
    Spi(Box<SpiPort<dyn SpiDevice>>),
    I2c(I2cPort),
    Uart(UartPort),
    Pins(PinPort),
}

impl Port {
    fn watched(&self) -> u64 {
        match self {
            Self::Spi(port) => port.watched(),
            Self::I2c(port) => port.wires.side.watched(),
            Self::Uart(port) => port.wires.side.watched(),
            Self::Pins(port) => port.watched(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Spi(port) => port.device.name(),
            Self::I2c(port) => port.device.name(),
            Self::Uart(port) => port.device.name(),
            Self::Pins(port) => port.device.name(),
        }
    }

    fn device(&mut self) -> &mut dyn Device {
        match self {
            Self::Spi(port) => &mut port.device,
            Self::I2c(port) => &mut *port.device,
            Self::Uart(port) => &mut *port.device,
            Self::Pins(port) => &mut *port.device,
        }
    }
}

/// Everything on the board beside the microcontroller, as its pins see it.
pub struct Wiring {
    /// The network chip and its LAN; `None`: a board without one.
    pub network: Option<Network>,
    pub(crate) usb: UsbHost,
    /// The SD card's socket; `None`: no socket, or no card in it.
    pub card: Option<CardSocket>,
    uart_cables: [UartCable; 2],
    ports: Vec<Port>,
    spi_log: Log<(&'static str, SpiFrame)>,
    /// An application of the PC sets it to end the run.
    pub pause: Arc<AtomicBool>,
    agenda: Agenda,
}

impl Wiring {
    /// Returns the board's devices at power-up. `Err`: a network setting is invalid.
    pub fn new(config: &BoardConfig) -> Result<Self, SettingError> {
        let network = Network::new(config)?;
        let usb = UsbHost::new(config.usb.clone());
        let card = config.card.as_ref().map(CardSocket::new);
        let mut wiring = Self {
            network,
            usb,
            card,
            uart_cables: Default::default(),
            ports: Vec::new(),
            spi_log: Log::default(),
            pause: Arc::default(),
            agenda: Agenda::new(DEVICES),
        };
        config.attachments.iter().for_each(|attachment| attachment.attach(&mut wiring));
        Ok(wiring)
    }

    /// Appends the state of all devices to a snapshot. Logs are left out. `Err`: that of one cannot be saved.
    pub(crate) fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        if let Some(port) = self.ports.first() {
            return Err(Refused(format!("an attached device, {}", port.name())));
        }
        snapshot::save(&self.usb, to);
        snapshot::save(&self.uart_cables, to);
        snapshot::save(&self.agenda, to);
        if let Some(network) = &self.network {
            network.save(to)?;
        }
        if let Some(card) = &self.card {
            card.port.save(to);
            snapshot::save(&card.port.device, to);
        }
        Ok(())
    }

    /// Restores new devices with the same settings.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.usb, from)?;
        snapshot::restore(&mut self.uart_cables, from)?;
        snapshot::restore(&mut self.agenda, from)?;
        if let Some(network) = &mut self.network {
            network.restore(from)?;
        }
        if let Some(card) = &mut self.card {
            card.port.restore(from)?;
            snapshot::restore(&mut card.port.device, from)?;
        }
        Ok(())
    }

    /// Attaches a device to an SPI bus.
    pub fn attach_spi(&mut self, wires: SpiWires, device: impl SpiDevice + 'static) {
        self.attach(Port::Spi(Box::new(SpiPort::new(wires, device))));
    }

    /// Attaches a device to an I2C bus.
    pub fn attach_i2c(&mut self, wires: I2cWires, device: impl I2cDevice + 'static) {
        self.attach(Port::I2c(I2cPort { wires, addressed: false, device: Box::new(device) }));
    }

    /// Attaches a device to a UART.
    pub fn attach_uart(&mut self, wires: UartWires, device: impl UartDevice + 'static) {
        self.attach(Port::Uart(UartPort { wires, device: Box::new(device) }));
    }

    /// Attaches a device to pins without a bus.
    pub fn attach_pins(&mut self, pins: Vec<u32>, device: impl PinDevice + 'static) {
        self.attach(Port::Pins(PinPort::new(pins, device)));
    }

    fn attach(&mut self, port: Port) {
        self.ports.push(port);
        self.agenda.add();
    }

    /// Declares the pins whose edges are needed, and schedules the world's first events.
    pub fn start(&mut self, sys: &mut Sys) {
        let network = self.network.as_ref().map_or(0, |network| network.watched());
        let card = self.card.as_ref().map_or(0, |card| card.port.watched());
        sys.watch_pins(watcher::WORLD, self.ports.iter().fold(network | card, |pins, port| pins | port.watched()));
        if let Some(port) = self.network.as_ref().and_then(Network::wifi) {
            // A transistor puts a third of VSYS on the clock's pin while chip select is high.
            sys.pins.gate(port.wires.clock, port.wires.csn);
        }
        self.settle_network(sys);
        self.settle_card(sys);
        self.schedule_usb(sys);
        for index in 0..self.ports.len() {
            self.settle_port(sys, index);
        }
        self.sample_pins(sys);
    }

    /// Updates everything after a change by the owner.
    pub(crate) fn refresh(&mut self, sys: &mut Sys) {
        self.settle_network(sys);
        self.schedule_usb(sys);
    }

    /// Takes what the devices' owner has changed between two runs. Returns whether anything changed.
    pub(crate) fn take_changes(&mut self, sys: &mut Sys) -> bool {
        let mut changed = false;
        for index in 0..self.ports.len() {
            if self.ports[index].device().take_changes() {
                changed = true;
                self.settle_port(sys, index);
            }
        }
        changed
    }

    /// Announces frames sent to the board, which may arrive at any time since the core's last instruction started.
    pub(crate) fn expect_frames(&mut self, sys: &mut Sys) {
        let next = self.network.as_ref().and_then(|network| network.lan.next_event()).unwrap_or(NEVER);
        if next < self.agenda.due(NETWORK) {
            self.schedule(sys, NETWORK, next);
        }
    }

    /// Logs decoded SPI frames of all devices from now on, and keeps the newest [`MOST_SPI_FRAMES`] of them.
    pub fn log_spi(&mut self) -> LogReader {
        if self.spi_log.is_read() {
            self.gather_spi_log();
        } else {
            self.set_spi_log(true);
        }
        self.spi_log.open(MOST_SPI_FRAMES)
    }

    /// Takes the frames since the last call for `reader` with their devices' names, in order of their start.
    pub fn take_spi_log(&mut self, reader: &LogReader) -> Vec<(&'static str, SpiFrame)> {
        self.gather_spi_log();
        let mut frames = self.spi_log.take(reader);
        frames.sort_by_key(|(_, frame)| frame.start);
        frames
    }

    /// Ends a log of SPI frames.
    pub fn end_spi_log(&mut self, reader: LogReader) {
        self.spi_log.close(reader);
        if !self.spi_log.is_read() {
            self.set_spi_log(false);
        }
    }

    fn set_spi_log(&mut self, on: bool) {
        if let Some(network) = &mut self.network {
            network.set_log(on);
        }
        if let Some(card) = &mut self.card {
            card.port.device.set_log(on);
        }
        for port in &mut self.ports {
            if let Port::Spi(port) = port {
                port.device.set_log(on);
            }
        }
    }

    /// Takes the frames that the devices have logged.
    pub(crate) fn gather_spi_log(&mut self) {
        if !self.spi_log.is_read() {
            return;
        }
        let mut frames = Vec::new();
        if let Some(network) = &mut self.network {
            let name = network.name();
            frames.extend(network.take_log().into_iter().map(|frame| (name, frame)));
        }
        if let Some(card) = &mut self.card {
            let name = card.card().name();
            frames.extend(card.port.device.take_log().into_iter().map(|frame| (name, frame)));
        }
        for port in &mut self.ports {
            if let Port::Spi(port) = port {
                let name = port.device.name();
                frames.extend(port.device.take_log().into_iter().map(|frame| (name, frame)));
            }
        }
        frames.into_iter().for_each(|frame| self.spi_log.push(|| frame));
    }

    /// Returns the PC's cable to UART `uart`.
    pub fn uart_cable(&mut self, uart: usize) -> &mut UartCable {
        &mut self.uart_cables[uart]
    }

    /// Sends to UART `uart` from the PC; returns how many bytes were accepted.
    pub fn send_to_uart(&mut self, sys: &mut Sys, inputs: &dyn Inputs, uart: usize, data: &[u8]) -> usize {
        let taken = self.uart_cables[uart].write(data);
        self.schedule_uart_cable(sys, inputs, uart);
        taken
    }

    fn schedule_uart_cable(&mut self, sys: &mut Sys, inputs: &dyn Inputs, uart: usize) {
        let next = self.uart_cables[uart].next_event(sys, inputs, uart);
        self.schedule(sys, UART_CABLES + uart, next);
    }

    fn schedule(&mut self, sys: &mut Sys, slot: usize, at: Ps) {
        if self.agenda.due(slot) != at {
            self.agenda.set(slot, at);
            sys.schedule_world(self.agenda.next());
        }
    }

    fn schedule_usb(&mut self, sys: &mut Sys) {
        self.schedule(sys, USB, self.usb.next_event().unwrap_or(NEVER));
    }

    fn settle_network(&mut self, sys: &mut Sys) {
        if let Some(network) = &mut self.network {
            let next = network.settle(sys);
            self.schedule(sys, NETWORK, next);
        }
    }

    /// Settles the network after a byte or a changed pin: most of them only fill a buffer of the chip.
    fn settle_touched(&mut self, sys: &mut Sys, touched: bool) {
        if touched || self.agenda.due(NETWORK) <= sys.now() {
            self.settle_network(sys);
        }
    }

    fn settle_card(&mut self, sys: &mut Sys) {
        if let Some(card) = &mut self.card {
            let next = card.settle(sys);
            self.schedule(sys, CARD, next);
        }
    }

    /// Drives a device's interrupt pin and schedules its next event.
    fn settle_port(&mut self, sys: &mut Sys, index: usize) {
        let port = &mut self.ports[index];
        let side = match port {
            Port::Spi(port) => port.wires.side,
            Port::I2c(port) => port.wires.side,
            Port::Uart(port) => port.wires.side,
            Port::Pins(port) => {
                port.drive_pins(sys);
                SidePins::default()
            }
        };
        let device = port.device();
        side.drive_interrupt(sys, device);
        let next = device.next_event().unwrap_or(NEVER).max(sys.now());
        if let Some(what) = device.take_unmodelled() {
            sys.unmodelled(what);
        }
        self.schedule(sys, DEVICES + index, next);
    }

    fn sample_pins(&mut self, sys: &mut Sys) {
        let touched = self.network.as_mut().is_some_and(|network| network.sample_pins(sys));
        self.settle_touched(sys, touched);
        if let Some(card) = &mut self.card {
            card.port.sample_pins(sys);
        }
        self.settle_card(sys);
        for index in 0..self.ports.len() {
            match &mut self.ports[index] {
                Port::Spi(port) => port.sample_pins(sys),
                Port::I2c(port) => port.wires.side.sample_reset(sys, &mut *port.device),
                Port::Uart(port) => port.wires.side.sample_reset(sys, &mut *port.device),
                Port::Pins(port) => port.sample_pins(sys),
            }
            self.settle_port(sys, index);
        }
    }

    /// Handles the network's part of an SPI frame; `None`: it is not addressed.
    fn network_frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> Option<u16> {
        let port = self.network.as_ref()?.ethernet()?;
        if !port.hears(sys, spi) {
            return None;
        }
        let mosi = port.mosi(sys, mosi);
        if let Some(port) = self.network.as_mut().and_then(Network::ethernet_mut) {
            port.clocked(sys);
        }
        let miso = exchange_frame(mosi, bits, |byte| self.network_byte(sys, byte));
        Some(self.network.as_ref()?.ethernet()?.miso(sys, miso))
    }

    fn network_byte(&mut self, sys: &mut Sys, mosi: u8) -> u8 {
        let Some(network) = &mut self.network else { return 0xff };
        let (miso, touched) = network.exchange(sys, mosi);
        self.settle_touched(sys, touched);
        miso
    }

    fn port_event(&mut self, sys: &mut Sys, inputs: &mut dyn Inputs, index: usize) {
        let now = sys.now();
        match &mut self.ports[index] {
            Port::Spi(port) => port.device.advance(now),
            Port::I2c(port) => port.device.advance(now),
            Port::Uart(port) => {
                port.device.advance(now);
                port.deliver(sys, inputs);
            }
            Port::Pins(port) => port.device.advance(now),
        }
        self.settle_port(sys, index);
    }

    /// An event due now has been handled; new ones are later.
    fn postpone(&mut self, sys: &mut Sys, slot: usize) {
        let now = sys.now();
        if self.agenda.due(slot) <= now {
            self.schedule(sys, slot, now + 1);
        }
    }
}

impl Wiring {
    /// Returns the wiring of a board's chip.
    pub(crate) fn of<'a>(world: &'a mut (dyn World + 'static)) -> &'a mut Self {
        world.of().expect("a board's world is its wiring")
    }
}

impl World for Wiring {
    fn spi_frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> u16 {
        // MISO is pulled high, and devices that are not selected do not drive it.
        let mut miso = ((1u32 << bits) - 1) as u16;
        if let Some(answer) = self.network_frame(sys, spi, mosi, bits) {
            miso &= answer;
        }
        if let Some(answer) = self.card.as_mut().and_then(|card| card.frame(sys, spi, mosi, bits)) {
            miso &= answer;
            self.settle_card(sys);
        }
        for index in 0..self.ports.len() {
            if let Port::Spi(port) = &mut self.ports[index]
                && port.hears(sys, spi)
            {
                let (now, mosi) = (sys.now(), port.mosi(sys, mosi));
                let answer = exchange_frame(mosi, bits, |byte| port.device.exchange(now, byte));
                miso &= port.miso(sys, answer);
                self.settle_port(sys, index);
            }
        }
        miso
    }

    fn pins_changed(&mut self, sys: &mut Sys) {
        if let Some(wifi) = self.network.as_mut().and_then(Network::wifi_mut) {
            if wifi.follow(sys) {
                self.settle_network(sys);
            }
            if self.ports.is_empty() && self.card.is_none() {
                return;
            }
        }
        self.sample_pins(sys);
        if let Some(mosi) =
            self.network.as_mut().and_then(Network::ethernet_mut).and_then(|port| port.follow_clock(sys))
        {
            let miso = self.network_byte(sys, mosi);
            if let Some(port) = self.network.as_mut().and_then(Network::ethernet_mut) {
                port.answer(miso);
            }
        }
        if self.card.as_mut().is_some_and(|card| card.follow_clock(sys)) {
            self.settle_card(sys);
        }
        for index in 0..self.ports.len() {
            if let Port::Spi(port) = &mut self.ports[index]
                && let Some(mosi) = port.follow_clock(sys)
            {
                let miso = port.device.exchange(sys.now(), mosi);
                port.answer(miso);
                self.settle_port(sys, index);
            }
        }
    }

    fn bit_peer(&self) -> Option<BitPeer> {
        let peer = self.network.as_ref()?.wifi()?.bit_peer()?;
        let card = self.card.as_ref().map_or(0, |card| card.port.watched());
        let others = self.ports.iter().fold(card, |pins, port| pins | port.watched());
        (others & (1 << peer.clock | 1 << peer.data) == 0).then_some(peer)
    }

    fn take_bits(&mut self, sys: &mut Sys, bits: u32, count: u32) {
        if let Some(wifi) = self.network.as_mut().and_then(Network::wifi_mut) {
            wifi.chip.shift_in(sys.now(), bits, count);
        }
    }

    fn give_bits(&mut self, _sys: &mut Sys, count: u32) -> u32 {
        self.network.as_mut().and_then(Network::wifi_mut).map_or(0, |wifi| wifi.chip.shift_out(count))
    }

    fn uart_byte(&mut self, sys: &mut Sys, uart: usize, byte: u8) {
        self.uart_cables[uart].heard(sys.now(), byte);
        for index in 0..self.ports.len() {
            if let Port::Uart(port) = &mut self.ports[index]
                && port.hears(sys, uart)
            {
                port.device.receive(sys.now(), byte);
                self.settle_port(sys, index);
            }
        }
    }

    fn i2c_start(&mut self, sys: &mut Sys, i2c: usize, address: u16, read: bool) -> bool {
        let now = sys.now();
        let mut acknowledged = false;
        for index in 0..self.ports.len() {
            if let Port::I2c(port) = &mut self.ports[index]
                && port.wires.i2c == i2c
            {
                port.addressed = port.hears(sys, i2c) && port.device.start(now, address, read);
                acknowledged |= port.addressed;
                self.settle_port(sys, index);
            }
        }
        acknowledged
    }

    fn i2c_write(&mut self, sys: &mut Sys, i2c: usize, byte: u8) -> bool {
        let now = sys.now();
        let mut acknowledged = false;
        for index in 0..self.ports.len() {
            if let Port::I2c(port) = &mut self.ports[index]
                && port.wires.i2c == i2c
                && port.addressed
            {
                acknowledged |= port.device.write(now, byte);
                self.settle_port(sys, index);
            }
        }
        acknowledged
    }

    fn i2c_read(&mut self, sys: &mut Sys, i2c: usize) -> u8 {
        let now = sys.now();
        let mut byte = 0xff;
        for index in 0..self.ports.len() {
            if let Port::I2c(port) = &mut self.ports[index]
                && port.wires.i2c == i2c
                && port.addressed
            {
                byte &= port.device.read(now);
                self.settle_port(sys, index);
            }
        }
        byte
    }

    fn i2c_stop(&mut self, sys: &mut Sys, i2c: usize) {
        let now = sys.now();
        for index in 0..self.ports.len() {
            if let Port::I2c(port) = &mut self.ports[index]
                && port.wires.i2c == i2c
                && std::mem::take(&mut port.addressed)
            {
                port.device.stop(now);
                self.settle_port(sys, index);
            }
        }
    }

    fn attributed(&self, now: Ps) -> u8 {
        self.network.as_ref().map_or(0, |network| network.attributed(now))
    }

    /// Handles one slot at a time: its consequences in the chip come before the next slot of the same time.
    fn event(&mut self, sys: &mut Sys, inputs: &mut dyn Inputs) {
        match self.agenda.take(sys.now()) {
            Some(NETWORK) => {
                if let Some(network) = &mut self.network {
                    network.advance(sys);
                }
                if self.pause.swap(false, Ordering::Relaxed) {
                    sys.pause();
                }
                self.settle_network(sys);
                self.postpone(sys, NETWORK);
            }
            Some(USB) => {
                let now = sys.now();
                if inputs.on_usb(sys, &mut |bus| self.usb.advance(now, bus)) {
                    self.schedule_usb(sys);
                }
            }
            Some(CARD) => {
                if let Some(card) = &mut self.card {
                    card.port.device.advance(sys.now());
                }
                self.settle_card(sys);
                self.postpone(sys, CARD);
            }
            Some(slot) if slot < DEVICES => {
                let uart = slot - UART_CABLES;
                self.uart_cables[uart].advance(sys, inputs, uart);
                self.schedule_uart_cable(sys, inputs, uart);
            }
            Some(slot) => {
                self.port_event(sys, inputs, slot - DEVICES);
                self.postpone(sys, slot);
            }
            None => {}
        }
        sys.schedule_world(self.agenda.next());
    }
}
