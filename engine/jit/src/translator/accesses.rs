//! Loads and stores: of single values, of literals, and of lists.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use cpu::Map;
use cpu::memory::CODE_GRANULE_BITS;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::ahead::{LOAD, STORE};
use super::block::{After, Block, Place, guest};
use super::flags::{ALL, Apply, Operand};
use super::mistakes::Mistake;
use super::routines::{DENIED, ECX, FLASH, GRANULES};
use super::stubs::Stub;
use super::{Translate, counted, source};

/// The offset of an access from its base.
#[derive(Clone, Copy, Debug)]
pub enum Offset {
    /// A constant.
    Constant(u32),
    /// A register, shifted left by a constant.
    Register(u8, u8),
}

/// A load or a store of one value.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Logarithm of the number of bytes.
    pub size: u32,
    /// A load extends the sign.
    pub signed: bool,
    /// The guest's register with the value.
    pub register: u8,
    /// The register that the address is relative to, and the number that is added to it after the access.
    pub base: u8,
    /// That number.
    pub moved: i32,
}

/// The check before a load or store of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// None: words are loaded.
    None,
    /// Words are stored, where no code is.
    NoCode,
    /// The last word, which EDX gets, is an address in Thumb state, and not an exception return.
    Target,
}

impl<A: Translate, M: Map> Block<'_, A, M> {
    /// Returns the first byte of RAM that needs special handling.
    pub fn ram_end(&self) -> u32 {
        if self.counting { counted::<M>() } else { M::SRAM.bytes }
    }

    /// Sets ECX to the offset in RAM of an address.
    fn offset(&mut self, base: u8, offset: Offset) {
        let before = (M::SRAM.base as i32).wrapping_neg();
        match (guest(base), offset) {
            (Some(base), Offset::Constant(offset)) => {
                dynasm!(self.ops ; .arch x64 ; lea ecx, [Rq(base) + before.wrapping_add(offset as i32)]);
            }
            (None, Offset::Constant(offset)) => {
                self.read(ECX, base);
                dynasm!(self.ops ; .arch x64 ; add ecx, before.wrapping_add(offset as i32));
            }
            (host, Offset::Register(index, shift)) => match (host, guest(index), shift) {
                (Some(base), Some(index), 0) => {
                    dynasm!(self.ops ; .arch x64 ; lea ecx, [Rq(base) + Rq(index) + before]);
                }
                (Some(base), Some(index), 1) => {
                    dynasm!(self.ops ; .arch x64 ; lea ecx, [Rq(base) + Rq(index) * 2 + before]);
                }
                (Some(base), Some(index), 2) => {
                    dynasm!(self.ops ; .arch x64 ; lea ecx, [Rq(base) + Rq(index) * 4 + before]);
                }
                _ => {
                    self.read(ECX, index);
                    dynasm!(self.ops ; .arch x64 ; shl ecx, shift as i8);
                    Operand::Register(base).apply(Apply::Add, ECX, &mut self.ops, A::LAYOUT);
                    dynasm!(self.ops ; .arch x64 ; add ecx, before);
                }
            },
        }
    }

    /// Brings the offset in ECX into units of the access's size; jumps to `not` if it is outside RAM or unaligned.
    fn in_ram(&mut self, size: u32, end: u32, not: DynamicLabel) {
        if size > 0 {
            if self.makes(Mistake::UnalignedAccess) {
                dynasm!(self.ops ; .arch x64 ; and ecx, -1 << size);
            }
            dynasm!(self.ops ; .arch x64 ; ror ecx, size as i8);
        }
        if self.makes(Mistake::EndInside) {
            // It is taken as the first word, so that no foreign memory is read.
            dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (end >> size) as i32 ; jne >inside ; xor ecx, ecx ; inside:);
        }
        dynasm!(self.ops ; .arch x64 ; cmp ecx, DWORD (end >> size) as i32 ; jae =>not);
    }

    /// Sets ECX to the offset in RAM of the address in EAX, in units of its size; jumps to `not` if the address is
    /// outside the first `end` bytes of RAM or unaligned, or of `words` words one must not be accessed ahead.
    pub fn in_ram_at(&mut self, size: u32, end: u32, access: u32, words: u32, not: DynamicLabel) {
        dynasm!(self.ops ; .arch x64 ; lea ecx, [rax + (M::SRAM.base as i32).wrapping_neg()]);
        self.in_ram(size, end, not);
        self.permitted(access, size, words);
    }

    /// Sets EAX to the address whose offset in RAM is in ECX, in units of its size.
    pub(super) fn address(&mut self, size: u32) {
        if size > 0 {
            dynasm!(self.ops ; .arch x64 ; rol ecx, size as i8);
        }
        dynasm!(self.ops ; .arch x64 ; lea eax, [rcx + M::SRAM.base as i32]);
    }

    /// Adds to the base register of an access that has been made.
    pub(super) fn move_base(&mut self, Access { base, moved, .. }: Access) {
        match guest(base) {
            _ if moved == 0 => {}
            Some(host) => dynasm!(self.ops ; .arch x64 ; add Rd(host), moved),
            None => dynasm!(self.ops ; .arch x64 ; add DWORD [rbx + A::LAYOUT.register(base)], moved),
        }
    }

    /// Loads a value.
    pub fn load(&mut self, load: Access, offset: Offset) {
        let (place, after) = self.in_access();
        let [at, take, done] = [0; 3].map(|_| self.ops.new_dynamic_label());
        self.offset(load.base, offset);
        self.in_ram(load.size, self.ram_end(), at);
        self.permitted(LOAD, load.size, 1);
        dynasm!(self.ops ; .arch x64 ; =>take);
        let to = guest(load.register).unwrap_or(0);
        match (load.size, load.signed) {
            (0, false) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), BYTE [r13 + rcx]),
            (0, true) => dynasm!(self.ops ; .arch x64 ; movsx Rd(to), BYTE [r13 + rcx]),
            (1, true) if !self.makes(Mistake::SignLost) => {
                dynasm!(self.ops ; .arch x64 ; movsx Rd(to), WORD [r13 + rcx * 2]);
            }
            (1, _) => dynasm!(self.ops ; .arch x64 ; movzx Rd(to), WORD [r13 + rcx * 2]),
            _ => dynasm!(self.ops ; .arch x64 ; mov Rd(to), [r13 + rcx * 4]),
        }
        self.keep_in_core(load.register);
        self.move_base(load);
        dynasm!(self.ops ; .arch x64 ; =>done);
        if self.ahead {
            let stuck = self.bail_here();
            self.stubs.push(Stub::LoadAhead { at, load, cycles: place.cycles, done, stuck });
        } else {
            self.stubs.push(Stub::Load { at, load, place, after, done, take });
        }
        self.here.cycles += A::ACCESS - u32::from(self.makes(Mistake::LoadTakesLess));
    }

    /// Writes EAX to a register if the core has that.
    pub(super) fn keep_in_core(&mut self, register: u8) {
        if guest(register).is_none() {
            dynasm!(self.ops ; .arch x64 ; mov [rbx + A::LAYOUT.register(register)], eax);
        }
    }

    /// Returns [`Self::in_engine`] for an access of one value.
    fn in_access(&mut self) -> (Place<A::Pipeline>, After) {
        self.in_engine(A::BEFORE_ACCESS, A::ACCESS, 1)
    }

    /// Loads the literal at `address`.
    pub fn load_literal(&mut self, to: u8, address: u32) {
        let in_ram = address.wrapping_sub(M::SRAM.base);
        let in_flash = address.wrapping_sub(M::FLASH.base);
        let host = guest(to).unwrap_or(0);
        match self.part.source {
            source::FLASH if in_flash < self.part.size && address & 3 == 0 => {
                if !self.makes(Mistake::LiteralNotFetched) {
                    self.fetch_literal(to, address);
                }
                self.take_literal(to, in_flash);
            }
            source::RAM if in_ram < self.ram_end() && address & 3 == 0 => {
                if self.makes(Mistake::StaleLiteral) {
                    let value = self.mem.ram_u32(in_ram as usize);
                    dynasm!(self.ops ; .arch x64 ; mov Rd(host), DWORD value as i32);
                } else {
                    if self.ahead && !self.makes(Mistake::LiteralNotWatched) {
                        dynasm!(self.ops ; .arch x64 ; mov ecx, (in_ram >> 2) as i32);
                        self.permitted(LOAD, 2, 1);
                    }
                    dynasm!(self.ops ; .arch x64 ; mov Rd(host), [r13 + in_ram as i32]);
                }
                self.keep_in_core(to);
            }
            source::ROM if M::ROM.contains(address) => {
                let value = self.mem.rom_u32((address - M::ROM.base) as usize);
                self.write_constant(to, value);
            }
            _ => {
                let bail = self.bail_here();
                dynasm!(self.ops ; .arch x64 ; jmp =>bail);
            }
        }
        self.here.cycles += A::ACCESS;
    }

    /// Looks a literal in flash up in the cache.
    fn fetch_literal(&mut self, to: u8, address: u32) {
        let line = self.line;
        if self.ahead {
            // It exits at a miss.
            self.look_up(&[address], false);
            self.line = line;
            return;
        }
        self.here.fetched += 1;
        if self.line == Some(address >> 3) {
            return;
        }
        let [at, back] = [0; 2].map(|_| self.ops.new_dynamic_label());
        let (_, after) = self.in_access();
        self.jump_unless_cached(address, at);
        dynasm!(self.ops ; .arch x64 ; =>back);
        self.stubs.push(Stub::Literal { at, back, offset: address & (M::FLASH.bytes - 1), to, after });
    }

    /// Reads the word at an offset of flash.
    pub(super) fn take_literal(&mut self, to: u8, offset: u32) {
        let host = guest(to).unwrap_or(0);
        dynasm!(self.ops ; .arch x64 ; mov rcx, [r15 + FLASH] ; mov Rd(host), [rcx + offset as i32]);
        self.keep_in_core(to);
    }

    /// Jumps to `marked` if the granule of RAM at ECX units of `size` contains code, or `further` of them further. A
    /// window has permitted the store, which is no code then.
    pub(super) fn no_code(&mut self, size: u32, further: u32, marked: DynamicLabel) {
        let mistaken = self.makes(Mistake::StoreIntoCode) || further > 0 && self.makes(Mistake::LastWordIntoCode);
        if self.ahead || mistaken {
            return;
        }
        dynasm!(self.ops
            ; .arch x64
            ; lea edx, [rcx + further as i32]
            ; shr edx, (CODE_GRANULE_BITS as u32 - size) as i8
            ; add rdx, [r15 + GRANULES]
            ; cmp BYTE [rdx], 0
            ; jne =>marked
        );
    }

    /// In a window, asks once for each granule of `count` values at ECX units of `size`.
    fn permitted(&mut self, access: u32, size: u32, count: u32) {
        if !self.ahead {
            return;
        }
        for more in granules(count) {
            let [at, back] = [0; 2].map(|_| self.ops.new_dynamic_label());
            let stuck = self.bail_here();
            dynasm!(self.ops
                ; .arch x64
                ; lea edx, [rcx + more as i32]
                ; shr edx, (CODE_GRANULE_BITS as u32 - size) as i8
                ; add rdx, [r15 + DENIED + 8 * access as i32]
                ; cmp BYTE [rdx], 0
                ; jne =>at
                ; =>back
            );
            self.stubs.push(Stub::Touch { at, access, size, more, back, stuck });
        }
    }

    /// Writes a register to RAM at ECX units of `size` and `offset` bytes. EDX may change.
    pub fn put_into_ram(&mut self, size: u32, register: u8, offset: i32) {
        let value = guest(register).unwrap_or(2);
        if value == 2 {
            self.read(2, register);
        }
        match size {
            0 => dynasm!(self.ops ; .arch x64 ; mov BYTE [r13 + rcx + offset], Rb(value)),
            1 => dynasm!(self.ops ; .arch x64 ; mov WORD [r13 + rcx * 2 + offset], Rw(value)),
            _ => dynasm!(self.ops ; .arch x64 ; mov DWORD [r13 + rcx * 4 + offset], Rd(value)),
        }
    }

    /// Stores a value.
    pub fn store(&mut self, store: Access, offset: Offset) {
        let (place, after) = self.in_access();
        let [at, marked, done] = [0; 3].map(|_| self.ops.new_dynamic_label());
        self.offset(store.base, offset);
        self.in_ram(store.size, self.ram_end(), at);
        self.permitted(STORE, store.size, 1);
        self.no_code(store.size, 0, marked);
        self.put_into_ram(store.size, store.register, 0);
        self.move_base(store);
        dynasm!(self.ops ; .arch x64 ; =>done);
        if self.ahead {
            self.stubs.push(Stub::Bail { at, place: self.at });
        } else {
            self.stubs.push(Stub::Store { at, marked, store, place, after, done });
        }
        self.here.cycles += A::ACCESS;
    }

    /// Starts a load or store of `words` words at EAX; ECX: their offset in RAM, in words. Returns the label that leaves
    /// it to the interpreter, where they are not all plain.
    pub fn begin_multiple(&mut self, words: u32, check: Check) -> DynamicLabel {
        let bail = self.bail_here();
        let [at, moves] = [0; 2].map(|_| self.ops.new_dynamic_label());
        let (end, access) = (self.ram_end() - 4 * (words - 1), if check == Check::NoCode { STORE } else { LOAD });
        self.in_ram_at(2, end, access, words, if self.counting { at } else { bail });
        self.check_multiple(words, check, bail);
        dynasm!(self.ops ; .arch x64 ; =>moves);
        if self.counting {
            self.stubs.push(Stub::Counted { at, words, check, bail, moves });
        }
        bail
    }

    /// Checks `words` words of RAM at ECX words.
    pub fn check_multiple(&mut self, words: u32, check: Check, bail: DynamicLabel) {
        match check {
            Check::None => {}
            Check::NoCode => {
                for word in granules(words) {
                    self.no_code(2, word, bail);
                }
            }
            Check::Target => {
                dynasm!(self.ops ; .arch x64 ; mov edx, [r13 + rcx * 4 + 4 * (words - 1) as i32]);
                self.check_target(bail);
            }
        }
    }

    /// Writes a list of registers to RAM at ECX words. EDX may change.
    pub fn put_words(&mut self, list: u32) {
        for (word, register) in registers(list).enumerate() {
            self.put_into_ram(2, register, 4 * word as i32);
        }
    }

    /// Loads a list of registers from RAM at ECX words. EAX may change.
    pub fn take_words(&mut self, list: u32) {
        for (word, register) in registers(list).enumerate() {
            let host = guest(register).unwrap_or(0);
            dynasm!(self.ops ; .arch x64 ; mov Rd(host), [r13 + rcx * 4 + 4 * word as i32]);
            self.keep_in_core(register);
        }
    }

    /// Leaves the current instruction to the interpreter, within the block. `accesses`: it may access memory.
    pub fn execute(&mut self, accesses: bool) {
        // It may read or set them.
        self.write_flags(ALL);
        let [at, done] = [0; 2].map(|_| self.ops.new_dynamic_label());
        dynasm!(self.ops ; .arch x64 ; jmp =>at ; =>done);
        self.execute_at(at, done, 0, accesses);
    }

    /// Does the same at a label. The code that takes `cycles` instead ends at `done`.
    pub fn execute_at(&mut self, at: DynamicLabel, done: DynamicLabel, cycles: u32, accesses: bool) {
        if self.ahead {
            self.stubs.push(Stub::Bail { at, place: self.at });
        } else {
            let (place, after) = self.in_engine(0, cycles, 0);
            self.stubs.push(Stub::Execute { at, place, after, done, accesses });
        }
        self.here.cycles += cycles;
    }
}

/// Returns the registers of a list but the PC.
fn registers(list: u32) -> impl Iterator<Item = u8> {
    (0..15).filter(move |register| list & 1 << register != 0)
}

/// Returns one of `words` words for each granule that they can be in.
fn granules(words: u32) -> impl Iterator<Item = u32> {
    (0..words - 1).step_by(1 << (CODE_GRANULE_BITS - 2)).chain([words - 1])
}
