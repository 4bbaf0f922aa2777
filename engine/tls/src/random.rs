//! Seeded random numbers for a provider that knows no connection.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use rand_chacha::ChaCha12Rng;
use rand_core::{CryptoRng, Error, RngCore, SeedableRng};
use rustls::crypto::{GetRandomFailed, SecureRandom};

/// The generator of one peer, which its connections share in the order of their calls.
#[derive(Clone)]
pub(crate) struct Generator(Arc<Mutex<ChaCha12Rng>>);

thread_local! {
    static IN_TURN: RefCell<Option<ChaCha12Rng>> = const { RefCell::new(None) };
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha12Rng::seed_from_u64(seed))))
    }

    /// Runs `work`, in which [`Seeded`] draws from this generator.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore<'a>(&'a mut ChaCha12Rng);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                if let Some(advanced) = IN_TURN.take() {
                    *self.0 = advanced;
                }
            }
        }
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        IN_TURN.set(Some(own.clone()));
        let _restore = Restore(&mut own);
        work()
    }
}

/// Draws from the generator whose turn it is. There is none outside of [`Generator::during`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded;

impl RngCore for Seeded {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.try_fill_bytes(bytes).expect("random numbers are drawn during a call of a connection");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        IN_TURN.with_borrow_mut(|generator| match generator {
            Some(generator) => generator.try_fill_bytes(bytes),
            None => Err(Error::from(std::num::NonZeroU32::MIN)),
        })
    }
}

impl CryptoRng for Seeded {}

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        let mut generator = *self;
        generator.try_fill_bytes(bytes).map_err(|_| GetRandomFailed)
    }
}
