//! A microcontroller as a board drives it, and as a debugger sees it.

use std::any::Any;
use std::fmt;
use std::ops::Range;

use attribution::Recording;
use sim::Ps;
use sim::snapshot::{Refused, Torn};

use crate::Sys;
use crate::debug::{Debug, Place};
use crate::probe::{Probes, Profiled, Seen};
use crate::sys::Unmodelled;
use crate::world::{Inputs, World};
use crate::xip_cache::XipCache;

/// What a microcontroller starts with.
#[derive(Default)]
pub struct ChipConfig<'a> {
    /// Contents of the boot ROM.
    pub bootrom: &'a [u8],
    /// Bytes of QSPI flash, a power of two.
    pub flash_size: usize,
    /// The GPIO that selects a PSRAM beside the flash, if there is one: an APS6404L.
    pub psram_csn: Option<u32>,
    /// Initial contents of flash from its start; the rest is erased.
    pub flash: &'a [u8],
    /// BOOTSEL is pressed while the chip leaves reset.
    pub bootsel_pressed: bool,
    /// Frequency of the crystal, of a chip whose clock it is.
    pub crystal_hz: u64,
    /// Low, high and extended fuse byte of a chip that has fuses.
    pub fuses: [u8; 3],
}

/// How to tell a microcontroller's boot ROM from other files.
#[derive(Clone, Copy)]
pub struct BootRom {
    /// Its length in bytes.
    pub bytes: usize,
    /// The environment variable that names a file with it.
    pub variable: &'static str,
    /// Its file in the user's cache.
    pub file: &'static str,
    /// Bytes that each of its revisions has.
    pub magic: &'static [u8],
    /// Their offset in the ROM.
    pub magic_at: usize,
    /// Returns one of our own, for boards without the chip's.
    pub own: Option<fn() -> Vec<u8>>,
}

/// The form of the images of a kind of microcontroller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// UF2, which its boot loader writes.
    Uf2 {
        /// The UF2 specification's numbers for its images, one for each kind of core.
        families: &'static [u32],
        /// Family and address of blocks that its boot loader does not write.
        ignored: Option<(u32, u32)>,
    },
    /// Intel HEX or ELF, which a programmer writes.
    HexOrElf,
}

/// What all microcontrollers of one kind have in common.
pub struct Facts {
    /// Name as board definitions state it.
    pub name: &'static str,
    /// The form of its images.
    pub image: Image,
    /// Its boot ROM; of 0 bytes where there is none.
    pub boot_rom: BootRom,
    /// First address of flash.
    pub flash_base: u32,
    /// Least and most bytes of flash; equal if it is in the package.
    pub flash_bytes: (usize, usize),
    /// Number of its GPIO pins.
    pub pins: u32,
    /// Those of the ADC's channels, from channel 0 on.
    pub adc_pins: Range<u32>,
    /// Those that can select a PSRAM beside the flash.
    pub psram_pins: &'static [u32],
    /// Number of its cores.
    pub cores: usize,
    /// Description of a core's registers in gdb's XML format.
    pub description: &'static str,
    /// Index of the program counter in the registers.
    pub pc: usize,
}

/// Its name alone: the addresses of its functions differ from process to process.
impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The reason why [`Mcu::run_until`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Simulated time has reached the requested moment.
    Time,
    /// The guest reset the chip; it continues with the next call.
    Reset {
        /// What reset it.
        cause: &'static str,
    },
    /// The guest sleeps by DORMANT, and nothing can wake it. Time goes on with the next call.
    Asleep {
        /// Where it fell asleep.
        pc: u32,
    },
    /// The guest used something that is not modelled.
    Unmodelled(Unmodelled),
    /// [`Sys::pause`] was called.
    Paused,
    /// The debugger stopped the chip; [`Debug::take_halt`] returns the reason.
    Halted,
}

/// Why the chip stopped for the debugger, and which core caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The core reached a breakpoint.
    Breakpoint {
        /// The core that caused the stop.
        core: usize,
    },
    /// The core executed the instruction that [`Debugged::step`] asked for.
    Step {
        /// The core that caused the stop.
        core: usize,
    },
    /// The value of SRAM at `address` changed.
    Watchpoint {
        /// The core that caused the stop.
        core: usize,
        /// The address that is watched.
        address: u32,
    },
}

/// A memory without read side effects, as a debugger sees it.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// Address of the first byte.
    pub start: u32,
    /// Its contents.
    pub bytes: &'a [u8],
    /// It is SRAM.
    pub writable: bool,
}

impl<'a> Contents<'a> {
    /// Returns the `len` bytes at `address`; `None`: not all of them are in this memory.
    pub(crate) fn get(&self, address: u32, len: usize) -> Option<&'a [u8]> {
        let start = address.checked_sub(self.start)? as usize;
        self.bytes.get(start..start.checked_add(len)?)
    }
}

/// The parts of a microcontroller that the board around it reaches at the same time.
pub struct Reached<'a> {
    /// The state that all peripherals share.
    pub sys: &'a mut Sys,
    /// Everything outside the chip.
    pub world: &'a mut (dyn World + 'static),
    /// Its inputs other than pin levels.
    pub inputs: &'a mut dyn Inputs,
    /// The flash cache; `None`: flash has none.
    pub xip: Option<&'a mut XipCache>,
    /// The probes; `None`: the chip has no profiler.
    pub probes: Option<&'a mut Probes>,
}

/// A microcontroller with a world around it.
pub trait Mcu: Debugged + Any + Send {
    /// Returns simulated time since power-on.
    fn now(&self) -> Ps;

    /// Returns the time before which everything has happened.
    fn settled(&self) -> Ps;

    /// Runs until simulated time `until`, a reset, or a fault of the model. An instruction in progress is completed,
    /// together with the events due within it.
    fn run_until(&mut self, until: Ps) -> RunEnd;

    /// Like [`Self::run_until`], but handles no event due after `until`, since an external event may come before it.
    fn run_no_further_than(&mut self, until: Ps) -> RunEnd;

    /// Returns the parts that the board reaches, at the same time.
    fn reached(&mut self) -> Reached<'_>;

    /// Returns the state that all peripherals share.
    fn sys(&mut self) -> &mut Sys {
        self.reached().sys
    }

    /// Returns everything outside the chip.
    fn world(&mut self) -> &mut (dyn World + 'static) {
        self.reached().world
    }

    /// Returns the flash cache's accounts; `None`: flash has none.
    fn xip(&mut self) -> Option<&mut XipCache> {
        self.reached().xip
    }

    /// Tells all parts about changed pins.
    fn settle_pins(&mut self);

    /// Brings all pins up to date for a reader.
    fn refresh_pins(&mut self);

    /// Interprets all code from now on: the same behaviour, but slower.
    fn interpret_only(&mut self);

    /// Returns the programmed frequency of SCK of SPI controller `spi` in Hz; 0: it is stopped.
    fn sck_hz(&self, spi: usize) -> u64;

    /// Sets the flash chip's unique id.
    fn set_flash_id(&mut self, id: [u8; 8]);

    /// Returns the contents of flash.
    fn flash(&self) -> &[u8];

    /// Returns a number that grows with each change of flash.
    fn flash_generation(&self) -> u64;

    /// Returns the instructions that `core` has executed, and the cycles of clk_sys behind it.
    fn counts(&self, core: usize) -> (u64, u64) {
        let seen = self.seen(core);
        (seen.place.instructions, seen.cycles)
    }

    /// Starts the trace of the kinds in `mask`, beginning with the present state of the pins.
    fn start_trace(&mut self, mask: u32, limit: usize);

    /// Samples the program counters every `cycles` of clk_sys into the trace (0: never).
    fn sample_pc(&mut self, cycles: u64);

    /// Returns the probes with the flash cache and what they see of the cores; `None`: the chip has no profiler.
    fn probed(&mut self) -> Option<(&mut Probes, &mut XipCache, [Seen; 2])> {
        let cores = [0, 1].map(|core| self.seen(core));
        let Reached { probes, xip, .. } = self.reached();
        Some((probes?, xip?, cores))
    }

    /// Starts a profile of each instruction and call, or of samples every `sample_cycles` of clk_sys if that is not 0.
    /// `starts`: addresses at which functions begin. `Err`: the chip has none.
    fn start_profile(&mut self, sample_cycles: u64, starts: Vec<u32>) -> Result<(), String> {
        let name = self.facts().name;
        let Some((probes, xip, cores)) = self.probed() else {
            return Err(format!("{name}: no profile of this core; use a board with an RP2040 or an RP2350"));
        };
        probes.start_profile(xip, cores, sample_cycles != 0, starts);
        if sample_cycles != 0 {
            self.sample_pc(sample_cycles);
        }
        Ok(())
    }

    /// Ends the profile and takes it.
    fn take_profile(&mut self) -> Profiled {
        let Some((probes, xip, _)) = self.probed() else { return Profiled::default() };
        let profiled = probes.take_profile(xip);
        if profiled.exact.is_none() {
            self.sample_pc(0);
        }
        profiled
    }

    /// Appends the state of all but the world to a snapshot. Probes are left out, but a debugger's refuse it.
    fn save(&self, to: &mut Vec<u8>) -> Result<(), Refused>;

    /// Restores a new chip with a flash of the same size. After an error, the chip is to be dropped.
    fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn>;

    /// Starts recording for an attribution of time; `limit`: most changes recorded.
    fn start_recording(&mut self, limit: usize);

    /// Ends recording. `None`: it had not started.
    fn stop_recording(&mut self) -> Option<Recording>;
}

/// A microcontroller with a debugger: its cores have 32-bit registers and addresses.
pub trait Debugged {
    /// Returns what all microcontrollers of this kind have in common.
    fn facts(&self) -> &'static Facts;

    /// Returns the registers of `core`, in the order of the description.
    fn registers(&self, core: usize) -> Vec<u32>;

    /// Sets the registers of `core` that a program can set.
    fn set_registers(&mut self, core: usize, registers: &[u32]);

    /// Returns the state of `core` in a word.
    fn state(&self, core: usize) -> String;

    /// Returns the memories that a debugger can read.
    fn memories(&self) -> Vec<Contents<'_>>;

    /// Writes `data` to SRAM from `address` on, in no time; false: it is not all SRAM.
    fn poke(&mut self, address: u32, data: &[u8]) -> bool;

    /// Resets the cores, and stops them at their first instructions.
    fn reset_cores(&mut self);

    /// Returns what the probes see of `core`.
    fn seen(&self, core: usize) -> Seen;

    /// Returns where `core` is.
    fn place(&self, core: usize) -> Place {
        self.seen(core).place
    }

    /// Returns the debugger's requests.
    fn debug(&mut self) -> &mut Debug;

    /// Continues all cores; breakpoints at their present addresses were already reported.
    fn resume(&mut self) {
        let places = [0, 1].map(|core| self.place(core));
        self.debug().leave(places);
    }

    /// Ends the run after the next instruction of `core`. Interrupts before it are handled without a stop.
    fn step(&mut self, core: usize) {
        let place = self.place(core);
        self.debug().step(place);
    }

    /// Watches `len` bytes of SRAM for changes; returns false if they are not SRAM.
    fn add_watchpoint(&mut self, address: u32, len: u32) -> bool {
        let memories = self.memories();
        let mut sram = memories.iter().filter(|memory| memory.writable);
        let Some(value) = sram.find_map(|memory| memory.get(address, len as usize)) else { return false };
        let value = value.to_vec();
        self.debug().watch(address, value);
        true
    }
}
