//! The part of `Machine` that is a hand at the board's pins, and the PC's leads to its UARTs.

use board::millivolts;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::us;

use crate::py_config::gpio;
use crate::py_machine::{PyMachine, value_error};

const HIGH_MV: u32 = 3_300;

impl PyMachine {
    fn gpio(&self, pin: u32) -> PyResult<u32> {
        gpio(self.lock().chip().facts(), pin)
    }

    fn uart_number(&self, uart: usize) -> PyResult<usize> {
        if uart < 2 {
            return Ok(uart);
        }
        let name = self.lock().chip().facts().name;
        Err(PyValueError::new_err(format!("uart {uart}: the {name} has UART 0 and 1")))
    }
}

#[pymethods]
impl PyMachine {
    /// Hold a pin high or low, as a button to 3.3 V or to ground does, or let go of it (None). The chip's own output is
    /// stronger, its pulls are weaker.
    #[pyo3(signature = (pin, high))]
    fn set_pin(&self, pin: u32, high: Option<bool>) -> PyResult<()> {
        let pin = self.gpio(pin)?;
        self.lock().rearrange(|around| around.hold(pin, high.map(|high| if high { HIGH_MV } else { 0 })));
        Ok(())
    }

    /// Put a voltage to a pin, or take it away (None): the ADC reads it on GPIO 26 to 29, a program high from 1.65 V on.
    #[pyo3(signature = (pin, volts))]
    fn set_voltage(&self, pin: u32, volts: Option<f64>) -> PyResult<()> {
        let (pin, mv) = (self.gpio(pin)?, volts.map(millivolts).transpose().map_err(value_error)?);
        self.lock().rearrange(|around| around.hold(pin, mv));
        Ok(())
    }

    /// The voltage at which the controls hold a pin; None for a pin that they leave alone.
    fn voltage(&self, pin: u32) -> PyResult<Option<f64>> {
        let pin = self.gpio(pin)?;
        Ok(self.lock().surroundings().held_mv(pin).map(|mv| f64::from(mv) / 1e3))
    }

    /// Lay a jumper wire between two pins.
    fn wire(&self, a: u32, b: u32) -> PyResult<()> {
        let (a, b) = (self.gpio(a)?, self.gpio(b)?);
        if a == b {
            return Err(PyValueError::new_err(format!("a wire from pin {a} to itself: name two pins")));
        }
        self.lock().rearrange(|around| around.wire(a, b));
        Ok(())
    }

    /// Take a jumper wire away; false if there is none between these pins.
    fn unwire(&self, a: u32, b: u32) -> PyResult<bool> {
        let (a, b) = (self.gpio(a)?, self.gpio(b)?);
        let mut there = false;
        self.lock().rearrange(|around| there = around.unwire(a, b));
        Ok(there)
    }

    /// The jumper wires, as pairs of pins.
    fn wires(&self) -> Vec<(u32, u32)> {
        self.lock().surroundings().wires().to_vec()
    }

    /// Level of a pin now.
    fn pin(&self, pin: u32) -> PyResult<bool> {
        let pin = self.gpio(pin)?;
        Ok(self.lock().pins().0 & (1 << pin) != 0)
    }

    /// Levels of all pins now, and which of them the chip drives: bit n is GPIO n.
    fn pins(&self) -> (u64, u64) {
        self.lock().pins()
    }

    /// What UART 0 or 1 has sent since the last call, the newest 64 KiB, on whatever pin it has.
    fn uart_read<'py>(&self, py: Python<'py>, uart: usize) -> PyResult<Bound<'py, PyBytes>> {
        let uart = self.uart_number(uart)?;
        Ok(PyBytes::new(py, &self.lock().uart_cable(uart).read()))
    }

    /// When the last character of UART 0 or 1 came; 0 before the first.
    fn uart_time_us(&self, uart: usize) -> PyResult<f64> {
        let uart = self.uart_number(uart)?;
        Ok(us(self.lock().uart_cable(uart).received_at()))
    }

    /// Sends to UART 0 or 1, at its own speed; returns the number of bytes taken. A UART that is off loses them.
    fn uart_write(&self, uart: usize, data: &[u8]) -> PyResult<usize> {
        let uart = self.uart_number(uart)?;
        Ok(self.lock().send_to_uart(uart, data))
    }

    /// Bytes for UART 0 or 1 that have not come to the board yet.
    fn uart_unsent(&self, uart: usize) -> PyResult<usize> {
        let uart = self.uart_number(uart)?;
        Ok(self.lock().uart_cable(uart).unsent())
    }
}
