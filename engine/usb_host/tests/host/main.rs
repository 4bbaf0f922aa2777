//! Tests of the PC's side of USB, in one program: each program would compile the host anew.

#[path = "../fake/mod.rs"]
mod fake;

mod console;
mod enumeration;
mod fuzz;
mod serial_ports;
mod storage;
mod units;
mod volume;
mod volume_over_usb;
