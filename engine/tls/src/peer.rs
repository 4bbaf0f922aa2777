//! The peer: its identities, and what it makes connections of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::time_provider::TimeProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::connection::Connection;
use crate::provider::provider;
use crate::random::Generator;

/// The versions of TLS that an identity speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// TLS 1.2 and 1.3.
    #[default]
    Both,
    /// TLS 1.2 only.
    Tls12,
    /// TLS 1.3 only.
    Tls13,
}

static ALL: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

impl Versions {
    fn all(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Versions::Both => &ALL,
            Versions::Tls12 => &ALL[1..],
            Versions::Tls13 => &ALL[..1],
        }
    }
}

/// A server's identity.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Certificates in DER, the server's own first.
    pub chain: Vec<Vec<u8>>,
    /// Its private key, PKCS #8 in DER.
    pub key: Vec<u8>,
    /// The versions that it speaks.
    pub versions: Versions,
    /// The root, in DER, of the certificates that it asks clients for; `None`: it asks for none.
    pub client_root: Option<Vec<u8>>,
}

/// An identity that cannot be used, or a name that is none; one line says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupError(pub String);

impl<E: std::error::Error> From<E> for SetupError {
    fn from(error: E) -> Self {
        SetupError(error.to_string())
    }
}

/// The time that its owner has last told.
#[derive(Debug, Default)]
pub(crate) struct Clock(AtomicU64);

impl Clock {
    pub(crate) fn set(&self, unix_s: u64) {
        self.0.store(unix_s, Ordering::Relaxed);
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::Relaxed))))
    }
}

/// A TLS peer: a server with several identities, which clients choose by name (SNI), and a client.
///
/// Its sessions can be resumed: by ID in TLS 1.2, by ticket in 1.3. It keeps them itself.
pub struct Peer {
    provider: Arc<CryptoProvider>,
    generator: Generator,
    clock: Arc<Clock>,
    identities: BTreeMap<String, Arc<ServerConfig>>,
    first: Option<Arc<ServerConfig>>,
}

impl Peer {
    /// A peer without identities.
    pub fn new(seed: u64) -> Self {
        Self {
            provider: Arc::new(provider()),
            generator: Generator::new(seed),
            clock: Arc::default(),
            identities: BTreeMap::new(),
            first: None,
        }
    }

    /// Add the identity for clients that ask for `name`, or for the same first label in another domain, where its
    /// certificate has the wrong name. The first one is also that of clients that ask for none, or for another name.
    ///
    /// # Errors
    ///
    /// A key or certificate is broken, or they do not belong together.
    pub fn add(&mut self, name: &str, identity: Identity) -> Result<(), SetupError> {
        let chain = identity.chain.into_iter().map(CertificateDer::from).collect();
        let mut config = self.generator.during(|| -> Result<_, SetupError> {
            let builder = ServerConfig::builder_with_details(self.provider.clone(), self.clock.clone())
                .with_protocol_versions(identity.versions.all())?;
            let builder = match identity.client_root {
                None => builder.with_no_client_auth(),
                Some(root) => builder.with_client_cert_verifier(
                    WebPkiClientVerifier::builder_with_provider(roots(root)?.into(), self.provider.clone()).build()?,
                ),
            };
            Ok(builder.with_single_cert(chain, PrivatePkcs8KeyDer::from(identity.key).into())?)
        })?;
        config.send_tls13_tickets = 1;
        let config = Arc::new(config);
        self.first.get_or_insert_with(|| config.clone());
        self.identities.insert(label(name).to_owned(), config);
        Ok(())
    }

    /// The server's side of a new connection.
    ///
    /// # Errors
    ///
    /// The peer has no identity.
    pub fn accept(&self) -> Result<Connection, SetupError> {
        let first = self.first.clone().ok_or_else(|| SetupError("the TLS peer has no identity; add one".into()))?;
        Ok(Connection::accept(self.generator.clone(), self.clock.clone(), self.identities.clone(), first))
    }

    /// The client's side of a new connection to the server `name`, which needs a certificate from `root` (DER).
    ///
    /// # Errors
    ///
    /// The root is broken, or `name` is no name of a server.
    pub fn connect(&self, name: &str, root: &[u8], versions: Versions) -> Result<Connection, SetupError> {
        let name = ServerName::try_from(name.to_owned())?;
        let client = self.generator.during(|| -> Result<_, SetupError> {
            let mut config = ClientConfig::builder_with_details(self.provider.clone(), self.clock.clone())
                .with_protocol_versions(versions.all())?
                .with_root_certificates(roots(root.to_vec())?)
                .with_no_client_auth();
            config.resumption = Resumption::disabled();
            Ok(ClientConnection::new(Arc::new(config), name)?)
        })?;
        Ok(Connection::new(self.generator.clone(), self.clock.clone(), client.into()))
    }
}

/// What a client chooses an identity by: the first label of the server's name.
pub(crate) fn label(name: &str) -> &str {
    name.split_once('.').map_or(name, |(label, _)| label)
}

fn roots(root: Vec<u8>) -> Result<RootCertStore, SetupError> {
    let mut store = RootCertStore::empty();
    store.add(root.into())?;
    Ok(store)
}
