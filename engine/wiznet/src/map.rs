//! Offsets of the family's registers in this crate's blocks; these are the W5500's offsets (datasheet 3.1 and 3.2).
//! Other chips' maps translate to them.

/// Offsets in the common register block.
pub(crate) mod common {
    pub(crate) const MR: u16 = 0x00;
    pub(crate) const GAR: u16 = 0x01;
    pub(crate) const SUBR: u16 = 0x05;
    pub(crate) const SHAR: u16 = 0x09;
    pub(crate) const SIPR: u16 = 0x0F;
    pub(crate) const INTLEVEL: u16 = 0x13;
    pub(crate) const IR: u16 = 0x15;
    pub(crate) const IMR: u16 = 0x16;
    pub(crate) const SIR: u16 = 0x17;
    pub(crate) const SIMR: u16 = 0x18;
    pub(crate) const RTR: u16 = 0x19;
    pub(crate) const RCR: u16 = 0x1B;
    pub(crate) const PTIMER: u16 = 0x1C;
    pub(crate) const PMAGIC: u16 = 0x1D;
    pub(crate) const PHAR: u16 = 0x1E;
    pub(crate) const PSID: u16 = 0x24;
    pub(crate) const PMRU: u16 = 0x26;
    pub(crate) const UIPR: u16 = 0x28;
    pub(crate) const UPORTR: u16 = 0x2C;
    pub(crate) const PHYCFGR: u16 = 0x2E;
    pub(crate) const VERSIONR: u16 = 0x39;
}

/// Offsets in a socket register block.
pub(crate) mod socket {
    pub(crate) const MR: u16 = 0x00;
    pub(crate) const CR: u16 = 0x01;
    pub(crate) const IR: u16 = 0x02;
    pub(crate) const SR: u16 = 0x03;
    pub(crate) const PORT: u16 = 0x04;
    pub(crate) const DHAR: u16 = 0x06;
    pub(crate) const DIPR: u16 = 0x0C;
    pub(crate) const DPORT: u16 = 0x10;
    pub(crate) const MSSR: u16 = 0x12;
    /// Reserved in the W5500 datasheet; the W5200's Sn_PROTO, which WIZnet's IPRAW ping code also writes on the W5500.
    pub(crate) const PROTO: u16 = 0x14;
    pub(crate) const TOS: u16 = 0x15;
    pub(crate) const TTL: u16 = 0x16;
    pub(crate) const RXBUF_SIZE: u16 = 0x1E;
    pub(crate) const TXBUF_SIZE: u16 = 0x1F;
    pub(crate) const TX_FSR: u16 = 0x20;
    pub(crate) const TX_RD: u16 = 0x22;
    pub(crate) const TX_WR: u16 = 0x24;
    pub(crate) const RX_RSR: u16 = 0x26;
    pub(crate) const RX_RD: u16 = 0x28;
    pub(crate) const RX_WR: u16 = 0x2A;
    pub(crate) const IMR: u16 = 0x2C;
    pub(crate) const FRAG: u16 = 0x2D;
    pub(crate) const KPALVTR: u16 = 0x2F;
}

/// The target of a chip's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Common,
    Socket(usize),
    Tx(usize),
    Rx(usize),
    Reserved,
}
