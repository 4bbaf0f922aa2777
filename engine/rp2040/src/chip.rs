//! The whole chip: runs both cores, events and resets in one deterministic order.

use crate::PROBED;
use crate::bus::Bus;
use crate::cpu::core::{Core, State};
use crate::memory::Memory;
use crate::peripherals::psm;
use crate::probe::Probes;
use crate::sys::ResetRequest;
use crate::trace::{Record, kind};
use crate::wires::event;
use crate::world::World;
pub use parts::mcu::{ChipConfig, RunEnd};
use sim::{NEVER, Ps};

/// ROSC's nominal frequency, which clocks the chip after a reset (datasheet 2.17).
const ROSC_NOMINAL_HZ: u64 = 6_500_000;
/// Cycles after which the base of the clock conversion moves, to stay in 64-bit arithmetic.
const REBASE_CYCLES: u64 = 1 << 22;

pub struct Chip<W> {
    pub cores: [Core; 2],
    pub mem: Memory,
    pub bus: Bus<W>,
    now: Ps,
    last_rebase: u64,
    sample_cycles: u64,
    next_sample: u64,
    pub probes: Probes,
    /// [`RunEnd::Asleep`] was returned for the present sleep.
    told_asleep: bool,
    /// PC of the core that stopped clk_sys.
    asleep_at: u32,
    /// For each core, the running state last recorded in the trace.
    traced_running: [bool; 2],
}

impl<W: World> Chip<W> {
    /// Returns a chip at power-on, with `world` on its pins.
    pub fn new(config: &ChipConfig, world: W) -> Self {
        let mut mem = Memory::new(config.bootrom, config.flash_size);
        let len = config.flash.len().min(mem.flash_size());
        mem.flash_write(0, &config.flash[..len]);
        let mut bus = Bus::new(crate::wires::sys(ROSC_NOMINAL_HZ), world);
        bus.power_on(&mut mem, config.bootsel_pressed);
        let mut chip = Self {
            cores: [Core::new(0, event::SYSTICK0), Core::new(1, event::SYSTICK1)],
            mem,
            bus,
            now: 0,
            last_rebase: 0,
            sample_cycles: 0,
            next_sample: u64::MAX,
            probes: Probes::default(),
            told_asleep: false,
            asleep_at: 0,
            traced_running: [false; 2],
        };
        for core in &mut chip.cores {
            core.reset(&chip.mem, 0);
        }
        chip
    }

    /// Interprets all code from now on: the same behaviour, but slower.
    pub fn interpret_only(&mut self) {
        self.mem.interpret_only();
    }

    /// Translates code at its first execution, for tests of the translator.
    pub fn translate_at_once(&mut self) {
        self.mem.translate_at_once();
    }

    /// Simulated time since power-on.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Samples the program counters every `cycles` of clk_sys into the trace (0: never). Moves no simulated time.
    pub fn sample_pc(&mut self, cycles: u64) {
        self.sample_cycles = cycles;
        self.next_sample = if cycles == 0 { u64::MAX } else { self.frontier() + cycles };
    }

    fn frontier(&self) -> u64 {
        self.cores.iter().filter(|c| c.state == State::Running).map(|c| c.cycles).min().unwrap_or(self.bus.sys.cycle)
    }

    /// Runs until simulated time `until`, a reset, or a fault of the model. An instruction in progress is completed,
    /// together with the events due within it.
    pub fn run_until(&mut self, until: Ps) -> RunEnd {
        let end = self.run_lazily(until, false);
        self.bus.end_batch(self.now);
        end
    }

    /// Like [`Self::run_until`], but handles no event due after `until`, since an external event may come before it.
    pub fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        let end = self.run_lazily(until, true);
        self.bus.end_batch(self.settled());
        end
    }

    /// Returns the time before which everything has happened.
    pub fn settled(&self) -> Ps {
        self.now.min(self.bus.sys.next_due())
    }

    /// `strictly`: events due after `until` wait for the next run.
    fn run_lazily(&mut self, until: Ps, strictly: bool) -> RunEnd {
        let latest = if strictly { until } else { NEVER };
        if !self.bus.sys.stopped() {
            self.bus.sys.end_event();
        }
        while self.now < until || strictly && self.bus.sys.next_due() <= until {
            if let Some(end) = self.attend() {
                return end;
            }
            if self.bus.sys.stopped() {
                if let Some(end) = self.sleep_until(until) {
                    return end;
                }
                continue;
            }
            let Some(index) = self.next_core() else {
                // Both cores sleep: time jumps to the next event.
                let due = self.bus.sys.next_due();
                if due > until {
                    self.now = self.now.max(until);
                    self.bus.sys.cycle = self.bus.sys.cycle.max(self.bus.sys.clock.cycle_at(until));
                    break;
                }
                self.now = self.now.max(due);
                self.deliver_events(due);
                continue;
            };
            let cycles = self.cores[index].cycles;
            let here = self.bus.sys.clock.ps_at(cycles);
            self.now = self.now.max(here);
            let by = here.min(latest);
            if self.bus.sys.next_due() <= by {
                self.deliver_events(by);
                continue;
            }
            if here >= until {
                break;
            }
            self.rebase(cycles);
            let mut limit = self.bus.sys.clock.cycle_at(self.bus.sys.next_due().min(until)).max(cycles + 1);
            let other = &self.cores[1 - index];
            if other.state == State::Running {
                // Core 0 runs first when both are at the same cycle.
                limit = limit.min(other.cycles + u64::from(index == 0)).max(cycles + 1);
            }
            if PROBED && self.next_sample != u64::MAX {
                self.sample(cycles);
                limit = limit.min(self.next_sample).max(cycles + 1);
            }
            self.trace_cores();
            let stalled = self.mem.xip.stalled;
            let mut halted = false;
            if self.probes.look() {
                halted = self.probes.run(&mut self.cores[index], &mut self.mem, &mut self.bus, limit);
            } else {
                self.cores[index].take_pending_exception(&mut self.mem, &mut self.bus);
                self.cores[index].run(&mut self.mem, &mut self.bus, limit);
            }
            if index != 0 {
                self.mem.xip.stalled = stalled;
            }
            self.bus.sys.cycle = self.cores[index].cycles;
            self.trace_cores();
            self.attribute();
            if let Some(fault) = &mut self.bus.sys.unmodelled
                && fault.pc == 0
            {
                fault.pc = self.cores[index].pc;
            }
            if self.bus.sys.stopped() {
                (self.asleep_at, self.told_asleep) = (self.cores[index].pc, false);
            }
            if halted {
                return RunEnd::Halted;
            }
        }
        RunEnd::Time
    }

    /// Lets time pass to the next event, at most to `until`, while clk_sys stands still.
    fn sleep_until(&mut self, until: Ps) -> Option<RunEnd> {
        let sys = &mut self.bus.sys;
        sys.hold_events();
        let due = sys.next_due().min(until);
        self.now = self.now.max(due);
        // A pin that changes between two runs changes now, although no cycle has passed.
        sys.set_event_time(Some(self.now));
        if !self.told_asleep && !self.bus.may_wake() {
            self.told_asleep = true;
            return Some(RunEnd::Asleep { pc: self.asleep_at });
        }
        while self.bus.sys.stopped()
            && let Some(id) = self.bus.sys.take_event(due)
        {
            self.bus.event(&mut self.mem, id);
            if self.bus.sys.reset_request.is_some() || self.bus.sys.unmodelled.is_some() {
                break;
            }
        }
        let at = self.bus.sys.stopped().then_some(self.now);
        self.bus.sys.set_event_time(at);
        None
    }

    /// Returns the running core that is behind.
    fn next_core(&self) -> Option<usize> {
        match (self.cores[0].state, self.cores[1].state) {
            (State::Running, State::Running) => Some(usize::from(self.cores[1].cycles < self.cores[0].cycles)),
            (State::Running, _) => Some(0),
            (_, State::Running) => Some(1),
            _ => None,
        }
    }

    fn rebase(&mut self, cycles: u64) {
        if cycles - self.last_rebase > REBASE_CYCLES {
            self.bus.sys.clock.rebase(cycles);
            self.last_rebase = cycles;
        }
    }

    fn sample(&mut self, cycles: u64) {
        if cycles < self.next_sample {
            return;
        }
        self.next_sample = cycles - cycles % self.sample_cycles + self.sample_cycles;
        if self.probes.sampler.on() {
            for core in self.cores.iter().filter(|c| c.state == State::Running) {
                self.probes.sampler.count(core);
            }
        }
        if self.bus.sys.trace.wants(kind::PC) {
            let at = self.bus.sys.clock.ps_at(cycles);
            for core in self.cores.iter().filter(|c| c.state == State::Running) {
                self.bus.sys.trace.push(at, Record::Pc { core: core.index as u8, pc: core.pc });
            }
        }
    }

    /// Starts the trace of the kinds in `mask`, beginning with the present state of the pins.
    pub fn start_trace(&mut self, mask: u32, limit: usize) {
        let trace = &mut self.bus.sys.trace;
        trace.start(mask, limit);
        if trace.wants(kind::PINS) {
            let (level, output_enabled) = (self.bus.sys.pins.level(), self.bus.sys.pins.output_enabled());
            trace.push(self.now, Record::Pins { level, output_enabled });
        }
        self.traced_running = [false; 2];
        self.trace_cores();
    }

    fn trace_cores(&mut self) {
        if !self.bus.sys.trace.wants(kind::CORES) {
            return;
        }
        for core in &self.cores {
            let running = core.state == State::Running;
            if self.traced_running[core.index] != running {
                self.traced_running[core.index] = running;
                let at = self.bus.sys.clock.ps_at(core.cycles).max(self.now);
                self.bus.sys.trace.push(at, Record::Core { core: core.index as u8, running });
            }
        }
    }

    /// Samples the program counters into [`Probes::sampler`] every `cycles` of clk_sys.
    pub fn start_sampler(&mut self, cycles: u64) {
        self.probes.sampler.start();
        self.sample_pc(cycles);
    }

    fn deliver_events(&mut self, until: Ps) {
        while let Some(id) = self.bus.sys.take_event(until) {
            let cycle = self.bus.sys.clock.cycle_at(self.bus.sys.now());
            self.bus.sys.cycle = self.bus.sys.cycle.max(cycle);
            let stalled = self.mem.xip.stalled;
            match id {
                event::SYSTICK0 => self.cores[0].ppb.systick_due(&mut self.bus.sys, cycle),
                event::SYSTICK1 => self.cores[1].ppb.systick_due(&mut self.bus.sys, cycle),
                _ => self.bus.event(&mut self.mem, id),
            }
            self.mem.xip.stalled = stalled;
            self.notify_cores(cycle);
            self.attribute();
            let sys = &self.bus.sys;
            if sys.reset_request.is_some() || sys.unmodelled.is_some() || sys.stopped() {
                self.bus.sys.end_event();
                return;
            }
        }
    }

    /// Passes interrupt edges and events on to the cores.
    fn notify_cores(&mut self, cycle: u64) {
        let rose = std::mem::take(&mut self.bus.sys.irq_rose);
        let own = std::mem::take(&mut self.bus.sys.core_irq_rose);
        let event = std::mem::take(&mut self.bus.sys.event_signal);
        for core in &mut self.cores {
            core.observe(rose | own[core.index], event, cycle);
        }
    }

    /// Handles everything that made a core leave its loop.
    fn attend(&mut self) -> Option<RunEnd> {
        if !self.bus.sys.attention {
            return None;
        }
        self.bus.sys.attention = false;
        if std::mem::take(&mut self.bus.sys.clocks_changed) {
            let cycle = self.bus.sys.cycle;
            for core in &mut self.cores {
                core.ppb.systick_due(&mut self.bus.sys, cycle);
            }
        }
        if let Some(fault) = self.bus.sys.unmodelled.take() {
            return Some(RunEnd::Unmodelled(fault));
        }
        self.notify_cores(self.bus.sys.cycle);
        let request = self.bus.sys.reset_request.take()?;
        self.carry_out(request)
    }

    fn carry_out(&mut self, request: ResetRequest) -> Option<RunEnd> {
        let cycle = self.bus.sys.cycle;
        let cause = match request {
            ResetRequest::Psm { entered, left } => {
                if entered & psm::bit::SIO != 0 {
                    self.bus.reset_sio(&mut self.mem);
                }
                if entered & psm::bit::PROC1 != 0 {
                    self.cores[1].state = State::Held;
                }
                if left & psm::bit::PROC1 != 0 {
                    self.start_core(1, cycle);
                }
                return None;
            }
            // This reset excludes SIO: afterwards software may find a spinlock that is never released.
            ResetRequest::Processor { .. } => "SYSRESETREQ",
            ResetRequest::Watchdog { timer } => {
                if !self.bus.watchdog_reset(&mut self.mem, timer) {
                    return None;
                }
                if timer { "WATCHDOG timer" } else { "WATCHDOG trigger" }
            }
        };
        self.start_core(0, cycle);
        if self.bus.sys.held_by_psm & psm::bit::PROC1 == 0 {
            self.start_core(1, cycle);
        }
        if self.bus.sys.trace.wants(kind::RESET) {
            self.bus.sys.trace.push(self.now, Record::Reset { cause });
        }
        Some(RunEnd::Reset { cause })
    }

    fn start_core(&mut self, index: usize, cycle: u64) {
        self.cores[index].reset(&self.mem, self.bus.sys.irq_level_for_core(index));
        self.cores[index].cycles = self.cores[index].cycles.max(cycle);
        if index == 0
            && let Some(recorder) = self.bus.sys.recorder()
        {
            recorder.reset();
        }
    }
}
