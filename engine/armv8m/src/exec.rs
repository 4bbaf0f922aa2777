//! The instructions: semantics and cycle counts ([`crate::time`]).
//!
//! The loop runs predecoded instructions of one memory region until a cycle limit, an event, or a cross-region jump.

use cpu::interpreter::{Code, Interpreter, region};
use cpu::{Exit, Left};

use crate::bus::Bus;
use crate::core::{Core, NO_WORD, State};
use crate::decode::{FLAGS_SHIFT, Kind, Op, SECOND_HALF, decode, flag};
use crate::fault::Cause;
use crate::mpu::Access;
use crate::ppb::ccr;
use crate::rare::Then;
use crate::{Map, Master, Memory, V8m, time};

/// Returns whether `condition` (as in an instruction) holds.
pub(crate) fn holds(core: &Core, condition: u8) -> bool {
    let (n, z) = (core.nz < 0, core.nz as u32 == 0);
    let holds = match condition >> 1 {
        0 => z,
        1 => core.c,
        2 => n,
        3 => core.v,
        4 => core.c && !z,
        5 => n == core.v,
        6 => !z && n == core.v,
        _ => return true,
    };
    holds ^ (condition & 1 != 0)
}

/// Shifts by an immediate or a register's low byte: the value and the carry. `kind`: LSL, LSR, ASR, ROR.
pub(crate) fn shift(kind: u32, x: u32, n: u32, carry: bool) -> (u32, bool) {
    if n == 0 {
        return (x, carry);
    }
    match kind {
        0 => (if n < 32 { x << n } else { 0 }, n <= 32 && (u64::from(x) << n.min(63)) >> 32 & 1 != 0),
        1 => (if n < 32 { x >> n } else { 0 }, n <= 32 && (x >> (n - 1).min(31)) & 1 != 0),
        2 => {
            let (x, n) = (i64::from(x as i32), n.min(32));
            ((x >> n) as u32, (x >> (n - 1)) & 1 != 0)
        }
        _ => {
            let value = x.rotate_right(n & 31);
            (value, value >> 31 != 0)
        }
    }
}

/// SAU, MPU and the chip's own attribution divide no granule of 32 bytes.
const GRANULE_BITS: u32 = 5;

impl Core {
    /// Runs until `cycles` reaches `limit`, an event needs handling, or the core stops running.
    pub fn run<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, mut limit: u64) {
        while self.state == State::Running && self.cycles < limit && !bus.sys().attention {
            let limit = match self.run_translated(mem, bus, &mut limit) {
                None => limit,
                Some(Left::Look) => continue,
                // One instruction has started already.
                Some(Left::Interpret) => limit.max(self.cycles + 1),
            };
            if self.run_here(mem, bus, limit, false) == Exit::Limit {
                break;
            }
        }
    }

    /// Predecodes the instruction at `pc`. `Err`: it cannot be fetched.
    #[cold]
    #[inline(never)]
    fn predecode<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, pc: u32) -> Result<Op, Cause> {
        if let Some(op) = mem.predecode(pc, decode) {
            return Ok(op);
        }
        bus.sys_mut().cycle = self.cycles;
        bus.access_as(self.secure, self.privileged());
        let fetched = bus.fetch(mem, Master::Core(self.index), pc, 2);
        let hw = fetched.map_err(|_| Cause::Fetch { address: pc })?;
        self.cycles += u64::from(bus.waits());
        let next = bus.fetch(mem, Master::Core(self.index), pc.wrapping_add(2), 2).unwrap_or(0);
        Ok(decode(hw as u16, next as u16))
    }
}

impl<B: Bus> Interpreter<V8m, B> for Core {
    #[inline(always)]
    fn next(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    fn counts(&mut self) -> [&mut u64; 3] {
        [&mut self.instructions, &mut self.flash_instructions, &mut self.rom_instructions]
    }

    #[inline(always)]
    fn guards(&self, start: u32, size: u32) -> bool {
        self.guards_code(start, size)
    }

    #[inline(never)]
    #[allow(clippy::too_many_lines)]
    fn run_region<const REGION: u8, const LOOK: bool>(
        &mut self,
        mem: &mut Memory<B::Map>,
        bus: &mut B,
        limit: u64,
        code: Code,
    ) -> Exit {
        let Code { region, start, size, base } = code;
        // Whether instructions come from `$region`. Only the copy that looks finds out as it runs.
        macro_rules! from {
            ($region:ident) => {
                REGION == region::$region || LOOK && region == region::$region
            };
        }
        let mut pc = self.pc;
        let mut word = self.fetch_word;
        let mut late = self.late;
        let mut executed: u64 = 0;
        // A local variable, kept in a register: a chain of additions in memory would limit the loop.
        let mut cycles = self.cycles;
        let counted = if LOOK { bus.counted() } else { 0 };
        let translated = !LOOK || counted == 0 && !self.guarded();
        // The granule of the last fetch that was permitted.
        let mut permitted = u32::MAX;
        // Accesses must be looked at from now on.
        let mut guarded = false;

        // Writes back the state that calls, the caller and exceptions read.
        macro_rules! sync {
            () => {{
                self.pc = pc;
                self.instructions += executed;
                self.fetch_word = word;
                self.late = late;
                self.cycles = cycles;
            }};
        }
        macro_rules! leave {
            ($exit:expr) => {{
                sync!();
                return $exit;
            }};
        }
        macro_rules! fetch {
            ($address:expr) => {{
                if from!(XIP) {
                    cycles += u64::from(mem.access_word($address & (B::Map::FLASH.bytes - 1)));
                }
                if LOOK && counted >> ($address >> 28) & 1 != 0 {
                    bus.count($address);
                }
            }};
        }
        macro_rules! reg {
            ($index:expr) => {
                self.regs[usize::from($index & 15)]
            };
        }

        loop {
            if cycles >= limit {
                leave!(Exit::Limit);
            }
            // State of the IT block in which the instruction stands.
            let it = self.it;
            macro_rules! fault {
                ($cause:expr) => {{
                    let cause: Cause = $cause;
                    cycles += 1;
                    self.it = it;
                    sync!();
                    Core::fault(self, mem, bus, cause);
                    return Exit::Region;
                }};
            }
            if LOOK || REGION == region::XIP {
                // The core fetches words ahead; a branch to the upper half of one may need two.
                let ahead = pc.wrapping_add(2) >> 2;
                if ahead != word {
                    if pc & 2 != 0 && word != pc >> 2 {
                        fetch!(pc);
                    }
                    fetch!(ahead << 2);
                    word = ahead;
                }
            }
            if LOOK
                && permitted != pc >> GRANULE_BITS
                && let Err(cause) = self.permit(bus, Access::Fetch, pc, self.privileged())
            {
                sync!();
                executed = 0;
                if self.enter_secure(mem, bus) {
                    return Exit::Region;
                }
                fault!(cause);
            }
            let op = if from!(BUS) {
                self.cycles = cycles;
                let fetched = self.predecode(mem, bus, pc);
                cycles = self.cycles;
                match fetched {
                    Ok(op) => op,
                    Err(cause) => fault!(cause),
                }
            } else {
                match mem.ops[base + (pc.wrapping_sub(start) >> 1) as usize] {
                    Op { kind: Kind::Undecoded, .. } => {
                        // Running past the end of a region is a cross-region jump.
                        if pc.wrapping_sub(start) >= size {
                            leave!(Exit::Region);
                        }
                        match self.predecode(mem, bus, pc) {
                            Ok(op) => op,
                            Err(cause) => fault!(cause),
                        }
                    }
                    op => op,
                }
            };
            if LOOK
                && op.flags & flag::WIDE != 0
                && pc & 2 != 0
                && permitted != pc.wrapping_add(2) >> GRANULE_BITS
                && let Err(cause) = self.permit(bus, Access::Fetch, pc.wrapping_add(2), self.privileged())
            {
                fault!(cause);
            }
            permitted = pc >> GRANULE_BITS;
            executed += 1;
            let before = late >> FLAGS_SHIFT;
            let waits = late & u32::from(op.reads);
            if waits != 0 {
                cycles += match waits {
                    SECOND_HALF if from!(XIP) => time::SECOND_HALF_IN_FLASH,
                    SECOND_HALF => time::SECOND_HALF,
                    _ => 1,
                };
            }
            late = u32::from(op.late) | u32::from(op.flags) << FLAGS_SHIFT;
            let mut kind = op.kind;
            if it != 0 {
                // The mask's next bit becomes the condition's last; none left ends the block.
                self.it = if it & 7 == 0 { 0 } else { it & 0xe0 | it << 1 & 0x1f };
                if !holds(self, it >> 4) && kind != Kind::Bkpt {
                    cycles += 1;
                    late = 0;
                    pc = pc.wrapping_add(op.bytes());
                    if from!(BUS) {
                        leave!(Exit::Region);
                    }
                    continue;
                }
                if op.flags & flag::OUTSIDE_IT != 0 {
                    kind = kind.unflagged();
                }
            }
            macro_rules! jump {
                ($target:expr) => {{
                    pc = $target;
                    word = NO_WORD;
                    late = if pc & 2 != 0 { SECOND_HALF } else { 0 };
                    if from!(BUS) || pc.wrapping_sub(start) >= size {
                        leave!(Exit::Region);
                    }
                    let slot = base + (pc.wrapping_sub(start) >> 1) as usize;
                    if translated && mem.translated.wants(slot, limit.saturating_sub(cycles)) {
                        leave!(Exit::Region);
                    }
                    continue;
                }};
            }
            macro_rules! taken {
                () => {{
                    cycles += if op.flags & flag::WIDE == 0 && before & u32::from(flag::QUIET) != 0 {
                        time::TAKEN_PAIRED
                    } else {
                        time::TAKEN
                    };
                    jump!(pc.wrapping_add(4).wrapping_add(op.imm));
                }};
            }
            // A branch to a register is paired with any 16-bit instruction before it.
            macro_rules! to_register {
                () => {
                    cycles += if before & u32::from(flag::FIRST) != 0 { time::TAKEN_PAIRED } else { time::TAKEN }
                };
            }
            macro_rules! branch_if {
                ($taken:expr) => {{
                    if $taken {
                        taken!();
                    }
                    late = 0;
                    cycles += u64::from(op.flags & flag::WIDE != 0 || before & u32::from(flag::FIRST) == 0);
                    pc = pc.wrapping_add(op.bytes());
                    if from!(BUS) {
                        leave!(Exit::Region);
                    }
                    continue;
                }};
            }
            macro_rules! result {
                ($value:expr) => {{
                    let value: u32 = $value;
                    reg!(op.a) = value;
                    cycles += 1;
                }};
            }
            macro_rules! flagged {
                ($value:expr) => {{
                    let value: u32 = $value;
                    reg!(op.a) = value;
                    self.nz = i64::from(value as i32);
                    cycles += 1;
                }};
            }
            macro_rules! compare {
                ($value:expr) => {{
                    let value: u32 = $value;
                    self.nz = i64::from(value as i32);
                    cycles += 1;
                }};
            }
            macro_rules! sum {
                ($x:expr, $y:expr, $carry:expr) => {{
                    let (x, y): (u32, u32) = ($x, $y);
                    let (partial, c1) = x.overflowing_add(y);
                    let (sum, c2) = partial.overflowing_add(u32::from($carry));
                    self.c = c1 | c2;
                    self.v = ((x ^ sum) & (y ^ sum)) >> 31 != 0;
                    sum
                }};
            }
            // The constant's carry, and the cycle that a shifted one takes with flags.
            macro_rules! carry {
                () => {
                    if op.c != 0 {
                        self.c = op.c & 1 != 0;
                        cycles += 1;
                    }
                };
            }
            macro_rules! rm {
                () => {
                    if op.c == 15 { pc.wrapping_add(4) } else { reg!(op.c) }
                };
            }
            macro_rules! rn {
                () => {
                    if op.b == 15 { pc.wrapping_add(4) } else { reg!(op.b) }
                };
            }
            macro_rules! permit {
                ($access:expr, $address:expr) => {
                    if LOOK
                        && self.guards_data()
                        && let Err(cause) = self.permit(bus, $access, $address, self.privileged())
                    {
                        fault!(cause)
                    }
                };
            }
            macro_rules! load {
                ($size:literal, $address:expr) => {{
                    let address: u32 = $address;
                    permit!(Access::Read, address);
                    cycles += 1;
                    if let Some((value, waits)) = mem.load_fast::<$size>(address) {
                        if LOOK && counted >> (address >> 28) & 1 != 0 {
                            bus.count(address);
                        }
                        cycles += u64::from(waits);
                        value
                    } else {
                        self.cycles = cycles;
                        self.pc = pc;
                        let result = self.load_slow(mem, bus, address, $size);
                        cycles = self.cycles;
                        match result {
                            Ok(value) => value,
                            Err(cause) => fault!(cause),
                        }
                    }
                }};
            }
            macro_rules! store {
                ($size:literal, $address:expr, $value:expr) => {{
                    let (address, value): (u32, u32) = ($address, $value);
                    permit!(Access::Write, address);
                    cycles += 1;
                    if mem.store_fast::<$size>(address, value) {
                        if LOOK && counted >> (address >> 28) & 1 != 0 {
                            bus.count(address);
                        }
                    } else {
                        self.cycles = cycles;
                        self.pc = pc;
                        let result = self.store_slow(mem, bus, address, value, $size);
                        cycles = self.cycles;
                        // It may have set up SAU or MPU.
                        permitted = u32::MAX;
                        guarded = !LOOK && self.guards_code(start, size);
                        if let Err(cause) = result {
                            fault!(cause);
                        }
                        if from!(XIP) && mem.xip.offline {
                            // The rest of this flash can no longer be fetched.
                            bus.sys_mut().attention = true;
                        }
                    }
                }};
            }
            // A slow access may have raised an interrupt, moved an event or requested a reset.
            macro_rules! attend {
                () => {
                    if bus.sys().attention || guarded {
                        pc = pc.wrapping_add(op.bytes());
                        leave!(if bus.sys().attention { Exit::Limit } else { Exit::Region });
                    }
                };
            }
            macro_rules! lower {
                ($sp:expr) => {
                    if let Err(cause) = self.lower_stack($sp & !3) {
                        fault!(cause);
                    }
                };
            }
            macro_rules! interwork {
                ($target:expr) => {{
                    let target: u32 = $target;
                    let returns = target >= 0xff00_0000 && self.ipsr != 0 || target | 1 == crate::exception::FNC_RETURN;
                    if returns && (self.ipsr != 0 || !self.secure) {
                        sync!();
                        if let Err(cause) = self.return_by(mem, bus, target) {
                            Core::fault(self, mem, bus, cause);
                        }
                        return Exit::Region;
                    }
                    if target & 1 == 0 {
                        // A branch that leaves Thumb state faults at the target.
                        pc = target;
                        fault!(Cause::InvalidState { target });
                    }
                    jump!(target & !1);
                }};
            }
            match kind {
                // Predecoding leaves none undecoded.
                Kind::Undecoded | Kind::Undefined => fault!(Cause::UndefinedInstruction),
                Kind::AndImm => result!(reg!(op.b) & op.imm),
                Kind::AndImmS => {
                    flagged!(reg!(op.b) & op.imm);
                    carry!();
                }
                Kind::AndReg => result!(reg!(op.b) & reg!(op.c)),
                Kind::AndRegS => flagged!(reg!(op.b) & reg!(op.c)),
                Kind::BicImm => result!(reg!(op.b) & !op.imm),
                Kind::BicImmS => {
                    flagged!(reg!(op.b) & !op.imm);
                    carry!();
                }
                Kind::BicReg => result!(reg!(op.b) & !reg!(op.c)),
                Kind::BicRegS => flagged!(reg!(op.b) & !reg!(op.c)),
                Kind::OrrImm => result!(reg!(op.b) | op.imm),
                Kind::OrrImmS => {
                    flagged!(reg!(op.b) | op.imm);
                    carry!();
                }
                Kind::OrrReg => result!(reg!(op.b) | reg!(op.c)),
                Kind::OrrRegS => flagged!(reg!(op.b) | reg!(op.c)),
                Kind::OrnImm => result!(reg!(op.b) | !op.imm),
                Kind::OrnImmS => {
                    flagged!(reg!(op.b) | !op.imm);
                    carry!();
                }
                Kind::OrnReg => result!(reg!(op.b) | !reg!(op.c)),
                Kind::OrnRegS => flagged!(reg!(op.b) | !reg!(op.c)),
                Kind::EorImm => result!(reg!(op.b) ^ op.imm),
                Kind::EorImmS => {
                    flagged!(reg!(op.b) ^ op.imm);
                    carry!();
                }
                Kind::EorReg => result!(reg!(op.b) ^ reg!(op.c)),
                Kind::EorRegS => flagged!(reg!(op.b) ^ reg!(op.c)),
                Kind::MovImm => result!(op.imm),
                Kind::MovImmS => {
                    flagged!(op.imm);
                    carry!();
                }
                Kind::MovReg => result!(rm!()),
                Kind::MovRegS => flagged!(reg!(op.c)),
                Kind::MvnImm => result!(!op.imm),
                Kind::MvnImmS => {
                    flagged!(!op.imm);
                    carry!();
                }
                Kind::MvnReg => result!(!reg!(op.c)),
                Kind::MvnRegS => flagged!(!reg!(op.c)),
                Kind::AddImm => result!(reg!(op.b).wrapping_add(op.imm)),
                Kind::AddImmS => flagged!(sum!(reg!(op.b), op.imm, false)),
                Kind::AdcImm => result!(reg!(op.b).wrapping_add(op.imm).wrapping_add(u32::from(self.c))),
                Kind::AdcImmS => flagged!(sum!(reg!(op.b), op.imm, self.c)),
                Kind::SbcImm => result!(reg!(op.b).wrapping_sub(op.imm).wrapping_sub(u32::from(!self.c))),
                Kind::SbcImmS => flagged!(sum!(reg!(op.b), !op.imm, self.c)),
                Kind::SubImm if op.a == 13 && op.b == 13 => {
                    lower!(self.regs[13].wrapping_sub(op.imm));
                    cycles += 1;
                }
                Kind::SubImm => result!(reg!(op.b).wrapping_sub(op.imm)),
                Kind::SubImmS => flagged!(sum!(reg!(op.b), !op.imm, true)),
                Kind::RsbImm => result!(op.imm.wrapping_sub(reg!(op.b))),
                Kind::RsbImmS => flagged!(sum!(!reg!(op.b), op.imm, true)),
                Kind::TstImm => {
                    compare!(reg!(op.b) & op.imm);
                    carry!();
                }
                Kind::TeqImm => {
                    compare!(reg!(op.b) ^ op.imm);
                    carry!();
                }
                Kind::CmpImm => compare!(sum!(reg!(op.b), !op.imm, true)),
                Kind::CmnImm => compare!(sum!(reg!(op.b), op.imm, false)),
                Kind::AddReg => result!(rn!().wrapping_add(rm!())),
                Kind::AddRegS => flagged!(sum!(reg!(op.b), reg!(op.c), false)),
                Kind::AdcReg => result!(reg!(op.b).wrapping_add(reg!(op.c)).wrapping_add(u32::from(self.c))),
                Kind::AdcRegS => flagged!(sum!(reg!(op.b), reg!(op.c), self.c)),
                Kind::SbcReg => result!(reg!(op.b).wrapping_sub(reg!(op.c)).wrapping_sub(u32::from(!self.c))),
                Kind::SbcRegS => flagged!(sum!(reg!(op.b), !reg!(op.c), self.c)),
                Kind::SubReg => result!(reg!(op.b).wrapping_sub(reg!(op.c))),
                Kind::SubRegS => flagged!(sum!(reg!(op.b), !reg!(op.c), true)),
                Kind::RsbReg => result!(reg!(op.c).wrapping_sub(reg!(op.b))),
                Kind::RsbRegS => flagged!(sum!(!reg!(op.b), reg!(op.c), true)),
                Kind::TstReg => {
                    compare!(reg!(op.b) & reg!(op.c));
                }
                Kind::TeqReg => {
                    compare!(reg!(op.b) ^ reg!(op.c));
                }
                Kind::CmpReg => compare!(sum!(reg!(op.b), !reg!(op.c), true)),
                Kind::CmnReg => compare!(sum!(reg!(op.b), reg!(op.c), false)),
                Kind::LslImm => result!(shift(0, reg!(op.c), op.imm, false).0),
                Kind::LslImmS => {
                    let (value, carry) = shift(0, reg!(op.c), op.imm, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::LslReg => result!(shift(0, reg!(op.b), reg!(op.c) & 0xff, false).0),
                Kind::LslRegS => {
                    let (value, carry) = shift(0, reg!(op.b), reg!(op.c) & 0xff, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::LsrImm => result!(shift(1, reg!(op.c), op.imm, false).0),
                Kind::LsrImmS => {
                    let (value, carry) = shift(1, reg!(op.c), op.imm, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::LsrReg => result!(shift(1, reg!(op.b), reg!(op.c) & 0xff, false).0),
                Kind::LsrRegS => {
                    let (value, carry) = shift(1, reg!(op.b), reg!(op.c) & 0xff, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::AsrImm => result!(shift(2, reg!(op.c), op.imm, false).0),
                Kind::AsrImmS => {
                    let (value, carry) = shift(2, reg!(op.c), op.imm, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::AsrReg => result!(shift(2, reg!(op.b), reg!(op.c) & 0xff, false).0),
                Kind::AsrRegS => {
                    let (value, carry) = shift(2, reg!(op.b), reg!(op.c) & 0xff, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::RorImm => result!(shift(3, reg!(op.c), op.imm, false).0),
                Kind::RorImmS => {
                    let (value, carry) = shift(3, reg!(op.c), op.imm, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::RorReg => result!(shift(3, reg!(op.b), reg!(op.c) & 0xff, false).0),
                Kind::RorRegS => {
                    let (value, carry) = shift(3, reg!(op.b), reg!(op.c) & 0xff, self.c);
                    self.c = carry;
                    flagged!(value);
                }
                Kind::Mul => result!(reg!(op.b).wrapping_mul(reg!(op.c))),
                Kind::MulS => {
                    flagged!(reg!(op.b).wrapping_mul(reg!(op.c)));
                    cycles += 1;
                }
                Kind::LdrImm => {
                    reg!(op.a) = load!(4, reg!(op.b).wrapping_add(op.imm));
                    attend!();
                }
                Kind::LdrReg => {
                    reg!(op.a) = load!(4, reg!(op.b).wrapping_add(reg!(op.c) << op.d));
                    attend!();
                }
                Kind::LdrbImm => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(op.imm));
                    attend!();
                }
                Kind::LdrbReg => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(reg!(op.c) << op.d));
                    attend!();
                }
                Kind::LdrhImm => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(op.imm));
                    attend!();
                }
                Kind::LdrhReg => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(reg!(op.c) << op.d));
                    attend!();
                }
                Kind::LdrsbImm => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(op.imm)) as u8 as i8 as u32;
                    attend!();
                }
                Kind::LdrsbReg => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(reg!(op.c) << op.d)) as u8 as i8 as u32;
                    attend!();
                }
                Kind::LdrshImm => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(op.imm)) as u16 as i16 as u32;
                    attend!();
                }
                Kind::LdrshReg => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(reg!(op.c) << op.d)) as u16 as i16 as u32;
                    attend!();
                }
                Kind::StrImm => {
                    store!(4, reg!(op.b).wrapping_add(op.imm), reg!(op.a));
                    attend!();
                }
                Kind::StrReg => {
                    store!(4, reg!(op.b).wrapping_add(reg!(op.c) << op.d), reg!(op.a));
                    attend!();
                }
                Kind::StrbImm => {
                    store!(1, reg!(op.b).wrapping_add(op.imm), reg!(op.a));
                    attend!();
                }
                Kind::StrbReg => {
                    store!(1, reg!(op.b).wrapping_add(reg!(op.c) << op.d), reg!(op.a));
                    attend!();
                }
                Kind::StrhImm => {
                    store!(2, reg!(op.b).wrapping_add(op.imm), reg!(op.a));
                    attend!();
                }
                Kind::StrhReg => {
                    store!(2, reg!(op.b).wrapping_add(reg!(op.c) << op.d), reg!(op.a));
                    attend!();
                }
                Kind::MovPc => {
                    cycles += time::TAKEN;
                    jump!(rm!() & !1);
                }
                Kind::AddPc => {
                    cycles += time::TAKEN;
                    jump!(pc.wrapping_add(4).wrapping_add(rm!()) & !1);
                }
                Kind::Adr => result!((pc.wrapping_add(4) & !3).wrapping_add(op.imm)),
                Kind::AddSpImm => result!(self.regs[13].wrapping_add(op.imm)),
                Kind::SubSpImm => {
                    lower!(self.regs[13].wrapping_sub(op.imm));
                    cycles += 1;
                }
                Kind::Movt => result!(reg!(op.a) & 0xffff | op.imm),
                Kind::Bfi => {
                    let bits = if op.c != 0 { 0 } else { reg!(op.b) << op.d };
                    result!(reg!(op.a) & !op.imm | bits & op.imm);
                }
                Kind::Ubfx => result!(reg!(op.b) >> op.c & (u32::MAX >> (31 - op.imm))),
                Kind::Sbfx => result!(((reg!(op.b) << (31 - op.imm - u32::from(op.c))) as i32 >> (31 - op.imm)) as u32),
                Kind::Sxtb => result!(reg!(op.c) as u8 as i8 as u32),
                Kind::Sxth => result!(reg!(op.c) as u16 as i16 as u32),
                Kind::Uxtb => result!(reg!(op.c) & 0xff),
                Kind::Uxth => result!(reg!(op.c) & 0xffff),
                Kind::Rev => result!(reg!(op.c).swap_bytes()),
                Kind::Rev16 => {
                    let x = reg!(op.c);
                    result!(((x & 0x00ff_00ff) << 8) | ((x >> 8) & 0x00ff_00ff));
                }
                Kind::Revsh => result!((reg!(op.c) as u16).swap_bytes() as i16 as u32),
                Kind::Clz => result!(reg!(op.c).leading_zeros()),
                Kind::Rbit => result!(reg!(op.c).reverse_bits()),
                Kind::Mla => result!(reg!(op.d).wrapping_add(reg!(op.b).wrapping_mul(reg!(op.c)))),
                Kind::Mls => result!(reg!(op.d).wrapping_sub(reg!(op.b).wrapping_mul(reg!(op.c)))),
                Kind::Umull | Kind::Smull | Kind::Umlal | Kind::Smlal | Kind::Umaal => {
                    let (x, y) = (reg!(op.b), reg!(op.c));
                    let (low, high) = (reg!(op.a), reg!(op.d));
                    let both = u64::from(high) << 32 | u64::from(low);
                    let unsigned = u64::from(x) * u64::from(y);
                    let signed = (i64::from(x as i32) * i64::from(y as i32)) as u64;
                    let value = match kind {
                        Kind::Umull => unsigned,
                        Kind::Smull => signed,
                        Kind::Umlal => unsigned.wrapping_add(both),
                        Kind::Smlal => signed.wrapping_add(both),
                        _ => unsigned + u64::from(low) + u64::from(high),
                    };
                    (reg!(op.a), reg!(op.d)) = (value as u32, (value >> 32) as u32);
                    cycles += time::MULTIPLY_LONG;
                }
                Kind::Sdiv | Kind::Udiv => {
                    let (x, y) = (reg!(op.b), reg!(op.c));
                    if y == 0 && self.ppb.banks[self.bank()].ccr & ccr::DIV_0_TRP != 0 {
                        fault!(Cause::DivideByZero);
                    }
                    if kind == Kind::Udiv {
                        reg!(op.a) = x.checked_div(y).unwrap_or(0);
                        cycles += time::divide(x, y);
                    } else {
                        let (x, y) = (x as i32, y as i32);
                        reg!(op.a) = if y == 0 { 0 } else { x.wrapping_div(y) as u32 };
                        cycles += time::divide(x.unsigned_abs(), y.unsigned_abs());
                    }
                }
                Kind::LdrLit => {
                    reg!(op.a) = load!(4, (pc.wrapping_add(4) & !3).wrapping_add(op.imm));
                    attend!();
                }
                Kind::Ldm | Kind::LdmPc => {
                    let mut list = op.imm;
                    let bytes = 4 * list.count_ones();
                    let base = reg!(op.b);
                    let mut at = if op.d != 0 { base.wrapping_sub(bytes) } else { base };
                    let back = if op.d != 0 { at } else { base.wrapping_add(bytes) };
                    let mut values = [0; 16];
                    if at & 3 != 0 {
                        fault!(Cause::Unaligned { address: at });
                    }
                    let mut rest = list;
                    while rest != 0 {
                        values[rest.trailing_zeros() as usize & 15] = load!(4, at);
                        at = at.wrapping_add(4);
                        rest &= rest - 1;
                    }
                    if op.c != 0 {
                        reg!(op.b) = back;
                    }
                    list &= 0x7fff;
                    while list != 0 {
                        let register = list.trailing_zeros() as u8;
                        reg!(register) = values[usize::from(register)];
                        list &= list - 1;
                    }
                    if kind == Kind::LdmPc {
                        cycles += time::LOAD_PC;
                        let target = values[15];
                        if bus.sys().attention && target & 1 != 0 && target < 0xf000_0000 {
                            pc = target & !1;
                            word = NO_WORD;
                            late = 0;
                            leave!(Exit::Limit);
                        }
                        interwork!(target);
                    }
                    attend!();
                }
                Kind::Stm => {
                    let mut list = op.imm;
                    let bytes = 4 * list.count_ones();
                    let base = reg!(op.b);
                    let mut at = if op.d != 0 { base.wrapping_sub(bytes) } else { base };
                    let back = if op.d != 0 { at } else { base.wrapping_add(bytes) };
                    if at & 3 != 0 {
                        fault!(Cause::Unaligned { address: at });
                    }
                    if op.b == 13 && op.d != 0 && op.c != 0 && self.exceeds(self.active_stack(), at) {
                        fault!(Cause::StackLimit { sp: at });
                    }
                    while list != 0 {
                        store!(4, at, reg!(list.trailing_zeros() as u8));
                        at = at.wrapping_add(4);
                        list &= list - 1;
                    }
                    if op.c != 0 {
                        reg!(op.b) = back;
                    }
                    attend!();
                }
                Kind::TableBranch => {
                    let index = reg!(op.c);
                    let offset = if op.imm == 0 {
                        load!(1, rn!().wrapping_add(index))
                    } else {
                        load!(2, rn!().wrapping_add(index << 1))
                    };
                    cycles += time::TABLE_BRANCH - 1;
                    jump!(pc.wrapping_add(4).wrapping_add(offset << 1));
                }
                Kind::Beq => branch_if!(self.nz as u32 == 0),
                Kind::Bne => branch_if!(self.nz as u32 != 0),
                Kind::Bcs => branch_if!(self.c),
                Kind::Bcc => branch_if!(!self.c),
                Kind::Bmi => branch_if!(self.nz < 0),
                Kind::Bpl => branch_if!(self.nz >= 0),
                Kind::Bvs => branch_if!(self.v),
                Kind::Bvc => branch_if!(!self.v),
                Kind::Bhi => branch_if!(self.c && self.nz as u32 != 0),
                Kind::Bls => branch_if!(!self.c || self.nz as u32 == 0),
                Kind::Bge => branch_if!((self.nz < 0) == self.v),
                Kind::Blt => branch_if!((self.nz < 0) != self.v),
                Kind::Bgt => branch_if!(self.nz as u32 != 0 && (self.nz < 0) == self.v),
                Kind::Ble => branch_if!(self.nz as u32 == 0 || (self.nz < 0) != self.v),
                Kind::Cbz => branch_if!(reg!(op.a) == 0),
                Kind::Cbnz => branch_if!(reg!(op.a) != 0),
                Kind::B => taken!(),
                Kind::Bl => {
                    self.regs[14] = pc.wrapping_add(4) | 1;
                    cycles += time::TAKEN;
                    jump!(pc.wrapping_add(4).wrapping_add(op.imm));
                }
                Kind::Bx if op.imm == 0 => {
                    to_register!();
                    interwork!(rm!());
                }
                Kind::Blx if op.imm == 0 => {
                    let target = reg!(op.c);
                    self.regs[14] = pc.wrapping_add(2) | 1;
                    to_register!();
                    if target & 1 == 0 {
                        pc = target;
                        fault!(Cause::InvalidState { target });
                    }
                    jump!(target & !1);
                }
                Kind::It => {
                    self.it = op.imm as u8;
                    cycles += u64::from(before & u32::from(flag::FIRST) == 0);
                    late = 0;
                    pc = pc.wrapping_add(2);
                    if from!(BUS) {
                        leave!(Exit::Region);
                    }
                    continue;
                }
                Kind::Nop => cycles += 1,
                // Without a debugger, BKPT is a fault.
                Kind::Bkpt => fault!(Cause::Breakpoint),
                Kind::Svc => {
                    sync!();
                    self.supervisor_call(mem, bus, pc.wrapping_add(2));
                    return Exit::Region;
                }
                Kind::Wfe => {
                    cycles += 1;
                    pc = pc.wrapping_add(op.bytes());
                    if !std::mem::take(&mut self.event_register) {
                        self.state = State::Wfe;
                    }
                    sync!();
                    self.wake(cycles);
                    return Exit::Region;
                }
                Kind::Wfi => {
                    cycles += 1;
                    pc = pc.wrapping_add(op.bytes());
                    self.state = State::Wfi;
                    sync!();
                    self.wake(cycles);
                    return Exit::Region;
                }
                // `Exit::Region`: it may change what the loop has assumed.
                _ => {
                    sync!();
                    executed = 0;
                    permitted = u32::MAX;
                    match self.execute_rare(mem, bus, op) {
                        Ok(Then::Next) => {
                            cycles = self.cycles;
                            guarded = !LOOK && self.guards_code(start, size);
                        }
                        Ok(Then::Leave) => {
                            self.pc = pc.wrapping_add(op.bytes());
                            return Exit::Region;
                        }
                        Ok(Then::Interwork(target)) => {
                            cycles = self.cycles;
                            interwork!(target);
                        }
                        Ok(Then::Gone) => return Exit::Region,
                        Err(cause) => {
                            cycles = self.cycles;
                            fault!(cause)
                        }
                    }
                    attend!();
                }
            }
            if before & u32::from(flag::IDLE) != 0 && op.flags & flag::FIRST != 0 {
                // The NOP before took the cycle.
                cycles -= 1;
                late &= 0xffff;
            }
            if op.flags & flag::TO_SP != 0 {
                self.regs[13] &= !3;
            }
            pc = pc.wrapping_add(op.bytes());
            if from!(BUS) {
                leave!(Exit::Region);
            }
        }
    }
}
