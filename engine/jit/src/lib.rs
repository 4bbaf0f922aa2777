//! The frame of a translator to this PC's instructions, for cores of any instruction set: see [`translator`].

#![warn(missing_docs, unreachable_pub)]

#[cfg(target_arch = "x86_64")]
mod translator;
#[cfg(not(target_arch = "x86_64"))]
#[path = "untranslated.rs"]
mod translator;

pub use translator::*;
