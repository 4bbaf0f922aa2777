//! Devices on the buses of a microcontroller whose registers a test programs: addressing and timing.

mod card;
mod i2c;
mod pin_device;
mod pins;
mod rig;
mod spi;
mod uart;
mod wifi;
