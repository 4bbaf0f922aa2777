//! Names of registers and of their values, for traces.

use crate::common::{IR_CONFLICT, IR_MP, IR_PPPOE, IR_UNREACH, MR_FARP, MR_PB, MR_PPPOE, MR_RST, MR_WOL};
use crate::map::{common, socket};
use crate::socket::{
    CR_CLOSE, CR_CONNECT, CR_DISCON, CR_LISTEN, CR_OPEN, CR_RECV, CR_SEND, CR_SEND_KEEP, CR_SEND_MAC, IR_CON,
    IR_DISCON, IR_RECV, IR_SEND_OK, IR_TIMEOUT, MR_BCASTB, MR_MULTI, MR_ND_MC_MMB, MR_UCASTB_MIP6B, Status,
};

/// One register: its name in the datasheet, its first offset address and its width in bytes.
pub(crate) struct Register {
    pub(crate) name: &'static str,
    pub(crate) address: u16,
    pub(crate) width: u16,
}

pub(crate) const fn register(name: &'static str, address: u16, width: u16) -> Register {
    Register { name, address, width }
}

/// The common registers that all chips have.
pub(crate) const COMMON_REGISTERS: &[Register] = &[
    register("MR", common::MR, 1),
    register("GAR", common::GAR, 4),
    register("SUBR", common::SUBR, 4),
    register("SHAR", common::SHAR, 6),
    register("SIPR", common::SIPR, 4),
    register("IR", common::IR, 1),
    register("IMR", common::IMR, 1),
];

/// The registers of a socket that all chips have, without the prefix `Sn_`.
pub(crate) const SOCKET_REGISTERS: &[Register] = &[
    register("MR", socket::MR, 1),
    register("CR", socket::CR, 1),
    register("IR", socket::IR, 1),
    register("SR", socket::SR, 1),
    register("DHAR", socket::DHAR, 6),
    register("DIPR", socket::DIPR, 4),
    register("MSSR", socket::MSSR, 2),
    register("TOS", socket::TOS, 1),
    register("TTL", socket::TTL, 1),
    register("TX_FSR", socket::TX_FSR, 2),
    register("TX_RD", socket::TX_RD, 2),
    register("TX_WR", socket::TX_WR, 2),
    register("RX_RSR", socket::RX_RSR, 2),
    register("RX_RD", socket::RX_RD, 2),
    register("RX_WR", socket::RX_WR, 2),
    register("IMR", socket::IMR, 1),
];

/// Returns the name of a chip's register: `PHYCFGR`, or `S0_TX_WR+1` with prefix `S0_` for a later byte of a wider register, or `reserved 0x0030`.
pub(crate) fn register_at(registers: &[&[Register]], prefix: &str, address: u16) -> String {
    let found = registers.iter().copied().flatten().find(|r| (r.address..r.address + r.width).contains(&address));
    match found.map(|r| (r.name, address - r.address)) {
        Some((name, 0)) => format!("{prefix}{name}"),
        Some((name, byte)) => format!("{prefix}{name}+{byte}"),
        None => format!("{prefix}reserved 0x{address:04X}"),
    }
}

/// Sn_CR by value; the chip clears it when it has accepted the command.
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

/// Bits of one byte with their names in the datasheet, the highest first.
pub(crate) type Bits = [(u8, &'static str)];

/// MR.
pub(crate) const MODE: &Bits =
    &[(MR_RST, "RST"), (MR_WOL, "WOL"), (MR_PB, "PB"), (MR_PPPOE, "PPPoE"), (MR_FARP, "FARP")];

/// IR and IMR.
pub(crate) const INTERRUPTS: &Bits =
    &[(IR_CONFLICT, "CONFLICT"), (IR_UNREACH, "UNREACH"), (IR_PPPOE, "PPPoE"), (IR_MP, "MP")];

/// SIR and SIMR.
pub(crate) const SOCKETS: &Bits =
    &[(128, "S7"), (64, "S6"), (32, "S5"), (16, "S4"), (8, "S3"), (4, "S2"), (2, "S1"), (1, "S0")];

/// Sn_IR and Sn_IMR.
pub(crate) const SOCKET_INTERRUPTS: &Bits =
    &[(IR_SEND_OK, "SENDOK"), (IR_TIMEOUT, "TIMEOUT"), (IR_RECV, "RECV"), (IR_DISCON, "DISCON"), (IR_CON, "CON")];

/// Sn_MR's protocol in bits 3 to 0, and the meaning of bits 7 to 4 for it.
const SOCKET_MODES: &[(u8, &str, &Bits)] = &[
    (0, "closed", &[]),
    (1, "TCP", &[(MR_ND_MC_MMB, "ND")]),
    (2, "UDP", &[(MR_MULTI, "MULTI"), (MR_BCASTB, "BCASTB"), (MR_ND_MC_MMB, "MC"), (MR_UCASTB_MIP6B, "UCASTB")]),
    (3, "IPRAW", &[]),
    (4, "MACRAW", &[(MR_MULTI, "MFEN"), (MR_BCASTB, "BCASTB"), (MR_ND_MC_MMB, "MMB"), (MR_UCASTB_MIP6B, "MIP6B")]),
];

/// Returns `RECV CON`; bits without a name as a number, and 0 if none is set.
pub(crate) fn bits(names: &Bits, value: u8) -> String {
    let known = names.iter().filter(|(bit, _)| value & bit != 0);
    let mut words: Vec<String> = known.map(|(_, name)| (*name).to_string()).collect();
    let rest = names.iter().fold(value, |rest, (bit, _)| rest & !bit);
    if rest != 0 || words.is_empty() {
        words.push(if rest == 0 { "0".into() } else { format!("0x{rest:02x}") });
    }
    words.join(" ")
}

/// Returns the name of a Sn_MR value: `MACRAW MFEN`.
pub(crate) fn socket_mode(value: u8) -> String {
    match (SOCKET_MODES.iter().find(|(known, ..)| *known == value & 0x0f), value & 0xf0) {
        (Some((_, name, _)), 0) => (*name).to_string(),
        (Some((_, name, flags)), set) => format!("{name} {}", bits(flags, set)),
        (None, _) => format!("0x{value:02x}"),
    }
}

fn name(names: &[(u8, &str)], value: u8) -> String {
    names.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| *name).to_string()
}

pub(crate) fn command(value: u8) -> String {
    name(COMMANDS, value)
}

pub(crate) fn state(value: u8) -> String {
    name(STATES, value)
}

/// Returns bytes of a buffer as text if they are printable ASCII, otherwise nothing.
pub(crate) fn text(data: &[u8]) -> String {
    match data.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        true => format!("'{}'", String::from_utf8_lossy(data)),
        false => String::new(),
    }
}

/// Returns a number of at most two bytes.
pub(crate) fn number(data: &[u8]) -> String {
    match *data {
        [value] => value.to_string(),
        [high, low] => u16::from_be_bytes([high, low]).to_string(),
        _ => String::new(),
    }
}
