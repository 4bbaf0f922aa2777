//! A TLS peer without I/O whose bytes depend on its seed, its clock and the received bytes alone.
//!
//! | file | content |
//! |---|---|
//! | `peer` | the peer: its identities, and what it makes connections of |
//! | `connection` | one connection: bytes in, plaintext and bytes out |
//! | `provider` | rustls' cryptography, with seeded key exchange and signatures |
//! | `random` | the seeded random numbers, and whose turn it is to draw them |
//!
//! The protocol is rustls', the algorithms are RustCrypto's. rustls draws random numbers from a provider that knows no
//! connection, so a call of a connection first puts its peer's generator in the place that the provider draws from.
//!
//! A simulated PC does not need its keys to be secret: they are in the repository. This is no TLS library for others.

#![warn(missing_docs, unreachable_pub)]

mod connection;
mod peer;
mod provider;
mod random;

pub use connection::{Connection, Fault, Received};
pub use peer::{Identity, Peer, SetupError, Versions};
