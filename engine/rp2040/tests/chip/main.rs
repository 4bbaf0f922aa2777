//! Tests of the chip from outside, in one program: each program would compile the chip anew.

#[path = "../common/mod.rs"]
mod common;

mod buffer;
mod busctrl;
mod cycles;
mod dma;
mod dormant;
mod exceptions;
mod faults;
mod gpout;
mod hostile_guest;
mod mpu;
mod peripheral_fuzz;
mod pio_spi;
mod probes;
mod psm;
mod pwm_dma;
mod random_bus;
mod translated;
mod two_cores;
mod xip_fetch;
