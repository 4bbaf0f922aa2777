//! The whole chip: its cores, memories and bus, and what each reset restarts.

use chip::mcu::{ChipConfig, Debugged, RunEnd};
use chip::probe::Probes;
use chip::run::{CoreState, Runner, Runs};
use chip::sys::ResetRequest;
use chip::trace::{Record, kind};
use chip::{Event, Sys, World};
use cpu::State;
use sim::Ps;

use crate::bus::{Bus, Fabric, Memory};
use crate::cores::{Kind, Lent};

/// A chip with the fabric `F` and cores of one kind, and the world on its pins.
pub struct Chip<F: Fabric, K: Kind<F>> {
    /// Its cores.
    pub cores: [K::Core; 2],
    /// Its memories.
    pub mem: Memory<F, K>,
    /// Everything else on its bus.
    pub bus: Bus<F>,
    pub(crate) runner: Runner,
    /// Debugger and profiler.
    pub probes: Probes,
}

impl<F: Fabric, K: Kind<F>> Chip<F, K> {
    /// Returns a chip at power-on, with `world` on its pins.
    pub fn new(config: &ChipConfig, world: impl World) -> Self {
        let mut mem = Memory::<F, K>::new(config.bootrom, config.flash_size);
        let len = config.flash.len().min(mem.flash_size());
        mem.flash_write(0, &config.flash[..len]);
        let mut bus = Bus::<F>::new(Sys::new(F::ROSC_NOMINAL_HZ, &F::WIRES.layout), world);
        bus.own.set_up(config.bootrom, config.psram_csn);
        bus.power_on(&mut mem, config.bootsel_pressed);
        let mut chip =
            Self { cores: [K::new(0), K::new(1)], mem, bus, runner: Runner::default(), probes: Probes::default() };
        for core in &mut chip.cores {
            K::start(core, &chip.mem, 0, 0);
        }
        chip
    }

    /// Translates code at its first execution, for tests of the translator.
    pub fn translate_at_once(&mut self) {
        self.mem.translate_at_once();
    }

    /// Lends the runner itself to `use_runner`. One that unwinds leaves the time at which it began.
    pub(crate) fn with_runner<T>(&mut self, use_runner: impl FnOnce(&mut Runner, &mut Self) -> T) -> T {
        let mut runner = self.runner;
        let result = use_runner(&mut runner, self);
        self.runner = runner;
        result
    }

    /// Handles the steps of transfers that are due where core `index` is, the only one that runs. Returns the cycle up to
    /// which it goes on; `None`: it does not, since something else is due, another core runs, or it needs attention.
    fn take_steps(&mut self, index: usize) -> Option<u64> {
        let CoreState { running, cycles, .. } = Runs::core(self, index);
        let Self { mem, bus, .. } = self;
        if !running || bus.sys.attention || bus.sys.stops_at() == 0 {
            return None;
        }
        loop {
            let (stop, due) = (bus.sys.stop_cycle(), bus.sys.next_due());
            if stop > cycles {
                return Some(stop);
            }
            if !cpu::Bus::<K>::pass_event(bus, mem) || !bus.sys.goes_on(due) {
                return None;
            }
        }
    }

    fn start_core(&mut self, index: usize, cycle: u64) {
        let level = self.bus.sys.irq_level_for_core(index);
        K::start(&mut self.cores[index], &self.mem, level, cycle);
        if index == 0
            && let Some(recorder) = self.bus.sys.recorder()
        {
            recorder.reset();
        }
    }
}

impl<F: Fabric, K: Kind<F>> Runs for Chip<F, K> {
    #[inline]
    fn sys(&self) -> &Sys {
        &self.bus.sys
    }

    #[inline]
    fn sys_mut(&mut self) -> &mut Sys {
        &mut self.bus.sys
    }

    #[inline]
    fn core(&self, index: usize) -> CoreState {
        let core = K::seen(&self.cores[index]);
        CoreState { running: core.state == State::Running, cycles: core.cycles, pc: core.pc }
    }

    #[inline]
    fn run_core(&mut self, index: usize, mut limit: u64) -> bool {
        if self.probes.look() {
            // Probes look at each instruction.
            self.bus.sys.handle_no_events();
            let (core, mem, bus) = (&mut self.cores[index], &mut self.mem, &mut self.bus);
            return self.probes.run(&mut Lent::<F, K> { core, mem, bus }, limit);
        }
        loop {
            K::take_pending(&mut self.cores[index], &mut self.mem, &mut self.bus);
            K::run(&mut self.cores[index], &mut self.mem, &mut self.bus, limit);
            let Some(next) = self.take_steps(index) else { return false };
            limit = next;
        }
    }

    #[inline]
    fn run_ahead(&mut self, index: usize, end: u64) -> u64 {
        if self.probes.look() {
            return 0;
        }
        K::run_ahead(&mut self.cores, &mut self.mem, &mut self.bus, index, end)
    }

    #[inline]
    fn observe(&mut self, index: usize, rose: u64, event: bool, cycle: u64) {
        K::observe(&mut self.cores[index], &self.bus.sys, rose, event, cycle);
    }

    fn clocks_changed(&mut self, cycle: u64) {
        for core in &mut self.cores {
            K::clocks_changed(core, &mut self.bus.sys, cycle);
        }
    }

    fn event(&mut self, id: Event, cycle: u64) {
        if !self.cores.iter_mut().any(|core| K::event(core, &mut self.bus.sys, id, cycle)) {
            self.bus.event(&mut self.mem, id);
        }
    }

    fn carry_out(&mut self, request: ResetRequest, now: Ps) -> Option<RunEnd> {
        let (bit, cycle) = (F::WIRES.psm, self.bus.sys.cycle);
        let cause = match request {
            ResetRequest::Psm { entered, left } => {
                if entered & bit.sio != 0 {
                    self.bus.reset_sio(&mut self.mem);
                }
                F::restart(&mut self.bus, entered);
                if entered & bit.proc1 != 0 {
                    K::hold(&mut self.cores[1]);
                }
                if left & bit.proc1 != 0 {
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
        F::cores_reset(&mut self.bus);
        self.start_core(0, cycle);
        if self.bus.sys.held_by_psm & bit.proc1 == 0 {
            self.start_core(1, cycle);
        }
        if self.bus.sys.trace.wants(kind::RESET) {
            self.bus.sys.trace.push(now, Record::Reset { cause });
        }
        Some(RunEnd::Reset { cause })
    }

    fn may_wake(&self) -> bool {
        self.bus.may_wake()
    }

    #[inline]
    fn attribute(&mut self) {
        self.note();
    }

    #[inline]
    fn stalled(&mut self) -> &mut u64 {
        &mut self.mem.xip.stalled
    }

    fn count_sample(&mut self) {
        let seen = [0, 1].map(|core| self.seen(core));
        self.probes.count_sample(seen);
    }
}
