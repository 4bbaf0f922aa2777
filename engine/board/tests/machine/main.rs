//! Whole boards. One program for all: each would compile the microcontrollers again.

mod avr;
mod devices;
mod doubles;
mod examples;
mod images;
mod pair;
mod rp2350;
mod snapshot;

// Files of the library that need nothing else of it, for the tests in them: a library with tests would compile the
// microcontrollers again, too.
#[allow(dead_code, unreachable_pub)]
#[path = "../../src/agenda.rs"]
mod agenda;
#[path = "../../src/bit_spi.rs"]
mod bit_spi;
#[path = "../../src/passages.rs"]
mod passages;
#[allow(dead_code, unreachable_pub)]
#[path = "../../src/surroundings.rs"]
mod surroundings;
