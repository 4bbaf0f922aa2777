//! The chip, driven register by register by an independent host.

mod bus;
mod control;
mod driver;
mod fuzz;
mod joining;
mod loading;
