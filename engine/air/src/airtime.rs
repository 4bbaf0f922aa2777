//! Airtime of frames: 802.11n at 2.4 GHz, one stream, 20 MHz, long guard interval (IEEE 802.11-2016, 19.4.3).

use sim::{PS_PER_US, Ps};

const SLOT: Ps = 9 * PS_PER_US;
const SIFS: Ps = 10 * PS_PER_US;
/// The pause before each frame, and the initial contention window in slots.
pub(crate) const DIFS: Ps = SIFS + 2 * SLOT;
const BACKOFFS: u64 = 16;
/// The largest contention window, after several losses.
const MOST_BACKOFFS: u64 = 1024;
const SYMBOL: Ps = 4 * PS_PER_US;
/// Preamble and signal fields of a mixed-format frame, and its signal extension.
const PREAMBLE: Ps = 36 * PS_PER_US;
const EXTENSION: Ps = 6 * PS_PER_US;
/// SIFS and an acknowledgement at 24 Mbit/s.
pub(crate) const ACK: Ps = SIFS + 28 * PS_PER_US + EXTENSION;
/// Service and tail bits.
const SERVICE_BITS: u64 = 22;
/// MAC header with QoS, LLC and SNAP instead of the Ethernet header, CCMP, FCS.
const HEADERS: u64 = 26 + 8 + 16 + 4;
const ETHERNET_HEADER: u64 = 14;
/// Minimum signal and bits per symbol, MCS 7 to 0.
const RATES: [(i16, u64); 8] =
    [(-64, 260), (-65, 234), (-66, 208), (-70, 156), (-74, 104), (-77, 78), (-79, 52), (-82, 26)];
/// Signal below which nothing is received.
pub(crate) const LEAST_DBM: i16 = -92;
/// A beacon of some 250 bytes at 1 Mbit/s.
pub(crate) const BEACON: Ps = 2_200 * PS_PER_US;
/// A frame without data in either direction, such as PS-Poll or the one that announces power save, with its
/// acknowledgement.
pub(crate) const NULL: Ps = PREAMBLE + 8 * SYMBOL + ACK;

fn bits_per_symbol(rssi_dbm: i16) -> u64 {
    RATES.iter().find(|(least, _)| rssi_dbm >= *least).map_or(26, |(_, bits)| *bits)
}

/// Returns the duration of the frame that carries an Ethernet frame of `length` bytes.
pub(crate) fn data_time(length: usize, rssi_dbm: i16) -> Ps {
    let bits = SERVICE_BITS + 8 * ((length as u64).saturating_sub(ETHERNET_HEADER) + HEADERS);
    PREAMBLE + SYMBOL * bits.div_ceil(bits_per_symbol(rssi_dbm)) + EXTENSION
}

/// Returns the backoff after `losses` of the same frame. `draw` returns a number below its argument.
pub(crate) fn backoff(losses: u32, draw: impl FnOnce(u64) -> u64) -> Ps {
    SLOT * draw((BACKOFFS << losses).min(MOST_BACKOFFS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_frames_take_the_time_of_the_standard() {
        // 1514 - 14 + 54 bytes and 22 bits: 12454 bits, 48 symbols of 260 bits.
        assert_eq!(data_time(1514, -50), PREAMBLE + 48 * SYMBOL + EXTENSION);
        assert_eq!([0, 1, 9].map(|losses| backoff(losses, |most| most)), [16, 32, 1024].map(|slots| slots * SLOT));
        // 65, 19.5 and 6.5 Mbit/s.
        assert_eq!([-50, -75, -91].map(bits_per_symbol), [260, 78, 26]);
    }
}
