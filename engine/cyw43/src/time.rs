//! What takes the chip time. The datasheet gives none of it; where a public log or a driver's comment does, it is named,
//! and docs/pico-w.md lists all of it.

use sim::{PS_PER_MS, PS_PER_US, Ps};

/// From WL_REG_ON to answers on gSPI. Drivers wait for 250 ms.
pub const POWER_UP: Ps = 150 * PS_PER_MS;
/// From a request for the low-power clock to its being there.
pub const ALP: Ps = 100 * PS_PER_US;
/// From the release of the processor to the high clock: "takes about 29ms" (cyw43-driver).
pub const HT_AFTER_BOOT: Ps = 29 * PS_PER_MS;
/// From then to the first frame that F2 takes.
pub const F2_READY: Ps = 2 * PS_PER_MS;
/// From a request for the high clock, once the firmware runs.
pub const HT: Ps = 100 * PS_PER_US;
/// From an ioctl to its answer.
pub const IOCTL: Ps = 300 * PS_PER_US;
/// The same for the country: "takes about 32ms" (cyw43-driver).
pub const COUNTRY: Ps = 32 * PS_PER_MS;
/// From the last byte of a frame on gSPI to the radio's queue, and from the radio to the host's queue.
pub const FRAME: Ps = 150 * PS_PER_US;
