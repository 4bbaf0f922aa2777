//! The RP2350 as a board drives it.

use armv8m::V8m;
use attribution::Recording;
use hazard3::Hazard3;
use parts::debug::{Debug, Place};
use parts::mcu::{BootRom, ChipConfig, Contents, Debugged, Facts, Image, Mcu, Reached, RunEnd};
use parts::probe::{Probes, Seen};
use sim::Ps;
use sim::snapshot::{self, Refused, Torn};

use crate::rp2350::bootrom;
use crate::rp2350::chip::Chip;
use crate::rp2350::cores::Kind;
use crate::rp2350::memory::{ROM_SIZE, XIP_BASE};
use crate::rp2350::sys::{ResetRequest, Sys};
use crate::rp2350::world::World;
use crate::rp2350::xip_cache::XipCache;

/// Pins on the package of RP2350A.
const PINS: u32 = 30;

/// The UF2 family of files for fixed addresses of flash.
const ABSOLUTE: u32 = 0xe48b_ff57;

/// What all of them have in common.
pub static FACTS: Facts = facts::<V8m>();

/// The same while its Hazard3 cores run.
static FACTS_RISCV: Facts = facts::<Hazard3>();

const fn facts<K: Kind>() -> Facts {
    Facts {
        name: "RP2350",
        // Arm (Secure), RISC-V, and absolute, which ignores partitions (5.5.3). A file of the SDK begins with an absolute
        // block for the end of flash, which works around erratum RP2350-E10.
        image: Image::Uf2 { families: &[0xe48b_ff59, 0xe48b_ff5a, ABSOLUTE], ignored: Some((ABSOLUTE, 0x10ff_ff00)) },
        // Its magic number is in the datasheet, 5.4.1; the revision follows it.
        boot_rom: BootRom {
            bytes: ROM_SIZE,
            variable: "PORTBENCH_BOOTROM_RP2350",
            file: "rp2350-bootrom-a2.bin",
            magic: b"Mu\x02\x02",
            magic_at: 0x10,
            own: Some(bootrom::own),
        },
        flash_base: XIP_BASE,
        flash_bytes: (64 << 10, 16 << 20),
        pins: PINS,
        psram_pins: &[0, 8, 19],
        cores: 2,
        description: K::DESCRIPTION,
        pc: K::PC,
    }
}

/// The chip, which runs Arm or RISC-V cores. A reset of both switches to those that OTP.ARCHSEL names.
pub enum Rp2350 {
    /// Both cores are Cortex-M33.
    Arm(Box<Chip<V8m>>),
    /// Both cores are Hazard3.
    Riscv(Box<Chip<Hazard3>>),
    /// Only while the cores are replaced.
    Switching,
}

/// Runs `$do` with the chip of either kind.
macro_rules! either {
    ($self:expr, $chip:ident => $do:expr) => {
        match $self {
            Self::Arm($chip) => $do,
            Self::Riscv($chip) => $do,
            Self::Switching => unreachable!("the cores are being replaced"),
        }
    };
}

impl Rp2350 {
    /// Returns a chip at power-on, with `world` on its pins.
    pub fn new(config: &ChipConfig, world: impl World) -> Self {
        Self::Arm(Box::new(Chip::new(config, world)))
    }

    /// Follows OTP.ARCHSEL after a reset of both cores.
    fn reset_to_selected(&mut self, end: RunEnd) -> RunEnd {
        if matches!(end, RunEnd::Reset { .. }) {
            let archsel = either!(self, chip => chip.bus.blocks.otp.archsel());
            self.select(archsel);
        }
        end
    }

    /// Puts the cores that ARCHSEL chooses into the sockets.
    fn select(&mut self, archsel: u32) {
        *self = match std::mem::replace(self, Self::Switching) {
            Self::Arm(chip) if archsel == Hazard3::ARCHSEL => Self::Riscv(Box::new(chip.replace_cores())),
            Self::Riscv(chip) if archsel == V8m::ARCHSEL => Self::Arm(Box::new(chip.replace_cores())),
            same => same,
        };
    }
}

impl Mcu for Rp2350 {
    fn now(&self) -> Ps {
        either!(self, chip => chip.now())
    }

    fn settled(&self) -> Ps {
        either!(self, chip => chip.settled())
    }

    fn run_until(&mut self, until: Ps) -> RunEnd {
        let end = either!(self, chip => chip.run_until(until));
        self.reset_to_selected(end)
    }

    fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        let end = either!(self, chip => chip.run_no_further_than(until));
        self.reset_to_selected(end)
    }

    fn sys(&mut self) -> &mut Sys {
        either!(self, chip => &mut chip.bus.sys)
    }

    fn world(&mut self) -> &mut (dyn World + 'static) {
        either!(self, chip => &mut *chip.bus.world)
    }

    fn reached(&mut self) -> Reached<'_> {
        let bus = either!(self, chip => &mut chip.bus);
        let blocks = &mut bus.blocks;
        Reached { sys: &mut bus.sys, world: &mut *bus.world, uart: &mut blocks.uart, adc: Some(&mut blocks.adc) }
    }

    fn settle_pins(&mut self) {
        either!(self, chip => chip.bus.settle(&mut chip.mem));
    }

    fn refresh_pins(&mut self) {
        either!(self, chip => chip.bus.refresh_pins());
    }

    fn interpret_only(&mut self) {
        if let Self::Arm(chip) = self {
            chip.mem.interpret_only();
        }
    }

    fn sck_hz(&self, spi: usize) -> u64 {
        either!(self, chip => chip.bus.blocks.spi[spi].sck_hz(&chip.bus.sys))
    }

    fn xip(&mut self) -> Option<&mut XipCache> {
        Some(either!(self, chip => &mut chip.mem.xip))
    }

    fn set_flash_id(&mut self, id: [u8; 8]) {
        let bus = either!(self, chip => &mut chip.bus);
        bus.qmi.flash.unique_id = id;
        bus.blocks.otp.set_chip_id(id);
    }

    fn flash(&self) -> &[u8] {
        either!(self, chip => chip.mem.flash())
    }

    fn flash_generation(&self) -> u64 {
        either!(self, chip => chip.mem.flash_generation)
    }

    fn counts(&self, core: usize) -> (u64, u64) {
        let seen = either!(self, chip => chip.seen(core));
        (seen.instructions[0], seen.cycles)
    }

    fn start_trace(&mut self, mask: u32, limit: usize) {
        either!(self, chip => chip.start_trace(mask, limit));
    }

    fn sample_pc(&mut self, cycles: u64) {
        either!(self, chip => chip.sample_pc(cycles));
    }

    fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused> {
        snapshot::save(&matches!(self, Self::Riscv(_)), to);
        either!(self, chip => chip.save(to))
    }

    fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        let mut riscv = false;
        snapshot::restore(&mut riscv, from)?;
        self.select(if riscv { Hazard3::ARCHSEL } else { V8m::ARCHSEL });
        either!(self, chip => chip.restore(from))
    }

    fn probed(&mut self) -> Option<(&mut Probes, &mut XipCache, [Seen; 2])> {
        either!(self, chip => {
            let seen = chip.probed();
            Some((&mut chip.probes, &mut chip.mem.xip, seen))
        })
    }

    fn start_recording(&mut self, limit: usize) {
        either!(self, chip => chip.start_recording(limit));
    }

    fn stop_recording(&mut self) -> Option<Recording> {
        either!(self, chip => chip.stop_recording())
    }
}

impl Debugged for Rp2350 {
    fn facts(&self) -> &'static Facts {
        match self {
            Self::Riscv(_) => &FACTS_RISCV,
            _ => &FACTS,
        }
    }

    fn registers(&self, core: usize) -> Vec<u32> {
        either!(self, chip => chip.registers(core))
    }

    fn set_registers(&mut self, core: usize, registers: &[u32]) {
        either!(self, chip => chip.set_registers(core, registers));
    }

    fn state(&self, core: usize) -> String {
        format!("{:?}", either!(self, chip => chip.seen(core)).state)
    }

    fn memories(&self) -> Vec<Contents<'_>> {
        either!(self, chip => chip.mem.regions().to_vec())
    }

    fn poke(&mut self, address: u32, data: &[u8]) -> bool {
        either!(self, chip => chip.mem.poke(address, data))
    }

    fn reset_cores(&mut self) {
        let now = either!(self, chip => chip.now());
        let sys = either!(self, chip => &mut chip.bus.sys);
        sys.request_reset(ResetRequest::Processor { core: 0 });
        sys.attention = true;
        // The reset is handled first.
        let end = either!(self, chip => chip.run_until(now + 1));
        self.reset_to_selected(end);
    }

    fn place(&self, core: usize) -> Place {
        either!(self, chip => chip.seen(core)).place()
    }

    fn debug(&mut self) -> &mut Debug {
        either!(self, chip => &mut chip.probes.debug)
    }
}
