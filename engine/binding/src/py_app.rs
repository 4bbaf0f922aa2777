//! Applications of the simulated PC that are written in Python.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lan::UdpApp;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::{AppReply, Ps, TcpApp, ps, us};

/// The means of an application to end the run with each call.
struct Pause(Option<Arc<AtomicBool>>);

impl Pause {
    /// Of an object whose attribute `pauses` is true.
    fn of(object: &Py<PyAny>, pause: Option<&Arc<AtomicBool>>) -> Self {
        let pauses =
            |py: Python<'_>| object.getattr(py, "pauses").and_then(|pauses| pauses.is_truthy(py)).unwrap_or(false);
        Self(pause.filter(|_| Python::attach(pauses)).cloned())
    }

    fn request(&self) {
        if let Some(pause) = &self.0 {
            pause.store(true, Ordering::Relaxed);
        }
    }
}

/// A Python object with `accept(conn, peer, now_us)`, `receive(conn, data, now_us)` and `closed(conn, reset, now_us)`,
/// each with `(data, close, reset, again_us)` as its answer. An exception resets the connection; Python reports it as
/// unraisable.
pub(crate) struct PyApp {
    object: Py<PyAny>,
    pause: Pause,
}

impl PyApp {
    pub(crate) fn new(object: Py<PyAny>, pause: Option<&Arc<AtomicBool>>) -> Self {
        Self { pause: Pause::of(&object, pause), object }
    }

    fn reply<'py>(&self, py: Python<'py>, answer: PyResult<Py<PyAny>>) -> AppReply {
        self.pause.request();
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

/// A Python object with `receive(peer, data, now_us)`, whose answer is a list of `(after_us, data)`. After an exception
/// there is none; Python reports it as unraisable.
pub(crate) struct PyUdpApp {
    object: Py<PyAny>,
    pause: Pause,
}

impl PyUdpApp {
    pub(crate) fn new(object: Py<PyAny>, pause: Option<&Arc<AtomicBool>>) -> Self {
        Self { pause: Pause::of(&object, pause), object }
    }
}

impl UdpApp for PyUdpApp {
    fn receive(&mut self, _from: SocketAddrV4, _data: &[u8], _now: Ps) -> Option<Vec<u8>> {
        None
    }

    fn answers(&mut self, from: SocketAddrV4, data: &[u8], now: Ps) -> Vec<(Ps, Vec<u8>)> {
        self.pause.request();
        Python::attach(|py| {
            let arguments = (from.to_string(), PyBytes::new(py, data), us(now));
            let answer = self.object.call_method1(py, "receive", arguments);
            match answer.and_then(|answer| answer.extract::<Vec<(f64, Vec<u8>)>>(py)) {
                Ok(answers) => answers.into_iter().map(|(after_us, data)| (ps(after_us), data)).collect(),
                Err(error) => {
                    error.write_unraisable(py, Some(self.object.bind(py)));
                    Vec::new()
                }
            }
        })
    }
}
