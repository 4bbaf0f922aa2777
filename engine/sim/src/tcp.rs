//! TCP applications on the simulated PC.

use std::net::SocketAddrV4;

use crate::time::Ps;

/// An application's answer. The PC hands it to its TCP stack `turnaround_ps` after the data that caused it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppReply {
    /// Bytes to send; may be empty.
    pub data: Vec<u8>,
    /// Send FIN after `data`. What the peer sends afterwards is read and thrown away.
    pub close: bool,
    /// Abort with RST; `data` and everything unsent is dropped.
    pub reset: bool,
    /// On a connection that the PC opened: so long after this answer has been handed over, open another one to the same
    /// peer. The application goes on to that one and hears no more of this one.
    pub again: Option<Ps>,
}

impl AppReply {
    pub fn send(data: impl Into<Vec<u8>>) -> Self {
        Self { data: data.into(), ..Self::default() }
    }
}

/// A TCP application. One object serves every connection of its port; `conn` tells them apart and is never reused.
pub trait TcpApp: Send {
    /// The three-way handshake is complete; the answer is what the PC says first.
    fn accept(&mut self, conn: u64, peer: SocketAddrV4, now: Ps) -> AppReply;
    /// In-order bytes; a peer's send may arrive in several calls, several sends in one.
    fn receive(&mut self, conn: u64, data: &[u8], now: Ps) -> AppReply;
    /// Called once: the peer sent FIN (`reset` false) or RST, the connection timed out, or a `connect` failed (then
    /// without `accept`). The PC closes its own half with the answer, after every one still owed.
    fn closed(&mut self, conn: u64, reset: bool, now: Ps) -> AppReply;
}
