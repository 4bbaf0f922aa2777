//! What makes one chip of the family differ from another.

pub mod w5500;

use sim::Ps;

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

    /// An edge of SCSn.
    fn select(chip: &mut Wiznet<Self>, low: bool);
    /// One SPI byte; returns what MISO carried meanwhile.
    fn exchange(chip: &mut Wiznet<Self>, mosi: u8) -> u8;
    /// A byte of the common registers.
    fn read_common(chip: &Wiznet<Self>, address: u16) -> u8;
    fn write_common(chip: &mut Wiznet<Self>, address: u16, value: u8);
}
