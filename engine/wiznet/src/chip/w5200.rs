//! The W5200: 8 sockets, 16 + 16 KB in the address space, whose rings the host computes. A frame on SPI moves any number of
//! bytes: two of address, one bit for the direction with 15 for the length, and the data.

use sim::{PS_PER_MS, PS_PER_US, Ps, Snapshot};

use super::older::{self, CONFLICT_AND_MORE, IMR, IR, Older, Own, Place};
use crate::Wiznet;
use crate::chip::w5500::phy::W5500Phy;
use crate::chip::{Model, Phy};
use crate::map::common;
use crate::names::{self, Register, register};

/// The direction in the first byte of the length.
const WRITE: u8 = 0x80;
const HEADER_BYTES: usize = 4;

const VERSIONR: u16 = 0x1f;
const INTLEVEL: u16 = 0x30;
const IR2: u16 = 0x34;
const PHYSTATUS: u16 = 0x35;
/// Mask of IR.
const IMR2: u16 = 0x36;

const VERSION: u8 = 0x03;
const PHY_LINK: u8 = 0x20;
/// POWERSAVE and POWERDOWN.
const PHY_POWER: u8 = 0x18;

/// The W5200: its sizes, frames and register map.
pub struct W5200Model;

/// WIZnet's W5200: eight sockets, 32 KiB of memory.
pub type W5200 = Wiznet<W5200Model>;

impl Model for W5200Model {
    const NAME: &'static str = "W5200";
    const SOCKETS: usize = 8;
    const MEMORY_BYTES: usize = 16 << 10;
    /// Datasheet, "Reset Timing": at least 2 us, and 150 ms until the PLL is stable.
    const RESET_CYCLE: Ps = 2 * PS_PER_US;
    const PLL_LOCK: Ps = 150 * PS_PER_MS;
    type Phy = W5500Phy;
    type Decoder = Decoder;
    type Own = Own;

    fn begin_frame(chip: &mut W5200) {
        chip.spi = Decoder { phase: Phase::High, ..Decoder::default() };
        chip.log.begin(chip.now);
    }

    fn end_frame(chip: &mut W5200) {
        let Decoder { phase: Phase::Data, write, first_address, .. } = chip.spi else { return };
        chip.log.end(chip.now, HEADER_BYTES, write, first_address, |data| {
            (W5200Model::register_name(first_address), meaning(first_address, data))
        });
    }

    fn exchange(chip: &mut W5200, mosi: u8) -> u8 {
        match chip.spi.phase {
            Phase::Idle => 0,
            Phase::High => {
                chip.spi.address = u16::from(mosi) << 8;
                chip.spi.phase = Phase::Low;
                0
            }
            Phase::Low => {
                chip.spi.address |= u16::from(mosi);
                chip.spi.first_address = chip.spi.address;
                chip.spi.phase = Phase::LengthHigh;
                1
            }
            Phase::LengthHigh => {
                chip.spi.write = mosi & WRITE != 0;
                chip.spi.left = u16::from(mosi & !WRITE) << 8;
                chip.spi.phase = Phase::LengthLow;
                2
            }
            Phase::LengthLow => {
                chip.spi.left |= u16::from(mosi);
                chip.spi.phase = Phase::Data;
                chip.prefetch();
                3
            }
            Phase::Data if chip.spi.left == 0 => 0,
            Phase::Data => {
                let (miso, write) = (chip.spi.data, chip.spi.write);
                if write {
                    Self::write_address(chip, chip.spi.address, mosi);
                }
                chip.log.data(if write { mosi } else { miso });
                chip.spi.address = chip.spi.address.wrapping_add(1);
                chip.spi.left -= 1;
                chip.prefetch();
                miso
            }
        }
    }

    fn read_common(chip: &W5200, address: u16) -> u8 {
        match address {
            IR => chip.common.ir() & CONFLICT_AND_MORE,
            IMR => chip.common.simr(),
            VERSIONR => VERSION,
            INTLEVEL | 0x31 => chip.common.read(address - INTLEVEL + common::INTLEVEL),
            IR2 => chip.sir(),
            PHYSTATUS => {
                if chip.phy.link_up(chip.now) {
                    PHY_LINK
                } else {
                    0
                }
            }
            IMR2 => chip.common.imr() & CONFLICT_AND_MORE,
            _ => Self::read_shared_common(chip, address),
        }
    }

    fn write_common(chip: &mut W5200, address: u16, value: u8) {
        match address {
            IMR => chip.common.write(common::SIMR, value),
            INTLEVEL | 0x31 => chip.common.write(address - INTLEVEL + common::INTLEVEL, value),
            PHYSTATUS if value & PHY_POWER != 0 => chip.leave_out(&format!("PHYSTATUS = 0x{value:02x}")),
            IMR2 => chip.common.write(common::IMR, value & CONFLICT_AND_MORE),
            _ => Self::write_shared_common(chip, address, value),
        }
    }

    fn opening(chip: &mut W5200, n: usize) {
        Self::refuse_mode(chip, n);
    }
}

#[derive(Clone, Copy, Default, Snapshot)]
enum Phase {
    /// Not selected, or the chip could not listen since it was.
    #[default]
    Idle,
    High,
    Low,
    LengthHigh,
    LengthLow,
    Data,
}

/// The W5200's decoder of SPI frames.
#[derive(Default, Snapshot)]
pub struct Decoder {
    phase: Phase,
    address: u16,
    first_address: u16,
    write: bool,
    /// Data bytes that the frame still has; further ones are ignored.
    left: u16,
    /// The byte to read: MISO's first bit must be valid before the byte's first clock edge.
    data: u8,
}

impl W5200 {
    fn prefetch(&mut self) {
        if !self.spi.write && self.spi.left != 0 {
            self.spi.data = W5200Model::read_address(self, self.spi.address);
        }
    }
}

impl Older for W5200Model {
    const COMMON_REGISTERS: &'static [Register] = &[
        register("PPPALGO", 0x1e, 1),
        register("VERSIONR", VERSIONR, 1),
        register("INTLEVEL", INTLEVEL, 2),
        register("IR2", IR2, 1),
        register("PHYSTATUS", PHYSTATUS, 1),
        register("IMR2", IMR2, 1),
    ];

    fn place(address: u16) -> Place {
        match address {
            0..0x37 => Place::Common(address),
            0x4000..0x4800 => Place::Socket(usize::from(address >> 8 & 7), address & 0xff),
            0x8000..0xc000 => Place::Tx(address & 0x3fff),
            0xc000.. => Place::Rx(address & 0x3fff),
            _ => Place::Reserved,
        }
    }
}

fn meaning(address: u16, data: &[u8]) -> String {
    match (W5200Model::place(address), data) {
        (Place::Socket(_, offset), &[value]) => older::meaning(offset, value),
        (Place::Common(IR | IMR2), &[value]) => names::bits(names::INTERRUPTS, value),
        (Place::Common(IR2 | IMR), &[value]) => names::bits(names::SOCKETS, value),
        (Place::Common(PHYSTATUS), &[value]) => if value & PHY_LINK != 0 { "link" } else { "no link" }.into(),
        (Place::Tx(_) | Place::Rx(_), _) => names::text(data),
        _ => names::number(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use sim::SpiDevice;

    fn frame(chip: &mut W5200, bytes: &[u8]) -> Vec<u8> {
        let now = 200 * PS_PER_MS;
        chip.select(now, true);
        let miso = bytes.iter().map(|&byte| chip.exchange(now, byte)).collect();
        chip.select(now, false);
        miso
    }

    #[test]
    fn a_frame_moves_as_many_bytes_as_it_says() {
        let mut chip = W5200::new(Config::default());
        frame(&mut chip, &[0x00, 0x0f, 0x80, 3, 192, 168, 50, 100]);
        assert_eq!(frame(&mut chip, &[0x00, 0x0f, 0x00, 4, 0, 0, 0, 0, 0])[4..], [192, 168, 50, 0, 0]);
        // A length of two bytes.
        let mut long = vec![0x80, 0x00, 0x81, 0x04];
        long.extend((0..0x104).map(|n| n as u8));
        frame(&mut chip, &long);
        assert_eq!(frame(&mut chip, &[0x81, 0x02, 0x00, 2, 0, 0])[4..], [0x02, 0x03]);
    }

    #[test]
    fn addresses_lead_to_registers_and_memories() {
        let mut chip = W5200::new(Config::default());
        for (address, value, name) in [
            (0x4000u16, 0x44u8, "S0_MR"),
            (0x471e, 4, "S7_RXMEM_SIZE"),
            (0x0019, 7, "RCR"),
            (0x0036, 0x80, "IMR2"),
            (0x0016, 0x81, "IMR"),
            (0xbfff, 0x11, "TX buffer"),
            (0xffff, 0x22, "RX buffer"),
        ] {
            let [high, low] = address.to_be_bytes();
            frame(&mut chip, &[high, low, WRITE, 1, value]);
            assert_eq!(frame(&mut chip, &[high, low, 0, 1, 0])[4], value, "{name}");
            assert_eq!(W5200Model::register_name(address), name);
        }
        assert_eq!(frame(&mut chip, &[0, 0x1f, 0, 1, 0])[4], 3);
        assert_eq!(W5200Model::place(0x0040), Place::Reserved);
    }
}
