//! The host's side of a connection relayed between the board and a real socket of this machine.
//!
//! Bytes are only buffered in the other side's socket, so TCP itself provides the back-pressure.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use sim::Ps;
use smoltcp::socket::tcp;

use crate::connecting;
use crate::tcp::{BACKLOG_BYTES, Flow};

const READ_BYTES: usize = 16 * 1024;

/// The host's side of one relayed connection.
pub(crate) struct HostStream {
    stream: TcpStream,
    /// The board's FIN was forwarded.
    shut: bool,
    /// The host's FIN was seen.
    ended: bool,
    /// The host's side was reset.
    failed: bool,
    /// Data for the host that remains after the stack has forgotten the connection.
    rest: VecDeque<u8>,
}

impl HostStream {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, shut: false, ended: false, failed: false, rest: VecDeque::new() })
    }

    /// Moves data in both directions as far as possible; reads the host's socket only if `poll`. Returns true if any
    /// moved.
    pub(crate) fn serve(&mut self, flow: &mut Flow, socket: &mut tcp::Socket, now: Ps, poll: bool) -> bool {
        let mut changed = flow.establish(socket);
        while socket.can_recv() {
            let written = socket.recv(|data| {
                let written = self.write(data);
                (written, written)
            });
            if written.unwrap_or(0) == 0 {
                break;
            }
            changed = true;
        }
        let state = socket.state();
        let board_ended = flow.is_established() && !socket.may_recv() && state != tcp::State::Closed;
        if board_ended && !self.shut {
            self.shut = true;
            changed = true;
            // On an error the host's side is gone; the next read reports it.
            let _ = self.stream.shutdown(Shutdown::Write);
        }
        if poll && !self.failed {
            if !self.ended && flow.out.len() < BACKLOG_BYTES {
                changed |= self.read(flow);
            } else if !matches!(self.stream.take_error(), Ok(None)) {
                // A reset is visible without a read, too.
                self.failed = true;
            }
        }
        if self.ended && flow.is_established() && !flow.closing {
            // Before the connection is established, closing would cancel the connection request.
            flow.closing = true;
            changed = true;
        }
        if self.failed && !matches!(state, tcp::State::Closed | tcp::State::TimeWait) {
            flow.abort(socket, now);
            changed = true;
        }
        changed
    }

    fn write(&mut self, data: &[u8]) -> usize {
        if self.failed {
            return 0;
        }
        match self.stream.write(data) {
            Ok(written) => written,
            Err(error) => {
                self.failed = !is_temporary(&error);
                0
            }
        }
    }

    fn read(&mut self, flow: &mut Flow) -> bool {
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(read) => flow.out.extend(&buffer[..read]),
            Err(error) if is_temporary(&error) => return false,
            Err(_) => self.failed = true,
        }
        true
    }

    /// Takes the data for the host from a connection that both sides have closed and the stack is about to forget.
    pub(crate) fn take_rest(&mut self, socket: &mut tcp::Socket) {
        while socket.can_recv() {
            let taken = socket.recv(|data| {
                self.rest.extend(data.iter());
                (data.len(), ())
            });
            if taken.is_err() {
                break;
            }
        }
    }

    /// Sends the remaining data to the host. Returns true when it is complete or the host has closed.
    pub(crate) fn linger(&mut self) -> bool {
        while !self.rest.is_empty() && !self.failed {
            let rest = std::mem::take(&mut self.rest);
            let written = self.write(rest.as_slices().0);
            self.rest = rest;
            self.rest.drain(..written);
            if written == 0 {
                break;
            }
        }
        let over = self.rest.is_empty() || self.failed;
        if over && !self.shut {
            self.shut = true;
            let _ = self.stream.shutdown(Shutdown::Write);
        }
        over
    }
}

impl Drop for HostStream {
    /// The board's side has ended: if the host's side did not end in order, it is reset.
    fn drop(&mut self) {
        if !(self.shut && self.ended) {
            connecting::reset_at_close(&self.stream);
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn the_rest_reaches_a_program_that_reads_late() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut program = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut host = HostStream::new(listener.accept().unwrap().0).unwrap();
        assert!(host.stream.nodelay().unwrap(), "a program waits for each answer");
        let data: Vec<u8> = (0..20_000_000).map(|i| (i % 251) as u8).collect();
        host.rest.extend(&data);
        assert!(!host.linger(), "more than the sockets hold");
        let reads = thread::spawn(move || {
            let mut got = Vec::new();
            program.read_to_end(&mut got).map(|_| got)
        });
        while !host.linger() {
            thread::yield_now();
        }
        assert!(reads.join().unwrap().unwrap() == data);
        // Nor is what the sockets hold lost with the stream of a program that has ended.
        let mut program = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut host = HostStream::new(listener.accept().unwrap().0).unwrap();
        program.shutdown(Shutdown::Write).unwrap();
        host.ended = true;
        host.rest.extend(&data[..400_000]);
        if host.linger() {
            drop(host);
            let mut got = Vec::new();
            assert_eq!(program.read_to_end(&mut got).unwrap(), 400_000);
        }
    }
}
