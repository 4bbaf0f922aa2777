//! Function 0: the registers of the bus itself (datasheet 4.2.4, table of gSPI registers).

use sim::Snapshot;

use crate::gspi::WireMode;

mod offset {
    pub(crate) const CONTROL: usize = 0x00;
    pub(crate) const STATUS_ENABLE: usize = 0x02;
    pub(crate) const INTERRUPT: usize = 0x04;
    pub(crate) const INTERRUPT_ENABLE: usize = 0x06;
    pub(crate) const STATUS: usize = 0x08;
    pub(crate) const FUNCTION1_INFO: usize = 0x0c;
    pub(crate) const FUNCTION2_INFO: usize = 0x0e;
    pub(crate) const READ_TEST: usize = 0x14;
    pub(crate) const RESPONSE_DELAY_F0: usize = 0x1c;
    pub(crate) const END: usize = 0x20;
}

const READ_TEST_VALUE: u32 = 0xfeed_bead;
/// High-speed mode; interrupt active high; a response delay of 4 bytes.
const RESET_CONTROL: [u8; 4] = [0x30, 0x04, 0x00, 0x00];
/// Bytes between command and answer, for functions 0 to 3.
const RESET_DELAYS: [u8; 4] = [0, 4, 0, 0];

pub(crate) mod interrupt {
    pub(crate) const DATA_UNAVAILABLE: u16 = 0x0001;
    pub(crate) const READ_UNDERFLOW: u16 = 0x0002;
    pub(crate) const WRITE_OVERFLOW: u16 = 0x0004;
    pub(crate) const COMMAND_ERROR: u16 = 0x0008;
    pub(crate) const F2_PACKET: u16 = 0x0020;
    pub(crate) const F1_INTR: u16 = 0x2000;
    /// Bits that stay set until the host writes ones to them. The others follow their level.
    pub(crate) const LATCHED: u16 = 0x009f;
}

mod status {
    pub(crate) const DATA_NOT_AVAILABLE: u32 = 1 << 0;
    pub(crate) const UNDERFLOW: u32 = 1 << 1;
    pub(crate) const OVERFLOW: u32 = 1 << 2;
    pub(crate) const F2_INTR: u32 = 1 << 3;
    pub(crate) const F2_RX_READY: u32 = 1 << 5;
    pub(crate) const COMMAND_ERROR: u32 = 1 << 7;
    pub(crate) const F2_PACKET: u32 = 1 << 8;
    pub(crate) const F2_LENGTH_SHIFT: u32 = 9;
}

/// The bits that reflect the rest of the chip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    /// F2 accepts frames.
    pub(crate) f2_ready: bool,
    /// Length of the frame that the host can read.
    pub(crate) packet: Option<usize>,
    /// The SDIO core requests an interrupt.
    pub(crate) f1_interrupt: bool,
}

#[derive(Snapshot)]
pub(crate) struct BusRegisters {
    bytes: [u8; offset::END],
    latched: u16,
}

impl BusRegisters {
    pub(crate) fn new() -> Self {
        let mut bytes = [0; offset::END];
        bytes[..4].copy_from_slice(&RESET_CONTROL);
        bytes[offset::READ_TEST..offset::READ_TEST + 4].copy_from_slice(&READ_TEST_VALUE.to_le_bytes());
        bytes[offset::RESPONSE_DELAY_F0..].copy_from_slice(&RESET_DELAYS);
        Self { bytes, latched: 0 }
    }

    pub(crate) fn mode(&self) -> WireMode {
        let control = self.bytes[offset::CONTROL];
        WireMode { wide: control & 1 != 0, memory_order: control & 2 != 0, high_speed: control & 0x10 != 0 }
    }

    pub(crate) fn status_follows(&self) -> bool {
        self.bytes[offset::STATUS_ENABLE] & 1 != 0
    }

    /// Returns the number of bytes between a command and the answer of `function`.
    pub(crate) fn response_delay(&self, function: u32) -> usize {
        usize::from(self.bytes[offset::RESPONSE_DELAY_F0 + function as usize])
    }

    pub(crate) fn latch(&mut self, bits: u16) {
        self.latched |= bits & interrupt::LATCHED;
    }

    fn interrupts(&self, levels: Levels) -> u16 {
        let packet = if levels.packet.is_some() { interrupt::F2_PACKET } else { 0 };
        self.latched | packet | if levels.f1_interrupt { interrupt::F1_INTR } else { 0 }
    }

    /// Returns the level of the data wire between transfers, where it serves as the interrupt line.
    pub(crate) fn interrupt_level(&self, levels: Levels) -> bool {
        let enabled =
            u16::from_le_bytes([self.bytes[offset::INTERRUPT_ENABLE], self.bytes[offset::INTERRUPT_ENABLE + 1]]);
        let active_high = self.bytes[offset::CONTROL] & 0x20 != 0;
        (self.interrupts(levels) & enabled != 0) == active_high
    }

    pub(crate) fn status(&self, levels: Levels) -> u32 {
        let flag = |bit: u16, flag: u32| if self.latched & bit != 0 { flag } else { 0 };
        let mut status = flag(interrupt::DATA_UNAVAILABLE, status::DATA_NOT_AVAILABLE)
            | flag(interrupt::READ_UNDERFLOW, status::UNDERFLOW)
            | flag(interrupt::WRITE_OVERFLOW, status::OVERFLOW)
            | flag(interrupt::COMMAND_ERROR, status::COMMAND_ERROR);
        if levels.f2_ready {
            status |= status::F2_RX_READY;
        }
        if let Some(length) = levels.packet {
            status |= status::F2_PACKET | status::F2_INTR | (length as u32) << status::F2_LENGTH_SHIFT;
        }
        status
    }

    pub(crate) fn read(&self, address: usize, levels: Levels) -> u8 {
        let part = |value: &[u8], base: usize| value[address - base];
        match address {
            offset::INTERRUPT..offset::INTERRUPT_ENABLE => {
                part(&self.interrupts(levels).to_le_bytes(), offset::INTERRUPT)
            }
            offset::STATUS..offset::FUNCTION1_INFO => part(&self.status(levels).to_le_bytes(), offset::STATUS),
            // Enabled, ready, and the largest packet: 64 bytes of F1, 2048 of F2.
            offset::FUNCTION1_INFO..offset::FUNCTION2_INFO => {
                part(&(0x0003u16 | 64 << 2).to_le_bytes(), offset::FUNCTION1_INFO)
            }
            offset::FUNCTION2_INFO..0x10 => {
                let ready = if levels.f2_ready { 2 } else { 0 };
                part(&(1u16 | ready | 2048 << 2).to_le_bytes(), offset::FUNCTION2_INFO)
            }
            _ => self.bytes.get(address).copied().unwrap_or(0),
        }
    }

    pub(crate) fn write(&mut self, address: usize, value: u8) {
        match address {
            offset::INTERRUPT => self.latched &= !u16::from(value),
            0x05 => self.latched &= !(u16::from(value) << 8),
            offset::STATUS..0x18 => {}
            _ => {
                if let Some(byte) = self.bytes.get_mut(address) {
                    *byte = value;
                }
            }
        }
    }
}
