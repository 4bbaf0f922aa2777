//! RESETS: the peripherals' bits (datasheet 7.5).

/// Bits of RESETS.RESET.
pub(crate) mod bit {
    /// The block is not held by RESETS.
    pub(crate) const NONE: u32 = 0;
    pub(crate) const ADC: u32 = 1 << 0;
    pub(crate) const BUSCTRL: u32 = 1 << 1;
    pub(crate) const DMA: u32 = 1 << 2;
    pub(crate) const HSTX: u32 = 1 << 3;
    pub(crate) const I2C0: u32 = 1 << 4;
    pub(crate) const I2C1: u32 = 1 << 5;
    pub(crate) const IO_BANK0: u32 = 1 << 6;
    pub(crate) const IO_QSPI: u32 = 1 << 7;
    pub(crate) const PADS_BANK0: u32 = 1 << 9;
    pub(crate) const PADS_QSPI: u32 = 1 << 10;
    pub(crate) const PIO0: u32 = 1 << 11;
    pub(crate) const PIO1: u32 = 1 << 12;
    pub(crate) const PIO2: u32 = 1 << 13;
    pub(crate) const PLL_SYS: u32 = 1 << 14;
    pub(crate) const PLL_USB: u32 = 1 << 15;
    pub(crate) const PWM: u32 = 1 << 16;
    pub(crate) const SHA256: u32 = 1 << 17;
    pub(crate) const SPI0: u32 = 1 << 18;
    pub(crate) const SPI1: u32 = 1 << 19;
    pub(crate) const SYSCFG: u32 = 1 << 20;
    pub(crate) const SYSINFO: u32 = 1 << 21;
    pub(crate) const TBMAN: u32 = 1 << 22;
    pub(crate) const TIMER0: u32 = 1 << 23;
    pub(crate) const TIMER1: u32 = 1 << 24;
    pub(crate) const TRNG: u32 = 1 << 25;
    pub(crate) const UART0: u32 = 1 << 26;
    pub(crate) const UART1: u32 = 1 << 27;
    pub(crate) const USBCTRL: u32 = 1 << 28;
    pub(crate) const ALL: u32 = 0x1fff_ffff;
}
