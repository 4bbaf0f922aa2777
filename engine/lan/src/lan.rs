//! The public interface of the LAN: frames in, frames out, and the time of the next event.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use sim::snapshot::{self, Refused, Torn};
use sim::{AppReply, Log, LogReader, Ps, SettingError, Snapshot, TcpApp};

use crate::app::UdpApp;
use crate::capture::{Fate, FrameRecord, Pcap};
use crate::config::LanConfig;
use crate::dhcp::Lease;
use crate::faults::Faults;
use crate::forward::{ForwardStats, ForwardTarget, HostSocket};
use crate::link::{QUEUE_PS, Wire};
use crate::pc::Pc;
use crate::ping::PingReply;
use crate::switch::{Port, Switch};
use crate::tape::{Input, Tape, What};
use crate::tcp::ConnectionInfo;
use crate::udp::MAX_PAYLOAD_BYTES;

/// Most arrived frames queued for the board; further ones are dropped.
const MAX_UNTAKEN: usize = 4096;
/// Reasons why a new LAN cannot repeat this one's past.
const PROGRAM: &str = "exchanged data with a program on the PC";
const CAPTURE: &str = "a capture of its frames";

/// Frame counters since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Snapshot)]
pub struct LanStats {
    /// Frames that the board's MAC handed over.
    pub from_board: u64,
    /// Frames that the PC handed over.
    pub to_board: u64,
    /// Lost by the configured faults, including cable cuts.
    pub lost: u64,
    /// Dropped because a queue was full, the board did not read them, or they were longer than 1514 bytes.
    pub dropped: u64,
}

/// A 100BASE-TX cable with a simulated PC at its other end.
///
/// Times passed to its methods must not decrease; an earlier time counts as the latest one passed.
pub struct Lan {
    now: Ps,
    pc_mac: [u8; 6],
    propagation: Ps,
    stack_delay: Ps,
    faults: Faults,
    from_board: Wire,
    to_board: Wire,
    arrived: VecDeque<Vec<u8>>,
    pc: Pc,
    /// `None`: the PC is at the other end of the board's cable.
    switch: Option<Switch>,
    log: Log<FrameRecord>,
    pcap: Option<Pcap>,
    stats: LanStats,
    tape: Tape,
}

fn check_port(protocol: &str, port: u16, is_used: bool) -> Result<(), SettingError> {
    let error = |problem, mend| Err(SettingError::new(format!("{protocol} port {port}"), problem, mend));
    match port {
        0 => error("cannot be listened on", "use 1 to 65535"),
        _ if is_used => error("of the simulated PC is in use", "choose another one"),
        _ => Ok(()),
    }
}

impl Lan {
    /// Creates the LAN.
    ///
    /// # Panics
    ///
    /// With the line of the configuration error; [`Lan::try_new`] returns it instead.
    pub fn new(config: LanConfig) -> Self {
        Self::try_new(config).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the LAN at simulated time 0. `Err`: a setting is outside its range.
    pub fn try_new(config: LanConfig) -> Result<Self, SettingError> {
        config.validate()?;
        let mut lan = Self {
            now: 0,
            pc_mac: config.pc_mac,
            propagation: config.propagation_ps,
            stack_delay: config.stack_delay_ps,
            faults: Faults::default(),
            from_board: Wire::new(),
            to_board: Wire::new(),
            arrived: VecDeque::new(),
            pc: Pc::new(&config),
            switch: None,
            log: Log::default(),
            pcap: None,
            stats: LanStats::default(),
            tape: Tape::new(),
        };
        lan.set_faults(config.faults)?;
        lan.tape = Tape::new();
        if config.bridge.is_some() {
            lan.tape.end("a bridge to this machine's sockets");
        }
        Ok(lan)
    }

    /// Puts a switch with a trunk to another LAN's switch between board and PC, without adding delay. One of the two
    /// LANs has `has_pc`; the other's PC is disconnected.
    pub fn join_switch(&mut self, has_pc: bool) {
        self.tape.end("a second board on its switch");
        self.switch = Some(Switch::new(has_pc, self.pc_mac));
    }

    /// Returns whether two boards share this LAN's switch.
    pub fn is_switched(&self) -> bool {
        self.switch.is_some()
    }

    /// Returns the address that both boards on the switch claim; only the half with the PC knows it.
    pub fn address_conflict(&self) -> Option<Ipv4Addr> {
        self.switch.as_ref()?.conflict()
    }

    /// Takes the next frame for the other LAN of the switch, with the time when its last bit is in the switch. Without
    /// a PC, frames of the board are passed on from their first bit.
    pub fn take_for_trunk(&mut self) -> Option<(Ps, Vec<u8>)> {
        self.switch.as_mut()?.take_leaving()
    }

    /// Accepts a frame from the other LAN, whose last bit is in the switch at `at`. Frames arrive in order of time.
    pub fn from_trunk(&mut self, at: Ps, frame: Vec<u8>) {
        let Some(switch) = &mut self.switch else { return };
        if switch.has_pc() {
            switch.arrives(at, frame);
        } else {
            // Nothing else goes to this board, so a frame that has started by now can be delivered later.
            self.forward_frame(at, Port::Trunk, frame);
        }
    }

    /// Accepts a frame (without FCS, padding optional) that the board starts to send at `now`.
    pub fn from_board(&mut self, now: Ps, frame: &[u8]) {
        let now = self.at(now);
        self.stats.from_board += 1;
        self.tape.frame(self.now, now, frame);
        self.carry(now, frame.to_vec(), false);
    }

    /// Returns the earliest time at which [`Lan::advance`] has work or [`Lan::to_board`] has a frame. It is later than
    /// the last `advance`.
    pub fn next_event(&self) -> Option<Ps> {
        let times = [self.next_internal(), self.to_board.next_arrival()];
        times.into_iter().flatten().min().map(|at| at.max(self.now + 1))
    }

    /// Handles all events up to and including `now`.
    pub fn advance(&mut self, now: Ps) {
        while let Some(at) = self.next_internal().filter(|&at| at <= now) {
            let at = at.max(self.now);
            self.now = at;
            self.pc.nic.set_room(QUEUE_PS.saturating_sub(self.to_board.backlog_ps(at)));
            if self.switch.is_some() {
                self.switch_one(at);
                continue;
            }
            match self.from_board.take_arrived(at.saturating_sub(self.stack_delay)) {
                Some((arrival, frame)) => {
                    if let Some(pcap) = &mut self.pcap {
                        pcap.write(arrival, &frame);
                    }
                    self.pc.receive(at, frame);
                    if self.pc.has_met_a_program() {
                        self.tape.end(PROGRAM);
                    }
                }
                None => self.pc.run(at),
            }
            self.send_from_pc(at);
        }
        self.now = self.now.max(now);
        while let Some((_, frame)) = self.to_board.take_arrived(self.now) {
            if self.arrived.len() < MAX_UNTAKEN {
                self.arrived.push_back(frame);
            } else {
                self.stats.dropped += 1;
            }
        }
    }

    /// Takes the oldest frame (60 to 1514 bytes, padded, without FCS) whose last bit has arrived at the board by `now`.
    pub fn to_board(&mut self, now: Ps) -> Option<Vec<u8>> {
        self.advance(now);
        let frame = self.arrived.pop_front()?;
        self.stats.to_board += 1;
        Some(frame)
    }

    /// Serves every connection to the PC's main address and `port` with `app`.
    pub fn listen(&mut self, port: u16, app: Box<dyn TcpApp>) -> Result<(), SettingError> {
        check_port("TCP", port, self.pc.is_tcp_port_used(port))?;
        self.pc.listen(port, app);
        Ok(())
    }

    /// Ends [`Lan::listen`]: further connections are refused. Returns false if nothing listens on `port`.
    pub fn unlisten(&mut self, port: u16) -> bool {
        if self.pc.is_own_port(port) {
            self.tape.end("closed the PC's own port");
        }
        self.pc.unlisten(port)
    }

    /// Serves datagrams to UDP `port` of the PC with `app`. `Err`: port 0, or one that is taken.
    pub fn udp_listen(&mut self, port: u16, app: Box<dyn UdpApp>) -> Result<(), SettingError> {
        check_port("UDP", port, self.pc.is_udp_port_used(port))?;
        self.tape.end(PROGRAM);
        self.pc.udp_listen(port, app);
        Ok(())
    }

    /// Opens a connection from the PC to a server on the board at `at`, which may be `now`. `app` is notified by
    /// `accept` or, if the connection fails or too many are open, by `closed`. Returns the connection's number.
    pub fn connect(&mut self, now: Ps, at: Ps, peer: SocketAddrV4, app: Box<dyn TcpApp>) -> Result<u64, SettingError> {
        if peer.port() == 0 || peer.ip().is_unspecified() {
            return Err(SettingError::new("invalid peer", peer.to_string(), "use ADDRESS:PORT"));
        }
        let now = self.prepare(now);
        self.tape.end(PROGRAM);
        let conn = self.pc.connect(now, at, peer, app);
        self.send_from_pc(now);
        Ok(conn)
    }

    /// Sends at once, without turnaround. Returns false if the connection is gone or closing.
    pub fn send(&mut self, now: Ps, conn: u64, data: &[u8]) -> bool {
        self.send_at(now, now, conn, data)
    }

    /// Like [`Lan::send`], at `at`, which may be `now`.
    pub fn send_at(&mut self, now: Ps, at: Ps, conn: u64, data: &[u8]) -> bool {
        self.push(now, at, conn, AppReply::send(data))
    }

    /// Sends FIN after all data handed over. Returns false if the connection is gone or closing.
    pub fn close(&mut self, now: Ps, conn: u64) -> bool {
        self.push(now, now, conn, AppReply { close: true, ..AppReply::default() })
    }

    /// Sends RST. Returns false if the connection is gone.
    pub fn reset(&mut self, now: Ps, conn: u64) -> bool {
        self.push(now, now, conn, AppReply { reset: true, ..AppReply::default() })
    }

    fn push(&mut self, now: Ps, at: Ps, conn: u64, reply: AppReply) -> bool {
        let now = self.prepare(now);
        self.tape.end(PROGRAM);
        let known = self.pc.push(now, at, conn, reply);
        self.send_from_pc(now);
        known
    }

    /// Sends from a port passed to [`Lan::udp_listen`]. Returns false if no service has that port, `data` is longer
    /// than 1472 bytes or the socket's queue is full.
    pub fn udp_send(&mut self, now: Ps, port: u16, to: SocketAddrV4, data: &[u8]) -> bool {
        let now = self.prepare(now);
        self.tape.end(PROGRAM);
        let sent = self.pc.udp_send(now, port, to, data);
        self.send_from_pc(now);
        sent
    }

    /// Sends an echo request of at most 1472 bytes at `at`, which may be `now`; [`Lan::take_ping_replies`] returns the
    /// answers. Returns false if it is longer or too many wait.
    pub fn ping(&mut self, now: Ps, at: Ps, to: Ipv4Addr, sequence: u16, data: &[u8]) -> bool {
        if data.len() > MAX_PAYLOAD_BYTES {
            return false;
        }
        let now = self.prepare(now);
        self.tape.end("been pinged");
        let sent = self.pc.ping(now, at, to, sequence, data);
        self.send_from_pc(now);
        sent
    }

    /// Takes the echo replies since the last call.
    pub fn take_ping_replies(&mut self) -> Vec<PingReply> {
        self.pc.take_ping_replies()
    }

    /// Forwards connections and datagrams that arrive at the bound `socket` to the board. Returns the rule's number.
    pub fn forward(&mut self, now: Ps, socket: HostSocket, target: ForwardTarget) -> Result<u64, SettingError> {
        let now = self.prepare(now);
        self.tape.end("a forwarded port");
        let rule = self.pc.forward(now, socket, target);
        self.send_from_pc(now);
        rule
    }

    /// Removes a rule; its open connections continue. Returns false if the rule does not exist.
    pub fn end_forward(&mut self, now: Ps, rule: u64) -> bool {
        let now = self.prepare(now);
        self.pc.end_forward(now, rule)
    }

    /// Returns the counters of a forwarded port; `None`: there is no such rule.
    pub fn forward_stats(&self, rule: u64) -> Option<ForwardStats> {
        self.pc.forward_stats(rule)
    }

    /// Returns whether a program of this machine is being served through a bridge or a forwarded port, or was within
    /// the last 100 ms of simulated time.
    pub fn serves_host(&self, now: Ps) -> bool {
        self.pc.serves_host(self.at(now))
    }

    /// Returns the board's address as known to the PC: from its last frame, or from its lease.
    pub fn board_address(&self) -> Option<Ipv4Addr> {
        self.pc.board_address()
    }

    /// Returns when the DHCP server last acknowledged an address to a client; `None` before the first time.
    pub fn leased_at(&self) -> Option<Ps> {
        self.pc.leased_at()
    }

    /// Returns the open connections by number.
    pub fn connections(&self) -> Vec<ConnectionInfo> {
        self.pc.connections()
    }

    /// Returns DHCP leases and offers by address, including expired ones.
    pub fn leases(&self) -> Vec<Lease> {
        self.pc.leases()
    }

    /// Returns the counters so far.
    pub fn stats(&self) -> LanStats {
        LanStats { dropped: self.stats.dropped + self.pc.nic.dropped, ..self.stats }
    }

    /// Replaces the faults for frames sent from now on and restarts their random sequences.
    pub fn set_faults(&mut self, faults: Faults) -> Result<(), SettingError> {
        faults.validate()?;
        self.tape.faults(self.now, &faults);
        self.from_board.set_loss(faults.seed, faults.loss_from_board_per_mille);
        self.to_board.set_loss(!faults.seed, faults.loss_to_board_per_mille);
        self.faults = faults;
        Ok(())
    }

    /// Returns false while the configured faults unplug the cable; then the board's PHY has no link.
    pub fn cable_up(&self, now: Ps) -> bool {
        !self.faults.is_down(now, now)
    }

    /// Returns the next time after `now` at which [`Lan::cable_up`] may change.
    pub fn next_cable_change(&self, now: Ps) -> Option<Ps> {
        self.faults.down.iter().flat_map(|&(from, to)| [from, to]).filter(|&at| at > now).min()
    }

    /// Writes every frame from now on to a new capture file (nanosecond pcap) for Wireshark.
    pub fn capture_to(&mut self, path: &Path) -> io::Result<()> {
        self.tape.end(CAPTURE);
        self.pcap = Some(Pcap::create(path)?);
        Ok(())
    }

    /// Like [`Lan::capture_to`], into any writer.
    pub fn capture_into(&mut self, out: Box<dyn Write + Send>) -> io::Result<()> {
        self.tape.end(CAPTURE);
        self.pcap = Some(Pcap::new(out)?);
        Ok(())
    }

    /// Ends the capture and reports the first write that failed. Dropping the LAN also ends it.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        self.pcap.take().map_or(Ok(()), Pcap::finish)
    }

    /// Logs frames from now on; keeps the newest `frames` of those not taken yet.
    pub fn log_frames(&mut self, frames: usize) -> LogReader {
        self.log.open(frames)
    }

    /// Takes the frames since the last call for `reader`, oldest first within each direction.
    pub fn take_log(&mut self, reader: &LogReader) -> Vec<FrameRecord> {
        self.log.take(reader)
    }

    /// Ends a log of frames.
    pub fn end_log(&mut self, reader: LogReader) {
        self.log.close(reader);
    }

    /// Appends what a new LAN needs to repeat this one's past. Logs and listening programs are left out. `Err`: the
    /// past depends on more than the board.
    pub fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        let inputs = self.tape.inputs().map_err(|why| Refused(why.into()))?;
        snapshot::save(inputs, to);
        snapshot::save(&self.now, to);
        snapshot::save(&self.arrived.len(), to);
        snapshot::save(&self.stats, to);
        Ok(())
    }

    /// Repeats a past in this LAN, which is new and has the same settings. After an error, the LAN is to be dropped.
    pub fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        let (mut inputs, mut now, mut untaken, mut stats) = (Vec::new(), 0, 0, LanStats::default());
        snapshot::restore(&mut inputs, from)?;
        snapshot::restore(&mut now, from)?;
        snapshot::restore(&mut untaken, from)?;
        snapshot::restore(&mut stats, from)?;
        for Input { settled, what } in inputs {
            if settled > now {
                return Err(Torn);
            }
            self.repeat_until(settled, untaken);
            match what {
                What::Frame { at, frame } => self.from_board(at, &frame),
                What::Faults(faults) => self.set_faults(faults).map_err(|_| Torn)?,
            }
        }
        self.repeat_until(now, untaken);
        if self.stats == stats { Ok(()) } else { Err(Torn) }
    }

    fn repeat_until(&mut self, now: Ps, untaken: usize) {
        self.advance(now);
        while self.arrived.len() > untaken {
            self.to_board(now);
        }
    }

    fn at(&self, now: Ps) -> Ps {
        now.max(self.now)
    }

    /// Prepares the PC for an action at `now`.
    fn prepare(&mut self, now: Ps) -> Ps {
        let now = self.at(now);
        self.advance(now);
        self.pc.nic.set_room(QUEUE_PS.saturating_sub(self.to_board.backlog_ps(now)));
        now
    }

    fn next_internal(&self) -> Option<Ps> {
        if let Some(switch) = &self.switch {
            let times =
                [self.from_board.next_arrival(), switch.next_arrival(), switch.next_for_pc(), self.pc.next_event()];
            return times.into_iter().flatten().min();
        }
        let frame = self.from_board.next_arrival().map(|arrival| arrival + self.stack_delay);
        [frame, self.pc.next_event()].into_iter().flatten().min()
    }

    fn send_from_pc(&mut self, now: Ps) {
        while let Some(frame) = self.pc.nic.take() {
            if self.switch.is_some() {
                self.forward_frame(now, Port::Pc, frame);
                continue;
            }
            if let Some(pcap) = &mut self.pcap {
                pcap.write(now, &frame);
            }
            self.carry(now, frame, true);
        }
    }

    /// Handles one event of a LAN with a switch at `at`. At equal times, the board's frames come first.
    fn switch_one(&mut self, at: Ps) {
        if let Some((arrival, frame)) = self.from_board.take_arrived(at) {
            return self.forward_frame(arrival, Port::Board, frame);
        }
        let Some(switch) = &mut self.switch else { return };
        if let Some((arrival, frame)) = switch.take_arrived(at) {
            return self.forward_frame(arrival, Port::Trunk, frame);
        }
        match switch.take_for_pc(at) {
            Some(frame) => self.pc.receive(at, frame),
            None => self.pc.run(at),
        }
        self.send_from_pc(at);
    }

    /// Forwards a frame whose last bit was in the switch at `arrival`.
    fn forward_frame(&mut self, arrival: Ps, from: Port, frame: Vec<u8>) {
        if let Some(pcap) = &mut self.pcap {
            pcap.write(arrival, &frame);
        }
        let ways = self.switch.as_mut().map(|switch| switch.ways(from, &frame)).unwrap_or_default();
        for way in ways {
            let frame = frame.clone();
            match (way, &mut self.switch) {
                (Port::Pc, Some(switch)) => switch.hand_to_pc(arrival + self.stack_delay, frame),
                (Port::Trunk, Some(switch)) => switch.leaves(arrival, frame),
                _ => self.carry(arrival, frame, true),
            }
        }
    }

    fn carry(&mut self, now: Ps, frame: Vec<u8>, to_board: bool) {
        let wire = if to_board { &mut self.to_board } else { &mut self.from_board };
        let sent = wire.send(now, &frame, self.propagation, &self.faults);
        match sent.fate {
            Fate::Delivered => {
                if !to_board && let Some(switch) = self.switch.as_mut().filter(|switch| !switch.has_pc()) {
                    switch.leaves(sent.arrival, frame.clone());
                }
            }
            Fate::Lost | Fate::LinkDown => self.stats.lost += 1,
            Fate::QueueFull | Fate::Oversize => self.stats.dropped += 1,
        }
        self.log.push(|| FrameRecord {
            queued: now,
            start: sent.start,
            arrival: sent.arrival,
            to_board,
            fate: sent.fate,
            frame,
        });
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        // An error cannot be reported here; call `finish_capture` to learn of a failed write.
        let _ = self.finish_capture();
    }
}
