//! The coprocessors at the ports of both cores (datasheet 3.6), and the security that the chip gives to addresses.

use armv8m::{Attribution, Refused, Transfer};

use crate::bus::Bus;
use crate::world::World;
use rcp::{Fault, Fields};

pub mod dcp;
pub mod gpioc;
pub mod rcp;

const GPIOC: u32 = 0;
/// DCP of the present state, and that of the Non-secure one.
const DCP: [u32; 2] = [4, 5];
const RCP: u32 = 7;

impl Fields {
    fn of(transfer: Transfer) -> Self {
        let Transfer { opc1, opc2, crn, crm, second, .. } = transfer;
        Self { opc1, opc2, crn, crm, second }
    }
}

impl<W: World> Bus<W> {
    /// Ends the run at an instruction of a coprocessor that exists.
    fn unmodelled_transfer(&mut self, what: &str, transfer: Transfer) -> Result<(), Refused> {
        let Transfer { coprocessor, opc1, opc2, crn, crm, .. } = transfer;
        let name = match coprocessor {
            4 | 5 => "DCP",
            _ => return Err(Refused),
        };
        self.sys.unmodelled(format!("{name} {what} p{coprocessor}, {opc1}, c{crn}, c{crm}, {opc2}"));
        Ok(())
    }

    /// Takes what an instruction of RCP gives. A fault stops both cores until a reset, so it ends the run.
    fn checked<T: Default>(&mut self, core: usize, result: Result<(T, u32), Fault>) -> T {
        match result {
            Ok((value, delay)) => {
                self.waits = delay;
                value
            }
            Err(Fault(what)) => {
                self.sys.unmodelled(format!("RCP fault of core {core}: {what}"));
                T::default()
            }
        }
    }

    /// Passes a change of SIO's pins on.
    fn gpio_changed(&mut self) {
        self.sio_changed();
        self.settle_pins();
    }
}

impl<W: World> armv8m::Bus for Bus<W> {
    /// The IDAU's map (datasheet 10.2.2). The part of the ROM that is Non-secure for fetches only is so for all.
    fn attribution(&self, address: u32) -> Attribution {
        match address {
            0x0000_0000..0x0000_4300 => Attribution::Exempt,
            0x0000_4300..0x0000_7e00 => Attribution::NonSecure,
            0x0000_7e00..0x0000_8000 => Attribution::Callable,
            0x1000_0000..0x2008_2000 => Attribution::NonSecure,
            0x4000_0000..0x6000_0000 | 0xd000_0000..0xe000_0000 => Attribution::Exempt,
            _ => Attribution::Secure,
        }
    }

    fn access_as(&mut self, _secure: bool, _privileged: bool) {}

    fn cdp(&mut self, transfer: Transfer) -> Result<(), Refused> {
        self.waits = 0;
        if transfer.coprocessor == RCP {
            self.checked::<()>(transfer.core, Err(Fault("panic")));
            return Ok(());
        }
        self.unmodelled_transfer("CDP", transfer)
    }

    fn mcr(&mut self, transfer: Transfer, value: u32) -> Result<(), Refused> {
        self.waits = 0;
        let Transfer { core, coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                gpioc::mcr(&mut self.sio, &mut self.sys, opc1, crm, value).ok_or(Refused)?;
                self.gpio_changed();
                Ok(())
            }
            RCP => {
                let result = self.rcp.mcr(core, Fields::of(transfer), value);
                self.checked(core, result.map(|delay| ((), delay)));
                Ok(())
            }
            _ => self.unmodelled_transfer("MCR", transfer),
        }
    }

    fn mrc(&mut self, transfer: Transfer) -> Result<u32, Refused> {
        self.waits = 0;
        let Transfer { core, coprocessor, opc1, opc2, crn, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                self.refresh_pins();
                let qspi = self.blocks.io_qspi.gpio_hi_in();
                gpioc::mrc(&self.sio, &self.sys, opc1, crm, qspi).ok_or(Refused)
            }
            RCP => {
                let result = self.rcp.mrc(core, Fields::of(transfer));
                Ok(self.checked(core, result))
            }
            _ => match dcp::mrc(opc1, opc2, crn, crm).filter(|_| DCP.contains(&coprocessor)) {
                Some(status) => Ok(status),
                None => self.unmodelled_transfer("MRC", transfer).map(|()| 0),
            },
        }
    }

    fn mcrr(&mut self, transfer: Transfer, low: u32, high: u32) -> Result<(), Refused> {
        self.waits = 0;
        let Transfer { core, coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                gpioc::mcrr(&mut self.sio, &mut self.sys, opc1, crm, low, high).ok_or(Refused)?;
                self.gpio_changed();
                Ok(())
            }
            RCP => {
                let result = self.rcp.mcrr(core, Fields::of(transfer), low, high);
                self.checked(core, result.map(|delay| ((), delay)));
                Ok(())
            }
            _ => self.unmodelled_transfer("MCRR", transfer),
        }
    }

    fn mrrc(&mut self, transfer: Transfer) -> Result<(u32, u32), Refused> {
        self.waits = 0;
        let Transfer { coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                self.refresh_pins();
                let qspi = self.blocks.io_qspi.gpio_hi_in();
                gpioc::mrrc(&self.sio, &self.sys, opc1, crm, qspi).ok_or(Refused)
            }
            // RCP has no such instruction: it is a fault.
            RCP => Ok(self.checked(transfer.core, Err(Fault("MRRC")))),
            _ => self.unmodelled_transfer("MRRC", transfer).map(|()| (0, 0)),
        }
    }
}
