//! DCP, the double-precision coprocessor (datasheet 3.6.2): only its status, which the SDK reads when it starts, and
//! before each operation. No operation is modelled.

/// Executes MRC of RCMP or PCMP, which read the status: no operation is engaged, and both operands are equal. `None`:
/// not modelled.
pub fn mrc(opc1: u32, opc2: u32, crn: u32, crm: u32) -> Option<u32> {
    const EQUAL: u32 = 1 << 30 | 1 << 29;
    ((opc1, opc2, crn, crm) == (0, 1, 0, 0)).then_some(EQUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read_and_nothing_else() {
        assert_eq!((mrc(0, 1, 0, 0), mrc(1, 0, 0, 0)), (Some(0x6000_0000), None));
    }
}
