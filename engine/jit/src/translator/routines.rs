//! Code that all translated blocks share: entry, exit, and calls of the engine.
//!
//! Registers in translated code: RBX the core, R13 SRAM, R14 the cycles left until the limit, R15 the context,
//! [`GUEST`] the guest's R0 to R7; RAX, RCX and RDX are free. The stack is aligned to 16 bytes.
#![allow(clippy::useless_conversion, reason = "the assembler's macro converts numbers of registers")]

use std::mem::offset_of;

use cpu::{Map, NO_WORD};
use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, DynasmLabelApi, VecAssembler, dynasm};

use super::Translate;
use super::context::{Context, status};

/// Assembles machine code.
pub type Assembler = VecAssembler<X64Relocation>;

/// Numbers of the registers that hold the guest's R0 to R7: RDI, RSI, R8 to R12 and RBP.
pub const GUEST: [u8; 8] = [7, 6, 8, 9, 10, 11, 12, 5];

/// Number of EAX, which is free.
pub const EAX: u8 = 0;
/// Number of ECX.
pub const ECX: u8 = 1;
/// Number of EDX.
pub const EDX: u8 = 2;

/// Result of a block: it was left.
pub(super) const LEFT: u32 = 0;
/// The next instruction must be interpreted, even if no time is left.
pub(super) const BAILED: u32 = 1;

/// Cycle at which the core must stop.
pub(super) const LIMIT: i32 = offset_of!(Context, limit) as i32;
/// Start of the code.
const CODE: i32 = offset_of!(Context, code) as i32;
/// Each slot's offset from it.
const ENTRIES: i32 = offset_of!(Context, entries) as i32;
/// SRAM.
pub(super) const RAM: i32 = offset_of!(Context, ram) as i32;
/// Granules of SRAM with code.
pub(super) const GRANULES: i32 = offset_of!(Context, granules) as i32;
/// The words that the cache holds.
pub(super) const WORDS: i32 = offset_of!(Context, words) as i32;
/// Whether the flash cannot answer.
pub(super) const OFFLINE: i32 = offset_of!(Context, offline) as i32;
/// The flash array.
pub(super) const FLASH: i32 = offset_of!(Context, flash) as i32;
/// The counter of accesses.
pub(super) const COUNTER: i32 = offset_of!(Context, counter) as i32;
/// Executed instructions and words fetched, by region.
pub(super) const EXECUTED: i32 = offset_of!(Context, executed) as i32;
/// Words read from flash.
pub(super) const FETCHED: i32 = offset_of!(Context, fetched) as i32;
/// The value to store.
pub(super) const VALUE: i32 = offset_of!(Context, value) as i32;
/// The next step after an access.
pub(super) const STATUS: i32 = offset_of!(Context, status) as i32;
/// The block of another module that comes next.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only modules have others"))]
pub(super) const NEXT: i32 = offset_of!(Context, next) as i32;
/// The start of the loop that polls.
pub(super) const POLLING: i32 = offset_of!(Context, polling) as i32;
/// What a pass of that loop takes from before it, and what it sets.
pub(super) const TAKES: i32 = offset_of!(Context, takes) as i32;
pub(super) const SETS: i32 = offset_of!(Context, sets) as i32;
/// The start of a loop that was just passed, and the number of its instructions.
pub(super) const PASS: i32 = offset_of!(Context, pass) as i32;
/// Cycles from the start of an instruction to its access, but for the wait of a fetch that missed.
pub(super) const SPENT: i32 = offset_of!(Context, spent) as i32;
const LOAD: i32 = offset_of!(Context, load) as i32;
const POLL: i32 = offset_of!(Context, poll) as i32;
pub(super) const STORE: i32 = offset_of!(Context, store) as i32;
/// What a core ahead of the other may not access yet.
pub(super) const DENIED: i32 = offset_of!(Context, denied) as i32;
pub(super) const TOUCH: i32 = offset_of!(Context, touch) as i32;
/// Where the core reads its number.
pub(super) const NUMBER_AT: i32 = offset_of!(Context, number_at) as i32;
/// That number.
pub(super) const NUMBER: i32 = offset_of!(Context, number) as i32;
pub(super) const PORT: i32 = offset_of!(Context, port) as i32;
const MISS: i32 = offset_of!(Context, miss) as i32;
const EXECUTE: i32 = offset_of!(Context, execute) as i32;
/// The least value of the stack pointer.
pub const STACK_LIMIT: i32 = offset_of!(Context, stack_limit) as i32;

/// Addresses of the shared code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Routines {
    /// A function of the core, the context and the block.
    pub enter: usize,
    /// Exits with the PC in ECX and the last word fetched in EDX.
    pub leave: usize,
    /// Exits to interpret the next instruction.
    pub bail: usize,
    /// No block: exits after a branch to ECX.
    pub no_block: usize,
    /// Exits from a routine that a block has called: the state is already written back.
    pub abandon: usize,
    /// Cross-region jump: continues at ECX, in any region.
    pub cross_region_jump: usize,
    /// Adds the wait states of a miss at flash offset EDX.
    pub miss: usize,
    /// Asks for an access (ECX) to SRAM at EDX in a window: zero flag set if it needs the true order.
    pub touch: usize,
    /// Reads or writes the word at EAX of the core's IO port, ECX cycles into the block; the context has the value. Zero
    /// flag set: it must pass the bus, and EDX is its address. The third reads any register in a window, and EAX is how
    /// many cycles that takes.
    pub port: [usize; 3],
    /// Executes the instruction at ECX, with the last word fetched in EDX.
    pub execute: usize,
    /// Slow path: reads 1, 2 and 4 bytes at EAX into EAX; PC in ECX and the last word fetched in EDX.
    pub load: [usize; 3],
    /// Slow path: writes the context's value; otherwise like `load`.
    pub store: [usize; 3],
    /// Like `load`, by a loop that changes no memory.
    pub poll: [usize; 3],
}

/// Assembles the shared code for a buffer at `base`. `flash_size` is in bytes.
pub(super) fn assemble<M: Map, A: Translate>(base: usize, flash_size: usize) -> Option<(Vec<u8>, Routines)> {
    let mut ops = Assembler::new(base);
    let mut routines = Routines::default();
    let here = |ops: &Assembler| base + ops.offset().0;
    let super::Layout { regs, pc, fetch_word, cycles, .. } = A::LAYOUT;

    // Slots without a block point to the start of the buffer, which is this routine.
    routines.no_block = here(&ops);
    A::after_branch(&mut ops);
    dynasm!(ops ; .arch x64 ; mov edx, DWORD NO_WORD as i32);
    routines.leave = here(&ops);
    dynasm!(ops ; .arch x64 ; mov eax, DWORD LEFT as i32 ; jmp >finish);
    routines.bail = here(&ops);
    dynasm!(ops
        ; .arch x64
        ; mov eax, DWORD BAILED as i32
        ; finish:
        ; mov [rbx + pc], ecx
        ; mov [rbx + fetch_word], edx
    );
    spill(&mut ops, regs);
    dynasm!(ops
        ; .arch x64
        ; mov rdx, [r15 + LIMIT]
        ; sub rdx, r14
        ; mov [rbx + cycles], rdx
        ; ->back:
        ; add rsp, 8
        ; pop r15 ; pop r14 ; pop r13 ; pop r12 ; pop rbp ; pop rbx
        ; ret
    );
    routines.abandon = here(&ops);
    dynasm!(ops
        ; .arch x64
        ; ->abandon:
        ; add rsp, 8
        ; mov eax, DWORD LEFT as i32
        ; jmp ->back
    );

    routines.enter = here(&ops);
    dynasm!(ops
        ; .arch x64
        ; push rbx ; push rbp ; push r12 ; push r13 ; push r14 ; push r15
        ; sub rsp, 8
        ; mov rbx, rdi
        ; mov r15, rsi
        ; mov rax, rdx
        ; mov r13, [r15 + RAM]
        ; mov r14, [r15 + LIMIT]
        ; sub r14, [rbx + cycles]
    );
    reload(&mut ops, regs);
    dynasm!(ops ; .arch x64 ; jmp rax);

    routines.cross_region_jump = here(&ops);
    let regions = [
        (M::SRAM.base, M::SRAM.bytes as usize, M::SRAM_OPS),
        (M::FLASH.base, flash_size, M::FLASH_OPS),
        (M::ROM.base, M::ROM.bytes as usize, M::ROM_OPS),
    ];
    for (start, bytes, slots) in regions {
        dynasm!(ops
            ; .arch x64
            ; lea edx, [rcx + (start as i32).wrapping_neg()]
            ; cmp edx, DWORD bytes as i32
            ; jae >next
        );
        if slots == M::FLASH_OPS {
            dynasm!(ops ; .arch x64 ; mov rax, [r15 + OFFLINE] ; cmp BYTE [rax], 0 ; jne >nowhere);
        }
        jump_to_slot(&mut ops, slots);
        dynasm!(ops ; .arch x64 ; next:);
    }
    dynasm!(ops
        ; .arch x64
        ; nowhere:
        ; jmp extern routines.no_block
    );

    routines.miss = here(&ops);
    call_keeping(&mut ops, MISS);
    dynasm!(ops ; .arch x64 ; mov eax, eax ; sub r14, rax ; ret);
    routines.touch = here(&ops);
    call_keeping(&mut ops, TOUCH);
    dynasm!(ops ; .arch x64 ; test eax, eax ; ret);
    for (write, routine) in routines.port.iter_mut().enumerate() {
        *routine = here(&ops);
        dynasm!(ops ; .arch x64 ; mov edx, eax ; add rcx, [r15 + LIMIT] ; sub rcx, r14);
        call_keeping(&mut ops, PORT + 8 * write as i32);
        dynasm!(ops ; .arch x64 ; test eax, eax ; ret);
    }

    routines.execute = here(&ops);
    dynasm!(ops ; .arch x64 ; mov [rbx + pc], ecx ; mov [rbx + fetch_word], edx);
    call_engine(&mut ops, A::LAYOUT, EXECUTE);
    for size in 0..3 {
        let Routines { load, store, poll, .. } = &mut routines;
        for (routine, helper) in [(&mut load[size], LOAD), (&mut store[size], STORE), (&mut poll[size], POLL)] {
            *routine = here(&ops);
            dynasm!(ops ; .arch x64 ; mov [rbx + pc], ecx ; mov [rbx + fetch_word], edx);
            call_engine(&mut ops, A::LAYOUT, helper + 8 * size as i32);
        }
    }
    let code = ops.finalize().ok()?;
    #[cfg(target_arch = "aarch64")]
    let code = lower(&code, base, &mut routines)?;
    Some((code, routines))
}

/// Lowers the shared code, and says where the routines are then.
#[cfg(target_arch = "aarch64")]
fn lower(code: &[u8], base: usize, routines: &mut Routines) -> Option<Vec<u8>> {
    let mut lowered = super::aarch64::lower(code, base, &super::Mistakes::default())?;
    let Routines { enter, leave, bail, no_block, abandon, cross_region_jump, .. } = routines;
    let Routines { miss, touch, port, execute, load, store, poll, .. } = routines;
    let single = [enter, leave, bail, no_block, abandon, cross_region_jump, miss, touch, execute];
    for routine in single.into_iter().chain(port).chain(load).chain(store).chain(poll) {
        *routine = lowered.place(*routine);
    }
    routines.enter = lowered.add_entry(routines.enter)?;
    Some(lowered.bytes)
}

/// Jumps to the block at offset EDX of the region whose slots start at `slots`, with the guest's address in ECX.
pub(super) fn jump_to_slot(ops: &mut Assembler, slots: usize) {
    dynasm!(ops
        ; .arch x64
        ; shr edx, 1
        ; mov rax, [r15 + ENTRIES]
        ; mov eax, [rax + rdx * 4 + (slots * 4) as i32]
        ; add rax, [r15 + CODE]
        ; jmp rax
    );
}

/// Calls a function of the engine for the address in EAX, and returns.
fn call_engine(ops: &mut Assembler, layout: super::Layout, function: i32) {
    spill(ops, layout.regs);
    dynasm!(ops
        ; .arch x64
        ; mov rdx, [r15 + LIMIT]
        ; sub rdx, r14
        ; mov [rbx + layout.cycles], rdx
        ; mov rdi, r15
        ; mov esi, eax
        ; mov edx, [r15 + VALUE]
        ; sub rsp, 8
        ; call QWORD [r15 + function]
        ; add rsp, 8
        ; cmp DWORD [r15 + STATUS], status::FAULTED as i32
        ; je ->abandon
        ; mov r14, [r15 + LIMIT]
        ; sub r14, [rbx + layout.cycles]
    );
    reload(ops, layout.regs);
    dynasm!(ops ; .arch x64 ; ret);
}

/// Calls a function that changes no register of the guest, for EDX and RCX. EDX: the former EAX.
fn call_keeping(ops: &mut Assembler, function: i32) {
    dynasm!(ops
        ; .arch x64
        ; push rdi ; push rsi ; push r8 ; push r9 ; push r10 ; push r11
        ; push rax
        ; mov rdi, r15
        ; mov esi, edx
        ; mov rdx, rcx
        ; call QWORD [r15 + function]
        ; pop rdx
        ; pop r11 ; pop r10 ; pop r9 ; pop r8 ; pop rsi ; pop rdi
    );
}

fn spill(ops: &mut Assembler, regs: i32) {
    for (i, register) in GUEST.into_iter().enumerate() {
        dynasm!(ops ; .arch x64 ; mov [rbx + regs + 4 * i as i32], Rd(register));
    }
}

fn reload(ops: &mut Assembler, regs: i32) {
    for (i, register) in GUEST.into_iter().enumerate() {
        dynasm!(ops ; .arch x64 ; mov Rd(register), [rbx + regs + 4 * i as i32]);
    }
}
