//! Both cores in random loops, translated and interpreted: one that runs ahead of the other changes nothing.

use chip::mcu::Mcu;
use chip::trace::kind;
use rp::rp2350::cpu::Master;
use rp::rp2350::cpu::core::State;
use rp::rp2350::world::Nothing;
use rp::rp2350::{Chip, ChipConfig};
use sim::{Ps, SplitMix64, asked};

const PROGRAMS: u64 = 60;
const SLICES: usize = 30;
const CODE: u32 = 0x2000_1000;
const FLASH: u32 = 0x1000_0000;
const DATA: u32 = 0x2004_0000;
const STACK: u32 = 0x2006_0000;
const VECTORS: u32 = 0x2000_2000;
const HANDLER: u32 = 0x2000_2200;
const SIO: u32 = 0xd000_0000;
const TIMER0: u32 = 0x400b_0000;
const QMI: u32 = 0x400d_0000;
const PIO0: u32 = 0x5020_0000;

struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0.draw() as u32
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0.below(u64::from(end)) as u32
    }

    /// Appends an instruction that changes R0 to R3, memory around R4 and R5, or registers of SIO at R6, of PIO0 at R9 or
    /// QMI at R10, or that reads a timer at R8 or their status.
    fn instruction(&mut self, code: &mut Vec<u16>) {
        let half = self.next() as u16;
        let (low, base) = (half & 0x1b, 4 + self.below(2) as u16);
        match self.below(21) {
            0..=3 => code.push(0x1800 | half & 0x6db),
            4 => code.push(0x4000 | half & 0x3c0 | low),
            // Loads and stores of all sizes, by a constant.
            5..=8 => {
                let kind = [0x6000, 0x6800, 0x7000, 0x7800, 0x8000, 0x8800][self.below(6) as usize];
                code.push(kind | half & 0x7c3 & !0x38 | base << 3);
            }
            9 => code.extend([0xe9c0 | (half & 1) << 4 | base, 0x0100 | half & 0x1f | (self.below(3) as u16) << 12]),
            // STMIA and LDMIA of R0 to R3, without the base.
            10 => code.extend([0xe880 | (half & 1) << 4 | base, 1 | half & 15]),
            11 => code.extend([0xbf08 | half & 0xf0 & 0x70, 0x1c40 | half & 0x1b]),
            12 => code.extend([0xfbb0 | half & 3, 0xf0f0 | (half & 3) << 8 | half >> 14]),
            // CPUID, GPIO_OUT, FIFOs, a spinlock, doorbells.
            13 => {
                let at = [0x000, 0x010, 0x050, 0x050, 0x058, 0x05c, 0x104, 0x180, 0x188][self.below(9) as usize];
                code.extend([0xf8d6, (half & 3) << 12 | at]);
            }
            // Its counter, raw and latched, INTE and TIMELW.
            16 => code.extend([
                0xf8d8,
                (half & 3) << 12 | [0x24, 0x28, 0x28, 0x0c, 0x08, 0x40, 0x04][self.below(7) as usize],
            ]),
            // FSTAT, FLEVEL, FDEBUG and RXF1; TXF0; QMI's TX, RX and CSR.
            17 => {
                let at = [0x04, 0x04, 0x04, 0x0c, 0x08, 0x24][self.below(6) as usize];
                code.extend([0xf8d9, (half & 3) << 12 | at]);
            }
            19 => code.extend([0xf8da, (half & 3) << 12]),
            20 => code.extend([0xf8c9, (half & 3) << 12 | 0x10]),
            18 => code.extend(match half >> 6 & 3 {
                0 => [0xf8ca, (half & 3) << 12 | 0x04],
                1 | 2 => [0xf8da, (half & 3) << 12 | 0x08],
                _ => [0xf8da, (half & 3) << 12],
            }),
            14 => code.extend([0xf8c6, (half & 3) << 12 | [0x010, 0x054, 0x104, 0x180, 0x18c][self.below(5) as usize]]),
            _ => code.extend([0xeb00 | half & 3, half & 0x70f3 | (half & 3) << 8]),
        }
    }

    /// Returns a loop that never ends.
    fn code(&mut self) -> Vec<u8> {
        let mut code = vec![];
        for _ in 0..4 + self.below(16) {
            self.instruction(&mut code);
        }
        // SUBS R7, #1 and BNE; then other instructions, MOVS R7 and B.
        code.push(0x3f01);
        let back = (-(code.len() as i32) - 2) as u16;
        code.push(0xd100 | back & 0xff);
        for _ in 0..self.below(4) {
            self.instruction(&mut code);
        }
        code.push(0x2700 | (1 + self.below(60) as u16));
        let back = (-(code.len() as i32) - 2) as u16;
        code.push(0xe000 | back & 0x7ff);
        code.iter().flat_map(|half| half.to_le_bytes()).collect()
    }
}

impl Random {
    /// Returns writes to the registers of a PIO block: a state machine shifts words to a pin, another toggles one.
    fn pio(&mut self) -> Vec<(u32, u32)> {
        let delay = |random: &mut Self| random.below(4) << 8;
        let program = [0x6001 | delay(self), 0xa042 | delay(self), 0xe001 | delay(self), 0xe000 | delay(self)];
        let mut writes: Vec<(u32, u32)> = (0..).step_by(4).map(|at| 0x48 + at).zip(program).collect();
        for (machine, first) in [(0, 0), (0x18, 2)] {
            let threshold = (1 + self.below(12)) << 25;
            writes.extend([
                (0xc8 + machine, (1 + self.below(3)) << 16 | self.below(3) << 14),
                (0xcc + machine, (first + 1) << 12 | first << 7),
                (0xd0 + machine, threshold | 1 << 17),
                (0xdc + machine, 1 << 20 | 1 << 26 | self.below(8) | (8 + self.below(8)) << 5),
                (0xd8 + machine, first),
            ]);
        }
        writes.push((0, self.below(4)));
        writes
    }
}

fn chip(seed: u64, translated: bool) -> Chip {
    let random = &mut Random(SplitMix64::new(seed));
    let config = ChipConfig { bootrom: &[], flash_size: 1 << 20, flash: &[], ..ChipConfig::default() };
    let mut chip = <Chip>::new(&config, Nothing);
    let shared = random.below(3) == 0;
    let mut in_flash = false;
    for core in 0..2 {
        let code = random.code();
        let at = if random.below(3) == 0 { FLASH } else { CODE } + 0x800 * core;
        in_flash |= at < CODE;
        if at >= CODE {
            assert!(chip.mem.poke(at, &code));
        } else {
            chip.mem.flash_write((at - FLASH) as usize, &code);
        }
        let own = if shared { 0 } else { 0x100 * core };
        let index = core as usize;
        let core = &mut chip.cores[index];
        (core.pc, core.state, core.cycles) = (at, State::Running, 100 + u64::from(random.below(3)));
        (core.regs[4], core.regs[5], core.regs[13]) = (DATA + own, DATA + 0x40 + own, STACK);
        (core.regs[6], core.regs[7], core.regs[8]) = (SIO, 1 + random.below(60), TIMER0);
        (core.regs[9], core.regs[10]) = (PIO0, DATA);
        (0..4).for_each(|register| core.regs[register] = random.next());
    }
    // MOVS R1, #1; STR R1, [R8, #INTR]; LDR R1, [R8, #TIMERAWL]; ADDS R1, #9; STR R1, [R8, #ALARM0]; BX LR.
    let handler = [0x2101_u16, 0xf8c8, 0x103c, 0xf8d8, 0x1028, 0x3109, 0xf8c8, 0x1010, 0x4770];
    assert!(chip.mem.poke(HANDLER, &handler.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<_>>()));
    assert!(chip.mem.poke(VECTORS + 4 * 16, &(HANDLER | 1).to_le_bytes()));
    for core in &mut chip.cores {
        (core.ppb.banks[0].vtor, core.ppb.enabled) = (VECTORS, u64::from(random.below(2)));
        core.primask[0] = random.below(3) == 0;
    }
    // RESETS, and in TICKS the timer's, which comes every few cycles; its alarm.
    let ticks = 1 + random.below(5);
    let alarm = [(TIMER0 + 0x40, 1), (TIMER0 + 0x10, 5)];
    for (address, value) in [(0x4002_0000, 0), (0x4010_801c, ticks), (0x4010_8018, 1)].into_iter().chain(alarm) {
        chip.bus.write(&mut chip.mem, Master::Core(0), address, value, 4).expect("a register");
    }
    for (register, value) in random.pio() {
        chip.bus.write(&mut chip.mem, Master::Core(0), PIO0 + register, value, 4).expect("a register");
    }
    if !in_flash {
        // Direct mode, in which flash is not to be read.
        chip.cores.iter_mut().for_each(|core| core.regs[10] = QMI);
        let csr = 1 | (1 + random.below(12)) << 22;
        chip.bus.write(&mut chip.mem, Master::Core(0), QMI, csr, 4).expect("a register");
    }
    let xip = &mut chip.mem.xip;
    (xip.offline, xip.whole_lines, xip.miss_cycles, xip.uncached_cycles) = (false, true, 12, 17);
    if translated {
        chip.mem.translate_at_once();
    } else {
        chip.mem.interpret_only();
        let both = chip.bus.read(&mut chip.mem, Master::Core(0), PIO0, 4) == Ok(3);
        if both {
            // No action of theirs is deferred.
            chip.start_trace(kind::PINS, 0);
        }
    }
    chip
}

fn state(chip: &mut Chip) -> String {
    let cores = chip.cores.each_ref().map(|core| {
        let counts = (core.cycles, core.instructions, core.flash_instructions);
        format!("{:x?} apsr {:x} pc {:x} {counts:?}", core.regs, core.apsr(), core.pc)
    });
    let (now, xip) = (chip.now(), [chip.mem.xip.accesses, chip.mem.xip.misses]);
    let sio = [0x10, 0x50, 0x5c, 0x180, 0x188].map(|at| chip.bus.read(&mut chip.mem, Master::Core(0), SIO + at, 4));
    format!("{now} {cores:#?} xip {xip:?} SIO {sio:x?}")
}

/// Runs two chips in equal slices of time, the second translated, and compares their states and SRAM after each. Returns
/// the first and its states.
pub(crate) fn alike(
    seed: u64,
    chip: impl Fn(u64, bool) -> Chip,
    state: impl Fn(&mut Chip) -> String,
    slices_ps: impl Iterator<Item = Ps>,
) -> (Chip, String) {
    let mut chips = [false, true].map(|translated| chip(seed, translated));
    let mut states = String::new();
    for (slice, slice_ps) in slices_ps.enumerate() {
        let until = chips[0].now() + slice_ps;
        chips.iter_mut().for_each(|chip| _ = chip.run_until(until));
        let [plain, translated] = chips.each_mut().map(&state);
        assert!(plain == translated, "seed {seed}, slice {slice}\n{plain}\n{translated}");
        assert!(chips[0].mem.ram() == chips[1].mem.ram(), "seed {seed}, slice {slice}");
        states += &plain;
    }
    let [interpreted, _] = chips;
    (interpreted, states)
}

/// `PORTBENCH_FUZZ_PROGRAMS` is the number of programs, and `PORTBENCH_FUZZ_SEED` makes others.
#[test]
fn two_cores_do_the_same_when_one_runs_ahead() {
    let mut instructions = 0;
    let (programs, first) = (asked("PORTBENCH_FUZZ_PROGRAMS", PROGRAMS), asked("PORTBENCH_FUZZ_SEED", 0) << 32);
    for seed in first..first + programs {
        let random = &mut Random(SplitMix64::new(!seed));
        let slices_ps = (0..SLICES).map(|_| 100_000 * (1 + u64::from(random.below(700))));
        let (chip, _) = alike(seed, chip, state, slices_ps);
        instructions += chip.cores.iter().map(|core| core.instructions).sum::<u64>();
    }
    assert!(instructions > programs * 1000, "{instructions} instructions: almost nothing was run");
}
