//! The bus fabric: address map, atomic aliases, narrow accesses, wait states (datasheet 2.1 and 2.2).

use crate::rp2350::bootrom;
use crate::rp2350::coprocessors::{dcp::Dcp, rcp::Rcp};
use crate::rp2350::cores::Kind;
use crate::rp2350::map;
use crate::rp2350::memory::{APB, Addresses, Architecture, Memory, RAM_BASE, RAM_SIZE, ROM_SIZE};
use crate::rp2350::peripherals::{
    Write,
    accessctrl::Accessctrl,
    adc::Adc,
    bootram::Bootram,
    busctrl::Busctrl,
    clocks::Clocks,
    dma::{Dma, DmaBus},
    glitch_detector::GlitchDetector,
    hstx::{self, Hstx},
    i2c::I2c,
    io_bank0::IoBank0,
    io_qspi::IoQspi,
    otp::Otp,
    pads_bank0::PadsBank0,
    pads_qspi::PadsQspi,
    pio::Pio,
    pll::Pll,
    powman::Powman,
    psm::{self, Psm},
    pwm::Pwm,
    qmi::Qmi,
    resets::{self, Resets},
    rosc::Rosc,
    sha256::Sha256,
    sio::Sio,
    spi::Spi,
    syscfg::Syscfg,
    ticks::Ticks,
    timer::Timer,
    trng::Trng,
    uart::Uart,
    usb::Usb,
    watchdog::Watchdog,
    xip_ctrl::XipCtrl,
    xosc::Xosc,
};
use crate::rp2350::sys::Sys;
use crate::rp2350::wires::{self, event};
use crate::rp2350::world::{Inputs, World};
pub(crate) use armv8m::Master;
use parts::BusFault;
pub(crate) use parts::batch::Batches;
use parts::batch::Use;
use parts::constants::Constants;
use parts::lane;
use parts::passing::Reached;
use parts::trace::kind;
use parts::wires::{Event, Version};
use parts::xip_cache::{APART, LINE_BYTES_LOG2};
use sim::Snapshot;
use sim::snapshot::{self, Torn};

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
pub struct Bus {
    pub sys: Sys,
    pub world: Box<dyn World>,
    /// Wait states of the last access.
    pub waits: u32,
    /// Cycles that core 0 has spent in wait states of the peripheral bus.
    pub(crate) waited: u64,
    /// Instructions of core 0 that reached DCP.
    pub(crate) dcp_instructions: u64,
    pub sio: Sio,
    pub xip_ctrl: XipCtrl,
    pub qmi: Qmi,
    pub rcp: Rcp,
    /// Of each core: the Secure instance, and the Non-secure one.
    pub dcp: [[Dcp; 2]; 2],
    /// SLEEPCTRL of each core, stored without effect.
    sleepctrl: [u32; 2],
    pub blocks: Blocks,
    /// The boot ROM is [`bootrom::own`].
    pub(crate) own_boot_rom: bool,
}

/// The register blocks that need only [`Sys`].
#[derive(Snapshot)]
pub struct Blocks {
    pub sysinfo: Constants,
    pub syscfg: Syscfg,
    pub clocks: Clocks,
    pub resets: Resets,
    pub psm: Psm,
    pub io_bank0: IoBank0,
    pub io_qspi: IoQspi,
    pub pads_bank0: PadsBank0,
    pub pads_qspi: PadsQspi,
    pub xosc: Xosc,
    pub pll: [Pll; 2],
    pub accessctrl: Accessctrl,
    pub busctrl: Busctrl,
    pub uart: [Uart; 2],
    pub spi: [Spi; 2],
    pub i2c: [I2c; 2],
    pub adc: Adc,
    pub pwm: Pwm<{ wires::PWM_SLICES }>,
    pub timer: [Timer; 2],
    pub watchdog: Watchdog,
    pub bootram: Bootram,
    pub rosc: Rosc,
    pub trng: Trng,
    pub sha256: Sha256,
    pub powman: Powman,
    pub ticks: Ticks,
    pub otp: Otp,
    pub glitch_detector: GlitchDetector,
    pub hstx: Hstx,
    pub tbman: Constants,
    pub dma: Dma<{ wires::DMA_CHANNELS }>,
    pub usb: Usb,
    pub pio: [Pio; 3],
}

/// Ends the run at an access to a block that exists and is not modelled.
fn unmodelled_at(sys: &mut Sys, address: u32, write: Option<u32>) -> Result<(), BusFault> {
    let name = match (address & map::BLOCK, address >> 20) {
        (0x4014_0000 | 0x4014_8000, _) => "CORESIGHT_PERIPH",
        (0x4015_0000, _) => "DFT",
        (_, 0x507) => "CORESIGHT_TRACE",
        _ => return Err(BusFault),
    };
    parts::unmodelled(sys, name, address & 0xfff, write);
    Ok(())
}

impl Bus {
    /// Appends the state of all but the world to a snapshot.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        snapshot::save(&self.sys, to);
        snapshot::save(&self.waits, to);
        snapshot::save(&self.waited, to);
        snapshot::save(&self.dcp_instructions, to);
        snapshot::save(&self.sio, to);
        snapshot::save(&self.xip_ctrl, to);
        snapshot::save(&self.qmi, to);
        snapshot::save(&self.rcp, to);
        snapshot::save(&self.dcp, to);
        snapshot::save(&self.sleepctrl, to);
        snapshot::save(&self.blocks, to);
    }

    /// Restores a new bus. The boot ROM is the one that it was made with.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.sys, from)?;
        snapshot::restore(&mut self.waits, from)?;
        snapshot::restore(&mut self.waited, from)?;
        snapshot::restore(&mut self.dcp_instructions, from)?;
        snapshot::restore(&mut self.sio, from)?;
        snapshot::restore(&mut self.xip_ctrl, from)?;
        snapshot::restore(&mut self.qmi, from)?;
        snapshot::restore(&mut self.rcp, from)?;
        snapshot::restore(&mut self.dcp, from)?;
        snapshot::restore(&mut self.sleepctrl, from)?;
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
            pads_bank0: PadsBank0::new(Version::V1),
            pads_qspi: PadsQspi::new(Version::V1),
            xosc: Xosc::new(event::XOSC, Version::V1),
            pll: [Pll::new("PLL_SYS", |freq| &mut freq.pll_sys_hz), Pll::new("PLL_USB", |freq| &mut freq.pll_usb_hz)],
            accessctrl: Accessctrl::default(),
            busctrl: Busctrl::default(),
            uart: wires::UART.map(Uart::new),
            spi: wires::SPI.map(Spi::new),
            i2c: wires::I2C.map(I2c::new),
            adc: Adc::new(wires::ADC),
            pwm: Pwm::new(wires::PWM),
            timer: wires::TIMERS.map(Timer::new),
            watchdog: Watchdog::new(wires::WATCHDOG),
            bootram: Bootram::default(),
            rosc: Rosc::new(Version::V1),
            trng: Trng::default(),
            sha256: Sha256::default(),
            powman: Powman::default(),
            ticks: Ticks::default(),
            otp: Otp::default(),
            glitch_detector: GlitchDetector::default(),
            hstx: Hstx::default(),
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
    pub fn new(sys: Sys, world: impl World) -> Self {
        Self {
            sys,
            world: Box::new(world),
            waits: 0,
            waited: 0,
            dcp_instructions: 0,
            sio: Sio::default(),
            xip_ctrl: XipCtrl::default(),
            qmi: Qmi::default(),
            rcp: Rcp::default(),
            dcp: Default::default(),
            sleepctrl: [2; 2],
            blocks: Blocks::default(),
            own_boot_rom: false,
        }
    }

    /// Reads `size` (1, 2, 4) bytes; `address` is aligned to it.
    pub fn read(
        &mut self,
        mem: &mut Memory<impl Architecture>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault> {
        self.waits = 0;
        let value = match address >> 28 {
            0 if (address as usize) < ROM_SIZE => return Ok(lane(mem.rom_u32(address as usize & !3), address, size)),
            1 => return self.read_xip(mem, address, size),
            2 => {
                let offset = address.wrapping_sub(RAM_BASE) as usize;
                if offset >= RAM_SIZE {
                    return Err(BusFault);
                }
                return Ok(lane(mem.ram_u32(offset & !3), address, size));
            }
            4 | 5 => {
                if address & map::BLOCK == map::IO_BANK0 {
                    self.refresh_pins();
                } else {
                    self.run_batch_before_read(address);
                }
                self.read_peripheral(mem, address)?
            }
            // SIO is only accessible through a core's IO port.
            0xd => match master {
                Master::Core(core) if address & 0x0fff_fe00 == 0 => {
                    let mut qspi = 0;
                    if matches!(address & 0x1fc, 0x004 | 0x008) {
                        self.refresh_pins();
                        qspi = self.blocks.io_qspi.gpio_hi_in();
                    }
                    self.sio.read(&mut self.sys, core, address & 0x1fc, qspi)
                }
                Master::Core(_) if address & 0x0ffe_0000 == 0x0002_0000 => {
                    self.sys.unmodelled(format!("SIO's Non-secure bank: read at 0x{address:08x}"));
                    0
                }
                _ => return Err(BusFault),
            },
            0xe => self.read_private(master, address)?,
            _ => return Err(BusFault),
        };
        master.trace(&mut self.sys, address, value, false);
        Ok(lane(value, address, size))
    }

    /// Writes the low `size` (1, 2, 4) bytes of `value`; `address` is aligned to it.
    pub fn write(
        &mut self,
        mem: &mut Memory<impl Architecture>,
        master: Master,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        self.waits = 0;
        match address >> 28 {
            // ROM ignores writes.
            0 if (address as usize) < ROM_SIZE => {
                if address == bootrom::REFUSED && self.own_boot_rom {
                    self.sys.unmodelled(bootrom::refusal(value));
                }
                return Ok(());
            }
            1 => return self.write_xip(mem, address, value, size),
            2 => {
                let offset = address.wrapping_sub(RAM_BASE) as usize;
                if offset >= RAM_SIZE {
                    return Err(BusFault);
                }
                match size {
                    1 => mem.set_ram_u8(offset, value as u8),
                    2 => mem.set_ram_u16(offset, value as u16),
                    _ => mem.set_ram_u32(offset, value),
                }
                return Ok(());
            }
            4 | 5 => {
                self.run_batch_before_write(address);
                self.write_peripheral(mem, address, value, size)?;
            }
            0xd => match master {
                Master::Core(core) if address & 0x0fff_fe00 == 0 => {
                    if matches!(address & 0x1fc, 0x010..=0x04c) {
                        self.run_batch();
                    }
                    self.sio.write(&mut self.sys, core, address & 0x1fc, Write::at(address, value, size).bits);
                    self.sio_changed();
                }
                Master::Core(_) if address & 0x0ffe_0000 == 0x0002_0000 => {
                    self.sys.unmodelled(format!("SIO's Non-secure bank: write at 0x{address:08x}"));
                }
                _ => return Err(BusFault),
            },
            0xe => self.write_private(master, address, value)?,
            _ => return Err(BusFault),
        }
        master.trace(&mut self.sys, address, value, true);
        self.settle(mem);
        Ok(())
    }

    /// Reads the chip's registers on a core's private bus: NMI_MASK0, NMI_MASK1 and SLEEPCTRL (datasheet 2.2.7).
    fn read_private(&mut self, master: Master, address: u32) -> Result<u32, BusFault> {
        match master {
            Master::Core(core) if address & !0xc == EPPB => Ok(match address & 0xc {
                0x8 => self.sleepctrl[core] | SLEEPCTRL_WICENACK,
                _ => 0,
            }),
            _ => Err(BusFault),
        }
    }

    fn write_private(&mut self, master: Master, address: u32, value: u32) -> Result<(), BusFault> {
        match master {
            Master::Core(core) if address & !0xc == EPPB => match address & 0xc {
                0x8 => self.sleepctrl[core] = value & 3,
                0x0 | 0x4 if value != 0 => self.sys.unmodelled(format!("EPPB.NMI_MASK write 0x{value:08x}")),
                _ => {}
            },
            _ => return Err(BusFault),
        }
        Ok(())
    }

    /// Passes what SIO drives on the flash's pins to IO_QSPI.
    pub(crate) fn sio_changed(&mut self) {
        let (out, oe) = self.sio.qspi();
        self.blocks.io_qspi.set_sio(&mut self.sys, out, oe);
    }

    /// Resets SIO while the cores continue to run.
    pub fn reset_sio(&mut self, mem: &mut Memory<impl Architecture>) {
        self.sio.reset(&mut self.sys);
        self.sio_changed();
        self.settle(mem);
    }

    /// Updates pins for a program that reads them: PWM, CLOCKS, UART and SPI only maintain pins that are watched.
    pub fn refresh_pins(&mut self) {
        self.run_batch();
        if self.blocks.reached().refresh_pins(&mut self.sys) {
            self.blocks.reached().settle(&mut self.sys, &mut *self.world);
        }
    }

    fn read_peripheral(&mut self, mem: &mut Memory<impl Architecture>, address: u32) -> Result<u32, BusFault> {
        if APB.contains(address) {
            self.waits = APB.read_waits;
        }
        match address {
            _ if address & 0xffff_f000 == map::USB_DPRAM => return Ok(self.blocks.usb.dpram_read(address & 0xffc)),
            0x400c_8000..0x400d_0000 => return Ok(self.xip_ctrl.read(&mut self.sys, mem, address & 0xffc)),
            0x400d_0000..0x400d_8000 => return Ok(self.qmi.read(&mut self.sys, mem, address & 0xffc)),
            0x4013_0000..0x4014_0000 => return Ok(self.blocks.otp.read_data(address & 0xfffc)),
            0x5050_0000..0x5060_0000 => {
                return Ok(match address & 0xffc {
                    0x0 => self.xip_ctrl.stream.take(&mut self.sys),
                    offset => self.qmi.read(&mut self.sys, mem, offset),
                });
            }
            HSTX_FIFO..HSTX_FIFO_END => return Ok(if address & 0xffc == 0 { hstx::FIFO_STAT } else { 0 }),
            _ => {}
        }
        match self.blocks.at(address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => Ok(0),
            Some((block, _)) => Ok(block.read(&mut self.sys, address & 0xffc)),
            None => unmodelled_at(&mut self.sys, address, None).map(|()| 0),
        }
    }

    fn write_peripheral(
        &mut self,
        mem: &mut Memory<impl Architecture>,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        if APB.contains(address) {
            self.waits = APB.write_waits;
        }
        let write = Write::at(address, value, size);
        let offset = address & 0xffc;
        match address {
            _ if address & 0xffff_f000 == map::USB_DPRAM => {
                self.blocks.usb.dpram_write(&mut self.sys, address & 0xfff, value, size);
                return Ok(());
            }
            0x400c_8000..0x400d_0000 => {
                self.xip_ctrl.write(&mut self.sys, mem, offset, write);
                return Ok(());
            }
            0x400d_0000..0x400d_8000 => {
                self.write_back(mem);
                self.qmi.write(&mut self.sys, mem, offset, write);
                return Ok(());
            }
            0x4013_0000..0x4014_0000 => return Err(BusFault),
            0x5050_0000..0x5060_0000 => {
                if offset == 4 {
                    self.qmi.write(&mut self.sys, mem, offset, write);
                }
                return Ok(());
            }
            0x400e_0000..0x400e_4000 if offset < BOOTRAM_BYTES && size != 4 => {
                let lanes = lane(u32::MAX, 0, size) << ((address & 3) * 8);
                self.blocks.bootram.write_lanes(offset, write, lanes);
                return Ok(());
            }
            HSTX_FIFO..HSTX_FIFO_END => return Ok(()),
            _ => {}
        }
        if address & map::BLOCK == map::SHA256 && offset == SHA256_WDATA && size != 4 {
            self.blocks.sha256.write_data(&mut self.sys, value, size);
            return Ok(());
        }
        match self.blocks.at(address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => {}
            Some((block, _)) => {
                block.write(&mut self.sys, offset, write);
                if offset == PIO_CTRL && Blocks::pins_at(address) == Use::Pio {
                    self.write_neighbours((address - map::PIO0) as usize >> 20, write);
                }
            }
            None => return unmodelled_at(&mut self.sys, address, Some(value)),
        }
        Ok(())
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

    /// Reads the XIP windows: cached, uncached, maintenance (write only), and uncached without translation, each with
    /// both chip selects (datasheet 4.4.1).
    fn read_xip(&mut self, mem: &mut Memory<impl Architecture>, address: u32, size: u32) -> Result<u32, BusFault> {
        let offset = address & XIP_OFFSET;
        match address >> 24 {
            0x10 if self.qmi.is_direct() => Err(BusFault),
            0x10 => {
                let value = if offset < mem.reach() {
                    self.waits = mem.xip.access_word(offset);
                    mem.flash_u32(offset as usize)
                } else {
                    let cell = self.qmi.physical(offset).ok_or(BusFault)?;
                    self.waits = mem.xip.access_word(offset | APART);
                    mem.cell_u32(cell as usize)
                };
                self.check_flash_answers(mem);
                Ok(lane(value, address, size))
            }
            0x11..=0x13 => {
                let place = self.cached(mem, offset)?;
                Ok(match place {
                    Some(place) => mem.xip.data[place][offset as usize & 7..]
                        .iter()
                        .take(size as usize)
                        .rev()
                        .fold(0, |value, &byte| value << 8 | u32::from(byte)),
                    None => self.read_uncached(mem, self.qmi.physical(offset).ok_or(BusFault)?, true, size),
                })
            }
            0x14 | 0x15 | 0x1c | 0x1d => {
                let at = self.uncached(address)?;
                Ok(self.read_uncached(mem, at, offset >> 24 != 0, size))
            }
            _ => Err(BusFault),
        }
    }

    /// Returns the physical address of an uncached access.
    fn uncached(&self, address: u32) -> Result<u32, BusFault> {
        let translated = address >> 27 & 1 == 0;
        if self.qmi.is_direct() || !self.xip_ctrl.allows_uncached(translated) {
            return Err(BusFault);
        }
        let offset = address & XIP_OFFSET;
        if translated { self.qmi.physical(offset).ok_or(BusFault) } else { Ok(offset & 0x00ff_ffff) }
    }

    fn read_uncached(&mut self, mem: &mut Memory<impl Architecture>, at: u32, second: bool, size: u32) -> u32 {
        self.write_back(mem);
        let mut data = [0; 4];
        let cycles = self.qmi.read_memory(&mut self.sys, mem, second, at, &mut data[..size as usize]);
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
        if self.qmi.is_direct() && !pinned_only {
            return Err(BusFault);
        }
        if let Some(place) = mem.xip.find(line) {
            mem.xip.accesses += u64::from(!pinned_only);
            return Ok(Some(place));
        }
        if pinned_only {
            return Err(BusFault);
        }
        let at = self.qmi.physical(offset & !7).ok_or(BusFault)?;
        mem.xip.accesses += 1;
        self.write_back(mem);
        let Some(place) = mem.xip.fill(line) else { return Ok(None) };
        let cycles = self.write_back(mem);
        let mut data = [0; 8];
        let cycles = cycles + self.qmi.read_memory(&mut self.sys, mem, true, at, &mut data);
        mem.xip.data[place] = data;
        self.stall(mem, cycles);
        Ok(Some(place))
    }

    /// Writes lines to memory that the cache has given up; returns the cycles that it takes.
    fn write_back(&mut self, mem: &mut Memory<impl Architecture>) -> u32 {
        let mut cycles = 0;
        for (offset, data) in std::mem::take(&mut mem.xip.written_back) {
            if self.qmi.is_direct() {
                self.sys.unmodelled("XIP cache: dirty line written back in QMI's direct mode".to_owned());
            }
            // A line that is mapped no longer gets a bus error that nothing reports.
            if let Some(at) = self.qmi.physical(offset) {
                cycles += self.qmi.write_memory(&mut self.sys, mem, at, &data);
            }
        }
        cycles
    }

    /// Writes to the second chip select or to a line pinned above it; the others are read-only.
    fn write_memory(&mut self, mem: &mut Memory<impl Architecture>, address: u32, data: &[u8]) -> Result<(), BusFault> {
        let offset = address & XIP_OFFSET;
        let second = offset >> 24 == 1;
        if second && !self.xip_ctrl.second_is_writable() {
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
                None => self.qmi.physical(offset).ok_or(BusFault)?,
            },
            0x15 | 0x1d => self.uncached(address)?,
            _ => return Err(BusFault),
        };
        self.write_back(mem);
        let cycles = self.qmi.write_memory(&mut self.sys, mem, at, data);
        self.stall(mem, cycles);
        Ok(())
    }

    /// Handles a word of the stream, which passes by the cache.
    fn stream(&mut self, mem: &mut Memory<impl Architecture>) {
        // Programs write the address where they see the data, or its offset.
        let at = self.xip_ctrl.stream.address() & XIP_OFFSET;
        let word = match self.qmi.physical(at) {
            Some(cell) if at >> 24 == 0 => mem.cell_u32(cell as usize),
            _ => {
                self.sys.unmodelled(format!("XIP_CTRL stream of 0x{at:08x}, which is not flash"));
                0
            }
        };
        self.xip_ctrl.stream.event(&mut self.sys, &mem.xip, |_| word);
    }

    /// Ends the run if the flash cannot answer. A flash that is busy or in another mode leaves its lines floating,
    /// which no correct program reads.
    fn check_flash_answers(&mut self, mem: &mut Memory<impl Architecture>) {
        if let Some(offset) = mem.xip.missed_offline.take() {
            self.sys.unmodelled(format!("XIP read of flash offset 0x{offset:06x} while the flash cannot answer"));
        }
        if let Some(offset) = mem.xip.read_stale.take() {
            self.sys.unmodelled(format!("XIP read of flash offset 0x{offset:06x}, whose line in the cache is stale"));
        }
    }

    fn write_xip(
        &mut self,
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
                    self.write_back(mem);
                    let line = (address & XIP_OFFSET) >> LINE_BYTES_LOG2;
                    match operation {
                        1 => mem.xip.clean_way(line as usize, line as usize >> 10, line),
                        _ => mem.xip.clean(line),
                    }
                    let cycles = self.write_back(mem);
                    self.stall(mem, cycles);
                }
                7 if address & 0x0200_0000 != 0 => mem.xip.pin((address & XIP_OFFSET) >> 3),
                7 => self.sys.unmodelled(format!("XIP cache: line of flash pinned at 0x{address:08x}")),
                _ => {}
            },
            // Without WRITABLE_M0 and M1 the windows are read-only (datasheet 4.4.5).
            _ => return self.write_memory(mem, address, &value.to_le_bytes()[..size as usize]),
        }
        Ok(())
    }

    /// Propagates the consequences of an access or event to the other blocks, until nothing changes.
    pub fn settle(&mut self, mem: &mut Memory<impl Architecture>) {
        if self.sys.entering_reset != 0 {
            self.enter_reset();
        }
        if self.blocks.io_qspi.ss_dirty {
            self.blocks.io_qspi.ss_dirty = false;
            let level = self.blocks.io_qspi.ss_override();
            self.qmi.set_ss_override(&mut self.sys, mem, level);
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

    /// Wakes dormant oscillators if a signal for that is high (datasheet 6.5.3): DORMANT_WAKE of a pin, or the timer of
    /// POWMAN.
    fn wake_oscillators(&mut self) {
        let timer = self.sys.irq_level() >> wires::irq::POWMAN_TIMER & 1 != 0;
        self.blocks.reached().wake_oscillators(&mut self.sys, timer);
    }

    /// Returns whether anything can end the sleep of a chip without clk_sys.
    pub(crate) fn may_wake(&self) -> bool {
        let counting = [event::POWMAN, event::WATCHDOG, event::XOSC];
        self.blocks.io_bank0.may_wake() || counting.iter().any(|&event| self.sys.due(event) != sim::NEVER)
    }

    /// Recomputes all frequencies, and the events of the blocks whose counters run at them.
    fn update_clocks(&mut self) {
        let Self { sys, blocks, .. } = self;
        blocks.reached().update_clocks(sys);
        blocks.ticks.update(sys);
        blocks.watchdog.clocks_changed(sys);
        for timer in &mut blocks.timer {
            timer.clocks_changed(sys);
        }
        blocks.powman.clocks_changed(sys);
        self.sio.update_timer(sys);
        blocks.adc.clocks_changed(sys);
        blocks.reached().clocks_changed(sys);
    }

    fn enter_reset(&mut self) {
        let entering = std::mem::take(&mut self.sys.entering_reset);
        self.blocks.enter_reset(&mut self.sys, entering);
    }

    /// Handles one due event.
    pub fn event(&mut self, mem: &mut Memory<impl Architecture>, id: Event) {
        if !self.batch_before(id) {
            return;
        }
        if id == event::ADC && self.blocks.adc.reads_pin() {
            self.refresh_pins();
        }
        match id {
            event::QMI => self.qmi.event(&mut self.sys, mem),
            event::XIP_STREAM => self.stream(mem),
            event::MTIME => self.sio.update_timer(&mut self.sys),
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

// The events belong to the flash and to the RISC-V timer.
parts::batches! { Bus, event::DMA, map::PIO0, event::QMI | event::XIP_STREAM | event::MTIME }

impl<K: Kind> cpu::Bus<K> for Bus {
    type Map = Addresses;

    #[inline]
    fn sys(&self) -> &Sys {
        &self.sys
    }

    #[inline]
    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.sys
    }

    fn read(&mut self, mem: &mut Memory<K>, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        self.read(mem, master, address, size)
    }

    fn fetch(&mut self, mem: &mut Memory<K>, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        // Instructions come from memories only (datasheet 10.2.2).
        if address >> 28 > 2 { Err(BusFault) } else { self.read(mem, master, address, size) }
    }

    fn write(
        &mut self,
        mem: &mut Memory<K>,
        master: Master,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        self.write(mem, master, address, value, size)
    }

    fn steady_until(&self, _core: usize, address: u32) -> Option<u64> {
        self.polled_until(address).filter(|_| !self.sys.trace.wants(kind::REGISTERS))
    }

    fn pass_event(&mut self, mem: &mut Memory<K>) -> bool {
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
    fn note_read(&mut self, mem: &mut Memory<K>, core: &K::Core, address: u32, value: u32) {
        self.note_clock(mem, &K::seen(core), address, value);
    }

    #[inline]
    fn note_waits(&mut self, core: &K::Core, address: u32) {
        self.count_waits(K::seen(core).index, address);
    }
}

/// The bus as DMA sees it.
struct DmaPort<'a, A: Architecture> {
    bus: &'a mut Bus,
    mem: &'a mut Memory<A>,
}

impl<A: Architecture> DmaBus<{ wires::DMA_CHANNELS }> for DmaPort<'_, A> {
    fn dma_and_sys(&mut self) -> (&mut Dma<{ wires::DMA_CHANNELS }>, &mut Sys) {
        (&mut self.bus.blocks.dma, &mut self.bus.sys)
    }

    fn read(&mut self, address: u32, size: u32) -> Result<u32, BusFault> {
        self.bus.read(self.mem, Master::Dma, address, size)
    }

    fn write(&mut self, address: u32, value: u32, size: u32) -> Result<(), BusFault> {
        self.bus.write(self.mem, Master::Dma, address, value, size)
    }

    fn waits(&self) -> u32 {
        self.bus.waits
    }
}
