//! The JIT: often executed instructions, translated to the PC's machine code block by block.
//!
//! A block has the same effect as the interpreter, cycle by cycle, and stops at the same places. It is assembled for
//! x86-64, and lowered from there to AArch64 on an Arm PC, or to WebAssembly in a browser; other PCs, and rare cases, use
//! the interpreter. Other crates are unaffected by blocks, except that a write to memory with code must call
//! [`cpu::Translations::forget`].
//!
//! This crate has what does not depend on the instruction set: the buffer, the table of blocks, the code that they share,
//! what all blocks are made of, and cores that run ahead. An architecture translates its instructions: `Translate`.

#![warn(missing_docs, unreachable_pub)]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod translator;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")))]
#[path = "untranslated.rs"]
mod translator;

pub use translator::*;
