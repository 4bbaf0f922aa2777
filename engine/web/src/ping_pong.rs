//! The PC's side of the workload `ping_pong`: it answers each number with the next one (workloads/ping_pong/README.md).

use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, PoisonError};

use sim::{AppReply, Ps, TcpApp};

/// A client without a console begins its report with this byte.
const REPORT: u8 = b'{';
const MOST_REPORT_BYTES: usize = 1 << 20;

/// The last report, which a board's page reads.
pub(crate) type Report = Arc<Mutex<Vec<u8>>>;

/// A server of one connection at a time; a new one begins with 1.
#[derive(Default)]
pub(crate) struct PingPong {
    expected: u64,
    pending: Vec<u8>,
    reporting: bool,
    report: Report,
}

impl PingPong {
    pub(crate) fn new(report: Report) -> Self {
        Self { report, ..Self::default() }
    }
}

impl TcpApp for PingPong {
    fn accept(&mut self, _: u64, _: SocketAddrV4, _: Ps) -> AppReply {
        (self.expected, self.reporting) = (1, false);
        self.pending.clear();
        AppReply::default()
    }

    fn receive(&mut self, _: u64, data: &[u8], _: Ps) -> AppReply {
        let mut answer = Vec::new();
        for &byte in data {
            if self.reporting || byte == REPORT && self.pending.is_empty() && self.expected > 1 {
                let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
                if !self.reporting {
                    report.clear();
                }
                self.reporting = true;
                if report.len() < MOST_REPORT_BYTES {
                    report.push(byte);
                }
                continue;
            }
            self.pending.push(byte);
            if self.pending == self.expected.to_string().as_bytes() {
                self.pending.clear();
                answer.extend((self.expected + 1).to_string().into_bytes());
                self.expected += 2;
            }
        }
        AppReply::send(answer)
    }

    fn closed(&mut self, _: u64, _: bool, _: Ps) -> AppReply {
        AppReply::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_answered_however_they_are_cut_and_the_report_is_kept() {
        let (report, peer) = (Report::default(), SocketAddrV4::new([192, 168, 50, 100].into(), 1));
        let mut server = PingPong::new(report.clone());
        server.accept(1, peer, 0);
        let mut answers = Vec::new();
        for data in ["1", "35", "7", "91", "1{\"total_us\"", ": 7}"] {
            answers.push(server.receive(1, data.as_bytes(), 0).data);
        }
        assert_eq!(answers.concat(), b"24681012");
        assert_eq!(*report.lock().unwrap(), b"{\"total_us\": 7}");
    }
}
