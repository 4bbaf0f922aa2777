//! A chip's calls of the recorder for an attribution of time. Without a recorder they do nothing, and they never change
//! the chip's behaviour.

use attribution::{Counters, Mark, Recorder, Recording};
use sim::Ps;

use crate::Sys;
use crate::xip_cache::XipCache;

/// TIMELR and TIMERAWL of a timer.
const LOW_WORDS: [u32; 2] = [0x0c, 0x28];

/// What a recording counts of core 0, beside what the cache counts.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// It waits in WFI or WFE.
    pub asleep: bool,
    /// Locked up or held in reset.
    pub stopped: bool,
    /// Instructions; those from flash; those from ROM; the FPU's arithmetic; those that reach DCP.
    pub instructions: [u64; 5],
}

/// Returns the counters at this time; `waited`: cycles of core 0 in wait states of the peripheral bus.
fn counters(xip: &XipCache, waited: u64) -> Counters {
    let mut counters = Counters { stalled: xip.stalled, waited, ..Counters::default() };
    counters.counts[..2].copy_from_slice(&[xip.accesses, xip.misses]);
    counters
}

/// Starts recording; `limit`: most changes recorded.
pub fn start(sys: &mut Sys, xip: &mut XipCache, limit: usize) {
    xip.missed_lines = Some(Box::default());
    sys.recording = Some(Box::new(Recorder::new(limit)));
}

/// Ends recording at `now`. `None`: it had not started.
pub fn stop(sys: &mut Sys, xip: &mut XipCache, waited: u64, now: Ps) -> Option<Recording> {
    let missed = xip.missed_lines.take();
    let mut recorder = sys.recording.take()?;
    recorder.misses(now, missed.map(|mut lines| lines.take()).unwrap_or_default());
    Some(recorder.finish(now, counters(xip, waited), sys.clock.hz()))
}

/// Passes the state of core 0 to the recorder.
pub fn note_core(sys: &mut Sys, core: Counted) {
    if let Some(recorder) = sys.recorder() {
        recorder.core(core.asleep, core.stopped, core.instructions);
    }
}

/// Passes the present state to the recorder; `outside`: the world's, with what the chip adds.
pub fn observe(sys: &mut Sys, xip: &mut XipCache, waited: u64, outside: u8, always: bool) {
    let (now, hz) = (sys.now(), sys.clock.hz());
    let Some(recorder) = sys.recorder() else { return };
    recorder.observe(now, outside, counters(xip, waited), hz, always);
    if recorder.wants_misses(now)
        && let Some(missed) = &mut xip.missed_lines
    {
        recorder.misses(now, missed.take());
    }
}

/// Returns whether a reading of the register at `offset` is one of a timer's low word that says something new.
pub fn is_clock(sys: &mut Sys, offset: u32, value: u32, pc: u32) -> bool {
    LOW_WORDS.contains(&offset) && sys.recorder().is_some_and(|recorder| !recorder.has_read(value, pc))
}

/// Tells the recorder that core 0 read `value` from a timer with the tick `tick`.
pub fn read_clock(sys: &mut Sys, tick: usize, value: u32, pc: u32) {
    let ticks = &sys.ticks[tick];
    // The time when the timer reached this value; for a stopped timer, now.
    let at = ticks.time_of(ticks.count(sys.now())).min(sys.now());
    if let Some(recorder) = sys.recorder() {
        recorder.read_clock(Mark { at, value, pc });
    }
}
