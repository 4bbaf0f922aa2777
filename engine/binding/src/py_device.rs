//! Devices on a board's buses that are written in Python: see `portbench_engine.devices`, whose classes they extend.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use board::mcu::Facts;
use board::{Attachment, I2cWires, SidePins, SpiWires, UartWires};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator};
use sim::{Device, I2cDevice, PS_PER_S, PinDevice, Ps, SpiDevice, UartDevice};

use crate::EngineError;
use crate::py_config::pin;

/// Bits of a character: start, 8 data bits, stop.
const CHARACTER_BITS: u64 = 10;
const UNDRIVEN: u8 = 0xff;

thread_local! {
    static CALLED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is in a device's callback.
pub(crate) fn is_called() -> bool {
    CALLED.get()
}

/// A callback, until its end by an answer or a panic.
struct Callback(bool);

impl Callback {
    fn begin() -> Self {
        Self(CALLED.replace(true))
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        CALLED.set(self.0);
    }
}

/// An exception of a device, and the line for the user.
struct Failure {
    text: String,
    error: PyErr,
}

/// The first exception of a board's devices, which ends the run.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<Option<Failure>>>);

impl Failures {
    /// The error for the end of a run that was not for another reason, with the exception as its cause.
    pub(crate) fn error(&self, py: Python<'_>, of: &str) -> Option<PyErr> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = first.as_ref()?;
        let error = EngineError::new_err(format!("{of}{}", failure.text));
        error.set_cause(py, Some(failure.error.clone_ref(py)));
        Some(error)
    }

    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The Python object of a device, and what it asked for in its last callback.
struct Object {
    object: Py<PyAny>,
    /// Names of the pins without a bus.
    pins: Vec<String>,
    failures: Failures,
    failed: Option<String>,
    asked: Asked,
    in_reset: bool,
}

/// What an object asks for by its attributes.
#[derive(Default, PartialEq)]
struct Asked {
    interrupt: bool,
    wake: Option<Ps>,
    /// Levels of the pins without a bus.
    levels: Vec<Option<bool>>,
}

impl Asked {
    fn read(py: Python<'_>, object: &Py<PyAny>, pins: &[String]) -> PyResult<Self> {
        Ok(Self {
            interrupt: object.getattr(py, "interrupt")?.extract(py)?,
            wake: object.getattr(py, "wake_ps")?.extract(py)?,
            levels: pins.iter().map(|pin| object.getattr(py, pin)?.extract(py)).collect::<PyResult<_>>()?,
        })
    }
}

impl Object {
    fn new(object: &Py<PyAny>, pins: Vec<String>, failures: &Failures) -> Self {
        let object = Python::attach(|py| object.clone_ref(py));
        let (asked, failures) = (Asked::default(), failures.clone());
        let mut made = Self { object, pins, failures, failed: None, asked, in_reset: false };
        made.call(0, |py, object| object.call_method0(py, "power_up").map(drop));
        made
    }

    /// Calls the object at `now`. After an exception the run ends, and the answer is the default.
    fn call<T: Default>(&mut self, now: Ps, callback: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T>) -> T {
        if self.failed.is_some() {
            return T::default();
        }
        Python::attach(|py| {
            let in_callback = Callback::begin();
            let answer = self.object.setattr(py, "now_ps", now).and_then(|()| {
                let answer = callback(py, &self.object)?;
                self.asked = Asked::read(py, &self.object, &self.pins)?;
                Ok(answer)
            });
            drop(in_callback);
            answer.unwrap_or_else(|error| {
                let name = self.object.bind(py).get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
                let text = format!("the device {name} failed: {error}");
                self.failed = Some(text.clone());
                let mut first = self.failures.0.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(Failure { text, error });
                T::default()
            })
        })
    }

    fn set_reset(&mut self, now: Ps, low: bool) {
        if low && !self.in_reset {
            self.call(now, |py, object| object.call_method0(py, "reset").map(drop));
        }
        self.in_reset = low;
    }

    /// Takes what a test has changed in the object; true: something.
    fn take_changes(&mut self) -> bool {
        let asked = Python::attach(|py| Asked::read(py, &self.object, &self.pins));
        let changed = asked.as_ref().map_or(true, |asked| *asked != self.asked);
        match asked {
            _ if !changed => {}
            Ok(asked) => self.asked = asked,
            Err(error) => self.call(0, |_, _| Err(error)),
        }
        changed
    }

    /// Calls `wake` if it is due.
    fn wake<T: Default>(&mut self, now: Ps, take: impl FnOnce(Python<'_>, Py<PyAny>) -> PyResult<T>) -> T {
        if self.asked.wake.is_none_or(|at| at > now) {
            return T::default();
        }
        self.call(now, |py, object| {
            object.setattr(py, "wake_ps", py.None())?;
            let answer = take(py, object.call_method0(py, "wake")?)?;
            let again: Option<Ps> = object.getattr(py, "wake_ps")?.extract(py)?;
            if let Some(at) = again.filter(|&at| at <= now) {
                // Simulated time would stand still.
                let message = format!("wake() set wake_ps to {at} at {now}; set it to a later time, or None");
                return Err(PyValueError::new_err(message));
            }
            Ok(answer)
        })
    }
}

/// The parts of [`Device`] that all kinds share.
macro_rules! shared {
    () => {
        fn name(&self) -> &'static str {
            "device in Python"
        }

        fn set_reset(&mut self, now: Ps, low: bool) {
            self.object.set_reset(now, low);
        }

        fn interrupt_low(&self) -> bool {
            self.object.asked.interrupt
        }

        fn take_changes(&mut self) -> bool {
            self.object.take_changes()
        }

        fn take_unmodelled(&mut self) -> Option<String> {
            self.object.failed.clone()
        }
    };
}

/// All of [`Device`] where only the object has events.
macro_rules! woken {
    () => {
        shared!();

        fn next_event(&self) -> Option<Ps> {
            self.object.asked.wake
        }

        fn advance(&mut self, now: Ps) {
            self.object.wake(now, |_, _| Ok(()));
        }
    };
}

struct OnI2c {
    object: Object,
    address: u16,
    written: Option<Vec<u8>>,
    answer: Option<Py<PyIterator>>,
}

impl OnI2c {
    /// Ends the transfer before a START or a STOP.
    fn end(&mut self, now: Ps) {
        if let Some(answer) = self.answer.take() {
            // Here, not at any later time: a generator may end with `finally`.
            self.object.call(now, |_, _| {
                drop(answer);
                Ok(())
            });
        }
        if let Some(written) = self.written.take() {
            self.object
                .call(now, |py, object| object.call_method1(py, "write", (PyBytes::new(py, &written),)).map(drop));
        }
    }
}

impl Device for OnI2c {
    woken!();
}

impl I2cDevice for OnI2c {
    fn start(&mut self, now: Ps, address: u16, read: bool) -> bool {
        self.end(now);
        if address != self.address
            || self.object.in_reset
            || !self.object.call(now, |py, object| object.call_method0(py, "acknowledges")?.extract::<bool>(py))
        {
            return false;
        }
        if read {
            self.answer = self.object.call(now, |py, object| {
                let bytes = object.call_method0(py, "read")?;
                Ok(Some(bytes.bind(py).try_iter()?.unbind()))
            });
        } else {
            self.written = Some(Vec::new());
        }
        true
    }

    fn write(&mut self, _now: Ps, byte: u8) -> bool {
        self.written.get_or_insert_default().push(byte);
        true
    }

    fn read(&mut self, now: Ps) -> u8 {
        let Some(answer) = &self.answer else { return UNDRIVEN };
        let next =
            self.object.call(now, |py, _| answer.bind(py).clone().next().map(|byte| byte?.extract()).transpose());
        next.unwrap_or(UNDRIVEN)
    }

    fn stop(&mut self, now: Ps) {
        self.end(now);
    }
}

struct OnSpi {
    object: Object,
    frame: Option<Py<PyAny>>,
    miso: u8,
}

impl OnSpi {
    /// Goes on with the frame's generator until it yields; the frame is over if it returns.
    fn go_on(&mut self, now: Ps, mosi: Option<u8>) {
        let Some(frame) = self.frame.take() else { return };
        (self.frame, self.miso) = self.object.call(now, |py, _| match frame.call_method1(py, "send", (mosi,)) {
            Ok(miso) => Ok((Some(frame), miso.extract(py)?)),
            Err(end) if end.is_instance_of::<pyo3::exceptions::PyStopIteration>(py) => Ok((None, UNDRIVEN)),
            Err(error) => Err(error),
        });
    }
}

impl Device for OnSpi {
    woken!();
}

impl SpiDevice for OnSpi {
    fn select(&mut self, now: Ps, low: bool) {
        self.miso = UNDRIVEN;
        let ended = self.frame.take();
        if let Some(frame) = ended {
            self.object.call(now, |py, _| frame.call_method0(py, "close").map(drop));
        }
        if low && !self.object.in_reset {
            self.frame = self.object.call(now, |py, object| object.call_method0(py, "frame").map(Some));
            self.go_on(now, None);
        }
    }

    fn exchange(&mut self, now: Ps, mosi: u8) -> u8 {
        let miso = self.miso;
        self.miso = UNDRIVEN;
        self.go_on(now, Some(mosi));
        miso
    }
}

struct OnPins {
    object: Object,
}

impl Device for OnPins {
    woken!();
}

impl PinDevice for OnPins {
    fn edge(&mut self, now: Ps, index: usize, high: bool) {
        let pin = self.object.pins[index].clone();
        self.object.call(now, |py, object| object.call_method1(py, "edge", (pin, high)).map(drop));
    }

    fn level(&self, index: usize) -> Option<bool> {
        self.object.asked.levels.get(index).copied().flatten()
    }
}

struct OnUart {
    object: Object,
    character_ps: Ps,
    /// Characters that the device sends.
    waiting: VecDeque<u8>,
    /// End of the stop bit of the first of them.
    due: Option<Ps>,
}

impl OnUart {
    fn send(&mut self, now: Ps, data: Vec<u8>) {
        self.waiting.extend(data);
        if self.due.is_none() && !self.waiting.is_empty() {
            self.due = Some(now.saturating_add(self.character_ps));
        }
    }
}

fn sent(py: Python<'_>, answer: Py<PyAny>) -> PyResult<Vec<u8>> {
    Ok(answer.extract::<Option<Vec<u8>>>(py)?.unwrap_or_default())
}

impl Device for OnUart {
    shared!();

    fn next_event(&self) -> Option<Ps> {
        self.object.asked.wake.into_iter().chain(self.due).min()
    }

    fn advance(&mut self, now: Ps) {
        let data = self.object.wake(now, sent);
        self.send(now, data);
    }
}

impl UartDevice for OnUart {
    fn receive(&mut self, now: Ps, byte: u8) {
        let data = self
            .object
            .call(now, |py, object| sent(py, object.call_method1(py, "receive", (PyBytes::new(py, &[byte]),))?));
        self.send(now, data);
    }

    fn take_byte(&mut self, now: Ps) -> Option<u8> {
        let due = self.due.filter(|&due| due <= now)?;
        let byte = self.waiting.pop_front();
        self.due = (!self.waiting.is_empty()).then(|| due.saturating_add(self.character_ps));
        byte
    }
}

/// The pins of a bus by their names, all needed.
fn pins<const N: usize>(
    mcu: &Facts,
    what: &str,
    keys: [&str; N],
    given: &Bound<'_, PyDict>,
) -> PyResult<([u32; N], SidePins)> {
    let (wired, side) = named_pins(mcu, what, &keys, given)?;
    Ok((wired.try_into().expect("one for each key"), side))
}

fn named_pins(mcu: &Facts, what: &str, keys: &[&str], given: &Bound<'_, PyDict>) -> PyResult<(Vec<u32>, SidePins)> {
    let mut side = SidePins::default();
    for (key, value) in given.iter() {
        let key: String = key.extract()?;
        match key.as_str() {
            "bus" | "device" => {}
            "rstn_pin" => side.rstn = pin(mcu, &key, &value)?,
            "intn_pin" => side.intn = pin(mcu, &key, &value)?,
            _ if keys.contains(&key.as_str()) => {}
            _ => {
                let keys = keys.join(", ");
                let message = format!("{what} has no {key}: use {keys}, rstn_pin and intn_pin");
                return Err(PyValueError::new_err(message));
            }
        }
    }
    let wire = |key: &&str| {
        let value = given.get_item(key)?.map(|value| pin(mcu, key, &value)).transpose()?.flatten();
        value.ok_or_else(|| PyValueError::new_err(format!("{what}: {key} is missing; give its GPIO number")))
    };
    Ok((keys.iter().map(wire).collect::<PyResult<_>>()?, side))
}

/// `{"bus": "i2c0", "device": an object, "sda_pin": 4, "scl_pin": 5}`, with `spi0` and `sck_pin`, `mosi_pin`, `miso_pin`,
/// `csn_pin`, or `uart0` and `tx_pin`, `rx_pin`; `rstn_pin` and `intn_pin` where the device has them. Or `pins` and the
/// names in the device's `pins`, each with `_pin` behind.
pub(crate) fn attachment(mcu: &Facts, given: &Bound<'_, PyDict>, failures: &Failures) -> PyResult<Attachment> {
    let needed = |key: &str| {
        given.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("an attached device without {key:?}")))
    };
    let bus: String = needed("bus")?.extract()?;
    let device = needed("device")?.unbind();
    let what = format!("the device on {bus}");
    let py = given.py();
    let failures = failures.clone();
    let number = usize::from(bus.ends_with('1'));
    match bus.as_str() {
        "i2c0" | "i2c1" => {
            let ([sda, scl], side) = pins(mcu, &what, ["sda_pin", "scl_pin"], given)?;
            let address: u16 = device.getattr(py, "address")?.extract(py)?;
            let wires = I2cWires { i2c: number, sda, scl, side };
            Ok(Attachment::i2c(wires, move || OnI2c {
                object: Object::new(&device, Vec::new(), &failures),
                address,
                written: None,
                answer: None,
            }))
        }
        "spi0" | "spi1" => {
            let ([sck, mosi, miso, csn], side) =
                pins(mcu, &what, ["sck_pin", "mosi_pin", "miso_pin", "csn_pin"], given)?;
            let wires = SpiWires { spi: Some(number), sck, mosi, miso, io: None, csn, side };
            Ok(Attachment::spi(wires, move || OnSpi {
                object: Object::new(&device, Vec::new(), &failures),
                frame: None,
                miso: UNDRIVEN,
            }))
        }
        "uart0" | "uart1" => {
            let ([tx, rx], side) = pins(mcu, &what, ["tx_pin", "rx_pin"], given)?;
            let baud: u64 = device.getattr(py, "baud")?.extract(py)?;
            let character_ps = (CHARACTER_BITS * PS_PER_S)
                .checked_div(baud)
                .ok_or_else(|| PyValueError::new_err(format!("{what}: baud is 0; use its speed in bit/s")))?;
            let wires = UartWires { uart: number, tx, rx, side };
            Ok(Attachment::uart(wires, move || OnUart {
                object: Object::new(&device, Vec::new(), &failures),
                character_ps,
                waiting: VecDeque::new(),
                due: None,
            }))
        }
        "pins" => {
            let names: Vec<String> = device.getattr(py, "pins")?.extract(py)?;
            let keys: Vec<String> = names.iter().map(|name| format!("{name}_pin")).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let (wired, _) = named_pins(mcu, &what, &keys, given)?;
            Ok(Attachment::pins(wired, move || OnPins { object: Object::new(&device, names.clone(), &failures) }))
        }
        _ => Err(PyValueError::new_err(format!("bus {bus:?}: use i2c0, i2c1, spi0, spi1, uart0, uart1 or pins"))),
    }
}
