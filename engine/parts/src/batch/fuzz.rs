//! Deferred batches compared with one event per edge: two chips with the same accesses in the same cycles must agree in
//! everything observable. Each chip's crate runs it.

use super::Batches;
use chip::sys::watcher;
use chip::{BitPeer, Event, Inputs, Sys, Way, World};
use sim::{Ps, SplitMix64, asked};

const PIO: [u32; 2] = [0x5020_0000, 0x5030_0000];
const DMA: u32 = 0x5000_0000;
const SIO: u32 = 0xd000_0000;
const RAM: u32 = 0x2000_0000;
const CLOCK: u32 = 1;
/// The first pin of the data.
const DATA: u32 = 2;
/// Another input of the chip, driven by the peer.
const READY: u32 = 6;

/// Registers and fields that differ between chips.
#[expect(missing_docs, reason = "named as in the datasheet")]
pub struct Registers {
    pub io_bank0: u32,
    pub pads_bank0: u32,
    /// Offsets in IO_BANK0.
    pub intr0: u32,
    pub proc0_inte0: u32,
    /// Offset in PIO.
    pub intr: u32,
    /// Offsets in SIO: GPIO_OUT, its SET and CLR, GPIO_OE and its SET.
    pub gpio: [u32; 5],
    /// Offsets in DMA.
    pub timer0: u32,
    pub chan_abort: u32,
    /// First bits in the CTRL of a DMA channel.
    pub incr_write: u32,
    pub ring_size: u32,
    pub ring_sel: u32,
    pub chain_to: u32,
    pub treq_sel: u32,
}

/// A chip without cores.
pub trait Coreless {
    /// Its bus.
    type Bus: Batches;
    /// Its registers.
    const REGISTERS: Registers;

    /// Returns the chip at power-on, with all blocks out of reset and clk_sys at 125 MHz.
    fn new(peer: Peer) -> Self;
    /// Returns the bus.
    fn bus(&mut self) -> &mut Self::Bus;
    /// Reads a word as core 0.
    fn read(&mut self, address: u32) -> u32;
    /// Writes a word as core 0.
    fn write(&mut self, address: u32, value: u32);
    /// Handles an event.
    fn handle(&mut self, id: Event);
    /// Propagates changes.
    fn settle(&mut self);
}

/// A chip on one, two or four data wires: receives and sends groups of bits in turn, and acts at the end of each.
#[derive(Default)]
pub struct Peer {
    /// It is not connected.
    away: bool,
    high: bool,
    giving: bool,
    /// The number of data wires.
    lanes: u32,
    rising: bool,
    left: u32,
    word: u32,
    groups: u32,
    log: Vec<(Ps, u32)>,
}

impl Peer {
    fn mask(&self) -> u32 {
        (1 << self.lanes) - 1
    }

    fn take(&mut self, levels: u32) {
        self.word = (self.word << self.lanes) | levels & self.mask();
    }

    fn give(&mut self) -> u32 {
        self.word = self.word.rotate_left(1) ^ 0x21;
        self.word >> 2 & self.mask()
    }

    fn end_of_group(&mut self, sys: &mut Sys) {
        self.log.push((sys.now(), self.word));
        self.groups += 1;
        self.giving = self.groups % 5 > 2;
        self.rising = self.groups.is_multiple_of(2);
        self.left = self.lanes * [1, 70, 8, 32, 33][self.groups as usize % 5];
        sys.schedule_world(sys.now() + 333_000);
        if !self.giving {
            (0..self.lanes).for_each(|lane| sys.pins.drive(DATA + lane, None));
        }
    }
}

impl World for Peer {
    fn pins_changed(&mut self, sys: &mut Sys) {
        let levels = sys.pins.level();
        let high = levels & (1 << CLOCK) != 0;
        if self.away || high == std::mem::replace(&mut self.high, high) {
            return;
        }
        if self.giving && high == self.rising {
            let levels = self.give();
            (0..self.lanes).for_each(|lane| sys.pins.drive(DATA + lane, Some(levels >> lane & 1 != 0)));
        } else if !self.giving && high {
            self.take((levels >> DATA) as u32);
        } else {
            return;
        }
        self.left = self.left.saturating_sub(self.lanes);
        if self.left == 0 {
            self.end_of_group(sys);
        }
    }

    fn event(&mut self, sys: &mut Sys, _inputs: &mut dyn Inputs) {
        self.log.push((sys.now(), sys.pins.level() as u32));
        sys.pins.drive(READY, Some(self.groups.is_multiple_of(2)));
    }

    fn bit_peer(&self) -> Option<BitPeer> {
        let way = if self.giving { Way::Gives { rising: self.rising } } else { Way::Takes };
        if self.away {
            return None;
        }
        let (lanes, bits) = (self.lanes, self.left.saturating_sub(self.lanes));
        Some(BitPeer { clock: CLOCK, data: DATA, lanes, way, bits })
    }

    fn take_bits(&mut self, _sys: &mut Sys, bits: u32, count: u32) {
        assert!(!self.giving && count < self.left && (count == 32 || bits >> count == 0));
        (0..count).step_by(self.lanes as usize).rev().for_each(|bit| self.take(bits >> bit));
        self.left -= count;
    }

    fn give_bits(&mut self, _sys: &mut Sys, count: u32) -> u32 {
        assert!(self.giving && count < self.left);
        self.left -= count;
        (0..count / self.lanes).fold(0, |bits, _| bits << self.lanes | self.give())
    }
}

struct Bench<C> {
    chip: C,
    events: u64,
}

impl<C: Coreless> Bench<C> {
    fn new(batches_enabled: bool, lanes: u32) -> Self {
        let mut bench = Self { chip: C::new(Peer { left: 32, lanes, ..Peer::default() }), events: 0 };
        let sys = bench.sys();
        sys.batches_enabled = batches_enabled;
        sys.watch_pins(watcher::WORLD, 1 << CLOCK | ((1 << lanes) - 1) << DATA);
        bench
    }

    fn sys(&mut self) -> &mut Sys {
        self.chip.bus().involved().sys
    }

    fn unplug(&mut self) {
        self.sys().watch_pins(watcher::WORLD, 0);
        self.peer().away = true;
    }

    fn peer(&mut self) -> &mut Peer {
        self.chip.bus().involved().world.of().expect("the peer")
    }

    fn run(&mut self, cycle: u64) {
        let until = self.sys().clock.ps_at(cycle);
        while let Some(id) = self.sys().take_event(until) {
            let sys = self.sys();
            sys.cycle = sys.cycle.max(sys.clock.cycle_at(sys.now()));
            self.chip.handle(id);
            self.events += 1;
        }
        self.sys().cycle = cycle;
    }
}

/// Both chips, and the number of data wires.
struct Pair<C>([Bench<C>; 2], u32);

impl<C: Coreless> Pair<C> {
    /// With batches, and without.
    fn new(lanes: u32) -> Self {
        let mut pair = Self([true, false].map(|batches| Bench::new(batches, lanes)), lanes);
        for pin in 0..8 {
            pair.w(C::REGISTERS.pads_bank0 + 4 + 4 * pin, 0x56);
        }
        pair
    }

    fn w(&mut self, address: u32, value: u32) {
        self.0.iter_mut().for_each(|bench| bench.chip.write(address, value));
    }

    fn same(&mut self, address: u32, at: &str) {
        let [a, b] = &mut self.0;
        assert_eq!(a.chip.read(address), b.chip.read(address), "0x{address:08x} {at}");
    }

    fn same_in_sys<T: PartialEq + std::fmt::Debug>(&mut self, read: impl Fn(&Sys) -> T, at: &str) {
        let [a, b] = self.0.each_mut().map(|bench| read(bench.sys()));
        assert_eq!(a, b, "{at}");
    }

    fn run(&mut self, cycle: u64) {
        self.0.iter_mut().for_each(|bench| bench.run(cycle));
    }

    fn cycle(&mut self) -> u64 {
        self.0[0].sys().cycle
    }
}

fn with_field(instruction: u32, random: &mut SplitMix64) -> u32 {
    instruction | if random.one_in(2) { random.below32(2) << 12 } else { random.below32(32) << 8 }
}

/// Returns a loop, most often one whose passes can be deferred.
fn program(random: &mut SplitMix64, lanes: u32) -> Vec<u32> {
    let mut program = Vec::new();
    for _ in 0..random.below32(3) {
        // set x, y; out x, y; pull; push; nop
        let i = [0xe020, 0xe040, 0x6020, 0x6040, 0x80a0, 0x8020, 0xa042][random.below32(7) as usize];
        program.push(with_field(i | if i & 0xe000 != 0x8000 { random.below32(32) } else { 0 }, random));
    }
    let first = program.len() as u32;
    for _ in 0..1 + random.below32(3) {
        let i = match random.below32(12) {
            0..4 => 0x6000 | lanes,                                    // out pins
            4..7 => 0x4000 | lanes,                                    // in pins
            7 => 0x4000 | random.below32(8) << 5 | random.below32(32), // in
            8 => 0xe000 | random.below32(32),                          // set pins
            9 => 0xa021 + 0x21 * random.below32(2),                    // nop
            10 => 0xe080 | random.below32(4),                          // set pindirs
            _ => random.draw32() & 0xe0ff,
        };
        program.push(with_field(i, random));
    }
    let condition = [0, 2, 2, 4, 4, 7, 6][random.below32(7) as usize];
    if !random.one_in(4) {
        program.push(with_field(condition << 5 | first, random));
    }
    if random.one_in(3) {
        program.push(with_field(random.draw32() & 0xe0ff, random));
    }
    program
}

/// Returns a loop like those of serial buses: data, a clock by side-set, and a counter.
fn shifter(random: &mut SplitMix64, lanes: u32) -> Vec<u32> {
    let mut program = vec![[0xe020 | random.below32(32), 0xa02b, 0xa02b][random.below32(3) as usize]];
    let first = program.len() as u32;
    let len = 1 + random.below32(4);
    let (edge, high) = (random.below32(len + 1), random.below32(2));
    let mut bodies = vec![0x6000 | lanes, 0x4000 | lanes, 0xa042, 0xe000 | random.below32(2)];
    for number in 0..len {
        let i = if random.one_in(8) { 0xa021 } else { bodies.remove(random.below32(bodies.len() as u32) as usize) };
        let side = high ^ u32::from(number < edge);
        program.push(i | side << 12 | (random.below32(4) * random.below32(2)) << 8);
    }
    let condition = [0, 2, 2, 2, 4, 7][random.below32(6) as usize];
    if !random.one_in(5) {
        program.push(condition << 5 | first | random.below32(2) << 12 | random.below32(2) << 8);
    }
    program
}

fn pinctrl(random: &mut SplitMix64, lanes: u32) -> u32 {
    let sideset = [0, 1, 1, 1, 2][random.below32(5) as usize];
    let base = |random: &mut SplitMix64, usual| if random.one_in(8) { random.below32(32) } else { usual };
    sideset << 29
        | [0, 1, 1, 2][random.below32(4) as usize] << 26
        | if random.one_in(6) { random.below32(5) } else { lanes } << 20
        | base(random, DATA) << 15
        | base(random, CLOCK) << 10
        | base(random, DATA) << 5
        | base(random, DATA)
}

/// Starts a channel in each direction: from memory to the TX FIFO, and from the RX FIFO to memory.
fn start_dma<C: Coreless>(pair: &mut Pair<C>, random: &mut SplitMix64, way: u32, count: u32) {
    let channel = DMA + 0x40 * way;
    let (memory, fifo) = (RAM + 0x100 * way + 4 * random.below32(16), PIO[0] + 0x10 + 0x10 * way);
    let (from, to) = if way == 0 { (memory, fifo) } else { (fifo, memory) };
    pair.w(channel, from);
    pair.w(channel + 4, to);
    pair.w(channel + 8, count);
    let Registers { incr_write, ring_size, ring_sel, chain_to, treq_sel, .. } = C::REGISTERS;
    let ring = if count > 20 || random.one_in(3) { 5 << ring_size | way << ring_sel } else { 0 };
    let increment = if way == 0 { 1 << 4 } else { 1 << incr_write };
    pair.w(channel + 0xc, 1 | 2 << 2 | increment | way << chain_to | (4 * way) << treq_sel | ring);
}

/// Starts a channel beside those of PIO: words of memory, at once or paced by a timer.
fn copy_words<C: Coreless>(pair: &mut Pair<C>, random: &mut SplitMix64) {
    let (channel, request) = (DMA + 0x80, if random.one_in(2) { 0x3f } else { 0x3b });
    let Registers { incr_write, chain_to, treq_sel, timer0, .. } = C::REGISTERS;
    pair.w(DMA + timer0, 1 << 16 | (2 + random.below32(60)));
    pair.w(channel, RAM);
    pair.w(channel + 4, RAM + 0x200);
    pair.w(channel + 8, 1 + random.below32(40));
    let increment = 1 << 4 | 1 << incr_write;
    pair.w(channel + 0xc, 1 | random.below32(2) << 1 | 2 << 2 | increment | 2 << chain_to | request << treq_sel);
}

/// Returns a program that waits, mostly for a word, while another one runs; it tells of the word by an interrupt.
fn waiter(random: &mut SplitMix64) -> Vec<u32> {
    let flag = random.below32(8);
    let wait = [0x80a0, 0x80a0, 0x6060, 0x20c0 | flag][random.below32(4) as usize];
    let act = [0xc000 | flag, 0xc020 | flag, 0x8020, 0x4020, 0x6001][random.below32(5) as usize];
    vec![wait, with_field(act, random)]
}

fn set_up<C: Coreless>(pair: &mut Pair<C>, random: &mut SplitMix64, machine: u32, sensible: bool) {
    let lanes = if random.one_in(6) { [1, 2, 4][random.below32(3) as usize] } else { pair.1 };
    let code = if sensible { shifter(random, lanes) } else { program(random, lanes) };
    start(pair, random, machine, &code, sensible);
}

/// Loads and configures `code`, and with it DMA if that is `sensible`.
fn start<C: Coreless>(pair: &mut Pair<C>, random: &mut SplitMix64, machine: u32, code: &[u32], sensible: bool) {
    let origin = 16 * (machine % 2);
    for (address, &i) in code.iter().enumerate() {
        // Jumps are relative to the program's start.
        let i = if i >> 13 == 0 { i & !31 | (i + origin) & 31 } else { i };
        pair.w(PIO[0] + 0x48 + 4 * (origin + address as u32), i);
    }
    let at = PIO[0] + 0xc8 + 0x18 * machine;
    let fraction = if random.one_in(6) { random.below32(256) << 8 } else { 0 };
    pair.w(at, (1 + random.below32(3)) << 16 | fraction);
    let odd = if !sensible && random.one_in(10) { 1 << (17 + random.below32(14)) } else { 0 };
    pair.w(at + 4, (origin + code.len() as u32 - 1) << 12 | (origin + u32::from(sensible)) << 7 | odd);
    let threshold = |random: &mut SplitMix64| if random.one_in(3) { random.below32(32) } else { 0 };
    let joined = [0, 0, 0, 1, 2][random.below32(5) as usize];
    let automatic = if sensible { 3 | random.below32(4) << 2 } else { random.below32(16) };
    pair.w(at + 8, joined << 30 | threshold(random) << 25 | threshold(random) << 20 | automatic << 16);
    pair.w(at + 0x14, 1 << 29 | (1 + pair.1) << 26 | CLOCK << 5);
    // set pindirs, set x, set y, and a jump to the start.
    // The clock's, and most often the same for all data.
    let data = if random.one_in(8) { random.below32(16) } else { 15 * random.below32(2) };
    let directions = if sensible && random.one_in(2) { 31 } else { data << 1 | random.below32(2) };
    for i in [0xe080 | directions, 0xe03f, 0xe040 | random.below32(32), origin] {
        pair.w(at + 0x10, i);
        let next = pair.cycle() + 2;
        pair.run(next);
    }
    let out = code.iter().find(|&i| i & 0xe0e0 == 0x6000).map_or(pair.1, |i| i & 7);
    let usual = 1 << 29 | random.below32(2) << 26 | out << 20 | DATA << 15 | CLOCK << 10 | DATA << 5 | DATA;
    pair.w(at + 0x14, if sensible { usual } else { pinctrl(random, pair.1) });
    pair.w(PIO[0] + 0x10 + 4 * machine, random.draw32());
    if sensible {
        let count = [1000, 1000, 7, 1][random.below32(4) as usize];
        (0..2).for_each(|way| start_dma(pair, random, way, count));
    }
}

/// Makes a random access that may happen at any time.
fn disturb<C: Coreless>(pair: &mut Pair<C>, random: &mut SplitMix64, at: &str) {
    let machine = if random.one_in(4) { random.below32(4) } else { 0 };
    let registers = PIO[0] + 0xc8 + 0x18 * machine;
    let value = random.draw32();
    let Registers { io_bank0, pads_bank0, intr0, proc0_inte0, gpio, chan_abort, treq_sel, .. } = C::REGISTERS;
    match random.below32(42) {
        0..8 => (0..=random.below32(6)).for_each(|word| pair.w(PIO[0] + 0x10 + 4 * machine, value ^ word)),
        8..14 => pair.same(PIO[0] + 0x20 + 4 * machine, at),
        14 => pair.w(PIO[0], if random.one_in(2) { 1 } else { value & 0xff3 }),
        15 => pair.w(registers, (1 + random.below32(4)) << 16),
        16 => pair.w(registers + 8, value & 0x3fff_0000),
        17 => pair.w(registers + 0x10, with_field(0xe020 | random.below32(32), random)),
        18 => pair.w(registers + 0x14, pinctrl(random, pair.1)),
        19 => pair.w(PIO[0] + 0x38, if random.one_in(2) { 0 } else { 1 << DATA }),
        20 => {
            let pin = random.below32(8);
            let function = [6, 6, 6, 7, 5][random.below32(5) as usize];
            let overrides = if random.one_in(4) { value & 0x3303_3300 & value >> 8 } else { 0 };
            pair.w(io_bank0 + 8 * pin + 4, function | overrides);
        }
        21 => pair.w(pads_bank0 + 4 + 4 * random.below32(8), value & 0xff),
        22 => pair.w(SIO + gpio[random.below32(5) as usize], 1 << random.below32(8)),
        23 => pair.w(io_bank0 + proc0_inte0, if random.one_in(3) { value & value >> 9 } else { 0 }),
        24 => pair.w(io_bank0 + intr0, value),
        25 => pair.w(PIO[0] + 8, value),
        26 => pair.w(PIO[0] + 0x48 + 4 * random.below32(8), with_field(value & 0xe0ff, random)),
        27 => {
            let (pin, level) = (random.below32(8), [None, Some(false), Some(true)][random.below32(3) as usize]);
            for bench in &mut pair.0 {
                bench.chip.bus().run_batch();
                bench.sys().pins.hold(pin, level.filter(|_| value & 3 == 0));
                bench.chip.settle();
            }
        }
        28 => set_up(pair, random, machine, false),
        // The second block reads the pins, or drives other ones.
        29 => {
            pair.w(PIO[1] + 0x48, with_field(value & 0xe0ff, random));
            pair.w(PIO[1] + 0x4c, with_field(0, random));
            pair.w(PIO[1] + 0xcc, 1 << 12);
            pair.w(PIO[1] + 0xdc, pinctrl(random, pair.1));
            pair.w(PIO[1], value & 1);
        }
        30..34 => {
            let (way, count) = (random.below32(2), 1 + random.below32(20));
            start_dma(pair, random, way, count);
        }
        34 => pair.same(PIO[0] + 0x3c, at),
        35 => pair.same(SIO + 4, at),
        36 => pair.same(io_bank0 + intr0, at),
        37 => pair.same(registers + 0xc, at),
        38 => copy_words(pair, random),
        // Pauses a channel, changes what it waits for, or stops it.
        39 => {
            let ctrl = DMA + 0x40 * random.below32(2) + 0x10;
            let request = if random.one_in(2) { random.below32(8) } else { 0x3b };
            pair.w(ctrl, 2 << 2 | 1 << 4 | request << treq_sel | u32::from(!random.one_in(3)));
            pair.w(DMA + chan_abort, if random.one_in(3) { 1 << random.below32(3) } else { 0 });
        }
        _ => {}
    }
}

/// Compares everything observable; reading it changes nothing except the deferred batch.
fn compare<C: Coreless>(pair: &mut Pair<C>, random: &mut SplitMix64, at: &str) {
    pair.same_in_sys(Sys::irq_level, at);
    // Not always, since reading moves the words that are due.
    if random.one_in(2) {
        return;
    }
    let machine = random.below32(2);
    for offset in [0x00, 0x04, 0x08, 0x0c, 0x30, C::REGISTERS.intr, 0xcc + 0x18 * machine] {
        pair.same(PIO[0] + offset, at);
    }
    for offset in [0x00, 0x04, 0x08, 0x0c, 0x40, 0x44, 0x48, 0x4c, 0x80, 0x84, 0x88, 0x8c] {
        pair.same(DMA + offset, at);
    }
    pair.same(RAM + 0x100 + 4 * random.below32(32), at);
    pair.same_in_sys(Sys::irq_level, at);
    pair.same_in_sys(Sys::dreq_level, at);
    pair.same_in_sys(|sys| [C::Bus::DMA, sys.world_event()].map(|event| sys.due(event)), at);
}

/// Compares again after the batch has run.
fn compare_all<C: Coreless>(pair: &mut Pair<C>, at: &str) {
    for block in PIO {
        for offset in [0x04, 0x08, 0x0c, 0x30, 0x3c, 0x40, 0xd4, 0xd8, 0xec, 0xf0, 0x104, 0x11c] {
            pair.same(block + offset, at);
        }
    }
    for offset in 0..4 {
        pair.same(C::REGISTERS.io_bank0 + C::REGISTERS.intr0 + 4 * offset, at);
    }
    pair.same(SIO + 4, at);
    let [a, b] = pair.0.each_mut().map(Bench::peer);
    assert_eq!(a.log, b.log, "{at}");
    assert_eq!((a.word, a.left), (b.word, b.left), "{at}");
    for block in 0..2 {
        let [a, b] = pair.0.each_mut().map(|bench| bench.chip.bus().involved().pio[block].registers());
        assert_eq!(a, b, "{at}");
    }
}

fn fuzz<C: Coreless>(seed: u64) -> [u64; 2] {
    let random = &mut SplitMix64::new(seed);
    let mut pair = Pair::<C>::new([1, 1, 2, 4][random.below32(4) as usize]);
    for pin in 0..8 {
        pair.w(C::REGISTERS.io_bank0 + 8 * pin + 4, if pin == READY { 5 } else { 6 });
    }
    for word in 0..128 {
        pair.w(RAM + 4 * word, random.draw32());
    }
    let some = if random.one_in(6) { random.draw32() } else { u32::MAX };
    pair.w(PIO[0] + 0x38, if random.one_in(3) { 0 } else { (some & ((1 << pair.1) - 1)) << DATA });
    let sensible = !random.one_in(4);
    set_up(&mut pair, random, 0, sensible);
    if random.one_in(if sensible { 20 } else { 4 }) {
        set_up(&mut pair, random, 1, false);
    } else if random.one_in(4) {
        let code = waiter(random);
        start(&mut pair, random, 1, &code, false);
    }
    if random.one_in(2) {
        // FIFOs and flags of both state machines.
        pair.w(PIO[0] + C::REGISTERS.intr + 4, random.draw32() & 0xf33);
    }
    pair.w(PIO[0], if random.one_in(3) { 3 } else { 1 });
    // Several state machines, most often on pins that nothing outside the chip reads.
    let more = &mut SplitMix64::new(!seed);
    if more.one_in(4) {
        if !more.one_in(4) {
            pair.0.iter_mut().for_each(Bench::unplug);
        }
        for machine in 0..=more.below32(3) {
            set_up(&mut pair, more, machine, false);
            // EXECCTRL.OUT_STICKY, by the alias that sets bits.
            pair.w(PIO[0] + 0x20cc + 0x18 * machine, u32::from(more.one_in(3)) << 17);
        }
        pair.w(PIO[0], 0xf);
    }
    let gap = [3, 20, 150, 600][random.below32(4) as usize];
    // Frequent accesses leave nothing to defer.
    let calm = if sensible { [4, 20, 1000][random.below32(3) as usize] } else { 1 };
    let mut cycle = pair.cycle();
    while cycle < 2500 {
        cycle += 1 + u64::from(random.below32(gap));
        pair.run(cycle);
        let at = format!("seed {seed} cycle {cycle}");
        compare(&mut pair, random, &at);
        if random.one_in(calm) {
            disturb(&mut pair, random, &at);
            // Setting up a state machine takes time, which never goes back.
            cycle = pair.cycle();
        }
        if random.one_in(4) {
            compare_all(&mut pair, &at);
        }
    }
    if random.one_in(2) {
        let end = pair.0[0].sys().clock.ps_at(cycle);
        pair.0.iter_mut().for_each(|bench| bench.chip.bus().end_batch(end));
    }
    compare_all(&mut pair, &format!("seed {seed} at the end"));
    [pair.0[0].events, pair.0[1].events]
}

/// Programs that showed mistakes which the first ones do not: IN that reads a part of the peer's pins, and a request that
/// comes just before an event of DMA.
const SHOWED: [u64; 2] = [4 << 32 | 1437, 7105 << 32 | 1931];

/// Random programs, configurations, peers, DMA and accesses. `PORTBENCH_FUZZ_PROGRAMS`: their number;
/// `PORTBENCH_FUZZ_SEED`. Panics where batches differ from single events, or take others than the `usual` number.
pub fn batches_equal_single_events<C: Coreless>(usual: u64) {
    let (steps, seed) = (asked("PORTBENCH_FUZZ_PROGRAMS", 250), asked("PORTBENCH_FUZZ_SEED", 1) << 32);
    let mut events = [0, 0];
    for program in (seed..seed + steps).chain(SHOWED) {
        let [lazy, plain] = fuzz::<C>(program);
        events = [events[0] + lazy, events[1] + plain];
    }
    println!("{steps} programs: {} events in place of {}", events[0], events[1]);
    // Most programs are not loops of this kind, or stall.
    assert!(events[0] + 20 * steps < events[1], "{events:?}: almost nothing is deferred");
    assert!(events[0] == usual || [steps, seed] != [250, 1 << 32], "{events:?} events: more or fewer than {usual}");
}

/// A transmitter that DMA feeds costs an event of PIO a word, one of DMA, and one in which DMA finds nothing to do.
/// Panics where it costs more.
pub fn a_word_costs_three_events<C: Coreless>() {
    [1, 2, 4].into_iter().for_each(word_costs_three_events::<C>);
}

fn word_costs_three_events<C: Coreless>(lanes: u32) {
    let mut pair = Pair::<C>::new(lanes);
    for pin in CLOCK..=DATA + lanes {
        pair.w(C::REGISTERS.io_bank0 + 8 * pin + 4, 6);
    }
    // out pins, lanes side 0; jmp x-- side 1; jmp 0 side 0
    for (address, instruction) in [0x6000 | lanes, 0x1040, 0x0000].into_iter().enumerate() {
        pair.w(PIO[0] + 0x48 + 4 * address as u32, instruction);
    }
    pair.w(PIO[0] + 0xcc, 2 << 12);
    pair.w(PIO[0] + 0xd0, 1 << 17);
    pair.w(PIO[0] + 0xdc, (1 + lanes) << 26 | CLOCK << 5);
    for instruction in [0xe09f, 0xa02b] {
        pair.w(PIO[0] + 0xd8, instruction);
        let next = pair.cycle() + 2;
        pair.run(next);
    }
    pair.w(PIO[0] + 0xdc, 1 << 29 | lanes << 20 | CLOCK << 10 | DATA);
    for (offset, value) in [(0, RAM), (4, PIO[0] + 0x10), (8, 1000), (0xc, 1 << 4 | 2 << 2 | 1)] {
        pair.w(DMA + offset, value);
    }
    pair.w(PIO[0], 1);
    // The peer's groups end elsewhere.
    pair.0.iter_mut().for_each(|bench| bench.peer().left = u32::MAX);
    let [lazy, plain] = pair.0.each_mut().map(|bench| {
        bench.run(1000);
        let before = bench.events;
        bench.run(1000 + 50 * 64 / u64::from(lanes));
        bench.events - before
    });
    assert_eq!((lazy, plain), (50 * 3, 50 * (2 + 64 / u64::from(lanes))), "{lanes} lanes");
    compare_all(&mut pair, "at the end");
}

/// IN pushes a word in the pass whose OUT finds none. Panics where FIFO levels differ in any cycle.
pub fn a_word_moves_in_the_last_pass<C: Coreless>() {
    let mut pair = Pair::<C>::new(1);
    pair.w(C::REGISTERS.io_bank0 + 8 * DATA + 4, 6);
    // out pins, 1; in pins, 1 [7]
    for (address, instruction) in [0x6001, 0x4701].into_iter().enumerate() {
        pair.w(PIO[0] + 0x48 + 4 * address as u32, instruction);
    }
    pair.w(PIO[0] + 0xcc, 1 << 12);
    // OUT takes words of eight bits, and IN pushes seven.
    pair.w(PIO[0] + 0xd0, 8 << 25 | 7 << 20 | 3 << 16);
    pair.w(PIO[0] + 0xdc, 1 << 20 | DATA);
    pair.w(PIO[0] + 0x10, 0x5a00_0000);
    pair.w(PIO[0], 1);
    for cycle in 0..200 {
        pair.run(cycle);
        pair.same(PIO[0] + 0xc, &format!("cycle {cycle}"));
    }
    let [lazy, plain] = pair.0.each_ref().map(|bench| bench.events);
    assert!(lazy < plain, "{lazy} events: nothing is deferred");
}
