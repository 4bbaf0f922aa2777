//! The register blocks that both chips have.

use chip::{Event, Inputs, Layout, Sys};
use parts::UsbPort;
use parts::adc::Adc;
use parts::clocks::Clocks;
use parts::constants::Constants;
use parts::dma::Dma;
use parts::i2c::I2c;
use parts::io_bank0::IoBank0;
use parts::io_qspi::IoQspi;
use parts::pads_bank0::PadsBank0;
use parts::pads_qspi::PadsQspi;
use parts::passing::Reached;
use parts::pio::Pio;
use parts::pll::Pll;
use parts::psm::{Bits, Psm};
use parts::pwm::Pwm;
use parts::resets::Resets;
use parts::rosc::Rosc;
use parts::spi::Spi;
use parts::uart::Uart;
use parts::usb::Usb;
use parts::watchdog::Watchdog;
use parts::wires::{
    AdcWires, ClocksWires, DmaWires, IoWires, PioWires, PwmWires, SerialWires, UsbWires, Version, WatchdogWires,
};
use parts::xosc::Xosc;
use sim::{Ps, Snapshot, UsbBus};

/// The numbers by which a chip's blocks are connected.
pub struct Wires {
    pub layout: Layout,
    pub version: Version,
    pub sysinfo: Constants,
    pub clocks: ClocksWires,
    /// Bits of all peripherals in RESETS.
    pub resets: u32,
    pub psm: Bits,
    pub io_bank0: IoWires,
    pub io_qspi: IoWires,
    pub xosc: Event,
    pub uart: [SerialWires; 2],
    pub spi: [SerialWires; 2],
    pub i2c: [SerialWires; 2],
    pub adc: AdcWires,
    pub pwm: PwmWires,
    pub watchdog: WatchdogWires,
    pub tbman: Constants,
    pub dma: DmaWires,
    pub usb: UsbWires,
    pub pio: &'static [PioWires],
}

/// The blocks.
#[derive(Snapshot)]
pub struct Blocks {
    pub sysinfo: Constants,
    pub clocks: Clocks,
    pub resets: Resets,
    pub psm: Psm,
    pub io_bank0: IoBank0,
    pub io_qspi: IoQspi,
    pub pads_bank0: PadsBank0,
    pub pads_qspi: PadsQspi,
    pub xosc: Xosc,
    pub pll: [Pll; 2],
    pub uart: [Uart; 2],
    pub spi: [Spi; 2],
    pub i2c: [I2c; 2],
    pub adc: Adc,
    pub pwm: Pwm,
    pub watchdog: Watchdog,
    pub rosc: Rosc,
    pub tbman: Constants,
    pub dma: Dma,
    pub usb: Usb,
    pub pio: Vec<Pio>,
}

impl Blocks {
    /// Returns the blocks after power-on, connected by `wires`.
    pub(crate) fn new(wires: Wires) -> Self {
        Self {
            sysinfo: wires.sysinfo,
            clocks: Clocks::new(wires.clocks),
            resets: Resets::new(wires.resets),
            psm: Psm::new(wires.psm.all, wires.psm.resettable),
            io_bank0: IoBank0::new(wires.io_bank0),
            io_qspi: IoQspi::new(wires.io_qspi),
            pads_bank0: PadsBank0::new(wires.version),
            pads_qspi: PadsQspi::new(wires.version),
            xosc: Xosc::new(wires.xosc, wires.version),
            pll: [Pll::new("PLL_SYS", |freq| &mut freq.pll_sys_hz), Pll::new("PLL_USB", |freq| &mut freq.pll_usb_hz)],
            uart: wires.uart.map(Uart::new),
            spi: wires.spi.map(Spi::new),
            i2c: wires.i2c.map(I2c::new),
            adc: Adc::new(wires.adc),
            pwm: Pwm::new(wires.pwm),
            watchdog: Watchdog::new(wires.watchdog),
            rosc: Rosc::new(wires.version),
            tbman: wires.tbman,
            dma: Dma::new(wires.dma),
            usb: Usb::new(wires.usb),
            pio: wires.pio.iter().copied().map(Pio::new).collect(),
        }
    }

    /// Returns the blocks that changes of pins and clocks reach.
    #[inline]
    pub(crate) fn reached(&mut self) -> Reached<'_> {
        let Self { io_bank0, io_qspi, xosc, rosc, pll, clocks, uart, spi, pwm, pio, .. } = self;
        Reached { io_bank0, io_qspi, xosc, rosc, pll, clocks, uart, spi, pwm, pio }
    }
}

impl Inputs for Blocks {
    fn on_usb(&mut self, sys: &mut Sys, act: &mut dyn FnMut(&mut dyn UsbBus)) -> bool {
        act(&mut UsbPort { sys, usb: &mut self.usb });
        true
    }

    fn character_ps(&self, sys: &Sys, uart: usize) -> Ps {
        self.uart[uart].character_ps(sys)
    }

    fn hears_characters(&self, sys: &Sys, uart: usize) -> bool {
        self.uart[uart].hears_characters(sys)
    }

    fn receive(&mut self, sys: &mut Sys, uart: usize, byte: u8) {
        self.uart[uart].receive(sys, byte);
    }
}
