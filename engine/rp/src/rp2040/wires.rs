//! The numbers by which RP2040's parts are connected: events, interrupts, DREQs and pins.

use crate::blocks::Wires;
use crate::rp2040::peripherals::{psm, resets};
use chip::{Event, Layout, Sys};
use parts::constants::Constants;
use parts::wires::{
    AdcWires, ClocksWires, DmaWires, FunctionPins, IoWires, PioWires, PwmWires, SerialWires, TimerWires, UsbWires,
    Version, WatchdogWires,
};

/// Order of events of the same time.
pub mod event {
    use super::Event;

    pub(crate) const TIMER: Event = Event(0);
    pub(crate) const WATCHDOG: Event = Event(1);
    pub(crate) const RTC: Event = Event(2);
    pub(crate) const XOSC: Event = Event(3);
    pub(crate) const SSI: Event = Event(4);
    pub(crate) const XIP_STREAM: Event = Event(5);
    /// The end of SPI0's present step.
    pub const SPI0: Event = Event(6);
    pub(crate) const SPI1: Event = Event(7);
    pub(crate) const UART0: Event = Event(8);
    /// The end of UART1's present step.
    pub const UART1: Event = Event(9);
    pub(crate) const I2C0: Event = Event(10);
    pub(crate) const I2C1: Event = Event(11);
    pub(crate) const ADC: Event = Event(12);
    /// The next edge of PWM.
    pub const PWM: Event = Event(13);
    pub(crate) const PIO0: Event = Event(14);
    pub(crate) const PIO1: Event = Event(15);
    pub(crate) const DMA: Event = Event(16);
    pub(crate) const USB: Event = Event(17);
    pub(crate) const SYSTICK0: Event = Event(18);
    pub(crate) const SYSTICK1: Event = Event(19);
    pub(crate) const CLOCKS: Event = Event(20);
    pub(crate) const WORLD: Event = Event(21);
}

/// Interrupt lines of the NVIC (datasheet 2.3.2).
pub mod irq {
    pub(crate) const TIMER_0: u32 = 0;
    pub(crate) const PWM_WRAP: u32 = 4;
    pub(crate) const USBCTRL: u32 = 5;
    pub(crate) const XIP: u32 = 6;
    pub(crate) const PIO0_0: u32 = 7;
    pub(crate) const PIO1_0: u32 = 9;
    /// The first line of DMA.
    pub const DMA_0: u32 = 11;
    pub(crate) const IO_BANK0: u32 = 13;
    pub(crate) const IO_QSPI: u32 = 14;
    pub(crate) const SIO_PROC0: u32 = 15;
    pub(crate) const SIO_PROC1: u32 = 16;
    pub(crate) const CLOCKS: u32 = 17;
    pub(crate) const SPI0: u32 = 18;
    pub(crate) const SPI1: u32 = 19;
    pub(crate) const UART0: u32 = 20;
    pub(crate) const UART1: u32 = 21;
    pub(crate) const ADC_FIFO: u32 = 22;
    pub(crate) const I2C0: u32 = 23;
    pub(crate) const I2C1: u32 = 24;
    pub(crate) const RTC: u32 = 25;
}

/// DREQ numbers of the DMA (datasheet 2.5.3.1). That of a receive FIFO follows its transmit FIFO's; PIO's come first.
pub mod dreq {
    /// SPI0's transmit FIFO has space.
    pub const SPI0_TX: u32 = 16;
    /// SPI0's receive FIFO has data.
    pub const SPI0_RX: u32 = 17;
    pub(crate) const SPI1_TX: u32 = 18;
    pub(crate) const UART0_TX: u32 = 20;
    pub(crate) const UART1_TX: u32 = 22;
    pub(crate) const PWM_WRAP0: u32 = 24;
    pub(crate) const I2C0_TX: u32 = 32;
    pub(crate) const I2C1_TX: u32 = 34;
    pub(crate) const ADC: u32 = 36;
    pub(crate) const XIP_STREAM: u32 = 37;
    pub(crate) const XIP_SSITX: u32 = 38;
    pub(crate) const XIP_SSIRX: u32 = 39;
}

/// Function select values (datasheet 1.4.3, table 2).
pub mod function {
    pub use chip::pins::function::*;

    pub(crate) const CLOCK: usize = 8;
    pub(crate) const USB: usize = 9;
}

/// GPIO0 to GPIO29.
pub(crate) const PINS: u64 = 0x3fff_ffff;

const VERSION: Version = Version::V0;

/// How the blocks that RP2350 has, too, are connected.
pub(crate) const WIRES: Wires = Wires {
    layout: Layout {
        events: event::WORLD.0 as usize + 1,
        without_clk_sys: 1 << event::TIMER.0
            | 1 << event::WATCHDOG.0
            | 1 << event::RTC.0
            | 1 << event::XOSC.0
            | 1 << event::WORLD.0,
        pins: PINS,
        pulsed_dreqs: 0xff << dreq::PWM_WRAP0,
    },
    version: VERSION,
    // Datasheet 2.20: CHIP_ID of revision 2 (B2, as on W5500-EVB-Pico), part 0x0002, manufacturer 0x927; PLATFORM, an ASIC;
    // GITREF_RP2040 as read from silicon. With revision 1 (B0, B1) firmware would work around erratum RP2040-E5 at every
    // enumeration.
    sysinfo: Constants { name: "SYSINFO", registers: &[(0x00, 0x2000_2927), (0x04, 1 << 1), (0x40, 0xe0c9_12e8)] },
    clocks: ClocksWires {
        event: event::CLOCKS,
        irq: irq::CLOCKS,
        version: VERSION,
        function: function::CLOCK,
        outputs: [1 << 21, 1 << 23, 1 << 24, 1 << 25],
    },
    resets: resets::bit::ALL,
    psm: psm::BITS,
    io_bank0: IoWires { irq: irq::IO_BANK0, version: VERSION },
    io_qspi: IoWires { irq: irq::IO_QSPI, version: VERSION },
    xosc: event::XOSC,
    // Their pins alternate in groups of four: 0 to 3 UART0, 4 to 11 UART1, 12 to 19 UART0 and so on (datasheet 1.4.3).
    uart: [
        SerialWires::uart(0, event::UART0, irq::UART0, dreq::UART0_TX, 0x300f_f00f),
        SerialWires::uart(1, event::UART1, irq::UART1, dreq::UART1_TX, 0x0ff0_0ff0),
    ],
    spi: [
        SerialWires::spi(0, event::SPI0, irq::SPI0, dreq::SPI0_TX, 0x00ff_00ff),
        SerialWires::spi(1, event::SPI1, irq::SPI1, dreq::SPI1_TX, 0x3f00_ff00),
    ],
    i2c: [
        SerialWires::i2c(0, event::I2C0, irq::I2C0, dreq::I2C0_TX, 0x3333_3333),
        SerialWires::i2c(1, event::I2C1, irq::I2C1, dreq::I2C1_TX, 0xcccc_cccc & PINS),
    ],
    adc: AdcWires { event: event::ADC, irq: irq::ADC_FIFO, dreq: dreq::ADC, first_pin: 26, channels: 4 },
    pwm: PwmWires {
        event: event::PWM,
        irq: irq::PWM_WRAP,
        version: VERSION,
        dreq: dreq::PWM_WRAP0,
        pins: FunctionPins::new(function::PWM, PINS),
        a_pins: &[0x1_0001, 0x4_0004, 0x10_0010, 0x40_0040, 0x100_0100, 0x400_0400, 0x1000_1000, 0x4000_4000],
    },
    watchdog: WatchdogWires { event: event::WATCHDOG, tick: 0, version: VERSION },
    // Datasheet 2.21.3: PLATFORM, an ASIC and no test bench.
    tbman: Constants { name: "TBMAN", registers: &[(0x00, 1 << 0)] },
    dma: DmaWires { event: event::DMA, irq: irq::DMA_0, version: VERSION, channels: 12, dreqs: 40 },
    // VBUS DET is on GPIO 1, 4, 7, ...; DP is on GPIO15 in function CLOCK, which the E5 work-around uses.
    usb: UsbWires {
        event: event::USB,
        irq: irq::USBCTRL,
        version: VERSION,
        vbus_detect: FunctionPins::new(function::USB, 0x1249_2492),
        dp: FunctionPins::new(function::CLOCK, 1 << 15),
    },
    pio: &[
        PioWires::new(0, VERSION, event::PIO0, irq::PIO0_0, PINS),
        PioWires::new(1, VERSION, event::PIO1, irq::PIO1_0, PINS),
    ],
};

/// Returns the state that all parts share, with clk_sys at `hz`.
pub fn sys(hz: u64) -> Sys {
    Sys::new(hz, &WIRES.layout)
}

pub(crate) const TIMER: TimerWires =
    TimerWires { name: "TIMER", event: event::TIMER, irq: irq::TIMER_0, tick: 0, version: VERSION };
