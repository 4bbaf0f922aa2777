//! Profiles of the guest as Python objects.

use board::mcu::probe::Profiled;
use board::mcu::probe::profile::{Node, Profile, Spent};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// `(instructions, cycles, stalls, misses)`.
fn spent(spent: Spent) -> (u64, u64, u64, u64) {
    (spent.instructions, spent.cycles, spent.stalls, spent.misses)
}

/// What [`exact`] says, or `{"samples": [(core, address, count)]}`, and in both `"evictions"`: `[(flash offset missed,
/// flash offset replaced or None, count)]`.
pub(crate) fn profiled(py: Python<'_>, profiled: Profiled) -> PyResult<Bound<'_, PyDict>> {
    let d = match profiled.exact {
        Some(profile) => exact(py, &profile)?,
        None => {
            let d = PyDict::new(py);
            d.set_item("samples", profiled.samples)?;
            d
        }
    };
    d.set_item("evictions", profiled.evictions.into_iter().map(|((at, gone), n)| (at, gone, n)).collect::<Vec<_>>())?;
    Ok(d)
}

/// `{"addresses": [(address, spent)], "nodes": [(parent, function, core, exception, calls, spent, asleep)],
/// "starts": [address]}`.
fn exact<'py>(py: Python<'py>, profile: &Profile) -> PyResult<Bound<'py, PyDict>> {
    let d = PyDict::new(py);
    d.set_item("addresses", PyList::new(py, profile.addresses().into_iter().map(|(at, all)| (at, spent(all))))?)?;
    let node = |n: &Node| (n.parent, n.function, n.core, n.exception, n.calls, spent(n.spent), n.asleep);
    d.set_item("nodes", PyList::new(py, profile.nodes().iter().map(node))?)?;
    d.set_item("starts", profile.starts().collect::<Vec<_>>())?;
    Ok(d)
}
