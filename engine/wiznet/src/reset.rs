//! The RSTn pin (datasheet 5.5.1 "Reset Timing") and MR's software reset.

use sim::{Ps, Snapshot};

use crate::chip::{Model, Phy};
use crate::common::Common;
use crate::interrupt::IntPin;
use crate::pppoe::Lcp;
use crate::socket::Socket;
use crate::{Wiznet, sockets};

#[derive(Snapshot)]
pub(crate) struct ResetLine {
    low_since: Option<Ps>,
    /// RSTn has been low for the shortest reset time, and still is.
    in_reset: bool,
    /// Time from which the PLL is locked and the chip answers.
    stable_at: Ps,
}

impl ResetLine {
    pub(crate) fn power_up(pll_lock: Ps) -> Self {
        Self { low_since: None, in_reset: false, stable_at: pll_lock }
    }

    pub(crate) fn is_low(&self) -> bool {
        self.low_since.is_some()
    }

    /// Returns the next event. `cycle`: the shortest reset time.
    pub(crate) fn next_event(&self, cycle: Ps) -> Option<Ps> {
        let since = self.low_since.filter(|_| !self.in_reset)?;
        Some(since.saturating_add(cycle))
    }

    /// Returns whether the chip can be used at `now`.
    pub(crate) fn stable(&self, now: Ps) -> bool {
        !self.in_reset && now >= self.stable_at
    }
}

impl<M: Model> Wiznet<M> {
    /// Handles an edge of RSTn.
    pub(crate) fn reset_line(&mut self, low: bool) {
        self.reset.low_since = low.then_some(self.now);
        if !low && std::mem::take(&mut self.reset.in_reset) {
            self.reset.stable_at = self.now.saturating_add(M::PLL_LOCK);
            self.phy.hardware_reset(self.now, false);
        }
    }

    pub(crate) fn reset_timer(&mut self) {
        if self.reset.next_event(M::RESET_CYCLE).is_some_and(|at| at <= self.now) {
            self.reset.in_reset = true;
            self.software_reset();
            self.phy.hardware_reset(self.now, true);
            self.int_pin = IntPin::default();
        }
    }

    /// Performs MR's RST: all internal registers take their reset values (datasheet 4.1 "MR"). The memories keep their
    /// bytes.
    pub(crate) fn software_reset(&mut self) {
        self.common = Common::default();
        self.sockets = sockets(M::SOCKETS);
        self.phy.reset_register();
        self.lcp = Lcp::default();
        self.divide_memory();
        self.own = M::Own::default();
        M::reset(self);
    }

    /// Divides the TX and RX memories by the size registers.
    pub(crate) fn divide_memory(&mut self) {
        self.tx.divide(self.sockets.iter().map(Socket::tx_kilobytes));
        self.rx.divide(self.sockets.iter().map(Socket::rx_kilobytes));
    }
}
