//! The whole chip: its cores, memories and bus, and what each reset restarts.

use armv8m::V8m;
use parts::probe::{self, Probes};
use parts::run::{CoreState, Runner, Runs};
use parts::wires::Event;
use sim::Ps;

use crate::rp2350::bootrom;
use crate::rp2350::bus::Bus;
use crate::rp2350::cores::{Kind, Lent, Seen};
use crate::rp2350::cpu::core::State;
use crate::rp2350::memory::Memory;
use crate::rp2350::peripherals::{Peripheral, psm};
use crate::rp2350::sys::{ResetRequest, Sys};
use crate::rp2350::trace::{Record, kind};
use crate::rp2350::world::World;
use parts::batch::Batches;
pub use parts::mcu::{ChipConfig, RunEnd};
use sim::snapshot::{self, Refused, Torn};

/// ROSC's nominal frequency, which clocks the chip after a reset (datasheet 8.3.1).
const ROSC_NOMINAL_HZ: u64 = 11_000_000;

/// The chip with cores of one kind.
pub struct Chip<K: Kind = V8m> {
    /// Its cores.
    pub cores: [K::Core; 2],
    /// Its memories.
    pub mem: Memory<K>,
    /// Everything else on its bus.
    pub bus: Bus,
    runner: Runner,
    pub(crate) probes: Probes,
}

impl<K: Kind> Chip<K> {
    /// Returns a chip at power-on, with `world` on its pins.
    pub fn new(config: &ChipConfig, world: impl World) -> Self {
        let mut mem = Memory::new(config.bootrom, config.flash_size);
        let len = config.flash.len().min(mem.flash_size());
        mem.flash_write(0, &config.flash[..len]);
        let mut bus = Bus::new(crate::rp2350::wires::sys(ROSC_NOMINAL_HZ), world);
        if let Some(csn) = config.psram_csn {
            bus.qmi.connect_psram(csn);
        }
        bus.own_boot_rom = bootrom::is_own(config.bootrom);
        bus.power_on(&mut mem, config.bootsel_pressed);
        let mut chip =
            Self { cores: [K::new(0), K::new(1)], mem, bus, runner: Runner::default(), probes: Probes::default() };
        for core in &mut chip.cores {
            K::start(core, &chip.mem, 0, 0);
        }
        chip
    }

    /// Appends the state of all but the world to a snapshot. A trace is left out. `Err`: a debugger watches the chip.
    pub(crate) fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        self.probes.debug.refuses_snapshot()?;
        snapshot::save(&self.cores, to);
        snapshot::save(&self.runner, to);
        self.mem.save(to);
        self.bus.save(to);
        Ok(())
    }

    /// Restores a new chip with a flash of the same size. After an error, the chip is to be dropped.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        snapshot::restore(&mut self.cores, from)?;
        snapshot::restore(&mut self.runner, from)?;
        self.mem.restore(from)?;
        self.bus.restore(from)?;
        self.bus.qmi.restored(&mut self.mem);
        Ok(())
    }

    /// Puts cores of another kind into the sockets; their reset has just ended.
    pub(crate) fn replace_cores<L: Kind>(self) -> Chip<L> {
        let Self { cores, mem, bus, runner, probes } = self;
        let mem = mem.for_architecture();
        let start = |core: &K::Core| {
            let (seen, mut new) = (K::seen(core), L::new(K::seen(core).index));
            L::count_from(&mut new, &seen);
            if seen.state != State::Held {
                L::start(&mut new, &mem, bus.sys.irq_level_for_core(seen.index), 0);
            }
            new
        };
        Chip { cores: [start(&cores[0]), start(&cores[1])], mem, bus, runner, probes }
    }

    pub(crate) fn seen(&self, core: usize) -> Seen {
        K::seen(&self.cores[core])
    }

    /// Returns what the probes see of the cores.
    pub(crate) fn probed(&self) -> [probe::Seen; 2] {
        [0, 1].map(|core| self.seen(core).probed())
    }

    pub(crate) fn registers(&self, core: usize) -> Vec<u32> {
        K::registers(&self.cores[core])
    }

    pub(crate) fn set_registers(&mut self, core: usize, registers: &[u32]) {
        K::set_registers(&mut self.cores[core], registers);
    }

    /// Simulated time since power-on.
    pub fn now(&self) -> Ps {
        self.runner.now()
    }

    /// Runs until simulated time `until`, a reset, or a fault of the model. An instruction in progress is completed,
    /// together with the events due within it.
    pub fn run_until(&mut self, until: Ps) -> RunEnd {
        let end = self.with_runner(|runner, chip| runner.run(chip, until, false));
        self.bus.end_batch(self.now());
        end
    }

    /// Like [`Self::run_until`], but handles no event due after `until`, since an external event may come before it.
    pub fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        let end = self.with_runner(|runner, chip| runner.run(chip, until, true));
        self.bus.end_batch(self.settled());
        end
    }

    /// Returns the time before which everything has happened.
    pub fn settled(&self) -> Ps {
        self.runner.settled(&self.bus.sys)
    }

    /// Lends the runner itself to `use_runner`. One that unwinds leaves the time at which it began.
    fn with_runner<T>(&mut self, use_runner: impl FnOnce(&mut Runner, &mut Self) -> T) -> T {
        let mut runner = self.runner;
        let result = use_runner(&mut runner, self);
        self.runner = runner;
        result
    }

    /// Samples the program counters every `cycles` of clk_sys into the trace (0: never). Moves no simulated time.
    pub fn sample_pc(&mut self, cycles: u64) {
        self.with_runner(|runner, chip| runner.sample_pc(chip, cycles));
    }

    /// Starts the trace of the kinds in `mask`, beginning with the present state of the pins.
    pub fn start_trace(&mut self, mask: u32, limit: usize) {
        self.with_runner(|runner, chip| runner.start_trace(chip, mask, limit));
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

impl<K: Kind> Runs for Chip<K> {
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
    fn run_core(&mut self, index: usize, limit: u64) -> bool {
        if self.probes.look() {
            // Probes look at each instruction.
            self.bus.sys.handle_no_events();
            let (core, mem, bus) = (&mut self.cores[index], &mut self.mem, &mut self.bus);
            return self.probes.run(&mut Lent::<K> { core, mem, bus }, limit);
        }
        K::take_pending(&mut self.cores[index], &mut self.mem, &mut self.bus);
        K::run(&mut self.cores[index], &mut self.mem, &mut self.bus, limit);
        false
    }

    #[inline]
    fn run_ahead(&mut self, index: usize, end: u64) -> bool {
        !self.probes.look() && K::run_ahead(&mut self.cores, &mut self.mem, &mut self.bus, index, end)
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
        let cycle = self.bus.sys.cycle;
        let cause = match request {
            ResetRequest::Psm { entered, left } => {
                if entered & psm::bit::SIO != 0 {
                    self.bus.reset_sio(&mut self.mem);
                }
                if entered & psm::bit::ACCESSCTRL != 0 {
                    self.bus.blocks.accessctrl.reset(&mut self.bus.sys);
                }
                if entered & psm::bit::PROC1 != 0 {
                    K::hold(&mut self.cores[1]);
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
        let Bus { blocks, sys, .. } = &mut self.bus;
        blocks.otp.sample_archsel(sys);
        self.start_core(0, cycle);
        if self.bus.sys.held_by_psm & psm::bit::PROC1 == 0 {
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
        self.probes.count_sample(self.probed());
    }
}
