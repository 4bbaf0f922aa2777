//! The TX and RX memories, divided among the sockets by their size registers (datasheet 3.3).

use sim::Snapshot;

/// One of the two memories, with the sockets' parts one after the other.
#[derive(Snapshot)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    /// First byte and size of each socket's part.
    parts: Vec<(usize, usize)>,
}

impl Memory {
    /// Creates a memory of `bytes` for `sockets` sockets, 2 KB each as after a reset.
    pub(crate) fn new(bytes: usize, sockets: usize) -> Self {
        let mut memory = Self { bytes: vec![0; bytes], parts: vec![(0, 0); sockets] };
        memory.divide(std::iter::repeat_n(2, sockets));
        memory
    }

    /// Divides the memory again. The datasheet allows 0, 1, 2, 4, 8 and 16 KB with a sum of at most the memory; other
    /// values give wrong data on the chip, and overlapping parts here. `kilobytes`: Sn_TXBUF_SIZE or Sn_RXBUF_SIZE.
    pub(crate) fn divide(&mut self, kilobytes: impl Iterator<Item = u8>) {
        let mut base = 0;
        for (part, kb) in self.parts.iter_mut().zip(kilobytes) {
            let size = usize::from(kb).min(self.bytes.len() / 1024) * 1024;
            *part = (base % self.bytes.len(), size);
            base += size;
        }
    }

    /// Returns the size of socket `n`'s part in bytes, at most the memory's.
    pub(crate) fn size(&self, n: usize) -> u16 {
        // The memory has at most 16 KB.
        self.parts[n].1 as u16
    }

    /// Returns the index of the 16-bit pointer, which wraps within the socket's part.
    fn index(&self, n: usize, pointer: u16) -> Option<usize> {
        let (base, size) = self.parts[n];
        if size == 0 {
            return None;
        }
        Some((base + usize::from(pointer) % size) % self.bytes.len())
    }

    pub(crate) fn read(&self, n: usize, pointer: u16) -> u8 {
        self.index(n, pointer).map_or(0, |i| self.bytes[i])
    }

    pub(crate) fn write(&mut self, n: usize, pointer: u16, value: u8) {
        if let Some(i) = self.index(n, pointer) {
            self.bytes[i] = value;
        }
    }

    /// Returns the byte at an address of the whole memory, for chips whose hosts compute the rings.
    pub(crate) fn byte_at(&self, address: u16) -> u8 {
        self.bytes[usize::from(address) % self.bytes.len()]
    }

    pub(crate) fn set_byte_at(&mut self, address: u16, value: u8) {
        let length = self.bytes.len();
        self.bytes[usize::from(address) % length] = value;
    }

    /// Returns `length` bytes from `pointer` on, with wrapping.
    pub(crate) fn copy_out(&self, n: usize, pointer: u16, length: usize) -> Vec<u8> {
        // The pointer is 16 bits wide on the chip and wraps with it.
        (0..length).map(|i| self.read(n, pointer.wrapping_add(i as u16))).collect()
    }

    pub(crate) fn copy_in(&mut self, n: usize, pointer: u16, data: &[u8]) {
        for (i, &byte) in data.iter().enumerate() {
            self.write(n, pointer.wrapping_add(i as u16), byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_separate_and_wrap() {
        let mut memory = Memory::new(16 << 10, 8);
        memory.divide([2, 4, 0, 1, 0, 0, 0, 8].into_iter());
        memory.copy_in(0, 0x07FE, &[1, 2, 3, 4]);
        assert_eq!(memory.copy_out(0, 0x0FFE, 4), [1, 2, 3, 4]);
        assert_eq!(memory.read(0, 0), 3);
        assert_eq!(memory.copy_out(1, 0, 4), [0; 4]);
        memory.copy_in(1, 0, &[9]);
        assert_eq!(memory.read(0, 0), 3);
        memory.copy_in(2, 0, &[7]);
        assert_eq!(memory.read(2, 0), 0);
        assert_eq!(memory.size(7), 8192);
        memory.copy_in(7, 0xFFFF, &[5, 6]);
        assert_eq!((memory.read(7, 0x1FFF), memory.read(7, 0)), (5, 6));
    }

    #[test]
    fn too_large_sizes_stay_inside() {
        let mut memory = Memory::new(16 << 10, 8);
        memory.divide([255; 8].into_iter());
        for n in 0..8 {
            memory.write(n, 0xFFFF, 1);
            assert_eq!(memory.size(n), 16384);
        }
    }
}
