//! Random programs run in lock-step with simavr: registers, flags, stack, memory and cycles after each instruction.
//!
//! Skipped where simavr is missing: `sudo apt-get install simavr libsimavr-dev`. By hand with more:
//! `PORTBENCH_LOCKSTEP=10000000 cargo test --release -p portbench-avr --test lockstep`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use avr::core::{Core, Io, flag};
use avr::device::{ATMEGA1284P, ATMEGA2560, Device};
use avr::memory::Memory;
use sim::SplitMix64;

/// Instructions that are compared when no one asks for more.
const INSTRUCTIONS: u64 = 40_000;
/// Instructions of a program at most.
const STEPS: u64 = 600;
/// Words of a program, and the first one: jumps from there stay in flash, at whose ends simavr's program counter does not
/// wrap.
const WORDS: usize = 512;
const FIRST: u32 = 0x1000;
const STATE_BYTES: usize = 46;

/// No peripherals: an access ends the program.
#[derive(Default)]
struct NoIo {
    met: bool,
}

impl Io for NoIo {
    fn read(&mut self, _: u16, _: u64) -> u8 {
        self.met = true;
        0
    }

    fn write(&mut self, _: u16, _: u8, _: u64) -> u64 {
        self.met = true;
        0
    }

    fn write_bit(&mut self, _: u16, _: u8, _: bool, _: u64) -> u64 {
        self.met = true;
        0
    }

    fn pending(&self) -> u64 {
        0
    }

    fn acknowledge(&mut self, _: u32, _: u64) {}

    fn sleep(&mut self, _: u64) -> bool {
        self.met = true;
        false
    }

    fn reset_watchdog(&mut self, _: u64) {
        self.met = true;
    }

    fn unmodelled(&mut self, _: String) {
        self.met = true;
    }

    fn attention(&self) -> bool {
        false
    }
}

/// Returns a random instruction: all of them, the frequent ones of programs more often.
fn instruction(random: &mut SplitMix64) -> u16 {
    let bits = random.draw() as u16;
    match random.below(16) {
        // Loads and stores, with and without displacement, PUSH, POP and LPM.
        0 | 1 => 0x9000 | bits & 0x03ff,
        2 => 0x8000 | bits & 0x2fff,
        // One operand, returns, calls and jumps.
        3 => 0x9400 | bits & 0x01ff,
        4 => 0x9600 | bits & 0x01ff,
        5 => 0x0100 | bits & 0x02ff,
        6 => 0x9c00 | bits & 0x03ff,
        // Short branches and skips.
        7 => 0xf000 | bits & 0x07ff & !0x0380 | bits & 0x40,
        8 => 0xf800 | bits & 0x07f7,
        9 => 0xc000 | bits & 0x1fff & !0x0f00,
        _ => bits,
    }
}

/// Returns the state as the reference writes it.
fn state(core: &Core, start: u64) -> [u8; STATE_BYTES] {
    let mut bytes = Vec::new();
    bytes.extend((core.pc * 2).to_le_bytes());
    bytes.extend(((core.cycles - start) as u32).to_le_bytes());
    bytes.extend([core.sreg, core.rampz, core.eind, 0]);
    bytes.extend(core.sp.to_le_bytes());
    bytes.extend(core.r);
    bytes.try_into().expect("46 bytes")
}

/// A program, and what our core makes of it.
struct Run {
    request: Vec<u8>,
    opcodes: Vec<(u32, u16)>,
    states: Vec<[u8; STATE_BYTES]>,
    sram: Vec<u8>,
}

/// Runs a random program up to its first instruction that needs a peripheral, or differs on purpose.
fn run(device: &Device, random: &mut SplitMix64) -> Run {
    let mut words: Vec<u16> = (0..WORDS).map(|_| instruction(random)).collect();
    // simavr takes no long jump beyond flash.
    for at in 0..WORDS - 1 {
        if words[at] & 0xfe0c == 0x940c {
            words[at] &= 0xfe0e;
            words[at + 1] = FIRST as u16 + random.below(WORDS as u64) as u16;
        }
    }
    words[WORDS - 1] = 0;
    let mut flash = vec![0; 2 * FIRST as usize];
    flash.extend(words.into_iter().flat_map(u16::to_le_bytes));
    // Jumps to far places, and returns from nowhere, meet instructions there.
    let sent = flash.len();
    flash.resize(device.flash_bytes, 0);
    let ram_end = device.ram_end();
    let mut core = Core::new(device.flash_bytes, ram_end);
    core.r.iter_mut().for_each(|r| *r = random.draw() as u8);
    // X, Y and Z point into SRAM.
    for high in [27, 29, 31] {
        core.r[high] = (device.sram_start >> 8) as u8 + 1 + random.below(u64::from(device.sram_bytes >> 8) - 2) as u8;
    }
    core.pc = FIRST;
    core.sreg = random.draw() as u8 & !flag::I;
    core.sp = ram_end - random.below(64) as u16 - 16;
    let mut request = (sent as u32).to_le_bytes().to_vec();
    request.extend(&flash[..sent]);
    request.extend(core.r);
    request.push(core.sreg);
    request.extend(core.sp.to_le_bytes());
    request.extend([0, 0]);
    request.extend((2 * FIRST).to_le_bytes());
    let memory = || Memory::new(&flash, device.flash_bytes, device.sram_start, device.sram_bytes.into());
    let (first, mut mem) = (core.clone(), memory());
    let (mut states, mut opcodes) = (Vec::new(), Vec::new());
    while (states.len() as u64) < STEPS {
        let op = mem.word(core.pc);
        if left_out(op) || skips_wrongly(op, mem.word(core.pc + 1)) || core.pc as usize + 3 > device.flash_bytes / 2 {
            break;
        }
        let (pc, mut io, before) = (core.pc, NoIo::default(), core.clone());
        let limit = core.cycles + 1;
        core.run(&mut mem, &mut io, limit);
        let stack = device.sram_start + 8..ram_end - 8;
        if io.met || !stack.contains(&core.sp) || touches_core(&before, &mem, op) {
            break;
        }
        opcodes.push((pc * 2, op));
        states.push(state(&core, 0));
    }
    // Once more, without the instruction that was not taken.
    let (mut core, mut mem) = (first, memory());
    for _ in &states {
        let limit = core.cycles + 1;
        core.run(&mut mem, &mut NoIo::default(), limit);
    }
    let sram = mem.sram().to_vec();
    request.extend((states.len() as u32).to_le_bytes());
    Run { request, opcodes, states, sram }
}

/// SLEEP, BREAK, WDR and SPM need more than a core.
fn left_out(op: u16) -> bool {
    matches!(op, 0x9588 | 0x9598 | 0x95a8 | 0x95e8 | 0x95f8)
}

/// simavr takes an ADIW or SBIW with one of the greatest immediates for a JMP or CALL, and skips two words.
fn skips_wrongly(op: u16, next: u16) -> bool {
    let skips = op & 0xfc00 == 0x1000 || op & 0xfc00 == 0xfc00 || op & 0xfd00 == 0x9900;
    skips && next & 0xfe0c == 0x960c
}

/// Returns whether a load or store reaches as data what it uses itself, X, Y or Z, or an I/O register, of which simavr has
/// RAMPZ, EIND, SP and SREG elsewhere.
fn touches_core(before: &Core, mem: &Memory, op: u16) -> bool {
    let pair = |low: usize| u16::from_le_bytes([before.r[low], before.r[low + 1]]);
    let address = match op {
        op if op & 0xd000 == 0x8000 => {
            let q = op & 7 | op >> 7 & 0x18 | op >> 8 & 0x20;
            pair(if op & 8 != 0 { 28 } else { 30 }).wrapping_add(q)
        }
        op if op & 0xfc0f == 0x9000 => mem.word(before.pc + 1),
        op if op & 0xfc00 == 0x9000 => match op & 0xf {
            1 => pair(30),
            2 => pair(30).wrapping_sub(1),
            9 => pair(28),
            10 => pair(28).wrapping_sub(1),
            12 | 13 => pair(26),
            14 => pair(26).wrapping_sub(1),
            _ => return false,
        },
        op if op & 0xf000 == 0xb000 => (op & 0xf | op >> 5 & 0x30) + 0x20,
        _ => return false,
    };
    (26..mem.sram_start()).contains(&address)
}

/// simavr's process.
struct Reference(Child);

impl Reference {
    /// `None`: there is no simavr here.
    fn start(device: &Device) -> Option<Self> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("simavr-reference-{}", device.name));
        if !Path::new("/usr/include/simavr/sim_avr.h").exists() {
            eprintln!("skipped: no simavr; sudo apt-get install simavr libsimavr-dev");
            return None;
        }
        let compiled = Command::new("cc")
            .args(["-O2", "-o"])
            .arg(&program)
            .arg(here.join("tests/simavr/reference.c"))
            .arg("-lsimavr")
            .status()
            .expect("a C compiler");
        assert!(compiled.success(), "tests/simavr/reference.c does not compile");
        let child = Command::new(&program)
            .arg(device.name.to_lowercase())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the reference starts");
        Some(Self(child))
    }

    fn states(&mut self, run: &Run) -> (Vec<u8>, Vec<u8>) {
        let stdin = self.0.stdin.as_mut().expect("piped");
        stdin.write_all(&run.request).and_then(|()| stdin.flush()).expect("the reference reads");
        let (mut states, mut sram) = (vec![0; run.states.len() * STATE_BYTES], vec![0; run.sram.len()]);
        let stdout = self.0.stdout.as_mut().expect("piped");
        stdout.read_exact(&mut states).and_then(|()| stdout.read_exact(&mut sram)).expect("the reference answers");
        (states, sram)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn compare(device: &Device) {
    let Some(mut reference) = Reference::start(device) else { return };
    let wanted = std::env::var("PORTBENCH_LOCKSTEP").ok().map_or(INSTRUCTIONS, |n| n.parse().expect("a number"));
    let mut random = SplitMix64::new(device.flash_bytes as u64);
    let (mut compared, mut kinds) = (0, std::collections::BTreeMap::new());
    while compared < wanted {
        let run = run(device, &mut random);
        let (theirs, sram) = reference.states(&run);
        for (n, (ours, theirs)) in run.states.iter().zip(theirs.chunks_exact(STATE_BYTES)).enumerate() {
            let (pc, op) = run.opcodes[n];
            *kinds.entry(op >> 8).or_insert(0u64) += 1;
            assert_eq!(ours, theirs, "{}: 0x{op:04x} at 0x{pc:05x}, instruction {n}", device.name);
        }
        let differs = run.sram.iter().zip(&sram).position(|(ours, theirs)| ours != theirs);
        let place = differs.map(|at| (at + usize::from(device.sram_start), run.sram[at], sram[at]));
        assert_eq!(place, None, "{}: address, our byte, simavr's", device.name);
        compared += run.states.len() as u64;
    }
    eprintln!("{}: {compared} instructions equal, {} of 256 upper opcode bytes met", device.name, kinds.len());
}

#[test]
fn an_atmega2560_is_simavrs() {
    compare(&ATMEGA2560);
}

#[test]
fn an_atmega1284p_is_simavrs() {
    compare(&ATMEGA1284P);
}
