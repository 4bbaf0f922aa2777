//! Tests of the chips from outside, in one program: each program would compile a chip anew.

mod rp2040;
mod rp2350;
