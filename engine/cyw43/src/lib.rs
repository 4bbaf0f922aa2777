//! Infineon's CYW43439, the radio chip of the Raspberry Pi Pico W, as its host sees it: gSPI, the backplane through
//! which the host loads the chip's firmware, and that firmware's answers. Sources: the CYW43439 datasheet (gSPI,
//! chapter 4), and the requests and expectations of the public drivers cyw43-driver and embassy's cyw43.
//!
//! The firmware itself is not executed. The model checks it after the download; then `wlan` does its work: ioctls,
//! variables, events, frames, power save. [`sim::Radio`] is the interface to the air.
//!
//! Time only moves through calls; equal calls give equal results. [`sim::Device::take_unmodelled`] names unmodelled
//! requests.

#![warn(missing_docs, unreachable_pub)]

mod backplane;
mod bus;
mod chip;
mod firmware;
mod gspi;
mod host;
mod log;
mod meaning;
mod sdpcm;
mod time;
mod wlan;

pub use chip::{Config, Cyw43439, Shifting, Step};
pub use time::FRAME as FRAME_TIME;
