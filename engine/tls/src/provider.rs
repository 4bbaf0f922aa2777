//! RustCrypto's algorithms for rustls, with every random number drawn from [`Seeded`].

use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::sync::Arc;

use p256::NistP256;
use p256::ecdsa::signature::{RandomizedSigner, SignatureEncoding, Signer as _};
use p256::elliptic_curve::ecdh::EphemeralSecret;
use p256::elliptic_curve::sec1::{FromEncodedPoint, ModulusSize, ToEncodedPoint};
use p256::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize, PublicKey};
use p384::NistP384;
use rsa::pkcs8::DecodePrivateKey;
use rsa::sha2::{Sha256, Sha384, Sha512};
use rustls::crypto::{ActiveKeyExchange, CryptoProvider, KeyProvider, SharedSecret, SupportedKxGroup};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, NamedGroup, PeerMisbehaved, SignatureAlgorithm, SignatureScheme};

use crate::random::Seeded;

/// Cipher suites and checks are those of rustls-rustcrypto, which draw nothing.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: vec![&X25519, &P256, &P384],
        secure_random: &Seeded,
        key_provider: &Keys,
        ..rustls_rustcrypto::provider()
    }
}

/// A curve of NIST's.
struct Nist<C>(NamedGroup, PhantomData<fn() -> C>);

static P256: Nist<NistP256> = Nist(NamedGroup::secp256r1, PhantomData);
static P384: Nist<NistP384> = Nist(NamedGroup::secp384r1, PhantomData);

impl<C> Debug for Nist<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<C> SupportedKxGroup for Nist<C>
where
    C: CurveArithmetic,
    FieldBytesSize<C>: ModulusSize,
    AffinePoint<C>: FromEncodedPoint<C> + ToEncodedPoint<C>,
{
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = EphemeralSecret::<C>::random(&mut Seeded);
        let public = secret.public_key().to_encoded_point(false).as_bytes().to_vec();
        Ok(Box::new(NistExchange { group: self.0, secret, public }))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }
}

struct NistExchange<C: CurveArithmetic> {
    group: NamedGroup,
    secret: EphemeralSecret<C>,
    public: Vec<u8>,
}

impl<C> ActiveKeyExchange for NistExchange<C>
where
    C: CurveArithmetic,
    FieldBytesSize<C>: ModulusSize,
    AffinePoint<C>: FromEncodedPoint<C> + ToEncodedPoint<C>,
{
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let theirs = PublicKey::<C>::from_sec1_bytes(peer).map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(self.secret.diffie_hellman(&theirs).raw_secret_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        self.group
    }
}

#[derive(Debug)]
struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = x25519_dalek::EphemeralSecret::random_from_rng(Seeded);
        Ok(Box::new(X25519Exchange { public: x25519_dalek::PublicKey::from(&secret), secret }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct X25519Exchange {
    secret: x25519_dalek::EphemeralSecret,
    public: x25519_dalek::PublicKey,
}

impl ActiveKeyExchange for X25519Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let theirs: [u8; 32] = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        let shared = self.secret.diffie_hellman(&theirs.into());
        if !shared.was_contributory() {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(SharedSecret::from(shared.as_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// Reads private keys in PKCS #8.
#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let der = key.secret_der();
        if let Ok(key) = p256::ecdsa::SigningKey::from_pkcs8_der(der) {
            return Ok(Arc::new(Key::P256(Arc::new(key))));
        }
        if let Ok(key) = p384::ecdsa::SigningKey::from_pkcs8_der(der) {
            return Ok(Arc::new(Key::P384(Arc::new(key))));
        }
        match rsa::RsaPrivateKey::from_pkcs8_der(der) {
            Ok(key) => Ok(Arc::new(Key::Rsa(Arc::new(key)))),
            Err(_) => Err(Error::General("the key is no PKCS #8 key of RSA, P-256 or P-384".into())),
        }
    }
}

#[derive(Clone, Debug)]
enum Key {
    P256(Arc<p256::ecdsa::SigningKey>),
    P384(Arc<p384::ecdsa::SigningKey>),
    Rsa(Arc<rsa::RsaPrivateKey>),
}

impl Key {
    /// The schemes of this key, the preferred first.
    fn schemes(&self) -> &'static [SignatureScheme] {
        match self {
            Key::P256(_) => &[SignatureScheme::ECDSA_NISTP256_SHA256],
            Key::P384(_) => &[SignatureScheme::ECDSA_NISTP384_SHA384],
            Key::Rsa(_) => &[
                SignatureScheme::RSA_PSS_SHA256,
                SignatureScheme::RSA_PSS_SHA384,
                SignatureScheme::RSA_PSS_SHA512,
                SignatureScheme::RSA_PKCS1_SHA256,
                SignatureScheme::RSA_PKCS1_SHA384,
                SignatureScheme::RSA_PKCS1_SHA512,
            ],
        }
    }
}

impl SigningKey for Key {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = self.schemes().iter().copied().find(|scheme| offered.contains(scheme))?;
        Some(Box::new(OneScheme { key: self.clone(), scheme }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        match self {
            Key::P256(_) | Key::P384(_) => SignatureAlgorithm::ECDSA,
            Key::Rsa(_) => SignatureAlgorithm::RSA,
        }
    }
}

#[derive(Debug)]
struct OneScheme {
    key: Key,
    scheme: SignatureScheme,
}

impl Signer for OneScheme {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        // ECDSA's nonce follows from key and message (RFC 6979); PSS draws its salt.
        let signature = match (&self.key, self.scheme) {
            (Key::P256(key), _) => key.try_sign(message).map(|made: p256::ecdsa::DerSignature| made.to_vec()),
            (Key::P384(key), _) => key.try_sign(message).map(|made: p384::ecdsa::DerSignature| made.to_vec()),
            (Key::Rsa(key), scheme) => {
                let key = rsa::RsaPrivateKey::clone(key);
                match scheme {
                    SignatureScheme::RSA_PSS_SHA256 => drawn(&rsa::pss::SigningKey::<Sha256>::new(key), message),
                    SignatureScheme::RSA_PSS_SHA384 => drawn(&rsa::pss::SigningKey::<Sha384>::new(key), message),
                    SignatureScheme::RSA_PSS_SHA512 => drawn(&rsa::pss::SigningKey::<Sha512>::new(key), message),
                    SignatureScheme::RSA_PKCS1_SHA384 => drawn(&rsa::pkcs1v15::SigningKey::<Sha384>::new(key), message),
                    SignatureScheme::RSA_PKCS1_SHA512 => drawn(&rsa::pkcs1v15::SigningKey::<Sha512>::new(key), message),
                    _ => drawn(&rsa::pkcs1v15::SigningKey::<Sha256>::new(key), message),
                }
            }
        };
        signature.map_err(|error| Error::General(format!("cannot sign: {error}")))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

fn drawn<S: SignatureEncoding>(
    key: &impl RandomizedSigner<S>,
    message: &[u8],
) -> Result<Vec<u8>, p256::ecdsa::signature::Error> {
    key.try_sign_with_rng(&mut Seeded, message).map(|made| made.to_vec())
}
