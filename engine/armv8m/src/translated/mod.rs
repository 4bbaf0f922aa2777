//! Translation of Armv8-M instructions ([`jit`]).

mod accesses;
mod block;
mod instructions;
mod mistakes;

use std::mem::offset_of;

use chip::PROBED;
use cpu::Left;
use cpu::memory::Guard;
use dynasmrt::{DynasmApi, dynasm};
use jit::mistakes::Mistake;
use jit::routines::Assembler;
use jit::{Accesses, BRANCHED, Block, Effects, Flow, Guest, Layout, Part, State, Translate};

use self::block::Translation;
use crate::bus::Bus;
use crate::core::{Core, NO_WORD, PPB};
use crate::decode::{FLAGS_SHIFT, Kind, SECOND_HALF, decode, flag};
use crate::fault::Cause;
use crate::mpu::Access;
use crate::{Map, Memory, V8m};

const LAYOUT: Layout = Layout {
    regs: offset_of!(Core, regs) as i32,
    nz: offset_of!(Core, nz) as i32,
    c: offset_of!(Core, c) as i32,
    v: offset_of!(Core, v) as i32,
    pc: offset_of!(Core, pc) as i32,
    fetch_word: offset_of!(Core, fetch_word) as i32,
    cycles: offset_of!(Core, cycles) as i32,
};
const LATE: i32 = offset_of!(Core, late) as i32;
const IT: i32 = offset_of!(Core, it) as i32;

fn memory(register: u8) -> i32 {
    LAYOUT.register(register)
}

/// What an instruction depends on beside registers, flags and fetched words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// [`Core::late`].
    late: u32,
    /// The state of the IT block.
    it: u8,
}

/// The bits of [`Guest::start`] with [`Core::late`], unless it is [`BRANCHED`].
const LATE_BITS: u32 = 0x00ff_ffff;
/// Its other bits: no word is fetched; that of the next instruction is; the one before that is the last.
const NOT_FETCHED: u32 = 1 << 24;
const FETCHED: u32 = 2 << 24;
const FETCHED_BEFORE: u32 = 3 << 24;

/// Returns [`Core::late`] after a branch to `pc`.
const fn late_after_branch(pc: u32) -> u32 {
    if pc & 2 != 0 { SECOND_HALF } else { 0 }
}

impl Translate for V8m {
    const LAYOUT: Layout = LAYOUT;
    const ACCESS: u32 = 1;
    const BEFORE_ACCESS: u32 = 1;

    type Pipeline = Pipeline;

    fn started(pc: u32, start: u32) -> (u32, Pipeline) {
        let late = if start == BRANCHED { late_after_branch(pc) } else { start & LATE_BITS };
        let word = match start & !LATE_BITS {
            FETCHED => pc >> 2,
            FETCHED_BEFORE => (pc >> 2) - 1,
            _ => NO_WORD,
        };
        (word, Pipeline { late, it: 0 })
    }

    fn in_engine(at: Pipeline, here: Pipeline) -> Pipeline {
        Pipeline { it: at.it, ..here }
    }

    fn tell<M: Map>(block: &mut Block<'_, Self, M>, Pipeline { late, it }: Pipeline) {
        let late = if block.makes(Mistake::LateForgotten) { 0 } else { late };
        dynasm!(block.ops ; .arch x64 ; mov DWORD [rbx + LATE], late as i32);
        if it != 0 && !block.makes(Mistake::ItForgotten) {
            dynasm!(block.ops ; .arch x64 ; mov BYTE [rbx + IT], it as i8);
        }
    }

    fn resume<M: Map>(block: &mut Block<'_, Self, M>, Pipeline { it, .. }: Pipeline) {
        if it != 0 {
            dynasm!(block.ops ; .arch x64 ; mov BYTE [rbx + IT], 0);
        }
    }

    fn after_branch(ops: &mut Assembler) {
        let shift = SECOND_HALF.ilog2() as i8 - 1;
        dynasm!(ops ; .arch x64 ; mov eax, ecx ; and eax, 2 ; shl eax, shift ; mov [rbx + LATE], eax);
    }

    fn step<M: Map>(block: &mut Block<'_, Self, M>) -> Flow {
        Translation(block).next()
    }

    fn effects<M: Map>(mem: &Memory<M>, part: Part, pc: u32) -> Option<Effects> {
        block::effects(mem, part, pc)
    }
}

/// The state that translated code changes in a window.
pub struct Checkpoint {
    regs: [u32; 16],
    flags: (i64, bool, bool),
    pc: u32,
    pipeline: (u32, u32, u8),
    cycles: u64,
    counted: [u64; 3],
}

impl Guest for Core {
    type Checkpoint = Checkpoint;

    #[inline(always)]
    fn index(&self) -> usize {
        self.index
    }

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    fn cycles(&self) -> u64 {
        self.cycles
    }

    #[inline(always)]
    fn start(&self) -> Option<u32> {
        let fetched = match self.fetch_word {
            _ if self.it != 0 => return None,
            NO_WORD if self.late == late_after_branch(self.pc) => return Some(BRANCHED),
            NO_WORD => NOT_FETCHED,
            word if word == self.pc >> 2 => FETCHED,
            word if word + 1 == self.pc >> 2 => FETCHED_BEFORE,
            _ => return None,
        };
        Some(self.late | fetched)
    }

    #[inline(always)]
    fn interrupted<M: Map>(&self) -> bool {
        self.takeable().is_some() || self.guarded()
    }

    fn count(&mut self, [ram, flash, rom]: [u64; 3]) {
        let add = |count: &mut u64, more: u64| *count = count.wrapping_add(more);
        add(&mut self.instructions, ram.wrapping_add(flash).wrapping_add(rom));
        if PROBED {
            add(&mut self.flash_instructions, flash);
            add(&mut self.rom_instructions, rom);
        }
    }

    fn stack_limit(&self) -> u32 {
        let (bank, process) = self.active_stack();
        self.limits[bank][process]
    }

    #[inline]
    fn state(&self) -> State {
        State { registers: self.regs, nz: self.nz, c: self.c, v: self.v }
    }

    #[inline]
    fn set_state(&mut self, state: &State) {
        (self.regs, self.nz, self.c, self.v) = (state.registers, state.nz, state.c, state.v);
    }

    fn wait(&mut self, cycles: u64) {
        self.cycles += cycles;
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            regs: self.regs,
            flags: (self.nz, self.c, self.v),
            pc: self.pc,
            pipeline: (self.fetch_word, self.late, self.it),
            cycles: self.cycles,
            counted: [self.instructions, self.flash_instructions, self.rom_instructions],
        }
    }

    fn restore(&mut self, checkpoint: Checkpoint) {
        let Checkpoint { regs, flags, pc, pipeline, cycles, counted } = checkpoint;
        (self.regs, self.pc, self.cycles) = (regs, pc, cycles);
        (self.nz, self.c, self.v) = flags;
        (self.fetch_word, self.late, self.it) = pipeline;
        [self.instructions, self.flash_instructions, self.rom_instructions] = counted;
    }
}

impl<B: Bus> Accesses<V8m, B> for Core {
    fn load<const SIZE: u32>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, address: u32) -> Result<u32, Cause> {
        self.load_slow(mem, bus, address, SIZE)
    }

    fn store<const SIZE: u32>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
    ) -> Result<(), Cause> {
        // Only a write is refused: [`Core::guarded`].
        if self.guards_data()
            && let Err(cause) = self.permit(bus, Access::Write, address, self.privileged())
        {
            self.cycles -= 1;
            return Err(cause);
        }
        self.store_slow(mem, bus, address, value, SIZE)?;
        if PPB.contains(&address) {
            // It may have set up SAU or MPU.
            mem.translated.leave();
        }
        Ok(())
    }

    fn fault(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause) {
        self.cycles += 1;
        Core::fault(self, mem, bus, cause);
    }

    fn execute(&mut self, mem: &mut Memory<B::Map>, bus: &mut B) -> Result<(), Cause> {
        let mut op = mem.ops[mem.slot(self.pc)];
        if op.kind == Kind::Undecoded {
            op = mem.predecode(self.pc, decode).ok_or(Cause::UndefinedInstruction)?;
        }
        self.execute_rare(mem, bus, op)?;
        if self.guarded() {
            mem.translated.leave();
        }
        if op.flags & flag::TO_SP != 0 {
            self.regs[13] &= !3;
        }
        Ok(())
    }
}

impl Core {
    /// Runs blocks from the PC on until `limit`, or until one leads outside translated code. `None`: no block exists
    /// for the PC.
    #[inline(always)]
    pub(crate) fn run_translated<B: Bus>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        limit: &mut u64,
    ) -> Option<Left> {
        if self.ppb.translated.is_none() {
            self.keep_rules(mem);
        }
        if self.guarded() || bus.counted() != 0 {
            return None;
        }
        jit::run::<V8m, B>(self, mem, bus, limit)
    }

    /// Prepares translated code for the rules of SAU and MPU.
    #[cold]
    fn keep_rules<M: Map>(&mut self, mem: &mut Memory<M>) {
        let open = self.ppb.sau.opened();
        // Neither is looked up there.
        let kept = |rules: &Vec<Guard>| {
            !(M::SRAM.meets(&open) || M::FLASH.meets(&open))
                && rules.iter().all(|Guard { addresses, read_only, never_executed }| {
                    !(*never_executed && M::FLASH.meets(addresses) || *read_only && M::IO_PORT.meets(addresses))
                })
        };
        let rules = self.ppb.banks[0].mpu.rules().filter(kept);
        self.ppb.translated = Some(rules.is_some());
        let mut rules = rules.unwrap_or_default();
        if M::ROM.meets(&open) {
            rules.push(Guard { addresses: open, read_only: false, never_executed: true });
        }
        if mem.translated.makes(Mistake::ReadOnlyWritten) {
            rules.iter_mut().for_each(|rule| rule.read_only = false);
        }
        if mem.translated.makes(Mistake::NeverExecuted) {
            rules.iter_mut().for_each(|rule| rule.never_executed = false);
        }
        mem.guard(self.index, rules);
    }
}

/// Returns the flags of the instruction before, as in [`crate::decode::flag`].
fn flags_of(late: u32) -> u8 {
    (late >> FLAGS_SHIFT) as u8
}
