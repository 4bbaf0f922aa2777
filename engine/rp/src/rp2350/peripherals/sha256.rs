//! SHA-256: hashes blocks of 64 bytes (datasheet 12.13).
//!
//! The transfers of a whole block are requested at once, as many as DMA_SIZE makes them, when the block before it has its
//! digest, and when a channel starts. So one that starts within a block gets more than fit, as pico-sdk's test expects.

use super::{Peripheral, Write};
use crate::rp2350::wires::{dreq, event};
use chip::Sys;
use sim::{NEVER, Snapshot};

const BLOCK_BYTES: u32 = 64;
/// Cycles from a block's last word to its digest (datasheet 12.13.2).
const BLOCK_CYCLES: u64 = 57;

mod csr {
    pub(super) const START: u32 = 1 << 0;
    pub(super) const WDATA_RDY: u32 = 1 << 1;
    pub(super) const SUM_VLD: u32 = 1 << 2;
    pub(super) const ERR_WDATA_NOT_RDY: u32 = 1 << 4;
    pub(super) const DMA_SIZE_LSB: u32 = 8;
    pub(super) const BSWAP: u32 = 1 << 12;
    pub(super) const WRITABLE: u32 = 3 << 8 | BSWAP;
    pub(super) const RESET: u32 = 2 << 8 | BSWAP;
}

/// The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3), and of the
/// cube roots of the first 64 (4.2.2).
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

#[derive(Debug, Snapshot)]
pub struct Sha256 {
    csr: u32,
    sum: [u32; 8],
    block: [u32; 16],
    words: usize,
    /// Narrow writes: the bits so far, and their number.
    shift: u32,
    bits: u32,
    /// Cycle at which the digest of the last block is there.
    ready_at: u64,
    /// Transfers that are requested and have not come.
    requested: u32,
}

impl Default for Sha256 {
    fn default() -> Self {
        let mut sha = Self {
            csr: csr::RESET,
            sum: START,
            block: [0; 16],
            words: 0,
            shift: 0,
            bits: 0,
            ready_at: 0,
            requested: 0,
        };
        sha.request();
        sha
    }
}

impl Sha256 {
    /// Handles the end of a block.
    pub fn event(&mut self, sys: &mut Sys) {
        self.request();
        self.update(sys);
    }

    fn request(&mut self) {
        self.requested = BLOCK_BYTES >> (self.csr >> csr::DMA_SIZE_LSB & 3);
    }

    /// Writes the low `size` (1, 2, 4) bytes of `value` to WDATA.
    pub fn write_data(&mut self, sys: &mut Sys, value: u32, size: u32) {
        if sys.take_started_dreq(dreq::SHA256) {
            self.request();
        }
        self.requested = self.requested.saturating_sub(1);
        if sys.now_cycle() < self.ready_at {
            self.csr |= csr::ERR_WDATA_NOT_RDY;
        } else if size == 4 {
            self.push(sys, value);
        } else {
            let bits = 8 * size;
            self.shift |= (value & ((1 << bits) - 1)) << self.bits;
            self.bits += bits;
            if self.bits >= 32 {
                let word = std::mem::take(&mut self.shift);
                self.bits = 0;
                self.push(sys, word);
            }
        }
        self.update(sys);
    }

    fn push(&mut self, sys: &Sys, word: u32) {
        self.block[self.words] = if self.csr & csr::BSWAP != 0 { word.swap_bytes() } else { word };
        self.words += 1;
        if self.words == self.block.len() {
            self.words = 0;
            compress(&mut self.sum, &self.block);
            self.ready_at = sys.now_cycle() + BLOCK_CYCLES;
        }
    }

    fn update(&self, sys: &mut Sys) {
        let ready = sys.now_cycle() >= self.ready_at;
        sys.set_dreq(dreq::SHA256, self.requested != 0);
        sys.schedule(event::SHA256, if ready { NEVER } else { sys.clock.ps_at(self.ready_at) });
    }
}

fn compress(sum: &mut [u32; 8], block: &[u32; 16]) {
    let mut w = [0u32; 64];
    w[..16].copy_from_slice(block);
    for t in 16..64 {
        let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ w[t - 15] >> 3;
        let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *sum;
    for (k, w) in ROUNDS.iter().zip(w) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let t1 = h.wrapping_add(s1).wrapping_add(e & f ^ !e & g).wrapping_add(*k).wrapping_add(w);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let t2 = s0.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    for (sum, add) in sum.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(add);
    }
}

impl Peripheral for Sha256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => {
                let ready = sys.now_cycle() >= self.ready_at;
                let valid = if ready && self.words == 0 && self.bits == 0 { csr::SUM_VLD } else { 0 };
                self.csr | valid | if ready { csr::WDATA_RDY } else { 0 }
            }
            0x08..=0x24 => self.sum[((offset - 8) / 4) as usize],
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => {
                let value = write.apply(self.csr & csr::WRITABLE);
                let error = self.csr & csr::ERR_WDATA_NOT_RDY & !write.ones();
                self.csr = value & csr::WRITABLE | error;
                if value & csr::START != 0 {
                    let csr = self.csr;
                    *self = Self { csr, ..Self::default() };
                    self.request();
                }
                self.update(sys);
            }
            0x04 => self.write_data(sys, write.bits, 4),
            _ => {}
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        sys.set_dreq(dreq::SHA256, false);
        sys.cancel(event::SHA256);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_starts_within_a_block_writes_too_much() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut sha = Sha256::default();
        // Requests, and whether a byte came too early, after `count` bytes.
        let after = |sha: &mut Sha256, sys: &mut Sys, count: u32| {
            (0..count).for_each(|_| sha.write_data(sys, 0, 1));
            let requests = sys.dreq_level() >> dreq::SHA256 & 1 != 0;
            (requests, sha.read(sys, 0) & csr::ERR_WDATA_NOT_RDY != 0)
        };
        // DMA_SIZE of bytes.
        sha.write(&mut sys, 0, Write::normal(csr::START));
        assert_eq!(after(&mut sha, &mut sys, 63), (true, false));
        assert_eq!(after(&mut sha, &mut sys, 1), (false, false));
        sys.cycle = 57;
        sha.event(&mut sys);
        assert_eq!(after(&mut sha, &mut sys, 16), (true, false));
        sys.start_dreq(dreq::SHA256);
        assert_eq!(after(&mut sha, &mut sys, 48), (true, false));
        assert_eq!(after(&mut sha, &mut sys, 15), (true, true));
        assert_eq!(after(&mut sha, &mut sys, 1), (false, true));
    }

    #[test]
    fn the_standards_example_has_its_digest() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut sha = Sha256::default();
        assert_eq!(sha.read(&mut sys, 0), 0x1206);
        sha.write(&mut sys, 0, Write::normal(csr::RESET | csr::START));
        // "abc", the bit that ends it, and its length of 24 bits.
        for (index, byte) in [b'a', b'b', b'c', 0x80].into_iter().enumerate() {
            assert_eq!(sha.read(&mut sys, 0) & csr::SUM_VLD != 0, index == 0);
            sha.write_data(&mut sys, byte.into(), 1);
        }
        for _ in 0..14 {
            sha.write_data(&mut sys, 0, 4);
        }
        sha.write_data(&mut sys, 24u32.swap_bytes(), 4);
        assert_eq!(sha.read(&mut sys, 0) & (csr::WDATA_RDY | csr::SUM_VLD), 0);
        sha.write_data(&mut sys, 1, 4);
        assert_ne!(sha.read(&mut sys, 0) & csr::ERR_WDATA_NOT_RDY, 0);
        assert_eq!(sys.due(event::SHA256), sys.clock.ps_at(57));
        sys.cycle = 57;
        assert_eq!(sha.read(&mut sys, 0) & (csr::WDATA_RDY | csr::SUM_VLD), csr::WDATA_RDY | csr::SUM_VLD);
        let sum: Vec<u32> = (0..8).map(|word| sha.read(&mut sys, 8 + 4 * word)).collect();
        assert_eq!(
            sum,
            [0xba78_16bf, 0x8f01_cfea, 0x4141_40de, 0x5dae_2223, 0xb003_61a3, 0x9617_7a9c, 0xb410_ff61, 0xf200_15ad]
        );
    }
}
