//! Applications of the simulated PC that are written in Python.

use std::net::SocketAddrV4;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::{AppReply, Ps, TcpApp};

use crate::py_time::{ps, us};

/// A Python object with `accept(conn, peer, now_us)`, `receive(conn, data, now_us)` and `closed(conn, reset, now_us)`,
/// each with `(data, close, reset, again_us)` as its answer. An exception resets the connection; Python reports it as
/// unraisable.
pub struct PyApp {
    object: Py<PyAny>,
}

impl PyApp {
    pub fn new(object: Py<PyAny>) -> Self {
        Self { object }
    }

    fn reply<'py>(&self, py: Python<'py>, answer: PyResult<Py<PyAny>>) -> AppReply {
        match answer.and_then(|answer| answer.extract::<(Vec<u8>, bool, bool, Option<f64>)>(py)) {
            Ok((data, close, reset, again_us)) => AppReply { data, close, reset, again: again_us.map(ps) },
            Err(error) => {
                error.write_unraisable(py, Some(self.object.bind(py)));
                AppReply { reset: true, ..AppReply::default() }
            }
        }
    }
}

impl TcpApp for PyApp {
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) -> AppReply {
        Python::attach(|py| self.reply(py, self.object.call_method1(py, "accept", (conn, peer.to_string(), us(now)))))
    }

    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply {
        Python::attach(|py| {
            self.reply(py, self.object.call_method1(py, "receive", (conn, PyBytes::new(py, data), us(now))))
        })
    }

    fn closed(&mut self, conn: u64, reset: bool, now: Ps) -> AppReply {
        Python::attach(|py| self.reply(py, self.object.call_method1(py, "closed", (conn, reset, us(now)))))
    }
}
