//! Infineon's CYW43439, the radio chip of the Raspberry Pi Pico W, as its host sees it: gSPI, the backplane into which the
//! host loads the chip's firmware, and what that firmware then answers. Written to the CYW43439 datasheet (gSPI, chapter 4)
//! and to what the public drivers cyw43-driver and embassy's cyw43 ask and expect.
//!
//! The firmware itself is not run. It is checked as it is loaded, and from then on [`wlan`] does what it does: ioctls,
//! variables, events, frames, power save. The air is somebody else's: [`sim::Radio`].
//!
//! Time only moves through calls; equal calls give equal results. What is not modelled is named by
//! [`sim::Device::take_unmodelled`].

mod backplane;
mod bus;
mod chip;
mod crc;
mod firmware;
mod gspi;
mod host;
mod log;
mod meaning;
mod sdpcm;
mod time;
pub mod wlan;

pub use chip::{Config, Cyw43439, Shifting, Step};
pub use gspi::WireMode;
pub use time::FRAME as FRAME_TIME;
