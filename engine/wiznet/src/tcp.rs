//! The hardwired TCP: client and server, with go-back-N retransmission by RTR and RCR, one receive window as large as
//! the free RX buffer, and no congestion control, Nagle delay or out-of-order buffer.

use sim::{Ps, Snapshot};

use crate::Wiznet;
use crate::chip::Model;
use crate::map::socket::{DHAR, DPORT};
use crate::socket::*;
use crate::time::{KEEP_ALIVE_UNIT, retry_period, tcp_retry_period};
use crate::wire::*;

/// Segment size towards a peer without an MSS option (RFC 1122, 4.2.2.6).
const DEFAULT_MSS: u16 = 536;

#[derive(Snapshot)]
struct Retry {
    deadline: Ps,
    count: u8,
}

/// One connection. Sequence numbers as in RFC 793.
#[derive(Default, Snapshot)]
pub(crate) struct Tcp {
    local_port: u16,
    /// `None` before the first connection.
    remote: Option<(IpAddr, u16)>,
    /// Sn_TX_RD up to which the peer has acknowledged: the "internal ACK pointer" of Sn_TX_FSR. It corresponds to
    /// `snd_una`.
    pub(crate) tx_acknowledged: u16,
    snd_una: u32,
    snd_nxt: u32,
    /// The highest `snd_nxt` so far; a retransmission does not reduce it.
    snd_max: u32,
    snd_wnd: u32,
    /// Sequence and acknowledgement number of the segment that set `snd_wnd`.
    snd_wl: (u32, u32),
    rcv_nxt: u32,
    /// Right edge of the last advertised window.
    rcv_edge: u32,
    mss: u16,
    /// SEND waits for the acknowledgement of its data.
    sending: bool,
    /// FIN follows the data.
    fin_wanted: bool,
    fin_seq: Option<u32>,
    retry: Option<Retry>,
    ack_at: Option<Ps>,
    keep_alive_at: Option<Ps>,
    /// A keep alive packet waits for its answer.
    probing: bool,
    /// Data has been transferred in either direction.
    exchanged: bool,
    time_wait_until: Option<Ps>,
}

impl Tcp {
    pub(crate) fn next_event(&self) -> Option<Ps> {
        [self.retry.as_ref().map(|retry| retry.deadline), self.ack_at, self.keep_alive_at, self.time_wait_until]
            .into_iter()
            .flatten()
            .min()
    }

    fn remote(&self) -> (IpAddr, u16) {
        self.remote.unwrap_or((Ipv4Addr::UNSPECIFIED.into(), 0))
    }

    fn in_flight(&self) -> u32 {
        self.snd_nxt.wrapping_sub(self.snd_una)
    }

    /// Returns the window as the peer knows it.
    fn peer_view(&self) -> u32 {
        self.rcv_edge.wrapping_sub(self.rcv_nxt)
    }
}

/// Returns whether `a` is before `b`.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl<M: Model> Wiznet<M> {
    /// Returns a new initial sequence number: the 4 us clock of RFC 793, different for each socket.
    fn initial_sequence(&self, n: usize) -> u32 {
        // Only the low 32 bits count.
        ((self.now / 4_000_000) as u32).wrapping_add(0x5500_0000).wrapping_add(n as u32 * 0x0100_3001)
    }

    fn begin_connection(&mut self, n: usize, remote: (IpAddr, u16)) {
        let iss = self.initial_sequence(n);
        let s = &mut self.sockets[n];
        s.negotiated_mss = None;
        s.tcp = Tcp {
            local_port: s.port(),
            remote: Some(remote),
            snd_una: iss,
            snd_nxt: iss,
            snd_max: iss,
            mss: DEFAULT_MSS,
            ..Tcp::default()
        };
        // The TX pointers follow the sequence number, so they are arbitrary after connecting (datasheet 4.2 "Sn_TX_RD";
        // WIZnet forum, topic 7132).
        s.set_tx_pointers(iss.wrapping_add(1) as u16);
    }

    /// Executes CONNECT: ARP, then SYN.
    pub(crate) fn tcp_connect(&mut self, n: usize) {
        let destination = self.sockets[n].destination();
        self.begin_connection(n, (destination, self.sockets[n].dport()));
        self.sockets[n].status = Status::SynSent;
        self.sockets[n].resolved = None;
        self.arp_ready(n, destination);
    }

    /// Sends SYN after ARP has found the server.
    pub(crate) fn tcp_start_handshake(&mut self, n: usize) {
        self.arm_retry(n, 0);
        self.send_syn(n);
    }

    fn send_syn(&mut self, n: usize) {
        let flags = if self.sockets[n].status == Status::SynRecv { SYN | ACK } else { SYN };
        let t = &mut self.sockets[n].tcp;
        let iss = t.snd_una;
        t.snd_nxt = iss.wrapping_add(1);
        t.snd_max = t.snd_nxt;
        self.send_segment(n, iss, flags, &[]);
    }

    /// Sends a segment of a connection; it carries the newest acknowledgement and window.
    fn send_segment(&mut self, n: usize, seq: u32, flags: u8, data: &[u8]) {
        let free = self.sockets[n].rx_free(self.rx.size(n));
        let mss = (flags & SYN != 0).then(|| self.sockets[n].segment_limit(self.tcp_mss_limit()));
        let s = &mut self.sockets[n];
        let t = &mut s.tcp;
        let (mut ack, mut window) = (0, free);
        if flags & ACK != 0 {
            ack = t.rcv_nxt;
            t.ack_at = None;
            let edge = ack.wrapping_add(u32::from(free));
            // The right edge never moves back (RFC 793).
            if before(t.rcv_edge, edge) {
                t.rcv_edge = edge;
            }
            window = t.peer_view().min(0xFFFF) as u16;
        }
        let (remote, local_port) = (t.remote(), t.local_port);
        let segment = Segment { src_port: local_port, dst_port: remote.1, seq, ack, flags, window, mss, data };
        let bytes = segment.build(self.common.sipr().into(), remote.0);
        let (mac, fields) = (s.dhar(), s.ip_fields());
        self.send_ip(mac, remote.0, PROTO_TCP, fields, &bytes);
        self.tcp_restart_keep_alive(n);
    }

    fn send_ack(&mut self, n: usize) {
        let seq = self.sockets[n].tcp.snd_nxt;
        self.send_segment(n, seq, ACK, &[]);
    }

    fn arm_retry(&mut self, n: usize, count: u8) {
        let deadline = self.now.saturating_add(tcp_retry_period(M::retry(self, n).0, count, self.config.retry_unit));
        self.sockets[n].tcp.retry = Some(Retry { deadline, count });
    }

    /// Returns the bytes from `snd_una` to Sn_TX_WR.
    fn unacknowledged(&self, n: usize) -> u32 {
        let s = &self.sockets[n];
        u32::from(s.tx_wr.wrapping_sub(s.tcp.tx_acknowledged))
    }

    /// Sends as much as the peer's window allows, then FIN if it is wanted.
    fn tcp_output(&mut self, n: usize) {
        loop {
            let data_length = self.unacknowledged(n);
            let t = &self.sockets[n].tcp;
            let in_flight = t.in_flight();
            let unsent = data_length.saturating_sub(in_flight);
            let room = t.snd_wnd.saturating_sub(in_flight);
            let length = unsent.min(room).min(u32::from(t.mss));
            if length == 0 {
                break;
            }
            self.send_data(n, length, length == unsent);
        }
        let data_length = self.unacknowledged(n);
        let t = &mut self.sockets[n].tcp;
        let seq = t.snd_nxt;
        if t.fin_wanted && t.in_flight() == data_length && t.fin_seq.is_none_or(|fin| fin == seq) {
            t.fin_seq = Some(seq);
            t.snd_nxt = seq.wrapping_add(1);
            if before(t.snd_max, t.snd_nxt) {
                t.snd_max = t.snd_nxt;
            }
            self.send_segment(n, seq, FIN | ACK, &[]);
        }
        let t = &self.sockets[n].tcp;
        if t.retry.is_none() && (t.in_flight() > 0 || data_length > 0) {
            self.arm_retry(n, 0);
        }
    }

    /// Sends one data segment at `snd_nxt`.
    fn send_data(&mut self, n: usize, length: u32, push: bool) {
        let s = &self.sockets[n];
        let seq = s.tcp.snd_nxt;
        // Less than 64 KB lies between the pointers.
        let pointer = s.tcp.tx_acknowledged.wrapping_add(s.tcp.in_flight() as u16);
        let data = self.tx.copy_out(n, pointer, length as usize);
        let s = &mut self.sockets[n];
        let t = &mut s.tcp;
        t.snd_nxt = seq.wrapping_add(length);
        t.exchanged = true;
        if before(t.snd_max, t.snd_nxt) {
            t.snd_max = t.snd_nxt;
            s.tx_rd = pointer.wrapping_add(length as u16);
        }
        self.send_segment(n, seq, if push { ACK | PSH } else { ACK }, &data);
    }

    /// Executes SEND in SOCK_ESTABLISHED and SOCK_CLOSE_WAIT.
    pub(crate) fn tcp_send(&mut self, n: usize) {
        self.sockets[n].commit_tx();
        if self.unacknowledged(n) == 0 {
            self.raise(n, IR_SEND_OK);
            return;
        }
        let t = &mut self.sockets[n].tcp;
        t.sending = true;
        if t.probing {
            // From now on the data requires an answer.
            t.probing = false;
            t.retry = None;
        }
        self.tcp_output(n);
    }

    /// Executes DISCON: FIN after the data (active close), or FIN in answer to the peer's (passive close).
    pub(crate) fn tcp_disconnect(&mut self, n: usize) {
        let s = &mut self.sockets[n];
        s.status = match s.status {
            Status::Established => Status::FinWait,
            Status::CloseWait => Status::LastAck,
            Status::Init | Status::Listen | Status::SynSent | Status::SynRecv => {
                s.release();
                return;
            }
            _ => return,
        };
        s.tcp.fin_wanted = true;
        self.tcp_output(n);
    }

    /// Executes SEND_KEEP, which the chip ignores if Sn_KPALVTR > 0 (datasheet 4.2 "Sn_KPALVTR").
    pub(crate) fn tcp_send_keep(&mut self, n: usize) {
        let s = &self.sockets[n];
        if s.status == Status::Established && s.kpalvtr() == 0 && s.tcp.exchanged {
            self.tcp_probe(n);
        }
    }

    /// Sends a keep alive packet: one byte that the peer has already acknowledged. While data is unacknowledged nothing
    /// is sent, because the data already requires an answer.
    fn tcp_probe(&mut self, n: usize) {
        if self.sockets[n].tcp.retry.is_none() {
            self.sockets[n].tcp.probing = true;
            self.arm_retry(n, 0);
            self.send_keep_alive(n);
        }
    }

    fn send_keep_alive(&mut self, n: usize) {
        let s = &self.sockets[n];
        let byte = self.tx.read(n, s.tcp.tx_acknowledged.wrapping_sub(1));
        self.send_segment(n, s.tcp.snd_una.wrapping_sub(1), ACK, &[byte]);
    }

    /// Restarts Sn_KPALVTR, which counts from the last segment of the connection, once data has been transferred.
    pub(crate) fn tcp_restart_keep_alive(&mut self, n: usize) {
        let s = &mut self.sockets[n];
        let on = s.status == Status::Established && s.kpalvtr() > 0 && s.tcp.exchanged;
        let period = Ps::from(s.kpalvtr()) * KEEP_ALIVE_UNIT;
        s.tcp.keep_alive_at = if on { self.now.checked_add(period) } else { None };
    }

    /// Sends a window update at once to a peer that may be waiting for space, after RECV has freed it.
    pub(crate) fn tcp_window_opened(&mut self, n: usize) {
        let size = self.rx.size(n);
        let s = &self.sockets[n];
        if !matches!(s.status, Status::Established | Status::FinWait) {
            return;
        }
        let (view, segment) = (s.tcp.peer_view(), s.segment_limit(self.tcp_mss_limit()));
        if view < u32::from(segment.min(size / 2)) && u32::from(s.rx_free(size)) > view {
            self.send_ack(n);
        }
    }

    /// Runs the socket's TCP timers that are due.
    pub(crate) fn tcp_timers(&mut self, n: usize) {
        let now = self.now;
        let due = |at: Option<Ps>| at.is_some_and(|at| at <= now);
        if due(self.sockets[n].tcp.time_wait_until) {
            self.sockets[n].release();
        }
        if due(self.sockets[n].tcp.retry.as_ref().map(|retry| retry.deadline)) {
            self.tcp_retry(n);
        }
        if due(self.sockets[n].tcp.ack_at) {
            self.send_ack(n);
        }
        if due(self.sockets[n].tcp.keep_alive_at) {
            // The probe sets the next time; while data is unacknowledged, counting restarts.
            self.tcp_restart_keep_alive(n);
            self.tcp_probe(n);
        }
    }

    /// Handles a period without an answer: retransmits, or ends the connection after RCR repetitions.
    fn tcp_retry(&mut self, n: usize) {
        let Some(retry) = &self.sockets[n].tcp.retry else {
            return;
        };
        let count = retry.count;
        if count >= M::retry(self, n).1 {
            self.sockets[n].release();
            self.raise(n, IR_TIMEOUT);
            return;
        }
        self.arm_retry(n, count + 1);
        match self.sockets[n].status {
            Status::SynSent | Status::SynRecv => self.send_syn(n),
            _ if self.sockets[n].tcp.probing => self.send_keep_alive(n),
            _ => {
                let t = &mut self.sockets[n].tcp;
                t.snd_nxt = t.snd_una;
                self.tcp_output(n);
                // The peer's window is closed: probe it with one byte.
                if self.sockets[n].tcp.in_flight() == 0 && self.unacknowledged(n) > 0 {
                    self.send_data(n, 1, true);
                }
            }
        }
    }

    /// Returns true if the chip has handled the segment itself. Without a socket for it, a MACRAW socket gets it
    /// (WIZnet forum, topic 1114), otherwise the peer gets RST.
    pub(crate) fn tcp_arrived(&mut self, source: Mac, packet: &Packet) -> bool {
        let Some(segment) = packet.tcp() else {
            return false;
        };
        let remote = (packet.src, segment.src_port);
        let connection = (0..M::SOCKETS).find(|&n| {
            let s = &self.sockets[n];
            s.status.connected() && s.tcp.local_port == segment.dst_port && s.tcp.remote == Some(remote)
        });
        if let Some(n) = connection {
            match self.sockets[n].status {
                Status::SynSent => self.syn_sent_arrived(n, &segment),
                _ => self.connection_arrived(n, &segment),
            }
            return true;
        }
        let listener = (0..M::SOCKETS).find(|&n| {
            let s = &self.sockets[n];
            s.status == Status::Listen && s.port() == segment.dst_port
        });
        match listener {
            Some(n) if segment.flags & (SYN | ACK | RST) == SYN => self.accept(n, source, packet.src, &segment),
            _ if self.macraw_open() => return false,
            _ => self.refuse(source, packet.src, &segment),
        }
        true
    }

    /// Sends RST for a segment that belongs to no connection (RFC 793, "Reset Generation").
    fn refuse(&mut self, to: Mac, dst: IpAddr, segment: &Segment) {
        if segment.has(RST) || !M::sends_resets(self) {
            return;
        }
        let (seq, ack, flags) = if segment.has(ACK) {
            (segment.ack, 0, RST)
        } else {
            (0, segment.seq.wrapping_add(segment.sequence_length()), RST | ACK)
        };
        let reset = Segment {
            src_port: segment.dst_port,
            dst_port: segment.src_port,
            seq,
            ack,
            flags,
            window: 0,
            mss: None,
            data: &[],
        };
        let bytes = reset.build(self.common.sipr().into(), dst);
        self.send_ip(to, dst, PROTO_TCP, IpFields::default(), &bytes);
    }

    /// Handles a SYN for a listening socket.
    fn accept(&mut self, n: usize, source: Mac, src: IpAddr, segment: &Segment) {
        self.begin_connection(n, (src, segment.src_port));
        let s = &mut self.sockets[n];
        s.set(DHAR, &source);
        s.set_destination(src);
        s.set(DPORT, &segment.src_port.to_be_bytes());
        s.status = Status::SynRecv;
        self.peer_synchronised(n, segment);
        self.arm_retry(n, 0);
        self.send_syn(n);
    }

    /// Reads sequence number, window and MSS from the peer's SYN.
    fn peer_synchronised(&mut self, n: usize, segment: &Segment) {
        let own = self.sockets[n].segment_limit(self.tcp_mss_limit());
        let s = &mut self.sockets[n];
        let t = &mut s.tcp;
        t.rcv_nxt = segment.seq.wrapping_add(1);
        t.rcv_edge = t.rcv_nxt;
        t.snd_wnd = u32::from(segment.window);
        t.snd_wl = (segment.seq, segment.ack);
        t.mss = segment.mss.unwrap_or(DEFAULT_MSS).clamp(1, own);
        s.negotiated_mss = Some(t.mss);
    }

    fn established(&mut self, n: usize) {
        let s = &mut self.sockets[n];
        s.status = Status::Established;
        s.tcp.retry = None;
        self.raise(n, IR_CON);
    }

    fn syn_sent_arrived(&mut self, n: usize, segment: &Segment) {
        let t = &self.sockets[n].tcp;
        // While ARP is in progress, no SYN has been sent that could be acknowledged.
        let acknowledges = segment.has(ACK) && t.in_flight() == 1 && segment.ack == t.snd_nxt;
        if segment.has(ACK) && !acknowledges {
            let mac = self.sockets[n].dhar();
            if self.sockets[n].arp.is_none() {
                self.refuse(mac, self.sockets[n].tcp.remote().0, segment);
            }
            return;
        }
        if segment.has(RST) {
            if acknowledges {
                self.sockets[n].release();
            }
            return;
        }
        if !segment.has(SYN) || self.sockets[n].arp.is_some() {
            return;
        }
        self.peer_synchronised(n, segment);
        if acknowledges {
            self.sockets[n].tcp.snd_una = segment.ack;
            self.established(n);
            self.send_ack(n);
        } else {
            // Simultaneous open.
            self.sockets[n].status = Status::SynRecv;
            self.arm_retry(n, 0);
            self.send_syn(n);
        }
    }

    /// Handles a segment for a connection beyond SOCK_SYNSENT (RFC 793, "Segment Arrives").
    fn connection_arrived(&mut self, n: usize, segment: &Segment) {
        if !self.acceptable(n, segment) {
            if !segment.has(RST) {
                // A repeated SYN in SOCK_SYNRECV means that our SYN/ACK was lost.
                if self.sockets[n].status == Status::SynRecv && segment.has(SYN) {
                    self.send_syn(n);
                } else {
                    self.send_ack(n);
                }
                self.peer_is_alive(n);
            }
            return;
        }
        if segment.has(RST) {
            // "Sn_SR is unconditionally changed to SOCK_CLOSED" (datasheet 4.2 "Sn_CR", DISCON).
            self.sockets[n].release();
            self.raise(n, IR_DISCON);
            return;
        }
        if segment.has(SYN) || !segment.has(ACK) {
            if segment.has(SYN) {
                self.send_ack(n);
            }
            return;
        }
        self.peer_is_alive(n);
        if !self.acknowledged(n, segment) {
            return;
        }
        let in_order = self.receive_data(n, segment);
        if in_order && segment.has(FIN) {
            self.fin_arrived(n);
        }
        if matches!(self.sockets[n].status, Status::Established | Status::CloseWait | Status::FinWait | Status::LastAck)
        {
            self.tcp_output(n);
        }
    }

    /// Returns whether the segment is in the receive window (RFC 793, the four cases).
    fn acceptable(&self, n: usize, segment: &Segment) -> bool {
        let s = &self.sockets[n];
        let t = &s.tcp;
        let window = t.peer_view().max(u32::from(s.rx_free(self.rx.size(n))));
        let inside = |seq: u32| seq.wrapping_sub(t.rcv_nxt) < window;
        match (segment.sequence_length(), window) {
            (0, 0) => segment.seq == t.rcv_nxt,
            (0, _) => inside(segment.seq),
            (_, 0) => false,
            (length, _) => inside(segment.seq) || inside(segment.seq.wrapping_add(length - 1)),
        }
    }

    /// Restarts the keep alive period: anything from the peer answers a keep alive packet.
    fn peer_is_alive(&mut self, n: usize) {
        let t = &mut self.sockets[n].tcp;
        if t.probing {
            t.probing = false;
            t.retry = None;
        }
        self.tcp_restart_keep_alive(n);
    }

    /// Handles the acknowledgement. Returns false if the segment needs no further handling.
    fn acknowledged(&mut self, n: usize, segment: &Segment) -> bool {
        let status = self.sockets[n].status;
        if status == Status::SynRecv {
            if segment.ack != self.sockets[n].tcp.snd_nxt {
                let (mac, ip) = (self.sockets[n].dhar(), self.sockets[n].tcp.remote().0);
                self.refuse(mac, ip, segment);
                return false;
            }
            let t = &mut self.sockets[n].tcp;
            t.snd_una = segment.ack;
            t.snd_wnd = u32::from(segment.window);
            t.snd_wl = (segment.seq, segment.ack);
            self.established(n);
            return true;
        }
        let data_length = self.unacknowledged(n);
        let s = &mut self.sockets[n];
        let t = &mut s.tcp;
        if before(t.snd_max, segment.ack) {
            self.send_ack(n);
            return false;
        }
        if before(t.snd_una, segment.ack) {
            let advance = segment.ack.wrapping_sub(t.snd_una);
            // Less than 64 KB of data; one more may be the FIN.
            t.tx_acknowledged = t.tx_acknowledged.wrapping_add(advance.min(data_length) as u16);
            t.snd_una = segment.ack;
            if before(t.snd_nxt, t.snd_una) {
                t.snd_nxt = t.snd_una;
            }
            t.retry = None;
        }
        if !before(segment.ack, t.snd_una)
            && (before(t.snd_wl.0, segment.seq) || (t.snd_wl.0 == segment.seq && !before(segment.ack, t.snd_wl.1)))
        {
            if t.snd_wnd == 0 {
                // Only a probe was unacknowledged, and the closed window did not accept it.
                t.snd_nxt = t.snd_una;
            }
            t.snd_wnd = u32::from(segment.window);
            t.snd_wl = (segment.seq, segment.ack);
            // A peer that answers with a closed window is alive: the count of probes restarts.
            if t.snd_wnd == 0
                && let Some(retry) = &mut t.retry
            {
                retry.count = 0;
            }
        }
        if t.sending && t.tx_acknowledged == s.tx_wr {
            t.sending = false;
            s.ir |= IR_SEND_OK;
        }
        if self.fin_acknowledged(n) {
            match self.sockets[n].status {
                Status::LastAck => {
                    self.sockets[n].release();
                    return false;
                }
                Status::Closing => self.enter_time_wait(n),
                _ => {}
            }
        }
        true
    }

    fn fin_acknowledged(&self, n: usize) -> bool {
        let t = &self.sockets[n].tcp;
        t.fin_seq.is_some_and(|fin| before(fin, t.snd_una))
    }

    /// Stores new data that fits. Returns false if the segment is not the next in order, so that its FIN does not count
    /// yet.
    fn receive_data(&mut self, n: usize, segment: &Segment) -> bool {
        if !matches!(self.sockets[n].status, Status::Established | Status::FinWait) {
            return matches!(self.sockets[n].status, Status::TimeWait | Status::Closing);
        }
        let rcv_nxt = self.sockets[n].tcp.rcv_nxt;
        if before(rcv_nxt, segment.seq) {
            // A gap: the chip stores nothing out of order.
            self.send_ack(n);
            return false;
        }
        let old = rcv_nxt.wrapping_sub(segment.seq) as usize;
        let fresh = segment.data.get(old..).unwrap_or(&[]);
        let free = usize::from(self.sockets[n].rx_free(self.rx.size(n)));
        let taken = &fresh[..fresh.len().min(free)];
        if !taken.is_empty() {
            self.store(n, &[taken]);
            let delay = retry_period(M::retry(self, n).0, self.config.retry_unit);
            let (now, no_delay) = (self.now, self.sockets[n].mr() & MR_ND_MC_MMB != 0);
            let t = &mut self.sockets[n].tcp;
            t.rcv_nxt = rcv_nxt.wrapping_add(taken.len() as u32);
            t.exchanged = true;
            if before(t.rcv_edge, t.rcv_nxt) {
                t.rcv_edge = t.rcv_nxt;
            }
            if no_delay {
                self.send_ack(n);
            } else if t.ack_at.is_none() {
                // Without ND the ACK waits for RTR (datasheet 4.2 "Sn_MR", ND) or for data to carry it.
                t.ack_at = Some(now.saturating_add(delay));
            }
        }
        if taken.len() < fresh.len() {
            self.send_ack(n);
            return false;
        }
        self.tcp_restart_keep_alive(n);
        true
    }

    fn fin_arrived(&mut self, n: usize) {
        let own_fin_done = self.fin_acknowledged(n);
        let s = &mut self.sockets[n];
        let next = match s.status {
            Status::Established => Status::CloseWait,
            Status::FinWait if own_fin_done => Status::TimeWait,
            Status::FinWait => Status::Closing,
            // The peer repeats its FIN because our ACK was lost.
            _ => return self.send_ack(n),
        };
        s.tcp.rcv_nxt = s.tcp.rcv_nxt.wrapping_add(1);
        if before(s.tcp.rcv_edge, s.tcp.rcv_nxt) {
            s.tcp.rcv_edge = s.tcp.rcv_nxt;
        }
        s.ir |= IR_DISCON;
        s.tcp.keep_alive_at = None;
        if next != Status::TimeWait {
            s.status = next;
        }
        self.send_ack(n);
        if next == Status::TimeWait {
            self.enter_time_wait(n);
        }
    }

    fn enter_time_wait(&mut self, n: usize) {
        if self.config.time_wait == 0 {
            self.sockets[n].release();
            return;
        }
        let until = self.now.saturating_add(self.config.time_wait);
        let t = &mut self.sockets[n].tcp;
        t.time_wait_until = Some(until);
        t.retry = None;
        self.sockets[n].status = Status::TimeWait;
    }
}
