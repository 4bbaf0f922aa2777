//! The bus fabric: address map, atomic aliases, narrow accesses, wait states (datasheets, 2.1 and 2.2). A chip's
//! own part is its [`Fabric`].

use chip::trace::kind;
use chip::{BusFault, Event, Sys, World, Write, lane};
use cpu::{Architecture, Map, Master, Translations};
use parts::batch::{Batches, Involved, Use};
use parts::dma::{Dma, DmaBus};
use parts::timer::Timer;
use sim::Snapshot;
use sim::snapshot::{self, Torn};

use crate::blocks::{Blocks, Wires};
use crate::cores::Kind;
use crate::map::{All, DMA, PIO0, Table, USB_DPRAM};
use crate::sio::Sio;

/// The memories of a chip with the fabric `F`.
pub(crate) type Memory<F, A> = cpu::Memory<<F as Fabric>::Map, A>;

/// What one chip has on its bus beside SIO and the blocks that both chips have, and its numbers.
pub trait Fabric: Table + Default + Snapshot + Send + 'static {
    /// The memories.
    type Map: Map + Send;
    /// The cores' single-cycle registers.
    type Sio: Sio;
    /// How the blocks that both chips have are connected.
    const WIRES: Wires;
    /// ROSC's nominal frequency, which clocks the chip after a reset.
    const ROSC_NOMINAL_HZ: u64;
    /// Address of IO_BANK0.
    const IO_BANK0: u32;
    /// Addresses of the SPIs.
    const SPI: [u32; 2];
    /// The RESETS bit of DMA.
    const DMA_RESET: u32;
    /// The RESETS bits of the SPIs.
    const SPI_RESETS: [u32; 2];
    /// The RESETS bits of the PIO blocks.
    const PIO_RESETS: &[u32];
    /// Address of the timer that clocks read, and the index of its tick.
    const TIMER: (u32, usize);
    /// Event and interrupt of the timer that wakes dormant oscillators.
    const ALARM: (Event, u32);
    /// The world's event.
    const WORLD: Event;

    /// Returns the offset of `address` in SRAM.
    #[inline]
    fn in_sram(address: u32) -> Option<usize> {
        let offset = address.wrapping_sub(Self::Map::SRAM.base);
        (offset < Self::Map::SRAM.bytes).then_some(offset as usize)
    }

    /// Takes the parts beside the register blocks from a new chip's settings.
    fn set_up(&mut self, _bootrom: &[u8], _psram_csn: Option<u32>) {}

    /// Sets the flash chip's unique id.
    fn set_flash_id(&mut self, id: [u8; 8]);

    /// Counts an access.
    #[inline]
    fn count(&mut self, _address: u32) {}

    /// Returns the upper nibbles of the addresses whose accesses are counted, as bits.
    #[inline]
    fn counted(&self) -> u16 {
        0
    }

    /// Returns the counter of accesses to [`Map::COUNTED`], if no other accesses are counted.
    fn bank_counter(&mut self) -> Option<&mut u32> {
        None
    }

    /// Returns how many instructions of core 0 reached a coprocessor that computes.
    fn coprocessor_instructions(&self) -> u64 {
        0
    }

    /// Handles a write to ROM, which ignores it.
    fn write_rom(_bus: &mut Bus<Self>, _address: u32, _value: u32) {}

    /// Reads the space of the flash.
    fn read_xip(
        bus: &mut Bus<Self>,
        mem: &mut Memory<Self, impl Architecture>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault>;

    /// Writes to the space of the flash.
    fn write_xip(
        bus: &mut Bus<Self>,
        mem: &mut Memory<Self, impl Architecture>,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault>;

    /// Reads a register of a part outside the table. `None`: no such part is at `address`.
    fn read_apart(bus: &mut Bus<Self>, mem: &mut Memory<Self, impl Architecture>, address: u32) -> Option<u32>;

    /// Writes to a part outside the table, or to a register that differs by the size of a write. False: neither is at
    /// `address`.
    fn write_apart(
        _bus: &mut Bus<Self>,
        _mem: &mut Memory<Self, impl Architecture>,
        _address: u32,
        _value: u32,
        _size: u32,
    ) -> Result<bool, BusFault> {
        Ok(false)
    }

    /// Returns what a register of a part outside the table reads, and the cycle up to which it does, if programs poll it.
    fn polled(&self, address: u32) -> Option<(u32, u64)>;

    /// Returns the timer with the register at `address`, and the RESETS bit that holds it in reset.
    fn timer(&self, address: u32) -> Option<(&Timer, u32)>;

    /// Handles a write to a block, after the block did.
    #[inline]
    fn written(_bus: &mut Bus<Self>, _address: u32, _write: Write) {}

    /// Handles an access to registers that no block has; `write`: the value.
    fn nowhere(_sys: &mut Sys, _address: u32, _write: Option<u32>) -> Result<(), BusFault> {
        Err(BusFault)
    }

    /// Reads the chip's registers on the private bus of `core`.
    fn read_private(&mut self, _core: usize, _address: u32) -> Result<u32, BusFault> {
        Err(BusFault)
    }

    /// Writes to them.
    fn write_private(&mut self, _sys: &mut Sys, _core: usize, _address: u32, _value: u32) -> Result<(), BusFault> {
        Err(BusFault)
    }

    /// Passes the level that IO_QSPI forces on the flash's chip select to the flash's controller; `None`: none.
    fn select_flash(bus: &mut Bus<Self>, mem: &mut Memory<Self, impl Architecture>, level: Option<bool>);

    /// Recomputes the ticks and counters that a change of clocks reaches, but ADC, PWM and PIO.
    fn clocks_changed(bus: &mut Bus<Self>);

    /// Handles the event `id` of a part outside the table. False: it is of another part.
    fn event(bus: &mut Bus<Self>, mem: &mut Memory<Self, impl Architecture>, id: Event) -> bool;

    /// Returns whether `id` is an event of a part outside the table and leaves pins alone.
    fn is_apart(id: Event) -> bool;

    /// Puts what only a power-on resets into its state after that.
    fn power_on(bus: &mut Bus<Self>);

    /// Resets the chip's own of `blocks`, bits of PSM.
    fn restart(_bus: &mut Bus<Self>, _blocks: u32) {}

    /// Handles a reset of RESETS: PSM starts again.
    fn restart_psm(bus: &mut Bus<Self>);

    /// Resets the cache's control and the flash's controller.
    fn reset_xip(bus: &mut Bus<Self>, mem: &mut Memory<Self, impl Architecture>);

    /// Notes a watchdog reset.
    fn watchdog_reset(&mut self) {}

    /// Handles a reset of the cores.
    fn cores_reset(_bus: &mut Bus<Self>) {}
}

/// The bus with everything on it except the memories.
pub struct Bus<F: Fabric> {
    /// The state that all peripherals share.
    pub sys: Sys,
    /// Everything outside the chip.
    pub world: Box<dyn World>,
    /// Wait states of the last access.
    pub(crate) waits: u32,
    /// Cycles that core 0 has spent in wait states of the peripheral bus.
    pub(crate) waited: u64,
    /// The cores' single-cycle registers.
    pub sio: F::Sio,
    /// The register blocks that both chips have.
    pub blocks: Blocks,
    /// What only this chip has.
    pub own: F,
}

impl<F: Fabric> Bus<F> {
    /// Returns a bus with all blocks at power-on, and `world` on the chip's pins.
    pub fn new(sys: Sys, world: impl World) -> Self {
        Self {
            sys,
            world: Box::new(world),
            waits: 0,
            waited: 0,
            sio: F::Sio::default(),
            blocks: Blocks::new(F::WIRES),
            own: F::default(),
        }
    }

    /// Appends the state of all but the world to a snapshot.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        snapshot::save(&self.sys, to);
        snapshot::save(&self.waited, to);
        snapshot::save(&self.sio, to);
        snapshot::save(&self.blocks, to);
        snapshot::save(&self.own, to);
    }

    /// Restores a new bus.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.sys, from)?;
        snapshot::restore(&mut self.waited, from)?;
        snapshot::restore(&mut self.sio, from)?;
        snapshot::restore(&mut self.blocks, from)?;
        snapshot::restore(&mut self.own, from)
    }

    /// Reads `size` (1, 2, 4) bytes; `address` is aligned to it.
    pub fn read(
        &mut self,
        mem: &mut Memory<F, impl Architecture>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault> {
        self.own.count(address);
        self.fetch(mem, master, address, size)
    }

    /// Like [`Self::read`], for a core that counts its fetched words itself.
    pub fn fetch(
        &mut self,
        mem: &mut Memory<F, impl Architecture>,
        master: Master,
        address: u32,
        size: u32,
    ) -> Result<u32, BusFault> {
        self.waits = 0;
        let value = match (address >> 28, master) {
            (0, _) if F::Map::ROM.contains(address) => {
                return Ok(lane(mem.rom_u32(address as usize & !3), address, size));
            }
            (1, _) => return F::read_xip(self, mem, master, address, size),
            (2, _) => {
                let offset = F::in_sram(address).ok_or(BusFault)?;
                return Ok(lane(mem.ram_u32(offset & !3), address, size));
            }
            (4 | 5, _) => {
                if address & F::BLOCK == F::IO_BANK0 {
                    self.refresh_pins(mem);
                } else {
                    self.run_batch_before_read(address);
                }
                self.read_register(mem, address)?
            }
            // SIO is only accessible through a core's IO port. Programs poll GPIO_IN.
            (0xd, Master::Core(_)) if address & 0x0fff_fffc == 0x004 => {
                self.refresh_pins(mem);
                if self.sio_in_reset() { 0 } else { self.sys.pins.input() as u32 }
            }
            (0xd, Master::Core(core)) if address & 0x0fff_fe00 == 0 => {
                let (offset, mut qspi) = (address & 0x1fc, 0);
                // GPIO_HI_IN.
                if offset == 0x008 {
                    self.refresh_pins(mem);
                    qspi = self.blocks.io_qspi.gpio_hi_in();
                }
                if self.sio_in_reset() { 0 } else { self.sio.read(&mut self.sys, core, offset, qspi) }
            }
            (0xd, Master::Core(_)) => F::nowhere(&mut self.sys, address, None).map(|()| 0)?,
            (0xe, Master::Core(core)) => self.own.read_private(core, address)?,
            _ => return Err(BusFault),
        };
        master.trace(&mut self.sys, address, value, false);
        Ok(lane(value, address, size))
    }

    /// Writes the low `size` (1, 2, 4) bytes of `value`; `address` is aligned to it.
    pub fn write(
        &mut self,
        mem: &mut Memory<F, impl Architecture>,
        master: Master,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        self.own.count(address);
        self.waits = 0;
        match (address >> 28, master) {
            // ROM ignores writes: TinyUSB stores through EP0's null endpoint control pointer, without consequences.
            (0, _) if F::Map::ROM.contains(address) => {
                F::write_rom(self, address, value);
                return Ok(());
            }
            (1, _) => return F::write_xip(self, mem, address, value, size),
            (2, _) => {
                let offset = F::in_sram(address).ok_or(BusFault)?;
                match size {
                    1 => mem.set_ram_u8(offset, value as u8),
                    2 => mem.set_ram_u16(offset, value as u16),
                    _ => mem.set_ram_u32(offset, value),
                }
                return Ok(());
            }
            (4 | 5, _) => {
                self.run_batch_before_write(address);
                self.write_register(mem, address, value, size)?;
            }
            (0xd, Master::Core(core)) if address & 0x0fff_fe00 == 0 => {
                let (offset, qspi) = (address & 0x1fc, self.sio.qspi());
                if matches!(offset, 0x010..=0x04c) {
                    self.run_batch();
                }
                if !self.sio_in_reset() {
                    let value = Write::at(address, value, size).bits;
                    if !self.sio.write_own(core, offset, value, self.sys.cycle) {
                        self.sio.write(&mut self.sys, core, offset, value);
                    }
                }
                if self.sio.qspi() != qspi {
                    self.sio_changed();
                }
            }
            (0xd, Master::Core(_)) => F::nowhere(&mut self.sys, address, Some(value))?,
            (0xe, Master::Core(core)) => self.own.write_private(&mut self.sys, core, address, value)?,
            _ => return Err(BusFault),
        }
        master.trace(&mut self.sys, address, value, true);
        self.settle(mem);
        Ok(())
    }

    fn read_register(&mut self, mem: &mut Memory<F, impl Architecture>, address: u32) -> Result<u32, BusFault> {
        if F::Map::REGISTERS.contains(address) {
            self.waits = F::Map::REGISTERS.read_waits;
        }
        if address & 0xffff_f000 == USB_DPRAM {
            return Ok(self.blocks.usb.dpram_read(address & 0xffc));
        }
        if let Some(value) = F::read_apart(self, mem, address) {
            return Ok(value);
        }
        match F::at(All { blocks: &mut self.blocks, own: &mut self.own }, address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => Ok(0),
            Some((block, _)) => Ok(block.read(&mut self.sys, address & 0xffc)),
            None => F::nowhere(&mut self.sys, address, None).map(|()| 0),
        }
    }

    fn write_register(
        &mut self,
        mem: &mut Memory<F, impl Architecture>,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        if F::Map::REGISTERS.contains(address) {
            self.waits = F::Map::REGISTERS.write_waits;
        }
        if address & 0xffff_f000 == USB_DPRAM {
            self.blocks.usb.dpram_write(&mut self.sys, address & 0xfff, value, size);
            return Ok(());
        }
        if F::write_apart(self, mem, address, value, size)? {
            return Ok(());
        }
        let write = Write::at(address, value, size);
        match F::at(All { blocks: &mut self.blocks, own: &mut self.own }, address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => {}
            Some((block, _)) => {
                block.write(&mut self.sys, address & 0xffc, write);
                F::written(self, address, write);
            }
            None => return F::nowhere(&mut self.sys, address, Some(value)),
        }
        Ok(())
    }

    /// Passes what SIO drives on the flash's pins to IO_QSPI.
    pub(crate) fn sio_changed(&mut self) {
        let (out, oe) = self.sio.qspi();
        self.blocks.io_qspi.set_sio(&mut self.sys, out, oe);
    }

    /// Returns whether SIO is in reset.
    #[inline]
    fn sio_in_reset(&self) -> bool {
        self.sys.held_by_psm & const { F::WIRES.psm.sio } != 0
    }

    /// Returns the offset of an address in SIO, if it is a word there and its accesses are not traced.
    #[inline]
    fn port(&self, address: u32) -> Option<u32> {
        let seen = self.sio_in_reset() || self.sys.trace.wants(kind::REGISTERS);
        (!seen && address & 0xffff_fe03 == 0xd000_0000).then_some(address & 0x1fc)
    }

    /// Resets SIO while the cores continue to run.
    pub(crate) fn reset_sio(&mut self, mem: &mut Memory<F, impl Architecture>) {
        self.sio.reset(&mut self.sys);
        self.sio_changed();
        self.settle(mem);
    }

    /// Updates pins for a program that reads them: PWM, CLOCKS, UART and SPI only maintain pins that are watched.
    pub(crate) fn refresh_pins(&mut self, mem: &mut Memory<F, impl Architecture>) {
        if self.refresh() {
            self.settle(mem);
        }
    }

    /// Does so without the consequences. Returns whether pins may have changed.
    pub(crate) fn refresh(&mut self) -> bool {
        self.run_batch();
        self.blocks.reached().refresh_pins(&mut self.sys)
    }

    /// Ends the run if the flash cannot answer. A flash that is busy or set up for serial transfers leaves its lines
    /// floating: a read then depends on the pads' pulls, which no correct program uses.
    pub(crate) fn check_flash_answers(&mut self, mem: &mut Memory<F, impl Architecture>) {
        if let Some(offset) = mem.xip.missed_offline.take() {
            self.sys.unmodelled(format!("XIP read of flash offset 0x{offset:06x} while the flash cannot answer"));
        }
        if let Some(offset) = mem.xip.read_stale.take() {
            self.sys.unmodelled(format!("XIP read of flash offset 0x{offset:06x}, whose line in the cache is stale"));
        }
    }

    /// Propagates the consequences of an access or event to the other blocks, until nothing changes.
    pub fn settle(&mut self, mem: &mut Memory<F, impl Architecture>) {
        if self.sys.entering_reset != 0 {
            let entering = std::mem::take(&mut self.sys.entering_reset);
            F::enter_reset(All { blocks: &mut self.blocks, own: &mut self.own }, &mut self.sys, entering);
        }
        if self.blocks.io_qspi.ss_dirty {
            self.blocks.io_qspi.ss_dirty = false;
            let level = self.blocks.io_qspi.ss_override();
            F::select_flash(self, mem, level);
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

    /// Wakes dormant oscillators if a signal for that is high (datasheets, 2.11.2 and 6.5.3): DORMANT_WAKE of a pin, or
    /// the interrupt of a timer.
    fn wake_oscillators(&mut self) {
        let timer = self.sys.irq_level() >> F::ALARM.1 & 1 != 0;
        self.blocks.reached().wake_oscillators(&mut self.sys, timer);
    }

    /// Returns whether anything can end the sleep of a chip without clk_sys.
    pub(crate) fn may_wake(&self) -> bool {
        let counting = [F::ALARM.0, F::WIRES.watchdog.event, F::WIRES.xosc];
        self.blocks.io_bank0.may_wake() || counting.iter().any(|&event| self.sys.due(event) != sim::NEVER)
    }

    /// Recomputes all frequencies, and the events of the blocks whose counters run at them.
    fn update_clocks(&mut self) {
        self.blocks.reached().update_clocks(&mut self.sys);
        F::clocks_changed(self);
        self.blocks.adc.clocks_changed(&mut self.sys);
        self.blocks.reached().clocks_changed(&mut self.sys);
    }

    /// Handles one due event.
    pub fn event(&mut self, mem: &mut Memory<F, impl Architecture>, id: Event) {
        if !self.batch_before(id) {
            return;
        }
        if id == const { F::WIRES.adc.event } && self.blocks.adc.reads_level(&self.sys) {
            self.refresh_pins(mem);
        }
        if id == Self::DMA {
            Dma::service(&mut DmaPort { bus: self, mem });
        } else if id == F::WORLD {
            self.world.event(&mut self.sys, &mut self.blocks);
        } else if !F::event(self, mem, id) {
            // The cores handle their SysTicks.
            let all = All { blocks: &mut self.blocks, own: &mut self.own };
            F::block_event(all, &mut self.sys, &mut *self.world, id);
        }
        self.check_flash_answers(mem);
        self.settle(mem);
    }

    /// Returns what a register that programs poll reads at `cycle`, and up to which cycle, unless a write or an event comes
    /// before; `None`: it is none of these.
    #[inline]
    fn polled(&self, address: u32, cycle: u64) -> Option<(u32, u64)> {
        // A block in reset reads 0.
        let unless = |reset, value| if self.sys.held_in_reset & reset != 0 { Some((0, u64::MAX)) } else { value };
        if let Some(spi) = F::SPI.iter().position(|&spi| spi == address & !0x3fff) {
            let now = || self.sys.event_time().unwrap_or_else(|| self.sys.clock.ps_at(cycle));
            return unless(F::SPI_RESETS[spi], self.blocks.spi[spi].polled(&self.sys, address, now));
        }
        // DMA's transfers are events.
        if address & !0x3fff == DMA {
            return unless(F::DMA_RESET, Some((self.blocks.dma.peek(address & 0xffc), u64::MAX)));
        }
        if F::pins_at(address) != Use::Pio {
            return self.own.polled(address);
        }
        let index = (address - PIO0) as usize >> 20;
        let value = self.blocks.pio[index].polled(address & 0xffc);
        unless(F::PIO_RESETS[index], value.map(|value| (value, u64::MAX)))
    }

    /// Takes the next event for a core that waits, if it is a step of a transfer that leaves flash and its cache alone.
    fn take_step(&mut self) -> Option<Event> {
        let dma = &mut self.blocks.dma;
        self.sys.take_early(|id| match id {
            id if id == Self::DMA => !dma.reaches_flash(),
            id => const { [F::WIRES.spi[0].event, F::WIRES.spi[1].event] }.contains(&id),
        })
    }
}

impl<F: Fabric> Batches for Bus<F> {
    const DMA: Event = F::WIRES.dma.event;
    const PIO0: u32 = PIO0;

    #[inline]
    fn pins_at(address: u32) -> Use {
        F::pins_at(address)
    }

    fn pins_of(id: Event) -> Use {
        if F::is_apart(id) { Use::None } else { F::pins_of(id) }
    }

    #[inline]
    fn involved(&mut self) -> Involved<'_> {
        let Self { sys, world, blocks: Blocks { pio, io_bank0, .. }, .. } = self;
        Involved { sys, pio, io_bank0, world: &mut **world }
    }

    #[inline]
    fn settle_pins(&mut self) {
        if self.sys.pins.changed() {
            self.blocks.reached().settle(&mut self.sys, &mut *self.world);
        }
        self.settle_requests();
    }

    #[inline]
    fn settle_requests(&mut self) {
        if self.sys.requests_rose() {
            self.blocks.dma.requests_changed(&mut self.sys);
        }
    }
}

impl<F: Fabric, K: Kind<F>> cpu::Bus<K> for Bus<F> {
    type Map = F::Map;

    #[inline]
    fn sys(&self) -> &Sys {
        &self.sys
    }

    #[inline]
    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.sys
    }

    fn read(&mut self, mem: &mut Memory<F, K>, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        self.read(mem, master, address, size)
    }

    fn fetch(&mut self, mem: &mut Memory<F, K>, master: Master, address: u32, size: u32) -> Result<u32, BusFault> {
        // Instructions come from memories only (ARMv6-M ARM B3.1, RP2350 datasheet 10.2.2).
        if address >> 28 > 2 { Err(BusFault) } else { self.fetch(mem, master, address, size) }
    }

    fn write(
        &mut self,
        mem: &mut Memory<F, K>,
        master: Master,
        address: u32,
        value: u32,
        size: u32,
    ) -> Result<(), BusFault> {
        self.write(mem, master, address, value, size)
    }

    fn peek(&self, core: usize, address: u32) -> Option<u32> {
        self.port(address).and_then(|offset| self.sio.peek(core, offset))
    }

    fn peek_at(&self, core: usize, address: u32, cycle: u64) -> Option<(u32, Option<u32>)> {
        if self.port(address).is_some() {
            return cpu::Bus::<K>::peek(self, core, address).map(|value| (value, None));
        }
        // An unaligned access is a fault, or two.
        if address & 3 != 0 || self.sys.trace.wants(kind::REGISTERS) {
            return None;
        }
        let value = match self.own.timer(address) {
            Some((_, reset)) if self.sys.held_in_reset & reset != 0 => None,
            Some((timer, _)) => timer.peek(&self.sys, address & 0xffc, self.sys.clock.ps_at(cycle)),
            None => self.polled(address, cycle).filter(|&(_, until)| cycle < until).map(|(value, _)| value),
        };
        let waits = if F::Map::REGISTERS.contains(address) { F::Map::REGISTERS.read_waits } else { 0 };
        value.map(|value| (value, Some(waits)))
    }

    #[inline]
    fn read_port(&mut self, core: usize, address: u32, cycle: u64) -> Option<u32> {
        let offset = self.port(address).filter(|_| !self.sys.records())?;
        self.sio.read_own(core, offset, cycle)
    }

    #[inline]
    fn write_port(&mut self, core: usize, address: u32, value: u32, cycle: u64) -> bool {
        let offset = self.port(address).filter(|_| !self.sys.records());
        offset.is_some_and(|offset| self.sio.write_own(core, offset, value, cycle))
    }

    fn steady(&self, core: usize, address: u32) -> Option<(u32, u64)> {
        let polled = || self.polled(address, self.sys.cycle).filter(|_| !self.sys.trace.wants(kind::REGISTERS));
        cpu::Bus::<K>::peek(self, core, address).map(|value| (value, u64::MAX)).or_else(polled)
    }

    fn pass_event(&mut self, mem: &mut Memory<F, K>) -> bool {
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
        self.own.counted()
    }

    #[inline]
    fn count(&mut self, address: u32) {
        self.own.count(address);
    }

    #[inline]
    fn bank_counter(&mut self) -> Option<&mut u32> {
        self.own.bank_counter()
    }

    #[inline]
    fn note_read(&mut self, mem: &mut Memory<F, K>, core: &K::Core, address: u32, value: u32) {
        self.note_clock(mem, &K::seen(core), address, value);
    }

    #[inline]
    fn note_waits(&mut self, core: &K::Core, address: u32) {
        self.count_waits(K::seen(core).index, address);
    }
}

/// The bus as DMA sees it.
struct DmaPort<'a, F: Fabric, A: Architecture> {
    bus: &'a mut Bus<F>,
    mem: &'a mut Memory<F, A>,
}

impl<F: Fabric, A: Architecture> DmaBus for DmaPort<'_, F, A> {
    fn dma_and_sys(&mut self) -> (&mut Dma, &mut Sys) {
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
