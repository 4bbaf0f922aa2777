//! A logical unit of the board's USB drive as a block device.

use std::io;

use crate::mcu::RunEnd;
use sim::{PS_PER_MS, Ps};
use usb_host::BlockDevice;

use crate::machine::Machine;

/// Length of a step while the PC waits for a block of its drive.
const STEP: Ps = PS_PER_MS / 4;
/// Longest simulated time that one block request may take.
const TIMEOUT: Ps = 60_000 * PS_PER_MS;

/// A drive on which every access runs the board until it has answered.
pub struct Disk<'a> {
    machine: &'a mut Machine,
    lun: u8,
    blocks: u64,
}

impl<'a> Disk<'a> {
    pub(crate) fn new(machine: &'a mut Machine, lun: u8, blocks: u64) -> Self {
        Self { machine, lun, blocks }
    }

    fn finish(&mut self, id: u64) -> io::Result<Vec<u8>> {
        self.machine.reschedule();
        let deadline = self.machine.now() + TIMEOUT;
        loop {
            if let Some(result) = self.machine.usb().take_completion(id) {
                return result.map_err(|e| io::Error::new(io::ErrorKind::NotConnected, e.to_string()));
            }
            let now = self.machine.now();
            if now >= deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the board's drive did not answer within 60 s"));
            }
            if let RunEnd::Unmodelled(fault) = self.machine.chip_mut().run_until(now + STEP) {
                return Err(io::Error::other(fault.to_string()));
            }
        }
    }
}

impl BlockDevice for Disk<'_> {
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()> {
        let blocks = (buf.len() / 512) as u64;
        let id = self.machine.usb().request_read(self.lun, lba, blocks).map_err(|e| io::Error::other(e.to_string()))?;
        let data = self.finish(id)?;
        if data.len() != buf.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the board's drive sent too little"));
        }
        buf.copy_from_slice(&data);
        Ok(())
    }

    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()> {
        let id = self
            .machine
            .usb()
            .request_write(self.lun, lba, buf.to_vec())
            .map_err(|e| io::Error::other(e.to_string()))?;
        self.finish(id).map(|_| ())
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }
}
