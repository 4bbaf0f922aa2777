//! What runs on the simulated PC above the transport layer.

use std::net::SocketAddrV4;

use crate::Ps;

/// An application's answer. The PC hands it to its TCP stack `turnaround_ps` after the data that caused it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppReply {
    /// Bytes to send; may be empty.
    pub data: Vec<u8>,
    /// Send FIN after `data`. What the peer sends afterwards is read and thrown away.
    pub close: bool,
    /// Abort with RST; `data` and everything unsent is dropped.
    pub reset: bool,
}

impl AppReply {
    pub fn send(data: impl Into<Vec<u8>>) -> Self {
        Self { data: data.into(), ..Self::default() }
    }
}

/// A TCP application. One object serves every connection of its port; `conn` tells them apart and is never reused.
pub trait TcpApp: Send {
    /// The three-way handshake is complete.
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps);
    /// In-order bytes; a peer's send may arrive in several calls, several sends in one.
    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply;
    /// Called once: the peer sent FIN or RST, the connection timed out, or a `connect` failed (then without `accept`).
    /// The PC closes its own half `turnaround_ps` later, after every answer still owed.
    fn closed(&mut self, conn: u64, now: Ps);
}

/// A UDP application bound to one port.
pub trait UdpApp: Send {
    /// The answer, at most 1472 bytes, goes back to `from` after `turnaround_ps`.
    fn receive(&mut self, from: SocketAddrV4, data: &[u8], now: Ps) -> Option<Vec<u8>>;
}

/// RFC 862 over TCP.
#[derive(Debug, Default)]
pub struct TcpEcho;

impl TcpApp for TcpEcho {
    fn accept(&mut self, _conn: u64, _peer: SocketAddrV4, _now: Ps) {}

    fn receive(&mut self, _conn: u64, data: &[u8], _now: Ps) -> AppReply {
        AppReply::send(data)
    }

    fn closed(&mut self, _conn: u64, _now: Ps) {}
}

/// RFC 862 over UDP.
#[derive(Debug, Default)]
pub struct UdpEcho;

impl UdpApp for UdpEcho {
    fn receive(&mut self, _from: SocketAddrV4, data: &[u8], _now: Ps) -> Option<Vec<u8>> {
        Some(data.to_vec())
    }
}
