//! The register map: names, offsets and widths (datasheet 3.1 and 3.2), and the name lookup for traces.

use crate::socket::{
    CR_CLOSE, CR_CONNECT, CR_DISCON, CR_LISTEN, CR_OPEN, CR_RECV, CR_SEND, CR_SEND_KEEP, CR_SEND_MAC, Status,
};

/// One register: its name in the datasheet, its first offset address and its width in bytes.
pub struct Register {
    pub name: &'static str,
    pub address: u16,
    pub width: u16,
}

const fn register(name: &'static str, address: u16, width: u16) -> Register {
    Register { name, address, width }
}

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

/// The common register block in address order.
pub const COMMON_REGISTERS: &[Register] = &[
    register("MR", common::MR, 1),
    register("GAR", common::GAR, 4),
    register("SUBR", common::SUBR, 4),
    register("SHAR", common::SHAR, 6),
    register("SIPR", common::SIPR, 4),
    register("INTLEVEL", common::INTLEVEL, 2),
    register("IR", common::IR, 1),
    register("IMR", common::IMR, 1),
    register("SIR", common::SIR, 1),
    register("SIMR", common::SIMR, 1),
    register("RTR", common::RTR, 2),
    register("RCR", common::RCR, 1),
    register("PTIMER", common::PTIMER, 1),
    register("PMAGIC", common::PMAGIC, 1),
    register("PHAR", common::PHAR, 6),
    register("PSID", common::PSID, 2),
    register("PMRU", common::PMRU, 2),
    register("UIPR", common::UIPR, 4),
    register("UPORTR", common::UPORTR, 2),
    register("PHYCFGR", common::PHYCFGR, 1),
    register("VERSIONR", common::VERSIONR, 1),
];

/// A socket register block in address order, without the prefix `Sn_`.
pub const SOCKET_REGISTERS: &[Register] = &[
    register("MR", socket::MR, 1),
    register("CR", socket::CR, 1),
    register("IR", socket::IR, 1),
    register("SR", socket::SR, 1),
    register("PORT", socket::PORT, 2),
    register("DHAR", socket::DHAR, 6),
    register("DIPR", socket::DIPR, 4),
    register("DPORT", socket::DPORT, 2),
    register("MSSR", socket::MSSR, 2),
    register("PROTO", socket::PROTO, 1),
    register("TOS", socket::TOS, 1),
    register("TTL", socket::TTL, 1),
    register("RXBUF_SIZE", socket::RXBUF_SIZE, 1),
    register("TXBUF_SIZE", socket::TXBUF_SIZE, 1),
    register("TX_FSR", socket::TX_FSR, 2),
    register("TX_RD", socket::TX_RD, 2),
    register("TX_WR", socket::TX_WR, 2),
    register("RX_RSR", socket::RX_RSR, 2),
    register("RX_RD", socket::RX_RD, 2),
    register("RX_WR", socket::RX_WR, 2),
    register("IMR", socket::IMR, 1),
    register("FRAG", socket::FRAG, 2),
    register("KPALVTR", socket::KPALVTR, 1),
];

/// Sn_CR by value; the chip clears it when it has taken the command.
const COMMANDS: &[(u8, &str)] = &[
    (0x00, "done"),
    (CR_OPEN, "OPEN"),
    (CR_LISTEN, "LISTEN"),
    (CR_CONNECT, "CONNECT"),
    (CR_DISCON, "DISCON"),
    (CR_CLOSE, "CLOSE"),
    (CR_SEND, "SEND"),
    (CR_SEND_MAC, "SEND_MAC"),
    (CR_SEND_KEEP, "SEND_KEEP"),
    (CR_RECV, "RECV"),
];

/// Sn_SR by value.
const STATES: &[(u8, &str)] = &[
    (Status::Closed as u8, "SOCK_CLOSED"),
    (Status::Init as u8, "SOCK_INIT"),
    (Status::Listen as u8, "SOCK_LISTEN"),
    (Status::SynSent as u8, "SOCK_SYNSENT"),
    (Status::SynRecv as u8, "SOCK_SYNRECV"),
    (Status::Established as u8, "SOCK_ESTABLISHED"),
    (Status::FinWait as u8, "SOCK_FIN_WAIT"),
    (Status::Closing as u8, "SOCK_CLOSING"),
    (Status::TimeWait as u8, "SOCK_TIME_WAIT"),
    (Status::CloseWait as u8, "SOCK_CLOSE_WAIT"),
    (Status::LastAck as u8, "SOCK_LAST_ACK"),
    (Status::Udp as u8, "SOCK_UDP"),
    (Status::IpRaw as u8, "SOCK_IPRAW"),
    (Status::MacRaw as u8, "SOCK_MACRAW"),
];

/// What the block select bits BSB[4:0] of the control phase choose (datasheet 2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Common,
    Socket(usize),
    Tx(usize),
    Rx(usize),
    Reserved,
}

impl Block {
    pub fn from_bsb(bsb: u8) -> Self {
        let n = usize::from((bsb >> 2) & 7);
        match bsb & 3 {
            1 => Self::Socket(n),
            2 => Self::Tx(n),
            3 => Self::Rx(n),
            _ if n == 0 => Self::Common,
            _ => Self::Reserved,
        }
    }
}

fn find(registers: &[Register], address: u16) -> Option<(&'static str, u16)> {
    let found = registers.iter().find(|r| (r.address..r.address + r.width).contains(&address))?;
    Some((found.name, address - found.address))
}

/// The name of what `address` is in the block that `bsb` (BSB[4:0], so 0..=31) selects, for traces: `PHYCFGR`,
/// `S0_TX_WR`, `S0_TX_WR+1` for a later byte of a wider register, `S0 TX buffer`, `reserved 0x0030`.
pub fn register_name(bsb: u8, address: u16) -> String {
    let (prefix, found) = match Block::from_bsb(bsb & 0x1F) {
        Block::Common => (String::new(), find(COMMON_REGISTERS, address)),
        Block::Socket(n) => (format!("S{n}_"), find(SOCKET_REGISTERS, address)),
        Block::Tx(n) => return format!("S{n} TX buffer"),
        Block::Rx(n) => return format!("S{n} RX buffer"),
        Block::Reserved => return format!("reserved block {bsb}"),
    };
    match found {
        Some((name, 0)) => format!("{prefix}{name}"),
        Some((name, byte)) => format!("{prefix}{name}+{byte}"),
        None => format!("{prefix}reserved 0x{address:04X}"),
    }
}

/// What the `length` bytes at an address say, of which `data` are the first: a command, a socket's state, text in a
/// buffer, or the number that a register of at most two bytes holds; else nothing.
pub fn meaning(bsb: u8, address: u16, data: &[u8], length: usize) -> String {
    let name = |names: &[(u8, &str)], value: u8| {
        names.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| *name).to_string()
    };
    match (Block::from_bsb(bsb & 0x1F), data) {
        (Block::Socket(_), &[value]) if address == socket::CR => name(COMMANDS, value),
        (Block::Socket(_), &[value]) if address == socket::SR => name(STATES, value),
        (Block::Tx(_) | Block::Rx(_), _) => match data.iter().all(|byte| (b' '..=b'~').contains(byte)) {
            true => format!("'{}'", String::from_utf8_lossy(data)),
            false => String::new(),
        },
        (_, &[value]) => value.to_string(),
        (_, &[high, low]) if length == 2 => u16::from_be_bytes([high, low]).to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(register_name(0, 0x2E), "PHYCFGR");
        assert_eq!(register_name(1, 0x24), "S0_TX_WR");
        assert_eq!(register_name(1, 0x25), "S0_TX_WR+1");
        assert_eq!(register_name(29, 0x00), "S7_MR");
        assert_eq!(register_name(2, 0x1234), "S0 TX buffer");
        assert_eq!(register_name(31, 0), "S7 RX buffer");
        assert_eq!(register_name(4, 0), "reserved block 4");
        assert_eq!(register_name(0, 0x30), "reserved 0x0030");
        assert_eq!(register_name(5, 0x17), "S1_reserved 0x0017");
    }

    #[test]
    fn meanings() {
        assert_eq!(meaning(1, socket::CR, &[0x20], 1), "SEND");
        assert_eq!(meaning(29, socket::CR, &[0x40], 1), "RECV");
        assert_eq!(meaning(1, socket::CR, &[0x00], 1), "done");
        assert_eq!(meaning(1, socket::CR, &[0x77], 1), "");
        assert_eq!(meaning(1, socket::SR, &[0x17], 1), "SOCK_ESTABLISHED");
        assert_eq!(meaning(1, socket::SR, &[0x99], 1), "");
        assert_eq!(meaning(1, socket::RX_RSR, &[1, 2], 2), "258");
        assert_eq!(meaning(1, socket::TX_WR + 1, &[0x39], 1), "57");
        assert_eq!(meaning(0, common::SIPR, &[192, 168, 50, 100], 4), "");
        assert_eq!(meaning(2, 0, b"1999", 4), "'1999'");
        assert_eq!(meaning(3, 0, &[0x02, 0x50], 2), "");
        assert_eq!(meaning(3, 0, &[0xFF], 1), "");
    }

    #[test]
    fn registers_are_in_order_and_do_not_overlap() {
        for table in [COMMON_REGISTERS, SOCKET_REGISTERS] {
            for pair in table.windows(2) {
                assert!(pair[0].address + pair[0].width <= pair[1].address, "{}", pair[1].name);
            }
        }
    }

    #[test]
    fn every_address_has_a_name() {
        for bsb in 0..=255 {
            for address in (0..=u16::MAX).step_by(7) {
                assert!(!register_name(bsb, address).is_empty());
            }
        }
    }
}
