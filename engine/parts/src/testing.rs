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

pub(crate) const PIN_MASK: u64 = 0x3fff_ffff;

pub(crate) mod event {
    use super::Event;

    pub(crate) const TIMER: Event = Event(0);
    pub(crate) const WATCHDOG: Event = Event(1);
    pub(crate) const XOSC: Event = Event(2);
    pub(crate) const SPI0: Event = Event(3);
    pub(crate) const UART0: Event = Event(4);
    pub(crate) const I2C0: Event = Event(5);
    pub(crate) const ADC: Event = Event(6);
    pub(crate) const PWM: Event = Event(7);
    pub(crate) const PIO0: Event = Event(8);
    pub(crate) const USB: Event = Event(9);
    pub(crate) const CLOCKS: Event = Event(10);
}

pub(crate) mod irq {
    pub(crate) const TIMER_0: u32 = 0;
    pub(crate) const PWM_WRAP: u32 = 4;
    pub(crate) const USBCTRL: u32 = 5;
    pub(crate) const PIO0_0: u32 = 7;
    pub(crate) const IO_BANK0: u32 = 13;
    pub(crate) const IO_QSPI: u32 = 14;
    pub(crate) const CLOCKS: u32 = 17;
    pub(crate) const SPI0: u32 = 18;
    pub(crate) const UART0: u32 = 20;
    pub(crate) const ADC_FIFO: u32 = 22;
    pub(crate) const I2C0: u32 = 23;
}

pub(crate) mod dreq {
    pub(crate) const PIO0_TX0: u32 = 0;
    pub(crate) const PIO0_RX0: u32 = 4;
    pub(crate) const SPI0_TX: u32 = 16;
    pub(crate) const SPI0_RX: u32 = 17;
    pub(crate) const UART0_TX: u32 = 20;
    pub(crate) const UART0_RX: u32 = 21;
    pub(crate) const PWM_WRAP0: u32 = 24;
    pub(crate) const I2C0_TX: u32 = 32;
    pub(crate) const I2C0_RX: u32 = 33;
    pub(crate) const ADC: u32 = 36;
}

pub(crate) mod function {
    pub(crate) use crate::pins::function::*;

    pub(crate) const CLOCK: usize = 8;
    pub(crate) const USB: usize = 9;
}

pub(crate) fn sys(hz: u64) -> Sys {
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

pub(crate) fn spi() -> Spi {
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

pub(crate) fn uart() -> Uart {
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

pub(crate) fn i2c() -> I2c {
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

pub(crate) fn pio() -> Pio {
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

pub(crate) fn pwm() -> Pwm<8> {
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

pub(crate) fn adc() -> Adc {
    Adc::new(AdcWires { event: event::ADC, irq: irq::ADC_FIFO, dreq: dreq::ADC, first_pin: 26 })
}

pub(crate) fn usb() -> Usb {
    Usb::new(UsbWires {
        event: event::USB,
        irq: irq::USBCTRL,
        version: Version::V0,
        vbus_detect: FunctionPins { function: function::USB, pins: 0x1249_2492 },
        dp: FunctionPins { function: function::CLOCK, pins: 1 << 15 },
    })
}

pub(crate) const CLOCKS: ClocksWires = ClocksWires {
    event: event::CLOCKS,
    irq: irq::CLOCKS,
    version: Version::V0,
    function: function::CLOCK,
    outputs: [1 << 21, 1 << 23, 1 << 24, 1 << 25],
};
pub(crate) const IO_BANK0: IoWires = IoWires { irq: irq::IO_BANK0, version: Version::V0 };
pub(crate) const IO_QSPI: IoWires = IoWires { irq: irq::IO_QSPI, version: Version::V0 };

pub(crate) fn timer() -> Timer {
    Timer::new(TimerWires { name: "TIMER", event: event::TIMER, irq: irq::TIMER_0, tick: 0, version: Version::V0 })
}

pub(crate) fn watchdog() -> Watchdog {
    Watchdog::new(WatchdogWires { event: event::WATCHDOG, tick: 0, version: Version::V0 })
}

pub(crate) fn xosc() -> Xosc {
    Xosc::new(event::XOSC, Version::V0)
}
