//! State shared by all peripherals: time, the event queue, interrupt and DREQ lines, clock frequencies and pins.

use crate::PROBED;
use crate::fault::Faults;
use crate::pins::Pins;
use crate::ticks::Ticks;
use crate::trace::{Record, Trace, kind};
use attribution::Recorder;
use sim::{Clock, NEVER, Ps, Snapshot};
use std::fmt;

/// Most events of a chip ([`Layout::events`]), a multiple of 4. Each costs time in every search for the next one.
pub(crate) const MAX_EVENTS: usize = 40;

/// A part's place in [`Sys`]'s queue, which holds one pending time for each. Events of the same time are handled
/// in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Snapshot)]
pub struct Event(pub u8);

/// Differences between chips that [`Sys`] must know.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Number of events, at most `MAX_EVENTS`. The last one is the world's.
    pub events: usize,
    /// The events, as bits, that come while clk_sys stands still: those of other clocks, and the world's.
    pub without_clk_sys: u64,
    /// The GPIO pins, from bit 0 on.
    pub pins: u64,
    /// Data request lines that carry one request per rise; all others are levels.
    pub pulsed_dreqs: u64,
}

/// Most tick generators of a chip.
pub(crate) const TICKS: usize = 6;

/// Watchers that need every edge of some pins, although no program reads them (index of [`Sys::watch_pins`]).
pub mod watcher {
    /// Everything outside the chip.
    pub const WORLD: usize = 0;
    /// Interrupts by pins.
    pub const GPIO: usize = 1;
    /// Wires from pin to pin.
    pub const WIRES: usize = 2;
    /// The first of the chip's parts, which it numbers.
    pub const PARTS: usize = 3;
    pub(crate) const COUNT: usize = PARTS + 3;
}

/// Frequencies in Hz of the clocks that CLOCKS generates from the programmed sources (0: stopped).
#[derive(Clone, Debug, Default, Snapshot)]
pub struct Frequencies {
    /// The crystal oscillator.
    pub xosc_hz: u64,
    /// The ring oscillator.
    pub rosc_hz: u64,
    /// PLL_SYS.
    pub pll_sys_hz: u64,
    /// PLL_USB.
    pub pll_usb_hz: u64,
    /// The reference clock, of timers and watchdog.
    pub clk_ref_hz: u64,
    /// The clock of cores, bus and memories.
    pub clk_sys_hz: u64,
    /// The clock of UART and SPI.
    pub clk_peri_hz: u64,
    /// The clock of USB.
    pub clk_usb_hz: u64,
    /// The clock of the ADC.
    pub clk_adc_hz: u64,
    /// The clock of RP2040's RTC.
    pub clk_rtc_hz: u64,
    /// The clock of RP2350's HSTX.
    pub clk_hstx_hz: u64,
    /// Rate of the watchdog's tick (clk_ref / CYCLES), which drives TIMER, the watchdog and SysTick's external reference.
    pub tick_hz: u64,
}

/// A chip reset requested by a peripheral, and performed between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum ResetRequest {
    /// SYSRESETREQ of either core, or PSM's force-off of the processors by the watchdog.
    Processor {
        /// The core that requests it.
        core: usize,
    },
    /// The watchdog's.
    Watchdog {
        /// Its timer expired; otherwise CTRL.TRIGGER.
        timer: bool,
    },
    /// PSM put blocks into reset, and released others.
    Psm {
        /// The blocks in reset, as bits of its registers.
        entered: u32,
        /// The released ones.
        left: u32,
    },
}

/// clk_sys stands still because its oscillator is dormant.
#[derive(Clone, Debug, Snapshot)]
struct Stop {
    cycle: u64,
    at: Ps,
    /// Events that wait for clk_sys, with the times that they have if it had not stopped.
    waiting: [Ps; MAX_EVENTS],
}

/// The oscillators that a program has made dormant and that are not stable again (bits of [`Sys::dormant`]).
pub mod dormant {
    /// The crystal oscillator.
    pub const XOSC: u8 = 1;
    /// The ring oscillator.
    pub const ROSC: u8 = 2;
}

/// The guest used something that the model does not cover; this ends the run.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub struct Unmodelled {
    /// The access, for instance `SSI.DMACR write 0x00000003`.
    pub what: String,
    /// Address of the instruction, if a core did it and not an event.
    pub pc: Option<u32>,
}

impl fmt::Display for Unmodelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not modelled: {}", self.what)?;
        self.pc.map_or(Ok(()), |pc| write!(f, " (pc 0x{pc:08x})"))
    }
}

/// The state that all peripherals of a chip share.
#[derive(Snapshot)]
pub struct Sys {
    /// Cycle of clk_sys of the current bus access or event.
    pub cycle: u64,
    event_now: Option<Ps>,
    /// Converts cycles of clk_sys to simulated time and back.
    pub clock: Clock,
    /// The frequencies of the clocks.
    pub freq: Frequencies,
    /// A source of CLOCKS changed (oscillator, PLL, mux, divider, tick): `Bus::settle` recomputes `freq`.
    pub clock_sources_dirty: bool,
    /// `freq` changed: the cores' SysTicks must be updated, since their next zero moved.
    pub clocks_changed: bool,
    /// Ticks since power-on: of the watchdog's tick generator, which drives everything in RP2040, or of the generators
    /// of RP2350's TICKS, which it numbers.
    pub ticks: [Ticks; TICKS],
    due: [Ps; MAX_EVENTS],
    events: usize,
    without_clk_sys: u64,
    /// Oscillators that are dormant or starting after it ([`dormant`]).
    pub dormant: u8,
    stop: Option<Box<Stop>>,
    next_due: Ps,
    irq_level: u64,
    /// Interrupt lines of a single core.
    core_irq_level: [u64; 2],
    /// Those of them that rose since that core last checked.
    pub(crate) core_irq_rose: [u64; 2],
    /// Lines that rose since the cores last checked.
    pub(crate) irq_rose: u64,
    dreq: u64,
    pulsed_dreqs: u64,
    /// DREQ lines that rose since the DMA last checked.
    pub dreq_rose: u64,
    /// The GPIO pins.
    pub pins: Pins,
    watched_pins: [u64; watcher::COUNT],
    followed_pins: [u64; watcher::COUNT],
    watched_dreqs: u64,
    started_dreqs: u64,
    /// The watched pins or DREQs changed.
    pub watch_dirty: bool,
    /// The reset to perform before the next instruction.
    pub reset_request: Option<ResetRequest>,
    /// The access without a model, which ends the run.
    pub unmodelled: Option<Unmodelled>,
    /// The cores' faults that have not been reported yet.
    pub faults: Faults,
    /// The trace of what happens, while one is requested.
    #[snapshot(skip)]
    pub trace: Trace,
    /// Recorder for an attribution of time, while one is requested; see [`Sys::recorder`].
    #[snapshot(skip)]
    pub(crate) recording: Option<Box<Recorder>>,
    /// Factor of the SPI clocks: 1, except to find out the benefit of a faster bus.
    pub spi_speed: u64,
    /// Duration of the SPI frame that has just ended, and its half periods of SCK.
    pub spi_shifted: (Ps, u64),
    /// Set when a core must leave its inner loop to handle events, interrupts or resets.
    pub attention: bool,
    /// The owner of the board wants to look at it now.
    #[snapshot(skip)]
    pub(crate) paused: bool,
    /// The block of PIO that has a deferred batch.
    pub batched: Option<usize>,
    /// A PIO block has planned again: it may have a batch to defer.
    pub batch_possible: bool,
    /// Off: every edge of PIO is an event. The chip's behaviour is the same; only the simulation is slower.
    pub batches_enabled: bool,
    /// The core asks for the next event after the present access, so that one that comes sooner needs no attention.
    #[snapshot(skip)]
    looks_ahead: bool,
    /// Time before which a core that waits may handle events itself, as no other core runs.
    #[snapshot(skip)]
    pub(crate) events_until: Ps,
    /// Cycle of such an event, if the cores have to be told what it did.
    #[snapshot(skip)]
    pub(crate) noticed: Option<u64>,
    /// SEV was executed or an event reached both cores.
    pub event_signal: bool,
    /// Bits of RESETS.RESET: a set bit holds that peripheral in reset.
    pub held_in_reset: u32,
    /// Peripherals that entered reset by the current access; the bus resets their models.
    pub entering_reset: u32,
    /// Bits of PSM: blocks held in reset by FRCE_OFF.
    pub held_by_psm: u32,
}

impl Sys {
    /// Returns the recorder for an attribution of time, while one is requested.
    #[inline]
    pub fn recorder(&mut self) -> Option<&mut Recorder> {
        if PROBED { self.recording.as_deref_mut() } else { None }
    }

    /// Returns whether an attribution of time is being recorded.
    #[inline]
    pub fn records(&self) -> bool {
        PROBED && self.recording.is_some()
    }

    /// Returns the state at power-on, with clk_sys at `hz`.
    pub fn new(hz: u64, layout: &Layout) -> Self {
        Self {
            cycle: 0,
            event_now: None,
            clock: Clock::new(hz),
            freq: Frequencies::default(),
            clock_sources_dirty: true,
            clocks_changed: false,
            ticks: Default::default(),
            due: [NEVER; MAX_EVENTS],
            events: layout.events,
            without_clk_sys: layout.without_clk_sys,
            dormant: 0,
            stop: None,
            next_due: NEVER,
            irq_level: 0,
            core_irq_level: [0; 2],
            core_irq_rose: [0; 2],
            irq_rose: 0,
            dreq: 0,
            pulsed_dreqs: layout.pulsed_dreqs,
            dreq_rose: 0,
            pins: Pins::new(layout.pins),
            watched_pins: [0; watcher::COUNT],
            followed_pins: [0; watcher::COUNT],
            watched_dreqs: 0,
            started_dreqs: 0,
            watch_dirty: false,
            reset_request: None,
            unmodelled: None,
            faults: Faults::default(),
            trace: Trace::default(),
            recording: None,
            spi_speed: 1,
            spi_shifted: (0, 1),
            attention: false,
            paused: false,
            batched: None,
            batch_possible: false,
            batches_enabled: true,
            looks_ahead: false,
            events_until: 0,
            noticed: None,
            event_signal: false,
            held_in_reset: 0,
            entering_reset: 0,
            held_by_psm: 0,
        }
    }

    /// Returns the simulated time of the current bus access, or the due time of the event being handled.
    #[inline]
    pub fn now(&self) -> Ps {
        match self.event_now {
            Some(ps) => ps,
            None => self.clock.ps_at(self.cycle),
        }
    }

    /// Returns the due time of the event being handled, `None` during a bus access.
    #[inline]
    pub fn event_time(&self) -> Option<Ps> {
        self.event_now
    }

    /// Returns the first cycle of clk_sys that starts at or after [`Self::now`].
    #[inline]
    pub fn now_cycle(&self) -> u64 {
        match self.event_now {
            Some(ps) => self.clock.cycle_at(ps),
            None => self.cycle,
        }
    }

    /// Schedules (or moves) `id`; [`NEVER`] cancels it.
    #[inline]
    pub fn schedule(&mut self, id: Event, at: Ps) {
        let old = self.due[usize::from(id.0)];
        self.due[usize::from(id.0)] = at;
        if at < self.next_due {
            self.next_due = at;
            self.attention |= !self.looks_ahead;
        } else if old == self.next_due {
            self.next_due = self.earliest();
        }
    }

    fn earliest(&self) -> Ps {
        // Four at once: one minimum after the other takes three times as long.
        let mut earliest = [NEVER; 4];
        for due in self.due[..self.events.next_multiple_of(4)].chunks_exact(4) {
            earliest.iter_mut().zip(due).for_each(|(earliest, &due)| *earliest = (*earliest).min(due));
        }
        earliest.into_iter().min().unwrap_or(NEVER)
    }

    /// Schedules (or moves) the call of [`crate::World::event`].
    pub fn schedule_world(&mut self, at: Ps) {
        self.schedule(self.world_event(), at);
    }

    /// Returns the event for which [`crate::World::event`] is called.
    pub fn world_event(&self) -> Event {
        Event(self.events as u8 - 1)
    }

    /// Takes `id` out of the queue.
    #[inline]
    pub fn cancel(&mut self, id: Event) {
        self.schedule(id, NEVER);
    }

    /// Returns the time of `id`, [`NEVER`] if it is not scheduled.
    pub fn due(&self, id: Event) -> Ps {
        self.due[usize::from(id.0)]
    }

    /// Returns the time of the next event, [`NEVER`] if there is none.
    pub fn next_due(&self) -> Ps {
        self.next_due
    }

    /// Takes the next event due at or before `until`. Events of the same time are in the order of [`Event`].
    pub fn take_event(&mut self, until: Ps) -> Option<Event> {
        if self.next_due > until {
            self.event_now = None;
            return None;
        }
        let index = self.due.iter().position(|&due| due == self.next_due)?;
        Some(self.take(index))
    }

    /// Takes the next event, which is at `index`.
    fn take(&mut self, index: usize) -> Event {
        self.event_now = Some(self.next_due);
        self.due[index] = NEVER;
        self.next_due = self.earliest();
        Event(index as u8)
    }

    /// Leaves all events to the chip's loop in this turn of a core.
    pub fn handle_no_events(&mut self) {
        self.events_until = 0;
    }

    /// Takes the next event, if a core that waits may handle it and it is `wanted`.
    pub fn take_early(&mut self, wanted: impl FnOnce(Event) -> bool) -> Option<Event> {
        let due = self.next_due;
        if due >= self.events_until {
            return None;
        }
        let index = self.due.iter().position(|&at| at == due)?;
        if !wanted(Event(index as u8)) {
            return None;
        }
        self.cycle = self.cycle.max(self.clock.cycle_at(due));
        Some(self.take(index))
    }

    /// Returns when such a core must stop: at the next event. 0: it handles none.
    pub fn stops_at(&self) -> Ps {
        self.next_due.min(self.events_until)
    }

    /// Returns the cycle at which it must stop.
    pub fn stop_cycle(&self) -> u64 {
        self.clock.cycle_at(self.stops_at())
    }

    /// Returns whether it goes on after an event that was due at `due`; otherwise, the cores have to be told what that
    /// did.
    pub fn goes_on(&mut self, due: Ps) -> bool {
        let rose = self.irq_rose != 0 || self.core_irq_rose != [0; 2] || self.event_signal;
        let ends = self.reset_request.is_some() || self.unmodelled.is_some() || self.paused || self.stopped();
        if rose || ends || self.clocks_changed {
            self.noticed = Some(self.clock.cycle_at(due));
            return false;
        }
        // New events are no more than the next to come.
        self.attention = false;
        true
    }

    /// Begins an access of the only core that runs, which asks [`Self::end_access`] for the next event. Of two, neither does.
    #[inline]
    pub fn begin_access(&mut self) {
        self.looks_ahead = self.events_until != 0;
    }

    /// Ends the access. `due`: [`Self::next_due`] before it. Returns the cycle at which the core must stop, if it has changed.
    #[inline]
    pub fn end_access(&mut self, due: Ps) -> Option<u64> {
        let looked = std::mem::take(&mut self.looks_ahead);
        (looked && self.next_due != due).then(|| self.stop_cycle())
    }

    /// Sets the current time to `at`, or (`None`) to that of bus accesses; returns the previous value.
    pub fn set_event_time(&mut self, at: Option<Ps>) -> Option<Ps> {
        std::mem::replace(&mut self.event_now, at)
    }

    /// Returns to the time of bus accesses, when event handling stops early.
    pub fn end_event(&mut self) {
        self.event_now = None;
    }

    /// Returns the levels of the interrupt lines that both cores see, as bits.
    pub fn irq_level(&self) -> u64 {
        self.irq_level
    }

    /// Drives interrupt line `line` of the NVICs.
    #[inline]
    pub fn set_irq(&mut self, line: u32, high: bool) {
        let bit = 1u64 << line;
        if high {
            if self.irq_level & bit == 0 {
                self.irq_level |= bit;
                self.irq_rose |= bit;
                self.attention = true;
            }
        } else {
            self.irq_level &= !bit;
        }
    }

    /// Returns the levels of the lines at the NVIC of `core`.
    pub fn irq_level_for_core(&self, core: usize) -> u64 {
        self.irq_level | self.core_irq_level[core]
    }

    /// Drives a line that is separate for each core (of IO_BANK0 and IO_QSPI).
    pub fn set_irq_for_core(&mut self, core: usize, line: u32, high: bool) {
        let bit = 1u64 << line;
        if high {
            if self.core_irq_level[core] & bit == 0 {
                self.core_irq_level[core] |= bit;
                self.core_irq_rose[core] |= bit;
                self.attention = true;
            }
        } else {
            self.core_irq_level[core] &= !bit;
        }
    }

    /// Returns the levels of the data request lines, as bits.
    pub fn dreq_level(&self) -> u64 {
        self.dreq
    }

    /// Drives data request line `line` of the DMA.
    #[inline]
    pub fn set_dreq(&mut self, line: u32, high: bool) {
        let bit = 1u64 << line;
        if high {
            if self.dreq & bit == 0 {
                self.dreq |= bit;
                self.dreq_rose |= bit;
            }
        } else {
            self.dreq &= !bit;
        }
    }

    /// Declares that `who` ([`watcher`]) needs the edges of `pins` at their times. PWM generates no others.
    #[inline]
    pub fn watch_pins(&mut self, who: usize, pins: u64) {
        if self.watched_pins[who] != pins {
            self.watched_pins[who] = pins;
            self.watch_dirty = true;
        }
    }

    /// Returns the pins whose edges anyone needs.
    #[inline]
    pub fn watched_pins(&self) -> u64 {
        self.watched_pins.iter().fold(0, |all, pins| all | pins)
    }

    /// Returns the pins whose edges `who` needs.
    pub fn watched_by(&self, who: usize) -> u64 {
        self.watched_pins[who]
    }

    /// Declares that `who` ([`watcher`]) reads each bit on `pins`. UART and SPI output only these bits: devices on a
    /// bus get complete characters and frames.
    pub fn follow_pins(&mut self, who: usize, pins: u64) {
        if self.followed_pins[who] != pins {
            self.followed_pins[who] = pins;
            self.watch_dirty = true;
        }
    }

    /// Returns the pins on which anyone reads each bit.
    #[inline]
    pub fn followed_pins(&self) -> u64 {
        self.followed_pins.iter().fold(0, |all, pins| all | pins)
    }

    /// Declares the DREQs that busy DMA channels wait for. PWM's rise only if declared here.
    pub fn watch_dreqs(&mut self, lines: u64) {
        if self.watched_dreqs != lines {
            self.watched_dreqs = lines;
            self.watch_dirty = true;
        }
    }

    /// Returns whether a line rose that a busy DMA channel waits for; the others need no more attention.
    #[inline]
    pub fn requests_rose(&mut self) -> bool {
        self.dreq_rose &= self.watched_dreqs;
        self.dreq_rose != 0
    }

    /// Starts a DMA transfer paced by `line`. PWM's requests are one per wrap; all others are levels maintained by
    /// their FIFO.
    #[inline]
    pub fn take_dreq(&mut self, line: u32) {
        if self.pulsed_dreqs >> line & 1 != 0 {
            self.set_dreq(line, false);
            self.watch_dirty = true;
        }
    }

    /// Starts a DMA channel that is paced by `line`: it asks the peripheral anew for its requests.
    pub fn start_dreq(&mut self, line: u32) {
        self.started_dreqs |= 1 << line;
    }

    /// Returns whether a DMA channel that is paced by `line` has started since the last call.
    pub fn take_started_dreq(&mut self, line: u32) -> bool {
        let started = self.started_dreqs & 1 << line != 0;
        self.started_dreqs &= !(1 << line);
        started
    }

    /// Returns the lines that busy DMA channels wait for, as bits.
    pub fn watched_dreqs(&self) -> u64 {
        self.watched_dreqs
    }

    /// Traces the present state of the pins, while their changes are recorded.
    pub fn trace_pins(&mut self) {
        if self.trace.wants(kind::PINS) {
            let (level, output_enabled) = (self.pins.level(), self.pins.output_enabled());
            self.trace.push(self.now(), Record::Pins { level, output_enabled });
        }
    }

    /// Requests a chip or core reset before the next instruction.
    pub fn request_reset(&mut self, request: ResetRequest) {
        self.reset_request = Some(request);
        self.attention = true;
    }

    /// Ends the run after the instruction in progress.
    pub fn pause(&mut self) {
        self.paused = true;
        self.attention = true;
    }

    /// Ends the run with an error: `what` names the register and the access.
    pub fn unmodelled(&mut self, what: String) {
        if self.unmodelled.is_none() {
            self.unmodelled = Some(Unmodelled { what, pc: None });
            self.attention = true;
        }
    }

    /// Returns whether clk_sys stands still until a dormant oscillator wakes up.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Stops clk_sys. The events that need it wait: `hold_events` holds those that are scheduled from now on.
    pub fn stop_clk_sys(&mut self) {
        if !self.stopped() {
            let (cycle, at) = (self.now_cycle(), self.now());
            self.stop = Some(Box::new(Stop { cycle, at, waiting: [NEVER; MAX_EVENTS] }));
            self.attention = true;
        }
    }

    /// Takes the events that need clk_sys, while it stands still, out of the queue.
    pub(crate) fn hold_events(&mut self) {
        let now = self.now();
        let Some(stop) = &mut self.stop else { return };
        for (index, due) in self.due.iter_mut().enumerate().filter(|(index, _)| self.without_clk_sys >> index & 1 == 0)
        {
            if *due != NEVER {
                let due = std::mem::replace(due, NEVER);
                stop.waiting[index] = stop.waiting[index].min(stop.at + due.saturating_sub(now));
            }
        }
        self.next_due = self.earliest();
    }

    /// Continues clk_sys now: no cycle has passed.
    fn continue_clk_sys(&mut self) {
        let now = self.now();
        self.hold_events();
        let Some(stop) = self.stop.take() else { return };
        self.clock.pause(stop.cycle, now);
        self.cycle = stop.cycle;
        for (index, due) in stop.waiting.into_iter().enumerate().filter(|(_, due)| *due != NEVER) {
            self.schedule(Event(index as u8), due.saturating_add(now - stop.at));
        }
        self.pins.input_dirty = true;
        self.attention = true;
    }

    /// Changes clk_sys from the current cycle on. All events keep their times.
    pub fn set_clk_sys_hz(&mut self, hz: u64) {
        self.freq.clk_sys_hz = hz;
        if hz != 0 && self.stopped() {
            self.continue_clk_sys();
        }
        if hz != 0 && hz != self.clock.hz() {
            self.clock.set_hz(self.cycle, hz);
            self.attention = true;
        }
    }
}
