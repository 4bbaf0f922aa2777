//! Time intervals from the datasheet.

use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps};

/// Unit of RTR in the datasheet (4.1 "RTR").
pub(crate) const RTR_UNIT: Ps = 100 * PS_PER_US;
/// Unit of Sn_KPALVTR (datasheet 4.2 "Sn_KPALVTR").
pub(crate) const KEEP_ALIVE_UNIT: Ps = 5 * PS_PER_S;
/// Unit of PTIMER (datasheet 4.1 "PTIMER").
pub(crate) const PTIMER_UNIT: Ps = 25 * PS_PER_MS;
/// PLL_CLK, the internal clock that INTLEVEL counts (datasheet 4.1 "INTLEVEL").
pub(crate) const PLL_CLK_HZ: u64 = 150_000_000;

/// Returns I_AWT, the interrupt assert wait time: (INTLEVEL + 1) x PLL_CLK x 4, only for INTLEVEL > 0 (datasheet 4.1
/// "INTLEVEL").
pub(crate) fn interrupt_assert_wait(intlevel: u16) -> Ps {
    if intlevel == 0 {
        return 0;
    }
    (u64::from(intlevel) + 1) * 4 * PS_PER_S / PLL_CLK_HZ
}

/// Returns RTR as a time, in units of `unit`. RTR = 0 counts as one unit, because with a zero period time would never
/// pass.
pub(crate) fn retry_period(rtr: u16, unit: Ps) -> Ps {
    Ps::from(rtr.max(1)) * unit
}

/// Returns the wait after transmission number `retry` (0 is the first): RTR x 2^retry; the doubling stops at the
/// largest 16-bit value (datasheet 4.1 "RCR", formula TCP_TO).
pub(crate) fn tcp_retry_period(rtr: u16, retry: u8, unit: Ps) -> Ps {
    let mut units = u32::from(rtr.max(1));
    for _ in 0..retry {
        if units * 2 > 0xFFFF {
            break;
        }
        units *= 2;
    }
    Ps::from(units) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasheet_example_of_tcp_timeout_is_31_8_s() {
        let total: Ps = (0..=8).map(|n| tcp_retry_period(2000, n, RTR_UNIT)).sum();
        assert_eq!(total, 31_800 * PS_PER_MS);
    }

    #[test]
    fn doubling_stops_at_16_bits() {
        assert_eq!(tcp_retry_period(0x8000, 5, RTR_UNIT), 0x8000 * RTR_UNIT);
        assert_eq!(tcp_retry_period(0x7FFF, 5, RTR_UNIT), 0xFFFE * RTR_UNIT);
        assert_eq!(tcp_retry_period(0, 255, RTR_UNIT), 0x8000 * RTR_UNIT);
    }

    #[test]
    fn interrupt_wait_counts_four_pll_clocks() {
        assert_eq!(interrupt_assert_wait(0), 0);
        assert_eq!(interrupt_assert_wait(1), 53_333);
        assert_eq!(interrupt_assert_wait(0xFFFF), 65_536 * 4_000_000 / 150);
    }
}
