//! TBMAN: distinguishes silicon from a test bench (datasheet 12.15.3).

use super::{Peripheral, Write};
use crate::sys::Sys;
use serde::{Deserialize, Serialize};

const PLATFORM_ASIC: u32 = 1 << 0;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Tbman {}

impl Peripheral for Tbman {
    fn name(&self) -> &'static str {
        "TBMAN"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        if offset == 0 { PLATFORM_ASIC } else { 0 }
    }

    fn write(&mut self, _sys: &mut Sys, _offset: u32, _write: Write) {}

    fn reset(&mut self, _sys: &mut Sys) {}
}
