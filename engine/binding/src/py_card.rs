//! `SdMedium`: the memory of an SD card, and how a card gets into a board's socket.

use board::{CardSocketConfig, SidePins, SpiWires};
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sd_card::{BINS_NS, Card, CardConfig, Direction, Kind, Medium, Wear};
use sim::PS_PER_NS;

use crate::py_config::{spi_bus, unknown};
use crate::py_time::us;

/// The memory of an SD card, which outlives its power: blocks of 512 bytes, of which only those that are not zero take
/// any memory.
#[pyclass(name = "SdMedium", module = "portbench_engine", from_py_object)]
#[derive(Clone)]
pub(crate) struct PyMedium(Medium);

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

const PIN_KEYS: [&str; 4] = ["sck_pin", "mosi_pin", "miso_pin", "csn_pin"];

/// `{"medium": SdMedium, "kind": "...", "seed": 1, "bus": "spi1", "sck_pin": 10, ...}`, or None for an empty socket.
pub(crate) fn socket(value: &Bound<'_, PyAny>) -> PyResult<Option<CardSocketConfig>> {
    if value.is_none() {
        return Ok(None);
    }
    let (mut kind, mut medium, mut seed, mut bus) = (None, None, 1, None);
    let mut wear = Wear::default();
    let mut pins = [None; PIN_KEYS.len()];
    for (key, value) in value.cast::<PyDict>()?.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "kind" => kind = Some(self::kind(&value.extract::<String>()?)?),
            "medium" => medium = Some(value.extract::<PyMedium>()?.0),
            "seed" => seed = value.extract()?,
            "write_protected" => wear.write_protected = value.extract()?,
            "good_writes" => wear.good_writes = value.extract()?,
            "corrupt_one_in" => wear.corrupt_one_in = value.extract()?,
            "bus" => bus = Some(value.extract::<String>()?),
            _ => match PIN_KEYS.iter().position(|known| *known == key) {
                Some(index) => pins[index] = value.extract()?,
                None => return Err(PyKeyError::new_err(format!("unknown setting {key:?} of an SD card"))),
            },
        }
    }
    let lacking = |key: &str| PyValueError::new_err(format!("sd_card has no {key}"));
    let wired = |index: usize| pins[index].ok_or_else(|| lacking(PIN_KEYS[index]));
    let wires = SpiWires {
        spi: spi_bus("sd_card", bus.as_deref())?,
        sck: wired(0)?,
        mosi: wired(1)?,
        miso: wired(2)?,
        csn: wired(3)?,
        side: SidePins { rstn: None, intn: None },
    };
    let (kind, medium) = (kind.ok_or_else(|| lacking("kind"))?, medium.ok_or_else(|| lacking("medium"))?);
    Ok(Some(CardSocketConfig { wires, card: CardConfig { kind, medium, seed, wear } }))
}

fn kind(name: &str) -> PyResult<&'static Kind> {
    Kind::named(name).ok_or_else(|| unknown("sd_card: kind", name, sd_card::KINDS.iter().map(|kind| kind.name)))
}

/// Adds the card's counters since the power cycle.
pub(crate) fn stats(card: &Card, d: &Bound<'_, PyDict>) -> PyResult<()> {
    let usage = card.usage();
    d.set_item("sd_commands", usage.commands)?;
    d.set_item("sd_errors", usage.errors)?;
    for (name, direction) in [("read", Direction::Read), ("write", Direction::Write)] {
        let used = usage.of(direction);
        d.set_item(format!("sd_{name}_blocks"), used.blocks)?;
        d.set_item(format!("sd_{name}_bytes"), used.bytes)?;
        d.set_item(format!("sd_{name}_clocked_us"), us(used.clocked))?;
        d.set_item(format!("sd_{name}_card_us"), us(used.card))?;
        let Some(spread) = used.gaps.spread() else { continue };
        let [least, mean, most] = spread.map(|gap| gap as f64 / PS_PER_NS as f64);
        d.set_item(format!("sd_{name}_gap_min_ns"), least)?;
        d.set_item(format!("sd_{name}_gap_median_ns"), used.gaps.median_ns())?;
        d.set_item(format!("sd_{name}_gap_mean_ns"), mean)?;
        d.set_item(format!("sd_{name}_gap_max_ns"), most)?;
        let bins = used.gaps.bins();
        for (end, count) in BINS_NS.iter().zip(bins) {
            d.set_item(format!("sd_{name}_gaps_to_{end}_ns"), count)?;
        }
        d.set_item(format!("sd_{name}_gaps_longer"), bins[BINS_NS.len()])?;
    }
    Ok(())
}
