//! The PC's TCP connections: listening on demand, passing bytes to applications and their answers back.
//!
//! As on a Linux PC: no Nagle, ACKs at once or delayed for an answer to carry them ([`AckPolicy`]), a window of 44
//! segments. Unlike Linux: the retransmission timeout is at least 1 s (RFC 6298, `smoltcp`'s constant) instead of 200
//! ms, which matters only if frames are lost.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use sim::{AppReply, PS_PER_S, PS_PER_US, Ps, TcpApp};
use smoltcp::iface::{Context, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::time::Duration;
use smoltcp::wire::{IpAddress, IpEndpoint, IpListenEndpoint};

use crate::ack::{AckPolicy, Segment};
use crate::host_stream::HostStream;
use crate::turnaround::Turnaround;

/// Most bytes that an application or the host may be ahead of the board before the PC stops reading from it.
pub(crate) const BACKLOG_BYTES: usize = 64 * 1024;
/// Linux gives up a handshake after 63 s (`tcp_synack_retries` = 5).
const HANDSHAKE_PS: Ps = 63 * PS_PER_S;
/// Linux gives up an address without an ARP answer after 3 s (`mcast_solicit` = 3, `retrans_time` = 1 s).
const NO_ANSWER_PS: Ps = 3 * PS_PER_S;
/// Linux forgets a closed connection after 60 s if the peer does not close it (`tcp_fin_timeout`).
const CLOSING_PS: Ps = 60 * PS_PER_S;
/// The same limit for a host's socket, which may stay half open for longer.
const HOST_CLOSING_PS: Ps = 600 * PS_PER_S;
/// Linux gives up unacknowledged data after about 924 s (`tcp_retries2` = 15).
const RETRANSMIT_LIMIT: Duration = Duration::from_secs(924);
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

pub use tcp::State as ConnectionState;

/// A snapshot of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// The number that [`sim::TcpApp`] knows the connection by.
    pub conn: u64,
    /// The PC's end.
    pub local: SocketAddrV4,
    /// The board's end.
    pub peer: SocketAddrV4,
    /// State as in RFC 9293 section 3.3.2.
    pub state: ConnectionState,
    /// Bytes for the peer that are not acknowledged yet, including those not sent yet.
    pub unacknowledged: usize,
}

pub(crate) enum Owner {
    /// The application that listens on this port.
    Port(u16),
    /// A connection that the PC opened; `None` once its application has moved on to another one.
    Client(Option<Box<dyn TcpApp>>),
    Host(HostStream),
}

struct Connection {
    handle: SocketHandle,
    local: SocketAddrV4,
    peer: SocketAddrV4,
    owner: Owner,
    flow: Flow,
    acks: AckPolicy,
    /// The SYN has been sent.
    called: bool,
}

/// A connection that the PC is going to open.
struct Dial {
    peer: SocketAddrV4,
    owner: Owner,
    /// Time limit of the handshake.
    patience: Ps,
}

/// The state between a connection's owner and its socket.
#[derive(Default)]
pub(crate) struct Flow {
    accepted: bool,
    told_closed: bool,
    /// The application ignores further data.
    deaf: bool,
    /// Answers that the application is working on, by due time.
    pending: VecDeque<(Ps, AppReply)>,
    pending_bytes: usize,
    /// Bytes that do not fit into the stack's send buffer.
    pub(crate) out: VecDeque<u8>,
    /// Send FIN once `out` is empty.
    pub(crate) closing: bool,
    close_sent: bool,
    /// Time when the connection is forgotten unless it makes progress.
    expires: Option<Ps>,
    /// Time when the application opens another connection.
    again: Option<Ps>,
    /// Time when the application's last answer reaches the stack.
    answered: Ps,
}

impl Flow {
    fn backlog(&self) -> usize {
        self.out.len() + self.pending_bytes
    }

    /// Queues an answer in order of due time: one without turnaround overtakes those still being worked on.
    fn queue(&mut self, due: Ps, reply: AppReply) {
        if reply == AppReply::default() {
            return;
        }
        self.again = self.again.or(reply.again.map(|after| due + after));
        self.deaf |= reply.close || reply.reset;
        self.pending_bytes += reply.data.len();
        let at = self.pending.partition_point(|&(other, _)| other <= due);
        self.pending.insert(at, (due, reply));
    }

    /// Queues an answer after a turnaround, but not before earlier answers: a program handles one request after the
    /// other.
    fn answer(&mut self, now: Ps, turnaround: &mut Turnaround, reply: AppReply) {
        if reply == AppReply::default() {
            return;
        }
        self.answered = self.answered.max(now + turnaround.next());
        self.queue(self.answered, reply);
    }

    /// Drops all unsent data and sends RST.
    pub(crate) fn abort(&mut self, socket: &mut tcp::Socket, now: Ps) {
        self.pending.clear();
        self.pending_bytes = 0;
        self.out.clear();
        self.deaf = true;
        self.expires = Some(now + CLOSING_PS);
        socket.abort();
    }

    /// Passes due data that fits to the stack. Returns true if any moved.
    fn flush(&mut self, socket: &mut tcp::Socket, now: Ps, closing_limit: Ps) -> bool {
        let mut changed = false;
        while self.pending.front().is_some_and(|&(due, _)| due <= now) {
            changed = true;
            let (_, reply) = self.pending.pop_front().expect("the front was just seen");
            self.pending_bytes -= reply.data.len();
            if reply.reset {
                self.abort(socket, now);
                return true;
            }
            self.out.extend(reply.data);
            self.closing |= reply.close;
        }
        while !self.out.is_empty() && socket.can_send() {
            let sent = socket.send_slice(self.out.as_slices().0).unwrap_or(0);
            self.out.drain(..sent);
            changed |= sent > 0;
        }
        if self.closing && self.out.is_empty() && !self.close_sent {
            socket.close();
            self.close_sent = true;
            self.expires = Some(now + closing_limit);
            changed = true;
        }
        // Only with unacknowledged data: otherwise the stack's timer would end idle connections.
        socket.set_timeout((socket.send_queue() > 0).then_some(RETRANSMIT_LIMIT));
        changed
    }

    pub(crate) fn is_established(&self) -> bool {
        self.accepted
    }

    /// Returns true once, when the handshake is complete.
    pub(crate) fn establish(&mut self, socket: &tcp::Socket) -> bool {
        let first = !self.accepted && is_synchronised(socket.state());
        if first {
            self.accepted = true;
            self.expires = None;
        }
        first
    }

    fn serve_app(
        &mut self,
        conn: u64,
        peer: SocketAddrV4,
        app: &mut dyn TcpApp,
        socket: &mut tcp::Socket,
        now: Ps,
        turnaround: &mut Turnaround,
    ) -> bool {
        let mut changed = self.establish(socket);
        if changed {
            let reply = app.accept(conn, peer, now);
            self.answer(now, turnaround, reply);
        }
        while self.accepted && socket.can_recv() && (self.deaf || self.backlog() < BACKLOG_BYTES) {
            changed = true;
            let data = socket.recv(|data| (data.len(), data.to_vec())).unwrap_or_default();
            if !self.deaf {
                let reply = app.receive(conn, &data, now);
                self.answer(now, turnaround, reply);
            }
        }
        let ended = socket.state() == tcp::State::Closed || (self.accepted && !socket.may_recv());
        if ended && self.accepted && !self.told_closed {
            changed = true;
            self.told_closed = true;
            let reply = app.closed(conn, socket.state() == tcp::State::Closed, now);
            self.answer(now, turnaround, AppReply { close: true, ..reply });
        }
        changed
    }

    /// Returns whether the stack has nothing more to send for this connection, or the connection was given up.
    fn is_over(&self, socket: &tcp::Socket, now: Ps) -> bool {
        match socket.state() {
            tcp::State::Listen => true,
            // A reset that waits for the peer's MAC address still has a remote endpoint.
            tcp::State::Closed if socket.remote_endpoint().is_none() => true,
            tcp::State::TimeWait => false,
            _ => self.expires.is_some_and(|expires| expires <= now),
        }
    }
}

fn is_synchronised(state: tcp::State) -> bool {
    use tcp::State::*;
    !matches!(state, Closed | Listen | SynSent | SynReceived)
}

pub(crate) struct TcpConfig {
    pub(crate) max_connections: usize,
    pub(crate) buffer_bytes: usize,
    pub(crate) delayed_ack_ps: Ps,
    pub(crate) quick_ack: bool,
    pub(crate) turnaround_ps: Ps,
    pub(crate) turnarounds_ps: Vec<Ps>,
    pub(crate) seed: u64,
}

/// All connections, by number: the order in which they are served.
pub(crate) struct TcpConnections {
    config: TcpConfig,
    turnaround: Turnaround,
    apps: BTreeMap<u16, Box<dyn TcpApp>>,
    connections: BTreeMap<u64, Connection>,
    /// Connections to be opened, by time and number.
    dials: BTreeMap<(Ps, u64), Dial>,
    /// Programs of the host that have not read the last bytes of a connection yet, with their time limit.
    lingering: Vec<(Ps, HostStream)>,
    next_conn: u64,
    next_port: u16,
}

impl TcpConnections {
    pub(crate) fn new(mut config: TcpConfig) -> Self {
        let drawn = std::mem::take(&mut config.turnarounds_ps);
        Self {
            turnaround: Turnaround::new(config.turnaround_ps, drawn, config.seed),
            config,
            apps: BTreeMap::new(),
            connections: BTreeMap::new(),
            dials: BTreeMap::new(),
            lingering: Vec::new(),
            next_conn: 1,
            next_port: FIRST_EPHEMERAL_PORT,
        }
    }

    pub(crate) fn listen(&mut self, port: u16, app: Box<dyn TcpApp>) {
        self.apps.insert(port, app);
    }

    /// Refuses connections to `port` from now on; open ones get no more answers. Returns false if none listens.
    pub(crate) fn unlisten(&mut self, port: u16) -> bool {
        self.apps.remove(&port).is_some()
    }

    pub(crate) fn has_listener(&self, port: u16) -> bool {
        self.apps.contains_key(&port)
    }

    fn socket(&self) -> tcp::Socket<'static> {
        let buffer = || tcp::SocketBuffer::new(vec![0; self.config.buffer_bytes]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(Some(self.ack_delay()));
        socket
    }

    fn ack_delay(&self) -> Duration {
        Duration::from_micros(self.config.delayed_ack_ps / PS_PER_US)
    }

    /// Tells the stack when to acknowledge a segment that is about to reach it.
    pub(crate) fn arrives(
        &mut self,
        sockets: &mut SocketSet<'static>,
        (local, peer): (SocketAddrV4, SocketAddrV4),
        segment: Segment,
        now: Ps,
    ) {
        let delay = self.ack_delay();
        let Some(known) = self.connections.values_mut().find(|known| known.local == local && known.peer == peer) else {
            return;
        };
        if segment.bytes == 0 && !segment.end {
            return;
        }
        let socket = sockets.get_mut::<tcp::Socket>(known.handle);
        let ending = matches!(socket.state(), tcp::State::FinWait1 | tcp::State::FinWait2);
        let at_once = known.acks.received(now, segment, ending);
        socket.set_ack_delay((!at_once).then_some(delay));
    }

    /// Handles a SYN that the stack has sent.
    pub(crate) fn calls(&mut self, (local, peer): (SocketAddrV4, SocketAddrV4)) {
        if let Some(known) = self.connections.values_mut().find(|known| known.local == local && known.peer == peer) {
            known.called = true;
        }
    }

    /// Returns whether the PC's SYN for this connection is still unsent, for example while ARP is in progress.
    pub(crate) fn is_yet_to_call(&self, sockets: &SocketSet<'static>, local: SocketAddrV4, peer: SocketAddrV4) -> bool {
        self.connections.values().any(|known| {
            let here = known.local == local && known.peer == peer && !known.called;
            here && sockets.get::<tcp::Socket>(known.handle).state() == tcp::State::SynSent
        })
    }

    /// Handles a segment that the stack has sent.
    pub(crate) fn leaves(&mut self, (local, peer): (SocketAddrV4, SocketAddrV4), segment: Segment, now: Ps) {
        if let Some(known) = self.connections.values_mut().find(|known| known.local == local && known.peer == peer) {
            known.acks.sent(now, segment);
        }
    }

    pub(crate) fn is_known(&self, local: SocketAddrV4, peer: SocketAddrV4) -> bool {
        self.connections.values().any(|known| known.local == local && known.peer == peer)
    }

    /// Replaces a connection in TIME-WAIT by a new SYN (RFC 9293 section 3.6.1), as Linux does.
    pub(crate) fn forget_time_wait(
        &mut self,
        sockets: &mut SocketSet<'static>,
        local: SocketAddrV4,
        peer: SocketAddrV4,
        now: Ps,
    ) {
        self.remove_where(sockets, now, |known, state| {
            state == tcp::State::TimeWait && known.local == local && known.peer == peer
        });
    }

    /// Returns true if one more connection may start. It drops connections for which a real PC would need no socket: in
    /// TIME-WAIT, or in FIN-WAIT-2 for a peer that never closes, as after the W5500's CLOSE command.
    pub(crate) fn make_room(&mut self, sockets: &mut SocketSet<'static>, now: Ps) -> bool {
        if self.connections.len() >= self.config.max_connections {
            use tcp::State::{Closed, FinWait2, TimeWait};
            self.remove_where(sockets, now, |known, state| match state {
                // A program on the host may still read after it has closed its sending half.
                FinWait2 => !matches!(known.owner, Owner::Host(_)),
                _ => matches!(state, TimeWait | Closed),
            });
        }
        self.connections.len() < self.config.max_connections
    }

    /// Returns how many connections may start at once.
    pub(crate) fn room(&self, sockets: &SocketSet<'static>) -> usize {
        let ended = |known: &Connection| {
            matches!(sockets.get::<tcp::Socket>(known.handle).state(), tcp::State::TimeWait | tcp::State::Closed)
        };
        let used = self.connections.values().filter(|known| !ended(known)).count() + self.dials.len();
        self.config.max_connections.saturating_sub(used)
    }

    /// Creates a socket for exactly the SYN that is about to reach the stack.
    pub(crate) fn expect(
        &mut self,
        sockets: &mut SocketSet<'static>,
        local: SocketAddrV4,
        peer: SocketAddrV4,
        owner: Owner,
        now: Ps,
    ) {
        let mut socket = self.socket();
        let endpoint = IpListenEndpoint { addr: Some(IpAddress::Ipv4(*local.ip())), port: local.port() };
        if socket.listen(endpoint).is_ok() {
            let conn = self.number();
            self.add(sockets, socket, conn, (local, peer), owner, now + HANDSHAKE_PS);
        }
    }

    /// Opens a connection at `at`; returns its number.
    pub(crate) fn dial(&mut self, at: Ps, peer: SocketAddrV4, owner: Owner) -> u64 {
        let conn = self.number();
        self.dials.insert((at, conn), Dial { peer, owner, patience: HANDSHAKE_PS });
        conn
    }

    /// Opens a connection for a program of the host now. `heard`: the peer is known to exist.
    pub(crate) fn dial_for_host(&mut self, now: Ps, peer: SocketAddrV4, host: HostStream, heard: bool) {
        let conn = self.number();
        let patience = if heard { HANDSHAKE_PS } else { NO_ANSWER_PS };
        self.dials.insert((now, conn), Dial { peer, owner: Owner::Host(host), patience });
    }

    /// Opens the connections that are due. Returns true if there were any.
    pub(crate) fn open_due(
        &mut self,
        sockets: &mut SocketSet<'static>,
        context: &mut Context,
        local_ip: Ipv4Addr,
        now: Ps,
    ) -> bool {
        let mut changed = false;
        while let Some(due) = self.dials.first_entry().filter(|due| due.key().0 <= now) {
            let ((_, conn), Dial { peer, owner, patience }) = due.remove_entry();
            changed = true;
            if let Some((socket, local)) = self.open(sockets, context, local_ip, peer, now) {
                self.add(sockets, socket, conn, (local, peer), owner, now + patience);
            } else {
                self.tell_lost(conn, peer, owner, now);
            }
        }
        changed
    }

    /// Handles the answer of an application whose connection is gone.
    fn dial_again(&mut self, reply: &AppReply, peer: SocketAddrV4, app: Box<dyn TcpApp>, now: Ps) {
        if let Some(after) = reply.again {
            // Always later than now: otherwise an endless number of connections would be opened at one instant.
            let at = now + (self.config.turnaround_ps + after).max(PS_PER_US);
            self.dial(at, peer, Owner::Client(Some(app)));
        }
    }

    fn open(
        &mut self,
        sockets: &mut SocketSet<'static>,
        context: &mut Context,
        local_ip: Ipv4Addr,
        peer: SocketAddrV4,
        now: Ps,
    ) -> Option<(tcp::Socket<'static>, SocketAddrV4)> {
        if !self.make_room(sockets, now) {
            return None;
        }
        let mut local = SocketAddrV4::new(local_ip, self.next_port);
        while self.is_known(local, peer) {
            local.set_port(after(local.port()));
        }
        self.next_port = after(local.port());
        let mut socket = self.socket();
        let remote = IpEndpoint::new(IpAddress::Ipv4(*peer.ip()), peer.port());
        socket.connect(context, remote, (IpAddress::Ipv4(local_ip), local.port())).ok()?;
        Some((socket, local))
    }

    fn number(&mut self) -> u64 {
        self.next_conn += 1;
        self.next_conn - 1
    }

    fn add(
        &mut self,
        sockets: &mut SocketSet<'static>,
        socket: tcp::Socket<'static>,
        conn: u64,
        (local, peer): (SocketAddrV4, SocketAddrV4),
        owner: Owner,
        expires: Ps,
    ) {
        let handle = sockets.add(socket);
        let flow = Flow { expires: Some(expires), ..Flow::default() };
        let acks = AckPolicy::new(self.config.quick_ack, self.config.delayed_ack_ps, self.config.buffer_bytes);
        self.connections.insert(conn, Connection { handle, local, peer, owner, flow, acks, called: false });
    }

    /// Queues unsolicited data, due at `at`. Returns false if the connection is gone or closing.
    pub(crate) fn push(&mut self, conn: u64, reply: AppReply, at: Ps) -> bool {
        let Some(known) = self.connections.get_mut(&conn).filter(|known| !known.flow.deaf || reply.reset) else {
            return false;
        };
        known.flow.queue(at, reply);
        true
    }

    pub(crate) fn info(&self, sockets: &SocketSet<'static>) -> Vec<ConnectionInfo> {
        let describe = |(&conn, known): (&u64, &Connection)| {
            let socket = sockets.get::<tcp::Socket>(known.handle);
            ConnectionInfo {
                conn,
                local: known.local,
                peer: known.peer,
                state: socket.state(),
                unacknowledged: socket.send_queue() + known.flow.out.len(),
            }
        };
        self.connections.iter().map(describe).collect()
    }

    /// Moves bytes between the stack and its users. `poll_host` also reads the host's sockets. Returns true if any
    /// moved.
    pub(crate) fn service(&mut self, sockets: &mut SocketSet<'static>, now: Ps, poll_host: bool) -> bool {
        let mut changed = false;
        let turnaround = &mut self.turnaround;
        let (mut over, mut next) = (Vec::new(), Vec::new());
        for (&conn, Connection { handle, peer, owner, flow, .. }) in &mut self.connections {
            let socket = sockets.get_mut::<tcp::Socket>(*handle);
            let mut closing_limit = CLOSING_PS;
            changed |= match owner {
                Owner::Port(port) => (self.apps.get_mut(port))
                    .is_some_and(|app| flow.serve_app(conn, *peer, app.as_mut(), socket, now, turnaround)),
                Owner::Client(Some(app)) => flow.serve_app(conn, *peer, app.as_mut(), socket, now, turnaround),
                Owner::Client(None) => false,
                Owner::Host(host) => {
                    closing_limit = HOST_CLOSING_PS;
                    host.serve(flow, socket, now, poll_host)
                }
            };
            if let (Some(at), Owner::Client(app)) = (flow.again.take(), &mut *owner) {
                next.extend(app.take().map(|app| (at, *peer, app)));
            }
            changed |= flow.flush(socket, now, closing_limit);
            if socket.state() == tcp::State::TimeWait && matches!(owner, Owner::Host(_)) {
                // The board knows that both halves are closed; the host's socket need not wait.
                if let Owner::Host(mut host) = std::mem::replace(owner, Owner::Client(None)) {
                    host.take_rest(socket);
                    self.lingering.push((now + HOST_CLOSING_PS, host));
                }
            }
            if flow.is_over(socket, now) {
                over.push(conn);
            }
        }
        if poll_host {
            self.lingering.retain_mut(|(until, host)| !host.linger() && *until > now);
        }
        for (at, peer, app) in next {
            self.dial(at, peer, Owner::Client(Some(app)));
        }
        for conn in over {
            changed = true;
            self.remove(sockets, conn, now);
        }
        changed
    }

    fn remove(&mut self, sockets: &mut SocketSet<'static>, conn: u64, now: Ps) {
        let Some(Connection { handle, peer, owner, flow, .. }) = self.connections.remove(&conn) else { return };
        sockets.remove(handle);
        let told = flow.told_closed || (matches!(owner, Owner::Port(_)) && !flow.accepted);
        if !told {
            self.tell_lost(conn, peer, owner, now);
        }
    }

    /// Notifies the owner of a connection that is lost or was never established.
    fn tell_lost(&mut self, conn: u64, peer: SocketAddrV4, owner: Owner, now: Ps) {
        match owner {
            Owner::Port(port) => {
                if let Some(app) = self.apps.get_mut(&port) {
                    app.closed(conn, true, now);
                }
            }
            Owner::Client(Some(mut app)) => {
                let reply = app.closed(conn, true, now);
                self.dial_again(&reply, peer, app, now);
            }
            // Dropping a host's socket resets it.
            Owner::Client(None) | Owner::Host(_) => {}
        }
    }

    fn remove_where(
        &mut self,
        sockets: &mut SocketSet<'static>,
        now: Ps,
        which: impl Fn(&Connection, tcp::State) -> bool,
    ) {
        let chosen: Vec<u64> = (self.connections.iter())
            .filter(|(_, known)| which(known, sockets.get::<tcp::Socket>(known.handle).state()))
            .map(|(&conn, _)| conn)
            .collect();
        for conn in chosen {
            self.remove(sockets, conn, now);
        }
    }

    /// Returns whether a connection is relayed to the host, or is going to be.
    pub(crate) fn has_host(&self) -> bool {
        self.connections.values().any(|known| matches!(known.owner, Owner::Host(_)))
            || self.dials.values().any(|dial| matches!(dial.owner, Owner::Host(_)))
            || !self.lingering.is_empty()
    }

    /// Returns when the next answer is due or a connection is given up.
    pub(crate) fn next_due(&self, sockets: &SocketSet<'static>) -> Option<Ps> {
        let times = |known: &Connection| {
            // TIME-WAIT has the stack's own timer.
            let waits = sockets.get::<tcp::Socket>(known.handle).state() == tcp::State::TimeWait;
            let due = known.flow.pending.front().map(|&(due, _)| due);
            [due, known.flow.expires.filter(|_| !waits)].into_iter().flatten().min()
        };
        let dial = self.dials.keys().next().map(|&(at, _)| at);
        self.connections.values().filter_map(times).chain(dial).min()
    }
}

fn after(port: u16) -> u16 {
    port.checked_add(1).unwrap_or(FIRST_EPHEMERAL_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_in_order_of_time_and_the_first_word_of_another_connection_counts() {
        let mut flow = Flow::default();
        let reply = |data: &str, again| AppReply { again, ..AppReply::send(data) };
        for (due, data, again) in [(5, "b", Some(10)), (3, "a", Some(1)), (5, "cd", None)] {
            flow.queue(due, reply(data, again));
        }
        flow.queue(9, AppReply::default());
        let told: Vec<_> = flow.pending.iter().map(|(due, reply)| (*due, &reply.data[..])).collect();
        assert_eq!(told, [(3, &b"a"[..]), (5, b"b"), (5, b"cd")]);
        assert_eq!((flow.again, flow.backlog(), flow.deaf), (Some(15), 4, false));
        flow.queue(9, AppReply { reset: true, ..AppReply::default() });
        assert!(flow.deaf);
    }
}
