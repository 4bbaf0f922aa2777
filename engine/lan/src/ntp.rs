//! A time server (RFC 5905, for SNTP clients of RFC 4330) whose clock is simulated time plus a fixed start.

use std::net::SocketAddrV4;

use sim::{PS_PER_S, Ps};

use crate::app::UdpApp;

pub(crate) const PORT: u16 = 123;
const PACKET_BYTES: usize = 48;
/// Seconds from 1900, NTP's epoch, to 1970, Unix's.
const UNIX_EPOCH_S: u64 = 2_208_988_800;
const CLIENT: u8 = 3;
const SERVER: u8 = 4;

pub(crate) struct TimeServer {
    /// Unix time at simulated time 0.
    pub(crate) start_s: u32,
    /// Time from a request to its answer.
    pub(crate) turnaround: Ps,
}

impl UdpApp for TimeServer {
    fn receive(&mut self, _from: SocketAddrV4, data: &[u8], now: Ps) -> Option<Vec<u8>> {
        let (first, version) = (*data.first()?, data[0] >> 3 & 7);
        if data.len() < PACKET_BYTES || first & 7 != CLIENT || !(1..=4).contains(&version) {
            return None;
        }
        let mut answer = vec![0; PACKET_BYTES];
        // No leap second; stratum 2, the client's poll interval, a precision of 2^-20 s; "a local clock".
        answer[..4].copy_from_slice(&[version << 3 | SERVER, 2, data[2], 0xec]);
        answer[12..16].copy_from_slice(b"LOCL");
        answer[16..24].copy_from_slice(&self.timestamp(0));
        answer[24..32].copy_from_slice(&data[40..48]);
        answer[32..40].copy_from_slice(&self.timestamp(now));
        answer[40..48].copy_from_slice(&self.timestamp(now + self.turnaround));
        Some(answer)
    }
}

impl TimeServer {
    /// Returns seconds since 1900, modulo 2^32, and a binary fraction of a second.
    fn timestamp(&self, now: Ps) -> [u8; 8] {
        let seconds = u64::from(self.start_s) + UNIX_EPOCH_S + now / PS_PER_S;
        let fraction = (u128::from(now % PS_PER_S) << 32) / u128::from(PS_PER_S);
        (seconds << 32 | fraction as u64).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::SplitMix64;

    const FROM: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 123);

    fn server() -> TimeServer {
        TimeServer { start_s: 1_700_000_000, turnaround: PS_PER_S / 4 }
    }

    #[test]
    fn an_sntp_client_gets_simulated_time() {
        // The request of MicroPython's ntptime.
        let mut question = vec![0; 48];
        question[0] = 0x1b;
        question[40..48].copy_from_slice(b"original");
        let answer = server().receive(FROM, &question, 5 * PS_PER_S + PS_PER_S / 2).unwrap();
        assert_eq!(answer.len(), 48);
        assert_eq!(answer[..2], [0x1c, 2]);
        assert_eq!(&answer[24..32], b"original");
        let seconds = (1_700_000_005 + UNIX_EPOCH_S) as u32;
        assert_eq!(answer[32..40], [&seconds.to_be_bytes()[..], &[0x80, 0, 0, 0]].concat());
        assert_eq!(answer[40..48], [&seconds.to_be_bytes()[..], &[0xc0, 0, 0, 0]].concat());
    }

    #[test]
    fn garbage_is_not_answered() {
        let mut random = SplitMix64::new(5);
        for _ in 0..5_000 {
            let data: Vec<u8> = (0..random.below(60)).map(|_| random.draw() as u8).collect();
            let asked = data.len() >= 48 && data[0] & 7 == 3 && (8..40).contains(&(data[0] & 0x38));
            assert_eq!(server().receive(FROM, &data, random.draw()).is_some(), asked);
        }
    }
}
