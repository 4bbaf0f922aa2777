//! The W5100S: 4 sockets, 8 + 8 KB directly in the address space, so that the host computes the sockets' rings, and
//! commands without a socket.
//!
//! Sources: WIZnet's datasheet as quoted by the register headers of WIZnet's ioLibrary, CycloneTCP and Zephyr, and
//! MAME's model of a W5100S-EVB-Pico: mirrors of the registers, RCR's reset value, Sn_RTR and Sn_RCR at OPEN.

mod names;
mod phy;
mod registers;
mod socketless;

use sim::{Lanes, PS_PER_MS, PS_PER_NS, PS_PER_S, Ps, Snapshot};

use crate::Wiznet;
use crate::chip::Model;
use crate::map::common;
use crate::wire::{IpAddr, Mac};

use phy::W5100sPhy;
use registers::{CR_IGMP_JOIN, CR_IGMP_LEAVE, MR2_CLKSEL, MR2_IEN, MR2_NOTCPRST, MR2_UDPURB, Own};

/// Control byte of an SPI frame. Other values are ignored until chip select goes high.
const READ: u8 = 0x0F;
const WRITE: u8 = 0xF0;
/// Control byte and address.
const HEADER_BYTES: usize = 3;
/// RCR after a reset; the datasheet says 8, boards read 7.
const RCR_RESET: u8 = 7;
const CLOCK_HZ: u64 = 100_000_000;
/// With MR2's CLKSEL.
const SLOW_CLOCK_HZ: u64 = 25_000_000;

/// The W5100S: its sizes, frames and register map.
pub struct W5100sModel;

/// WIZnet's W5100S: four sockets, 16 KiB of memory.
pub type W5100S = Wiznet<W5100sModel>;

impl Model for W5100sModel {
    const NAME: &'static str = "W5100S";
    const SOCKETS: usize = 4;
    const MEMORY_BYTES: usize = 8 << 10;
    /// WIZnet's drivers hold RSTn low for 10 us (MicroPython) to 100 ms; with the W5500's 500 us some would not reset
    /// the chip.
    const RESET_CYCLE: Ps = 500 * PS_PER_NS;
    /// No source gives a value: this is the W5500's, and every driver waits longer except MicroPython with 160 us.
    const PLL_LOCK: Ps = PS_PER_MS;
    type Phy = W5100sPhy;
    type Decoder = Decoder;
    type Own = Own;

    fn begin_frame(chip: &mut W5100S) {
        chip.spi.phase = Phase::Control;
        chip.spi.miso = 0;
        chip.log.begin(chip.now);
    }

    fn end_frame(chip: &mut W5100S) {
        let Decoder { phase: Phase::Data { write }, first_address, .. } = chip.spi else { return };
        chip.log.end(chip.now, HEADER_BYTES, write, first_address, |data| {
            (names::register_name(first_address), names::meaning(first_address, data))
        });
    }

    fn exchange(chip: &mut W5100S, mosi: u8) -> u8 {
        let miso = chip.spi.miso;
        match chip.spi.phase {
            Phase::Idle => return 0,
            Phase::Control => {
                chip.spi.phase = match mosi {
                    READ => Phase::AddressHigh { write: false },
                    WRITE => Phase::AddressHigh { write: true },
                    _ => Phase::Idle,
                };
                chip.spi.miso = 1;
            }
            Phase::AddressHigh { write } => {
                chip.spi.address = u16::from(mosi) << 8;
                chip.spi.phase = Phase::AddressLow { write };
                chip.spi.miso = 2;
            }
            Phase::AddressLow { write } => {
                chip.spi.address |= u16::from(mosi);
                chip.spi.first_address = chip.spi.address;
                chip.spi.phase = Phase::Data { write };
                chip.spi.miso = 3;
                chip.prefetch(write);
            }
            Phase::Data { write } => {
                if write {
                    chip.write_address(chip.spi.address, mosi);
                }
                chip.log.data(if write { mosi } else { miso });
                chip.spi.address = chip.spi.address.wrapping_add(1);
                chip.prefetch(write);
            }
        }
        miso
    }

    fn lanes(chip: &W5100S) -> Lanes {
        Lanes { out: Some(chip.spi.miso), ..Lanes::SINGLE }
    }

    fn read_common(chip: &W5100S, address: u16) -> u8 {
        chip.read_register(address)
    }

    fn write_common(chip: &mut W5100S, address: u16, value: u8) {
        chip.write_register(address, value);
    }

    fn reset(chip: &mut W5100S) {
        chip.common.set(common::RCR, &[RCR_RESET]);
        chip.own.counted_from = chip.now;
    }

    fn interrupt_pending(chip: &W5100S) -> bool {
        chip.own.mr2 & MR2_IEN != 0 && (chip.shared_interrupt_pending() || chip.own.socketless.interrupt_pending())
    }

    /// INTPTMR counts down every 4 clocks after INTn has gone high.
    fn interrupt_wait(chip: &W5100S) -> Ps {
        let hz = if chip.own.mr2 & MR2_CLKSEL != 0 { SLOW_CLOCK_HZ } else { CLOCK_HZ };
        u64::from(chip.common.intlevel()) * 4 * PS_PER_S / hz
    }

    fn retry(chip: &W5100S, n: usize) -> (u16, u8) {
        (chip.own.sockets[n].rtr, chip.own.sockets[n].rcr)
    }

    fn opening(chip: &mut W5100S, n: usize) {
        chip.opening_socket(n);
    }

    fn command(chip: &mut W5100S, n: usize, command: u8) {
        match command {
            CR_IGMP_JOIN => chip.igmp_command(n, true),
            CR_IGMP_LEAVE => chip.igmp_command(n, false),
            _ => {}
        }
    }

    fn next_event(chip: &W5100S) -> Option<Ps> {
        chip.own.socketless.next_event()
    }

    fn timers(chip: &mut W5100S) {
        chip.socketless_timer();
    }

    fn arp_reply(chip: &mut W5100S, ip: IpAddr, mac: Mac) -> bool {
        chip.socketless_arp_reply(ip, mac)
    }

    fn echo_reply(chip: &mut W5100S, from: IpAddr, message: &[u8]) -> bool {
        chip.own.socketless.echo_reply(from, message)
    }

    fn sends_resets(chip: &W5100S) -> bool {
        chip.own.mr2 & MR2_NOTCPRST == 0
    }

    fn sends_unreachable(chip: &W5100S) -> bool {
        chip.own.mr2 & MR2_UDPURB == 0
    }
}

#[derive(Clone, Copy, Default, Snapshot)]
enum Phase {
    /// Not selected, the chip could not listen since it was, or after an invalid control byte.
    #[default]
    Idle,
    Control,
    AddressHigh {
        write: bool,
    },
    AddressLow {
        write: bool,
    },
    Data {
        write: bool,
    },
}

/// The W5100S's decoder of SPI frames.
#[derive(Default, Snapshot)]
pub struct Decoder {
    phase: Phase,
    /// The next byte on MISO: the number of the byte in the frame 0, 1, 2, 3 (W5100 datasheet, "SPI mode"); 3 during
    /// data writes.
    miso: u8,
    address: u16,
    first_address: u16,
}

impl W5100S {
    /// Loads the next output byte: MISO's first bit must be valid before the byte's first clock edge.
    fn prefetch(&mut self, write: bool) {
        if !write {
            self.spi.miso = self.read_address(self.spi.address);
        }
    }
}
