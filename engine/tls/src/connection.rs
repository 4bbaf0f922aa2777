//! One connection: bytes in, plaintext and bytes out.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use rustls::server::Acceptor;
use rustls::{Connection as Rustls, HandshakeKind, ServerConfig};

use crate::peer::{Clock, label};
use crate::random::Generator;

/// The result of received bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Decrypted bytes of the peer.
    pub plaintext: Vec<u8>,
    /// Bytes to send.
    pub answer: Vec<u8>,
    /// The peer has closed its side by an alert.
    pub closed: bool,
}

/// The end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// One line.
    pub text: String,
    /// The alert to send.
    pub answer: Vec<u8>,
}

enum State {
    /// The ClientHello, which chooses the identity, is not whole yet.
    Waiting {
        acceptor: Box<Acceptor>,
        identities: BTreeMap<String, Arc<ServerConfig>>,
        first: Arc<ServerConfig>,
    },
    Open(Box<Rustls>),
    Over,
}

/// One side of a TLS connection.
pub struct Connection {
    generator: Generator,
    clock: Arc<Clock>,
    state: State,
}

impl Connection {
    pub(crate) fn new(generator: Generator, clock: Arc<Clock>, tls: Rustls) -> Self {
        Self { generator, clock, state: State::Open(Box::new(tls)) }
    }

    pub(crate) fn accept(
        generator: Generator,
        clock: Arc<Clock>,
        identities: BTreeMap<String, Arc<ServerConfig>>,
        first: Arc<ServerConfig>,
    ) -> Self {
        Self { generator, clock, state: State::Waiting { acceptor: Box::default(), identities, first } }
    }

    /// Take received bytes, cut anywhere, at `unix_s` (seconds since 1970).
    ///
    /// # Errors
    ///
    /// The peer broke the protocol or was refused, or refused this side by an alert. The connection is over.
    pub fn receive(&mut self, mut data: &[u8], unix_s: u64) -> Result<Received, Fault> {
        self.clock.set(unix_s);
        let generator = self.generator.clone();
        generator.during(|| {
            let mut received = Received::default();
            while !data.is_empty() && !received.closed {
                if let Err(fault) = self.step(&mut data, &mut received) {
                    self.state = State::Over;
                    let answer = [received.answer, fault.answer].concat();
                    return Err(Fault { text: fault.text, answer });
                }
            }
            Ok(received)
        })
    }

    /// Take some of `data`.
    fn step(&mut self, data: &mut &[u8], received: &mut Received) -> Result<(), Fault> {
        match &mut self.state {
            State::Over => Err(Fault { text: "the TLS connection is over".into(), answer: Vec::new() }),
            State::Waiting { acceptor, identities, first } => {
                acceptor.read_tls(data).map_err(|error| Fault { text: error.to_string(), answer: Vec::new() })?;
                let refused = |(error, mut alert): (rustls::Error, rustls::server::AcceptedAlert)| {
                    let mut answer = Vec::new();
                    alert.write_all(&mut answer).expect("a vector takes all");
                    Fault { text: error.to_string(), answer }
                };
                if let Some(accepted) = acceptor.accept().map_err(refused)? {
                    let hello = accepted.client_hello();
                    let named = hello.server_name().and_then(|name| identities.get(label(name)));
                    let tls = accepted.into_connection(named.unwrap_or(first).clone()).map_err(refused)?;
                    let mut tls: Rustls = tls.into();
                    write(&mut tls, &mut received.answer);
                    self.state = State::Open(Box::new(tls));
                }
                Ok(())
            }
            State::Open(tls) => {
                tls.read_tls(data).map_err(|error| Fault { text: error.to_string(), answer: Vec::new() })?;
                let state = tls.process_new_packets();
                write(tls, &mut received.answer);
                let state = state.map_err(|error| Fault { text: error.to_string(), answer: Vec::new() })?;
                let begun = received.plaintext.len();
                received.plaintext.resize(begun + state.plaintext_bytes_to_read(), 0);
                tls.reader()
                    .read_exact(&mut received.plaintext[begun..])
                    .map_err(|error| Fault { text: error.to_string(), answer: Vec::new() })?;
                received.closed = state.peer_has_closed();
                Ok(())
            }
        }
    }

    /// The bytes that carry `plaintext`, and before the end of the handshake what else is due. Early plaintext waits.
    pub fn send(&mut self, mut plaintext: &[u8]) -> Vec<u8> {
        let mut sent = Vec::new();
        if let State::Open(tls) = &mut self.state {
            self.generator.during(|| {
                loop {
                    let taken = tls.writer().write(plaintext).unwrap_or(0);
                    plaintext = &plaintext[taken..];
                    let before = sent.len();
                    write(tls, &mut sent);
                    if plaintext.is_empty() || (taken == 0 && sent.len() == before) {
                        break;
                    }
                }
            });
        }
        sent
    }

    /// The alert that ends this side.
    pub fn close(&mut self) -> Vec<u8> {
        let mut sent = Vec::new();
        if let State::Open(tls) = &mut self.state {
            self.generator.during(|| {
                tls.send_close_notify();
                write(tls, &mut sent);
            });
        }
        sent
    }

    /// The handshake goes on.
    pub fn is_handshaking(&self) -> bool {
        match &self.state {
            State::Waiting { .. } => true,
            State::Open(tls) => tls.is_handshaking(),
            State::Over => false,
        }
    }

    /// The agreed version, such as `TLSv1_2`.
    pub fn version(&self) -> Option<String> {
        self.open()?.protocol_version().map(|version| format!("{version:?}"))
    }

    /// The agreed cipher suite by its standard name.
    pub fn cipher_suite(&self) -> Option<String> {
        self.open()?.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()))
    }

    /// The client's name for this server.
    pub fn server_name(&self) -> Option<String> {
        match self.open()? {
            Rustls::Server(tls) => tls.server_name().map(str::to_owned),
            Rustls::Client(_) => None,
        }
    }

    /// An earlier session was resumed.
    pub fn resumed(&self) -> bool {
        self.open().is_some_and(|tls| tls.handshake_kind() == Some(HandshakeKind::Resumed))
    }

    fn open(&self) -> Option<&Rustls> {
        match &self.state {
            State::Open(tls) => Some(tls),
            State::Waiting { .. } | State::Over => None,
        }
    }
}

fn write(tls: &mut Rustls, to: &mut Vec<u8>) {
    while tls.wants_write() {
        tls.write_tls(to).expect("a vector takes all");
    }
}
