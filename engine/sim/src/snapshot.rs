//! Snapshots: the state of a part as bytes.
//!
//! A part is restored in place: it was made anew with the same wires and settings, which snapshots leave out
//! ([`crate::left_out`]), and takes its state from the bytes. Numbers have as many bytes as they need, seven bits in
//! each.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::ops::{Deref, RangeInclusive};

pub use sim_derive::Snapshot;

/// State that a snapshot can hold. Derived for most types.
///
/// No method is generic over a format, so that each type's are compiled once.
pub trait Snapshot: Sized {
    /// Appends the state.
    fn save_state(&self, to: &mut Vec<u8>);

    /// Takes a new value from the start of `from`.
    fn from_state(from: &mut &[u8]) -> Result<Self, Torn>;

    /// Takes the state from the start of `from`. After an error, the part is to be dropped.
    fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        *self = Self::from_state(from)?;
        Ok(())
    }
}

/// The bytes are no snapshot of this part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn;

/// A snapshot cannot hold this, in the words that follow "it has".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// Appends the state of `part`.
pub fn save(part: &impl Snapshot, to: &mut Vec<u8>) {
    part.save_state(to);
}

/// Takes the state of `part` from the start of `from`. After an error, `part` is to be dropped.
pub fn restore(part: &mut impl Snapshot, from: &mut &[u8]) -> Result<(), Torn> {
    part.restore_state(from)
}

/// Appends bytes as they are, behind their number.
pub fn save_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    bytes.len().save_state(to);
    to.extend_from_slice(bytes);
}

/// Takes what [`save_bytes`] appended.
pub fn saved_bytes<'a>(from: &mut &'a [u8]) -> Result<&'a [u8], Torn> {
    let length = usize::from_state(from)?;
    let (bytes, rest) = from.split_at_checked(length).ok_or(Torn)?;
    *from = rest;
    Ok(bytes)
}

/// Leaves types out of snapshots: a restored part keeps its own value.
#[macro_export]
macro_rules! left_out {
    ($([$($generics:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($generics)*> $crate::Snapshot for $type {
            fn save_state(&self, _to: &mut Vec<u8>) {}

            fn from_state(_from: &mut &[u8]) -> Result<Self, $crate::snapshot::Torn> {
                Err($crate::snapshot::Torn)
            }

            fn restore_state(&mut self, _from: &mut &[u8]) -> Result<(), $crate::snapshot::Torn> {
                Ok(())
            }
        }
    )+};
}

/// A value that a part gets when it is made; see [`crate::left_out`].
#[derive(Clone, Copy, Debug)]
pub struct LeftOut<T>(pub T);

left_out!([T] LeftOut<T>);

impl<T> Deref for LeftOut<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Snapshot for u8 {
    fn save_state(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        let (byte, rest) = from.split_first().ok_or(Torn)?;
        *from = rest;
        Ok(*byte)
    }
}

macro_rules! unsigned {
    ($($type:ty),+) => {$(
        impl Snapshot for $type {
            fn save_state(&self, to: &mut Vec<u8>) {
                let mut left = *self;
                while left > 0x7f {
                    to.push(left as u8 | 0x80);
                    left >>= 7;
                }
                to.push(left as u8);
            }

            fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
                let mut value = 0;
                for shift in (0..Self::BITS).step_by(7) {
                    let byte = u8::from_state(from)?;
                    let bits = Self::from(byte & 0x7f);
                    value |= bits << shift;
                    if byte < 0x80 {
                        return if value >> shift == bits { Ok(value) } else { Err(Torn) };
                    }
                }
                Err(Torn)
            }
        }
    )+};
}

unsigned!(u64, u128);

impl Snapshot for i64 {
    /// The sign is the lowest bit, so that small numbers take few bytes.
    fn save_state(&self, to: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().save_state(to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        let bits = u64::from_state(from)?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }
}

macro_rules! numbers {
    ($($type:ty as $wide:ty),+) => {$(
        impl Snapshot for $type {
            fn save_state(&self, to: &mut Vec<u8>) {
                (*self as $wide).save_state(to);
            }

            fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
                <$wide>::from_state(from)?.try_into().map_err(|_| Torn)
            }
        }
    )+};
}

numbers!(u16 as u64, u32 as u64, usize as u64, i16 as i64, i32 as i64);

impl Snapshot for bool {
    fn save_state(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        match u8::from_state(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Torn),
        }
    }
}

impl Snapshot for () {
    fn save_state(&self, _to: &mut Vec<u8>) {}

    fn from_state(_from: &mut &[u8]) -> Result<Self, Torn> {
        Ok(())
    }
}

impl Snapshot for String {
    fn save_state(&self, to: &mut Vec<u8>) {
        save_bytes(self.as_bytes(), to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        Self::from_utf8(saved_bytes(from)?.to_vec()).map_err(|_| Torn)
    }
}

impl Snapshot for Cow<'static, str> {
    fn save_state(&self, to: &mut Vec<u8>) {
        save_bytes(self.as_bytes(), to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        String::from_state(from).map(Self::from)
    }
}

impl<T: Snapshot> Snapshot for Option<T> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.is_some().save_state(to);
        if let Some(value) = self {
            value.save_state(to);
        }
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        bool::from_state(from)?.then(|| T::from_state(from)).transpose()
    }
}

impl<T: Snapshot, E: Snapshot> Snapshot for Result<T, E> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.is_err().save_state(to);
        match self {
            Ok(value) => value.save_state(to),
            Err(error) => error.save_state(to),
        }
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        Ok(if bool::from_state(from)? { Err(E::from_state(from)?) } else { Ok(T::from_state(from)?) })
    }
}

impl<T: Snapshot> Snapshot for Box<T> {
    fn save_state(&self, to: &mut Vec<u8>) {
        (**self).save_state(to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        T::from_state(from).map(Self::new)
    }

    fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        (**self).restore_state(from)
    }
}

impl<T: Snapshot, const N: usize> Snapshot for [T; N] {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|item| item.save_state(to));
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        let items = (0..N).map(|_| T::from_state(from)).collect::<Result<Vec<T>, Torn>>()?;
        items.try_into().map_err(|_| Torn)
    }

    fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        self.iter_mut().try_for_each(|item| item.restore_state(from))
    }
}

impl<T: Snapshot> Snapshot for Vec<T> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.len().save_state(to);
        self.iter().for_each(|item| item.save_state(to));
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        (0..usize::from_state(from)?).map(|_| T::from_state(from)).collect()
    }

    fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        let length = usize::from_state(from)?;
        self.truncate(length);
        self.iter_mut().try_for_each(|item| item.restore_state(from))?;
        (self.len()..length).try_for_each(|_| T::from_state(from).map(|item| self.push(item)))
    }
}

impl<T: Snapshot> Snapshot for Box<[T]> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.len().save_state(to);
        self.iter().for_each(|item| item.save_state(to));
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        Vec::from_state(from).map(Self::from)
    }
}

impl<T: Snapshot> Snapshot for VecDeque<T> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.len().save_state(to);
        self.iter().for_each(|item| item.save_state(to));
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        Vec::from_state(from).map(Self::from)
    }
}

impl<K: Snapshot + Ord, V: Snapshot> Snapshot for BTreeMap<K, V> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.len().save_state(to);
        for (key, value) in self {
            key.save_state(to);
            value.save_state(to);
        }
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        // One by one: to collect them is to sort them first.
        let mut map = Self::new();
        for _ in 0..usize::from_state(from)? {
            map.insert(K::from_state(from)?, V::from_state(from)?);
        }
        Ok(map)
    }
}

impl<T: Snapshot> Snapshot for RangeInclusive<T> {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.start().save_state(to);
        self.end().save_state(to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        Ok(Self::new(T::from_state(from)?, T::from_state(from)?))
    }
}

macro_rules! tuples {
    ($($($part:ident $at:tt),+);+) => {$(
        impl<$($part: Snapshot),+> Snapshot for ($($part,)+) {
            fn save_state(&self, to: &mut Vec<u8>) {
                $(self.$at.save_state(to);)+
            }

            fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
                Ok(($($part::from_state(from)?,)+))
            }

            fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
                $(self.$at.restore_state(from)?;)+
                Ok(())
            }
        }
    )+};
}

tuples!(A 0, B 1; A 0, B 1, C 2; A 0, B 1, C 2, D 3);

impl Snapshot for Ipv4Addr {
    fn save_state(&self, to: &mut Vec<u8>) {
        self.octets().save_state(to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        <[u8; 4]>::from_state(from).map(Self::from)
    }
}

impl Snapshot for IpAddr {
    fn save_state(&self, to: &mut Vec<u8>) {
        match self {
            Self::V4(ip) => Ok(*ip),
            Self::V6(ip) => Err(ip.octets()),
        }
        .save_state(to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        Ok(Result::<Ipv4Addr, [u8; 16]>::from_state(from)?.map_or_else(Self::from, Self::from))
    }
}

impl Snapshot for SocketAddrV4 {
    fn save_state(&self, to: &mut Vec<u8>) {
        (*self.ip(), self.port()).save_state(to);
    }

    fn from_state(from: &mut &[u8]) -> Result<Self, Torn> {
        <(Ipv4Addr, u16)>::from_state(from).map(|(ip, port)| Self::new(ip, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Wires(&'static str);

    left_out!([] Wires);

    #[derive(Debug, PartialEq, Snapshot)]
    enum Phase {
        Idle,
        Shift(i32, bool),
        Wait { until: Option<u64> },
    }

    #[derive(Debug, PartialEq, Snapshot)]
    struct Part {
        wires: Wires,
        level: u64,
        queue: Vec<u16>,
        #[snapshot(skip)]
        watched: bool,
        phases: [Phase; 3],
    }

    #[test]
    fn a_part_keeps_its_wires_and_takes_its_state() {
        let part = |wires, watched| Part {
            wires: Wires(wires),
            level: 1 << 40,
            queue: vec![7, 300],
            watched,
            phases: [Phase::Shift(-2, true), Phase::Idle, Phase::Wait { until: Some(u64::MAX) }],
        };
        let mut bytes = Vec::new();
        ["A", "B"].into_iter().for_each(|wires| save(&part(wires, true), &mut bytes));
        let mut from = &bytes[..];
        for wires in ["C", "D"] {
            let phases = [Phase::Idle, Phase::Idle, Phase::Idle];
            let mut restored = Part { wires: Wires(wires), level: 0, queue: vec![1], watched: true, phases };
            restore(&mut restored, &mut from).expect("a whole snapshot");
            assert_eq!(restored, part(wires, false));
        }
        assert!(from.is_empty());
    }

    #[test]
    fn a_number_has_the_bytes_that_it_needs() {
        fn returns<T: Snapshot + PartialEq + std::fmt::Debug>(value: T, bytes: &[u8]) {
            let mut saved = Vec::new();
            save(&value, &mut saved);
            assert_eq!((&saved[..], T::from_state(&mut &saved[..])), (bytes, Ok(value)));
        }
        returns(0x7fu32, &[0x7f]);
        returns(0x80u16, &[0x80, 1]);
        returns(u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        returns(i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        returns(-1i16, &[1]);
        returns(IpAddr::from([10, 0, 0, 1]), &[0, 10, 0, 0, 1]);
        returns(IpAddr::from([1; 16]), &[1; 17]);
        assert_eq!(u64::from_state(&mut &[[0xff; 9].as_slice(), &[2]].concat()[..]), Err(Torn));
        assert_eq!(u16::from_state(&mut &[0x80, 0x80, 4][..]), Err(Torn));
        assert_eq!((bool::from_state(&mut &[2][..]), Phase::from_state(&mut &[3][..])), (Err(Torn), Err(Torn)));
    }

    #[test]
    fn a_torn_snapshot_is_an_error() {
        let mut bytes = Vec::new();
        save(&vec![0x1234u16; 9], &mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(restore(&mut Vec::<u16>::new(), &mut &bytes[..len]), Err(Torn));
        }
    }
}
