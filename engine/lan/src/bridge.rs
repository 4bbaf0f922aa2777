//! Relay of the board's connections to real sockets of this machine.
//!
//! A SYN from the board is held here until the host's connect has succeeded or failed. Then the PC's stack gets it, and
//! accepts it or answers RST.

use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use sim::Ps;

use crate::config::BridgeConfig;
use crate::connecting::Connecting;
use crate::host_stream::HostStream;

/// Most connects in progress on the host; further SYNs are dropped, and the board repeats them.
const MAX_DIALS: usize = 64;

/// A SYN whose connect is in progress.
struct Dial {
    from: SocketAddrV4,
    to: SocketAddrV4,
    syn: Vec<u8>,
    /// `None` if the connect failed at once.
    connecting: Option<Connecting>,
    deadline: Instant,
}

/// A SYN whose connect has ended: `stream` is `None` if the host refused.
pub(crate) struct Dialled {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) syn: Vec<u8>,
    pub(crate) stream: Option<HostStream>,
}

pub(crate) struct Bridge {
    config: BridgeConfig,
    dials: Vec<Dial>,
    next_poll: Ps,
}

impl Bridge {
    pub(crate) fn new(config: BridgeConfig) -> Self {
        let next_poll = config.idle_poll_ps;
        Self { config, dials: Vec::new(), next_poll }
    }

    pub(crate) fn target(&self, guest: SocketAddrV4) -> Option<SocketAddr> {
        self.config.rules.iter().find(|rule| rule.guest == guest).map(|rule| rule.host)
    }

    /// Starts a connect for a SYN; repetitions of a SYN in progress are ignored.
    pub(crate) fn dial(&mut self, from: SocketAddrV4, to: SocketAddrV4, host: SocketAddr, syn: &[u8], now: Ps) {
        let known = self.dials.iter().any(|dial| dial.from == from && dial.to == to);
        if known || self.dials.len() == MAX_DIALS {
            return;
        }
        let deadline = Instant::now() + Duration::from_millis(self.config.connect_timeout_ms);
        self.dials.push(Dial { from, to, syn: syn.to_vec(), connecting: Connecting::start(host).ok(), deadline });
        self.next_poll = self.next_poll.min(now + self.config.busy_poll_ps);
    }

    pub(crate) fn next_poll(&self) -> Ps {
        self.next_poll
    }

    /// Takes the connects that ended, if a poll is due; `None` if it is not.
    pub(crate) fn poll(&mut self, now: Ps, connection_open: bool) -> Option<Vec<Dialled>> {
        if now < self.next_poll {
            return None;
        }
        let mut dialled = Vec::new();
        let mut waiting = Vec::new();
        for mut dial in self.dials.drain(..) {
            match dial.outcome() {
                None => waiting.push(dial),
                Some(stream) => dialled.push(Dialled { from: dial.from, to: dial.to, syn: dial.syn, stream }),
            }
        }
        self.dials = waiting;
        let busy = connection_open || !self.dials.is_empty() || !dialled.is_empty();
        self.next_poll = now + if busy { self.config.busy_poll_ps } else { self.config.idle_poll_ps };
        Some(dialled)
    }
}

impl Dial {
    /// Returns `None` while the connect is in progress; the inner `None` is a refusal.
    fn outcome(&mut self) -> Option<Option<HostStream>> {
        let Some(connecting) = self.connecting.take() else { return Some(None) };
        match connecting.poll() {
            Ok(Ok(stream)) => Some(HostStream::new(stream).ok()),
            Ok(Err(connecting)) if Instant::now() < self.deadline => {
                self.connecting = Some(connecting);
                None
            }
            _ => Some(None),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use sim::{PS_PER_MS, PS_PER_US};
    use socket2::{Domain, Socket, Type};
    use std::net::Ipv4Addr;

    #[test]
    fn at_most_64_connects_wait_and_each_has_its_time() {
        // Linux drops the SYNs to a full queue of one, and connects wait.
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let host = listener.local_addr().unwrap().as_socket().unwrap();
        let _full: Vec<_> = (0..4).map(|_| Connecting::start(host).unwrap()).collect();
        let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        for connect_timeout_ms in [600_000, 0] {
            let mut bridge = Bridge::new(BridgeConfig { connect_timeout_ms, ..BridgeConfig::new(Vec::new()) });
            assert_eq!(bridge.next_poll(), PS_PER_MS);
            for (from, to) in [(1, 1), (1, 2), (2, 1), (1, 1)].into_iter().chain((3..90).map(|from| (from, 1))) {
                bridge.dial(at(from), at(to), host, b"SYN", 0);
            }
            let (first, ended) = (100 * PS_PER_US, if connect_timeout_ms == 0 { 64 } else { 0 });
            assert_eq!((bridge.dials.len(), bridge.next_poll()), (64, first));
            assert!(bridge.poll(first - 1, false).is_none());
            let dialled = bridge.poll(first, false).unwrap();
            assert!(dialled.iter().all(|dialled| dialled.stream.is_none() && dialled.syn == b"SYN"));
            assert_eq!((dialled.len(), bridge.dials.len()), (ended, 64 - ended));
            assert_eq!(bridge.next_poll(), 2 * first, "those that have just ended count");
            // No route leads to a broadcast: the refusal is known before any time has passed.
            bridge.dials.clear();
            bridge.dial(at(1), at(2), SocketAddr::from((Ipv4Addr::BROADCAST, 9)), b"SYN", first);
            assert!(bridge.dials.drain(..).all(|dial| dial.connecting.is_none()));
            bridge.poll(2 * first, false).unwrap();
            assert_eq!(bridge.next_poll(), 2 * first + PS_PER_MS);
        }
    }
}
