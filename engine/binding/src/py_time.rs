//! Simulated time as Python has it: microseconds.

use sim::{PS_PER_US, Ps};

pub(crate) fn us(at: Ps) -> f64 {
    at as f64 / PS_PER_US as f64
}

pub(crate) fn ps(us: f64) -> Ps {
    (us * PS_PER_US as f64) as Ps
}
