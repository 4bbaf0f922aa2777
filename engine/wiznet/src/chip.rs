//! What makes one chip of the family differ from another.

pub mod w5100s;
pub mod w5500;

use sim::Ps;

use crate::time::interrupt_assert_wait;
use crate::wire::{Ip, Mac};
use crate::{Config, Wiznet};

/// The PHY and its registers.
pub trait Phy: Send {
    fn new(config: &Config) -> Self;
    fn set_cable(&mut self, now: Ps, plugged: bool);
    /// RSTn's reset reaches the PHY (`held`) or leaves it: its mode is again that of its pins.
    fn hardware_reset(&mut self, now: Ps, held: bool);
    /// MR's RST initialises the registers. The PHY itself is reset only by its own registers and by RSTn.
    fn reset_register(&mut self);
    fn link_up(&self, now: Ps) -> bool;
    /// When the link that is being negotiated comes up.
    fn link_at(&self) -> Option<Ps>;
}

/// One chip: its sizes, its SPI frames and its register map. Everything behind them is [`Wiznet`]'s.
pub trait Model: Send + Sized + 'static {
    const NAME: &'static str;
    const SOCKETS: usize;
    /// Bytes of the TX memory, and of the RX memory.
    const MEMORY_BYTES: usize;
    /// How long RSTn must be low at least.
    const RESET_CYCLE: Ps;
    /// From RSTn's release to the PLL's lock, the time after which the chip is stable.
    const PLL_LOCK: Ps;
    type Phy: Phy;
    /// State of the SPI frame decoder.
    type Decoder: Default + Send;
    /// What the chip has beside the family's registers; a reset starts it anew.
    type Own: Default + Send;

    /// An edge of SCSn.
    fn select(chip: &mut Wiznet<Self>, low: bool);
    /// One SPI byte; returns what MISO carried meanwhile.
    fn exchange(chip: &mut Wiznet<Self>, mosi: u8) -> u8;
    /// A byte of the common registers.
    fn read_common(chip: &Wiznet<Self>, address: u16) -> u8;
    fn write_common(chip: &mut Wiznet<Self>, address: u16, value: u8);

    // What follows is the same for all but chips that have more than the W5500.

    /// The registers have taken their reset values.
    fn reset(_chip: &mut Wiznet<Self>) {}
    /// Is something pending that asks for INTn to be low?
    fn interrupt_pending(chip: &Wiznet<Self>) -> bool {
        chip.shared_interrupt_pending()
    }
    /// How long INTn stays high at least.
    fn interrupt_wait(chip: &Wiznet<Self>) -> Ps {
        interrupt_assert_wait(chip.common.intlevel())
    }
    /// RTR and RCR as socket `n` has them.
    fn retry(chip: &Wiznet<Self>, _n: usize) -> (u16, u8) {
        (chip.common.rtr(), chip.common.rcr())
    }
    /// OPEN has come for socket `n`.
    fn opening(_chip: &mut Wiznet<Self>, _n: usize) {}
    /// A command that only this chip has.
    fn command(_chip: &mut Wiznet<Self>, _n: usize, _command: u8) {}
    /// When a timer of the chip's own is due, and what it does then.
    fn next_event(_chip: &Wiznet<Self>) -> Option<Ps> {
        None
    }
    fn timers(_chip: &mut Wiznet<Self>) {}
    /// An ARP reply or an ICMP echo reply; true if the chip has waited for it.
    fn arp_reply(_chip: &mut Wiznet<Self>, _ip: Ip, _mac: Mac) -> bool {
        false
    }
    fn echo_reply(_chip: &mut Wiznet<Self>, _from: Ip, _message: &[u8]) -> bool {
        false
    }
    /// Are segments without a connection answered with RST, and datagrams without a socket with "port unreachable"?
    fn sends_resets(_chip: &Wiznet<Self>) -> bool {
        true
    }
    fn sends_unreachable(_chip: &Wiznet<Self>) -> bool {
        true
    }
}
