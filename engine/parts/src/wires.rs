//! The connections of a part within its chip: which event, interrupt and data request lines it drives, and on which
//! pins its signals appear. A chip states them when it makes its parts, with the numbers of its datasheet.

use chip::Event;
use chip::pins::{Pins, function};
use chip::sys::watcher;
use sim::Snapshot;

/// Which registers a part has. PIO's versions are in its DBG_CFGINFO; those of other parts are counted alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub enum Version {
    /// As in RP2040.
    #[default]
    V0,
    /// As in RP2350.
    V1,
}

/// The pins on which a function select value brings out a part's signals.
#[derive(Clone, Copy, Debug)]
pub struct FunctionPins {
    /// The function select value.
    pub function: usize,
    /// The pins, as bits.
    pub pins: u64,
}

impl FunctionPins {
    /// Returns the pins that carry `function`.
    pub const fn new(function: usize, pins: u64) -> Self {
        Self { function, pins }
    }

    /// Returns the pins that have the function selected.
    pub(crate) fn selected(self, pins: &Pins) -> u64 {
        pins.function_mask[self.function] & self.pins
    }
}

/// The connections of a controller for SPI, UART or I2C.
#[derive(Clone, Copy, Debug)]
pub struct SerialWires {
    /// Name as in the datasheet, with its instance: `SPI0`.
    pub name: &'static str,
    /// The instance, as [`chip::World`] and the trace number it.
    pub number: usize,
    /// Its place in the queue of events.
    pub event: Event,
    /// Its interrupt line.
    pub irq: u32,
    /// Data request line of its transmit FIFO.
    pub tx_dreq: u32,
    /// Data request line of its receive FIFO.
    pub rx_dreq: u32,
    /// The pins of its signals.
    pub pins: FunctionPins,
}

impl SerialWires {
    /// Returns the wires of SPI `number`, whose receive FIFO has the request after `tx_dreq`, as UART and I2C have.
    pub const fn spi(number: usize, event: Event, irq: u32, tx_dreq: u32, pins: u64) -> Self {
        let (name, pins) = (["SPI0", "SPI1"][number], FunctionPins::new(function::SPI, pins));
        Self { name, number, event, irq, tx_dreq, rx_dreq: tx_dreq + 1, pins }
    }

    /// Returns the wires of UART `number`.
    pub const fn uart(number: usize, event: Event, irq: u32, tx_dreq: u32, pins: u64) -> Self {
        let (name, pins) = (["UART0", "UART1"][number], FunctionPins::new(function::UART, pins));
        Self { name, pins, ..Self::spi(number, event, irq, tx_dreq, 0) }
    }

    /// Returns the wires of I2C `number`.
    pub const fn i2c(number: usize, event: Event, irq: u32, tx_dreq: u32, pins: u64) -> Self {
        let (name, pins) = (["I2C0", "I2C1"][number], FunctionPins::new(function::I2C, pins));
        Self { name, pins, ..Self::spi(number, event, irq, tx_dreq, 0) }
    }
}

/// The connections of a block of PIO.
#[derive(Clone, Copy, Debug)]
pub struct PioWires {
    /// Name as in the datasheet, with its instance.
    pub name: &'static str,
    /// The instance.
    pub number: usize,
    /// Its place in the queue of events.
    pub event: Event,
    /// The first of its interrupts.
    pub irq: u32,
    /// The requests of state machine 0; the others' follow.
    pub tx_dreq: u32,
    /// Data request line of its receive FIFO.
    pub rx_dreq: u32,
    /// The pins of its signals.
    pub pins: FunctionPins,
    /// Its index for [`chip::Sys::watch_pins`].
    pub watcher: usize,
    /// Which registers it has.
    pub version: Version,
}

impl PioWires {
    /// Returns the wires of PIO `number`, which each pin in `pins` can carry. The requests of all blocks begin with 0.
    pub const fn new(number: usize, version: Version, event: Event, irq: u32, pins: u64) -> Self {
        let tx_dreq = 8 * number as u32;
        Self {
            name: ["PIO0", "PIO1", "PIO2"][number],
            number,
            event,
            irq,
            tx_dreq,
            rx_dreq: tx_dreq + 4,
            pins: FunctionPins::new(function::PIO0 + number, pins),
            watcher: watcher::PARTS + number,
            version,
        }
    }
}

/// The connections of PWM.
#[derive(Clone, Copy, Debug)]
pub struct PwmWires {
    /// Its place in the queue of events.
    pub event: Event,
    /// The first of its interrupts, of which version 1 has two.
    pub irq: u32,
    /// Which registers it has.
    pub version: Version,
    /// The request of slice 0; the others' follow.
    pub dreq: u32,
    /// The pins of its signals.
    pub pins: FunctionPins,
    /// The pins of each slice's channel A; the next ones carry B.
    pub a_pins: &'static [u64],
}

/// The connections of the ADC.
#[derive(Clone, Copy, Debug)]
pub struct AdcWires {
    /// Its place in the queue of events.
    pub event: Event,
    /// Its interrupt line.
    pub irq: u32,
    /// Its data request line.
    pub dreq: u32,
    /// The pin of channel 0; the others' follow.
    pub first_pin: u32,
    /// The number of channels with pins, 4 or 8; the next one is the temperature sensor's.
    pub channels: u32,
}

/// The connections of CLOCKS.
#[derive(Clone, Copy, Debug)]
pub struct ClocksWires {
    /// Its place in the queue of events.
    pub event: Event,
    /// Its interrupt line.
    pub irq: u32,
    /// Which registers it has.
    pub version: Version,
    /// Function select value of the clock outputs, and the pins of each.
    pub function: usize,
    /// The pins of each clock output, as bits.
    pub outputs: [u64; 4],
}

/// The connections of IO_BANK0 or IO_QSPI.
#[derive(Clone, Copy, Debug)]
pub struct IoWires {
    /// Its interrupt line.
    pub irq: u32,
    /// Which registers it has.
    pub version: Version,
}

/// The connections of a timer.
#[derive(Clone, Copy, Debug)]
pub struct TimerWires {
    /// Name as in the datasheet, with its instance.
    pub name: &'static str,
    /// Its place in the queue of events.
    pub event: Event,
    /// The first of its interrupts.
    pub irq: u32,
    /// The index of its tick in [`chip::Sys::ticks`].
    pub tick: usize,
    /// Which registers it has.
    pub version: Version,
}

/// The connections of the watchdog. Version 0 generates its tick.
#[derive(Clone, Copy, Debug)]
pub struct WatchdogWires {
    /// Its place in the queue of events.
    pub event: Event,
    /// The index of its tick in [`chip::Sys::ticks`].
    pub tick: usize,
    /// Which registers it has.
    pub version: Version,
}

/// The connections of DMA: two interrupts in version 0, four in version 1.
#[derive(Clone, Copy, Debug)]
pub struct DmaWires {
    /// Its place in the queue of events.
    pub event: Event,
    /// The first of its interrupts.
    pub irq: u32,
    /// Which registers it has.
    pub version: Version,
    /// Number of channels, at most 16.
    pub channels: usize,
    /// Number of data request lines.
    pub dreqs: u32,
}

/// The connections of USB.
#[derive(Clone, Copy, Debug)]
pub struct UsbWires {
    /// Its place in the queue of events.
    pub event: Event,
    /// Its interrupt line.
    pub irq: u32,
    /// Which registers it has.
    pub version: Version,
    /// The pins that tell the controller of VBUS.
    pub vbus_detect: FunctionPins,
    /// The pins that carry DP while the controller is connected to digital pads.
    pub dp: FunctionPins,
}

// A chip's parts are wired anew, and only then restored.
sim::left_out!(
    [] SerialWires, [] PioWires, [] PwmWires, [] AdcWires, [] ClocksWires, [] IoWires,
    [] TimerWires, [] WatchdogWires, [] DmaWires, [] UsbWires,
);
