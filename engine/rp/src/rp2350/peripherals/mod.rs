//! One file per peripheral that only the RP2350 has, named as in its datasheet, beside the shared ones of [`parts`].

pub(crate) mod accessctrl;
mod bootdis;
pub(crate) mod bootram;
pub(crate) mod busctrl;
pub(crate) mod glitch_detector;
pub(crate) mod hstx;
pub(crate) mod otp;
pub(crate) mod powman;
pub(crate) mod psm;
pub(crate) mod qmi;
pub(crate) mod resets;
pub(crate) mod sha256;
pub(crate) mod sio;
pub(crate) mod syscfg;
pub(crate) mod ticks;
pub(crate) mod trng;
pub(crate) mod xip_ctrl;

pub(crate) use chip::{Alias, Peripheral, Write, unmodelled};
