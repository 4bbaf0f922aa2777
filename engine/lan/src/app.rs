//! Applications on the simulated PC, above the transport layer.

use std::net::SocketAddrV4;

use sim::{AppReply, Ps, TcpApp};

/// A UDP application bound to one port.
pub trait UdpApp: Send {
    /// Returns the answer, at most 1472 bytes. It is sent to `from` after `turnaround_ps`.
    fn receive(&mut self, from: SocketAddrV4, data: &[u8], now: Ps) -> Option<Vec<u8>>;

    /// Returns several answers, each with its delay after the turnaround.
    fn answers(&mut self, from: SocketAddrV4, data: &[u8], now: Ps) -> Vec<(Ps, Vec<u8>)> {
        self.receive(from, data, now).map(|answer| (0, answer)).into_iter().collect()
    }
}

/// RFC 862 over TCP.
#[derive(Debug, Default)]
pub struct TcpEcho;

impl TcpApp for TcpEcho {
    fn accept(&mut self, _conn: u64, _peer: SocketAddrV4, _now: Ps) -> AppReply {
        AppReply::default()
    }

    fn receive(&mut self, _conn: u64, data: &[u8], _now: Ps) -> AppReply {
        AppReply::send(data)
    }

    fn closed(&mut self, _conn: u64, _reset: bool, _now: Ps) -> AppReply {
        AppReply::default()
    }
}

/// RFC 862 over UDP.
#[derive(Debug, Default)]
pub struct UdpEcho;

impl UdpApp for UdpEcho {
    fn receive(&mut self, _from: SocketAddrV4, data: &[u8], _now: Ps) -> Option<Vec<u8>> {
        Some(data.to_vec())
    }
}
