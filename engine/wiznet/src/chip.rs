//! The interface of a chip model: everything that differs between chips of the family.

mod older;
pub mod w5100;
pub mod w5100s;
pub mod w5200;
pub(crate) mod w5500;

use sim::{Lanes, Ps, Snapshot};

use crate::time::interrupt_assert_wait;
use crate::wire::{IpAddr, Mac};
use crate::{Config, Wiznet};

/// The PHY and its registers.
pub trait Phy: Send + Snapshot {
    /// Returns the PHY at power-up.
    fn new(config: &Config) -> Self;
    /// Plugs the cable in or pulls it out.
    fn set_cable(&mut self, now: Ps, plugged: bool);
    /// Handles RSTn's reset of the PHY (`held`) or its release: the mode is that of its pins again.
    fn hardware_reset(&mut self, now: Ps, held: bool);
    /// Initialises the registers at MR's RST. Only the PHY's registers and RSTn reset the PHY itself.
    fn reset_register(&mut self);
    /// Returns when the link being negotiated comes up.
    fn link_at(&self) -> Option<Ps>;
    /// Returns whether the link is up at `now`.
    fn link_up(&self, now: Ps) -> bool {
        self.link_at().is_some_and(|at| now >= at)
    }
}

/// One chip: its sizes, its SPI frames and its register map. [`Wiznet`] does everything else.
pub trait Model: Send + Sized + 'static {
    /// The part's name.
    const NAME: &'static str;
    /// Number of sockets.
    const SOCKETS: usize;
    /// Bytes of the TX memory, and also of the RX memory.
    const MEMORY_BYTES: usize;
    /// Fastest clock of SPI by the datasheet, if others go beyond it.
    const MOST_SCK_HZ: u64 = u64::MAX;
    /// Shortest reset pulse on RSTn.
    const RESET_CYCLE: Ps;
    /// From RSTn's release to the PLL's lock, the time after which the chip is stable.
    const PLL_LOCK: Ps;
    /// The chip's PHY.
    type Phy: Phy;
    /// State of the SPI frame decoder.
    type Decoder: Default + Send + Snapshot;
    /// The chip's state in addition to the family's registers; a reset initialises it.
    type Own: Default + Send + Snapshot;

    /// Starts an SPI frame when the chip is selected.
    fn begin_frame(chip: &mut Wiznet<Self>);
    /// Ends an SPI frame, if it has reached its data.
    fn end_frame(chip: &mut Wiznet<Self>);
    /// Exchanges one SPI byte of a selected chip; returns the byte on MISO.
    fn exchange(chip: &mut Wiznet<Self>, mosi: u8) -> u8;
    /// Reads a byte of the common registers.
    fn read_common(chip: &Wiznet<Self>, address: u16) -> u8;
    /// Writes a byte of the common registers.
    fn write_common(chip: &mut Wiznet<Self>, address: u16, value: u8);

    // The following defaults hold for chips without features beyond the W5500's.

    /// Returns the pins of the next SPI byte.
    fn lanes(_chip: &Wiznet<Self>) -> Lanes {
        Lanes::SINGLE
    }
    /// Called after the registers have their reset values.
    fn reset(_chip: &mut Wiznet<Self>) {}
    /// Returns whether a pending interrupt asserts INTn.
    fn interrupt_pending(chip: &Wiznet<Self>) -> bool {
        chip.shared_interrupt_pending()
    }
    /// Returns the shortest time for which INTn stays high.
    fn interrupt_wait(chip: &Wiznet<Self>) -> Ps {
        interrupt_assert_wait(chip.common.intlevel())
    }
    /// Returns RTR and RCR for socket `n`.
    fn retry(chip: &Wiznet<Self>, _n: usize) -> (u16, u8) {
        (chip.common.rtr(), chip.common.rcr())
    }
    /// Called at OPEN of socket `n`.
    fn opening(_chip: &mut Wiznet<Self>, _n: usize) {}
    /// Executes a command that only this chip has.
    fn command(_chip: &mut Wiznet<Self>, _n: usize, _command: u8) {}
    /// Returns when a timer specific to this chip is due.
    fn next_event(_chip: &Wiznet<Self>) -> Option<Ps> {
        None
    }
    /// Runs the timers specific to this chip.
    fn timers(_chip: &mut Wiznet<Self>) {}
    /// Handles an ARP reply or an ICMP echo reply; returns true if the chip was waiting for it.
    fn arp_reply(_chip: &mut Wiznet<Self>, _ip: IpAddr, _mac: Mac) -> bool {
        false
    }
    /// Handles an ICMP echo reply, like [`Self::arp_reply`].
    fn echo_reply(_chip: &mut Wiznet<Self>, _from: IpAddr, _message: &[u8]) -> bool {
        false
    }
    /// Returns whether segments without a connection are answered with RST, and datagrams without a socket with "port
    /// unreachable".
    fn sends_resets(_chip: &Wiznet<Self>) -> bool {
        true
    }
    /// Returns whether a datagram without a socket is answered with "port unreachable".
    fn sends_unreachable(_chip: &Wiznet<Self>) -> bool {
        true
    }
}
