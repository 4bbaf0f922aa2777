//! The instructions: semantics and cycle counts (Cortex-M0+ TRM r0p1, table 3-1).
//!
//! The loop runs predecoded instructions of one memory region until a cycle limit, an event, or a cross-region jump.

use crate::architecture::V6m;
use crate::bus::{Bus, Master};
use crate::core::{Core, Exit, Left, NO_WORD, State};
use crate::decode::{Kind, Op, decode};
use crate::fault::Cause;
use crate::interpreter::{Interpreter, region};
use crate::map::Map;
use crate::memory::Memory;
use crate::mpu::Access;

/// In place of [`XipCache::changes`](parts::xip_cache::XipCache::changes): a run of code that is not to be remembered.
const NO_RUN: u64 = u64::MAX;

impl Core {
    /// Runs until `cycles` reaches `limit`, an event needs handling, or the core stops running.
    pub fn run<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, limit: u64) {
        while self.state == State::Running && self.cycles < limit && !bus.sys().attention {
            // Translated code asks no MPU.
            let protected = self.ppb.mpu.enabled();
            let left = if protected { None } else { self.run_translated(mem, bus, limit) };
            let limit = match left {
                None => limit,
                Some(Left::Look) => continue,
                // One instruction has started already.
                Some(Left::Interpret) => limit.max(self.cycles + 1),
            };
            if self.run_here(mem, bus, limit) == Exit::Limit {
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

impl<B: Bus> Interpreter<V6m, B> for Core {
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
        start: u32,
        size: u32,
        base: usize,
    ) -> Exit {
        let mut pc = self.pc;
        let mut word = self.fetch_word;
        let mut executed: u64 = 0;
        // A local variable, kept in a register: a chain of additions in memory would limit the loop.
        let mut cycles = self.cycles;
        // Before this address the cache holds all words of the instructions, and their accesses are not counted yet:
        // `settle` does that. 0: each fetch is looked up, and `word` is the last one.
        let mut held: u32 = 0;
        // The address at which such a run began, and how often the cache had changed then.
        let (mut run, mut changes) = (pc, NO_RUN);
        let runs = REGION == region::XIP && !LOOK;
        // An instruction's slot, less half of its address.
        let bias = base.wrapping_sub((start >> 1) as usize);

        // Changes by a store take effect when the loop is entered again.
        let counted = if LOOK { bus.counted() } else { 0 };
        macro_rules! counts {
            ($address:expr) => {
                LOOK && counted >> ($address >> 28) & 1 != 0
            };
        }

        // Counts the words of a run, up to those of the instruction at `$last`; the last word that was fetched.
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
        macro_rules! settle {
            ($last:expr) => {{
                word = fetched!($last);
                held = 0;
            }};
        }
        // Writes back the state that calls, the caller and exceptions read. The instruction at `$last` was fetched last.
        macro_rules! sync {
            ($last:expr) => {{
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
                if REGION == region::XIP {
                    cycles += u64::from(mem.xip.access_word($address & (B::Map::FLASH.bytes - 1)));
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
            ($target:expr) => {{
                let target: u32 = $target;
                let _ = fetched!(pc);
                pc = target;
                (word, held) = (NO_WORD, 0);
                if REGION == region::BUS || pc.wrapping_sub(start) >= size {
                    leave!(Exit::Region, pc);
                }
                if REGION != region::BUS && mem.translated.wants(bias.wrapping_add((pc >> 1) as usize)) {
                    leave!(Exit::Region, pc);
                }
                // At the limit the next instruction is not fetched.
                if runs && cycles < limit {
                    (run, changes) = (pc, mem.xip.changes());
                    held = mem.xip.run_from(pc);
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
                if !LOOK {
                    let next = mem.ops[$slot + 1];
                    if let Some(taken) = next.kind.taken() {
                        pc = pc.wrapping_add(2);
                        if cycles >= limit || runs && pc >= held {
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
        macro_rules! load {
            ($size:literal, $address:expr) => {
                load!($size, $address, {})
            };
            // `$undo` runs before the fault.
            ($size:literal, $address:expr, $undo:expr) => {{
                let address: u32 = $address;
                permit!(Access::Read, address, $undo);
                if let Some((value, waits)) = mem.load_fast::<$size>(address) {
                    if counts!(address) {
                        bus.count(address);
                    }
                    cycles += 1 + u64::from(waits);
                    if runs && !B::Map::SRAM.contains(address) && mem.xip.changes() != changes {
                        settle!(pc);
                    }
                    value
                } else {
                    settle!(pc);
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
                if mem.store_fast::<$size>(address, value) {
                    if counts!(address) {
                        bus.count(address);
                    }
                    cycles += 1;
                } else {
                    settle!(pc);
                    self.cycles = cycles;
                    let result = self.store_slow(mem, bus, address, value, $size);
                    cycles = self.cycles;
                    if let Err(cause) = result {
                        fault!(cause);
                    }
                    if REGION == region::XIP && mem.xip.offline {
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
        macro_rules! interwork {
            ($target:expr) => {{
                let target: u32 = $target;
                if target >= 0xf000_0000 && self.ipsr != 0 {
                    sync!(pc);
                    if let Err(cause) = self.exception_return(mem, bus, target) {
                        self.hard_fault(mem, bus, cause);
                    }
                    return Exit::Region;
                }
                if target & 1 == 0 {
                    // A branch that leaves Thumb state faults at the target.
                    settle!(pc);
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
            if LOOK || REGION == region::XIP && pc >= held {
                settle!(pc.wrapping_sub(2));
                // The core fetches words, the next one while the instruction in the upper halfword executes. A taken
                // branch there waits for an unused word, and a branch to an upper halfword fetches two
                // (docs/evidence/cache.md).
                let ahead = pc.wrapping_add(2) >> 2;
                if ahead != word {
                    if pc & 2 != 0 && word != pc >> 2 {
                        fetch!(pc);
                    }
                    if runs {
                        let (waits, whole) = mem.xip.access_line((ahead << 2) & (B::Map::FLASH.bytes - 1));
                        cycles += u64::from(waits);
                        if whole {
                            // The upper halfword of a line's last word needs the next line.
                            held = ((ahead | 1) << 2) + 2;
                            if mem.xip.changes() == changes {
                                mem.xip.remember_run(run, held);
                            }
                        } else {
                            changes = NO_RUN;
                        }
                    } else {
                        fetch!(ahead << 2);
                    }
                    word = ahead;
                }
            }
            permit!(Access::Fetch, pc);
            let slot = bias.wrapping_add((pc >> 1) as usize);
            let op = if REGION == region::BUS {
                self.cycles = cycles;
                let fetched = self.predecode(mem, bus, pc);
                cycles = self.cycles;
                match fetched {
                    Ok(op) => op,
                    Err(cause) => fault!(cause),
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
            match op.kind {
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
                    cycles += 2;
                    interwork!(reg!(op.c));
                }
                Kind::Blx => {
                    let target = reg!(op.c);
                    self.regs[14] = pc.wrapping_add(2) | 1;
                    cycles += 2;
                    if target & 1 == 0 {
                        settle!(pc);
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
                        let value = load!(4, at);
                        reg!(list.trailing_zeros() as u8) = value;
                        at = at.wrapping_add(4);
                        list &= list - 1;
                    }
                    if op.kind == Kind::PopPc {
                        let target = load!(4, at);
                        self.regs[13] = at.wrapping_add(4);
                        // 3 + N, where N includes the PC.
                        cycles += 3;
                        if bus.sys().attention && target & 1 != 0 && target < 0xf000_0000 {
                            let _ = fetched!(pc);
                            pc = target & !1;
                            (word, held) = (NO_WORD, 0);
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
                    if (LOOK || REGION == region::XIP) && pc & 2 == 0 {
                        if pc.wrapping_add(2) < held {
                            settle!(pc.wrapping_add(2));
                        } else {
                            fetch!(pc.wrapping_add(4));
                        }
                    }
                    self.regs[14] = pc.wrapping_add(4) | 1;
                    cycles += 3;
                    jump!(pc.wrapping_add(4).wrapping_add(op.imm));
                }
                Kind::Msr => {
                    settle!(pc);
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
                    settle!(pc);
                    reg!(op.a) = self.mrs(op.imm);
                    cycles += 3;
                    pc = pc.wrapping_add(2);
                }
                Kind::Barrier => {
                    settle!(pc);
                    cycles += 3;
                    pc = pc.wrapping_add(2);
                }
            }
            pc = pc.wrapping_add(2);
            if REGION == region::BUS {
                leave!(Exit::Region, pc);
            }
        }
    }
}
