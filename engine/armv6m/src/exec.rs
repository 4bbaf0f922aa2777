//! The instructions: semantics and cycle counts (Cortex-M0+ TRM r0p1, table 3-1).
//!
//! The loop runs predecoded instructions of one memory region until a cycle limit, an event, or a cross-region jump.

use cpu::interpreter::{Code, Interpreter, region};
use cpu::{Bus, Exit, Left, Map, Master, NO_WORD};

use crate::core::{Core, State};
use crate::decode::{Kind, Op, decode};
use crate::fault::Cause;
use crate::mpu::Access;
use crate::{Memory, V6m};

/// The start of a run of code that is not to be remembered: no jump goes to an odd address.
const NO_RUN: u32 = 1;

impl Core {
    /// Runs until `cycles` reaches `limit`, an event needs handling, or the core stops running.
    pub fn run<B: Bus<V6m>>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, mut limit: u64) {
        while self.state == State::Running && self.cycles < limit && !bus.sys().attention {
            // Translated code asks no MPU.
            let protected = self.ppb.mpu.enabled();
            let left = if protected { None } else { jit::run::<V6m, B>(self, mem, bus, &mut limit) };
            let limit = match left {
                None => limit,
                Some(Left::Look) => continue,
                // One instruction has started already.
                Some(Left::Interpret) => limit.max(self.cycles + 1),
            };
            match self.run_here(mem, bus, limit, false) {
                Exit::Limit => break,
                Exit::Region => {}
                Exit::Step => _ = self.run_here(mem, bus, self.cycles + 1, true),
            }
        }
    }

    /// Predecodes the instruction at `pc`. `Err`: it cannot be fetched.
    #[cold]
    #[inline(never)]
    fn predecode<B: Bus<V6m>>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, pc: u32) -> Result<Op, Cause> {
        if let Some(op) = mem.predecode(pc, decode) {
            return Ok(op);
        }
        // Peripheral, device and system space never execute (ARMv6-M ARM B3.1), not even the USB's RAM.
        if pc >> 28 >= 4 {
            return Err(Cause::Fetch { address: pc });
        }
        bus.sys_mut().cycle = self.cycles;
        let fetched = bus.fetch(mem, Master::Core(self.index), pc, 2);
        let hw = fetched.map_err(|_| Cause::Fetch { address: pc })?;
        self.cycles += u64::from(bus.waits());
        let next = bus.fetch(mem, Master::Core(self.index), pc.wrapping_add(2), 2).unwrap_or(0);
        Ok(decode(hw as u16, next as u16))
    }
}

impl<B: Bus<V6m>> Interpreter<V6m, B> for Core {
    #[inline(always)]
    fn next(&self) -> u32 {
        self.pc
    }

    #[inline(always)]
    fn counts(&mut self) -> [&mut u64; 3] {
        [&mut self.instructions, &mut self.flash_instructions, &mut self.rom_instructions]
    }

    #[inline(always)]
    fn guards(&self, _: u32, _: u32) -> bool {
        self.ppb.mpu.enabled()
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
        let mut executed: u64 = 0;
        // A local variable, kept in a register: a chain of additions in memory would limit the loop.
        let mut cycles = self.cycles;
        // The plain copy leaves rare instructions to a step of the copy that looks.
        let plain = !LOOK;
        let runs = plain && REGION == region::XIP;
        // Before this address the cache holds all words of the instructions, and their accesses are not counted yet:
        // `fetched` does that. 0: the next fetch is looked up, and `word` is the last one.
        let mut held: u32 = 0;
        // The address at which such a run began.
        let mut run = NO_RUN;
        // Accesses to the counted bank, which `sync` adds to its counter, and the bytes of that bank.
        let mut banked: u32 = 0;
        let bank_bytes = if plain && bus.counted() != 0 { B::Map::COUNTED.bytes } else { 0 };
        // The cycle of an instruction's start, after its fetch, and `banked` then.
        let mut began: (u64, u32);
        // An instruction's slot, less half of its address.
        let bias = base.wrapping_sub((start >> 1) as usize);

        // Changes by a store take effect when the loop is entered again.
        let counted = if LOOK { bus.counted() } else { 0 };
        macro_rules! counts {
            ($address:expr) => {
                LOOK && counted >> ($address >> 28) & 1 != 0
            };
        }

        // Counts the words of a run, up to those of the instruction at `$last`; returns the last word that was fetched.
        macro_rules! fetched {
            ($last:expr) => {
                if runs && held != 0 {
                    let last = $last.wrapping_add(2) >> 2;
                    mem.xip.accesses += u64::from(last.wrapping_sub(word));
                    last
                } else {
                    word
                }
            };
        }
        macro_rules! count_bank {
            () => {
                if banked != 0
                    && let Some(counter) = bus.bank_counter()
                {
                    *counter = counter.saturating_add(std::mem::take(&mut banked)).min(B::Map::MOST_COUNTED);
                }
            };
        }
        // Before an access over the bus, which may read the counters and change the cache.
        macro_rules! settle {
            () => {{
                count_bank!();
                (word, held, run) = (fetched!(pc), 0, NO_RUN);
            }};
        }
        // Writes back the state that calls, the caller and exceptions read. The instruction at `$last` was fetched last.
        macro_rules! sync {
            ($last:expr) => {{
                count_bank!();
                self.fetch_word = fetched!($last);
                self.pc = pc;
                self.instructions += executed;
                self.cycles = cycles;
            }};
        }

        macro_rules! leave {
            ($exit:expr, $last:expr) => {{
                sync!($last);
                return $exit;
            }};
        }
        // Leaves an instruction that has begun to a step. What it did so far may be done again.
        macro_rules! step {
            () => {{
                executed -= 1;
                (cycles, banked) = began;
                leave!(Exit::Step, pc)
            }};
        }
        macro_rules! fault {
            ($cause:expr) => {{
                let cause: Cause = $cause;
                cycles += 1;
                sync!(pc);
                self.hard_fault(mem, bus, cause);
                return Exit::Region;
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
        macro_rules! permit {
            ($access:expr, $address:expr) => {
                permit!($access, $address, {})
            };
            // `$undo` runs before the fault.
            ($access:expr, $address:expr, $undo:expr) => {{
                if LOOK && let Err(cause) = self.permit($access, $address, self.privileged()) {
                    $undo;
                    fault!(cause)
                }
            }};
        }
        macro_rules! jump {
            ($target:expr) => {
                jump!($target, pc)
            };
            // `$last`: the address up to whose words the instruction has fetched.
            ($target:expr, $last:expr) => {{
                let target: u32 = $target;
                let _ = fetched!($last);
                pc = target;
                (word, held) = (NO_WORD, 0);
                if from!(BUS) || pc.wrapping_sub(start) >= size {
                    leave!(Exit::Region, pc);
                }
                let slot = bias.wrapping_add((pc >> 1) as usize);
                if mem.translated.wants(slot, limit.saturating_sub(cycles)) {
                    leave!(Exit::Region, pc);
                }
                // At the limit the next instruction is not fetched.
                if runs && cycles < limit {
                    (run, held) = (pc, mem.xip.run_from(pc));
                    if held != 0 {
                        word = (pc >> 2).wrapping_sub(1);
                    }
                }
                continue;
            }};
        }
        macro_rules! branch_if {
            ($op:expr, $taken:expr) => {{
                if $taken {
                    cycles += 2;
                    jump!(pc.wrapping_add(4).wrapping_add($op.imm));
                }
                cycles += 1;
            }};
        }
        macro_rules! reg {
            ($index:expr) => {
                self.regs[usize::from($index & 15)]
            };
        }
        macro_rules! result {
            ($op:expr, $value:expr) => {{
                let value: u32 = $value;
                reg!($op.a) = value;
                self.nz = i64::from(value as i32);
                cycles += 1;
            }};
        }
        macro_rules! add_with_carry {
            ($x:expr, $y:expr, $carry:expr) => {{
                let (x, y): (u32, u32) = ($x, $y);
                let (partial, c1) = x.overflowing_add(y);
                let (sum, c2) = partial.overflowing_add(u32::from($carry));
                self.c = c1 | c2;
                self.v = ((x ^ sum) & (y ^ sum)) >> 31 != 0;
                sum
            }};
        }
        macro_rules! subtract {
            ($x:expr, $y:expr) => {{
                let (x, y): (u32, u32) = ($x, $y);
                let difference = x.wrapping_sub(y);
                self.c = x >= y;
                self.v = ((x ^ y) & (x ^ difference)) >> 31 != 0;
                difference
            }};
        }
        // A comparison, and the branch that mostly follows it: that needs no turn of the loop.
        macro_rules! compare {
            ($slot:expr, $value:expr) => {{
                let value: u32 = $value;
                self.nz = i64::from(value as i32);
                cycles += 1;
                if plain && let Some(next) = mem.ops.get($slot + 1) {
                    if let Some(taken) = next.kind.taken() {
                        pc = pc.wrapping_add(2);
                        let outside = from!(FAST) && pc.wrapping_sub(start) >= size || runs && pc >= held;
                        if cycles >= limit || outside {
                            continue;
                        }
                        executed += 1;
                        let nz = u32::from(self.nz < 0) << 3 | u32::from(value == 0) << 2;
                        let flags = nz | u32::from(self.c) << 1 | u32::from(self.v);
                        branch_if!(next, taken >> flags & 1 != 0);
                    }
                }
            }};
        }
        macro_rules! bank {
            ($address:expr) => {
                banked += u32::from($address.wrapping_sub(B::Map::COUNTED.base) < bank_bytes)
            };
        }
        // A step may repeat the loads of several words from SRAM, but not those from flash, which are counted.
        macro_rules! repeatable {
            ($address:expr) => {
                if plain && !B::Map::SRAM.contains($address) {
                    step!();
                }
            };
        }
        // `$undo` runs before a fault.
        macro_rules! load {
            ($size:literal, $address:expr) => {
                load!($size, $address, {})
            };
            ($size:literal, $address:expr, $undo:expr) => {{
                let address: u32 = $address;
                permit!(Access::Read, address, $undo);
                let found = if plain {
                    mem.load_held::<$size>(address).map(|value| (value, 0))
                } else {
                    mem.load_fast::<$size>(address)
                };
                if let Some((value, waits)) = found {
                    if counts!(address) {
                        bus.count(address);
                    }
                    bank!(address);
                    cycles += 1 + u64::from(waits);
                    value
                } else if plain && B::Map::FLASH.contains(address) {
                    step!();
                } else {
                    settle!();
                    self.cycles = cycles;
                    self.pc = pc;
                    let result = self.load_slow(mem, bus, address, $size);
                    cycles = self.cycles;
                    match result {
                        Ok(value) => value,
                        Err(cause) => {
                            $undo;
                            fault!(cause)
                        }
                    }
                }
            }};
        }
        macro_rules! store {
            ($size:literal, $address:expr, $value:expr) => {{
                let (address, value): (u32, u32) = ($address, $value);
                permit!(Access::Write, address);
                if plain && mem.store_plain::<$size>(address, value) || mem.store_fast::<$size>(address, value) {
                    if counts!(address) {
                        bus.count(address);
                    }
                    bank!(address);
                    cycles += 1;
                } else {
                    settle!();
                    self.cycles = cycles;
                    let result = self.store_slow(mem, bus, address, value, $size);
                    cycles = self.cycles;
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
            ($next:expr) => {
                if bus.sys().attention {
                    let last = pc;
                    pc = pc.wrapping_add($next);
                    leave!(Exit::Limit, last);
                }
            };
        }
        // In the plain copy, before the instruction changes anything: a jump out of Thumb state or from an exception steps.
        macro_rules! plain_target {
            ($target:expr) => {
                if plain && ($target & 1 == 0 || $target >= 0xf000_0000) {
                    step!();
                }
            };
        }
        macro_rules! interwork {
            ($target:expr) => {{
                let target: u32 = $target;
                if LOOK && target >= 0xf000_0000 && self.ipsr != 0 {
                    sync!(pc);
                    if let Err(cause) = self.exception_return(mem, bus, target) {
                        self.hard_fault(mem, bus, cause);
                    }
                    return Exit::Region;
                }
                if LOOK && target & 1 == 0 {
                    // A branch that leaves Thumb state faults at the target.
                    pc = target;
                    fault!(Cause::InvalidState { target });
                }
                jump!(target & !1);
            }};
        }

        loop {
            if cycles >= limit {
                leave!(Exit::Limit, pc.wrapping_sub(2));
            }
            // The core fetches words, the next one while the instruction in the upper halfword executes. A taken branch
            // there waits for an unused word, and a branch to an upper halfword fetches two (docs/evidence/cache.md).
            if LOOK && (region != region::FAST || counted != 0) {
                let ahead = pc.wrapping_add(2) >> 2;
                if ahead != word {
                    if pc & 2 != 0 && word != pc >> 2 {
                        fetch!(pc);
                    }
                    fetch!(ahead << 2);
                    word = ahead;
                }
            } else if from!(FAST) && pc.wrapping_sub(start) >= size {
                leave!(Exit::Region, pc);
            } else if runs && pc >= held {
                word = fetched!(pc.wrapping_sub(2));
                held = 0;
                let ahead = pc.wrapping_add(2) >> 2;
                let mut words = 1;
                if ahead != word {
                    words = mem.xip.holds((ahead << 2) & (B::Map::FLASH.bytes - 1));
                    let both = pc & 2 != 0 && word != pc >> 2;
                    if words == 0 || both && mem.xip.holds(pc & (B::Map::FLASH.bytes - 1)) == 0 {
                        leave!(Exit::Step, pc);
                    }
                    word = ahead.wrapping_sub(1 + u32::from(both));
                }
                held = ((ahead.wrapping_add(words)) << 2).wrapping_sub(2);
                if run != NO_RUN {
                    mem.xip.remember_run(run, held);
                }
            }
            permit!(Access::Fetch, pc);
            let slot = bias.wrapping_add((pc >> 1) as usize);
            let op = if from!(BUS) {
                self.cycles = cycles;
                let fetched = self.predecode(mem, bus, pc);
                cycles = self.cycles;
                match fetched {
                    Ok(op) => op,
                    Err(cause) => fault!(cause),
                }
            } else if plain {
                match mem.ops.get(slot) {
                    Some(op) if op.kind != Kind::Undecoded => *op,
                    _ => leave!(Exit::Step, pc),
                }
            } else {
                match mem.ops[slot] {
                    Op { kind: Kind::Undecoded, .. } => {
                        // Running past the end of a region is a cross-region jump.
                        if pc.wrapping_sub(start) >= size {
                            leave!(Exit::Region, pc);
                        }
                        match self.predecode(mem, bus, pc) {
                            Ok(op) => op,
                            Err(cause) => fault!(cause),
                        }
                    }
                    op => op,
                }
            };
            if LOOK && matches!(op.kind, Kind::Bl | Kind::Msr | Kind::Mrs | Kind::Barrier) {
                permit!(Access::Fetch, pc.wrapping_add(2));
            }
            executed += 1;
            began = (cycles, banked);
            match op.kind {
                Kind::Undecoded | Kind::Undefined | Kind::Bkpt | Kind::Svc if plain => step!(),
                Kind::Cps | Kind::Msr | Kind::Mrs | Kind::Barrier if plain => step!(),
                Kind::Sev | Kind::Wfe | Kind::Wfi if plain => step!(),
                // Predecoding leaves none undecoded.
                Kind::Undecoded => fault!(Cause::UndefinedInstruction),
                Kind::MovsReg => result!(op, reg!(op.c)),
                Kind::LslImm => {
                    let x = reg!(op.c);
                    self.c = x & (1 << (32 - op.imm)) != 0;
                    result!(op, x << op.imm);
                }
                Kind::LsrImm => {
                    let x = reg!(op.c);
                    self.c = (x >> (op.imm - 1)) & 1 != 0;
                    result!(op, (u64::from(x) >> op.imm) as u32);
                }
                Kind::AsrImm => {
                    let x = i64::from(reg!(op.c) as i32);
                    self.c = (x >> (op.imm - 1)) & 1 != 0;
                    result!(op, (x >> op.imm) as u32);
                }
                Kind::AddReg => result!(op, add_with_carry!(reg!(op.b), reg!(op.c), false)),
                Kind::SubReg => result!(op, subtract!(reg!(op.b), reg!(op.c))),
                Kind::AddImm => result!(op, add_with_carry!(reg!(op.b), op.imm, false)),
                Kind::SubImm => result!(op, subtract!(reg!(op.b), op.imm)),
                Kind::MovImm => result!(op, op.imm),
                Kind::CmpImm => compare!(slot, subtract!(reg!(op.b), op.imm)),
                Kind::And => result!(op, reg!(op.b) & reg!(op.c)),
                Kind::Eor => result!(op, reg!(op.b) ^ reg!(op.c)),
                Kind::LslReg => {
                    let (x, n) = (u64::from(reg!(op.b)), reg!(op.c) & 0xff);
                    if n != 0 {
                        self.c = n <= 32 && (x << n) >> 32 & 1 != 0;
                    }
                    result!(op, if n < 32 { (x << n) as u32 } else { 0 });
                }
                Kind::LsrReg => {
                    let (x, n) = (u64::from(reg!(op.b)), reg!(op.c) & 0xff);
                    if n != 0 {
                        self.c = n <= 32 && (x >> (n - 1)) & 1 != 0;
                    }
                    result!(op, if n < 32 { (x >> n) as u32 } else { 0 });
                }
                Kind::AsrReg => {
                    let (x, n) = (i64::from(reg!(op.b) as i32), (reg!(op.c) & 0xff).min(32));
                    if n != 0 {
                        self.c = (x >> (n - 1)) & 1 != 0;
                    }
                    result!(op, (x >> n) as u32);
                }
                Kind::Adc => result!(op, add_with_carry!(reg!(op.b), reg!(op.c), self.c)),
                Kind::Sbc => result!(op, add_with_carry!(reg!(op.b), !reg!(op.c), self.c)),
                Kind::RorReg => {
                    let (x, n) = (reg!(op.b), reg!(op.c) & 0xff);
                    let value = x.rotate_right(n & 31);
                    if n != 0 {
                        self.c = value >> 31 != 0;
                    }
                    result!(op, value);
                }
                Kind::Tst => compare!(slot, reg!(op.b) & reg!(op.c)),
                Kind::Rsb => result!(op, subtract!(0, reg!(op.c))),
                Kind::CmpReg => compare!(slot, subtract!(reg!(op.b), reg!(op.c))),
                Kind::Cmn => compare!(slot, add_with_carry!(reg!(op.b), reg!(op.c), false)),
                Kind::Orr => result!(op, reg!(op.b) | reg!(op.c)),
                Kind::Mul => result!(op, reg!(op.b).wrapping_mul(reg!(op.c))),
                Kind::Bic => result!(op, reg!(op.b) & !reg!(op.c)),
                Kind::Mvn => result!(op, !reg!(op.c)),
                Kind::AddHi => {
                    let value = reg!(op.b).wrapping_add(reg!(op.c));
                    reg!(op.a) = if op.a == 13 { value & !3 } else { value };
                    cycles += 1;
                }
                Kind::AddFromPc => {
                    let value = reg!(op.b).wrapping_add(pc.wrapping_add(4));
                    reg!(op.a) = if op.a == 13 { value & !3 } else { value };
                    cycles += 1;
                }
                Kind::AddPc => {
                    let addend = if op.c == 15 { pc.wrapping_add(4) } else { reg!(op.c) };
                    cycles += 2;
                    jump!(pc.wrapping_add(4).wrapping_add(addend) & !1);
                }
                Kind::MovHi => {
                    let value = reg!(op.c);
                    reg!(op.a) = if op.a == 13 { value & !3 } else { value };
                    cycles += 1;
                }
                Kind::MovFromPc => {
                    let value = pc.wrapping_add(4);
                    reg!(op.a) = if op.a == 13 { value & !3 } else { value };
                    cycles += 1;
                }
                Kind::MovPc => {
                    let target = if op.c == 15 { pc.wrapping_add(4) } else { reg!(op.c) };
                    cycles += 2;
                    jump!(target & !1);
                }
                Kind::Bx => {
                    let target = reg!(op.c);
                    plain_target!(target);
                    cycles += 2;
                    interwork!(target);
                }
                Kind::Blx => {
                    let target = reg!(op.c);
                    plain_target!(target);
                    self.regs[14] = pc.wrapping_add(2) | 1;
                    cycles += 2;
                    if LOOK && target & 1 == 0 {
                        pc = target;
                        fault!(Cause::InvalidState { target });
                    }
                    jump!(target & !1);
                }
                Kind::LdrLit => {
                    let address = (pc.wrapping_add(4) & !3).wrapping_add(op.imm);
                    reg!(op.a) = load!(4, address);
                    cycles += 1;
                    attend!(2);
                }
                Kind::StrReg => {
                    store!(4, reg!(op.b).wrapping_add(reg!(op.c)), reg!(op.a));
                    cycles += 1;
                    attend!(2);
                }
                Kind::StrhReg => {
                    store!(2, reg!(op.b).wrapping_add(reg!(op.c)), reg!(op.a));
                    cycles += 1;
                    attend!(2);
                }
                Kind::StrbReg => {
                    store!(1, reg!(op.b).wrapping_add(reg!(op.c)), reg!(op.a));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrsbReg => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(reg!(op.c))) as u8 as i8 as u32;
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrReg => {
                    reg!(op.a) = load!(4, reg!(op.b).wrapping_add(reg!(op.c)));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrhReg => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(reg!(op.c)));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrbReg => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(reg!(op.c)));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrshReg => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(reg!(op.c))) as u16 as i16 as u32;
                    cycles += 1;
                    attend!(2);
                }
                Kind::StrImm => {
                    store!(4, reg!(op.b).wrapping_add(op.imm), reg!(op.a));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrImm => {
                    reg!(op.a) = load!(4, reg!(op.b).wrapping_add(op.imm));
                    cycles += 1;
                    attend!(2);
                }
                Kind::StrbImm => {
                    store!(1, reg!(op.b).wrapping_add(op.imm), reg!(op.a));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrbImm => {
                    reg!(op.a) = load!(1, reg!(op.b).wrapping_add(op.imm));
                    cycles += 1;
                    attend!(2);
                }
                Kind::StrhImm => {
                    store!(2, reg!(op.b).wrapping_add(op.imm), reg!(op.a));
                    cycles += 1;
                    attend!(2);
                }
                Kind::LdrhImm => {
                    reg!(op.a) = load!(2, reg!(op.b).wrapping_add(op.imm));
                    cycles += 1;
                    attend!(2);
                }
                Kind::Adr => {
                    reg!(op.a) = (pc.wrapping_add(4) & !3).wrapping_add(op.imm);
                    cycles += 1;
                }
                Kind::AddSpImm => {
                    reg!(op.a) = self.regs[13].wrapping_add(op.imm);
                    cycles += 1;
                }
                Kind::AddSp => {
                    self.regs[13] = self.regs[13].wrapping_add(op.imm);
                    cycles += 1;
                }
                Kind::SubSp => {
                    self.regs[13] = self.regs[13].wrapping_sub(op.imm);
                    cycles += 1;
                }
                Kind::Sxth => {
                    reg!(op.a) = reg!(op.c) as u16 as i16 as u32;
                    cycles += 1;
                }
                Kind::Sxtb => {
                    reg!(op.a) = reg!(op.c) as u8 as i8 as u32;
                    cycles += 1;
                }
                Kind::Uxth => {
                    reg!(op.a) = reg!(op.c) & 0xffff;
                    cycles += 1;
                }
                Kind::Uxtb => {
                    reg!(op.a) = reg!(op.c) & 0xff;
                    cycles += 1;
                }
                Kind::Push => {
                    let mut list = op.imm;
                    let sp = self.regs[13].wrapping_sub(4 * list.count_ones());
                    let mut at = sp;
                    while list != 0 {
                        store!(4, at, reg!(list.trailing_zeros() as u8));
                        at = at.wrapping_add(4);
                        list &= list - 1;
                    }
                    self.regs[13] = sp;
                    cycles += 1;
                    attend!(2);
                }
                Kind::Pop | Kind::PopPc => {
                    let mut list = op.imm;
                    let mut at = self.regs[13];
                    while list != 0 {
                        repeatable!(at);
                        let value = load!(4, at);
                        reg!(list.trailing_zeros() as u8) = value;
                        at = at.wrapping_add(4);
                        list &= list - 1;
                    }
                    if op.kind == Kind::PopPc {
                        repeatable!(at);
                        let target = load!(4, at);
                        plain_target!(target);
                        self.regs[13] = at.wrapping_add(4);
                        // 3 + N, where N includes the PC.
                        cycles += 3;
                        if LOOK && bus.sys().attention && target & 1 != 0 && target < 0xf000_0000 {
                            pc = target & !1;
                            word = NO_WORD;
                            leave!(Exit::Limit, pc);
                        }
                        interwork!(target);
                    }
                    self.regs[13] = at;
                    cycles += 1;
                    attend!(2);
                }
                Kind::Cps => {
                    if self.privileged() {
                        self.primask = op.imm != 0;
                    }
                    cycles += 1;
                    if !self.primask && self.ppb.anything_pending() {
                        bus.sys_mut().attention = true;
                        attend!(2);
                    }
                }
                Kind::Rev => {
                    reg!(op.a) = reg!(op.c).swap_bytes();
                    cycles += 1;
                }
                Kind::Rev16 => {
                    let x = reg!(op.c);
                    reg!(op.a) = ((x & 0x00ff_00ff) << 8) | ((x >> 8) & 0x00ff_00ff);
                    cycles += 1;
                }
                Kind::Revsh => {
                    reg!(op.a) = (reg!(op.c) as u16).swap_bytes() as i16 as u32;
                    cycles += 1;
                }
                // Without a debugger, BKPT is a fault, like an undefined instruction.
                Kind::Bkpt => fault!(Cause::Breakpoint),
                Kind::Undefined => fault!(Cause::UndefinedInstruction),
                Kind::Nop => cycles += 1,
                Kind::Sev => {
                    bus.sys_mut().event_signal = true;
                    bus.sys_mut().attention = true;
                    cycles += 1;
                    attend!(2);
                }
                Kind::Wfe => {
                    cycles += 2;
                    if std::mem::take(&mut self.event_register) {
                        pc = pc.wrapping_add(2);
                        continue;
                    }
                    pc = pc.wrapping_add(2);
                    self.state = State::Wfe;
                    sync!(pc.wrapping_sub(2));
                    self.wake(cycles);
                    return Exit::Limit;
                }
                Kind::Wfi => {
                    cycles += 2;
                    pc = pc.wrapping_add(2);
                    self.state = State::Wfi;
                    sync!(pc.wrapping_sub(2));
                    self.wake(cycles);
                    return Exit::Limit;
                }
                Kind::Stm => {
                    let mut list = op.imm;
                    let mut at = reg!(op.b);
                    while list != 0 {
                        store!(4, at, reg!(list.trailing_zeros() as u8));
                        at = at.wrapping_add(4);
                        list &= list - 1;
                    }
                    reg!(op.b) = at;
                    cycles += 1;
                    attend!(2);
                }
                Kind::Ldm => {
                    let mut list = op.imm;
                    let base = reg!(op.b);
                    let mut at = base;
                    while list != 0 {
                        // The handler sees the original base, so that it can repeat the instruction.
                        if plain && !B::Map::SRAM.contains(at) {
                            reg!(op.b) = base;
                            step!();
                        }
                        let value = load!(4, at, reg!(op.b) = base);
                        reg!(list.trailing_zeros() as u8) = value;
                        at = at.wrapping_add(4);
                        list &= list - 1;
                    }
                    // A base in the list keeps the loaded value.
                    if op.imm & (1 << op.b) == 0 {
                        reg!(op.b) = at;
                    }
                    cycles += 1;
                    attend!(2);
                }
                Kind::Beq => branch_if!(op, self.nz as u32 == 0),
                Kind::Bne => branch_if!(op, self.nz as u32 != 0),
                Kind::Bcs => branch_if!(op, self.c),
                Kind::Bcc => branch_if!(op, !self.c),
                Kind::Bmi => branch_if!(op, self.nz < 0),
                Kind::Bpl => branch_if!(op, self.nz >= 0),
                Kind::Bvs => branch_if!(op, self.v),
                Kind::Bvc => branch_if!(op, !self.v),
                Kind::Bhi => branch_if!(op, self.c && self.nz as u32 != 0),
                Kind::Bls => branch_if!(op, !self.c || self.nz as u32 == 0),
                Kind::Bge => branch_if!(op, (self.nz < 0) == self.v),
                Kind::Blt => branch_if!(op, (self.nz < 0) != self.v),
                Kind::Bgt => branch_if!(op, self.nz as u32 != 0 && (self.nz < 0) == self.v),
                Kind::Ble => branch_if!(op, self.nz as u32 == 0 || (self.nz < 0) != self.v),
                Kind::Svc => {
                    sync!(pc);
                    self.supervisor_call(mem, bus, pc.wrapping_add(2));
                    return Exit::Region;
                }
                Kind::B => {
                    cycles += 2;
                    jump!(pc.wrapping_add(4).wrapping_add(op.imm));
                }
                Kind::Bl => {
                    // The branch is in BL's second half, so a first half in a lower halfword fetches ahead.
                    let second = pc.wrapping_add(2);
                    if LOOK && pc & 2 == 0 {
                        fetch!(pc.wrapping_add(4));
                    }
                    if runs
                        && second >= held
                        && pc & 2 == 0
                        && mem.xip.holds(pc.wrapping_add(4) & (B::Map::FLASH.bytes - 1)) == 0
                    {
                        step!();
                    }
                    self.regs[14] = pc.wrapping_add(4) | 1;
                    cycles += 3;
                    jump!(pc.wrapping_add(4).wrapping_add(op.imm), if pc & 2 == 0 { second } else { pc });
                }
                Kind::Msr => {
                    let value = reg!(op.b);
                    self.msr(op.imm, value);
                    cycles += 3;
                    if self.ppb.anything_pending() {
                        bus.sys_mut().attention = true;
                    }
                    attend!(4);
                    pc = pc.wrapping_add(2);
                }
                Kind::Mrs => {
                    reg!(op.a) = self.mrs(op.imm);
                    cycles += 3;
                    pc = pc.wrapping_add(2);
                }
                Kind::Barrier => {
                    cycles += 3;
                    pc = pc.wrapping_add(2);
                }
            }
            pc = pc.wrapping_add(2);
            if from!(BUS) {
                leave!(Exit::Region, pc);
            }
        }
    }
}
