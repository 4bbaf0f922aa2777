//! `SdMedium`: the memory of an SD card.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sd_card::Medium;

/// The memory of an SD card, which outlives its power: blocks of 512 bytes, of which only those that are not zero take
/// any memory.
#[pyclass(name = "SdMedium", module = "portbench_engine", from_py_object)]
#[derive(Clone)]
pub(crate) struct PyMedium(pub(crate) Medium);

fn os_error(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymethods]
impl PyMedium {
    #[new]
    fn new(blocks: u64) -> Self {
        Self(Medium::new(blocks))
    }

    #[getter]
    fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    /// Grows with each change.
    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    /// Make one FAT volume of it, without a partition table.
    fn format(&self, py: Python<'_>, label: &str) -> PyResult<()> {
        py.detach(|| self.0.format(label)).map_err(os_error)
    }

    /// Make a small volume with a file that leaves `free` bytes of it.
    fn fill(&self, py: Python<'_>, label: &str, free: u64) -> PyResult<()> {
        py.detach(|| self.0.fill(label, free)).map_err(os_error)
    }

    /// Where anything but zeros may be: `[(offset, length)]`.
    fn extents(&self) -> Vec<(u64, u64)> {
        self.0.extents()
    }

    fn read<'py>(&self, py: Python<'py>, offset: u64, length: usize) -> Bound<'py, PyBytes> {
        let mut bytes = vec![0; length];
        self.0.read(offset, &mut bytes);
        PyBytes::new(py, &bytes)
    }

    fn write(&self, offset: u64, data: &[u8]) {
        self.0.write(offset, data);
    }
}
