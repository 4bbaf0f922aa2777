//! The chip driven by a host of our own, register by register.

mod bus;
mod control;
mod driver;
mod fuzz;
mod joining;
mod loading;
