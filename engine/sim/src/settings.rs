//! Settings of the emulated parts: their errors, and how to change some of them.

use std::fmt;

/// Returns settings with other values in some fields, which a later version may have more of.
///
/// ```
/// # #[derive(Default)] struct Settings { spi_hz: u32, pins: u8 }
/// let pins = 30;
/// let settings = sim::with!(Settings::default(), spi_hz: 1_000_000, pins);
/// assert_eq!((settings.spi_hz, settings.pins), (1_000_000, 30));
/// ```
#[macro_export]
macro_rules! with {
    (@value $field:ident) => { $field };
    (@value $field:ident $value:expr) => { $value };
    ($settings:expr, $($field:ident $(: $value:expr)?),+ $(,)?) => {{
        let mut settings = $settings;
        $(settings.$field = $crate::with!(@value $field $($value)?);)+
        settings
    }};
}

/// A setting that cannot be used, as one line: `spi_speed = 40: use 1 to 16`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingError {
    /// The setting's name: `spi_speed`.
    pub setting: String,
    /// The fault: `= 40`. It may be empty.
    pub problem: String,
    /// The remedy: `use 1 to 16`.
    pub mend: String,
}

impl SettingError {
    /// Returns the error of `setting`.
    pub fn new(setting: impl Into<String>, problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { setting: setting.into(), problem: problem.into(), mend: mend.into() }
    }

    /// Returns the error of a value unless `ok`.
    pub fn unless(ok: bool, setting: &str, value: impl fmt::Display, mend: impl fmt::Display) -> Result<(), Self> {
        if ok { Ok(()) } else { Err(Self::new(setting, format!("= {value}"), mend.to_string())) }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.problem.is_empty() { "" } else { " " };
        write!(f, "{}{space}{}: {}", self.setting, self.problem, self.mend)
    }
}

impl std::error::Error for SettingError {}
