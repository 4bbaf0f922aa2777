//! Names of registers and of what they hold, for traces.

use crate::socket::{
    CR_CLOSE, CR_CONNECT, CR_DISCON, CR_LISTEN, CR_OPEN, CR_RECV, CR_SEND, CR_SEND_KEEP, CR_SEND_MAC, Status,
};

/// One register: its name in the datasheet, its first offset address and its width in bytes.
pub struct Register {
    pub name: &'static str,
    pub address: u16,
    pub width: u16,
}

pub const fn register(name: &'static str, address: u16, width: u16) -> Register {
    Register { name, address, width }
}

/// `PHYCFGR`, or `S0_TX_WR+1` with prefix `S0_` for a later byte of a wider register, or `reserved 0x0030`.
pub fn register_at(registers: &[Register], prefix: &str, address: u16) -> String {
    let found = registers.iter().find(|r| (r.address..r.address + r.width).contains(&address));
    match found.map(|r| (r.name, address - r.address)) {
        Some((name, 0)) => format!("{prefix}{name}"),
        Some((name, byte)) => format!("{prefix}{name}+{byte}"),
        None => format!("{prefix}reserved 0x{address:04X}"),
    }
}

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

fn name(names: &[(u8, &str)], value: u8) -> String {
    names.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| *name).to_string()
}

pub fn command(value: u8) -> String {
    name(COMMANDS, value)
}

pub fn state(value: u8) -> String {
    name(STATES, value)
}

/// What bytes of a buffer say: printable ASCII, or nothing.
pub fn text(data: &[u8]) -> String {
    match data.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        true => format!("'{}'", String::from_utf8_lossy(data)),
        false => String::new(),
    }
}

/// The number that at most two bytes hold.
pub fn number(data: &[u8]) -> String {
    match *data {
        [value] => value.to_string(),
        [high, low] => u16::from_be_bytes([high, low]).to_string(),
        _ => String::new(),
    }
}
