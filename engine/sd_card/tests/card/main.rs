//! The card as its host sees it on the bus.

mod commands;
mod driver;
mod faults;
mod fuzz;
mod host;
mod published;
mod reading;
mod writing;
