//! TCP applications on the simulated PC.

use std::net::SocketAddrV4;

use crate::time::Ps;

/// An application's answer. The PC hands it to its TCP stack `turnaround_ps` after the data that caused it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppReply {
    /// Bytes to send; may be empty.
    pub data: Vec<u8>,
    /// Send FIN after `data`. Later bytes of the peer are read and thrown away.
    pub close: bool,
    /// Abort with RST; `data` and everything unsent is dropped.
    pub reset: bool,
    /// On a connection that the PC opened: open another one to the same peer this long after this answer was handed
    /// over. The application continues on the new connection and gets no more calls for the old one.
    pub again: Option<Ps>,
}

impl AppReply {
    /// Returns an answer that sends `data` and keeps the connection open.
    pub fn send(data: impl Into<Vec<u8>>) -> Self {
        Self { data: data.into(), ..Self::default() }
    }
}

/// A TCP application. One object serves every connection of its port; `conn` tells them apart and is never reused.
pub trait TcpApp: Send {
    /// Called when the three-way handshake is complete; the answer is the first data that the PC sends.
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) -> AppReply;
    /// Called with in-order bytes. The bytes of one send may arrive in several calls, those of several sends in one.
    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply;
    /// Called once: the peer sent FIN (`reset` false) or RST, the connection timed out, or a `connect` failed (then
    /// without `accept`). The PC closes its own half after this answer and all earlier ones.
    fn closed(&mut self, conn: u64, reset: bool, now: Ps) -> AppReply;
}
