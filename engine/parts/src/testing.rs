//! Parts wired as in RP2040, for the tests of this crate.

use crate::adc::Adc;
use crate::i2c::I2c;
use crate::pio::Pio;
use crate::pwm::Pwm;
use crate::spi::Spi;
use crate::sys::{Sys, watcher};
use crate::timer::Timer;
use crate::uart::Uart;
use crate::usb::Usb;
use crate::watchdog::Watchdog;
use crate::wires::{
    AdcWires, ClocksWires, Event, FunctionPins, IoWires, Layout, PioWires, PwmWires, SerialWires, TimerWires, UsbWires,
    Version, WatchdogWires,
};
use crate::xosc::Xosc;

pub const PIN_MASK: u64 = 0x3fff_ffff;

pub mod event {
    use super::Event;

    pub const TIMER: Event = Event(0);
    pub const WATCHDOG: Event = Event(1);
    pub const XOSC: Event = Event(2);
    pub const SPI0: Event = Event(3);
    pub const UART0: Event = Event(4);
    pub const I2C0: Event = Event(5);
    pub const ADC: Event = Event(6);
    pub const PWM: Event = Event(7);
    pub const PIO0: Event = Event(8);
    pub const USB: Event = Event(9);
    pub const CLOCKS: Event = Event(10);
}

pub mod irq {
    pub const TIMER_0: u32 = 0;
    pub const PWM_WRAP: u32 = 4;
    pub const USBCTRL: u32 = 5;
    pub const PIO0_0: u32 = 7;
    pub const IO_BANK0: u32 = 13;
    pub const IO_QSPI: u32 = 14;
    pub const CLOCKS: u32 = 17;
    pub const SPI0: u32 = 18;
    pub const UART0: u32 = 20;
    pub const ADC_FIFO: u32 = 22;
    pub const I2C0: u32 = 23;
}

pub mod dreq {
    pub const PIO0_TX0: u32 = 0;
    pub const PIO0_RX0: u32 = 4;
    pub const SPI0_TX: u32 = 16;
    pub const SPI0_RX: u32 = 17;
    pub const UART0_TX: u32 = 20;
    pub const UART0_RX: u32 = 21;
    pub const PWM_WRAP0: u32 = 24;
    pub const I2C0_TX: u32 = 32;
    pub const I2C0_RX: u32 = 33;
    pub const ADC: u32 = 36;
}

pub mod function {
    pub use crate::pins::function::*;

    pub const CLOCK: usize = 8;
    pub const USB: usize = 9;
}

pub fn sys(hz: u64) -> Sys {
    Sys::new(
        hz,
        &Layout {
            events: 12,
            without_clk_sys: 1 << event::XOSC.0 | 1 << 11,
            pins: PIN_MASK,
            pulsed_dreqs: 0xff << dreq::PWM_WRAP0,
        },
    )
}

pub fn spi() -> Spi {
    Spi::new(SerialWires {
        name: "SPI0",
        number: 0,
        event: event::SPI0,
        irq: irq::SPI0,
        tx_dreq: dreq::SPI0_TX,
        rx_dreq: dreq::SPI0_RX,
        pins: FunctionPins { function: function::SPI, pins: 0x00ff_00ff },
    })
}

pub fn uart() -> Uart {
    Uart::new(SerialWires {
        name: "UART0",
        number: 0,
        event: event::UART0,
        irq: irq::UART0,
        tx_dreq: dreq::UART0_TX,
        rx_dreq: dreq::UART0_RX,
        pins: FunctionPins { function: function::UART, pins: 0x300f_f00f },
    })
}

pub fn i2c() -> I2c {
    I2c::new(SerialWires {
        name: "I2C0",
        number: 0,
        event: event::I2C0,
        irq: irq::I2C0,
        tx_dreq: dreq::I2C0_TX,
        rx_dreq: dreq::I2C0_RX,
        pins: FunctionPins { function: function::I2C, pins: 0x3333_3333 },
    })
}

pub fn pio() -> Pio {
    Pio::new(PioWires {
        name: "PIO0",
        number: 0,
        event: event::PIO0,
        irq: irq::PIO0_0,
        tx_dreq: dreq::PIO0_TX0,
        rx_dreq: dreq::PIO0_RX0,
        pins: FunctionPins { function: function::PIO0, pins: PIN_MASK },
        watcher: watcher::PARTS,
        version: Version::V0,
    })
}

pub fn pwm() -> Pwm<8> {
    let pins = FunctionPins { function: function::PWM, pins: PIN_MASK };
    let a_pins = std::array::from_fn(|slice| 0x0001_0001 << (2 * slice));
    Pwm::new(PwmWires {
        event: event::PWM,
        irq: irq::PWM_WRAP,
        version: Version::V0,
        dreq: dreq::PWM_WRAP0,
        pins,
        a_pins,
    })
}

pub fn adc() -> Adc {
    Adc::new(AdcWires { event: event::ADC, irq: irq::ADC_FIFO, dreq: dreq::ADC, first_pin: 26 })
}

pub fn usb() -> Usb {
    Usb::new(UsbWires {
        event: event::USB,
        irq: irq::USBCTRL,
        version: Version::V0,
        vbus_detect: FunctionPins { function: function::USB, pins: 0x1249_2492 },
        dp: FunctionPins { function: function::CLOCK, pins: 1 << 15 },
    })
}

pub const CLOCKS: ClocksWires = ClocksWires {
    event: event::CLOCKS,
    irq: irq::CLOCKS,
    version: Version::V0,
    function: function::CLOCK,
    outputs: [1 << 21, 1 << 23, 1 << 24, 1 << 25],
};
pub const IO_BANK0: IoWires = IoWires { irq: irq::IO_BANK0, version: Version::V0 };
pub const IO_QSPI: IoWires = IoWires { irq: irq::IO_QSPI, version: Version::V0 };

pub fn timer() -> Timer {
    Timer::new(TimerWires { name: "TIMER", event: event::TIMER, irq: irq::TIMER_0, tick: 0, version: Version::V0 })
}

pub fn watchdog() -> Watchdog {
    Watchdog::new(WatchdogWires { event: event::WATCHDOG, tick: 0, version: Version::V0 })
}

pub fn xosc() -> Xosc {
    Xosc::new(event::XOSC, Version::V0)
}
