//! The modelled ATmegas as data: memories, interrupt vectors and pins (ATmega640/1280/1281/2560/2561 datasheet, DS40002211;
//! ATmega164A/PA/.../1284/P datasheet, DS40002070).

use chip::{Event, Layout};

/// Order of events of the same time.
pub(crate) mod event {
    use super::Event;

    pub(crate) const TIMER: [Event; 6] = [Event(0), Event(1), Event(2), Event(3), Event(4), Event(5)];
    pub(crate) const SPI: Event = Event(6);
    pub(crate) const USART: [Event; 4] = [Event(7), Event(8), Event(9), Event(10)];
    pub(crate) const EEPROM: Event = Event(11);
    pub(crate) const WATCHDOG: Event = Event(12);
    pub(crate) const WORLD: Event = Event(13);
}

/// Bits of a port.
const PORT: u32 = 8;

/// Returns the number of a pin: its port, A being 0, times 8, and its bit.
pub const fn pin(port: u8, bit: u32) -> u32 {
    (port - b'A') as u32 * PORT + bit
}

/// A timer's interrupt vectors; 0: none.
#[derive(Debug)]
pub(crate) struct TimerVectors {
    /// Of the compare channels A to C.
    pub(crate) compare: [u32; 3],
    pub(crate) overflow: u32,
}

const fn timer(compare: [u32; 3], overflow: u32) -> TimerVectors {
    TimerVectors { compare, overflow }
}

/// A USART's interrupt vectors and pins.
#[derive(Debug)]
pub(crate) struct UsartWires {
    /// Receive complete; data register empty and transmit complete follow.
    pub(crate) vector: u32,
    pub(crate) rx: u32,
    pub(crate) tx: u32,
}

/// Pins of a port from a bit on, whose changes raise one interrupt.
#[derive(Debug)]
pub(crate) struct PinChange {
    pub(crate) vector: u32,
    /// The pins of bits 0 to 7 of PCMSKn; `None`: on a port beyond the 64 pins of the model.
    pub(crate) pins: [Option<u32>; 8],
}

const fn whole_port(vector: u32, port: u8) -> PinChange {
    let mut pins = [None; 8];
    let mut bit = 0;
    while bit < 8 {
        pins[bit] = Some(pin(port, bit as u32));
        bit += 1;
    }
    PinChange { vector, pins }
}

/// What sets one ATmega apart from others.
#[derive(Debug)]
pub struct Device {
    /// The part's name.
    pub name: &'static str,
    /// Size of the flash.
    pub flash_bytes: usize,
    /// Address of the first byte of SRAM in the data space.
    pub sram_start: u16,
    /// Size of SRAM.
    pub sram_bytes: u16,
    pub(crate) eeprom_bytes: u16,
    /// Number of timers.
    pub(crate) timers: &'static [TimerVectors],
    pub(crate) usarts: &'static [UsartWires],
    pub(crate) spi_vector: u32,
    /// SS, SCK, MOSI and MISO.
    pub(crate) spi_pins: [u32; 4],
    pub(crate) eeprom_vector: u32,
    pub(crate) watchdog_vector: u32,
    /// The pins of INT0 and so on, whose vectors begin with 1.
    pub(crate) external: &'static [u32],
    pub(crate) pin_changes: &'static [PinChange],
    /// Ports, from A on; the first eight are pins of the border.
    pub(crate) ports: &'static [Port],
}

/// A port: the address of PINx, which DDRx and PORTx follow, and its pins.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) address: u16,
    pub(crate) mask: u8,
}

const fn port(address: u16, mask: u8) -> Port {
    Port { address, mask }
}

/// The ATmega2560.
pub static ATMEGA2560: Device = Device {
    name: "ATmega2560",
    flash_bytes: 256 << 10,
    sram_start: 0x200,
    sram_bytes: 8 << 10,
    eeprom_bytes: 4 << 10,
    timers: &[
        timer([21, 22, 0], 23),
        timer([17, 18, 19], 20),
        timer([13, 14, 0], 15),
        timer([32, 33, 34], 35),
        timer([42, 43, 44], 45),
        timer([47, 48, 49], 50),
    ],
    usarts: &[
        UsartWires { vector: 25, rx: pin(b'E', 0), tx: pin(b'E', 1) },
        UsartWires { vector: 36, rx: pin(b'D', 2), tx: pin(b'D', 3) },
        UsartWires { vector: 51, rx: pin(b'H', 0), tx: pin(b'H', 1) },
        // On port J, which the border does not have.
        UsartWires { vector: 54, rx: UNBORDERED, tx: UNBORDERED },
    ],
    spi_vector: 24,
    spi_pins: [pin(b'B', 0), pin(b'B', 1), pin(b'B', 2), pin(b'B', 3)],
    eeprom_vector: 30,
    watchdog_vector: 12,
    external: &[
        pin(b'D', 0),
        pin(b'D', 1),
        pin(b'D', 2),
        pin(b'D', 3),
        pin(b'E', 4),
        pin(b'E', 5),
        pin(b'E', 6),
        pin(b'E', 7),
    ],
    pin_changes: &[
        whole_port(9, b'B'),
        PinChange { vector: 10, pins: [Some(pin(b'E', 0)), None, None, None, None, None, None, None] },
        PinChange { vector: 11, pins: [None; 8] },
    ],
    ports: &[
        port(0x20, 0xff),
        port(0x23, 0xff),
        port(0x26, 0xff),
        port(0x29, 0xff),
        port(0x2c, 0xff),
        port(0x2f, 0xff),
        port(0x32, 0x3f),
        port(0x100, 0xff),
        port(0x103, 0xff),
        port(0x106, 0xff),
        port(0x109, 0xff),
    ],
};

/// The ATmega1284P.
pub static ATMEGA1284P: Device = Device {
    name: "ATmega1284P",
    flash_bytes: 128 << 10,
    sram_start: 0x100,
    sram_bytes: 16 << 10,
    eeprom_bytes: 4 << 10,
    timers: &[timer([16, 17, 0], 18), timer([13, 14, 0], 15), timer([9, 10, 0], 11), timer([32, 33, 0], 34)],
    usarts: &[
        UsartWires { vector: 20, rx: pin(b'D', 0), tx: pin(b'D', 1) },
        UsartWires { vector: 28, rx: pin(b'D', 2), tx: pin(b'D', 3) },
    ],
    spi_vector: 19,
    spi_pins: [pin(b'B', 4), pin(b'B', 7), pin(b'B', 5), pin(b'B', 6)],
    eeprom_vector: 25,
    watchdog_vector: 8,
    external: &[pin(b'D', 2), pin(b'D', 3), pin(b'B', 2)],
    pin_changes: &[whole_port(4, b'A'), whole_port(5, b'B'), whole_port(6, b'C'), whole_port(7, b'D')],
    ports: &[port(0x20, 0xff), port(0x23, 0xff), port(0x26, 0xff), port(0x29, 0xff)],
};

/// A pin of ports J to L: [`chip::Sys`] has 64 pins, and these are not among them.
pub const UNBORDERED: u32 = u32::MAX;

impl Device {
    /// Returns the last address of SRAM.
    pub fn ram_end(&self) -> u16 {
        self.sram_start + self.sram_bytes - 1
    }

    /// Returns the pins of the border, as bits.
    pub fn pins(&self) -> u64 {
        (0..self.ports.len().min(8)).fold(0, |pins, n| pins | 0xff << (8 * n))
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout { events: event::WORLD.0 as usize + 1, without_clk_sys: u64::MAX, pins: self.pins(), pulsed_dreqs: 0 }
    }
}
