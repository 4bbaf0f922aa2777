//! RESETS: the peripherals' bits (datasheet 7.5).

pub use parts::resets::Resets;

/// Bits of RESETS.RESET.
pub mod bit {
    /// The block is not held by RESETS.
    pub const NONE: u32 = 0;
    pub const ADC: u32 = 1 << 0;
    pub const BUSCTRL: u32 = 1 << 1;
    pub const DMA: u32 = 1 << 2;
    pub const HSTX: u32 = 1 << 3;
    pub const I2C0: u32 = 1 << 4;
    pub const I2C1: u32 = 1 << 5;
    pub const IO_BANK0: u32 = 1 << 6;
    pub const IO_QSPI: u32 = 1 << 7;
    pub const JTAG: u32 = 1 << 8;
    pub const PADS_BANK0: u32 = 1 << 9;
    pub const PADS_QSPI: u32 = 1 << 10;
    pub const PIO0: u32 = 1 << 11;
    pub const PIO1: u32 = 1 << 12;
    pub const PIO2: u32 = 1 << 13;
    pub const PLL_SYS: u32 = 1 << 14;
    pub const PLL_USB: u32 = 1 << 15;
    pub const PWM: u32 = 1 << 16;
    pub const SHA256: u32 = 1 << 17;
    pub const SPI0: u32 = 1 << 18;
    pub const SPI1: u32 = 1 << 19;
    pub const SYSCFG: u32 = 1 << 20;
    pub const SYSINFO: u32 = 1 << 21;
    pub const TBMAN: u32 = 1 << 22;
    pub const TIMER0: u32 = 1 << 23;
    pub const TIMER1: u32 = 1 << 24;
    pub const TRNG: u32 = 1 << 25;
    pub const UART0: u32 = 1 << 26;
    pub const UART1: u32 = 1 << 27;
    pub const USBCTRL: u32 = 1 << 28;
    pub const ALL: u32 = 0x1fff_ffff;
}
