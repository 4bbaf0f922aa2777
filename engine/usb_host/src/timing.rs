//! Durations of full-speed packets on the bus (USB 2.0 chapter 8; bit stuffing is ignored).
//!
//! Bit times at 12 Mbit/s, with SYNC 8, PID 8 and EOP 3 bits around every packet:
//!
//! | packet | bits |
//! |---|---|
//! | token, SOF | 8 + 8 + 11 (address and endpoint, or frame number) + 5 (CRC5) + 3 = 35 |
//! | data, n bytes | 8 + 8 + 8 n + 16 (CRC16) + 3 = 35 + 8 n |
//! | handshake | 8 + 8 + 3 = 19 |
//! | between two packets | 4 (sections 7.1.18 and 7.1.19 allow 2 to 7.5) |
//! | no answer | 18 (section 7.1.19.2: 16 to 18) |
//!
//! A 64-byte bulk transaction is 35 + 4 + 547 + 4 + 19 + 4 = 613 bits or 51.1 us, so 19 fit into a frame, which is the
//! maximum in table 5-9.

use sim::Ps;

const TOKEN_BITS: u64 = 35;
const DATA_OVERHEAD_BITS: u64 = 35;
const HANDSHAKE_BITS: u64 = 19;
const GAP_BITS: u64 = 4;
const TIMEOUT_BITS: u64 = 18;

/// Returns `bits` bit times at 12 Mbit/s, rounded down to a picosecond.
pub const fn bits(bits: u64) -> Ps {
    bits * 250_000 / 3
}

/// Returns the bus time of a start-of-frame packet with the gap after it.
pub const fn sof() -> Ps {
    bits(TOKEN_BITS + GAP_BITS)
}

/// Returns the time from the start of a SETUP or OUT transaction of `len` bytes to the end of its data packet.
pub const fn out_received(len: usize) -> Ps {
    bits(TOKEN_BITS + GAP_BITS + DATA_OVERHEAD_BITS + 8 * len as u64)
}

/// Returns the time of a whole SETUP or OUT transaction of `len` bytes that was answered.
pub(crate) const fn out_answered(len: usize) -> Ps {
    out_received(len) + bits(GAP_BITS + HANDSHAKE_BITS + GAP_BITS)
}

/// Returns the time of a whole SETUP or OUT transaction of `len` bytes without an answer.
pub(crate) const fn out_timeout(len: usize) -> Ps {
    out_received(len) + bits(TIMEOUT_BITS + GAP_BITS)
}

/// Returns the time from the start of an IN transaction to the end of its token.
pub(crate) const fn in_received() -> Ps {
    bits(TOKEN_BITS)
}

/// Returns the time of a whole IN transaction with `len` bytes.
pub(crate) const fn in_data(len: usize) -> Ps {
    in_received() + bits(GAP_BITS + DATA_OVERHEAD_BITS + 8 * len as u64 + GAP_BITS + HANDSHAKE_BITS + GAP_BITS)
}

/// Returns the time of a whole IN transaction answered by NAK or STALL.
pub(crate) const fn in_refused() -> Ps {
    in_received() + bits(GAP_BITS + HANDSHAKE_BITS + GAP_BITS)
}

/// Returns the time of a whole IN transaction without an answer.
pub(crate) const fn in_timeout() -> Ps {
    in_received() + bits(TIMEOUT_BITS + GAP_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::PS_PER_MS;

    #[test]
    fn nineteen_full_bulk_packets_fit_into_a_frame() {
        assert_eq!((PS_PER_MS - sof()) / in_data(64), 19);
        assert_eq!((PS_PER_MS - sof()) / out_answered(64), 19);
    }

    #[test]
    fn times_are_those_of_the_table() {
        assert_eq!(bits(12), 1_000_000);
        let out = bits(35 + 4 + 35 + 16);
        assert_eq!((sof(), in_received(), out_received(2)), (bits(35 + 4), bits(35), out));
        assert_eq!((out_answered(2), out_timeout(2)), (out + bits(4 + 19 + 4), out + bits(18 + 4)));
        let (data, refused) = (4 + 35 + 16 + 4 + 19 + 4, 4 + 19 + 4);
        assert_eq!([in_data(2), in_refused(), in_timeout()], [data, refused, 18 + 4].map(|more| bits(35) + bits(more)));
    }
}
