//! Random programs for both ways of execution, and what disturbs them.

use crate::rp2040::common::{CODE, DATA, NVIC_ISER, ROM_CODE, Random, Rig, SIO, STACK, SYST_CSR, VECTORS, asm};
use chip::mcu::Mcu;
use chip::{Peripheral, Write};
use rp::rp2040::bus::Master;
use rp::rp2040::memory::{RAM_BASE, RAM_SIZE, ROM_SIZE, XIP_BASE};

const FLASH_SIZE: u32 = 1 << 16;
const FLASH_CODE: u32 = XIP_BASE + 0x2000;
const FLASH_END: u32 = XIP_BASE + FLASH_SIZE;
const RAM_END: u32 = RAM_BASE + RAM_SIZE as u32;
/// The last two banks, without striping.
const SRAM4: u32 = 0x2004_0000;
const SRAM5: u32 = 0x2004_1000;
/// Halfwords of instructions that DMA and core 1 put into the code.
const PATCHES: u32 = DATA + 0x800;
const PATCH_BYTES: u32 = 0x800;
const CORE1_CODE: u32 = DATA + 0x1800;
const CORE1_VECTORS: u32 = DATA + 0x1c00;
const CORE1_STACK: u32 = DATA + 0x2000;
/// The writes of the handlers that program and erase flash.
const FLASH_WRITES: u32 = DATA + 0x2400;
const FLASH_HANDLER: u32 = DATA + 0x2c00;
const FLASH_IRQ: u32 = 26;
/// A word that counts faults, and the address where every eighth continues.
const FAULTS: u32 = VECTORS + 0x200;

const RESETS_CLEAR: u32 = 0x4000_f000;
const IO_QSPI_SS_CTRL: u32 = 0x4001_800c;
const XIP_FLUSH: u32 = 0x1400_0004;
const SSI: u32 = 0x1800_0000;
const DMA: u32 = 0x5000_0000;
const DMA_TIMER0: u32 = DMA + 0x420;

/// Initial addresses of the programs' pointers: ordinary SRAM, banks whose accesses may be counted, code, cached and
/// uncached flash, the edges of all of these, SIO, ROM, and unmapped space.
const POINTERS: [u32; 25] = [
    DATA,
    CODE - 8,
    CODE - 20,
    DATA + 0x102,
    0x2004_0ff0,
    0x2004_1010,
    0x2004_1ff0,
    CODE + 0x40,
    XIP_BASE + 0x2010,
    FLASH_END + 0x2013,
    0x1300_2000,
    SIO,
    0x0000_0100,
    0x3000_0000,
    RAM_BASE - 8,
    SRAM4 - 8,
    SRAM5 - 8,
    RAM_END - 8,
    RAM_END - 4,
    ROM_SIZE as u32 - 8,
    FLASH_END - 8,
    0x1100_0000 + FLASH_SIZE - 6,
    0x1300_0000 + FLASH_SIZE - 6,
    0x10ff_fff8,
    0x2103_fff8,
];

/// Draws an instruction, or a few that belong together. Low registers: R0 to R3 take results, R4 to R6 are pointers, R7
/// counts.
fn instruction(random: &mut Random) -> Vec<u16> {
    let kind = random.below(81);
    let mut below = |bound: u16| random.below(u32::from(bound)) as u16;
    match kind {
        // Shifts by a constant, sums, differences, moves and comparisons.
        0..6 => vec![below(0x18) << 8 & 0x1800 | below(32) << 6 | below(8) << 3 | below(4)],
        6..10 => vec![0x2000 | below(4) << 11 | below(4) << 8 | below(0x100)],
        // The sixteen with two low registers.
        10..18 => vec![0x4000 | below(16) << 6 | below(8) << 3 | below(4)],
        // High registers, without the PC.
        18..20 => {
            let to = 8 + below(5);
            vec![0x4400 | below(3) << 8 | (to & 8) << 4 | below(15) << 3 | to & 7]
        }
        20 => vec![[0x4678, 0x4478, 0x466a, 0xa102][usize::from(below(4))] | below(4)],
        // Extensions and reversals.
        21..23 => {
            let kinds = [0xb200, 0xb240, 0xb280, 0xb2c0, 0xba00, 0xba40, 0xbac0, 0xb200];
            vec![kinds[usize::from(below(8))] | below(8) << 3 | below(4)]
        }
        // Loads and stores.
        23..31 => vec![0x5000 | below(8) << 9 | below(4) << 6 | (4 + below(3)) << 3 | below(4)],
        31..41 => vec![(0x6000 + (below(6) << 11)) | below(8) << 6 | (4 + below(3)) << 3 | below(4)],
        41..43 => vec![0x9000 | below(2) << 11 | below(4) << 8 | below(8)],
        43..46 => vec![0x4800 | below(4) << 8 | below(8)],
        // With an index that leaves the pointer where it is, nearly.
        46..51 => vec![asm::movs(3, below(0x20)), 0x50c0 | below(8) << 9 | (4 + below(3)) << 3 | below(4)],
        // LDM of its base.
        51 => {
            let base = 4 + below(3);
            vec![0xc800 | base << 8 | (1 + below(15)) | 1 << base]
        }
        52..57 => vec![0xc000 | below(2) << 11 | (4 + below(3)) << 8 | (1 + below(15))],
        57..59 => {
            let (list, link) = (1 + below(0xff), below(2));
            let free = ((list >> 4).count_ones() + u32::from(link)) as u16;
            vec![0xb400 | link << 8 | list, 0xbc00 | list & 0xf, 0xb000 | free]
        }
        // Allocate space on the stack, and free it.
        59 => {
            let words = below(4);
            vec![0xb080 | words, 0xa801, 0xb000 | words]
        }
        // The stack pointer used as any register, for a moment.
        60 => vec![0x46eb, 0x4485 | below(8) << 3, 0x466a, 0x46dd],
        // Shifts by about the width of a register.
        61..63 => {
            let by = [0, 1, 31, 32, 33, 255][usize::from(below(6))];
            vec![asm::movs(3, by), 0x4000 | [2, 3, 4, 7][usize::from(below(4))] << 6 | 3 << 3 | below(4)]
        }
        // Comparisons with their following instructions, also of equal values.
        63..66 => {
            let kind = [0x4280, 0x4200, 0x42c0][usize::from(below(3))];
            vec![kind | below(8) << 3 | below(8), asm::b_if(below(14), 2), 0xbf00]
        }
        66..68 => vec![asm::cmp(below(8), below(3)), asm::b_if(below(14), 2), 0xbf00],
        // Short forward branches.
        68..72 => vec![asm::b_if(below(14), 2 + below(4) as i16)],
        72 => vec![asm::b(2 + below(3) as i16)],
        // Calls of the next instruction but one, by BL and by BLX, and a POP to it.
        73..75 => vec![0xf000, 0xf800],
        75 => vec![0x4678, 0x3005, 0x4780],
        76 => vec![0x4678, 0x3009, 0xb401, 0xbd00, 0xbf00],
        77 => vec![0x4678, 0x3004, 0x4687, 0xbf00],
        78 => vec![0x2000, 0x4487, 0xbf00],
        // For the interpreter: PRIMASK, MRS, barriers, SVC, NOP.
        79 => {
            let kinds: [&[u16]; 6] =
                [&[0xb672, 0xb662], &[0xf3ef, 0x8103], &[0xf3bf, 0x8f4f], &[0xdf00], &[0xbf00], &[0xbf40]];
            kinds[usize::from(below(6))].to_vec()
        }
        // Any that goes on.
        _ => loop {
            let halfword = below(0xffff);
            if !matches!(halfword >> 8, 0x44..=0x47 | 0xb5 | 0xbd | 0xbf | 0xd0..=0xff) {
                break vec![halfword & !0x0700 | halfword & 0x0300];
            }
        },
    }
}

/// Position of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Ram,
    Flash,
    FlashOddHalfword,
    Rom,
    /// Its last halfword is the last of the region, or the region's end is that many halfwords before.
    BeforeSram5(u32),
    RamEnd,
    RomEnd,
    FlashEnd,
}

/// The initial value of a pointer.
#[derive(Clone, Copy, Debug)]
enum Pointer {
    To(u32),
    /// That many bytes before the loop.
    BeforeCode(u32),
}

/// An intervention between two slices.
#[derive(Clone, Copy, Debug)]
enum Action {
    Nothing,
    PokeRam(u32),
    LoadFlash(u32),
    ProgramFlash,
}

#[derive(Clone, Debug)]
struct Dma {
    /// Cycles between two transfers.
    pace: u32,
    /// First byte in the code, and logarithm of the number of bytes in turn.
    window: (u32, u32),
    /// Logarithm of a transfer's bytes.
    size: u32,
}

#[derive(Clone, Debug)]
struct Core1 {
    /// Cycles between two changes of the code.
    ticks: u32,
    /// First byte in the code.
    window: u32,
    /// Changes whole words.
    words: bool,
}

#[derive(Clone, Debug)]
pub struct Program {
    code: Vec<u16>,
    place: Place,
    /// Continues behind the last instruction instead of branching back.
    falls: bool,
    pointers: [Pointer; 3],
    values: [u32; 4],
    patches: Vec<u16>,
    /// Cycles between two SysTick interrupts.
    ticks: u32,
    /// The event counted by BUSCTRL.
    event: u32,
    miss_cycles: u32,
    dma: Option<Dma>,
    core1: Option<Core1>,
    /// Without `core1`, core 1 runs a loop of the patches, in flash or in SRAM.
    busy: Option<bool>,
    /// Offset in the code and the bytes that the firmware programs; and whether it erases that sector first.
    programs: (u32, u32, bool),
    /// Cycles between inspections, and what follows each.
    slices: Vec<(u64, Action)>,
}

/// Draws a program.
pub fn program(random: &mut Random) -> Program {
    Program {
        code: instructions(random),
        place: match random.below(17) {
            0..6 => Place::Ram,
            6..9 => Place::Flash,
            9..11 => Place::FlashOddHalfword,
            11..13 => Place::Rom,
            13 => Place::BeforeSram5(random.below(40)),
            14 => Place::RamEnd,
            15 => Place::RomEnd,
            _ => Place::FlashEnd,
        },
        falls: random.below(10) == 0,
        pointers: [(); 3].map(|()| match random.below(5) {
            0 => Pointer::BeforeCode(4 * (1 + random.below(3))),
            _ => Pointer::To(random.pick(&POINTERS) + u32::from(random.below(4) == 0)),
        }),
        values: [(); 4].map(|()| random.next()),
        patches: instructions(random),
        ticks: 60 + random.below(1940),
        event: random.pick(&[0, 0, 0x05, 0x05, 0x0f]),
        miss_cycles: random.pick(&[0, 48, 90]),
        dma: (random.below(10) < 3).then(|| Dma {
            pace: 20 + random.below(2980),
            window: (random.below(0x40), 2 + random.below(5)),
            size: random.below(3),
        }),
        core1: (random.below(10) < 3).then(|| Core1 {
            ticks: 200 + random.below(1800),
            window: 4 * random.below(0x20),
            words: random.below(2) == 0,
        }),
        busy: (random.below(10) < 6).then(|| random.below(2) == 0),
        programs: (2 * random.below(0x40), random.next(), random.below(100) == 0),
        slices: (0..12 + random.below(18)).map(|_| (u64::from(1 + random.below(699)), action(random))).collect(),
    }
}

fn instructions(random: &mut Random) -> Vec<u16> {
    (0..1 + random.below(39)).flat_map(|_| instruction(random)).collect()
}

fn action(random: &mut Random) -> Action {
    match random.below(17) {
        0..12 => Action::Nothing,
        12..14 => Action::PokeRam(random.below(0x80)),
        14..16 => Action::LoadFlash(random.below(0x80)),
        _ => Action::ProgramFlash,
    }
}

impl Program {
    /// Returns the program as an endless loop, which restores its pointers in each turn.
    fn halfwords(&self) -> Vec<u16> {
        // MOV R4, R8; MOV R5, R9; MOV R6, R10.
        let mut code = vec![0x4644, 0x464d, 0x4656];
        code.extend(&self.code);
        code.push(asm::adds(7, 1));
        let length = code.len() as i16;
        if !self.falls {
            code.push(asm::b(-length));
        }
        let literals = (0..40).map(|i| 0x1234u16.wrapping_mul(i));
        match self.place {
            Place::RamEnd | Place::RomEnd | Place::FlashEnd => {}
            _ => code.extend(
                literals.zip(self.patches.iter().cycle()).map(|(i, &patch)| if i & 4 == 0 { i } else { patch }),
            ),
        }
        code
    }

    /// Returns the address of the first instruction of `bytes`.
    fn start(&self, bytes: u32) -> u32 {
        match self.place {
            Place::Ram => CODE,
            Place::Flash => FLASH_CODE,
            Place::FlashOddHalfword => FLASH_CODE + 2,
            Place::Rom => ROM_CODE,
            Place::BeforeSram5(halfwords) => SRAM5 - (2 * halfwords).min(bytes),
            Place::RamEnd => RAM_END - bytes,
            Place::RomEnd => ROM_SIZE as u32 - bytes,
            Place::FlashEnd => FLASH_END - bytes,
        }
    }

    pub fn rig(&self) -> Rig {
        let code = self.halfwords();
        let bytes: Vec<u8> = code.iter().flat_map(|halfword| halfword.to_le_bytes()).collect();
        let at = self.start(bytes.len() as u32);
        let mut rom = vec![0; (at as usize).saturating_sub(ROM_CODE as usize)];
        rom.extend(&bytes);
        let in_rom = at < ROM_SIZE as u32;
        let mut rig = Rig::with_flash(if in_rom { &rom } else { &[] }, FLASH_SIZE as usize);
        let flash: Vec<u8> = (0..0x4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        rig.chip.mem.flash_write(0, &flash);
        if at >= RAM_BASE {
            rig.program(at, &code);
        } else if !in_rom {
            rig.chip.mem.flash_write((at - XIP_BASE) as usize, &bytes);
        }
        let patches: Vec<u16> = self.patches.iter().copied().cycle().take(PATCH_BYTES as usize / 2).collect();
        rig.program(PATCHES, &patches);
        for i in 0..0x40 {
            rig.set_word(DATA + 4 * i, i.wrapping_mul(2_654_435_761));
        }
        self.handlers(&mut rig, at);
        // IO_QSPI, PADS_QSPI and DMA leave their resets.
        write(&mut rig, RESETS_CLEAR, 1 << 6 | 1 << 9 | 1 << 2);
        for (address, value) in XIP_BY_03H {
            write(&mut rig, address, value);
        }
        rig.chip.mem.xip.offline = false;
        rig.chip.mem.xip.miss_cycles = self.miss_cycles;
        if self.miss_cycles == 90 {
            rig.chip.mem.xip.place(self.ticks);
        }
        rig.poke(SYST_CSR + 4, self.ticks);
        rig.poke(SYST_CSR, 7);
        rig.poke(NVIC_ISER, 1 << FLASH_IRQ);
        let chip = &mut rig.chip;
        chip.bus.own.busctrl.write(
            &mut chip.bus.sys,
            0x0c,
            Write::normal(if self.event == 0 { 0x1f } else { self.event }),
        );
        if let Some(core1) = &self.core1 {
            core1.start(&mut rig, at);
        } else if let Some(in_flash) = self.busy {
            self.start_busy(&mut rig, in_flash, at);
        }
        if let Some(dma) = &self.dma {
            dma.start(&mut rig, at);
        }
        let core = rig.core();
        core.regs[..4].copy_from_slice(&self.values);
        core.regs[8..11].copy_from_slice(&self.pointers.map(|pointer| match pointer {
            Pointer::To(address) => address,
            Pointer::BeforeCode(bytes) => at - bytes,
        }));
        core.regs[13] = STACK;
        core.pc = at;
        rig
    }

    /// Starts a loop on core 1 beside that of core 0, with the same pointers in other registers.
    fn start_busy(&self, rig: &mut Rig, in_flash: bool, code: u32) {
        let mut program = vec![0x4644, 0x464d, 0x4656];
        program.extend(&self.patches);
        program.push(asm::adds(7, 1));
        program.push(asm::b(-(program.len() as i16)));
        let start = if in_flash { FLASH_CODE + 0x4000 } else { CORE1_CODE };
        if in_flash {
            let bytes: Vec<u8> = program.iter().flat_map(|halfword| halfword.to_le_bytes()).collect();
            rig.chip.mem.flash_write((start - XIP_BASE) as usize, &bytes);
        } else {
            rig.program(start, &program);
        }
        rig.start_core1(start, CORE1_STACK);
        let core = &mut rig.chip.cores[1];
        core.ppb.vtor = VECTORS;
        core.regs[..4].copy_from_slice(&self.values);
        let [a, b, c] = self.pointers.map(|pointer| match pointer {
            Pointer::To(address) => address,
            Pointer::BeforeCode(bytes) => code - bytes,
        });
        // The first granule behind the loop of core 0, where it has literals.
        let behind = (code + 2 * (self.code.len() as u32 + 5)).next_multiple_of(32);
        let reads = code >= RAM_BASE && self.values[0] & 1 != 0;
        core.regs[8..11].copy_from_slice(&[if reads { behind } else { c }, a, b]);
    }

    fn handlers(&self, rig: &mut Rig, start: u32) {
        // A fault continues after its instruction, every eighth at the start.
        let literal = FAULTS.to_le_bytes();
        let [low, high] = [[literal[0], literal[1]], [literal[2], literal[3]]].map(u16::from_le_bytes);
        let skip = [
            0x4668,
            0x6981,
            0x3102,
            0x4a04,
            0x6813,
            0x3301,
            0x6013,
            0x075b,
            asm::b_if(asm::NE, 2),
            0x6851,
            0x6181,
            asm::BX_LR,
            low,
            high,
        ];
        rig.handler(3, &skip);
        rig.set_word(FAULTS + 4, start);
        // SVC and SysTick count.
        rig.handler(11, &[0x9800, asm::adds(0, 1), 0x9000, asm::BX_LR]);
        rig.handler(15, &[0x9801, asm::adds(0, 1), 0x9001, asm::BX_LR]);
        // LDR R0, =FLASH_WRITES; then LDM R0!, {R1-R3}; STR R2, [R1] and R3 turns of a loop, until R1 is 0.
        let handler = [
            0x4805,
            0xc80e,
            asm::cmp(1, 0),
            asm::b_if(asm::EQ, 5),
            0x600a,
            asm::subs(3, 1),
            asm::b_if(asm::NE, -1),
            asm::b(-6),
            asm::BX_LR,
        ];
        rig.program(FLASH_HANDLER, &handler);
        rig.set_word(FLASH_HANDLER + 0x18, FLASH_WRITES);
        rig.set_word(VECTORS + 4 * (16 + FLASH_IRQ), FLASH_HANDLER | 1);
        let (offset, value, erases) = self.programs;
        let target = if (XIP_BASE..FLASH_END).contains(&start) { start - XIP_BASE + offset } else { 0x2000 + offset };
        let [_, high, middle, low] = (target & (FLASH_SIZE - 1)).to_be_bytes().map(u32::from);
        let mut writes =
            vec![(SSI + 8, 0, 1), (SSI, 0x0007_0100, 1), (SSI + 0x14, 2, 1), (SSI + 0x10, 1, 1), (SSI + 8, 1, 1)];
        let mut command = |bytes: &[u32], delay: u32| {
            writes.push((IO_QSPI_SS_CTRL, 0x200, 1));
            writes.extend(bytes.iter().map(|&byte| (SSI + 0x60, byte, 40)));
            writes.push((IO_QSPI_SS_CTRL, 0x300, delay));
        };
        if erases {
            command(&[0x06], 1);
            command(&[0x20, high, middle, low], 110_000);
        }
        command(&[0x06], 1);
        let data = value.to_le_bytes().map(u32::from);
        command(&[0x02, high, middle, low, data[0], data[1], data[2], data[3]], 1000);
        writes.push((IO_QSPI_SS_CTRL, 0, 1));
        writes.extend(XIP_BY_03H.map(|(address, value)| (address, value, 1)));
        if value & 1 != 0 {
            writes.push((XIP_FLUSH, 1, 1));
        }
        for (i, word) in writes.into_iter().flat_map(|(address, value, delay)| [address, value, delay]).enumerate() {
            rig.set_word(FLASH_WRITES + 4 * i as u32, word);
        }
    }

    /// Returns the number of changes of flash by a debugger, if every slice runs.
    pub fn loads(&self) -> u64 {
        self.slices.iter().filter(|(_, action)| matches!(action, Action::LoadFlash(_))).count() as u64
    }

    pub fn slices(&self) -> usize {
        self.slices.len()
    }

    /// Runs slice `number`; returns a description of an early end.
    pub fn slice(&self, rig: &mut Rig, number: usize) -> String {
        let (cycles, action) = self.slices[number];
        let until = rig.chip.now() + rig.ps_at(cycles);
        let end = rig.chip.run_until(until);
        let at = self.start(2 * self.halfwords().len() as u32);
        let patch = self.patches[number % self.patches.len()];
        match action {
            Action::Nothing => {}
            Action::PokeRam(offset) => {
                rig.chip.mem.poke(at + 2 * offset, &patch.to_le_bytes());
            }
            Action::LoadFlash(offset) => {
                rig.chip.mem.flash_write((at & 0xffff) as usize + 2 * offset as usize, &patch.to_le_bytes());
            }
            Action::ProgramFlash => rig.core().observe(1 << FLASH_IRQ, false, 0),
        }
        format!("{end:?}")
    }
}

/// Serial reads of words by command 03h, by which XIP works.
const XIP_BY_03H: [(u32, u32); 5] = [
    (SSI + 8, 0),
    (SSI, 31 << 16 | 3 << 8),
    (SSI + 0xf4, 0x0300_0000 | 6 << 2 | 2 << 8),
    (SSI + 0x14, 2),
    (SSI + 8, 1),
];

fn write(rig: &mut Rig, address: u32, value: u32) {
    let chip = &mut rig.chip;
    chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4).expect("a register");
}

impl Dma {
    /// Starts transfers of instructions into a window of the code at `code`.
    fn start(&self, rig: &mut Rig, code: u32) {
        let (at, ring) = self.window;
        let bytes = 1 << self.size;
        let window = if code >= RAM_BASE { code } else { CODE };
        write(rig, DMA_TIMER0, 1 << 16 | self.pace);
        write(rig, DMA, PATCHES);
        write(rig, DMA + 4, (window + at) & !(bytes - 1));
        write(rig, DMA + 8, PATCH_BYTES / bytes);
        // EN, DATA_SIZE, INCR_READ, INCR_WRITE, RING_SIZE, RING_SEL, TREQ_SEL: timer 0.
        write(rig, DMA + 0xc, 1 | self.size << 2 | 1 << 4 | 1 << 5 | ring << 6 | 1 << 10 | 0x3b << 15);
    }
}

impl Core1 {
    /// Starts a loop on core 1 that sleeps, and then changes the code at `code`.
    fn start(&self, rig: &mut Rig, code: u32) {
        let window = if code >= RAM_BASE { code } else { CODE };
        let (load, store) = if self.words { (0x58c2, 0x510a) } else { (0x5ac2, 0x530a) };
        let step = if self.words { 4 } else { 2 };
        // Sets up SysTick from R6 and R7. R0: the instructions, R1: the code, R3 and R4: offsets in them.
        let program = [
            0x6077,
            asm::movs(5, 7),
            0x6035,
            asm::WFI,
            load,
            store,
            asm::adds(3, step),
            asm::movs(5, 0x7c),
            0x402b,
            asm::adds(4, 3 * step),
            0x402c,
            asm::b(-8),
        ];
        rig.program(CORE1_CODE, &program);
        for number in 1..48 {
            rig.set_word(CORE1_VECTORS + 4 * number, (FLASH_HANDLER + 0x10) | 1);
        }
        rig.start_core1(CORE1_CODE, CORE1_STACK);
        let core = &mut rig.chip.cores[1];
        core.ppb.vtor = CORE1_VECTORS;
        core.regs[..2].copy_from_slice(&[PATCHES, (window + self.window) & !3]);
        core.regs[6..8].copy_from_slice(&[SYST_CSR, self.ticks]);
    }
}
