//! GPIOC, which reads and writes SIO's GPIO registers by coprocessor instructions (datasheet 3.6.1).

use crate::rp2350::peripherals::sio::{Change, Gpio, Sio};
use chip::Sys;

fn change(opc1: u32) -> Change {
    [Change::Put, Change::Xor, Change::Set, Change::Clear][(opc1 & 3) as usize]
}

/// Returns the register that CRm selects for a write.
fn register(crm: u32) -> Option<Gpio> {
    match crm >> 2 {
        0 => Some(Gpio::Out),
        1 => Some(Gpio::Enable),
        _ => None,
    }
}

/// Changes one bit of 64.
fn write_bit(sio: &mut Sio, sys: &mut Sys, register: Gpio, change: Change, pin: u32) {
    let pin = pin & 63;
    sio.write_gpio(sys, register, (pin / 32) as usize, change, 1 << (pin & 31));
}

/// Executes MRC; `None`: there is no such instruction. `qspi`: levels of the pins that IO_QSPI has.
pub(crate) fn mrc(sio: &Sio, sys: &Sys, opc1: u32, crm: u32, qspi: u32) -> Option<u32> {
    if opc1 != 0 || crm & 2 != 0 {
        return None;
    }
    let high = (crm & 1) as usize;
    match (register(crm), crm >> 2) {
        (Some(register), _) => Some(sio.gpio(register, high)),
        (None, 2) => Some(sio.gpio_in(sys, high, qspi)),
        _ => None,
    }
}

/// Executes MRRC; `None`: there is no such instruction.
pub(crate) fn mrrc(sio: &Sio, sys: &Sys, opc1: u32, crm: u32, qspi: u32) -> Option<(u32, u32)> {
    if crm & 1 != 0 {
        return None;
    }
    Some((mrc(sio, sys, opc1, crm, qspi)?, mrc(sio, sys, opc1, crm | 1, qspi)?))
}

/// Executes MCR; `None`: there is no such instruction.
pub(crate) fn mcr(sio: &mut Sio, sys: &mut Sys, opc1: u32, crm: u32, value: u32) -> Option<()> {
    let register = register(crm)?;
    match opc1 {
        0..=3 => sio.write_gpio(sys, register, (crm & 1) as usize, change(opc1), value),
        5..=7 => write_bit(sio, sys, register, change(opc1), value),
        _ => return None,
    }
    Some(())
}

/// Executes MCRR; `None`: there is no such instruction.
pub(crate) fn mcrr(sio: &mut Sio, sys: &mut Sys, opc1: u32, crm: u32, low: u32, high: u32) -> Option<()> {
    let register = register(crm)?;
    match opc1 {
        0..=3 => {
            sio.write_gpio(sys, register, 0, change(opc1), low);
            sio.write_gpio(sys, register, 1, change(opc1), high);
        }
        4 => write_bit(sio, sys, register, if high & 1 != 0 { Change::Set } else { Change::Clear }, low),
        5..=7 if high & 1 != 0 => write_bit(sio, sys, register, change(opc1), low),
        5..=7 => {}
        8..=11 if high < 2 => sio.write_gpio(sys, register, high as usize, change(opc1), low),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_reach_both_halves() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut sio = Sio::default();
        let (io, s) = (&mut sio, &mut sys);
        mcrr(io, s, 2, 0, 0xf0, 3).unwrap();
        mcr(io, s, 1, 0, 0x11).unwrap();
        assert_eq!((mrrc(io, s, 0, 0, 0), mrc(io, s, 0, 1, 0)), (Some((0xe1, 3)), Some(3)));
        mcrr(io, s, 4, 4, 33, 1).unwrap();
        mcr(io, s, 6, 4, 7).unwrap();
        mcrr(io, s, 7, 4, 7, 0).unwrap();
        mcrr(io, s, 10, 4, 0x100, 0).unwrap();
        assert_eq!(mrrc(io, s, 0, 4, 0), Some((0x180, 2)));
        assert_eq!(mrc(io, s, 0, 9, 0xf8), Some(0xf800_0000));
        assert_eq!((mcr(io, s, 4, 0, 0), mrc(io, s, 1, 0, 0), mcr(io, s, 0, 8, 0)), (None, None, None));
    }
}
