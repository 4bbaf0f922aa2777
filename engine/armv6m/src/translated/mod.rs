//! Translation of Armv6-M instructions ([`jit`]).

mod block;
mod instructions;

use std::mem::offset_of;

use chip::PROBED;
use cpu::{Bus, Map, NO_WORD};
use jit::{Accesses, BRANCHED, Block, Effects, Flow, Guest, Layout, Part, State, Translate};

use self::block::Translation;
use crate::core::Core;
use crate::fault::Cause;
use crate::{Memory, V6m};

const LAYOUT: Layout = Layout {
    regs: offset_of!(Core, regs) as i32,
    nz: offset_of!(Core, nz) as i32,
    c: offset_of!(Core, c) as i32,
    v: offset_of!(Core, v) as i32,
    pc: offset_of!(Core, pc) as i32,
    fetch_word: offset_of!(Core, fetch_word) as i32,
    cycles: offset_of!(Core, cycles) as i32,
};

/// [`Guest::start`] where the word of the next instruction is fetched already.
const FETCHED: u32 = 1;

impl Translate for V6m {
    const LAYOUT: Layout = LAYOUT;
    const ACCESS: u32 = 2;
    const BEFORE_ACCESS: u32 = 0;

    type Pipeline = ();

    fn started(pc: u32, start: u32) -> (u32, ()) {
        (if start == BRANCHED { NO_WORD } else { pc >> 2 }, ())
    }

    fn step<M: Map>(block: &mut Block<'_, Self, M>) -> Flow {
        Translation(block).step()
    }

    fn effects<M: Map>(mem: &Memory<M>, part: Part, pc: u32) -> Option<Effects> {
        block::effects(mem, part, pc)
    }
}

/// The state of a core that a window can change.
pub struct Checkpoint {
    regs: [u32; 16],
    flags: (i64, bool, bool),
    pc: u32,
    fetch_word: u32,
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
        match self.fetch_word {
            NO_WORD => Some(BRANCHED),
            word => (word == self.pc >> 2).then_some(FETCHED),
        }
    }

    #[inline(always)]
    fn interrupted<M: Map>(&self) -> bool {
        self.ppb.anything_pending() || self.ppb.mpu.enabled()
    }

    fn count(&mut self, [ram, flash, rom]: [u64; 3]) {
        let add = |count: &mut u64, more: u64| *count = count.wrapping_add(more);
        add(&mut self.instructions, ram.wrapping_add(flash).wrapping_add(rom));
        if PROBED {
            add(&mut self.flash_instructions, flash);
            add(&mut self.rom_instructions, rom);
        }
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
            fetch_word: self.fetch_word,
            cycles: self.cycles,
            counted: [self.instructions, self.flash_instructions, self.rom_instructions],
        }
    }

    fn restore(&mut self, checkpoint: Checkpoint) {
        self.regs = checkpoint.regs;
        (self.nz, self.c, self.v) = checkpoint.flags;
        self.pc = checkpoint.pc;
        self.fetch_word = checkpoint.fetch_word;
        self.cycles = checkpoint.cycles;
        [self.instructions, self.flash_instructions, self.rom_instructions] = checkpoint.counted;
    }
}

impl<B: Bus<V6m>> Accesses<V6m, B> for Core {
    fn load<const SIZE: u32>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, address: u32) -> Result<u32, Cause> {
        self.load::<SIZE, B>(mem, bus, address)
    }

    fn store<const SIZE: u32>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        address: u32,
        value: u32,
    ) -> Result<(), Cause> {
        self.store::<SIZE, B>(mem, bus, address, value)
    }

    fn fault(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, cause: Cause) {
        self.cycles += 1;
        self.hard_fault(mem, bus, cause);
    }
}
