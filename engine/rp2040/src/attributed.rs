//! The chip's calls of the recorder for an attribution of time. Without a recorder they do nothing, and they never
//! change the chip's behaviour.

use attribution::{Counters, Mark, Recorder, Recording, state};

use crate::bus::Bus;
use crate::chip::Chip;
use crate::cpu::core::{Core, State};
use crate::map::TIMER;
use crate::memory::Memory;
use crate::world::World;

/// TIMER's TIMELR and TIMERAWL, with their atomic aliases.
const LOW_WORDS: [u32; 2] = [0x0c, 0x28];

impl<W: World> Chip<W> {
    /// Starts recording; `limit`: most changes recorded.
    pub fn start_recording(&mut self, limit: usize) {
        self.mem.xip.missed_lines = Some(Box::default());
        self.bus.sys.recording = Some(Box::new(Recorder::new(limit)));
        self.attribute();
    }

    /// Ends recording. `None`: it had not started.
    pub fn stop_recording(&mut self) -> Option<Recording> {
        let missed = self.mem.xip.missed_lines.take();
        let mut recorder = self.bus.sys.recording.take()?;
        let (now, hz) = (self.now(), self.bus.sys.clock.hz());
        recorder.misses(now, missed.map(|mut lines| lines.take()).unwrap_or_default());
        Some(recorder.finish(now, self.bus.counters(&self.mem), hz))
    }

    #[inline]
    pub(crate) fn attribute(&mut self) {
        if self.bus.sys.records() {
            self.note_core();
        }
    }

    #[cold]
    fn note_core(&mut self) {
        let core = &self.cores[0];
        let asleep = matches!(core.state, State::Wfi | State::Wfe);
        let stopped = matches!(core.state, State::LockedUp | State::Held);
        let counted = [core.instructions, core.flash_instructions, core.rom_instructions];
        if let Some(recorder) = self.bus.sys.recorder() {
            recorder.core(asleep, stopped, counted);
        }
        self.bus.observe(&mut self.mem, false);
    }
}

impl<W> Bus<W> {
    fn counters(&self, mem: &Memory) -> Counters {
        Counters {
            stalled: mem.xip.stalled,
            waited: self.waited,
            accesses: mem.xip.accesses,
            misses: mem.xip.misses,
            ..Counters::default()
        }
    }
}

impl<W: World> Bus<W> {
    /// Passes the present state to the recorder.
    #[cold]
    pub(crate) fn observe(&mut self, mem: &mut Memory, always: bool) {
        let now = self.sys.now();
        let counters = self.counters(mem);
        let hz = self.sys.clock.hz();
        let shifting = self.blocks.spi.iter().any(|spi| spi.shifting());
        let outside = self.world.attributed(now) | if shifting { state::BUSY } else { 0 };
        let Some(recorder) = self.sys.recorder() else { return };
        recorder.observe(now, outside, counters, hz, always);
        if recorder.wants_misses(now)
            && let Some(missed) = &mut mem.xip.missed_lines
        {
            recorder.misses(now, missed.take());
        }
    }
}

impl<W: World> Bus<W> {
    #[inline]
    pub(crate) fn count_waits(&mut self, core: &Core, address: u32) {
        if self.sys.records() && core.index == 0 && address >> 28 != 1 {
            self.waited += u64::from(self.waits);
        }
    }

    /// Tells the recorder that core 0 may have read the timer.
    #[cold]
    pub(crate) fn note_clock(&mut self, mem: &mut Memory, core: &Core, address: u32, value: u32) {
        let low = address & 0xffff_c000 == TIMER && LOW_WORDS.contains(&(address & 0xfff));
        if !low || core.index != 0 {
            return;
        }
        let tick = &self.sys.ticks[0];
        // The time when the timer reached this value; for a stopped timer, now.
        let at = tick.time_of(tick.count(self.sys.now())).min(self.sys.now());
        self.observe(mem, true);
        if let Some(recorder) = self.sys.recorder() {
            recorder.read_clock(Mark { at, value, pc: core.pc });
        }
    }
}
