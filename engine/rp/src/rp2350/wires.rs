//! The numbers by which RP2350's parts are connected: events, interrupts, DREQs, ticks and pins.

use crate::blocks::Wires;
use crate::rp2350::peripherals::{psm, resets};
#[cfg(test)]
use chip::Sys;
use chip::{Event, Layout};
use parts::constants::Constants;
use parts::wires::{
    AdcWires, ClocksWires, DmaWires, FunctionPins, IoWires, PioWires, PwmWires, SerialWires, TimerWires, UsbWires,
    Version, WatchdogWires,
};

/// Order of events of the same time.
pub(crate) mod event {
    use super::Event;

    pub(crate) const TIMER0: Event = Event(0);
    pub(crate) const TIMER1: Event = Event(1);
    pub(crate) const WATCHDOG: Event = Event(2);
    pub(crate) const POWMAN: Event = Event(3);
    pub(crate) const XOSC: Event = Event(4);
    pub(crate) const QMI: Event = Event(5);
    pub(crate) const XIP_STREAM: Event = Event(6);
    pub(crate) const SPI0: Event = Event(7);
    pub(crate) const SPI1: Event = Event(8);
    pub(crate) const UART0: Event = Event(9);
    pub(crate) const UART1: Event = Event(10);
    pub(crate) const I2C0: Event = Event(11);
    pub(crate) const I2C1: Event = Event(12);
    pub(crate) const ADC: Event = Event(13);
    pub(crate) const PWM: Event = Event(14);
    pub(crate) const PIO0: Event = Event(15);
    pub(crate) const PIO1: Event = Event(16);
    pub(crate) const PIO2: Event = Event(17);
    pub(crate) const DMA: Event = Event(18);
    pub(crate) const USB: Event = Event(19);
    /// Both SysTicks of each core, Secure first.
    pub(crate) const SYSTICK0: [Event; 2] = [Event(20), Event(21)];
    pub(crate) const SYSTICK1: [Event; 2] = [Event(22), Event(23)];
    pub(crate) const CLOCKS: Event = Event(24);
    pub(crate) const SHA256: Event = Event(25);
    pub(crate) const TRNG: Event = Event(26);
    /// MTIME reaches MTIMECMP of a core.
    pub(crate) const MTIME: Event = Event(27);
    pub(crate) const WORLD: Event = Event(28);
}

/// Interrupt lines of the NVIC (datasheet 3.2).
pub(crate) mod irq {
    pub(crate) const TIMER0_0: u32 = 0;
    pub(crate) const TIMER1_0: u32 = 4;
    pub(crate) const PWM_WRAP_0: u32 = 8;
    pub(crate) const DMA_0: u32 = 10;
    pub(crate) const USBCTRL: u32 = 14;
    pub(crate) const PIO0_0: u32 = 15;
    pub(crate) const PIO1_0: u32 = 17;
    pub(crate) const PIO2_0: u32 = 19;
    pub(crate) const IO_BANK0: u32 = 21;
    pub(crate) const IO_QSPI: u32 = 23;
    pub(crate) const SIO_FIFO: u32 = 25;
    pub(crate) const SIO_BELL: u32 = 26;
    pub(crate) const SIO_MTIMECMP: u32 = 29;
    pub(crate) const CLOCKS: u32 = 30;
    pub(crate) const SPI0: u32 = 31;
    pub(crate) const SPI1: u32 = 32;
    pub(crate) const UART0: u32 = 33;
    pub(crate) const UART1: u32 = 34;
    pub(crate) const ADC_FIFO: u32 = 35;
    pub(crate) const I2C0: u32 = 36;
    pub(crate) const I2C1: u32 = 37;
    pub(crate) const TRNG: u32 = 39;
    pub(crate) const POWMAN_TIMER: u32 = 45;
    /// Number of lines.
    pub(crate) const COUNT: u32 = 52;
    /// The software interrupt of a RISC-V core, which is none of them.
    pub(crate) const RISCV_SOFTIRQ: u32 = COUNT;
}

/// DREQ numbers of the DMA (datasheet 12.6.4). That of a receive FIFO follows its transmit FIFO's; PIO's come first.
pub(crate) mod dreq {
    pub(crate) const SPI0_TX: u32 = 24;
    pub(crate) const SPI1_TX: u32 = 26;
    pub(crate) const UART0_TX: u32 = 28;
    pub(crate) const UART1_TX: u32 = 30;
    pub(crate) const PWM_WRAP0: u32 = 32;
    pub(crate) const I2C0_TX: u32 = 44;
    pub(crate) const I2C1_TX: u32 = 46;
    pub(crate) const ADC: u32 = 48;
    pub(crate) const XIP_STREAM: u32 = 49;
    pub(crate) const XIP_QMITX: u32 = 50;
    pub(crate) const XIP_QMIRX: u32 = 51;
    pub(crate) const SHA256: u32 = 54;
    /// Number of lines.
    pub(crate) const COUNT: u32 = 55;
}

/// Generators of TICKS, in the order of their registers.
pub(crate) mod tick {
    pub(crate) const PROC0: usize = 0;
    pub(crate) const PROC1: usize = 1;
    pub(crate) const TIMER0: usize = 2;
    pub(crate) const TIMER1: usize = 3;
    pub(crate) const WATCHDOG: usize = 4;
    pub(crate) const RISCV: usize = 5;
    pub(crate) const COUNT: usize = 6;
}

/// Function select values (datasheet 9.4).
pub(crate) mod function {
    pub(crate) use chip::pins::function::*;

    pub(crate) const CLOCK: usize = 9;
    pub(crate) const USB: usize = 10;
}

/// GPIO0 to GPIO47. The smaller package has the first 30.
pub(crate) const PINS: u64 = 0xffff_ffff_ffff;

const VERSION: Version = Version::V1;

/// SYSINFO in the packages with 60 and 80 pins (datasheet 12.15.1): CHIP_ID of revision 2 (A2), part 0x0004, manufacturer
/// 0x493; PACKAGE_SEL; PLATFORM, an ASIC. The value of GITREF_RP2350 on silicon is not published.
const SMALL: Constants = Constants { name: "SYSINFO", registers: &[(0x00, 0x2000_4927), (0x04, 1), (0x08, 1 << 1)] };
pub(crate) const LARGE: Constants = Constants { name: "SYSINFO", registers: &[(0x00, 0x2000_4927), (0x08, 1 << 1)] };

/// How the blocks that RP2040 has, too, are connected, in a package with 60 pins.
pub(crate) const WIRES: Wires = Wires {
    layout: Layout {
        events: event::WORLD.0 as usize + 1,
        without_clk_sys: 1 << event::TIMER0.0
            | 1 << event::TIMER1.0
            | 1 << event::WATCHDOG.0
            | 1 << event::POWMAN.0
            | 1 << event::XOSC.0
            | 1 << event::WORLD.0,
        pins: PINS,
        pulsed_dreqs: 0xfff << dreq::PWM_WRAP0,
    },
    version: VERSION,
    sysinfo: SMALL,
    clocks: ClocksWires {
        event: event::CLOCKS,
        irq: irq::CLOCKS,
        version: VERSION,
        function: function::CLOCK,
        outputs: [1 << 13 | 1 << 21, 1 << 15 | 1 << 23, 1 << 24, 1 << 25],
    },
    resets: resets::bit::ALL,
    psm: psm::BITS,
    io_bank0: IoWires { irq: irq::IO_BANK0, version: VERSION },
    io_qspi: IoWires { irq: irq::IO_QSPI, version: VERSION },
    xosc: event::XOSC,
    // Their pins alternate in groups of four: 0 to 3 UART0, 4 to 11 UART1, 12 to 19 UART0 and so on (datasheet 9.4).
    uart: [
        SerialWires::uart(0, event::UART0, irq::UART0, dreq::UART0_TX, 0xf00f_f00f_f00f),
        SerialWires::uart(1, event::UART1, irq::UART1, dreq::UART1_TX, 0x0ff0_0ff0_0ff0),
    ],
    spi: [
        SerialWires::spi(0, event::SPI0, irq::SPI0, dreq::SPI0_TX, 0x00ff_00ff_00ff),
        SerialWires::spi(1, event::SPI1, irq::SPI1, dreq::SPI1_TX, 0xff00_ff00_ff00),
    ],
    i2c: [
        SerialWires::i2c(0, event::I2C0, irq::I2C0, dreq::I2C0_TX, 0x3333_3333_3333),
        SerialWires::i2c(1, event::I2C1, irq::I2C1, dreq::I2C1_TX, 0xcccc_cccc_cccc),
    ],
    adc: AdcWires { event: event::ADC, irq: irq::ADC_FIFO, dreq: dreq::ADC, first_pin: 26, channels: 4 },
    pwm: PwmWires {
        event: event::PWM,
        irq: irq::PWM_WRAP_0,
        version: VERSION,
        dreq: dreq::PWM_WRAP0,
        pins: FunctionPins::new(function::PWM, PINS),
        // GPIO0 to 31 carry slices 0 to 7 twice, GPIO32 to 47 slices 8 to 11 twice (datasheet 9.4).
        a_pins: &[
            0x1_0001,
            0x4_0004,
            0x10_0010,
            0x40_0040,
            0x100_0100,
            0x400_0400,
            0x1000_1000,
            0x4000_4000,
            0x101 << 32,
            0x404 << 32,
            0x1010 << 32,
            0x4040 << 32,
        ],
    },
    watchdog: WatchdogWires { event: event::WATCHDOG, tick: tick::WATCHDOG, version: VERSION },
    // Datasheet 12.15.3: PLATFORM, an ASIC and no test bench.
    tbman: Constants { name: "TBMAN", registers: &[(0x00, 1 << 0)] },
    dma: DmaWires { event: event::DMA, irq: irq::DMA_0, version: VERSION, channels: 16, dreqs: dreq::COUNT },
    // VBUS DET is on GPIO 1, 4, 7, ...; no pin carries DP.
    usb: UsbWires {
        event: event::USB,
        irq: irq::USBCTRL,
        version: VERSION,
        vbus_detect: FunctionPins::new(function::USB, 0x4924_9249_2492),
        dp: FunctionPins::new(function::CLOCK, 0),
    },
    pio: &[
        PioWires::new(0, VERSION, event::PIO0, irq::PIO0_0, PINS),
        PioWires::new(1, VERSION, event::PIO1, irq::PIO1_0, PINS),
        PioWires::new(2, VERSION, event::PIO2, irq::PIO2_0, PINS),
    ],
};

/// Returns the state that all parts share, with clk_sys at `hz`.
#[cfg(test)]
pub(crate) fn sys(hz: u64) -> Sys {
    Sys::new(hz, &WIRES.layout)
}

const fn timer(name: &'static str, event: Event, irq: u32, tick: usize) -> TimerWires {
    TimerWires { name, event, irq, tick, version: VERSION }
}

pub(crate) const TIMERS: [TimerWires; 2] = [
    timer("TIMER0", event::TIMER0, irq::TIMER0_0, tick::TIMER0),
    timer("TIMER1", event::TIMER1, irq::TIMER1_0, tick::TIMER1),
];
