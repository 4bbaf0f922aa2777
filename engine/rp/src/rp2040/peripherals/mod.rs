//! One file per peripheral that only the RP2040 has, named as in its datasheet, beside the shared ones of [`parts`].

pub mod busctrl;
pub mod psm;
pub(crate) mod resets;
pub(crate) mod rtc;
pub mod sio;
pub mod ssi;
pub(crate) mod syscfg;
pub(crate) mod vreg_and_chip_reset;
pub(crate) mod xip_ctrl;

pub(crate) use chip::{Alias, Peripheral, Write, unmodelled};
