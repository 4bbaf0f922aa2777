//! Tests of the LAN from outside, in one program: each program would compile the LAN anew.

#[path = "../common/mod.rs"]
mod common;

mod bridge;
mod capture;
mod forward;
mod fuzz;
mod switch;
mod tcp;
mod times;
