//! The chip's delays. The datasheet gives none of them; each names its source if a public log or a driver's comment has
//! it. docs/pico-w.md lists them all.

use sim::{PS_PER_MS, PS_PER_US, Ps};

/// From WL_REG_ON to answers on gSPI. Most drivers wait for 250 ms; PicoWi finds the chip 50 ms after it.
pub(crate) const POWER_UP: Ps = 50 * PS_PER_MS;
/// From a request for the low-power clock until it runs.
pub(crate) const ALP: Ps = 100 * PS_PER_US;
/// From the release of the processor to the high clock: "takes about 29ms" (cyw43-driver).
pub(crate) const HT_AFTER_BOOT: Ps = 29 * PS_PER_MS;
/// From the high clock to the first frame that F2 accepts.
pub(crate) const F2_READY: Ps = 2 * PS_PER_MS;
/// From a request for the high clock until it runs, with running firmware.
pub(crate) const HT: Ps = 100 * PS_PER_US;
/// From an ioctl to its answer.
pub(crate) const IOCTL: Ps = 300 * PS_PER_US;
/// From the ioctl that sets the country to its answer: "takes about 32ms" (cyw43-driver).
pub(crate) const COUNTRY: Ps = 32 * PS_PER_MS;
/// From the last byte of a frame on gSPI to the radio's queue, and from the radio to the host's queue.
pub const FRAME: Ps = 150 * PS_PER_US;
