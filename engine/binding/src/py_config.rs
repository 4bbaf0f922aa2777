//! Python's settings, and the objects among them that JSON has not.

use board::mcu::Facts;
use board::{BoardConfig, check_pin};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyString};
use serde_json::Value;

use crate::py_card::PyMedium;
use crate::py_device::{self, Failures};
use crate::py_machine::value_error;

pub(crate) fn parse<T: std::str::FromStr>(key: &str, value: &str) -> PyResult<T> {
    value
        .parse()
        .map_err(|_| PyValueError::new_err(format!("{key} = {value:?} is not an address of the form it needs")))
}

/// Returns settings as JSON; an object that has no such form is its text, as a path is.
pub(crate) fn json(settings: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = settings.py();
    let options = [("default", py.get_type::<PyString>())].into_py_dict(py)?;
    let text: String = py.import("json")?.call_method("dumps", (settings,), Some(&options))?.extract()?;
    serde_json::from_str(&text).map_err(value_error)
}

/// Reads a board's settings.
pub(crate) fn board(bootrom: Vec<u8>, settings: &Bound<'_, PyDict>, failures: &Failures) -> PyResult<BoardConfig> {
    let plain = settings.copy()?;
    plain.set_item("attached", ())?;
    let mut config = BoardConfig::from_settings(bootrom, json(&plain)?).map_err(value_error)?;
    if let Some(attached) = settings.get_item("attached")? {
        for device in attached.try_iter()? {
            config.attachments.push(py_device::attachment(config.mcu, device?.cast()?, failures)?);
        }
    }
    if let (Some(socket), Some(card)) = (&mut config.card, settings.get_item("sd_card")?) {
        socket.card.medium = card.get_item("medium")?.extract::<PyMedium>()?.0;
    }
    Ok(config)
}

/// The number of a GPIO.
pub(crate) fn gpio(mcu: &Facts, pin: u32) -> PyResult<u32> {
    check_pin(mcu, &format!("pin {pin}"), pin).map_err(value_error)?;
    Ok(pin)
}

/// A GPIO number, or None for a pin that is not wired.
pub(crate) fn pin(mcu: &Facts, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let pin = value.extract::<Option<u32>>()?;
    let checked = pin.map_or(Ok(()), |pin| check_pin(mcu, &format!("{key} = {pin}"), pin));
    checked.map_err(value_error).map(|()| pin)
}
