//! The RP2350 as a board drives it.

use std::ops::Range;

use armv8m::V8m;
use attribution::Recording;
use chip::World;
use chip::debug::Debug;
use chip::mcu::{BootRom, ChipConfig, Contents, Debugged, Facts, Image, Mcu, Reached, RunEnd};
use chip::probe::Seen;
use cpu::State;
use hazard3::Hazard3;
use sim::Ps;
use sim::snapshot::{self, Refused, Torn};

use crate::rp2350::Chip;
use crate::rp2350::bootrom;
use crate::rp2350::cores::Selected;
use crate::rp2350::debugger::{arm, riscv};
use crate::rp2350::memory::{ROM_SIZE, XIP_BASE};

/// The UF2 family of files for fixed addresses of flash.
const ABSOLUTE: u32 = 0xe48b_ff57;

/// A package with 60 pins, and one with 80 (datasheet 1.2): its GPIOs, those of the ADC, and those that select a PSRAM.
type Package = (u32, Range<u32>, &'static [u32]);
const SMALL: Package = (30, 26..30, &[0, 8, 19]);
const LARGE: Package = (48, 40..48, &[0, 8, 19, 47]);
/// Least and most bytes of flash beside the chip, and of that in its package.
const OUTSIDE: (usize, usize) = (64 << 10, 16 << 20);
const INSIDE: (usize, usize) = (2 << 20, 2 << 20);

/// Defines the facts of each kind, and [`KINDS`].
macro_rules! kinds {
    ($($facts:ident: $name:literal, $package:expr, $flash:expr;)+) => {
        $(#[doc = concat!("What all ", $name, " have in common.")]
        pub static $facts: Facts = facts($name, $package, $flash, arm::DESCRIPTION, arm::PC);)+

        /// All of them, and the same while their Hazard3 cores run.
        pub(crate) static KINDS: &[(&Facts, Facts)] =
            &[$((&$facts, facts($name, $package, $flash, riscv::DESCRIPTION, riscv::PC)),)+];
    };
}

kinds! {
    FACTS: "RP2350", SMALL, OUTSIDE;
    RP2350B: "RP2350B", LARGE, OUTSIDE;
    RP2354A: "RP2354A", SMALL, INSIDE;
    RP2354B: "RP2354B", LARGE, INSIDE;
}

const fn facts(
    name: &'static str,
    (pins, adc_pins, psram_pins): Package,
    flash_bytes: (usize, usize),
    description: &'static str,
    pc: usize,
) -> Facts {
    Facts {
        name,
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
        flash_bytes,
        pins,
        adc_pins,
        psram_pins,
        cores: 2,
        description,
        pc,
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
    /// Returns an RP2350A at power-on, with `world` on its pins.
    pub fn new(config: &ChipConfig, world: impl World) -> Self {
        Self::of(&FACTS, config, world)
    }

    /// Returns a chip of the kind `facts`, one of this module's, at power-on.
    pub fn of(facts: &Facts, config: &ChipConfig, world: impl World) -> Self {
        let mut chip = Chip::new(config, world);
        chip.bus.set_kind(KINDS.iter().position(|kind| kind.0.name == facts.name).unwrap_or(0));
        Self::Arm(Box::new(chip))
    }

    /// Follows OTP.ARCHSEL after a reset of both cores.
    fn reset_to_selected(&mut self, end: RunEnd) -> RunEnd {
        if matches!(end, RunEnd::Reset { .. }) {
            let archsel = either!(self, chip => chip.bus.own.otp.archsel());
            self.select(archsel);
        }
        end
    }

    /// Puts the cores that ARCHSEL chooses into the sockets.
    fn select(&mut self, archsel: u32) {
        *self = match std::mem::replace(self, Self::Switching) {
            Self::Arm(chip) if archsel == Hazard3::ARCHSEL => Self::Riscv(Box::new(replace_cores(*chip))),
            Self::Riscv(chip) if archsel == V8m::ARCHSEL => Self::Arm(Box::new(replace_cores(*chip))),
            same => same,
        };
    }
}

/// Puts cores of another kind into the sockets; their reset has just ended.
fn replace_cores<K: Selected, L: Selected>(chip: Chip<K>) -> Chip<L> {
    let Chip { cores, mem, bus, runner, probes } = chip;
    let mem = mem.for_architecture();
    let cores = cores.map(|core| {
        let seen = K::seen(&core);
        let mut new = L::new(seen.index);
        L::count_from(&mut new, &seen);
        if seen.state != State::Held {
            L::start(&mut new, &mem, bus.sys.irq_level_for_core(seen.index), 0);
        }
        new
    });
    Chip { cores, mem, bus, runner, probes }
}

/// Passes calls to the chip with the present cores.
macro_rules! pass {
    (&self: $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($argument: $type),*) -> $result {
            either!(self, chip => chip.$name($($argument),*))
        }
    )*};
    (&mut self: $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $name(&mut self, $($argument: $type),*) -> $result {
            either!(self, chip => chip.$name($($argument),*))
        }
    )*};
}

impl Mcu for Rp2350 {
    fn run_until(&mut self, until: Ps) -> RunEnd {
        let end = either!(self, chip => chip.run_until(until));
        self.reset_to_selected(end)
    }

    fn run_no_further_than(&mut self, until: Ps) -> RunEnd {
        let end = either!(self, chip => chip.run_no_further_than(until));
        self.reset_to_selected(end)
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

    pass! { &self:
        now() -> Ps;
        settled() -> Ps;
        sck_hz(spi: usize) -> u64;
        flash() -> &[u8];
        flash_generation() -> u64;
    }

    pass! { &mut self:
        reached() -> Reached<'_>;
        settle_pins() -> ();
        refresh_pins() -> ();
        interpret_only() -> ();
        set_flash_id(id: [u8; 8]) -> ();
        start_trace(mask: u32, limit: usize) -> ();
        sample_pc(cycles: u64) -> ();
        start_recording(limit: usize) -> ();
        stop_recording() -> Option<Recording>;
    }
}

impl Debugged for Rp2350 {
    fn reset_cores(&mut self) {
        either!(self, chip => chip.reset_cores());
        let archsel = either!(self, chip => chip.bus.own.otp.archsel());
        self.select(archsel);
    }

    pass! { &self:
        facts() -> &'static Facts;
        registers(core: usize) -> Vec<u32>;
        state(core: usize) -> String;
        memories() -> Vec<Contents<'_>>;
        seen(core: usize) -> Seen;
    }

    pass! { &mut self:
        set_registers(core: usize, registers: &[u32]) -> ();
        poke(address: u32, data: &[u8]) -> bool;
        debug() -> &mut Debug;
    }
}
