//! The W5100: 4 sockets, 8 + 8 KB in the address space, whose rings the host computes. A frame on SPI moves one byte: its
//! opcode, two bytes of address, and the data. Specified up to 4 MHz; faster ones work, as published by others, and the log
//! of frames says so.

use sim::{PS_PER_MS, PS_PER_US, Ps, Snapshot};

use super::older::{self, CONFLICT_AND_MORE, IMR, IR, Older, Own, Place};
use crate::Wiznet;
use crate::chip::Model;
use crate::chip::w5500::phy::W5500Phy;
use crate::map::{common, socket};
use crate::names::{self, Register, register};

/// Opcodes. After another one the frame is ignored.
const READ: u8 = 0x0f;
const WRITE: u8 = 0xf0;
const HEADER_BYTES: usize = 3;

const RMSR: u16 = 0x1a;
const TMSR: u16 = 0x1b;
const UIPR: u16 = 0x2a;
const UPORT: u16 = 0x2e;
const SOCKET_BITS: u8 = 0x0f;

/// The W5100: its sizes, frames and register map.
pub struct W5100Model;

/// WIZnet's W5100: four sockets, 16 KiB of memory.
pub type W5100 = Wiznet<W5100Model>;

impl Model for W5100Model {
    const NAME: &'static str = "W5100";
    const SOCKETS: usize = 4;
    const MEMORY_BYTES: usize = 8 << 10;
    const MOST_SCK_HZ: u64 = 4_000_000;
    /// Datasheet, "Reset Timing": at least 2 us, and 10 ms until the PLL is stable.
    const RESET_CYCLE: Ps = 2 * PS_PER_US;
    const PLL_LOCK: Ps = 10 * PS_PER_MS;
    type Phy = W5500Phy;
    type Decoder = Decoder;
    type Own = Own;

    fn begin_frame(chip: &mut W5100) {
        chip.spi = Decoder { phase: Phase::Opcode, ..Decoder::default() };
        chip.log.begin(chip.now);
    }

    fn end_frame(chip: &mut W5100) {
        let Decoder { phase: Phase::Done { write }, address, .. } = chip.spi else { return };
        chip.log.end(chip.now, HEADER_BYTES, write, address, |data| {
            (W5100Model::register_name(address), meaning(address, data))
        });
    }

    fn exchange(chip: &mut W5100, mosi: u8) -> u8 {
        // The chip outputs the number of the byte, and then the data.
        match chip.spi.phase {
            Phase::Idle | Phase::Done { .. } => 0,
            Phase::Opcode => {
                chip.spi.phase = match mosi {
                    READ => Phase::High { write: false },
                    WRITE => Phase::High { write: true },
                    _ => Phase::Idle,
                };
                0
            }
            Phase::High { write } => {
                chip.spi.address = u16::from(mosi) << 8;
                chip.spi.phase = Phase::Low { write };
                1
            }
            Phase::Low { write } => {
                chip.spi.address |= u16::from(mosi);
                chip.spi.phase = Phase::Data { write };
                if !write {
                    chip.spi.data = Self::read_address(chip, chip.spi.address);
                }
                2
            }
            Phase::Data { write } => {
                let miso = if write { 3 } else { chip.spi.data };
                if write {
                    Self::write_address(chip, chip.spi.address, mosi);
                }
                chip.log.data(if write { mosi } else { miso });
                chip.spi.phase = Phase::Done { write };
                miso
            }
        }
    }

    fn read_common(chip: &W5100, address: u16) -> u8 {
        match address {
            IR => chip.common.ir() & CONFLICT_AND_MORE | chip.sir() & SOCKET_BITS,
            IMR => chip.common.imr() & CONFLICT_AND_MORE | chip.common.simr() & SOCKET_BITS,
            RMSR => chip.memory_sizes(socket::RXBUF_SIZE),
            TMSR => chip.memory_sizes(socket::TXBUF_SIZE),
            UIPR..=0x2f => chip.common.read(address - UIPR + common::UIPR),
            _ => Self::read_shared_common(chip, address),
        }
    }

    fn write_common(chip: &mut W5100, address: u16, value: u8) {
        match address {
            IMR => {
                chip.common.write(common::IMR, value & CONFLICT_AND_MORE);
                chip.common.write(common::SIMR, value & SOCKET_BITS);
            }
            RMSR => chip.set_memory_sizes(socket::RXBUF_SIZE, value),
            TMSR => chip.set_memory_sizes(socket::TXBUF_SIZE, value),
            _ => Self::write_shared_common(chip, address, value),
        }
    }

    fn opening(chip: &mut W5100, n: usize) {
        Self::refuse_mode(chip, n);
    }
}

#[derive(Clone, Copy, Default, Snapshot)]
enum Phase {
    /// Not selected, the chip could not listen since it was, or after an invalid opcode.
    #[default]
    Idle,
    Opcode,
    High {
        write: bool,
    },
    Low {
        write: bool,
    },
    Data {
        write: bool,
    },
    /// The byte was moved.
    Done {
        write: bool,
    },
}

/// The W5100's decoder of SPI frames.
#[derive(Default, Snapshot)]
pub struct Decoder {
    phase: Phase,
    address: u16,
    /// The byte to read: MISO's first bit must be valid before the byte's first clock edge.
    data: u8,
}

impl Older for W5100Model {
    const COMMON_REGISTERS: &'static [Register] =
        &[register("RMSR", RMSR, 1), register("TMSR", TMSR, 1), register("UIPR", UIPR, 4), register("UPORT", UPORT, 2)];

    fn place(address: u16) -> Place {
        match address & 0x7fff {
            offset @ 0..0x30 => Place::Common(offset),
            at @ 0x400..0x800 => Place::Socket(usize::from(at >> 8 & 3), at & 0xff),
            at @ 0x4000..0x6000 => Place::Tx(at & 0x1fff),
            at @ 0x6000.. => Place::Rx(at & 0x1fff),
            _ => Place::Reserved,
        }
    }
}

fn meaning(address: u16, data: &[u8]) -> String {
    match (W5100Model::place(address), data) {
        (Place::Socket(_, offset), &[value]) => older::meaning(offset, value),
        (Place::Common(IR | IMR), &[value]) => names::bits(names::INTERRUPTS, value & CONFLICT_AND_MORE),
        _ => names::number(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use sim::SpiDevice;

    fn frame(chip: &mut W5100, bytes: [u8; 5]) -> [u8; 5] {
        let now = 20 * PS_PER_MS;
        chip.select(now, true);
        let miso = bytes.map(|byte| chip.exchange(now, byte));
        chip.select(now, false);
        miso
    }

    #[test]
    fn a_frame_moves_one_byte() {
        let mut chip = W5100::new(Config::default());
        assert_eq!(frame(&mut chip, [WRITE, 0x00, 0x0f, 192, 168]), [0, 1, 2, 3, 0]);
        assert_eq!(frame(&mut chip, [READ, 0x00, 0x0f, 0, 0]), [0, 1, 2, 192, 0]);
        // The fifth byte was not taken for the next address.
        assert_eq!(frame(&mut chip, [READ, 0x00, 0x10, 0, 0])[3], 0);
        frame(&mut chip, [0x00, 0x00, 0x0f, 1, 1]);
        assert_eq!(frame(&mut chip, [READ, 0x00, 0x0f, 0, 0])[3], 192);
    }

    #[test]
    fn addresses_lead_to_registers_and_memories() {
        let mut chip = W5100::new(Config::default());
        for (address, value, name) in [
            (0x0400u16, 0x44u8, "S0_MR"),
            (0x1a, 0x03, "RMSR"),
            (0x1b, 0x55, "TMSR"),
            (0x0019, 7, "RCR"),
            (0x4000, 0x11, "TX buffer"),
            (0x7fff, 0x22, "RX buffer"),
        ] {
            let [high, low] = address.to_be_bytes();
            frame(&mut chip, [WRITE, high, low, value, 0]);
            assert_eq!(frame(&mut chip, [READ, high, low, 0, 0])[3], value, "{name}");
            assert_eq!(W5100Model::register_name(address), name);
        }
        assert_eq!(W5100Model::place(0x0030), Place::Reserved);
    }

    #[test]
    fn a_fast_clock_is_told_in_the_log() {
        let mut chip = W5100::new(Config::default());
        chip.set_log(true);
        for (hz, says) in
            [(4_000_000, "192"), (5_529_600, "192, out of specification: SCK at 5.530 MHz, at most 4 MHz")]
        {
            chip.clocked(8 * sim::PS_PER_S / hz);
            frame(&mut chip, [WRITE, 0x00, 0x0f, 192, 0]);
            assert_eq!(chip.take_log().pop().map(|frame| frame.meaning).as_deref(), Some(says));
        }
    }
}
