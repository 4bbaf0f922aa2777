//! RP2350's bus beside the blocks that RP2040 has, too (datasheet 2.1 and 2.2).

use chip::xip_cache::LINE_BYTES_LOG2;
use chip::{BusFault, Event, Peripheral, Sys, Write, lane};
use cpu::{Architecture, Master};
use parts::adc::Adc;
use parts::batch::Use;
use parts::timer::Timer;
use parts::wires::AdcWires;
use sim::Snapshot;
use sim::snapshot::LeftOut;

use crate::blocks::{Blocks, Wires};
use crate::bus::Fabric;
use crate::map::{PIO0, Table};
use crate::rp2350::bootrom;
use crate::rp2350::coprocessors::dcp::Dcp;
use crate::rp2350::coprocessors::rcp::Rcp;
use crate::rp2350::map;
use crate::rp2350::mcu::KINDS;
use crate::rp2350::memory::{Addresses, Memory};
use crate::rp2350::peripherals::accessctrl::Accessctrl;
use crate::rp2350::peripherals::bootram::Bootram;
use crate::rp2350::peripherals::busctrl::Busctrl;
use crate::rp2350::peripherals::glitch_detector::GlitchDetector;
use crate::rp2350::peripherals::hstx::{self, Hstx};
use crate::rp2350::peripherals::otp::Otp;
use crate::rp2350::peripherals::powman::Powman;
use crate::rp2350::peripherals::qmi::Qmi;
use crate::rp2350::peripherals::sha256::Sha256;
use crate::rp2350::peripherals::sio::Sio;
use crate::rp2350::peripherals::syscfg::Syscfg;
use crate::rp2350::peripherals::ticks::Ticks;
use crate::rp2350::peripherals::trng::Trng;
use crate::rp2350::peripherals::xip_ctrl::XipCtrl;
use crate::rp2350::peripherals::{psm, resets};
use crate::rp2350::wires::{self, event, irq, tick};

/// Offset of SHA-256's data register, whose writes keep their size.
const SHA256_WDATA: u32 = 4;
/// Offset of PIO's register whose writes reach the neighbouring blocks, too.
const PIO_CTRL: u32 = 0;
const HSTX_FIFO: u32 = 0x5060_0000;
const HSTX_FIFO_END: u32 = 0x5070_0000;
/// The chip's registers on a core's private bus.
const EPPB: u32 = 0xe008_0000;
/// SLEEPCTRL.WICENACK: the wake-up interrupt controller is ready.
const SLEEPCTRL_WICENACK: u32 = 4;
/// An address within the XIP space, of which the chip selects have the lower half.
const XIP_OFFSET: u32 = 0x03ff_ffff;
/// The part of it that the chip selects have.
const CHIP_SELECTS: u32 = 0x0200_0000;
/// Bytes of boot RAM, below its registers.
const BOOTRAM_BYTES: u32 = 0x400;

/// The bus with everything on it except the memories.
pub(crate) type Bus = crate::bus::Bus<Own>;

/// What only an RP2350 has.
#[derive(Snapshot)]
pub struct Own {
    pub xip_ctrl: XipCtrl,
    pub qmi: Qmi,
    pub rcp: Rcp,
    /// Of each core: the Secure instance, and the Non-secure one.
    pub dcp: [[Dcp; 2]; 2],
    /// Instructions of core 0 that reached DCP.
    pub dcp_instructions: u64,
    /// SLEEPCTRL of each core, stored without effect.
    sleepctrl: [u32; 2],
    /// The boot ROM is [`bootrom::own`].
    own_boot_rom: LeftOut<bool>,
    /// Its place in [`KINDS`].
    pub kind: LeftOut<usize>,
    pub syscfg: Syscfg,
    pub accessctrl: Accessctrl,
    pub busctrl: Busctrl,
    pub timer: [Timer; 2],
    pub bootram: Bootram,
    pub trng: Trng,
    pub sha256: Sha256,
    pub powman: Powman,
    pub ticks: Ticks,
    pub otp: Otp,
    pub glitch_detector: GlitchDetector,
    pub hstx: Hstx,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            xip_ctrl: XipCtrl::default(),
            qmi: Qmi::default(),
            rcp: Rcp::default(),
            dcp: Default::default(),
            dcp_instructions: 0,
            sleepctrl: [2; 2],
            own_boot_rom: LeftOut(false),
            kind: LeftOut(0),
            syscfg: Syscfg::default(),
            accessctrl: Accessctrl::default(),
            busctrl: Busctrl::default(),
            timer: wires::TIMERS.map(Timer::new),
            bootram: Bootram::default(),
            trng: Trng::default(),
            sha256: Sha256::default(),
            powman: Powman::default(),
            ticks: Ticks::default(),
            otp: Otp::default(),
            glitch_detector: GlitchDetector::default(),
            hstx: Hstx::default(),
        }
    }
}

impl Bus {
    /// Puts the die at power-on into the package of `kind`.
    pub(crate) fn set_kind(&mut self, kind: usize) {
        self.own.kind = LeftOut(kind);
        let pins = &KINDS[kind].0.adc_pins;
        let wires = AdcWires { first_pin: pins.start, channels: pins.len() as u32, ..wires::WIRES.adc };
        self.blocks.adc = Adc::new(wires);
        if KINDS[kind].0.pins > 30 {
            self.blocks.sysinfo = wires::LARGE;
        }
    }

    /// Does what a write to CTRL of PIO `index` asks of the blocks beside it; the last and the first are neighbours.
    fn write_neighbours(&mut self, index: usize, write: Write) {
        let Self { sys, blocks: Blocks { pio, .. }, .. } = self;
        for (neighbour, is_next) in [((index + 1) % pio.len(), true), ((index + 2) % pio.len(), false)] {
            if sys.held_in_reset & resets::bit::PIO0 << neighbour == 0 {
                pio[neighbour].write_ctrl_of_neighbour(sys, write, is_next);
            }
        }
    }

    /// Returns the physical address of an uncached access.
    fn uncached(&self, address: u32) -> Result<u32, BusFault> {
        let translated = address >> 27 & 1 == 0;
        if self.own.qmi.is_direct() || !self.own.xip_ctrl.allows_uncached(translated) {
            return Err(BusFault);
        }
        let offset = address & XIP_OFFSET;
        if translated { self.own.qmi.physical(offset).ok_or(BusFault) } else { Ok(offset & 0x00ff_ffff) }
    }

    fn read_uncached(&mut self, mem: &mut Memory<impl Architecture>, at: u32, second: bool, size: u32) -> u32 {
        self.write_back(mem);
        let mut data = [0; 4];
        let cycles = self.own.qmi.read_memory(&mut self.sys, mem, second, at, &mut data[..size as usize]);
        self.stall(mem, cycles);
        u32::from_le_bytes(data)
    }

    fn stall(&mut self, mem: &mut Memory<impl Architecture>, cycles: u32) {
        let cycles = if mem.xip.cost_enabled { cycles } else { 0 };
        self.waits += cycles;
        mem.xip.stalled += u64::from(cycles);
    }

    /// Returns where the cache has the line of an offset outside of flash, after reading it if it must. `None`: it cannot
    /// be cached.
    fn cached(&mut self, mem: &mut Memory<impl Architecture>, offset: u32) -> Result<Option<usize>, BusFault> {
        let (line, pinned_only) = (offset >> LINE_BYTES_LOG2, offset >= CHIP_SELECTS);
        if self.own.qmi.is_direct() && !pinned_only {
            return Err(BusFault);
        }
        if let Some(place) = mem.xip.find(line) {
            mem.xip.accesses += u64::from(!pinned_only);
            return Ok(Some(place));
        }
        if pinned_only {
            return Err(BusFault);
        }
        let at = self.own.qmi.physical(offset & !7).ok_or(BusFault)?;
        mem.xip.accesses += 1;
        self.write_back(mem);
        let Some(place) = mem.xip.fill(line) else { return Ok(None) };
        let cycles = self.write_back(mem);
        let mut data = [0; 8];
        let cycles = cycles + self.own.qmi.read_memory(&mut self.sys, mem, true, at, &mut data);
        mem.xip.data[place] = data;
        self.stall(mem, cycles);
        Ok(Some(place))
    }

    /// Writes lines to memory that the cache has given up; returns the cycles that it takes.
    fn write_back(&mut self, mem: &mut Memory<impl Architecture>) -> u32 {
        let mut cycles = 0;
        for (offset, data) in std::mem::take(&mut mem.xip.written_back) {
            if self.own.qmi.is_direct() {
                self.sys.unmodelled("XIP cache: dirty line written back in QMI's direct mode".to_owned());
            }
            // A line that is mapped no longer gets a bus error that nothing reports.
            if let Some(at) = self.own.qmi.physical(offset) {
                cycles += self.own.qmi.write_memory(&mut self.sys, mem, at, &data);
            }
        }
        cycles
    }

    /// Writes to the second chip select or to a line pinned above it; the others are read-only.
    fn write_memory(&mut self, mem: &mut Memory<impl Architecture>, address: u32, data: &[u8]) -> Result<(), BusFault> {
        let offset = address & XIP_OFFSET;
        let second = offset >> 24 == 1;
        if second && !self.own.xip_ctrl.second_is_writable() {
            return Err(BusFault);
        }
        let at = match address >> 24 {
            0x11..=0x13 => match self.cached(mem, offset)? {
                Some(place) => {
                    mem.xip.data[place][offset as usize & 7..][..data.len()].copy_from_slice(data);
                    if second {
                        mem.xip.set_dirty(place);
                    }
                    return Ok(());
                }
                None => self.own.qmi.physical(offset).ok_or(BusFault)?,
            },
            0x15 | 0x1d => self.uncached(address)?,
            _ => return Err(BusFault),
        };
        self.write_back(mem);
        let cycles = self.own.qmi.write_memory(&mut self.sys, mem, at, data);
        self.stall(mem, cycles);
        Ok(())
    }

    /// Handles a word of the stream, which passes by the cache.
    fn stream(&mut self, mem: &mut Memory<impl Architecture>) {
        // Programs write the address where they see the data, or its offset.
        let at = self.own.xip_ctrl.stream.address() & XIP_OFFSET;
        let word = match self.own.qmi.physical(at) {
            Some(cell) if at >> 24 == 0 => mem.cell_u32(cell as usize),
            _ => {
                self.sys.unmodelled(format!("XIP_CTRL stream of 0x{at:08x}, which is not flash"));
                0
            }
        };
        self.own.xip_ctrl.stream.event(&mut self.sys, &mem.xip, |_| word);
    }
}

impl Fabric for Own {
    type Map = Addresses;
    type Sio = Sio;
    const WIRES: Wires = wires::WIRES;
    /// Datasheet 8.3.1.
    const ROSC_NOMINAL_HZ: u64 = 11_000_000;
    const IO_BANK0: u32 = map::IO_BANK0;
    const SPI: [u32; 2] = [map::SPI0, map::SPI1];
    const DMA_RESET: u32 = resets::bit::DMA;
    const SPI_RESETS: [u32; 2] = [resets::bit::SPI0, resets::bit::SPI1];
    const PIO_RESETS: &[u32] = &[resets::bit::PIO0, resets::bit::PIO0 << 1, resets::bit::PIO0 << 2];
    const TIMER: (u32, usize) = (map::TIMER0, tick::TIMER0);
    const ALARM: (Event, u32) = (event::POWMAN, irq::POWMAN_TIMER);
    const WORLD: Event = event::WORLD;

    fn polled(&self, address: u32) -> Option<(u32, u64)> {
        (0x400d_0000..0x400d_8000).contains(&address).then(|| self.qmi.polled(address & 0xffc))?
    }

    fn timer(&self, address: u32) -> Option<(&Timer, u32)> {
        match address & Self::BLOCK {
            map::TIMER0 => Some((&self.timer[0], resets::bit::TIMER0)),
            map::TIMER1 => Some((&self.timer[1], resets::bit::TIMER1)),
            _ => None,
        }
    }

    fn set_up(&mut self, bootrom: &[u8], psram_csn: Option<u32>) {
        if let Some(csn) = psram_csn {
            self.qmi.connect_psram(csn);
        }
        self.own_boot_rom = LeftOut(bootrom::is_own(bootrom));
    }

    fn set_flash_id(&mut self, id: [u8; 8]) {
        self.qmi.flash.unique_id = id;
        self.otp.set_chip_id(id);
    }

    fn coprocessor_instructions(&self) -> u64 {
        self.dcp_instructions
    }

    fn write_rom(bus: &mut Bus, address: u32, value: u32) {
        if address == bootrom::REFUSED && *bus.own.own_boot_rom {
            bus.sys.unmodelled(bootrom::refusal(value));
        }
    }

    /// Reads the XIP windows: cached, uncached, maintenance (write only), and uncached without translation, each with
    /// both chip selects (datasheet 4.4.1).
    fn read_xip(
        bus: &mut Bus,
        mem: &mut Memory<impl Architecture>,
        _: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault> {
        let offset = address & XIP_OFFSET;
        match address >> 24 {
            0x10 if bus.own.qmi.is_direct() => Err(BusFault),
            0x10 => {
                bus.own.qmi.physical(offset).ok_or(BusFault)?;
                bus.waits = mem.access_word(offset);
                bus.check_flash_answers(mem);
                Ok(lane(mem.flash_u32(offset as usize), address, size))
            }
            0x11..=0x13 => {
                let place = bus.cached(mem, offset)?;
                Ok(match place {
                    Some(place) => mem.xip.data[place][offset as usize & 7..]
                        .iter()
                        .take(size as usize)
                        .rev()
                        .fold(0, |value, &byte| value << 8 | u32::from(byte)),
                    None => bus.read_uncached(mem, bus.own.qmi.physical(offset).ok_or(BusFault)?, true, size),
                })
            }
            0x14 | 0x15 | 0x1c | 0x1d => {
                let at = bus.uncached(address)?;
                Ok(bus.read_uncached(mem, at, offset >> 24 != 0, size))
            }
            _ => Err(BusFault),
        }
    }

    fn write_xip(
        bus: &mut Bus,
        mem: &mut Memory<impl Architecture>,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        match address >> 24 {
            // Cache maintenance: the lowest bits of the address are the operation.
            0x18..=0x1b => match address & 7 {
                0 => mem.xip.invalidate_way(address >> 3, address >> 13),
                2 => mem.xip.invalidate((address & XIP_OFFSET) >> 3),
                operation @ (1 | 3) => {
                    bus.write_back(mem);
                    let line = (address & XIP_OFFSET) >> LINE_BYTES_LOG2;
                    match operation {
                        1 => mem.xip.clean_way(line as usize, line as usize >> 10, line),
                        _ => mem.xip.clean(line),
                    }
                    let cycles = bus.write_back(mem);
                    bus.stall(mem, cycles);
                }
                7 if address & 0x0200_0000 != 0 => mem.xip.pin((address & XIP_OFFSET) >> 3),
                7 => bus.sys.unmodelled(format!("XIP cache: line of flash pinned at 0x{address:08x}")),
                _ => {}
            },
            // Without WRITABLE_M0 and M1 the windows are read-only (datasheet 4.4.5).
            _ => return bus.write_memory(mem, address, &value.to_le_bytes()[..size as usize]),
        }
        Ok(())
    }

    fn read_apart(bus: &mut Bus, mem: &mut Memory<impl Architecture>, address: u32) -> Option<u32> {
        let (sys, own, offset) = (&mut bus.sys, &mut bus.own, address & 0xffc);
        Some(match address {
            0x400c_8000..0x400d_0000 => own.xip_ctrl.read(sys, &mem.xip, offset),
            0x400d_0000..0x400d_8000 => own.qmi.read(sys, mem, offset),
            0x4013_0000..0x4014_0000 => own.otp.read_data(address & 0xfffc),
            0x5050_0000..0x5060_0000 if offset == 0 => own.xip_ctrl.stream.take(sys),
            0x5050_0000..0x5060_0000 => own.qmi.read(sys, mem, offset),
            HSTX_FIFO..HSTX_FIFO_END => [hstx::FIFO_STAT, 0][usize::from(offset != 0)],
            _ => return None,
        })
    }

    fn write_apart(
        bus: &mut Bus,
        mem: &mut Memory<impl Architecture>,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<bool, BusFault> {
        let (write, offset) = (Write::at(address, value, size), address & 0xffc);
        match address {
            0x400c_8000..0x400d_0000 => bus.own.xip_ctrl.write(&mut bus.sys, &mut mem.xip, offset, write),
            0x400d_0000..0x400d_8000 => {
                bus.write_back(mem);
                bus.own.qmi.write(&mut bus.sys, mem, offset, write);
            }
            0x4013_0000..0x4014_0000 => return Err(BusFault),
            0x5050_0000..0x5060_0000 if offset == 4 => bus.own.qmi.write(&mut bus.sys, mem, offset, write),
            0x5050_0000..0x5060_0000 => {}
            0x400e_0000..0x400e_4000 if offset < BOOTRAM_BYTES && size != 4 => {
                let lanes = lane(u32::MAX, 0, size) << ((address & 3) * 8);
                bus.own.bootram.write_lanes(offset, write, lanes);
            }
            HSTX_FIFO..HSTX_FIFO_END => {}
            _ if address & Self::BLOCK == map::SHA256 && offset == SHA256_WDATA && size != 4 => {
                bus.own.sha256.write_data(&mut bus.sys, value, size);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    #[inline]
    fn written(bus: &mut Bus, address: u32, write: Write) {
        if address & 0xffc == PIO_CTRL && Self::pins_at(address) == Use::Pio {
            bus.write_neighbours((address - PIO0) as usize >> 20, write);
        }
    }

    /// Ends the run at an access to what exists and is not modelled.
    fn nowhere(sys: &mut Sys, address: u32, write: Option<u32>) -> Result<(), BusFault> {
        let name = match (address & Self::BLOCK, address >> 20) {
            (0x4014_0000 | 0x4014_8000, _) => "CORESIGHT_PERIPH",
            (0x4015_0000, _) => "DFT",
            (_, 0x507) => "CORESIGHT_TRACE",
            _ if address & 0xfffe_0000 == 0xd002_0000 => "SIO's Non-secure bank",
            _ => return Err(BusFault),
        };
        chip::unmodelled(sys, name, address & 0xfff, write);
        Ok(())
    }

    /// Reads the chip's registers on a core's private bus: NMI_MASK0, NMI_MASK1 and SLEEPCTRL (datasheet 2.2.7).
    fn read_private(&mut self, core: usize, address: u32) -> Result<u32, BusFault> {
        match address & !0xc == EPPB {
            true if address & 0xc == 0x8 => Ok(self.sleepctrl[core] | SLEEPCTRL_WICENACK),
            true => Ok(0),
            false => Err(BusFault),
        }
    }

    fn write_private(&mut self, sys: &mut Sys, core: usize, address: u32, value: u32) -> Result<(), BusFault> {
        match address & 0xc {
            _ if address & !0xc != EPPB => return Err(BusFault),
            0x8 => self.sleepctrl[core] = value & 3,
            0x0 | 0x4 if value != 0 => sys.unmodelled(format!("EPPB.NMI_MASK write 0x{value:08x}")),
            _ => {}
        }
        Ok(())
    }

    fn select_flash(bus: &mut Bus, mem: &mut Memory<impl Architecture>, level: Option<bool>) {
        bus.own.qmi.set_ss_override(&mut bus.sys, mem, level);
    }

    fn clocks_changed(bus: &mut Bus) {
        let Bus { sys, blocks, own, sio, .. } = bus;
        own.ticks.update(sys);
        blocks.watchdog.clocks_changed(sys);
        own.timer.iter_mut().for_each(|timer| timer.clocks_changed(sys));
        own.powman.clocks_changed(sys);
        sio.update_timer(sys);
    }

    fn event(bus: &mut Bus, mem: &mut Memory<impl Architecture>, id: Event) -> bool {
        match id {
            event::QMI => bus.own.qmi.event(&mut bus.sys, mem),
            event::XIP_STREAM => bus.stream(mem),
            event::MTIME => bus.sio.update_timer(&mut bus.sys),
            _ => return false,
        }
        true
    }

    fn is_apart(id: Event) -> bool {
        matches!(id, event::QMI | event::XIP_STREAM | event::MTIME)
    }

    fn power_on(bus: &mut Bus) {
        let Bus { sys, blocks, own, .. } = bus;
        own.powman.reset(sys);
        own.ticks.reset(sys);
        own.glitch_detector.reset(sys);
        blocks.pads_bank0.power_on(sys);
    }

    fn restart(bus: &mut Bus, blocks: u32) {
        let Bus { sys, own, .. } = bus;
        if blocks & psm::BITS.clocks != 0 {
            own.ticks.reset(sys);
        }
        // The salts outlive a reset of a core alone: core 1 waits for one that core 0 has written.
        if blocks & psm::PROC_COLD != 0 {
            own.rcp = Rcp::default();
        }
        if blocks & psm::OTP != 0 {
            own.otp.reset(sys);
        }
        if blocks & psm::BOOTRAM != 0 {
            own.bootram.reset(sys);
        }
        if blocks & psm::ACCESSCTRL != 0 {
            own.accessctrl.reset(sys);
        }
    }

    fn restart_psm(bus: &mut Bus) {
        bus.blocks.psm.restart(&mut bus.sys);
    }

    fn reset_xip(bus: &mut Bus, mem: &mut Memory<impl Architecture>) {
        bus.own.xip_ctrl.reset(&mut bus.sys);
        mem.xip.configure(true, false);
        bus.own.qmi.reset(&mut bus.sys, mem);
    }

    fn watchdog_reset(&mut self) {
        self.powman.watchdog_reset();
    }

    fn cores_reset(bus: &mut Bus) {
        bus.own.otp.sample_archsel(&mut bus.sys);
    }
}
