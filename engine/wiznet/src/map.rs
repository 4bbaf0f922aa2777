//! Offsets of the family's registers in this crate's blocks; these are the W5500's offsets (datasheet 3.1 and 3.2).
//! Other chips' maps translate to them.

/// Offsets in the common register block.
pub mod common {
    pub const MR: u16 = 0x00;
    pub const GAR: u16 = 0x01;
    pub const SUBR: u16 = 0x05;
    pub const SHAR: u16 = 0x09;
    pub const SIPR: u16 = 0x0F;
    pub const INTLEVEL: u16 = 0x13;
    pub const IR: u16 = 0x15;
    pub const IMR: u16 = 0x16;
    pub const SIR: u16 = 0x17;
    pub const SIMR: u16 = 0x18;
    pub const RTR: u16 = 0x19;
    pub const RCR: u16 = 0x1B;
    pub const PTIMER: u16 = 0x1C;
    pub const PMAGIC: u16 = 0x1D;
    pub const PHAR: u16 = 0x1E;
    pub const PSID: u16 = 0x24;
    pub const PMRU: u16 = 0x26;
    pub const UIPR: u16 = 0x28;
    pub const UPORTR: u16 = 0x2C;
    pub const PHYCFGR: u16 = 0x2E;
    pub const VERSIONR: u16 = 0x39;
}

/// Offsets in a socket register block.
pub mod socket {
    pub const MR: u16 = 0x00;
    pub const CR: u16 = 0x01;
    pub const IR: u16 = 0x02;
    pub const SR: u16 = 0x03;
    pub const PORT: u16 = 0x04;
    pub const DHAR: u16 = 0x06;
    pub const DIPR: u16 = 0x0C;
    pub const DPORT: u16 = 0x10;
    pub const MSSR: u16 = 0x12;
    /// Reserved in the W5500 datasheet; the W5200's Sn_PROTO, which WIZnet's IPRAW ping code also writes on the W5500.
    pub const PROTO: u16 = 0x14;
    pub const TOS: u16 = 0x15;
    pub const TTL: u16 = 0x16;
    pub const RXBUF_SIZE: u16 = 0x1E;
    pub const TXBUF_SIZE: u16 = 0x1F;
    pub const TX_FSR: u16 = 0x20;
    pub const TX_RD: u16 = 0x22;
    pub const TX_WR: u16 = 0x24;
    pub const RX_RSR: u16 = 0x26;
    pub const RX_RD: u16 = 0x28;
    pub const RX_WR: u16 = 0x2A;
    pub const IMR: u16 = 0x2C;
    pub const FRAG: u16 = 0x2D;
    pub const KPALVTR: u16 = 0x2F;
}

/// The target of a chip's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Common,
    Socket(usize),
    Tx(usize),
    Rx(usize),
    Reserved,
}
