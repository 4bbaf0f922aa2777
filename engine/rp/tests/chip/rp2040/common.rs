//! A bare chip with programs in SRAM, for tests of the cores.
#![allow(dead_code, reason = "each test binary uses only a part")]

use chip::mcu::Mcu;
use rp::rp2040::bus::Master;
use rp::rp2040::cpu::core::{Core, State};
use rp::rp2040::world::Nothing;
use rp::rp2040::{Chip, ChipConfig, RunEnd};
use sim::Ps;

pub const VECTORS: u32 = 0x2000_0000;
pub const CODE: u32 = 0x2000_1000;
pub const HANDLERS: u32 = 0x2000_2000;
pub const STACK: u32 = 0x2000_3000;
pub const PROCESS_STACK: u32 = 0x2000_4000;
pub const DATA: u32 = 0x2000_5000;
pub const ROM_CODE: u32 = 0x400;

pub const SYST_CSR: u32 = 0xe000_e010;
pub const NVIC_ISER: u32 = 0xe000_e100;
pub const NVIC_ISPR: u32 = 0xe000_e200;
pub const ICSR: u32 = 0xe000_ed04;
pub const SCR: u32 = 0xe000_ed10;
pub const SIO: u32 = 0xd000_0000;

/// Thumb encodings.
pub mod asm {
    pub const NOP: u16 = 0xbf00;
    pub const WFE: u16 = 0xbf20;
    pub const WFI: u16 = 0xbf30;
    pub const SEV: u16 = 0xbf40;
    pub const CPSIE: u16 = 0xb662;
    pub const CPSID: u16 = 0xb672;
    pub const SVC: u16 = 0xdf00;
    pub const UDF: u16 = 0xde00;
    pub const BKPT: u16 = 0xbe00;
    pub const BX_LR: u16 = 0x4770;
    /// A branch to itself.
    pub const STOP: u16 = 0xe7fe;
    pub const EQ: u16 = 0;
    pub const NE: u16 = 1;

    pub fn movs(rd: u16, imm: u16) -> u16 {
        0x2000 | (rd << 8) | imm
    }
    pub fn adds(rd: u16, imm: u16) -> u16 {
        0x3000 | (rd << 8) | imm
    }
    pub fn subs(rd: u16, imm: u16) -> u16 {
        0x3800 | (rd << 8) | imm
    }
    pub fn cmp(rn: u16, imm: u16) -> u16 {
        0x2800 | (rn << 8) | imm
    }
    pub const fn ldr(rt: u16, rn: u16, offset: u16) -> u16 {
        0x6800 | ((offset / 4) << 6) | (rn << 3) | rt
    }
    pub const fn str(rt: u16, rn: u16, offset: u16) -> u16 {
        0x6000 | ((offset / 4) << 6) | (rn << 3) | rt
    }
    pub fn bx(rm: u16) -> u16 {
        0x4700 | (rm << 3)
    }
    /// Branch if `condition`, by `halfwords` from this instruction.
    pub fn b_if(condition: u16, halfwords: i16) -> u16 {
        0xd000 | (condition << 8) | ((halfwords - 2) as u16 & 0xff)
    }
    pub fn b(halfwords: i16) -> u16 {
        0xe000 | ((halfwords - 2) as u16 & 0x7ff)
    }
    pub fn msr(sysm: u16, rn: u16) -> [u16; 2] {
        [0xf380 | rn, 0x8800 | sysm]
    }
    pub fn mrs(rd: u16, sysm: u16) -> [u16; 2] {
        [0xf3ef, 0x8000 | (rd << 8) | sysm]
    }
    pub const PSP: u16 = 9;
    pub const PRIMASK: u16 = 16;
    pub const CONTROL: u16 = 20;
}

pub struct Rig {
    pub chip: Chip,
}

impl Rig {
    /// Creates core 0 at `code` in SRAM with a vector table there, in which every handler counts in R7 and then stops;
    /// core 1 is held in reset. clk_sys is ROSC.
    pub fn new(code: &[u16]) -> Self {
        let mut rig = Self::with_rom(&[]);
        rig.program(CODE, code);
        rig
    }

    /// Creates the same without a program, and with `rom_code` in ROM.
    pub fn with_rom(rom_code: &[u8]) -> Self {
        Self::with_flash(rom_code, 1 << 20)
    }

    /// Creates the same with `flash_size` bytes of flash.
    pub fn with_flash(rom_code: &[u8], flash_size: usize) -> Self {
        let mut rom = vec![0; ROM_CODE as usize];
        rom.extend(rom_code);
        let config = ChipConfig { bootrom: &rom, flash_size, flash: &[], ..ChipConfig::default() };
        let mut chip = Chip::new(&config, Nothing);
        chip.cores[1].state = State::Held;
        let mut rig = Self { chip };
        for number in 1..48 {
            rig.handler(number, &[asm::adds(7, 1), asm::STOP]);
        }
        let core = rig.core();
        core.regs = [0; 16];
        core.regs[13] = STACK;
        core.regs[14] = u32::MAX;
        core.pc = CODE;
        core.ppb.vtor = VECTORS;
        rig
    }

    /// Starts core 1 at `at`, at core 0's current cycle.
    pub fn start_core1(&mut self, at: u32, stack: u32) {
        let cycles = self.chip.cores[0].cycles;
        let core = &mut self.chip.cores[1];
        core.regs = [0; 16];
        core.regs[13] = stack;
        core.pc = at;
        core.ppb.vtor = VECTORS;
        core.cycles = cycles;
        core.state = State::Running;
    }

    pub fn core(&mut self) -> &mut Core {
        &mut self.chip.cores[0]
    }

    pub fn program(&mut self, at: u32, code: &[u16]) {
        for (i, &halfword) in code.iter().enumerate() {
            self.chip.mem.set_ram_u16((at - VECTORS) as usize + 2 * i, halfword);
        }
    }

    /// Gives exception `number` the handler `code`.
    pub fn handler(&mut self, number: u32, code: &[u16]) {
        let at = Self::handler_at(number);
        self.set_word(VECTORS + 4 * number, at | 1);
        self.program(at, code);
    }

    pub fn handler_at(number: u32) -> u32 {
        HANDLERS + 0x20 * number
    }

    pub fn word(&self, at: u32) -> u32 {
        self.chip.mem.ram_u32((at - VECTORS) as usize)
    }

    pub fn set_word(&mut self, at: u32, value: u32) {
        self.chip.mem.set_ram_u32((at - VECTORS) as usize, value);
    }

    /// Reads a register of SIO as `core` does.
    pub fn sio(&mut self, core: usize, address: u32) -> u32 {
        self.chip.bus.read(&mut self.chip.mem, Master::Core(core), address, 4).expect("a register")
    }

    pub fn ps_at(&self, cycle: u64) -> Ps {
        self.chip.bus.sys.clock.ps_at(cycle)
    }

    /// Runs one instruction or one exception entry of core 0; returns its cycles.
    pub fn step(&mut self) -> u64 {
        let before = self.chip.cores[0].cycles;
        self.run_to(before + 1);
        self.chip.cores[0].cycles - before
    }

    /// Runs the chip until `cycle`.
    pub fn run_to(&mut self, cycle: u64) {
        let until = self.ps_at(cycle);
        assert_eq!(self.chip.run_until(until), RunEnd::Time);
    }

    /// Runs the chip for `cycles`.
    pub fn run(&mut self, cycles: u64) {
        let now = self.chip.bus.sys.clock.cycle_at(self.chip.now());
        self.run_to(now.max(self.chip.cores[0].cycles) + cycles);
    }

    /// Writes a register of core 0's private peripheral bus or of the chip, by an instruction of core 0.
    pub fn poke(&mut self, address: u32, value: u32) {
        let saved = (self.core().regs, self.core().pc, self.core().cycles);
        self.program(CODE + 0xf00, &[asm::str(0, 1, 0)]);
        let core = self.core();
        core.regs[0] = value;
        core.regs[1] = address;
        core.pc = CODE + 0xf00;
        let chip = &mut self.chip;
        let limit = chip.cores[0].cycles + 1;
        // A core only runs while nothing needs the chip's attention.
        let attention = std::mem::take(&mut chip.bus.sys.attention);
        chip.cores[0].run(&mut chip.mem, &mut chip.bus, limit);
        chip.bus.sys.attention |= attention;
        let core = self.core();
        assert_eq!(core.pc, CODE + 0xf02, "the write at 0x{address:08x} faulted");
        (core.regs, core.pc, core.cycles) = saved;
    }
}

/// xorshift64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}
