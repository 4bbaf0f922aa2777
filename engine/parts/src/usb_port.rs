//! The USB device controller as the PC's port sees it.

use sim::{Handshake, InResult, UsbBus};

use crate::usb::Usb;
use chip::Sys;

/// The controller and the state that it shares with the chip.
pub struct UsbPort<'a> {
    /// The state that all peripherals share.
    pub sys: &'a mut Sys,
    /// The controller.
    pub usb: &'a mut Usb,
}

impl UsbBus for UsbPort<'_> {
    fn pulled_up(&self) -> bool {
        self.usb.pulled_up()
    }

    fn reset(&mut self) {
        self.usb.host_reset(self.sys);
    }

    fn sof(&mut self, frame: u16) {
        self.usb.host_sof(self.sys, frame);
    }

    fn setup(&mut self, addr: u8, packet: [u8; 8]) -> Handshake {
        self.usb.host_setup(self.sys, addr, packet)
    }

    fn out(&mut self, addr: u8, ep: u8, data1: bool, data: &[u8]) -> Handshake {
        self.usb.host_out(self.sys, addr, ep, data1, data)
    }

    fn input(&mut self, addr: u8, ep: u8, buf: &mut Vec<u8>) -> InResult {
        self.usb.host_in(self.sys, addr, ep, buf)
    }
}
