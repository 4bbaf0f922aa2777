//! An attribution of time as Python has it: dicts of lists, an entry for each span.

use attribution::{Cause, Class, Clock, Interval, Readings, Shares, Sought, Windows, attribute, timeline};
use board::mcu::{AnyChip, Debugged, Mcu};
use board::{Recorded, Wiring};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Ps;

use crate::py_time::us;

/// What an attribution says of the chip.
pub(crate) struct Clocks {
    clk_sys_hz: u64,
    miss_cycles: u32,
    flash_base: u32,
}

impl Clocks {
    pub(crate) fn of(chip: &mut AnyChip<Wiring>) -> Self {
        Self {
            clk_sys_hz: chip.sys().freq.clk_sys_hz,
            miss_cycles: chip.xip().map_or(0, |xip| xip.miss_cycles),
            flash_base: chip.facts().flash_base,
        }
    }
}

/// `{"spans": {...} or None, "stages": {...}, "misses": [...], "lost": bool, "clk_sys_hz": int, "miss_cycles": int}`.
///
/// `given`: the intervals, if they are known.
/// `misses`: (address of a line of flash, how often it was missed) from the first span to the last one.
/// `spans` is None where no readings of the clock fit what the client told.
pub(crate) fn shared<'py>(
    py: Python<'py>,
    clocks: &Clocks,
    recorded: &Recorded,
    sought: &Sought,
    given: Option<Vec<Interval>>,
) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("clk_sys_hz", clocks.clk_sys_hz)?;
    d.set_item("miss_cycles", clocks.miss_cycles)?;
    let marks = &recorded.recording.marks;
    let readable = Clock::ALL.into_iter();
    let found = match given {
        None => {
            let readings = Readings::new(marks, Ps::MAX);
            readable.map(|clock| Sought { clock, ..sought.clone() }).find_map(|sought| readings.find(&sought))
        }
        Some(spans) => {
            let first = spans.first().map_or(0, |span| span.0);
            let before = Readings::new(marks, first);
            let ready = readable.map(|clock| Sought { clock, ..sought.clone() });
            let ready = ready.filter_map(|sought| before.find_ready(&sought)).next().unwrap_or_default();
            Some(Windows { intervals: spans, ..ready })
        }
    };
    let Some(windows) = found else {
        d.set_item("lost", recorded.is_torn())?;
        d.set_item("spans", py.None())?;
        return Ok(d);
    };
    let shares = attribute(&recorded.recording, &recorded.frames, &recorded.transfers, &windows.intervals);
    d.set_item("spans", columns(py, &shares, &windows.intervals)?)?;
    let (names, stages) = stages(recorded, &windows);
    let told = columns(py, &attribute(&recorded.recording, &recorded.frames, &recorded.transfers, &stages), &stages)?;
    told.set_item("names", names)?;
    d.set_item("stages", told)?;
    let lines = shares.misses.iter().map(|(line, count)| (clocks.flash_base + line, *count));
    d.set_item("misses", lines.collect::<Vec<_>>())?;
    d.set_item("lost", recorded.is_torn())?; // also where a tape could not be read just now
    Ok(d)
}

/// `[(start_us, end_us, cause)]`, see [`timeline`].
pub(crate) fn moments(recorded: &Recorded, span: Interval) -> Vec<(f64, f64, &'static str)> {
    let found = timeline(&recorded.recording, &recorded.frames, &recorded.transfers, span);
    let name = |cause: Cause| Cause::ALL[cause as usize].1;
    found.into_iter().map(|((from, to), cause)| (us(from), us(to), name(cause))).collect()
}

fn columns<'py>(py: Python<'py>, shares: &Shares, spans: &[Interval]) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("start_ps", spans.iter().map(|span| span.0).collect::<Vec<Ps>>())?;
    d.set_item("duration_ps", spans.iter().map(|span| span.1 - span.0).collect::<Vec<Ps>>())?;
    let causes = PyDict::new(py);
    for (cause, name) in Cause::ALL {
        let column: Vec<Ps> = shares.causes_ps.iter().map(|each| each[cause as usize]).collect();
        if column.iter().any(|&ps| ps != 0) {
            causes.set_item(name, column)?;
        }
    }
    d.set_item("causes_ps", causes)?;
    d.set_item("counts", &shares.counts)?;
    d.set_item("exceptions", &shares.exceptions)?;
    d.set_item("registers", &shares.registers)?;
    Ok(d)
}

/// The way to the first span, as far as the client tells of it: `boot`, `link`, `address`, `connect`; else all of it.
fn stages(recorded: &Recorded, windows: &Windows) -> (Vec<&'static str>, Vec<Interval>) {
    let (mut names, mut stages) = (Vec::new(), Vec::new());
    let mut add = |name, from: Ps, to: Ps| {
        if from < to {
            names.push(name);
            stages.push((from, to));
        }
    };
    let (Some(started), Some(ready)) = (windows.started, windows.ready) else {
        if let Some(first) = windows.intervals.first() {
            add("start", 0, first.0);
        }
        return (names, stages);
    };
    add("boot", 0, started);
    let linked = windows.linked.unwrap_or(started);
    add("link", started, linked);
    let opens = recorded.frames.iter().filter(|frame| !frame.to_board && frame.class == Class::Open);
    let opened = opens.map(|frame| frame.start).find(|&at| (linked..ready).contains(&at)).unwrap_or(ready);
    add("address", linked, opened);
    add("connect", opened, ready);
    (names, stages)
}
