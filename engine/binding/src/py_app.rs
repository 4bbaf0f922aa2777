//! Applications of the simulated PC that are written in Python.

use std::net::SocketAddrV4;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::{AppReply, Ps, TcpApp};

use crate::py_time::us;

/// A Python object with `accept(conn, peer, now_us)`, `receive(conn, data, now_us) -> (bytes, close, reset)` and
/// `closed(conn, now_us)`. An exception resets the connection; Python reports it as unraisable.
pub struct PyApp {
    object: Py<PyAny>,
}

impl PyApp {
    pub fn new(object: Py<PyAny>) -> Self {
        Self { object }
    }
}

impl TcpApp for PyApp {
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) {
        Python::attach(|py| {
            if let Err(error) = self.object.call_method1(py, "accept", (conn, peer.to_string(), us(now))) {
                error.write_unraisable(py, Some(self.object.bind(py)));
            }
        });
    }

    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply {
        Python::attach(|py| {
            let reply = self
                .object
                .call_method1(py, "receive", (conn, PyBytes::new(py, data), us(now)))
                .and_then(|reply| reply.extract::<(Vec<u8>, bool, bool)>(py));
            match reply {
                Ok((data, close, reset)) => AppReply { data, close, reset },
                Err(error) => {
                    error.write_unraisable(py, Some(self.object.bind(py)));
                    AppReply { reset: true, ..AppReply::default() }
                }
            }
        })
    }

    fn closed(&mut self, conn: u64, now: Ps) {
        Python::attach(|py| {
            if let Err(error) = self.object.call_method1(py, "closed", (conn, us(now))) {
                error.write_unraisable(py, Some(self.object.bind(py)));
            }
        });
    }
}
