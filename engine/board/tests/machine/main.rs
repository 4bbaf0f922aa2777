//! Whole boards. One program for all: each would compile the microcontrollers again.

mod avr;
mod devices;
mod doubles;
mod examples;
mod pair;
mod rp2350;
mod snapshot;
