//! The bus fabric: address map, atomic aliases, narrow accesses, wait states (datasheet 2.1 and 2.2).

use crate::rp2040::cpu::V6m;
use crate::rp2040::cpu::core::Core;
use crate::rp2040::map;
use crate::rp2040::memory::{APB, Addresses, Memory, RAM_BASE, RAM_SIZE, ROM_SIZE, bank_offset};
use crate::rp2040::peripherals::{
    Write,
    adc::Adc,
    busctrl::Busctrl,
    clocks::Clocks,
    dma::{Dma, DmaBus},
    i2c::I2c,
    io_bank0::IoBank0,
    io_qspi::IoQspi,
    pads_bank0::PadsBank0,
    pads_qspi::PadsQspi,
    pio::Pio,
    pll::Pll,
    psm::{self, Psm},
    pwm::Pwm,
    resets::{self, Resets},
    rosc::Rosc,
    rtc::Rtc,
    sio::{Sio, in_reset},
    spi::Spi,
    ssi::Ssi,
    syscfg::Syscfg,
    timer::Timer,
    uart::Uart,
    usb::Usb,
    vreg_and_chip_reset::VregAndChipReset,
    watchdog::Watchdog,
    xip_ctrl::XipCtrl,
    xosc::Xosc,
};
use crate::rp2040::sys::Sys;
use crate::rp2040::wires::{self, event, irq};
use crate::rp2040::world::{Inputs, World};
use crate::rp2040::xip_cache::LINE_BYTES_LOG2;
pub use cpu::Master;
use cpu::Translations as _;
use parts::BusFault;
pub(crate) use parts::batch::Batches;
use parts::constants::Constants;
use parts::lane;
use parts::passing::Reached;
use parts::trace::kind;
use parts::wires::{Event, Version};
use sim::Snapshot;
use sim::snapshot::{self, Torn};

/// The bus with everything on it except the memories.
pub struct Bus {
    /// The state that all peripherals share.
    pub sys: Sys,
    /// Everything outside the chip.
    pub world: Box<dyn World>,
    /// Wait states of the last access.
    pub(crate) waits: u32,
    /// Cycles that core 0 has spent in wait states of the peripheral bus.
    pub(crate) waited: u64,
    /// The cores' single-cycle registers.
    pub sio: Sio,
    pub(crate) xip_ctrl: XipCtrl,
    /// The controller of the flash chip.
    pub ssi: Ssi,
    /// The register blocks.
    pub blocks: Blocks,
}

/// The register blocks that RESETS can hold in reset and that need only [`Sys`].
#[derive(Snapshot)]
pub struct Blocks {
    pub(crate) sysinfo: Constants,
    pub(crate) syscfg: Syscfg,
    pub(crate) clocks: Clocks,
    pub(crate) resets: Resets,
    pub(crate) psm: Psm,
    pub(crate) io_bank0: IoBank0,
    pub(crate) io_qspi: IoQspi,
    pub(crate) pads_bank0: PadsBank0,
    pub(crate) pads_qspi: PadsQspi,
    pub(crate) xosc: Xosc,
    pub(crate) pll: [Pll; 2],
    /// The counters of accesses.
    pub busctrl: Busctrl,
    /// Both UARTs.
    pub uart: [Uart; 2],
    pub(crate) spi: [Spi; 2],
    pub(crate) i2c: [I2c; 2],
    /// The analogue-to-digital converter.
    pub adc: Adc,
    pub(crate) pwm: Pwm<{ wires::PWM_SLICES }>,
    pub(crate) timer: Timer,
    pub(crate) watchdog: Watchdog,
    pub(crate) rtc: Rtc,
    pub(crate) rosc: Rosc,
    pub(crate) vreg_and_chip_reset: VregAndChipReset,
    pub(crate) tbman: Constants,
    pub(crate) dma: Dma<{ wires::DMA_CHANNELS }>,
    pub(crate) usb: Usb,
    pub(crate) pio: [Pio; 2],
}

impl Bus {
    /// Appends the state of all but the world to a snapshot.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        snapshot::save(&self.sys, to);
        snapshot::save(&self.waits, to);
        snapshot::save(&self.waited, to);
        snapshot::save(&self.sio, to);
        snapshot::save(&self.xip_ctrl, to);
        snapshot::save(&self.ssi, to);
        snapshot::save(&self.blocks, to);
    }

    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.sys, from)?;
        snapshot::restore(&mut self.waits, from)?;
        snapshot::restore(&mut self.waited, from)?;
        snapshot::restore(&mut self.sio, from)?;
        snapshot::restore(&mut self.xip_ctrl, from)?;
        snapshot::restore(&mut self.ssi, from)?;
        snapshot::restore(&mut self.blocks, from)
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            sysinfo: wires::SYSINFO,
            syscfg: Syscfg::default(),
            clocks: Clocks::new(wires::CLOCKS),
            resets: Resets::new(resets::bit::ALL),
            psm: Psm::new(psm::bit::ALL, psm::RESETTABLE),
            io_bank0: IoBank0::new(wires::IO_BANK0),
            io_qspi: IoQspi::new(wires::IO_QSPI),
            pads_bank0: PadsBank0::new(Version::V0),
            pads_qspi: PadsQspi::new(Version::V0),
            xosc: Xosc::new(event::XOSC, Version::V0),
            pll: [Pll::new("PLL_SYS", |freq| &mut freq.pll_sys_hz), Pll::new("PLL_USB", |freq| &mut freq.pll_usb_hz)],
            busctrl: Busctrl::default(),
            uart: wires::UART.map(Uart::new),
            spi: wires::SPI.map(Spi::new),
            i2c: wires::I2C.map(I2c::new),
            adc: Adc::new(wires::ADC),
            pwm: Pwm::new(wires::PWM),
            timer: Timer::new(wires::TIMER),
            watchdog: Watchdog::new(wires::WATCHDOG),
            rtc: Rtc::default(),
            rosc: Rosc::new(Version::V0),
            vreg_and_chip_reset: VregAndChipReset::default(),
            tbman: wires::TBMAN,
            dma: Dma::new(wires::DMA),
            usb: Usb::new(wires::USB),
            pio: wires::PIO.map(Pio::new),
        }
    }
}

impl Blocks {
    #[inline]
    pub(crate) fn reached(&mut self) -> Reached<'_, { wires::PWM_SLICES }> {
        let Self { io_bank0, io_qspi, xosc, rosc, pll, clocks, uart, spi, pwm, pio, .. } = self;
        Reached { io_bank0, io_qspi, xosc, rosc, pll, clocks, uart, spi, pwm, pio }
    }
}

impl Bus {
    /// Returns a bus with all blocks at power-on, and `world` on the chip's pins.
    pub fn new(sys: Sys, world: impl World) -> Self {
        Self {
            sys,
            world: Box::new(world),
            waits: 0,
            waited: 0,
            sio: Sio::default(),
            xip_ctrl: XipCtrl::default(),
            ssi: Ssi::default(),
            blocks: Blocks::default(),
        }
    }

    /// Reads `size` (1, 2, 4) bytes; `address` is aligned to it.
    pub fn read(&mut self, mem: &mut Memory, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        if self.blocks.busctrl.counting() {
            self.blocks.busctrl.count(address);
        }
        self.fetch(mem, master, address, size)
    }

    /// Like [`Self::read`], for a core that counts its fetched words itself.
    pub fn fetch(&mut self, mem: &mut Memory, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        self.waits = 0;
        let value = match address >> 28 {
            0 if (address as usize) < ROM_SIZE => return Ok(lane(mem.rom_u32(address as usize & !3), address, size)),
            1 => return self.read_xip(mem, master, address, size),
            2 => {
                let offset = address.wrapping_sub(RAM_BASE) as usize;
                let offset = if offset < RAM_SIZE { offset } else { bank_offset(address).ok_or(BusFault)? };
                return Ok(lane(mem.ram_u32(offset & !3), address, size));
            }
            4 | 5 => {
                if address & 0xffff_c000 == map::IO_BANK0 {
                    self.refresh_pins(mem);
                } else {
                    self.run_batch_before_read(address);
                }
                self.read_peripheral(address)?
            }
            0xd => match master {
                // SIO is only accessible through a core's IO port.
                Master::Core(core) if address & 0x0fff_fffc == 0x004 => {
                    self.refresh_pins(mem);
                    self.sio.read(&mut self.sys, core, 0x004)
                }
                Master::Core(_) if address & 0x0fff_fffc == 0x008 => self.blocks.io_qspi.gpio_hi_in(),
                Master::Core(core) if address & 0x0fff_fe00 == 0 => self.sio.read(&mut self.sys, core, address & 0x1fc),
                _ => return Err(BusFault),
            },
            _ => return Err(BusFault),
        };
        master.trace(&mut self.sys, address, value, false);
        Ok(lane(value, address, size))
    }

    /// Writes the low `size` (1, 2, 4) bytes of `value`; `address` is aligned to it.
    pub fn write(
        &mut self,
        mem: &mut Memory,
        master: Master,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        if self.blocks.busctrl.counting() {
            self.blocks.busctrl.count(address);
        }
        self.waits = 0;
        match address >> 28 {
            // ROM ignores writes: TinyUSB stores through EP0's null endpoint control pointer, without consequences.
            0 if (address as usize) < ROM_SIZE => return Ok(()),
            1 => return self.write_xip(mem, address, value, size),
            2 => {
                let offset = address.wrapping_sub(RAM_BASE) as usize;
                let offset = if offset < RAM_SIZE { offset } else { bank_offset(address).ok_or(BusFault)? };
                match size {
                    1 => mem.set_ram_u8(offset, value as u8),
                    2 => mem.set_ram_u16(offset, value as u16),
                    _ => mem.set_ram_u32(offset, value),
                }
                return Ok(());
            }
            4 | 5 => {
                self.run_batch_before_write(address);
                self.write_peripheral(address, value, size)?;
            }
            0xd => match master {
                Master::Core(core) if address & 0x0fff_fe00 == 0 => {
                    if matches!(address & 0x1fc, 0x010..=0x04c) {
                        self.run_batch();
                    }
                    self.sio.write(&mut self.sys, core, address & 0x1fc, Write::at(address, value, size).bits);
                    if matches!(address & 0x1fc, 0x030..=0x04c) {
                        let (out, oe) = self.sio.gpio_hi();
                        self.blocks.io_qspi.set_sio(&mut self.sys, out, oe);
                    }
                }
                _ => return Err(BusFault),
            },
            _ => return Err(BusFault),
        }
        master.trace(&mut self.sys, address, value, true);
        self.settle(mem);
        Ok(())
    }

    /// Resets SIO while the cores continue to run.
    pub(crate) fn reset_sio(&mut self, mem: &mut Memory) {
        self.sio.reset(&mut self.sys);
        let (out, oe) = self.sio.gpio_hi();
        self.blocks.io_qspi.set_sio(&mut self.sys, out, oe);
        self.settle(mem);
    }

    /// Updates pins for a program that reads them: PWM, CLOCKS, UART and SPI only maintain pins that are watched.
    pub(crate) fn refresh_pins(&mut self, mem: &mut Memory) {
        self.run_batch();
        if self.blocks.reached().refresh_pins(&mut self.sys) {
            self.settle(mem);
        }
    }

    fn read_peripheral(&mut self, address: u32) -> Result<u32, BusFault> {
        if APB.contains(address) {
            self.waits = APB.read_waits;
        }
        if address & 0xffff_f000 == map::USB_DPRAM {
            return Ok(self.blocks.usb.dpram_read(address & 0xffc));
        }
        if address & 0xffff_f000 == 0x5040_0000 {
            return Ok(self.xip_ctrl.stream.take(&mut self.sys));
        }
        match self.blocks.at(address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => Ok(0),
            Some((block, _)) => Ok(block.read(&mut self.sys, address & 0xffc)),
            None => Err(BusFault),
        }
    }

    fn write_peripheral(&mut self, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        if APB.contains(address) {
            self.waits = APB.write_waits;
        }
        if address & 0xffff_f000 == map::USB_DPRAM {
            self.blocks.usb.dpram_write(&mut self.sys, address & 0xfff, value, size);
            return Ok(());
        }
        let write = Write::at(address, value, size);
        match self.blocks.at(address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => {}
            Some((block, _)) => block.write(&mut self.sys, address & 0xffc, write),
            None => return Err(BusFault),
        }
        Ok(())
    }

    fn read_xip(&mut self, mem: &mut Memory, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        let value = match address >> 24 {
            0x10 | 0x11 => {
                let offset = address & 0x00ff_ffff;
                self.waits = mem.xip.access_word(offset);
                self.check_flash_answers(mem);
                mem.flash_u32(offset as usize)
            }
            0x12 | 0x13 => {
                let offset = address & 0x00ff_ffff;
                self.waits = mem.xip.access_uncached(offset);
                self.check_flash_answers(mem);
                mem.flash_u32(offset as usize)
            }
            0x14 => {
                let value = self.xip_ctrl.read(&mut self.sys, mem, address & 0xffc);
                self.waits = self.xip_ctrl.take_stall_cycles();
                value
            }
            0x15 if address & 0x00ff_c000 == 0 && mem.xip.is_sram() => self.xip_ctrl.sram_read(address & 0x3ffc),
            0x18 => self.ssi.read(&mut self.sys, mem, address & 0xffc),
            _ => return Err(BusFault),
        };
        if address >> 24 >= 0x14 {
            master.trace(&mut self.sys, address, value, false);
        }
        Ok(lane(value, address, size))
    }

    /// Ends the run if the flash cannot answer. A flash that is busy or set up for serial transfers leaves its lines
    /// floating: a read then depends on the pads' pulls, which no correct program uses.
    fn check_flash_answers(&mut self, mem: &mut Memory) {
        if let Some(offset) = mem.xip.missed_offline.take() {
            self.sys.unmodelled(format!("XIP read of flash offset 0x{offset:06x} while the flash cannot answer"));
        }
    }

    fn write_xip(&mut self, mem: &mut Memory, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        let write = Write::at(address, value, size);
        match address >> 24 {
            // A write through the cache only invalidates the line: flash is programmed through the SSI.
            0x10 => mem.xip.invalidate((address & 0x00ff_ffff) >> LINE_BYTES_LOG2),
            0x11..=0x13 if self.xip_ctrl.bad_write_faults() => return Err(BusFault),
            0x11..=0x13 => {}
            0x14 => self.xip_ctrl.write(&mut self.sys, mem, address & 0xffc, write),
            0x15 if address & 0x00ff_c000 == 0 && mem.xip.is_sram() => {
                self.xip_ctrl.sram_write(address & 0x3fff, value, size)
            }
            0x18 => self.ssi.write(&mut self.sys, mem, address & 0xffc, write),
            _ => return Err(BusFault),
        }
        self.settle(mem);
        Ok(())
    }

    /// Propagates the consequences of an access or event to the other blocks, until nothing changes.
    pub fn settle(&mut self, mem: &mut Memory) {
        if self.sys.entering_reset != 0 {
            self.enter_reset();
        }
        if self.blocks.io_qspi.ss_dirty {
            self.blocks.io_qspi.ss_dirty = false;
            let level = self.blocks.io_qspi.ss_override();
            self.ssi.set_ss_override(&mut self.sys, mem, level);
        }
        if self.sys.dormant != 0 {
            self.wake_oscillators();
        }
        if self.sys.clock_sources_dirty {
            self.update_clocks();
        }
        if self.sys.stopped() {
            self.settle_stopped();
            return;
        }
        if self.sys.watch_dirty {
            self.blocks.reached().watch(&mut self.sys);
            // DMA may wait for other words.
            self.replan_batch();
        }
        self.settle_pins();
        if self.sys.records() {
            self.observe(mem, false);
        }
        if self.sys.batch_possible {
            self.find_batch();
        }
    }

    /// Takes what reaches a chip without clk_sys: the levels of its pins, to which only their interrupts answer.
    fn settle_stopped(&mut self) {
        self.blocks.reached().settle(&mut self.sys, &mut *self.world);
        self.wake_oscillators();
        if self.sys.clock_sources_dirty {
            self.update_clocks();
        }
    }

    /// Wakes dormant oscillators if a signal for that is high (datasheet 2.11.2): DORMANT_WAKE of a pin, or the RTC's
    /// interrupt.
    fn wake_oscillators(&mut self) {
        let timer = self.sys.irq_level() >> irq::RTC & 1 != 0;
        self.blocks.reached().wake_oscillators(&mut self.sys, timer);
    }

    /// Returns whether anything can end the sleep of a chip without clk_sys.
    pub(crate) fn may_wake(&self) -> bool {
        let counting = [event::RTC, event::WATCHDOG, event::XOSC];
        self.blocks.io_bank0.may_wake() || counting.iter().any(|&event| self.sys.due(event) != sim::NEVER)
    }

    /// Recomputes all frequencies, and the events of the blocks whose counters run at them.
    fn update_clocks(&mut self) {
        let Self { sys, blocks, .. } = self;
        blocks.reached().update_clocks(sys);
        // WATCHDOG first: it generates TIMER's tick.
        blocks.watchdog.clocks_changed(sys);
        blocks.timer.clocks_changed(sys);
        blocks.adc.clocks_changed(sys);
        blocks.rtc.clocks_changed(sys);
        blocks.reached().clocks_changed(sys);
    }

    fn enter_reset(&mut self) {
        let entering = std::mem::take(&mut self.sys.entering_reset);
        self.blocks.enter_reset(&mut self.sys, entering);
    }

    /// Handles one due event.
    pub fn event(&mut self, mem: &mut Memory, id: Event) {
        if !self.batch_before(id) {
            return;
        }
        if id == event::ADC && self.blocks.adc.reads_pin() {
            self.refresh_pins(mem);
        }
        match id {
            event::SSI => self.ssi.event(&mut self.sys, mem),
            event::XIP_STREAM => self.xip_ctrl.stream.event(&mut self.sys, &mem.xip, |at| mem.flash_u32(at)),
            event::DMA => Dma::service(&mut DmaPort { bus: self, mem }),
            event::WORLD => {
                let Blocks { usb, uart, .. } = &mut self.blocks;
                self.world.event(&mut self.sys, Inputs { usb: Some(usb), uart });
            }
            // The cores handle their SysTicks.
            _ => {
                self.blocks.event(&mut self.sys, &mut *self.world, id);
            }
        }
        self.check_flash_answers(mem);
        self.settle(mem);
    }
}

// The two events belong to the flash.
parts::batches! { Bus, event::DMA, map::PIO0, event::SSI | event::XIP_STREAM }

impl cpu::Bus<V6m> for Bus {
    type Map = Addresses;

    #[inline]
    fn sys(&self) -> &Sys {
        &self.sys
    }

    #[inline]
    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.sys
    }

    fn read(&mut self, mem: &mut Memory, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        self.read(mem, master, address, size)
    }

    fn fetch(&mut self, mem: &mut Memory, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        self.fetch(mem, master, address, size)
    }

    fn write(&mut self, mem: &mut Memory, master: Master, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        self.write(mem, master, address, value, size)
    }

    fn peek(&self, core: usize, address: u32) -> Option<u32> {
        let seen = in_reset(&self.sys) || self.sys.trace.wants(kind::REGISTERS);
        if seen || address & 0xffff_fe03 != 0xd000_0000 { None } else { self.sio.peek(core, address & 0x1fc) }
    }

    fn steady_until(&self, core: usize, address: u32) -> Option<u64> {
        let polled = || self.polled_until(address).filter(|_| !self.sys.trace.wants(kind::REGISTERS));
        self.peek(core, address).map(|_| u64::MAX).or_else(polled)
    }

    fn pass_event(&mut self, mem: &mut Memory) -> bool {
        let Some(id) = self.take_step() else { return false };
        let stalled = mem.xip.stalled;
        self.event(mem, id);
        mem.xip.stalled = stalled;
        self.sys.end_event();
        true
    }

    #[inline]
    fn waits(&self) -> u32 {
        self.waits
    }

    #[inline]
    fn counted(&self) -> u16 {
        self.blocks.busctrl.regions()
    }

    #[inline]
    fn count(&mut self, address: u32) {
        self.blocks.busctrl.count(address);
    }

    fn bank_counter(&mut self) -> Option<&mut u32> {
        self.blocks.busctrl.sram5_counter()
    }

    #[inline]
    fn note_read(&mut self, mem: &mut Memory, core: &Core, address: u32, value: u32) {
        self.note_clock(mem, core, address, value);
    }

    #[inline]
    fn note_waits(&mut self, core: &Core, address: u32) {
        self.count_waits(core, address);
    }
}

/// The bus as DMA sees it.
struct DmaPort<'a> {
    bus: &'a mut Bus,
    mem: &'a mut Memory,
}

impl DmaBus<{ wires::DMA_CHANNELS }> for DmaPort<'_> {
    fn dma_and_sys(&mut self) -> (&mut Dma<{ wires::DMA_CHANNELS }>, &mut Sys) {
        (&mut self.bus.blocks.dma, &mut self.bus.sys)
    }

    fn read(&mut self, address: u32, size: u32) -> Result<u32, BusFault> {
        self.bus.read(self.mem, Master::Dma, address, size)
    }

    fn write(&mut self, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        self.mem.translated.written_by(Master::Dma);
        self.bus.write(self.mem, Master::Dma, address, value, size)
    }

    fn waits(&self) -> u32 {
        self.bus.waits
    }
}
