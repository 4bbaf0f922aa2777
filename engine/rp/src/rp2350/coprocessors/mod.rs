//! The coprocessors at the ports of both cores (datasheet 3.6), and the security that the chip gives to addresses.

use armv8m::{Attribution, Refused, Transfer};

use crate::rp2350::bus::Bus;
use dcp::{Dcp, Unknown};
use parts::batch::Batches;
use rcp::{Fault, Fields};

pub(crate) mod dcp;
pub(crate) mod gpioc;
pub(crate) mod rcp;

const GPIOC: u32 = 0;
/// DCP of the present state, and that of the Non-secure one for Secure code.
const DCP: u32 = 4;
const NON_SECURE_DCP: u32 = 5;
const RCP: u32 = 7;

impl Fields {
    fn of(transfer: Transfer) -> Self {
        let Transfer { opc1, opc2, crn, crm, second, .. } = transfer;
        Self { opc1, opc2, crn, crm, second }
    }
}

impl Bus {
    /// Returns the instance of DCP that an instruction reaches.
    fn dcp(&mut self, transfer: Transfer) -> Result<&mut Dcp, Refused> {
        self.own.dcp_instructions += u64::from(transfer.core == 0);
        let instances = &mut self.own.dcp[transfer.core];
        match (transfer.coprocessor, transfer.secure) {
            (DCP, secure) => Ok(&mut instances[usize::from(!secure)]),
            (NON_SECURE_DCP, true) => Ok(&mut instances[1]),
            _ => Err(Refused),
        }
    }

    /// Ends the run at an instruction that DCP does not list, and returns nothing of it.
    fn known<T: Default>(&mut self, transfer: Transfer, result: Result<T, Unknown>) -> T {
        let Transfer { coprocessor, opc1, opc2, crn, crm, .. } = transfer;
        result.unwrap_or_else(|Unknown| {
            self.sys.unmodelled(format!("DCP instruction p{coprocessor}, {opc1}, c{crn}, c{crm}, {opc2}"));
            T::default()
        })
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

    /// Brings all pins up to date; returns the levels of those that IO_QSPI has.
    fn read_pins(&mut self) -> u32 {
        if self.refresh() {
            self.blocks.reached().settle(&mut self.sys, &mut *self.world);
        }
        self.blocks.io_qspi.gpio_hi_in()
    }

    /// Passes a change of SIO's pins on.
    fn gpio_changed(&mut self) {
        self.sio_changed();
        self.blocks.reached().settle(&mut self.sys, &mut *self.world);
    }
}

impl armv8m::Bus for Bus {
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
        let result = self.dcp(transfer)?.cdp(Fields::of(transfer), transfer.crd);
        self.known(transfer, result);
        Ok(())
    }

    fn mcr(&mut self, transfer: Transfer, value: u32) -> Result<(), Refused> {
        self.waits = 0;
        let Transfer { core, coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                self.run_batch();
                gpioc::mcr(&mut self.sio, &mut self.sys, opc1, crm, value).ok_or(Refused)?;
                self.gpio_changed();
                Ok(())
            }
            RCP => {
                let result = self.own.rcp.mcr(core, Fields::of(transfer), value);
                self.checked(core, result.map(|delay| ((), delay)));
                Ok(())
            }
            _ => {
                self.dcp(transfer)?;
                self.known::<()>(transfer, Err(Unknown));
                Ok(())
            }
        }
    }

    fn mrc(&mut self, transfer: Transfer) -> Result<u32, Refused> {
        self.waits = 0;
        let Transfer { core, coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                let qspi = self.read_pins();
                gpioc::mrc(&self.sio, &self.sys, opc1, crm, qspi).ok_or(Refused)
            }
            RCP => {
                let result = self.own.rcp.mrc(core, Fields::of(transfer));
                Ok(self.checked(core, result))
            }
            _ => {
                let result = self.dcp(transfer)?.mrc(Fields::of(transfer));
                Ok(self.known(transfer, result))
            }
        }
    }

    fn mcrr(&mut self, transfer: Transfer, low: u32, high: u32) -> Result<(), Refused> {
        self.waits = 0;
        let Transfer { core, coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                self.run_batch();
                gpioc::mcrr(&mut self.sio, &mut self.sys, opc1, crm, low, high).ok_or(Refused)?;
                self.gpio_changed();
                Ok(())
            }
            RCP => {
                let result = self.own.rcp.mcrr(core, Fields::of(transfer), low, high);
                self.checked(core, result.map(|delay| ((), delay)));
                Ok(())
            }
            _ => {
                let result = self.dcp(transfer)?.mcrr(opc1, crm, low, high);
                self.known(transfer, result);
                Ok(())
            }
        }
    }

    fn mrrc(&mut self, transfer: Transfer) -> Result<(u32, u32), Refused> {
        self.waits = 0;
        let Transfer { coprocessor, opc1, crm, .. } = transfer;
        match coprocessor {
            GPIOC => {
                let qspi = self.read_pins();
                gpioc::mrrc(&self.sio, &self.sys, opc1, crm, qspi).ok_or(Refused)
            }
            // RCP has no such instruction: it is a fault.
            RCP => Ok(self.checked(transfer.core, Err(Fault("MRRC")))),
            _ => {
                let result = self.dcp(transfer)?.mrrc(opc1, crm, transfer.second);
                Ok(self.known(transfer, result))
            }
        }
    }
}
