//! RP2040's bus beside the blocks that RP2350 has, too (datasheet 2.1 and 2.2).

use chip::xip_cache::LINE_BYTES_LOG2;
use chip::{BusFault, Event, Peripheral, Write, lane};
use cpu::Architecture;
pub use cpu::Master;
use parts::timer::Timer;
use sim::Snapshot;

use crate::blocks::Wires;
use crate::bus::Fabric;
use crate::map::Table;
use crate::rp2040::map;
use crate::rp2040::memory::{Addresses, Memory, RAM_BASE, RAM_SIZE};
use crate::rp2040::peripherals::busctrl::Busctrl;
use crate::rp2040::peripherals::resets::bit;
use crate::rp2040::peripherals::rtc::Rtc;
use crate::rp2040::peripherals::sio::Sio;
use crate::rp2040::peripherals::ssi::Ssi;
use crate::rp2040::peripherals::syscfg::Syscfg;
use crate::rp2040::peripherals::vreg_and_chip_reset::VregAndChipReset;
use crate::rp2040::peripherals::xip_ctrl::XipCtrl;
use crate::rp2040::wires::{self, event, irq};

/// The bus with everything on it except the memories.
pub type Bus = crate::bus::Bus<Own>;

/// What only an RP2040 has.
#[derive(Snapshot)]
pub struct Own {
    pub(crate) xip_ctrl: XipCtrl,
    /// The controller of the flash chip.
    pub ssi: Ssi,
    pub(crate) syscfg: Syscfg,
    /// The counters of accesses.
    pub busctrl: Busctrl,
    pub(crate) timer: Timer,
    pub(crate) rtc: Rtc,
    pub(crate) vreg_and_chip_reset: VregAndChipReset,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            xip_ctrl: XipCtrl::default(),
            ssi: Ssi::default(),
            syscfg: Syscfg::default(),
            busctrl: Busctrl::default(),
            timer: Timer::new(wires::TIMER),
            rtc: Rtc::default(),
            vreg_and_chip_reset: VregAndChipReset::default(),
        }
    }
}

impl Fabric for Own {
    type Map = Addresses;
    type Sio = Sio;
    const WIRES: Wires = wires::WIRES;
    /// Datasheet 2.17.
    const ROSC_NOMINAL_HZ: u64 = 6_500_000;
    const IO_BANK0: u32 = map::IO_BANK0;
    const SPI: [u32; 2] = [map::SPI0, map::SPI1];
    const DMA_RESET: u32 = bit::DMA;
    const SPI_RESETS: [u32; 2] = [bit::SPI0, bit::SPI1];
    const PIO_RESETS: &[u32] = &[bit::PIO0, bit::PIO0 << 1];
    const TIMER: (u32, usize) = (map::TIMER, wires::TIMER.tick);
    const ALARM: (Event, u32) = (event::RTC, irq::RTC);
    const WORLD: Event = event::WORLD;

    fn polled(&self, address: u32) -> Option<(u32, u64)> {
        (address >> 24 == 0x18).then(|| self.ssi.polled(address & 0xffc))?
    }

    fn timer(&self, address: u32) -> Option<(&Timer, u32)> {
        (address & Self::BLOCK == map::TIMER).then_some((&self.timer, bit::TIMER))
    }

    /// The four striped banks are one behind the other from 0x2100_0000 on, too (datasheet 2.6.2).
    #[inline]
    fn in_sram(address: u32) -> Option<usize> {
        let offset = address.wrapping_sub(RAM_BASE) as usize;
        if offset < RAM_SIZE {
            return Some(offset);
        }
        let offset = address.wrapping_sub(0x2100_0000) as usize;
        let (bank, within) = (offset >> 16, offset & 0xffff);
        (bank < 4).then_some(((within >> 2) << 4) | (bank << 2) | (within & 3))
    }

    fn set_flash_id(&mut self, id: [u8; 8]) {
        self.ssi.flash.unique_id = id;
    }

    #[inline]
    fn count(&mut self, address: u32) {
        if self.busctrl.counting() {
            self.busctrl.count(address);
        }
    }

    #[inline]
    fn counted(&self) -> u16 {
        self.busctrl.regions()
    }

    fn bank_counter(&mut self) -> Option<&mut u32> {
        self.busctrl.sram5_counter()
    }

    fn read_xip(
        bus: &mut Bus,
        mem: &mut Memory<impl Architecture>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault> {
        let (sys, xip_ctrl) = (&mut bus.sys, &mut bus.own.xip_ctrl);
        let value = match address >> 24 {
            0x10..=0x13 => {
                let offset = address & 0x00ff_ffff;
                let cached = address >> 25 & 1 == 0;
                bus.waits = if cached { mem.xip.access_word(offset) } else { mem.xip.access_uncached(offset) };
                bus.check_flash_answers(mem);
                mem.flash_u32(offset as usize)
            }
            0x14 => {
                let value = xip_ctrl.read(sys, &mem.xip, address & 0xffc);
                bus.waits = xip_ctrl.take_stall_cycles();
                value
            }
            0x15 if address & 0x00ff_c000 == 0 && mem.xip.is_sram() => xip_ctrl.sram_read(address & 0x3ffc),
            0x18 => bus.own.ssi.read(sys, mem, address & 0xffc),
            _ => return Err(BusFault),
        };
        if address >> 24 >= 0x14 {
            master.trace(&mut bus.sys, address, value, false);
        }
        Ok(lane(value, address, size))
    }

    fn write_xip(
        bus: &mut Bus,
        mem: &mut Memory<impl Architecture>,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        let write = Write::at(address, value, size);
        let (sys, xip_ctrl) = (&mut bus.sys, &mut bus.own.xip_ctrl);
        match address >> 24 {
            // A write through the cache only invalidates the line: flash is programmed through the SSI.
            0x10 => mem.xip.invalidate((address & 0x00ff_ffff) >> LINE_BYTES_LOG2),
            0x11..=0x13 if xip_ctrl.bad_write_faults() => return Err(BusFault),
            0x11..=0x13 => {}
            0x14 => xip_ctrl.write(sys, &mut mem.xip, address & 0xffc, write),
            0x15 if address & 0x00ff_c000 == 0 && mem.xip.is_sram() => {
                xip_ctrl.sram_write(address & 0x3fff, value, size)
            }
            0x18 => bus.own.ssi.write(sys, mem, address & 0xffc, write),
            _ => return Err(BusFault),
        }
        bus.settle(mem);
        Ok(())
    }

    #[inline]
    fn read_apart(bus: &mut Bus, _: &mut Memory<impl Architecture>, address: u32) -> Option<u32> {
        (address & 0xffff_f000 == 0x5040_0000).then(|| bus.own.xip_ctrl.stream.take(&mut bus.sys))
    }

    fn select_flash(bus: &mut Bus, mem: &mut Memory<impl Architecture>, level: Option<bool>) {
        bus.own.ssi.set_ss_override(&mut bus.sys, mem, level);
    }

    fn clocks_changed(bus: &mut Bus) {
        let Bus { sys, blocks, own, .. } = bus;
        // WATCHDOG first: it generates TIMER's tick.
        blocks.watchdog.clocks_changed(sys);
        own.timer.clocks_changed(sys);
        own.rtc.clocks_changed(sys);
    }

    fn event(bus: &mut Bus, mem: &mut Memory<impl Architecture>, id: Event) -> bool {
        match id {
            event::SSI => bus.own.ssi.event(&mut bus.sys, mem),
            event::XIP_STREAM => bus.own.xip_ctrl.stream.event(&mut bus.sys, &mem.xip, |at| mem.flash_u32(at)),
            _ => return false,
        }
        true
    }

    fn is_apart(id: Event) -> bool {
        matches!(id, event::SSI | event::XIP_STREAM)
    }

    fn power_on(bus: &mut Bus) {
        bus.own.vreg_and_chip_reset.reset(&mut bus.sys);
    }

    fn restart_psm(bus: &mut Bus) {
        bus.blocks.psm.reset(&mut bus.sys);
    }

    fn reset_xip(bus: &mut Bus, mem: &mut Memory<impl Architecture>) {
        bus.own.xip_ctrl.reset(&mut bus.sys);
        bus.own.ssi.reset(&mut bus.sys, mem);
    }
}
