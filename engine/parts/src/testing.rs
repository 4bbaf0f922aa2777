//! Parts wired as in RP2040, for the tests of this crate.

use crate::adc::Adc;
use crate::i2c::I2c;
use crate::pio::Pio;
use crate::pwm::Pwm;
use crate::spi::Spi;
use crate::timer::Timer;
use crate::uart::Uart;
use crate::usb::Usb;
use crate::watchdog::Watchdog;
use crate::wires::{
    AdcWires, ClocksWires, FunctionPins, IoWires, PioWires, PwmWires, SerialWires, TimerWires, UsbWires, Version,
    WatchdogWires,
};
use crate::xosc::Xosc;
use chip::{Event, Layout, Sys};

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
    pub(crate) const SPI0_TX: u32 = 16;
    pub(crate) const SPI0_RX: u32 = 17;
    pub(crate) const UART0_TX: u32 = 20;
    pub(crate) const UART0_RX: u32 = 21;
    pub(crate) const PWM_WRAP0: u32 = 24;
    pub(crate) const I2C0_TX: u32 = 32;
    pub(crate) const ADC: u32 = 36;
}

pub(crate) mod function {
    pub(crate) use chip::pins::function::*;

    pub(crate) const CLOCK: usize = 8;
    pub(crate) const USB: usize = 9;
}

pub(crate) fn sys(hz: u64) -> Sys {
    sys_with(hz, PIN_MASK)
}

pub(crate) fn sys_with(hz: u64, pins: u64) -> Sys {
    Sys::new(
        hz,
        &Layout {
            events: 12,
            without_clk_sys: 1 << event::XOSC.0 | 1 << 11,
            pins,
            pulsed_dreqs: 0xff << dreq::PWM_WRAP0,
        },
    )
}

pub(crate) fn spi() -> Spi {
    Spi::new(SerialWires::spi(0, event::SPI0, irq::SPI0, dreq::SPI0_TX, 0x00ff_00ff))
}

pub(crate) fn uart() -> Uart {
    Uart::new(SerialWires::uart(0, event::UART0, irq::UART0, dreq::UART0_TX, 0x300f_f00f))
}

pub(crate) fn i2c() -> I2c {
    I2c::new(SerialWires::i2c(0, event::I2C0, irq::I2C0, dreq::I2C0_TX, 0x3333_3333))
}

pub(crate) fn pio() -> Pio {
    Pio::new(PioWires::new(0, Version::V0, event::PIO0, irq::PIO0_0, PIN_MASK))
}

pub(crate) const PWM: PwmWires = PwmWires {
    event: event::PWM,
    irq: irq::PWM_WRAP,
    version: Version::V0,
    dreq: dreq::PWM_WRAP0,
    pins: FunctionPins::new(function::PWM, PIN_MASK),
    a_pins: &[0x1_0001, 0x4_0004, 0x10_0010, 0x40_0040, 0x100_0100, 0x400_0400, 0x1000_1000, 0x4000_4000],
};

pub(crate) fn pwm() -> Pwm {
    Pwm::new(PWM)
}

pub(crate) fn adc() -> Adc {
    Adc::new(AdcWires { event: event::ADC, irq: irq::ADC_FIFO, dreq: dreq::ADC, first_pin: 26, channels: 4 })
}

pub(crate) const USB: UsbWires = UsbWires {
    event: event::USB,
    irq: irq::USBCTRL,
    version: Version::V0,
    vbus_detect: FunctionPins::new(function::USB, 0x1249_2492),
    dp: FunctionPins::new(function::CLOCK, 1 << 15),
};

pub(crate) fn usb() -> Usb {
    Usb::new(USB)
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

pub(crate) const TIMER: TimerWires =
    TimerWires { name: "TIMER", event: event::TIMER, irq: irq::TIMER_0, tick: 0, version: Version::V0 };
pub(crate) const WATCHDOG: WatchdogWires = WatchdogWires { event: event::WATCHDOG, tick: 0, version: Version::V0 };

pub(crate) fn timer() -> Timer {
    Timer::new(TIMER)
}

pub(crate) fn watchdog() -> Watchdog {
    Watchdog::new(WATCHDOG)
}

pub(crate) fn xosc() -> Xosc {
    Xosc::new(event::XOSC, Version::V0)
}
