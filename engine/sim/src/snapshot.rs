//! Snapshots: the state of a part as bytes.
//!
//! A part is restored in place: it was made anew with the same wires and settings, which snapshots leave out
//! ([`crate::left_out`]), and takes its state from the bytes. So parts derive serde's traits, with
//! `deserialize_in_place`.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The bytes are no snapshot of this part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn;

/// A snapshot cannot hold this, in the words that follow "it has".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// Appends the state of `part`.
pub fn save(part: &impl Serialize, to: &mut Vec<u8>) {
    *to = postcard::to_extend(part, std::mem::take(to)).expect("all values can be written to memory");
}

/// Takes the state of `part` from the start of `from`. After an error, `part` is to be dropped.
pub fn restore<'a>(part: &mut impl Deserialize<'a>, from: &mut &'a [u8]) -> Result<(), Torn> {
    let mut bytes = postcard::Deserializer::from_bytes(from);
    Deserialize::deserialize_in_place(&mut bytes, part).map_err(|_| Torn)?;
    *from = bytes.finalize().map_err(|_| Torn)?;
    Ok(())
}

/// Leaves types out of snapshots: a restored part keeps its own value.
#[macro_export]
macro_rules! left_out {
    ($([$($generics:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($generics)*> serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_unit()
            }
        }

        impl<'de, $($generics)*> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(serde::de::Error::custom("not in a snapshot"))
            }

            fn deserialize_in_place<D: serde::Deserializer<'de>>(_: D, _: &mut Self) -> Result<(), D::Error> {
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

/// Bytes that are copied at once.
pub struct Bytes<'a>(pub &'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Wires(&'static str);

    left_out!([] Wires);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part {
        wires: Wires,
        level: u64,
        queue: Vec<u16>,
    }

    #[test]
    fn a_part_keeps_its_wires_and_takes_its_state() {
        let parts = ["A", "B"].map(|name| Part { wires: Wires(name), level: 1 << 40, queue: vec![7, 300] });
        let mut bytes = Vec::new();
        parts.iter().for_each(|part| save(part, &mut bytes));
        let mut from = &bytes[..];
        let mut restored = ["C", "D"].map(|name| Part { wires: Wires(name), level: 0, queue: vec![1] });
        restored.iter_mut().for_each(|part| restore(part, &mut from).expect("a whole snapshot"));
        assert!(from.is_empty());
        for (part, name) in restored.into_iter().zip(["C", "D"]) {
            assert_eq!(part, Part { wires: Wires(name), level: 1 << 40, queue: vec![7, 300] });
        }
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
