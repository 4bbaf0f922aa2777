//! The instructions: semantics and cycle counts ([`crate::time`]).
//!
//! The loop runs predecoded instructions of one memory region until a cycle limit, an event, or a cross-region jump.

use cpu::Exit;
use cpu::interpreter::{Code, Interpreter, region};

use crate::core::{Core, NO_WORD, State, late};
use crate::decode::{Kind, Op, decode, pushed};
use crate::pmp::Access;
use crate::traps::Cause;
use crate::{Bus, Hazard3, Map, Master, Memory, time};

/// The upper half of a product.
fn high(product: i64) -> u32 {
    (product >> 32) as u32
}

/// Reverses the bits of each byte.
fn brev8(x: u32) -> u32 {
    x.reverse_bits().swap_bytes()
}

/// Interleaves the bits of both halves.
fn zip(x: u32) -> u32 {
    (0..16).fold(0, |to, i| to | (x >> i & 1) << (2 * i) | (x >> (i + 16) & 1) << (2 * i + 1))
}

fn unzip(x: u32) -> u32 {
    (0..16).fold(0, |to, i| to | (x >> (2 * i) & 1) << i | (x >> (2 * i + 1) & 1) << (i + 16))
}

/// Sets each byte that is not 0 to ones.
fn orc_b(x: u32) -> u32 {
    u32::from_le_bytes(x.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xff }))
}

/// The result of an atomic operation, by its funct5.
fn amo(funct5: u32, old: u32, operand: u32) -> u32 {
    match funct5 {
        0x00 => old.wrapping_add(operand),
        0x01 => operand,
        0x04 => old ^ operand,
        0x08 => old | operand,
        0x0c => old & operand,
        0x10 => (old as i32).min(operand as i32) as u32,
        0x14 => (old as i32).max(operand as i32) as u32,
        0x18 => old.min(operand),
        _ => old.max(operand),
    }
}

/// Quotient and remainder, signed; the specification's values for 0 and for an overflow.
fn divide(a: u32, b: u32) -> (u32, u32) {
    let (a, b) = (a as i32, b as i32);
    if b == 0 { (u32::MAX, a as u32) } else { (a.wrapping_div(b) as u32, a.wrapping_rem(b) as u32) }
}

/// Cycles of a signed division: a sign is corrected at its end.
fn signed_division(a: u32, b: u32) -> u64 {
    let (a, b) = (a as i32, b as i32);
    time::DIVIDE + u64::from(a < 0 || b < 0)
}

impl Core {
    /// Runs until `cycles` reaches `limit`, an event needs handling, or the core stops running.
    pub fn run<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, limit: u64) {
        while self.state == State::Running && self.cycles < limit && !bus.sys().attention {
            if self.run_here(mem, bus, limit, false) == Exit::Limit {
                break;
            }
            // The last instruction may have let an interrupt through.
            self.take_interrupt(bus);
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
        let fetched = bus.fetch(mem, Master::Core(self.index), pc, 2);
        let half = fetched.map_err(|_| Cause::Fetch { address: pc })?;
        self.cycles += u64::from(bus.waits());
        let after = pc.wrapping_add(2);
        let next = match bus.fetch(mem, Master::Core(self.index), after, 2) {
            Ok(next) => next,
            Err(_) if half & 3 == 3 => return Err(Cause::Fetch { address: after }),
            Err(_) => 0,
        };
        Ok(decode(half as u16, next as u16))
    }
}

impl<B: Bus> Interpreter<Hazard3, B> for Core {
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
        Core::guards(self)
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

        // Writes back the state that calls, the caller and traps read.
        macro_rules! sync {
            () => {{
                self.pc = pc;
                self.instructions += executed;
                #[allow(unused_assignments)]
                {
                    executed = 0;
                }
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
        macro_rules! trap {
            ($cause:expr) => {{
                let cause: Cause = $cause;
                sync!();
                self.exception(bus, cause);
                return Exit::Region;
            }};
        }

        loop {
            if cycles >= limit {
                leave!(Exit::Limit);
            }
            if (LOOK || REGION == region::XIP) && word != pc >> 2 {
                fetch!(pc);
                word = pc >> 2;
            }
            let op = if from!(BUS) {
                self.cycles = cycles;
                let fetched = self.predecode(mem, bus, pc);
                cycles = self.cycles;
                match fetched {
                    Ok(op) => op,
                    Err(cause) => trap!(cause),
                }
            } else {
                match mem.ops[base + (pc.wrapping_sub(start) >> 1) as usize] {
                    Op { kind: Kind::Undecoded, .. } => {
                        // Running past the end of a region is a cross-region jump.
                        if pc.wrapping_sub(start) >= size {
                            leave!(Exit::Region);
                        }
                        self.cycles = cycles;
                        let fetched = self.predecode(mem, bus, pc);
                        cycles = self.cycles;
                        match fetched {
                            Ok(op) => op,
                            Err(cause) => trap!(cause),
                        }
                    }
                    op => op,
                }
            };
            if (LOOK || REGION == region::XIP) && op.is_wide() && pc & 2 != 0 {
                // The end of a region has no word behind it.
                if pc.wrapping_add(2).wrapping_sub(start) < size {
                    fetch!(pc.wrapping_add(2));
                }
                word = pc.wrapping_add(2) >> 2;
            }
            if LOOK && !self.pmp.allows(Access::Fetch, pc, op.bytes(), self.machine) {
                trap!(Cause::Fetch { address: pc });
            }
            executed += 1;
            // Waits for a load, for a target that takes two fetches, or for a second exclusive access.
            let waited = late;
            let awaited = waited & 0xff;
            cycles += u64::from(
                awaited == u32::from(op.rs1)
                    || awaited == u32::from(op.rs2)
                    || awaited == late::UPPER_HALF && op.is_wide(),
            );
            late = late::NOTHING;

            macro_rules! rs1 {
                () => {
                    self.regs[usize::from(op.rs1 & 63)]
                };
            }
            macro_rules! rs2 {
                () => {
                    self.regs[usize::from(op.rs2 & 63)]
                };
            }
            macro_rules! next {
                () => {{
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
                    self.regs[op.rd()] = value;
                    cycles += 1;
                }};
            }
            // An instruction that traps has not been executed.
            macro_rules! fail {
                ($cause:expr) => {{
                    executed -= 1;
                    trap!($cause)
                }};
            }
            macro_rules! jump {
                ($target:expr) => {{
                    pc = $target;
                    word = NO_WORD;
                    late = if pc & 2 == 0 { late::NOTHING } else { late::UPPER_HALF };
                    if from!(BUS) || pc.wrapping_sub(start) >= size {
                        leave!(Exit::Region);
                    }
                    continue;
                }};
            }
            macro_rules! branch {
                ($taken:expr) => {{
                    let predicted = self.predicted == pc;
                    if $taken {
                        cycles += if predicted { time::PREDICTED } else { time::JUMP };
                        let backward = op.imm >> 31 != 0;
                        // A loop of one narrow instruction at the start of a word escapes the predictor.
                        let escapes = op.imm == -2i32 as u32 && pc & 2 != 0;
                        if backward && !predicted && !escapes {
                            self.predicted = pc;
                        }
                        jump!(pc.wrapping_add(op.imm));
                    }
                    cycles += if predicted { time::JUMP } else { time::PREDICTED };
                    if predicted {
                        self.predicted = NO_WORD;
                    }
                    next!();
                }};
            }
            macro_rules! load {
                ($size:literal, $value:ident => $extended:expr) => {{
                    let address = rs1!().wrapping_add(op.imm);
                    if LOOK {
                        self.cycles = cycles;
                        if self.guards()
                            && let Err(cause) = self.permit(bus, Access::Read, address)
                        {
                            fail!(cause);
                        }
                        if counted >> (address >> 28) & 1 != 0 {
                            bus.count(address);
                        }
                    }
                    let $value = match mem.load_fast::<$size>(address) {
                        Some((value, waits)) => {
                            cycles += u64::from(waits);
                            value
                        }
                        None => {
                            sync!();
                            match self.load_slow(mem, bus, address, $size) {
                                Ok(value) => {
                                    cycles = self.cycles;
                                    value
                                }
                                Err(cause) => {
                                    cycles = self.cycles;
                                    self.instructions -= 1;
                                    trap!(cause);
                                }
                            }
                        }
                    };
                    self.regs[op.rd()] = $extended;
                    // No instruction waits for a load to x0.
                    late = op.rd() as u32;
                    cycles += 1;
                    attend!();
                }};
            }
            macro_rules! attend {
                () => {{
                    if bus.sys().attention {
                        pc = pc.wrapping_add(op.bytes());
                        leave!(Exit::Limit);
                    }
                }};
            }
            macro_rules! store {
                ($size:literal) => {{
                    let address = rs1!().wrapping_add(op.imm);
                    let value = self.regs[op.rd()];
                    if LOOK {
                        self.cycles = cycles;
                        if self.guards()
                            && let Err(cause) = self.permit(bus, Access::Write, address)
                        {
                            fail!(cause);
                        }
                        if counted >> (address >> 28) & 1 != 0 {
                            bus.count(address);
                        }
                    }
                    if !mem.store_fast::<$size>(address, value) {
                        sync!();
                        let stored = self.store_slow(mem, bus, address, value, $size);
                        cycles = self.cycles;
                        if let Err(cause) = stored {
                            self.instructions -= 1;
                            trap!(cause);
                        }
                    }
                    cycles += 1;
                    attend!();
                }};
            }

            match op.kind {
                Kind::Lui => result!(op.imm),
                Kind::Auipc => result!(pc.wrapping_add(op.imm)),
                Kind::Jal => {
                    self.regs[op.rd()] = pc.wrapping_add(op.bytes());
                    cycles += time::JUMP;
                    jump!(pc.wrapping_add(op.imm));
                }
                Kind::Jalr => {
                    let target = rs1!().wrapping_add(op.imm) & !1;
                    self.regs[op.rd()] = pc.wrapping_add(op.bytes());
                    cycles += time::JUMP;
                    jump!(target);
                }
                Kind::Beq => branch!(rs1!() == rs2!()),
                Kind::Bne => branch!(rs1!() != rs2!()),
                Kind::Blt => branch!((rs1!() as i32) < rs2!() as i32),
                Kind::Bge => branch!(rs1!() as i32 >= rs2!() as i32),
                Kind::Bltu => branch!(rs1!() < rs2!()),
                Kind::Bgeu => branch!(rs1!() >= rs2!()),
                Kind::Lb => load!(1, x => x as i8 as u32),
                Kind::Lh => load!(2, x => x as i16 as u32),
                Kind::Lw => load!(4, x => x),
                Kind::Lbu => load!(1, x => x),
                Kind::Lhu => load!(2, x => x),
                Kind::Sb => store!(1),
                Kind::Sh => store!(2),
                Kind::Sw => store!(4),
                Kind::Addi => result!(rs1!().wrapping_add(op.imm)),
                Kind::Slti => result!(u32::from((rs1!() as i32) < op.imm as i32)),
                Kind::Sltiu => result!(u32::from(rs1!() < op.imm)),
                Kind::Xori => result!(rs1!() ^ op.imm),
                Kind::Ori => result!(rs1!() | op.imm),
                Kind::Andi => result!(rs1!() & op.imm),
                Kind::Slli => result!(rs1!() << (op.imm & 31)),
                Kind::Srli => result!(rs1!() >> (op.imm & 31)),
                Kind::Srai => result!((rs1!() as i32 >> (op.imm & 31)) as u32),
                Kind::Add => result!(rs1!().wrapping_add(rs2!())),
                Kind::Sub => result!(rs1!().wrapping_sub(rs2!())),
                Kind::Sll => result!(rs1!() << (rs2!() & 31)),
                Kind::Slt => result!(u32::from((rs1!() as i32) < rs2!() as i32)),
                Kind::Sltu => result!(u32::from(rs1!() < rs2!())),
                Kind::Xor => result!(rs1!() ^ rs2!()),
                Kind::Srl => result!(rs1!() >> (rs2!() & 31)),
                Kind::Sra => result!((rs1!() as i32 >> (rs2!() & 31)) as u32),
                Kind::Or => result!(rs1!() | rs2!()),
                Kind::And => result!(rs1!() & rs2!()),
                Kind::Mul => result!(rs1!().wrapping_mul(rs2!())),
                Kind::Mulh => result!(high(i64::from(rs1!() as i32) * i64::from(rs2!() as i32))),
                Kind::Mulhsu => result!(high(i64::from(rs1!() as i32) * i64::from(rs2!()))),
                Kind::Mulhu => result!(high((u64::from(rs1!()) * u64::from(rs2!())) as i64)),
                Kind::Div => {
                    let (a, b) = (rs1!(), rs2!());
                    self.regs[op.rd()] = divide(a, b).0;
                    cycles += signed_division(a, b);
                }
                Kind::Rem => {
                    let (a, b) = (rs1!(), rs2!());
                    self.regs[op.rd()] = divide(a, b).1;
                    cycles += signed_division(a, b);
                }
                Kind::Divu => {
                    self.regs[op.rd()] = rs1!().checked_div(rs2!()).unwrap_or(u32::MAX);
                    cycles += time::DIVIDE;
                }
                Kind::Remu => {
                    let a = rs1!();
                    self.regs[op.rd()] = a.checked_rem(rs2!()).unwrap_or(a);
                    cycles += time::DIVIDE;
                }
                Kind::Sh1add => result!((rs1!() << 1).wrapping_add(rs2!())),
                Kind::Sh2add => result!((rs1!() << 2).wrapping_add(rs2!())),
                Kind::Sh3add => result!((rs1!() << 3).wrapping_add(rs2!())),
                Kind::Andn => result!(rs1!() & !rs2!()),
                Kind::Orn => result!(rs1!() | !rs2!()),
                Kind::Xnor => result!(!(rs1!() ^ rs2!())),
                Kind::Clz => result!(rs1!().leading_zeros()),
                Kind::Ctz => result!(rs1!().trailing_zeros()),
                Kind::Cpop => result!(rs1!().count_ones()),
                Kind::Max => result!((rs1!() as i32).max(rs2!() as i32) as u32),
                Kind::Maxu => result!(rs1!().max(rs2!())),
                Kind::Min => result!((rs1!() as i32).min(rs2!() as i32) as u32),
                Kind::Minu => result!(rs1!().min(rs2!())),
                Kind::SextB => result!(rs1!() as i8 as u32),
                Kind::SextH => result!(rs1!() as i16 as u32),
                Kind::Rol => result!(rs1!().rotate_left(rs2!() & 31)),
                Kind::Ror => result!(rs1!().rotate_right(rs2!() & 31)),
                Kind::Rori => result!(rs1!().rotate_right(op.imm)),
                Kind::OrcB => result!(orc_b(rs1!())),
                Kind::Rev8 => result!(rs1!().swap_bytes()),
                Kind::Bclr => result!(rs1!() & !(1 << (rs2!() & 31))),
                Kind::Bclri => result!(rs1!() & !(1 << op.imm)),
                Kind::Bext => result!(rs1!() >> (rs2!() & 31) & 1),
                Kind::Bexti => result!(rs1!() >> op.imm & 1),
                Kind::Binv => result!(rs1!() ^ 1 << (rs2!() & 31)),
                Kind::Binvi => result!(rs1!() ^ 1 << op.imm),
                Kind::Bset => result!(rs1!() | 1 << (rs2!() & 31)),
                Kind::Bseti => result!(rs1!() | 1 << op.imm),
                Kind::Pack => result!(rs1!() & 0xffff | rs2!() << 16),
                Kind::Packh => result!(rs1!() & 0xff | (rs2!() & 0xff) << 8),
                Kind::Brev8 => result!(brev8(rs1!())),
                Kind::Zip => result!(zip(rs1!())),
                Kind::Unzip => result!(unzip(rs1!())),
                Kind::Bextm => result!(rs1!() >> (rs2!() & 31) & op.imm),
                Kind::Bextmi => result!(rs1!() >> (op.imm & 31) & op.imm >> 8),
                Kind::Fence => cycles += 1,
                Kind::FenceI => {
                    cycles += time::JUMP;
                    self.predicted = NO_WORD;
                    jump!(pc.wrapping_add(op.bytes()));
                }
                Kind::Ecall => fail!(Cause::Call),
                Kind::Ebreak => fail!(Cause::Breakpoint),
                Kind::Undecoded | Kind::Illegal => fail!(Cause::Illegal),
                // A rare instruction leaves the loop, since it may change the assumptions of that.
                _ => {
                    if waited & late::EXCLUSIVE != 0
                        && matches!(op.kind, Kind::LrW | Kind::ScW | Kind::Amo)
                        && awaited != u32::from(op.rs1)
                        && awaited != u32::from(op.rs2)
                    {
                        cycles += 1;
                    }
                    sync!();
                    if let Err(cause) = self.rare(mem, bus, op) {
                        self.instructions -= 1;
                        self.exception(bus, cause);
                    }
                    return Exit::Region;
                }
            }
            next!();
        }
    }
}

impl Core {
    /// Goes on behind `op`.
    fn pass(&mut self, op: Op) {
        self.pc = self.pc.wrapping_add(op.bytes());
    }

    fn jump(&mut self, target: u32) {
        self.pc = target;
        self.fetch_word = NO_WORD;
        self.late = if target & 2 == 0 { late::NOTHING } else { late::UPPER_HALF };
    }

    /// Executes an instruction that the loop does not. `Err`: it traps, and has done nothing.
    #[inline(never)]
    fn rare<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, op: Op) -> Result<(), Cause> {
        let (first, second) = (self.regs[usize::from(op.rs1)], self.regs[usize::from(op.rs2)]);
        match op.kind {
            Kind::LrW => {
                if first & 3 != 0 {
                    return Err(Cause::LoadUnaligned { address: first });
                }
                let value = self.load_word(mem, bus, first)?;
                self.reserved = B::Map::SRAM.contains(first);
                if self.reserved {
                    mem.reserve(self.index, first);
                }
                self.regs[op.rd()] = value;
                self.late = op.rd() as u32 | late::EXCLUSIVE;
                self.cycles += 1;
            }
            Kind::ScW => {
                if first & 3 != 0 {
                    return Err(Cause::StoreUnaligned { address: first });
                }
                let mut done = false;
                if std::mem::take(&mut self.reserved) {
                    // Elsewhere than in SRAM the write is made, and reported as failed (datasheet 2.1.6.2).
                    done = mem.take_reservation(self.index, first);
                    if done || !B::Map::SRAM.contains(first) {
                        self.store_word(mem, bus, first, second)?;
                    }
                } else if self.guards() {
                    self.permit(bus, Access::Write, first)?;
                }
                self.regs[op.rd()] = u32::from(!done);
                self.late = op.rd() as u32 | late::EXCLUSIVE;
                self.cycles += 1;
            }
            Kind::Amo => {
                if first & 3 != 0 {
                    return Err(Cause::StoreUnaligned { address: first });
                }
                self.reserved = false;
                if self.guards() {
                    for access in [Access::Read, Access::Write] {
                        self.permit(bus, access, first).map_err(|_| Cause::Store { address: first })?;
                    }
                }
                let loaded = if B::Map::SRAM.contains(first) { mem.load_fast::<4>(first) } else { None };
                let Some((old, _)) = loaded else { return Err(Cause::Store { address: first }) };
                mem.store_fast::<4>(first, amo(op.imm, old, second));
                self.regs[op.rd()] = old;
                self.cycles += time::AMO;
            }
            Kind::Csr => {
                let writes = op.rs1 != 0 || op.imm >> 12 & 3 == 1;
                let old = self.access_csr(bus, op, first, writes).map_err(|_| Cause::Illegal)?;
                self.regs[op.rd()] = old;
                self.cycles += 1;
            }
            Kind::CsrImmediate => {
                let raw = op.imm >> 16;
                let writes = raw != 0 || op.imm >> 12 & 3 == 1;
                let old = self.access_csr(bus, op, raw, writes).map_err(|_| Cause::Illegal)?;
                self.regs[op.rd()] = old;
                self.cycles += 1;
            }
            Kind::Mret => {
                if !self.machine {
                    return Err(Cause::Illegal);
                }
                self.leave_trap();
                self.jump(self.pc);
                self.cycles += time::JUMP;
                return Ok(());
            }
            Kind::Wfi | Kind::Block => {
                if self.csrs.timeout_wait && !self.machine {
                    return Err(Cause::Illegal);
                }
                self.state = if op.kind == Kind::Wfi { State::Wfi } else { State::Wfe };
                self.cycles += time::SLEEP;
                let level = bus.sys().irq_level_for_core(self.index);
                self.wake(level, self.cycles);
            }
            Kind::Unblock => {
                if self.csrs.timeout_wait && !self.machine {
                    return Err(Cause::Illegal);
                }
                self.unblocked = true;
                let sys = bus.sys_mut();
                (sys.event_signal, sys.attention) = (true, true);
                self.cycles += 1;
            }
            Kind::CmPush => {
                let (bytes, count) = (op.imm & 0xffff, op.imm >> 16);
                for index in (0..count).rev() {
                    let address = first.wrapping_sub(4 * (count - index));
                    self.store_word(mem, bus, address, self.regs[pushed(index)])?;
                }
                self.regs[2] = first.wrapping_sub(bytes);
                self.cycles += 1 + u64::from(count);
            }
            Kind::CmPop | Kind::CmPopret | Kind::CmPopretz => return self.pop(mem, bus, op, first),
            Kind::CmMva01s => {
                (self.regs[10], self.regs[11]) = (first, second);
                self.cycles += time::DOUBLE_MOVE;
            }
            // `CmMvsa01`
            _ => {
                self.regs[(op.imm & 0xff) as usize] = first;
                self.regs[(op.imm >> 8) as usize] = second;
                self.cycles += time::DOUBLE_MOVE;
            }
        }
        self.pass(op);
        Ok(())
    }

    /// CM.POP, CM.POPRET, CM.POPRETZ.
    fn pop<B: Bus>(&mut self, mem: &mut Memory<B::Map>, bus: &mut B, op: Op, sp: u32) -> Result<(), Cause> {
        let (bytes, count) = (op.imm & 0xffff, op.imm >> 16);
        for index in (0..count).rev() {
            let address = sp.wrapping_add(bytes).wrapping_sub(4 * (count - index));
            self.regs[pushed(index)] = self.load_word(mem, bus, address)?;
        }
        self.regs[2] = sp.wrapping_add(bytes);
        // The return waits for the load of ra, which comes last.
        let count = u64::from(count);
        self.cycles += match op.kind {
            Kind::CmPop => 1 + count,
            Kind::CmPopret => 2 + count.max(2),
            _ => 3 + count.max(2),
        };
        if op.kind == Kind::CmPopretz {
            self.regs[10] = 0;
        }
        if op.kind == Kind::CmPop {
            self.pass(op);
        } else {
            self.jump(self.regs[1] & !1);
        }
        Ok(())
    }
}
