//! DMA: twelve channels that move data over the bus on their own (datasheet 2.5).
//!
//! A channel does one read and one write per transfer; the two are pipelined, so that an unpaced channel moves one datum
//! per cycle of clk_sys (2.5.1). Transfers happen in events: one per datum for paced channels, which keeps their pace exact,
//! and short bursts for unpaced ones.

use super::{Peripheral, Write};
use crate::bus::{Bus, Master};
use crate::memory::Memory;
use crate::sys::{EventId, Sys, irq};
use crate::time::NEVER;

const CHANNELS: usize = 12;
const TIMERS: usize = 4;
/// TREQ_SEL: pacing timers 0 to 3, and no pacing.
const TREQ_TIMER0: u32 = 0x3b;
const TREQ_PERMANENT: u32 = 0x3f;
/// Unpaced transfers per event.
const BURST: u64 = 16;
/// Cycles from a data request to the transfer: the request is synchronised, then address and data phases follow.
const REQUEST_CYCLES: u64 = 3;

mod ctrl {
    pub const EN: u32 = 1 << 0;
    pub const HIGH_PRIORITY: u32 = 1 << 1;
    pub const INCR_READ: u32 = 1 << 4;
    pub const INCR_WRITE: u32 = 1 << 5;
    pub const RING_SEL: u32 = 1 << 10;
    pub const IRQ_QUIET: u32 = 1 << 21;
    pub const BSWAP: u32 = 1 << 22;
    pub const SNIFF_EN: u32 = 1 << 23;
    pub const BUSY: u32 = 1 << 24;
    pub const WRITE_ERROR: u32 = 1 << 29;
    pub const READ_ERROR: u32 = 1 << 30;
    pub const AHB_ERROR: u32 = 1 << 31;
    pub const WRITABLE: u32 = 0x00ff_ffff;
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    read_addr: u32,
    write_addr: u32,
    /// Transfers left, and the value that the next trigger loads.
    count: u32,
    reload: u32,
    ctrl: u32,
    busy: bool,
}

impl Channel {
    fn size(&self) -> u32 {
        1 << ((self.ctrl >> 2) & 3).min(2)
    }

    fn treq(&self) -> u32 {
        (self.ctrl >> 15) & 0x3f
    }

    fn chain_to(&self) -> usize {
        ((self.ctrl >> 11) & 0xf) as usize
    }

    /// `address` after one transfer, wrapped in the ring if this side has one.
    fn advance(&self, address: u32, increments: u32, is_write: bool) -> u32 {
        if self.ctrl & increments == 0 {
            return address;
        }
        let next = address.wrapping_add(self.size());
        let ring_bits = (self.ctrl >> 6) & 0xf;
        if ring_bits == 0 || (self.ctrl & ctrl::RING_SEL != 0) != is_write {
            return next;
        }
        let mask = (1u32 << ring_bits) - 1;
        (address & !mask) | (next & mask)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    /// X and Y: the timer requests X times in Y cycles of clk_sys.
    x: u32,
    y: u32,
    next: u64,
}

#[derive(Debug, Default)]
pub struct Dma {
    channels: [Channel; CHANNELS],
    timers: [Timer; TIMERS],
    intr: u32,
    inte: [u32; 2],
    intf: [u32; 2],
    sniff_ctrl: u32,
    sniff_data: u32,
    /// Round-robin position among channels of equal priority.
    last: usize,
}

/// Result of looking for work.
enum Work {
    Channel(usize),
    /// Nothing before this cycle.
    At(u64),
    None,
}

impl Dma {
    /// DREQ lines in `sys.dreq_rose` rose.
    pub fn requests_changed(&mut self, sys: &mut Sys) {
        let rose = std::mem::take(&mut sys.dreq_rose);
        let wanted = self.channels.iter().any(|c| c.busy && c.treq() < 40 && rose & (1 << c.treq()) != 0);
        if wanted {
            self.wake(sys, REQUEST_CYCLES);
        }
    }

    fn wake(&mut self, sys: &mut Sys, cycles: u64) {
        let at = sys.clock.ps_at(sys.cycle + cycles);
        if at < sys.due(EventId::Dma) {
            sys.schedule(EventId::Dma, at);
        }
    }

    fn requested(&self, sys: &Sys, index: usize, now: u64) -> bool {
        match self.channels[index].treq() {
            TREQ_PERMANENT => true,
            treq @ TREQ_TIMER0..0x3f => {
                let timer = &self.timers[(treq - TREQ_TIMER0) as usize];
                timer.x != 0 && timer.y != 0 && timer.next <= now
            }
            treq if treq < 40 => sys.dreq_level() & (1 << treq) != 0,
            _ => false,
        }
    }

    /// The channel whose turn it is: high priority first, round robin among equals (2.5.3).
    fn next_work(&mut self, sys: &Sys, now: u64) -> Work {
        for high in [true, false] {
            for step in 1..=CHANNELS {
                let index = (self.last + step) % CHANNELS;
                let c = &self.channels[index];
                let runs = c.busy && c.ctrl & ctrl::EN != 0 && (c.ctrl & ctrl::HIGH_PRIORITY != 0) == high;
                if runs && self.requested(sys, index, now) {
                    return Work::Channel(index);
                }
            }
        }
        let timers = self.channels.iter().filter(|c| c.busy && c.ctrl & ctrl::EN != 0);
        let next = timers
            .filter(|c| (TREQ_TIMER0..TREQ_PERMANENT).contains(&c.treq()))
            .map(|c| &self.timers[(c.treq() - TREQ_TIMER0) as usize])
            .filter(|t| t.x != 0 && t.y != 0)
            .map(|t| t.next)
            .min();
        next.map_or(Work::None, Work::At)
    }

    /// `EventId::Dma` is due: moves data over the bus.
    pub fn service(bus: &mut Bus, mem: &mut Memory) {
        let mut now = bus.sys.cycle;
        let mut moved = 0;
        let next = loop {
            match bus.blocks.dma.next_work(&bus.sys, now) {
                Work::Channel(index) => {
                    let unpaced = bus.blocks.dma.channels[index].treq() == TREQ_PERMANENT;
                    now += Self::transfer(bus, mem, index, now);
                    moved += 1;
                    if !unpaced || moved >= BURST || bus.sys.unmodelled.is_some() {
                        break now;
                    }
                }
                Work::At(cycle) => break cycle,
                Work::None => return,
            }
        };
        let at = bus.sys.clock.ps_at(next.max(bus.sys.cycle + 1));
        bus.sys.schedule(EventId::Dma, at);
    }

    /// One datum of channel `index`; returns the cycles it keeps the DMA's bus ports busy.
    fn transfer(bus: &mut Bus, mem: &mut Memory, index: usize, now: u64) -> u64 {
        let c = bus.blocks.dma.channels[index];
        let size = c.size();
        bus.blocks.dma.last = index;
        let treq = c.treq();
        if (TREQ_TIMER0..TREQ_PERMANENT).contains(&treq) {
            let timer = &mut bus.blocks.dma.timers[(treq - TREQ_TIMER0) as usize];
            timer.next = now.max(timer.next) + u64::from(timer.y.div_ceil(timer.x.max(1)));
        }
        // Addresses are aligned by the address generator's size; a misaligned one is a bus error.
        let mut waits = 0;
        let read = if c.read_addr & (size - 1) == 0 { bus.read(mem, Master::Dma, c.read_addr, size).ok() } else { None };
        waits += u64::from(bus.waits);
        let Some(value) = read else {
            Self::fail(bus, index, ctrl::READ_ERROR);
            return 1;
        };
        let value = if c.ctrl & ctrl::BSWAP != 0 { swap(value, size) } else { value };
        if bus.blocks.dma.sniff_ctrl & 1 != 0
            && c.ctrl & ctrl::SNIFF_EN != 0
            && ((bus.blocks.dma.sniff_ctrl >> 1) & 0xf) as usize == index
        {
            bus.blocks.dma.sniff(value, size);
        }
        // The channel moves on before its write: the write may be aimed at the DMA's own registers.
        {
            let dma = &mut bus.blocks.dma;
            let c = &mut dma.channels[index];
            c.read_addr = c.advance(c.read_addr, ctrl::INCR_READ, false);
            let target = c.write_addr;
            c.write_addr = c.advance(target, ctrl::INCR_WRITE, true);
            c.count = c.count.saturating_sub(1);
        }
        let written = c.write_addr & (size - 1) == 0 && bus.write(mem, Master::Dma, c.write_addr, value, size).is_ok();
        waits += u64::from(bus.waits);
        if !written {
            Self::fail(bus, index, ctrl::WRITE_ERROR);
            return 1;
        }
        let Bus { sys, blocks, .. } = bus;
        let dma = &mut blocks.dma;
        if dma.channels[index].busy && dma.channels[index].count == 0 {
            dma.finish(sys, index);
        }
        1 + waits
    }

    fn fail(bus: &mut Bus, index: usize, error: u32) {
        let c = &mut bus.blocks.dma.channels[index];
        c.ctrl |= error | ctrl::AHB_ERROR;
        c.busy = false;
    }

    /// The last transfer of a sequence is done: interrupt, then chain.
    fn finish(&mut self, sys: &mut Sys, index: usize) {
        self.channels[index].busy = false;
        if self.channels[index].ctrl & ctrl::IRQ_QUIET == 0 {
            self.intr |= 1 << index;
            self.update_irq(sys);
        }
        let next = self.channels[index].chain_to();
        if next != index && next < CHANNELS {
            self.trigger(sys, next);
        }
    }

    fn trigger(&mut self, sys: &mut Sys, index: usize) {
        let c = &mut self.channels[index];
        if c.ctrl & ctrl::EN == 0 || c.busy {
            return;
        }
        c.count = c.reload;
        c.busy = true;
        if c.count == 0 {
            // A sequence of no transfers ends as it starts; chaining to itself or in a ring must not recurse for ever.
            c.busy = false;
            if c.ctrl & ctrl::IRQ_QUIET == 0 {
                self.intr |= 1 << index;
                self.update_irq(sys);
            }
            return;
        }
        self.wake(sys, REQUEST_CYCLES);
    }

    fn update_irq(&self, sys: &mut Sys) {
        for (n, line) in [(0, irq::DMA_0), (1, irq::DMA_1)] {
            sys.set_irq(line, (self.intr & self.inte[n]) | self.intf[n] != 0);
        }
    }

    /// Feeds `size` bytes of `value` to the sniffer (2.5.5.4).
    fn sniff(&mut self, value: u32, size: u32) {
        let value = if self.sniff_ctrl & (1 << 9) != 0 { swap(value, size) } else { value };
        let bytes = value.to_le_bytes();
        for &byte in &bytes[..size as usize] {
            let data = self.sniff_data;
            self.sniff_data = match (self.sniff_ctrl >> 5) & 0xf {
                0x0 => crc32(data, byte),
                0x1 => crc32(data, byte.reverse_bits()),
                0x2 => crc16(data, byte),
                0x3 => crc16(data, byte.reverse_bits()),
                0xe => data ^ u32::from(byte.count_ones() & 1),
                _ => data,
            };
        }
        if (self.sniff_ctrl >> 5) & 0xf == 0xf {
            self.sniff_data = self.sniff_data.wrapping_add(value);
        }
    }

    fn sniff_result(&self) -> u32 {
        let mut value = self.sniff_data;
        if self.sniff_ctrl & (1 << 10) != 0 {
            value = value.reverse_bits();
        }
        if self.sniff_ctrl & (1 << 11) != 0 {
            value = !value;
        }
        value
    }

    fn read_channel(&self, index: usize, register: u32) -> u32 {
        let c = &self.channels[index];
        match field(register) {
            Field::ReadAddr => c.read_addr,
            Field::WriteAddr => c.write_addr,
            Field::TransCount => c.count,
            Field::Ctrl => c.ctrl | if c.busy { ctrl::BUSY } else { 0 },
        }
    }

    fn write_channel(&mut self, sys: &mut Sys, index: usize, register: u32, write: Write) {
        let c = &mut self.channels[index];
        let value = match field(register) {
            Field::ReadAddr => {
                c.read_addr = write.apply(c.read_addr);
                c.read_addr
            }
            Field::WriteAddr => {
                c.write_addr = write.apply(c.write_addr);
                c.write_addr
            }
            Field::TransCount => {
                c.reload = write.apply(c.reload);
                c.reload
            }
            Field::Ctrl => {
                let cleared = if write.alias == super::Alias::Clear { 0 } else { write.bits };
                let errors = c.ctrl & (ctrl::READ_ERROR | ctrl::WRITE_ERROR) & !cleared;
                let ahb = if errors != 0 { ctrl::AHB_ERROR } else { 0 };
                c.ctrl = (write.apply(c.ctrl) & ctrl::WRITABLE) | errors | ahb;
                // Enabling a paused channel lets it go on.
                if c.busy {
                    self.wake(sys, 1);
                }
                self.channels[index].ctrl
            }
        };
        // The last register of each alias triggers. Writing zero there is a null trigger: it only raises the interrupt
        // that IRQ_QUIET held back (2.5.2.3).
        if register & 0xc == 0xc {
            let c = &self.channels[index];
            if value == 0 {
                if c.ctrl & ctrl::IRQ_QUIET != 0 {
                    self.intr |= 1 << index;
                    self.update_irq(sys);
                }
            } else {
                self.trigger(sys, index);
            }
        }
    }
}

enum Field {
    ReadAddr,
    WriteAddr,
    TransCount,
    Ctrl,
}

/// Register of a channel's 64 bytes: four aliases that hold the same four registers in different orders.
fn field(register: u32) -> Field {
    use Field::{Ctrl, ReadAddr, TransCount, WriteAddr};
    match register & 0x3c {
        0x00 | 0x14 | 0x28 | 0x3c => ReadAddr,
        0x04 | 0x18 | 0x2c | 0x34 => WriteAddr,
        0x08 | 0x1c | 0x24 | 0x38 => TransCount,
        _ => Ctrl,
    }
}

fn swap(value: u32, size: u32) -> u32 {
    match size {
        1 => value,
        2 => u32::from((value as u16).swap_bytes()),
        _ => value.swap_bytes(),
    }
}

fn crc32(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ (u32::from(byte) << 24), |crc, _| if crc >> 31 != 0 { (crc << 1) ^ 0x04c1_1db7 } else { crc << 1 })
}

fn crc16(crc: u32, byte: u8) -> u32 {
    let crc = (crc & 0xffff) ^ (u32::from(byte) << 8);
    (0..8).fold(crc, |crc, _| if crc & 0x8000 != 0 { ((crc << 1) ^ 0x1021) & 0xffff } else { (crc << 1) & 0xffff })
}

impl Peripheral for Dma {
    fn name(&self) -> &'static str {
        "DMA"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x000..0x300 => self.read_channel((offset >> 6) as usize, offset & 0x3c),
            0x400 => self.intr,
            0x404 => self.inte[0],
            0x408 => self.intf[0],
            0x40c => (self.intr & self.inte[0]) | self.intf[0],
            0x414 => self.inte[1],
            0x418 => self.intf[1],
            0x41c => (self.intr & self.inte[1]) | self.intf[1],
            0x420..=0x42c => {
                let timer = &self.timers[((offset - 0x420) / 4) as usize];
                (timer.x << 16) | timer.y
            }
            0x434 => self.sniff_ctrl,
            0x438 => self.sniff_result(),
            // FIFO_LEVELS and CHAN_ABORT: transfers are atomic, so nothing is ever in flight.
            0x440 | 0x444 => 0,
            0x448 => CHANNELS as u32,
            0x800..0xb00 if offset & 0x3c == 0 => 0,
            0x800..0xb00 if offset & 0x3c == 4 => self.channels[((offset - 0x800) >> 6) as usize].reload,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x000..0x300 => self.write_channel(sys, (offset >> 6) as usize, offset & 0x3c, write),
            // INTR and both INTS: write 1 to clear.
            0x400 | 0x40c | 0x41c => self.intr &= !write.bits,
            0x404 => self.inte[0] = write.apply(self.inte[0]) & 0xffff,
            0x408 => self.intf[0] = write.apply(self.intf[0]) & 0xffff,
            0x414 => self.inte[1] = write.apply(self.inte[1]) & 0xffff,
            0x418 => self.intf[1] = write.apply(self.intf[1]) & 0xffff,
            0x420..=0x42c => {
                let timer = &mut self.timers[((offset - 0x420) / 4) as usize];
                let value = write.apply((timer.x << 16) | timer.y);
                *timer = Timer { x: value >> 16, y: value & 0xffff, next: sys.cycle };
                self.wake(sys, 1);
            }
            0x430 => {
                for index in 0..CHANNELS {
                    if write.bits & (1 << index) != 0 {
                        self.trigger(sys, index);
                    }
                }
            }
            0x434 => self.sniff_ctrl = write.apply_masked(self.sniff_ctrl, 0xfff),
            0x438 => self.sniff_data = write.apply(self.sniff_data),
            0x444 => {
                for (index, channel) in self.channels.iter_mut().enumerate() {
                    if write.bits & (1 << index) != 0 {
                        channel.busy = false;
                    }
                }
            }
            _ => {}
        }
        self.update_irq(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        sys.schedule(EventId::Dma, NEVER);
        self.update_irq(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Nothing;

    const CHANNEL0: u32 = 0x5000_0000;

    fn bench() -> (Bus, Memory) {
        let mem = Memory::new(&[], 1 << 20);
        let mut sys = Sys::new(125_000_000);
        sys.freq.clk_sys_hz = 125_000_000;
        (Bus::new(sys, Box::new(Nothing)), mem)
    }

    fn put(bus: &mut Bus, mem: &mut Memory, address: u32, value: u32) {
        bus.write(mem, Master::Core(0), address, value, 4).unwrap();
    }

    fn get(bus: &mut Bus, mem: &mut Memory, address: u32) -> u32 {
        bus.read(mem, Master::Core(0), address, 4).unwrap()
    }

    /// Runs DMA events until none is due; returns the cycle of the last.
    fn run(bus: &mut Bus, mem: &mut Memory) -> u64 {
        let mut last = 0;
        for _ in 0..10_000 {
            let due = bus.sys.next_due();
            if due == NEVER {
                break;
            }
            let id = bus.sys.take_event(due).unwrap();
            bus.sys.cycle = bus.sys.clock.cycle_at(due);
            bus.event(mem, id);
            last = bus.sys.cycle;
        }
        last
    }

    fn start(bus: &mut Bus, mem: &mut Memory, read: u32, write: u32, count: u32, ctrl: u32) {
        put(bus, mem, CHANNEL0, read);
        put(bus, mem, CHANNEL0 + 4, write);
        put(bus, mem, CHANNEL0 + 8, count);
        put(bus, mem, CHANNEL0 + 0xc, ctrl);
    }

    const COPY: u32 = ctrl::EN | ctrl::INCR_READ | ctrl::INCR_WRITE | (TREQ_PERMANENT << 15);

    #[test]
    fn copies_words_at_one_per_cycle_and_interrupts_once() {
        let (mut bus, mut mem) = bench();
        for i in 0..64 {
            mem.set_ram_u32(4 * i, 0x1000 + i as u32);
        }
        put(&mut bus, &mut mem, CHANNEL0 + 0x404, 1);
        start(&mut bus, &mut mem, 0x2000_0000, 0x2000_1000, 64, COPY | (2 << 2));
        assert_ne!(get(&mut bus, &mut mem, CHANNEL0 + 0xc) & ctrl::BUSY, 0);
        let last = run(&mut bus, &mut mem);
        assert!((0..64).all(|i| mem.ram_u32(0x1000 + 4 * i) == 0x1000 + i as u32));
        assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0xc) & ctrl::BUSY, 0);
        assert_eq!(bus.sys.irq_level() & (1 << irq::DMA_0), 1 << irq::DMA_0);
        // Four bursts of 16 after the first request.
        assert_eq!(last, REQUEST_CYCLES + 64);
        put(&mut bus, &mut mem, CHANNEL0 + 0x40c, 1);
        assert_eq!(bus.sys.irq_level() & (1 << irq::DMA_0), 0);
    }

    #[test]
    fn wraps_a_ring_and_swaps_bytes() {
        let (mut bus, mut mem) = bench();
        mem.set_ram_u32(0, 0x0403_0201);
        mem.set_ram_u32(4, 0x0807_0605);
        // A read ring of 8 bytes.
        start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 4, COPY | (2 << 2) | (3 << 6) | ctrl::BSWAP);
        run(&mut bus, &mut mem);
        let got: Vec<u32> = (0..4).map(|i| mem.ram_u32(0x100 + 4 * i)).collect();
        assert_eq!(got, [0x0102_0304, 0x0506_0708, 0x0102_0304, 0x0506_0708]);
    }

    #[test]
    fn chains_through_a_control_block_that_writes_its_own_registers() {
        let (mut bus, mut mem) = bench();
        mem.set_ram_u32(0x200, 0x2000_0300);
        mem.set_ram_u32(0x300, 0xcafe);
        // Channel 1 copies one word from an address that channel 0 writes into AL3_READ_ADDR_TRIG.
        put(&mut bus, &mut mem, CHANNEL0 + 0x40 + 4, 0x2000_0400);
        put(&mut bus, &mut mem, CHANNEL0 + 0x40 + 8, 1);
        put(&mut bus, &mut mem, CHANNEL0 + 0x40 + 0x10, ctrl::EN | (2 << 2) | (1 << 11) | (TREQ_PERMANENT << 15));
        start(&mut bus, &mut mem, 0x2000_0200, CHANNEL0 + 0x40 + 0x3c, 1, COPY | (2 << 2));
        run(&mut bus, &mut mem);
        assert_eq!(mem.ram_u32(0x400), 0xcafe);
    }

    #[test]
    fn a_bus_error_stops_the_channel_and_can_be_cleared() {
        let (mut bus, mut mem) = bench();
        start(&mut bus, &mut mem, 0x6000_0000, 0x2000_0000, 4, COPY | (2 << 2));
        run(&mut bus, &mut mem);
        let value = get(&mut bus, &mut mem, CHANNEL0 + 0xc);
        assert_eq!(value & (ctrl::READ_ERROR | ctrl::AHB_ERROR | ctrl::BUSY), ctrl::READ_ERROR | ctrl::AHB_ERROR);
        put(&mut bus, &mut mem, CHANNEL0 + 0x10, ctrl::READ_ERROR);
        assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x10) & ctrl::AHB_ERROR, 0);
    }

    #[test]
    fn a_timer_paces_one_transfer_every_y_over_x_cycles() {
        let (mut bus, mut mem) = bench();
        put(&mut bus, &mut mem, CHANNEL0 + 0x420, (1 << 16) | 100);
        start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 5, ctrl::EN | (2 << 2) | (TREQ_TIMER0 << 15));
        let last = run(&mut bus, &mut mem);
        assert_eq!(last / 100, 4);
    }

    #[test]
    fn the_sniffer_computes_the_crcs_of_the_check_string() {
        let (mut bus, mut mem) = bench();
        for (i, byte) in b"123456789".iter().enumerate() {
            mem.set_ram_u8(i, *byte);
        }
        let sniffed = COPY | ctrl::SNIFF_EN;
        // CRC-32/MPEG-2 and CRC-16/CCITT-FALSE are the plain forms; CRC-32 needs both reversals and the inversion.
        for (mode, seed, expected) in [
            (0x0, u32::MAX, 0x0376_e6e7),
            (0x1 << 5 | 1 << 10 | 1 << 11, u32::MAX, 0xcbf4_3926),
            (0x2 << 5, 0xffff, 0x29b1),
            (0xf << 5, 0, 477),
        ] {
            put(&mut bus, &mut mem, CHANNEL0 + 0x434, 1 | mode);
            put(&mut bus, &mut mem, CHANNEL0 + 0x438, seed);
            start(&mut bus, &mut mem, 0x2000_0000, 0x2000_0100, 9, sniffed);
            run(&mut bus, &mut mem);
            assert_eq!(get(&mut bus, &mut mem, CHANNEL0 + 0x438), expected, "{mode:#x}");
        }
    }
}
