//! Flash, and the SRAM behind the I/O registers in the data space.

/// The memories of a chip.
pub struct Memory {
    flash: Vec<u8>,
    sram: Vec<u8>,
    /// Address of the first byte of SRAM in the data space.
    sram_start: u16,
}

impl Memory {
    /// Returns erased flash that begins with `image`, and SRAM of zeros. `flash_bytes`: a power of two.
    pub fn new(image: &[u8], flash_bytes: usize, sram_start: u16, sram_bytes: usize) -> Self {
        let mut flash = vec![0xff; flash_bytes];
        let len = image.len().min(flash_bytes);
        flash[..len].copy_from_slice(&image[..len]);
        Self { flash, sram: vec![0; sram_bytes], sram_start }
    }

    /// Returns the word at a word address, which wraps at the end of flash.
    #[inline]
    pub fn word(&self, word: u32) -> u16 {
        let at = (word as usize * 2) & (self.flash.len() - 1);
        u16::from_le_bytes([self.flash[at], self.flash[at + 1]])
    }

    /// Returns the byte at a byte address of flash, which wraps at its end.
    #[inline]
    pub fn flash_byte(&self, address: u32) -> u8 {
        self.flash[address as usize & (self.flash.len() - 1)]
    }

    /// Returns the contents of flash.
    pub fn flash(&self) -> &[u8] {
        &self.flash
    }

    /// Returns the contents of SRAM.
    pub fn sram(&self) -> &[u8] {
        &self.sram
    }

    /// Returns the address of the first byte of SRAM in the data space.
    pub fn sram_start(&self) -> u16 {
        self.sram_start
    }

    /// Returns a byte of SRAM by its address in the data space; `None`: there is none.
    #[inline]
    pub fn load(&self, address: u16) -> Option<u8> {
        self.sram.get(address.wrapping_sub(self.sram_start) as usize).copied()
    }

    /// Returns a byte of SRAM to change it; `None`: there is none at that address of the data space.
    #[inline]
    pub fn byte_mut(&mut self, address: u16) -> Option<&mut u8> {
        self.sram.get_mut(address.wrapping_sub(self.sram_start) as usize)
    }
}
