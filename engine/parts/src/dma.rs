//! DMA: channels that move data over the bus independently of the cores (datasheet 2.5).
//!
//! Read and write master work in parallel, so a channel moves at most one datum per cycle of clk_sys; wait states of
//! the slower side add to that. Transfers happen in events: one event per datum for paced channels, which keeps their
//! pace exact, and short batches for unpaced ones, whose data appear at most `BATCH_CYCLES` early but whose
//! completion is exact. A datum is read and written in one step: nothing is ever in flight in the FIFOs, and DREQ
//! credits are not needed, which only prevent such data from overflowing a peripheral (2.5.3.2). Contention with the
//! cores is not modelled.

use crate::wires::{DmaWires, Version};
use chip::{Alias, BusFault, Peripheral, Sys, Write, unmodelled};
use sim::snapshot::LeftOut;
use sim::{NEVER, Snapshot};

const TIMERS: usize = 4;
/// TREQ_SEL: pacing timers 0 to 3, and no pacing.
const TREQ_TIMER0: u32 = 0x3b;
/// TREQ_SEL of a channel without pacing.
pub const TREQ_PERMANENT: u32 = 0x3f;
/// Cycles that a batch of unpaced transfers may run ahead of its event.
const BATCH_CYCLES: u64 = 32;
/// Cycles from a trigger or data request to the end of its transfer: the request is registered, then follow the address
/// and data phases of the read and the data phase of the write. The datasheet draws this pipeline (figure in 2.5)
/// without a number.
pub const REQUEST_CYCLES: u64 = 3;

/// Bits of a channel's CTRL register.
pub mod ctrl {
    /// The channel is enabled.
    pub const EN: u32 = 1 << 0;
    /// The channel takes its turn before those without this bit.
    pub const HIGH_PRIORITY: u32 = 1 << 1;
    /// A write of the channel had no target.
    pub const WRITE_ERROR: u32 = 1 << 29;
    /// A read of the channel had no target.
    pub const READ_ERROR: u32 = 1 << 30;
    /// The channel stopped with a bus error of either kind.
    pub const AHB_ERROR: u32 = 1 << 31;
    /// Both errors; a write of 1 clears each.
    pub const ERRORS: u32 = READ_ERROR | WRITE_ERROR;
}

/// The fields of CTRL that lie at different bits in the versions, and the registers that do.
#[derive(Debug)]
struct Layout {
    incr_read: u32,
    incr_write: u32,
    /// INCR_READ_REV and INCR_WRITE_REV.
    read_rev: u32,
    write_rev: u32,
    ring_size: u32,
    ring_sel: u32,
    chain_to: u32,
    treq_sel: u32,
    irq_quiet: u32,
    bswap: u32,
    sniff_en: u32,
    busy: u32,
    writable: u32,
    /// TRANS_COUNT's bits that count; the others are MODE.
    count: u32,
    lines: usize,
    timer0: u32,
}

impl Layout {
    /// Returns the fields that begin with RING_SIZE at bit `ring_size`.
    const fn above(ring_size: u32, reversible: bool, count: u32, lines: usize, timer0: u32) -> Self {
        let incr_write = if reversible { 6 } else { 5 };
        Self {
            incr_read: 1 << 4,
            incr_write: 1 << incr_write,
            read_rev: if reversible { 1 << 5 } else { 0 },
            write_rev: if reversible { 1 << 7 } else { 0 },
            ring_size,
            ring_sel: 1 << (ring_size + 4),
            chain_to: ring_size + 5,
            treq_sel: ring_size + 9,
            irq_quiet: 1 << (ring_size + 15),
            bswap: 1 << (ring_size + 16),
            sniff_en: 1 << (ring_size + 17),
            busy: 1 << (ring_size + 18),
            writable: (1 << (ring_size + 18)) - 1,
            count,
            lines,
            timer0,
        }
    }
}

const LAYOUTS: [Layout; 2] =
    [Layout::above(6, false, u32::MAX, 2, 0x420), Layout::above(8, true, 0x0fff_ffff, 4, 0x440)];

/// TRANS_COUNT.MODE.
mod mode {
    pub(crate) const NORMAL: u32 = 0x0;
    pub(crate) const TRIGGER_SELF: u32 = 0x1;
    pub(crate) const ENDLESS: u32 = 0xf;
}
/// Most interrupts.
const LINES: usize = 4;
/// Registers of version 1 for its security; DMA's own protection unit is one of them.
const SECCFG: std::ops::Range<u32> = 0x480..0x4d4;
const SECCFG_WORDS: usize = 21;
/// The registers of the protection unit; it is not modelled while it is enabled.
const MPU: std::ops::Range<u32> = 0x500..0x544;
mod sniff_ctrl {
    pub(crate) const EN: u32 = 1;
    pub(crate) const BSWAP: u32 = 1 << 9;
    pub(crate) const OUT_REV: u32 = 1 << 10;
    pub(crate) const OUT_INV: u32 = 1 << 11;
    pub(crate) const MASK: u32 = 0xfff;
}
/// SNIFF_CTRL.CALC.
mod calc {
    pub(crate) const CRC32: u32 = 0x0;
    pub(crate) const CRC32_REVERSED: u32 = 0x1;
    pub(crate) const CRC16: u32 = 0x2;
    pub(crate) const CRC16_REVERSED: u32 = 0x3;
    pub(crate) const EVEN: u32 = 0xe;
    pub(crate) const SUM: u32 = 0xf;
}

#[derive(Clone, Copy, Debug, Snapshot)]
struct Channel {
    layout: LeftOut<&'static Layout>,
    read_addr: u32,
    write_addr: u32,
    /// Transfers left, and the value loaded by the next trigger.
    count: u32,
    reload: u32,
    /// The writable fields and the error flags.
    ctrl: u32,
    /// TRANS_COUNT.MODE of the sequence.
    mode: u32,
    busy: bool,
    /// First cycle after a trigger at which a transfer can end.
    starts_at: u64,
    /// Cycle at which the last transfer is over; counts once `count` is 0.
    ends_at: u64,
}

impl Channel {
    fn new(layout: &'static Layout) -> Self {
        Self {
            layout: LeftOut(layout),
            read_addr: 0,
            write_addr: 0,
            count: 0,
            reload: 0,
            ctrl: 0,
            mode: mode::NORMAL,
            busy: false,
            starts_at: 0,
            ends_at: 0,
        }
    }

    fn size(&self) -> u32 {
        1 << ((self.ctrl >> 2) & 3).min(2)
    }

    fn treq(&self) -> u32 {
        (self.ctrl >> self.layout.treq_sel) & 0x3f
    }

    fn timer(&self) -> Option<usize> {
        (TREQ_TIMER0..TREQ_PERMANENT).contains(&self.treq()).then(|| (self.treq() - TREQ_TIMER0) as usize)
    }

    fn chain_to(&self) -> usize {
        ((self.ctrl >> self.layout.chain_to) & 0xf) as usize
    }

    /// Returns whether there are transfers to make as soon as they are requested.
    fn transfers(&self) -> bool {
        self.busy && self.count != 0 && self.ctrl & ctrl::EN != 0
    }

    /// Returns `address` after one transfer, wrapped in the ring if this side has one.
    fn advance(&self, address: u32, is_write: bool) -> u32 {
        let layout = self.layout;
        let (up, reversed) =
            if is_write { (layout.incr_write, layout.write_rev) } else { (layout.incr_read, layout.read_rev) };
        let next = match (self.ctrl & up != 0, self.ctrl & reversed != 0) {
            (false, false) => return address,
            (true, false) => address.wrapping_add(self.size()),
            (false, true) => address.wrapping_sub(self.size()),
            (true, true) => address.wrapping_add(2 * self.size()),
        };
        let ring_bits = (self.ctrl >> layout.ring_size) & 0xf;
        if ring_bits == 0 || (self.ctrl & layout.ring_sel != 0) != is_write {
            return next;
        }
        let mask = (1u32 << ring_bits) - 1;
        (address & !mask) | (next & mask)
    }
}

/// A pacing timer: X requests in Y cycles of clk_sys, at most one per cycle (2.5.5.1).
#[derive(Clone, Copy, Debug, Default, Snapshot)]
struct Timer {
    x: u32,
    y: u32,
    /// Next request: `fraction` / X of a cycle after `cycle`.
    cycle: u64,
    fraction: u64,
}

impl Timer {
    /// Returns the cycles between requests times X; 0: the timer is stopped.
    fn step(&self) -> u64 {
        if self.x == 0 { 0 } else { u64::from(self.y) }
    }

    fn due(&self) -> Option<u64> {
        (self.step() != 0).then(|| self.cycle + u64::from(self.fraction != 0))
    }

    /// Takes the request due at `now`, and drops earlier ones that were not taken.
    fn take(&mut self, now: u64) {
        let (step, x) = (self.step(), u64::from(self.x));
        if step == 0 {
            return;
        }
        // Requests up to `now`: floor((now - cycle) * x / step - fraction / step) + 1.
        let elapsed = u128::from(now.saturating_sub(self.cycle)) * u128::from(x);
        let passed = elapsed.saturating_sub(u128::from(self.fraction)) / u128::from(step) + 1;
        let total = passed * u128::from(step) + u128::from(self.fraction);
        self.cycle += (total / u128::from(x)) as u64;
        self.fraction = (total % u128::from(x)) as u64;
    }
}

/// A controller with at most 16 channels.
#[derive(Debug, Snapshot)]
pub struct Dma {
    wires: DmaWires,
    channels: Vec<Channel>,
    timers: [Timer; TIMERS],
    intr: u32,
    inte: [u32; LINES],
    intf: [u32; LINES],
    /// SECCFG_CH0 to SECCFG_MISC, stored without effect.
    seccfg: [u32; SECCFG_WORDS],
    sniff_ctrl: u32,
    sniff_data: u32,
    /// Round-robin position among channels of equal priority.
    last: usize,
    /// High-priority channels that were served in this scheduling round.
    served: u32,
    /// The busy channels, once they were asked for since one started or ended.
    busy: LeftOut<Option<u32>>,
}

/// The next work to do.
enum Work {
    Transfer(usize),
    /// The channel's last transfer is over.
    Finish(usize),
    /// None before this cycle.
    At(u64),
    None,
}

/// Returns the numbers of the bits in `mask`, in ascending order.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        lowest
    })
}

fn cycle(sys: &Sys) -> u64 {
    sys.now_cycle()
}

/// The bus as DMA's two masters see it.
pub trait DmaBus {
    /// Returns the state that all peripherals share.
    #[inline]
    fn sys(&mut self) -> &mut Sys {
        self.dma_and_sys().1
    }
    /// Returns the controller.
    #[inline]
    fn dma(&mut self) -> &mut Dma {
        self.dma_and_sys().0
    }
    /// Returns both at the same time.
    fn dma_and_sys(&mut self) -> (&mut Dma, &mut Sys);
    /// Reads `size` (1, 2, 4) bytes; `address` is aligned to it.
    fn read(&mut self, address: u32, size: u32) -> Result<u32, BusFault>;
    /// Writes the low `size` (1, 2, 4) bytes of `value`; `address` is aligned to it.
    fn write(&mut self, address: u32, value: u32, size: u32) -> Result<(), BusFault>;
    /// Returns the wait states of the last access.
    fn waits(&self) -> u32;
}

impl Dma {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: DmaWires) -> Self {
        Self {
            wires,
            channels: vec![Channel::new(&LAYOUTS[wires.version as usize]); wires.channels],
            timers: Default::default(),
            intr: 0,
            inte: [0; LINES],
            intf: [0; LINES],
            seccfg: [3; SECCFG_WORDS],
            sniff_ctrl: 0,
            sniff_data: 0,
            last: 0,
            served: 0,
            busy: LeftOut(None),
        }
    }

    /// Returns the busy channels, as bits.
    fn busy(&mut self) -> u32 {
        let bits = |busy, (index, c): (usize, &Channel)| busy | u32::from(c.busy) << index;
        *self.busy.0.get_or_insert_with(|| self.channels.iter().enumerate().fold(0, bits))
    }

    /// Says whether a channel is busy.
    fn set_busy(&mut self, index: usize, busy: bool) {
        self.channels[index].busy = busy;
        self.busy = LeftOut(None);
    }

    /// Handles rising DREQ lines in `sys.dreq_rose`.
    pub fn requests_changed(&mut self, sys: &mut Sys) {
        let (rose, busy) = (std::mem::take(&mut sys.dreq_rose), self.busy());
        let requested = |c: &Channel| c.transfers() && c.treq() < self.wires.dreqs && rose & (1 << c.treq()) != 0;
        if bits(busy).any(|index| requested(&self.channels[index])) {
            self.wake(sys, REQUEST_CYCLES);
        }
    }

    /// Returns whether a busy channel reads or writes in the space of the flash.
    pub fn reaches_flash(&mut self) -> bool {
        let reaches = |c: &Channel| c.read_addr >> 28 == 1 || c.write_addr >> 28 == 1;
        bits(self.busy()).any(|index| reaches(&self.channels[index]))
    }

    /// Registers the requests that channels wait for, since PWM only generates those.
    fn watch_requests(&self, sys: &mut Sys) {
        let waiting = self.channels.iter().filter(|c| c.transfers() && c.treq() < self.wires.dreqs);
        sys.watch_dreqs(waiting.fold(0, |lines, c| lines | 1 << c.treq()));
    }

    fn wake(&mut self, sys: &mut Sys, cycles: u64) {
        let at = sys.clock.ps_at(cycle(sys).saturating_add(cycles));
        if at < sys.due(self.wires.event) {
            sys.schedule(self.wires.event, at);
        }
    }

    fn requested(&self, sys: &Sys, index: usize, now: u64) -> bool {
        let c = &self.channels[index];
        match (c.timer(), c.treq()) {
            (Some(timer), _) => self.timers[timer].due().is_some_and(|due| due <= now),
            (None, TREQ_PERMANENT) => true,
            (None, treq) => treq < self.wires.dreqs && sys.dreq_level() & (1 << treq) != 0,
        }
    }

    /// Returns the next channel in round-robin order that may transfer now, is `busy` and `eligible`.
    fn next_channel(
        &self,
        sys: &Sys,
        now: u64,
        busy: u32,
        eligible: impl Fn(usize, &Channel) -> bool,
    ) -> Option<usize> {
        let after_last = busy & (u32::MAX << (self.last + 1));
        bits(after_last).chain(bits(busy & !after_last)).find(|&index| {
            let c = &self.channels[index];
            c.transfers() && c.starts_at <= now && eligible(index, c) && self.requested(sys, index, now)
        })
    }

    /// Returns the work at cycle `now`: in each scheduling round all high-priority channels are served, then a single
    /// other one (CTRL.HIGH_PRIORITY); channels of equal priority take turns.
    fn next_work(&mut self, sys: &Sys, now: u64) -> Work {
        let busy = self.busy();
        let channels = || bits(busy).map(|index| (index, &self.channels[index]));
        if let Some((index, _)) = channels().find(|(_, c)| c.count == 0 && c.ends_at <= now) {
            return Work::Finish(index);
        }
        let high = |c: &Channel| c.ctrl & ctrl::HIGH_PRIORITY != 0;
        let served = self.served;
        if let Some(index) = self.next_channel(sys, now, busy, |i, c| high(c) && served & (1 << i) == 0) {
            self.served |= 1 << index;
            return Work::Transfer(index);
        }
        self.served = 0;
        let next = self
            .next_channel(sys, now, busy, |_, c| !high(c))
            .or_else(|| self.next_channel(sys, now, busy, |_, _| true));
        if let Some(index) = next {
            if high(&self.channels[index]) {
                self.served = 1 << index;
            }
            return Work::Transfer(index);
        }
        let channels = || bits(busy).map(|index| &self.channels[index]);
        let ends = channels().filter(|c| c.count == 0).map(|c| c.ends_at);
        let ticks = channels().filter(|c| c.transfers()).filter_map(|c| self.timers[c.timer()?].due());
        let starts = channels().filter(|c| c.transfers() && c.starts_at > now).map(|c| c.starts_at);
        ends.chain(ticks).chain(starts).min().map_or(Work::None, Work::At)
    }

    /// Handles DMA's event: moves data over the bus.
    pub fn service(bus: &mut impl DmaBus) {
        let start = cycle(bus.sys());
        let mut now = start;
        let next = loop {
            let (dma, sys) = bus.dma_and_sys();
            match dma.next_work(sys, now) {
                Work::Finish(index) => dma.finish(sys, index),
                Work::Transfer(index) => {
                    let unpaced = dma.channels[index].treq() == TREQ_PERMANENT;
                    now += Self::transfer(bus, index, now);
                    // The end of a sequence is a separate event, so that it comes neither early nor late.
                    let last = bus.dma().channels[index].count == 0;
                    if !unpaced || last || now - start >= BATCH_CYCLES || bus.sys().unmodelled.is_some() {
                        break now;
                    }
                }
                Work::At(cycle) => break cycle,
                Work::None => return,
            }
        };
        let (dma, sys) = bus.dma_and_sys();
        let (event, at) = (dma.wires.event, sys.clock.ps_at(next.max(start + 1)));
        if at < sys.due(event) {
            sys.schedule(event, at);
        }
    }

    /// Transfers one datum of channel `index`; returns the cycles until the next can follow.
    fn transfer(bus: &mut impl DmaBus, index: usize, now: u64) -> u64 {
        let (dma, sys) = bus.dma_and_sys();
        let c = dma.channels[index];
        let size = c.size();
        dma.last = index;
        if let Some(timer) = c.timer() {
            dma.timers[timer].take(now);
        }
        sys.take_dreq(c.treq());
        // Software must keep addresses aligned (2.5.1.1); an unaligned one is a bus error here.
        let read = if c.read_addr & (size - 1) == 0 { bus.read(c.read_addr, size).ok() } else { None };
        let read_waits = u64::from(bus.waits());
        let Some(value) = read else { return Self::fail(bus, index, ctrl::READ_ERROR) };
        let value = if c.ctrl & c.layout.bswap != 0 { swap(value, size) } else { value };
        {
            let dma = bus.dma();
            let watched = ((dma.sniff_ctrl >> 1) & 0xf) as usize == index;
            if dma.sniff_ctrl & sniff_ctrl::EN != 0 && watched && c.ctrl & c.layout.sniff_en != 0 {
                dma.sniff(value, size);
            }
            // The channel advances before its write, which may target the DMA's own registers.
            let c = &mut dma.channels[index];
            c.read_addr = c.advance(c.read_addr, false);
            c.write_addr = c.advance(c.write_addr, true);
            if c.mode != mode::ENDLESS {
                c.count = c.count.saturating_sub(1);
            }
        }
        let written = c.write_addr & (size - 1) == 0 && bus.write(c.write_addr, value, size).is_ok();
        let write_waits = u64::from(bus.waits());
        if !written {
            return Self::fail(bus, index, ctrl::WRITE_ERROR);
        }
        // The masters overlap: the slower one sets the pace.
        let cycles = 1 + read_waits.max(write_waits);
        bus.dma().channels[index].ends_at = now + cycles;
        cycles
    }

    /// Handles a bus error: halts the channel and always raises its interrupt (CTRL.AHB_ERROR).
    fn fail(bus: &mut impl DmaBus, index: usize, error: u32) -> u64 {
        let (dma, sys) = bus.dma_and_sys();
        dma.channels[index].ctrl |= error;
        dma.set_busy(index, false);
        dma.intr |= 1 << index;
        dma.update_irq(sys);
        dma.watch_requests(sys);
        1
    }

    /// Ends a sequence after its last transfer: interrupt, then chain.
    fn finish(&mut self, sys: &mut Sys, index: usize) {
        self.set_busy(index, false);
        if self.channels[index].ctrl & self.layout().irq_quiet == 0 {
            self.intr |= 1 << index;
            self.update_irq(sys);
        }
        let next = self.channels[index].chain_to();
        if next != index && next < self.wires.channels {
            self.trigger(sys, next);
        }
        if self.channels[index].mode == mode::TRIGGER_SELF {
            self.trigger(sys, index);
        }
        self.watch_requests(sys);
    }

    /// Starts a sequence, unless the channel is disabled or busy. A sequence without transfers ends as soon as a
    /// transfer would.
    fn trigger(&mut self, sys: &mut Sys, index: usize) {
        let now = cycle(sys);
        let c = &mut self.channels[index];
        if c.ctrl & ctrl::EN == 0 || c.busy {
            return;
        }
        c.count = c.reload & c.layout.count;
        c.mode = mode(*c.layout, c.reload);
        c.starts_at = now + REQUEST_CYCLES;
        c.ends_at = c.starts_at;
        self.set_busy(index, true);
        let c = &self.channels[index];
        sys.start_dreq(c.treq());
        // A pacing timer always runs; its requests before the start are lost.
        if let Some(timer) = c.timer()
            && self.timers[timer].due().is_some_and(|due| due < now)
        {
            self.timers[timer].take(now);
        }
        self.wake(sys, REQUEST_CYCLES);
    }

    fn update_irq(&self, sys: &mut Sys) {
        for n in 0..self.layout().lines {
            sys.set_irq(self.wires.irq + n as u32, self.ints(n) != 0);
        }
    }

    fn layout(&self) -> &'static Layout {
        &LAYOUTS[self.wires.version as usize]
    }

    fn ints(&self, n: usize) -> u32 {
        (self.intr & self.inte[n]) | self.intf[n]
    }

    /// Returns the interrupt whose registers have `offset`, and the offset within them: INTE 4, INTF 8, INTS 12.
    fn line(&self, offset: u32) -> Option<(usize, u32)> {
        let from_first = offset.checked_sub(0x400)?;
        let line = (from_first / 0x10) as usize;
        (line < self.layout().lines && from_first != 0).then_some((line, from_first % 0x10))
    }

    /// Returns the offset from TIMER0 of the registers that follow it.
    fn general(&self, offset: u32) -> Option<u32> {
        offset.checked_sub(self.layout().timer0).filter(|&offset| offset < 0x2c)
    }

    fn is_secured(&self, offset: u32) -> bool {
        self.wires.version == Version::V1 && SECCFG.contains(&offset)
    }

    /// Writes a register by its offset from TIMER0.
    fn write_general(&mut self, sys: &mut Sys, register: u32, write: Write) {
        match register {
            0x00..=0x0c => {
                let timer = &mut self.timers[(register / 4) as usize];
                let value = write.apply((timer.x << 16) | timer.y);
                let now = cycle(sys);
                *timer = Timer { x: value >> 16, y: value & 0xffff, cycle: now, fraction: 0 };
                timer.take(now);
                self.wake(sys, REQUEST_CYCLES);
            }
            0x10 => {
                for index in (0..self.wires.channels).filter(|index| write.bits & (1 << index) != 0) {
                    self.trigger(sys, index);
                }
            }
            0x14 => self.sniff_ctrl = write.apply(self.sniff_ctrl) & sniff_ctrl::MASK,
            0x18 => self.sniff_data = write.apply(self.sniff_data),
            // An aborted channel neither interrupts nor chains.
            0x24 => {
                let aborted = write.bits;
                (0..self.channels.len())
                    .filter(|index| aborted >> index & 1 != 0)
                    .for_each(|index| self.set_busy(index, false));
            }
            _ => {}
        }
    }

    /// Passes `size` bytes of `value` to the sniffer (2.5.5.2).
    fn sniff(&mut self, value: u32, size: u32) {
        let value = if self.sniff_ctrl & sniff_ctrl::BSWAP != 0 { swap(value, size) } else { value };
        let mode = (self.sniff_ctrl >> 5) & 0xf;
        if mode == calc::SUM {
            self.sniff_data = self.sniff_data.wrapping_add(value);
            return;
        }
        for &byte in &value.to_le_bytes()[..size as usize] {
            let data = self.sniff_data;
            self.sniff_data = match mode {
                calc::CRC32 => crc32(data, byte),
                calc::CRC32_REVERSED => crc32(data, byte.reverse_bits()),
                calc::CRC16 => crc16(data, byte),
                calc::CRC16_REVERSED => crc16(data, byte.reverse_bits()),
                calc::EVEN => data ^ (byte.count_ones() & 1),
                _ => data,
            };
        }
    }

    fn sniff_result(&self) -> u32 {
        let mut value = self.sniff_data;
        if self.sniff_ctrl & sniff_ctrl::OUT_REV != 0 {
            value = value.reverse_bits();
        }
        if self.sniff_ctrl & sniff_ctrl::OUT_INV != 0 {
            value = !value;
        }
        value
    }

    /// Returns what the register at `offset` reads, which has no side effect.
    pub fn peek(&self, offset: u32) -> u32 {
        match offset {
            0x000..0x400 if (offset as usize >> 6) < self.wires.channels => {
                self.read_channel((offset >> 6) as usize, offset & 0x3c)
            }
            0x400 => self.intr,
            _ if let Some((line, register)) = self.line(offset) => match register {
                0x4 => self.inte[line],
                0x8 => self.intf[line],
                0xc => self.ints(line),
                _ => 0,
            },
            // FIFO_LEVELS, CHAN_ABORT and CHn_DBG_CTDREQ: transfers are atomic, so nothing is in flight, no abort is
            // pending and no credit is outstanding.
            _ if let Some(register) = self.general(offset) => match register {
                0x00..=0x0c => {
                    let timer = &self.timers[(register / 4) as usize];
                    (timer.x << 16) | timer.y
                }
                0x14 => self.sniff_ctrl,
                0x18 => self.sniff_result(),
                0x28 => self.wires.channels as u32,
                _ => 0,
            },
            _ if self.is_secured(offset) => self.seccfg[((offset - SECCFG.start) / 4) as usize],
            0x800..0xc00 if offset & 0x3c == 4 => {
                self.channels.get((offset as usize - 0x800) >> 6).map_or(0, |channel| channel.reload)
            }
            _ => 0,
        }
    }

    fn read_channel(&self, index: usize, register: u32) -> u32 {
        let c = &self.channels[index];
        match field(register) {
            Field::ReadAddr => c.read_addr,
            Field::WriteAddr => c.write_addr,
            Field::TransCount => c.count | c.reload & !c.layout.count,
            Field::Ctrl => {
                let busy = if c.busy { c.layout.busy } else { 0 };
                let error = if c.ctrl & ctrl::ERRORS != 0 { ctrl::AHB_ERROR } else { 0 };
                c.ctrl | busy | error
            }
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
                // READ_ERROR and WRITE_ERROR: a written 1 clears; the clear alias writes zeros there.
                let cleared = if write.alias == Alias::Clear { 0 } else { write.bits };
                c.ctrl = (write.apply(c.ctrl) & c.layout.writable) | (c.ctrl & ctrl::ERRORS & !cleared);
                let value = c.ctrl & c.layout.writable;
                // Enabling resumes a paused channel.
                if c.busy {
                    self.wake(sys, REQUEST_CYCLES);
                }
                value
            }
        };
        // The last register of each alias triggers. Writing zero is a null trigger, which only raises the interrupt
        // that IRQ_QUIET suppressed (2.5.2.3).
        if register & 0xc == 0xc {
            if value != 0 {
                self.trigger(sys, index);
            } else if self.channels[index].ctrl & self.layout().irq_quiet != 0 {
                self.intr |= 1 << index;
                self.update_irq(sys);
            }
        }
    }
}

/// Returns MODE of a value of TRANS_COUNT.
fn mode(layout: &Layout, count: u32) -> u32 {
    if layout.count == u32::MAX { mode::NORMAL } else { count >> layout.count.count_ones() }
}

enum Field {
    ReadAddr,
    WriteAddr,
    TransCount,
    Ctrl,
}

/// Decodes a register in a channel's 64 bytes: four aliases contain the same four registers in different orders.
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
    (0..8)
        .fold(crc ^ (u32::from(byte) << 24), |crc, _| if crc >> 31 != 0 { (crc << 1) ^ 0x04c1_1db7 } else { crc << 1 })
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
        self.peek(offset)
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x000..0x400 if (offset as usize >> 6) < self.wires.channels => {
                self.write_channel(sys, (offset >> 6) as usize, offset & 0x3c, write)
            }
            // INTR and every INTS: a written 1 clears, through any alias.
            0x400 => self.intr &= !write.bits,
            _ if let Some((line, register)) = self.line(offset) => match register {
                0x4 => self.inte[line] = write.apply(self.inte[line]) & 0xffff,
                0x8 => self.intf[line] = write.apply(self.intf[line]) & 0xffff,
                0xc => self.intr &= !write.bits,
                _ => {}
            },
            _ if let Some(register) = self.general(offset) => self.write_general(sys, register, write),
            _ if self.is_secured(offset) => {
                let seccfg = &mut self.seccfg[((offset - SECCFG.start) / 4) as usize];
                *seccfg = write.apply(*seccfg);
            }
            _ if MPU.contains(&offset) && self.wires.version == Version::V1 && write.apply(0) != 0 => {
                unmodelled(sys, "DMA protection unit", offset, Some(write.bits));
            }
            _ => {}
        }
        self.watch_requests(sys);
        self.update_irq(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        sys.schedule(self.wires.event, NEVER);
        self.watch_requests(sys);
        self.update_irq(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use chip::Event;

    #[test]
    fn a_fractional_timer_keeps_its_average() {
        let mut timer = Timer { x: 3, y: 10, cycle: 0, fraction: 0 };
        let mut at = vec![];
        for _ in 0..7 {
            timer.take(timer.due().unwrap());
            at.push(timer.due().unwrap());
        }
        assert_eq!(at, [4, 7, 10, 14, 17, 20, 24]);
        timer.take(1_000_001);
        assert_eq!(timer.due(), Some(1_000_004));
        // More than one request per cycle is not possible.
        let mut fast = Timer { x: 9, y: 2, cycle: 5, fraction: 0 };
        fast.take(5);
        assert_eq!(fast.due(), Some(6));
    }

    fn last_channel(channels: usize) -> (u32, u32) {
        let mut sys = testing::sys(125_000_000);
        let wires = DmaWires { event: Event(9), irq: 0, version: Version::V0, channels, dreqs: 40 };
        let mut dma = Dma::new(wires);
        dma.write(&mut sys, 15 * 0x40, Write::normal(0x2000_0000));
        (dma.read(&mut sys, 15 * 0x40), dma.read(&mut sys, 0x448))
    }

    #[test]
    fn a_controller_has_as_many_channels_as_its_chip_says() {
        assert_eq!((last_channel(12), last_channel(16)), ((0, 12), (0x2000_0000, 16)));
    }

    #[test]
    fn version_1_has_its_fields_and_interrupts_further_on() {
        let mut sys = testing::sys(150_000_000);
        let wires = DmaWires { event: Event(9), irq: 10, version: Version::V1, channels: 16, dreqs: 55 };
        let mut dma = Dma::new(wires);
        let s = &mut sys;
        dma.write(s, 0x00, Write::normal(0x2000_0010));
        dma.write(s, 0x08, Write::normal(0x1000_0003));
        // 16 bits wide, down, written in a ring of 16 bytes, unpaced, quiet.
        let ctrl = 1 | 1 << 2 | 1 << 5 | 1 << 6 | 4 << 8 | 1 << 12 | TREQ_PERMANENT << 17 | 1 << 23;
        dma.write(s, 0x10, Write::normal(ctrl));
        let c = dma.channels[0];
        assert_eq!((c.size(), c.treq(), c.chain_to()), (2, TREQ_PERMANENT, 0));
        assert_eq!((c.advance(0x2000_0010, false), c.advance(0x2000_001e, true)), (0x2000_000e, 0x2000_0010));
        // Up and down together are up by two.
        let both = Channel { ctrl: ctrl | 1 << 4, ..c };
        assert_eq!(both.advance(0x2000_0010, false), 0x2000_0014);
        assert_eq!((dma.read(s, 0x08), dma.read(s, 0x804)), (0x1000_0000, 0x1000_0003));
        dma.write(s, 0x450, Write::normal(1));
        assert_eq!((dma.read(s, 0x10) ^ ctrl, dma.channels[0].count, dma.channels[0].mode), (1 << 26, 3, 1));
        // The end of a sequence that triggers itself.
        dma.channels[0].count = 0;
        dma.finish(s, 0);
        assert_eq!((dma.channels[0].count, dma.read(s, 0x400)), (3, 0));
        dma.write(s, 0x438, Write::normal(1));
        assert_eq!((s.irq_level(), dma.read(s, 0x43c)), (1 << 13, 1));
        assert_eq!([0x468, 0x480, 0x4d0].map(|at| dma.read(s, at)), [16, 3, 3]);
        dma.write(s, 0x500, Write::normal(2));
        assert!(s.unmodelled.is_some());
    }
}
