//! The deterministic TLS peer.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tls::{Connection, Identity, Peer, SetupError, Versions};

pyo3::create_exception!(
    portbench_engine,
    TlsError,
    pyo3::exceptions::PyException,
    "A TLS connection ended; one line says why. `answer` holds the alert to send."
);

fn refused(error: SetupError) -> PyErr {
    PyValueError::new_err(error.0)
}

fn versions(text: &str) -> PyResult<Versions> {
    match text {
        "" => Ok(Versions::Both),
        "1.2" => Ok(Versions::Tls12),
        "1.3" => Ok(Versions::Tls13),
        _ => Err(PyValueError::new_err(format!("{text:?} is no version of TLS; use 1.2, 1.3, or nothing for both"))),
    }
}

/// A server with several identities, and a client.
#[pyclass(name = "TlsPeer", module = "portbench_engine")]
pub(crate) struct PyTlsPeer {
    peer: Peer,
}

#[pymethods]
impl PyTlsPeer {
    #[new]
    fn new(seed: u64) -> Self {
        Self { peer: Peer::new(seed) }
    }

    #[pyo3(signature = (name, chain, key, *, version = "", client_root = None))]
    fn add(
        &mut self,
        name: &str,
        chain: Vec<Vec<u8>>,
        key: Vec<u8>,
        version: &str,
        client_root: Option<Vec<u8>>,
    ) -> PyResult<()> {
        let identity = Identity { chain, key, versions: versions(version)?, client_root };
        self.peer.add(name, identity).map_err(refused)
    }

    fn accept(&self) -> PyResult<PyTlsConnection> {
        Ok(PyTlsConnection { connection: self.peer.accept().map_err(refused)? })
    }

    #[pyo3(signature = (name, root, *, version = ""))]
    fn connect(&self, name: &str, root: &[u8], version: &str) -> PyResult<PyTlsConnection> {
        Ok(PyTlsConnection { connection: self.peer.connect(name, root, versions(version)?).map_err(refused)? })
    }
}

/// One side of a TLS connection, without I/O.
#[pyclass(name = "TlsConnection", module = "portbench_engine")]
pub(crate) struct PyTlsConnection {
    connection: Connection,
}

#[pymethods]
impl PyTlsConnection {
    fn receive<'py>(
        &mut self,
        py: Python<'py>,
        data: &[u8],
        unix_s: u64,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, bool)> {
        match self.connection.receive(data, unix_s) {
            Ok(received) => {
                Ok((PyBytes::new(py, &received.plaintext), PyBytes::new(py, &received.answer), received.closed))
            }
            Err(fault) => {
                let error = TlsError::new_err(fault.text);
                error.value(py).setattr("answer", PyBytes::new(py, &fault.answer))?;
                Err(error)
            }
        }
    }

    fn send<'py>(&mut self, py: Python<'py>, plaintext: &[u8]) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.connection.send(plaintext))
    }

    fn close<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.connection.close())
    }

    #[getter]
    fn handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    #[getter]
    fn version(&self) -> Option<String> {
        self.connection.version()
    }

    #[getter]
    fn cipher_suite(&self) -> Option<String> {
        self.connection.cipher_suite()
    }

    #[getter]
    fn server_name(&self) -> Option<String> {
        self.connection.server_name()
    }

    #[getter]
    fn resumed(&self) -> bool {
        self.connection.resumed()
    }
}
