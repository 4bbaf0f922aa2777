//! An attribution of time as Python has it: dicts of lists, an entry for each span.

use attribution::{Cause, Interval, Shares, Sought};
use board::{Clocks, Recorded};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Ps;

/// `{"spans": {...} or None, "stages": {...}, "misses": [...], "lost": bool, "clk_sys_hz": int, ...}`, and what else
/// [`Clocks`] has.
///
/// `given`: the intervals, if they are known.
/// `misses`: (address of a line of flash, how often it was missed) from the first span to the last one.
/// `spans` is None where no readings of the clock fit what the client told.
pub(crate) fn shared<'py>(
    py: Python<'py>,
    clocks: &Clocks,
    flash_base: u32,
    recorded: &Recorded,
    sought: &Sought,
    given: Option<Vec<Interval>>,
) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("clk_sys_hz", clocks.clk_sys_hz)?;
    d.set_item("flash_hz", clocks.flash_hz)?;
    d.set_item("miss_cycles", clocks.miss_cycles)?;
    d.set_item("next_line_cycles", clocks.next_line_cycles)?;
    let Some(account) = recorded.account(sought, given) else {
        d.set_item("lost", recorded.is_torn())?;
        d.set_item("spans", py.None())?;
        return Ok(d);
    };
    let told = columns(py, &account.stages)?;
    told.set_item("names", account.names)?;
    let lines = account.spans.1.misses.iter().map(|(line, count)| (flash_base + line, *count));
    d.set_item("misses", lines.collect::<Vec<_>>())?;
    d.set_item("spans", columns(py, &account.spans)?)?;
    d.set_item("stages", told)?;
    d.set_item("lost", recorded.is_torn())?; // also where a tape could not be read just now
    Ok(d)
}

fn columns<'py>(py: Python<'py>, (spans, shares): &(Vec<Interval>, Shares)) -> PyResult<Bound<'py, PyDict>> {
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
