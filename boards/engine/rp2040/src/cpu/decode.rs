#[derive(Clone, Copy, Debug, Default)]
pub struct Op { pub kind: u8, pub a: u8, pub b: u8, pub c: u8, pub imm: u32 }
