//! Runs the two cores of a chip, its events and its resets in one deterministic order.

use sim::{NEVER, PS_PER_S, Ps, Snapshot};

use crate::mcu::RunEnd;
use crate::sys::Event;
use crate::sys::ResetRequest;
use crate::trace::{Record, kind};
use crate::{PROBED, Sys};

/// Cycles after which the base of the clock conversion moves, to stay in 64-bit arithmetic.
const REBASE_CYCLES: u64 = 1 << 22;

/// Most simulated time in which a core handles events itself: then the base of the clock conversion moves, and counters of
/// translated code are read.
const BY_ITSELF: Ps = PS_PER_S / 500;

/// What [`Runner`] asks of a core.
#[derive(Clone, Copy, Debug)]
pub struct CoreState {
    /// It executes instructions.
    pub running: bool,
    /// Cycle of clk_sys at which its next instruction starts.
    pub cycles: u64,
    /// Address of its next instruction.
    pub pc: u32,
}

/// A chip as [`Runner`] runs it.
pub trait Runs {
    /// Returns the state that all peripherals share.
    fn sys(&self) -> &Sys;

    /// Returns the state that all peripherals share.
    fn sys_mut(&mut self) -> &mut Sys;

    /// Returns the state of core `index`.
    fn core(&self, index: usize) -> CoreState;

    /// Runs a core up to cycle `limit`. Returns true if the debugger stops the chip.
    fn run_core(&mut self, index: usize, limit: u64) -> bool;

    /// Runs both cores to before cycle `end`, `index` ahead of the other, as long as neither can tell. Returns up to which
    /// cycle they should then take turns.
    fn run_ahead(&mut self, _index: usize, _end: u64) -> u64 {
        u64::MAX
    }

    /// Tells a core about lines that rose and about an event.
    fn observe(&mut self, index: usize, rose: u64, event: bool, cycle: u64);

    /// Tells all SysTicks that their clocks changed.
    fn clocks_changed(&mut self, cycle: u64);

    /// Handles an event.
    fn event(&mut self, id: Event, cycle: u64);

    /// Carries out a reset at simulated time `now`. `None`: the chip runs on.
    fn carry_out(&mut self, request: ResetRequest, now: Ps) -> Option<RunEnd>;

    /// Returns whether anything can end the sleep of a chip without clk_sys.
    fn may_wake(&self) -> bool;

    /// Passes the present state to the recorder for an attribution of time.
    fn attribute(&mut self);

    /// Cycles that core 0 has waited for misses of the flash cache.
    fn stalled(&mut self) -> &mut u64;

    /// Counts the program counters in the sampler.
    fn count_sample(&mut self);
}

/// The simulated time of a chip, and what belongs to it.
#[derive(Clone, Copy, Debug, Snapshot)]
pub struct Runner {
    now: Ps,
    last_rebase: u64,
    /// [`RunEnd::Asleep`] was returned for the present sleep.
    told_asleep: bool,
    /// PC of the core that stopped clk_sys.
    asleep_at: u32,
    probed: Probed,
}

/// The state of a profiler and of a trace.
#[derive(Clone, Copy, Debug)]
struct Probed {
    sample_cycles: u64,
    next_sample: u64,
    /// For each core, the running state last recorded in the trace.
    running: [bool; 2],
}

sim::left_out!([] Probed);

impl Default for Runner {
    fn default() -> Self {
        Self {
            now: 0,
            last_rebase: 0,
            told_asleep: false,
            asleep_at: 0,
            probed: Probed { sample_cycles: 0, next_sample: u64::MAX, running: [false; 2] },
        }
    }
}

impl Runner {
    /// Simulated time since power-on.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Returns the time before which everything has happened.
    pub fn settled(&self, sys: &Sys) -> Ps {
        self.now.min(sys.next_due())
    }

    /// Samples the program counters every `cycles` of clk_sys (0: never). Moves no simulated time.
    pub fn sample_pc(&mut self, chip: &impl Runs, cycles: u64) {
        let cores = [0, 1].map(|index| chip.core(index));
        let frontier = cores.iter().filter(|core| core.running).map(|core| core.cycles).min();
        let frontier = frontier.unwrap_or(chip.sys().cycle);
        self.probed.sample_cycles = cycles;
        self.probed.next_sample = if cycles == 0 { u64::MAX } else { frontier + cycles };
    }

    /// Runs until simulated time `until`, a reset, or a fault of the model. An instruction in progress is completed,
    /// together with the events due within it. `strictly`: events due after `until` wait for the next run.
    pub fn run(&mut self, chip: &mut impl Runs, until: Ps, strictly: bool) -> RunEnd {
        let latest = if strictly { until } else { NEVER };
        if !chip.sys().stopped() {
            chip.sys_mut().end_event();
        }
        while self.now < until || strictly && chip.sys().next_due() <= until {
            if let Some(end) = self.attend(chip) {
                return end;
            }
            if chip.sys().stopped() {
                if let Some(end) = self.sleep_until(chip, until) {
                    return end;
                }
                continue;
            }
            let cores = [chip.core(0), chip.core(1)];
            let Some(index) = next_core(cores) else {
                // Both cores sleep: time jumps to the next event.
                let due = chip.sys().next_due();
                if due > until {
                    self.now = self.now.max(until);
                    let sys = chip.sys_mut();
                    sys.cycle = sys.cycle.max(sys.clock.cycle_at(until));
                    break;
                }
                self.now = self.now.max(due);
                self.deliver_events(chip, due);
                continue;
            };
            let cycles = cores[index].cycles;
            let sys = chip.sys_mut();
            let here = sys.clock.ps_at(cycles);
            self.now = self.now.max(here);
            let by = here.min(latest);
            if sys.next_due() <= by {
                self.deliver_events(chip, by);
                continue;
            }
            if here >= until {
                break;
            }
            if cycles - self.last_rebase > REBASE_CYCLES {
                sys.clock.rebase(cycles);
                self.last_rebase = cycles;
            }
            let mut limit = sys.clock.cycle_at(sys.next_due().min(until)).max(cycles + 1);
            let sampled = PROBED && self.probed.next_sample != u64::MAX;
            let both = cores[1 - index].running;
            let watched = both || sampled || sys.records();
            sys.events_until = if watched { 0 } else { until.min(here + BY_ITSELF) };
            let mut turns = cycles;
            if both && !sampled && !sys.records() {
                turns = chip.run_ahead(index, limit).min(limit).min(cycles + REBASE_CYCLES);
            }
            if sampled {
                self.sample(chip, cycles);
                limit = limit.min(self.probed.next_sample).max(cycles + 1);
            }
            self.trace_cores(chip);
            let (index, halted) =
                if both { take_turns(chip, limit, turns) } else { (index, run_core(chip, index, limit)) };
            let accessed = chip.sys().now();
            let noticed = chip.sys_mut().noticed.take();
            if let Some(cycle) = noticed {
                self.notice(chip, index, cycle);
            }
            let core = chip.core(index);
            chip.sys_mut().cycle = core.cycles;
            self.trace_cores(chip);
            chip.attribute();
            let sys = chip.sys_mut();
            if noticed.is_none()
                && let Some(fault) = &mut sys.unmodelled
            {
                fault.pc.get_or_insert(core.pc);
            }
            if sys.stopped() {
                (self.asleep_at, self.told_asleep) = (core.pc, false);
            }
            if halted {
                return RunEnd::Halted;
            }
            let sys = chip.sys();
            if sys.unmodelled.is_some() || sys.reset_request.is_some() {
                // The time of the last access, wherever this turn of the core began.
                self.now = self.now.max(accessed);
                if let Some(end) = self.attend(chip) {
                    return end;
                }
            }
        }
        RunEnd::Time
    }

    /// Runs core `index`, which waited, on to the event in `cycle` that it has handled, as if the event came then.
    fn notice(&mut self, chip: &mut impl Runs, index: usize, cycle: u64) {
        chip.sys_mut().handle_no_events();
        while chip.core(index).cycles < cycle {
            chip.sys_mut().attention = false;
            chip.run_core(index, cycle);
        }
        let sys = chip.sys_mut();
        sys.attention = true;
        self.now = self.now.max(sys.clock.ps_at(cycle));
        notify_cores(chip, cycle);
    }

    /// Lets time pass to the next event, at most to `until`, while clk_sys stands still.
    fn sleep_until(&mut self, chip: &mut impl Runs, until: Ps) -> Option<RunEnd> {
        let sys = chip.sys_mut();
        sys.hold_events();
        let due = sys.next_due().min(until);
        self.now = self.now.max(due);
        // A pin that changes between two runs changes now, although no cycle has passed.
        sys.set_event_time(Some(self.now));
        if !self.told_asleep && !chip.may_wake() {
            self.told_asleep = true;
            return Some(RunEnd::Asleep { pc: self.asleep_at });
        }
        while chip.sys().stopped()
            && let Some(id) = chip.sys_mut().take_event(due)
        {
            let cycle = chip.sys().cycle;
            chip.event(id, cycle);
            if chip.sys().reset_request.is_some() || chip.sys().unmodelled.is_some() {
                break;
            }
        }
        let at = chip.sys().stopped().then_some(self.now);
        chip.sys_mut().set_event_time(at);
        None
    }

    fn sample(&mut self, chip: &mut impl Runs, cycles: u64) {
        if cycles < self.probed.next_sample {
            return;
        }
        self.probed.next_sample = cycles - cycles % self.probed.sample_cycles + self.probed.sample_cycles;
        chip.count_sample();
        if chip.sys().trace.wants(kind::PC) {
            let at = chip.sys().clock.ps_at(cycles);
            for index in 0..2 {
                let core = chip.core(index);
                if core.running {
                    chip.sys_mut().trace.push(at, Record::Pc { core: index as u8, pc: core.pc });
                }
            }
        }
    }

    /// Starts the trace of the kinds in `mask`, beginning with the present state of the pins.
    pub fn start_trace(&mut self, chip: &mut impl Runs, mask: u32, limit: usize) {
        let sys = chip.sys_mut();
        sys.trace.start(mask, limit);
        if sys.trace.wants(kind::PINS) {
            let (level, output_enabled) = (sys.pins.level(), sys.pins.output_enabled());
            sys.trace.push(self.now, Record::Pins { level, output_enabled });
        }
        self.probed.running = [false; 2];
        self.trace_cores(chip);
    }

    fn trace_cores(&mut self, chip: &mut impl Runs) {
        if !chip.sys().trace.wants(kind::CORES) {
            return;
        }
        for index in 0..2 {
            let core = chip.core(index);
            if self.probed.running[index] != core.running {
                self.probed.running[index] = core.running;
                let at = chip.sys().clock.ps_at(core.cycles).max(self.now);
                chip.sys_mut().trace.push(at, Record::Core { core: index as u8, running: core.running });
            }
        }
    }

    fn deliver_events(&mut self, chip: &mut impl Runs, until: Ps) {
        while let Some(id) = chip.sys_mut().take_event(until) {
            let sys = chip.sys_mut();
            let cycle = sys.clock.cycle_at(sys.now());
            sys.cycle = sys.cycle.max(cycle);
            let stalled = *chip.stalled();
            chip.event(id, cycle);
            *chip.stalled() = stalled;
            notify_cores(chip, cycle);
            chip.attribute();
            let sys = chip.sys_mut();
            if sys.reset_request.is_some() || sys.unmodelled.is_some() || sys.stopped() {
                sys.end_event();
                return;
            }
        }
    }

    /// Handles everything that made a core leave its loop.
    fn attend(&mut self, chip: &mut impl Runs) -> Option<RunEnd> {
        if !chip.sys().attention {
            return None;
        }
        let sys = chip.sys_mut();
        sys.attention = false;
        let cycle = sys.cycle;
        if std::mem::take(&mut sys.clocks_changed) {
            chip.clocks_changed(cycle);
        }
        if let Some(fault) = chip.sys_mut().unmodelled.take() {
            return Some(RunEnd::Unmodelled(fault));
        }
        let cycle = chip.sys().cycle;
        notify_cores(chip, cycle);
        let paused = std::mem::take(&mut chip.sys_mut().paused);
        match chip.sys_mut().reset_request.take() {
            Some(request) => chip.carry_out(request, self.now),
            None => paused.then_some(RunEnd::Paused),
        }
    }
}

/// Runs a core up to cycle `limit`. Returns true if the debugger stops the chip.
fn run_core(chip: &mut impl Runs, index: usize, limit: u64) -> bool {
    let stalled = *chip.stalled();
    let halted = chip.run_core(index, limit);
    if index != 0 {
        *chip.stalled() = stalled;
    }
    halted
}

/// Runs both cores in the order of their instructions, at most to cycle `limit`. They take turns up to cycle `end`, or until
/// one of them needs attention or sleeps. Returns the core that ran last, and whether the debugger stops the chip.
fn take_turns(chip: &mut impl Runs, limit: u64, end: u64) -> (usize, bool) {
    loop {
        let cycles = [0, 1].map(|core| chip.core(core).cycles);
        let index = behind(cycles);
        if cycles[index] >= limit {
            return (index, false);
        }
        let other = cycles[1 - index];
        // Core 0 runs first when both are at the same cycle.
        let turn = limit.min(other + u64::from(index == 0)).max(cycles[index] + 1);
        let halted = run_core(chip, index, turn);
        let core = chip.core(index);
        let sys = chip.sys_mut();
        if halted || sys.attention || !core.running || core.cycles.min(other) >= end {
            return (index, halted);
        }
        sys.cycle = core.cycles;
    }
}

/// Returns the core that is behind, from the cycles of both.
fn behind(cycles: [u64; 2]) -> usize {
    usize::from(cycles[1] < cycles[0])
}

/// Returns the running core that is behind.
fn next_core(cores: [CoreState; 2]) -> Option<usize> {
    match (cores[0].running, cores[1].running) {
        (true, true) => Some(behind(cores.map(|core| core.cycles))),
        (true, false) => Some(0),
        (false, true) => Some(1),
        _ => None,
    }
}

/// Passes interrupt edges and events on to the cores.
fn notify_cores(chip: &mut impl Runs, cycle: u64) {
    let sys = chip.sys_mut();
    let rose = std::mem::take(&mut sys.irq_rose);
    let own = std::mem::take(&mut sys.core_irq_rose);
    let event = std::mem::take(&mut sys.event_signal);
    for (index, own) in own.into_iter().enumerate() {
        chip.observe(index, rose | own, event, cycle);
    }
}
